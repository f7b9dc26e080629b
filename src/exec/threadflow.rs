//! One thread instance: how long things take. It repeats its flowops until the window closes, its work ends, or
//! something fails.
//!
//! The loop allocates nothing, takes no lock, and writes only to words of its own; the words that all threads read (the
//! end of the window) change once in a run.

use super::control::Control;
use super::pace::Schedule;
use super::points::Stand;
use super::protocol::{Message, Messenger};
use super::taps::Taps;
use super::trace::Trace;
use crate::attribute::{Attributes, VariableId};
use crate::engine::Clock;
use crate::flowop::{
    Amount, Broken, Build, End, Flowop, FlowopClass, Moved, OwnIo, Posted, RunState, Taken, Thread, Turn,
};
use crate::monitor::Scheduled;
use crate::plan::{Node, QuitMode, ThreadPlan};
use crate::random::stream::{Generator, Seed, below};
use crate::random::{self, Sampler};
use crate::record::counters::{Counters, ThreadCounters};
use crate::record::{Failure, errno_name};
use crate::sys::clock::{thread_cpu, thread_run_delay};
use std::cell::Cell;
use std::sync::Arc;

/// What a thread asks of the run.
pub(super) struct ThreadRun<'r> {
    pub(super) control: Control<'r>,
    pub(super) counters: ThreadCounters<'r>,
    pub(super) all: Counters<'r>,
    pub(super) names: &'r Names,
    pub(super) messenger: &'r Messenger,
    /// Processor time of the thread when the measurement began.
    pub(super) cpu: Cell<u64>,
    /// Time that it was ready to run without a processor, by then.
    pub(super) delay: Cell<u64>,
    /// The place among the instances of this thread in all process instances, and their number.
    pub(super) place: [u64; 2],
    /// False where it is let through wherever it would wait, for a time or for others: only its own cost is of interest.
    pub(super) waits: bool,
    /// Where somebody wants to see what it chooses.
    pub(super) trace: Option<Trace>,
    /// Where somebody wants to know what each of its operations asks of the storage.
    pub(super) taps: Option<Arc<Taps>>,
}

impl ThreadRun<'_> {
    /// Counts a finished operation; where it has a schedule, also the time from the moment that it was due.
    #[inline]
    fn record(&self, index: usize, lag: Option<u64>, latency_ns: u64, moved: Moved) {
        self.counters.flowops[index].record(latency_ns, moved);
        if let Some(lag) = lag {
            self.counters.response(index).record(lag + latency_ns, Moved::NONE);
        }
    }

    /// What follows was due at a moment, and begins now.
    fn begin_due(&self, thread: &mut Thread<'_>, due: u64, now: u64) {
        let lag = now.saturating_sub(due);
        thread.lag = Some(lag);
        self.counters.record_lag(lag);
    }

    /// Looks whether another measurement has begun than the counters are of, at the end of an operation: then they
    /// begin anew. False where that operation started before it, and so counts in none.
    #[inline]
    fn counts(&self, start: u64, end: u64) -> bool {
        let since = self.control.window_start();
        since == self.counters.since() || self.renew(since, start, end)
    }

    #[cold]
    fn renew(&self, since: u64, start: u64, end: u64) -> bool {
        if end < since {
            // Of the warm-up, or of the measurement before.
            return true;
        }
        self.counters.begin(since);
        self.cpu.set(thread_cpu());
        self.delay.set(thread_run_delay());
        start >= since
    }
}

