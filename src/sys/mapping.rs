//! A file in memory.

use super::files;
use rustix::fd::BorrowedFd;
use rustix::fs::{FileType, SeekFrom};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// Bytes of a file. The position of a device's descriptor is where it was afterwards.
fn length(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    let stat = rustix::fs::fstat(fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
        return Ok(stat.st_size as u64);
    }
    let position = rustix::fs::tell(fd)?;
    let end = rustix::fs::seek(fd, SeekFrom::End(0))?;
    rustix::fs::seek(fd, SeekFrom::Start(position))?;
    Ok(end)
}

/// A shared mapping of a whole file, as long as the file is at that moment. Data goes in and out by copies only: no
/// reference into memory that others may change ever exists.
///
/// A file that is made shorter later has no pages there any more, and a copy from or to them ends the process by SIGBUS.
#[derive(Debug)]
pub struct Mapping {
    base: *mut u8,
    len: usize,
    writable: bool,
}

impl Mapping {
    /// Maps the file of a descriptor: for reading, and for writing too where it is open for both.
    ///
    /// # Errors
    ///
    /// Of `fstat`, `fcntl` or `mmap`: EACCES where the file is open for writing only.
    pub fn of(fd: i32) -> Result<Self, Errno> {
        let fd = files::borrow(fd)?;
        let len = usize::try_from(length(fd)?).map_err(|_| Errno::OVERFLOW)?;
        let access = rustix::fs::fcntl_getfl(fd)? & rustix::fs::OFlags::RWMODE;
        if len == 0 {
            return Ok(Mapping { base: std::ptr::NonNull::<u8>::dangling().as_ptr(), len: 0, writable: false });
        }
        let writable = access == rustix::fs::OFlags::RDWR;
        let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address of the kernel's choice; nothing else refers to it.
        let base = unsafe { rustix::mm::mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, fd, 0)? };
        Ok(Mapping { base: base.cast(), len, writable })
    }

    /// Bytes of the file when it was mapped; 0 for an empty one, of which nothing is mapped.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for an empty file.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies bytes of the file from `offset`.
    ///
    /// # Errors
    ///
    /// EINVAL where they do not lie within the mapping.
    pub fn load(&self, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        let at = self.check(offset, into.len())?;
        // SAFETY: in bounds (checked) and mapped for reading; `into` is memory of its own. Others may write to the file
        // meanwhile; the bytes are then some of theirs and some from before, and any byte is valid.
        unsafe { std::ptr::copy_nonoverlapping(self.base.add(at), into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies bytes to the file at `offset`.
    ///
    /// # Errors
    ///
    /// EINVAL where they do not lie within the mapping, EACCES where the file is not open for writing.
    pub fn store(&self, offset: u64, from: &[u8]) -> Result<(), Errno> {
        let at = self.check(offset, from.len())?;
        if !self.writable {
            return Err(Errno::ACCESS);
        }
        // SAFETY: in bounds (checked) and mapped for writing; no reference into the mapping exists.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.base.add(at), from.len()) };
        Ok(())
    }

    fn check(&self, offset: u64, count: usize) -> Result<usize, Errno> {
        let at = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
        let end = at.checked_add(count).ok_or(Errno::INVAL)?;
        if end <= self.len { Ok(at) } else { Err(Errno::INVAL) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: mapped by `of` with this length, and no reference into it exists.
            let _ = unsafe { rustix::mm::munmap(self.base.cast(), self.len) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn bytes_go_in_and_out_within_the_file_and_nowhere_else() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let map = Mapping::of(file.as_raw_fd()).unwrap();
        let mut four = [0; 4];
        map.load(3, &mut four).unwrap();
        assert_eq!((map.len(), &four), (10, b"3456"));
        map.store(8, b"ab").unwrap();
        for (offset, count) in [(7, 4), (11, 0), (u64::MAX, 2)] {
            assert_eq!(map.load(offset, &mut four[..count]), Err(Errno::INVAL), "{count} at {offset}");
            assert_eq!(map.store(offset, &four[..count]), Err(Errno::INVAL), "{count} at {offset}");
        }
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "01234567ab");
    }

    #[test]
    fn an_empty_file_has_an_empty_mapping_and_one_for_reading_is_not_written() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let empty = Mapping::of(named.as_file().as_raw_fd()).unwrap();
        assert!(empty.is_empty());
        assert_eq!(empty.load(0, &mut [0]), Err(Errno::INVAL));
        named.as_file().set_len(10).unwrap();
        let reading = std::fs::File::open(named.path()).unwrap();
        assert_eq!(Mapping::of(reading.as_raw_fd()).unwrap().store(0, b"x"), Err(Errno::ACCESS));
        let writing = std::fs::OpenOptions::new().write(true).open(named.path()).unwrap();
        assert_eq!(Mapping::of(writing.as_raw_fd()).err(), Some(Errno::ACCESS));
        assert_eq!(Mapping::of(-1).err(), Some(Errno::BADF));
    }
}
