//! The tree on the disk, reached through directory descriptors only: below the root no path is resolved, and no
//! symbolic link followed, so nothing that was planted in a tree can lead out of it.

use super::create::CreateError;
use super::layout::Layout;
use super::owner;
use super::path::{Name, PathBuffer, is_link_path, is_name};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// A directory as a place to work from: no permission to read it is needed, and opening it costs nothing on a server.
const PLACE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory to be listed.
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// So many foreign objects of a tree are named.
const FEW: usize = 10;

/// What may be at the place of a tree.
pub(super) enum Place {
    Tree(Root),
    /// Nothing; the directory that will hold it may be missing too.
    Free,
}

/// The root directory of a tree that is there.
#[derive(Debug)]
pub(super) struct Root {
    holder: OwnedFd,
    name: CString,
    fd: OwnedFd,
    pub(super) path: PathBuf,
}

impl Root {
    /// Looks at the place `path`.
    pub(super) fn find(path: &Path) -> Result<Place, CreateError> {
        let (holder, name) = split(path)?;
        let holder = match open_holder(holder) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(Place::Free),
            Err(error) => return Err(CreateError::io("open", holder, error)),
        };
        match rustix::fs::openat(&holder, &name, PLACE, Mode::empty()) {
            Ok(fd) => Ok(Place::Tree(Root { holder, name, fd, path: path.to_owned() })),
            Err(Errno::NOENT) => Ok(Place::Free),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(obstacle(holder.as_fd(), &name, path.to_owned(), "a directory")),
            Err(error) => Err(CreateError::io("open", path, error)),
        }
    }

    /// Makes the root directory, after `check` of the directory that holds it, which is made where it is missing.
    pub(super) fn make(
        path: &Path,
        check: impl FnOnce(BorrowedFd<'_>) -> Result<(), CreateError>,
    ) -> Result<Root, CreateError> {
        let (directory, name) = split(path)?;
        std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o755)
            .recursive(true)
            .create(directory)
            .map_err(|error| CreateError::io("make directory", directory, error))?;
        let holder = open_holder(directory).map_err(|error| CreateError::io("open", directory, error))?;
        check(holder.as_fd())?;
        make_directory(holder.as_fd(), &name).map_err(|error| CreateError::io("make directory", path, error))?;
        let fd = rustix::fs::openat(&holder, &name, PLACE, Mode::empty())
            .map_err(|error| CreateError::io("open", path, error))?;
        Ok(Root { holder, name, fd, path: path.to_owned() })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Removes the root directory itself, which must be empty.
    pub(super) fn remove(&self) -> Result<(), CreateError> {
        rustix::fs::unlinkat(&self.holder, &self.name, AtFlags::REMOVEDIR)
            .map_err(|error| CreateError::io("remove", &self.path, error))
    }

    /// Locks the tree against other runs; none where the file system has no such locks. The lock ends with its
    /// descriptor, so a run that died leaves none.
    pub(super) fn lock(&self, exclusive: bool) -> Result<Option<OwnedFd>, CreateError> {
        let Ok(fd) = rustix::fs::openat(&self.fd, c".", LISTED, Mode::empty()) else { return Ok(None) };
        self.relock(Some(fd), exclusive)
    }

    /// Makes a lock one of the other kind. It is not there for a moment between: who takes it then has it, and this run
    /// is refused.
    pub(super) fn relock(&self, lock: Option<OwnedFd>, exclusive: bool) -> Result<Option<OwnedFd>, CreateError> {
        let Some(fd) = lock else { return Ok(None) };
        let operation =
            if exclusive { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
        match rustix::fs::flock(&fd, operation) {
            Ok(()) => Ok(Some(fd)),
            Err(Errno::AGAIN) => {
                let why = "another wlrun works in it at this moment";
                Err(CreateError::NotOurs { path: self.path.clone(), why: why.into() })
            }
            Err(_) => Ok(None),
        }
    }

    /// Refuses a tree that has something in it that wlrun did not make; the number of files and directories in it.
    pub(super) fn refuse_foreign(&self, cancel: &AtomicBool) -> Result<u64, CreateError> {
        refuse_foreign(self.fd(), &self.path, cancel)
    }

    /// Removes all that is in it but the mark of ownership, and counts in `removed`. Where something is in it that
    /// wlrun did not make, nothing is removed.
    pub(super) fn empty(&self, removed: &AtomicU64, cancel: &AtomicBool) -> Result<(), CreateError> {
        self.refuse_foreign(cancel)?;
        empty(self.fd(), &self.path, Spare::Mark, removed, cancel)
    }
}

/// What is not removed from a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spare {
    /// The mark of ownership in it.
    Mark,
    /// All but files and directories of names that a file set gives; one of those ends it.
    Foreign,
}