impl RunState for ThreadRun<'_> {
    fn is_over(&self, clock: &Clock) -> bool {
        clock.now() >= self.control.window_end()
    }

    fn pause(&self, clock: &Clock, until: u64) -> bool {
        if self.waits { self.control.pause(clock, until) } else { !self.is_over(clock) }
    }

    fn take_posts(&self, clock: &Clock, point: u32, count: u32) -> bool {
        if !self.waits {
            return !self.is_over(clock);
        }
        self.control.point(point).take(&self.control, clock, count)
    }

    fn make_room(&self, point: u32, count: u32) {
        self.control.point(point).make_room(count);
    }

    fn post(&self, clock: &Clock, point: u32, count: u32, bounded: bool) -> Posted {
        if !self.waits {
            return Posted::Done;
        }
        self.control.point(point).post(&self.control, clock, count, bounded)
    }

    fn say(&self, text: &str) {
        self.messenger.send(&Message::Said(format!("Message from {}: {text}", self.names.place)));
    }

    fn take_events(&self, clock: &Clock, count: u64) -> Option<Taken> {
        let taken = self.control.take_events(clock, count);
        if let Some(Taken { dropped: dropped @ 1.., .. }) = taken {
            self.counters.record_dropped(dropped);
        }
        taken
    }

    fn await_events(&self, clock: &Clock, taken: Taken) -> Option<u64> {
        self.control.await_events(clock, taken)
    }

    fn flowop(&self, index: usize) -> (u64, Moved) {
        self.counters.flowops[index].done()
    }

    fn record_completion(
        &self,
        index: usize,
        lag: Option<u64>,
        start: u64,
        end: u64,
        result: &Result<Moved, Broken>,
    ) -> bool {
        let counters = &self.counters.flowops[index];
        if end > self.control.window_end() {
            counters.record_in_flight();
            return false;
        }
        // One that was submitted before the measurement began is of none, though the counters may be of it already.
        let since = self.control.window_start();
        if !self.counts(start, end) || start < since && since <= end {
            return false;
        }
        match result {
            Ok(moved) => {
                self.record(index, lag, end.saturating_sub(start), *moved);
                self.counters.record_io(*moved, true);
            }
            Err(Broken { errno, moved }) => {
                counters.record_error(errno.map_or(0, |errno| errno.raw_os_error()), *moved);
            }
        }
        true
    }

    fn own_io(&self) -> OwnIo {
        self.counters.own_io()
    }

    fn all_io(&self) -> (u64, u64) {
        self.all.all_io(self.counters.since())
    }

    fn flowop_since_gate(&self, index: usize) -> (u64, Moved) {
        self.counters.flowop_since_gate(index)
    }
}

/// A flowop ready to run.
pub(super) struct Running {
    flowop: Box<dyn Flowop>,
    iters: Amount,
    class: FlowopClass,
}

impl Running {
    /// With another flowop around this one.
    pub(super) fn within(self, outer: impl FnOnce(Box<dyn Flowop>) -> Box<dyn Flowop>) -> Self {
        Running { flowop: outer(self.flowop), ..self }
    }
}

/// What a round consists of.
pub(super) enum Step {
    Flowop(usize),
    Composite { iters: Amount, steps: Vec<Step> },
    Mix { iters: Amount, choice: Choice, steps: Vec<Step> },
}

/// Which step of a mix it is this time.
pub(super) struct Choice {
    generator: Generator,
    /// For each step the sum of its weight and those before it.
    ends: Box<[u64]>,
}

impl Choice {
    fn new(weights: impl Iterator<Item = u64>, seed: Seed) -> Self {
        let ends = weights.scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Choice { ends: ends.collect(), generator: seed.generator() }
    }

    /// The first step whose end is beyond a number below the sum: never one whose weight is 0.
    #[inline]
    fn draw(&mut self) -> usize {
        let sum = self.ends.last().copied().unwrap_or(0);
        let number = below(&mut self.generator, sum);
        self.ends.partition_point(|end| *end <= number)
    }
}

/// Makes the round of a thread.
pub(super) fn steps(plan: &ThreadPlan, variables: &[random::Spec], seed: Seed) -> Vec<Step> {
    if plan.program.is_empty() {
        return (0..plan.flowops.len()).map(Step::Flowop).collect();
    }
    let mut number = 0;
    steps_of(&plan.program, variables, seed, &mut number)
}

fn steps_of(nodes: &[Node], variables: &[random::Spec], seed: Seed, number: &mut u64) -> Vec<Step> {
    nodes.iter().map(|node| step_of(node, variables, seed, number)).collect()
}

