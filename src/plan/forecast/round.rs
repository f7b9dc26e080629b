//! How often a round of a thread comes to each flowop, and how much one operation moves.

use super::Sizes;
use crate::attribute::{Attributes, Quantity, VariableId};
use crate::flowop::{DIRECT_ALIGNMENT, DataUse, FLOWOPS, FlowopClass, FlowopDef, has_wait_point};
use crate::plan::{Choice, FlowopPlan, Node, ProcessPlan, RunPlan, ThreadPlan};
use crate::random::stream::Seed;
use crate::random::{Limits, Spec};
use std::collections::BTreeMap;

/// Samples that a mean is taken of where there is no closed form: limits, or numbers so small that the dropped fraction
/// matters.
const SAMPLES: u32 = 100_000;

/// From here on the dropped fraction of a sample changes its mean by less than a thousandth.
const LARGE: f64 = 500.0;

/// A number of a forecast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Expected {
    pub(super) value: f64,
    /// False where it is a mean.
    pub(super) exact: bool,
}

impl Expected {
    pub(super) const fn exactly(value: f64) -> Self {
        Expected { value, exact: true }
    }

    fn about(value: f64) -> Self {
        Expected { value, exact: false }
    }

    fn times(self, other: Expected) -> Self {
        Expected { value: self.value * other.value, exact: self.exact && other.exact }
    }

    fn plus(self, other: Expected) -> Self {
        Expected { value: self.value + other.value, exact: self.exact && other.exact }
    }
}

/// The means of a plan's random variables as whole numbers are drawn from them.
#[derive(Debug)]
pub struct Means<'p> {
    variables: &'p [Spec],
    known: BTreeMap<u32, f64>,
}

impl<'p> Means<'p> {
    /// Of a plan's variables; none is computed before it is asked for.
    pub fn new(variables: &'p [Spec]) -> Self {
        Means { variables, known: BTreeMap::new() }
    }

    pub(super) fn of_variable(&mut self, id: VariableId) -> f64 {
        let variables = self.variables;
        *self.known.entry(id.0).or_insert_with(|| {
            let Some(spec) = variables.get(id.0 as usize) else { return 0.0 };
            match spec.mean() {
                Ok(mean) if spec.limits == Limits::default() && mean >= LARGE => mean,
                // The same samples each time: a forecast repeats.
                _ => spec.sampler(Seed::root(0).child("forecast")).map_or(0.0, |mut sampler| {
                    (0..SAMPLES).map(|_| sampler.whole() as f64).sum::<f64>() / f64::from(SAMPLES)
                }),
            }
        })
    }

    pub(super) fn of(&mut self, quantity: Option<Quantity>, or: u64) -> Expected {
        match quantity {
            None => Expected::exactly(or as f64),
            Some(Quantity::Fixed(n)) => Expected::exactly(n as f64),
            Some(Quantity::Random(id)) => Expected::about(self.of_variable(id)),
        }
    }
}

/// What is asked of a flowop again and again, looked up once: a thread may have very many of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) def: &'static FlowopDef,
    pub(super) fd: u64,
    /// It chooses its slot by rotation.
    pub(super) rotates: bool,
    /// Of `filesetname`.
    pub(super) set: Option<usize>,
    pub(super) iters: Option<Quantity>,
}

impl Facts {
    pub(super) fn of(flowop: &FlowopPlan) -> Self {
        let (attributes, fd) = (&flowop.attributes, flowop.attributes.number("fd"));
        Facts {
            def: flowop.def(),
            fd,
            rotates: fd == 0 && attributes.flag("opennext"),
            set: attributes.fileset("filesetname"),
            iters: iters(attributes),
        }
    }
}

/// A thread of a run that has instances.
#[derive(Debug)]
pub(super) struct Round<'p> {
    pub(super) process: &'p ProcessPlan,
    pub(super) thread: &'p ThreadPlan,
    /// Places in the plan.
    pub(super) place: [u32; 2],
    /// In all instances of the process.
    pub(super) instances: u64,
    /// Of each flowop.
    pub(super) facts: Vec<Facts>,
    /// For each flowop, how often a round comes to it.
    pub(super) times: Vec<Expected>,
    /// A flowop of the round may end the thread.
    pub(super) ends: bool,
    /// For each flowop, whether threads wait at it for others.
    pub(super) waits: Vec<bool>,
}

