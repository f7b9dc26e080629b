//! `flock`: takes or releases the lock of an open file.

use super::file::Choice;
use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, SlotUse, Thread, Turn, attributes};
use crate::engine::Request;
use rustix::fs::FlockOperation;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "flock",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts { slot: SlotUse::Needs, ..Acts::NOTHING },
    summary: "takes the lock of the file of a slot, waiting for it, or releases it; a closefile releases it too",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::LOCK],
    build: |build| {
        let operation = match (build.attributes.flag("unlock"), build.attributes.flag("shared")) {
            (true, _) => FlockOperation::Unlock,
            (false, true) => FlockOperation::LockShared,
            (false, false) => FlockOperation::LockExclusive,
        };
        Box::new(Flock { choice: Choice::new(build), operation, slot: 0 })
    },
};

struct Flock {
    choice: Choice,
    operation: FlockOperation,
    slot: usize,
}

impl Flowop for Flock {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.open_slot(thread)?;
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let fd = thread.fd(self.slot);
        thread.engine.execute(Request::Lock { fd, operation: self.operation })?;
        Ok(Moved::NONE)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        let what = match self.operation {
            FlockOperation::Unlock => "unlock",
            FlockOperation::LockShared => "shared flock",
            _ => "flock",
        };
        format!("{what} of {}", thread.show_slot(self.slot))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn it_works_on_an_open_slot_and_says_which_lock() {
        let bench = Bench::with_script(1, 1, "flock=3us");
        let mut thread = bench.thread();
        let mut lock = bench.flowop("flock", "fd=1,shared");
        assert!(matches!(bench.step(&mut lock, &mut thread), Err(End::Failed(Some(rustix::io::Errno::BADF), _))));
        bench.step(&mut bench.flowop("openfile", "filename=fs,fd=1"), &mut thread).unwrap();
        for (attributes, what) in [("fd=1", "flock"), ("fd=1,shared", "shared flock"), ("fd=1,unlock", "unlock")] {
            let mut lock = bench.flowop("flock", attributes);
            assert_eq!(bench.step(&mut lock, &mut thread), Ok((Turn::Go, Moved::NONE)));
            assert_eq!(lock.describe(&thread), format!("{what} of fs/00000001/00000001"));
        }
        assert_eq!(thread.clock.now(), 9_000);
    }
}