fn step_of(node: &Node, variables: &[random::Spec], seed: Seed, number: &mut u64) -> Step {
    let iters = |attributes: &Attributes, seed: Seed| {
        let sampler = |id, seed| sampler(variables, id, seed);
        let build = Build {
            name: "",
            index: 0,
            attributes,
            target: None,
            wait_point: None,
            target_points: Vec::new(),
            seed,
            sampler: &sampler,
        };
        build.amount("iters", 1)
    };
    match node {
        Node::Flowop(at) => Step::Flowop(*at as usize),
        Node::Composite { attributes, nodes } => {
            let iters = iters(attributes, seed.child("composite").index(*number));
            *number += 1;
            Step::Composite { iters, steps: steps_of(nodes, variables, seed, number) }
        }
        Node::Mix { attributes, choices } => {
            let own = seed.child("mix").index(*number);
            *number += 1;
            Step::Mix {
                iters: iters(attributes, own),
                choice: Choice::new(choices.iter().map(|choice| choice.weight), own.child("choice")),
                steps: choices.iter().map(|choice| step_of(&choice.node, variables, seed, number)).collect(),
            }
        }
    }
}

/// A sampler of one of the plan's random variables.
pub(super) fn sampler(variables: &[random::Spec], id: VariableId, seed: Seed) -> Sampler {
    variables[id.0 as usize].sampler(seed).expect("the plan keeps only random variables that have been built once")
}

/// Makes the flowops of a thread.
pub(super) fn build(plan: &ThreadPlan, variables: &[random::Spec], seed: Seed, stand: Stand<'_>) -> Vec<Running> {
    let sampler = |id, seed| sampler(variables, id, seed);
    plan.flowops
        .iter()
        .enumerate()
        .map(|(index, flowop)| {
            let def = flowop.def();
            let mut build = Build {
                name: &flowop.name,
                index,
                attributes: &flowop.attributes,
                target: flowop.target.map(|at| at as usize),
                wait_point: stand.own(index),
                target_points: stand.of(&flowop.acts_on),
                seed: seed.child("flowop").index(index as u64),
                sampler: &sampler,
            };
            let iters = build.amount("iters", 1);
            Running { flowop: (def.build)(&mut build), iters, class: def.class }
        })
        .collect()
}

/// Why the loop ended, and the flowop that it was at.
struct Ending {
    end: End,
    flowop: usize,
}

/// Repeats the round until there is a reason to end.
fn repeat(
    thread: &mut Thread<'_>,
    steps: &mut [Step],
    flowops: &mut [Running],
    mut schedule: Option<Schedule>,
    run: &ThreadRun<'_>,
) -> Ending {
    let clock = thread.clock.clone();
    loop {
        if let Some(schedule) = &mut schedule {
            let Some([due, now]) = schedule.wait(&clock, run) else { return Ending { end: End::Over, flowop: 0 } };
            run.begin_due(thread, due, now);
        }
        match pass(thread, steps, flowops, &clock, run) {
            Ok(true) => {}
            Ok(false) => {
                if let Some(end) = idle(&clock, run) {
                    return Ending { end, flowop: 0 };
                }
                std::thread::yield_now();
            }
            Err(ending) => return ending,
        }
    }
}

/// One pass over steps; true where something was timed.
fn pass(
    thread: &mut Thread<'_>,
    steps: &mut [Step],
    flowops: &mut [Running],
    clock: &Clock,
    run: &ThreadRun<'_>,
) -> Result<bool, Ending> {
    let mut called = false;
    for step in steps {
        called |= perform(thread, step, flowops, clock, run)?;
    }
    Ok(called)
}

/// One step; true where something was timed.
#[inline]
fn perform(
    thread: &mut Thread<'_>,
    step: &mut Step,
    flowops: &mut [Running],
    clock: &Clock,
    run: &ThreadRun<'_>,
) -> Result<bool, Ending> {
    let mut called = false;
    match step {
        Step::Flowop(index) => {
            let (index, running) = (*index, &mut flowops[*index]);
            let mut left = running.iters.draw();
            while left > 0 {
                let turn = turn(thread, running, index, clock, run);
                if !running.flowop.again() {
                    left -= 1;
                }
                let end = match turn {
                    Ok(true) => {
                        called = true;
                        None
                    }
                    Ok(false) => idle(clock, run),
                    Err(end) => Some(end),
                };
                if let Some(end) = end {
                    return Err(Ending { end, flowop: index });
                }
            }
        }
        Step::Composite { iters, steps } => {
            for _ in 0..iters.draw() {
                let inner = pass(thread, steps, flowops, clock, run)?;
                called |= inner;
                unless_idle(inner, clock, run)?;
            }
        }
        Step::Mix { iters, choice, steps } => {
            for _ in 0..iters.draw() {
                let inner = perform(thread, &mut steps[choice.draw()], flowops, clock, run)?;
                called |= inner;
                unless_idle(inner, clock, run)?;
            }
        }
    }
    Ok(called)
}

