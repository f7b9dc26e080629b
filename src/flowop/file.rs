//! How flowops choose and open files: one piece for `openfile`, for the flowops that open on their own, and for
//! `createfile`.

use super::data::Place;
use super::{Amount, Build, By, End, FileRef, Kind, Slot, Thread};
use crate::engine::Request;
use crate::random::stream::Generator;
use rustix::fs::OFlags;
use rustix::io::Errno;

/// How a flowop chooses an entry of a set: the attributes `indexed` and `pick`.
#[derive(Debug)]
pub(super) enum Selection {
    /// In rotation.
    Rotation,
    /// By an index.
    Index(Amount),
    /// Each with the same chance.
    Random(Generator),
}

impl Selection {
    pub(super) fn new(build: &Build<'_>) -> Self {
        let attributes = build.attributes;
        match attributes.text("pick") {
            Some("random") => Selection::Random(build.seed.child("pick").generator()),
            _ if attributes.quantity("pick").is_some() => Selection::Index(build.amount("pick", 0)),
            _ if attributes.get("indexed").is_some() => Selection::Index(build.amount("indexed", 0)),
            _ => Selection::Rotation,
        }
    }

    /// The choice for this operation.
    #[inline]
    pub(super) fn by(&mut self) -> By<'_> {
        match self {
            Selection::Rotation => By::Rotation,
            Selection::Index(index) => By::Index(index.draw()),
            Selection::Random(generator) => By::Random(generator),
        }
    }
}

/// The file attributes of a flowop, resolved.
#[derive(Debug)]
pub(super) struct Choice {
    name: String,
    fd: usize,
    opennext: bool,
    set: Option<usize>,
    selection: Selection,
    pub(super) extra: OFlags,
    noreadahead: bool,
    pub(super) direct: bool,
}

impl Choice {
    pub(super) fn new(build: &Build<'_>) -> Self {
        let attributes = build.attributes;
        let mut extra = OFlags::empty();
        extra.set(OFlags::SYNC, attributes.flag("dsync"));
        extra.set(OFlags::DIRECT, attributes.flag("directio"));
        Choice {
            name: build.name.to_owned(),
            fd: attributes.number("fd") as usize,
            opennext: attributes.flag("opennext"),
            set: attributes.fileset("filesetname"),
            selection: Selection::new(build),
            extra,
            noreadahead: attributes.flag("noreadahead"),
            direct: attributes.flag("directio"),
        }
    }

    /// The slot for this operation.
    #[inline]
    pub(super) fn slot(&self, thread: &mut Thread<'_>) -> usize {
        thread.choose_slot(self.fd, self.opennext)
    }

    /// True where the workload gives a slot other than 0.
    pub(super) fn has_fd(&self) -> bool {
        self.fd > 0
    }

    fn set(&self, thread: &Thread<'_>) -> Result<usize, End> {
        self.set.ok_or_else(|| {
            let Choice { name, fd, .. } = self;
            let why = match thread.slot(*fd).fd {
                None => format!("slot {fd} is closed, and no filesetname says what to open"),
                Some(_) if self.has_fd() => {
                    format!("the file of slot {fd} is removed already, and no filesetname says which is next")
                }
                Some(_) => format!(
                    "no filesetname says which file {name} is for, and it takes the open file of a slot only where fd= \
                     gives one, 1 or more"
                ),
            };
            End::Failed(None, why)
        })
    }

    /// A closed slot for an open.
    #[inline]
    pub(super) fn closed_slot(&self, thread: &mut Thread<'_>) -> Result<usize, End> {
        let slot = self.slot(thread);
        if thread.slot(slot).fd.is_some() {
            return Err(End::Failed(
                None,
                format!(
                    "slot {slot} still has {} open: a closefile with fd={slot} is missing before {}",
                    thread.show_slot(slot),
                    self.name
                ),
            ));
        }
        Ok(slot)
    }

    /// A slot that must be open.
    #[inline]
    pub(super) fn open_slot(&self, thread: &mut Thread<'_>) -> Result<usize, End> {
        let slot = self.slot(thread);
        let Slot { fd, file } = thread.slot(slot);
        if fd.is_none() {
            let why = match self.opennext && !self.has_fd() {
                true => " (opennext gives each operation another slot; fd= gives two flowops the same)",
                false => "",
            };
            return Err(End::Failed(Some(Errno::BADF), format!("slot {slot} has no open file{why}")));
        }
        self.check_set(thread, slot, file)
    }

