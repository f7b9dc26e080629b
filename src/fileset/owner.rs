//! The mark of ownership that each tree made by wlrun carries.
//!
//! It is a **symbolic link** named `.wlrun` in the tree's root directory. It points nowhere; its target text is the
//! record:
//!
//! ```text
//! wlrun 1 state=ready layout=0123456789abcdef inode=131 made=1700000000 pid=4711
//! ```
//!
//! The inode number is that of the directory: a mark that was copied into another directory is none.
//!
//! Why a link: `symlink` is atomic, so there is never half a record; it needs no data block, so it can be made where no
//! block is free; tools that count or read files do not take it for one of the workload's; and it works on every POSIX
//! file system, NFS included. Where there are no symbolic links (EPERM, EOPNOTSUPP, ENOSYS), a regular file of the same
//! name holds the text.
//!
//! `state=making` says that a run began to build or change the tree and has not finished: what it died over is whatever
//! it left. Nothing is ever emptied, cut or removed in a tree without this mark.

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// The name of the mark in the root directory of a tree.
pub const NAME: &CStr = c".wlrun";

/// How far the making of a tree has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A run builds it, or died over it.
    Making,
    /// It is whole, as far as its makers know.
    Ready,
}

/// What the mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// How far it has come.
    pub state: State,
    /// [`Layout::fingerprint`](super::Layout::fingerprint) of the tree.
    pub layout: u64,
    /// Inode number of the directory that carries the mark.
    pub inode: u64,
    /// When the mark was written, in seconds since 1970.
    pub made: u64,
    /// The process that wrote it.
    pub pid: u32,
}

impl Record {
    /// A record of this process, of this moment, for the directory `root`.
    ///
    /// # Errors
    ///
    /// Where the directory cannot be looked at.
    pub fn now(root: BorrowedFd<'_>, state: State, layout: u64) -> io::Result<Self> {
        let made = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |age| age.as_secs());
        let inode = rustix::fs::fstat(root)?.st_ino;
        Ok(Record { state, layout, inode, made, pid: std::process::id() })
    }

    /// Reads a record. Unknown words are left to later versions; what is no record gives none.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.trim_end().strip_prefix("wlrun 1 ")?;
        let field = |name: &str| rest.split(' ').find_map(|w| w.strip_prefix(name)?.strip_prefix('='));
        Some(Record {
            state: match field("state")? {
                "making" => State::Making,
                "ready" => State::Ready,
                _ => return None,
            },
            layout: u64::from_str_radix(field("layout")?, 16).ok()?,
            inode: field("inode")?.parse().ok()?,
            made: field("made")?.parse().ok()?,
            pid: field("pid")?.parse().ok()?,
        })
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Making => "making",
            State::Ready => "ready",
        };
        let Record { layout, inode, made, pid, .. } = self;
        write!(f, "wlrun 1 state={state} layout={layout:016x} inode={inode} made={made} pid={pid}")
    }
}

/// The record in a tree's root directory; none where there is no mark, or something else under its name, or the mark of
/// another directory.
///
/// # Errors
///
/// Where it cannot be read.
pub fn read(root: BorrowedFd<'_>) -> io::Result<Option<Record>> {
    let text = match rustix::fs::readlinkat(root, NAME, Vec::new()) {
        Ok(text) => text.into_bytes(),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::INVAL) => match read_file(root)? {
            Some(text) => text,
            None => return Ok(None),
        },
        Err(error) => return Err(error.into()),
    };
    let inode = rustix::fs::fstat(root)?.st_ino;
    Ok(std::str::from_utf8(&text).ok().and_then(Record::parse).filter(|record| record.inode == inode))
}

fn read_file(root: BorrowedFd<'_>) -> io::Result<Option<Vec<u8>>> {
    // NONBLOCK: the name may be taken by a pipe, which would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let stat = rustix::fs::statat(root, NAME, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let file = rustix::fs::openat(root, NAME, flags, Mode::empty())?;
    let mut text = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(std::fs::File::from(file), 4096), &mut text)?;
    Ok(Some(text))
}

