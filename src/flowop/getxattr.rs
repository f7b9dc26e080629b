//! `getxattr`: reads an extended attribute of a file.

use super::subject::{self, Name, OnSubject, Subject};
use super::xattr::{self, Xattr};
use super::{Acts, Effect, End, EntryUse, FlowopClass, FlowopDef, Kind, Thread, Turn, attributes};
use crate::engine::Request;
use rustix::io::Errno;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "getxattr",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { entry: EntryUse::Takes(Kind::File), ..Acts::NOTHING },
    summary: "reads an extended attribute of the file open in a slot, or of the next existing file, into iosize bytes; counts no bytes",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::XATTR, attributes::XATTR_SIZE],
    build: |build| OnSubject::build(build, Name::Absolute, GetXattr(Xattr::new(build))),
};

struct GetXattr(Xattr);

impl subject::Call for GetXattr {
    fn prepare(&mut self, subject: &mut Subject, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.0.choose(subject, thread)
    }

    fn execute(&mut self, subject: &Subject, thread: &mut Thread<'_>) -> Result<(), Errno> {
        let object = subject.object(thread);
        let buffer = &mut thread.memory[self.0.data.clone()];
        thread.engine.execute(Request::GetAttribute { object, name: &self.0.name, buffer }).map(|_| ())
    }

    fn advice(&self, errno: Errno) -> Option<&'static str> {
        match errno {
            Errno::NODATA => Some("the file has no such attribute: a setxattr has to set it first"),
            _ => xattr::advice(errno),
        }
    }

    fn describe(&self, subject: &Subject, thread: &Thread<'_>) -> String {
        self.0.describe("getxattr", subject, thread)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn the_file_is_free_again_after_it_after_an_error_and_after_a_cancel() {
        let bench = Bench::with_script(1, 1, "fail=getxattr:2:EIO");
        let mut thread = bench.thread();
        let mut flowop = bench.flowop("getxattr", "filesetname=fs");
        assert_eq!(bench.step(&mut flowop, &mut thread), Ok((Turn::Go, Moved::NONE)));
        let failed =
            Err(End::Failed(Some(Errno::IO), "getxattr of user.wlrun.test, 256 bytes, of fs/00000001/00000001".into()));
        assert_eq!(bench.step(&mut flowop, &mut thread), failed);
        bench.cancel(&mut flowop, &mut thread);
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut flowop, &mut thread), Err(End::NoWork(_))));
    }

    #[test]
    fn an_open_slot_comes_before_the_set() {
        let bench = Bench::with_script(1, 1, "fail=getxattr:2:EIO");
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        // Its name is gone, the descriptor is not.
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        let mut flowop = bench.flowop("getxattr", "fd=1");
        assert_eq!(bench.step(&mut flowop, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut flowop, &mut thread), Err(End::Failed(Some(Errno::IO), _))));
    }

    #[test]
    fn an_attribute_that_is_not_there_is_to_be_set_first() {
        let bench = Bench::with_script(1, 1, "fail=getxattr:1:ENODATA,fail=getxattr:2:ERANGE");
        let mut thread = bench.thread();
        let mut flowop = bench.flowop("getxattr", "filesetname=fs");
        for (errno, what) in [(Errno::NODATA, "setxattr"), (Errno::RANGE, "larger iosize")] {
            let Err(End::Failed(Some(found), _)) = bench.step(&mut flowop, &mut thread) else { panic!("it was there") };
            assert_eq!(found, errno);
            assert!(flowop.advice(errno, &thread).unwrap().contains(what));
        }
    }
}
