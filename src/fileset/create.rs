//! Brings a file set onto the disk, or finds it there.
//!
//! | at `path/name` is | and then |
//! |---|---|
//! | nothing | the tree is made |
//! | a tree of ours | it is emptied and made anew; with `reuse` it is checked and repaired |
//! | a tree of others | it is read by a workload that only reads; `--adopt` adds what is missing |
//!
//! In a tree of others nothing is ever cut, overwritten or removed. Ours is a directory that carries the mark of
//! [`owner`]. With `trusttree` all that is looked at is whether each file exists; in a tree of others that the workload
//! writes to, those that need not be there are looked at too, for a file that is taken for absent would be overwritten.
//!
//! In a tree of ours the mark says `making` from before the first change until after the last, so what a run leaves
//! that failed, was cancelled or died is known for that.

use super::content::{BLOCK, Content, Stream};
use super::disk::{self, Place, Root, Walker};
use super::layout::{Layout, Presence};
use super::owner::{self, Record, State};
use super::path::{Name, PathBuffer};
use super::spec::Spec;
use crate::random::stream::Seed;
use crate::sys::{AlignedBuffer, advice, describe, files};
use rand::Rng;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

/// Bytes of one write at most.
const PIECE: usize = 1 << 20;

/// Files that a thread takes at once at most.
const BATCH: usize = 64;

const LEFT_MARKED: &str = "; what was made so far stays and is marked as unfinished, the next run takes it away";
const LEFT_REUSED: &str = "; the tree is marked as unfinished, the next run goes on with it";
const LEFT_ADOPTED: &str = "; what was added so far stays";

/// Why a file set could not be brought onto the disk.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Refused for safety.
    #[error("refused: {}: {why}", path.display())]
    NotOurs {
        /// The tree, or the object in it.
        path: PathBuf,
        /// The reason, and what can be done.
        why: String,
    },
    /// The kernel said no.
    #[error("cannot {operation} {}: {}{}{left}", path.display(), describe(error), advised(error))]
    Io {
        /// What was tried: a verb.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The answer.
        error: io::Error,
        /// What is left on the disk, where that is something.
        left: &'static str,
    },
    /// It would not fit.
    #[error("not enough space for {}: it needs {needed} {what} more, and {free} are free{left}", path.display())]
    NoSpace {
        /// The tree.
        path: PathBuf,
        /// `bytes` or `inodes`.
        what: &'static str,
        /// How many more it needs.
        needed: u64,
        /// How many there are.
        free: u64,
        /// What is left on the disk, where that is something.
        left: &'static str,
    },
    /// `trusttree`, but something is not there.
    #[error("attempted to use {}, but it is not there (the file set says trusttree)", path.display())]
    Missing {
        /// The object.
        path: PathBuf,
    },
    /// The user ended it.
    #[error("cancelled{left}")]
    Cancelled {
        /// What is left on the disk, where that is something.
        left: &'static str,
    },
}

impl CreateError {
    pub(super) fn io(operation: &'static str, path: impl Into<PathBuf>, error: impl Into<io::Error>) -> Self {
        CreateError::Io { operation, path: path.into(), error: error.into(), left: "" }
    }

    fn leaving(mut self, what: &'static str) -> Self {
        match &mut self {
            CreateError::Io { left, .. } | CreateError::NoSpace { left, .. } | CreateError::Cancelled { left } => {
                *left = what;
            }
            CreateError::NotOurs { .. } | CreateError::Missing { .. } => {}
        }
        self
    }
}

/// How far it has come; one may serve several file sets. Read at any time.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files to be written.
    pub files_total: AtomicU64,
    /// Of them, finished.
    pub files_done: AtomicU64,
    /// Bytes to be written.
    pub bytes_total: AtomicU64,
    /// Of them, written.
    pub bytes_done: AtomicU64,
    /// Files and directories of an older tree that were removed.
    pub removed: AtomicU64,
}

/// What governs the making of all file sets of a run.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Add to a tree of others what is missing in it, and let the workload write there.
    pub adopt: bool,
    /// The workload writes, creates or deletes in this set.
    pub writes: bool,
    /// Threads that make files, at least 1.
    pub threads: usize,
    /// To be watched.
    pub progress: &'a Progress,
    /// To be set from outside.
    pub cancel: &'a AtomicBool,
    /// Of the data in the files.
    pub seed: Seed,
}

/// A file set that is on the disk.
#[derive(Debug)]
pub struct Prepared {
    /// Which files and leaf directories exist.
    pub existing: Presence,
    /// What was there before, as it is: in a tree of others it is not to be removed.
    pub found: Found,
    /// Keeps other runs out of the tree as long as it is open; none where the file system has no such locks.
    pub lock: Option<OwnedFd>,
    /// True where the tree carries our mark, so that it may be removed.
    pub ours: bool,
    /// True where the mark says that the last run did not finish making the tree, and `trusttree` takes it all the
    /// same: sizes may be wrong.
    pub unfinished: bool,
    /// Files that were made.
    pub made: u64,
    /// Files that had another size and were brought to the right one.
    pub repaired: u64,
    /// Files that were there and stayed as they are.
    pub reused: u64,
    /// Files and directories that were removed.
    pub removed: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// What a tree had already, by index. Directories that were not looked at are taken to be there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// One for each file.
    pub files: Vec<bool>,
    /// One for each directory, the root first.
    pub directories: Vec<bool>,
    /// One for each leaf directory.
    pub leafdirs: Vec<bool>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// Files and directories.
    pub objects: u64,
}

/// Where a tree is looked at before anything is made in it, what it is looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Survey {
    /// To find what has to be repaired.
    Reuse,
    /// The same, where the content of all files is another.
    Renew,
    /// To find what has to be added.
    Adopt,
    /// Whether it is all there, with the right sizes.
    Read,
    /// Whether it is all there.
    Trust,
}

/// What has to be done about a file, a directory or a leaf directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Action {
    /// It is not there, and need not be.
    Leave,
    /// It is there and stays as it is.
    Keep,
    Make,
    /// Cut to size.
    Cut,
    /// Write all of it again.
    Rewrite,
    /// Remove, then make: it has a second name somewhere whose content is not ours to change, or is a symbolic link.
    Replace,
    Unlink,
}

impl Action {
    const ALL: [Action; 7] =
        [Action::Leave, Action::Keep, Action::Make, Action::Cut, Action::Rewrite, Action::Replace, Action::Unlink];

    fn writes_file(self) -> bool {
        matches!(self, Action::Make | Action::Rewrite | Action::Replace)
    }
}

/// One for each object, written by several threads.
struct Actions(Vec<AtomicU8>);

impl Actions {
    fn new(count: usize, initial: impl Fn(usize) -> Action) -> Self {
        Actions((0..count).map(|i| AtomicU8::new(initial(i) as u8)).collect())
    }
    fn wanted(wanted: &[bool]) -> Self {
        Actions::new(wanted.len(), |i| if wanted[i] { Action::Make } else { Action::Leave })
    }
    fn get(&self, i: usize) -> Action {
        Action::ALL[self.0[i].load(Relaxed) as usize]
    }
    fn set(&self, i: usize, action: Action) {
        self.0[i].store(action as u8, Relaxed);
    }
    fn iter(&self) -> impl Iterator<Item = Action> {
        (0..self.0.len()).map(|i| self.get(i))
    }
    fn count(&self, wanted: impl Fn(Action) -> bool) -> u64 {
        self.iter().filter(|a| wanted(*a)).count() as u64
    }
    fn idle(&self) -> bool {
        self.iter().all(|a| matches!(a, Action::Leave | Action::Keep))
    }
    fn existing(&self) -> Vec<bool> {
        self.iter().map(|a| !matches!(a, Action::Leave | Action::Unlink)).collect()
    }
}

