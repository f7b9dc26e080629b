//! What this machine can carry, checked before anything is started: an objection with both numbers is better than a
//! failure half-way, and better than a machine that swaps.

use crate::plan::{ProcessPlan, RunPlan, ThreadPlan};
use crate::record::{counters, memory};
use serde::Serialize;
use std::fs;

/// Memory mappings of one thread: its stack and guard page, its signal stack and guard page, its buffer.
const MAPS_PER_THREAD: u64 = 5;
/// Memory mappings of a helper thread: as above, without a buffer.
const MAPS_PER_HELPER: u64 = 4;
/// Mappings of a process before its threads: binary, libraries, heap, the shared region.
const MAPS_OF_PROCESS: u64 = 200;
/// Kernel stack, user stack and bookkeeping of a thread that does little.
const BYTES_PER_THREAD: u64 = 40 << 10;
/// A process of ours at the gate.
const BYTES_PER_PROCESS: u64 = 2 << 20;
/// Bookkeeping of an operation that may be outstanding, without its data.
const BYTES_PER_OUTSTANDING: u64 = 256;
/// Pages of a histogram that a flowop's latencies usually fall into.
const BYTES_PER_FLOWOP: u64 = 12 << 10;

/// Threads and processes that are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tasks {
    /// How many more.
    pub possible: u64,
    /// Whose limit it is.
    pub limit: &'static str,
}

/// What a run needs of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// OS processes, the controller not counted.
    pub processes: u64,
    /// Threads of all of them that do the workload.
    pub threads: u64,
    /// Threads beside them that carry out what aioread and aiowrite submit.
    pub helpers: u64,
    /// Operations that all threads may have submitted at the same time.
    pub outstanding: u64,
    /// Threads of the process with the most mappings.
    pub threads_in_one: u64,
    /// Helpers of that process.
    pub helpers_in_one: u64,
    /// Memory mappings of that process, about.
    pub maps: u64,
    /// How many are possible (vm.max_map_count), where that is known.
    pub maps_possible: Option<u64>,
    /// Threads and processes that are possible, by whose limit.
    pub tasks_possible: Vec<Tasks>,
    /// Bytes of the threads' buffers, as far as memsize says.
    #[serde(rename = "buffer_bytes")]
    pub buffers: u64,
    /// Bytes of stacks and bookkeeping of threads, helpers and processes, about.
    #[serde(rename = "stack_bytes")]
    pub stacks: u64,
    /// Bytes of bookkeeping of what is submitted, without its data.
    #[serde(rename = "outstanding_bytes")]
    pub bookkeeping: u64,
    /// Bytes of counters and histograms that are used, about.
    #[serde(rename = "histogram_bytes")]
    pub histograms: u64,
    /// Bytes of memory that are available.
    #[serde(rename = "available_bytes")]
    pub available: Option<u64>,
    /// Bytes of address space of the counters, most of which cost nothing.
    #[serde(rename = "counter_address_bytes")]
    pub counters: u64,
    /// Processes that can be watched: a descriptor each.
    pub processes_possible: Option<u64>,
    /// Descriptors that one process may have open.
    pub descriptors_possible: u64,
}

impl Needs {
    /// `helpers` are the most that the engine starts for a thread.
    pub(super) fn of(run: &RunPlan, one_process: bool, helpers: u64) -> Self {
        let threads = run.thread_count();
        let processes = if one_process { 1 } else { run.process_count() };
        let helpers_of = |thread: &ThreadPlan| thread.outstanding().min(helpers);
        let helpers = sum(run, helpers_of);
        let in_process = |process: &ProcessPlan| [process.thread_count(), sum_of(process, helpers_of)];
        let [threads_in_one, helpers_in_one] = if one_process {
            [threads, helpers]
        } else {
            run.processes.iter().map(in_process).max_by_key(maps).unwrap_or_default()
        };
        let flowops: u64 = sum(run, |thread| thread.counter_rows() as u64);
        let outstanding = sum(run, ThreadPlan::outstanding);
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        Needs {
            processes,
            threads,
            helpers,
            outstanding,
            threads_in_one,
            helpers_in_one,
            maps: maps(&[threads_in_one, helpers_in_one]).saturating_add(MAPS_OF_PROCESS),
            maps_possible: number("/proc/sys/vm/max_map_count"),
            tasks_possible: task_limits(),
            buffers: sum(run, |thread| thread.memsize),
            stacks: threads
                .saturating_add(helpers)
                .saturating_mul(BYTES_PER_THREAD)
                .saturating_add(processes.saturating_mul(BYTES_PER_PROCESS)),
            bookkeeping: outstanding.saturating_mul(BYTES_PER_OUTSTANDING),
            histograms: flowops.saturating_mul(BYTES_PER_FLOWOP),
            available: memory("MemAvailable"),
            counters: flowops.saturating_mul(counters::FLOWOP_BYTES as u64),
            // A descriptor watches each process; a few are the controller's own.
            processes_possible: (!one_process).then(|| files.saturating_sub(32)),
            descriptors_possible: files,
        }
    }

