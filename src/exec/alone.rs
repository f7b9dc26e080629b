//! A thread of a run once and alone, within this process: what it costs, or asks of a server, without the others.
//!
//! Nothing is waited for: rates, delays and semaphores let the thread through at once.

use super::control::Control;
use super::points::{Numbers, Stand};
use super::procflow;
use super::protocol::{Messenger, Order};
use super::taps::Taps;
use super::threadflow::{Names, ThreadRun};
use crate::engine::{self, Clock};
use crate::plan::{ProcessPlan, QuitMode, RunPlan, ThreadPlan};
use crate::random::stream::Seed;
use crate::record::counters::Counters;
use crate::sys::Region;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::mpsc;

/// Process and thread by place, of those that have instances.
pub(super) fn threads_of(run: &RunPlan) -> impl Iterator<Item = (usize, usize)> {
    let processes = run.processes.iter().enumerate().filter(|(_, process)| process.instances > 0);
    processes.flat_map(|(p, process)| (0..process.threads.len()).map(move |t| (p, t)))
}

/// The run with one instance of each thread, none of which waits for a time.
pub(super) fn plan(run: &RunPlan) -> RunPlan {
    let thread = |thread: &ThreadPlan| ThreadPlan { instances: 1, rate: None, ioprio: None, ..thread.clone() };
    let process = |process: &ProcessPlan| ProcessPlan {
        instances: process.instances.min(1),
        nice: 0,
        threads: process.threads.iter().map(thread).collect(),
        ..process.clone()
    };
    RunPlan {
        quit: QuitMode::Alldone,
        events_per_s: None,
        parameters: Default::default(),
        processes: run.processes.iter().map(process).collect(),
        asserts: Vec::new(),
        ..run.clone()
    }
}

/// Where a thread runs alone.
pub(super) struct Alone<'a> {
    /// Of a run of [`plan`].
    pub(super) order: &'a Order,
    pub(super) region: &'a Region,
    /// Byte offset in the region, of the wait points.
    pub(super) points: usize,
    /// Takes what the thread says.
    pub(super) messenger: &'a Messenger,
}

impl Alone<'_> {
    /// The number of a thread among the counters.
    pub(super) fn number(&self, [process, thread]: [usize; 2]) -> usize {
        procflow::first_thread(&self.order.run, process, 0) + thread
    }

    /// Runs one thread to its end. `window` has the window's start and end, by the moment that the gate opens.
    ///
    /// # Errors
    ///
    /// Why the thread did not come to the gate, in words.
    pub(super) fn run(
        &self,
        [process, thread]: [usize; 2],
        seed: Seed,
        taps: Option<Arc<Taps>>,
        window: impl FnOnce(u64) -> [u64; 2],
    ) -> Result<(), String> {
        let &Alone { order, region, messenger, .. } = self;
        let plan = &order.run.processes[process].threads[thread];
        let (name, _) = procflow::split_engine(&order.engine);
        let engine = engine::find(name).ok_or_else(|| format!("no engine {name}"))?;
        let shape = procflow::shape(&order.run);
        let counters = Counters::new(region, order.counters, &shape);
        let number = self.number([process, thread]);
        let numbers = Numbers::new(&order.run);
        let control = Control::new(region);
        counters.clear();
        control.reset(None);
        control.set_points(self.points, &numbers.rooms);
        let sets = procflow::open_sets(order, region, process, engine.touches_files)?;
        let names = Names {
            process: order.run.processes[process].name.clone(),
            thread: plan.name.clone(),
            place: format!("thread {}", plan.name),
        };
        let stand = Stand { numbers: &numbers, process, thread, instance: 0 };
        std::thread::scope(|scope| {
            let (ready, arrived) = mpsc::channel();
            let (names, sets, all) = (&names, &sets, counters.clone());
            let handle = std::thread::Builder::new().spawn_scoped(scope, move || {
                let run = ThreadRun {
                    control,
                    counters: all.thread(number),
                    all,
                    names,
                    messenger,
                    cpu: Cell::new(0),
                    delay: Cell::new(0),
                    place: [0, 1],
                    waits: false,
                    trace: None,
                    taps,
                };
                let seed = seed.index(number as u64);
                procflow::start_thread(order, engine, plan, sets, &run, seed, 1, stand, ready);
            });
            let handle = handle.map_err(|error| format!("no thread could be started: {error}"))?;
            let prepared = arrived.recv().unwrap_or_else(|_| Err("the thread has ended".into()));
            let gate = Clock::Monotonic.now();
            let [start, end] = window(gate);
            control.open(gate, start, if prepared.is_ok() { end } else { 0 });
            handle.join().map_err(|_| "the thread panicked".to_owned())?;
            prepared
        })
    }
}
