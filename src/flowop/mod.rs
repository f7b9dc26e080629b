//! What an operation is. A flowop says *what* is to be done; the engine says how, the threadflow how long it took.
//! A flowop never reads the clock.
//!
//! To add a flowop: its file here, with its [`FlowopDef`], its struct, its `impl Flowop` and its tests; and its two
//! lines below (`mod`, and the entry of [`FLOWOPS`]). Nothing else: the language, the checks, the counters, the
//! reports and the reference read the list.

use crate::attribute::{AttributeDef, Attributes, Quantity, VariableId};
use crate::random::Sampler;
use crate::random::stream::Seed;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

mod acts;
pub mod attributes;
mod data;
mod file;
mod outstanding;
mod pacing;
mod pair;
mod subject;
#[cfg(test)]
mod testing;
mod thread;
mod xattr;

pub use acts::{Acts, DataUse, EntryUse, Pace, Paid, SlotUse};
pub use outstanding::Lost;
pub use thread::{
    By, DIRECT_ALIGNMENT, FileRef, Kind, OpenSet, OwnIo, Posted, ROTATION, RunState, Slot, Taken, Thread,
};

mod aioread;
mod aiowait;
mod aiowrite;
mod appendfile;
mod appendfilerand;
mod block;
mod bwlimit;
mod chmod;
mod closefile;
mod copyfile;
mod createfile;
mod delay;
mod deletefile;
mod eventlimit;
mod fallocate;
mod finishonbytes;
mod finishoncount;
mod flock;
mod fsync;
mod fsyncset;
mod getxattr;
mod hog;
mod iopslimit;
mod link;
mod listdir;
mod listxattr;
mod lseek;
mod makedir;
mod mkdir;
mod mmapread;
mod mmapwrite;
mod openfile;
mod opslimit;
mod print;
mod read;
mod readlink;
mod readwholefile;
mod removedir;
mod rename;
mod rmdir;
mod semblock;
mod sempost;
mod setxattr;
mod statdir;
mod statfile;
mod symlink;
mod syncfs;
mod testrandvar;
mod truncate;
mod utimes;
mod wakeup;
mod write;
mod writewholefile;

/// All flowops, in the order of their names: they are looked up often.
pub static FLOWOPS: &[&FlowopDef] = &[
    &aioread::DEF,
    &aiowait::DEF,
    &aiowrite::DEF,
    &appendfile::DEF,
    &appendfilerand::DEF,
    &block::DEF,
    &bwlimit::DEF,
    &chmod::DEF,
    &closefile::DEF,
    &copyfile::DEF,
    &createfile::DEF,
    &delay::DEF,
    &deletefile::DEF,
    &eventlimit::DEF,
    &fallocate::DEF,
    &finishonbytes::DEF,
    &finishoncount::DEF,
    &flock::DEF,
    &fsync::DEF,
    &fsyncset::DEF,
    &getxattr::DEF,
    &hog::DEF,
    &iopslimit::DEF,
    &link::DEF,
    &listdir::DEF,
    &listxattr::DEF,
    &lseek::DEF,
    &makedir::DEF,
    &mkdir::DEF,
    &mmapread::DEF,
    &mmapwrite::DEF,
    &openfile::DEF,
    &opslimit::DEF,
    &print::DEF,
    &read::DEF,
    &readlink::DEF,
    &readwholefile::DEF,
    &removedir::DEF,
    &rename::DEF,
    &rmdir::DEF,
    &semblock::DEF,
    &sempost::DEF,
    &setxattr::DEF,
    &statdir::DEF,
    &statfile::DEF,
    &symlink::DEF,
    &syncfs::DEF,
    &testrandvar::DEF,
    &truncate::DEF,
    &utimes::DEF,
    &wakeup::DEF,
    &write::DEF,
    &writewholefile::DEF,
];

/// The flowop of that type.
pub fn find(kind: &str) -> Option<&'static FlowopDef> {
    match FLOWOPS.binary_search_by(|def| def.name.cmp(kind)) {
        Ok(at) => Some(FLOWOPS[at]),
        Err(_) => FLOWOPS.iter().copied().find(|def| def.aliases.contains(&kind)),
    }
}

/// True where threads wait at flowops of this type, because flowops of another type act on them by name: each instance
/// has a wait point in shared memory.
pub fn has_wait_point(kind: &str) -> bool {
    let acts_on_it = |def: &AttributeDef| matches!(def.kind, crate::attribute::Kind::Instances(of) if of == kind);
    FLOWOPS.iter().flat_map(|def| def.attributes()).any(acts_on_it)
}

