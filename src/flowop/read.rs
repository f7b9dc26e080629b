//! `read`: one request of iosize bytes.

use super::data::{self, Place};
use super::file::Choice;
use super::{
    Acts, Amount, Broken, Build, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes,
};
use crate::engine::Request;
use std::ops::Range;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "read",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Read,
    effect: Effect::Reads,
    acts: Acts::on_a_file(DataUse::Request),
    summary: "reads iosize bytes, at the current position (starting over at the end) or at a random offset",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::OPEN,
        attributes::IOSIZE,
        attributes::OFFSET,
        attributes::POSITIONS,
        attributes::RANGE,
    ],
    build: |build| Box::new(Read { transfer: Transfer::new(build) }),
};

/// What `read` and `write` have in common: a slot, a size, a place.
pub(super) struct Transfer {
    pub(super) choice: Choice,
    iosize: Amount,
    range: u64,
    random: bool,
    /// Draws from a position set.
    positions: Option<Amount>,
    pub(super) slot: usize,
    pub(super) data: Range<usize>,
    pub(super) place: Place,
}

impl Transfer {
    pub(super) fn new(build: &Build<'_>) -> Self {
        Transfer {
            choice: Choice::new(build),
            iosize: build.amount("iosize", 0),
            range: build.amount("workingset", 0).draw(),
            random: build.attributes.flag("random"),
            positions: build.attributes.get("possetname").map(|_| build.amount("possetname", 0)),
            slot: 0,
            data: 0..0,
            place: Place::Here,
        }
    }

    #[inline]
    pub(super) fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.opened(thread)?;
        // A random size may come out as 0; a request of nothing is none.
        let size = self.iosize.draw().max(1);
        self.place = if self.random {
            let range = data::usable(thread, self.slot, self.range, size)?;
            Place::At(match &mut self.positions {
                None => thread.random_offset(range, size),
                // One that lies too far back for the file is the last block of 512 that has room for the request.
                Some(positions) => positions.draw().min((range - size) & !511),
            })
        } else {
            Place::Here
        };
        self.data = thread.data(size, self.choice.direct)?;
        Ok(Turn::Go)
    }

    /// Bytes from the start of the slot's file that are used.
    #[inline]
    pub(super) fn range(&self, thread: &Thread<'_>) -> u64 {
        data::used(thread, self.slot, self.range)
    }

    /// After a failed request at the current position, of which `moved` bytes had been moved: finds where that was, for
    /// the message.
    #[cold]
    pub(super) fn locate(&mut self, thread: &mut Thread<'_>, moved: Moved) {
        let fd = thread.fd(self.slot);
        if self.place == Place::Here
            && let Ok(at) = thread.engine.execute(Request::Position { fd })
        {
            self.place = Place::At(at.saturating_sub(moved.read + moved.written));
        }
    }

    pub(super) fn describe(&self, what: &str, thread: &Thread<'_>) -> String {
        self.choice.describe(what, self.data.len(), self.place, self.slot, thread)
    }
}

struct Read {
    transfer: Transfer,
}

impl Flowop for Read {
    #[inline]
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.transfer.prepare(thread)
    }

    #[inline]
    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let Transfer { slot, ref data, place, .. } = self.transfer;
        let fd = thread.fd(slot);
        let mut bytes = data::read(thread, fd, data.clone(), place);
        if bytes == Ok(0) && place == Place::Here {
            // At the end of the file: start over, without counting an empty operation.
            thread.engine.execute(Request::Rewind { fd })?;
            bytes = data::read(thread, fd, data.clone(), place);
        }
        if bytes.is_err() {
            self.transfer.locate(thread, Moved::NONE);
        }
        Ok(Moved::read(bytes?))
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.transfer.describe("read", thread)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn a_sequential_read_starts_over_without_an_empty_operation() {
        let bench = Bench::sized(1, 1, 10_000);
        let mut thread = bench.thread();
        let mut read = bench.flowop("read", "filename=fs,iosize=4k");
        let bytes: Vec<u64> = (0..6).map(|_| bench.step(&mut read, &mut thread).unwrap().1.read).collect();
        assert_eq!(bytes, [4096, 4096, 1808, 4096, 4096, 1808]);
        assert_eq!(thread.auto_opens, 1);
    }

    #[test]
    fn random_offsets_are_blocks_of_the_range_and_the_last_is_among_them() {
        let bench = Bench::sized(1, 1, 16_384);
        let mut thread = bench.thread();
        let mut read = bench.flowop("read", "filename=fs,iosize=4k,random");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            bench.step(&mut read, &mut thread).unwrap();
            seen.insert(read.describe(&thread));
        }
        let places: Vec<_> = [0, 4096, 8192, 12_288]
            .iter()
            .map(|at| format!("read of 4096 bytes at {at} of fs/00000001/00000001"))
            .collect();
        let mut expected = places.clone();
        expected.sort();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_request_larger_than_the_file_is_refused_with_both_sizes() {
        let bench = Bench::sized(1, 1, 1000);
        let mut thread = bench.thread();
        let mut read = bench.flowop("read", "filename=fs,iosize=4k,random");
        let Err(End::Failed(None, message)) = bench.step(&mut read, &mut thread) else { panic!("it was read") };
        assert!(message.contains("4096") && message.contains("1000"), "{message}");
    }

    #[test]
    fn a_slot_with_a_file_of_another_set_is_a_conflict() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("openfile", "filesetname=other,fd=1"), &mut thread).unwrap();
        let mut read = bench.flowop("read", "filesetname=fs,fd=1,iosize=1k");
        let Err(End::Failed(None, message)) = bench.step(&mut read, &mut thread) else { panic!("it was read") };
        assert!(message.contains("other") && message.contains("fs"), "{message}");
    }
}