    /// Bytes of memory in all.
    pub fn memory(&self) -> u64 {
        [self.stacks, self.bookkeeping, self.histograms].into_iter().fold(self.buffers, u64::saturating_add)
    }

    /// Why the run cannot be done here; empty where it can.
    pub fn objections(&self) -> Vec<String> {
        let mut found = Vec::new();
        let Needs { processes, threads, helpers, threads_in_one, helpers_in_one, .. } = *self;
        if let Some(limit) = self.maps_possible
            && self.maps > limit
        {
            let free = limit.saturating_sub(MAPS_OF_PROCESS);
            found.push(match helpers_in_one {
                0 => format!(
                    "{threads_in_one} threads in one process are asked for, and {} are possible (vm.max_map_count is {limit})",
                    free / MAPS_PER_THREAD
                ),
                _ => format!(
                    "{threads_in_one} threads{} in one process need {} memory mappings, and {free} are possible \
                     (vm.max_map_count is {limit})",
                    and_helpers(helpers_in_one),
                    maps(&[threads_in_one, helpers_in_one])
                ),
            });
        }
        let tasks = threads.saturating_add(processes).saturating_add(helpers);
        for Tasks { possible: limit, limit: name } in &self.tasks_possible {
            if tasks > *limit {
                found.push(format!(
                    "{}{} in {} are asked for, and {limit} tasks are possible ({name})",
                    count(threads, "thread", "threads"),
                    and_helpers(helpers),
                    count(processes, "process", "processes"),
                ));
            }
        }
        let needed = self.memory();
        if let Some(available) = self.available
            && needed > available
        {
            found.push(format!(
                "the workers need about {} of memory ({} of it buffers, memsize), and {} are available",
                crate::units::bytes(needed),
                crate::units::bytes(self.buffers),
                crate::units::bytes(available),
            ));
        }
        if self.counters > 1 << 46 {
            found.push(format!("the counters of {threads} threads do not fit an address space"));
        }
        if let Some(possible) = self.processes_possible
            && processes > possible
        {
            let files = self.descriptors_possible;
            found.push(format!(
                "{processes} processes are asked for, and {possible} can be watched ({files} open files)"
            ));
        }
        found
    }
}

/// Memory mappings of so many threads and helpers.
fn maps([threads, helpers]: &[u64; 2]) -> u64 {
    threads.saturating_mul(MAPS_PER_THREAD).saturating_add(helpers.saturating_mul(MAPS_PER_HELPER))
}

/// ` with 16 helpers` where there are some.
fn and_helpers(helpers: u64) -> String {
    if helpers > 0 { format!(" with {}", count(helpers, "helper", "helpers")) } else { String::new() }
}

fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn sum(run: &RunPlan, of: impl Fn(&ThreadPlan) -> u64) -> u64 {
    let of_process = |process: &ProcessPlan| u64::from(process.instances).saturating_mul(sum_of(process, &of));
    run.processes.iter().map(of_process).fold(0, u64::saturating_add)
}

/// Of one instance of a process.
fn sum_of(process: &ProcessPlan, of: impl Fn(&ThreadPlan) -> u64) -> u64 {
    process.threads.iter().map(|t| u64::from(t.instances).saturating_mul(of(t))).fold(0, u64::saturating_add)
}

