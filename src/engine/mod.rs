//! How a request reaches the kernel. A flowop says what, an engine how; the clock belongs to the engine, because an
//! engine without a kernel makes its own time.
//!
//! To add an engine: its file with an [`EngineDef`], and its line in [`ENGINES`].

use crate::sys::AlignedBuffer;
use rustix::fd::BorrowedFd;
use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;

mod clock;
mod fake;
mod helpers;
mod null;
mod sync;

pub use clock::Clock;

/// All engines, the default first.
pub static ENGINES: &[&EngineDef] = &[&sync::DEF, &null::DEF, &fake::DEF];

/// Engines that the design names and nobody has built, so that they are refused by name.
pub const PLANNED: &[&str] = &["uring"];

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineDef> {
    ENGINES.iter().copied().find(|def| def.name == name)
}

/// What an engine is.
pub struct EngineDef {
    /// Of `--engine`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// False where nothing reaches a file system: no file set is made then.
    pub touches_files: bool,
    /// False for engines of the project's own tests, which `wlrun list` does not show.
    pub listed: bool,
    /// Most threads that an engine starts beside its own, to carry out jobs.
    pub helpers: u64,
    /// Makes one for a thread, with that thread's clock. The text is what stood behind `NAME:` on the command line.
    pub build: fn(&str) -> Built,
}

/// An engine for one thread, with that thread's clock; or what is wrong with its script.
pub type Built = Result<(Box<dyn Engine>, Clock), String>;

impl std::fmt::Debug for EngineDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineDef").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The file that a request on attributes, or on its size, is about.
#[derive(Debug, Clone, Copy)]
pub enum Object<'a> {
    /// A descriptor of [`Request::Open`].
    Open(i32),
    /// A name.
    Named {
        /// The root of the file set.
        directory: BorrowedFd<'a>,
        /// Relative to it; or from the root of all on, and then the directory says nothing, as in openat(2).
        path: &'a CStr,
    },
}

