//! The file sets of a plan: their layouts, their places in shared memory, their way onto the disk.

use super::protocol::SetOrder;
use super::threadflow::sampler;
use crate::attribute::{Quantity, VariableId};
use crate::fileset::device::Leave;
use crate::fileset::{
    self, CreateError, Entries, Found, Layout, LayoutError, Options, Pool, Presence, Progress, Shape, Variables,
};
use crate::flowop::{Effect, ROTATION};
use crate::plan::{FlowopPlan, Plan};
use crate::random::stream::{Generator, Seed};
use crate::random::{self, Sampler};
use crate::record::DeviceRecord;
use crate::sys::Region;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;

/// A file set between plan and disk.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) layout: Layout,
    wanted: Presence,
    /// The workload writes, creates or deletes in it.
    pub(super) writes: bool,
    pub(super) order: SetOrder,
}

/// All file sets of a plan.
#[derive(Debug)]
pub(super) struct Sets {
    pub(super) list: Vec<Set>,
    /// First byte of the region behind the pools.
    pub(super) end: usize,
}

impl Sets {
    /// Lays all sets out; their pools start at byte `base`.
    pub(super) fn plan(plan: &Plan, base: usize) -> Result<Self, String> {
        let mut end = base;
        let mut list = Vec::with_capacity(plan.filesets.len());
        for (at, spec) in plan.filesets.iter().enumerate() {
            let seed = seed_of(plan.seed, &spec.name);
            let mut draws = Draws { variables: &plan.variables, samplers: BTreeMap::new(), seed };
            let layout =
                Layout::plan(spec, seed, &mut draws).map_err(|e: LayoutError| format!("fileset {}: {e}", spec.name))?;
            let wanted = match &spec.device {
                None => layout.prealloc(spec.prealloc_percent, seed.child("prealloc")),
                // It is there.
                Some(_) => Presence { files: vec![true], leafdirs: Vec::new() },
            };
            if let (Some(device), Some(size)) = (&spec.device, layout.sizes.first())
                && *size > device.bytes
            {
                return Err(format!(
                    "the file '{}' has {size} bytes, and is the device {}, which has {}; without a size it is the whole \
                     device",
                    spec.name,
                    device.path.display(),
                    device.bytes,
                ));
            }
            let writes = writes(plan, at);
            let shape = Shape::of(&layout);
            let order = SetOrder {
                name: spec.name.clone(),
                root: spec.root(),
                // What is not written to is not opened for it either.
                readonly: spec.readonly || (spec.device.is_some() && !writes),
                writeonly: spec.writeonly,
                pool: end,
                device: spec.device.clone(),
                content: spec.content,
                shape: [shape.files, shape.directories, shape.leafdirs, shape.homes],
            };
            end += Pool::bytes(shape);
            list.push(Set { layout, wanted, writes, order });
        }
        Ok(Sets { list, end })
    }

    /// A set that was taken away and made anew is one set, and a device that is several files is one device.
    pub(super) fn unlike(&self) -> impl Iterator<Item = &Set> {
        let same = |a: &Set, b: &Set| match (&a.order.device, &b.order.device) {
            (Some(a), Some(b)) => a.number == b.number,
            (None, None) => a.order.root == b.order.root,
            _ => false,
        };
        let last = move |(at, set): &(usize, &Set)| self.list[at + 1..].iter().all(|later| !same(later, set));
        self.list.iter().enumerate().filter(last).map(|(_, set)| set)
    }

    /// Files of all sets, without devices; and the sum of all sizes in bytes, with what is used of devices.
    pub(super) fn totals(&self) -> (u64, u64) {
        let files = self.unlike().filter(|set| set.order.device.is_none()).map(|set| set.layout.figures());
        let on_devices = self.devices().iter().map(|device| device.bytes).sum();
        files.fold((0, on_devices), |(files, bytes), figures| (files + figures.files, bytes + figures.bytes))
    }

