//! What the flowops that watch counters, and those that hold a thread back, share.

use super::{Broken, Build, End, Flowop, Moved, OwnIo, Paid, Taken, Thread, Turn};

/// Whose counters are watched.
#[derive(Debug, Clone, Copy)]
pub(super) enum Watched {
    /// One flowop of this thread.
    Flowop(usize),
    /// The I/O of all threads of all processes.
    All,
}

impl Watched {
    pub(super) fn new(build: &Build<'_>) -> Self {
        build.target.map_or(Watched::All, Watched::Flowop)
    }

    /// Operations and bytes until now.
    #[inline]
    pub(super) fn counts(self, thread: &Thread<'_>) -> (u64, u64) {
        match self {
            Watched::Flowop(index) => {
                let (ops, Moved { read, written }) = thread.run.flowop(index);
                (ops, read + written)
            }
            Watched::All => thread.run.all_io(),
        }
    }
}

/// Holds its thread back until the event generator has given as many events as the thread has used: those of `target`,
/// else of all I/O of this thread. The events come from one source for all threads of all processes, so the rate is
/// the run's.
pub(super) struct Limiter {
    paid_for: Paid,
    target: Option<usize>,
    /// Events used until now, whether they were waited for or free.
    used: u64,
    taken: Option<Taken>,
}

impl Limiter {
    pub(super) fn new(build: &Build<'_>, paid_for: Paid) -> Self {
        Limiter { paid_for, target: build.target, used: 0, taken: None }
    }

    /// Events that pay for what is done until now; a part of a mebibyte costs a whole event.
    fn due(&self, thread: &Thread<'_>) -> u64 {
        let OwnIo { ops, data_ops, bytes } = match self.target {
            None => thread.run.own_io(),
            Some(index) => {
                let (ops, Moved { read, written }) = thread.run.flowop_since_gate(index);
                OwnIo { ops, data_ops: ops, bytes: read + written }
            }
        };
        match self.paid_for {
            Paid::Turn => self.used + 1,
            Paid::Operation => ops,
            Paid::DataOperation => data_ops,
            Paid::Mebibyte => bytes.div_ceil(1 << 20),
        }
    }
}

impl Flowop for Limiter {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let due = self.due(thread);
        if due == self.used {
            return Ok(Turn::Quiet);
        }
        self.taken = thread.run.take_events(&thread.clock, due - self.used);
        // What is done without a rate is free: a rate that is set later asks nothing for it.
        self.used = due;
        if self.taken.is_none() {
            thread.lag = None;
        }
        Ok(if self.taken.is_some() { Turn::Go } else { Turn::Quiet })
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        if let Some(taken) = self.taken.take() {
            thread.due = thread.run.await_events(&thread.clock, taken);
        }
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "wait for the event generator".into()
    }
}
