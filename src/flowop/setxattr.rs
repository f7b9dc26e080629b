//! `setxattr`: sets an extended attribute of a file.

use super::subject::{self, Name, OnSubject, Subject};
use super::xattr::{self, Xattr};
use super::{Acts, Effect, End, EntryUse, FlowopClass, FlowopDef, Kind, Thread, Turn, attributes};
use crate::engine::Request;
use rustix::io::Errno;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "setxattr",
    aliases: &[],
    on_device: |_| Err("it would change the name in /dev, not the device"),
    class: FlowopClass::Metadata,
    effect: Effect::Attributes,
    acts: Acts { entry: EntryUse::Takes(Kind::File), ..Acts::NOTHING },
    summary: "sets an extended attribute of the file open in a slot, or of the next existing file, to iosize bytes of data; counts no bytes",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::XATTR, attributes::XATTR_SIZE],
    build: |build| OnSubject::build(build, Name::Absolute, SetXattr(Xattr::new(build))),
};

struct SetXattr(Xattr);

impl subject::Call for SetXattr {
    fn prepare(&mut self, subject: &mut Subject, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.0.choose(subject, thread)
    }

    fn execute(&mut self, subject: &Subject, thread: &mut Thread<'_>) -> Result<(), Errno> {
        let object = subject.object(thread);
        let value = &thread.memory[self.0.data.clone()];
        thread.engine.execute(Request::SetAttribute { object, name: &self.0.name, value }).map(|_| ())
    }

    fn advice(&self, errno: Errno) -> Option<&'static str> {
        xattr::advice(errno)
    }

    fn describe(&self, subject: &Subject, thread: &Thread<'_>) -> String {
        self.0.describe("setxattr", subject, thread)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn the_file_is_free_again_after_it_after_an_error_and_after_a_cancel() {
        let bench = Bench::with_script(1, 1, "fail=setxattr:2:EIO");
        let mut thread = bench.thread();
        let mut flowop = bench.flowop("setxattr", "filesetname=fs");
        assert_eq!(bench.step(&mut flowop, &mut thread), Ok((Turn::Go, Moved::NONE)));
        let failed =
            Err(End::Failed(Some(Errno::IO), "setxattr of user.wlrun.test, 256 bytes, of fs/00000001/00000001".into()));
        assert_eq!(bench.step(&mut flowop, &mut thread), failed);
        bench.cancel(&mut flowop, &mut thread);
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut flowop, &mut thread), Err(End::NoWork(_))));
    }

    #[test]
    fn an_open_slot_comes_before_the_set() {
        let bench = Bench::with_script(1, 1, "fail=setxattr:2:EIO");
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        // Its name is gone, the descriptor is not.
        bench.step(&mut bench.flowop("deletefile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        let mut flowop = bench.flowop("setxattr", "fd=1");
        assert_eq!(bench.step(&mut flowop, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut flowop, &mut thread), Err(End::Failed(Some(Errno::IO), _))));
    }

    #[test]
    fn the_value_has_to_fit_the_memory_of_the_thread() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread_with_memory(100);
        let mut flowop = bench.flowop("setxattr", "filesetname=fs,iosize=101");
        let Err(End::Failed(None, message)) = bench.step(&mut flowop, &mut thread) else { panic!("it was set") };
        assert!(message.contains("memsize"), "{message}");
        let mut flowop = bench.flowop("setxattr", "filesetname=fs,iosize=100,attr=user.other");
        assert_eq!(bench.step(&mut flowop, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(flowop.describe(&thread), "setxattr of user.other, 100 bytes, of fs/00000001/00000001");
        assert!(flowop.advice(Errno::OPNOTSUPP, &thread).unwrap().contains("no extended attributes"));
    }
}