/// What kind of work a flowop does, for the totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlowopClass {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Names, attributes, descriptors, flushes.
    Metadata,
    /// Pacing, waiting, ending: no I/O, not in the totals.
    Control,
}

impl FlowopClass {
    /// True where the totals have it.
    pub fn is_io(self) -> bool {
        self != FlowopClass::Control
    }
}

/// What a flowop does to the file set it works on, for the checks before the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Changes data.
    Writes,
    /// Makes names.
    Names,
    /// Works on no file.
    None,
    /// Removes names.
    Removes,
    /// Takes names away from the set `source` and makes them in another.
    Moves,
    /// Changes attributes of files.
    Attributes,
}

impl Effect {
    /// True where something on the disk is another after it.
    pub fn changes(self) -> bool {
        !matches!(self, Effect::Reads | Effect::None)
    }

    /// True where it reaches the files of `source` too: a name of theirs is made or goes, and what is done under a name
    /// is done to its file. A copy is a file of its own.
    pub fn reaches_source(self) -> bool {
        matches!(self, Effect::Names | Effect::Moves)
    }
}

/// What a flowop is.
pub struct FlowopDef {
    /// Its type in a workload.
    pub name: &'static str,
    /// Other names with the same meaning.
    pub aliases: &'static [&'static str],
    /// Why one with these attributes cannot work on a block device, where it cannot.
    pub on_device: fn(&Attributes) -> Result<(), &'static str>,
    /// For the totals.
    pub class: FlowopClass,
    /// For the checks.
    pub effect: Effect,
    /// For the forecast.
    pub acts: Acts,
    /// One line for people.
    pub summary: &'static str,
    /// What it honours, in groups. [`attributes::COMMON`] is added to each.
    pub attributes: &'static [&'static [AttributeDef]],
    /// Makes one for a thread.
    pub build: fn(&mut Build<'_>) -> Box<dyn Flowop>,
}

impl FlowopDef {
    /// All attributes that it honours.
    pub fn attributes(&self) -> impl Iterator<Item = &'static AttributeDef> {
        attributes::COMMON.iter().chain(self.attributes.iter().copied().flatten())
    }

    /// True where it holds its thread back to the event generator's rate: what the thread does has a schedule.
    pub fn is_limiter(&self) -> bool {
        [&bwlimit::DEF, &eventlimit::DEF, &iopslimit::DEF, &opslimit::DEF].iter().any(|def| def.name == self.name)
    }
}

impl std::fmt::Debug for FlowopDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowopDef").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a flowop is made from.
pub struct Build<'a> {
    /// Its name in the workload.
    pub name: &'a str,
    /// Its place among the thread's flowops.
    pub index: usize,
    /// Checked against its definition.
    pub attributes: &'a Attributes,
    /// The place of the flowop that `target` names, among the thread's.
    pub target: Option<usize>,
    /// The wait point of this instance, where flowops of its type have one.
    pub wait_point: Option<u32>,
    /// The wait points of all instances that `target` names, flowop by flowop.
    pub target_points: Vec<Arc<[u32]>>,
    /// Of this flowop in this thread instance.
    pub seed: Seed,
    /// A sampler of a random variable on a stream.
    pub sampler: &'a dyn Fn(VariableId, Seed) -> Sampler,
}

impl Build<'_> {
    /// A number that may be random; `or` where it is absent.
    pub fn amount(&self, name: &str, or: u64) -> Amount {
        match self.attributes.quantity(name) {
            None => Amount::Fixed(or),
            Some(Quantity::Fixed(n)) => Amount::Fixed(n),
            Some(Quantity::Random(id)) => Amount::Random(Box::new((self.sampler)(id, self.seed.child(name)))),
        }
    }
}

/// A number for the measured path: plain, or drawn anew at each use.
pub enum Amount {
    /// Always this.
    Fixed(u64),
    /// Drawn, truncated toward zero.
    Random(Box<Sampler>),
}

impl Amount {
    /// The number for this use.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        match self {
            Amount::Fixed(n) => *n,
            Amount::Random(sampler) => sampler.whole(),
        }
    }
}

impl std::fmt::Debug for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Amount::Fixed(n) => write!(f, "{n}"),
            Amount::Random(_) => f.write_str("random"),
        }
    }
}