/// What is repeated within a round looks for the end of the window too.
fn unless_idle(called: bool, clock: &Clock, run: &ThreadRun<'_>) -> Result<(), Ending> {
    match if called { None } else { idle(clock, run) } {
        Some(end) => Err(Ending { end, flowop: 0 }),
        None => Ok(()),
    }
}

/// Nothing was timed, so nobody has looked at the clock.
fn idle(clock: &Clock, run: &ThreadRun<'_>) -> Option<End> {
    clock.advance(1_000);
    (clock.now() >= run.control.window_end()).then_some(End::Over)
}

/// One operation; false where there was none to carry out.
#[inline]
fn turn(
    thread: &mut Thread<'_>,
    running: &mut Running,
    index: usize,
    clock: &Clock,
    run: &ThreadRun<'_>,
) -> Result<bool, End> {
    let counters = &run.counters.flowops[index];
    let prepared = running.flowop.prepare(thread);
    if thread.auto_opens > 0 {
        counters.record_auto_opens(std::mem::take(&mut thread.auto_opens));
    }
    if let (Some(trace), Ok(Turn::Go | Turn::Submit), true) = (&run.trace, &prepared, running.class.is_io()) {
        trace.note(index, || running.flowop.describe(thread));
    }
    match prepared {
        Ok(Turn::Go) => {}
        Ok(Turn::Submit) => return submit(thread, running, index, clock, run),
        Ok(Turn::Skip) => {
            counters.record_skip();
            return Ok(false);
        }
        Ok(Turn::Quiet) => return Ok(false),
        Err(end) => {
            if let End::Failed(Some(errno), _) = &end {
                counters.record_error(errno.raw_os_error(), Moved::NONE);
            }
            return Err(end);
        }
    }
    let start = clock.now();
    if start >= run.control.window_end() {
        running.flowop.cancel(thread);
        return Err(End::Over);
    }
    let result = running.flowop.execute(thread);
    let end = clock.now();
    if let Some(due) = thread.due.take() {
        run.begin_due(thread, due, end);
    }
    running.flowop.finish(thread, &result);
    // An operation counts when it starts and ends within the window.
    let counts = run.counts(start, end);
    if end > run.control.window_end() {
        counters.record_in_flight();
        return Err(End::Over);
    }
    match result {
        Ok(moved) => {
            if counts {
                if running.class.is_io() {
                    run.record(index, thread.lag, end - start, moved);
                    run.counters.record_io(moved, running.class != FlowopClass::Metadata);
                } else {
                    counters.record(end - start, moved);
                }
            }
            Ok(true)
        }
        Err(Broken { errno: None, .. }) => {
            counters.record_in_flight();
            Err(End::Over)
        }
        Err(Broken { errno: Some(errno), moved }) => {
            counters.record_error(errno.raw_os_error(), moved);
            Err(End::Failed(Some(errno), running.flowop.describe(thread)))
        }
    }
}

/// Begins an operation that others carry out; it is counted when they have.
fn submit(
    thread: &mut Thread<'_>,
    running: &mut Running,
    index: usize,
    clock: &Clock,
    run: &ThreadRun<'_>,
) -> Result<bool, End> {
    let start = clock.now();
    if start >= run.control.window_end() {
        running.flowop.cancel(thread);
        return Err(End::Over);
    }
    thread.submitted_ns = start;
    let result = running.flowop.execute(thread);
    running.flowop.finish(thread, &result);
    match result {
        Ok(_) => Ok(true),
        Err(Broken { errno, moved }) => {
            let Some(errno) = errno else { return Err(End::Over) };
            run.counters.flowops[index].record_error(errno.raw_os_error(), moved);
            Err(End::Failed(Some(errno), running.flowop.describe(thread)))
        }
    }
}

