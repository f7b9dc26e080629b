//! What a reader must know about the figures of a run: each warning's test, its words, and what it means.

use crate::record::{
    DirtySource, Drain, DrainEnd, Ended, Environment, FlowopClass, FlowopRecord, Interval, LONGEST_NS, MonitorRecord,
    Residency, Run, StorageKind, WarningRecord, WorkloadRecord,
};
use crate::units;

/// A warning that a run may get.
pub struct WarningDef {
    /// `W003`; never given to another warning.
    pub code: &'static str,
    /// The warning in a few words.
    pub title: &'static str,
    /// What it means, what may have caused it, and which option helps.
    pub explanation: &'static str,
    /// The message with the run's figures; none where the warning does not apply.
    pub message: fn(&WorkloadRecord, &Run, &Environment) -> Option<String>,
}

/// The warning that whoever runs `system` lines gives.
pub const SYSTEM_FAILED: &str = "W007";

/// In the order of their codes.
pub static WARNINGS: &[WarningDef] = &[
    WarningDef {
        code: "W001",
        title: "the run ended early because no file was left",
        explanation: "A flowop creates, deletes or opens a file of a kind of which none was left: each file of the \
                      set exists already, or none does, and no other flowop changes that. The figures cover the \
                      time until then. They are right, but of a shorter run than was asked for, and its last part \
                      may differ from the rest.\n\n\
                      Use a larger $nfiles so that the files last for the whole run, leave some of them to be made \
                      (prealloc), or pair each createfile with a deletefile.",
        message: |workload, run, _| {
            (run.ended == Ended::RanDry)
                .then(|| format!("the files ran out: {}. Use {}.", covered(run), more_files(workload)))
        },
    },
    WarningDef {
        code: "W002",
        title: "a flowop was never executed",
        explanation: "The workload has a flowop that did not finish a single operation in the measured window, so \
                      the run does not measure what the workload describes. Either the run was too short for a \
                      thread to come to it, or an earlier flowop of the thread held the thread up, or there never \
                      was a file that it may use.\n\n\
                      Use a longer --runtime, or look at the order of the flowops and the number of files.",
        message: |_, run, _| never_executed(run),
    },
    WarningDef {
        code: "W003",
        title: "the working set fits in memory",
        explanation: "The files of the workload together are smaller than the memory of this machine. After the \
                      first pass their data is in the page cache, and a read is answered from there: the figures of \
                      reads are those of this machine's memory, not of the file system or the server.\n\n\
                      Use --cold, which empties the page cache before the run (a file that is read twice comes from there \
                      all the same), a larger $nfiles or $meanfilesize, at least twice the memory, or direct I/O where \
                      the workload offers it. Where the cache is what you mean to measure, nothing is wrong.",
        message: |workload, run, environment| fits_in_memory(workload, run, environment),
    },
    WarningDef {
        code: "W004",
        title: "operations failed",
        explanation: "The file system answered operations with an error. They are counted by flowop and errno, and \
                      are in no number of operations, rate or latency. A failing operation is often faster or \
                      slower than one that does its work, and a thread that meets many of them puts another load on \
                      the file system than the workload describes.\n\n\
                      Look at the error first: ENOSPC and EDQUOT want room, EMFILE wants a higher limit of \
                      descriptors, EIO and ESTALE want a look at the server.",
        message: |_, run, _| failed(run),
    },
    WarningDef {
        code: "W005",
        title: "the run was shorter than asked for",
        explanation: "The workload came to its own end before the time was up: its threads were done, or a \
                      finishoncount or finishonbytes was reached. The figures are right, but of a shorter run; a \
                      short run says little about the slow operations, and start and end weigh more in it.\n\n\
                      Use a larger count, or a --runtime that the workload does not reach the end of.",
        message: |_, run, _| {
            let short = run.requested_ns.is_some_and(|asked| run.elapsed_ns < asked);
            (short && matches!(run.ended, Ended::Done | Ended::Count))
                .then(|| format!("the workload came to its own end: {}", covered(run)))
        },
    },
    WarningDef {
        code: "W006",
        title: "threads only waited",
        explanation: "When the window closed, all threads of a flowop were waiting in it, and none of its waits had ended: \
                      a semaphore that nobody posts, a wakeup that nobody sends, a delay longer than the run. What \
                      stands behind that flowop was never done.\n\n\
                      Look who should end the wait, and whether that thread waits itself.",
        message: |_, run, _| {
            let waited = run.flowops.iter().filter(|f| {
                f.class == FlowopClass::Control
                    && f.counts.ops == 0
                    && f.instances > 0
                    && f.counts.in_flight == f.instances
            });
            let names: Vec<&str> = waited.map(|f| f.name.as_str()).collect();
            (!names.is_empty()).then(|| format!("all threads of {} waited until the end of the run", names.join(", ")))
        },
    },
    WarningDef {
        code: SYSTEM_FAILED,
        title: "a system line failed",
        explanation: "A `system` line of the workload ended with an exit code other than 0 before this run. As with \
                      filebench the run took place all the same: what the line should have prepared, such as a mount or \
                      a cache that is dropped, may not have been there.\n\n\
                      Run the line by hand.",
        // Noted where the line was run; the run's figures do not show it.
        message: |_, _, _| None,
    },
    WarningDef {
        code: "W008",
        title: "wlrun itself is a part of the figures",
        explanation: "What wlrun does for an operation beside the call itself (it chooses file, offset and data, reads the \
                      clock twice, counts) takes more than 1 % of the median latency of a flowop. The time of the call \
                      has at least one reading of the clock in it, and a thread could do more operations a second than \
                      this one did. wlrun measures its own cost before the run, with the run's own flowops on the \
                      engine null, each thread alone; on a busy machine it is more.\n\n\
                      Calls as short as this are answered from memory: use a working set that is not (W003). To compare \
                      such runs with each other nothing is wrong. --no-own-cost leaves the measurement out.",
        message: |_, run, _| own_cost(run),
    },
    WarningDef {
        code: "W009",
        title: "the processors were the limit",
        explanation: "The threads of the run wanted to go on and had no processor for more than a fifth of the time that they \
                      could have computed. Latencies have such waits in them, for a call that is over is noticed only when its \
                      thread runs again; a faster file system would not have made the figures much better.\n\n\
                      Use fewer threads ($nthreads), a machine with more processors, or keep other programs away while \
                      you measure.",
        message: |_, run, _| no_processor(run),
    },
    WarningDef {
        code: "W010",
        title: "the file sets were not cold",
        explanation: "--cold was given, and when the run began more than 1 % of the data of the file sets was in this \
                      machine's page cache all the same. Reads may have been answered from there.\n\n\
                      The kernel drops only pages that are clean and that nobody maps or locks: look for other programs \
                      that have the files open. A file system that lives in memory (tmpfs) is never cold. As root, \
                      --cold=drop-caches drops the cache of the whole machine; --prepare with a command that mounts the \
                      file system anew drops everything of it.",
        message: |_, run, _| not_cold(run),
    },
    WarningDef {
        code: "W011",
        title: "much of what was written was still in memory at the end",
        explanation: "At least half of what the run wrote was not on stable storage when it ended, or could not be \
                      brought there in the time that wlrun waits. The rate of writes is that of this machine's memory; \
                      the storage could not or did not have to keep up with it, and a longer run would have been slowed \
                      down to the storage's rate.\n\n\
                      Use a longer --runtime, flowops that write to stable storage (fsync, or dsync), or direct I/O. \
                      Where the cache is what you mean to measure, nothing is wrong.",
        message: |_, run, _| not_written(run),
    },
    WarningDef {
        code: "W012",
        title: "random requests were faster than sequential ones",
        explanation: "Two flowops of one type with requests of one size differ only in that one goes through its files at \
                      random, and that one was the faster. On no device is that so: most likely its data came from a cache, \
                      of this machine or of the server, or the sequential one competed with other threads.\n\n\
                      Use a larger $filesize or $nfiles, or direct I/O, and look at each of the two alone.",
        message: |_, run, _| random_is_faster(run),
    },
    WarningDef {
        code: "W013",
        title: "too few operations for p99.9",
        explanation: "Of fewer than 1,000 operations of a flowop, p99.9 is the slowest one: a single operation, which says \
                      nothing about how often that happens. In general the percentile that all but one of k operations do \
                      not exceed needs k operations at the least, and ten times as many to be much the same in the next \
                      run: p99 from 100, p99.9 from 1,000, p99.99 from 10,000 on.\n\n\
                      Use a longer --runtime, or read p95 and p99 only.",
        message: |_, run, _| few_operations(run),
    },
    WarningDef {
        code: "W014",
        title: "nothing is mounted at the mount point above the target",
        explanation: "/etc/fstab has a mount point above the directory of the run, and nothing is mounted there: the files are \
                      on the file system below it, which is most likely this machine's own disk, and so are the \
                      figures.\n\n\
                      Mount it, remove the files that this run has left below it, and run again.",
        message: |_, _, environment| {
            let (point, target) = (environment.unmounted.as_ref()?, environment.target.as_ref()?);
            let holder = environment.mount_point.as_deref().unwrap_or("another file system");
            Some(format!("{target} is on the file system of {holder}: nothing is mounted at {point} of /etc/fstab"))
        },
    },
    WarningDef {
        code: "W015",
        title: "the run was short",
        explanation: "The measured window was shorter than a second. Caches, connections and the threads themselves were still \
                      warming up, what the kernel writes back later was not written yet, and a single disturbance weighs \
                      much. The figures are right, and say little about the next second.\n\n\
                      Use a longer --runtime, a --warmup before it, or more files where the work itself ends the run.",
        message: |_, run, _| {
            let short = run.valid && run.elapsed_ns < 1_000_000_000;
            short.then(|| format!("the measured window was only {} long", units::duration(run.elapsed_ns)))
        },
    },
    WarningDef {
        code: "W016",
        title: "the clock is coarse",
        explanation: "A reading of this machine's clock takes more than 250 ns, or its steps are longer than a microsecond. Each \
                      latency has a reading in it and ends on a step, so short ones are wrong by as much. On most machines \
                      it is tsc that the kernel reads, in about 25 ns; where the kernel does not trust it, or within some \
                      virtual machines, it uses a slower source of time (hpet, acpi_pm).\n\n\
                      See /sys/devices/system/clocksource/clocksource0/available_clocksource, and the kernel's log for why \
                      tsc was left.",
        message: |_, run, _| coarse_clock(run),
    },
    WarningDef {
        code: "W017",
        title: "nothing finished for a whole interval",
        explanation: "In at least one interval no operation of any thread finished, while calls were under way: all that the \
                      run asked for waited for one thing. That may be a server that does not answer, a journal that is \
                      full, the kernel's write-back that stops all who write, or a machine that was halted.\n\n\
                      Look at the intervals of the record and at the kernel's log of that time. Where it is a part of \
                      what you measure, use a run that is long enough to have several.",
        message: |_, run, _| stalled(run),
    },
    WarningDef {
        code: "W018",
        title: "the run was stopped and went on",
        explanation: "wlrun got a signal to go on (SIGCONT) while it measured: somebody had stopped it with Ctrl-Z or SIGSTOP. The \
                      clock went on meanwhile, so rates are too low, and calls that were under way seem slow. A worker process \
                      that is stopped alone, by its own process id, is not noticed.\n\n\
                      Run it again, and let it run.",
        message: |_, run, _| {
            run.suspended
                .then(|| "wlrun was stopped while it measured; the time until it went on is in the figures".into())
        },
    },
    WarningDef {
        code: "W019",
        title: "operations took longer than the histograms reach",
        explanation: "Histograms reach to 2^43 ns, 2.4 hours. Operations that took longer are counted among those of that time: \
                      a percentile that falls on one of them is too low. Count, mean, deviation and the greatest latency \
                      are exact all the same.\n\n\
                      Look at the greatest latency, and at what the operation waited for.",
        message: |_, run, _| {
            let beyond: Vec<_> = active(run).filter(|(flowop, _)| flowop.histogram.max_ns > LONGEST_NS).collect();
            let list =
                few(&beyond, |(flowop, label)| format!("{label} ({})", units::duration(flowop.histogram.max_ns)));
            (!beyond.is_empty()).then(|| format!("the histograms end at {}: {list}", units::duration(LONGEST_NS)))
        },
    },
    WarningDef {
        code: "W020",
        title: "faster than the network",
        explanation: "The file sets are across a network, and their data went faster than the interfaces of this machine \
                      that took part in it can carry: what is above that rate did not cross the network, and is that of \
                      this client's page cache. The part that did is in the report under \"where the bytes went\".\n\n\
                      Use --cold or a larger $nfiles for reads, fsync or dsync for writes, or direct I/O for either. \
                      Where the cache is what you mean to measure, nothing is wrong.",
        message: |_, run, environment| above_line_rate(run, environment),
    },
];

