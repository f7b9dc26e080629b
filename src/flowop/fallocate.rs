//! `fallocate`: gives a range of a file its space on the disk, or takes it away.

use super::file::Choice;
use super::{
    Acts, Amount, Broken, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes, data,
};
use crate::engine::Request;
use rustix::fs::FallocateFlags;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "fallocate",
    aliases: &[],
    // It can be discarded, but only through a descriptor that has the claim (O_EXCL), which is the controller's.
    on_device: |_| Err("the space of a device is fixed"),
    class: FlowopClass::Metadata,
    effect: Effect::Writes,
    acts: Acts::on_a_file(DataUse::None),
    summary: "gives iosize bytes at the end of a file, or at a random offset, their space on the disk; with punch it makes a hole",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::OPEN,
        attributes::ALLOCATED,
        attributes::RANGE,
    ],
    build: |build| {
        let punch = build.attributes.flag("punch");
        let mut flags = FallocateFlags::empty();
        flags.set(FallocateFlags::PUNCH_HOLE, punch);
        // The kernel makes holes only where the size stays.
        flags.set(FallocateFlags::KEEP_SIZE, punch || build.attributes.flag("keepsize"));
        Box::new(Allocate {
            choice: Choice::new(build),
            iosize: build.amount("iosize", 0),
            range: build.amount("workingset", 0).draw(),
            random: punch || build.attributes.flag("random"),
            flags,
            slot: 0,
            offset: 0,
            len: 0,
        })
    },
};

struct Allocate {
    choice: Choice,
    iosize: Amount,
    range: u64,
    random: bool,
    flags: FallocateFlags,
    slot: usize,
    offset: u64,
    len: u64,
}

impl Flowop for Allocate {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.opened(thread)?;
        self.len = self.iosize.draw().max(1);
        self.offset = if self.random {
            let range = data::usable(thread, self.slot, self.range, self.len)?;
            thread.random_offset(range, self.len)
        } else {
            let fd = thread.fd(self.slot);
            thread
                .engine
                .execute(Request::Size { fd })
                .map_err(|errno| End::Failed(Some(errno), format!("fstat of {}", thread.show_slot(self.slot))))?
        };
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let fd = thread.fd(self.slot);
        let Allocate { flags, offset, len, .. } = *self;
        thread.engine.execute(Request::Allocate { fd, flags, offset, len })?;
        Ok(Moved::NONE)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        let what = if self.flags.contains(FallocateFlags::PUNCH_HOLE) { "hole" } else { "fallocate" };
        let file = thread.show_slot(self.slot);
        format!("{what} of {} bytes at {} of {file}", self.len, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    fn size_after(flowop: &str) -> u64 {
        let bench = Bench::sized(1, 1, 16_384);
        let mut thread = bench.thread();
        let mut allocate = bench.flowop("fallocate", flowop);
        for _ in 0..3 {
            assert_eq!(bench.step(&mut allocate, &mut thread), Ok((Turn::Go, Moved::NONE)));
        }
        bench.step(&mut bench.flowop("readwholefile", "iosize=1m"), &mut thread).unwrap().1.read
    }

    #[test]
    fn a_file_grows_at_its_end_unless_its_size_is_kept() {
        assert_eq!(size_after("filename=fs,iosize=4k"), 16_384 + 3 * 4096);
        assert_eq!(size_after("filename=fs,iosize=4k,keepsize"), 16_384);
        assert_eq!(size_after("filename=fs,iosize=4k,random"), 16_384);
        assert_eq!(size_after("filename=fs,iosize=4k,punch"), 16_384);
    }

    #[test]
    fn a_hole_is_at_a_block_of_the_range() {
        let bench = Bench::sized(1, 1, 16_384);
        let mut thread = bench.thread();
        let mut punch = bench.flowop("fallocate", "filename=fs,iosize=4k,punch,workingset=8k");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..50 {
            bench.step(&mut punch, &mut thread).unwrap();
            seen.insert(punch.describe(&thread));
        }
        let expected = [0, 4096].map(|at| format!("hole of 4096 bytes at {at} of fs/00000001/00000001"));
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
        let mut large = bench.flowop("fallocate", "filename=fs,iosize=32k,punch");
        let Err(End::Failed(None, message)) = bench.step(&mut large, &mut thread) else { panic!("it was made") };
        assert!(message.contains("32768") && message.contains("16384"), "{message}");
    }
}
