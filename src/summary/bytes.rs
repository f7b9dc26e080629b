//! Where the bytes of a run went: what its calls moved, beside what the monitors say of the storage below.

use super::per_second;
use crate::record::{BytesRecord, Interval, IntervalCounts, MonitorInterval, Run, StorageKind};

/// What is said of the bytes of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BytesSummary {
    /// Of reads; none where no byte was read.
    pub read: Option<ReadSummary>,
    /// Of writes; none where no byte was written.
    pub written: Option<WrittenSummary>,
}

/// Where what was read came from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadSummary {
    /// Bytes that the read calls returned.
    pub app_bytes: u64,
    /// The same per second of the window.
    pub app_per_s: f64,
    /// What storage delivered meanwhile, and what of the first is left for the page cache; none where nothing counts it.
    pub split: Option<ReadSplit>,
}

/// Bytes that were read, by where they came from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadSplit {
    /// From storage, at most: what others read there, metadata, and what was read ahead and not used, is in it.
    pub storage_bytes: u64,
    /// The same per second of the window.
    pub storage_per_s: f64,
    /// From the page cache, at least.
    pub page_cache_bytes: u64,
    /// The same per second of the window.
    pub page_cache_per_s: f64,
    /// The part of `app_bytes` that came from the page cache, 0 to 1.
    pub page_cache_share: f64,
}

/// Where what was written went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WrittenSummary {
    /// Bytes that the write calls took.
    pub app_bytes: u64,
    /// The same per second of the window.
    pub app_per_s: f64,
    /// What storage took meanwhile, at most; none where nothing counts it.
    pub storage_bytes: Option<u64>,
    /// The same per second of the window.
    pub storage_per_s: Option<f64>,
}

/// Bytes between storage and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Moved {
    read: u64,
    written: u64,
}

/// The monitor that counts for a kind of storage, and its counters of bytes from there and to there.
fn monitor_of(kind: StorageKind) -> Option<[&'static str; 3]> {
    match kind {
        StorageKind::Device => Some(["disk", "bytes_read", "bytes_written"]),
        StorageKind::Nfs => Some(["nfs", "wire_bytes_read", "wire_bytes_written"]),
        StorageKind::Memory | StorageKind::Unknown => None,
    }
}

/// What the storage moved within the window; none where not every part of it was counted.
fn moved(run: &Run, bytes: &BytesRecord) -> Option<Moved> {
    let [monitor, read, written] = monitor_of(bytes.storage.kind).filter(|_| !bytes.storage.names.is_empty())?;
    let mut sum = Moved::default();
    for name in &bytes.storage.names {
        let is_its = |m: &&crate::record::MonitorRecord| {
            m.monitor == monitor && m.operation.is_none() && m.missing.is_none() && m.of.as_ref() == Some(name)
        };
        let found = run.monitors.iter().find(is_its)?;
        sum.read += found.counter(read)?;
        sum.written += found.counter(written)?;
    }
    Some(sum)
}

/// The same within an interval, where it is known for the run. A counter that did not rise is not there.
fn moved_within(monitors: &[MonitorInterval], bytes: &BytesRecord) -> Option<Moved> {
    let [monitor, read, written] = monitor_of(bytes.storage.kind)?;
    let is_its = |m: &&MonitorInterval| {
        let named = m.of.as_ref().is_some_and(|of| bytes.storage.names.contains(of));
        m.monitor == monitor && m.operation.is_none() && named
    };
    let parts = || monitors.iter().filter(is_its);
    let sum = |name: &str| parts().filter_map(|m| m.counters.get(name)).sum();
    Some(Moved { read: sum(read), written: sum(written) })
}

impl BytesSummary {
    /// Of a run; none where the run touched no file.
    pub fn of(run: &Run) -> Option<Self> {
        let bytes = run.bytes.as_ref()?;
        let [read, written] = [|f: &super::Counts| f.bytes_read, |f: &super::Counts| f.bytes_written]
            .map(|of| run.flowops.iter().map(|flowop| of(&flowop.counts)).fold(0, u64::saturating_add));
        Some(Self::new(bytes, moved(run, bytes), [read, written], run.elapsed_ns))
    }

    /// Of an interval of a run, or several of its intervals together.
    pub fn of_interval(run: &Run, interval: &Interval) -> Option<Self> {
        let bytes = run.bytes.as_ref()?;
        let [read, written] = [|f: &IntervalCounts| f.bytes_read, |f: &IntervalCounts| f.bytes_written]
            .map(|of| interval.flowops.iter().map(of).fold(0, u64::saturating_add));
        let moved = moved(run, bytes).and_then(|_| moved_within(&interval.monitors, bytes));
        Some(Self::new(bytes, moved, [read, written], interval.end_ns.saturating_sub(interval.start_ns)))
    }

