//! `fsyncset`: flushes all files of a set that the thread has open.

use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};
use crate::engine::Request;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "fsyncset",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts::NOTHING,
    summary: "flushes each file of the set that this thread has open in a slot; one operation for each",
    attributes: &[attributes::SET],
    build: |build| {
        let set = build.attributes.fileset("filesetname").unwrap_or(0);
        Box::new(FsyncSet { set, open: Vec::new(), slot: 0 })
    },
};

struct FsyncSet {
    set: usize,
    /// Slots that are still to be flushed in this turn, the next one last.
    open: Vec<usize>,
    slot: usize,
}

impl Flowop for FsyncSet {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        if self.open.is_empty() {
            self.open.extend(thread.open_slots(self.set));
            self.open.reverse();
        }
        match self.open.pop() {
            Some(slot) => {
                self.slot = slot;
                Ok(Turn::Go)
            }
            None => Ok(Turn::Quiet),
        }
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let fd = thread.fd(self.slot);
        thread.engine.execute(Request::Fsync { fd })?;
        Ok(Moved::NONE)
    }

    fn again(&self) -> bool {
        !self.open.is_empty()
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
    fn each_open_file_of_the_set_is_flushed_and_no_other() {
        let bench = Bench::new(3, 3);
        let mut thread = bench.thread();
        for fd in [2, 5] {
            bench.step(&mut bench.flowop("openfile", &format!("filesetname=fs,fd={fd}")), &mut thread).unwrap();
        }
        bench.step(&mut bench.flowop("openfile", "filesetname=other,fd=3"), &mut thread).unwrap();
        let mut fsync = bench.flowop("fsyncset", "filesetname=fs");
        let mut seen = Vec::new();
        loop {
            assert_eq!(bench.step(&mut fsync, &mut thread), Ok((Turn::Go, Moved::NONE)));
            seen.push(fsync.describe(&thread));
            if !fsync.again() {
                break;
            }
        }
        assert_eq!(seen, ["fsync of fs/00000001/00000001", "fsync of fs/00000001/00000002"]);
    }

    #[test]
    fn with_nothing_open_there_is_nothing_to_count() {
        let bench = Bench::new(1, 1);
        let mut fsync = bench.flowop("fsyncset", "filesetname=fs");
        assert_eq!(bench.step(&mut fsync, &mut bench.thread()), Ok((Turn::Quiet, Moved::NONE)));
    }
}