/// Bytes that an operation moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// That read calls returned.
    pub read: u64,
    /// That write calls took.
    pub written: u64,
}

impl Moved {
    /// Nothing.
    pub const NONE: Moved = Moved { read: 0, written: 0 };

    /// Read bytes.
    pub fn read(bytes: u64) -> Self {
        Moved { read: bytes, written: 0 }
    }

    /// Written bytes.
    pub fn written(bytes: u64) -> Self {
        Moved { read: 0, written: bytes }
    }
}

/// A call failed, or a wait ended with the run; what had moved before still counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// The kernel's error; none where the run ended during a wait, and so with the operation under way.
    pub errno: Option<Errno>,
    /// Before it.
    pub moved: Moved,
}

impl Broken {
    /// The run ended during a wait.
    pub const OVER: Broken = Broken { errno: None, moved: Moved::NONE };
}

impl From<Errno> for Broken {
    fn from(errno: Errno) -> Self {
        Broken { errno: Some(errno), moved: Moved::NONE }
    }
}

/// What `prepare` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// There is an operation to carry out.
    Go,
    /// There is one to begin; it counts when it ends, by [`RunState::record_completion`].
    Submit,
    /// There is nothing it may do at this moment; counted as skipped.
    Skip,
    /// There is nothing to do, and nothing to count.
    Quiet,
}

/// Why a thread ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// No file is left for this flowop: what was looked for, in words.
    NoWork(String),
    /// A count was reached.
    Finished(String),
    /// The run is over.
    Over,
    /// The operation cannot be done: the kernel's error where there is one, and words.
    Failed(Option<Errno>, String),
}

/// One flowop of one thread instance.
pub trait Flowop {
    /// Chooses the file, the offset, the buffer; opens the file where nobody has. Not timed.
    ///
    /// # Errors
    ///
    /// Why the thread ends.
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End>;

    /// Makes the calls. This is what is timed.
    ///
    /// # Errors
    ///
    /// The kernel's, with what had moved before.
    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken>;

    /// Keeps the books: which file exists now, what is open. Not timed.
    fn finish(&mut self, thread: &mut Thread<'_>, result: &Result<Moved, Broken>) {
        let _ = (thread, result);
    }

    /// True where the flowop has another operation of its own to do in this turn: it is prepared again at once.
    fn again(&self) -> bool {
        false
    }

    /// The run was over between `prepare` and `execute`: gives back what was claimed.
    fn cancel(&mut self, thread: &mut Thread<'_>) {
        let _ = thread;
    }

    /// The thread has come to its end: says what it has gathered.
    fn end(&mut self, thread: &mut Thread<'_>) {
        let _ = thread;
    }

    /// What to do about an error of its call, as the end of a sentence; none where the error says it all.
    fn advice(&self, errno: Errno, thread: &Thread<'_>) -> Option<&'static str> {
        let _ = (errno, thread);
        None
    }

    /// What it was doing, for the message of a failure: `write of 4096 bytes at 8192 to fs1/00000001/00000003`.
    fn describe(&self, thread: &Thread<'_>) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_so_that_each_is_found() {
        assert!(FLOWOPS.is_sorted_by(|one, next| one.name < next.name));
        for def in FLOWOPS {
            for name in def.aliases.iter().copied().chain([def.name]) {
                assert_eq!(find(name).map(|found| found.name), Some(def.name));
            }
        }
    }

    #[test]
    fn every_name_is_there_once_and_every_attribute_has_help() {
        let names: Vec<&str> =
            FLOWOPS.iter().flat_map(|def| std::iter::once(&def.name).chain(def.aliases)).copied().collect();
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        for def in FLOWOPS {
            assert!(!def.summary.is_empty());
            let mut seen = std::collections::BTreeSet::new();
            for attribute in def.attributes() {
                assert!(!attribute.help.is_empty(), "{}.{}", def.name, attribute.name);
                assert!(seen.insert(attribute.name), "{} has {} twice", def.name, attribute.name);
                assert!(attributes::known(attribute.name).is_some(), "{} is not in attributes::ALL", attribute.name);
                if let crate::attribute::Kind::TargetOf(kinds) = attribute.kind {
                    assert!(kinds.iter().all(|kind| find(kind).is_some_and(|def| def.name == *kind)));
                }
                if let crate::attribute::Kind::Instances(of) = attribute.kind {
                    assert!(find(of).is_some_and(|def| def.name == of && has_wait_point(of)));
                }
            }
        }
    }
}
