//! The file sets of a plan: their layouts, their places in shared memory, their way onto the disk.

use super::protocol::SetOrder;
use super::threadflow::sampler;
use crate::attribute::VariableId;
use crate::fileset::{self, CreateError, Layout, LayoutError, Options, Pool, Presence, Progress, Shape, Variables};
use crate::plan::Plan;
use crate::random::stream::{Generator, Seed};
use crate::random::{self, Sampler};
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
            let wanted = layout.prealloc(spec.prealloc_percent, seed.child("prealloc"));
            let shape = Shape::of(&layout);
            let order = SetOrder {
                name: spec.name.clone(),
                root: spec.root(),
                readonly: spec.readonly,
                writeonly: spec.writeonly,
                pool: end,
                content: spec.content,
                shape: [shape.files, shape.directories, shape.leafdirs, shape.homes],
            };
            end += Pool::bytes(shape);
            list.push(Set { layout, wanted, writes: writes(plan, at), order });
        }
        Ok(Sets { list, end })
    }

    /// A set that was taken away and made anew is one set.
    pub(super) fn unlike(&self) -> impl Iterator<Item = &Set> {
        let last =
            |(at, set): &(usize, &Set)| self.list[at + 1..].iter().all(|later| later.order.root != set.order.root);
        self.list.iter().enumerate().filter(last).map(|(_, set)| set)
    }

    /// Files of all sets, and the sum of their sizes in bytes.
    pub(super) fn totals(&self) -> (u64, u64) {
        self.unlike()
            .map(|set| set.layout.figures())
            .fold((0, 0), |(files, bytes), figures| (files + figures.files, bytes + figures.bytes))
    }

    /// Files and bytes that one set's creation has to do.
    pub(super) fn work(&self, at: usize) -> (u64, u64) {
        let Set { layout, wanted, .. } = &self.list[at];
        let wanted = wanted.files.iter().zip(&layout.sizes).filter(|(wanted, _)| **wanted);
        wanted.fold((0, 0), |(files, bytes), (_, size)| (files + 1, bytes + size))
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
            // A use that never ends keeps deletefile away from files of others.
            for (file, _) in prepared.found.iter().enumerate().filter(|(_, found)| **found) {
                pool.files().use_at(file as u32);
            }
        }
        Ok(Created {
            lock: prepared.lock,
            exclusive: prepared.exclusive,
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
}

/// What came of making a set.
#[derive(Debug, Default)]
pub(super) struct Created {
    /// Keeps other runs out.
    pub(super) lock: Option<OwnedFd>,
    /// Whether that keeps those out too who only read.
    pub(super) exclusive: bool,
    pub(super) made: u64,
    pub(super) files: u64,
    pub(super) ours: bool,
    pub(super) unfinished: bool,
}

fn seed_of(seed: u64, name: &str) -> Seed {
    Seed::root(seed).child("fileset").child(name)
}

/// True where some flowop of some run may write to the set, make or remove names in it, or change attributes. A set whose
/// files get names in another one is written to as well: what is done under those names is done to its files.
///
/// A flowop that names no set works on what another has opened; it is taken to be able to reach every set that its
/// thread names.
fn writes(plan: &Plan, set: usize) -> bool {
    plan.runs().flat_map(|run| &run.processes).flat_map(|process| &process.threads).any(|thread| {
        let names_set = || thread.flowops.iter().any(|f| f.attributes.fileset("filesetname") == Some(set));
        thread.flowops.iter().filter(|flowop| flowop.def().effect.changes()).any(|flowop| {
            let named = flowop.attributes.fileset("filesetname").map_or_else(names_set, |named| named == set);
            named || flowop.def().effect.reaches_source() && flowop.attributes.fileset("source") == Some(set)
        })
    })
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
