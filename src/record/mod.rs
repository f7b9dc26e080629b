//! What happened: a [`RunRecord`] is written to disk as it is and read back to the same report.
//!
//! Everything here is counted, nothing is derived: rates, means and percentiles are the summary's.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

mod bytes;
pub mod counters;
mod environment;
mod histogram;

pub use crate::flowop::FlowopClass;
pub use crate::sys::errno_name;
pub use bytes::{
    BytesRecord, Cold, ColdHow, Dirty, DirtySource, Drain, DrainEnd, Moved, Residency, StorageKind, StorageRecord,
};
pub use environment::{Environment, memory};
pub use histogram::{BUCKETS, Histogram, LONGEST_NS, bucket};

/// Version of the record's form on disk. The first number rises when a key is renamed or removed.
pub const SCHEMA_VERSION: &str = "1.0";

/// All runs of one invocation, and where they took place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// See [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// The version of wlrun that made the record.
    pub wlrun: String,
    /// Everything random derives from it.
    pub seed: u64,
    /// Machine and target.
    pub environment: Environment,
    /// What was run.
    pub workload: WorkloadRecord,
    /// One entry for each `run` of the workload.
    pub runs: Vec<Run>,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadRecord {
    /// The personality's name or the file's, without directory and suffix.
    pub name: String,
    /// Of the text: `fnv1a64:` and 16 hexadecimal digits.
    pub hash: String,
    /// The variables at the run, by name.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// Files of all file sets.
    pub files: u64,
    /// Sum of their nominal sizes.
    pub bytes: u64,
    /// Workers of the run with the most: `process instances`, and threads in all of them together.
    pub processes: u64,
    /// See `processes`.
    pub threads: u64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The time was up.
    Time,
    /// All threads came to their end (quit mode `alldone`), or one did (`firstdone`).
    Done,
    /// A `finishoncount` or `finishonbytes` was reached.
    Count,
    /// No file was left to create, delete or open.
    RanDry,
    /// An operation failed, or a worker died.
    Error,
    /// By a signal.
    Interrupted,
    /// Operations did not come back.
    Stuck,
}

/// One measured run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// True where the run took its course to an end that the workload asks for or allows.
    pub complete: bool,
    /// True where the figures may be used as a result.
    pub valid: bool,
    /// Why it ended.
    pub ended: Ended,
    /// The reason in words where it was not the time: which flowop, which file set, which signal.
    pub reason: Option<String>,
    /// Length of the measured window, from the opening of the gate, the end of the warm-up, or the `stats clear`.
    pub elapsed_ns: u64,
    /// How long it was to run before the window, without being measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warmup_ns: u64,
    /// What was asked for; none for "until done".
    pub requested_ns: Option<u64>,
    /// The period of a `psrun`, which wants each interval shown; none for a `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// True where that `psrun` wants each period shown with all since the start; false for what it had itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub period_cumulative: bool,
    /// True where the workload asks for the distribution of latencies (`enable lathist`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lathist: bool,
    /// One row for each flowop of each thread of each process, in the order of definition.
    pub flowops: Vec<FlowopRecord>,
    /// Processor time (user and system) of all workers' threads within the run.
    pub cpu_ns: u64,
    /// The window in pieces of a second (or as asked for).
    pub intervals: Vec<Interval>,
    /// Where the bytes went; none where the run touched no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<BytesRecord>,
    /// What failed, the first of each worker.
    pub failures: Vec<Failure>,
    /// What a reader must know about the figures.
    pub warnings: Vec<WarningRecord>,
    /// What the workload asserts of the figures, in the order of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asserts: Vec<AssertRecord>,
}

/// What became of an `assert`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssertRecord {
    /// With the value of its limit: `read1.p99 < 5ms`.
    pub text: String,
    /// Of limit and value.
    pub unit: String,
    /// What the value is compared with.
    pub limit: Figure,
    /// What was found; none where there is nothing to compare.
    pub value: Option<Figure>,
    /// Whether it holds; none where it was not evaluated.
    pub holds: Option<bool>,
    /// Why there is no value.
    pub reason: Option<String>,
}

/// A number that an `assert` compares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// A count or nanoseconds.
    Whole(u64),
    /// A rate.
    Real(f64),
}

impl Figure {
    /// How it stands to another; none where one of them is no number.
    pub fn compare(self, other: Figure) -> Option<Ordering> {
        match (self, other) {
            (Figure::Whole(a), Figure::Whole(b)) => Some(a.cmp(&b)),
            (a, b) => a.real().partial_cmp(&b.real()),
        }
    }

