//! The engine `fake`: each call takes the time that a script says, on a clock that nothing else moves, and fails when
//! the script says so. A whole run on it has one exact result.
//!
//! The script is a list, `open=10us,read=100us,other=1us,fail=write:3:ENOSPC`: how long each call takes (`other` for
//! those not named; 1 us where it is not given), and which call fails: the third `write` of each thread, with ENOSPC.
//! `slow=stat:1:50ms` lets the first `stat` of each thread take that time.
//!
//! A job is a `read` or a `write` of the script too. It begins when it is submitted, which itself takes no time, and
//! jobs are done in the order of submission: one that would be done before an earlier one is done with it.

use super::{Clock, Done, Engine, EngineDef, Job, Request, Way, null::Null};
use rustix::io::Errno;
use std::collections::VecDeque;

pub(super) static DEF: EngineDef = EngineDef {
    name: "fake",
    summary: "no kernel, and a clock that moves by the script's latencies (for the project's own tests)",
    touches_files: false,
    listed: false,
    helpers: 0,
    build: |script| {
        let clock = Clock::stepped();
        let mut fake = parse(script)?;
        fake.clock = clock.clone();
        Ok((Box::new(fake), clock))
    },
};

/// Calls that a script may name.
const CALLS: &[&str] = &[
    "open",
    "close",
    "unlink",
    "mkdir",
    "rmdir",
    "list",
    "stat",
    "fsync",
    "read",
    "write",
    "seek",
    "advise",
    "rename",
    "link",
    "symlink",
    "readlink",
    "chmod",
    "utimes",
    "setxattr",
    "getxattr",
    "listxattr",
    "truncate",
    "fallocate",
    "flock",
    "copy",
    "syncfs",
    "mmap",
    "load",
    "store",
];

struct Fake {
    clock: Clock,
    files: Null,
    /// Nanoseconds by call, in the order of [`CALLS`].
    latencies: [u64; CALLS.len()],
    /// (call, which one from 1, error)
    failures: Vec<(usize, u64, Errno)>,
    /// (call, which one from 1, nanoseconds)
    slow: Vec<(usize, u64, u64)>,
    seen: [u64; CALLS.len()],
    /// Under way or done, in the order of submission.
    jobs: VecDeque<Done>,
}

fn call_index(name: &str) -> Option<usize> {
    CALLS.iter().position(|call| *call == name)
}

fn parse(script: &str) -> Result<Fake, String> {
    let mut fake = Fake {
        clock: Clock::stepped(),
        files: Null::default(),
        latencies: [1_000; CALLS.len()],
        failures: Vec::new(),
        slow: Vec::new(),
        seen: [0; CALLS.len()],
        jobs: VecDeque::new(),
    };
    let items: Vec<(&str, &str)> = script
        .split(',')
        .filter(|item| !item.is_empty())
        .map(|item| item.split_once('=').ok_or_else(|| format!("'{item}' in the script of fake is not NAME=VALUE")))
        .collect::<Result<_, _>>()?;
    for (name, value) in items.iter().filter(|(name, _)| *name == "other") {
        fake.latencies = [time(name, value)?; CALLS.len()];
    }
    for (name, value) in items {
        match (name, call_index(name)) {
            ("other", _) => {}
            ("fail", _) => fake.failures.push(failure(value)?),
            ("slow", _) => fake.slow.push(slow(value)?),
            (_, Some(call)) => fake.latencies[call] = time(name, value)?,
            _ => {
                return Err(format!(
                    "'{name}' in the script of fake is none of {}, other, fail, slow",
                    CALLS.join(", ")
                ));
            }
        }
    }
    Ok(fake)
}

fn time(name: &str, value: &str) -> Result<u64, String> {
    crate::units::seconds(value).map_err(|why| format!("{name} in the script of fake: {why}"))
}

fn failure(value: &str) -> Result<(usize, u64, Errno), String> {
    let wrong = || format!("'{value}' in the script of fake is not CALL:NUMBER:ERROR, such as write:3:ENOSPC");
    let mut parts = value.split(':');
    let call = parts.next().and_then(call_index).ok_or_else(wrong)?;
    let number = parts.next().and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
    let errno = match parts.next() {
        Some("ENOSPC") => Errno::NOSPC,
        Some("EIO") => Errno::IO,
        Some("ENOENT") => Errno::NOENT,
        Some("EMFILE") => Errno::MFILE,
        Some("ESTALE") => Errno::STALE,
        Some("ENOTEMPTY") => Errno::NOTEMPTY,
        Some("EINVAL") => Errno::INVAL,
        Some("ENODATA") => Errno::NODATA,
        Some("ERANGE") => Errno::RANGE,
        Some("EXDEV") => Errno::XDEV,
        Some("EOPNOTSUPP") => Errno::OPNOTSUPP,
        _ => return Err(wrong()),
    };
    Ok((call, number, errno))
}

