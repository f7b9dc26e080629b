//! How long the threads of the workers were ready to run and had no processor: `/proc/PID/task/*/schedstat`, and how often
//! they gave theirs up or lost it: `/proc/PID/task/*/status`.
//!
//! Two files for each thread are dear. They are read when the window begins and when it ends; at the end of each interval
//! only where there are few threads. A thread that comes to its end reads its own and says what they were, so that nothing
//! is lost with it.

use super::{FigureDef, Moment, MonitorDef, Opened, Row, Site, Source, counter};
use crate::sys::describe;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) static DEF: MonitorDef = MonitorDef {
    name: "rundelay",
    summary: "how long the workers' threads waited for a processor; of intervals only up to 64 threads",
    figures: FIGURES,
    open: |site| Opened::one(Tasks::open(site)),
};

static FIGURES: &[FigureDef] = &[
    counter("run_delay_ns", "ready to run, and without a processor"),
    counter("run_time_ns", "on a processor"),
    counter("voluntary_switches", "times that a thread gave its processor up to wait for something"),
    counter("involuntary_switches", "times that a thread lost its processor to another"),
];

/// Threads that are looked at each interval: about a millisecond of work.
const FEW: usize = 64;

/// What a thread has had of processors since its own start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scheduled {
    /// The thread's number for the kernel.
    pub tid: u32,
    /// Nanoseconds.
    pub run_delay_ns: u64,
    /// Nanoseconds.
    pub run_time_ns: u64,
    /// A number.
    pub voluntary_switches: u64,
    /// A number.
    pub involuntary_switches: u64,
}

impl Scheduled {
    /// Of the calling thread; none where the kernel does not show it.
    pub fn own() -> Option<Self> {
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        Scheduled::read(Path::new("/proc/thread-self"), tid).ok()
    }

    fn read(directory: &Path, tid: u32) -> std::io::Result<Self> {
        let read = |name: &str| std::fs::read_to_string(directory.join(name));
        let mut scheduled = parse(&read("schedstat")?).unwrap_or_default();
        let status = read("status")?;
        let switches = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
        scheduled.tid = tid;
        scheduled.voluntary_switches = switches("voluntary_ctxt_switches:").unwrap_or(0);
        scheduled.involuntary_switches = switches("nonvoluntary_ctxt_switches:").unwrap_or(0);
        Ok(scheduled)
    }

    fn figures(&self) -> [u64; 4] {
        [self.run_delay_ns, self.run_time_ns, self.voluntary_switches, self.involuntary_switches]
    }
}

/// Nanoseconds on a processor, nanoseconds in its queue, and a number of times.
fn parse(schedstat: &str) -> Option<Scheduled> {
    let [run_time_ns, run_delay_ns, _] = super::numbers(schedstat)[..] else { return None };
    Some(Scheduled { run_time_ns, run_delay_ns, ..Scheduled::default() })
}

#[derive(Debug)]
struct Tasks {
    /// `/proc/PID/task` of each worker.
    directories: Vec<PathBuf>,
    /// The last that is known of each thread, also of those that have ended.
    threads: BTreeMap<u32, Scheduled>,
    /// Of all of them.
    sum: [u64; 4],
}

impl Tasks {
    fn open(site: &Site<'_>) -> Result<Self, String> {
        let proc = site.root.join("proc");
        let directories: Vec<PathBuf> = site.pids.iter().map(|pid| proc.join(pid.to_string()).join("task")).collect();
        let own = proc.join("self/schedstat");
        // A kernel without these figures has no such file; a worker that is gone already has none either.
        std::fs::metadata(&own).map_err(|error| format!("{} cannot be read: {}", own.display(), describe(&error)))?;
        Ok(Tasks { directories, threads: BTreeMap::new(), sum: [0; 4] })
    }

    fn note(&mut self, thread: &Scheduled) {
        let before = self.threads.insert(thread.tid, *thread).unwrap_or_default().figures();
        for (sum, (now, before)) in self.sum.iter_mut().zip(thread.figures().into_iter().zip(before)) {
            *sum += now.saturating_sub(before);
        }
    }

    fn row(&self) -> Vec<Row> {
        let names = FIGURES.iter().map(|def| def.name);
        vec![Row::new(names.zip(self.sum).collect())]
    }
}

impl Source for Tasks {
    fn read(&mut self, moment: Moment) -> Result<Vec<Row>, String> {
        if moment == Moment::Interval && self.threads.len() > FEW {
            return Ok(Vec::new());
        }
        for directory in self.directories.clone() {
            // A worker or a thread that has ended has said what there is to say.
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
                if let Ok(thread) = Scheduled::read(&entry.path(), tid) {
                    self.note(&thread);
                }
            }
        }
        Ok(self.row())
    }

    fn ended(&mut self, thread: &Scheduled) -> Option<Vec<Row>> {
        self.note(thread);
        Some(self.row())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(root: &Path, pid: u32, tid: u32, schedstat: &str, switches: [u64; 2]) {
        let directory = root.join(format!("proc/{pid}/task/{tid}"));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("schedstat"), schedstat).unwrap();
        let [voluntary, involuntary] = switches;
        let status =
            format!("Name:\tx\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n");
        std::fs::write(directory.join("status"), status).unwrap();
    }

    fn tasks(root: &Path, pids: &[u32]) -> Tasks {
        std::fs::create_dir_all(root.join("proc/self")).unwrap();
        std::fs::write(root.join("proc/self/schedstat"), "0 0 0\n").unwrap();
        Tasks::open(&Site { root, targets: &[], pids }).unwrap()
    }

    #[test]
    fn threads_add_up_and_one_that_ended_keeps_what_it_said() {
        let root = tempfile::tempdir().unwrap();
        task(root.path(), 10, 10, "5 1 9\n", [1, 2]);
        task(root.path(), 10, 11, "100 40 9\n", [10, 20]);
        task(root.path(), 20, 20, "7 3 9\n", [0, 0]);
        let mut tasks = tasks(root.path(), &[10, 20, 30]);
        let values = |rows: Vec<Row>| rows[0].figures.iter().map(|(_, value)| *value).collect::<Vec<_>>();
        assert_eq!(values(tasks.read(Moment::Edge).unwrap()), [44, 112, 11, 22]);
        std::fs::remove_dir_all(root.path().join("proc/10/task/11")).unwrap();
        assert_eq!(values(tasks.read(Moment::Edge).unwrap()), [44, 112, 11, 22], "it does not go down");
        let said =
            Scheduled { tid: 11, run_delay_ns: 45, run_time_ns: 106, voluntary_switches: 17, involuntary_switches: 28 };
        assert_eq!(values(tasks.ended(&said).unwrap()), [49, 118, 18, 30]);
    }

    #[test]
    fn many_threads_are_not_looked_at_each_interval() {
        let root = tempfile::tempdir().unwrap();
        (0..=FEW as u32).for_each(|tid| task(root.path(), 1, tid, "1 1 1\n", [1, 1]));
        let mut tasks = tasks(root.path(), &[1]);
        assert_eq!(tasks.read(Moment::Edge).unwrap()[0].figure("run_delay_ns"), Some(FEW as u64 + 1));
        assert!(tasks.read(Moment::Interval).unwrap().is_empty());
        assert!(!tasks.read(Moment::Edge).unwrap().is_empty());
    }

    #[test]
    fn a_line_of_another_form_is_nothing() {
        assert_eq!(parse("12 34"), None);
        let thread = parse("12 34 5\n").unwrap();
        assert_eq!((thread.run_time_ns, thread.run_delay_ns), (12, 34));
    }
}