    /// The devices, each once, and how many bytes of each are used.
    pub(super) fn devices(&self) -> Vec<DeviceRecord> {
        let mut found: Vec<DeviceRecord> = Vec::new();
        for Set { layout, order, .. } in &self.list {
            let Some(device) = &order.device else { continue };
            let path = device.path.display().to_string();
            let bytes = layout.sizes.first().copied().unwrap_or(0);
            match found.iter_mut().find(|known| known.path == path) {
                Some(known) => known.bytes = known.bytes.max(bytes),
                None => found.push(DeviceRecord { path, bytes, size_bytes: device.bytes }),
            }
        }
        found
    }

    /// Files and bytes that one set's creation has to do.
    pub(super) fn work(&self, at: usize) -> (u64, u64) {
        let Set { layout, wanted, order, .. } = &self.list[at];
        if order.device.is_some() {
            return (0, 0);
        }
        let wanted = wanted.files.iter().zip(&layout.sizes).filter(|(wanted, _)| **wanted);
        wanted.fold((0, 0), |(files, bytes), (_, size)| (files + 1, bytes + size))
    }

    /// Leaf directories that one set's creation makes.
    pub(super) fn leafdirs_made(&self, at: usize) -> u64 {
        self.list[at].wanted.leafdirs.iter().filter(|wanted| **wanted).count() as u64
    }

    /// True where some file of the plan that is this device is written to.
    fn claims(&self, device: u64) -> bool {
        let is = |set: &&Set| set.order.device.as_ref().is_some_and(|own| own.number == device);
        self.list.iter().filter(is).any(|set| set.writes)
    }

    /// Brings one set onto the disk and fills its pool. Without `disk` the pool is filled as if it had been.
    pub(super) fn create(
        &self,
        plan: &Plan,
        at: usize,
        region: &Region,
        disk: Option<&Disk<'_>>,
    ) -> Result<Created, CreateError> {
        let (spec, set) = (&plan.filesets[at], &self.list[at]);
        let pool = Pool::attach(region, set.order.pool, set.order.shape());
        let Some(disk) = disk else {
            pool.fill(&set.layout, &set.wanted);
            return Ok(Created::default());
        };
        if let Some(device) = &spec.device {
            let lock = if disk.claimed { None } else { Some(device.claim(self.claims(device.number), disk.leave)?) };
            pool.fill(&set.layout, &set.wanted);
            return Ok(Created { lock, ..Created::default() });
        }
        let options = Options {
            adopt: disk.adopt,
            writes: set.writes,
            threads: disk.threads,
            progress: disk.progress,
            cancel: disk.cancel,
            seed: seed_of(plan.seed, &spec.name).child("data"),
        };
        let prepared = fileset::prepare(spec, &set.layout, &set.wanted, &options)?;
        pool.fill(&set.layout, &prepared.existing);
        if !prepared.ours {
            // A use that never ends keeps deletefile, removedir and rmdir away from what others made.
            let Found { files, directories, leafdirs } = &prepared.found;
            let keep = |entries: &Entries<'_>, at: usize| _ = entries.use_at(at as u32);
            files.iter().enumerate().filter(|(_, found)| **found).for_each(|(at, _)| keep(pool.files(), at));
            leafdirs.iter().enumerate().filter(|(_, found)| **found).for_each(|(at, _)| keep(pool.leafdirs(), at));
            let homes = set.layout.homes().enumerate().filter(|(_, directory)| directories[*directory as usize]);
            homes.for_each(|(at, _)| keep(pool.homes(), at));
        }
        Ok(Created {
            lock: prepared.lock,
            made: prepared.made,
            files: prepared.existing.files.iter().filter(|exists| **exists).count() as u64,
            ours: prepared.ours,
            unfinished: prepared.unfinished,
        })
    }
}

/// How file sets are made.
pub(super) struct Disk<'a> {
    pub(super) adopt: bool,
    pub(super) threads: usize,
    pub(super) progress: &'a Progress,
    pub(super) cancel: &'a AtomicBool,
    /// What may be done to devices.
    pub(super) leave: &'a Leave,
    /// The set is a device that this invocation has claimed already.
    pub(super) claimed: bool,
}

/// What came of making a set.
#[derive(Debug, Default)]
pub(super) struct Created {
    /// Keeps other runs out.
    pub(super) lock: Option<OwnedFd>,
    pub(super) made: u64,
    pub(super) files: u64,
    pub(super) ours: bool,
    pub(super) unfinished: bool,
}

