//! Paths of a tree, written without allocation.

use crate::sys::c_str;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Digits of a name at least; a serial number of more digits is written in full.
const DIGITS: usize = 8;
/// The first serial number with more digits.
const MOST_OF_EIGHT: u32 = 100_000_000;

/// A path under construction: bytes with a NUL at the end, kept from use to use so that opening a file allocates
/// nothing.
#[derive(Debug, Clone)]
pub struct PathBuffer {
    /// Prefix, path, NUL.
    bytes: Vec<u8>,
    prefix: usize,
    /// The directory that the path is in. A rotation takes the files of a directory one after the other, so mostly only
    /// the name changes.
    parent: Option<u32>,
    /// Every entry has the path that is there: that of a device.
    fixed: bool,
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
        // Room for a tree of usual depth; a deeper one lets the vector grow a few times at the start.
        let mut bytes = Vec::with_capacity(64 + prefix.len());
        bytes.extend_from_slice(prefix.as_bytes());
        if !matches!(bytes.last(), None | Some(b'/')) {
            bytes.push(b'/');
        }
        let prefix = bytes.len();
        bytes.push(0);
        PathBuffer { bytes, prefix, parent: None, fixed: false }
    }

    /// The one path of all entries, whatever is set: for a device, which is the only one of its set.
    ///
    /// # Panics
    ///
    /// Where `path` holds a NUL.
    pub fn fixed(path: &OsStr) -> Self {
        let mut bytes = path.as_bytes().to_vec();
        assert!(!bytes.contains(&0), "a path cannot hold a NUL");
        bytes.push(0);
        PathBuffer { prefix: bytes.len() - 1, bytes, parent: None, fixed: true }
    }

    /// The path for a system call.
    pub fn as_c_str(&self) -> &CStr {
        c_str(&self.bytes)
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
        if self.parent == Some(parent) && serial < MOST_OF_EIGHT {
            let end = self.bytes.len() - 1;
            self.bytes[end - DIGITS..end].copy_from_slice(&eight_digits(serial));
            return;
        }
        if self.fixed {
            return;
        }
        // A longer name has another length: the whole path is written next time.
        self.parent = (serial < MOST_OF_EIGHT).then_some(parent);
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
        if self.fixed {
            return;
        }
        self.parent = None;
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

/// What a symbolic link in one tree holds to lead to a file of the same or another tree: a relative path, so that the
/// trees can be moved together. Kept from use to use, as a [`PathBuffer`] is.
#[derive(Debug, Clone)]
pub struct LinkPath {
    /// From the root of the link's tree to that of the file's: `../other/`.
    between: Vec<u8>,
    /// The whole, and a NUL.
    bytes: Vec<u8>,
}

impl LinkPath {
    /// From the tree at `from` to the tree at `to`: both absolute and without symbolic links in them.
    ///
    /// # Panics
    ///
    /// Where `to` holds a NUL.
    pub fn new(from: &Path, to: &Path) -> Self {
        let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
        let mut between = b"../".repeat(from.components().count() - common);
        for component in to.components().skip(common) {
            between.extend_from_slice(component.as_os_str().as_bytes());
            between.push(b'/');
        }
        assert!(!between.contains(&0), "a path cannot hold a NUL");
        LinkPath { between, bytes: Vec::with_capacity(256) }
    }

    /// For a link at the path `link` of its tree, to the file at the path `file` of its own; neither has a prefix.
    pub fn set(&mut self, link: &PathBuffer, file: &PathBuffer) {
        self.bytes.clear();
        for _ in link.as_bytes().iter().filter(|byte| **byte == b'/') {
            self.bytes.extend_from_slice(b"../");
        }
        self.bytes.extend_from_slice(&self.between);
        self.bytes.extend_from_slice(file.as_bytes());
        self.bytes.push(0);
    }

    /// The path for a system call.
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

/// True for what a [`LinkPath`] may be: relative, and to something that has the name of a file of a set.
pub(super) fn is_link_path(target: &[u8]) -> bool {
    let name = target.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    target.starts_with(b"../") && is_name(name)
}

/// True for a name that a [`Name`] may be.
pub(super) fn is_name(name: &[u8]) -> bool {
    name.len() >= DIGITS && name.iter().all(u8::is_ascii_digit)
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
        0..MOST_OF_EIGHT => DIGITS,
        100_000_000..1_000_000_000 => 9,
        _ => 10,
    }
}

/// The eight decimal digits of a number below [`MOST_OF_EIGHT`], all at once: the number is split into halves, the
/// halves into quarters and those into digits, side by side in one word.
#[inline]
fn eight_digits(number: u32) -> [u8; DIGITS] {
    let number = u64::from(number);
    let halves = (number / 10_000) | ((number % 10_000) << 32);
    // x / 100 as x * 5243 >> 19 for x < 10,000; x / 10 as x * 103 >> 10 for x < 100.
    let hundreds = (halves.wrapping_mul(5243) >> 19) & 0x7f_0000_007f;
    let pairs = hundreds | ((halves - hundreds * 100) << 16);
    let tens = (pairs.wrapping_mul(103) >> 10) & 0x0f_000f_000f_000f;
    let digits = tens | ((pairs - tens * 10) << 8);
    (digits | 0x3030_3030_3030_3030).to_le_bytes()
}

/// Fills `out` with the decimal digits of `number`, zeros in front.
fn write_digits(out: &mut [u8], mut number: u32) {
    if out.len() == DIGITS {
        return out.copy_from_slice(&eight_digits(number));
    }
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
    fn eight_digits_are_those_of_the_number() {
        for number in (0..20_000).chain((0..MOST_OF_EIGHT).step_by(9_973)).chain([99_999_999, 10_000_000, 90_909_090]) {
            assert_eq!(eight_digits(number), format!("{number:08}").as_bytes(), "{number}");
        }
    }

    #[test]
    fn a_name_of_another_length_in_the_same_directory_is_whole() {
        let mut path = PathBuffer::new();
        for serial in [7, 8, 123_456_789, 99_999_999, 4_294_967_295, 1] {
            path.set(1, serial, |_| (0, 3));
            assert_eq!(path.as_c_str().to_str().unwrap(), format!("00000003/{serial:08}"));
        }
    }

    #[test]
    fn a_fixed_path_is_that_of_all_entries() {
        let mut path = PathBuffer::fixed(OsStr::new("/proc/self/fd/7"));
        path.set(2, 7, |_| (0, 3));
        path.set_root();
        path.set(2, 8, |_| (0, 3));
        assert_eq!(path.as_c_str(), c"/proc/self/fd/7");
        assert_eq!(PathBuffer::fixed(OsStr::new("")).as_c_str(), c"");
    }

    #[test]
    fn links_lead_from_tree_to_tree() {
        let [mut link, mut file] = [PathBuffer::new(), PathBuffer::new()];
        let above = |directory: u32| [(0, 0), (0, 3), (1, 4)][directory as usize];
        for (from, to, parent, path) in [
            ("/d/a", "/d/a", 2, "../../00000003/00000008"),
            ("/d/a", "/d/b", 2, "../../../b/00000003/00000008"),
            ("/d/a", "/d/b", 0, "../b/00000003/00000008"),
            ("/d/e/f/a", "/d/x/b", 1, "../../../../x/b/00000003/00000008"),
            ("/d", "/d/b", 1, "../b/00000003/00000008"),
            ("", "", 1, "../00000003/00000008"),
        ] {
            let mut target = LinkPath::new(Path::new(from), Path::new(to));
            link.set(parent, 7, above);
            file.set(1, 8, above);
            target.set(&link, &file);
            assert_eq!(target.as_c_str().to_str().unwrap(), path, "{from} {to}");
            assert!(is_link_path(path.as_bytes()));
        }
        for foreign in ["/a/00000001", "../notes", "00000001", "../0000001", ""] {
            assert!(!is_link_path(foreign.as_bytes()), "{foreign}");
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
