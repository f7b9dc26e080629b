//! The report for people. ASCII but for the names of others, so that it can be read under `LANG=C`.

use super::table::Table;
use super::{ending, line_of, plural};
use crate::record::{Environment, Failure, MonitorRecord, Run, RunRecord, WorkloadRecord};
use crate::summary::{Cell, Figures, METRICS, Row, RunSummary, Summary, assertion, periods};
use crate::units;
use std::fmt::Write as _;

/// The whole report.
pub(super) fn render(record: &RunRecord) -> String {
    let mut out = header(record);
    if record.runs.is_empty() {
        out.push_str("\n\nno run took place\n");
        return out;
    }
    out.push('\n');
    for (at, (run, summary)) in record.runs.iter().zip(Summary::of(record).runs).enumerate() {
        out.push('\n');
        if record.runs.len() > 1 {
            let _ = writeln!(out, "run {} of {}  {}", at + 1, record.runs.len(), units::duration(run.elapsed_ns));
        }
        block(&mut out, run, &summary, &record.environment);
    }
    own_cost(&mut out, record);
    out.push_str("MB = 10^6 bytes\n");
    out
}

/// `own cost 140 to 310 ns an operation, 24 ns a reading of the clock`, where it is known.
fn own_cost(out: &mut String, record: &RunRecord) {
    let known = || record.runs.iter().filter_map(|run| run.own_cost.as_ref());
    let Some(clock) = known().map(|cost| cost.clock_ns).next() else { return };
    let each = || known().flat_map(|cost| &cost.threads).map(|cost| cost.ns_per_op);
    let each = match (each().min(), each().max()) {
        (Some(least), Some(most)) if least < most => {
            format!("{} to {} an operation, ", units::duration(least), units::duration(most))
        }
        (Some(all), _) => format!("{} an operation, ", units::duration(all)),
        (None, _) => String::new(),
    };
    let _ = writeln!(out, "own cost {each}{} a reading of the clock", units::duration(clock));
}

/// One line: what was run, on what, by how many, for how long.
fn header(record: &RunRecord) -> String {
    let workload = &record.workload;
    let mut parts = vec![
        format!("wlrun {}", line_of(&record.wlrun)),
        line_of(&workload.name),
        files(workload, &record.environment),
        workers(workload),
    ];
    // Several runs have a time each, which stands above their tables.
    if let [run] = record.runs.as_slice() {
        parts.push(units::duration(run.elapsed_ns));
    }
    parts.push(format!("seed {}", record.seed));
    parts.join("  ")
}

/// `10000 files, 1.25 GB in /mnt/nfs (nfs4, server:/export)`.
fn files(workload: &WorkloadRecord, environment: &Environment) -> String {
    let on_devices = environment.devices.iter().fold(0u64, |sum, device| sum.saturating_add(device.bytes));
    let devices = devices(environment, on_devices);
    let mut text = match (workload.files, devices) {
        (0, Some(devices)) => return devices,
        (0, None) => "no files".to_owned(),
        (files, devices) => {
            let bytes = units::bytes(workload.bytes.saturating_sub(on_devices));
            let before = devices.map(|devices| devices + ", ").unwrap_or_default();
            format!("{before}{}, {bytes}", plural(files, "file", "files"))
        }
    };
    if let Some(target) = &environment.target {
        let _ = write!(text, " in {}", line_of(target));
        let mount: Vec<String> =
            [&environment.fs_type, &environment.fs_source].into_iter().flatten().map(|t| line_of(t)).collect();
        if !mount.is_empty() {
            let _ = write!(text, " ({})", mount.join(", "));
        }
    }
    text
}

/// `1 device, 64 MB /dev/loop0`; none where there is none.
fn devices(environment: &Environment, bytes: u64) -> Option<String> {
    let paths: Vec<String> = environment.devices.iter().map(|device| line_of(&device.path)).collect();
    let count = paths.len() as u64;
    (count > 0).then(|| format!("{}, {} {}", plural(count, "device", "devices"), units::bytes(bytes), paths.join(" ")))
}

/// `1 process x 50 threads`. Several processes may have unlike numbers of threads, so there the sum is shown.
fn workers(workload: &WorkloadRecord) -> String {
    let by = if workload.processes == 1 { " x " } else { ", " };
    plural(workload.processes, "process", "processes") + by + &plural(workload.threads, "thread", "threads")
}

