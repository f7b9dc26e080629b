//! Where the bytes went, in words.

use super::line_of;
use crate::record::{BytesRecord, Dirty, DirtySource, Drain, DrainEnd, MonitorRecord, Run, StorageKind};
use crate::summary::{BytesSummary, Cell, PeriodSummary, ReadSummary, WrittenSummary};
use crate::units;

const HEAD: &str = "where the bytes went   ";

/// Lines for the report, each with its newline; none where there is nothing to say.
pub(super) fn lines(run: &Run, summary: Option<&BytesSummary>) -> String {
    let (Some(record), Some(summary)) = (&run.bytes, summary) else { return String::new() };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(summary.read.map(|read| line_of(&format!("read: {}", read_line(record, &read)))));
    lines.extend(summary.written.map(|written| line_of(&format!("written: {}", written_line(record, &written)))));
    lines.extend(resident_line(record));
    lines.extend(bound_line(run, record));
    let head = |at: usize| if at == 0 { HEAD.to_owned() } else { " ".repeat(HEAD.len()) };
    lines.iter().enumerate().map(|(at, line)| head(at) + line + "\n").collect()
}

/// What the intervals of a run add to their table: nothing where no storage is counted.
pub(super) struct Columns {
    pub(super) headers: Vec<String>,
    /// A row for each interval.
    pub(super) cells: Vec<Vec<String>>,
}

/// Reads from the storage, the share of the page cache, and writes to the storage, where the run has any of them.
pub(super) fn columns(run: &Run, periods: &[PeriodSummary]) -> Columns {
    let summary = run.bytes.as_ref().zip(BytesSummary::of(run));
    let nothing = || Columns { headers: Vec::new(), cells: vec![Vec::new(); periods.len()] };
    let Some((record, summary)) = summary else { return nothing() };
    let place = match record.storage.kind {
        StorageKind::Device => "device",
        StorageKind::Nfs => "wire",
        StorageKind::Memory | StorageKind::Unknown => return nothing(),
    };
    let reads = summary.read.and_then(|read| read.split).is_some();
    let writes = summary.written.and_then(|written| written.storage_bytes).is_some();
    let mut headers = Vec::new();
    if reads {
        headers.extend([format!("read from {place}"), "page cache".into()]);
    }
    if writes {
        headers.push(format!("written to {place}"));
    }
    let row = |period: &PeriodSummary| {
        let mut cells = Vec::new();
        if reads {
            let split = period.bytes.and_then(|bytes| bytes.read?.split);
            cells.push(split.map_or("-".into(), |split| rate(split.storage_per_s)));
            cells.push(split.map_or("-".into(), |split| format!("{:.0} %", split.page_cache_share * 100.0)));
        }
        if writes {
            let written = period.bytes.and_then(|bytes| bytes.written?.storage_per_s);
            cells.push(written.map_or("-".into(), rate));
        }
        cells
    };
    Columns { headers, cells: periods.iter().map(row).collect() }
}

/// Bytes per second in MB.
fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        0.0 => "0.0".to_owned(),
        other => Cell::BytesPerSecond(other).to_string(),
    }
}

fn read_line(record: &BytesRecord, read: &ReadSummary) -> String {
    let app = rate(read.app_per_s);
    let place = match record.storage.kind {
        StorageKind::Memory => return format!("app {app} MB/s, all of it from memory (tmpfs)"),
        StorageKind::Nfs => "wire",
        StorageKind::Device | StorageKind::Unknown => "device",
    };
    match read.split {
        None => format!("app {app} MB/s, how much of it came from the page cache is not known{}", why(record)),
        Some(split) if split.storage_bytes > read.app_bytes => format!(
            "app {app} MB/s, {place} {} MB/s: more than was asked for (read ahead, metadata, or others)",
            rate(split.storage_per_s)
        ),
        Some(split) => format!(
            "app {app} MB/s = {place} {} + page cache {} ({:.0} %)",
            rate(split.storage_per_s),
            rate(split.page_cache_per_s),
            split.page_cache_share * 100.0
        ),
    }
}

fn why(record: &BytesRecord) -> String {
    record.storage.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
}

fn written_line(record: &BytesRecord, written: &WrittenSummary) -> String {
    let place = match record.storage.kind {
        StorageKind::Memory => return format!("app {} MB/s, all of it to memory (tmpfs)", rate(written.app_per_s)),
        StorageKind::Nfs => "wire",
        StorageKind::Device | StorageKind::Unknown => "device",
    };
    let mut parts = vec![format!("app {} MB/s", rate(written.app_per_s))];
    parts.extend(written.storage_per_s.map(|per_s| format!("{} on the {place} at the end", rate(per_s))));
    parts.extend(record.dirty.map(|Dirty { bytes, source }| {
        let whose = match source {
            DirtySource::FileSets => "still dirty",
            DirtySource::Machine => "more dirty on this machine than before",
        };
        format!("{} {whose}", units::bytes(bytes))
    }));
    parts.extend(record.drain.as_ref().map(drained));
    parts.join(", ")
}

fn drained(drain: &Drain) -> String {
    let time = units::duration(drain.elapsed_ns);
    match (drain.ended, &drain.error) {
        (DrainEnd::Drained, _) => format!("drained in {time}"),
        (DrainEnd::Limit, _) => format!("not drained within {time}"),
        (DrainEnd::Skipped, _) => format!("not drained: skipped after {time}"),
        (DrainEnd::Failed, error) => format!("not drained: {}", error.as_deref().unwrap_or("the kernel refused")),
    }
}

