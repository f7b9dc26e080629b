//! File sets in this machine's page cache: how much of them is there, and how it is taken out.

use super::path::PathBuffer;
use super::pool::Pool;
use crate::random::stream::Seed;
use crate::sys::{Unwritten, cached_pages};
use rand::RngExt;
use rustix::fs::{Advice, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
                let size = rustix::fs::fstat(fd)?.st_size as u64;
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
        rustix::fs::syncfs(self.open_root()?)?;
        let failed: Mutex<Option<(u64, Errno)>> = Mutex::new(None);
        self.each(&files, |fd| {
            let dropped = fd.and_then(|fd| {
                rustix::fs::fadvise(fd, 0, None, Advice::DontNeed)?;
                let size = rustix::fs::fstat(fd)?.st_size as u64;
                // Only clean pages go; what became dirty behind the back of `syncfs` is written file by file.
                if cached_pages(fd, size)?.unwritten.is_some_and(|u| u.dirty + u.writeback > 0) {
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
