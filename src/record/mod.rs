//! What happened: a [`RunRecord`] is written to disk as it is and read back to the same report.
//!
//! Everything here is counted, nothing is derived: rates, means and percentiles are the summary's.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

mod bytes;
mod calibration;
pub mod counters;
mod environment;
mod histogram;
mod monitors;
mod redact;

pub use crate::flowop::FlowopClass;
pub use crate::sys::errno_name;
pub use bytes::{
    BytesRecord, Cold, ColdHow, Dirty, DirtySource, Drain, DrainEnd, Residency, StorageKind, StorageRecord,
};
pub use calibration::CalibrationRecord;
pub use environment::{BlockDevice, DeviceRecord, Environment, Target, memory, resolved};
pub use histogram::{BUCKETS, Histogram, LONGEST_NS, bucket};
pub use monitors::{Level, MonitorInterval, MonitorRecord};
pub use redact::redact;

/// Version of the record's form on disk. The first number rises when a key is renamed, removed, or means something else;
/// the second when one is added. A record of the same first number is read.
pub const SCHEMA_VERSION: &str = "1.1";

/// All runs of one invocation, and where they took place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Why nothing was begun; absent where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_begun: Option<NotBegun>,
    /// One entry for each `run` of the workload.
    pub runs: Vec<Run>,
}

/// Why nothing was begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotBegun {
    /// What wlrun exits with.
    pub exit_code: u8,
    /// In words, a line for each reason.
    pub reason: String,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// What each flowop asks of the storage by itself; empty where nobody asked for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<CalibrationRecord>,
    /// What failed, the first of each worker.
    pub failures: Vec<Failure>,
    /// What a reader must know about the figures.
    pub warnings: Vec<WarningRecord>,
    /// What the workload asserts of the figures, in the order of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asserts: Vec<AssertRecord>,
    /// What the kernel counted meanwhile, in the order of the list of monitors; empty where the window did not begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<MonitorRecord>,
    /// Where threads have a schedule (`rate`, an event generator): how it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// What wlrun itself costs; none where it was not measured, as on an engine that makes no calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_cost: Option<OwnCost>,
    /// Time that the threads were ready to run and had no processor, all together; none where the kernel does not count it
    /// or threads were still at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ns: Option<u64>,
    /// True where wlrun was stopped and let go on while it measured (Ctrl-Z, SIGSTOP): the time in between is in the figures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}

/// What wlrun itself costs on this machine, measured on the engine `null` before the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OwnCost {
    /// One reading of the clock; there are two for each operation.
    pub clock_ns: u64,
    /// The least step between two readings that differ.
    pub clock_step_ns: u64,
    /// The kernel's source of time, `tsc`.
    pub clocksource: Option<String>,
    /// Of each thread, one instance alone.
    pub threads: Vec<ThreadCost>,
}

/// What wlrun costs in one thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ThreadCost {
    /// As the workload calls it.
    pub process: String,
    /// As the workload calls it.
    pub thread: String,
    /// Processor time for each I/O operation, without the call itself.
    pub ns_per_op: u64,
}

impl OwnCost {
    /// That of the thread that has a flowop.
    pub fn of(&self, flowop: &FlowopRecord) -> Option<u64> {
        let mine = |cost: &&ThreadCost| cost.process == flowop.process && cost.thread == flowop.thread;
        self.threads.iter().find(mine).map(|cost| cost.ns_per_op)
    }
}

/// How well threads kept their schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Schedule {
    /// The most that anything began after it was due.
    pub lag_max_ns: u64,
    /// How long before the end the oldest round or event was due that had not begun.
    pub lag_end_ns: u64,
    /// Events that came so long before anybody was ready for them that they were dropped: what they stand for was
    /// never done, and no figure has it.
    pub dropped_events: u64,
}

/// What became of an `assert`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Bytes of each of its requests, where they are always the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iosize: Option<u64>,
    /// True where it reads or writes at random offsets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub random: bool,
    /// True where its slot's files are opened with O_DIRECT: its data does not come from the page cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// True where the workload leaves it out of this run: its process has no instance, or its weight in a mix is 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub counts: Counts,
    /// Of completed operations: the time of the call.
    pub histogram: Histogram,
    /// What each process instance did of it, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<InstanceRecord>,
    /// Of those that had a schedule: the time from the moment that they were due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Histogram>,
}

/// What one process instance did of a flowop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InstanceRecord {
    /// From 0.
    pub instance: u32,
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub counts: Counts,
    /// Of completed operations.
    pub histogram: Histogram,
}

/// Counters that add up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// Since the beginning of the window.
    pub start_ns: u64,
    /// Since the beginning of the window.
    pub end_ns: u64,
    /// In the order of [`Run::flowops`].
    pub flowops: Vec<IntervalCounts>,
    /// What the kernel counted meanwhile, in the order of [`Run::monitors`]; what did not change is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<MonitorInterval>,
    /// Of all I/O operations; none where percentiles of intervals were not taken, or there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<IntervalLatency>,
    /// By how much the work was behind its schedule at the end; none where there is no schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ns: Option<u64>,
}

/// What one flowop did within an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IntervalCounts {
    /// Operations that finished.
    pub ops: u64,
    /// Bytes that read calls returned.
    pub bytes_read: u64,
    /// Bytes that write calls took.
    pub bytes_written: u64,
    /// Sum of the operations' latencies.
    pub latency_sum_ns: u64,
    /// None where percentiles of intervals were not taken, or no operation finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<IntervalLatency>,
}

/// Latencies of the operations that finished within an interval, in nanoseconds, within 0.4 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IntervalLatency {
    /// What half of the operations did not exceed.
    pub p50_ns: u64,
    /// What 99 % of the operations did not exceed.
    pub p99_ns: u64,
    /// The greatest.
    pub max_ns: u64,
}

impl IntervalLatency {
    /// Of operations by bucket; none where there is none.
    pub fn of(buckets: Vec<u64>) -> Option<Self> {
        let count = buckets.iter().sum();
        let histogram = Histogram { count, max_ns: u64::MAX, buckets, ..Histogram::default() };
        let at = |percent| histogram.percentile_ns(percent);
        (count > 0).then_some(())?;
        Some(IntervalLatency { p50_ns: at(50.0)?, p99_ns: at(99.0)?, max_ns: at(100.0)? })
    }
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failure {
    /// The process, with its instance from 0.
    pub process: String,
    /// The thread, with its instance from 0; none where the process as a whole failed.
    pub thread: Option<String>,
    /// The flowop that failed; none where a process failed, or the close of a file that a thread had open at its end.
    pub flowop: Option<String>,
    /// The error's name, `ENOSPC`, where the kernel gave one.
    pub errno: Option<String>,
    /// In words: the call, the file, the offset, the kernel's text.
    pub message: String,
}

impl Failure {
    /// True for what failed when a thread had come to its end.
    pub fn is_of_an_end(&self) -> bool {
        self.thread.is_some() && self.flowop.is_none()
    }
}

/// A warning in a record; the codes are the summary's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
