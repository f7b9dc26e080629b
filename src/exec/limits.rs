//! What this machine can carry, checked before anything is started: an objection with both numbers is better than a
//! failure half-way, and better than a machine that swaps.

use crate::plan::RunPlan;
use crate::record::{counters, memory};
use serde::Serialize;
use std::fs;

/// Memory mappings of one thread: its stack and guard page, its signal stack and guard page, its buffer.
const MAPS_PER_THREAD: u64 = 5;
/// Mappings of a process before its threads: binary, libraries, heap, the shared region.
const MAPS_OF_PROCESS: u64 = 200;
/// Kernel stack, user stack and bookkeeping of a thread that does little.
const BYTES_PER_THREAD: u64 = 40 << 10;
/// A process of ours at the gate.
const BYTES_PER_PROCESS: u64 = 2 << 20;
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
    /// Threads of all of them.
    pub threads: u64,
    /// Threads of the process with the most.
    pub threads_in_one: u64,
    /// Memory mappings of that process, about.
    pub maps: u64,
    /// How many are possible (vm.max_map_count), where that is known.
    pub maps_possible: Option<u64>,
    /// Threads and processes that are possible, by whose limit.
    pub tasks_possible: Vec<Tasks>,
    /// Bytes of the threads' buffers, as far as memsize says.
    #[serde(rename = "buffer_bytes")]
    pub buffers: u64,
    /// Bytes of stacks and bookkeeping of threads and processes, about.
    #[serde(rename = "stack_bytes")]
    pub stacks: u64,
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
    pub(super) fn of(run: &RunPlan, one_process: bool) -> Self {
        let threads = run.thread_count();
        let processes = if one_process { 1 } else { run.process_count() };
        let threads_in_one =
            if one_process { threads } else { run.processes.iter().map(|p| p.thread_count()).max().unwrap_or(0) };
        let flowops: u64 = sum(run, |thread| thread.flowops.len() as u64);
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        Needs {
            processes,
            threads,
            threads_in_one,
            maps: threads_in_one.saturating_mul(MAPS_PER_THREAD).saturating_add(MAPS_OF_PROCESS),
            maps_possible: number("/proc/sys/vm/max_map_count"),
            tasks_possible: task_limits(),
            buffers: sum(run, |thread| thread.memsize),
            stacks: threads
                .saturating_mul(BYTES_PER_THREAD)
                .saturating_add(processes.saturating_mul(BYTES_PER_PROCESS)),
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
        self.buffers.saturating_add(self.stacks).saturating_add(self.histograms)
    }

    /// Why the run cannot be done here; empty where it can.
    pub fn objections(&self) -> Vec<String> {
        let mut found = Vec::new();
        let Needs { processes, threads, threads_in_one, .. } = *self;
        if let Some(maps) = self.maps_possible {
            let possible = maps.saturating_sub(MAPS_OF_PROCESS) / MAPS_PER_THREAD;
            if threads_in_one > possible {
                found.push(format!(
                    "{threads_in_one} threads in one process are asked for, and {possible} are possible (vm.max_map_count is {maps})"
                ));
            }
        }
        let tasks = threads.saturating_add(processes);
        for Tasks { possible: limit, limit: name } in &self.tasks_possible {
            if tasks > *limit {
                found.push(format!(
                    "{} in {} are asked for, and {limit} tasks are possible ({name})",
                    count(threads, "thread", "threads"),
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

fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn sum(run: &RunPlan, of: impl Fn(&crate::plan::ThreadPlan) -> u64) -> u64 {
    run.processes
        .iter()
        .map(|process| {
            let each = process
                .threads
                .iter()
                .fold(0u64, |sum, thread| sum.saturating_add(u64::from(thread.instances).saturating_mul(of(thread))));
            u64::from(process.instances).saturating_mul(each)
        })
        .fold(0, u64::saturating_add)
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
    use crate::plan::{ProcessPlan, QuitMode, ThreadPlan};

    fn objections(run: &RunPlan, one_process: bool) -> Vec<String> {
        Needs::of(run, one_process).objections()
    }

    fn run(processes: u32, threads: u32, memsize: u64) -> RunPlan {
        let thread = ThreadPlan {
            name: "t".into(),
            instances: threads,
            memsize,
            ioprio: None,
            slots: 1,
            flowops: Vec::new(),
            program: Vec::new(),
        };
        RunPlan {
            length_ns: None,
            interval_ns: None,
            quit: QuitMode::Timeout,
            events_per_s: None,
            parameters: Default::default(),
            processes: vec![ProcessPlan { name: "p".into(), instances: processes, nice: 0, threads: vec![thread] }],
        }
    }

    #[test]
    fn what_fits_is_not_objected_to_and_what_does_not_is_with_both_numbers() {
        assert_eq!(objections(&run(2, 4, 4096), false), Vec::<String>::new());
        let many = objections(&run(1, 1_000_000, 0), false);
        assert!(many.iter().any(|o| o.contains("1000000 threads") && o.contains("possible")), "{many:?}");
        let large = objections(&run(1, 1000, 1 << 50), false);
        assert!(large.iter().any(|o| o.contains("memsize")), "{large:?}");
        objections(&run(u32::MAX, u32::MAX, u64::MAX), false);
    }
}
