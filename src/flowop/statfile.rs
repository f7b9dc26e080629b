//! `statfile`: reads the attributes of a file.

use super::subject::{self, Name, OnSubject, Subject};
use super::{Acts, Effect, EntryUse, FlowopClass, FlowopDef, Kind, Thread, attributes};
use crate::engine::{Object, Request};
use rustix::io::Errno;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "statfile",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { entry: EntryUse::Takes(Kind::File), ..Acts::NOTHING },
    summary: "reads the attributes of the file open in a slot, or of the next existing file",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX],
    build: |build| OnSubject::build(build, Name::Relative, StatFile),
};

struct StatFile;

impl subject::Call for StatFile {
    #[inline]
    fn execute(&mut self, subject: &Subject, thread: &mut Thread<'_>) -> Result<(), Errno> {
        let request = match subject.object(thread) {
            Object::Open(fd) => Request::Fstat { fd },
            Object::Named { directory, path } => Request::Stat { directory, path },
        };
        thread.engine.execute(request).map(|_| ())
    }

    fn describe(&self, subject: &Subject, thread: &Thread<'_>) -> String {
        let call = if subject.is_slot() { "fstat" } else { "stat" };
        format!("{call} of {}", subject.show(thread))
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
