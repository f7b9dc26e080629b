//! Which files of a set exist and which are in use, shared by all threads of all processes, without a lock.
//!
//! All of it lies in the shared [`Region`]: atomics and indices, no pointers. For each entry there is one *state* word:
//!
//! ```text
//! bit 31  EXISTS  the file is on the disk
//! bit 30  BUSY    one thread is creating or deleting it, nobody else may touch it
//! 0..=29          how many threads have it open
//! ```
//!
//! **The state word is the truth**; every change of it is one compare-and-swap or is made by the holder of BUSY. Beside
//! it there is a bitmap, one bit an entry, that says which exist, and two summaries of the bitmap, one bit for each of
//! its words: "some bit is set here" and "some bit is clear here". They only help to find the next entry of a kind when
//! few are left.
//!
//! How far the hints can be trusted: a bit of the bitmap is changed only while its entry is BUSY, so it is right
//! whenever the entry is not. A summary bit may be set although nothing is there (costs one look). It may be clear
//! although something is there only while some thread stands between the two steps of changing a bit and its summary;
//! a thread may be stopped just there for any time, so nobody concludes from a summary that a set is empty.
//!
//! **Memory orders.** Claims take with Acquire what `created`, `abandon`, `deleted`, `restore` and `release` gave with
//! Release, so who gets an entry sees all that its last holder did. The bitmap and its summaries are SeqCst: who
//! empties a word clears the summary and then looks at the word again, who fills a word then looks at the summary; in
//! one total order at least one of the two sees the other. The rotors hand out positions and nothing else: Relaxed.
//! Tables that are filled before the workers start are Relaxed too.
//!
//! **Moves.** A rename within a set makes one entry absent and another exist, and a search that goes over the bitmap
//! meanwhile could miss both the old and the new place. A word counts the moves, begun and ended, and a search that met
//! nothing while it changed, or while a move was under way, does not say that there is nothing.
//!
//! **The rotation.** filebench gives out the entry with the smallest index at or above a shared rotor, and sets the
//! rotor behind it; all threads write that rotor at each pick. Here a thread takes a batch of consecutive positions at
//! once ([`Rotor`]) and walks it alone. One thread sees exactly filebench's order; several see it up to batches.

use super::layout::{Layout, Presence};
use super::path::PathBuffer;
use crate::random::stream::{Generator, below};
use crate::sys::Region;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

const EXISTS: u32 = 1 << 31;
const BUSY: u32 = 1 << 30;
const USES: u32 = BUSY - 1;

/// What is written by different threads stands this many bytes apart: two cache lines, for processors fetch them in
/// pairs.
const LINE: usize = 128;

/// How many entries are tried at random before those that exist are counted: fewer are needed nearly always where more
/// than one in eight exists.
const TRIES: u32 = 32;

/// How many of the counted ones are tried, where others may have them.
const DRAWS: u32 = 8;

/// The largest batch of positions that a thread takes at once.
const MAX_BATCH: u32 = 64;

/// How many of each a pool holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// Files, at most 2^32 - 2.
    pub files: u32,
    /// Directories, the root included.
    pub directories: u32,
    /// Leaf directories.
    pub leafdirs: u32,
    /// Homes: directories that hold files.
    pub homes: u32,
}

impl Shape {
    /// The shape of a layout.
    pub fn of(layout: &Layout) -> Self {
        // A layout is limited to fewer than 2^32 objects.
        Shape {
            files: layout.files() as u32,
            directories: layout.directories.len() as u32,
            leafdirs: layout.leafdirs.len() as u32,
            homes: layout.homes().count() as u32,
        }
    }
}

/// What came of looking for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// This one.
    Entry(u32),
    /// There is none of the wanted kind at all: no more work.
    Nothing,
    /// There are some, but each is taken at this moment: try again.
    Busy,
}

/// The two kinds that are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Existing = 0,
    Absent = 1,
}

/// One thread's place in the rotation through one set of entries. Belongs to one thread and one set.
#[derive(Debug, Clone)]
pub struct Rotor {
    batch: u32,
    walks: [Walk; 2],
}

/// Positions count on for ever; the index is the position modulo the number of entries.
#[derive(Debug, Clone, Copy)]
struct Walk {
    next: u64,
    /// Where the batch ends. `u64::MAX` never takes one from the shared rotor.
    end: u64,
}

impl Rotor {
    /// Takes part in the rotation of all, among `threads` threads that use the set.
    pub fn shared(entries: u32, threads: usize) -> Self {
        // A batch is small enough that all threads together hold a quarter of the set at most: the order stays close
        // to one rotation, and nobody sits on the last entries.
        let share = u64::from(entries) / (4 * threads.max(1) as u64);
        Rotor { batch: (share as u32).clamp(1, MAX_BATCH), walks: [Walk { next: 0, end: 0 }; 2] }
    }

    /// Walks alone, from the entry `first` on (`opennext`).
    pub fn alone(first: u32) -> Self {
        Rotor { batch: 1, walks: [Walk { next: u64::from(first), end: u64::MAX }; 2] }
    }
}