/// Where the storage is known to be used by others too.
fn bound_line(run: &Run, record: &BytesRecord) -> Option<String> {
    let is_its =
        |m: &&MonitorRecord| m.operation.is_none() && m.of.as_ref().is_some_and(|of| record.storage.names.contains(of));
    let why = run.monitors.iter().filter(is_its).find_map(|m| m.upper_bound.as_ref())?;
    let place = if record.storage.kind == StorageKind::Nfs { "wire" } else { "device" };
    Some(line_of(&format!("{place} is an upper bound: {why}")))
}

/// Where somebody wants cold files, how cold they were.
fn resident_line(record: &BytesRecord) -> Option<String> {
    record.cold.as_ref()?;
    let before = record.resident_before?;
    let share = match before.share() {
        Some(share) => format!("{} % of the file sets in the page cache before the run", percent(share)),
        None if before.files_unknown > 0 => "not known".to_owned(),
        None => "no data in the file sets".to_owned(),
    };
    Some(format!("cold: {share}"))
}

/// A share in per cent: what is not nothing is not shown as nothing.
fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".to_owned(),
        percent if percent < 9.995 => format!("{:.2}", percent.max(0.01)),
        percent => format!("{percent:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Cold, MonitorInterval, Residency};
    use crate::summary::sample::{on_storage, sample};

    fn run(kind: StorageKind, moved: Option<(u64, u64)>) -> Run {
        let mut run = sample().runs.remove(0);
        run.flowops[0].counts.bytes_written = 20_000_000;
        on_storage(&mut run, kind, moved);
        run
    }

    fn text(run: &Run) -> String {
        lines(run, BytesSummary::of(run).as_ref())
    }

    #[test]
    fn the_storage_the_page_cache_and_what_was_left() {
        let mut run = run(StorageKind::Device, Some((2_000_000, 6_000_000)));
        let bytes = run.bytes.as_mut().unwrap();
        bytes.dirty = Some(Dirty { bytes: 14_000_000, source: DirtySource::FileSets });
        bytes.drain = Some(Drain { ended: DrainEnd::Drained, elapsed_ns: 4_100_000_000, error: None });
        insta::assert_snapshot!(text(&run), @r"
        where the bytes went   read: app 2.5 MB/s = device 1.0 + page cache 1.5 (60 %)
                               written: app 10.0 MB/s, 3.0 on the device at the end, 14.0 MB still dirty, drained in 4.10 s
        ");
        on_storage(&mut run, StorageKind::Nfs, Some((6_000_000, 0)));
        let bytes = run.bytes.as_mut().unwrap();
        bytes.dirty = Some(Dirty { bytes: 0, source: DirtySource::Machine });
        bytes.drain = Some(Drain { ended: DrainEnd::Limit, elapsed_ns: 60_000_000_000, error: None });
        bytes.cold = Some(Cold::default());
        bytes.resident_before = Some(Residency { pages: 100_000, cached_pages: 1, ..Residency::default() });
        run.monitors.last_mut().unwrap().upper_bound = Some("the device is shared".into());
        insta::assert_snapshot!(text(&run), @r"
        where the bytes went   read: app 2.5 MB/s, wire 3.0 MB/s: more than was asked for (read ahead, metadata, or others)
                               written: app 10.0 MB/s, 0.0 on the wire at the end, 0 B more dirty on this machine than before, not drained within 60.0 s
                               cold: 0.01 % of the file sets in the page cache before the run
                               wire is an upper bound: the device is shared
        ");
    }

    #[test]
    fn each_interval_has_its_share() {
        let mut run = run(StorageKind::Device, Some((2_000_000, 6_000_000)));
        run.period_ns = Some(1);
        let read = |n: u64| MonitorInterval {
            monitor: "disk".into(),
            of: Some("sda1".into()),
            counters: [("bytes_read".to_owned(), n)].into(),
            ..MonitorInterval::default()
        };
        // 3.5 MB in 1.5 s, and 1.5 MB in 0.5 s.
        run.intervals[0].monitors = vec![read(1_500_000)];
        run.intervals[1].monitors = vec![read(500_000)];
        let shown = |run: &Run| {
            let Columns { headers, cells } = columns(run, &crate::summary::periods(run));
            (headers.join("|"), cells.iter().map(|row| row.join("|")).collect::<Vec<_>>())
        };
        assert_eq!(
            shown(&run),
            ("read from device|page cache|written to device".into(), vec!["1.0|57 %|-".into(), "1.0|67 %|-".into()])
        );
        run.period_cumulative = true;
        assert_eq!(shown(&run).1, ["1.0|57 %|-", "1.0|60 %|-"]);
        run.monitors.clear();
        assert_eq!(shown(&run), (String::new(), vec![String::new(); 2]), "nothing counts");
    }

    #[test]
    fn what_is_not_known_is_said_and_memory_is_memory() {
        let mut unknown = run(StorageKind::Unknown, None);
        unknown.bytes.as_mut().unwrap().storage.reason = Some("no counter\n".into());
        insta::assert_snapshot!(text(&unknown), @r"
        where the bytes went   read: app 2.5 MB/s, how much of it came from the page cache is not known (no counter\n)
                               written: app 10.0 MB/s
        ");
        insta::assert_snapshot!(text(&run(StorageKind::Memory, None)), @r"
        where the bytes went   read: app 2.5 MB/s, all of it from memory (tmpfs)
                               written: app 10.0 MB/s, all of it to memory (tmpfs)
        ");
        assert_eq!(text(&sample().runs[0]), "");
    }
}
