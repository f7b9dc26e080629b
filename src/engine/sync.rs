//! The engine `sync`: each request is the system call of its name, made by the thread itself; a job is the call of its
//! kind, made by a helper.

use super::helpers::{HELPERS, Helpers};
use super::{Clock, Done, Engine, EngineDef, Job, Object, Request};
use crate::sys::{Mapping, files};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, SeekFrom, Timespec, Timestamps, UTIME_NOW, XattrFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::mem::MaybeUninit;

pub(super) static DEF: EngineDef = EngineDef {
    name: "sync",
    summary: "one system call after the other in each thread: open, pread, pwrite, fsync, ...; aioread and aiowrite by up to 16 helper threads of each thread",
    touches_files: true,
    listed: true,
    helpers: HELPERS as u64,
    build: |_| Ok((Box::new(Sync::default()), Clock::Monotonic)),
};

#[derive(Default)]
struct Sync {
    /// Of a thread that expects jobs.
    helpers: Option<Helpers>,
    /// By descriptor number.
    mappings: Vec<Option<Mapping>>,
}

impl Sync {
    fn map(&mut self, fd: i32) -> Result<u64, Errno> {
        let at = usize::try_from(fd).map_err(|_| Errno::BADF)?;
        if self.mappings.len() <= at {
            self.mappings.resize_with(at + 1, || None);
        }
        let place = &mut self.mappings[at];
        let mapping = match place {
            Some(mapping) => mapping,
            None => place.insert(Mapping::of(fd)?),
        };
        Ok(mapping.len() as u64)
    }

    fn mapping(&self, fd: i32) -> Result<&Mapping, Errno> {
        usize::try_from(fd).ok().and_then(|at| self.mappings.get(at)).and_then(Option::as_ref).ok_or(Errno::BADF)
    }

    fn close(&mut self, fd: i32) -> Result<u64, Errno> {
        // The number may be another file's next.
        if let Some(place) = usize::try_from(fd).ok().and_then(|at| self.mappings.get_mut(at)) {
            *place = None;
        }
        files::close(fd).map(|()| 0)
    }
}

impl Engine for Sync {
    #[inline]
    fn execute(&mut self, mut request: Request<'_>) -> Result<u64, Errno> {
        loop {
            match self.call(&mut request) {
                Err(Errno::INTR) => {}
                other => return other,
            }
        }
    }

    fn expect(&mut self, most: usize) -> std::io::Result<()> {
        self.helpers = Some(Helpers::start(most)?);
        Ok(())
    }

    fn submit(&mut self, jobs: &mut Vec<Job>) {
        self.helpers.as_mut().expect("jobs are expected before they come").submit(jobs);
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Done>) {
        if let Some(helpers) = &mut self.helpers {
            helpers.reap(least, done);
        }
    }

    fn finish(&mut self) -> u64 {
        self.helpers.take().map_or(0, Helpers::finish)
    }
}