/// A list that stays readable: the first three, and how many more there are.
fn few<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    let shown: Vec<String> = items.iter().take(3).map(show).collect();
    let rest = items.len() - shown.len();
    shown.join(", ") + &if rest > 0 { format!(" and {rest} more") } else { String::new() }
}

/// The rows that did I/O, with what a report calls them.
fn active(run: &Run) -> impl Iterator<Item = (&FlowopRecord, String)> {
    let labels = super::labels_of(&super::places(&run.flowops));
    run.flowops.iter().zip(labels).filter(|(flowop, _)| flowop.class.is_io() && flowop.counts.ops > 0)
}

fn own_cost(run: &Run) -> Option<String> {
    let own = run.own_cost.as_ref()?;
    // (per cent, own, median, label)
    let share = |(flowop, label): (&FlowopRecord, String)| {
        let (own, median) = (own.of(flowop)?, flowop.histogram.percentile_ns(50.0)?.max(1));
        Some((own * 100 / median, own, median, label)).filter(|_| own * 100 > median)
    };
    let mut shares: Vec<_> = active(run).filter_map(share).collect();
    shares.sort_by_key(|(percent, ..)| std::cmp::Reverse(*percent));
    let list = few(&shares, |(percent, own, median, label)| {
        format!("{label} ({} to {}, {percent} %)", units::duration(*own), units::duration(*median))
    });
    (!shares.is_empty()).then(|| format!("wlrun's own cost is more than 1 % of the median latency of {list}"))
}

