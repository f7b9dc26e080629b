//! File calls on descriptor numbers.
//!
//! A thread's slots hold plain numbers, so that an engine without a kernel may hand out its own. The kernel answers
//! EBADF to a number that is not open; no memory depends on one.

use rustix::fd::BorrowedFd;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io::{Error, ErrorKind, Read, Result as IoResult};
use std::path::Path;

/// Borrows a descriptor number for one call.
pub(super) fn borrow(fd: i32) -> Result<BorrowedFd<'static>, Errno> {
    if fd < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: not -1; used for the system call at hand only, which checks that the number is open.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// The text of a regular file of `limit` bytes at most. A pipe or a device is not waited for.
///
/// # Errors
///
/// Of the calls; what is no regular file, too large or no UTF-8.
pub fn read_text(path: &Path, limit: u64) -> IoResult<String> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if stat.st_size as u64 > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {limit} bytes")));
    }
    let mut text = String::new();
    // What is written to it meanwhile is left out.
    std::fs::File::from(file).take(limit).read_to_string(&mut text)?;
    Ok(text)
}

/// close(2), with its error: a delayed write-back error shows there on some file systems.
///
/// # Errors
///
/// Of the call. The number is free afterwards all the same, as Linux defines it.
pub fn close(fd: i32) -> Result<(), Errno> {
    if fd < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: an integer argument; the caller owns the number.
    let result = unsafe { libc::close(fd) };
    if result == 0 { Ok(()) } else { Err(last()) }
}

fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// read(2) at the current position.
///
/// # Errors
///
/// Of the call.
pub fn read(fd: i32, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::io::read(borrow(fd)?, buffer)
}

/// pread(2).
///
/// # Errors
///
/// Of the call.
pub fn read_at(fd: i32, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    rustix::io::pread(borrow(fd)?, buffer, offset)
}

/// write(2) at the current position.
///
/// # Errors
///
/// Of the call.
pub fn write(fd: i32, buffer: &[u8]) -> Result<usize, Errno> {
    rustix::io::write(borrow(fd)?, buffer)
}

/// pwrite(2).
///
/// # Errors
///
/// Of the call.
pub fn write_at(fd: i32, buffer: &[u8], offset: u64) -> Result<usize, Errno> {
    rustix::io::pwrite(borrow(fd)?, buffer, offset)
}

/// lseek(2); the new position.
///
/// # Errors
///
/// Of the call.
pub fn seek(fd: i32, to: rustix::fs::SeekFrom) -> Result<u64, Errno> {
    rustix::fs::seek(borrow(fd)?, to)
}

/// fsync(2).
///
/// # Errors
///
/// Of the call.
pub fn fsync(fd: i32) -> Result<(), Errno> {
    rustix::fs::fsync(borrow(fd)?)
}

/// fstat(2).
///
/// # Errors
///
/// Of the call.
pub fn fstat(fd: i32) -> Result<rustix::fs::Stat, Errno> {
    rustix::fs::fstat(borrow(fd)?)
}

/// posix_fadvise(2) over the whole file.
///
/// # Errors
///
/// Of the call.
pub fn advise_random(fd: i32) -> Result<(), Errno> {
    rustix::fs::fadvise(borrow(fd)?, 0, None, rustix::fs::Advice::Random)
}

/// fchmod(2).
///
/// # Errors
///
/// Of the call.
pub fn set_mode(fd: i32, mode: rustix::fs::Mode) -> Result<(), Errno> {
    rustix::fs::fchmod(borrow(fd)?, mode)
}

/// futimens(3).
///
/// # Errors
///
/// Of the call.
pub fn set_times(fd: i32, times: &rustix::fs::Timestamps) -> Result<(), Errno> {
    rustix::fs::futimens(borrow(fd)?, times)
}

/// fsetxattr(2).
///
/// # Errors
///
/// Of the call.
pub fn set_attribute(fd: i32, name: &CStr, value: &[u8]) -> Result<(), Errno> {
    rustix::fs::fsetxattr(borrow(fd)?, name, value, rustix::fs::XattrFlags::empty())
}

/// fgetxattr(2); the length of the value.
///
/// # Errors
///
/// Of the call.
pub fn get_attribute(fd: i32, name: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::fs::fgetxattr(borrow(fd)?, name, buffer)
}

/// flistxattr(2); the length of the names.
///
/// # Errors
///
/// Of the call.
pub fn list_attributes(fd: i32, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::fs::flistxattr(borrow(fd)?, buffer)
}

/// ftruncate(2).
///
/// # Errors
///
/// Of the call.
pub fn truncate(fd: i32, size: u64) -> Result<(), Errno> {
    rustix::fs::ftruncate(borrow(fd)?, size)
}

/// fallocate(2).
///
/// # Errors
///
/// Of the call.
pub fn allocate(fd: i32, flags: rustix::fs::FallocateFlags, offset: u64, len: u64) -> Result<(), Errno> {
    rustix::fs::fallocate(borrow(fd)?, flags, offset, len)
}

/// flock(2).
///
/// # Errors
///
/// Of the call.
pub fn lock(fd: i32, operation: rustix::fs::FlockOperation) -> Result<(), Errno> {
    rustix::fs::flock(borrow(fd)?, operation)
}

/// copy_file_range(2) from and to the current positions; the bytes copied, 0 at the end.
///
/// # Errors
///
/// Of the call.
pub fn copy(from: i32, to: i32, len: usize) -> Result<usize, Errno> {
    rustix::fs::copy_file_range(borrow(from)?, None, borrow(to)?, None, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_open_gives_ebadf() {
        assert_eq!(read(-1, &mut [0]), Err(Errno::BADF));
        assert_eq!(close(-1), Err(Errno::BADF));
        assert_eq!(fsync(999_999), Err(Errno::BADF));
    }
}
