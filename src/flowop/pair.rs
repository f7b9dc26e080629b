//! What the flowops share that make a name for a file that is there, or for its copy: the file, and an entry that does
//! not exist.
//!
//! Two claims are needed, often on one set that many threads work on. A thread waits for the entry while it holds
//! nothing, and never for the file while it holds the entry: where no file can be had at this moment it gives the entry
//! back and skips the operation. So threads cannot wait for each other in a circle.

use super::{Broken, Build, By, End, FileRef, Flowop, Kind, Moved, Thread, Turn};
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

    /// The entry is there: with the file, which has its own name no longer, or of the file's size as a second name of it or
    /// its copy.
    fn made(&self, thread: &Thread<'_>) {
        let Some((from, to)) = self.at else { return };
        let pool = &thread.sets[to.set].pool;
        match self.hold {
            Hold::Alone => thread.sets[from.set].pool.moved(from.entry, pool, to.entry),
            Hold::Shared => {
                pool.set_size(to.entry, thread.sets[from.set].pool.size(from.entry));
                pool.files().created(to.entry);
                pool.files().release(to.entry);
                thread.release(from);
            }
        }
    }

    /// Nothing was done.
    fn give_back(&self, thread: &Thread<'_>) {
        let Some((from, to)) = self.at else { return };
        thread.sets[to.set].pool.files().abandon(to.entry);
        match self.hold {
            Hold::Alone => thread.sets[from.set].pool.files().restore(from.entry),
            Hold::Shared => thread.release(from),
        }
    }

    fn advice(&self, errno: Errno, thread: &Thread<'_>) -> Option<&'static str> {
        match errno {
            Errno::XDEV => Some("the two file sets are on different file systems"),
            _ => self.at.and_then(|(_, to)| thread.advice_on_home(to, errno)),
        }
    }

    /// `rename of fs1/00000001/00000003 to fs1/00000002/00000001`.
    fn describe(&self, call: &str, thread: &Thread<'_>) -> String {
        let show = |(from, to)| format!("{call} of {} to {}", thread.show(from), thread.show(to));
        self.at.map_or_else(String::new, show)
    }
}

/// What a flowop does with a pair. Claims, books and messages are the same for all.
pub(super) trait Call {
    /// The flowop's name.
    const WORD: &'static str;

    /// Claims the pair, and gets ready what the call needs.
    fn prepare(&mut self, pair: &mut Pair, thread: &mut Thread<'_>) -> Result<Turn, End> {
        pair.claim(thread)
    }

    fn execute(&mut self, pair: &Pair, thread: &mut Thread<'_>) -> Result<Moved, Broken>;

    /// True where the entry is there after an operation with this result.
    fn is_made(&self, result: &Result<Moved, Broken>) -> bool {
        result.is_ok()
    }
}

/// A flowop on a pair.
pub(super) struct OnPair<C> {
    pair: Pair,
    call: C,
}

impl<C: Call + 'static> OnPair<C> {
    pub(super) fn build(build: &Build<'_>, hold: Hold, call: C) -> Box<dyn Flowop> {
        Box::new(OnPair { pair: Pair::new(build, hold), call })
    }
}

impl<C: Call> Flowop for OnPair<C> {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.call.prepare(&mut self.pair, thread)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        self.call.execute(&self.pair, thread)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, result: &Result<Moved, Broken>) {
        if self.call.is_made(result) {
            self.pair.made(thread);
        } else {
            self.pair.give_back(thread);
        }
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        self.pair.give_back(thread);
    }

    fn advice(&self, errno: Errno, thread: &Thread<'_>) -> Option<&'static str> {
        self.pair.advice(errno, thread)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.pair.describe(C::WORD, thread)
    }
}