/// All that has to be done.
struct Work {
    directories: Actions,
    files: Actions,
    leafdirs: Actions,
    /// Bytes that the tree will take more than it takes now.
    bytes: AtomicU64,
}

impl Work {
    /// True where there is none.
    fn idle(&self) -> bool {
        self.files.idle() && self.directories.idle() && self.leafdirs.idle()
    }

    /// What was there before.
    fn found(&self) -> Found {
        let kept = |actions: &Actions| actions.iter().map(|action| action == Action::Keep).collect();
        Found { files: kept(&self.files), directories: kept(&self.directories), leafdirs: kept(&self.leafdirs) }
    }
}

/// Brings the file set onto the disk: afterwards all that `wanted` says exists.
///
/// # Errors
///
/// See [`CreateError`]. What stays on the disk then is said in it.
///
/// # Panics
///
/// Where `wanted` is not of the layout's shape.
pub fn prepare(
    spec: &Spec,
    layout: &Layout,
    wanted: &Presence,
    options: &Options<'_>,
) -> Result<Prepared, CreateError> {
    assert_eq!(wanted.files.len(), layout.files(), "one for each file");
    assert_eq!(wanted.leafdirs.len(), layout.leafdirs.len(), "one for each leaf directory");
    let started = Instant::now();
    let content = spec.content.map(|content| Made::new(content, layout, wanted, options.seed.child("content")));
    let mut prepared = Job { layout, wanted, options, path: spec.root(), content: content.as_ref() }.run(spec)?;
    prepared.elapsed = started.elapsed();
    Ok(prepared)
}

/// Locks a tree that was prepared, and whose lock was given up since so that its file system could be mounted anew.
/// None where the file system has no such locks.
///
/// # Errors
///
/// Where the tree is not there any more, has no mark although it is `ours`, or another run works in it.
pub fn lock_again(root: &Path, exclusive: bool, ours: bool) -> Result<Option<OwnedFd>, CreateError> {
    let tree = match Root::find(root)? {
        Place::Tree(tree) => tree,
        Place::Free => return Err(CreateError::io("find again", root, Errno::NOENT)),
    };
    if ours && read_mark(&tree)?.is_none() {
        let why = "the tree that wlrun made is not there any more, and what is there carries no mark of wlrun".into();
        return Err(CreateError::NotOurs { path: root.to_owned(), why });
    }
    tree.lock(exclusive)
}

/// Removes a tree that wlrun made, the mark last.
///
/// # Errors
///
/// Refused where the tree is not marked as ours, or is not there.
pub fn remove(root: &Path, cancel: &AtomicBool) -> Result<Removed, CreateError> {
    let tree = match Root::find(root)? {
        Place::Tree(tree) => tree,
        Place::Free => return Err(CreateError::io("remove", root, Errno::NOENT)),
    };
    take_away(&tree, cancel)
}

/// Removes a tree that wlrun made, as [`remove`] does, where no run works in it. With `try_only` nothing is removed, and the
/// result says what would be.
///
/// # Errors
///
/// Refused where a run works in the tree, it is not marked as ours, or something foreign is in it. Then nothing was
/// removed.
pub fn clean(root: &Path, try_only: bool, cancel: &AtomicBool) -> Result<Removed, CreateError> {
    let tree = match Root::find(root)? {
        Place::Tree(tree) => tree,
        Place::Free => return Err(CreateError::io("remove", root, Errno::NOENT)),
    };
    let _lock = tree.lock(true)?;
    if try_only {
        own_mark(&tree)?;
        return Ok(Removed { objects: tree.refuse_foreign(cancel)? + 1 });
    }
    take_away(&tree, cancel)
}

fn take_away(tree: &Root, cancel: &AtomicBool) -> Result<Removed, CreateError> {
    let record = own_mark(tree)?;
    let removed = AtomicU64::new(0);
    mark_before_emptying(tree, record.layout)?;
    tree.empty(&removed, cancel).map_err(|error| error.leaving(LEFT_MARKED))?;
    owner::erase(tree.fd()).map_err(|error| CreateError::io("remove the mark of", &tree.path, error))?;
    tree.remove()?;
    Ok(Removed { objects: removed.into_inner() + 1 })
}

/// The mark of a tree that is to be removed.
fn own_mark(tree: &Root) -> Result<Record, CreateError> {
    read_mark(tree)?.ok_or_else(|| CreateError::NotOurs {
        path: tree.path.clone(),
        why: "it carries no mark of wlrun, so wlrun does not remove it".into(),
    })
}

fn read_mark(tree: &Root) -> Result<Option<Record>, CreateError> {
    owner::read(tree.fd()).map_err(|error| CreateError::io("read the mark of", &tree.path, error))
}

fn write_mark(tree: &Root, state: State, layout: u64) -> Result<(), CreateError> {
    Record::now(tree.fd(), state, layout)
        .and_then(|record| owner::write(tree.fd(), &record))
        .map_err(|error| CreateError::io("mark as wlrun's own", &tree.path, error))
}

