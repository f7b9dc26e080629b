//! Paths of a tree, written without allocation.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;

/// Digits of a name at least; a serial number of more digits is written in full.
const DIGITS: usize = 8;

/// A path under construction: bytes with a NUL at the end, kept from use to use so that opening a file allocates
/// nothing.
#[derive(Debug, Clone)]
pub struct PathBuffer {
    /// Prefix, path, NUL.
    bytes: Vec<u8>,
    prefix: usize,
}

impl PathBuffer {
    /// For paths relative to the tree's root directory.
    pub fn new() -> Self {
        PathBuffer::with_prefix(OsStr::new(""))
    }

    /// For paths that begin with `prefix`; a slash is put between.
    ///
    /// # Panics
    ///
    /// Where `prefix` holds a NUL.
    pub fn with_prefix(prefix: &OsStr) -> Self {
        assert!(!prefix.as_bytes().contains(&0), "a path cannot hold a NUL");
        // Room for the longest path that Linux takes, so that the vector never grows.
        let mut bytes = Vec::with_capacity(4096 + prefix.len());
        bytes.extend_from_slice(prefix.as_bytes());
        if !matches!(bytes.last(), None | Some(b'/')) {
            bytes.push(b'/');
        }
        let prefix = bytes.len();
        bytes.push(0);
        PathBuffer { bytes, prefix }
    }

    /// The path for a system call.
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.bytes).expect("one NUL, at the end")
    }

    /// The path without the NUL.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 1]
    }

    /// The path as the standard library takes it.
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(self.as_bytes())
    }

    /// Sets the path of an object with `serial` in directory `parent`; `above` gives a directory's parent and serial
    /// number. Directory 0 is the root and has no name.
    pub(super) fn set(&mut self, parent: u32, serial: u32, above: impl Fn(u32) -> (u32, u32)) {
        // The path is written from its end, so its length comes first.
        let mut length = digits(serial);
        let mut directory = parent;
        while directory != 0 {
            let (parent, serial) = above(directory);
            length += digits(serial) + 1;
            directory = parent;
        }
        self.bytes.resize(self.prefix + length + 1, 0);
        self.bytes[self.prefix + length] = 0;
        let mut end = self.prefix + length;
        let (mut directory, mut serial) = (parent, serial);
        loop {
            let start = end - digits(serial);
            write_digits(&mut self.bytes[start..end], serial);
            if directory == 0 {
                return;
            }
            self.bytes[start - 1] = b'/';
            end = start - 1;
            (directory, serial) = above(directory);
        }
    }

    /// Sets the path of the root directory.
    pub(super) fn set_root(&mut self) {
        self.bytes.truncate(self.prefix);
        if self.prefix == 0 {
            self.bytes.push(b'.');
        }
        self.bytes.push(0);
    }
}

impl Default for PathBuffer {
    fn default() -> Self {
        PathBuffer::new()
    }
}

/// The name of an object: its 1-based serial number in its directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    bytes: [u8; 11],
}

impl Name {
    pub(super) fn of(serial: u32) -> Self {
        let mut bytes = [0; 11];
        write_digits(&mut bytes[..digits(serial)], serial);
        Name { bytes }
    }

    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).expect("ten digits at most, then a NUL")
    }
}

fn digits(serial: u32) -> usize {
    match serial {
        0..100_000_000 => DIGITS,
        100_000_000..1_000_000_000 => 9,
        _ => 10,
    }
}

/// Fills `out` with the decimal digits of `number`, zeros in front.
fn write_digits(out: &mut [u8], mut number: u32) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_eight_digits_or_as_many_as_they_need() {
        for (serial, name) in
            [(1, "00000001"), (99_999_999, "99999999"), (100_000_000, "100000000"), (u32::MAX, "4294967295")]
        {
            assert_eq!(Name::of(serial).as_c_str().to_str().unwrap(), name);
        }
    }

    #[test]
    fn paths_follow_one_another_in_one_buffer() {
        // 1 is under the root, 2 under 1.
        let above = |directory: u32| [(0, 0), (0, 3), (1, 123_456_789)][directory as usize];
        let mut path = PathBuffer::with_prefix(OsStr::new("/data/set"));
        path.set(2, 7, above);
        assert_eq!(path.as_c_str().to_str().unwrap(), "/data/set/00000003/123456789/00000007");
        path.set(0, 9, above);
        assert_eq!(path.as_os_str(), "/data/set/00000009");
        path.set_root();
        assert_eq!(path.as_bytes(), b"/data/set/");
        let mut relative = PathBuffer::new();
        relative.set_root();
        assert_eq!(relative.as_c_str(), c".");
        relative.set(1, 2, above);
        assert_eq!(relative.as_c_str(), c"00000003/00000002");
    }
}
