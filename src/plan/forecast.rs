//! What a plan comes to, before it is run: how often a round does what, how much data that moves, how long the files
//! last, and what will go wrong.
//!
//! A round is read, not carried out: `iters`, sizes and the order of flowops say enough. Nothing here is a guess of how
//! fast a file system is. What depends on the machine (memory, descriptors) is not here either.

mod entries;
mod findings;
mod round;
mod slots;
mod waits;

use super::{Plan, QuitMode, RunPlan, Step};
use crate::fileset::Draw;
use crate::flowop::{DataUse, FlowopClass, Pace, Paid};
use crate::source::Span;
use crate::units;
use round::Round;
use serde::Serialize;
use std::collections::HashSet;

pub use findings::{FINDINGS, Finding, FindingKind, Weight};
pub use round::Means;
pub use slots::descriptors;

/// What is known of the sizes of a set's files, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// Mean.
    pub mean: f64,
    /// Least; none where it shows in the layout only.
    pub least: Option<u64>,
    /// Largest; none where it shows in the layout only.
    pub most: Option<u64>,
}

impl Sizes {
    /// Of each set, as far as its attributes tell.
    pub fn of(plan: &Plan, means: &mut Means<'_>) -> Vec<Sizes> {
        plan.filesets
            .iter()
            .map(|spec| match spec.size {
                Draw::Fixed(n) => Sizes { mean: n, least: Some(n as u64), most: Some(n as u64) },
                Draw::Gamma { mean, .. } => Sizes { mean, least: None, most: None },
                Draw::Random(id) => Sizes { mean: means.of_variable(id), least: None, most: None },
            })
            .collect()
    }
}

/// Operations and bytes; means where random variables are part of them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Mix {
    /// Of flowops that read data.
    pub reads: f64,
    /// Of flowops that write data.
    pub writes: f64,
    /// Of the other flowops that do I/O.
    pub metadata: f64,
    /// Read.
    pub bytes_read: f64,
    /// Written.
    pub bytes_written: f64,
}

impl Mix {
    /// All I/O operations, as in the total of a report.
    pub fn ops(&self) -> f64 {
        self.reads + self.writes + self.metadata
    }

    fn add(&mut self, other: &Mix, times: f64) {
        self.reads += other.reads * times;
        self.writes += other.writes * times;
        self.metadata += other.metadata * times;
        self.bytes_read += other.bytes_read * times;
        self.bytes_written += other.bytes_written * times;
    }
}

/// A flowop in a round of its thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowopForecast {
    /// Of the workload.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// For the totals.
    pub class: FlowopClass,
    /// Operations in a round.
    pub ops_per_round: f64,
    /// Bytes of one operation; a copy reads as many and writes as many.
    pub bytes_per_op: f64,
    /// False where the numbers are means of something random.
    pub exact: bool,
}

/// A thread of the workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadForecast {
    /// Of the workload.
    pub process: String,
    /// Of the workload.
    pub thread: String,
    /// Thread instances of all process instances.
    pub instances: u64,
    /// In the order of the round.
    pub flowops: Vec<FlowopForecast>,
    /// What one instance does in a round.
    pub round: Mix,
    /// Events of the event generator that a round is held back for.
    pub events: f64,
    /// Descriptors that one instance may have open at most.
    pub descriptors: u64,
}

/// The event generator, and what it allows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// Its rate.
    pub events_per_s: u64,
    /// I/O operations per second of all threads together that it allows at most; none where a thread with I/O has no
    /// limiter, or its rounds cost no event.
    pub ops_per_s_at_most: Option<f64>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunForecast {
    /// Started by `create processes`, and measured by what follows.
    #[serde(skip)]
    pub session: bool,
    /// How long its threads live, in nanoseconds, warm-up included; a session at least. None where they end by
    /// themselves.
    #[serde(skip)]
    pub lasts_ns: Option<u64>,
    /// In the order of definition; those of processes without instances are left out.
    pub threads: Vec<ThreadForecast>,
    /// One round of all instances of all threads.
    pub round: Mix,
    /// None where no rate is set.
    pub limit: Option<Limit>,
    /// Some reads are answered from the page cache where the data is there.
    pub cached_reads: bool,
    /// What will go wrong, in the order of the flowops.
    pub findings: Vec<Finding>,
}