/// One call.
#[derive(Debug)]
pub enum Request<'a> {
    /// Opens `path` below `directory`; the result is the descriptor.
    Open {
        /// The root of the file set.
        directory: BorrowedFd<'a>,
        /// Relative to it.
        path: &'a CStr,
        /// As open(2) takes them.
        flags: OFlags,
        /// The size that the file should have, in bytes, for engines that have no kernel to ask.
        expected: u64,
    },
    /// Closes a descriptor.
    Close {
        /// Of [`Request::Open`].
        fd: i32,
    },
    /// Removes the name `path` below `directory`.
    Unlink {
        /// The root of the file set.
        directory: BorrowedFd<'a>,
        /// Relative to it.
        path: &'a CStr,
    },
    /// Makes the directory `path` below `directory`.
    MakeDirectory {
        /// The root of the file set.
        directory: BorrowedFd<'a>,
        /// Relative to it.
        path: &'a CStr,
    },
    /// Removes the empty directory `path` below `directory`.
    RemoveDirectory {
        /// The root of the file set.
        directory: BorrowedFd<'a>,
        /// Relative to it.
        path: &'a CStr,
    },
    /// Opens the directory `path` below `directory`, reads all its entries, closes it; the result is their number.
    List {
        /// The root of the file set.
        directory: BorrowedFd<'a>,
        /// Relative to it.
        path: &'a CStr,
    },
    /// Reads the attributes of `path` below `directory`.
    Stat {
        /// The root of the file set.
        directory: BorrowedFd<'a>,
        /// Relative to it.
        path: &'a CStr,
    },
    /// Reads the attributes of an open file.
    Fstat {
        /// Of [`Request::Open`].
        fd: i32,
    },
    /// Flushes a file to stable storage.
    Fsync {
        /// Of [`Request::Open`].
        fd: i32,
    },
    /// Reads at the current position; the result is the number of bytes, 0 at the end.
    Read {
        /// Of [`Request::Open`].
        fd: i32,
        /// Takes the bytes.
        buffer: &'a mut [u8],
    },
    /// Reads at `offset`.
    ReadAt {
        /// Of [`Request::Open`].
        fd: i32,
        /// Takes the bytes.
        buffer: &'a mut [u8],
        /// From the start of the file.
        offset: u64,
    },
    /// Writes at the current position; the result is the number of bytes, which may be fewer than given.
    Write {
        /// Of [`Request::Open`].
        fd: i32,
        /// What to write.
        buffer: &'a [u8],
    },
    /// Writes at `offset`.
    WriteAt {
        /// Of [`Request::Open`].
        fd: i32,
        /// What to write.
        buffer: &'a [u8],
        /// From the start of the file.
        offset: u64,
    },
    /// Moves the position to the start of the file.
    Rewind {
        /// Of [`Request::Open`].
        fd: i32,
    },
    /// Moves the position to the end of the file; the result is that position.
    SeekEnd {
        /// Of [`Request::Open`].
        fd: i32,
    },
    /// The present size of an open file, in bytes.
    Size {
        /// Of [`Request::Open`].
        fd: i32,
    },
    /// The current position.
    Position {
        /// Of [`Request::Open`].
        fd: i32,
    },
    /// Moves the position to the next data, or hole, at `offset` or behind it; the result is that position. ENXIO where
    /// there is none.
    SeekNext {
        /// Of [`Request::Open`].
        fd: i32,
        /// From the start of the file.
        offset: u64,
        /// A hole instead of data.
        hole: bool,
    },
    /// Sets the size of a file; one that is given by its name is opened and closed for it.
    Truncate {
        /// Which.
        object: Object<'a>,
        /// In bytes.
        size: u64,
    },
    /// Gives a range of a file its space, or takes it away.
    Allocate {
        /// Of [`Request::Open`].
        fd: i32,
        /// As fallocate(2) takes them.
        flags: FallocateFlags,
        /// From the start of the file.
        offset: u64,
        /// In bytes.
        len: u64,
    },
    /// Takes or releases the lock of an open file, waiting for it.
    Lock {
        /// Of [`Request::Open`].
        fd: i32,
        /// As flock(2) takes it.
        operation: FlockOperation,
    },
    /// Copies up to `len` bytes from one file to another within the kernel, at their current positions; the result is
    /// the number of bytes, 0 at the end.
    Copy {
        /// Of [`Request::Open`].
        from: i32,
        /// Of [`Request::Open`].
        to: i32,
        /// In bytes.
        len: usize,
    },
    /// Flushes the whole file system that `directory` is on.
    SyncFs {
        /// The root of the file set.
        directory: BorrowedFd<'a>,
    },
    /// Maps an open file, where it is not mapped since it was opened; the result is the length of the mapping, which
    /// stays until the descriptor is closed.
    Map {
        /// Of [`Request::Open`].
        fd: i32,
    },
    /// Copies from a mapped file.
    Load {
        /// Of [`Request::Map`].
        fd: i32,
        /// Takes the bytes.
        buffer: &'a mut [u8],
        /// From the start of the file; all bytes lie within the mapping.
        offset: u64,
    },
    /// Copies to a mapped file.
    Store {
        /// Of [`Request::Map`].
        fd: i32,
        /// What to copy.
        buffer: &'a [u8],
        /// From the start of the file; all bytes lie within the mapping.
        offset: u64,
    },
    /// Tells the kernel not to read ahead.
    AdviseRandom {
        /// Of [`Request::Open`].
        fd: i32,
    },
    /// Gives a file another name.
    Rename {
        /// The root of the file set that it is in.
        from_directory: BorrowedFd<'a>,
        /// Relative to that.
        from: &'a CStr,
        /// The root of the file set that it goes to.
        directory: BorrowedFd<'a>,
        /// Relative to that.
        path: &'a CStr,
    },
    /// Gives a file a second name.
    Link {
        /// The root of the file set that it is in.
        from_directory: BorrowedFd<'a>,
        /// Relative to that.
        from: &'a CStr,
        /// The root of the file set of the second name.
        directory: BorrowedFd<'a>,
        /// Relative to that.
        path: &'a CStr,
    },
    /// Makes a symbolic link.
    SymbolicLink {
        /// What it holds.
        target: &'a CStr,
        /// The root of the file set.
        directory: BorrowedFd<'a>,
        /// Relative to it.
        path: &'a CStr,
    },
    /// Reads what a symbolic link holds; the result is the number of bytes.
    ReadLink {
        /// The root of the file set.
        directory: BorrowedFd<'a>,
        /// Relative to it.
        path: &'a CStr,
        /// Takes the bytes.
        buffer: &'a mut [u8],
    },
    /// Sets the permissions of a file.
    SetMode {
        /// Which.
        object: Object<'a>,
        /// The permissions.
        mode: Mode,
    },
    /// Sets the times of the last access and the last change of a file to now.
    SetTimes {
        /// Which.
        object: Object<'a>,
    },
    /// Sets an extended attribute. Linux has no such call that takes a directory: a name is a path from the root of all
    /// on.
    SetAttribute {
        /// Of which file.
        object: Object<'a>,
        /// With its namespace.
        name: &'a CStr,
        /// Its value.
        value: &'a [u8],
    },
    /// Reads an extended attribute; the result is the length of its value. A name as in [`Request::SetAttribute`].
    GetAttribute {
        /// Of which file.
        object: Object<'a>,
        /// With its namespace.
        name: &'a CStr,
        /// Takes the value.
        buffer: &'a mut [u8],
    },
    /// Reads the names of all extended attributes; the result is their length. A name as in [`Request::SetAttribute`].
    ListAttributes {
        /// Of which file.
        object: Object<'a>,
        /// Takes the names.
        buffer: &'a mut [u8],
    },
}

