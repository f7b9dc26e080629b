//! How long the entries of a file set last: what rounds make against what they remove, and what there is at the start.

use super::findings::{Finding, FindingKind, Weight};
use super::round::{Round, iters, nodes, source_of};
use super::slots::{Touch, Walk};
use super::{Term, ThreadForecast};
use crate::attribute::{Quantity, Typed};
use crate::flowop::{Acts, EntryUse, Kind, Pace};
use crate::plan::{FlowopPlan, Node, Plan, QuitMode, RunPlan, ThreadPlan};
use std::collections::{BTreeMap, BTreeSet};

/// What earlier runs of the same workload have made or removed: a later run does not start from the plan's numbers.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    changed: BTreeSet<(usize, Kind)>,
}

impl Earlier {
    pub(super) fn add(&mut self, run: &RunPlan) {
        for thread in run.processes.iter().flat_map(|process| &process.threads) {
            let named = sets_of(thread);
            for flowop in &thread.flowops {
                for (kind, _, set) in changes(flowop, &flowop.def().acts) {
                    match set {
                        Some(set) => _ = self.changed.insert((set, kind)),
                        None => self.changed.extend(named.iter().map(|set| (*set, kind))),
                    }
                }
            }
        }
    }
}

/// The kinds of entries that a flowop makes (true) or removes, and the set where it names one.
fn changes(flowop: &FlowopPlan, acts: &Acts) -> impl Iterator<Item = (Kind, bool, Option<usize>)> {
    [acts.entry, acts.source].into_iter().enumerate().filter_map(|(of, entry)| {
        let set = || if of == 0 { flowop.attributes.fileset("filesetname") } else { source_of(flowop) };
        match entry {
            EntryUse::Makes(kind) => Some((kind, true, set())),
            EntryUse::Removes(kind) => Some((kind, false, set())),
            EntryUse::None | EntryUse::Takes(_) => None,
        }
    })
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

pub(super) fn findings(
    plan: &Plan,
    term: Term,
    rounds: &[Round<'_>],
    walks: &[Walk],
    threads: &[ThreadForecast],
    earlier: &Earlier,
    found: &mut Vec<Finding>,
) {
    let mut all: BTreeMap<(usize, Kind), Vec<Change<'_>>> = BTreeMap::new();
    // One that names no set may mean another one, and nothing is certain of either.
    let mut unclear: BTreeSet<(usize, Kind)> = BTreeSet::new();
    for (thread, round) in rounds.iter().enumerate() {
        for (at, flowop) in round.thread.flowops.iter().enumerate() {
            let times = round.times[at].value;
            for (kind, makes, set) in changes(flowop, &round.facts[at].def.acts).filter(|_| times > 0.0) {
                match set {
                    Some(set) => {
                        let instances = round.instances as f64;
                        let change = Change { thread, at, flowop, makes, times, instances };
                        all.entry((set, kind)).or_default().push(change);
                    }
                    None => unclear.extend(sets_of(round.thread).into_iter().map(|set| (set, kind))),
                }
            }
        }
    }
    let firsts: Vec<BTreeMap<(usize, Kind), Vec<Touch>>> = walks.iter().map(first_touches).collect();
    let touched: BTreeSet<(usize, Kind)> =
        all.keys().copied().chain(firsts.iter().flat_map(|firsts| firsts.keys().copied())).collect();
    for (set, kind) in touched {
        let spec = &plan.filesets[set];
        // What is there from before shows on the disk only.
        let unknown = spec.reuse || spec.trusttree;
        if unknown || earlier.changed.contains(&(set, kind)) || unclear.contains(&(set, kind)) {
            continue;
        }
        let (existing, absent) = match kind {
            Kind::File => prealloc(spec.entries, spec.prealloc_percent),
            Kind::Leafdir => prealloc(spec.leafdirs, spec.prealloc_percent),
            // All exist at the start, and the layout alone knows how many they are: as if they never ran out.
            Kind::Home => (if spec.entries > 0 { u64::MAX } else { 0 }, 0),
        };
        let stock = Stock { kind, name: &spec.name, existing, absent };
        let changes = all.get(&(set, kind)).map_or(&[][..], Vec::as_slice);
        let firsts: Vec<&[Touch]> =
            firsts.iter().map(|of| of.get(&(set, kind)).map_or(&[][..], Vec::as_slice)).collect();
        if !at_once(&stock, changes, rounds, &firsts, found) && kind != Kind::Home {
            later(term, &stock, changes, rounds, threads, found);
        }
    }
}

/// The choices of the first operation of a thread in each set, by kind of entry.
fn first_touches(walk: &Walk) -> BTreeMap<(usize, Kind), Vec<Touch>> {
    let mut firsts: BTreeMap<(usize, Kind), Vec<Touch>> = BTreeMap::new();
    for touch in &walk.touches {
        if let EntryUse::Makes(kind) | EntryUse::Removes(kind) | EntryUse::Takes(kind) = touch.entry {
            let first = firsts.entry((touch.set, kind)).or_default();
            if first.iter().all(|other| other.flowop == touch.flowop) {
                first.push(*touch);
            }
        }
    }
    firsts
}

/// Entries that exist at the start, as the layout chooses them, and those that do not.
fn prealloc(all: u64, percent: u64) -> (u64, u64) {
    let existing = ((u128::from(all) * u128::from(percent.min(100)) + 50) / 100) as u64;
    (existing, all - existing)
}

/// The first choice of each thread finds nothing. True where that was found. `firsts`: by thread.
fn at_once(
    stock: &Stock<'_>,
    changes: &[Change<'_>],
    rounds: &[Round<'_>],
    firsts: &[&[Touch]],
    found: &mut Vec<Finding>,
) -> bool {
    let failing = |touches: &[Touch]| {
        let fails = |touch: &&Touch| match touch.entry {
            EntryUse::Makes(_) => stock.absent == 0,
            EntryUse::Takes(_) | EntryUse::Removes(_) => stock.existing == 0,
            EntryUse::None => false,
        };
        touches.iter().find(fails).copied()
    };
    // Whoever may change the set first saves the others, and so does who may do it at an unknown moment.
    if changes.iter().any(|change| failing(firsts[change.thread]).is_none()) {
        return false;
    }
    let mut any = false;
    for (round, touches) in rounds.iter().zip(firsts) {
        let Some(touch) = failing(touches) else { continue };
        let (name, nouns, set) = (&round.thread.flowops[touch.flowop].name, stock.kind.nouns(), stock.name);
        let (message, help) = match (touch.entry, stock.kind) {
            _ if stock.existing == 0 && stock.absent == 0 => {
                (format!("{name} finds none of the {nouns} of {set}: it has none"), "give the set some")
            }
            (EntryUse::Makes(_), Kind::Home) => (
                format!("{name} finds nothing to make: all {nouns} of {set} exist at the start"),
                "let a rmdir remove some first",
            ),
            (EntryUse::Makes(_), _) => (
                format!("{name} finds nothing to make: all {} {nouns} of {set} exist at the start", stock.existing),
                "leave some to be made: a smaller prealloc",
            ),
            _ => (
                format!(
                    "{name} finds none of the {nouns} of {set}: {} of {} exist at the start, and none is made before",
                    stock.existing,
                    stock.existing + stock.absent
                ),
                "let some be there at the start: prealloc=100, or make them first",
            ),
        };
        let (kind, weight) = (FindingKind::RunsDry, Weight::Certain);
        found.push(Finding::new(kind, weight, round, touch.flowop, "filesetname", message, help.into()));
        any = true;
    }
    any
}

/// The entries last for a number of rounds.
fn later(
    term: Term,
    stock: &Stock<'_>,
    changes: &[Change<'_>],
    rounds: &[Round<'_>],
    threads: &[ThreadForecast],
    found: &mut Vec<Finding>,
) {
    // In the other modes running dry is an end that the workload asks for.
    let (QuitMode::Timeout, Some(length_ns)) = (term.quit, term.length_ns) else { return };
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
    if !term.rate_changes && paced_to_last(term, stock, changes, threads, left, length_ns) {
        return;
    }
    let Some(change) = changes.iter().find(|change| change.makes == more) else { return };
    let round = &rounds[change.thread];
    let (verb, nouns, set) = (if more { "makes" } else { "removes" }, stock.kind.nouns(), stock.name);
    let state = if more { "do not exist" } else { "exist" };
    let seconds = length_ns as f64 / 1e9;
    let exact = exact_rounds(changes, rounds, left, more);
    let how_long = match exact {
        Some(rounds) => format!("in round {} of the thread", rounds + 1),
        None => format!("after about {} rounds of all threads", number(left as f64 / per_round)),
    };
    let speed = match one_sided {
        true => format!(
            "after {left} operations, {how_long}: at more than {} a second {} ends early (W001)",
            number(left as f64 / seconds),
            term.words(length_ns)
        ),
        false => format!(
            "{how_long}, each with {} more than are {}: {} ends early (W001) if it comes to that",
            number(per_round),
            if more { "removed" } else { "made" },
            term.words(length_ns)
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
            .zip(&round.facts)
            .filter(|((_, times), facts)| facts.def.acts.pace.ends() && times.value > 0.0);
        let ((flowop, _), facts) = ends.next()?;
        let counted = changes.iter().any(|change| change.thread == thread && flowop.target == Some(change.at as u32));
        match (facts.def.acts.pace, flowop.attributes.get("value"), ends.next()) {
            (Pace::EndsOnCount, Some(Typed::Number(value)), None) if counted => Some(*value),
            _ => Some(0),
        }
    };
    one_sided && rounds.iter().enumerate().filter_map(|(at, round)| limit_of(round, at)).all(|limit| limit > left)
}

/// True where the event generator keeps the threads from using the entries up in the time.
fn paced_to_last(
    term: Term,
    stock: &Stock<'_>,
    changes: &[Change<'_>],
    threads: &[ThreadForecast],
    left: u64,
    length_ns: u64,
) -> bool {
    debug_assert!(stock.existing + stock.absent >= left);
    let Some(rate) = term.events_per_s else { return false };
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
    let mut uses: BTreeMap<usize, Profile> = BTreeMap::new();
    for change in changes {
        let used = uses.entry(change.at).or_default();
        // What makes and removes in one operation has both in its hands before it does either.
        match change.makes == more {
            true => *used = Profile { net: used.net + 1, most: 1 },
            false => used.net -= 1,
        }
    }
    let use_of = |at: usize| uses.get(&at).copied().unwrap_or_default();
    let Profile { net, most } = profile(&nodes(round.thread), round.thread, &use_of)?;
    let left = i64::try_from(left).ok()?;
    if most > left {
        return Some(0);
    }
    (net > 0).then(|| ((left - most) / net + 1) as u64)
}

/// What a piece of a round uses in the end, and at its height.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Profile {
    net: i64,
    most: i64,
}

fn profile(nodes: &[Node], thread: &ThreadPlan, use_of: &dyn Fn(usize) -> Profile) -> Option<Profile> {
    let mut whole = Profile::default();
    for node in nodes {
        let (piece, attributes) = match node {
            Node::Flowop(at) => (use_of(*at as usize), &thread.flowops[*at as usize].attributes),
            Node::Composite { attributes, nodes } => (profile(nodes, thread, use_of)?, attributes),
            Node::Mix { attributes, choices } => {
                let mut of = choices.iter().map(|c| profile(std::slice::from_ref(&c.node), thread, use_of));
                let first = of.next()??;
                // What is used depends on what is chosen.
                (of.all(|other| other == Some(first)).then_some(first)?, attributes)
            }
        };
        let times = match iters(attributes) {
            None => 1,
            Some(Quantity::Fixed(n)) => i64::try_from(n).ok()?,
            Some(Quantity::Random(_)) if piece == Profile::default() => 0,
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
