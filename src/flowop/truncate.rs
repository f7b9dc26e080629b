//! `truncate`: sets the size of a file.

use super::file::Choice;
use super::{Amount, Broken, Effect, End, FileRef, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};
use crate::engine::Request;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "truncate",
    aliases: &[],
    class: FlowopClass::Metadata,
    effect: Effect::Writes,
    summary: "sets the size of the file open in a slot, or of the next existing file, to `value` bytes",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::LENGTH],
    build: |build| {
        Box::new(Truncate { choice: Choice::new(build), value: build.amount("value", 0), size: 0, at: None })
    },
};

struct Truncate {
    choice: Choice,
    value: Amount,
    size: u64,
    at: Option<At>,
}

#[derive(Clone, Copy)]
enum At {
    Slot(usize),
    File(FileRef),
}

impl Flowop for Truncate {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.size = self.value.draw();
        let slot = self.choice.slot(thread);
        let file = thread.slot(slot).file;
        self.at = Some(if thread.slot(slot).fd.is_some() {
            At::Slot(self.choice.check_set(thread, slot, file)?)
        } else {
            At::File(self.choice.pick(thread)?)
        });
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let size = self.size;
        match self.at {
            Some(At::Slot(slot)) => {
                let fd = thread.fd(slot);
                thread.engine.execute(Request::Truncate { fd, size })?;
            }
            Some(At::File(file)) => {
                thread.request_truncate(file, size)?;
            }
            None => {}
        }
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, _: &Result<Moved, Broken>) {
        self.cancel(thread);
    }

    fn cancel(&mut self, thread: &mut Thread<'_>) {
        if let Some(At::File(file)) = self.at {
            thread.release(file);
        }
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        let file = match self.at {
            Some(At::Slot(slot)) => thread.show_slot(slot),
            Some(At::File(file)) => thread.show(file),
            None => return String::new(),
        };
        format!("truncate of {file} to {} bytes", self.size)
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
