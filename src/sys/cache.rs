//! What of a file the page cache holds.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// Number of cachestat(2), the same on every architecture; the kernel has it from 6.5 on.
const CACHESTAT: libc::c_long = 451;

/// Bytes that are mapped at once to look at them: the answer has a byte for each page.
const PIECE: u64 = 1 << 30;

/// Pages of a file that are in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CachedPages {
    /// In the page cache.
    pub cached: u64,
    /// Of them, those to be written, and those that are being written; none where the kernel does not say.
    pub unwritten: Option<Unwritten>,
}

/// Pages that are not yet on stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unwritten {
    /// Changed in memory.
    pub dirty: u64,
    /// On their way.
    pub writeback: u64,
}

/// Pages of the first `size` bytes of a file that are in the page cache: by cachestat(2), and where the kernel does not
/// have it by mincore(2), which does not know which are dirty.
///
/// # Errors
///
/// Of the calls. EPERM where the file is neither ours nor open to our writes: the kernel tells nobody else.
pub fn cached_pages(fd: BorrowedFd<'_>, size: u64) -> Result<CachedPages, Errno> {
    if size == 0 {
        return Ok(CachedPages { cached: 0, unwritten: Some(Unwritten::default()) });
    }
    match cachestat(fd, size) {
        Err(Errno::NOSYS) => resident(fd, size).map(|cached| CachedPages { cached, unwritten: None }),
        found => found,
    }
}

fn cachestat(fd: BorrowedFd<'_>, size: u64) -> Result<CachedPages, Errno> {
    #[repr(C)]
    struct Range {
        off: u64,
        len: u64,
    }
    #[repr(C)]
    #[derive(Default)]
    struct Answer {
        cache: u64,
        dirty: u64,
        writeback: u64,
        evicted: u64,
        recently_evicted: u64,
    }
    let range = Range { off: 0, len: size };
    let mut answer = Answer::default();
    // SAFETY: both are as the kernel has them and live until the call is over, which writes to `answer` alone.
    let result = unsafe { libc::syscall(CACHESTAT, fd.as_raw_fd(), &raw const range, &raw mut answer, 0) };
    if result != 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    let unwritten = Unwritten { dirty: answer.dirty, writeback: answer.writeback };
    Ok(CachedPages { cached: answer.cache, unwritten: Some(unwritten) })
}

/// By mincore(2).
fn resident(fd: BorrowedFd<'_>, size: u64) -> Result<u64, Errno> {
    let page = rustix::param::page_size();
    let mut cached = 0;
    let mut offset = 0;
    let mut pages: Vec<u8> = Vec::new();
    while offset < size {
        let length = (size - offset).min(PIECE) as usize;
        pages.clear();
        pages.resize(length.div_ceil(page), 0);
        // SAFETY: a new mapping at an address of the kernel's choice, which nobody reads.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, fd, offset)? };
        // SAFETY: asks for the pages of the mapping just made, with a byte for each in `pages`.
        let result = unsafe { libc::mincore(base, length, pages.as_mut_ptr()) };
        let error = std::io::Error::last_os_error();
        // SAFETY: made above, and no reference into it exists.
        let _ = unsafe { rustix::mm::munmap(base, length) };
        if result != 0 {
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
        }
        cached += pages.iter().filter(|page| **page & 1 == 1).count() as u64;
        offset += length as u64;
    }
    Ok(cached)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn what_was_just_written_is_in_the_cache_and_dirty_by_both_calls() {
        let page = rustix::param::page_size() as u64;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; 10 * page as usize + 1]).unwrap();
        let size = 10 * page + 1;
        assert_eq!(resident(file.as_fd(), size), Ok(11));
        let found = cached_pages(file.as_fd(), size).unwrap();
        assert_eq!(found.cached, 11);
        assert_eq!(cached_pages(file.as_fd(), 3 * page).unwrap().cached, 3, "no more than was asked for");
        if let Some(unwritten) = found.unwritten {
            assert!(unwritten.dirty + unwritten.writeback <= 11);
            file.sync_all().unwrap();
            let after = cached_pages(file.as_fd(), size).unwrap();
            assert_eq!(after.unwritten, Some(Unwritten::default()));
        }
    }

    #[test]
    fn an_empty_file_has_no_pages() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(cached_pages(file.as_fd(), 0).unwrap().cached, 0);
        assert!(cachestat(rustix::fs::CWD, 1).is_err());
    }
}
