//! File sets in this machine's page cache: how much of them is there, and how it is taken out.

use super::device::Device;
use super::path::PathBuffer;
use super::pool::Pool;
use crate::random::stream::Seed;
use crate::sys::{Unwritten, cached_pages};
use rand::RngExt;
use rustix::fs::{Advice, FileType, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Instant;

/// Files that a thread takes at once.
const BATCH: usize = 16;

/// What of a file set is in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cached {
    /// Files that exist.
    pub files: u64,
    /// Of them, those that were looked at.
    pub looked_at: u64,
    /// Of them, those that could not be looked at: not ours to read, or gone.
    pub unknown: u64,
    /// Pages of the files that were looked at.
    pub pages: u64,
    /// Of them, those in the page cache.
    pub cached: u64,
    /// Of them, those that are to be written, or are being written; none where the kernel does not say.
    pub unwritten: Option<Unwritten>,
}

impl Cached {
    /// Adds another set.
    pub fn merge(&mut self, other: &Cached) {
        self.files += other.files;
        self.looked_at += other.looked_at;
        self.unknown += other.unknown;
        self.pages += other.pages;
        self.cached += other.cached;
        self.unwritten = match (self.unwritten, other.unwritten) {
            (Some(a), Some(b)) => Some(Unwritten { dirty: a.dirty + b.dirty, writeback: a.writeback + b.writeback }),
            _ => None,
        };
    }
}

/// The files of a set that exist at this moment, as the pool knows them.
pub struct Files<'a> {
    /// The root directory of the tree.
    pub root: &'a Path,
    /// The device that the only file is, instead of one in a tree.
    pub device: Option<&'a Device>,
    /// Which exist.
    pub pool: &'a Pool<'a>,
    /// Threads that look, at least 1.
    pub threads: usize,
    /// Ends the work before the next file.
    pub cancel: &'a AtomicBool,
}