fn no_processor(run: &Run) -> Option<String> {
    let waited = run.run_delay_ns?;
    let wanted = waited + run.cpu_ns;
    let threads: u64 = threads(run);
    // Threads that hardly computed may have waited for most of that without any harm.
    let matters = wanted > run.elapsed_ns.saturating_mul(threads) / 10;
    (matters && waited * 5 > wanted).then(|| {
        format!(
            "the threads waited for a processor for {} of the {} in which they wanted one",
            units::duration(waited),
            units::duration(wanted)
        )
    })
}

/// Instances of all threads.
fn threads(run: &Run) -> u64 {
    let mut last = None;
    run.flowops
        .iter()
        .filter(|flowop| last.replace((&flowop.process, &flowop.thread)) != Some((&flowop.process, &flowop.thread)))
        .map(|flowop| flowop.instances)
        .sum()
}

fn random_is_faster(run: &Run) -> Option<String> {
    /// So much is another order of magnitude than the page cache, where both are the same.
    const NO_CACHE_NS: u64 = 20_000;
    let rows: Vec<_> = active(run).filter(|(flowop, _)| flowop.counts.ops >= 1000 && flowop.iosize.is_some()).collect();
    let data = |flowop: &FlowopRecord| matches!(flowop.class, FlowopClass::Read | FlowopClass::Write);
    for (sequential, label) in rows.iter().filter(|(flowop, _)| !flowop.random && data(flowop)) {
        let alike = |flowop: &FlowopRecord| {
            let of = |flowop: &FlowopRecord| (flowop.kind.clone(), flowop.iosize, flowop.direct);
            flowop.random && of(flowop) == of(sequential)
        };
        for (random, other) in rows.iter().filter(|(flowop, _)| alike(flowop)) {
            let (slow, fast) = (sequential.histogram.percentile_ns(50.0)?, random.histogram.percentile_ns(50.0)?);
            if slow >= NO_CACHE_NS && fast < slow / 5 * 4 {
                let (slow, fast) = (units::duration(slow), units::duration(fast));
                return Some(format!(
                    "{other} is random and took {fast}, {label} is sequential and took {slow} (medians)"
                ));
            }
        }
    }
    None
}

