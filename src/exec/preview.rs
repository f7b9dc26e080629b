//! What a plan would make and need, computed by what a run is prepared with. Nothing is opened for writing and nothing
//! is started.

use super::control;
use super::controller::{Options, Places, ProcessModel, helpers};
use super::filesets::Sets;
use super::limits::Needs;
use super::procflow;
use crate::plan::forecast::Sizes;
use crate::plan::{Plan, ProcessPlan, RunPlan};
use crate::record::counters::Shape;
use serde::Serialize;
use std::path::PathBuf;

/// Descriptors of a worker beside roots and files: three standard ones, shared memory, the pipe.
const DESCRIPTORS_OF_WORKER: u64 = 5;

/// Sizes of a set's files, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizesPreview {
    /// Least.
    pub min: u64,
    /// Half of the files are as large or smaller.
    pub median: u64,
    /// Sum divided by number.
    pub mean: f64,
    /// Largest.
    pub max: u64,
}

/// A file set as it would be made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetPreview {
    /// Of the workload.
    pub name: String,
    /// The root of its tree.
    pub path: PathBuf,
    /// Files, whether they exist at the start or not.
    pub files: u64,
    /// Files that exist at the start.
    pub files_made: u64,
    /// Bytes of all files, by their nominal sizes.
    pub bytes: u64,
    /// Bytes of the files that exist at the start.
    pub bytes_made: u64,
    /// Directories, the root included; all exist at the start.
    pub directories: u64,
    /// Of them, those that hold files, for mkdir and rmdir.
    pub homes: u64,
    /// Directories without files, for makedir and removedir.
    pub leafdirs: u64,
    /// Of them, those that exist at the start.
    pub leafdirs_made: u64,
    /// Files and directories of both kinds at the start.
    pub inodes_made: u64,
    /// The same when all entries exist.
    pub inodes: u64,
    /// Directories below one another at most, the root not counted.
    pub depth: u64,
    /// None where there are no files.
    #[serde(rename = "size_bytes")]
    pub sizes: Option<SizesPreview>,
    /// A tree of an earlier run is kept, and what differs is repaired.
    pub reuse: bool,
    /// The tree is taken as it is.
    pub trusttree: bool,
    /// Workers open its files for reading only.
    pub readonly: bool,
    /// Workers open its files for writing only.
    pub writeonly: bool,
}

impl SetPreview {
    /// For the forecast.
    pub fn forecast_sizes(&self) -> Sizes {
        match self.sizes {
            Some(SizesPreview { min, mean, max, .. }) => Sizes { mean, least: Some(min), most: Some(max) },
            None => Sizes { mean: 0.0, least: None, most: None },
        }
    }
}

/// The memory that all processes share, in bytes. Pages that nobody touches cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SharedPreview {
    /// State, sizes and directories of the file sets.
    #[serde(rename = "fileset_bytes")]
    pub filesets: u64,
    /// Of block and semblock.
    #[serde(rename = "wait_point_bytes")]
    pub wait_points: u64,
    /// Counters and histograms of the run with the most.
    #[serde(rename = "counter_bytes")]
    pub counters: u64,
    /// All, with the control page.
    #[serde(rename = "total_bytes")]
    pub total: u64,
}

/// What one run needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunPreview {
    /// Against what there is.
    #[serde(flatten)]
    pub needs: Needs,
    /// Descriptors of the process that may need the most.
    pub descriptors_in_one: u64,
    /// Of all processes, the controller not counted.
    pub descriptors: u64,
}

/// What a plan would make and need.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Preview {
    /// By place in the plan.
    pub filesets: Vec<SetPreview>,
    /// Of all runs together.
    pub shared: SharedPreview,
    /// In order.
    pub runs: Vec<RunPreview>,
}

/// Computes what `plan` would make and need. `descriptors` says how many one instance of a thread, by process and
/// thread of a run, may have open at most.
///
/// # Errors
///
/// In words, where a file set has no layout.
pub fn preview(
    plan: &Plan,
    options: &Options,
    descriptors: &dyn Fn(&crate::plan::ThreadPlan) -> u64,
) -> Result<Preview, String> {
    let sets = Sets::plan(plan, control::BYTES)?;
    let shapes: Vec<Shape> = plan.runs().map(procflow::shape).collect();
    let places = Places::of(plan, &sets, &shapes);
    let filesets = (0..plan.filesets.len()).map(|at| set_preview(plan, &sets, at)).collect();
    let one_process = options.process_model == ProcessModel::Threads;
    let helpers = helpers(options);
    let runs = plan
        .runs()
        .map(|run| {
            let [descriptors_in_one, descriptors] = descriptors_of(run, one_process, descriptors);
            RunPreview { needs: Needs::of(run, one_process, helpers), descriptors_in_one, descriptors }
        })
        .collect();
    let shared = SharedPreview {
        filesets: (sets.end - control::BYTES) as u64,
        wait_points: (places.counters - places.points) as u64,
        counters: (places.end - places.counters) as u64,
        total: places.end as u64,
    };
    Ok(Preview { filesets, shared, runs })
}

fn set_preview(plan: &Plan, sets: &Sets, at: usize) -> SetPreview {
    let spec = &plan.filesets[at];
    let layout = &sets.list[at].layout;
    let figures = layout.figures();
    let (files_made, bytes_made) = sets.work(at);
    let leafdirs_made = sets.leafdirs_made(at);
    let mut depths = vec![0u64; layout.directories.len()];
    for (directory, entry) in layout.directories.iter().enumerate().skip(1) {
        depths[directory] = depths[entry.parent as usize] + 1;
    }
    let mut sorted = layout.sizes.clone();
    sorted.sort_unstable();
    let sizes = sorted.first().zip(sorted.last()).map(|(min, max)| SizesPreview {
        min: *min,
        median: sorted[(sorted.len() - 1) / 2],
        mean: figures.bytes as f64 / figures.files as f64,
        max: *max,
    });
    // A device is there, and nothing is made for it.
    let made = |n: u64| if spec.device.is_some() { 0 } else { n };
    SetPreview {
        name: spec.name.clone(),
        path: spec.root(),
        files: figures.files,
        files_made,
        bytes: figures.bytes,
        bytes_made,
        directories: made(figures.directories),
        homes: made(layout.homes().count() as u64),
        leafdirs: figures.leafdirs,
        leafdirs_made,
        inodes_made: made(files_made + figures.directories + leafdirs_made),
        inodes: made(figures.files + figures.directories + figures.leafdirs),
        depth: depths.into_iter().max().unwrap_or(0),
        sizes,
        reuse: spec.reuse,
        trusttree: spec.trusttree,
        readonly: spec.readonly,
        writeonly: spec.writeonly,
    }
}

/// Descriptors of the process with the most, and of all.
fn descriptors_of(run: &RunPlan, one_process: bool, of_thread: &dyn Fn(&crate::plan::ThreadPlan) -> u64) -> [u64; 2] {
    let of_process = |process: &ProcessPlan| {
        let threads = process.threads.iter().fold(0u64, |sum, thread| {
            sum.saturating_add(u64::from(thread.instances).saturating_mul(of_thread(thread)))
        });
        threads.saturating_add(procflow::used_sets(process).len() as u64).saturating_add(DESCRIPTORS_OF_WORKER)
    };
    let instances = run.processes.iter().filter(|process| process.instances > 0);
    let (mut most, mut all) = (0u64, 0u64);
    for process in instances {
        let each = of_process(process);
        most = most.max(each);
        all = all.saturating_add(each.saturating_mul(u64::from(process.instances)));
    }
    [if one_process { all } else { most }, all]
}
