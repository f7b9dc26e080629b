//! Operations that a thread has submitted and that others carry out: what each is of, its memory, and how its end is
//! booked to the flowop that submitted it.

use super::{Broken, End, FileRef, Moved, Thread, file};
use crate::engine::{Done, Job, Way};
use crate::random::stream::Generator;
use crate::sys::AlignedBuffer;
use rustix::fs::OFlags;
use rustix::io::Errno;

/// A submitted operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    /// The place of the flowop that submitted it.
    pub(super) flowop: usize,
    pub(super) way: Way,
    pub(super) slot: usize,
    pub(super) offset: u64,
    pub(super) len: usize,
    /// How the file was to be opened, for messages.
    pub(super) extra: OFlags,
}

#[derive(Debug)]
struct Submitted {
    operation: Operation,
    file: Option<FileRef>,
    start_ns: u64,
    lag: Option<u64>,
}

/// A place in the table. Its memory stays with it while nothing is under way, and is used again.
#[derive(Debug)]
struct Place {
    submitted: Option<Submitted>,
    buffer: Option<AlignedBuffer>,
}

/// A submitted operation that failed within the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The place of the flowop that submitted it.
    pub flowop: usize,
    /// The kernel's error.
    pub errno: Errno,
    /// What it was, in words.
    pub what: String,
}

/// What a thread has under way.
#[derive(Debug)]
pub(super) struct Outstanding {
    /// By tag.
    places: Vec<Place>,
    /// Tags of places where nothing is under way; the one that became free last is used first, as its memory is warm.
    free: Vec<u32>,
    /// Lists on their way to and from the engine, kept for their memory.
    jobs: Vec<Job>,
    done: Vec<Done>,
    /// The first that failed.
    lost: Option<Lost>,
    /// For what is written. It is not the generator of offsets: which memory an operation gets depends on times, and
    /// the choices of a thread must not.
    filler: Generator,
}

impl Outstanding {
    pub(super) fn new(filler: Generator) -> Self {
        Outstanding { places: Vec::new(), free: Vec::new(), jobs: Vec::new(), done: Vec::new(), lost: None, filler }
    }

    fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The memory that [`Thread::make_ready`] has for the next operation.
    pub(super) fn next_memory(&mut self) -> &mut [u8] {
        let tag = self.free.last().expect("made ready");
        self.places[*tag as usize].buffer.as_mut().expect("made ready")
    }
}

