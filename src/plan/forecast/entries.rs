//! How long the entries of a file set last: what rounds make against what they remove, and what there is at the start.

use super::ThreadForecast;
use super::findings::{Finding, FindingKind, Weight};
use super::round::{Round, iters, nodes};
use super::slots::{Touch, Walk};
use crate::attribute::{Quantity, Typed};
use crate::flowop::{EntryUse, FlowopDef, Kind, Pace};
use crate::plan::{FlowopPlan, Node, Plan, QuitMode, RunPlan, ThreadPlan};
use crate::units;
use std::collections::{BTreeMap, BTreeSet};

/// What earlier runs of the same workload have made or removed: a later run does not start from the plan's numbers.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    changed: BTreeSet<(usize, bool)>,
}

impl Earlier {
    pub(super) fn add(&mut self, run: &RunPlan) {
        for thread in run.processes.iter().flat_map(|process| &process.threads) {
            let named = sets_of(thread);
            for flowop in &thread.flowops {
                let Some((kind, _)) = changes(flowop.def()) else { continue };
                let own = flowop.attributes.fileset("filesetname");
                let sets = own.map_or_else(|| named.clone(), |own| BTreeSet::from([own]));
                self.changed.extend(sets.into_iter().map(|set| (set, kind == Kind::Leafdir)));
            }
        }
    }
}

/// The kind of entries that a flowop makes (true) or removes.
fn changes(def: &FlowopDef) -> Option<(Kind, bool)> {
    match def.acts.entry {
        EntryUse::Makes(kind) => Some((kind, true)),
        EntryUse::Removes(kind) => Some((kind, false)),
        EntryUse::None | EntryUse::Takes => None,
    }
}

/// Sets that the flowops of a thread name: one that names none may mean each.
fn sets_of(thread: &ThreadPlan) -> BTreeSet<usize> {
    thread.flowops.iter().filter_map(|flowop| flowop.attributes.fileset("filesetname")).collect()
}

/// A flowop that makes or removes entries of a set.
struct Change<'p> {
    /// Among the rounds.
    thread: usize,
    at: usize,
    flowop: &'p FlowopPlan,
    makes: bool,
    /// In a round of one instance.
    times: f64,
    instances: f64,
}

/// A set and a kind of its entries.
struct Stock<'p> {
    kind: Kind,
    name: &'p str,
    /// That exist at the start.
    existing: u64,
    absent: u64,
}

impl Stock<'_> {
    fn nouns(&self) -> &'static str {
        match self.kind {
            Kind::File => "files",
            Kind::Leafdir => "leaf directories",
        }
    }
}

