//! `closefile`: closes the file of a slot.

use super::file::Choice;
use super::{
    Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Slot, SlotUse, Thread, Turn, attributes,
};
use crate::engine::Request;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "closefile",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { slot: SlotUse::Closes, ..Acts::NOTHING },
    summary: "closes the file of a slot",
    attributes: &[attributes::SLOT, attributes::FILE],
    build: |build| Box::new(CloseFile { choice: Choice::new(build), slot: 0 }),
};

struct CloseFile {
    choice: Choice,
    slot: usize,
}

impl Flowop for CloseFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.open_slot(thread)?;
        // What is under way has the descriptor's number, which the next open may get.
        thread.settle(self.slot)?;
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let fd = thread.fd(self.slot);
        thread.engine.execute(Request::Close { fd })?;
        Ok(Moved::NONE)
    }

    fn finish(&mut self, thread: &mut Thread<'_>, _: &Result<Moved, Broken>) {
        // The number is free even where close reports an error. The file stays named in the slot.
        let Slot { file, .. } = thread.slot(self.slot);
        if let Some(file) = file {
            thread.release(file);
        }
        thread.set_slot(self.slot, Slot { fd: None, file });
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        format!("close of {}", thread.show_slot(self.slot))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn a_closed_slot_is_refused_by_name() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        let mut close = bench.flowop("closefile", "fd=3");
        let Err(End::Failed(Some(rustix::io::Errno::BADF), message)) = bench.step(&mut close, &mut thread) else {
            panic!("closed nothing")
        };
        assert!(message.contains("slot 3"), "{message}");
    }

    #[test]
    fn the_file_stays_named_after_the_close() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        bench.step(&mut bench.flowop("closefile", "fd=1"), &mut thread).unwrap();
        assert_eq!(thread.slot(1).file, Some(FileRef { set: 0, entry: 0 }));
        assert_eq!(thread.slot(1).fd, None);
    }
}
