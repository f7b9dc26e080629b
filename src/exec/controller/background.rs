//! A line of the shell that runs beside the workload (`stats command`), in a process group of its own.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long it may take to end after it was told to.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(5);

pub(super) struct Background {
    child: Child,
}

impl Background {
    /// Starts a line; what it prints goes to our stderr.
    pub(super) fn start(line: &str) -> io::Result<Self> {
        let out = std::io::stderr().as_fd().try_clone_to_owned()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).stdin(Stdio::null()).stdout(out).process_group(0);
        Ok(Background { child: command.spawn()? })
    }

    fn group(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id() as i32)
    }

    /// True once the shell has ended. It is not waited for: until then no other process can have its number.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(pid) = self.group() else { return true };
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }

    /// Ends it and what it has started: a word first, then by force.
    pub(super) async fn end(self) {
        if let Some(group) = self.group() {
            let _ = kill_process_group(group, Signal::TERM);
        }
        let told = tokio::time::Instant::now();
        while !self.has_ended() && told.elapsed() < PATIENCE {
            tokio::time::sleep(LOOK).await;
        }
        // What is left of the group ends with `self`.
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(group) = self.group() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // One that hangs in a call on a dead mount must not hold the report up; it stays our child until our end.
        let _ = self.child.try_wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_and_its_children_end_and_nobody_else() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let pids = dir.path().join("pids");
        // A child that does not care for TERM, and its shell, which does not either.
        let line = format!("trap '' TERM; sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait; wait", pids.display());
        let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
        let background = Background::start(&line).unwrap();
        let pid: i32 = loop {
            if let Ok(text) = std::fs::read_to_string(&pids) {
                break text.trim().parse().unwrap();
            }
            assert!(!background.has_ended());
            std::thread::yield_now();
        };
        runtime.block_on(background.end());
        // An orphan is gone, or waits for whoever reaps it.
        let gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        while !gone() {
            std::thread::yield_now();
        }
        assert_eq!(other.try_wait().unwrap(), None);
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