impl Sync {
    fn call(&mut self, request: &mut Request<'_>) -> Result<u64, Errno> {
        use std::os::fd::IntoRawFd;
        Ok(match request {
            Request::Open { directory, path, flags, .. } => {
                let mode = Mode::from_raw_mode(0o666);
                rustix::fs::openat(*directory, *path, *flags, mode)?.into_raw_fd() as u64
            }
            Request::Close { fd } => self.close(*fd)?,
            Request::Unlink { directory, path } => {
                rustix::fs::unlinkat(*directory, *path, AtFlags::empty()).map(|()| 0)?
            }
            Request::MakeDirectory { directory, path } => {
                rustix::fs::mkdirat(*directory, *path, Mode::from_raw_mode(0o755)).map(|()| 0)?
            }
            Request::RemoveDirectory { directory, path } => {
                rustix::fs::unlinkat(*directory, *path, AtFlags::REMOVEDIR).map(|()| 0)?
            }
            Request::List { directory, path } => list(*directory, path)?,
            Request::Stat { directory, path } => rustix::fs::statat(*directory, *path, AtFlags::empty()).map(|_| 0)?,
            Request::Fstat { fd } => files::fstat(*fd).map(|_| 0)?,
            Request::Fsync { fd } => files::fsync(*fd).map(|()| 0)?,
            Request::Read { fd, buffer } => files::read(*fd, buffer)? as u64,
            Request::ReadAt { fd, buffer, offset } => files::read_at(*fd, buffer, *offset)? as u64,
            Request::Write { fd, buffer } => files::write(*fd, buffer)? as u64,
            Request::WriteAt { fd, buffer, offset } => files::write_at(*fd, buffer, *offset)? as u64,
            Request::Rewind { fd } => files::seek(*fd, SeekFrom::Start(0))?,
            Request::SeekEnd { fd } => files::seek(*fd, SeekFrom::End(0))?,
            Request::AdviseRandom { fd } => files::advise_random(*fd).map(|()| 0)?,
            Request::Size { fd } => files::fstat(*fd)?.st_size as u64,
            Request::Position { fd } => files::seek(*fd, SeekFrom::Current(0))?,
            Request::SeekNext { fd, offset, hole: false } => files::seek(*fd, SeekFrom::Data(*offset))?,
            Request::SeekNext { fd, offset, hole: true } => files::seek(*fd, SeekFrom::Hole(*offset))?,
            Request::Truncate { object, size } => match *object {
                Object::Open(fd) => files::truncate(fd, *size).map(|()| 0)?,
                Object::Named { directory, path } => {
                    let file = rustix::fs::openat(directory, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
                    rustix::fs::ftruncate(file, *size).map(|()| 0)?
                }
            },
            Request::Allocate { fd, flags, offset, len } => files::allocate(*fd, *flags, *offset, *len).map(|()| 0)?,
            Request::Lock { fd, operation } => files::lock(*fd, *operation).map(|()| 0)?,
            Request::Copy { from, to, len } => files::copy(*from, *to, *len)? as u64,
            Request::SyncFs { directory } => {
                // The root is open as a path only, which syncfs does not take.
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                rustix::fs::syncfs(rustix::fs::openat(*directory, c".", flags, Mode::empty())?).map(|()| 0)?
            }
            Request::Map { fd } => self.map(*fd)?,
            Request::Load { fd, buffer, offset } => {
                self.mapping(*fd)?.load(*offset, buffer)?;
                buffer.len() as u64
            }
            Request::Store { fd, buffer, offset } => {
                self.mapping(*fd)?.store(*offset, buffer)?;
                buffer.len() as u64
            }
            Request::Rename { from_directory, from, directory, path } => {
                rustix::fs::renameat(*from_directory, *from, *directory, *path).map(|()| 0)?
            }
            Request::Link { from_directory, from, directory, path } => {
                rustix::fs::linkat(*from_directory, *from, *directory, *path, AtFlags::empty()).map(|()| 0)?
            }
            Request::SymbolicLink { target, directory, path } => {
                rustix::fs::symlinkat(*target, *directory, *path).map(|()| 0)?
            }
            Request::ReadLink { directory, path, buffer } => {
                rustix::fs::readlinkat_raw(*directory, *path, &mut **buffer)? as u64
            }
            Request::SetMode { object, mode } => match *object {
                Object::Open(fd) => files::set_mode(fd, *mode).map(|()| 0)?,
                Object::Named { directory, path } => {
                    rustix::fs::chmodat(directory, path, *mode, AtFlags::empty()).map(|()| 0)?
                }
            },
            Request::SetTimes { object } => match *object {
                Object::Open(fd) => files::set_times(fd, &NOW).map(|()| 0)?,
                Object::Named { directory, path } => {
                    rustix::fs::utimensat(directory, path, &NOW, AtFlags::empty()).map(|()| 0)?
                }
            },
            Request::SetAttribute { object, name, value } => match *object {
                Object::Open(fd) => files::set_attribute(fd, name, value).map(|()| 0)?,
                Object::Named { path, .. } => {
                    rustix::fs::setxattr(path, *name, value, XattrFlags::empty()).map(|()| 0)?
                }
            },
            Request::GetAttribute { object, name, buffer } => match *object {
                Object::Open(fd) => files::get_attribute(fd, name, buffer)? as u64,
                Object::Named { path, .. } => rustix::fs::getxattr(path, *name, &mut **buffer)? as u64,
            },
            Request::ListAttributes { object, buffer } => match *object {
                Object::Open(fd) => files::list_attributes(fd, buffer)? as u64,
                Object::Named { path, .. } => rustix::fs::listxattr(path, &mut **buffer)? as u64,
            },
        })
    }
}

const NOW: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
};

