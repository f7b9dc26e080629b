//! What each operation of a thread that runs alone asks of the storage: the counters of devices and mounts are read
//! before and after it.

use super::threadflow::Running;
use crate::flowop::{Broken, End, Flowop, Moved, Thread, Turn};
use crate::monitor::{Monitors, Reading};
use crate::record::MonitorInterval;
use rustix::io::Errno;
use std::sync::{Arc, Mutex, MutexGuard};

/// Around all flowops of a thread that do I/O.
pub(super) struct Taps {
    /// So many operations of each flowop are enough.
    enough: u64,
    /// By the flowop's place; false for those that do no I/O.
    tapped: Vec<bool>,
    state: Mutex<State>,
}

struct State {
    monitors: Monitors,
    before: Reading,
    /// By the flowop's place.
    found: Vec<Tapped>,
}

/// What a flowop asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tapped {
    pub(super) ops: u64,
    /// How much each counter rose in all of them.
    pub(super) counters: Vec<MonitorInterval>,
}

impl Taps {
    /// `monitors`: those to read. `tapped`: which of the flowops do I/O.
    pub(super) fn new(mut monitors: Monitors, tapped: Vec<bool>, enough: u64) -> Self {
        monitors.begin();
        let found = vec![Tapped::default(); tapped.len()];
        Taps { enough, tapped, state: Mutex::new(State { monitors, before: Reading::default(), found }) }
    }

    /// The flowops of the thread, each that does I/O within a tap.
    pub(super) fn tap(self: &Arc<Self>, flowops: Vec<Running>) -> Vec<Running> {
        let tap = |(at, running): (usize, Running)| match self.tapped[at] {
            true => running.within(|inner| Box::new(Tap { inner, at, taps: self.clone() })),
            false => running,
        };
        flowops.into_iter().enumerate().map(tap).collect()
    }

    /// What was found, and the monitors back.
    pub(super) fn take(&self) -> (Vec<Tapped>, Monitors) {
        let mut state = self.state();
        (std::mem::take(&mut state.found), std::mem::take(&mut state.monitors))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn before(&self) -> Result<(), End> {
        let mut state = self.state();
        let rest = state.found.iter().zip(&self.tapped).any(|(found, tapped)| *tapped && found.ops < self.enough);
        if !rest {
            return Err(End::Over);
        }
        state.monitors.look_closely();
        state.before = state.monitors.last().clone();
        Ok(())
    }

    fn after(&self, at: usize) {
        let state = &mut *self.state();
        state.monitors.look_closely();
        let rose = state.monitors.between(&state.before, state.monitors.last());
        let found = &mut state.found[at];
        found.ops += 1;
        for one in rose.into_iter().filter(|one| !one.counters.is_empty()) {
            add(&mut found.counters, one);
        }
    }
}

/// Adds counters to those of the same device, mount or remote procedure.
fn add(sum: &mut Vec<MonitorInterval>, one: MonitorInterval) {
    let is_same = |other: &&mut MonitorInterval| {
        (&other.monitor, &other.of, &other.operation) == (&one.monitor, &one.of, &one.operation)
    };
    match sum.iter_mut().find(is_same) {
        Some(known) => {
            for (name, rise) in one.counters {
                *known.counters.entry(name).or_default() += rise;
            }
        }
        // What goes up and down says nothing of an operation.
        None => sum.push(MonitorInterval { levels: Default::default(), ..one }),
    }
}

/// A flowop with a look at the counters before it chooses its file, which may open it, and after its books are kept.
struct Tap {
    inner: Box<dyn Flowop>,
    at: usize,
    taps: Arc<Taps>,
}

impl Flowop for Tap {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.taps.before()?;
        self.inner.prepare(thread)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        self.inner.execute(thread)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, result: &Result<Moved, Broken>) {
        self.inner.finish(thread, result);
        self.taps.after(self.at);
    }

    fn again(&self) -> bool {
        self.inner.again()
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        self.inner.cancel(thread);
    }

    fn end(&mut self, thread: &mut Thread<'_>) {
        self.inner.end(thread);
    }

    fn advice(&self, errno: Errno, thread: &Thread<'_>) -> Option<&'static str> {
        self.inner.advice(errno, thread)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.inner.describe(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_one_thing_are_added_up_and_levels_are_left_out() {
        let one = |of: &str, operation: Option<&str>, rpcs: u64| MonitorInterval {
            monitor: "nfs".into(),
            of: Some(of.into()),
            operation: operation.map(str::to_owned),
            counters: [("rpcs".to_owned(), rpcs)].into(),
            levels: [("level".to_owned(), 7)].into(),
        };
        let mut sum = Vec::new();
        for part in [one("/a", None, 1), one("/a", Some("READ"), 2), one("/b", None, 4), one("/a", None, 8)] {
            add(&mut sum, part);
        }
        let found: Vec<_> = sum.iter().map(|one| (one.of.as_deref(), one.counters["rpcs"])).collect();
        assert_eq!(found, [(Some("/a"), 9), (Some("/a"), 2), (Some("/b"), 4)]);
        assert!(sum.iter().all(|one| one.levels.is_empty()));
    }
}
