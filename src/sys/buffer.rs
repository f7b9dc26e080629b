//! Memory for data, aligned as direct I/O wants it.

use rustix::mm::{MapFlags, ProtFlags};
use std::io;

/// Private memory on a page boundary. It starts as zeros; pages that nobody touches cost nothing.
#[derive(Debug)]
pub struct AlignedBuffer {
    base: *mut u8,
    len: usize,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for AlignedBuffer {}

impl AlignedBuffer {
    /// `len` bytes.
    ///
    /// # Errors
    ///
    /// ENOMEM where there is no room for them.
    pub fn new(len: usize) -> io::Result<Self> {
        if len == 0 {
            return Ok(AlignedBuffer { base: std::ptr::NonNull::<u8>::dangling().as_ptr(), len: 0 });
        }
        // SAFETY: a new private mapping at an address of the kernel's choice.
        let base = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        };
        Ok(AlignedBuffer { base: base.cast(), len })
    }
}

impl std::ops::Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes at `base` are mapped (or `len` is 0) and belong to `self`.
        unsafe { std::slice::from_raw_parts(self.base, self.len) }
    }
}

impl std::ops::DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.len) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: mapped by `new` with this length.
            let _ = unsafe { rustix::mm::munmap(self.base.cast(), self.len) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_writable_and_may_be_empty() {
        let mut b = AlignedBuffer::new(5000).unwrap();
        assert_eq!(b.as_ptr() as usize % 4096, 0);
        b[4999] = 1;
        assert_eq!(b.iter().map(|x| *x as usize).sum::<usize>(), 1);
        assert_eq!(AlignedBuffer::new(0).unwrap().len(), 0);
    }
}
