//! What a reader must know about the figures of a run: each warning's test, its words, and what it means.

use crate::record::{
    DirtySource, Drain, DrainEnd, Ended, Environment, FlowopClass, Run, StorageKind, WarningRecord, WorkloadRecord,
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
];

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
        .zip(super::labels(&super::places(&run.flowops)))
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
    let memory = environment.memory_bytes?;
    let reads = run.flowops.iter().any(|f| f.class == FlowopClass::Read && !f.direct);
    if !reads || workload.bytes == 0 || workload.bytes > memory || mostly_from_storage(run) {
        return None;
    }
    Some(format!(
        "the working set ({}) fits in memory ({}): reads measure this client's cache. Use --cold or {}.",
        units::bytes(workload.bytes),
        units::bytes(memory),
        more_files(workload)
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
    (written > 0 && dirty >= written.div_ceil(2)).then(|| {
        format!(
            "{} were written and {} were still in memory at the end: writes measure this client's cache. Use a longer \
             --runtime.",
            units::bytes(written),
            units::bytes(dirty)
        )
    })
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
    use crate::record::{BytesRecord, Cold, Dirty, Moved, Residency, RunRecord};
    use crate::summary::sample::{idle, sample};

    fn of(record: &RunRecord) -> Vec<String> {
        warnings(&record.workload, &record.runs[0], &record.environment)
            .into_iter()
            .map(|w| format!("{} {}", w.code, w.message))
            .collect()
    }

    /// The sample with files that no memory holds: no warning is left.
    fn quiet() -> RunRecord {
        let mut record = sample();
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
        let mut record = sample();
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
        let drain = |ended| Some(Drain { ended, elapsed_ns: 60_000_000_000, error: None });
        record.runs[0].bytes = Some(BytesRecord { drain: drain(DrainEnd::Limit), ..BytesRecord::default() });
        assert_eq!(of(&record), ["W011 what was written did not come to stable storage: it was waited 60.0 s for"]);
        record.runs[0].bytes = Some(BytesRecord { drain: drain(DrainEnd::Skipped), ..BytesRecord::default() });
        assert_eq!(of(&record), [""; 0]);
    }

    #[test]
    fn w003_is_not_said_of_a_cold_run_whose_reads_came_from_storage() {
        let mut record = sample();
        let moved = |read_bytes| Some(Moved { read_bytes, written_bytes: 0 });
        let cold = Some(Cold::default());
        let resident_before = Some(Residency::default());
        record.runs[0].bytes =
            Some(BytesRecord { moved: moved(4_900_000), cold, resident_before, ..BytesRecord::default() });
        assert_eq!(of(&record), [""; 0]);
        record.runs[0].bytes.as_mut().unwrap().moved = moved(1_000_000);
        assert!(of(&record)[0].starts_with("W003"), "most came from the page cache all the same");
    }

    #[test]
    fn codes_are_in_order_and_found_in_either_case() {
        assert!(WARNINGS.windows(2).all(|w| w[0].code < w[1].code));
        assert_eq!(find("w003").map(|w| w.code), Some("W003"));
        assert!(find("W999").is_none());
    }
}