fn few_operations(run: &Run) -> Option<String> {
    let rows: Vec<_> = active(run).filter(|(flowop, _)| flowop.counts.ops < 1000).collect();
    let list = few(&rows, |(flowop, label)| format!("{label} ({})", flowop.counts.ops));
    (!rows.is_empty()).then(|| format!("fewer than 1000 operations, so p99.9 is the slowest of them: {list}"))
}

fn coarse_clock(run: &Run) -> Option<String> {
    let own = run.own_cost.as_ref()?;
    let source = own.clocksource.as_deref().unwrap_or("unknown");
    (own.clock_ns > 250 || own.clock_step_ns > 1000).then(|| {
        let [reading, step] = [own.clock_ns, own.clock_step_ns].map(units::duration);
        format!("a reading of the clock takes {reading}, its least step is {step}; the source of time is {source}")
    })
}

fn stalled(run: &Run) -> Option<String> {
    /// A shorter last piece may well be empty.
    const LEAST_NS: u64 = 100_000_000;
    let ops = |interval: &Interval| {
        let rows = interval.flowops.iter().zip(&run.flowops);
        rows.filter(|(_, flowop)| flowop.class.is_io()).map(|(counts, _)| counts.ops).sum::<u64>()
    };
    let io = run.flowops.iter().filter(|flowop| flowop.class.is_io());
    let (longest, in_flight) = io.fold((0, 0), |(longest, in_flight), flowop| {
        (flowop.histogram.max_ns.max(longest), flowop.counts.in_flight + in_flight)
    });
    if run.flowops.iter().all(|flowop| !flowop.class.is_io() || flowop.counts.ops == 0) {
        // W002 has said so.
        return None;
    }
    // Each stretch of intervals without an operation.
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for interval in run.intervals.iter().filter(|interval| ops(interval) == 0) {
        match stretches.last_mut() {
            Some((_, end)) if *end == interval.start_ns => *end = interval.end_ns,
            _ => stretches.push((interval.start_ns, interval.end_ns)),
        }
    }
    let (start, end) = stretches.into_iter().max_by_key(|(start, end)| end - start)?;
    // Threads that wait for a time, for each other or for events are in no call.
    let in_a_call = longest >= end - start || in_flight > 0 && end == run.elapsed_ns;
    (in_a_call && end - start >= LEAST_NS).then(|| {
        let [from, to] = [start, end].map(units::duration);
        format!("no operation finished from {from} to {to}, and calls were under way")
    })
}

/// The warning with this code.
pub fn find(code: &str) -> Option<&'static WarningDef> {
    WARNINGS.iter().find(|w| w.code.eq_ignore_ascii_case(code))
}

/// What a reader must know about the figures of `run`, in the order of the codes.
///
/// For whoever makes a record, which keeps them; a report shows those that are kept.
pub fn warnings(workload: &WorkloadRecord, run: &Run, environment: &Environment) -> Vec<WarningRecord> {
    WARNINGS
        .iter()
        .filter_map(|def| {
            let message = (def.message)(workload, run, environment)?;
            Some(WarningRecord { code: def.code.into(), message })
        })
        .collect()
}

/// How much of what was asked for the figures are of.
fn covered(run: &Run) -> String {
    let asked = run.requested_ns.map(|asked| format!(" of the {} asked for", units::duration(asked)));
    format!("the figures cover {}{}", units::duration(run.elapsed_ns), asked.unwrap_or_default())
}

/// A workload that calls the number otherwise would look in vain for $nfiles.
fn more_files(workload: &WorkloadRecord) -> &'static str {
    match ["nfiles", "filesize"].map(|name| workload.parameters.contains_key(name)) {
        [true, _] => "a larger $nfiles",
        [_, true] => "a larger $filesize",
        _ => "more files",
    }
}

fn never_executed(run: &Run) -> Option<String> {
    let idle: Vec<String> = run
        .flowops
        .iter()
        .zip(super::labels_of(&super::places(&run.flowops)))
        // Where all operations of a flowop failed, W004 says so.
        .filter(|(f, _)| f.class.is_io() && !f.left_out && f.counts.ops == 0 && f.counts.error_count() == 0)
        .map(|(f, label)| match (f.counts.in_flight, f.counts.skipped) {
            (0, 0) => label,
            (0, skipped) => format!("{label} ({skipped} times there was no file it may use)"),
            (in_flight, _) => format!("{label} ({in_flight} begun, none finished)"),
        })
        .collect();
    (!idle.is_empty()).then(|| format!("never executed in the measured window: {}", idle.join(", ")))
}

/// True where it is known that reads measured the storage after all.
fn mostly_from_storage(run: &Run) -> bool {
    let read = super::BytesSummary::of(run).and_then(|bytes| bytes.read?.split);
    let cold = run.bytes.as_ref().is_some_and(|bytes| bytes.cold.is_some());
    cold && read.is_some_and(|split| split.page_cache_share < 0.1)
}

fn fits_in_memory(workload: &WorkloadRecord, run: &Run, environment: &Environment) -> Option<String> {
    let reads = run.flowops.iter().any(|f| f.class == FlowopClass::Read && !f.direct) && !mostly_from_storage(run);
    let why = cached(reads, workload.bytes, environment.memory_bytes)?;
    let cold = run.bytes.as_ref().is_some_and(|bytes| bytes.cold.is_some());
    Some(format!("{why}. Use {}{}.", if cold { "" } else { "--cold or " }, more_files(workload)))
}

