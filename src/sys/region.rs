//! One piece of memory that the controller and all workers share.

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A shared mapping of a memfd. It holds atomics and indices only, never a pointer, so each process may map it
/// anywhere. It starts as zeros; pages that nobody touches cost nothing.
#[derive(Debug)]
pub struct Region {
    base: *mut u8,
    len: usize,
    fd: OwnedFd,
}

// SAFETY: the memory is reached through atomics only (see `u64s`, `u32s`), and the mapping lives as long as `self`.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Makes a region of `len` bytes. Its descriptor stays open in programs that are started from here.
    ///
    /// # Errors
    ///
    /// Of `memfd_create`, `ftruncate` or `mmap`.
    pub fn create(len: usize) -> io::Result<Self> {
        let fd = rustix::fs::memfd_create("wlrun", MemfdFlags::empty())?;
        rustix::fs::ftruncate(&fd, len.max(1) as u64)?;
        Region::map(fd)
    }

    /// Maps a region that another process made and left open for this one.
    ///
    /// # Errors
    ///
    /// Of `fstat` or `mmap`, for instance where `fd` is not a memfd.
    pub fn map(fd: OwnedFd) -> io::Result<Self> {
        let len = rustix::fs::fstat(&fd)?.st_size as usize;
        // SAFETY: a new shared mapping at an address of the kernel's choice; nothing else refers to it.
        let base = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &fd, 0)?
        };
        Ok(Region { base: base.cast(), len, fd })
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for a region of no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The descriptor, for the command line of a child.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// `count` words of 64 bits from byte `offset`.
    ///
    /// # Panics
    ///
    /// Where they do not lie within the region, or `offset` is not a multiple of 8.
    pub fn u64s(&self, offset: usize, count: usize) -> &[AtomicU64] {
        self.check(offset, count, 8);
        // SAFETY: in bounds and aligned (checked); all access in every process is atomic; zeroed memory is valid.
        unsafe { std::slice::from_raw_parts(self.base.add(offset).cast(), count) }
    }

    /// `count` words of 32 bits from byte `offset`.
    ///
    /// # Panics
    ///
    /// Where they do not lie within the region, or `offset` is not a multiple of 4.
    pub fn u32s(&self, offset: usize, count: usize) -> &[AtomicU32] {
        self.check(offset, count, 4);
        // SAFETY: as in `u64s`.
        unsafe { std::slice::from_raw_parts(self.base.add(offset).cast(), count) }
    }

    fn check(&self, offset: usize, count: usize, size: usize) {
        let end = count.checked_mul(size).and_then(|n| n.checked_add(offset));
        assert!(
            offset.is_multiple_of(size) && end.is_some_and(|end| end <= self.len),
            "{count} words of {size} bytes at {offset} are not in a region of {} bytes",
            self.len
        );
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and no slice outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.base.cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn two_mappings_of_one_region_see_the_same_words() {
        let one = Region::create(4096).unwrap();
        let two = Region::map(one.fd().try_clone_to_owned().unwrap()).unwrap();
        one.u64s(8, 2)[1].store(7, Relaxed);
        assert_eq!(two.u64s(16, 1)[0].load(Relaxed), 7);
        assert_eq!(two.u32s(16, 2)[0].load(Relaxed), 7);
        assert_eq!(two.len(), 4096);
    }

    #[test]
    #[should_panic(expected = "not in a region")]
    fn words_past_the_end_are_refused() {
        Region::create(64).unwrap().u64s(64, 1);
    }

    #[test]
    #[should_panic(expected = "not in a region")]
    fn words_off_their_boundary_are_refused() {
        Region::create(64).unwrap().u64s(4, 1);
    }
}
