//! The only unsafe code: shared memory, aligned buffers, and system calls that no safe crate offers.
#![allow(unsafe_code)]

mod buffer;
pub mod clock;
mod errno;
pub mod files;
pub mod process;
mod region;

pub use buffer::AlignedBuffer;
pub use errno::{describe, errno_name};
pub use region::Region;