/// Marks a tree as unfinished before it is emptied. On a full file system that may fail, and just there emptying helps:
/// then the old mark stays.
fn mark_before_emptying(tree: &Root, layout: u64) -> Result<(), CreateError> {
    match write_mark(tree, State::Making, layout) {
        Err(CreateError::Io { error, .. })
            if matches!(Errno::from_io_error(&error), Some(Errno::NOSPC | Errno::DQUOT)) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// One file set on its way onto the disk.
#[derive(Clone)]
struct Job<'a> {
    layout: &'a Layout,
    wanted: &'a Presence,
    options: &'a Options<'a>,
    /// Of the tree's root directory.
    path: PathBuf,
    /// Where the file set says how its data is.
    content: Option<&'a Made>,
}

/// The data of a file set whose content is asked for: one stream through all files that are to be there, each of which
/// begins with a block of its own. So the ratios hold for the whole set, and a file's data depends on nothing that is
/// on the disk.
struct Made {
    stream: Stream,
    /// By file: its first block.
    first: Vec<u64>,
    /// Of the ratios and the number of blocks; 0 is taken by no content.
    identity: u64,
}

impl Made {
    fn new(content: Content, layout: &Layout, wanted: &Presence, seed: Seed) -> Self {
        let mut blocks = 0;
        let first = layout.sizes.iter().zip(&wanted.files).map(|(size, wanted)| {
            let first = blocks;
            blocks += if *wanted { size.div_ceil(BLOCK as u64) } else { 0 };
            first
        });
        let first = first.collect();
        let identity = [content.compress.to_bits(), content.dedup.to_bits(), blocks];
        // FNV-1a, by words.
        let identity =
            identity.iter().fold(0xcbf2_9ce4_8422_2325, |h: u64, word| (h ^ word).wrapping_mul(0x100_0000_01b3));
        Made { stream: content.whole(seed, blocks), first, identity: identity.max(1) }
    }
}

impl Job<'_> {
    /// What the mark says of a tree that is as it is asked to be.
    fn fingerprint(&self) -> u64 {
        self.layout.fingerprint() ^ self.content.map_or(0, |made| made.identity)
    }

    fn run(&self, spec: &Spec) -> Result<Prepared, CreateError> {
        // A name with slashes or dots would lead elsewhere.
        let mut components = Path::new(&spec.name).components();
        let first = components.next().filter(|c| matches!(c, Component::Normal(name) if *name == &*spec.name));
        if first.is_none() || components.next().is_some() {
            let why = format!("{:?} is not a name that one directory can have", spec.name);
            return Err(CreateError::NotOurs { path: spec.path.clone(), why });
        }
        let tree = match Root::find(&self.path)? {
            Place::Free if spec.trusttree => return Err(CreateError::Missing { path: self.path.clone() }),
            Place::Free => return self.build_new(),
            Place::Tree(tree) => tree,
        };
        let mark = read_mark(&tree)?;
        let only_looks = spec.trusttree || (mark.is_none() && !self.options.adopt);
        let may_be_idle = spec.reuse && mark.is_some();
        let shared = !self.options.writes && (only_looks || may_be_idle);
        let mut lock = tree.lock(!shared)?;
        // It may have changed before the lock.
        let mark = read_mark(&tree)?;
        if shared && !only_looks {
            // Whoever only reads a tree that is as it should be shares it with others of the kind.
            if let Some(prepared) = self.find_idle(&tree, mark)? {
                return Ok(Prepared { lock, ..prepared });
            }
            lock = tree.relock(lock, true)?;
        }
        let mark = if shared && !only_looks { read_mark(&tree)? } else { mark };
        let prepared = self.run_in(spec, &tree, mark)?;
        Ok(Prepared { lock: self.settle(&tree, lock)?, ..prepared })
    }

    /// What is found where nothing has to be done to a tree of ours; none where something has.
    fn find_idle(&self, tree: &Root, mark: Option<Record>) -> Result<Option<Prepared>, CreateError> {
        let as_asked = |mark: Record| mark.state == State::Ready && mark.layout == self.fingerprint();
        if !mark.is_some_and(as_asked) {
            return Ok(None);
        }
        let work = self.survey(tree, Survey::Reuse, true)?;
        Ok(work.idle().then(|| self.result(&work, true, 0)))
    }

    /// The lock of a tree that is made: a workload that does not write shares it from then on.
    fn settle(&self, tree: &Root, lock: Option<OwnedFd>) -> Result<Option<OwnedFd>, CreateError> {
        if self.options.writes { Ok(lock) } else { tree.relock(lock, false) }
    }

    fn run_in(&self, spec: &Spec, tree: &Root, mark: Option<Record>) -> Result<Prepared, CreateError> {
        let refuse = |why: &str| Err(CreateError::NotOurs { path: self.path.clone(), why: why.into() });
        match mark {
            None if self.options.writes && !self.options.adopt => refuse(
                "it is there and carries no mark of wlrun (or that of another directory), and the workload writes to it (--adopt uses it as it is and \
                 adds what is missing)",
            ),
            _ if spec.trusttree => {
                let mut prepared = self.look(tree, Survey::Trust, mark.is_some())?;
                prepared.unfinished = mark.is_some_and(|m| m.state == State::Making);
                Ok(prepared)
            }
            Some(_) if spec.reuse => self.repair(tree, mark),
            Some(_) => self.rebuild(tree),
            None if self.options.adopt => self.adopt(tree),
            None => self.look(tree, Survey::Read, false),
        }
    }

    fn build_new(&self) -> Result<Prepared, CreateError> {
        let work = self.everything();
        let tree = Root::make(&self.path, |holder| self.check_space(holder, &work))?;
        let lock = tree.lock(true)?;
        write_mark(&tree, State::Making, self.fingerprint()).inspect_err(|_| {
            // An unmarked directory would be in the way of the next run.
            let _ = tree.remove();
        })?;
        self.carry_out_marked(&tree, &work).map_err(|error| error.leaving(LEFT_MARKED))?;
        Ok(Prepared { lock: self.settle(&tree, lock)?, ..self.result(&work, true, 0) })
    }

    fn rebuild(&self, tree: &Root) -> Result<Prepared, CreateError> {
        let removed = AtomicU64::new(0);
        mark_before_emptying(tree, self.fingerprint())?;
        let work = self.everything();
        let emptied = tree.empty(&removed, self.options.cancel);
        self.options.progress.removed.fetch_add(removed.load(Relaxed), Relaxed);
        emptied
            .and_then(|()| write_mark(tree, State::Making, self.fingerprint()))
            .and_then(|()| self.check_space(tree.fd(), &work))
            .and_then(|()| self.carry_out_marked(tree, &work))
            .map_err(|error| error.leaving(LEFT_MARKED))?;
        Ok(self.result(&work, true, removed.into_inner()))
    }

    fn repair(&self, tree: &Root, mark: Option<Record>) -> Result<Prepared, CreateError> {
        let layout = self.fingerprint();
        let removed = AtomicU64::new(0);
        // Sizes say nothing of the content: what was made otherwise, or not to its end, is written anew.
        let survey = match mark {
            Some(mark) if mark.state == State::Ready && mark.layout == layout => Survey::Reuse,
            _ if self.content.is_some() => Survey::Renew,
            _ => Survey::Reuse,
        };
        if mark.is_none_or(|m| m.state != State::Ready || m.layout != layout) {
            mark_before_emptying(tree, layout)?;
            self.make_way(tree, &removed).map_err(|error| error.leaving(LEFT_REUSED))?;
        }
        let work = self.survey(tree, survey, true)?;
        if !work.idle() || mark.is_none_or(|m| m.state != State::Ready || m.layout != layout) {
            self.check_space(tree.fd(), &work)?;
            write_mark(tree, State::Making, layout)?;
            self.carry_out_marked(tree, &work).map_err(|error| error.leaving(LEFT_REUSED))?;
        }
        Ok(self.result(&work, true, removed.into_inner()))
    }

    /// Where the tree was made for another layout, takes away what stands where this one needs the name for something
    /// else. What merely is not of this layout stays.
    fn make_way(&self, tree: &Root, removed: &AtomicU64) -> Result<(), CreateError> {
        let (layout, cancel) = (self.layout, self.options.cancel);
        let mut walker = Walker::new(tree, layout);
        // In order, for a directory stands after the one above it.
        for (i, directory) in layout.directories.iter().enumerate().skip(1) {
            let path = self.path_of(|out| layout.path_of_directory(i, out));
            if let Some(at) = walker.open(directory.parent)? {
                let name = Name::of(directory.serial);
                disk::make_way(at, name.as_c_str(), &path, FileType::Directory, removed, cancel)?;
            }
        }
        self.each(
            layout.files() + layout.leafdirs.len(),
            || Walker::new(tree, layout),
            |walker, i| {
                let (parent, serial, wanted) = match i.checked_sub(layout.files()) {
                    None => (layout.parents[i], layout.serial_of_file(i), FileType::RegularFile),
                    Some(l) => (layout.leafdirs[l].parent, layout.leafdirs[l].serial, FileType::Directory),
                };
                let path = self.path_of(|out| match i.checked_sub(layout.files()) {
                    None => layout.path_of_file(i, out),
                    Some(l) => layout.path_of_leafdir(l, out),
                });
                match walker.open(parent)? {
                    Some(at) => disk::make_way(at, Name::of(serial).as_c_str(), &path, wanted, removed, cancel),
                    None => Ok(()),
                }
            },
        )
    }

    fn adopt(&self, tree: &Root) -> Result<Prepared, CreateError> {
        let work = self.survey(tree, Survey::Adopt, false)?;
        self.check_space(tree.fd(), &work)?;
        self.carry_out(tree, &work).map_err(|error| error.leaving(LEFT_ADOPTED))?;
        Ok(self.result(&work, false, 0))
    }

    fn look(&self, tree: &Root, survey: Survey, ours: bool) -> Result<Prepared, CreateError> {
        let work = self.survey(tree, survey, ours)?;
        Ok(self.result(&work, ours, 0))
    }

    fn result(&self, work: &Work, ours: bool, removed: u64) -> Prepared {
        Prepared {
            existing: Presence { files: work.files.existing(), leafdirs: work.leafdirs.existing() },
            found: work.found(),
            lock: None,
            ours,
            unfinished: false,
            made: work.files.count(|a| a == Action::Make),
            repaired: work.files.count(|a| matches!(a, Action::Cut | Action::Rewrite | Action::Replace)),
            reused: work.files.count(|a| a == Action::Keep),
            removed: removed + work.files.count(|a| a == Action::Unlink) + work.leafdirs.count(|a| a == Action::Unlink),
            elapsed: Duration::ZERO,
        }
    }

    /// The work where nothing is there but the root directory.
    fn everything(&self) -> Work {
        let sizes = self.layout.sizes.iter().zip(&self.wanted.files).filter(|(_, wanted)| **wanted);
        Work {
            directories: Actions::new(self.layout.directories.len(), |i| match i {
                0 => Action::Keep,
                _ => Action::Make,
            }),
            files: Actions::wanted(&self.wanted.files),
            leafdirs: Actions::wanted(&self.wanted.leafdirs),
            bytes: AtomicU64::new(sizes.fold(0, |sum, (size, _)| sum.saturating_add(*size))),
        }
    }

    /// Looks at all that is there and finds what has to be done.
    fn survey(&self, tree: &Root, survey: Survey, ours: bool) -> Result<Work, CreateError> {
        let layout = self.layout;
        let work = Work {
            directories: Actions::new(layout.directories.len(), |_| Action::Keep),
            files: Actions::wanted(&self.wanted.files),
            leafdirs: Actions::wanted(&self.wanted.leafdirs),
            bytes: AtomicU64::new(0),
        };
        if matches!(survey, Survey::Reuse | Survey::Renew | Survey::Adopt) {
            self.each(
                layout.directories.len(),
                || Walker::new(tree, layout),
                |walker, i| {
                    if walker.open(i as u32)?.is_none() {
                        work.directories.set(i, Action::Make);
                    }
                    Ok(())
                },
            )?;
        }
        self.each(
            layout.files(),
            || Walker::new(tree, layout),
            |walker, i| {
                let name = Name::of(layout.serial_of_file(i));
                let found = walker.open(layout.parents[i])?;
                let action = self.look_at_file(found, name.as_c_str(), i, (survey, ours), &work.bytes)?;
                work.files.set(i, action);
                Ok(())
            },
        )?;
        self.each(
            layout.leafdirs.len(),
            || Walker::new(tree, layout),
            |walker, i| {
                let leaf = &layout.leafdirs[i];
                let name = Name::of(leaf.serial);
                let found = walker.open(leaf.parent)?;
                work.leafdirs.set(i, self.look_at_leafdir(found, name.as_c_str(), i, (survey, ours))?);
                Ok(())
            },
        )?;
        Ok(work)
    }

    /// True where the workload writes to a tree of others: what is there under a name of the file set exists, wanted
    /// or not.
    fn may_overwrite(&self, ours: bool) -> bool {
        self.options.writes && !ours
    }

    fn look_at_file(
        &self,
        directory: Option<BorrowedFd<'_>>,
        name: &CStr,
        i: usize,
        (survey, ours): (Survey, bool),
        bytes: &AtomicU64,
    ) -> Result<Action, CreateError> {
        let (wanted, size) = (self.wanted.files[i], self.layout.sizes[i]);
        let only_looks = matches!(survey, Survey::Read | Survey::Trust);
        if !wanted && only_looks && !self.may_overwrite(ours) {
            return Ok(Action::Leave);
        }
        let path = || self.path_of(|out| self.layout.path_of_file(i, out));
        let stat = match directory {
            None => Err(Errno::NOENT),
            Some(directory) => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW),
        };
        let stat = match stat {
            Ok(stat) => stat,
            Err(Errno::NOENT) if !wanted => return Ok(Action::Leave),
            Err(Errno::NOENT) if only_looks => return Err(missing(path(), survey)),
            Err(Errno::NOENT) => {
                add(bytes, size);
                return Ok(Action::Make);
            }
            Err(error) => return Err(CreateError::io("look at", path(), error)),
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            let directory = directory.expect("something was found in it");
            if survey == Survey::Reuse && disk::is_link_of_ours(directory, name) {
                if wanted {
                    add(bytes, size);
                }
                return Ok(if wanted { Action::Replace } else { Action::Unlink });
            }
            return Err(disk::obstacle(directory, name, path(), "a file"));
        }
        let found = stat.st_size as u64;
        Ok(match survey {
            Survey::Adopt | Survey::Trust => Action::Keep,
            Survey::Read if found == size => Action::Keep,
            Survey::Read => {
                let why = format!(
                    "it has {found} bytes where the file set has {size}, and the tree carries no mark of wlrun, so \
                     nothing in it is changed (trusttree, or --adopt, uses it as it is)"
                );
                return Err(CreateError::NotOurs { path: path(), why });
            }
            Survey::Reuse | Survey::Renew if !wanted => Action::Unlink,
            // The other name may be of this tree, of a tree of others, of anything: what it leads to is not written to.
            Survey::Reuse if stat.st_nlink > 1 && self.options.writes => {
                add(bytes, size);
                Action::Replace
            }
            Survey::Renew => {
                add(bytes, size.saturating_sub(found));
                if stat.st_nlink > 1 || found > size { Action::Replace } else { Action::Rewrite }
            }
            Survey::Reuse if found == size => Action::Keep,
            Survey::Reuse => {
                add(bytes, size.saturating_sub(found));
                match found > size {
                    _ if stat.st_nlink > 1 => Action::Replace,
                    true => Action::Cut,
                    false => Action::Rewrite,
                }
            }
        })
    }

    fn look_at_leafdir(
        &self,
        directory: Option<BorrowedFd<'_>>,
        name: &CStr,
        i: usize,
        (survey, ours): (Survey, bool),
    ) -> Result<Action, CreateError> {
        let wanted = self.wanted.leafdirs[i];
        let path = || self.path_of(|out| self.layout.path_of_leafdir(i, out));
        let stat = match directory {
            None => Err(Errno::NOENT),
            Some(directory) => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW),
        };
        match stat {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
                Err(disk::obstacle(directory.expect("something was found in it"), name, path(), "a directory"))
            }
            Ok(_) if matches!(survey, Survey::Reuse | Survey::Renew) && !wanted => Ok(Action::Unlink),
            Ok(_) if !wanted && survey != Survey::Adopt && !self.may_overwrite(ours) => Ok(Action::Leave),
            Ok(_) => Ok(Action::Keep),
            Err(Errno::NOENT) if !wanted => Ok(Action::Leave),
            Err(Errno::NOENT) if matches!(survey, Survey::Read | Survey::Trust) => Err(missing(path(), survey)),
            Err(Errno::NOENT) => Ok(Action::Make),
            Err(error) => Err(CreateError::io("look at", path(), error)),
        }
    }

    /// Whether all that is to be made fits. A file system that does not know what it has is not asked.
    fn check_space(&self, at: BorrowedFd<'_>, work: &Work) -> Result<(), CreateError> {
        let stat = rustix::fs::fstatvfs(at).map_err(|error| CreateError::io("look at", &self.path, error))?;
        let made = |actions: &Actions| actions.count(|a| a == Action::Make);
        let inodes = made(&work.files) + made(&work.directories) + made(&work.leafdirs);
        // What is set aside for root, root may use.
        let (blocks, nodes) = match rustix::process::geteuid().is_root() {
            true => (stat.f_bfree, stat.f_ffree),
            false => (stat.f_bavail, stat.f_favail),
        };
        let no_space =
            |what, needed, free| Err(CreateError::NoSpace { path: self.path.clone(), what, needed, free, left: "" });
        let (bytes, free) = (work.bytes.load(Relaxed), blocks.saturating_mul(stat.f_frsize));
        if stat.f_blocks > 0 && bytes > free {
            return no_space("bytes", bytes, free);
        }
        if nodes > 0 && inodes > nodes {
            return no_space("inodes", inodes, nodes);
        }
        Ok(())
    }

    fn carry_out_marked(&self, tree: &Root, work: &Work) -> Result<(), CreateError> {
        self.carry_out(tree, work)?;
        write_mark(tree, State::Ready, self.fingerprint())
    }

    fn carry_out(&self, tree: &Root, work: &Work) -> Result<(), CreateError> {
        let layout = self.layout;
        let progress = self.options.progress;
        progress.files_total.fetch_add(work.files.count(Action::writes_file), Relaxed);
        let bytes = layout.sizes.iter().zip(work.files.iter()).filter(|(_, a)| a.writes_file());
        let bytes = bytes.fold(0u64, |sum, (size, _)| sum.saturating_add(*size));
        progress.bytes_total.fetch_add(bytes, Relaxed);

        for level in levels(layout, &work.directories) {
            self.each(
                level.len(),
                || Walker::new(tree, layout),
                |walker, i| {
                    let directory = &layout.directories[level[i] as usize];
                    let path = || self.path_of(|out| layout.path_of_directory(level[i] as usize, out));
                    let name = Name::of(directory.serial);
                    self.present(walker.open(directory.parent)?, path).and_then(|at| {
                        disk::make_directory(at, name.as_c_str())
                            .map_err(|error| CreateError::io("make directory", path(), error))
                    })
                },
            )?;
        }
        // Data that is made for each block takes the place of the one piece that all files share.
        let shared = if self.content.is_some() { 0 } else { bytes };
        let data = Data::new(self.options.seed, shared)
            .map_err(|error| CreateError::io("get memory for the data of", &self.path, error))?;
        let data = data.bytes();
        self.each(
            layout.files(),
            || (Walker::new(tree, layout), self.content.map(|made| (made.stream.clone(), Vec::new()))),
            |(walker, fresh), i| {
                let action = work.files.get(i);
                if matches!(action, Action::Leave | Action::Keep) {
                    return Ok(());
                }
                let path = || self.path_of(|out| layout.path_of_file(i, out));
                let at = self.present(walker.open(layout.parents[i])?, path)?;
                let source = match (self.content, fresh) {
                    (Some(made), Some((stream, buffer))) => {
                        stream.seek(made.first[i]);
                        Source::Made(stream, buffer)
                    }
                    _ => Source::Shared(data),
                };
                self.make_file(at, i, action, source).map_err(|failure| failure.of(path())).inspect(|()| {
                    progress.files_done.fetch_add(u64::from(action.writes_file()), Relaxed);
                })
            },
        )?;
        self.each(
            layout.leafdirs.len(),
            || Walker::new(tree, layout),
            |walker, i| {
                let action = work.leafdirs.get(i);
                if matches!(action, Action::Leave | Action::Keep) {
                    return Ok(());
                }
                let leaf = &layout.leafdirs[i];
                let path = || self.path_of(|out| layout.path_of_leafdir(i, out));
                let at = self.present(walker.open(leaf.parent)?, path)?;
                let name = Name::of(leaf.serial);
                if action == Action::Make {
                    return disk::make_directory(at, name.as_c_str())
                        .map_err(|error| CreateError::io("make directory", path(), error));
                }
                match rustix::fs::unlinkat(at, name.as_c_str(), AtFlags::REMOVEDIR) {
                    // Something foreign is in it, which survives, and so does the directory.
                    Err(Errno::NOTEMPTY | Errno::EXIST) => work.leafdirs.set(i, Action::Keep),
                    other => other.map_err(|error| CreateError::io("remove", path(), error))?,
                }
                Ok(())
            },
        )
    }

    fn make_file(&self, at: BorrowedFd<'_>, i: usize, action: Action, source: Source<'_>) -> Result<(), Failure> {
        let name = Name::of(self.layout.serial_of_file(i));
        let name = name.as_c_str();
        let size = self.layout.sizes[i];
        let present = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let new = present | OFlags::CREATE | OFlags::EXCL;
        let mode = Mode::from_raw_mode(0o644);
        if matches!(action, Action::Unlink | Action::Replace) {
            rustix::fs::unlinkat(at, name, AtFlags::empty()).map_err(Failure::on("remove"))?;
            if action == Action::Unlink {
                return Ok(());
            }
        }
        let (flags, operation) = match action {
            Action::Make | Action::Replace => (new, "create"),
            _ => (present, "open"),
        };
        let file = retry(|| rustix::fs::openat(at, name, flags, mode)).map_err(Failure::on(operation))?;
        if action == Action::Cut {
            retry(|| rustix::fs::ftruncate(&file, size)).map_err(Failure::on("cut"))?;
        } else {
            self.write(file.as_fd(), i, size, source)?;
        }
        // On NFS and under quotas, space that is not there shows here first.
        files::close(file.into_raw_fd()).map_err(Failure::on("close"))
    }

    fn write(&self, file: BorrowedFd<'_>, i: usize, size: u64, mut source: Source<'_>) -> Result<(), Failure> {
        if size == 0 {
            return Ok(());
        }
        let mut pieces = self.options.seed.child("places").index(i as u64).generator();
        let mut left = size;
        while left > 0 {
            let len = left.min(PIECE as u64) as usize;
            let mut piece = match &mut source {
                // Each piece begins somewhere else in the data, so that no two files, and no two blocks of one, are
                // alike to something that stores equal blocks once.
                Source::Shared(data) => &data[pieces.next_u64() as usize % PIECE..][..len],
                Source::Made(stream, buffer) => {
                    buffer.resize(len, 0);
                    stream.fill(buffer);
                    &buffer[..]
                }
            };
            left -= piece.len() as u64;
            while !piece.is_empty() {
                if self.options.cancel.load(Relaxed) {
                    return Err(Failure::Cancelled);
                }
                let written = retry(|| rustix::io::write(file, piece)).map_err(Failure::on("write"))?;
                if written == 0 {
                    return Err(Failure::Io("write", Errno::IO));
                }
                piece = &piece[written..];
                self.options.progress.bytes_done.fetch_add(written as u64, Relaxed);
            }
        }
        Ok(())
    }

    fn present<'d>(
        &self,
        directory: Option<BorrowedFd<'d>>,
        path: impl Fn() -> PathBuf,
    ) -> Result<BorrowedFd<'d>, CreateError> {
        directory.ok_or_else(|| CreateError::io("create", path(), Errno::NOENT))
    }

    fn path_of(&self, write: impl FnOnce(&mut PathBuffer)) -> PathBuf {
        let mut path = PathBuffer::with_prefix(self.path.as_os_str());
        write(&mut path);
        PathBuf::from(path.as_os_str())
    }

    /// Does `work` for each of `count` indices, in order, several threads taking batches; the first error ends it.
    fn each<S>(
        &self,
        count: usize,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, usize) -> Result<(), CreateError> + Sync,
    ) -> Result<(), CreateError> {
        // Few files may be large ones: then each is a batch.
        let batch = (count / (4 * self.options.threads.max(1))).clamp(1, BATCH);
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let stop = AtomicBool::new(false);
        let run = || {
            let mut state = state();
            loop {
                let start = next.fetch_add(batch, Relaxed);
                if start >= count {
                    return;
                }
                for i in start..count.min(start + batch) {
                    let result = match self.options.cancel.load(Relaxed) {
                        true => Err(CreateError::Cancelled { left: "" }),
                        false => work(&mut state, i),
                    };
                    if let Err(error) = result {
                        stop.store(true, Relaxed);
                        failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                    }
                    if stop.load(Relaxed) {
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.options.threads.min(count.div_ceil(batch)) {
                // Where there are no more threads to be had, those that are there do it.
                if std::thread::Builder::new().spawn_scoped(scope, run).is_err() {
                    break;
                }
            }
            run();
        });
        match failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Where the data of a file comes from.
enum Source<'a> {
    /// From places of one random piece.
    Shared(&'a [u8]),
    /// Made for this file, through a buffer.
    Made(&'a mut Stream, &'a mut Vec<u8>),
}

/// What went wrong with one file, before its path is known.
enum Failure {
    Io(&'static str, Errno),
    Cancelled,
}

impl Failure {
    fn on(operation: &'static str) -> impl Fn(Errno) -> Failure {
        move |error| Failure::Io(operation, error)
    }

    fn of(self, path: PathBuf) -> CreateError {
        match self {
            Failure::Io(operation, error) => CreateError::io(operation, path, error),
            Failure::Cancelled => CreateError::Cancelled { left: "" },
        }
    }
}

/// What is behind an error of the kernel, as the end of a sentence.
fn advised(error: &io::Error) -> String {
    Errno::from_io_error(error).and_then(advice).map(|advice| format!("; {advice}")).unwrap_or_default()
}

fn missing(path: PathBuf, survey: Survey) -> CreateError {
    match survey {
        Survey::Trust => CreateError::Missing { path },
        _ => CreateError::NotOurs {
            path,
            why:
                "it is not there and would have to be made, in a tree that carries no mark of wlrun (--adopt adds what \
                  is missing)"
                    .into(),
        },
    }
}

fn add(sum: &AtomicU64, more: u64) {
    let _ = sum.fetch_update(Relaxed, Relaxed, |now| Some(now.saturating_add(more)));
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// The directories to be made, by their depth: those of one depth can be made in any order.
fn levels(layout: &Layout, actions: &Actions) -> Vec<Vec<u32>> {
    let mut depths = vec![0u32; layout.directories.len()];
    let mut levels: Vec<Vec<u32>> = Vec::new();
    for (i, directory) in layout.directories.iter().enumerate().skip(1) {
        let depth = depths[directory.parent as usize] + 1;
        depths[i] = depth;
        if actions.get(i) == Action::Make {
            levels.resize_with(levels.len().max(depth as usize), Vec::new);
            levels[depth as usize - 1].push(i as u32);
        }
    }
    levels
}

/// What is written into files: random bytes, for zeros are compressed away or not stored at all by many file systems
/// and arrays. All threads write from the same.
struct Data(AlignedBuffer);

impl Data {
    /// None at all where nothing is to be written.
    fn new(seed: Seed, total: u64) -> io::Result<Self> {
        let mut buffer = AlignedBuffer::new(if total == 0 { 0 } else { 2 * PIECE })?;
        let mut stream = seed.child("data").generator();
        for word in buffer.chunks_exact_mut(8) {
            word.copy_from_slice(&stream.next_u64().to_le_bytes());
        }
        Ok(Data(buffer))
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::tests::{plan, spec};
    use super::super::{Draw, owner};
    use super::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    struct Case {
        directory: tempfile::TempDir,
        spec: Spec,
        layout: Layout,
        progress: Progress,
        cancel: AtomicBool,
        adopt: bool,
        writes: bool,
    }

    impl Case {
        fn new(entries: u64, percent: u64) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let mut spec = spec(entries, 5.0, 1.5);
            spec.path = directory.path().join("a/b");
            spec.leafdirs = 6;
            spec.prealloc_percent = percent;
            spec.size = Draw::Gamma { mean: 3000.0, shape: 1.5 };
            let layout = plan(&spec, 1);
            Case {
                directory,
                spec,
                layout,
                progress: Progress::default(),
                cancel: AtomicBool::new(false),
                adopt: false,
                writes: true,
            }
        }

        fn wanted(&self) -> Presence {
            self.layout.prealloc(self.spec.prealloc_percent, Seed::root(1))
        }

        /// As one run after the other.
        fn prepare(&self) -> Result<Prepared, CreateError> {
            self.prepare_and_hold().map(|prepared| Prepared { lock: None, ..prepared })
        }

        fn prepare_and_hold(&self) -> Result<Prepared, CreateError> {
            let options = Options {
                adopt: self.adopt,
                writes: self.writes,
                threads: 4,
                progress: &self.progress,
                cancel: &self.cancel,
                seed: Seed::root(1),
            };
            prepare(&self.spec, &self.layout, &self.wanted(), &options)
        }

        fn root(&self) -> PathBuf {
            self.spec.root()
        }

        fn file(&self, i: usize) -> PathBuf {
            let mut path = PathBuffer::with_prefix(self.root().as_os_str());
            self.layout.path_of_file(i, &mut path);
            PathBuf::from(path.as_os_str())
        }

        fn state(&self) -> Option<State> {
            owner::inspect(&self.root()).unwrap().map(|r| r.state)
        }

        /// That exactly the wanted files are there, with their sizes.
        fn check(&self) {
            for (i, wanted) in self.wanted().files.iter().enumerate() {
                match std::fs::symlink_metadata(self.file(i)) {
                    Ok(found) => {
                        assert!(*wanted && found.is_file());
                        assert_eq!(found.len(), self.layout.sizes[i]);
                    }
                    Err(_) => assert!(!wanted),
                }
            }
        }

        /// A tree of the same shape that somebody else made.
        fn foreign(&self) {
            self.prepare().unwrap();
            owner::erase(std::fs::File::open(self.root()).unwrap().as_fd()).unwrap();
        }

        /// Paths, sizes and times of change of everything.
        fn everything(&self) -> BTreeMap<PathBuf, (u64, i64, i64)> {
            let mut all = BTreeMap::new();
            let mut left = vec![self.directory.path().to_owned()];
            while let Some(directory) = left.pop() {
                for entry in std::fs::read_dir(directory).unwrap() {
                    let path = entry.unwrap().path();
                    let m = std::fs::symlink_metadata(&path).unwrap();
                    if m.is_dir() {
                        left.push(path.clone());
                    }
                    all.insert(path, (m.len(), m.mtime(), m.mtime_nsec()));
                }
            }
            all
        }
    }

    fn refused(result: Result<Prepared, CreateError>) -> String {
        match result {
            Err(error @ CreateError::NotOurs { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_tree_is_made_with_its_parents_and_marked() {
        let case = Case::new(200, 80);
        let prepared = case.prepare().unwrap();
        case.check();
        assert_eq!((prepared.made, prepared.reused, prepared.removed, prepared.ours), (160, 0, 0, true));
        assert_eq!(prepared.existing, case.wanted());
        assert_eq!(prepared.existing.leafdirs.iter().filter(|e| **e).count(), 5);
        assert_eq!(case.state(), Some(State::Ready));
        assert_eq!(case.progress.files_done.load(Relaxed), 160);
        assert_eq!(case.progress.bytes_done.load(Relaxed), case.progress.bytes_total.load(Relaxed));
        let mut path = PathBuffer::with_prefix(case.root().as_os_str());
        for i in 0..case.layout.directories.len() {
            case.layout.path_of_directory(i, &mut path);
            assert!(Path::new(path.as_os_str()).is_dir());
        }
    }

    #[test]
    fn data_is_random_and_the_same_with_the_same_seed() {
        let mut case = Case::new(3, 100);
        case.spec.size = Draw::Fixed(2.5 * 1024.0 * 1024.0);
        case.layout = plan(&case.spec, 1);
        case.prepare().unwrap();
        case.check();
        let one = std::fs::read(case.file(0)).unwrap();
        assert_ne!(one, std::fs::read(case.file(1)).unwrap());
        assert_ne!(one[..1 << 20], one[1 << 20..2 << 20]);
        assert!(one.chunks(4096).all(|block| block.iter().any(|b| *b != 0)));
        case.prepare().unwrap();
        assert_eq!(one, std::fs::read(case.file(0)).unwrap());
    }

    #[test]
    fn a_tree_of_ours_is_made_anew() {
        let case = Case::new(50, 100);
        case.prepare().unwrap();
        let prepared = case.prepare().unwrap();
        case.check();
        assert!(prepared.removed > 50);
        // A run that died leaves `making`: the next takes it away.
        let fd = std::fs::File::open(case.root()).unwrap();
        owner::write(fd.as_fd(), &Record::now(fd.as_fd(), State::Making, 1).unwrap()).unwrap();
        case.prepare().unwrap();
        assert_eq!(case.state(), Some(State::Ready));
    }

    #[test]
    fn a_tree_of_ours_with_something_foreign_in_it_is_not_emptied() {
        let case = Case::new(50, 100);
        case.prepare().unwrap();
        let outside = case.directory.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("precious"), "x").unwrap();
        let deep = case.file(0).with_file_name("notes");
        let root = case.root();
        let before = case.everything();
        for path in [deep, root.join("link"), root.join("hard"), root.join("directory")] {
            match path.file_name().unwrap().to_str().unwrap() {
                "notes" => std::fs::write(&path, "x").unwrap(),
                "link" => symlink(&outside, &path).unwrap(),
                "hard" => std::fs::hard_link(outside.join("precious"), &path).unwrap(),
                _ => std::fs::create_dir(&path).unwrap(),
            }
            let Err(CreateError::NotOurs { path: named, .. }) = case.prepare() else {
                panic!("{} is gone", path.display())
            };
            assert_eq!(named, path);
            assert!(remove(&case.root(), &AtomicBool::new(false)).is_err());
            assert!(path.symlink_metadata().is_ok());
            if path.is_dir() && !path.is_symlink() {
                std::fs::remove_dir(&path).unwrap();
            } else {
                std::fs::remove_file(&path).unwrap();
            }
        }
        assert_eq!(case.everything().len(), before.len());
        assert_eq!(std::fs::read(outside.join("precious")).unwrap(), b"x");
        case.prepare().unwrap();
    }

    #[test]
    fn two_runs_do_not_share_a_tree() {
        let case = Case::new(5, 100);
        let first = case.prepare_and_hold().unwrap();
        let Err(CreateError::NotOurs { why, .. }) = case.prepare() else { panic!("the tree was taken away") };
        assert!(why.contains("another wlrun"), "{why}");
        drop(first);
        case.prepare().unwrap();
    }

    #[test]
    fn reuse_repairs_what_is_wrong_and_leaves_the_rest() {
        let mut case = Case::new(100, 80);
        case.prepare().unwrap();
        case.spec.reuse = true;
        let before = case.everything();
        let prepared = case.prepare().unwrap();
        assert_eq!((prepared.made, prepared.reused), (0, 80));
        assert_eq!(case.everything(), before, "a tree that is right is not touched at all");

        let wanted = case.wanted().files;
        let there: Vec<usize> = (0..100).filter(|i| wanted[*i] && case.layout.sizes[*i] > 10).collect();
        let gone = (0..100).find(|i| !wanted[*i]).unwrap();
        std::fs::write(case.file(there[0]), "short").unwrap();
        std::fs::write(case.file(there[1]), vec![7; 1 << 20]).unwrap();
        std::fs::remove_file(case.file(there[2])).unwrap();
        std::fs::write(case.file(gone), "not wanted").unwrap();
        // The other name of a file keeps its content.
        let other = case.directory.path().join("other");
        std::fs::write(&other, "mine").unwrap();
        std::fs::remove_file(case.file(there[3])).unwrap();
        std::fs::hard_link(&other, case.file(there[3])).unwrap();
        // A whole directory is missing; something foreign is in the tree.
        let lost = case.file(there[40]).parent().unwrap().to_owned();
        std::fs::remove_dir_all(&lost).unwrap();
        std::fs::write(case.root().join("foreign"), "x").unwrap();
        let prepared = case.prepare().unwrap();
        case.check();
        assert_eq!(prepared.existing.files, wanted);
        assert_eq!((prepared.repaired, prepared.removed), (3, 1));
        assert!(prepared.made > 1 && prepared.reused < 78);
        assert_eq!(std::fs::read(&other).unwrap(), b"mine");
        assert!(case.root().join("foreign").exists());
        assert_eq!(std::fs::read(case.file(there[1])).unwrap()[0], 7, "cut, not written");
        assert_eq!(case.state(), Some(State::Ready));

        // A link in the place of a directory is refused, not removed.
        let directory = case.file(there[20]).parent().unwrap().to_owned();
        std::fs::remove_dir_all(&directory).unwrap();
        symlink(case.directory.path(), &directory).unwrap();
        refused(case.prepare());
        std::fs::remove_file(&directory).unwrap();
        case.prepare().unwrap();
        case.check();
    }

    #[test]
    fn reuse_turns_a_tree_of_one_shape_into_another() {
        let mut case = Case::new(100, 80);
        case.spec.reuse = true;
        for (entries, width, seed) in [(100, 5.0, 1), (150, 5.0, 9), (150, 2.0, 9), (30, 1e6, 1), (100, 3.0, 4)] {
            case.spec.entries = entries;
            case.spec.width = Draw::Fixed(width);
            case.layout = plan(&case.spec, seed);
            case.prepare().unwrap();
            case.check();
            std::fs::write(case.root().join("foreign"), "x").unwrap();
        }
        // A foreign file in a directory that is in the way is not removed with it.
        let foreign = case.file(0).parent().unwrap().join("foreign");
        std::fs::write(&foreign, "x").unwrap();
        case.spec.width = Draw::Fixed(1e6);
        case.spec.entries = 90;
        case.layout = plan(&case.spec, 1);
        assert!(refused(case.prepare()).contains("none of the file set's own"));
        assert!(foreign.exists());
    }

    #[test]
    fn a_tree_of_others_is_not_written_to() {
        let mut case = Case::new(40, 80);
        case.foreign();
        let before = case.everything();
        for (reuse, trusttree) in [(false, false), (true, false), (false, true)] {
            (case.spec.reuse, case.spec.trusttree) = (reuse, trusttree);
            assert!(refused(case.prepare()).contains("--adopt"));
        }
        case.spec.trusttree = false;
        assert!(matches!(remove(&case.root(), &case.cancel), Err(CreateError::NotOurs { .. })));
        // Who only reads may, as long as it is all there.
        case.writes = false;
        let prepared = case.prepare().unwrap();
        assert_eq!((prepared.made, prepared.reused, prepared.ours), (0, 32, false));
        assert_eq!(case.everything(), before);
        let i = case.wanted().files.iter().position(|w| *w).unwrap();
        std::fs::write(case.file(i), vec![0; 77_777]).unwrap();
        assert!(refused(case.prepare()).contains("77777 bytes"));
        case.spec.trusttree = true;
        case.prepare().unwrap();
        std::fs::remove_file(case.file(i)).unwrap();
        assert!(case.prepare().unwrap_err().to_string().starts_with("attempted to use"));
        case.spec.trusttree = false;
        assert!(refused(case.prepare()).contains("would have to be made"));
        assert_eq!(case.state(), None);
    }

    #[test]
    fn an_empty_directory_is_somebodys_too() {
        let case = Case::new(4, 100);
        std::fs::create_dir_all(case.root()).unwrap();
        refused(case.prepare());
        assert_eq!(std::fs::read_dir(case.root()).unwrap().count(), 0);
    }

    #[test]
    fn adopting_adds_and_takes_nothing_away() {
        let mut case = Case::new(40, 50);
        case.foreign();
        case.adopt = true;
        let wanted = case.wanted().files;
        let [one, two] = [0, 1].map(|n| (0..40).filter(|i| wanted[*i]).nth(n).unwrap());
        let extra = wanted.iter().position(|w| !*w).unwrap();
        std::fs::write(case.file(one), "other size").unwrap();
        std::fs::remove_file(case.file(two)).unwrap();
        std::fs::write(case.file(extra), "extra").unwrap();
        let prepared = case.prepare().unwrap();
        assert_eq!((prepared.made, prepared.repaired, prepared.removed), (1, 0, 0));
        assert!(!prepared.ours && prepared.existing.files[extra]);
        assert_eq!(std::fs::read(case.file(one)).unwrap(), b"other size");
        assert_eq!(std::fs::read(case.file(extra)).unwrap(), b"extra");
        assert_eq!(std::fs::metadata(case.file(two)).unwrap().len(), case.layout.sizes[two]);
        assert_eq!(case.state(), None);
    }

    #[test]
    fn links_that_were_planted_are_refused_and_not_followed() {
        let mut case = Case::new(40, 100);
        let outside = case.directory.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        // As the root.
        std::fs::create_dir_all(&case.spec.path).unwrap();
        symlink(&outside, case.root()).unwrap();
        assert!(refused(case.prepare()).contains("symbolic link"));
        assert!(matches!(remove(&case.root(), &case.cancel), Err(CreateError::NotOurs { .. })));
        std::fs::remove_file(case.root()).unwrap();
        // As a directory and as a file of the tree.
        case.prepare().unwrap();
        case.spec.reuse = true;
        let victim = outside.join("victim");
        std::fs::write(&victim, "x").unwrap();
        std::fs::remove_file(case.file(0)).unwrap();
        symlink(&victim, case.file(0)).unwrap();
        assert!(refused(case.prepare()).contains("it is a symbolic link"));
        std::fs::remove_dir_all(case.file(0).parent().unwrap()).unwrap();
        symlink(&outside, case.file(0).parent().unwrap()).unwrap();
        refused(case.prepare());
        assert_eq!(std::fs::read(&victim).unwrap(), b"x");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let mut case = Case::new(1, 100);
        for name in ["", ".", "..", "a/b", "/etc", "a/"] {
            case.spec.name = name.into();
            refused(case.prepare());
        }
        assert!(case.everything().is_empty());
    }

    #[test]
    fn what_cannot_fit_is_not_begun() {
        let mut case = Case::new(1000, 100);
        case.spec.size = Draw::Fixed(9e15);
        case.layout = plan(&case.spec, 1);
        let error = case.prepare().unwrap_err();
        assert!(matches!(error, CreateError::NoSpace { what: "bytes", .. }), "{error}");
        assert!(!case.root().exists());
    }

    #[test]
    fn a_cancelled_run_leaves_a_tree_that_is_known_to_be_unfinished() {
        let case = Case::new(50, 100);
        case.cancel.store(true, Relaxed);
        let error = case.prepare().unwrap_err();
        assert!(matches!(error, CreateError::Cancelled { .. }));
        assert!(error.to_string().contains("marked as unfinished"));
        assert_eq!(case.state(), Some(State::Making));
        case.cancel.store(false, Relaxed);
        case.prepare().unwrap();
        case.check();
    }

    #[test]
    fn an_error_names_the_operation_the_object_and_the_reason() {
        let error = CreateError::io("create", "/x/y", Errno::NOSPC);
        assert_eq!(error.to_string(), "cannot create /x/y: No space left on device (ENOSPC)");
        let case = Case::new(1, 100);
        std::fs::write(case.directory.path().join("a"), "a file in the way").unwrap();
        let error = case.prepare().unwrap_err().to_string();
        assert!(error.ends_with("Not a directory (ENOTDIR)"), "{error}");
    }

    #[test]
    fn removing_takes_the_whole_tree_and_the_tree_alone() {
        let case = Case::new(300, 80);
        case.prepare().unwrap();
        std::fs::write(case.spec.path.join("neighbour"), "x").unwrap();
        let mut deep = case.root();
        deep.extend(std::iter::repeat_n("99999999", 100));
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::set_permissions(&deep, std::fs::Permissions::from_mode(0o700)).unwrap();
        let removed = remove(&case.root(), &case.cancel).unwrap();
        assert!(removed.objects > 340);
        assert!(!case.root().exists() && case.spec.path.join("neighbour").exists());
        assert!(matches!(remove(&case.root(), &case.cancel), Err(CreateError::Io { .. })));
    }
}
