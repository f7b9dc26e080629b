//! What is meant: every name bound, every attribute of its kind, nothing left to look up.
//!
//! A [`Plan`] holds no handle and no reference, so that it can be shown, stored and sent to worker processes.

use crate::attribute::{Attributes, Quantity, Value};
use crate::fileset;
use crate::flowop::FlowopClass;
use crate::random;
use crate::summary::assertion::Assertion;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

mod assertion;
pub mod command;
mod composite;
pub mod entity;
pub mod forecast;
mod resolve;
mod scope;
mod to_wl;

pub use command::{COMMANDS, CommandDef};
pub use resolve::plan;
pub use to_wl::to_wl;

/// A workload, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Its name and text.
    pub workload: Workload,
    /// How constant sizes are read.
    pub dialect: Dialect,
    /// Everything random derives from it.
    pub seed: u64,
    /// `--dir`.
    pub dir: Option<PathBuf>,
    /// Random variables, which quantities refer to by place.
    pub variables: Vec<random::Spec>,
    /// File sets, which flowops refer to by place.
    pub filesets: Vec<fileset::Spec>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Everything that starts processes: the runs, and what lives from `create processes` on.
    pub fn runs(&self) -> impl Iterator<Item = &RunPlan> {
        self.steps.iter().filter_map(|step| match step {
            Step::Run(run) | Step::Start(run) => Some(run),
            _ => None,
        })
    }
}

/// The workload's identity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Of the personality, or of the file without directory and suffix.
    pub name: String,
    /// Of the text: `fnv1a64:` and 16 hexadecimal digits.
    pub hash: String,
}

/// How a file set's constant size is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// filebench 1.5 and wlrun: as it stands.
    Current,
    /// filebench 1.4: as the mean of a gamma distribution of shape 1.5, where `filesizegamma` says nothing else.
    Filebench14,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Show a line.
    Echo(String),
    /// Run a line by the shell and wait for it; only with leave.
    System(String),
    /// Wait so many nanoseconds.
    Sleep(u64),
    /// Make these file sets, by place.
    Create(Vec<u32>),
    /// Run and measure.
    Run(RunPlan),
    /// Start processes and let them run: a session, up to the next `Stop` or `Measure`.
    Start(RunPlan),
    /// In a session: measure anew for a time, and stop the processes.
    Measure(Measure),
    /// In a session: measure anew.
    Clear,
    /// In a session: put what was measured until now into the record.
    Snap,
    /// In a session: give the event generator so many events per second; 0 is no limit.
    Rate(u64),
    /// In a session: wait until the processes have ended by themselves.
    UntilDone,
    /// In a session: stop the processes.
    Stop,
    /// Wait so many nanoseconds, while the processes of a session warm up.
    Warmup(u64),
    /// Take away the trees that wlrun made.
    Remove,
    /// Run a line by the shell beside what follows, until the next `Snap` or the end; only with leave.
    Background(String),
    /// Write what the last run or snapshot measured, in this form of report, to a new file below the working directory.
    Dump {
        /// A name of the list of forms.
        format: String,
        /// Relative.
        path: PathBuf,
    },
    /// Make a directory below the working directory, where it is not there.
    Directory(PathBuf),
    /// Add a line to a file in the working directory.
    Log {
        /// A name.
        path: PathBuf,
        /// Without its newline.
        text: String,
    },
}

/// A measurement of processes that live already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// As [`RunPlan::length_ns`].
    pub length_ns: Option<u64>,
    /// As [`RunPlan::warmup_ns`].
    pub warmup_ns: u64,
    /// As [`RunPlan::period`].
    pub period: Option<Period>,
    /// As [`RunPlan::lathist`].
    pub lathist: bool,
}