    fn new(bytes: &BytesRecord, moved: Option<Moved>, [read, written]: [u64; 2], elapsed_ns: u64) -> Self {
        let per_s = |count| per_second(count, elapsed_ns);
        // Where memory is all there is, nothing comes from elsewhere.
        let from_storage = match bytes.storage.kind {
            StorageKind::Memory => Some(0),
            _ => moved.map(|moved| moved.read),
        };
        let split = |app: u64| {
            let storage_bytes = from_storage?;
            let page_cache_bytes = app.saturating_sub(storage_bytes);
            Some(ReadSplit {
                storage_bytes,
                storage_per_s: per_s(storage_bytes),
                page_cache_bytes,
                page_cache_per_s: per_s(page_cache_bytes),
                page_cache_share: page_cache_bytes as f64 / app as f64,
            })
        };
        let to_storage = moved.map(|moved| moved.written);
        BytesSummary {
            read: (read > 0).then(|| ReadSummary { app_bytes: read, app_per_s: per_s(read), split: split(read) }),
            written: (written > 0).then(|| WrittenSummary {
                app_bytes: written,
                app_per_s: per_s(written),
                storage_bytes: to_storage,
                storage_per_s: to_storage.map(per_s),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::StorageRecord;
    use crate::summary::sample::{on_storage, sample};

    fn with(kind: StorageKind, moved: Option<(u64, u64)>) -> Run {
        let mut run = sample().runs.remove(0);
        on_storage(&mut run, kind, moved);
        run
    }

    #[test]
    fn several_devices_are_added_up_and_one_that_is_missing_leaves_nothing() {
        let mut run = with(StorageKind::Device, Some((1_000_000, 7)));
        let storage = &mut run.bytes.as_mut().unwrap().storage;
        *storage = StorageRecord { names: vec!["sda1".into(), "sdb1".into()], ..storage.clone() };
        assert_eq!(BytesSummary::of(&run).unwrap().read.unwrap().split, None);
        let mut other = run.monitors[0].clone();
        other.of = Some("sdb1".into());
        run.monitors.push(other);
        let split = |run: &Run| BytesSummary::of(run).unwrap().read.unwrap().split;
        assert_eq!(split(&run).unwrap().storage_bytes, 2_000_000);
        run.monitors[1].missing = Some("it is gone".into());
        assert_eq!(split(&run), None);
    }

    #[test]
    fn an_interval_has_its_own_sum_and_what_did_not_rise_is_nothing() {
        let mut run = with(StorageKind::Device, Some((1_000_000, 7)));
        let interval = Interval {
            start_ns: 0,
            end_ns: 500_000_000,
            flowops: vec![IntervalCounts { bytes_read: 4000, ..IntervalCounts::default() }],
            monitors: vec![MonitorInterval {
                monitor: "disk".into(),
                of: Some("sda1".into()),
                counters: [("bytes_read".to_owned(), 1000)].into(),
                ..MonitorInterval::default()
            }],
            ..run.intervals[0].clone()
        };
        let read = BytesSummary::of_interval(&run, &interval).unwrap().read.unwrap();
        assert_eq!((read.app_per_s, read.split.unwrap().storage_per_s), (8000.0, 2000.0));
        let still = Interval { monitors: Vec::new(), ..interval.clone() };
        let read = BytesSummary::of_interval(&run, &still).unwrap().read.unwrap();
        assert_eq!(read.split.unwrap().page_cache_share, 1.0);
        run.monitors.clear();
        assert_eq!(BytesSummary::of_interval(&run, &interval).unwrap().read.unwrap().split, None);
    }

    #[test]
    fn what_storage_did_not_deliver_was_in_the_page_cache() {
        // 5 MB read in 2 s.
        let summary = BytesSummary::of(&with(StorageKind::Device, Some((2_000_000, 7)))).unwrap();
        assert_eq!(summary.written, None);
        let read = summary.read.unwrap();
        assert_eq!((read.app_bytes, read.app_per_s), (5_000_000, 2_500_000.0));
        let split = read.split.unwrap();
        assert_eq!((split.storage_per_s, split.page_cache_per_s, split.page_cache_share), (1e6, 1.5e6, 0.6));
    }

    #[test]
    fn more_than_was_asked_for_leaves_nothing_for_the_page_cache() {
        let split =
            BytesSummary::of(&with(StorageKind::Nfs, Some((6_000_000, 0)))).unwrap().read.unwrap().split.unwrap();
        assert_eq!((split.storage_bytes, split.page_cache_bytes, split.page_cache_share), (6_000_000, 0, 0.0));
    }

    #[test]
    fn what_nothing_counts_is_not_guessed_and_memory_is_all_cache() {
        assert_eq!(BytesSummary::of(&with(StorageKind::Unknown, None)).unwrap().read.unwrap().split, None);
        let split = BytesSummary::of(&with(StorageKind::Memory, None)).unwrap().read.unwrap().split.unwrap();
        assert_eq!((split.page_cache_bytes, split.page_cache_share), (5_000_000, 1.0));
        assert_eq!(BytesSummary::of(&sample().runs[0]), None);
    }

    #[test]
    fn writes_are_compared_with_what_the_storage_took() {
        let mut run = with(StorageKind::Device, Some((0, 1_000_000)));
        run.flowops[0].counts.bytes_written = 4_000_000;
        let written = BytesSummary::of(&run).unwrap().written.unwrap();
        assert_eq!((written.app_per_s, written.storage_per_s), (2e6, Some(5e5)));
        run.elapsed_ns = 0;
        assert_eq!(BytesSummary::of(&run).unwrap().written.unwrap().storage_per_s, Some(0.0));
    }
}