    /// Refuses a slot that has a file of another set than the flowop names.
    #[inline]
    pub(super) fn check_set(&self, thread: &Thread<'_>, slot: usize, file: Option<FileRef>) -> Result<usize, End> {
        match (self.set, file) {
            (Some(set), Some(file)) if self.fd > 0 && file.set != set => Err(End::Failed(
                None,
                format!(
                    "slot {slot} has a file of {} open, and {} names {}",
                    thread.sets[file.set].name, self.name, thread.sets[set].name
                ),
            )),
            _ => Ok(slot),
        }
    }

    /// An existing file, in use from now on.
    #[inline]
    pub(super) fn choose(&mut self, thread: &mut Thread<'_>) -> Result<FileRef, End> {
        let set = self.set(thread)?;
        thread.pick_existing(set, self.opennext, self.selection.by())
    }

    /// An existing file, in use from now on, with its path set.
    #[inline]
    pub(super) fn pick(&mut self, thread: &mut Thread<'_>) -> Result<FileRef, End> {
        let file = self.choose(thread)?;
        thread.set_path(file);
        Ok(file)
    }

    /// A file that does not exist, claimed, with its path set.
    #[inline]
    pub(super) fn pick_absent(&mut self, thread: &mut Thread<'_>) -> Result<FileRef, End> {
        let set = self.set(thread)?;
        let file = thread.claim_absent(set, Kind::File, self.selection.by())?;
        thread.set_path(file);
        Ok(file)
    }

    /// A file to delete, claimed; none where each is in use.
    #[inline]
    pub(super) fn pick_delete(&mut self, thread: &mut Thread<'_>) -> Result<Option<FileRef>, End> {
        let set = self.set(thread)?;
        thread.claim_delete(set, Kind::File, self.selection.by())
    }

    /// Opens the picked file into `slot`'s descriptor. The timed part of an open.
    #[inline]
    pub(super) fn open(&self, thread: &mut Thread<'_>, file: FileRef, create: OFlags) -> Result<i32, Errno> {
        let flags = thread.sets[file.set].access | self.extra | create | OFlags::CLOEXEC;
        let fd = thread.request_open(file, flags)?;
        if self.noreadahead {
            thread.engine.execute(Request::AdviseRandom { fd })?;
        }
        Ok(fd)
    }

    /// The open slot of a flowop that reads or writes; opens a file there where none is, which counts as an auto-open.
    #[inline]
    pub(super) fn opened(&mut self, thread: &mut Thread<'_>) -> Result<usize, End> {
        let slot = self.slot(thread);
        let Slot { fd, file } = thread.slot(slot);
        if fd.is_none() {
            return self.auto_open(thread, slot);
        }
        self.check_set(thread, slot, file)
    }

    #[cold]
    fn auto_open(&mut self, thread: &mut Thread<'_>, slot: usize) -> Result<usize, End> {
        let file = self.pick(thread)?;
        match self.open(thread, file, OFlags::empty()) {
            Ok(fd) => {
                thread.set_slot(slot, Slot { fd: Some(fd), file: Some(file) });
                thread.auto_opens += 1;
                Ok(slot)
            }
            Err(errno) => {
                let message = format!("open of {}{}", thread.show(file), self.how());
                thread.release(file);
                Err(End::Failed(Some(errno), message))
            }
        }
    }

    /// `read of 4096 bytes at 8192 of fs1/00000001/00000003 with directio`.
    pub(super) fn describe(&self, what: &str, bytes: usize, place: Place, slot: usize, thread: &Thread<'_>) -> String {
        format!("{what} of {bytes} bytes {place} of {}{}", thread.show_slot(slot), self.how())
    }

    /// ` with directio` and the like, for messages.
    pub(super) fn how(&self) -> String {
        how(self.extra)
    }
}

