//! The trees below a directory that carry wlrun's mark, wherever they lie.

use super::disk::{is_mount, list};
use super::owner;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What was found below a directory.
#[derive(Debug, Default)]
pub struct Trees {
    /// Roots of marked trees, in the order of their paths. None lies within another.
    pub roots: Vec<PathBuf>,
    /// Directories that were not looked into, each with the reason.
    pub left_out: Vec<(PathBuf, String)>,
}

/// Looks for marked trees in `top` and everything below it. Symbolic links are not followed, and other file systems not
/// entered; `top` itself may be reached by a link, for it is the user's own word.
///
/// # Errors
///
/// Where `top` cannot be listed.
pub fn trees(top: &Path) -> io::Result<Trees> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(top, flags, Mode::empty())?;
    let device = rustix::fs::fstat(&fd)?.st_dev;
    let mut found = Trees::default();
    if owner::read(fd.as_fd())?.is_some() {
        found.roots.push(top.to_owned());
        return Ok(found);
    }
    let mut stack = vec![(list(fd.as_fd(), c".")?, top.to_owned())];
    while let Some((dir, at)) = stack.last_mut() {
        let entry = match dir.read() {
            Some(Ok(entry)) => entry,
            Some(Err(error)) => {
                found.left_out.push((at.clone(), error.to_string()));
                stack.pop();
                continue;
            }
            None => {
                stack.pop();
                continue;
            }
        };
        let name = entry.file_name();
        if name == c"." || name == c".." || !matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
            continue;
        }
        let path = at.join(OsStr::from_bytes(name.to_bytes()));
        let look = || -> Result<Option<OwnedFd>, io::Error> {
            let flags = flags | OFlags::NOFOLLOW;
            let fd = match rustix::fs::openat(dir.fd()?, name, flags, Mode::empty()) {
                Ok(fd) => fd,
                // It is no directory, or gone.
                Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if rustix::fs::fstat(&fd)?.st_dev != device || is_mount(fd.as_fd()) {
                return Err(io::Error::other("another file system is mounted there"));
            }
            Ok(Some(fd))
        };
        match look().and_then(|fd| fd.map(|fd| Ok((owner::read(fd.as_fd())?.is_some(), fd))).transpose()) {
            Ok(None) => {}
            Ok(Some((true, _))) => found.roots.push(path),
            Ok(Some((false, fd))) => match list(fd.as_fd(), c".") {
                Ok(dir) => stack.push((dir, path)),
                Err(error) => found.left_out.push((path, crate::sys::describe(&error.into()))),
            },
            Err(error) => found.left_out.push((path, crate::sys::describe(&error))),
        }
    }
    found.roots.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::owner::{Record, State};
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn mark(path: &Path) {
        fs::create_dir_all(path).unwrap();
        let fd = fs::File::open(path).unwrap();
        owner::write(fd.as_fd(), &Record::now(fd.as_fd(), State::Ready, 1).unwrap()).unwrap();
    }

    #[test]
    fn marked_trees_are_found_wherever_they_lie_and_no_others() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("top");
        for tree in ["a", "deep/er/b", "deep/c"] {
            mark(&top.join(tree));
        }
        // Within a tree nothing is looked for, a link leads nowhere, and what is beside it is not below.
        mark(&top.join("a/00000001"));
        mark(&scratch.path().join("beside"));
        symlink(scratch.path().join("beside"), top.join("link")).unwrap();
        fs::create_dir_all(top.join("others/deep")).unwrap();
        fs::write(top.join("others/file"), "x").unwrap();
        let found = trees(&top).unwrap();
        assert_eq!(found.roots, ["a", "deep/c", "deep/er/b"].map(|tree| top.join(tree)));
        assert!(found.left_out.is_empty());
        // By the user's own link, and a tree itself.
        symlink(&top, scratch.path().join("way")).unwrap();
        assert_eq!(trees(&scratch.path().join("way")).unwrap().roots.len(), 3);
        assert_eq!(trees(&top.join("a")).unwrap().roots, [top.join("a")]);
        assert!(trees(&top.join("others/file")).is_err() && trees(&top.join("missing")).is_err());
    }
}
