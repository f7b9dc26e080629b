//! `mmapwrite`: copies iosize bytes into a file that is mapped.

use super::mmapread::Mapped;
use super::{Acts, Broken, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};
use crate::engine::Request;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "mmapwrite",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Write,
    effect: Effect::Writes,
    acts: Acts::on_a_file(DataUse::Request),
    summary: "copies iosize bytes to the mapping of a file, one block after the other or at a random offset",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::IOSIZE,
        attributes::SUBMITTED_AT,
        attributes::RANGE,
    ],
    build: |build| Box::new(MmapWrite { mapped: Mapped::new(build) }),
};

struct MmapWrite {
    mapped: Mapped,
}

impl Flowop for MmapWrite {
    #[inline]
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let turn = self.mapped.prepare(thread)?;
        thread.renew(self.mapped.slot, &self.mapped.data);
        Ok(turn)
    }

    #[inline]
    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let Mapped { slot, data, offset, .. } = &self.mapped;
        let fd = thread.fd(*slot);
        let buffer = &thread.memory[data.clone()];
        let bytes = thread.engine.execute(Request::Store { fd, buffer, offset: *offset })?;
        Ok(Moved::written(bytes))
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.mapped.describe("mmapwrite", thread)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn a_file_does_not_grow_by_it() {
        let bench = Bench::with_script(1, 1, "store=2us");
        let mut thread = bench.thread();
        let mut write = bench.flowop("mmapwrite", "filename=fs,iosize=5k");
        for bytes in [5120, 3072, 5120] {
            assert_eq!(bench.step(&mut write, &mut thread), Ok((Turn::Go, Moved::written(bytes))));
        }
        assert_eq!(thread.clock.now(), 6_000);
        let mut read = bench.flowop("readwholefile", "iosize=1m");
        assert_eq!(bench.step(&mut read, &mut thread), Ok((Turn::Go, Moved::read(8192))));
    }

    #[test]
    fn data_is_made_anew_before_it_is_copied() {
        let bench = Bench::new(1, 1).with_content(crate::fileset::Content { compress: 2.0, dedup: 1.0 });
        let mut thread = bench.thread_with_memory(4096);
        let mut write = bench.flowop("mmapwrite", "filename=fs,iosize=4k");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..3 {
            write.prepare(&mut thread).unwrap();
            let memory = thread.memory.to_vec();
            assert!(memory[2048..4096].iter().all(|byte| *byte == memory[4095]));
            assert!(seen.insert(memory), "the same data twice");
        }
    }
}
