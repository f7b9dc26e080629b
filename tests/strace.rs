//! What strace(1) saw of a run: its log, call by call, and which calls are those of workers.

use crate::support::{Bench, Outcome, have, skip};
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// True where strace is there and may trace; says on the test's output why it does not.
pub fn can_trace() -> bool {
    static ALLOWED: LazyLock<bool> = LazyLock::new(|| {
        let mut command = Command::new("strace");
        command.args(["-qq", "-o", "/dev/null", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    });
    have("strace") && {
        if !*ALLOWED {
            skip("strace may not trace here");
        }
        *ALLOWED
    }
}

/// A bench that runs under strace with these options, and where the log goes.
pub fn under_strace(bench: Bench, options: &[&str]) -> (Bench, PathBuf) {
    let log = bench.scratch.path().join("strace.log");
    let words = ["strace", "-f", "-qq", "-s", "24", "-o", log.to_str().unwrap(), "-e", "signal=none"];
    (bench.under(words).under(options.iter().copied()), log)
}

/// Runs it under strace; with the log of these calls, `openat,close`. None where nothing can be traced.
pub fn traced(bench: Bench, calls: &str) -> Option<(Bench, Outcome, String)> {
    if !can_trace() {
        return None;
    }
    let (bench, log) = under_strace(bench, &["-e", &format!("trace={calls}")]);
    let outcome = bench.run();
    let text = std::fs::read_to_string(log).unwrap();
    Some((bench, outcome, text))
}

/// A call of a thread.
#[derive(Debug)]
pub struct Call<'l> {
    /// The thread's number.
    pub thread: u32,
    /// `pread64`
    pub name: &'l str,
    /// What stands between the name and the result: `7</dir/f>, "x"..., 4096, 0) `
    pub arguments: String,
    /// The number that came back, without what strace says about it; empty where the call never did.
    pub result: String,
}

impl Call<'_> {
    /// The argument of this number, from 0, as it is written. Texts with commas in them must not stand before it.
    pub fn argument(&self, at: usize) -> &str {
        self.arguments.split([',', ')']).nth(at).unwrap_or("").trim()
    }

    /// With the option `-y`, the path of an argument that is a descriptor.
    pub fn path(&self, at: usize) -> Option<&str> {
        let (number, path) = self.argument(at).split_once('<')?;
        number.parse::<u32>().ok().and(path.strip_suffix('>'))
    }

    /// The bytes that a call moved, where it moves any; an error moves none.
    pub fn moved(&self) -> u64 {
        self.result.parse().unwrap_or(0)
    }
}

/// The calls of a log, `PID call(arguments) = result`, of which some lines are in two halves. A call stands where it came
/// back; a close where it began, because the number is free from then on, and another thread may have it before the close
/// is over.
pub fn calls(log: &str) -> Vec<Call<'_>> {
    let mut begun: HashMap<u32, (&str, &str)> = HashMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let (thread, rest) = line.split_once(' ').unwrap();
        let thread = thread.parse().unwrap();
        let rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix("<... ") {
            if let Some((name, first)) = begun.remove(&thread) {
                let second = rest.split_once("resumed>").unwrap().1;
                calls.push(call(thread, name, &format!("{first}{second}")));
            }
            continue;
        }
        let Some((name, rest)) = rest.split_once('(') else { continue };
        match rest.strip_suffix("<unfinished ...>") {
            Some(first) if name != "close" => {
                begun.insert(thread, (name, first));
            }
            first => calls.push(call(thread, name, first.unwrap_or(rest))),
        }
    }
    calls
}

fn call<'l>(thread: u32, name: &'l str, rest: &str) -> Call<'l> {
    let (arguments, result) = rest.rsplit_once("= ").unwrap_or((rest, ""));
    let result = result.split([' ', '<']).next().unwrap_or("").to_owned();
    Call { thread, name, arguments: arguments.to_owned(), result }
}

/// A worker of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker {
    /// The number of its process.
    pub pid: u32,
    /// The place of its process in the workload.
    pub process: usize,
}

/// The workers of a log, by the number of each of their threads. The log must have `execve`, `clone` and `clone3`.
pub fn workers(calls: &[Call<'_>]) -> HashMap<u32, Worker> {
    let mut workers = HashMap::new();
    for call in calls {
        if call.name == "execve"
            && let Some((_, words)) = call.arguments.split_once(&format!("\"{}\", \"", wlrun::exec::WORKER))
        {
            let process = words.split('"').next().unwrap().parse().unwrap();
            workers.insert(call.thread, Worker { pid: call.thread, process });
        }
    }
    assert!(!workers.is_empty(), "no worker in the log");
    // What a thread does may stand before the end of the call that made it.
    let made = |call: &&Call<'_>| call.name.starts_with("clone") && !call.result.is_empty();
    let mut clones: Vec<&Call<'_>> = calls.iter().filter(made).collect();
    loop {
        let before = clones.len();
        clones.retain(|clone| match (workers.get(&clone.thread).copied(), clone.result.parse()) {
            (Some(worker), Ok(thread)) => {
                workers.insert(thread, worker);
                false
            }
            _ => true,
        });
        if clones.len() == before {
            return workers;
        }
    }
}

#[test]
fn the_reader_of_the_log_joins_halves_and_knows_whose_calls_they_are() {
    let log = "1 execve(\"/wlrun\", [\"/wlrun\", \"x.wl\"]) = 0\n\
               2 execve(\"/wlrun\", [\"/wlrun\", \"worker-process\", \"4\", \"0\"] <unfinished ...>\n2 <... execve resumed>) = 0\n\
               3 openat(4</d>, \"00000001/00000001\", O_RDWR|O_CREAT|O_TRUNC, 0666) = 7</d/00000001/00000001>\n\
               2 clone3({flags=CLONE_VM} => {parent_tid=[3]}, 88) = 3\n\
               3 pwrite64(7</d/00000001/00000001>, \"x = 1\"..., 5, 0 <unfinished ...>\n\
               3 <... pwrite64 resumed>) = 5\n2 read(7</d/00000001/00000001>,  <unfinished ...>\n\
               3 close(7</d/00000001/00000001> <unfinished ...>\n2 <... read resumed>\"x\", 832) = -1 EBADF (Bad file descriptor)\n\
               3 <... close resumed>) = 0\n2 exit_group(0) = ?\n2 +++ exited with 0 +++\n";
    let calls = calls(log);
    let names: Vec<&str> = calls.iter().map(|call| call.name).collect();
    assert_eq!(names, ["execve", "execve", "openat", "clone3", "pwrite64", "close", "read", "exit_group"]);
    let workers = workers(&calls);
    assert_eq!(workers, [2, 3].map(|thread| (thread, Worker { pid: 2, process: 4 })).into());
    let [opened, written, closed, read] = [2, 4, 5, 6].map(|at| &calls[at]);
    assert_eq!((opened.result.as_str(), opened.path(0), opened.argument(0)), ("7", Some("/d"), "4</d>"));
    assert_eq!((written.moved(), written.path(0)), (5, Some("/d/00000001/00000001")));
    assert_eq!((closed.result.as_str(), closed.path(0), closed.path(1)), ("", Some("/d/00000001/00000001"), None));
    assert_eq!((read.moved(), read.result.as_str(), read.thread), (0, "-1", 2));
}