/// How long threads live.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Term {
    /// From their start, warm-up included, in nanoseconds; none where they end by themselves. What a session lasts at
    /// least: commands that take their time are not counted.
    length_ns: Option<u64>,
    warmup_ns: u64,
    session: bool,
    quit: QuitMode,
    /// Of the event generator, at the start.
    events_per_s: Option<u64>,
    /// Commands give it other rates.
    rate_changes: bool,
}

impl Term {
    fn of_run(run: &RunPlan) -> Self {
        let RunPlan { warmup_ns, quit, events_per_s, .. } = *run;
        let length_ns = run.length_ns.map(|length| length.saturating_add(warmup_ns));
        Term { length_ns, warmup_ns, session: false, quit, events_per_s, rate_changes: false }
    }

    /// Of a session that does `steps` from its start up to its end.
    fn of_session(run: &RunPlan, steps: &[Step]) -> Self {
        let mut term = Term { length_ns: Some(0), session: true, ..Term::of_run(run) };
        let mut add = |nanos: Option<u64>| {
            term.length_ns = term.length_ns.zip(nanos).map(|(sum, nanos)| sum.saturating_add(nanos));
        };
        for step in steps {
            match step {
                Step::Sleep(nanos) | Step::Warmup(nanos) => add(Some(*nanos)),
                Step::Measure(measure) => {
                    add(measure.length_ns.map(|length| length.saturating_add(measure.warmup_ns)));
                    break;
                }
                Step::UntilDone => add(None),
                Step::Stop => break,
                Step::Rate(_) => term.rate_changes = true,
                _ => {}
            }
        }
        term
    }

    /// True where the threads may have no more than this time.
    fn may_end_within(self, nanos: u64) -> bool {
        self.length_ns.is_some_and(|length| nanos >= length)
    }

    /// `the run of 60s`.
    fn words(self, length_ns: u64) -> String {
        match (self.session, self.warmup_ns) {
            (true, _) => format!("the session of {}", units::duration(length_ns)),
            (false, 0) => format!("the run of {}", units::duration(length_ns)),
            (false, warmup) => {
                let measured = units::duration(length_ns - warmup);
                format!("the run of {measured} and {} of warm-up", units::duration(warmup))
            }
        }
    }
}

/// Everything that starts threads, with how long these live.
fn terms(plan: &Plan) -> impl Iterator<Item = (&RunPlan, Term)> {
    plan.steps.iter().enumerate().filter_map(|(at, step)| match step {
        Step::Run(run) => Some((run, Term::of_run(run))),
        Step::Start(run) => Some((run, Term::of_session(run, &plan.steps[at + 1..]))),
        _ => None,
    })
}

/// Forecasts each run of a plan.
pub fn forecast(plan: &Plan, sizes: &[Sizes], means: &mut Means<'_>) -> Vec<RunForecast> {
    let mut earlier = entries::Earlier::default();
    terms(plan)
        .map(|(run, term)| {
            let forecast = forecast_run(plan, run, term, sizes, means, &earlier);
            earlier.add(run);
            forecast
        })
        .collect()
}

/// What is certain to go wrong, as far as the plan alone tells.
pub fn certain(plan: &Plan) -> Vec<Finding> {
    let mut means = Means::new(&plan.variables);
    let sizes = Sizes::of(plan, &mut means);
    let runs = forecast(plan, &sizes, &mut means);
    let findings = runs.into_iter().flat_map(|run| run.findings);
    // Several runs of the same processes have the same to say.
    let mut said = HashSet::new();
    findings
        .filter(|finding| finding.weight == Weight::Certain && said.insert((finding.span, finding.message.clone())))
        .collect()
}

fn forecast_run(
    plan: &Plan,
    run: &RunPlan,
    term: Term,
    sizes: &[Sizes],
    means: &mut Means<'_>,
    earlier: &entries::Earlier,
) -> RunForecast {
    let rounds = round::rounds(run, means);
    let walks: Vec<slots::Walk> = rounds.iter().map(|round| slots::walk(plan, term, round)).collect();
    let all = findings::Counted::of(&rounds);
    let mut threads = Vec::new();
    let (mut total, mut findings, mut cached_reads) = (Mix::default(), Vec::new(), false);
    for (round, walk) in rounds.iter().zip(&walks) {
        let thread = thread_forecast(round, walk, sizes, means, run.events_per_s.is_some());
        total.add(&thread.round, round.instances as f64);
        cached_reads |= round.thread.flowops.iter().zip(&round.facts).any(|(flowop, facts)| {
            let direct = || flowop.may_be_direct() && round.thread.opens_direct(facts.fd);
            facts.def.class == FlowopClass::Read && !direct()
        });
        threads.push(thread);
        findings.extend(walk.findings.iter().cloned());
        findings::of_sizes(plan, round, walk, sizes, &mut findings);
        findings::of_ends(term, &all, round, &mut findings);
    }
    waits::findings(&rounds, &mut findings);
    entries::findings(plan, term, &rounds, &walks, &threads, earlier, &mut findings);
    findings.sort_by_key(|finding| finding.span.map_or(usize::MAX, |span: Span| span.start));
    let Term { session, length_ns: lasts_ns, .. } = term;
    RunForecast { session, lasts_ns, limit: limit(run, &threads), threads, round: total, cached_reads, findings }
}