fn block(out: &mut String, run: &Run, summary: &RunSummary, environment: &Environment) {
    out.push_str(&table(summary));
    totals(out, summary);
    out.push_str(&super::bytes::lines(run, summary.bytes.as_ref()));
    monitors(out, run, environment);
    out.push_str(&super::calibration::table(run));
    responses(out, run, summary);
    if run.period_ns.is_some() {
        out.push_str(&intervals(run));
    }
    if run.lathist {
        histograms(out, run, summary);
    }
    for row in &summary.rows {
        let errors = &row.figures.counts.errors;
        if !errors.is_empty() {
            let list: Vec<String> = errors.iter().map(|(name, count)| format!("{} x {count}", line_of(name))).collect();
            let _ = writeln!(out, "  {}: {}", line_of(&row.label), list.join(", "));
        }
    }
    for failure in run.failures.iter().take(MOST_FAILURES) {
        let _ = writeln!(out, "failed: {}", line_of(&in_words(failure)));
    }
    if let more @ 1.. = run.failures.len().saturating_sub(MOST_FAILURES) {
        let _ = writeln!(out, "failed: {more} more, which are in the record (--json)");
    }
    for line in ending(run) {
        let _ = writeln!(out, "{line}");
    }
    for assert in &run.asserts {
        let _ = writeln!(out, "{}", line_of(&assertion::line(assert)));
    }
    for warning in &run.warnings {
        let _ = writeln!(out, "warning: {} {}", line_of(&warning.code), line_of(&warning.message));
    }
}

/// Failures that are shown one by one: a file system that breaks may fail each of a thousand threads.
const MOST_FAILURES: usize = 20;

/// What went through devices, NFS mounts and, where the target is across a network, its interfaces. What had nothing to do
/// says nothing.
fn monitors(out: &mut String, run: &Run, environment: &Environment) {
    let by_network = environment.by_network();
    for monitor in &run.monitors {
        let of = monitor.of.as_deref().unwrap_or_default();
        let flow = |names: [&str; 2], words: [&str; 2]| {
            let rate = |name: &str| monitor.counter(name).unwrap_or(0) as f64 * 1e9 / run.elapsed_ns.max(1) as f64;
            let rates = names.into_iter().map(rate).zip(words).filter(|(rate, _)| *rate > 0.0);
            let shown: Vec<String> =
                rates.map(|(rate, word)| format!("{} MB/s {word}", Cell::BytesPerSecond(rate))).collect();
            (!shown.is_empty()).then(|| shown.join(", "))
        };
        let said = match monitor.monitor.as_str() {
            "disk" => {
                flow(["bytes_read", "bytes_written"], ["read", "written"]).map(|flow| format!("device {of}: {flow}"))
            }
            "nfs" if monitor.operation.is_none() => nfs(run, monitor, flow).map(|said| format!("nfs {of}: {said}")),
            "net" if by_network => {
                flow(["bytes_received", "bytes_sent"], ["received", "sent"]).map(|flow| format!("net {of}: {flow}"))
            }
            _ => None,
        };
        let Some(said) = said else { continue };
        let bound = monitor.upper_bound.as_ref().map(|why| format!(" (upper bound: {why})")).unwrap_or_default();
        let _ = writeln!(out, "{}", line_of(&format!("{said}{bound}")));
    }
}

