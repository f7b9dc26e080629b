//! `statfile`: reads the attributes of a file.

use super::subject::{Name, Subject};
use super::{
    Acts, Broken, Effect, End, EntryUse, Flowop, FlowopClass, FlowopDef, Kind, Moved, Thread, Turn, attributes,
};
use crate::engine::{Object, Request};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "statfile",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { entry: EntryUse::Takes(Kind::File), ..Acts::NOTHING },
    summary: "reads the attributes of the file open in a slot, or of the next existing file",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX],
    build: |build| Box::new(StatFile { subject: Subject::new(build, Name::Relative) }),
};

struct StatFile {
    subject: Subject,
}

impl Flowop for StatFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.subject.choose(thread)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        thread.engine.execute(match self.subject.object(thread) {
            Object::Open(fd) => Request::Fstat { fd },
            Object::Named { directory, path } => Request::Stat { directory, path },
        })?;
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, _: &Result<Moved, Broken>) {
        self.subject.release(thread);
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        self.subject.release(thread);
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        let call = if self.subject.is_slot() { "fstat" } else { "stat" };
        format!("{call} of {}", self.subject.show(thread))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn a_file_is_free_again_after_the_stat() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("statfile", "filesetname=fs"), &mut thread).unwrap();
        assert_eq!(
            bench.step(&mut bench.flowop("deletefile", "filesetname=fs"), &mut thread),
            Ok((Turn::Go, Moved::NONE))
        );
    }

    #[test]
    fn an_open_slot_is_asked_instead_of_the_set() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        // Its name is gone, the descriptor is not.
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        assert!(bench.step(&mut bench.flowop("statfile", "fd=1"), &mut thread).is_ok());
    }
}