/// Files, leaf directories or homes: which exist and which are in use.
///
/// What is picked is held until it is given back: [`open_existing`](Self::open_existing) and
/// [`use_at`](Self::use_at) until [`release`](Self::release); [`claim_absent`](Self::claim_absent) until
/// [`created`](Self::created) or [`abandon`](Self::abandon); [`claim_delete`](Self::claim_delete) until
/// [`deleted`](Self::deleted) or [`restore`](Self::restore). Plain indices stand for the claims, since a thread keeps
/// them from flowop to flowop.
#[derive(Debug, Clone, Copy)]
pub struct Entries<'a> {
    count: u32,
    /// By kind; each on a line of its own.
    rotors: [&'a AtomicU64; 2],
    states: &'a [AtomicU32],
    bits: &'a [AtomicU64],
    /// By kind: which words of the bitmap have a bit of it.
    summaries: [&'a [AtomicU64]; 2],
    /// Moves under way in the low [`MOVE`] bits, moves that ended above them.
    moves: &'a AtomicU64,
}

/// One move that ended, in [`Entries::moves`]. More threads than the bits below it count do not fit into a process id.
const MOVE: u64 = 1 << 24;

impl<'a> Entries<'a> {
    fn attach(region: &'a Region, offset: usize, count: u32, places: &EntryPlaces) -> Self {
        let words = (count as usize).div_ceil(64);
        let summary = words.div_ceil(64);
        Entries {
            count,
            rotors: places.rotors.map(|at| &region.u64s(offset + at, 1)[0]),
            states: region.u32s(offset + places.states, count as usize),
            bits: region.u64s(offset + places.bits, words),
            summaries: places.summaries.map(|at| region.u64s(offset + at, summary)),
            moves: &region.u64s(offset + places.moves, 1)[0],
        }
    }

    fn fill(&self, existing: &[bool]) {
        assert_eq!(existing.len(), self.count as usize, "one for each entry");
        for (i, exists) in existing.iter().enumerate() {
            self.states[i].store(if *exists { EXISTS } else { 0 }, Relaxed);
        }
        for (w, bits) in self.bits.iter().enumerate() {
            let word = existing[w * 64..].iter().take(64).enumerate().fold(0, |word, (i, e)| word | u64::from(*e) << i);
            bits.store(word, Relaxed);
            for kind in [Kind::Existing, Kind::Absent] {
                if self.of_kind(kind, w, word) != 0 {
                    self.summaries[kind as usize][w / 64].fetch_or(1 << (w % 64), Relaxed);
                }
            }
        }
    }

    /// Number of entries, existing or not.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// True for a set of no entries.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many exist at this moment. Looks at all; for reports.
    pub fn existing(&self) -> u32 {
        self.bits.iter().map(|word| word.load(Relaxed).count_ones()).sum()
    }

    /// True where an entry exists at this moment.
    pub fn exists(&self, entry: u32) -> bool {
        self.states[entry as usize].load(Acquire) & EXISTS != 0
    }

    /// The next existing entry in rotation, with one use more. Any number of threads may use one entry.
    pub fn open_existing(&self, rotor: &mut Rotor) -> Pick {
        self.rotate(rotor, Kind::Existing, |i| self.use_at(i))
    }

    /// The next absent entry in rotation, taken for creation.
    pub fn claim_absent(&self, rotor: &mut Rotor) -> Pick {
        self.rotate(rotor, Kind::Absent, |i| self.take(i, 0, BUSY))
    }

    /// The next existing entry in rotation that nobody uses, taken for deletion.
    pub fn claim_delete(&self, rotor: &mut Rotor) -> Pick {
        self.rotate(rotor, Kind::Existing, |i| self.take(i, EXISTS, EXISTS | BUSY))
    }

    /// As [`open_existing`](Self::open_existing), but the entry with this index (modulo the number of entries), or the
    /// next higher one, or the first.
    pub fn indexed_open(&self, index: u64) -> Pick {
        self.indexed(index, Kind::Existing, |i| self.use_at(i))
    }

    /// As [`claim_absent`](Self::claim_absent), from this index on.
    pub fn indexed_absent(&self, index: u64) -> Pick {
        self.indexed(index, Kind::Absent, |i| self.take(i, 0, BUSY))
    }

    /// As [`claim_delete`](Self::claim_delete), from this index on.
    pub fn indexed_delete(&self, index: u64) -> Pick {
        self.indexed(index, Kind::Existing, |i| self.take(i, EXISTS, EXISTS | BUSY))
    }

    /// As [`open_existing`](Self::open_existing), but each existing entry is as likely as any other.
    pub fn random_open(&self, generator: &mut Generator) -> Pick {
        self.random(generator, Kind::Existing, |i| self.use_at(i))
    }

    /// As [`claim_absent`](Self::claim_absent), but each absent entry is as likely as any other.
    pub fn random_absent(&self, generator: &mut Generator) -> Pick {
        self.random(generator, Kind::Absent, |i| self.take(i, 0, BUSY))
    }

    /// As [`claim_delete`](Self::claim_delete), but each existing entry that nobody uses is as likely as any other.
    /// Where nearly all are in use, the next free one behind a random place is taken.
    pub fn random_delete(&self, generator: &mut Generator) -> Pick {
        self.random(generator, Kind::Existing, |i| self.take(i, EXISTS, EXISTS | BUSY))
    }

    /// One entry, with one use more; false where it does not exist or is being deleted.
    pub fn use_at(&self, entry: u32) -> bool {
        let state = &self.states[entry as usize];
        let mut seen = state.load(Relaxed);
        while seen & (EXISTS | BUSY) == EXISTS && seen & USES != USES {
            match state.compare_exchange_weak(seen, seen + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Ends one use.
    pub fn release(&self, entry: u32) {
        let was = self.states[entry as usize].fetch_sub(1, Release);
        debug_assert!(was & USES != 0, "entry {entry} was not in use");
    }

    /// Takes one entry for deletion, where its only uses are the caller's own: 0, or 1 for who has it open. Nothing:
    /// it does not exist; Busy: others use it.
    pub fn claim_delete_at(&self, entry: u32, own_uses: u32) -> Pick {
        if self.take(entry, EXISTS | own_uses, EXISTS | BUSY | own_uses) {
            Pick::Entry(entry)
        } else if self.exists(entry) {
            Pick::Busy
        } else {
            Pick::Nothing
        }
    }

    /// An entry of [`claim_absent`](Self::claim_absent) was created: it exists, and the caller has one use of it.
    pub fn created(&self, entry: u32) {
        self.mark(entry, Kind::Existing);
        self.give(entry, EXISTS | 1);
    }

    /// An entry of [`claim_absent`](Self::claim_absent) was not created.
    pub fn abandon(&self, entry: u32) {
        self.give(entry, 0);
    }

    /// An entry of [`claim_delete`](Self::claim_delete) was deleted. The caller's own use of it has ended too, and must
    /// not be released.
    pub fn deleted(&self, entry: u32) {
        self.mark(entry, Kind::Absent);
        self.give(entry, 0);
    }

    /// An entry of [`claim_delete`](Self::claim_delete) was not deleted; the caller's own use of it goes on.
    pub fn restore(&self, entry: u32) {
        let was = self.states[entry as usize].fetch_and(!BUSY, Release);
        debug_assert!(was & BUSY != 0, "entry {entry} was not claimed");
    }

    /// What was at `from`, of [`claim_delete`](Self::claim_delete), is at `to`, of
    /// [`claim_absent`](Self::claim_absent), from now on; nobody uses it.
    pub fn moved(&self, from: u32, to: u32) {
        self.moves.fetch_add(1, SeqCst);
        self.mark(from, Kind::Absent);
        self.mark(to, Kind::Existing);
        self.moves.fetch_add(MOVE - 1, SeqCst);
        self.give(from, 0);
        self.give(to, EXISTS);
    }

    fn take(&self, entry: u32, from: u32, to: u32) -> bool {
        let state = &self.states[entry as usize];
        // The look before saves others the loss of their cache line when the entry cannot be had anyway.
        state.load(Relaxed) == from && state.compare_exchange(from, to, Acquire, Relaxed).is_ok()
    }

    fn give(&self, entry: u32, to: u32) {
        let state = &self.states[entry as usize];
        debug_assert!(state.load(Relaxed) & BUSY != 0, "entry {entry} was not claimed");
        state.store(to, Release);
    }

    /// Sets or clears the bit of an entry that the caller holds BUSY, and keeps the summaries.
    fn mark(&self, entry: u32, becomes: Kind) {
        let (w, bit) = (entry as usize / 64, 1u64 << (entry % 64));
        let (word, loses) = match becomes {
            Kind::Existing => (self.bits[w].fetch_or(bit, SeqCst) | bit, Kind::Absent),
            Kind::Absent => (self.bits[w].fetch_and(!bit, SeqCst) & !bit, Kind::Existing),
        };
        let flag = 1u64 << (w % 64);
        let gaining = &self.summaries[becomes as usize][w / 64];
        if gaining.load(SeqCst) & flag == 0 {
            gaining.fetch_or(flag, SeqCst);
        }
        if self.of_kind(loses, w, word) == 0 {
            let losing = &self.summaries[loses as usize][w / 64];
            losing.fetch_and(!flag, SeqCst);
            if self.of_kind(loses, w, self.bits[w].load(SeqCst)) != 0 {
                losing.fetch_or(flag, SeqCst);
            }
        }
    }

    /// The bits of word `w` whose entries are of `kind`.
    fn of_kind(&self, kind: Kind, w: usize, word: u64) -> u64 {
        let valid = match self.count as usize - w * 64 {
            n if n < 64 => (1 << n) - 1,
            _ => u64::MAX,
        };
        match kind {
            Kind::Existing => word & valid,
            Kind::Absent => !word & valid,
        }
    }

    /// The first entry in `from..to` that the bitmap shows to be of `kind`. With `thorough`, no summary is asked.
    fn find(&self, kind: Kind, from: u32, to: u32, thorough: bool) -> Option<u32> {
        let summary = self.summaries[kind as usize];
        let end = (to as usize).div_ceil(64);
        let mut w = from as usize / 64;
        let mut mask = u64::MAX << (from % 64);
        while w < end {
            looked(Some(w));
            let word = self.of_kind(kind, w, self.bits[w].load(SeqCst)) & mask;
            if word != 0 {
                let entry = w as u64 * 64 + u64::from(word.trailing_zeros());
                return (entry < u64::from(to)).then_some(entry as u32);
            }
            mask = u64::MAX;
            w += 1;
            if thorough || w >= end {
                continue;
            }
            let mut s = w / 64;
            let mut flags = summary[s].load(SeqCst) & (u64::MAX << (w % 64));
            while flags == 0 {
                looked(None);
                s += 1;
                if s * 64 >= end {
                    return None;
                }
                flags = summary[s].load(SeqCst);
            }
            w = s * 64 + flags.trailing_zeros() as usize;
        }
        None
    }

    fn rotate(&self, rotor: &mut Rotor, kind: Kind, claim: impl Fn(u32) -> bool) -> Pick {
        if self.count == 0 {
            return Pick::Nothing;
        }
        let shared = self.rotors[kind as usize];
        let walk = &mut rotor.walks[kind as usize];
        if walk.next >= walk.end {
            if self.count == 1 {
                // There is no order among one.
                walk.end = u64::MAX;
            } else {
                walk.next = shared.fetch_add(u64::from(rotor.batch), Relaxed);
                walk.end = walk.next + u64::from(rotor.batch);
            }
        }
        let (pick, distance) = self.search(kind, (walk.next % u64::from(self.count)) as u32, claim);
        if let Pick::Entry(_) = pick {
            let at = walk.next + u64::from(distance);
            walk.next = at + 1;
            if at >= walk.end {
                // Nothing was left in the batch, so the rotation goes on behind what was found: otherwise all
                // threads would find this same entry, as often as its gap is long.
                if shared.load(Relaxed) <= at {
                    shared.fetch_max(at + 1, Relaxed);
                }
                walk.end = walk.next;
            }
        }
        pick
    }

    fn indexed(&self, index: u64, kind: Kind, claim: impl Fn(u32) -> bool) -> Pick {
        if self.count == 0 {
            return Pick::Nothing;
        }
        self.search(kind, (index % u64::from(self.count)) as u32, claim).0
    }

    /// An entry of `kind` that `claim` gets, each as likely as any other.
    ///
    /// A random entry that is not to be had is left and another is drawn, which keeps the odds even among the rest.
    /// Where few are of the kind that would go on for long: then they are counted, and one of a random number among
    /// them is taken, each as likely again. Only where those are taken by others too, the search decides, whose choice
    /// is even no more but which knows whether there is any.
    fn random(&self, generator: &mut Generator, kind: Kind, claim: impl Fn(u32) -> bool) -> Pick {
        if self.count == 0 {
            return Pick::Nothing;
        }
        for _ in 0..TRIES {
            let entry = below(generator, u64::from(self.count)) as u32;
            if claim(entry) {
                return Pick::Entry(entry);
            }
        }
        for _ in 0..DRAWS {
            match self.random_of_kind(generator, kind) {
                Some(entry) if claim(entry) => return Pick::Entry(entry),
                Some(_) => {}
                None => break,
            }
        }
        self.search(kind, below(generator, u64::from(self.count)) as u32, claim).0
    }

    /// One of the entries that the bitmap shows to be of `kind`, each as likely. None where there is none, or others
    /// changed the bitmap between the two passes.
    fn random_of_kind(&self, generator: &mut Generator, kind: Kind) -> Option<u32> {
        let words = || self.bits.iter().enumerate().map(|(w, word)| (w, self.of_kind(kind, w, word.load(SeqCst))));
        let total: u64 = words().map(|(_, word)| u64::from(word.count_ones())).sum();
        let mut left = below(generator, total) as u32;
        for (w, mut word) in words() {
            let here = word.count_ones();
            if left < here {
                // Takes the lowest bits away, up to the one that is meant.
                (0..left).for_each(|_| word &= word - 1);
                return Some(w as u32 * 64 + word.trailing_zeros());
            }
            left -= here;
        }
        None
    }

    /// The first entry of `kind` at or above `start`, or below it, that `claim` gets; and how far from `start`.
    ///
    /// Nothing is said only after two whole passes over the bitmap that met no entry of the kind. Why two, and why
    /// that is enough: up to 64 entries are one word, so each pass is a snapshot and right. In a larger set one pass
    /// can miss an entry that comes into being behind it while the last other one ahead of it goes. To fool the second
    /// pass too, the same would have to happen again, just there, within the microseconds of that pass, and each such
    /// move is a creation and a deletion on a file system. The quick pass before, by the summaries, proves nothing.
    /// Where the move is one rename it is not so rare, and is counted: see [`moved`](Self::moved).
    fn search(&self, kind: Kind, start: u32, claim: impl Fn(u32) -> bool) -> (Pick, u32) {
        let mut moves = 0;
        for (pass, thorough) in [false, true, true].into_iter().enumerate() {
            if pass == 1 {
                moves = self.moves.load(SeqCst);
            }
            let mut met = false;
            for (from, to) in [(start, self.count), (0, start)] {
                let mut from = from;
                while let Some(entry) = self.find(kind, from, to, thorough) {
                    if claim(entry) {
                        let distance = if entry >= start { entry - start } else { self.count - start + entry };
                        return (Pick::Entry(entry), distance);
                    }
                    met = true;
                    from = entry + 1;
                }
            }
            if met {
                return (Pick::Busy, 0);
            }
        }
        if !moves.is_multiple_of(MOVE) || self.moves.load(SeqCst) != moves {
            return (Pick::Busy, 0);
        }
        (Pick::Nothing, 0)
    }
}

/// Tells the tests of each word that a search looks at: which one of the bitmap, or none for one of a summary.
#[inline]
fn looked(word: Option<usize>) {
    #[cfg(test)]
    tests::looked(word);
    let _ = word;
}

/// Where the parts of a set of entries lie, in bytes from the start of the pool.
#[derive(Debug)]
struct EntryPlaces {
    rotors: [usize; 2],
    states: usize,
    bits: usize,
    summaries: [usize; 2],
    moves: usize,
}

/// Where everything lies.
#[derive(Debug)]
struct Places {
    files: EntryPlaces,
    leafdirs: EntryPlaces,
    homes: EntryPlaces,
    directory_rotor: usize,
    sizes: usize,
    parents: usize,
    /// Parent, serial and first file of each directory, one table each.
    directories: [usize; 3],
    /// Parent and serial of each leaf directory.
    leaves: [usize; 2],
    /// The directory that each home is.
    home_directories: usize,
    bytes: usize,
}

impl Places {
    fn of(shape: Shape) -> Self {
        let mut bytes = 0usize;
        let mut table = |count: usize, size: usize| {
            let here = bytes;
            bytes += (count * size).next_multiple_of(LINE);
            here
        };
        let mut entries = |count: u32| {
            let words = (count as usize).div_ceil(64);
            EntryPlaces {
                rotors: [table(1, 8), table(1, 8)],
                states: table(count as usize, 4),
                bits: table(words, 8),
                summaries: [table(words.div_ceil(64), 8), table(words.div_ceil(64), 8)],
                moves: table(1, 8),
            }
        };
        let (files, leafdirs, homes) = (entries(shape.files), entries(shape.leafdirs), entries(shape.homes));
        let [f, d, l] = [shape.files, shape.directories, shape.leafdirs].map(|n| n as usize);
        Places {
            files,
            leafdirs,
            homes,
            directory_rotor: table(1, 8),
            sizes: table(f, 8),
            parents: table(f, 4),
            directories: [table(d, 4), table(d, 4), table(d, 4)],
            leaves: [table(l, 4), table(l, 4)],
            home_directories: table(shape.homes as usize, 4),
            bytes,
        }
    }
}

/// One file set as its workers share it.
#[derive(Debug, Clone, Copy)]
pub struct Pool<'a> {
    files: Entries<'a>,
    leafdirs: Entries<'a>,
    homes: Entries<'a>,
    directory_rotor: &'a AtomicU64,
    sizes: &'a [AtomicU64],
    parents: &'a [AtomicU32],
    directories: [&'a [AtomicU32]; 3],
    leaves: [&'a [AtomicU32]; 2],
    home_directories: &'a [AtomicU32],
}

impl<'a> Pool<'a> {
    /// Bytes of shared memory that a pool takes; a multiple of 128.
    pub fn bytes(shape: Shape) -> usize {
        Places::of(shape).bytes
    }

    /// The pool at byte `offset`, a multiple of 128, of a region.
    ///
    /// # Panics
    ///
    /// Where it does not lie within the region, or `offset` is no such multiple.
    pub fn attach(region: &'a Region, offset: usize, shape: Shape) -> Self {
        assert!(offset.is_multiple_of(LINE), "a pool begins on a cache line, not at {offset}");
        let places = Places::of(shape);
        let [f, d, l] = [shape.files, shape.directories, shape.leafdirs].map(|n| n as usize);
        Pool {
            files: Entries::attach(region, offset, shape.files, &places.files),
            leafdirs: Entries::attach(region, offset, shape.leafdirs, &places.leafdirs),
            homes: Entries::attach(region, offset, shape.homes, &places.homes),
            directory_rotor: &region.u64s(offset + places.directory_rotor, 1)[0],
            sizes: region.u64s(offset + places.sizes, f),
            parents: region.u32s(offset + places.parents, f),
            directories: places.directories.map(|at| region.u32s(offset + at, d)),
            leaves: places.leaves.map(|at| region.u32s(offset + at, l)),
            home_directories: region.u32s(offset + places.home_directories, shape.homes as usize),
        }
    }

    /// Fills a pool that nobody uses yet, in a region that is still zero there.
    ///
    /// # Panics
    ///
    /// Where `layout` or `existing` are not of the pool's shape.
    pub fn fill(&self, layout: &Layout, existing: &Presence) {
        assert_eq!(layout.directories.len(), self.directories[0].len(), "a layout of another shape");
        self.files.fill(&existing.files);
        self.leafdirs.fill(&existing.leafdirs);
        for (i, (size, parent)) in layout.sizes.iter().zip(&layout.parents).enumerate() {
            self.sizes[i].store(*size, Relaxed);
            self.parents[i].store(*parent, Relaxed);
        }
        for (i, d) in layout.directories.iter().enumerate() {
            self.directories[0][i].store(d.parent, Relaxed);
            self.directories[1][i].store(d.serial, Relaxed);
            self.directories[2][i].store(d.first_file, Relaxed);
        }
        for (i, l) in layout.leafdirs.iter().enumerate() {
            self.leaves[0][i].store(l.parent, Relaxed);
            self.leaves[1][i].store(l.serial, Relaxed);
        }
        let mut homes = 0;
        for (i, directory) in layout.homes().enumerate() {
            self.home_directories[i].store(directory, Relaxed);
            homes += 1;
        }
        self.homes.fill(&vec![true; homes]);
    }

    /// The files.
    pub fn files(&self) -> &Entries<'a> {
        &self.files
    }

    /// The leaf directories.
    pub fn leafdirs(&self) -> &Entries<'a> {
        &self.leafdirs
    }

    /// The homes: directories that hold files. All exist at the start.
    pub fn homes(&self) -> &Entries<'a> {
        &self.homes
    }

    /// True where the directory of a file is a home that does not exist at this moment.
    pub fn is_homeless(&self, file: u32) -> bool {
        let directory = self.parents[file as usize].load(Relaxed);
        let home = self.home_directories.binary_search_by_key(&directory, |home| home.load(Relaxed));
        home.is_ok_and(|home| !self.homes.exists(home as u32))
    }

    /// Number of directories, the root included. They exist, but for homes that a flowop removed.
    pub fn directories(&self) -> u32 {
        self.directories[0].len() as u32
    }

    /// The next directory in rotation; the root is one of them.
    pub fn next_directory(&self, rotor: &mut Rotor) -> u32 {
        let count = u64::from(self.directories());
        let walk = &mut rotor.walks[0];
        if walk.next >= walk.end && count > 1 {
            walk.next = self.directory_rotor.fetch_add(u64::from(rotor.batch), Relaxed);
            walk.end = walk.next + u64::from(rotor.batch);
        }
        let at = walk.next;
        walk.next += 1;
        (at % count) as u32
    }

    /// The nominal size of a file in bytes.
    pub fn size(&self, file: u32) -> u64 {
        self.sizes[file as usize].load(Relaxed)
    }

    /// A second name of a file was made, or a copy: it has that size too. The caller has claimed `file`.
    pub fn set_size(&self, file: u32, size: u64) {
        self.sizes[file as usize].store(size, Relaxed);
    }

    /// The file of entry `from`, which the caller has claimed, is at entry `to` of `other`, claimed too, from now on.
    /// The two exchange their sizes: the file keeps its own, and the sizes of a set stay those that were drawn.
    pub fn moved(&self, from: u32, other: &Pool<'_>, to: u32) {
        let (size, free) = (self.size(from), other.size(to));
        self.set_size(from, free);
        other.set_size(to, size);
        if std::ptr::eq(self.sizes, other.sizes) {
            self.files.moved(from, to);
        } else {
            self.files.deleted(from);
            other.files.created(to);
            other.files.release(to);
        }
    }

    /// Writes the path of a file.
    pub fn file_path(&self, file: u32, out: &mut PathBuffer) {
        let parent = self.parents[file as usize].load(Relaxed);
        let serial = file - self.directories[2][parent as usize].load(Relaxed) + 1;
        out.set(parent, serial, |d| self.above(d));
    }

    /// Writes the path of a directory.
    pub fn directory_path(&self, directory: u32, out: &mut PathBuffer) {
        if directory == 0 {
            out.set_root();
        } else {
            let (parent, serial) = self.above(directory);
            out.set(parent, serial, |d| self.above(d));
        }
    }

    /// Writes the path of a home.
    pub fn home_path(&self, home: u32, out: &mut PathBuffer) {
        self.directory_path(self.home_directories[home as usize].load(Relaxed), out);
    }

    /// Writes the path of a leaf directory.
    pub fn leafdir_path(&self, leafdir: u32, out: &mut PathBuffer) {
        let [parent, serial] = self.leaves.map(|table| table[leafdir as usize].load(Relaxed));
        out.set(parent, serial, |d| self.above(d));
    }

    fn above(&self, directory: u32) -> (u32, u32) {
        let d = directory as usize;
        (self.directories[0][d].load(Relaxed), self.directories[1][d].load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::tests::{plan, spec};
    use super::*;
    use proptest::prelude::*;
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;

    type BeforeLook = Box<dyn FnMut(usize)>;

    thread_local! {
        static LOOKED: Cell<u64> = const { Cell::new(0) };
        /// Is done before each look at a word of the bitmap.
        static BEFORE_LOOK: RefCell<Option<BeforeLook>> = const { RefCell::new(None) };
    }

    pub(super) fn looked(word: Option<usize>) {
        LOOKED.with(|n| n.set(n.get() + 1));
        if let Some(word) = word {
            BEFORE_LOOK.with_borrow_mut(|before| before.iter_mut().for_each(|before| before(word)));
        }
    }

    /// A pool of `count` files, flat, those of `existing` on the disk.
    fn region(count: u32, existing: impl Fn(u32) -> bool) -> (Region, Shape) {
        let layout = plan(&spec(u64::from(count), 1e9, 0.0), 1);
        let shape = Shape::of(&layout);
        let region = Region::create(Pool::bytes(shape) + LINE).unwrap();
        let presence = Presence { files: (0..count).map(existing).collect(), leafdirs: vec![] };
        Pool::attach(&region, LINE, shape).fill(&layout, &presence);
        (region, shape)
    }

    /// Fails where the counts are not even: chi-square at 4 sigma of its normal approximation.
    fn even(counts: &[u64]) {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let chi: f64 = counts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
        let freedom = counts.len() as f64 - 1.0;
        assert!(chi < freedom + 4.0 * (2.0 * freedom).sqrt(), "chi-square {chi} at {freedom} degrees of freedom");
    }

    #[test]
    fn a_random_pick_is_even_over_those_that_exist_however_few_they_are() {
        // All, half, one in ten, and one in a thousand, which is beyond the tries at random. They lie in clumps: a
        // search from a random place would take those behind the gaps too often.
        for (count, step) in [(64, 1), (200, 2), (1000, 10), (20_000, 1000)] {
            let exists = |i: u32| i % (4 * step) < 4;
            let (region, shape) = region(count, exists);
            let pool = Pool::attach(&region, LINE, shape);
            let mut generator = crate::random::stream::Seed::root(9).generator();
            let (mut opened, mut absent) = (vec![0u64; count as usize], vec![0u64; count as usize]);
            for _ in 0..20_000 {
                let Pick::Entry(entry) = pool.files().random_open(&mut generator) else { panic!("nothing") };
                opened[entry as usize] += 1;
                pool.files().release(entry);
                if let Pick::Entry(entry) = pool.files().random_absent(&mut generator) {
                    absent[entry as usize] += 1;
                    pool.files().abandon(entry);
                }
            }
            let of = |counts: &[u64], kind: bool| -> Vec<u64> {
                (0..count).filter(|i| exists(*i) == kind).map(|i| counts[i as usize]).collect()
            };
            even(&of(&opened, true));
            assert!(of(&opened, false).iter().all(|n| *n == 0) && of(&absent, true).iter().all(|n| *n == 0));
            if step > 1 {
                even(&of(&absent, false));
            }
        }
    }

    #[test]
    fn a_random_pick_says_nothing_and_busy_where_that_is_so() {
        let mut generator = crate::random::stream::Seed::root(9).generator();
        let (none, shape) = region(100, |_| false);
        let pool = Pool::attach(&none, LINE, shape);
        assert_eq!(pool.files().random_open(&mut generator), Pick::Nothing);
        assert_eq!(pool.files().random_delete(&mut generator), Pick::Nothing);
        let (all, shape) = region(100, |_| true);
        let pool = Pool::attach(&all, LINE, shape);
        assert_eq!(pool.files().random_absent(&mut generator), Pick::Nothing);
        // The last that nobody uses is found, and after it there is none to be had.
        (0..100).filter(|i| *i != 77).for_each(|i| assert!(pool.files().use_at(i)));
        assert_eq!(pool.files().random_delete(&mut generator), Pick::Entry(77));
        assert_eq!(pool.files().random_delete(&mut generator), Pick::Busy);
        let (empty, shape) = region(0, |_| true);
        assert_eq!(Pool::attach(&empty, LINE, shape).files().random_open(&mut generator), Pick::Nothing);
    }

    #[test]
    fn eight_threads_that_create_and_delete_at_random_lose_no_file() {
        let (region, shape) = region(300, |i| i % 2 == 0);
        let made: Vec<(i64, i64)> = std::thread::scope(|scope| {
            let work = |t: u64| {
                let region = &region;
                scope.spawn(move || {
                    let pool = Pool::attach(region, LINE, shape);
                    let files = pool.files();
                    let mut generator = crate::random::stream::Seed::root(t).generator();
                    let (mut created, mut deleted) = (0, 0);
                    for i in 0..20_000u64 {
                        // More of one kind than of the other in turns, so that the set runs full and empty.
                        if (i / 500 + i % 3) % 2 == 0 {
                            if let Pick::Entry(entry) = files.random_absent(&mut generator) {
                                assert!(!files.exists(entry));
                                files.created(entry);
                                files.release(entry);
                                created += 1;
                            }
                        } else if let Pick::Entry(entry) = files.random_delete(&mut generator) {
                            assert!(files.exists(entry));
                            files.deleted(entry);
                            deleted += 1;
                        }
                    }
                    (created, deleted)
                })
            };
            let handles: Vec<_> = (0..8).map(work).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        let pool = Pool::attach(&region, LINE, shape);
        let balance: i64 = made.iter().map(|(created, deleted)| created - deleted).sum();
        assert_eq!(i64::from(pool.files().existing()), 150 + balance);
        // The states and the bitmap say the same, and nobody holds anything.
        let states = (0..300).filter(|i| pool.files().exists(*i)).count();
        assert_eq!(states as u32, pool.files().existing());
        for entry in 0..300 {
            let free = pool.files().claim_delete_at(entry, 0);
            assert_eq!(free, if pool.files().exists(entry) { Pick::Entry(entry) } else { Pick::Nothing });
        }
    }

    #[test]
    fn a_pool_takes_little_memory_and_whole_lines() {
        let shape = Shape { files: 1_000_000, directories: 1, ..Shape::default() };
        let bytes = Pool::bytes(shape);
        assert!(bytes.is_multiple_of(128));
        assert!(bytes < 16_200_000, "{bytes}");
        assert!(Pool::bytes(Shape { files: u32::MAX - 1, ..shape }) > 60 << 30);
    }

    #[test]
    fn paths_are_those_of_the_layout() {
        let mut s = spec(500, 7.0, 1.5);
        s.leafdirs = 40;
        let layout = plan(&s, 3);
        let shape = Shape::of(&layout);
        let region = Region::create(Pool::bytes(shape)).unwrap();
        let pool = Pool::attach(&region, 0, shape);
        pool.fill(&layout, &layout.prealloc(50, crate::random::stream::Seed::root(1)));
        assert_eq!((pool.files().existing(), pool.leafdirs().existing()), (250, 20));
        let (mut one, mut two) = (PathBuffer::new(), PathBuffer::new());
        for i in 0..500 {
            layout.path_of_file(i, &mut one);
            pool.file_path(i as u32, &mut two);
            assert_eq!(one.as_c_str(), two.as_c_str());
            assert_eq!(pool.size(i as u32), layout.sizes[i]);
        }
        for i in 0..layout.directories.len() {
            layout.path_of_directory(i, &mut one);
            pool.directory_path(i as u32, &mut two);
            assert_eq!(one.as_c_str(), two.as_c_str());
        }
        for i in 0..40 {
            layout.path_of_leafdir(i, &mut one);
            pool.leafdir_path(i as u32, &mut two);
            assert_eq!(one.as_c_str(), two.as_c_str());
        }
        // Every file is in a home, and a home is the directory of some file.
        let mut homes = BTreeSet::new();
        for i in 0..pool.homes().len() {
            pool.home_path(i, &mut one);
            homes.insert(one.as_bytes().to_owned());
        }
        let mut parents = BTreeSet::new();
        for i in 0..500 {
            pool.file_path(i, &mut one);
            let path = one.as_bytes();
            parents.insert(path[..path.iter().rposition(|byte| *byte == b'/').unwrap()].to_owned());
            assert!(!pool.is_homeless(i));
        }
        assert_eq!(homes, parents);
        assert!(pool.homes().existing() == shape.homes && shape.homes < shape.directories);
        assert_eq!(pool.homes().claim_delete_at(0, 0), Pick::Entry(0));
        pool.homes().deleted(0);
        let first = pool.home_directories[0].load(Relaxed);
        assert!((0..500).all(|i| pool.is_homeless(i) == (layout.parents[i as usize] == first)));
        let mut rotor = Rotor::shared(shape.directories, 1);
        let seen: Vec<u32> = (0..shape.directories + 2).map(|_| pool.next_directory(&mut rotor)).collect();
        assert!(seen.iter().enumerate().all(|(i, d)| *d == i as u32 % shape.directories));
    }

    #[test]
    fn use_keeps_an_entry_from_deletion_and_deletion_from_use() {
        let (region, shape) = region(2, |i| i == 0);
        let pool = Pool::attach(&region, LINE, shape);
        let files = pool.files();
        let mut rotor = Rotor::shared(2, 1);
        assert_eq!(files.open_existing(&mut rotor), Pick::Entry(0));
        assert_eq!(files.claim_delete(&mut rotor), Pick::Busy);
        assert_eq!(files.claim_delete_at(0, 0), Pick::Busy);
        assert_eq!(files.claim_delete_at(1, 0), Pick::Nothing);
        assert_eq!(files.claim_delete_at(0, 1), Pick::Entry(0));
        assert_eq!(files.open_existing(&mut rotor), Pick::Busy);
        assert!(!files.use_at(0));
        files.restore(0);
        assert!(files.use_at(0));
        files.release(0);
        files.release(0);
        assert_eq!(files.claim_delete(&mut rotor), Pick::Entry(0));
        files.deleted(0);
        assert_eq!(files.open_existing(&mut rotor), Pick::Nothing);
        assert_eq!(files.indexed_absent(3), Pick::Entry(1));
        assert_eq!(files.indexed_absent(3), Pick::Entry(0));
        assert_eq!(files.indexed_absent(3), Pick::Busy);
        files.created(1);
        files.abandon(0);
        assert_eq!(files.indexed_delete(0), Pick::Busy);
        files.release(1);
        assert_eq!(files.indexed_open(0), Pick::Entry(1));
        assert_eq!(files.existing(), 1);
    }

    #[test]
    fn the_last_of_a_million_are_found_by_few_looks() {
        let count = 1_000_000;
        let (region, shape) = region(count, |i| i % 1000 == 7);
        let pool = Pool::attach(&region, LINE, shape);
        for (kind, mut rotor) in [(0, Rotor::shared(count, 8)), (1, Rotor::alone(0))] {
            LOOKED.set(0);
            for k in 0..2000 {
                assert_eq!(pool.files().open_existing(&mut rotor), Pick::Entry(k % 1000 * 1000 + 7), "{kind}");
            }
            assert!(LOOKED.get() < 2000 * 4, "{}", LOOKED.get());
        }
        // One left of a million: its summary word and no more than all the summary words.
        for k in 1..1000 {
            assert_eq!(pool.files().indexed_delete(k * 1000), Pick::Busy, "each is in use");
            for _ in 0..4 {
                pool.files().release(k as u32 * 1000 + 7);
            }
            assert_eq!(pool.files().claim_delete_at(k as u32 * 1000 + 7, 0), Pick::Entry(k as u32 * 1000 + 7));
            pool.files().deleted(k as u32 * 1000 + 7);
        }
        LOOKED.set(0);
        assert_eq!(pool.files().indexed_open(8), Pick::Entry(7));
        assert!(LOOKED.get() < 1_000_000 / 4096 + 10, "{}", LOOKED.get());
    }

    #[test]
    fn a_batch_is_walked_without_the_shared_rotor() {
        let (region, shape) = region(10_000, |_| true);
        let pool = Pool::attach(&region, LINE, shape);
        let (mut one, mut two) = (Rotor::shared(10_000, 2), Rotor::shared(10_000, 2));
        let next = |rotor: &mut Rotor| match pool.files().open_existing(rotor) {
            Pick::Entry(i) => i,
            other => panic!("{other:?}"),
        };
        assert_eq!([next(&mut one), next(&mut two), next(&mut one), next(&mut two)], [0, 64, 1, 65]);
        for i in 2..64 {
            assert_eq!(next(&mut one), i);
        }
        assert_eq!(next(&mut one), 128);
        assert_eq!(Rotor::shared(100, 50).batch, 1);
        assert_eq!(Rotor::shared(0, 0).batch, 1);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Open,
        Release(prop::sample::Index),
        Create(bool),
        Delete(bool),
        DeleteAt(prop::sample::Index, u32),
        Indexed(u8, u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => Just(Step::Open),
            2 => any::<prop::sample::Index>().prop_map(Step::Release),
            3 => any::<bool>().prop_map(Step::Create),
            3 => any::<bool>().prop_map(Step::Delete),
            1 => (any::<prop::sample::Index>(), 0u32..2).prop_map(|(i, own)| Step::DeleteAt(i, own)),
            2 => (0u8..3, any::<u64>()).prop_map(|(kind, index)| Step::Indexed(kind, index)),
        ]
    }

    /// The first of `set` at or above `from`, or the first, among those that pass.
    fn first(set: &BTreeSet<u32>, from: u32, pass: impl Fn(u32) -> bool) -> Pick {
        match set.range(from..).chain(set.range(..from)).find(|i| pass(**i)) {
            Some(i) => Pick::Entry(*i),
            None if set.is_empty() => Pick::Nothing,
            None => Pick::Busy,
        }
    }

    proptest! {
        #[test]
        fn one_thread_sees_filebenchs_rotation(count in 1u32..300, threads in 1usize..5, percent in 0u32..=100,
                                              steps in prop::collection::vec(step(), 1..400)) {
            let (region, shape) = region(count, |i| i * 37 % 100 < percent);
            let pool = Pool::attach(&region, LINE, shape);
            let files = pool.files();
            let mut existing: BTreeSet<u32> = (0..count).filter(|i| i * 37 % 100 < percent).collect();
            let mut absent: BTreeSet<u32> = (0..count).filter(|i| !existing.contains(i)).collect();
            let mut uses: Vec<u32> = vec![];
            let mut rotors = [0u32; 2];
            let mut rotor = Rotor::shared(count, threads);
            for step in steps {
                let used = |uses: &Vec<u32>, i: u32| uses.iter().filter(|u| **u == i).count() as u32;
                let (pick, expected, kind) = match &step {
                    Step::Open => (files.open_existing(&mut rotor), first(&existing, rotors[0], |_| true), 0),
                    Step::Create(_) => (files.claim_absent(&mut rotor), first(&absent, rotors[1], |_| true), 1),
                    Step::Delete(_) =>
                        (files.claim_delete(&mut rotor), first(&existing, rotors[0], |i| used(&uses, i) == 0), 0),
                    Step::Release(which) => {
                        if !uses.is_empty() {
                            let i = which.index(uses.len());
                            files.release(uses.swap_remove(i));
                        }
                        continue;
                    }
                    Step::DeleteAt(which, own) => {
                        let i = which.index(count as usize) as u32;
                        let expected = match existing.contains(&i) {
                            false => Pick::Nothing,
                            true if used(&uses, i) == *own => Pick::Entry(i),
                            true => Pick::Busy,
                        };
                        prop_assert_eq!(files.claim_delete_at(i, *own), expected);
                        if expected == Pick::Entry(i) {
                            files.deleted(i);
                            uses.retain(|u| *u != i);
                            existing.remove(&i);
                            absent.insert(i);
                        }
                        continue;
                    }
                    Step::Indexed(kind, index) => {
                        let from = (index % u64::from(count)) as u32;
                        match kind {
                            0 => {
                                let pick = files.indexed_open(*index);
                                prop_assert_eq!(pick, first(&existing, from, |_| true));
                                if let Pick::Entry(i) = pick { files.release(i); }
                            }
                            1 => {
                                let pick = files.indexed_absent(*index);
                                prop_assert_eq!(pick, first(&absent, from, |_| true));
                                if let Pick::Entry(i) = pick { files.abandon(i); }
                            }
                            _ => {
                                let pick = files.indexed_delete(*index);
                                prop_assert_eq!(pick, first(&existing, from, |i| used(&uses, i) == 0));
                                if let Pick::Entry(i) = pick { files.restore(i); }
                            }
                        }
                        continue;
                    }
                };
                prop_assert_eq!(pick, expected, "{:?}", step);
                let Pick::Entry(i) = pick else { continue };
                rotors[kind] = (i + 1) % count;
                match step {
                    Step::Open => uses.push(i),
                    Step::Create(true) => {
                        files.created(i);
                        uses.push(i);
                        absent.remove(&i);
                        existing.insert(i);
                    }
                    Step::Create(false) => files.abandon(i),
                    Step::Delete(true) => {
                        files.deleted(i);
                        existing.remove(&i);
                        absent.insert(i);
                    }
                    Step::Delete(false) => files.restore(i),
                    _ => unreachable!(),
                }
            }
            prop_assert_eq!(files.existing() as usize, existing.len());
            for i in 0..count {
                prop_assert_eq!(files.exists(i), existing.contains(&i));
            }
        }
    }

    /// Eight threads on `count` entries. `owner` says who holds an entry exclusively, `users` how many use it.
    fn stress(count: u32, rounds: u32) {
        let (region, shape) = region(count, |i| i % 2 == 0);
        let exclusive: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
        let users: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
        let (made, gone) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let (region, exclusive, users, made, gone) = (&region, &exclusive, &users, &made, &gone);
                scope.spawn(move || {
                    use rand::Rng;
                    // Each maps the region as a process of its own would.
                    let mapped = Region::map(region.fd().try_clone_to_owned().unwrap()).unwrap();
                    let pool = Pool::attach(&mapped, LINE, shape);
                    let files = pool.files();
                    let mut rotor = Rotor::shared(count, 8);
                    let mut random = crate::random::stream::Seed::root(thread).generator();
                    let enter = |i: u32| assert_eq!(exclusive[i as usize].fetch_add(1, SeqCst), 0, "given out twice");
                    let leave = |i: u32| assert_eq!(exclusive[i as usize].fetch_sub(1, SeqCst), 1);
                    for _ in 0..rounds {
                        let r = random.next_u64();
                        let fails = r >> 32 & 7 == 0;
                        match r % 4 {
                            0 => {
                                let Pick::Entry(i) = files.claim_absent(&mut rotor) else { continue };
                                enter(i);
                                assert_eq!(users[i as usize].load(SeqCst), 0);
                                leave(i);
                                if fails {
                                    files.abandon(i);
                                } else {
                                    users[i as usize].fetch_add(1, SeqCst);
                                    made.fetch_add(1, Relaxed);
                                    files.created(i);
                                    users[i as usize].fetch_sub(1, SeqCst);
                                    files.release(i);
                                }
                            }
                            1 => {
                                let pick = match r >> 40 & 1 {
                                    0 => files.claim_delete(&mut rotor),
                                    _ => files.indexed_delete(r >> 41),
                                };
                                let Pick::Entry(i) = pick else { continue };
                                enter(i);
                                assert_eq!(users[i as usize].load(SeqCst), 0, "deleted while in use");
                                leave(i);
                                if fails {
                                    files.restore(i);
                                } else {
                                    gone.fetch_add(1, Relaxed);
                                    files.deleted(i);
                                }
                            }
                            2 => {
                                let Pick::Entry(i) = files.open_existing(&mut rotor) else { continue };
                                assert_eq!(exclusive[i as usize].load(SeqCst), 0, "used while held");
                                if let Pick::Entry(i) = files.claim_delete_at(i, 1) {
                                    enter(i);
                                    leave(i);
                                    gone.fetch_add(1, Relaxed);
                                    files.deleted(i);
                                } else {
                                    files.release(i);
                                }
                            }
                            _ => {
                                let Pick::Entry(i) = files.open_existing(&mut rotor) else { continue };
                                users[i as usize].fetch_add(1, SeqCst);
                                assert_eq!(exclusive[i as usize].load(SeqCst), 0, "used while held");
                                users[i as usize].fetch_sub(1, SeqCst);
                                files.release(i);
                            }
                        }
                    }
                });
            }
        });
        let pool = Pool::attach(&region, LINE, shape);
        let files = pool.files();
        let expected = count.div_ceil(2) + made.load(Relaxed) - gone.load(Relaxed);
        assert_eq!(files.existing(), expected);
        // Every one that exists, and no other, is found and deleted; then nothing is left.
        let mut rotor = Rotor::shared(count, 8);
        for _ in 0..expected {
            assert!(matches!(files.claim_delete(&mut rotor), Pick::Entry(i) if { files.deleted(i); true }));
        }
        assert_eq!(files.claim_delete(&mut rotor), Pick::Nothing);
        assert_eq!(files.open_existing(&mut rotor), Pick::Nothing);
        for _ in 0..count {
            assert!(matches!(files.claim_absent(&mut rotor), Pick::Entry(i) if { files.created(i); true }));
        }
        assert_eq!(files.claim_absent(&mut rotor), Pick::Nothing);
    }

    #[test]
    fn eight_threads_never_get_one_entry_twice() {
        for (count, rounds) in [(1, 20_000), (2, 20_000), (7, 20_000), (100, 20_000), (5000, 20_000)] {
            stress(count, rounds);
        }
    }

    #[test]
    fn a_file_that_moves_takes_its_size_along() {
        let (region, shape) = region(3, |i| i < 2);
        let pool = Pool::attach(&region, LINE, shape);
        (0..3).for_each(|i| pool.set_size(i, 10 + u64::from(i)));
        let (other_region, _) = self::region(3, |_| false);
        let other = Pool::attach(&other_region, LINE, shape);
        assert_eq!((pool.files().indexed_delete(0), pool.files().indexed_absent(0)), (Pick::Entry(0), Pick::Entry(2)));
        pool.moved(0, &pool, 2);
        assert_eq!((pool.size(0), pool.size(2)), (12, 10));
        assert_eq!([0, 1, 2].map(|i| pool.files().exists(i)), [false, true, true]);
        assert_eq!((pool.files().indexed_delete(2), other.files().indexed_absent(1)), (Pick::Entry(2), Pick::Entry(1)));
        pool.moved(2, &other, 1);
        assert_eq!((pool.size(2), other.size(1)), (other.size(0), 10));
        assert_eq!((pool.files().existing(), other.files().existing()), (1, 1));
        // Nothing of the claims is left.
        assert_eq!((pool.files().indexed_absent(2), other.files().indexed_delete(1)), (Pick::Entry(2), Pick::Entry(1)));
    }

    #[test]
    fn a_search_that_a_move_runs_away_from_does_not_say_that_there_is_nothing() {
        let (region, shape) = region(256, |i| i != 0);
        let region: &'static Region = Box::leak(Box::new(region));
        let files = *Pool::attach(region, LINE, shape).files();
        let mut absent = 0;
        BEFORE_LOOK.set(Some(Box::new(move |word| {
            // Always two words away from where the search is.
            let next = (word as u32 + 2) % 4 * 64;
            if next != absent {
                assert!(files.take(absent, 0, BUSY) && files.take(next, EXISTS, EXISTS | BUSY));
                files.moved(next, absent);
                absent = next;
            }
        })));
        let found = files.indexed_absent(0);
        BEFORE_LOOK.set(None);
        assert_eq!(found, Pick::Busy);
        assert!(matches!(files.indexed_absent(0), Pick::Entry(_)));
        // Now none is absent but the one that is claimed; and then none at all.
        let Some(claimed) = (0..256).find(|i| !files.exists(*i)) else { panic!("none is claimed") };
        assert_eq!(files.indexed_absent(0), Pick::Busy);
        files.created(claimed);
        assert_eq!(files.indexed_absent(0), Pick::Nothing);
        files.moves.fetch_add(1, SeqCst);
        assert_eq!(files.indexed_absent(0), Pick::Busy, "a move is under way");
    }

    #[test]
    fn one_place_that_moves_is_never_missed() {
        // Only one entry is of the kind that is looked for; it always is somewhere.
        for (count, existing) in [(2, 1), (3000, 1), (3000, 2999)] {
            let (region, shape) = region(count, |i| i < existing);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let pool = Pool::attach(&region, LINE, shape);
                        let files = pool.files();
                        let mut rotor = Rotor::shared(count, 8);
                        for _ in 0..20_000 {
                            let to = match files.claim_absent(&mut rotor) {
                                Pick::Entry(to) => to,
                                Pick::Busy => continue,
                                Pick::Nothing => panic!("none of {count} absent"),
                            };
                            match files.claim_delete(&mut rotor) {
                                Pick::Entry(from) => files.moved(from, to),
                                Pick::Busy => files.abandon(to),
                                Pick::Nothing => panic!("none of {count} exists"),
                            }
                        }
                    });
                }
            });
            let pool = Pool::attach(&region, LINE, shape);
            assert_eq!(pool.files().existing(), existing);
            assert_eq!((0..count).filter(|i| pool.files().exists(*i)).count() as u32, existing);
            assert!(pool.files().moves.load(SeqCst).is_multiple_of(MOVE));
        }
    }

    #[test]
    fn one_entry_is_never_missed() {
        // The entry always exists, so no thread may ever be told that there is nothing; and it takes no rotor.
        let (region, shape) = region(1, |_| true);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let pool = Pool::attach(&region, LINE, shape);
                    let mut rotor = Rotor::shared(1, 8);
                    for _ in 0..20_000 {
                        assert_eq!(pool.files().open_existing(&mut rotor), Pick::Entry(0));
                        pool.files().release(0);
                    }
                });
            }
        });
        let pool = Pool::attach(&region, LINE, shape);
        assert_eq!(pool.files().rotors[0].load(Relaxed), 0);
        assert_eq!(pool.files().states[0].load(Relaxed), EXISTS);
    }
}
