//! The only unsafe code: shared memory, aligned buffers, and system calls that no safe crate offers.
#![allow(unsafe_code)]

mod buffer;
mod cache;
pub mod clock;
mod errno;
pub mod files;
mod mapping;
pub mod process;
mod region;

pub use buffer::AlignedBuffer;
pub use cache::{CachedPages, Unwritten, cached_pages};
pub use errno::{advice, describe, errno_name};
pub use mapping::Mapping;
pub use region::Region;

/// Bytes that end in a NUL and hold no other, as a C string. Looking for the NUL anew would cost more than a path of
/// digits costs to write.
///
/// # Panics
///
/// Where the last byte is no NUL.
#[inline]
pub(crate) fn c_str(bytes: &[u8]) -> &std::ffi::CStr {
    assert_eq!(bytes.last(), Some(&0), "a C string ends in a NUL");
    debug_assert!(!bytes[..bytes.len() - 1].contains(&0), "a C string has one NUL");
    // SAFETY: it ends in a NUL (checked); the only caller keeps bytes that it has checked for NULs, digits and slashes.
    unsafe { std::ffi::CStr::from_bytes_with_nul_unchecked(bytes) }
}