/// Removes all that is in the directory `fd`, called `path` in messages, and counts in `removed`. Stops at other file
/// systems.
pub(super) fn empty(
    fd: BorrowedFd<'_>,
    path: &Path,
    spare: Spare,
    removed: &AtomicU64,
    cancel: &AtomicBool,
) -> Result<(), CreateError> {
    let full = |stack: &[Level], name: &CStr| {
        let mut full = path.to_owned();
        full.extend(stack.iter().skip(1).map(|level| OsStr::from_bytes(level.name.to_bytes())));
        if !name.is_empty() {
            full.push(OsStr::from_bytes(name.to_bytes()));
        }
        full
    };
    let fail =
        |stack: &[Level], name: &CStr, operation, error: Errno| CreateError::io(operation, full(stack, name), error);
    let top = list(fd, c".").map_err(|error| CreateError::io("list", path, error))?;
    let device = top.stat().map_err(|error| CreateError::io("look at", path, error))?.st_dev;
    let mut stack = vec![Level { dir: top, name: c"".to_owned(), changed: false }];
    while let Some(level) = stack.last_mut() {
        if cancel.load(Relaxed) {
            return Err(CreateError::Cancelled { left: "" });
        }
        let entry = match level.dir.read() {
            Some(Ok(entry)) => entry,
            Some(Err(error)) => return Err(fail(&stack, c"", "list", error)),
            None if level.changed => {
                // Some file systems skip entries when others go while a directory is listed: once more, until
                // a whole list shows nothing.
                level.changed = false;
                level.dir.rewind();
                continue;
            }
            None => {
                let gone = stack.pop().expect("the loop has looked at it").name;
                if let Some(above) = stack.last_mut() {
                    match unlink(above.dir.fd(), &gone, AtFlags::REMOVEDIR) {
                        Ok(went) => above.changed |= went,
                        Err(error) => return Err(fail(&stack, &gone, "remove", error)),
                    }
                    removed.fetch_add(1, Relaxed);
                }
                continue;
            }
        };
        let name = entry.file_name();
        if name == c"." || name == c".." || (spare == Spare::Mark && name == owner::NAME && stack.len() == 1) {
            continue;
        }
        let listed = || stack.last().map_or(Err(Errno::BADF), |level| level.dir.fd());
        if spare == Spare::Foreign && !is_ours(listed(), name, entry.file_type()) {
            let why = "it is in a directory that would have to make room for a file of the file set, and is none of \
                           the file set's own";
            return Err(CreateError::NotOurs { path: full(&stack, name), why: why.into() });
        }
        let step = (|| {
            let level = stack.last_mut().expect("the loop has looked at it");
            let at = level.dir.fd()?;
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    FileType::from_raw_mode(rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
                }
                kind => kind,
            };
            if kind != FileType::Directory {
                // What is not there changes nothing: some file systems give the old list again, for ever.
                if unlink(Ok(at), name, AtFlags::empty())? {
                    level.changed = true;
                    removed.fetch_add(1, Relaxed);
                }
                return Ok(None);
            }
            let dir = list(at, name)?;
            // Another file system may be mounted here, or this one once more.
            if dir.stat()?.st_dev != device || is_mount(dir.fd()?) {
                return Err(Errno::XDEV);
            }
            Ok(Some(dir))
        })();
        match step {
            Ok(None) | Err(Errno::NOENT) => {}
            Ok(Some(dir)) => stack.push(Level { dir, name: name.to_owned(), changed: false }),
            Err(Errno::XDEV) => return Err(mounted(full(&stack, name))),
            Err(error) => return Err(fail(&stack, name, "remove", error)),
        }
    }
    Ok(())
}

