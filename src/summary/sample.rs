//! Records for the tests of what is said about one.

use crate::record::{
    BytesRecord, Counts, Ended, Environment, FlowopClass, FlowopRecord, Histogram, Interval, IntervalCounts,
    MonitorRecord, Run, RunRecord, SCHEMA_VERSION, StorageKind, StorageRecord, WarningRecord, WorkloadRecord,
};

/// Two flowops of one name and one that only waits, two seconds long, in figures that can be worked out by hand.
pub(crate) fn sample() -> RunRecord {
    RunRecord {
        schema_version: SCHEMA_VERSION.into(),
        wlrun: "0.1.0".into(),
        seed: 7,
        environment: Environment {
            memory_bytes: Some(24_000_000_000),
            target: Some("/mnt/nfs".into()),
            fs_type: Some("nfs4".into()),
            fs_source: Some("server:/export".into()),
            command: vec!["wlrun".into(), "twins".into()],
            ..Environment::default()
        },
        workload: WorkloadRecord {
            name: "twins".into(),
            hash: "fnv1a64:0123456789abcdef".into(),
            parameters: [("nfiles".into(), 10_000.into()), ("eventrate".into(), 1.5.into())].into(),
            files: 10_000,
            bytes: 1_250_000_000,
            processes: 1,
            threads: 3,
        },
        not_begun: None,
        runs: vec![run()],
    }
}

fn run() -> Run {
    Run {
        complete: true,
        valid: true,
        ended: Ended::Time,
        reason: None,
        elapsed_ns: 2_000_000_000,
        warmup_ns: 0,
        requested_ns: Some(2_000_000_000),
        period_ns: None,
        period_cumulative: false,
        lathist: false,
        flowops: vec![
            flowop("read1", FlowopClass::Read, "small", &[100_000, 200_000, 300_000, 400_000], 4_000_000),
            flowop("read1", FlowopClass::Read, "large", &[20_000, 40_000], 1_000_000),
            flowop("delay1", FlowopClass::Control, "large", &[1_000_000, 1_000_000, 1_000_000], 0),
        ],
        cpu_ns: 180_000,
        intervals: vec![
            Interval {
                start_ns: 0,
                end_ns: 1_500_000_000,
                flowops: vec![part(3, 3_000_000, 600_000), part(1, 500_000, 20_000), part(2, 0, 2_000_000)],
                monitors: vec![],
                latency: None,
                lag_ns: None,
            },
            Interval {
                start_ns: 1_500_000_000,
                end_ns: 2_000_000_000,
                flowops: vec![part(1, 1_000_000, 400_000), part(1, 500_000, 40_000), part(1, 0, 1_000_000)],
                monitors: vec![],
                latency: None,
                lag_ns: None,
            },
        ],
        bytes: None,
        calibration: Vec::new(),
        failures: vec![],
        warnings: vec![WarningRecord {
            code: "W003".into(),
            message: "the working set (1.25 GB) fits in memory (24.0 GB): reads measure this client's cache. Use a \
                      larger $nfiles."
                .into(),
        }],
        asserts: vec![],
        monitors: vec![],
        schedule: None,
        own_cost: None,
        run_delay_ns: None,
        suspended: false,
    }
}

/// The sample in which nothing was done.
pub(crate) fn idle() -> RunRecord {
    let mut record = sample();
    let run = &mut record.runs[0];
    for flowop in &mut run.flowops {
        flowop.counts = Counts::default();
        flowop.histogram = Histogram::default();
    }
    for interval in &mut run.intervals {
        interval.flowops.fill(IntervalCounts::default());
    }
    record
}

/// A flowop of process `reader` that took these times and read these bytes.
pub(crate) fn flowop(
    name: &str,
    class: FlowopClass,
    thread: &str,
    latencies_ns: &[u64],
    bytes_read: u64,
) -> FlowopRecord {
    let mut histogram = Histogram::default();
    latencies_ns.iter().for_each(|nanos| histogram.record(*nanos));
    FlowopRecord {
        name: name.into(),
        kind: name.trim_end_matches(|c: char| c.is_ascii_digit()).into(),
        class,
        process: "reader".into(),
        thread: thread.into(),
        instances: 1,
        iosize: None,
        random: false,
        direct: false,
        left_out: false,
        counts: Counts { ops: latencies_ns.len() as u64, bytes_read, ..Counts::default() },
        histogram,
        response: None,
        processes: vec![],
    }
}

fn part(ops: u64, bytes_read: u64, latency_sum_ns: u64) -> IntervalCounts {
    IntervalCounts { ops, bytes_read, latency_sum_ns, ..IntervalCounts::default() }
}

/// Storage of a kind below the file sets, `sda1` or `/mnt/nfs`, and how many bytes it read and wrote where it counts them.
pub(crate) fn on_storage(run: &mut Run, kind: StorageKind, moved: Option<(u64, u64)>) {
    let (monitor, name, keys) = match kind {
        StorageKind::Nfs => ("nfs", "/mnt/nfs", ["wire_bytes_read", "wire_bytes_written"]),
        _ => ("disk", "sda1", ["bytes_read", "bytes_written"]),
    };
    let storage = StorageRecord { kind, names: vec![name.into()], reason: None };
    run.bytes = Some(BytesRecord { storage, ..run.bytes.take().unwrap_or_default() });
    run.monitors.extend(moved.map(|(read, written)| MonitorRecord {
        monitor: monitor.into(),
        of: Some(name.into()),
        counters: keys.map(str::to_owned).into_iter().zip([read, written]).collect(),
        ..MonitorRecord::default()
    }));
}