/// W003's rule: reads through the page cache, of files that are smaller than the memory together. In words where that
/// is so.
///
/// `reads`: some reads are not direct. `bytes`: of all files, by their nominal sizes.
pub fn cached(reads: bool, bytes: u64, memory: Option<u64>) -> Option<String> {
    let memory = memory.filter(|memory| reads && bytes > 0 && bytes <= *memory)?;
    Some(format!(
        "the working set ({}) fits in memory ({}): reads measure this client's cache",
        units::bytes(bytes),
        units::bytes(memory),
    ))
}

/// Of what is in the page cache before a cold run, more is too much.
const COLD_SHARE: f64 = 0.01;

fn not_cold(run: &Run) -> Option<String> {
    let bytes = run.bytes.as_ref()?;
    let cold = bytes.cold.as_ref()?;
    if bytes.storage.kind == StorageKind::Memory {
        return Some(
            "the file sets are not cold: their file system (tmpfs) lives in the page cache and cannot be".into(),
        );
    }
    let failed = cold.failed.as_ref();
    let failed = failed.map(|(count, why)| format!("; {count} files could not be dropped ({why})")).unwrap_or_default();
    match &bytes.resident_before {
        Some(before) if before.files_unknown > 0 => Some(format!(
            "whether the file sets are cold is not known: {} of the {} files that were looked at show it to their owner \
             only{failed}",
            before.files_unknown, before.files_looked_at
        )),
        None => Some(format!("whether the file sets are cold is not known{failed}")),
        Some(before) => match before.share() {
            Some(share) if share > COLD_SHARE => Some(format!(
                "{:.1} % of the file sets ({}) was in the page cache when the run began{failed}",
                share * 100.0,
                units::bytes(before.cached_pages * before.page_bytes)
            )),
            _ => (!failed.is_empty()).then(|| format!("the file sets may not be cold{failed}")),
        },
    }
}

fn not_written(run: &Run) -> Option<String> {
    let bytes = run.bytes.as_ref()?;
    let written: u64 = run.flowops.iter().map(|f| f.counts.bytes_written).sum();
    if let Some(Drain { ended: DrainEnd::Limit | DrainEnd::Failed, elapsed_ns, error }) = &bytes.drain {
        let why = error.clone().unwrap_or_else(|| format!("it was waited {} for", units::duration(*elapsed_ns)));
        return Some(format!("what was written did not come to stable storage: {why}"));
    }
    let dirty = bytes.dirty.filter(|dirty| dirty.source == DirtySource::FileSets)?.bytes;
    // What was dirty before may be so still, and is not this run's.
    let before = bytes.resident_before.as_ref().and_then(Residency::dirty_bytes).unwrap_or(0);
    let dirty = dirty.saturating_sub(before).min(written);
    (written > 0 && dirty >= written.div_ceil(2)).then(|| {
        format!(
            "{} were written and {} were still in memory at the end: writes measure this client's cache. Use a longer \
             --runtime.",
            units::bytes(written),
            units::bytes(dirty)
        )
    })
}

/// An interface took part where it carried at least this part of what the busiest one did.
const TOOK_PART: u64 = 10;