/// Looks through a whole tree for something that no file set made, and refuses it by name; the number of files and
/// directories in the tree where there is none.
fn refuse_foreign(root: BorrowedFd<'_>, path: &Path, cancel: &AtomicBool) -> Result<u64, CreateError> {
    let top = list(root, c".").map_err(|error| CreateError::io("list", path, error))?;
    let mut stack = vec![(top, path.to_owned())];
    let (mut objects, mut foreign) = (0, Vec::new());
    let mut more = 0u64;
    while let Some((dir, at)) = stack.last_mut() {
        if cancel.load(Relaxed) {
            return Err(CreateError::Cancelled { left: "" });
        }
        let entry = match dir.read() {
            Some(entry) => entry.map_err(|error| CreateError::io("list", &*at, error))?,
            None => {
                stack.pop();
                continue;
            }
        };
        let name = entry.file_name();
        let full = at.join(OsStr::from_bytes(name.to_bytes()));
        // The mark, and what a run left that died while it wrote one.
        let mark = stack.len() == 1 && name.to_bytes().starts_with(owner::NAME.to_bytes());
        if name == c"." || name == c".." || mark {
            continue;
        }
        let listed = stack.last().map_or(Err(Errno::BADF), |(dir, _)| dir.fd());
        if !is_ours(listed, name, entry.file_type()) {
            if foreign.len() < FEW {
                foreign.push(full)
            } else {
                more += 1
            }
            continue;
        }
        objects += 1;
        if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
            let (dir, _) = stack.last().expect("the loop has looked at it");
            let at = dir.fd().map_err(|error| CreateError::io("list", &full, error))?;
            match list(at, name) {
                Ok(dir) => stack.push((dir, full)),
                Err(Errno::NOTDIR | Errno::NOENT) => {}
                Err(error) => return Err(CreateError::io("list", full, error)),
            }
        }
    }
    let mut foreign = foreign.into_iter();
    let Some(first) = foreign.next() else { return Ok(objects) };
    let mut others: Vec<String> = foreign.map(|path| path.display().to_string()).collect();
    if more > 0 {
        others.push(format!("{more} more"));
    }
    let others = if others.is_empty() { String::new() } else { format!("; nor did it make {}", others.join(", ")) };
    let why =
        format!("wlrun did not make it, and the tree that it is in would be removed; nothing was removed{others}");
    Err(CreateError::NotOurs { path: first, why })
}

/// Opens a directory to be listed.
pub(super) fn list(at: BorrowedFd<'_>, name: &CStr) -> Result<Dir, Errno> {
    Dir::new(rustix::fs::openat(at, name, LISTED, Mode::empty())?)
}

/// True for what a file set, or a flowop in it, may have made.
fn is_ours(at: Result<BorrowedFd<'_>, Errno>, name: &CStr, kind: FileType) -> bool {
    is_name(name.to_bytes())
        && match kind {
            FileType::RegularFile | FileType::Directory | FileType::Unknown => true,
            FileType::Symlink => at.is_ok_and(|at| is_link_of_ours(at, name)),
            _ => false,
        }
}

/// True for a symbolic link such as the flowop `symlink` makes.
pub(super) fn is_link_of_ours(at: BorrowedFd<'_>, name: &CStr) -> bool {
    rustix::fs::readlinkat(at, name, Vec::new()).is_ok_and(|target| is_link_path(target.to_bytes()))
}

/// Takes away what a tree of another layout has where this one needs the name for an object of the other kind: a
/// file where `wanted` is a directory, or a directory where it is a file. Anything else stays, for others to object to.
pub(super) fn make_way(
    at: BorrowedFd<'_>,
    name: &CStr,
    path: &Path,
    wanted: FileType,
    removed: &AtomicU64,
    cancel: &AtomicBool,
) -> Result<(), CreateError> {
    let Ok(stat) = rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
    let flags = match (FileType::from_raw_mode(stat.st_mode), wanted) {
        (FileType::RegularFile, FileType::Directory) => AtFlags::empty(),
        (FileType::Directory, FileType::RegularFile) => {
            let directory = rustix::fs::openat(at, name, PLACE, Mode::empty())
                .map_err(|error| CreateError::io("open", path, error))?;
            if is_mount(directory.as_fd()) {
                return Err(mounted(path.to_owned()));
            }
            empty(directory.as_fd(), path, Spare::Foreign, removed, cancel)?;
            AtFlags::REMOVEDIR
        }
        _ => return Ok(()),
    };
    removed.fetch_add(1, Relaxed);
    unlink(Ok(at), name, flags).map(drop).map_err(|error| CreateError::io("remove", path, error))
}

/// A directory that is being emptied.
struct Level {
    dir: Dir,
    name: CString,
    /// Something went since the list began.
    changed: bool,
}

