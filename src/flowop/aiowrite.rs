//! `aiowrite`: begins a write of iosize bytes, and does not wait for it.

use super::data::{self, Lap, Place};
use super::file::Choice;
use super::outstanding::Operation;
use super::{
    Acts, Amount, Broken, Build, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes,
};
use crate::engine::Way;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "aiowrite",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Write,
    effect: Effect::Writes,
    acts: Acts::on_a_file(DataUse::Request),
    summary: "begins a write of iosize bytes and goes on; it counts when it is complete",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::OPEN,
        attributes::SUBMITTED,
        attributes::SUBMITTED_AT,
        attributes::RANGE,
    ],
    build: |build| Box::new(Submit::new(build, Way::Write)),
};

/// `aiowrite` and `aioread`.
pub(super) struct Submit {
    index: usize,
    way: Way,
    choice: Choice,
    iosize: Amount,
    range: u64,
    random: bool,
    most: usize,
    slot: usize,
    len: u64,
    offset: u64,
    /// Where those are that are not random.
    lap: Lap,
}

impl Submit {
    pub(super) fn new(build: &Build<'_>, way: Way) -> Self {
        Submit {
            index: build.index,
            way,
            choice: Choice::new(build),
            iosize: build.amount("iosize", 0),
            range: build.amount("workingset", 0).draw(),
            random: build.attributes.flag("random"),
            most: build.attributes.number("outstanding") as usize,
            slot: 0,
            len: 0,
            offset: 0,
            lap: Lap::default(),
        }
    }
}

impl Flowop for Submit {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.opened(thread)?;
        // A random size may come out as 0; a request of nothing is none.
        self.len = self.iosize.draw().max(1);
        let range = data::usable(thread, self.slot, self.range, self.len)?;
        self.offset = if self.random {
            thread.random_offset(range, self.len)
        } else {
            self.lap.whole(thread.slot_serial(self.slot), self.len, range)
        };
        thread.make_ready(self.most, self.len as usize)?;
        if self.way == Way::Write {
            thread.renew_submitted(self.slot, self.len as usize);
        }
        Ok(Turn::Submit)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let Submit { index: flowop, way, slot, offset, .. } = *self;
        thread.submit(Operation { flowop, way, slot, offset, len: self.len as usize, extra: self.choice.extra });
        Ok(Moved::NONE)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        let place = Place::At(self.offset);
        let what = if self.way == Way::Read { "aioread" } else { "aiowrite" };
        self.choice.describe(what, self.len as usize, place, self.slot, thread)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use rustix::io::Errno;

    const TEN: &str = "write=10us";

    #[test]
    fn it_counts_when_it_is_complete_from_submission_to_then() {
        let bench = Bench::with_script(1, 1, TEN);
        let mut thread = bench.thread();
        let mut write = bench.flowop("aiowrite", "filename=fs,iosize=1k,random");
        for _ in 0..3 {
            assert_eq!(bench.step(&mut write, &mut thread), Ok((Turn::Submit, Moved::NONE)));
        }
        assert_eq!((thread.clock.now(), thread.outstanding(None)), (0, 3));
        assert!(bench.run.completed.borrow().is_empty());
        assert_eq!(thread.drain(), None);
        let done = (7, 0, 10_000, Ok(Moved::written(1024)));
        assert_eq!(*bench.run.completed.borrow(), [done; 3]);
        assert_eq!((thread.clock.now(), thread.outstanding(None)), (10_000, 0));
    }

    #[test]
    fn at_the_bound_it_waits_for_one_first() {
        let bench = Bench::with_script(1, 1, TEN);
        let mut thread = bench.thread();
        let mut write = bench.flowop("aiowrite", "filename=fs,iosize=1k,random,outstanding=2");
        let mut starts = Vec::new();
        for _ in 0..5 {
            bench.step(&mut write, &mut thread).unwrap();
            starts.push(thread.submitted_ns);
            assert!(thread.outstanding(None) <= 2);
        }
        assert_eq!(starts, [0, 0, 10_000, 10_000, 20_000]);
    }