/// What is said where the data of a remote file system went faster than the interfaces that carried it can.
fn above_line_rate(run: &Run, environment: &Environment) -> Option<String> {
    if !environment.by_network() || run.elapsed_ns == 0 {
        return None;
    }
    let bytes = |of: fn(&crate::record::Counts) -> u64| run.flowops.iter().map(|f| of(&f.counts)).sum::<u64>();
    let above = |bytes: u64, counter: &str, what: &str, rest: &str| {
        let carried = |link: &&MonitorRecord| link.counter(counter).unwrap_or(0);
        let links = || run.monitors.iter().filter(|monitor| monitor.monitor == "net" && monitor.missing.is_none());
        let most = links().map(|link| carried(&link)).max().filter(|most| *most > 0)?;
        let parts: Vec<_> = links().filter(|link| carried(link) >= most / TOOK_PART).collect();
        // The loopback has no speed, and neither have many virtual ones.
        let speeds = parts.iter().map(|link| link.facts.get("speed_bits_per_s").map(|bits| *bits as f64 / 8.0));
        let line = speeds.sum::<Option<f64>>()?;
        let rate = super::per_second(bytes, run.elapsed_ns);
        let names: Vec<&str> = parts.iter().filter_map(|link| link.of.as_deref()).collect();
        (rate > line).then(|| {
            let [rate, line] = [rate, line].map(|rate| super::Cell::BytesPerSecond(rate).to_string());
            format!("{what} of {rate} MB/s are more than {} carries ({line} MB/s): {rest}", names.join(" and "))
        })
    };
    let said = [
        above(bytes(|c| c.bytes_read), "bytes_received", "reads", "the rest came from this client's page cache"),
        above(bytes(|c| c.bytes_written), "bytes_sent", "writes", "the rest stayed in this client's page cache"),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn failed(run: &Run) -> Option<String> {
    let mut by_errno = std::collections::BTreeMap::new();
    for (errno, count) in run.flowops.iter().flat_map(|f| &f.counts.errors).filter(|(_, count)| **count > 0) {
        *by_errno.entry(errno).or_insert(0) += count;
    }
    let all: u64 = by_errno.values().sum();
    let list: Vec<String> = by_errno.iter().map(|(errno, count)| format!("{errno} x {count}")).collect();
    let (operations, are) = if all == 1 { ("operation", "is") } else { ("operations", "are") };
    (all > 0).then(|| format!("{all} {operations} failed ({}) and {are} in no rate or latency", list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BytesRecord, Cold, Dirty, MonitorRecord, OwnCost, Residency, RunRecord, ThreadCost};
    use crate::summary::sample::{idle, on_storage, sample};

    fn of(record: &RunRecord) -> Vec<String> {
        warnings(&record.workload, &record.runs[0], &record.environment)
            .into_iter()
            .map(|w| format!("{} {}", w.code, w.message))
            .collect()
    }

    /// The sample with operations enough for each percentile.
    fn busy() -> RunRecord {
        let mut record = sample();
        for flowop in &mut record.runs[0].flowops {
            (0..1000).for_each(|_| flowop.histogram.record(100_000));
            flowop.counts.ops += 1000;
        }
        record
    }

    /// The same with files that no memory holds: no warning is left.
    fn quiet() -> RunRecord {
        let mut record = busy();
        record.workload.bytes = 48_000_000_000;
        record
    }

    #[test]
    fn a_run_that_is_what_was_asked_for_has_none() {
        assert_eq!(of(&quiet()), [""; 0]);
    }

    #[test]
    fn w001_w005_an_early_end_is_told_once() {
        let mut record = quiet();
        let run = &mut record.runs[0];
        run.requested_ns = Some(60_000_000_000);
        run.ended = Ended::RanDry;
        assert_eq!(
            of(&record),
            ["W001 the files ran out: the figures cover 2.00 s of the 60.0 s asked for. Use a larger $nfiles."]
        );
        record.runs[0].ended = Ended::Count;
        assert_eq!(
            of(&record),
            ["W005 the workload came to its own end: the figures cover 2.00 s of the 60.0 s asked for"]
        );
        record.runs[0].requested_ns = None;
        assert_eq!(of(&record), [""; 0]);
    }

    #[test]
    fn w002_names_each_flowop_and_not_those_that_only_wait() {
        let mut record = idle();
        record.workload.bytes = 0;
        record.runs[0].flowops[0].counts.in_flight = 2;
        record.runs[0].flowops[1].name = "stat1".into();
        assert_eq!(of(&record), ["W002 never executed in the measured window: read1 (2 begun, none finished), stat1"]);
        record.runs[0].flowops[0].counts.errors = [("EIO".into(), 1)].into();
        assert_eq!(
            of(&record),
            [
                "W002 never executed in the measured window: stat1",
                "W004 1 operation failed (EIO x 1) and is in no rate or latency"
            ]
        );
    }

    #[test]
    fn w003_wants_reads_and_bytes_and_a_memory_that_is_known() {
        let mut record = busy();
        assert_eq!(
            of(&record),
            ["W003 the working set (1.25 GB) fits in memory (24.0 GB): reads measure this client's cache. \
              Use --cold or a larger $nfiles."]
        );
        record.workload.parameters.clear();
        assert!(of(&record)[0].ends_with("Use --cold or more files."));
        record.workload.bytes = 0;
        assert_eq!(of(&record), [""; 0]);
        record.workload.bytes = 1;
        record.environment.memory_bytes = None;
        assert_eq!(of(&record), [""; 0]);
        record.environment.memory_bytes = Some(2);
        assert_eq!(of(&record).len(), 1);
        let mut direct = record.clone();
        direct.runs[0].flowops.iter_mut().for_each(|f| f.direct = true);
        assert_eq!(of(&direct), [""; 0], "direct reads do not come from the cache");
        record.runs[0].flowops.iter_mut().for_each(|f| f.class = FlowopClass::Write);
        assert_eq!(of(&record), [""; 0]);
    }

    #[test]
    fn w004_adds_up_over_the_flowops() {
        let mut record = quiet();
        record.runs[0].flowops[0].counts.errors = [("ENOENT".into(), 2), ("EIO".into(), 1)].into();
        record.runs[0].flowops[1].counts.errors = [("ENOENT".into(), 3), ("EAGAIN".into(), 0)].into();
        assert_eq!(of(&record), ["W004 6 operations failed (EIO x 1, ENOENT x 5) and are in no rate or latency"]);
    }

    #[test]
    fn w008_is_of_the_flowops_whose_median_is_below_a_hundred_times_the_own_cost() {
        let mut record = quiet();
        let cost = |ns_per_op| ThreadCost { process: "reader".into(), thread: "small".into(), ns_per_op };
        record.runs[0].own_cost = Some(OwnCost { threads: vec![cost(1_000)], ..OwnCost::default() });
        assert_eq!(of(&record), [""; 0], "1 % of 100 us, and a thread whose cost is not known");
        record.runs[0].own_cost = Some(OwnCost { threads: vec![cost(2_500)], ..OwnCost::default() });
        assert_eq!(
            of(&record),
            ["W008 wlrun's own cost is more than 1 % of the median latency of reader.small.read1 \
              (2.50 us to 100 us, 2 %)"]
        );
    }

    #[test]
    fn w009_wants_waits_that_matter() {
        let mut record = quiet();
        // Two threads for 2 s: a tenth of their time is 400 ms.
        (record.runs[0].cpu_ns, record.runs[0].run_delay_ns) = (320_000_000, Some(80_000_000));
        assert_eq!(of(&record), [""; 0], "a fifth, and no more than a tenth of the time");
        (record.runs[0].cpu_ns, record.runs[0].run_delay_ns) = (400_000_000, Some(101_000_000));
        assert_eq!(
            of(&record),
            ["W009 the threads waited for a processor for 101 ms of the 501 ms in which they wanted one"]
        );
        record.runs[0].cpu_ns = 405_000_000;
        assert_eq!(of(&record), [""; 0]);
    }

    #[test]
    fn w012_compares_like_with_like() {
        let mut record = quiet();
        let run = &mut record.runs[0];
        for (at, nanos) in [(0, 50_000), (1, 70_000)] {
            let flowop = &mut run.flowops[at];
            flowop.histogram = Default::default();
            (0..1000).for_each(|_| flowop.histogram.record(nanos));
            flowop.iosize = Some(4096);
        }
        run.flowops[0].random = true;
        assert_eq!(
            of(&record),
            ["W012 reader.small.read1 is random and took 50.0 us, reader.large.read1 is sequential and took 70.0 us \
              (medians)"]
        );
        let mut other = record.clone();
        other.runs[0].flowops[1].iosize = Some(8192);
        assert_eq!(of(&other), [""; 0], "another size");
        let mut other = record.clone();
        other.runs[0].flowops[1].direct = true;
        assert_eq!(of(&other), [""; 0], "one by the page cache, one not");
        record.runs[0].flowops.swap(0, 1);
        record.runs[0].flowops[0].random = true;
        record.runs[0].flowops[1].random = false;
        assert_eq!(of(&record), [""; 0], "the sequential one is faster, as it should be");
    }

    #[test]
    fn w013_counts_operations_of_io() {
        let mut record = quiet();
        record.runs[0].flowops[0].counts.ops = 999;
        record.runs[0].flowops[2].counts.ops = 1;
        assert_eq!(
            of(&record),
            ["W013 fewer than 1000 operations, so p99.9 is the slowest of them: reader.small.read1 (999)"]
        );
        record.runs[0].flowops[0].counts.ops = 1000;
        assert_eq!(of(&record), [""; 0]);
    }

    #[test]
    fn w010_says_how_much_was_left_and_that_memory_cannot_be_cold() {
        let mut record = quiet();
        let before = Residency { page_bytes: 4096, pages: 1000, cached_pages: 10, ..Residency::default() };
        record.runs[0].bytes = Some(BytesRecord { resident_before: Some(before), ..BytesRecord::default() });
        assert_eq!(of(&record), [""; 0], "nobody asked for cold files");
        let bytes = |record: &mut RunRecord, change: &dyn Fn(&mut BytesRecord)| {
            change(record.runs[0].bytes.as_mut().unwrap());
            of(record)
        };
        assert_eq!(bytes(&mut record, &|bytes| bytes.cold = Some(Cold::default())), [""; 0], "1 % may stay");
        let found = bytes(&mut record, &|bytes| bytes.resident_before.as_mut().unwrap().cached_pages = 11);
        assert_eq!(found, ["W010 1.1 % of the file sets (45.1 kB) was in the page cache when the run began"]);
        let found = bytes(&mut record, &|bytes| bytes.cold.as_mut().unwrap().failed = Some((2, "EACCES".into())));
        assert!(found[0].ends_with("; 2 files could not be dropped (EACCES)"), "{found:?}");
        let found = bytes(&mut record, &|bytes| bytes.resident_before.as_mut().unwrap().files_unknown = 3);
        assert!(found[0].contains("is not known: 3 of the"), "{found:?}");
        let found = bytes(&mut record, &|bytes| bytes.storage.kind = StorageKind::Memory);
        assert!(found[0].contains("tmpfs"), "{found:?}");
    }

    #[test]
    fn w011_wants_half_of_what_was_written_or_a_drain_that_did_not_end() {
        let mut record = quiet();
        record.runs[0].flowops[0].counts.bytes_written = 1000;
        let dirty = |bytes, source| Some(Dirty { bytes, source });
        for (dirty, warned) in [
            (None, false),
            (dirty(499, DirtySource::FileSets), false),
            (dirty(500, DirtySource::FileSets), true),
            (dirty(1000, DirtySource::Machine), false),
        ] {
            record.runs[0].bytes = Some(BytesRecord { dirty, ..BytesRecord::default() });
            assert_eq!(of(&record).iter().any(|w| w.starts_with("W011 1.00 kB were written")), warned, "{dirty:?}");
        }
        let before =
            Residency { page_bytes: 1, dirty_pages: Some(400), writeback_pages: Some(1), ..Residency::default() };
        let (dirty, resident_before) = (dirty(900, DirtySource::FileSets), Some(before));
        record.runs[0].bytes = Some(BytesRecord { dirty, resident_before, ..BytesRecord::default() });
        assert_eq!(of(&record), [""; 0], "401 bytes of them may have been dirty before");
        let drain = |ended| Some(Drain { ended, elapsed_ns: 60_000_000_000, error: None });
        record.runs[0].bytes = Some(BytesRecord { drain: drain(DrainEnd::Limit), ..BytesRecord::default() });
        assert_eq!(of(&record), ["W011 what was written did not come to stable storage: it was waited 60.0 s for"]);
        record.runs[0].bytes = Some(BytesRecord { drain: drain(DrainEnd::Skipped), ..BytesRecord::default() });
        assert_eq!(of(&record), [""; 0]);
    }

    #[test]
    fn w014_w015_w016_w018_say_what_they_found() {
        let mut record = quiet();
        record.environment.unmounted = Some("/mnt/nfs".into());
        record.environment.mount_point = Some("/".into());
        let run = &mut record.runs[0];
        run.elapsed_ns = 999_000_000;
        run.suspended = true;
        run.own_cost =
            Some(OwnCost { clock_ns: 900, clock_step_ns: 280, clocksource: Some("hpet".into()), threads: vec![] });
        assert_eq!(
            of(&record),
            [
                "W014 /mnt/nfs is on the file system of /: nothing is mounted at /mnt/nfs of /etc/fstab",
                "W015 the measured window was only 999 ms long",
                "W016 a reading of the clock takes 900 ns, its least step is 280 ns; the source of time is hpet",
                "W018 wlrun was stopped while it measured; the time until it went on is in the figures",
            ]
        );
        record.environment.unmounted = None;
        let run = &mut record.runs[0];
        (run.elapsed_ns, run.suspended) = (1_000_000_000, false);
        run.own_cost = Some(OwnCost { clock_ns: 250, clock_step_ns: 1000, ..OwnCost::default() });
        assert_eq!(of(&record), [""; 0]);
    }

    #[test]
    fn w017_wants_a_call_as_long_as_the_gap() {
        let mut record = quiet();
        record.runs[0].intervals[1].flowops.iter_mut().for_each(|counts| counts.ops = 0);
        assert_eq!(of(&record), [""; 0], "the calls took at most 400 us: the threads were somewhere else");
        record.runs[0].flowops[0].histogram.record(500_000_000);
        assert_eq!(of(&record), ["W017 no operation finished from 1.50 s to 2.00 s, and calls were under way"]);
        record.runs[0].intervals[1].flowops[2].ops = 7;
        assert_eq!(of(&record).len(), 1, "what only waits is no operation");
        record.runs[0].intervals[1].flowops[1].ops = 1;
        assert_eq!(of(&record), [""; 0]);
        let mut record = quiet();
        record.runs[0].intervals[1].flowops.iter_mut().for_each(|counts| counts.ops = 0);
        record.runs[0].flowops[1].counts.in_flight = 1;
        assert_eq!(of(&record).len(), 1, "it has not come back");
    }

    #[test]
    fn w019_names_what_is_beyond_the_range() {
        let mut record = quiet();
        record.runs[0].flowops[0].histogram.record(LONGEST_NS);
        assert_eq!(of(&record), [""; 0]);
        record.runs[0].flowops[0].histogram.record(LONGEST_NS + 1);
        assert!(of(&record)[0].starts_with("W019 the histograms end at "), "{:?}", of(&record));
        let mut record = quiet();
        record.runs[0].flowops[0].histogram.record(LONGEST_NS + 1);
        assert_eq!(of(&record).len(), 1);
    }

    #[test]
    fn w020_is_of_the_links_that_took_part_and_says_nothing_of_one_whose_speed_is_not_known() {
        let mut record = quiet();
        record.environment.fs_type = Some("nfs4".into());
        let link = |name: &str, received: u64, speed: Option<u64>| MonitorRecord {
            monitor: "net".into(),
            of: Some(name.into()),
            counters: [("bytes_received".to_owned(), received), ("bytes_sent".to_owned(), 1000)].into(),
            facts: speed.map(|speed| ("speed_bits_per_s".to_owned(), speed)).into_iter().collect(),
            ..MonitorRecord::default()
        };
        // 5 MB in 2 s are 20 Mbit/s.
        let with = |record: &RunRecord, links: &[MonitorRecord]| {
            let mut record = record.clone();
            record.runs[0].monitors = links.to_vec();
            of(&record)
        };
        let slow = link("eth0", 100_000, Some(10_000_000));
        assert_eq!(
            with(&record, std::slice::from_ref(&slow)),
            [
                "W020 reads of 2.5 MB/s are more than eth0 carries (1.2 MB/s): the rest came from this client's page cache"
            ]
        );
        assert_eq!(with(&record, &[link("eth0", 100_000, Some(20_000_000))]), [""; 0]);
        assert_eq!(with(&record, &[slow.clone(), link("eth1", 90_000, Some(11_000_000))]), [""; 0], "both carried it");
        assert_eq!(with(&record, &[slow.clone(), link("eth1", 900, Some(11_000_000))]).len(), 1, "only one did");
        assert_eq!(with(&record, &[slow.clone(), link("tun0", 90_000, None)]), [""; 0]);
        assert_eq!(with(&record, &[slow.clone(), link("lo", 90_000, None)]), [""; 0], "the server is this machine");
        record.environment.fs_type = Some("ext4".into());
        assert_eq!(with(&record, &[slow]), [""; 0]);
    }

    #[test]
    fn w003_is_not_said_of_a_cold_run_whose_reads_came_from_storage() {
        let mut record = sample();
        let run = &mut record.runs[0];
        on_storage(run, StorageKind::Device, Some((4_900_000, 0)));
        let bytes = run.bytes.as_mut().unwrap();
        (bytes.cold, bytes.resident_before) = (Some(Cold::default()), Some(Residency::default()));
        let is_said = |record: &RunRecord| of(record).iter().any(|w| w.starts_with("W003"));
        assert!(!is_said(&record));
        record.runs[0].monitors.clear();
        on_storage(&mut record.runs[0], StorageKind::Device, Some((1_000_000, 0)));
        assert!(is_said(&record), "most came from the page cache all the same");
    }

    #[test]
    fn codes_are_in_order_and_found_in_either_case() {
        assert!(WARNINGS.windows(2).all(|w| w[0].code < w[1].code));
        assert_eq!(find("w003").map(|w| w.code), Some("W003"));
        assert!(find("W999").is_none());
    }
}
