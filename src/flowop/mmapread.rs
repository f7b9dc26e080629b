//! `mmapread`: copies iosize bytes out of a file that is mapped.

use super::data::{self, Lap, Place};
use super::file::Choice;
use super::{
    Acts, Amount, Broken, Build, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes,
};
use crate::engine::Request;
use std::ops::Range;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "mmapread",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Read,
    effect: Effect::Reads,
    acts: Acts::on_a_file(DataUse::Request),
    summary: "copies iosize bytes from the mapping of a file, one block after the other or at a random offset",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::IOSIZE,
        attributes::SUBMITTED_AT,
        attributes::RANGE,
    ],
    build: |build| Box::new(MmapRead { mapped: Mapped::new(build) }),
};

/// What `mmapread` and `mmapwrite` have in common: a mapped file, and a block of it.
pub(super) struct Mapped {
    choice: Choice,
    iosize: Amount,
    range: u64,
    random: bool,
    pub(super) slot: usize,
    pub(super) data: Range<usize>,
    pub(super) offset: u64,
    /// Where the blocks are that are not random.
    lap: Lap,
}

impl Mapped {
    pub(super) fn new(build: &Build<'_>) -> Self {
        Mapped {
            choice: Choice::new(build),
            iosize: build.amount("iosize", 0),
            range: build.amount("workingset", 0).draw(),
            random: build.attributes.flag("random"),
            slot: 0,
            data: 0..0,
            offset: 0,
            lap: Lap::default(),
        }
    }

    #[inline]
    pub(super) fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.opened(thread)?;
        let fd = thread.fd(self.slot);
        let mapped = thread
            .engine
            .execute(Request::Map { fd })
            .map_err(|errno| End::Failed(Some(errno), format!("mmap of {}", thread.show_slot(self.slot))))?;
        if mapped == 0 {
            let message = format!("{} is empty, and an empty file cannot be mapped", thread.show_slot(self.slot));
            return Err(End::Failed(None, message));
        }
        let range = if self.range > 0 { self.range.min(mapped) } else { mapped };
        let mut len = self.iosize.draw().max(1);
        if self.random {
            let range = data::usable(thread, self.slot, range, len)?;
            self.offset = thread.random_offset(range, len);
        } else {
            (self.offset, len) = self.lap.part(thread.slot_serial(self.slot), len, range);
        }
        self.data = thread.data(len, false)?;
        Ok(Turn::Go)
    }

    pub(super) fn describe(&self, what: &str, thread: &Thread<'_>) -> String {
        self.choice.describe(what, self.data.len(), Place::At(self.offset), self.slot, thread)
    }
}

struct MmapRead {
    mapped: Mapped,
}

impl Flowop for MmapRead {
    #[inline]
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.mapped.prepare(thread)
    }

    #[inline]
    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let Mapped { slot, data, offset, .. } = &self.mapped;
        let fd = thread.fd(*slot);
        let buffer = &mut thread.memory[data.clone()];
        let bytes = thread.engine.execute(Request::Load { fd, buffer, offset: *offset })?;
        Ok(Moved::read(bytes))
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.mapped.describe("mmapread", thread)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn blocks_come_one_after_the_other_and_the_last_is_what_is_left() {
        let bench = Bench::sized(2, 2, 10_000);
        let mut thread = bench.thread();
        let mut read = bench.flowop("mmapread", "filename=fs,iosize=4k");
        let bytes: Vec<u64> = (0..4).map(|_| bench.step(&mut read, &mut thread).unwrap().1.read).collect();
        assert_eq!((bytes, thread.auto_opens), (vec![4096, 4096, 1808, 4096], 1));
        bench.step(&mut bench.flowop("closefile", ""), &mut thread).unwrap();
        bench.step(&mut read, &mut thread).unwrap();
        assert_eq!(read.describe(&thread), "mmapread of 4096 bytes at 0 of fs/00000001/00000002");
    }

    #[test]
    fn random_blocks_lie_within_the_file_and_the_working_set() {
        let bench = Bench::sized(1, 1, 10_000);
        let mut thread = bench.thread();
        let mut read = bench.flowop("mmapread", "filename=fs,iosize=1k,random,workingset=2k");
        for _ in 0..100 {
            assert_eq!(bench.step(&mut read, &mut thread), Ok((Turn::Go, Moved::read(1024))));
            let what = read.describe(&thread);
            assert!(what.contains(" at 0 of") || what.contains(" at 1024 of"), "{what}");
        }
        let mut large = bench.flowop("mmapread", "filename=fs,iosize=16k,random,workingset=1m");
        let Err(End::Failed(None, message)) = bench.step(&mut large, &mut thread) else { panic!("it was read") };
        assert!(message.contains("16384") && message.contains("10000"), "{message}");
    }

    #[test]
    fn an_empty_file_and_a_refused_mapping_are_failures() {
        let bench = Bench::sized(1, 1, 0);
        let mut read = bench.flowop("mmapread", "filename=fs,iosize=4k");
        let Err(End::Failed(None, message)) = bench.step(&mut read, &mut bench.thread()) else { panic!("mapped") };
        assert!(message.contains("fs/00000001/00000001 is empty"), "{message}");
        let bench = Bench::with_script(1, 1, "fail=mmap:1:EIO");
        let mut read = bench.flowop("mmapread", "filename=fs,iosize=4k");
        let failed = End::Failed(Some(rustix::io::Errno::IO), "mmap of fs/00000001/00000001".into());
        assert_eq!(bench.step(&mut read, &mut bench.thread()), Err(failed));
    }
}