/// The threads of a run that have instances.
pub(super) fn rounds<'p>(run: &'p RunPlan, means: &mut Means<'_>) -> Vec<Round<'p>> {
    let waiting: Vec<&str> = FLOWOPS.iter().map(|def| def.name).filter(|name| has_wait_point(name)).collect();
    let mut rounds = Vec::new();
    for (p, process) in run.processes.iter().enumerate() {
        for (t, thread) in process.threads.iter().enumerate() {
            let instances = u64::from(process.instances).saturating_mul(u64::from(thread.instances));
            if instances > 0 {
                let place = [p as u32, t as u32];
                let facts: Vec<Facts> = thread.flowops.iter().map(Facts::of).collect();
                let times = times(thread, &facts, means);
                let mut done = facts.iter().zip(&times).filter(|(_, times)| times.value > 0.0);
                let ends = done.any(|(facts, _)| facts.def.acts.pace.ends());
                let waits = facts.iter().map(|facts| waiting.contains(&facts.def.name)).collect();
                rounds.push(Round { process, thread, place, instances, facts, times, ends, waits });
            }
        }
    }
    rounds
}

/// For each flowop of a thread, how often a round comes to it.
fn times(thread: &ThreadPlan, facts: &[Facts], means: &mut Means<'_>) -> Vec<Expected> {
    let mut found = vec![Expected::exactly(0.0); thread.flowops.len()];
    add(&nodes(thread), Expected::exactly(1.0), facts, means, &mut found);
    found
}

/// The round as nodes, also where no composite or mix is part of it.
pub(super) fn nodes(thread: &ThreadPlan) -> std::borrow::Cow<'_, [Node]> {
    if thread.program.is_empty() {
        (0..thread.flowops.len() as u32).map(Node::Flowop).collect()
    } else {
        (&thread.program).into()
    }
}

pub(super) fn iters(attributes: &Attributes) -> Option<Quantity> {
    attributes.quantity("iters")
}

fn add(nodes: &[Node], factor: Expected, facts: &[Facts], means: &mut Means<'_>, found: &mut [Expected]) {
    for node in nodes {
        match node {
            Node::Flowop(at) => {
                let at = *at as usize;
                let times = factor.times(means.of(facts[at].iters, 1));
                found[at] = found[at].plus(times);
            }
            Node::Composite { attributes, nodes } => {
                add(nodes, factor.times(means.of(iters(attributes), 1)), facts, means, found);
            }
            Node::Mix { attributes, choices } => {
                let factor = factor.times(means.of(iters(attributes), 1));
                let all: f64 = choices.iter().map(|choice| choice.weight as f64).sum();
                for Choice { weight, node } in choices.iter().filter(|choice| choice.weight > 0) {
                    let share = *weight as f64 / all;
                    let share = if share == 1.0 { Expected::exactly(1.0) } else { Expected::about(share) };
                    add(std::slice::from_ref(node), factor.times(share), facts, means, found);
                }
            }
        }
    }
}

/// The set whose files a flowop takes beside the one that it makes them in.
pub(super) fn source_of(flowop: &FlowopPlan) -> Option<usize> {
    flowop.attributes.fileset("source").or_else(|| flowop.attributes.fileset("filesetname"))
}

/// Bytes that one operation moves. `set` is that of its file; `source` that of the slot whose file gives the size.
pub(super) fn bytes_per_op(
    flowop: &FlowopPlan,
    def: &FlowopDef,
    set: Option<usize>,
    source: Option<usize>,
    sizes: &[Sizes],
    means: &mut Means<'_>,
) -> Expected {
    let mut iosize = || means.of(flowop.attributes.quantity("iosize"), 0);
    let of_set = |set: Option<usize>| match set.and_then(|set| sizes.get(set)) {
        Some(Sizes { mean, least, most }) => Expected { value: *mean, exact: least.is_some() && least == most },
        None => Expected::about(0.0),
    };
    match def.acts.data {
        DataUse::None => Expected::exactly(0.0),
        DataUse::Request => iosize(),
        DataUse::UpToRequest => {
            let most = iosize().value.max(1.0);
            Expected::about(if flowop.attributes.flag("directio") {
                let block = DIRECT_ALIGNMENT as f64;
                ((most / block).floor().max(1.0) + 1.0) / 2.0 * block
            } else {
                (most + 1.0) / 2.0
            })
        }
        // What a file has grown by or lacks shows in the run only: the nominal size stands for it.
        DataUse::Copy => of_set(source_of(flowop)),
        DataUse::WholeFile if def.class == FlowopClass::Read => of_set(set),
        DataUse::WholeFile => match (source, means.of(flowop.attributes.quantity("workingset"), 0)) {
            (Some(source), _) => of_set(Some(source)),
            (None, range) if range.value > 0.0 => range,
            (None, _) => of_set(set),
        },
    }
}