fn thread_forecast(
    round: &Round<'_>,
    walk: &slots::Walk,
    sizes: &[Sizes],
    means: &mut Means<'_>,
    paced: bool,
) -> ThreadForecast {
    let (mut flowops, mut mix) = (Vec::new(), Mix::default());
    for (at, flowop) in round.thread.flowops.iter().enumerate() {
        let def = round.facts[at].def;
        let bytes = round::bytes_per_op(flowop, def, walk.sets[at], walk.source_sets[at], sizes, means);
        let times = round.times[at];
        let moved = times.value * bytes.value;
        if def.acts.data == DataUse::Copy {
            mix.bytes_read += moved;
        }
        match def.class {
            FlowopClass::Read => mix.add(&Mix { reads: times.value, bytes_read: moved, ..Mix::default() }, 1.0),
            FlowopClass::Write => mix.add(&Mix { writes: times.value, bytes_written: moved, ..Mix::default() }, 1.0),
            FlowopClass::Metadata => mix.metadata += times.value,
            FlowopClass::Control => {}
        }
        flowops.push(FlowopForecast {
            name: flowop.name.clone(),
            kind: flowop.kind.clone(),
            class: def.class,
            ops_per_round: times.value,
            bytes_per_op: bytes.value,
            exact: times.exact && bytes.exact,
        });
    }
    ThreadForecast {
        process: round.process.name.clone(),
        thread: round.thread.name.clone(),
        instances: round.instances,
        events: if paced { events(round, &flowops, &mix) } else { 0.0 },
        flowops,
        round: mix,
        descriptors: slots::descriptors_of(round.facts.iter().copied()),
    }
}

/// Events that a round takes: each limiter is paid on its own account.
fn events(round: &Round<'_>, flowops: &[FlowopForecast], mix: &Mix) -> f64 {
    let of = |(at, limiter): (usize, &crate::plan::FlowopPlan)| {
        let Pace::Limits(paid) = round.facts[at].def.acts.pace else { return 0.0 };
        let turns = flowops[at].ops_per_round;
        let (ops, data_ops, bytes) = match limiter.target.map(|target| target as usize) {
            Some(target) => {
                let (ops, bytes) = (flowops[target].ops_per_round, flowops[target].bytes_per_op);
                let ways = if round.facts[target].def.acts.data == DataUse::Copy { 2.0 } else { 1.0 };
                (ops, ops, ops * bytes * ways)
            }
            None => (mix.ops(), mix.reads + mix.writes, mix.bytes_read + mix.bytes_written),
        };
        match paid {
            Paid::Turn => turns,
            // However often it comes to its turn, it is paid for what was done since.
            _ if turns == 0.0 => 0.0,
            Paid::Operation => ops,
            Paid::DataOperation => data_ops,
            Paid::Mebibyte => bytes / f64::from(1 << 20),
        }
    };
    round.thread.flowops.iter().enumerate().map(of).sum()
}

fn limit(run: &RunPlan, threads: &[ThreadForecast]) -> Option<Limit> {
    let events_per_s = run.events_per_s?;
    // The bound of the thread whose events buy most: another mix of rounds does less.
    let most = threads
        .iter()
        .filter(|thread| thread.round.ops() > 0.0)
        .map(|thread| (thread.events > 0.0).then(|| thread.round.ops() / thread.events))
        .try_fold(0.0_f64, |most, ops_per_event| ops_per_event.map(|ops| ops.max(most)));
    let ops_per_s_at_most = most.filter(|most| *most > 0.0).map(|most| most * events_per_s as f64);
    Some(Limit { events_per_s, ops_per_s_at_most })
}

#[cfg(test)]
mod tests;