impl Thread<'_> {
    /// Makes ready for so many operations under way at once.
    ///
    /// # Errors
    ///
    /// Where the engine cannot have so many.
    pub fn expect_outstanding(&mut self, most: usize) -> std::io::Result<()> {
        let outstanding = &mut self.outstanding;
        outstanding.places = (0..most).map(|_| Place { submitted: None, buffer: None }).collect();
        outstanding.free = (0..most as u32).rev().collect();
        outstanding.jobs.reserve(1);
        outstanding.done.reserve(most);
        self.engine.expect(most)
    }

    /// How many operations of all flowops, or of one, are not booked yet.
    pub(super) fn outstanding(&self, flowop: Option<usize>) -> usize {
        let of = |flowop: usize| {
            let submitted = self.outstanding.places.iter().filter_map(|place| place.submitted.as_ref());
            submitted.filter(|submitted| submitted.operation.flowop == flowop).count()
        };
        flowop.map_or_else(|| self.outstanding.count(), of)
    }

    /// Waits until fewer than `most` are under way, and has memory of `len` bytes for one more.
    ///
    /// # Errors
    ///
    /// ENOMEM, and the end where an operation that ended meanwhile had failed.
    pub(super) fn make_ready(&mut self, most: usize, len: usize) -> Result<(), End> {
        let count = self.outstanding.count();
        if count >= most {
            self.reap(count - most + 1)?;
        }
        let Outstanding { places, free, filler, .. } = &mut self.outstanding;
        let tag = *free.last().expect("the most of any flowop was expected");
        let buffer = &mut places[tag as usize].buffer;
        if buffer.as_ref().is_none_or(|buffer| buffer.len() < len) {
            let mut new = AlignedBuffer::new(len)
                .map_err(|e| End::Failed(Errno::from_io_error(&e), format!("{len} bytes of memory: {e}")))?;
            rand::Rng::fill_bytes(filler, &mut new);
            *buffer = Some(new);
        }
        Ok(())
    }

    /// Begins an operation that [`Thread::make_ready`] has made ready for.
    pub(super) fn submit(&mut self, operation: Operation) {
        let (fd, file) = (self.fd(operation.slot), self.slot(operation.slot).file);
        let Outstanding { places, free, jobs, .. } = &mut self.outstanding;
        let tag = free.pop().expect("made ready");
        let place = &mut places[tag as usize];
        let buffer = place.buffer.take().expect("made ready");
        place.submitted = Some(Submitted { operation, file, start_ns: self.submitted_ns, lag: self.lag });
        let Operation { way, offset, len, .. } = operation;
        jobs.push(Job { tag, way, fd, offset, len, buffer });
        self.engine.submit(jobs);
    }

    /// Waits until `least` operations have ended, and books all that have.
    ///
    /// # Errors
    ///
    /// The end of the thread where one failed: [`Thread::drain`] says which.
    pub(super) fn reap(&mut self, least: usize) -> Result<(), End> {
        let mut done = std::mem::take(&mut self.outstanding.done);
        self.engine.reap(least, &mut done);
        for done in done.drain(..) {
            self.book(done);
        }
        self.outstanding.done = done;
        if self.outstanding.lost.is_some() { Err(End::Over) } else { Ok(()) }
    }

    fn book(&mut self, done: Done) {
        let Done { tag, buffer, end_ns, moved, error } = done;
        let place = &mut self.outstanding.places[tag as usize];
        place.buffer = Some(buffer);
        let Some(Submitted { operation, file, start_ns, lag }) = place.submitted.take() else { return };
        self.outstanding.free.push(tag);
        let moved = match operation.way {
            Way::Read => Moved::read(moved),
            Way::Write => Moved::written(moved),
        };
        let result = error.map_or(Ok(moved), |errno| Err(Broken { errno: Some(errno), moved }));
        let counted = self.run.record_completion(operation.flowop, lag, start_ns, end_ns, &result);
        if let (true, Some(errno), None) = (counted, error, &self.outstanding.lost) {
            self.outstanding.lost = Some(self.lose(operation, file, errno));
        }
    }

    #[cold]
    fn lose(&self, operation: Operation, file: Option<FileRef>, errno: Errno) -> Lost {
        let Operation { flowop, way, slot, offset, len, extra } = operation;
        let way = if way == Way::Read { "aioread" } else { "aiowrite" };
        let file = file.map_or_else(|| format!("slot {slot}"), |file| self.show(file));
        Lost { flowop, errno, what: format!("{way} of {len} bytes at {offset} of {file}{}", file::how(extra)) }
    }

    /// Waits for what is under way on a slot.
    ///
    /// # Errors
    ///
    /// The end of the thread where an operation failed.
    pub(super) fn settle(&mut self, slot: usize) -> Result<(), End> {
        let on_slot = |place: &Place| place.submitted.as_ref().is_some_and(|s| s.operation.slot == slot);
        while self.outstanding.count() > 0 && self.outstanding.places.iter().any(on_slot) {
            self.reap(1)?;
        }
        Ok(())
    }

    /// Waits for all that is under way; the first operation that failed within the window.
    pub fn drain(&mut self) -> Option<Lost> {
        while self.outstanding.count() > 0 {
            // What failed is kept: the others have to come to their end too.
            let _ = self.reap(self.outstanding.count());
        }
        self.outstanding.lost.take()
    }
}
