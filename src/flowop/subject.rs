//! The file of a flowop that looks at attributes, or changes them or the size: that of an open slot, else the next
//! existing one, by its name.

use super::file::Choice;
use super::{Broken, Build, End, FileRef, Flowop, Moved, Slot, Thread, Turn};
use crate::engine::Object;
use crate::fileset::PathBuffer;
use rustix::io::Errno;

/// How the calls take a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// Relative to the root of the file set.
    Relative,
    /// From the root of all on: the calls take no directory.
    Absolute,
}

#[derive(Debug)]
pub(super) struct Subject {
    choice: Choice,
    at: At,
    name: Name,
    /// Of the file; made with the first, since only the thread knows where its set is.
    path: Option<PathBuffer>,
}

#[derive(Debug, Clone, Copy)]
enum At {
    Nothing,
    Slot(usize),
    File(FileRef),
}

impl Subject {
    pub(super) fn new(build: &Build<'_>, name: Name) -> Self {
        Subject { choice: Choice::new(build), at: At::Nothing, name, path: None }
    }

    /// Chooses the file of the next operation: that of the slot where the workload gives another than slot 0 and it is
    /// open. What was chosen is in use until [`Subject::release`].
    #[inline]
    pub(super) fn choose(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.at = At::Nothing;
        if self.choice.has_fd() {
            let slot = self.choice.slot(thread);
            if thread.slot(slot).fd.is_some() {
                self.at = At::Slot(slot);
                return Ok(Turn::Go);
            }
        }
        self.choose_by_name(thread)
    }

    /// As [`Subject::choose`], but that of any slot that is open, as the flowops take it that read and write.
    pub(super) fn choose_of_any_slot(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.at = At::Nothing;
        let slot = self.choice.slot(thread);
        let Slot { fd, file } = thread.slot(slot);
        if fd.is_none() {
            return self.choose_by_name(thread);
        }
        self.at = At::Slot(self.choice.check_set(thread, slot, file)?);
        Ok(Turn::Go)
    }

    #[inline]
    fn choose_by_name(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let file = self.choice.choose(thread)?;
        let set = &thread.sets[file.set];
        let path = self.path.get_or_insert_with(|| set.path_buffer(self.name == Name::Absolute));
        set.pool.file_path(file.entry, path);
        self.at = At::File(file);
        Ok(Turn::Go)
    }

    /// The file as a request takes it.
    #[inline]
    pub(super) fn object<'s, 'r: 's>(&'s self, thread: &Thread<'r>) -> Object<'s> {
        match (self.at, &self.path) {
            (At::Slot(slot), _) => Object::Open(thread.fd(slot)),
            (At::File(file), Some(path)) => {
                let sets = thread.sets;
                Object::Named { directory: sets[file.set].directory(), path: path.as_c_str() }
            }
            (At::Nothing | At::File(_), _) => Object::Open(-1),
        }
    }

    fn release(&self, thread: &Thread<'_>) {
        if let At::File(file) = self.at {
            thread.release(file);
        }
    }

    /// True where it is the file of an open slot.
    pub(super) fn is_slot(&self) -> bool {
        matches!(self.at, At::Slot(_))
    }

    pub(super) fn show(&self, thread: &Thread<'_>) -> String {
        match self.at {
            At::Slot(slot) => thread.show_slot(slot),
            At::File(file) => thread.show(file),
            At::Nothing => String::new(),
        }
    }
}

/// What a flowop does to the file of a subject. How the file is chosen, held and let go is the same for all.
pub(super) trait Call {
    /// Draws what the operation needs, and chooses its file.
    #[inline]
    fn prepare(&mut self, subject: &mut Subject, thread: &mut Thread<'_>) -> Result<Turn, End> {
        subject.choose(thread)
    }

    fn execute(&mut self, subject: &Subject, thread: &mut Thread<'_>) -> Result<(), Errno>;

    fn advice(&self, errno: Errno) -> Option<&'static str> {
        let _ = errno;
        None
    }

    fn describe(&self, subject: &Subject, thread: &Thread<'_>) -> String;
}

/// A flowop on a subject.
pub(super) struct OnSubject<C> {
    subject: Subject,
    call: C,
}

impl<C: Call + 'static> OnSubject<C> {
    pub(super) fn build(build: &Build<'_>, name: Name, call: C) -> Box<dyn Flowop> {
        Box::new(OnSubject { subject: Subject::new(build, name), call })
    }
}

impl<C: Call> Flowop for OnSubject<C> {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.call.prepare(&mut self.subject, thread)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        self.call.execute(&self.subject, thread)?;
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, _: &Result<Moved, Broken>) {
        self.subject.release(thread);
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        self.subject.release(thread);
    }

    fn advice(&self, errno: Errno, _: &Thread<'_>) -> Option<&'static str> {
        self.call.advice(errno)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.call.describe(&self.subject, thread)
    }
}
