//! What the flowops that move data share.

use super::{Broken, End, Moved, Thread};
use crate::engine::Request;
use rustix::io::Errno;
use std::ops::Range;

/// Where a request starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At the file's current position.
    Here,
    /// At this offset.
    At(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Here => f.write_str("at the current position"),
            Place::At(offset) => write!(f, "at {offset}"),
        }
    }
}

/// Bytes from the start of a slot's file that are used: `range`, or where that is 0 the nominal size.
#[inline]
pub(super) fn used(thread: &Thread<'_>, slot: usize, range: u64) -> u64 {
    if range > 0 { range } else { thread.nominal_size(slot) }
}

/// As [`used`], and at least `len`.
#[inline]
pub(super) fn usable(thread: &Thread<'_>, slot: usize, range: u64, len: u64) -> Result<u64, End> {
    let range = used(thread, slot, range);
    if len > range {
        let file = thread.show_slot(slot);
        let message = format!("iosize {len} is larger than the {range} bytes of {file} that may be used");
        return Err(End::Failed(None, message));
    }
    Ok(range)
}

/// A flowop's own place in the file of a slot, which other flowops of the slot do not move. It begins anew with each open.
#[derive(Debug, Default)]
pub(super) struct Lap {
    /// [`Thread::slot_serial`] of the file.
    serial: u64,
    next: u64,
}

impl Lap {
    /// The place of the next `len` bytes below `range`, and how many of them fit there; the start where none does.
    #[inline]
    pub(super) fn part(&mut self, serial: u64, len: u64, range: u64) -> (u64, u64) {
        if self.serial != serial || self.next >= range {
            *self = Lap { serial, next: 0 };
        }
        let at = self.next;
        let len = len.min(range - at);
        self.next += len;
        (at, len)
    }

    /// The place of the next `len` bytes below `range`; the start where not all fit.
    #[inline]
    pub(super) fn whole(&mut self, serial: u64, len: u64, range: u64) -> u64 {
        if self.next + len > range {
            self.next = 0;
        }
        self.part(serial, len, range).0
    }
}

/// One read call; the bytes that came.
#[inline]
pub(super) fn read(thread: &mut Thread<'_>, fd: i32, data: Range<usize>, place: Place) -> Result<u64, Errno> {
    let buffer = &mut thread.memory[data];
    thread.engine.execute(match place {
        Place::Here => Request::Read { fd, buffer },
        Place::At(offset) => Request::ReadAt { fd, buffer, offset },
    })
}

/// Writes all of `data`, by as many calls as the kernel makes of it.
#[inline]
pub(super) fn write(thread: &mut Thread<'_>, fd: i32, data: Range<usize>, place: Place) -> Result<u64, Broken> {
    let len = data.len() as u64;
    let mut done = 0;
    while done < len {
        let buffer = &thread.memory[data.start + done as usize..data.end];
        let result = thread.engine.execute(match place {
            Place::Here => Request::Write { fd, buffer },
            Place::At(offset) => Request::WriteAt { fd, buffer, offset: offset + done },
        });
        match result {
            // A file system that takes nothing and gives no error would be asked for ever.
            Ok(0) => return Err(Broken { errno: Some(Errno::IO), moved: Moved::written(done) }),
            Ok(n) => done += n,
            Err(errno) => return Err(Broken { errno: Some(errno), moved: Moved::written(done) }),
        }
    }
    Ok(done)
}

/// Appends `data`: lseek to the end, then write, as filebench does (not O_APPEND: appends of several threads may
/// overlap).
#[inline]
pub(super) fn append(thread: &mut Thread<'_>, fd: i32, data: Range<usize>) -> Result<Moved, Broken> {
    thread.engine.execute(Request::SeekEnd { fd })?;
    write(thread, fd, data, Place::Here).map(Moved::written)
}