/// How a file is opened, for messages.
pub(super) fn how(extra: OFlags) -> String {
    let mut words = Vec::new();
    if extra.contains(OFlags::DIRECT) {
        words.push("directio");
    }
    if extra.contains(OFlags::SYNC) {
        words.push("dsync");
    }
    if words.is_empty() { String::new() } else { format!(" with {}", words.join(" and ")) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use crate::random::Spec;

    /// How often each of the files was taken.
    fn taken(bench: &Bench, files: usize, attributes: &str, times: u32) -> Vec<u64> {
        let mut thread = bench.thread();
        let mut open = bench.flowop("openfile", &format!("filesetname=fs,fd=1,{attributes}"));
        let mut close = bench.flowop("closefile", "fd=1");
        let mut counts = vec![0; files];
        for _ in 0..times {
            bench.step(&mut open, &mut thread).unwrap();
            counts[thread.slot(1).file.unwrap().entry as usize] += 1;
            bench.step(&mut close, &mut thread).unwrap();
        }
        counts
    }

    fn follows(counts: &[u64], weights: &[f64]) {
        let n = counts.iter().sum::<u64>() as f64;
        let chi: f64 = counts.iter().zip(weights).map(|(c, w)| (*c as f64 - n * w).powi(2) / (n * w)).sum();
        let freedom = counts.len() as f64 - 1.0;
        assert!(chi < freedom + 4.0 * (2.0 * freedom).sqrt(), "chi-square {chi} at {freedom} degrees: {counts:?}");
    }

    #[test]
    fn a_pick_at_random_is_even_and_the_rotation_is_what_holds_without() {
        let bench = Bench::new(40, 40);
        follows(&taken(&bench, 40, "pick=random", 20_000), &[1.0 / 40.0; 40]);
        assert_eq!(taken(&bench, 40, "pick=rotation", 80), [2; 40]);
        // Those that are not there get nothing, and the rest stay even.
        let counts = taken(&Bench::new(40, 10), 40, "pick=random", 10_000);
        follows(&counts[..10], &[0.1; 10]);
        assert_eq!(counts[10..], [0; 30]);
    }

    #[test]
    fn a_pick_by_a_variable_takes_its_value_as_an_index() {
        let mut bench = Bench::new(40, 40);
        bench.variables.push(Spec::new("zipf", &[("theta", 0.9), ("n", 40.0)]));
        bench.variables.push(Spec::new("hotspot", &[("share", 75.0), ("of", 10.0), ("n", 40.0)]));
        bench.variables.push(Spec::new("constant", &[("value", 85.7)]));
        let zipf: Vec<f64> = (1..=40).map(|k| f64::from(k).powf(-0.9)).collect();
        let sum: f64 = zipf.iter().sum();
        follows(&taken(&bench, 40, "pick=$0", 20_000), &zipf.iter().map(|w| w / sum).collect::<Vec<_>>());
        let hot: Vec<f64> = (0..40).map(|i| if i < 4 { 0.75 / 4.0 } else { 0.25 / 36.0 }).collect();
        follows(&taken(&bench, 40, "pick=$1", 20_000), &hot);
        // Modulo the number of files, and without the fraction.
        assert_eq!(taken(&bench, 40, "pick=$2", 3)[5], 3);
    }

    #[test]
    fn files_are_created_and_deleted_at_random() {
        let bench = Bench::new(30, 15);
        let mut thread = bench.thread();
        let mut create = bench.flowop("createfile", "filesetname=fs,fd=1,pick=random");
        let mut close = bench.flowop("closefile", "fd=1");
        let mut delete = bench.flowop("deletefile", "filesetname=fs,pick=random");
        let mut created = Vec::new();
        for _ in 0..15 {
            bench.step(&mut create, &mut thread).unwrap();
            created.push(thread.slot(1).file.unwrap().entry);
            bench.step(&mut close, &mut thread).unwrap();
        }
        assert!(!created.is_sorted(), "{created:?}");
        created.sort_unstable();
        assert_eq!(created, (15..30).collect::<Vec<_>>());
        let Err(End::NoWork(why)) = bench.step(&mut create, &mut thread) else { panic!("a file too many") };
        assert_eq!(why, "all 30 files of fs exist");
        for _ in 0..30 {
            assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
        }
        assert!(matches!(bench.step(&mut delete, &mut thread), Err(End::NoWork(_))));
        let bench = Bench::with_leafdirs(5, "");
        let mut thread = bench.thread();
        let mut make = bench.flowop("makedir", "filesetname=fs,pick=random");
        let mut remove = bench.flowop("removedir", "filesetname=fs,pick=random");
        for _ in 0..5 {
            bench.step(&mut make, &mut thread).unwrap();
        }
        assert!(bench.step(&mut make, &mut thread).is_err());
        for _ in 0..5 {
            bench.step(&mut remove, &mut thread).unwrap();
        }
        assert!(bench.step(&mut remove, &mut thread).is_err());
    }
}
