//! `fsync`: flushes the file of a slot to stable storage.

use super::file::Choice;
use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, SlotUse, Thread, Turn, attributes};
use crate::engine::Request;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "fsync",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { slot: SlotUse::Needs, ..Acts::NOTHING },
    summary: "flushes the file of a slot to stable storage",
    attributes: &[attributes::SLOT, attributes::FILE],
    build: |build| Box::new(Fsync { choice: Choice::new(build), slot: 0 }),
};

struct Fsync {
    choice: Choice,
    slot: usize,
}

impl Flowop for Fsync {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.open_slot(thread)?;
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let fd = thread.fd(self.slot);
        thread.engine.execute(Request::Fsync { fd })?;
        Ok(Moved::NONE)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        format!("fsync of {}", thread.show_slot(self.slot))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn only_an_open_slot_can_be_flushed_and_an_error_is_the_kernels() {
        let bench = Bench::with_script(1, 1, "fail=fsync:2:EIO");
        let mut thread = bench.thread();
        let mut fsync = bench.flowop("fsync", "fd=1");
        assert!(bench.step(&mut fsync, &mut thread).is_err());
        bench.step(&mut bench.flowop("openfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        assert_eq!(bench.step(&mut fsync, &mut thread), Ok((Turn::Go, Moved::NONE)));
        let Err(End::Failed(Some(rustix::io::Errno::IO), message)) = bench.step(&mut fsync, &mut thread) else {
            panic!()
        };
        assert_eq!(message, "fsync of fs/00000001/00000001");
    }
}
