//! How flowops choose and open files: one piece for `openfile`, for the flowops that open on their own, and for
//! `createfile`.

use super::data::Place;
use super::{Amount, Build, End, FileRef, Kind, Slot, Thread};
use crate::engine::Request;
use rustix::fs::OFlags;
use rustix::io::Errno;

/// The file attributes of a flowop, resolved.
#[derive(Debug)]
pub(super) struct Choice {
    name: String,
    fd: usize,
    opennext: bool,
    set: Option<usize>,
    index: Option<Amount>,
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
            index: attributes.get("indexed").map(|_| build.amount("indexed", 0)),
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

    fn set(&self) -> Result<usize, End> {
        self.set.ok_or_else(|| {
            End::Failed(None, format!("slot {} is closed, and no filesetname says what to open", self.fd))
        })
    }

    fn index(&mut self) -> Option<u64> {
        self.index.as_mut().map(Amount::draw)
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
            return Err(End::Failed(Some(Errno::BADF), format!("slot {slot} has no open file")));
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

    /// An existing file, in use from now on, with its path set.
    #[inline]
    pub(super) fn pick(&mut self, thread: &mut Thread<'_>) -> Result<FileRef, End> {
        let set = self.set()?;
        let index = self.index();
        let file = thread.pick_existing(set, self.opennext, index)?;
        thread.set_path(file);
        Ok(file)
    }

    /// A file that does not exist, claimed, with its path set.
    #[inline]
    pub(super) fn pick_absent(&mut self, thread: &mut Thread<'_>) -> Result<FileRef, End> {
        let set = self.set()?;
        let index = self.index();
        let file = thread.claim_absent(set, Kind::File, index)?;
        thread.set_path(file);
        Ok(file)
    }

    /// A file to delete, claimed; none where each is in use.
    #[inline]
    pub(super) fn pick_delete(&mut self, thread: &mut Thread<'_>) -> Result<Option<FileRef>, End> {
        let set = self.set()?;
        let index = self.index();
        thread.claim_delete(set, Kind::File, index)
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
