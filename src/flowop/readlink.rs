//! `readlink`: reads what a symbolic link holds.

use super::subject::{self, Name, OnSubject, Subject};
use super::{Acts, Effect, EntryUse, FlowopClass, FlowopDef, Kind, Thread, attributes};
use crate::engine::{Object, Request};
use rustix::io::Errno;

/// The longest path that Linux knows.
const LONGEST: usize = 4096;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "readlink",
    aliases: &[],
    on_device: |_| Err("a device is no symbolic link"),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { entry: EntryUse::Takes(Kind::File), ..Acts::NOTHING },
    summary: "reads what the next existing entry of the set holds, which must be a symbolic link; counts no bytes",
    attributes: &[attributes::SET, attributes::INDEX],
    build: |build| OnSubject::build(build, Name::Relative, ReadLink { buffer: [0; LONGEST] }),
};

struct ReadLink {
    buffer: [u8; LONGEST],
}

impl subject::Call for ReadLink {
    fn execute(&mut self, subject: &Subject, thread: &mut Thread<'_>) -> Result<(), Errno> {
        let Object::Named { directory, path } = subject.object(thread) else { return Err(Errno::INVAL) };
        thread.engine.execute(Request::ReadLink { directory, path, buffer: &mut self.buffer }).map(|_| ())
    }

    fn advice(&self, errno: Errno) -> Option<&'static str> {
        let why = "it is no symbolic link: a set of links has prealloc=0 and gets them from the flowop symlink";
        (errno == Errno::INVAL).then_some(why)
    }

    fn describe(&self, subject: &Subject, thread: &Thread<'_>) -> String {
        format!("readlink of {}", subject.show(thread))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    #[test]
    fn an_entry_is_free_again_and_what_is_no_link_is_named_so() {
        let bench = Bench::with_script(1, 1, "fail=readlink:2:EINVAL");
        let mut thread = bench.thread();
        let mut read = bench.flowop("readlink", "filesetname=fs");
        assert_eq!(bench.step(&mut read, &mut thread), Ok((Turn::Go, Moved::NONE)));
        let failed = Err(End::Failed(Some(Errno::INVAL), "readlink of fs/00000001/00000001".into()));
        assert_eq!(bench.step(&mut read, &mut thread), failed);
        assert!(read.advice(Errno::INVAL, &thread).unwrap().contains("no symbolic link"));
        bench.cancel(&mut read, &mut thread);
        let mut delete = bench.flowop("deletefile", "filesetname=fs");
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert!(matches!(bench.step(&mut read, &mut thread), Err(End::NoWork(_))));
    }
}
