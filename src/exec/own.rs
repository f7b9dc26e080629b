//! What wlrun itself costs: the flowops of a run on the engine `null`, each thread once and alone, for a moment before
//! anything else.
//!
//! The file sets are the workload's, cut to a thousand files each, in memory of their own. Nothing is waited for: rates,
//! delays and semaphores let the thread through at once, so what is left is the choosing, the counting and the clock.

use super::alone::{self, Alone};
use super::control;
use super::filesets::Sets;
use super::points::{Numbers, POINT_BYTES};
use super::procflow;
use super::protocol::{Messenger, Order};
use crate::engine::Clock;
use crate::plan::{FlowopPlan, Plan, RunPlan};
use crate::random::stream::Seed;
use crate::record::counters::Counters;
use crate::record::{Counts, Histogram, OwnCost, ThreadCost};
use crate::sys::Region;

/// For all threads of all runs together, in nanoseconds.
const BUDGET_NS: u64 = 60_000_000;

/// For one thread, the part that is measured; as much as a third of it goes before.
const LEAST_NS: u64 = 500_000;

/// Where a thread got no processor in its time it has another chance, of so long; that many have it.
const SECOND_NS: u64 = 50_000_000;
const MOST_SECOND: usize = 8;

/// No more threads than these are looked at.
const MOST_THREADS: usize = 32;

/// Files, and leaf directories, of each set.
const MOST_ENTRIES: u64 = 1_000;

/// A thread that wants a larger buffer is left out: filling it would take longer than all else.
const MOST_MEMORY: u64 = 64 << 20;

/// Fewer operations tell nothing.
const LEAST_OPS: u64 = 50;

/// Of each of the plan's runs; none where nothing could be found out.
pub(super) fn costs(plan: &Plan) -> Vec<Option<OwnCost>> {
    let runs: Vec<&RunPlan> = plan.runs().collect();
    // Runs of the same processes cost the same.
    let first_like = |run: &RunPlan| runs.iter().position(|other| other.processes == run.processes);
    let all: usize = runs.iter().map(|run| alone::threads_of(run).count()).sum();
    let each_ns = (BUDGET_NS / all.clamp(1, MOST_THREADS) as u64).max(LEAST_NS);
    let clock = clock();
    let mut found: Vec<Option<OwnCost>> = Vec::with_capacity(runs.len());
    let mut left = MOST_THREADS;
    for (at, run) in runs.iter().enumerate() {
        let cost = match first_like(run) {
            Some(before) if before < at => found[before].clone(),
            _ => {
                let threads = threads(plan, run, left, each_ns).unwrap_or_default();
                left -= left.min(alone::threads_of(run).count());
                Some(OwnCost { threads, ..clock.clone() })
            }
        };
        found.push(cost);
    }
    found
}

/// What one reading of the clock takes, and the least step between two.
fn clock() -> OwnCost {
    const BATCH: u64 = 64;
    const READINGS: u64 = 200 * BATCH;
    let begin = Clock::Monotonic.now();
    let (mut last, mut step) = (begin, u64::MAX);
    // The shortest batch is the one in which nobody took the processor away.
    let (mut batch_from, mut batch) = (begin, u64::MAX);
    let mut readings = 0;
    // A coarse clock stands still for a while.
    while readings < READINGS || step == u64::MAX && readings < 1000 * READINGS {
        let now = Clock::Monotonic.now();
        if now > last {
            step = step.min(now - last);
            last = now;
        }
        readings += 1;
        if readings % BATCH == 0 {
            batch = batch.min(now - batch_from);
            batch_from = now;
        }
    }
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok();
    OwnCost {
        // A clock that stands still during a batch says nothing by it.
        clock_ns: if batch > 0 { batch / BATCH } else { (last - begin) / readings },
        clock_step_ns: step,
        clocksource: source.map(|text| text.trim().to_owned()),
        threads: Vec::new(),
    }
}

fn threads(plan: &Plan, run: &RunPlan, most: usize, each_ns: u64) -> Option<Vec<ThreadCost>> {
    let mut small = Plan { steps: Vec::new(), ..plan.clone() };
    for set in &mut small.filesets {
        set.entries = set.entries.min(MOST_ENTRIES);
        set.leafdirs = set.leafdirs.min(MOST_ENTRIES);
    }
    let run = alone::plan(run);
    let sets = Sets::plan(&small, control::BYTES).ok()?;
    let rooms = Numbers::new(&run).rooms.len();
    let points = sets.end.next_multiple_of(control::BYTES);
    let counters = points + (rooms * POINT_BYTES).next_multiple_of(control::BYTES);
    let region = Region::create(counters + procflow::shape(&run).bytes()).ok()?;
    let order = Order::new(&small, &sets, run, "null", counters);
    let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null").ok()?;
    let one = Alone { order: &order, region: &region, points, messenger: &Messenger::new(nowhere.into()) };
    let mut costs = Vec::new();
    let attempt = |process: usize, thread: usize, nanos: u64| {
        for at in 0..small.filesets.len() {
            sets.create(&small, at, &region, None).ok()?;
        }
        cost(&one, [process, thread], nanos)
    };
    let mut second = 0;
    for (process, thread) in alone::threads_of(&order.run).take(most) {
        let mut ns_per_op = attempt(process, thread, each_ns);
        if ns_per_op.is_none() && second < MOST_SECOND {
            second += 1;
            ns_per_op = attempt(process, thread, each_ns.max(SECOND_NS));
        }
        let plan = &order.run.processes[process];
        let (process, thread) = (plan.name.clone(), plan.threads[thread].name.clone());
        costs.extend(ns_per_op.map(|ns_per_op| ThreadCost { process, thread, ns_per_op }));
    }
    Some(costs)
}

/// Processor time of a thread for each of its I/O operations, in nanoseconds. What others do in the timed part of theirs
/// (a hog) is not in it.
fn cost(one: &Alone<'_>, [process, thread]: [usize; 2], each_ns: u64) -> Option<u64> {
    let plan = &one.order.run.processes[process].threads[thread];
    let large = |flowop: &FlowopPlan| flowop.attributes.number("iosize") > MOST_MEMORY;
    if plan.memsize > MOST_MEMORY || plan.flowops.iter().any(large) {
        return None;
    }
    let seed = Seed::root(one.order.seed).child("own cost");
    one.run([process, thread], seed, None, |gate| [gate + each_ns / 4, gate + each_ns / 4 + each_ns]).ok()?;
    let shape = procflow::shape(&one.order.run);
    let counters = Counters::new(one.region, one.order.counters, &shape);
    let number = one.number([process, thread]);
    let (mut io, mut beside) = (0, 0);
    for (at, flowop) in plan.flowops.iter().enumerate() {
        let (mut counts, mut histogram) = (Counts::default(), Histogram::default());
        counters.of(number, at).add_to(&mut counts, &mut histogram);
        if flowop.def().class.is_io() { io += counts.ops } else { beside += histogram.sum_ns }
    }
    (io >= LEAST_OPS).then(|| counters.cpu_ns(number).saturating_sub(beside) / io)
}
