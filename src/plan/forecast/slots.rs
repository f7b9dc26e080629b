//! The descriptor slots of a thread over its first two rounds: what is open where, what opens twice, what is closed
//! without having been opened.

use super::Term;
use super::findings::{Finding, FindingKind, Weight};
use super::round::{Facts, Round, iters, nodes, source_of};
use crate::attribute::{Kind, Quantity, Typed};
use crate::flowop::{DataUse, EntryUse, SlotUse, attributes};
use crate::plan::{Choice, FlowopPlan, Node, Plan, ThreadPlan};
use std::collections::{BTreeMap, BTreeSet};

/// Slots that `opennext` rotates through.
const ROTATION: u64 = 128;

/// Visits of flowops in one thread after which no more is looked at: composites within composites multiply.
const MOST_VISITS: usize = 200_000;

/// A choice among the entries of a set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Touch {
    pub(super) flowop: usize,
    pub(super) set: usize,
    pub(super) entry: EntryUse,
}

/// What two rounds of a thread show.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// For each flowop the set that its file is of, where it is always the same.
    pub(super) sets: Vec<Option<usize>>,
    /// For each flowop the set of the file in its slot `srcfd`.
    pub(super) source_sets: Vec<Option<usize>>,
    /// The first round's choices of entries, in order, up to where it is not certain any more.
    pub(super) touches: Vec<Touch>,
    /// Slots that are wrong.
    pub(super) findings: Vec<Finding>,
}

/// What is open in a slot.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Open {
    Closed,
    /// By this flowop.
    By(usize),
    /// It depends.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    open: Open,
    /// Of the file that is or was there.
    set: Option<usize>,
}

const CLOSED: Slot = Slot { open: Open::Closed, set: None };

/// Who had opened the slot of a flowop when it came to it.
#[derive(Debug, Default)]
struct Met {
    others: BTreeSet<usize>,
    /// It opened the slot itself, or that is not known.
    itself: bool,
}

/// The sets that the files of a flowop were of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Seen {
    Never,
    Always(usize),
    Several,
}

impl Seen {
    fn see(&mut self, set: Option<usize>) {
        *self = match (*self, set) {
            (seen, None) => seen,
            (Seen::Never, Some(set)) => Seen::Always(set),
            (Seen::Always(seen), Some(set)) if seen == set => Seen::Always(set),
            _ => Seen::Several,
        };
    }
}

/// A flowop that works on the file of another set than it names.
#[derive(Debug)]
struct Stray {
    named: usize,
    open: usize,
    first_round: bool,
}

struct Walker<'p> {
    plan: &'p Plan,
    term: Term,
    round: &'p Round<'p>,
    /// Its flowops rotate through the slots: nothing is certain of any.
    rotates: bool,
    slots: BTreeMap<u64, Slot>,
    sure: bool,
    /// Counts those that are repeated or skipped by chance.
    by_chance: u32,
    visits: usize,
    first_round: bool,
    stopped: bool,
    met: Vec<Met>,
    /// For each flowop, whether the thread may end at it.
    stops: Vec<bool>,
    sets: Vec<Seen>,
    /// By flowop.
    strays: BTreeMap<usize, Stray>,
    walk: Walk,
}

/// Descriptors that an instance of the thread may have open at most.
pub fn descriptors(thread: &ThreadPlan) -> u64 {
    descriptors_of(thread.flowops.iter().map(Facts::of))
}

pub(super) fn descriptors_of(flowops: impl Iterator<Item = Facts>) -> u64 {
    let opens = flowops.filter(|facts| matches!(facts.def.acts.slot, SlotUse::Opens | SlotUse::Fills));
    let mut slots = BTreeSet::new();
    for Facts { fd, rotates, .. } in opens {
        if rotates {
            slots.extend(0..ROTATION);
        } else {
            slots.insert(fd);
        }
    }
    slots.len() as u64
}