/// Tasks that may still be started, by whose limit.
fn task_limits() -> Vec<Tasks> {
    let mut limits = Vec::new();
    let running = fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split(' ').nth(3)?.split('/').nth(1)?.parse::<u64>().ok())
        .unwrap_or(0);
    for (path, name) in
        [("/proc/sys/kernel/threads-max", "kernel.threads-max"), ("/proc/sys/kernel/pid_max", "kernel.pid_max")]
    {
        if let Some(limit) = number(path) {
            limits.push(Tasks { possible: limit.saturating_sub(running), limit: name });
        }
    }
    let user = rustix::process::getrlimit(rustix::process::Resource::Nproc);
    if let (Some(limit), false) = (user.current, rustix::process::geteuid().is_root()) {
        limits.push(Tasks { possible: limit, limit: "ulimit -u" });
    }
    if let Some((limit, current)) = cgroup_pids() {
        let possible = limit.saturating_sub(current);
        limits.push(Tasks { possible, limit: "pids.max of the control group" });
    }
    limits
}

/// Limit and present number of tasks of the innermost control group, v2 or v1, that has a limit.
fn cgroup_pids() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let roots: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            c if c.split(',').any(|c| c == "pids") => &["/sys/fs/cgroup/pids"],
            _ => &[],
        };
        roots.iter().find_map(|root| {
            let limit = number(&format!("{root}{path}/pids.max"))?;
            Some((limit, number(&format!("{root}{path}/pids.current")).unwrap_or(0)))
        })
    })
}

/// The number in a file; none where it says `max` or is not there.
fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::QuitMode;

    fn objections(run: &RunPlan, one_process: bool, helpers: u64) -> Vec<String> {
        Needs::of(run, one_process, helpers).objections()
    }

    fn run(processes: u32, threads: u32, memsize: u64) -> RunPlan {
        let thread = ThreadPlan {
            name: "t".into(),
            instances: threads,
            memsize,
            ioprio: None,
            rate: None,
            slots: 1,
            flowops: Vec::new(),
            program: Vec::new(),
        };
        RunPlan {
            length_ns: None,
            warmup_ns: 0,
            period: None,
            lathist: false,
            quit: QuitMode::Timeout,
            events_per_s: None,
            parameters: Default::default(),
            processes: vec![ProcessPlan { name: "p".into(), instances: processes, nice: 0, threads: vec![thread] }],
            asserts: Vec::new(),
        }
    }

    #[test]
    fn what_fits_is_not_objected_to_and_what_does_not_is_with_both_numbers() {
        assert_eq!(objections(&run(2, 4, 4096), false, 16), Vec::<String>::new());
        let many = objections(&run(1, 1_000_000, 0), false, 16);
        assert!(many.iter().any(|o| o.contains("1000000 threads") && o.contains("possible")), "{many:?}");
        let large = objections(&run(1, 1000, 1 << 50), false, 16);
        assert!(large.iter().any(|o| o.contains("memsize")), "{large:?}");
        objections(&run(u32::MAX, u32::MAX, u64::MAX), false, 16);
    }

    #[test]
    fn helpers_are_threads_too() {
        let mut run = run(1, 20, 0);
        let number = |n| crate::source::Spanned::new(crate::attribute::Typed::Number(n), Default::default());
        let mut submits = crate::plan::FlowopPlan {
            name: "a".into(),
            kind: "aiowrite".into(),
            target: None,
            acts_on: Vec::new(),
            attributes: Default::default(),
        };
        submits.attributes.insert("outstanding", number(1_000_000));
        run.processes[0].threads[0].flowops.push(submits);
        // An engine without helpers has none, whatever is outstanding.
        assert_eq!(objections(&run, false, 0), Vec::<String>::new());
        let found = objections(&run, false, 5_000);
        assert!(found.iter().any(|o| o.contains("20 threads with 100000 helpers in one process")), "{found:?}");
        run.processes[0].threads[0].flowops[0].attributes.insert("outstanding", number(1));
        assert_eq!(objections(&run, false, 5_000), Vec::<String>::new(), "one helper for each thread");
        let needs = Needs::of(&run, false, 5_000);
        assert_eq!((needs.helpers, needs.outstanding, needs.helpers_in_one), (20, 20, 20));
        let none = Needs::of(&run, false, 0);
        assert_eq!(
            needs.memory() - none.memory(),
            20 * BYTES_PER_THREAD,
            "what is under way is kept without helpers too"
        );
    }
}
