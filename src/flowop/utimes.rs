//! `utimes`: sets the times of a file to now.

use super::subject::{self, Name, OnSubject, Subject};
use super::{Acts, Effect, EntryUse, FlowopClass, FlowopDef, Kind, Thread, attributes};
use crate::engine::Request;
use rustix::io::Errno;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "utimes",
    aliases: &[],
    on_device: |_| Err("it would change the times of the name in /dev, not of the device"),
    class: FlowopClass::Metadata,
    effect: Effect::Attributes,
    acts: Acts { entry: EntryUse::Takes(Kind::File), ..Acts::NOTHING },
    summary: "sets the times of access and change of the file open in a slot, or of the next existing file, to now",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX],
    build: |build| OnSubject::build(build, Name::Relative, Utimes),
};

struct Utimes;

impl subject::Call for Utimes {
    fn execute(&mut self, subject: &Subject, thread: &mut Thread<'_>) -> Result<(), Errno> {
        let object = subject.object(thread);
        thread.engine.execute(Request::SetTimes { object }).map(|_| ())
    }

    fn describe(&self, subject: &Subject, thread: &Thread<'_>) -> String {
        format!("utimes of {}", subject.show(thread))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn the_file_is_free_again_after_it_after_an_error_and_after_a_cancel() {
        let bench = Bench::with_script(1, 1, "fail=utimes:2:EIO");
        let mut thread = bench.thread();
        let mut flowop = bench.flowop("utimes", "filesetname=fs");
        assert_eq!(bench.step(&mut flowop, &mut thread), Ok((Turn::Go, Moved::NONE)));
        let failed = Err(End::Failed(Some(Errno::IO), "utimes of fs/00000001/00000001".into()));
        assert_eq!(bench.step(&mut flowop, &mut thread), failed);
        bench.cancel(&mut flowop, &mut thread);
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut flowop, &mut thread), Err(End::NoWork(_))));
    }

    #[test]
    fn an_open_slot_comes_before_the_set() {
        let bench = Bench::with_script(1, 1, "fail=utimes:2:EIO");
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        // Its name is gone, the descriptor is not.
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        let mut flowop = bench.flowop("utimes", "fd=1");
        assert_eq!(bench.step(&mut flowop, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut flowop, &mut thread), Err(End::Failed(Some(Errno::IO), _))));
    }
}