/// Names for messages.
pub(super) struct Names {
    /// `filereader-0`
    pub(super) process: String,
    /// `filereaderthread-3`
    pub(super) thread: String,
    /// `process (filereader,0), thread (filereaderthread,3)`, filebench's words.
    pub(super) place: String,
}

/// Says that a flowop failed, or something that is none's, and what to do about it.
fn fail(
    run: &ThreadRun<'_>,
    flowop: Option<&str>,
    errno: Option<rustix::io::Errno>,
    what: String,
    advice: Option<&'static str>,
) {
    let message = match errno {
        Some(rustix::io::Errno::INVAL) if what.ends_with("with directio") => {
            let text = crate::sys::describe(&rustix::io::Errno::INVAL.into());
            format!(
                "{what}: {text}; directio needs sizes and offsets that are multiples of the device's block, 512 or 4096"
            )
        }
        Some(errno) => {
            let text = crate::sys::describe(&errno.into());
            match advice.or_else(|| crate::sys::advice(errno)) {
                Some(advice) => format!("{what}: {text}; {advice}"),
                None => format!("{what}: {text}"),
            }
        }
        None => what,
    };
    run.messenger.send(&Message::Failed(Failure {
        process: run.names.process.clone(),
        thread: Some(run.names.thread.clone()),
        flowop: flowop.map(str::to_owned),
        errno: errno.map(|errno| errno_name(errno.raw_os_error())),
        message,
    }));
}