/// Reads a directory as `readdir` does: by buffers of 32 KiB, as the C library's are.
fn list(directory: BorrowedFd<'_>, path: &CStr) -> Result<u64, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, path, flags, Mode::empty())?;
    let mut buffer = [const { MaybeUninit::uninit() }; 32 << 10];
    let mut entries = RawDir::new(&opened, &mut buffer);
    let mut count = 0;
    while let Some(entry) = entries.next() {
        entry?;
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;
    use std::os::fd::AsFd;

    #[test]
    fn a_file_is_made_written_read_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let root = rustix::fs::openat(CWD, dir.path(), OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
        let mut engine = Sync::default();
        let open = |flags| Request::Open { directory: root.as_fd(), path: c"f", flags, expected: 0 };
        let fd = engine.execute(open(OFlags::CREATE | OFlags::RDWR)).unwrap() as i32;
        assert_eq!(engine.execute(Request::Write { fd, buffer: b"abc" }), Ok(3));
        assert_eq!(engine.execute(Request::WriteAt { fd, buffer: b"d", offset: 3 }), Ok(1));
        assert_eq!(engine.execute(Request::SeekEnd { fd }), Ok(4));
        let mut buffer = [0; 8];
        assert_eq!(engine.execute(Request::Read { fd, buffer: &mut buffer }), Ok(0));
        assert_eq!(engine.execute(Request::Rewind { fd }), Ok(0));
        assert_eq!(engine.execute(Request::Read { fd, buffer: &mut buffer }), Ok(4));
        assert_eq!(engine.execute(Request::ReadAt { fd, buffer: &mut buffer[..2], offset: 3 }), Ok(1));
        assert_eq!(&buffer[..4], b"dbcd");
        for request in [Request::Fstat { fd }, Request::Fsync { fd }, Request::Close { fd }] {
            assert_eq!(engine.execute(request), Ok(0));
        }
        assert_eq!(engine.execute(Request::Close { fd: 1_000_000 }), Err(Errno::BADF));
        let (directory, path) = (root.as_fd(), c"f");
        assert_eq!(engine.execute(Request::Stat { directory, path }), Ok(0));
        assert_eq!(engine.execute(Request::Unlink { directory, path }), Ok(0));
        assert_eq!(engine.execute(Request::Stat { directory, path }), Err(Errno::NOENT));
        assert_eq!(engine.execute(Request::MakeDirectory { directory, path }), Ok(0));
        assert_eq!(engine.execute(Request::MakeDirectory { directory, path }), Err(Errno::EXIST));
        assert_eq!(
            engine.execute(Request::List { directory, path: c"." }),
            Ok(3),
            "itself, the one above, and the new one"
        );
        assert_eq!(engine.execute(Request::RemoveDirectory { directory, path }), Ok(0));
        assert_eq!(engine.execute(Request::List { directory, path }), Err(Errno::NOENT));
    }

    #[test]
    fn names_and_attributes_are_those_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = rustix::fs::openat(CWD, dir.path(), OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
        let (mut engine, directory) = (Sync::default(), root.as_fd());
        std::fs::write(dir.path().join("f"), "abc").unwrap();
        let pair = (directory, directory);
        let (from_directory, directory) = pair;
        assert_eq!(engine.execute(Request::Rename { from_directory, from: c"f", directory, path: c"g" }), Ok(0));
        assert_eq!(engine.execute(Request::Link { from_directory, from: c"g", directory, path: c"h" }), Ok(0));
        assert_eq!(engine.execute(Request::SymbolicLink { target: c"g", directory, path: c"s" }), Ok(0));
        let mut buffer = [0; 64];
        let mut read = |path| engine.execute(Request::ReadLink { directory, path, buffer: &mut buffer });
        assert_eq!((read(c"s"), read(c"g")), (Ok(1), Err(Errno::INVAL)));
        let open = Request::Open { directory, path: c"g", flags: OFlags::RDWR, expected: 0 };
        let fd = engine.execute(open).unwrap() as i32;
        let absolute = std::ffi::CString::new(dir.path().join("g").into_os_string().into_encoded_bytes()).unwrap();
        let named = Object::Named { directory, path: &absolute };
        for (object, mode) in [(named, 0o640), (Object::Open(fd), 0o600)] {
            let stat = || rustix::fs::statat(&root, c"h", AtFlags::empty()).unwrap();
            let old = Timestamps { last_modification: Timespec { tv_sec: 1, tv_nsec: 0 }, ..NOW };
            rustix::fs::utimensat(&root, c"g", &old, AtFlags::empty()).unwrap();
            assert_eq!(stat().st_mtime, 1);
            assert_eq!(engine.execute(Request::SetMode { object, mode: Mode::from_raw_mode(mode) }), Ok(0));
            assert_eq!(engine.execute(Request::SetTimes { object }), Ok(0));
            assert_eq!(stat().st_mode & 0o7777, mode);
            assert_ne!(stat().st_mtime, 1);
            let name = c"user.test";
            match engine.execute(Request::SetAttribute { object, name, value: b"12345" }) {
                Err(Errno::OPNOTSUPP) => continue,
                other => assert_eq!(other, Ok(0)),
            }
            let mut buffer = [0; 5];
            assert_eq!(engine.execute(Request::GetAttribute { object, name, buffer: &mut buffer }), Ok(5));
            assert_eq!(&buffer, b"12345");
            let short = &mut buffer[..4];
            assert_eq!(engine.execute(Request::GetAttribute { object, name, buffer: short }), Err(Errno::RANGE));
            let (name, mut list) = (c"user.none", [0; 512]);
            assert_eq!(engine.execute(Request::GetAttribute { object, name, buffer: &mut list }), Err(Errno::NODATA));
            let length = engine.execute(Request::ListAttributes { object, buffer: &mut list }).unwrap() as usize;
            assert!(list[..length].split(|byte| *byte == 0).any(|name| name == b"user.test"));
        }
        engine.execute(Request::Close { fd }).unwrap();
    }

    #[test]
    fn a_file_is_cut_filled_copied_locked_and_mapped() {
        use rustix::fs::{FallocateFlags, FlockOperation};
        let dir = tempfile::tempdir().unwrap();
        let root = rustix::fs::openat(CWD, dir.path(), OFlags::DIRECTORY | OFlags::PATH, Mode::empty()).unwrap();
        let directory = root.as_fd();
        let mut engine = Sync::default();
        let open = |path| Request::Open { directory, path, flags: OFlags::CREATE | OFlags::RDWR, expected: 0 };
        let [a, b] = [c"a", c"b"].map(|path| engine.execute(open(path)).unwrap() as i32);
        assert_eq!(engine.execute(Request::Write { fd: a, buffer: b"0123456789" }), Ok(10));
        assert_eq!(engine.execute(Request::Truncate { object: Object::Open(a), size: 6 }), Ok(0));
        assert_eq!(engine.execute(Request::Size { fd: a }), Ok(6));
        assert_eq!(engine.execute(Request::Position { fd: a }), Ok(10));
        assert_eq!(engine.execute(Request::SeekNext { fd: a, offset: 2, hole: false }), Ok(2));
        assert_eq!(engine.execute(Request::SeekNext { fd: a, offset: 2, hole: true }), Ok(6));
        assert_eq!(engine.execute(Request::SeekNext { fd: a, offset: 6, hole: false }), Err(Errno::NXIO));
        assert_eq!(engine.execute(Request::Rewind { fd: a }), Ok(0));
        assert_eq!(engine.execute(Request::Copy { from: a, to: b, len: 100 }), Ok(6));
        assert_eq!(engine.execute(Request::Copy { from: a, to: b, len: 100 }), Ok(0));
        let flags = FallocateFlags::empty();
        assert_eq!(engine.execute(Request::Allocate { fd: b, flags, offset: 6, len: 4 }), Ok(0));
        assert_eq!(engine.execute(Request::Size { fd: b }), Ok(10));
        assert_eq!(engine.execute(Request::Map { fd: b }), Ok(10));
        let mut bytes = [1; 10];
        assert_eq!(engine.execute(Request::Load { fd: b, buffer: &mut bytes, offset: 0 }), Ok(10));
        assert_eq!(&bytes, b"012345\0\0\0\0");
        assert_eq!(engine.execute(Request::Store { fd: b, buffer: b"xy", offset: 8 }), Ok(2));
        // A second request finds the mapping; a close takes it away.
        assert_eq!(engine.execute(Request::Truncate { object: Object::Open(b), size: 20 }), Ok(0));
        assert_eq!(engine.execute(Request::Map { fd: b }), Ok(10));
        for operation in [FlockOperation::LockExclusive, FlockOperation::Unlock, FlockOperation::LockShared] {
            assert_eq!(engine.execute(Request::Lock { fd: b, operation }), Ok(0));
        }
        assert_eq!(engine.execute(Request::Close { fd: b }), Ok(0));
        assert_eq!(engine.execute(Request::Load { fd: b, buffer: &mut bytes, offset: 0 }), Err(Errno::BADF));
        let object = Object::Named { directory, path: c"a" };
        assert_eq!(engine.execute(Request::Truncate { object, size: 3 }), Ok(0));
        assert_eq!(engine.execute(Request::SyncFs { directory }), Ok(0));
        assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"012");
        assert_eq!(std::fs::read(dir.path().join("b")).unwrap()[..10], *b"012345\0\0xy");
    }
}
