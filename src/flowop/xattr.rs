//! What the flowops on extended attributes share.

use super::subject::Subject;
use super::{Amount, Build, End, Thread, Turn};
use rustix::io::Errno;
use std::ffi::CString;
use std::ops::Range;

/// The attribute where the workload names none. The mark of a tree is at another name, and at a directory.
const NAME: &str = "user.wlrun.test";

/// An attribute's name and a piece of the thread's memory.
pub(super) struct Xattr {
    pub(super) name: CString,
    size: Amount,
    pub(super) data: Range<usize>,
}

impl Xattr {
    pub(super) fn new(build: &Build<'_>) -> Self {
        let name = build.attributes.text("attr").unwrap_or(NAME);
        Xattr {
            name: CString::new(name).expect("a name was checked for NULs"),
            size: build.amount("iosize", 256),
            data: 0..0,
        }
    }

    pub(super) fn choose(&mut self, subject: &mut Subject, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let size = self.size.draw();
        self.data = thread.data(size, false)?;
        subject.choose(thread)
    }

    /// `setxattr of user.test, 256 bytes, of fs/00000001/00000001`.
    pub(super) fn describe(&self, call: &str, subject: &Subject, thread: &Thread<'_>) -> String {
        let (name, len) = (self.name.to_string_lossy(), self.data.len());
        format!("{call} of {name}, {len} bytes, of {}", subject.show(thread))
    }
}

/// What to do about an error that any of the calls gives.
pub(super) fn advice(errno: Errno) -> Option<&'static str> {
    match errno {
        Errno::OPNOTSUPP => Some(
            "the file system has no extended attributes, or none of this namespace; names that any user may set begin \
             with user.",
        ),
        Errno::RANGE => Some("there is more than iosize bytes of room for: give a larger iosize"),
        _ => None,
    }
}
