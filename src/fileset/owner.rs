//! The mark of ownership that each tree made by wlrun carries.
//!
//! It is the extended attribute `user.wlrun` of the tree's root directory:
//!
//! ```text
//! wlrun 1 state=ready layout=0123456789abcdef inode=131 made=1700000000 pid=4711
//! ```
//!
//! The inode number is that of the directory: a mark that was copied to another directory is none.
//!
//! Why an attribute: whoever counts, lists or measures what is in a tree finds nothing of ours in it, and it changes in
//! one step. Where there are no extended attributes (NFS before 4.2, some FUSE file systems), a **directory** `.wlrun`
//! in the root takes its place, and the record is the name of the one empty directory in it: every file system has
//! directories, and that record changes by `rename`, in one step too.
//!
//! `state=making` says that a run began to build or change the tree and has not finished: what it died over is whatever
//! it left. Nothing is ever emptied, cut or removed in a tree without this mark.

use rustix::fs::{AtFlags, Dir, Mode, OFlags, XattrFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The attribute of the root directory.
const ATTRIBUTE: &CStr = c"user.wlrun";

/// The name of the directory that stands for the attribute where there are none.
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
    let inode = rustix::fs::fstat(root)?.st_ino;
    let text = match read_attribute(root)? {
        Some(text) => text,
        None => match read_directory(root)? {
            Some(text) => text,
            None => return Ok(None),
        },
    };
    Ok(std::str::from_utf8(&text).ok().and_then(Record::parse).filter(|record| record.inode == inode))
}