pub(super) fn findings(
    plan: &Plan,
    run: &RunPlan,
    rounds: &[Round<'_>],
    walks: &[Walk],
    threads: &[ThreadForecast],
    earlier: &Earlier,
    found: &mut Vec<Finding>,
) {
    let mut all: BTreeMap<(usize, bool), Vec<Change<'_>>> = BTreeMap::new();
    // One that names no set may mean another one, and nothing is certain of either.
    let mut unclear: BTreeSet<(usize, bool)> = BTreeSet::new();
    for (thread, round) in rounds.iter().enumerate() {
        for (at, flowop) in round.thread.flowops.iter().enumerate() {
            let Some((kind, makes)) = changes(flowop.def()).filter(|_| round.times[at].value > 0.0) else { continue };
            let leafdir = kind == Kind::Leafdir;
            match flowop.attributes.fileset("filesetname") {
                Some(set) => {
                    let (times, instances) = (round.times[at].value, round.instances as f64);
                    let change = Change { thread, at, flowop, makes, times, instances };
                    all.entry((set, leafdir)).or_default().push(change);
                }
                None => unclear.extend(sets_of(round.thread).into_iter().map(|set| (set, leafdir))),
            }
        }
    }
    let firsts: Vec<BTreeMap<(usize, bool), &Touch>> = walks.iter().map(first_touches).collect();
    let touched: BTreeSet<(usize, bool)> =
        all.keys().copied().chain(firsts.iter().flat_map(|firsts| firsts.keys().copied())).collect();
    for (set, leafdir) in touched {
        let spec = &plan.filesets[set];
        // What is there from before shows on the disk only.
        let unknown = spec.reuse || spec.trusttree;
        if unknown || earlier.changed.contains(&(set, leafdir)) || unclear.contains(&(set, leafdir)) {
            continue;
        }
        let (kind, entries) = if leafdir { (Kind::Leafdir, spec.leafdirs) } else { (Kind::File, spec.entries) };
        let existing = prealloc(entries, spec.prealloc_percent);
        let stock = Stock { kind, name: &spec.name, existing, absent: entries - existing };
        let changes = all.get(&(set, leafdir)).map_or(&[][..], Vec::as_slice);
        let firsts: Vec<Option<&Touch>> = firsts.iter().map(|of| of.get(&(set, leafdir)).copied()).collect();
        if !at_once(&stock, changes, rounds, &firsts, found) {
            later(run, &stock, changes, rounds, threads, found);
        }
    }
}

/// The first choice of a thread in each set, by kind of entry.
fn first_touches(walk: &Walk) -> BTreeMap<(usize, bool), &Touch> {
    let mut firsts = BTreeMap::new();
    for touch in &walk.touches {
        let leafdir = match touch.entry {
            EntryUse::Makes(kind) | EntryUse::Removes(kind) => kind == Kind::Leafdir,
            EntryUse::Takes => false,
            EntryUse::None => continue,
        };
        firsts.entry((touch.set, leafdir)).or_insert(touch);
    }
    firsts
}

/// Entries that exist at the start, as the layout chooses them.
fn prealloc(all: u64, percent: u64) -> u64 {
    ((u128::from(all) * u128::from(percent.min(100)) + 50) / 100) as u64
}

/// The first choice of each thread finds nothing. True where that was found.
fn at_once(
    stock: &Stock<'_>,
    changes: &[Change<'_>],
    rounds: &[Round<'_>],
    firsts: &[Option<&Touch>],
    found: &mut Vec<Finding>,
) -> bool {
    // Whoever may change the set first saves the others, where it is not known when.
    let unknown = changes.iter().any(|change| firsts[change.thread].is_none());
    let fails = |touch: &Touch| match touch.entry {
        EntryUse::Makes(_) => stock.absent == 0,
        EntryUse::Takes | EntryUse::Removes(_) => stock.existing == 0,
        EntryUse::None => false,
    };
    let saved = |touch: &Touch| changes.iter().any(|c| c.thread_of(touch, firsts)) && !fails(touch);
    if unknown || firsts.iter().flatten().any(|touch| saved(touch)) {
        return false;
    }
    let mut any = false;
    for (round, first) in rounds.iter().zip(firsts) {
        let Some(touch) = first.filter(|touch| fails(touch)) else { continue };
        let (name, nouns, set) = (&round.thread.flowops[touch.flowop].name, stock.nouns(), stock.name);
        let (message, help) = match touch.entry {
            EntryUse::Makes(_) => (
                format!("{name} finds nothing to make: all {} {nouns} of {set} exist at the start", stock.existing),
                "leave some to be made: a smaller prealloc".to_owned(),
            ),
            _ => (
                format!(
                    "{name} finds none of the {nouns} of {set}: {} of {} exist at the start, and none is made before",
                    stock.existing,
                    stock.existing + stock.absent
                ),
                "let some be there at the start: prealloc=100, or make them first".to_owned(),
            ),
        };
        let (kind, weight) = (FindingKind::RunsDry, Weight::Certain);
        found.push(Finding::new(kind, weight, round, touch.flowop, "filesetname", message, help));
        any = true;
    }
    any
}

impl Change<'_> {
    /// True where `touch` is the first one of this change's thread.
    fn thread_of(&self, touch: &Touch, firsts: &[Option<&Touch>]) -> bool {
        firsts[self.thread].is_some_and(|first| std::ptr::eq(first, touch))
    }
}

/// The entries last for a number of rounds.
fn later(
    run: &RunPlan,
    stock: &Stock<'_>,
    changes: &[Change<'_>],
    rounds: &[Round<'_>],
    threads: &[ThreadForecast],
    found: &mut Vec<Finding>,
) {
    // In the other modes running dry is an end that the workload asks for.
    let (QuitMode::Timeout, Some(length_ns)) = (run.quit, run.length_ns) else { return };
    let mut nets = vec![0.0; rounds.len()];
    for change in changes {
        nets[change.thread] += if change.makes { change.times } else { -change.times };
    }
    let (more, fewer) = (nets.iter().any(|net| *net > 0.0), nets.iter().any(|net| *net < 0.0));
    // Where some threads make and others remove, their speeds decide.
    if more == fewer {
        return;
    }
    let per_round: f64 = nets.iter().zip(rounds).map(|(net, round)| net.abs() * round.instances as f64).sum();
    let left = if more { stock.absent } else { stock.existing };
    let one_sided = changes.iter().all(|change| change.makes == more);
    if rounds.iter().any(|round| round.ends) && !outlasts(rounds, changes, left, one_sided) {
        return;
    }
    if paced_to_last(run, stock, changes, threads, left, length_ns) {
        return;
    }
    let Some(change) = changes.iter().find(|change| change.makes == more) else { return };
    let round = &rounds[change.thread];
    let (verb, nouns, set) = (if more { "makes" } else { "removes" }, stock.nouns(), stock.name);
    let state = if more { "do not exist" } else { "exist" };
    let seconds = length_ns as f64 / 1e9;
    let exact = exact_rounds(changes, rounds, left, more);
    let how_long = match exact {
        Some(rounds) => format!("in round {} of the thread", rounds + 1),
        None => format!("after about {} rounds of all threads", number(left as f64 / per_round)),
    };
    let speed = match one_sided {
        true => format!(
            "after {left} operations, {how_long}: at more than {} a second the run of {} ends early (W001)",
            number(left as f64 / seconds),
            units::duration(length_ns)
        ),
        false => format!(
            "{how_long}, each with {} more than are {}: the run of {} ends early (W001) if it comes to that",
            number(per_round),
            if more { "removed" } else { "made" },
            units::duration(length_ns)
        ),
    };
    let message = format!(
        "{} {verb} {nouns} of {set} until none is left of the {left} that {state}: {speed}",
        change.flowop.name
    );
    let help = match more {
        true => "use more entries, a smaller prealloc, or remove as many as are made",
        false => "use more entries, a larger prealloc, or make as many as are removed",
    };
    let (kind, weight) = (FindingKind::RunsDry, Weight::Possible);
    found.push(Finding::new(kind, weight, round, change.at, "filesetname", message, help.into()));
}

/// False where a finishoncount may end the run before the entries do, or nothing is known about that.
fn outlasts(rounds: &[Round<'_>], changes: &[Change<'_>], left: u64, one_sided: bool) -> bool {
    let limit_of = |round: &Round<'_>, thread: usize| {
        let mut ends = round
            .thread
            .flowops
            .iter()
            .zip(&round.times)
            .filter(|(flowop, times)| flowop.def().acts.pace.ends() && times.value > 0.0);
        let (flowop, _) = ends.next()?;
        let counted = changes.iter().any(|change| change.thread == thread && flowop.target == Some(change.at as u32));
        match (flowop.def().acts.pace, flowop.attributes.get("value"), ends.next()) {
            (Pace::EndsOnCount, Some(Typed::Number(value)), None) if counted => Some(*value),
            _ => Some(0),
        }
    };
    one_sided && rounds.iter().enumerate().filter_map(|(at, round)| limit_of(round, at)).all(|limit| limit > left)
}

/// True where the event generator keeps the threads from using the entries up in the time.
fn paced_to_last(
    run: &RunPlan,
    stock: &Stock<'_>,
    changes: &[Change<'_>],
    threads: &[ThreadForecast],
    left: u64,
    length_ns: u64,
) -> bool {
    debug_assert!(stock.existing + stock.absent >= left);
    let Some(rate) = run.events_per_s else { return false };
    let mut used = 0.0;
    for change in changes {
        let events = threads[change.thread].events;
        if events == 0.0 {
            return false;
        }
        // As if all events went to this thread, and its rounds under way came on top.
        used += rate as f64 * (length_ns as f64 / 1e9) * change.times / events + change.times * change.instances;
    }
    used <= left as f64
}

/// Whole rounds that a single thread instance does before it finds nothing, where that follows from the plan.
fn exact_rounds(changes: &[Change<'_>], rounds: &[Round<'_>], left: u64, more: bool) -> Option<u64> {
    let first = changes.first()?;
    let alone = changes.iter().all(|change| change.thread == first.thread && change.instances == 1.0);
    let round = &rounds[first.thread];
    if !alone || !changes.iter().all(|change| round.times[change.at].exact) {
        return None;
    }
    let uses: BTreeMap<usize, i64> =
        changes.iter().map(|change| (change.at, if change.makes == more { 1 } else { -1 })).collect();
    let use_of = |at: usize| uses.get(&at).copied().unwrap_or(0);
    let Profile { net, most } = profile(&nodes(round.thread), round.thread, &use_of)?;
    let left = i64::try_from(left).ok()?;
    if most > left {
        return Some(0);
    }
    (net > 0).then(|| ((left - most) / net + 1) as u64)
}

/// What a piece of a round uses in the end, and at its height.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Profile {
    net: i64,
    most: i64,
}

fn profile(nodes: &[Node], thread: &ThreadPlan, use_of: &dyn Fn(usize) -> i64) -> Option<Profile> {
    let mut whole = Profile { net: 0, most: 0 };
    for node in nodes {
        let (piece, attributes) = match node {
            Node::Flowop(at) => {
                let used = use_of(*at as usize);
                (Profile { net: used, most: used.max(0) }, &thread.flowops[*at as usize].attributes)
            }
            Node::Composite { attributes, nodes } => (profile(nodes, thread, use_of)?, attributes),
        };
        let times = match iters(attributes) {
            None => 1,
            Some(Quantity::Fixed(n)) => i64::try_from(n).ok()?,
            Some(Quantity::Random(_)) if piece == (Profile { net: 0, most: 0 }) => 0,
            Some(Quantity::Random(_)) => return None,
        };
        if times == 0 {
            continue;
        }
        let before_last = piece.net.checked_mul(times - 1)?.max(0);
        whole.most = whole.most.max(whole.net.checked_add(before_last)?.checked_add(piece.most)?);
        whole.net = whole.net.checked_add(piece.net.checked_mul(times)?)?;
    }
    Some(whole)
}

/// For people: whole where it is large, with a figure behind the point where it is not.
fn number(x: f64) -> String {
    if x >= 100.0 || x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.1}") }
}