/// Walks two rounds of a thread.
pub(super) fn walk<'p>(plan: &'p Plan, term: Term, round: &'p Round<'p>) -> Walk {
    let count = round.thread.flowops.len();
    let rotates = round.facts.iter().any(|facts| facts.rotates);
    let mut walker = Walker {
        plan,
        term,
        round,
        rotates,
        slots: BTreeMap::new(),
        sure: true,
        by_chance: 0,
        visits: 0,
        first_round: true,
        stopped: false,
        met: (0..count).map(|_| Met::default()).collect(),
        stops: Vec::new(),
        sets: vec![Seen::Never; count],
        strays: BTreeMap::new(),
        walk: Walk { source_sets: vec![None; count], ..Walk::default() },
    };
    walker.stops = (0..count).map(|at| walker.may_stop(at)).collect();
    let nodes = nodes(round.thread);
    walker.nodes(&nodes);
    walker.first_round = false;
    walker.nodes(&nodes);
    walker.finish()
}

impl Walker<'_> {
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Flowop(at) => {
                    let at = *at as usize;
                    self.repeat(self.round.facts[at].iters, |walker| walker.visit(at));
                }
                Node::Composite { attributes, nodes } => {
                    self.repeat(iters(attributes), |walker| walker.nodes(nodes));
                }
                Node::Mix { attributes, choices } => {
                    self.repeat(iters(attributes), |walker| walker.choices(choices));
                }
            }
        }
    }

    fn choices(&mut self, choices: &[Choice]) {
        let chosen = choices.iter().filter(|choice| choice.weight > 0);
        let by_chance = u32::from(chosen.clone().count() > 1);
        self.by_chance += by_chance;
        chosen.for_each(|choice| self.nodes(std::slice::from_ref(&choice.node)));
        self.by_chance -= by_chance;
    }

    /// Twice shows what happens the second time; more shows nothing new.
    fn repeat(&mut self, times: Option<Quantity>, mut visit: impl FnMut(&mut Self)) {
        match times {
            Some(Quantity::Random(_)) => {
                self.by_chance += 1;
                visit(self);
                self.by_chance -= 1;
            }
            Some(Quantity::Fixed(n)) => (0..n.min(2)).for_each(|_| visit(self)),
            None => visit(self),
        }
    }

    fn visit(&mut self, at: usize) {
        self.visits += 1;
        if self.stopped || self.visits > MOST_VISITS {
            self.sure = false;
            return;
        }
        let round = self.round;
        let flowop = &round.thread.flowops[at];
        let Facts { def, fd, set: named, .. } = round.facts[at];
        let acts = def.acts;
        let unsure = !self.sure || self.by_chance > 0;
        let slot = if self.rotates { Slot { open: Open::Unknown, set: None } } else { self.slot(fd) };
        let set = match (acts.slot, slot.open) {
            (SlotUse::None | SlotUse::Opens, _) | (_, Open::Closed) => named,
            (_, Open::By(_)) => slot.set,
            (_, Open::Unknown) => named.or(slot.set),
        };
        self.sets[at].see(set);
        // Only a flowop that writes a whole file may take its size from another slot.
        if acts.data == DataUse::WholeFile
            && let Some(Typed::Number(fd)) = flowop.attributes.get("srcfd")
            && let Some(source) = self.slot(*fd).set
        {
            self.walk.source_sets[at] = Some(source);
        }
        let by_slot = matches!(acts.slot, SlotUse::Fills | SlotUse::Prefers) && slot.open != Open::Closed;
        // A flowop with a slot of its own may find its file there.
        let of_slot = acts.slot == SlotUse::None && fd > 0 && (slot.set.is_some() || slot.open == Open::Unknown);
        if self.first_round && !unsure && !by_slot && !of_slot {
            let touches = [(acts.entry, set), (acts.source, source_of(flowop))];
            let touches = touches.into_iter().filter(|(entry, _)| *entry != EntryUse::None);
            let touches = touches.filter_map(|(entry, set)| Some(Touch { flowop: at, set: set?, entry }));
            self.walk.touches.extend(touches);
        }
        if let (false, Open::By(_), Some(named), Some(open)) = (unsure, slot.open, named, slot.set)
            && named != open
            && matches!(acts.slot, SlotUse::Fills | SlotUse::Prefers | SlotUse::Needs | SlotUse::Closes)
        {
            if fd > 0 {
                return self.other_set(at, fd, [named, open]);
            }
            self.other_file(at, [named, open]);
        }
        let after = match acts.slot {
            SlotUse::Prefers if !unsure && slot.open == Open::Closed && set.is_none() => {
                return self.nothing_to_open(at, fd);
            }
            SlotUse::None | SlotUse::Prefers => slot,
            SlotUse::Needs if unsure || slot.open != Open::Closed => slot,
            _ if unsure || slot.open == Open::Unknown => {
                self.met[at].itself = true;
                match acts.slot {
                    // Whatever was there, it is closed now; or the thread has failed.
                    SlotUse::Closes if self.by_chance == 0 => Slot { open: Open::Closed, ..slot },
                    SlotUse::Opens if self.by_chance == 0 => Slot { open: Open::By(at), set },
                    _ => Slot { open: Open::Unknown, set },
                }
            }
            SlotUse::Opens => match slot.open {
                Open::By(other) => return self.still_open(at, other, fd),
                _ if set.is_none() => return self.nothing_to_open(at, fd),
                _ => Slot { open: Open::By(at), set },
            },
            SlotUse::Fills => match slot.open {
                Open::By(other) => {
                    if other == at {
                        self.met[at].itself = true
                    } else {
                        _ = self.met[at].others.insert(other)
                    }
                    slot
                }
                _ if set.is_none() => return self.nothing_to_open(at, fd),
                _ => {
                    self.met[at].itself = true;
                    Slot { open: Open::By(at), set }
                }
            },
            SlotUse::Needs | SlotUse::Closes => match slot.open {
                Open::Closed => return self.not_open(at, fd),
                _ => Slot { open: Open::Closed, ..slot },
            },
        };
        if !self.rotates {
            self.slots.insert(fd, after);
        }
        if self.stops[at] {
            self.sure = false;
        }
    }

    fn slot(&self, fd: u64) -> Slot {
        self.slots.get(&fd).copied().unwrap_or(CLOSED)
    }

    /// True where the thread may not come further: it may end here, or wait for longer than the run lasts.
    fn may_stop(&self, at: usize) -> bool {
        let flowop = &self.round.thread.flowops[at];
        let def = self.round.facts[at].def;
        let waits = def.attributes().any(|attribute| {
            attribute.kind == Kind::Duration
                && match flowop.attributes.get(attribute.name) {
                    Some(Typed::Number(nanos)) => self.term.may_end_within(*nanos),
                    other => other.is_some(),
                }
        });
        waits || def.acts.pace.ends() || self.round.waits[at] || flowop.attributes.flag("blocking")
    }

    fn found(&mut self, kind: FindingKind, at: usize, attribute: &str, message: String, help: String) {
        self.stopped = true;
        self.walk.findings.push(Finding::new(kind, Weight::Certain, self.round, at, attribute, message, help));
    }

    fn name(&self, at: usize) -> &str {
        &self.round.thread.flowops[at].name
    }

    fn still_open(&mut self, at: usize, other: usize, fd: u64) {
        let when = if self.first_round { "" } else { "in its second round " };
        let whose = if other == at { "its own file".to_owned() } else { format!("the file of {}", self.name(other)) };
        let message = format!("{} fails {when}because slot {fd} still has {whose} open", self.name(at));
        let help = format!("a closefile with fd={fd} is missing");
        self.found(FindingKind::StillOpen, at, "fd", message, help);
    }

    fn not_open(&mut self, at: usize, fd: u64) {
        let message =
            format!("{} fails because no file is open in slot {fd} when the thread comes to it", self.name(at));
        let help = format!("open one there first: openfile, createfile, or a flowop with filesetname and fd={fd}");
        self.found(FindingKind::NotOpen, at, "fd", message, help);
    }

    fn nothing_to_open(&mut self, at: usize, fd: u64) {
        let message = format!(
            "{} fails because slot {fd} is closed when the thread comes to it, and no filesetname says what to open",
            self.name(at)
        );
        self.found(FindingKind::NotOpen, at, "fd", message, "give it a filesetname, or the fd of an open file".into());
    }

    fn other_set(&mut self, at: usize, fd: u64, sets: [usize; 2]) {
        let [named, open] = sets.map(|set| &self.plan.filesets[set].name);
        let message =
            format!("{} fails because slot {fd} has a file of {open} open, and it names {named}", self.name(at));
        self.found(
            FindingKind::OtherSet,
            at,
            "filesetname",
            message,
            "use another fd, or leave filesetname out".into(),
        );
    }

    /// The thread goes on: it does what it is asked for, to another file than its text seems to say.
    fn other_file(&mut self, at: usize, [named, open]: [usize; 2]) {
        let first_round = self.first_round;
        self.strays.entry(at).or_insert(Stray { named, open, first_round });
    }

    /// One finding for all that slot 0 leads astray to one set: who opened it first leads all others.
    fn strays(&mut self) {
        let strays = std::mem::take(&mut self.strays);
        let sets: BTreeSet<usize> = strays.values().map(|stray| stray.open).collect();
        for open in sets {
            let mut of_set = strays.iter().filter(|(_, stray)| stray.open == open);
            let Some((at, first)) = of_set.next() else { continue };
            let [named, open] = [first.named, open].map(|set| &self.plan.filesets[set].name);
            let when = if first.first_round { "" } else { " from its second round on" };
            let others = match of_set.count() {
                0 => String::new(),
                1 => "; so does another flowop of the thread".to_owned(),
                n => format!("; so do {n} other flowops of the thread"),
            };
            let message = format!(
                "{} works on a file of {open} and not of {named}{when}: slot 0, which it shares, has that one open{others}",
                self.name(*at)
            );
            let help = "fd= gives it a slot of its own; a closefile before it closes that file".into();
            let (kind, weight) = (FindingKind::OtherFile, Weight::Certain);
            self.walk.findings.push(Finding::new(kind, weight, self.round, *at, "filesetname", message, help));
        }
    }

    fn finish(mut self) -> Walk {
        self.strays();
        self.walk.sets =
            self.sets.iter().map(|seen| if let Seen::Always(set) = seen { Some(*set) } else { None }).collect();
        let round = self.round;
        let rotation_is_emptied = self.rotates && self.rotation_is_emptied();
        for (at, flowop) in round.thread.flowops.iter().enumerate() {
            let Facts { def, rotates, .. } = round.facts[at];
            if def.acts.slot == SlotUse::Fills && !self.stopped {
                self.no_effect(at, flowop);
            }
            if rotates && def.acts.slot == SlotUse::Opens && !rotation_is_emptied {
                self.rotation_fills(at);
            }
        }
        self.walk
    }

    /// A way of opening, given to a flowop whose file another one always opens.
    fn no_effect(&mut self, at: usize, flowop: &FlowopPlan) {
        let Met { others, itself } = &self.met[at];
        if *itself || others.is_empty() || self.rotates {
            return;
        }
        let lacking = |flag: &str| others.iter().all(|o| !self.round.thread.flowops[*o].attributes.flag(flag));
        let flags: Vec<&str> = attributes::OPEN
            .iter()
            .map(|def| def.name)
            .filter(|name| flowop.attributes.flag(name) && lacking(name))
            .collect();
        let openers: Vec<&str> = others.iter().map(|other| self.name(*other)).collect();
        let openers = openers.join(" and ");
        let found: Vec<Finding> = flags
            .into_iter()
            .map(|flag| {
                let message =
                    format!("'{flag}' of {} has no effect: {openers} opens its file, without it", self.name(at));
                let help = format!("write {flag} at {openers}");
                Finding::new(FindingKind::NoEffect, Weight::Certain, self.round, at, flag, message, help)
            })
            .collect();
        self.walk.findings.extend(found);
    }

    /// Something closes slots of the rotation, or the thread may end before it comes round.
    fn rotation_is_emptied(&self) -> bool {
        self.round.facts.iter().zip(&self.stops).any(|(facts, stops)| {
            let closes = facts.def.acts.slot == SlotUse::Closes && facts.fd < ROTATION;
            closes || *stops
        })
    }

    /// `openfile` that rotates where nothing closes what the rotation has opened.
    fn rotation_fills(&mut self, at: usize) {
        if self.round.times[at].value == 0.0 {
            return;
        }
        let message = format!(
            "{} fails when its rotation comes round: all {ROTATION} slots of opennext have a file open then, and \
             nothing closes them",
            self.name(at)
        );
        self.walk.findings.push(Finding::new(
            FindingKind::StillOpen,
            Weight::Certain,
            self.round,
            at,
            "opennext",
            message,
            "use fd= and a closefile, or a flowop that opens on its own".into(),
        ));
    }
}
