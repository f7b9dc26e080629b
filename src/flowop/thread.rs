//! What a flowop sees of the thread that runs it: slots, file sets, buffer, engine.

use super::outstanding::Outstanding;
use super::{Broken, End, Moved};
use crate::engine::{Clock, Engine, Request};
use crate::fileset::pool::{Entries, Pick, Pool, Rotor};
use crate::fileset::{Content, PathBuffer, Stream};
use crate::random::stream::{Generator, Seed, below, pick_block};
use crate::sys::AlignedBuffer;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ops::Range;
use std::path::PathBuf;

/// Slots that `opennext` rotates through.
pub const ROTATION: usize = 128;

/// Alignment of addresses, offsets and lengths that direct I/O is given where wlrun chooses them. It is a multiple of
/// every block size in use, and the size of a page.
pub const DIRECT_ALIGNMENT: u64 = 4096;

/// Bytes of data that are made at once for a file, at most.
const LARGEST_MADE: u64 = 1 << 30;

/// A file set as a process has it: its entries in shared memory, and its root open.
#[derive(Debug)]
pub struct OpenSet<'r> {
    /// Of the workload.
    pub name: String,
    /// Its entries.
    pub pool: Pool<'r>,
    /// Its root directory; none on an engine that touches no files.
    pub root: Option<OwnedFd>,
    /// Its root directory's path, without symbolic links in it, or the path that opens the device; empty on an engine
    /// that touches no files.
    pub path: PathBuf,
    /// O_RDONLY, O_WRONLY or O_RDWR.
    pub access: OFlags,
    /// The block device that it is, for messages, where it is one.
    pub device: Option<PathBuf>,
    /// How data that is written to its files compresses and repeats; none for any random data.
    pub content: Option<Content>,
}

impl OpenSet<'_> {
    /// Where paths of entries start.
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.root.as_ref().map_or(rustix::fs::CWD, AsFd::as_fd)
    }

    /// For paths of entries, as the calls take them: relative to [`OpenSet::directory`], or `absolute`.
    pub fn path_buffer(&self, absolute: bool) -> PathBuffer {
        match (&self.device, absolute) {
            (Some(_), _) => PathBuffer::fixed(self.path.as_os_str()),
            (None, true) => PathBuffer::with_prefix(self.path.as_os_str()),
            (None, false) => PathBuffer::new(),
        }
    }
}

/// What a flowop works on in a file set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Files.
    File,
    /// Directories without files, of makedir and removedir.
    Leafdir,
    /// Directories that hold files, of mkdir and rmdir.
    Home,
}

impl Kind {
    /// The entries of this kind.
    pub(super) fn entries<'p, 'r>(self, pool: &'p Pool<'r>) -> &'p Entries<'r> {
        match self {
            Kind::File => pool.files(),
            Kind::Leafdir => pool.leafdirs(),
            Kind::Home => pool.homes(),
        }
    }

    /// `file`, `leaf directory`.
    fn noun(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Leafdir => "leaf directory",
            Kind::Home => "directory of files",
        }
    }

    /// `files`, `leaf directories`.
    pub fn nouns(self) -> &'static str {
        match self {
            Kind::File => "files",
            Kind::Leafdir => "leaf directories",
            Kind::Home => "directories of files",
        }
    }
}

/// An entry of a file set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRef {
    /// Place in [`Thread::sets`].
    pub set: usize,
    /// Index in the set, of its kind.
    pub entry: u32,
}

/// How an entry of a set is chosen.
#[derive(Debug)]
pub enum By<'g> {
    /// The next in rotation.
    Rotation,
    /// The one with this index, modulo the number of entries, or the next there is.
    Index(u64),
    /// Each with the same chance.
    Random(&'g mut Generator),
}

/// A descriptor slot. Closing clears the descriptor and leaves the file, which `deletefile` may still mean.
#[derive(Debug, Clone, Copy, Default)]
pub struct Slot {
    /// Open, by the engine's number.
    pub fd: Option<i32>,
    /// What is or was open there.
    pub file: Option<FileRef>,
}

/// What a thread has done until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnIo {
    /// I/O operations.
    pub ops: u64,
    /// Of them, those that read or write data.
    pub data_ops: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