fn slow(value: &str) -> Result<(usize, u64, u64), String> {
    let wrong = || format!("'{value}' in the script of fake is not CALL:NUMBER:TIME, such as stat:1:50ms");
    let mut parts = value.split(':');
    let call = parts.next().and_then(call_index).ok_or_else(wrong)?;
    let number = parts.next().and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
    Ok((call, number, time("slow", parts.next().ok_or_else(wrong)?)?))
}

impl Fake {
    /// Counts a call; how long it takes, and the error that the script has for it.
    fn see(&mut self, call: usize) -> (u64, Option<Errno>) {
        self.seen[call] += 1;
        let this = (call, self.seen[call]);
        let slow = self.slow.iter().find(|(c, n, _)| (*c, *n) == this).map(|(.., time)| *time);
        let errno = self.failures.iter().find(|(c, n, _)| (*c, *n) == this).map(|(.., errno)| *errno);
        (slow.unwrap_or(self.latencies[call]), errno)
    }
}

impl Engine for Fake {
    fn execute(&mut self, request: Request<'_>) -> Result<u64, Errno> {
        let call = call_index(request.name()).expect("every request has its name in CALLS");
        let (time, errno) = self.see(call);
        self.clock.advance(time);
        match errno {
            Some(errno) => Err(errno),
            None => self.files.execute(request),
        }
    }

    fn expect(&mut self, most: usize) -> std::io::Result<()> {
        self.jobs.reserve(most);
        Ok(())
    }

    fn submit(&mut self, jobs: &mut Vec<Job>) {
        for job in jobs.drain(..) {
            let call = call_index(if job.way == Way::Read { "read" } else { "write" }).expect("both are in CALLS");
            let before = self.jobs.back().map_or(0, |done| done.end_ns);
            let (time, errno) = self.see(call);
            let end_ns = before.max(self.clock.now() + time);
            let done = match errno {
                Some(errno) => Done { tag: job.tag, buffer: job.buffer, end_ns, moved: 0, error: Some(errno) },
                None => Done { end_ns, ..self.files.carry_out(job) },
            };
            self.jobs.push_back(done);
        }
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Done>) {
        if let Some(last) = least.checked_sub(1) {
            self.clock.advance(self.jobs[last].end_ns.saturating_sub(self.clock.now()));
        }
        let now = self.clock.now();
        let ended = self.jobs.iter().take_while(|job| job.end_ns <= now).count();
        done.extend(self.jobs.drain(..ended));
    }

    fn finish(&mut self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;

    #[test]
    fn calls_take_their_time_and_fail_on_their_turn() {
        let (mut engine, clock) = (DEF.build)("stat=5us,other=2us,fail=stat:2:EIO").unwrap();
        let stat = || Request::Stat { directory: CWD, path: c"f" };
        assert_eq!(engine.execute(stat()), Ok(0));
        assert_eq!(clock.now(), 5_000);
        assert_eq!(engine.execute(stat()), Err(Errno::IO));
        assert_eq!(engine.execute(stat()), Ok(0));
        assert_eq!(engine.execute(Request::Unlink { directory: CWD, path: c"f" }), Ok(0));
        assert_eq!(clock.now(), 17_000);
    }

    #[test]
    fn a_script_that_is_wrong_is_named() {
        let (mut engine, clock) = (DEF.build)("stat=5us,slow=stat:2:1ms").unwrap();
        (0..3).for_each(|_| assert!(engine.execute(Request::Stat { directory: CWD, path: c"f" }).is_ok()));
        assert_eq!(clock.now(), 1_010_000);
        assert!(parse("slow=stat:1").err().unwrap().contains("CALL:NUMBER:TIME"));
        for (script, word) in
            [("open", "NAME=VALUE"), ("opn=1us", "'opn'"), ("open=fast", "fast"), ("fail=open", "CALL:NUMBER:ERROR")]
        {
            assert!(parse(script).err().unwrap().contains(word), "{script}");
        }
    }
}