fn seed_of(seed: u64, name: &str) -> Seed {
    Seed::root(seed).child("fileset").child(name)
}

/// How a flowop comes to the files of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It names the set, or works on what is open in a slot that the set is opened into.
    Works,
    /// It takes them for another set.
    Source,
}

/// The flowops of all runs that may come to the files of a set. Those that are never done, for their weight or their
/// `iters` is 0, do not.
///
/// A flowop that names no set works on what another has opened into its slot. One that writes does so in slot 0, which
/// is shared without a word, whatever set it names.
pub(super) fn reaching(plan: &Plan, set: usize) -> impl Iterator<Item = (&FlowopPlan, Reach)> {
    let threads = plan.runs().flat_map(|run| &run.processes).flat_map(|process| &process.threads);
    threads.flat_map(move |thread| {
        let left_out = thread.left_out();
        let done = move |(at, flowop): &(usize, &FlowopPlan)| {
            !left_out.contains(&(*at as u32)) && flowop.attributes.quantity("iters") != Some(Quantity::Fixed(0))
        };
        thread.flowops.iter().enumerate().filter(done).filter_map(move |(_, flowop)| {
            let named = flowop.attributes.fileset("filesetname");
            if named == Some(set) {
                return Some((flowop, Reach::Works));
            }
            let by_slot = match named {
                None => true,
                Some(_) => flowop.attributes.number("fd") == 0 && flowop.def().effect == Effect::Writes,
            };
            let opened = || {
                let mut others = thread.flowops.iter();
                others.any(|other| other.attributes.fileset("filesetname") == Some(set) && share_a_slot(flowop, other))
            };
            if by_slot && opened() {
                return Some((flowop, Reach::Works));
            }
            (flowop.attributes.fileset("source") == Some(set)).then_some((flowop, Reach::Source))
        })
    })
}

/// True where both may have their file in the same slot.
fn share_a_slot(one: &FlowopPlan, other: &FlowopPlan) -> bool {
    let slots = |flowop: &FlowopPlan| {
        let has_slot = flowop.def().attributes().any(|attribute| attribute.name == "fd");
        let fd = flowop.attributes.number("fd") as usize;
        has_slot.then_some(if fd == 0 && flowop.attributes.flag("opennext") { 0..ROTATION } else { fd..fd + 1 })
    };
    match (slots(one), slots(other)) {
        (Some(one), Some(other)) => one.start < other.end && other.start < one.end,
        _ => false,
    }
}

/// True where a flowop that reaches a set so makes something of it another: data, names or attributes. A set whose files
/// get names in another one is written to as well: what is done under those names is done to its files.
pub(super) fn changes(flowop: &FlowopPlan, reach: Reach) -> bool {
    let effect = flowop.def().effect;
    effect.changes() && (reach == Reach::Works || effect.reaches_source())
}

/// True where some flowop of some run may write to the set, make or remove names in it, or change attributes.
fn writes(plan: &Plan, set: usize) -> bool {
    reaching(plan, set).any(|(flowop, reach)| changes(flowop, reach))
}

/// Random variables for a layout.
struct Draws<'a> {
    variables: &'a [random::Spec],
    samplers: BTreeMap<VariableId, Sampler>,
    seed: Seed,
}

impl Variables for Draws<'_> {
    fn mean(&self, id: VariableId) -> f64 {
        self.variables[id.0 as usize].mean().unwrap_or(0.0)
    }

    fn sample(&mut self, id: VariableId, _: &mut Generator) -> f64 {
        let (variables, seed) = (self.variables, self.seed);
        let drawn = self
            .samplers
            .entry(id)
            .or_insert_with(|| sampler(variables, id, seed.child("variable").index(u64::from(id.0))));
        drawn.sample()
    }

    fn sample_about(&mut self, id: VariableId, mean: f64, stream: &mut Generator) -> f64 {
        let own = self.mean(id);
        let sample = self.sample(id, stream);
        if own > 0.0 { sample * mean / own } else { mean }
    }
}