fn read_attribute(root: BorrowedFd<'_>) -> io::Result<Option<Vec<u8>>> {
    let directory = match open(root, c".") {
        Ok(directory) => directory,
        // Somebody else's, and closed to us: no tree of ours.
        Err(Errno::ACCESS) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut text = vec![0; 4096];
    match rustix::fs::fgetxattr(&directory, ATTRIBUTE, &mut text) {
        Ok(length) => {
            text.truncate(length);
            Ok(Some(text))
        }
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::RANGE) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn read_directory(root: BorrowedFd<'_>) -> io::Result<Option<Vec<u8>>> {
    let mark = match open(root, NAME) {
        Ok(mark) => mark,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // Two records are none: nobody can say which holds.
    Ok(<[CString; 1]>::try_from(entries(&mark)?).ok().map(|[name]| name.into_bytes()))
}

fn open(at: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

fn entries(directory: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

/// Puts a record into a tree's root directory, in the place of one that is there, in one step.
///
/// # Errors
///
/// Where it cannot be written.
pub fn write(root: BorrowedFd<'_>, record: &Record) -> io::Result<()> {
    let text = record.to_string();
    match rustix::fs::fsetxattr(open(root, c".")?, ATTRIBUTE, text.as_bytes(), XattrFlags::empty()) {
        Ok(()) => {
            // Of a time when there were no attributes here.
            let _ = erase_at(root, NAME);
            Ok(())
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => write_directory(root, &text),
        Err(error) => Err(error.into()),
    }
}

fn write_directory(root: BorrowedFd<'_>, text: &str) -> io::Result<()> {
    let text = CString::new(text).expect("no NUL in it");
    match open(root, NAME) {
        Ok(mark) => {
            if let [old] = entries(&mark)?.as_slice() {
                return Ok(rustix::fs::renameat(&mark, old.as_c_str(), &mark, &text)?);
            }
        }
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let temporary = temporary();
    // Of a run that died between the steps, under the same process number.
    erase_at(root, &temporary)?;
    let mode = Mode::from_raw_mode(0o755);
    rustix::fs::mkdirat(root, &temporary, mode)?;
    let made = open(root, &temporary)
        .and_then(|mark| rustix::fs::mkdirat(&mark, &text, mode))
        .and_then(|()| rustix::fs::renameat(root, &temporary, root, NAME));
    made.map_err(|error| {
        let _ = erase_at(root, &temporary);
        error.into()
    })
}

/// Takes the mark away, where there is one.
///
/// # Errors
///
/// Where it cannot be removed.
pub fn erase(root: BorrowedFd<'_>) -> io::Result<()> {
    match rustix::fs::fremovexattr(open(root, c".")?, ATTRIBUTE) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => erase_at(root, NAME),
        Err(error) => Err(error.into()),
    }
}

fn erase_at(root: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    let mark = match open(root, name) {
        Ok(mark) => mark,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in entries(&mark)? {
        rustix::fs::unlinkat(&mark, &entry, AtFlags::REMOVEDIR)?;
    }
    Ok(rustix::fs::unlinkat(root, name, AtFlags::REMOVEDIR)?)
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
    use std::fs;
    use std::os::unix::fs::symlink;

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn root() -> (tempfile::TempDir, fs::File) {
        let directory = tempfile::tempdir().unwrap();
        let fd = fs::File::open(directory.path()).unwrap();
        (directory, fd)
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let (directory, fd) = root();
        assert_eq!(inspect(directory.path()).unwrap(), None);
        for state in [State::Making, State::Ready, State::Ready] {
            let record = Record::now(fd.as_fd(), state, 0xab).unwrap();
            write(fd.as_fd(), &record).unwrap();
            assert_eq!(inspect(directory.path()).unwrap(), Some(record));
        }
        erase(fd.as_fd()).unwrap();
        erase(fd.as_fd()).unwrap();
        assert_eq!((inspect(directory.path()).unwrap(), names(directory.path()).len()), (None, 0));
    }

    #[test]
    fn a_directory_serves_where_there_are_no_attributes() {
        let (directory, fd) = root();
        let inode = rustix::fs::fstat(&fd).unwrap().st_ino;
        // A leftover of a run that died between the steps does no harm.
        fs::create_dir_all(directory.path().join(temporary().to_str().unwrap()).join("old")).unwrap();
        let record = Record { state: State::Making, layout: 0xab, inode, made: 7, pid: 9 };
        write_directory(fd.as_fd(), &record.to_string()).unwrap();
        let mark = directory.path().join(".wlrun");
        let expected = format!("wlrun 1 state=making layout=00000000000000ab inode={inode} made=7 pid=9");
        assert_eq!(names(&mark), [expected]);
        let ready = Record { state: State::Ready, ..record };
        for _ in 0..2 {
            write_directory(fd.as_fd(), &ready.to_string()).unwrap();
            assert_eq!(inspect(directory.path()).unwrap(), Some(ready));
        }
        assert_eq!((names(&mark).len(), names(directory.path())), (1, vec![".wlrun".to_owned()]));
        erase(fd.as_fd()).unwrap();
        assert_eq!((inspect(directory.path()).unwrap(), names(directory.path()).len()), (None, 0));
    }

    #[test]
    fn a_mark_that_was_copied_is_none() {
        let ((one, one_fd), (two, two_fd)) = (root(), root());
        let record = Record::now(one_fd.as_fd(), State::Ready, 1).unwrap();
        write(one_fd.as_fd(), &record).unwrap();
        write(two_fd.as_fd(), &record).unwrap();
        assert_eq!(inspect(one.path()).unwrap(), Some(record));
        assert_eq!(inspect(two.path()).unwrap(), None);
    }

    #[test]
    fn what_is_not_a_record_is_none() {
        let (directory, fd) = root();
        let mark = directory.path().join(".wlrun");
        let none = || assert_eq!(inspect(directory.path()).unwrap(), None);
        fs::write(&mark, "wlrun 1 state=ready").unwrap();
        none();
        fs::remove_file(&mark).unwrap();
        fs::create_dir(&mark).unwrap();
        none();
        fs::create_dir(mark.join("wlrun 2 state=ready")).unwrap();
        none();
        // Two records.
        let record = Record::now(fd.as_fd(), State::Ready, 1).unwrap();
        fs::create_dir(mark.join(record.to_string())).unwrap();
        none();
        fs::remove_dir(mark.join("wlrun 2 state=ready")).unwrap();
        assert_eq!(inspect(directory.path()).unwrap(), Some(record));
        // A link to a marked tree is not a marked tree, and a link to a mark is no mark.
        let link = directory.path().join("link");
        symlink(directory.path(), &link).unwrap();
        assert_eq!(inspect(&link).unwrap(), None);
        fs::rename(&mark, directory.path().join("moved")).unwrap();
        symlink("moved", &mark).unwrap();
        none();
        for text in ["", "wlrun 1 state=odd layout=0 inode=1 made=1 pid=1", "wlrun 1 state=ready layout=0 made=1 pid=1"]
        {
            assert_eq!(Record::parse(text), None);
        }
    }
}