    fn real(self) -> f64 {
        match self {
            Figure::Whole(n) => n as f64,
            Figure::Real(x) => x,
        }
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Figure::Whole(n) => write!(f, "{n}"),
            Figure::Real(x) => write!(f, "{x}"),
        }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What one flowop did, all instances together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowopRecord {
    /// Its name in the workload.
    pub name: String,
    /// Its type, `statfile`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For the totals.
    pub class: FlowopClass,
    /// The process that has it.
    pub process: String,
    /// The thread that has it.
    pub thread: String,
    /// Number of thread instances that ran it.
    pub instances: u64,
    /// True where its slot's files are opened with O_DIRECT: its data does not come from the page cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// True where the workload leaves it out of this run: its process has no instance, or its weight in a mix is 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub counts: Counts,
    /// Of completed operations.
    pub histogram: Histogram,
}

/// Counters that add up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Operations that finished in the measured window.
    pub ops: u64,
    /// Bytes that read calls returned.
    pub bytes_read: u64,
    /// Bytes that write calls took.
    pub bytes_written: u64,
    /// Files opened on behalf of a read or write; not in `ops`.
    pub auto_opens: u64,
    /// Times that there was nothing it may do at that moment (each file to delete was open); not in `ops`.
    pub skipped: u64,
    /// Operations under way when the window closed; not in `ops`.
    pub in_flight: u64,
    /// Failed operations by the error's name, `ENOSPC`; not in `ops`.
    pub errors: BTreeMap<String, u64>,
}

impl Counts {
    /// Adds another's counts; the order of merges does not matter.
    pub fn merge(&mut self, other: &Counts) {
        self.ops += other.ops;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.auto_opens += other.auto_opens;
        self.skipped += other.skipped;
        self.in_flight += other.in_flight;
        for (name, count) in &other.errors {
            *self.errors.entry(name.clone()).or_default() += count;
        }
    }

    /// All failed operations.
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }
}

/// A piece of the measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Since the beginning of the window.
    pub start_ns: u64,
    /// Since the beginning of the window.
    pub end_ns: u64,
    /// In the order of [`Run::flowops`].
    pub flowops: Vec<IntervalCounts>,
}

/// What one flowop did within an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IntervalCounts {
    /// Operations that finished.
    pub ops: u64,
    /// Bytes that read calls returned.
    pub bytes_read: u64,
    /// Bytes that write calls took.
    pub bytes_written: u64,
    /// Sum of the operations' latencies.
    pub latency_sum_ns: u64,
}

impl IntervalCounts {
    /// Adds another's counts; the order of merges does not matter.
    pub fn merge(&mut self, other: &IntervalCounts) {
        self.merge_difference(other, &IntervalCounts::default());
    }

    /// Adds what was done between two readings of the same counters.
    pub fn merge_difference(&mut self, after: &IntervalCounts, before: &IntervalCounts) {
        self.ops += after.ops - before.ops;
        self.bytes_read += after.bytes_read - before.bytes_read;
        self.bytes_written += after.bytes_written - before.bytes_written;
        self.latency_sum_ns += after.latency_sum_ns - before.latency_sum_ns;
    }
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The process, with its instance from 0.
    pub process: String,
    /// The thread, with its instance from 0; none where the process as a whole failed.
    pub thread: Option<String>,
    /// The flowop that failed.
    pub flowop: Option<String>,
    /// The error's name, `ENOSPC`, where the kernel gave one.
    pub errno: Option<String>,
    /// In words: the call, the file, the offset, the kernel's text.
    pub message: String,
}

/// A warning in a record; the codes are the summary's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarningRecord {
    /// `W003`.
    pub code: String,
    /// With this run's figures.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_counts_does_not_depend_on_the_order() {
        let one = Counts { ops: 1, errors: [("EIO".into(), 2)].into(), ..Counts::default() };
        let two = Counts {
            ops: 5,
            bytes_read: 7,
            errors: [("EIO".into(), 1), ("ENOSPC".into(), 1)].into(),
            ..Counts::default()
        };
        let (mut a, mut b) = (one.clone(), two.clone());
        a.merge(&two);
        b.merge(&one);
        assert_eq!(a, b);
        assert_eq!((a.ops, a.error_count()), (6, 4));
    }
}