impl Request<'_> {
    /// The call's name in messages and in the script of the engine `fake`.
    pub fn name(&self) -> &'static str {
        match self {
            Request::Open { .. } => "open",
            Request::Close { .. } => "close",
            Request::Unlink { .. } => "unlink",
            Request::MakeDirectory { .. } => "mkdir",
            Request::RemoveDirectory { .. } => "rmdir",
            Request::List { .. } => "list",
            Request::Stat { .. } | Request::Fstat { .. } | Request::Size { .. } => "stat",
            Request::Fsync { .. } => "fsync",
            Request::Read { .. } | Request::ReadAt { .. } => "read",
            Request::Write { .. } | Request::WriteAt { .. } => "write",
            Request::Rewind { .. } | Request::SeekEnd { .. } | Request::Position { .. } | Request::SeekNext { .. } => {
                "seek"
            }
            Request::Truncate { .. } => "truncate",
            Request::Allocate { .. } => "fallocate",
            Request::Lock { .. } => "flock",
            Request::Copy { .. } => "copy",
            Request::SyncFs { .. } => "syncfs",
            Request::Map { .. } => "mmap",
            Request::Load { .. } => "load",
            Request::Store { .. } => "store",
            Request::AdviseRandom { .. } => "advise",
            Request::Rename { .. } => "rename",
            Request::Link { .. } => "link",
            Request::SymbolicLink { .. } => "symlink",
            Request::ReadLink { .. } => "readlink",
            Request::SetMode { .. } => "chmod",
            Request::SetTimes { .. } => "utimes",
            Request::SetAttribute { .. } => "setxattr",
            Request::GetAttribute { .. } => "getxattr",
            Request::ListAttributes { .. } => "listxattr",
        }
    }
}

/// Which way the data of a job goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

/// A transfer that is carried out beside the thread. It owns its buffer until it is done, so nobody can touch that.
#[derive(Debug)]
pub struct Job {
    /// Comes back with [`Done`].
    pub tag: u32,
    /// Read or write.
    pub way: Way,
    /// Of [`Request::Open`]; open until the job is done.
    pub fd: i32,
    /// From the start of the file.
    pub offset: u64,
    /// Bytes of the buffer that are meant, from its start.
    pub len: usize,
    /// As long as `len`, or longer.
    pub buffer: AlignedBuffer,
}

/// A job that has come to its end.
#[derive(Debug)]
pub struct Done {
    /// The job's.
    pub tag: u32,
    /// The job's.
    pub buffer: AlignedBuffer,
    /// When it ended, on the thread's clock.
    pub end_ns: u64,
    /// Bytes that moved.
    pub moved: u64,
    /// The kernel's error. Where there is none, a write has moved all its bytes.
    pub error: Option<Errno>,
}

/// Carries requests out for one thread: calls, one at a time; jobs, beside it.
pub trait Engine {
    /// Does it, and waits for it. EINTR never comes back: the call is made again.
    ///
    /// # Errors
    ///
    /// The kernel's.
    fn execute(&mut self, request: Request<'_>) -> Result<u64, Errno>;

    /// Makes ready for as many jobs as may be under way at once. Called once, before the first job and before the
    /// window opens.
    ///
    /// # Errors
    ///
    /// Where the machine gives no more threads or memory.
    fn expect(&mut self, most: usize) -> std::io::Result<()>;

    /// Begins jobs in their order, taking all out of the list, and does not wait for them.
    ///
    /// # Panics
    ///
    /// Where more are under way than were expected.
    fn submit(&mut self, jobs: &mut Vec<Job>);

    /// Waits until `least` jobs are done, and adds those and all others that are done to the list.
    ///
    /// # Panics
    ///
    /// Where fewer than `least` are under way.
    fn reap(&mut self, least: usize, done: &mut Vec<Done>);

    /// Ends what carries out jobs, none of which is under way; the processor time that it took, in nanoseconds.
    fn finish(&mut self) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_default_comes_first() {
        let names: std::collections::BTreeSet<_> = ENGINES.iter().map(|def| def.name).collect();
        assert_eq!(names.len(), ENGINES.len());
        assert_eq!(ENGINES[0].name, "sync");
        assert!(PLANNED.iter().all(|name| find(name).is_none()));
    }
}