/// The periods of a `psrun`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// Nanoseconds.
    pub length_ns: u64,
    /// What a report shows for each: all since the start, or what the period itself had.
    pub cumulative: bool,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// How long, in nanoseconds; none for until the threads end.
    pub length_ns: Option<u64>,
    /// How long before that it runs without being measured, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warmup_ns: u64,
    /// Of a `psrun`: the intervals, and how they are shown.
    pub period: Option<Period>,
    /// A report is to show the distribution of latencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lathist: bool,
    /// What the end of a thread means.
    pub quit: QuitMode,
    /// Events per second of the event generator; none where there is no limit.
    pub events_per_s: Option<u64>,
    /// The variables at that moment.
    pub parameters: BTreeMap<String, Value>,
    /// In the order of definition.
    pub processes: Vec<ProcessPlan>,
    /// What must hold of its figures, in the order of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asserts: Vec<Assertion>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl RunPlan {
    /// Process, thread and name of each flowop, in the order of a record's rows.
    pub fn flowops(&self) -> impl Iterator<Item = [&str; 3]> {
        let threads = self.processes.iter().flat_map(|process| process.threads.iter().map(move |t| (process, t)));
        threads.flat_map(|(process, thread)| {
            thread.flowops.iter().map(move |f| [process.name.as_str(), thread.name.as_str(), f.name.as_str()])
        })
    }

    /// Instances of all processes.
    pub fn process_count(&self) -> u64 {
        self.processes.iter().fold(0, |sum, p| sum.saturating_add(u64::from(p.instances)))
    }

    /// Thread instances of all processes.
    pub fn thread_count(&self) -> u64 {
        let of = |p: &ProcessPlan| u64::from(p.instances).saturating_mul(p.thread_count());
        self.processes.iter().fold(0, |sum, p| sum.saturating_add(of(p)))
    }
}

/// What it means when a thread has no more work or has reached its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuitMode {
    /// The run ends, before its time.
    Timeout,
    /// The run ends; this is its purpose.
    Firstdone,
    /// The thread ends; the run ends with the last.
    Alldone,
}

impl QuitMode {
    /// All, with their words in a workload.
    pub const ALL: [(&'static str, QuitMode); 3] =
        [("timeout", QuitMode::Timeout), ("firstdone", QuitMode::Firstdone), ("alldone", QuitMode::Alldone)];
}

/// A process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessPlan {
    /// Of the workload.
    pub name: String,
    /// Number of OS processes.
    pub instances: u32,
    /// Added to the nice value.
    pub nice: i32,
    /// In the order of definition.
    pub threads: Vec<ThreadPlan>,
}

impl ProcessPlan {
    /// Thread instances of one process instance.
    pub fn thread_count(&self) -> u64 {
        self.threads.iter().fold(0, |sum, t| sum.saturating_add(u64::from(t.instances)))
    }
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadPlan {
    /// Of the workload.
    pub name: String,
    /// Number of threads in each process instance.
    pub instances: u32,
    /// Bytes of its buffer; 0 for as many as the largest request.
    pub memsize: u64,
    /// Best-effort I/O priority, 0 to 7; none leaves it alone.
    pub ioprio: Option<u8>,
    /// Rounds per second of each thread instance; none for one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// Number of descriptor slots that its flowops name.
    pub slots: u32,
    /// What it repeats; those within composite flowops stand where they are used.
    pub flowops: Vec<FlowopPlan>,
    /// The order where there are composite flowops or mixes; empty where it is that of `flowops`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<Node>,
}

impl ThreadPlan {
    /// The flowops, by place, that are never done, for their weight in a mix is 0.
    pub fn left_out(&self) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        self.program.iter().for_each(|node| node.left_out(false, &mut found));
        found
    }

    /// True where all files in this slot are opened with O_DIRECT: by `openfile` and `createfile` where there are such
    /// for the slot, else by the flowops that open on their own. Of those the first opens for all, as long as it is
    /// always the same that comes first.
    pub fn opens_direct(&self, slot: u64) -> bool {
        let left_out = self.left_out();
        let of_slot = |kinds: &[&str]| -> Vec<&FlowopPlan> {
            let is = |(at, f): &(usize, &FlowopPlan)| {
                let never = f.attributes.quantity("iters") == Some(Quantity::Fixed(0));
                let done = !never && !left_out.contains(&(*at as u32));
                done && f.attributes.number("fd") == slot && (kinds.is_empty() || kinds.contains(&f.kind.as_str()))
            };
            self.flowops.iter().enumerate().filter(is).map(|(_, f)| f).collect()
        };
        let mut openers = of_slot(&["openfile", "createfile"]);
        if openers.is_empty() {
            openers = of_slot(&[]);
            openers.retain(|f| f.opens() && f.attributes.fileset("filesetname").is_some());
            let varies = self.program.iter().any(|node| matches!(node, Node::Mix { .. } | Node::Composite { .. }));
            if !varies && of_slot(&["closefile"]).is_empty() {
                openers.truncate(1);
            }
        }
        !openers.is_empty() && openers.iter().all(|f| f.attributes.flag("directio"))
    }