/// Puts a record into a tree's root directory, in the place of one that is there, in one step.
///
/// # Errors
///
/// Where it cannot be written.
pub fn write(root: BorrowedFd<'_>, record: &Record) -> io::Result<()> {
    let text = record.to_string();
    let temporary = temporary();
    let mut made = rustix::fs::symlinkat(&*text, root, &temporary);
    if made == Err(Errno::EXIST) {
        // Of a run that died between the two steps, under the same process number.
        rustix::fs::unlinkat(root, &temporary, AtFlags::empty())?;
        made = rustix::fs::symlinkat(&*text, root, &temporary);
    }
    match made {
        Ok(()) => {}
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => write_file(root, &temporary, &text)?,
        Err(error) => return Err(error.into()),
    }
    rustix::fs::renameat(root, &temporary, root, NAME).map_err(|error| {
        let _ = rustix::fs::unlinkat(root, &temporary, AtFlags::empty());
        error.into()
    })
}

fn write_file(root: BorrowedFd<'_>, temporary: &CStr, text: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, temporary, flags, Mode::from_raw_mode(0o644))?;
    io::Write::write_all(&mut std::fs::File::from(file), text.as_bytes()).inspect_err(|_| {
        let _ = rustix::fs::unlinkat(root, temporary, AtFlags::empty());
    })
}

fn temporary() -> CString {
    CString::new(format!(".wlrun.{}", std::process::id())).expect("no NUL in it")
}

/// The record of the tree whose root directory is `root`; none where that is no directory of its own (a symbolic link
/// is not followed) or carries no mark.
///
/// # Errors
///
/// Where it cannot be read.
pub fn inspect(root: &Path) -> io::Result<Option<Record>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(root, flags, Mode::empty()) {
        Ok(fd) => read(fd.as_fd()),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let fd = std::fs::File::open(directory.path()).unwrap();
        assert_eq!(inspect(directory.path()).unwrap(), None);
        let inode = rustix::fs::fstat(&fd).unwrap().st_ino;
        let record = Record { state: State::Making, layout: 0xab, inode, made: 7, pid: 9 };
        write(fd.as_fd(), &record).unwrap();
        let target = std::fs::read_link(directory.path().join(".wlrun")).unwrap();
        let expected = format!("wlrun 1 state=making layout=00000000000000ab inode={inode} made=7 pid=9");
        assert_eq!(target.to_str(), Some(&*expected));
        let ready = Record { state: State::Ready, ..record };
        // A leftover of a run that died between the two steps does no harm.
        symlink("old", directory.path().join(temporary().to_str().unwrap())).unwrap();
        write(fd.as_fd(), &ready).unwrap();
        assert_eq!(inspect(directory.path()).unwrap(), Some(ready));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_serves_where_there_are_no_links() {
        let directory = tempfile::tempdir().unwrap();
        let fd = std::fs::File::open(directory.path()).unwrap();
        let record = Record::now(fd.as_fd(), State::Ready, 1).unwrap();
        write_file(fd.as_fd(), NAME, &record.to_string()).unwrap();
        assert_eq!(inspect(directory.path()).unwrap(), Some(record));
    }

    #[test]
    fn a_mark_that_was_copied_is_none() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let fd = std::fs::File::open(one.path()).unwrap();
        write(fd.as_fd(), &Record::now(fd.as_fd(), State::Ready, 1).unwrap()).unwrap();
        symlink(std::fs::read_link(one.path().join(".wlrun")).unwrap(), two.path().join(".wlrun")).unwrap();
        assert!(inspect(one.path()).unwrap().is_some());
        assert_eq!(inspect(two.path()).unwrap(), None);
    }

    #[test]
    fn what_is_not_a_record_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().join(".wlrun");
        symlink("wlrun 2 state=ready", &mark).unwrap();
        assert_eq!(inspect(directory.path()).unwrap(), None);
        std::fs::remove_file(&mark).unwrap();
        std::fs::create_dir(&mark).unwrap();
        assert_eq!(inspect(directory.path()).unwrap(), None);
        // A link to a marked tree is not a marked tree.
        std::fs::remove_dir(&mark).unwrap();
        let fd = std::fs::File::open(directory.path()).unwrap();
        symlink(Record::now(fd.as_fd(), State::Ready, 1).unwrap().to_string(), &mark).unwrap();
        let link = directory.path().join("link");
        symlink(directory.path(), &link).unwrap();
        assert!(inspect(directory.path()).unwrap().is_some());
        assert_eq!(inspect(&link).unwrap(), None);
        for text in ["", "wlrun 1 state=odd layout=0 inode=1 made=1 pid=1", "wlrun 1 state=ready layout=0 made=1 pid=1"]
        {
            assert_eq!(Record::parse(text), None);
        }
    }
}
