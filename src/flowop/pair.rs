//! What the flowops share that make a name for a file that is there, or for its copy: the file, and an entry that does
//! not exist.
//!
//! Two claims are needed, often on one set that many threads work on. A thread waits for the entry while it holds
//! nothing, and never for the file while it holds the entry: where no file can be had at this moment it gives the entry
//! back and skips the operation. So threads cannot wait for each other in a circle.

use super::{Build, By, End, FileRef, Kind, Thread, Turn};
use crate::fileset::PathBuffer;
use rustix::io::Errno;

/// How the file is held during the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// By this thread alone: its name goes.
    Alone,
    /// In use: others may use it too, and nobody may remove it.
    Shared,
}

#[derive(Debug)]
pub(super) struct Pair {
    hold: Hold,
    /// Where files are taken.
    source: usize,
    /// Where names are made.
    set: usize,
    /// The file and the entry of the operation at hand.
    at: Option<(FileRef, FileRef)>,
    /// Of the file, relative to the root of its set.
    pub(super) from: PathBuffer,
    /// Of the entry.
    pub(super) to: PathBuffer,
}

impl Pair {
    pub(super) fn new(build: &Build<'_>, hold: Hold) -> Self {
        let set = build.attributes.fileset("filesetname").unwrap_or(0);
        let source = build.attributes.fileset("source").unwrap_or(set);
        Pair { hold, source, set, at: None, from: PathBuffer::new(), to: PathBuffer::new() }
    }

    /// The sets of the file and of the entry.
    pub(super) fn sets(&self) -> (usize, usize) {
        (self.source, self.set)
    }

    /// The nominal size of the file, in bytes.
    pub(super) fn size(&self, thread: &Thread<'_>) -> u64 {
        self.at.map_or(0, |(from, _)| thread.sets[from.set].pool.size(from.entry))
    }

    /// Claims an entry and a file, with their paths set.
    pub(super) fn claim(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.at = None;
        let to = thread.claim_absent(self.set, Kind::File, By::Rotation)?;
        let found = match self.hold {
            Hold::Alone => thread.claim_delete(self.source, Kind::File, By::Rotation),
            Hold::Shared => thread.use_existing(self.source, Kind::File, By::Rotation),
        };
        let Ok(Some(from)) = found else {
            thread.sets[to.set].pool.files().abandon(to.entry);
            return found.map(|_| Turn::Skip);
        };
        thread.sets[from.set].pool.file_path(from.entry, &mut self.from);
        thread.sets[to.set].pool.file_path(to.entry, &mut self.to);
        self.at = Some((from, to));
        Ok(Turn::Go)
    }

    /// The file has the entry's name now, and its own no longer.
    pub(super) fn moved(&self, thread: &Thread<'_>) {
        if let Some((from, to)) = self.at {
            thread.sets[from.set].pool.moved(from.entry, &thread.sets[to.set].pool, to.entry);
        }
    }

    /// The entry is there, of the file's size: a second name of it, or its copy.
    pub(super) fn made(&self, thread: &Thread<'_>) {
        let Some((from, to)) = self.at else { return };
        let pool = &thread.sets[to.set].pool;
        pool.set_size(to.entry, thread.sets[from.set].pool.size(from.entry));
        pool.files().created(to.entry);
        pool.files().release(to.entry);
        thread.release(from);
    }

    /// Nothing was done.
    pub(super) fn give_back(&self, thread: &Thread<'_>) {
        let Some((from, to)) = self.at else { return };
        thread.sets[to.set].pool.files().abandon(to.entry);
        match self.hold {
            Hold::Alone => thread.sets[from.set].pool.files().restore(from.entry),
            Hold::Shared => thread.release(from),
        }
    }

    pub(super) fn advice(&self, errno: Errno, thread: &Thread<'_>) -> Option<&'static str> {
        match errno {
            Errno::XDEV => Some("the two file sets are on different file systems"),
            _ => self.at.and_then(|(_, to)| thread.advice_on_home(to, errno)),
        }
    }

    /// `rename of fs1/00000001/00000003 to fs1/00000002/00000001`.
    pub(super) fn describe(&self, call: &str, thread: &Thread<'_>) -> String {
        let show = |(from, to)| format!("{call} of {} to {}", thread.show(from), thread.show(to));
        self.at.map_or_else(String::new, show)
    }
}
