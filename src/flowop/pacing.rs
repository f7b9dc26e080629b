//! What the flowops that watch counters share.

use super::{Build, Moved, Thread};

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