    #[test]
    fn one_after_the_other_from_the_start_and_over_again_at_the_end_or_in_another_file() {
        let bench = Bench::sized(2, 2, 10_000);
        let mut thread = bench.thread();
        let mut write = bench.flowop("aiowrite", "filename=fs,iosize=4k");
        let mut close = bench.flowop("closefile", "");
        let mut offsets = Vec::new();
        for round in 0..5 {
            bench.step(&mut write, &mut thread).unwrap();
            let what = write.describe(&thread);
            offsets.push(what.split_once(" at ").unwrap().1.to_owned());
            if round == 3 {
                bench.step(&mut close, &mut thread).unwrap();
            }
        }
        let (one, two) = ("fs/00000001/00000001", "fs/00000001/00000002");
        let expected = [(0, one), (4096, one), (0, one), (4096, one), (0, two)].map(|(at, of)| format!("{at} of {of}"));
        assert_eq!(offsets, expected);
    }

    #[test]
    fn one_that_fails_ends_the_thread_and_names_itself() {
        let bench = Bench::with_script(1, 1, "write=10us,fail=write:2:ENOSPC");
        let mut thread = bench.thread();
        let mut write = bench.flowop("aiowrite", "filename=fs,iosize=1k,workingset=1k,dsync,outstanding=3");
        for _ in 0..3 {
            bench.step(&mut write, &mut thread).unwrap();
        }
        assert_eq!(bench.step(&mut write, &mut thread), Err(End::Over));
        let lost = thread.drain().unwrap();
        assert_eq!((lost.flowop, lost.errno), (7, Errno::NOSPC));
        assert_eq!(lost.what, "aiowrite of 1024 bytes at 0 of fs/00000001/00000001 with dsync");
        let failed = Err(Broken { errno: Some(Errno::NOSPC), moved: Moved::NONE });
        assert_eq!(bench.run.completed.borrow()[1], (7, 0, 10_000, failed));
    }

    #[test]
    fn what_fails_after_the_end_of_the_run_is_no_failure() {
        let mut bench = Bench::with_script(1, 1, "write=10us,fail=write:1:EIO");
        bench.run.end_ns = 9_999;
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("aiowrite", "filename=fs,iosize=1k"), &mut thread).unwrap();
        assert_eq!(thread.drain(), None);
    }

    #[test]
    fn a_close_waits_for_the_operations_of_its_slot() {
        let bench = Bench::with_script(2, 2, TEN);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("aiowrite", "filename=fs,iosize=1k,fd=1"), &mut thread).unwrap();
        bench.step(&mut bench.flowop("aiowrite", "filename=fs,iosize=1k,fd=2"), &mut thread).unwrap();
        bench.step(&mut bench.flowop("openfile", "filename=other,fd=3"), &mut thread).unwrap();
        bench.step(&mut bench.flowop("closefile", "fd=3"), &mut thread).unwrap();
        assert_eq!(thread.clock.now(), 0, "nothing is under way there");
        bench.step(&mut bench.flowop("closefile", "fd=1"), &mut thread).unwrap();
        assert_eq!(thread.clock.now(), 10_000);
    }

    #[test]
    fn data_that_is_made_anew_is_in_the_memory_that_is_submitted() {
        let bench = Bench::sized(1, 1, 16_384).with_content(crate::fileset::Content { compress: 2.0, dedup: 1.0 });
        let mut thread = bench.thread();
        let mut write = bench.flowop("aiowrite", "filename=fs,iosize=4k");
        let mut seen = std::collections::BTreeSet::new();
        // Four that are under way at once, and then the same memory again.
        for round in 0..8 {
            write.prepare(&mut thread).unwrap();
            let memory = thread.outstanding.next_memory().to_vec();
            assert!(memory[2048..4096].iter().all(|byte| *byte == memory[4095]));
            assert!(seen.insert(memory), "the same data twice");
            write.execute(&mut thread).unwrap();
            if round == 3 {
                assert_eq!(thread.drain(), None);
            }
        }
        thread.drain();
        let before = thread.outstanding.next_memory().to_vec();
        bench.flowop("aioread", "filename=fs,iosize=4k").prepare(&mut thread).unwrap();
        assert_eq!(thread.outstanding.next_memory(), before, "a read needs no data");
    }

    #[test]
    fn memory_is_its_own_and_used_again() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread_with_memory(512);
        let mut write = bench.flowop("aiowrite", "filename=fs,iosize=4k,random");
        bench.step(&mut write, &mut thread).unwrap();
        thread.drain();
        let random = thread.random.clone();
        bench.step(&mut write, &mut thread).unwrap();
        thread.drain();
        // The second drew an offset and nothing else.
        let mut expected = random;
        crate::random::stream::pick_block(&mut expected, 8192, 4096);
        assert_eq!(rand::Rng::next_u64(&mut thread.random), rand::Rng::next_u64(&mut expected));
    }
}
