//! What happens while it happens: the controller sends events, and whoever shows them decides how.

use crate::record::{FlowopRecord, Interval, Run, RunRecord};
use std::path::PathBuf;
use std::sync::Arc;

/// Something to show, or to write for the workload.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A line of the workload's `echo`, or what its `system` printed; it ends in a newline.
    Echo(String),
    /// Files are being made or taken away.
    Preparing {
        /// The file set.
        fileset: String,
        /// Files done so far.
        files_done: u64,
        /// Files to do.
        files: u64,
        /// Bytes written so far.
        bytes_done: u64,
        /// Bytes to write.
        bytes: u64,
    },
    /// The file sets are ready, after so many nanoseconds.
    Prepared {
        /// Files that exist now.
        files: u64,
        /// Files that were made.
        made: u64,
        /// Time that it took.
        elapsed_ns: u64,
    },
    /// Workers are being started.
    Starting {
        /// Process instances that are ready at the gate.
        ready: u64,
        /// Process instances in all.
        processes: u64,
        /// Thread instances in all.
        threads: u64,
    },
    /// An interval of the measured window is over.
    Interval(Tick),
    /// The interval before it, as the record will have it: nothing is added to it any more. Not in a session, whose
    /// measurement a `stats clear` may throw away.
    Counted {
        /// What was done in it.
        interval: Box<Interval>,
        /// Which flowops its rows are; their counts mean nothing.
        flowops: Arc<[FlowopRecord]>,
    },
    /// A run or a snapshot is in the record.
    Measured(Box<Run>),
    /// The window has closed and operations are still under way.
    Draining {
        /// Process instances that are not yet gone.
        processes: u64,
    },
    /// What the last run or snapshot measured is to be written to a new file.
    Dump {
        /// A name of the list of forms.
        format: String,
        /// Below the working directory.
        path: PathBuf,
        /// With that run alone.
        record: Box<RunRecord>,
    },
    /// A directory for such files is to be there.
    Directory(PathBuf),
    /// A line is to be added to a file.
    Log {
        /// In the working directory.
        path: PathBuf,
        /// Without its newline.
        text: String,
    },
    /// Something is done that is no part of the workload and may take its time; in words.
    Doing(String),
    /// A line that a thread of the workload says.
    Said(String),
    /// Something that a reader should know now.
    Warning(String),
}

/// One interval in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// True in the warm-up, which is not measured.
    pub warmup: bool,
    /// Since the beginning of the warm-up or of the window.
    pub elapsed_ns: u64,
    /// Length of the warm-up or of the run; none for "until done".
    pub length_ns: Option<u64>,
    /// I/O operations per second within the interval.
    pub ops_per_s: f64,
    /// Bytes read per second.
    pub read_per_s: f64,
    /// Bytes written per second.
    pub written_per_s: f64,
    /// Mean latency of the interval's I/O operations in nanoseconds; none where there was none.
    pub mean_ns: Option<f64>,
    /// By how many nanoseconds the work is behind its schedule; none where there is none.
    pub lag_ns: Option<u64>,
}
