//! `truncate`: sets the size of a file.

use super::subject::{self, Name, OnSubject, Subject};
use super::{Acts, Amount, Effect, End, EntryUse, FlowopClass, FlowopDef, Kind, SlotUse, Thread, Turn, attributes};
use crate::engine::Request;
use rustix::io::Errno;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "truncate",
    aliases: &[],
    on_device: |_| Err("the size of a device is fixed"),
    class: FlowopClass::Metadata,
    effect: Effect::Writes,
    acts: Acts { slot: SlotUse::Prefers, entry: EntryUse::Takes(Kind::File), ..Acts::NOTHING },
    summary: "sets the size of the file open in a slot, or of the next existing file, to `value` bytes",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::LENGTH],
    build: |build| {
        let call = Truncate { value: build.amount("value", 0), size: 0 };
        OnSubject::build(build, Name::Relative, call)
    },
};

struct Truncate {
    value: Amount,
    size: u64,
}

impl subject::Call for Truncate {
    fn prepare(&mut self, subject: &mut Subject, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.size = self.value.draw();
        subject.choose_of_any_slot(thread)
    }

    fn execute(&mut self, subject: &Subject, thread: &mut Thread<'_>) -> Result<(), Errno> {
        let object = subject.object(thread);
        thread.engine.execute(Request::Truncate { object, size: self.size }).map(|_| ())
    }

    fn describe(&self, subject: &Subject, thread: &Thread<'_>) -> String {
        format!("truncate of {} to {} bytes", subject.show(thread), self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn an_open_file_is_cut_where_it_is_open_and_keeps_its_nominal_size() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filename=fs,fd=1"), &mut thread).unwrap();
        let mut truncate = bench.flowop("truncate", "fd=1,value=3000");
        assert_eq!(bench.step(&mut truncate, &mut thread), Ok((Turn::Go, Moved::NONE)));
        let mut read = bench.flowop("readwholefile", "fd=1,iosize=1k");
        assert_eq!(bench.step(&mut read, &mut thread), Ok((Turn::Go, Moved::read(3000))));
        assert_eq!(thread.nominal_size(1), 8192);
    }

    #[test]
    fn a_file_that_is_not_open_is_free_again_afterwards() {
        let bench = Bench::with_script(1, 1, "fail=truncate:2:EIO");
        let mut thread = bench.thread();
        let mut truncate = bench.flowop("truncate", "filename=fs,value=0");
        assert_eq!(bench.step(&mut truncate, &mut thread), Ok((Turn::Go, Moved::NONE)));
        let Err(End::Failed(Some(rustix::io::Errno::IO), message)) = bench.step(&mut truncate, &mut thread) else {
            panic!("it was cut")
        };
        assert_eq!(message, "truncate of fs/00000001/00000001 to 0 bytes");
        assert_eq!(thread.auto_opens, 0);
        let mut delete = bench.flowop("deletefile", "filename=fs");
        assert_eq!(bench.step(&mut delete, &mut thread), Ok((Turn::Go, Moved::NONE)));
    }
}