/// `application 3.0 MB/s read; wire 1.0 MB/s read; 120 RPCs (READ 80, GETATTR 40), 0 sent again`.
fn nfs(run: &Run, mount: &MonitorRecord, flow: impl Fn([&str; 2], [&str; 2]) -> Option<String>) -> Option<String> {
    let names = ["read", "written"];
    let flows = [
        ("application", flow(["app_bytes_read", "app_bytes_written"], names)),
        ("application by O_DIRECT", flow(["app_direct_bytes_read", "app_direct_bytes_written"], names)),
        ("wire", flow(["wire_bytes_read", "wire_bytes_written"], names)),
    ];
    let mut said: Vec<String> =
        flows.into_iter().filter_map(|(name, flow)| Some(format!("{name} {}", flow?))).collect();
    if let Some(rpcs) = mount.counter("rpcs").filter(|rpcs| *rpcs > 0) {
        let mut operations: Vec<(u64, &str)> = run
            .monitors
            .iter()
            .filter(|other| (&other.monitor, &other.of) == (&mount.monitor, &mount.of))
            .filter_map(|other| Some((other.counter("rpcs")?, other.operation.as_deref()?)))
            .collect();
        operations.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let most: Vec<String> = operations.iter().take(6).map(|(count, name)| format!("{name} {count}")).collect();
        let rest = if operations.len() > most.len() { ", ..." } else { "" };
        let again = mount.counter("retransmissions").unwrap_or(0);
        let ops: u64 = run.flowops.iter().filter(|f| f.class.is_io()).map(|f| f.counts.ops).sum();
        let each =
            if ops > 0 { format!(", {:.2} for each operation", rpcs as f64 / ops as f64) } else { String::new() };
        said.push(format!("{rpcs} RPCs{each} ({}{rest}), {again} sent again", most.join(", ")));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// The flowops with a schedule again, by the time from the moment that they were due; and how the schedule was kept.
fn responses(out: &mut String, run: &Run, summary: &RunSummary) {
    let total = ("total", &summary.total.figures);
    let rows = summary.rows.iter().map(|row| (row.label.as_str(), &row.figures)).chain([total]);
    let rows: Vec<_> = rows.filter_map(|(label, figures)| Some((label, figures.response.as_ref()?))).collect();
    if !rows.is_empty() {
        let mut table = Table::new(["from the due time", "mean", "p50", "p95", "p99", "p99.9", "min", "max"]);
        for (label, l) in rows {
            let nanos = [l.mean.round() as u64, l.p50, l.p95, l.p99, l.p99_9, l.min, l.max];
            table.push(std::iter::once(line_of(label)).chain(nanos.map(units::duration)));
        }
        out.push_str(&table.render());
    }
    if let Some(schedule) = &run.schedule {
        let [most, end] = [schedule.lag_max_ns, schedule.lag_end_ns].map(units::duration);
        let _ = write!(out, "behind schedule: at most {most}, {end} at the end");
        if schedule.dropped_events > 0 {
            let _ = write!(out, "; {} came to nothing", plural(schedule.dropped_events, "event", "events"));
        }
        out.push('\n');
    }
}

/// The intervals of a `psrun`, all I/O together.
fn intervals(run: &Run) -> String {
    let headers = if run.period_cumulative {
        ["from the start", "ops so far", "ops/s so far", "MB/s so far", "mean so far"]
    } else {
        ["interval", "ops", "ops/s", "MB/s", "mean"]
    };
    let periods = periods(run);
    let storage = super::bytes::columns(run, &periods);
    let mut table = Table::new(headers.into_iter().chain(storage.headers.iter().map(String::as_str)));
    for (period, storage) in periods.iter().zip(storage.cells) {
        let total = &period.figures.total;
        let cells = [
            format!("{} - {}", units::duration(period.start_ns), units::duration(period.end_ns)),
            total.counts.ops.to_string(),
            format!("{:.1}", total.ops_per_s),
            format!("{:.1}", total.bytes_per_s / 1e6),
            total.latency_mean_ns.map_or_else(|| "-".to_owned(), |mean| units::duration(mean.round() as u64)),
        ];
        table.push(cells.into_iter().chain(storage));
    }
    table.render()
}

/// A line for each flowop: how many operations took how long, by powers of two.
fn histograms(out: &mut String, run: &Run, summary: &RunSummary) {
    for (flowop, row) in run.flowops.iter().zip(&summary.rows).filter(|(_, row)| !row.left_out) {
        let counts = flowop.histogram.by_power_of_two();
        let ranges = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let shown: Vec<String> =
            ranges.map(|(power, count)| format!("{count} below {}", units::duration(1 << power))).collect();
        let shown = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
        let _ = writeln!(out, "latencies of {}: {shown}", line_of(&row.label));
    }
}

/// The flowops, their total, and below it what is not in it.
fn table(summary: &RunSummary) -> String {
    let metrics = || METRICS.iter().filter(|m| m.in_table);
    let cells = |figures: &Figures| metrics().map(|m| (m.value)(figures).to_string()).collect::<Vec<_>>();
    let (io, control): (Vec<&Row>, Vec<&Row>) =
        summary.rows.iter().filter(|row| !row.left_out).partition(|row| row.class.is_io());
    let mut table = Table::new(std::iter::once("flowop").chain(metrics().map(|m| m.header)));
    for row in io {
        table.push(std::iter::once(line_of(&row.label)).chain(cells(&row.figures)));
    }
    table.push(std::iter::once("total".to_owned()).chain(cells(&summary.total.figures)));
    for row in control {
        table.push(std::iter::once(format!("{} (not in total)", line_of(&row.label))).chain(cells(&row.figures)));
    }
    table.render()
}

/// `reads 4945 ops/s 689.1 MB/s   writes 9891 ops/s 691.8 MB/s   CPU 31.0 us/op   errors 0`, and what else there was.
fn totals(out: &mut String, summary: &RunSummary) {
    let total = &summary.total;
    let counts = &total.figures.counts;
    let flow = |name: &str, ops: f64, bytes: f64| match Cell::BytesPerSecond(bytes) {
        Cell::BytesPerSecond(0.0) => format!("{name} {} ops/s", whole(ops)),
        cell => format!("{name} {} ops/s {cell} MB/s", whole(ops)),
    };
    let cpu = total.cpu_ns_per_op.map_or("-".into(), |nanos| units::duration(nanos.round() as u64) + "/op");
    let line = [
        flow("reads", total.reads_per_s, total.bytes_read_per_s),
        flow("writes", total.writes_per_s, total.bytes_written_per_s),
        format!("CPU {cpu}"),
        format!("errors {}", counts.error_count()),
    ];
    let _ = writeln!(out, "{}", line.join("   "));
    let rest: Vec<String> =
        [("auto opens", counts.auto_opens), ("skipped", counts.skipped), ("in flight at the end", counts.in_flight)]
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
    if !rest.is_empty() {
        let _ = writeln!(out, "{}", rest.join("   "));
    }
}

/// A rate within a line, where no column of decimals wants to line up: none from 100 on.
fn whole(rate: f64) -> String {
    if rate >= 99.95 { format!("{rate:.0}") } else { Cell::PerSecond(rate).to_string() }
}

/// `reader.0 small.3 read1: pread: ... (EIO)`.
fn in_words(failure: &Failure) -> String {
    let place = [Some(&failure.process), failure.thread.as_ref(), failure.flowop.as_ref()];
    let place: Vec<&str> = place.into_iter().flatten().map(String::as_str).collect();
    // The message has it as a rule, in the words of the kernel.
    let errno = failure.errno.as_ref().filter(|name| !failure.message.contains(name.as_str()));
    let errno = errno.map(|name| format!(" ({name})")).unwrap_or_default();
    format!("{}: {}{errno}", place.join(" "), failure.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::DeviceRecord;
    use crate::record::{Ended, FlowopClass};
    use crate::summary::sample::{flowop, idle, sample};

    #[test]
    fn the_sample() {
        // 4 MB and 1 MB in 2 s; (250 * 4 + 30 * 2) us / 6 = 177 us; of six, rank 3 is 100 us and rank 6 is 400 us.
        insta::assert_snapshot!(render(&sample()), @r"
        wlrun 0.1.0  twins  10000 files, 1.25 GB in /mnt/nfs (nfs4, server:/export)  1 process x 3 threads  2.00 s  seed 7

        flowop                 ops  ops/s   MB/s     mean      p50      p95      p99    p99.9      min      max
        reader.small.read1       4    2.0    2.0   250 us   200 us   400 us   400 us   400 us   100 us   400 us
        reader.large.read1       2    1.0  0.500  30.0 us  20.0 us  40.0 us  40.0 us  40.0 us  20.0 us  40.0 us
        total                    6    3.0    2.5   177 us   100 us   400 us   400 us   400 us  20.0 us   400 us
        delay1 (not in total)    3    1.5      -  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms
        reads 3.0 ops/s 2.5 MB/s   writes 0.0 ops/s   CPU 30.0 us/op   errors 0
        warning: W003 the working set (1.25 GB) fits in memory (24.0 GB): reads measure this client's cache. Use a larger $nfiles.
        MB = 10^6 bytes
        ");
    }

    #[test]
    fn nothing_was_done() {
        let mut record = idle();
        record.runs[0].elapsed_ns = 0;
        record.runs[0].warnings.clear();
        insta::assert_snapshot!(render(&record), @r"
        wlrun 0.1.0  twins  10000 files, 1.25 GB in /mnt/nfs (nfs4, server:/export)  1 process x 3 threads  0 ns  seed 7

        flowop                 ops  ops/s  MB/s  mean  p50  p95  p99  p99.9  min  max
        reader.small.read1       0    0.0     -     -    -    -    -      -    -    -
        reader.large.read1       0    0.0     -     -    -    -    -      -    -    -
        total                    0    0.0     -     -    -    -    -      -    -    -
        delay1 (not in total)    0    0.0     -     -    -    -    -      -    -    -
        reads 0.0 ops/s   writes 0.0 ops/s   CPU -   errors 0
        MB = 10^6 bytes
        ");
    }

    #[test]
    fn interrupted_with_errors_and_all_that_is_shown_only_where_it_happened() {
        let mut record = sample();
        let run = &mut record.runs[0];
        run.complete = false;
        run.valid = false;
        run.ended = Ended::Interrupted;
        run.reason = Some("interrupted by SIGINT".into());
        run.requested_ns = Some(60_000_000_000);
        run.flowops.push(flowop("write1", FlowopClass::Write, "large", &[5_000; 300], 0));
        run.flowops[3].counts.bytes_written = 1_228_800;
        run.flowops[3].counts.auto_opens = 300;
        run.flowops[3].counts.in_flight = 2;
        run.flowops[0].counts.errors = [("EIO".into(), 1), ("ENOENT".into(), 2)].into();
        // 1.2288 MB in 2 s; (1060 + 300 * 5) us / 306 = 8.37 us; 180 us / 306 = 588 ns. Of 306, rank 303 (p99) is the
        // third of 20, 40, 100, 200, 300, 400 us; p50 and p95 are the middle of the bucket 4992 to 5023 ns.
        run.failures.push(Failure {
            process: "reader.0".into(),
            thread: Some("small.0".into()),
            flowop: Some("read1".into()),
            errno: Some("EIO".into()),
            message: "read 4096 bytes at 0 of /mnt/nfs/a\n: Input/output error".into(),
        });
        insta::assert_snapshot!(render(&record), @r"
        wlrun 0.1.0  twins  10000 files, 1.25 GB in /mnt/nfs (nfs4, server:/export)  1 process x 3 threads  2.00 s  seed 7

        flowop                 ops  ops/s   MB/s     mean      p50      p95      p99    p99.9      min      max
        reader.small.read1       4    2.0    2.0   250 us   200 us   400 us   400 us   400 us   100 us   400 us
        reader.large.read1       2    1.0  0.500  30.0 us  20.0 us  40.0 us  40.0 us  40.0 us  20.0 us  40.0 us
        write1                 300  150.0  0.614  5.00 us  5.00 us  5.00 us  5.00 us  5.00 us  5.00 us  5.00 us
        total                  306  153.0    3.1  8.37 us  5.01 us  5.01 us   100 us   400 us  5.00 us   400 us
        delay1 (not in total)    3    1.5      -  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms
        reads 3.0 ops/s 2.5 MB/s   writes 150 ops/s 0.614 MB/s   CPU 588 ns/op   errors 3
        auto opens 300   in flight at the end 2
          reader.small.read1: EIO x 1, ENOENT x 2
        failed: reader.0 small.0 read1: read 4096 bytes at 0 of /mnt/nfs/a\n: Input/output error (EIO)
        run incomplete: interrupted by SIGINT after 2.00 s
        warning: W003 the working set (1.25 GB) fits in memory (24.0 GB): reads measure this client's cache. Use a larger $nfiles.
        MB = 10^6 bytes
        ");
    }

    #[test]
    fn of_very_many_failures_only_the_first_are_shown() {
        let mut record = sample();
        let failure = |thread: usize| Failure {
            process: "reader.0".into(),
            thread: Some(format!("small.{thread}")),
            flowop: None,
            errno: Some("EIO".into()),
            message: "close of f/00000001 at the end of the thread: Input/output error (EIO)".into(),
        };
        for (failures, shown) in [(MOST_FAILURES, MOST_FAILURES), (MOST_FAILURES + 980, MOST_FAILURES + 1)] {
            record.runs[0].failures = (0..failures).map(failure).collect();
            let text = render(&record);
            assert_eq!(text.lines().filter(|line| line.starts_with("failed: ")).count(), shown);
            assert_eq!(text.contains("failed: 980 more"), failures > shown);
        }
    }

    fn monitor(monitor: &str, of: &str, operation: Option<&str>, counters: &[(&str, u64)]) -> MonitorRecord {
        MonitorRecord {
            monitor: monitor.into(),
            of: Some(of.into()),
            operation: operation.map(str::to_owned),
            counters: counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            ..MonitorRecord::default()
        }
    }

    #[test]
    fn devices_mounts_and_interfaces_that_had_something_to_do_say_so() {
        let mut record = sample();
        let shared = MonitorRecord {
            upper_bound: Some("the device is shared".into()),
            ..monitor("disk", "sda", None, &[("bytes_read", 24_600_000), ("bytes_written", 176_200_000)])
        };
        let missing = MonitorRecord { missing: Some("none".into()), ..monitor("disk", "sdx", None, &[]) };
        let app = [("app_bytes_read", 4_000_000), ("wire_bytes_read", 2_000_000), ("rpcs", 7)];
        let mut monitors = vec![
            shared,
            monitor("disk", "sdb", None, &[("bytes_read", 0), ("bytes_written", 0), ("flushes", 3)]),
            missing,
            monitor("nfs", "/mnt/nfs", None, &app),
            monitor("nfs", "/mnt/nfs", Some("READ"), &[("rpcs", 2)]),
            monitor("nfs", "/mnt/nfs", Some("GETATTR"), &[("rpcs", 5)]),
            monitor("nfs", "/mnt/other", Some("READ"), &[("rpcs", 9)]),
            monitor("net", "eth0", None, &[("bytes_received", 2_200_000), ("bytes_sent", 100)]),
            monitor("cpu", "", None, &[("user_ns", 9)]),
        ];
        record.runs[0].monitors.append(&mut monitors);
        let lines = |record: &RunRecord| -> Vec<String> {
            let text = render(record);
            let lines = text.lines().skip_while(|line| !line.starts_with("reads ")).skip(1);
            lines.take_while(|line| !line.starts_with("warning")).map(str::to_owned).collect()
        };
        // In 2 s.
        assert_eq!(
            lines(&record),
            [
                "device sda: 12.3 MB/s read, 88.1 MB/s written (upper bound: the device is shared)",
                "nfs /mnt/nfs: application 2.0 MB/s read; wire 1.0 MB/s read; 7 RPCs, 1.17 for each operation (GETATTR 5, READ 2), 0 sent again",
                "net eth0: 1.1 MB/s received, 0.000 MB/s sent",
            ]
        );
        record.environment.fs_type = Some("ext4".into());
        assert_eq!(lines(&record).len(), 2, "the network has nothing to do with a local file system");
    }

    #[test]
    fn a_psrun_shows_its_intervals() {
        let mut record = sample();
        record.runs[0].period_ns = Some(1_500_000_000);
        let text = render(&record);
        let from = text.find("interval").unwrap();
        let lines: Vec<&str> = text[from..].lines().take(3).collect();
        assert_eq!(
            lines,
            [
                "interval         ops  ops/s  MB/s    mean",
                "0 ns - 1.50 s      4    2.7   2.3  155 us",
                "1.50 s - 2.00 s    2    4.0   3.0  220 us",
            ]
        );
    }

    #[test]
    fn a_cumulative_psrun_names_its_columns_so() {
        let mut record = sample();
        record.runs[0].period_ns = Some(1_500_000_000);
        record.runs[0].period_cumulative = true;
        let text = render(&record);
        let from = text.find("from the start").unwrap();
        let lines: Vec<&str> = text[from..].lines().take(3).collect();
        assert_eq!(
            lines,
            [
                "from the start  ops so far  ops/s so far  MB/s so far  mean so far",
                "0 ns - 1.50 s            4           2.7          2.3       155 us",
                "0 ns - 2.00 s            6           3.0          2.5       177 us",
            ]
        );
    }

    #[test]
    fn latencies_are_shown_where_they_are_asked_for() {
        let mut record = sample();
        assert!(!render(&record).contains("latencies of"));
        record.runs[0].lathist = true;
        let text = render(&record);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("latencies of")).collect();
        // 100 us is below 2^17 ns; 200 below 2^18; 300 and 400 below 2^19. 20 us is below 2^15, 40 below 2^16.
        assert_eq!(
            lines,
            [
                "latencies of reader.small.read1: 1 below 131 us, 1 below 262 us, 2 below 524 us",
                "latencies of reader.large.read1: 1 below 32.8 us, 1 below 65.5 us",
                "latencies of delay1: 3 below 1.05 ms",
            ]
        );
    }

    #[test]
    fn several_runs_have_a_block_each() {
        let mut record = sample();
        record.runs[0].warnings.clear();
        let mut second = record.runs[0].clone();
        second.elapsed_ns = 1_000_000_000;
        second.ended = Ended::Count;
        second.reason = Some("count1 reached 6 operations".into());
        second.flowops.pop();
        record.runs.push(second);
        insta::assert_snapshot!(render(&record), @r"
        wlrun 0.1.0  twins  10000 files, 1.25 GB in /mnt/nfs (nfs4, server:/export)  1 process x 3 threads  seed 7

        run 1 of 2  2.00 s
        flowop                 ops  ops/s   MB/s     mean      p50      p95      p99    p99.9      min      max
        reader.small.read1       4    2.0    2.0   250 us   200 us   400 us   400 us   400 us   100 us   400 us
        reader.large.read1       2    1.0  0.500  30.0 us  20.0 us  40.0 us  40.0 us  40.0 us  20.0 us  40.0 us
        total                    6    3.0    2.5   177 us   100 us   400 us   400 us   400 us  20.0 us   400 us
        delay1 (not in total)    3    1.5      -  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms
        reads 3.0 ops/s 2.5 MB/s   writes 0.0 ops/s   CPU 30.0 us/op   errors 0

        run 2 of 2  1.00 s
        flowop              ops  ops/s  MB/s     mean      p50      p95      p99    p99.9      min      max
        reader.small.read1    4    4.0   4.0   250 us   200 us   400 us   400 us   400 us   100 us   400 us
        reader.large.read1    2    2.0   1.0  30.0 us  20.0 us  40.0 us  40.0 us  40.0 us  20.0 us  40.0 us
        total                 6    6.0   5.0   177 us   100 us   400 us   400 us   400 us  20.0 us   400 us
        reads 6.0 ops/s 5.0 MB/s   writes 0.0 ops/s   CPU 30.0 us/op   errors 0
        run ended after 1.00 s of 2.00 s: count1 reached 6 operations
        MB = 10^6 bytes
        ");
    }

    #[test]
    fn names_are_never_cut_and_may_be_any_text() {
        let mut record = sample();
        record.runs[0].flowops[0].name = "n".repeat(100);
        record.runs[0].flowops[1].name = "st é中".into();
        let text = render(&record);
        assert!(text.contains(&"n".repeat(100)));
        assert!(text.contains("st é中 "));
    }

    #[test]
    fn what_is_not_known_is_left_out_of_the_header() {
        let mut record = sample();
        record.environment = Environment::default();
        record.workload.files = 0;
        record.workload.processes = 2;
        record.runs.clear();
        assert_eq!(
            render(&record),
            "wlrun 0.1.0  twins  no files  2 processes, 3 threads  seed 7\n\nno run took place\n"
        );
        record.workload.files = 1;
        record.workload.threads = 1;
        record.workload.processes = 1;
        record.environment.target = Some("/mnt".into());
        assert!(render(&record).contains("  1 file, 1.25 GB in /mnt  1 process x 1 thread  seed 7\n"));
    }

    #[test]
    fn devices_stand_before_files_and_have_their_own_bytes() {
        let mut record = sample();
        let device = |path: &str, bytes| DeviceRecord { path: path.into(), bytes, size_bytes: 1 << 30 };
        record.environment.devices = vec![device("/dev/sdb", 250_000_000)];
        assert!(render(&record).contains("  1 device, 250 MB /dev/sdb, 10000 files, 1.00 GB in /mnt/nfs (nfs4"));
        record.environment.devices.push(device("/dev/sdc", 1_000_000_000));
        record.workload.files = 0;
        assert!(render(&record).contains("  2 devices, 1.25 GB /dev/sdb /dev/sdc  1 process"), "{}", render(&record));
        let again = crate::report::json::read(&crate::report::json::render(&record)).unwrap();
        assert_eq!(again, record);
    }

    #[test]
    fn all_but_names_is_ascii() {
        assert!(render(&sample()).is_ascii());
    }
}