/// A thread's life from the gate to its end.
pub(super) fn live(
    thread: &mut Thread<'_>,
    (steps, flowops): (&mut [Step], &mut [Running]),
    plan: &ThreadPlan,
    run: &ThreadRun<'_>,
    quit: QuitMode,
) {
    let messenger = run.messenger;
    let gate = run.control.wait();
    run.counters.start(gate);
    run.cpu.set(thread_cpu());
    run.delay.set(thread_run_delay());
    let schedule = plan.rate.map(|per_s| Schedule::new(gate, per_s, run.place));
    if schedule.is_some() || plan.is_paced() && run.control.events_behind(gate).is_some() {
        // What is done before the first event of the generator is behind nothing.
        thread.lag = Some(0);
    }
    let Ending { end, flowop } = repeat(thread, steps, flowops, schedule, run);
    let now = thread.clock.now();
    // Its processor time since is of the measurement that is on.
    run.counts(now, now);
    let ends_run = quit != QuitMode::Alldone;
    let name = &plan.flowops[flowop].name;
    let mut failed = false;
    match end {
        End::Over => {}
        End::NoWork(why) => {
            messenger.send(&Message::RanDry { flowop: name.clone(), why });
            if ends_run {
                run.control.close(now);
            }
        }
        End::Finished(why) => {
            messenger.send(&Message::Finished { why });
            if ends_run {
                run.control.close(now);
            }
        }
        End::Failed(errno, what) => {
            failed = true;
            let advice = errno.and_then(|errno| flowops[flowop].flowop.advice(errno, thread));
            fail(run, Some(name), errno, what, advice);
            run.control.close(now);
        }
    }
    // What is under way counts where it ends within the window, and has its descriptor until it ends.
    let lost = thread.drain();
    let now = thread.clock.now();
    if let Some(lost) = lost
        && !failed
    {
        failed = true;
        fail(run, Some(&plan.flowops[lost.flowop].name), Some(lost.errno), lost.what, None);
        run.control.close(now);
    }
    let cpu = thread_cpu().saturating_sub(run.cpu.get()) + thread.engine.finish();
    flowops.iter_mut().for_each(|running| running.flowop.end(thread));
    // Nor is data safe that no flowop closed: a file system that writes late may say so only here.
    if let Some((errno, what)) = thread.close_all()
        && !failed
    {
        fail(run, None, Some(errno), what, None);
        run.control.close(now);
    }
    if let Some(scheduled) = Scheduled::own() {
        run.messenger.send(&Message::Scheduled(scheduled));
    }
    if let Some(Err(error)) = run.trace.as_ref().map(Trace::finish) {
        messenger.send(&Message::Warning(format!("the trace of {} is not whole: {error}", run.names.thread)));
    }
    let delay = thread_run_delay().saturating_sub(run.delay.get());
    run.counters.end(now.min(run.control.window_end()), cpu, delay);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::plan::{Options, Plan};
    use crate::source::SourceFile;

    /// The plan of a thread of these items.
    fn plan(items: &str) -> Plan {
        let text = format!("define process name=p {{ thread name=t {{ {items} }} }}\nrun 1");
        let file = SourceFile::new("t.wl", text);
        let mut diagnostics = Diagnostics::new();
        let texts = crate::syntax::Texts::read(file, &crate::syntax::NoLibrary, &mut diagnostics);
        let plan = crate::plan::plan(&texts, &Options { seed: 1, ..Options::default() }, &mut diagnostics);
        plan.unwrap_or_else(|| panic!("{}", diagnostics.render(texts.sources(), false)))
    }

    fn steps_of_thread(plan: &Plan, seed: Seed) -> Vec<Step> {
        let run = plan.runs().next().unwrap();
        steps(&run.processes[0].threads[0], &plan.variables, seed)
    }

    /// Counts the flowops that a step comes to.
    fn count(step: &mut Step, counts: &mut [u64]) {
        match step {
            Step::Flowop(at) => counts[*at] += 1,
            Step::Composite { iters, steps } => {
                (0..iters.draw()).for_each(|_| steps.iter_mut().for_each(|step| count(step, counts)));
            }
            Step::Mix { iters, choice, steps } => {
                (0..iters.draw()).for_each(|_| count(&mut steps[choice.draw()], counts));
            }
        }
    }

    #[test]
    fn a_mix_chooses_by_weight() {
        const ROUNDS: u64 = 200_000;
        // The inner mix has a fifth of the choices; 0.5 and 1.5 share it.
        let plan = plan(
            "mix {
               flowop delay name=a,value=0,weight=70
               flowop delay name=never,value=0,weight=0
               flowop delay name=b,value=0,weight=9.5
               flowop delay name=c,value=0,weight=0.5
               mix weight=20 { flowop delay name=d,value=0,weight=0.5 flowop delay name=e,value=0,weight=1.5 }
               flowop delay name=last,value=0,weight=0
             }",
        );
        let mut steps = steps_of_thread(&plan, Seed::root(1).child("thread"));
        let mut counts = [0; 7];
        (0..ROUNDS).for_each(|_| count(&mut steps[0], &mut counts));
        let expected = [0.7, 0.0, 0.095, 0.005, 0.05, 0.15, 0.0];
        assert_eq!((counts[1], counts[6]), (0, 0), "a weight of 0 is never chosen");
        let chi: f64 = counts
            .iter()
            .zip(expected)
            .filter(|(_, share)| *share > 0.0)
            .map(|(n, share)| (*n as f64 - share * ROUNDS as f64).powi(2) / (share * ROUNDS as f64))
            .sum();
        // The quantile of chi-square at 0.999 with 4 degrees of freedom is 18.47.
        assert!(chi < 18.47, "chi-square {chi}: {counts:?}");
        assert_eq!(counts.iter().sum::<u64>(), ROUNDS);
    }

    #[test]
    fn each_thread_and_each_mix_has_a_sequence_of_its_own_that_repeats() {
        let item = "mix { flowop delay name=a,value=0 flowop delay name=b,value=0 }";
        let plan = plan(&format!("{item} {item}"));
        let sequences = |seed: Seed| {
            let mut steps = steps_of_thread(&plan, seed);
            let drawn = |step: &mut Step| match step {
                Step::Mix { choice, .. } => (0..64).map(|_| choice.draw()).collect::<Vec<_>>(),
                _ => panic!("no mix"),
            };
            steps.iter_mut().map(drawn).collect::<Vec<_>>()
        };
        let (one, two) = (sequences(Seed::root(1).index(0)), sequences(Seed::root(1).index(1)));
        assert_eq!(one, sequences(Seed::root(1).index(0)));
        let distinct: std::collections::BTreeSet<_> = one.iter().chain(&two).collect();
        assert_eq!(distinct.len(), 4);
    }
}