/// Events of the event generator that a thread has taken, and may use later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// So many.
    pub count: u64,
    /// The moment from which they may be used, of the thread's clock.
    pub from: u64,
    /// Which setting of the rate they are of.
    pub rate: u32,
    /// Older events that nobody took in time and nobody gets any more, found when these were taken.
    pub dropped: u64,
}

/// What came of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// It is there.
    Done,
    /// The run was over before there was room.
    Over,
    /// There would be more posts outstanding than can be counted, 2^32 - 1; nothing was added.
    TooMany,
}

/// What a flowop may ask of the run that it is part of.
pub trait RunState {
    /// True once the measured window has closed.
    fn is_over(&self, clock: &Clock) -> bool;
    /// Waits until `until` (of the thread's clock); false where the run was over before.
    fn pause(&self, clock: &Clock, until: u64) -> bool;
    /// Takes `count` posts of a wait point, waiting for them; false where the run was over before.
    fn take_posts(&self, clock: &Clock, point: u32, count: u32) -> bool;
    /// Lets `count` more bounded posts be outstanding at a wait point.
    fn make_room(&self, point: u32, count: u32);
    /// Adds `count` posts to a wait point; where they are `bounded`, waits for their room and takes it in the same step.
    fn post(&self, clock: &Clock, point: u32, count: u32, bounded: bool) -> Posted;
    /// Says a line to whoever watches the run, with the thread's name before it.
    fn say(&self, text: &str);
    /// Takes `count` events of the event generator, for later. None where no rate is set.
    fn take_events(&self, clock: &Clock, count: u64) -> Option<Taken>;
    /// Waits for events that were taken; the moment from which they could be used, and none where the run was over
    /// before.
    fn await_events(&self, clock: &Clock, taken: Taken) -> Option<u64>;
    /// Operations and bytes of one flowop of this thread, since the measurement began.
    fn flowop(&self, index: usize) -> (u64, Moved);
    /// Counts an operation that a flowop of this thread had submitted, with when it was and when it ended, in nanoseconds
    /// of the thread's clock; false where that is not within the measured window. `lag` is that of the thread when it was
    /// submitted.
    fn record_completion(
        &self,
        index: usize,
        lag: Option<u64>,
        start: u64,
        end: u64,
        result: &Result<Moved, Broken>,
    ) -> bool;
    /// I/O operations and bytes of all threads of all processes, since the measurement began.
    fn all_io(&self) -> (u64, u64);
    /// Operations and bytes of one flowop of this thread, since the gate: a new measurement does not set it back.
    fn flowop_since_gate(&self, index: usize) -> (u64, Moved);
    /// What this thread has done since the gate.
    fn own_io(&self) -> OwnIo;
}

/// A thread's place in one set.
#[derive(Debug)]
struct Place {
    /// The rotation of all threads.
    shared: Rotor,
    /// This thread's own, for `opennext`.
    own: Rotor,
    /// The rotation of all threads over leaf directories.
    leafdirs: Rotor,
    /// The rotation of all threads over directories that hold files.
    homes: Rotor,
    /// The rotation of all threads over directories.
    directories: Rotor,
    /// Of the last file, relative to the set's root.
    path: PathBuffer,
    /// The data that this thread writes to it, where the set says how it is.
    content: Option<Stream>,
}

impl Place {
    fn rotor(&mut self, kind: Kind) -> &mut Rotor {
        match kind {
            Kind::File => &mut self.shared,
            Kind::Leafdir => &mut self.leafdirs,
            Kind::Home => &mut self.homes,
        }
    }
}

/// A thread instance.
pub struct Thread<'r> {
    /// Carries requests out.
    pub engine: Box<dyn Engine>,
    /// The engine's.
    pub clock: Clock,
    /// The file sets of the process.
    pub sets: &'r [OpenSet<'r>],
    /// The run.
    pub run: &'r dyn RunState,
    /// For offsets and sizes.
    pub random: Generator,
    /// Where data is read to and written from; filled with seeded random bytes.
    pub memory: AlignedBuffer,
    /// Files opened on behalf of the flowop at hand; the threadflow counts and clears it.
    pub auto_opens: u64,
    /// When the operation that is submitted now began; the threadflow sets it.
    pub submitted_ns: u64,
    /// The moment that the schedule had for what follows; who has waited for it says so, and the threadflow takes it.
    pub due: Option<u64>,
    /// By how many nanoseconds what is done now is behind its schedule; none where there is no schedule.
    pub lag: Option<u64>,
    /// Operations that were submitted and are not booked yet.
    pub(super) outstanding: Outstanding,
    slots: Vec<Slot>,
    /// How often each slot was set.
    changes: Vec<u64>,
    next_slot: usize,
    /// By set.
    places: Vec<Place>,
    /// The memory is as large as the workload asks for; otherwise it grows to the largest request.
    fixed_memory: bool,
}