    /// True where what it does may have a schedule: its own, or that of the event generator. Then each of its flowops has
    /// a second row of counters, for response times, behind those of all its flowops.
    pub fn is_paced(&self) -> bool {
        self.rate.is_some() || self.is_limited()
    }

    /// True where one of its flowops holds it back to the event generator's rate.
    pub fn is_limited(&self) -> bool {
        self.flowops.iter().any(|flowop| flowop.def().is_limiter())
    }

    /// Rows of counters of each thread instance.
    pub fn counter_rows(&self) -> usize {
        self.flowops.len() * if self.is_paced() { 2 } else { 1 }
    }

    /// Most operations that it may have under way beside itself; 0 where no flowop submits any.
    pub fn outstanding(&self) -> u64 {
        self.flowops.iter().map(|f| f.attributes.number("outstanding")).max().unwrap_or(0)
    }
}

/// A step of a thread's round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// A flowop, by its place among the thread's.
    Flowop(u32),
    /// A composite flowop: its steps, repeated `iters` times.
    Composite {
        /// Has `iters`.
        attributes: Attributes,
        /// In the order of its definition.
        nodes: Vec<Node>,
    },
    /// One of several, chosen anew each time; `iters` times.
    Mix {
        /// Has `iters`.
        attributes: Attributes,
        /// In the order written.
        choices: Vec<Choice>,
    },
}

impl Node {
    /// The flowops in it that are never done, for the weight of what they are in is 0.
    fn left_out(&self, within: bool, found: &mut BTreeSet<u32>) {
        match self {
            Node::Flowop(at) => {
                if within {
                    found.insert(*at);
                }
            }
            Node::Composite { nodes, .. } => nodes.iter().for_each(|node| node.left_out(within, found)),
            Node::Mix { choices, .. } => {
                choices.iter().for_each(|choice| choice.node.left_out(within || choice.weight == 0, found));
            }
        }
    }
}

/// What a mix may choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Its share of the choices, in millionths; the sum of a mix is above 0.
    pub weight: u64,
    /// What is done then.
    pub node: Node,
}

/// A flowop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowopPlan {
    /// Of the workload.
    pub name: String,
    /// Its type, a name of the list of flowops.
    #[serde(rename = "type")]
    pub kind: String,
    /// The place of `target` among the thread's flowops.
    pub target: Option<u32>,
    /// The flowops that `target` names where it is for those of all threads: process, thread, flowop by place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acts_on: Vec<[u32; 3]>,
    /// Typed; defaults are filled in.
    pub attributes: Attributes,
}

impl FlowopPlan {
    /// Its definition.
    ///
    /// # Panics
    ///
    /// Where the plan was made by another version with other flowops.
    pub fn def(&self) -> &'static crate::flowop::FlowopDef {
        crate::flowop::find(&self.kind).expect("a plan names flowops of the list")
    }

    /// True where it opens a file into its slot where none is open.
    fn opens(&self) -> bool {
        let def = self.def();
        let has = |name: &str| def.attributes().any(|attribute| attribute.name == name);
        has("fd") && (has("noreadahead") || matches!(def.class, FlowopClass::Read | FlowopClass::Write))
    }

    /// False where it goes through the page cache however its file was opened: what is mapped does.
    pub fn may_be_direct(&self) -> bool {
        self.def().attributes().any(|def| def.name == "directio")
    }
}

/// What the command line adds to a workload's text.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `--dir`, absolute.
    pub dir: Option<PathBuf>,
    /// Where relative paths start: `--dir`, else the working directory; absolute.
    pub base: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// `--set`, in order.
    pub set: Vec<(String, Value)>,
    /// `--runtime`, in nanoseconds.
    pub runtime_ns: Option<u64>,
    /// `--warmup`, in nanoseconds.
    pub warmup_ns: Option<u64>,
    /// `--seed`.
    pub seed: u64,
    /// The workload is checked, not run: an absent `$dir` or `run` is a warning.
    pub check: bool,
    /// Reads the files that a workload names; none where it may name none.
    pub read: Option<ReadText>,
}

/// Reads a text file of so many bytes at most. The planner itself opens nothing.
pub type ReadText = fn(&Path, u64) -> std::io::Result<String>;