impl Files<'_> {
    /// How much of them is in the page cache. At most `limit` files are looked at, chosen by `seed`, and none after
    /// `until`; in an order by chance, so that those seen by then stand for all.
    ///
    /// # Errors
    ///
    /// Where the root directory cannot be opened.
    pub fn cached(&self, limit: usize, until: Instant, seed: Seed) -> Result<Cached, Errno> {
        let mut files = self.existing();
        let all = files.len() as u64;
        let mut generator = seed.generator();
        let limit = limit.min(files.len());
        for at in 0..limit {
            let other = generator.random_range(at..files.len());
            files.swap(at, other);
        }
        files.truncate(limit);
        let sum = Mutex::new(Cached { unwritten: Some(Unwritten::default()), ..Cached::default() });
        let page = rustix::param::page_size() as u64;
        self.each(&files, |fd| {
            let one = fd.and_then(|fd| {
                let size = size_of(fd)?;
                Ok((size, cached_pages(fd, size)?))
            });
            let mut found = Cached { looked_at: 1, unwritten: Some(Unwritten::default()), ..Cached::default() };
            match one {
                Ok((size, pages)) => {
                    found.pages = size.div_ceil(page);
                    // A file that grows meanwhile has no more pages than it was found with.
                    found.cached = pages.cached.min(found.pages);
                    found.unwritten = pages.unwritten;
                }
                Err(_) => found.unknown = 1,
            }
            sum.lock().unwrap_or_else(|e| e.into_inner()).merge(&found);
            Instant::now() < until
        })?;
        let mut sum = sum.into_inner().unwrap_or_else(|e| e.into_inner());
        sum.files = all;
        Ok(sum)
    }

    /// Takes them out of the page cache, after what is dirty was written. Gives the number of those of which the kernel
    /// would not do it, and the first reason.
    ///
    /// # Errors
    ///
    /// Where the root directory cannot be opened, or the file system cannot be synchronised.
    pub fn drop_cached(&self) -> Result<Option<(u64, Errno)>, Errno> {
        let files = self.existing();
        if files.is_empty() {
            return Ok(None);
        }
        match self.device {
            Some(device) => rustix::fs::fsync(open_device(device)?)?,
            None => rustix::fs::syncfs(self.open_root()?)?,
        }
        let failed: Mutex<Option<(u64, Errno)>> = Mutex::new(None);
        self.each(&files, |fd| {
            let dropped = fd.and_then(|fd| {
                rustix::fs::fadvise(fd, 0, None, Advice::DontNeed)?;
                let size = size_of(fd)?;
                // Only clean pages go; what became dirty behind the back of `syncfs` is written file by file.
                let unwritten = cached_pages(fd, size).ok().and_then(|pages| pages.unwritten);
                if unwritten.is_some_and(|unwritten| unwritten.dirty + unwritten.writeback > 0) {
                    rustix::fs::fdatasync(fd)?;
                    rustix::fs::fadvise(fd, 0, None, Advice::DontNeed)?;
                }
                Ok(())
            });
            if let Err(error) = dropped {
                failed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert((0, error)).0 += 1;
            }
            true
        })?;
        Ok(failed.into_inner().unwrap_or_else(|e| e.into_inner()))
    }

    fn existing(&self) -> Vec<u32> {
        let entries = self.pool.files();
        (0..entries.len()).filter(|file| entries.exists(*file)).collect()
    }

    fn open_root(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(self.root, flags, Mode::empty())
    }

    /// Opens each file, several at once, until `work` gives false.
    fn each(&self, files: &[u32], work: impl Fn(Result<BorrowedFd<'_>, Errno>) -> bool + Sync) -> Result<(), Errno> {
        if files.is_empty() {
            return Ok(());
        }
        if let Some(device) = self.device {
            work(open_device(device).as_ref().map(|fd| fd.as_fd()).map_err(|error| *error));
            return Ok(());
        }
        let root = self.open_root()?;
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let run = || {
            let mut path = PathBuffer::new();
            loop {
                let start = next.fetch_add(BATCH, Relaxed);
                if start >= files.len() {
                    return;
                }
                for file in &files[start..files.len().min(start + BATCH)] {
                    if stop.load(Relaxed) || self.cancel.load(Relaxed) {
                        return;
                    }
                    self.pool.file_path(*file, &mut path);
                    // What stands under a file's name may be anything by now; nothing is waited for or followed.
                    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                    let fd = rustix::fs::openat(&root, path.as_c_str(), flags, Mode::empty());
                    if !work(fd.as_ref().map(|fd| fd.as_fd()).map_err(|error| *error)) {
                        stop.store(true, Relaxed);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.min(files.len().div_ceil(BATCH)) {
                // Where there are no more threads to be had, those that are there do it.
                if std::thread::Builder::new().spawn_scoped(scope, run).is_err() {
                    break;
                }
            }
            run();
        });
        Ok(())
    }
}

fn open_device(device: &Device) -> Result<OwnedFd, Errno> {
    let node = device.find_again().map_err(|_| Errno::NODEV)?;
    // The way over the descriptor leads to what was looked at, whatever is called so by then.
    let path = format!("/proc/self/fd/{}", node.as_raw_fd());
    rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
}

/// In bytes. A device has none by its inode.
fn size_of(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    let stat = rustix::fs::fstat(fd)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => rustix::fs::seek(fd, SeekFrom::End(0)),
        _ => Ok(stat.st_size as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::tests::{plan, spec};
    use super::super::{Presence, Shape};
    use super::*;
    use crate::sys::Region;
    use std::time::Duration;

    /// A pool of 20 files of which every other exists, each of three pages, below a directory.
    fn with_files(test: impl FnOnce(&Files<'_>)) {
        let dir = tempfile::tempdir().unwrap();
        let layout = plan(&spec(20, 1e9, 0.0), 1);
        let shape = Shape::of(&layout);
        let region = Region::create(Pool::bytes(shape)).unwrap();
        let pool = Pool::attach(&region, 0, shape);
        pool.fill(&layout, &Presence { files: (0..20).map(|file| file % 2 == 0).collect(), leafdirs: vec![] });
        let mut path = PathBuffer::new();
        for file in 0..20 {
            pool.file_path(file, &mut path);
            let path = dir.path().join(path.as_os_str());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, vec![1; 2 * rustix::param::page_size() + 1]).unwrap();
        }
        test(&Files { root: dir.path(), device: None, pool: &pool, threads: 3, cancel: &AtomicBool::new(false) });
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    #[test]
    fn files_that_exist_are_looked_at_or_as_many_as_are_wanted() {
        with_files(|files| {
            let all = files.cached(100, soon(), Seed::root(1)).unwrap();
            assert_eq!((all.files, all.looked_at, all.unknown, all.pages, all.cached), (10, 10, 0, 30, 30));
            let some = files.cached(4, soon(), Seed::root(1)).unwrap();
            assert_eq!((some.files, some.looked_at, some.pages), (10, 4, 12));
            let late = files.cached(100, Instant::now(), Seed::root(1)).unwrap();
            // Each thread was at one file at most when the time was up.
            assert!(late.files == 10 && late.looked_at <= 3, "{late:?}");
            files.cancel.store(true, Relaxed);
            assert_eq!(files.cached(100, soon(), Seed::root(1)).unwrap().looked_at, 0);
        });
    }

    #[test]
    fn what_cannot_be_looked_at_is_counted_and_no_link_is_followed() {
        with_files(|files| {
            let mut path = PathBuffer::new();
            let mut path_of = |file| {
                files.pool.file_path(file, &mut path);
                files.root.join(path.as_os_str())
            };
            std::fs::remove_file(path_of(0)).unwrap();
            std::fs::remove_file(path_of(2)).unwrap();
            std::os::unix::fs::symlink(path_of(4), path_of(2)).unwrap();
            let found = files.cached(100, soon(), Seed::root(1)).unwrap();
            assert_eq!((found.looked_at, found.unknown, found.pages), (10, 2, 24));
        });
    }

    #[test]
    fn a_sum_knows_what_is_unwritten_only_where_all_do() {
        let known = Cached { files: 1, unwritten: Some(Unwritten { dirty: 2, writeback: 3 }), ..Cached::default() };
        let mut sum = known;
        sum.merge(&known);
        assert_eq!((sum.files, sum.unwritten), (2, Some(Unwritten { dirty: 4, writeback: 6 })));
        sum.merge(&Cached { files: 1, ..Cached::default() });
        assert_eq!((sum.files, sum.unwritten), (3, None));
    }
}