impl<'r> Thread<'r> {
    /// A thread with `slots` slots and `memsize` bytes (0: as many as the largest request) among `threads` threads.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        engine: Box<dyn Engine>,
        clock: Clock,
        sets: &'r [OpenSet<'r>],
        run: &'r dyn RunState,
        seed: Seed,
        memsize: u64,
        slots: usize,
        threads: usize,
    ) -> std::io::Result<Self> {
        let mut thread = Thread {
            engine,
            clock,
            sets,
            run,
            random: seed.child("offsets").generator(),
            memory: AlignedBuffer::new(0)?,
            auto_opens: 0,
            submitted_ns: 0,
            due: None,
            lag: None,
            outstanding: Outstanding::new(seed.child("submitted").generator()),
            slots: vec![Slot::default(); slots.max(ROTATION + 1)],
            changes: vec![0; slots.max(ROTATION + 1)],
            next_slot: ROTATION,
            places: sets
                .iter()
                .zip(0..)
                .map(|(set, number)| Place {
                    shared: Rotor::shared(set.pool.files().len(), threads),
                    own: Rotor::alone(0),
                    leafdirs: Rotor::shared(set.pool.leafdirs().len(), threads),
                    homes: Rotor::shared(set.pool.homes().len(), threads),
                    directories: Rotor::shared(set.pool.directories(), threads),
                    path: set.path_buffer(false),
                    content: set.content.map(|content| content.endless(seed.child("content").index(number))),
                })
                .collect(),
            fixed_memory: memsize > 0,
        };
        thread.resize_memory(memsize as usize)?;
        Ok(thread)
    }

    fn resize_memory(&mut self, len: usize) -> std::io::Result<()> {
        self.memory = AlignedBuffer::new(len)?;
        rand::Rng::fill_bytes(&mut self.random, &mut self.memory);
        Ok(())
    }

    /// The slot of a flowop: `fd` where it is given, else with `opennext` the next of the rotation, else 0.
    #[inline]
    pub fn choose_slot(&mut self, fd: usize, opennext: bool) -> usize {
        if fd > 0 || !opennext {
            return fd;
        }
        self.next_slot = if self.next_slot == 0 { ROTATION - 1 } else { self.next_slot - 1 };
        self.next_slot
    }

    /// A slot.
    #[inline]
    pub fn slot(&self, slot: usize) -> Slot {
        self.slots[slot]
    }

    /// Sets a slot.
    #[inline]
    pub fn set_slot(&mut self, slot: usize, value: Slot) {
        self.slots[slot] = value;
        self.changes[slot] += 1;
    }

    /// A number that is another one after each open into this slot.
    #[inline]
    pub fn slot_serial(&self, slot: usize) -> u64 {
        self.changes[slot]
    }

    /// Slots with an open file of a set.
    pub fn open_slots(&self, set: usize) -> impl Iterator<Item = usize> + '_ {
        let of_set = move |slot: &Slot| slot.fd.is_some() && slot.file.is_some_and(|file| file.set == set);
        self.slots.iter().enumerate().filter(move |(_, slot)| of_set(slot)).map(|(at, _)| at)
    }

    /// The descriptor of a slot; EBADF's number where it is closed.
    #[inline]
    pub fn fd(&self, slot: usize) -> i32 {
        self.slots[slot].fd.unwrap_or(-1)
    }

    /// The nominal size of the file of a slot, 0 where there is none.
    #[inline]
    pub fn nominal_size(&self, slot: usize) -> u64 {
        self.slots[slot].file.map_or(0, |file| self.sets[file.set].pool.size(file.entry))
    }

    /// The next existing file of a set, in use until it is released.
    ///
    /// # Errors
    ///
    /// Where no file exists, or the run ends while all are being made or removed.
    pub fn pick_existing(&mut self, set: usize, own_order: bool, mut by: By<'_>) -> Result<FileRef, End> {
        loop {
            let files = self.sets[set].pool.files();
            let place = &mut self.places[set];
            let rotor = if own_order { &mut place.own } else { &mut place.shared };
            let pick = match &mut by {
                By::Index(index) => files.indexed_open(*index),
                By::Random(generator) => files.random_open(generator),
                By::Rotation => files.open_existing(rotor),
            };
            match pick {
                Pick::Entry(entry) => return Ok(FileRef { set, entry }),
                Pick::Nothing => return Err(End::NoWork(format!("no file exists in {}", self.sets[set].name))),
                Pick::Busy => self.wait_a_moment()?,
            }
        }
    }

    /// The next entry of a set that does not exist, for this thread alone.
    ///
    /// # Errors
    ///
    /// Where all exist, or the run ends while the last is being made or removed.
    pub fn claim_absent(&mut self, set: usize, kind: Kind, mut by: By<'_>) -> Result<FileRef, End> {
        loop {
            let entries = kind.entries(&self.sets[set].pool);
            let place = &mut self.places[set];
            let pick = match &mut by {
                By::Index(index) => entries.indexed_absent(*index),
                By::Random(generator) => entries.random_absent(generator),
                By::Rotation => entries.claim_absent(place.rotor(kind)),
            };
            match pick {
                Pick::Entry(entry) => return Ok(FileRef { set, entry }),
                Pick::Nothing => {
                    let (all, name) = (entries.len(), &self.sets[set].name);
                    return Err(End::NoWork(format!("all {all} {} of {name} exist", kind.nouns())));
                }
                Pick::Busy => self.wait_a_moment()?,
            }
        }
    }

    /// The next existing entry that nobody uses, for this thread alone; none where each is in use.
    ///
    /// # Errors
    ///
    /// Where none exists.
    pub fn claim_delete(&mut self, set: usize, kind: Kind, by: By<'_>) -> Result<Option<FileRef>, End> {
        let entries = kind.entries(&self.sets[set].pool);
        let place = &mut self.places[set];
        let pick = match by {
            By::Index(index) => entries.indexed_delete(index),
            By::Random(generator) => entries.random_delete(generator),
            By::Rotation => entries.claim_delete(place.rotor(kind)),
        };
        self.at_once(set, kind, pick)
    }

    /// The next existing entry of a kind, in use until it is released; none where each is being made or removed. It
    /// does not wait, so the thread may hold a claim meanwhile.
    ///
    /// # Errors
    ///
    /// Where none exists.
    pub fn use_existing(&mut self, set: usize, kind: Kind, by: By<'_>) -> Result<Option<FileRef>, End> {
        let entries = kind.entries(&self.sets[set].pool);
        let pick = match by {
            By::Index(index) => entries.indexed_open(index),
            By::Random(generator) => entries.random_open(generator),
            By::Rotation => entries.open_existing(self.places[set].rotor(kind)),
        };
        self.at_once(set, kind, pick)
    }

    fn at_once(&self, set: usize, kind: Kind, pick: Pick) -> Result<Option<FileRef>, End> {
        match pick {
            Pick::Entry(entry) => Ok(Some(FileRef { set, entry })),
            Pick::Nothing => Err(End::NoWork(format!("no {} exists in {}", kind.noun(), self.sets[set].name))),
            Pick::Busy => {
                std::thread::yield_now();
                Ok(None)
            }
        }
    }

    /// The next directory of a set, the root included, with its path where [`Thread::request_list`] finds it.
    pub fn next_directory(&mut self, set: usize) -> u32 {
        let pool = &self.sets[set].pool;
        let place = &mut self.places[set];
        let directory = pool.next_directory(&mut place.directories);
        pool.directory_path(directory, &mut place.path);
        directory
    }

    fn wait_a_moment(&self) -> Result<(), End> {
        if self.run.is_over(&self.clock) {
            return Err(End::Over);
        }
        // Another thread is between claiming the file and the end of one system call.
        std::thread::yield_now();
        Ok(())
    }

    /// Writes the path of a file, relative to its set's root, to where the requests on files find it.
    #[inline]
    pub fn set_path(&mut self, file: FileRef) {
        self.sets[file.set].pool.file_path(file.entry, &mut self.places[file.set].path);
    }

    /// Writes the path of a directory to where the requests on directories find it.
    pub fn set_directory_path(&mut self, kind: Kind, directory: FileRef) {
        let (pool, path) = (&self.sets[directory.set].pool, &mut self.places[directory.set].path);
        match kind {
            Kind::File => pool.file_path(directory.entry, path),
            Kind::Leafdir => pool.leafdir_path(directory.entry, path),
            Kind::Home => pool.home_path(directory.entry, path),
        }
    }

    /// Makes the directory whose path was set.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn request_make_directory(&mut self, set: usize) -> Result<u64, Errno> {
        let directory = self.sets[set].directory();
        self.engine.execute(Request::MakeDirectory { directory, path: self.places[set].path.as_c_str() })
    }

    /// Removes the directory whose path was set.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn request_remove_directory(&mut self, set: usize) -> Result<u64, Errno> {
        let directory = self.sets[set].directory();
        self.engine.execute(Request::RemoveDirectory { directory, path: self.places[set].path.as_c_str() })
    }

    /// Lists the directory whose path was set.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn request_list(&mut self, set: usize) -> Result<u64, Errno> {
        let directory = self.sets[set].directory();
        self.engine.execute(Request::List { directory, path: self.places[set].path.as_c_str() })
    }

    /// The path of the set's last request, for a message.
    pub fn show_path(&self, set: usize) -> String {
        format!("{}/{}", self.sets[set].name, self.places[set].path.as_c_str().to_string_lossy())
    }

    /// Makes a request on the path that [`Thread::set_path`] left.
    ///
    /// # Errors
    ///
    /// The kernel's.
    #[inline]
    pub fn request_open(&mut self, file: FileRef, flags: OFlags) -> Result<i32, Errno> {
        let set = &self.sets[file.set];
        let expected = set.pool.size(file.entry);
        let directory = set.directory();
        self.engine
            .execute(Request::Open { directory, path: self.places[file.set].path.as_c_str(), flags, expected })
            .map(|fd| fd as i32)
    }

    /// Reads the attributes of the path of the set that was set last.
    ///
    /// # Errors
    ///
    /// The kernel's.
    #[inline]
    pub fn request_stat(&mut self, set: usize) -> Result<u64, Errno> {
        let directory = self.sets[set].directory();
        self.engine.execute(Request::Stat { directory, path: self.places[set].path.as_c_str() })
    }

    /// Removes the path that [`Thread::set_path`] left.
    ///
    /// # Errors
    ///
    /// The kernel's.
    #[inline]
    pub fn request_unlink(&mut self, file: FileRef) -> Result<u64, Errno> {
        self.engine.execute(Request::Unlink {
            directory: self.sets[file.set].directory(),
            path: self.places[file.set].path.as_c_str(),
        })
    }

    /// What to do about a new name that could not be made because its directory was removed.
    pub fn advice_on_home(&self, file: FileRef, errno: Errno) -> Option<&'static str> {
        let gone = errno == Errno::NOENT && self.sets[file.set].pool.is_homeless(file.entry);
        gone.then_some("rmdir removed the directory that it is in, and mkdir has to make it again first")
    }

    /// Ends the use of a file.
    #[inline]
    pub fn release(&self, file: FileRef) {
        self.sets[file.set].pool.files().release(file.entry);
    }

    /// Closes what the thread left open, of which no operation is under way any more, so that files it had open may be
    /// deleted by others. The first close that gave an error, and its words: where a file system writes late, that is the
    /// first it says of data that it has lost.
    pub fn close_all(&mut self) -> Option<(Errno, String)> {
        let mut failed = None;
        for slot in 0..self.slots.len() {
            if let Some(fd) = self.slots[slot].fd.take() {
                if let Err(errno) = self.engine.execute(Request::Close { fd }) {
                    let what = || format!("close of {} at the end of the thread", self.show_slot(slot));
                    failed = failed.or_else(|| Some((errno, what())));
                }
                if let Some(file) = self.slots[slot].file.take() {
                    self.release(file);
                }
            }
        }
        failed
    }

    /// A piece of the memory for a request of `len` bytes, at a random multiple of `len` as filebench does, so that
    /// data does not always sit in the same lines of the processor's cache.
    ///
    /// # Errors
    ///
    /// Where the workload's memsize is too small.
    #[inline]
    pub fn data(&mut self, len: u64, direct: bool) -> Result<Range<usize>, End> {
        if len > self.memory.len() as u64 {
            self.grow(len)?;
        }
        let offset = pick_block(&mut self.random, self.memory.len() as u64, len);
        let offset = if direct { offset & !(DIRECT_ALIGNMENT - 1) } else { offset };
        Ok(offset as usize..(offset + len) as usize)
    }

    /// Makes a piece of the memory anew for a write to the file of a slot, where its set says how its data compresses
    /// or repeats; does nothing otherwise. Not for the timed part of an operation.
    #[inline]
    pub fn renew(&mut self, slot: usize, data: &Range<usize>) {
        if let Some(stream) = self.slots[slot].file.and_then(|file| self.places[file.set].content.as_mut()) {
            stream.fill(&mut self.memory[data.clone()]);
        }
    }

    /// As [`Thread::renew`], of memory that is the operation's own.
    #[inline]
    pub(super) fn renew_submitted(&mut self, slot: usize, len: usize) {
        if let Some(stream) = self.slots[slot].file.and_then(|file| self.places[file.set].content.as_mut()) {
            stream.fill(&mut self.outstanding.next_memory()[..len]);
        }
    }

    /// True where [`Thread::renew`] has something to do.
    #[inline]
    pub fn renews(&self, slot: usize) -> bool {
        self.slots[slot].file.is_some_and(|file| self.places[file.set].content.is_some())
    }

    /// As [`Thread::data`], but all `len` bytes of a file at once, whatever memsize is: what is made anew must be there
    /// before the operation begins.
    ///
    /// # Errors
    ///
    /// Where they are more than 1 GiB, or there is no memory.
    pub fn data_of_file(&mut self, len: u64, direct: bool) -> Result<Range<usize>, End> {
        if len > LARGEST_MADE {
            let message = format!(
                "a file of {len} bytes is too large to be written as one operation with compress or dedup: \
                 {LARGEST_MADE} are possible, more by several writes"
            );
            return Err(End::Failed(None, message));
        }
        if len > self.memory.len() as u64 {
            self.enlarge(len)?;
        }
        self.data(len, direct)
    }

    #[cold]
    fn grow(&mut self, len: u64) -> Result<(), End> {
        if self.fixed_memory {
            let message =
                format!("a request of {len} bytes does not fit the thread's memsize of {}", self.memory.len());
            return Err(End::Failed(None, message));
        }
        self.enlarge(len)
    }

    #[cold]
    fn enlarge(&mut self, len: u64) -> Result<(), End> {
        self.resize_memory(len as usize)
            .map_err(|e| End::Failed(Errno::from_io_error(&e), format!("{len} bytes of memory: {e}")))
    }

    /// A random multiple of `len` such that `len` bytes fit into `range`.
    #[inline]
    pub fn random_offset(&mut self, range: u64, len: u64) -> u64 {
        pick_block(&mut self.random, range, len)
    }

    /// A random whole number, 1 to `most`, each as likely.
    #[inline]
    pub fn random_up_to(&mut self, most: u64) -> u64 {
        below(&mut self.random, most) + 1
    }

    /// A file for a message: `fs1/00000001/00000003`.
    pub fn show(&self, file: FileRef) -> String {
        let set = &self.sets[file.set];
        if let Some(device) = &set.device {
            return device.display().to_string();
        }
        let mut path = PathBuffer::new();
        set.pool.file_path(file.entry, &mut path);
        format!("{}/{}", set.name, path.as_c_str().to_string_lossy())
    }

    /// The file of a slot for a message.
    pub fn show_slot(&self, slot: usize) -> String {
        match self.slots[slot].file {
            Some(file) => self.show(file),
            None => format!("slot {slot}"),
        }
    }
}