/// True where something went.
fn unlink(at: Result<BorrowedFd<'_>, Errno>, name: &CStr, flags: AtFlags) -> Result<bool, Errno> {
    match rustix::fs::unlinkat(at?, name, flags) {
        // Someone else was faster, or the list was old.
        Err(Errno::NOENT) => Ok(false),
        other => other.map(|()| true),
    }
}

fn mounted(path: PathBuf) -> CreateError {
    CreateError::NotOurs { path, why: "a file system is mounted there, and what is on it is not removed".into() }
}

/// True for the root of a mount. Where the kernel does not say (before 5.8), the device number is all there is.
pub(super) fn is_mount(fd: BorrowedFd<'_>) -> bool {
    rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())
        .is_ok_and(|s| s.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// The directory above, and the name in it.
fn split(path: &Path) -> Result<(&Path, CString), CreateError> {
    let wrong = || CreateError::io("use as a tree", path, Errno::INVAL);
    let name = path.file_name().ok_or_else(wrong)?;
    let holder = match path.parent() {
        Some(holder) if holder.as_os_str().is_empty() => Path::new("."),
        Some(holder) => holder,
        None => return Err(wrong()),
    };
    Ok((holder, CString::new(name.as_bytes()).map_err(|_| wrong())?))
}

fn open_holder(path: &Path) -> Result<OwnedFd, Errno> {
    // The way to the tree is the user's own: links in it are followed.
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

pub(super) fn make_directory(at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o755))
}

/// The refusal of an object that is not what the file set has under its name.
pub(super) fn obstacle(at: BorrowedFd<'_>, name: &CStr, path: PathBuf, wanted: &str) -> CreateError {
    let found = rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
    let found = match found {
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a directory",
        FileType::RegularFile => "a file",
        FileType::BlockDevice => "a block device",
        FileType::CharacterDevice => "a character device",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::Unknown => "something else",
    };
    CreateError::NotOurs { path, why: format!("it is {found} where the file set has {wanted}") }
}

/// One thread's way through a tree: opens the directories of a layout, and keeps the last one open, for files come in
/// the order of their directories.
pub(super) struct Walker<'a> {
    root: &'a Root,
    layout: &'a Layout,
    last: Option<(u32, Result<OwnedFd, Errno>)>,
    chain: Vec<u32>,
    path: PathBuffer,
}

impl<'a> Walker<'a> {
    pub(super) fn new(root: &'a Root, layout: &'a Layout) -> Self {
        let path = PathBuffer::with_prefix(root.path.as_os_str());
        Walker { root, layout, last: None, chain: Vec::new(), path }
    }

    /// The directory, or none where it or one above it is missing.
    pub(super) fn open(&mut self, directory: u32) -> Result<Option<BorrowedFd<'_>>, CreateError> {
        if directory == 0 {
            return Ok(Some(self.root.fd()));
        }
        if self.last.as_ref().is_none_or(|(last, _)| *last != directory) {
            let opened = self.walk(directory);
            self.last = Some((directory, opened));
        }
        match &self.last {
            Some((_, Ok(fd))) => Ok(Some(fd.as_fd())),
            Some((_, Err(Errno::NOENT))) | None => Ok(None),
            Some((_, Err(error))) => {
                let error = *error;
                self.layout.path_of_directory(directory as usize, &mut self.path);
                let path = PathBuf::from(self.path.as_os_str());
                Err(match error {
                    Errno::NOTDIR | Errno::LOOP => CreateError::NotOurs {
                        path,
                        why: "on the way to it is a file or a symbolic link where the file set has a directory".into(),
                    },
                    error => CreateError::io("open", path, error),
                })
            }
        }
    }

    fn walk(&mut self, directory: u32) -> Result<OwnedFd, Errno> {
        self.chain.clear();
        let mut at = directory;
        while at != 0 {
            self.chain.push(at);
            at = self.layout.directories[at as usize].parent;
        }
        let mut fd: Option<OwnedFd> = None;
        for directory in self.chain.iter().rev() {
            let name = Name::of(self.layout.directories[*directory as usize].serial);
            let at = fd.as_ref().map_or(self.root.fd(), |fd| fd.as_fd());
            fd = Some(rustix::fs::openat(at, name.as_c_str(), PLACE, Mode::empty())?);
        }
        Ok(fd.expect("the root is not walked to"))
    }
}
