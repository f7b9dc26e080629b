//! `readwholefile`: a file from start to end, as one operation.

use super::data::{self, Place};
use super::file::Choice;
use super::{
    Acts, Amount, Broken, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes,
};
use std::ops::Range;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "readwholefile",
    aliases: &["readfile"],
    on_device: |_| Ok(()),
    class: FlowopClass::Read,
    effect: Effect::Reads,
    acts: Acts::on_a_file(DataUse::WholeFile),
    summary: "reads a file from start to end by requests of iosize bytes; one operation",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::OPEN,
        attributes::IOSIZE_OR_ALL,
        attributes::RANGE,
    ],
    build: |build| {
        Box::new(ReadWholeFile {
            choice: Choice::new(build),
            iosize: build.amount("iosize", 0),
            range: build.amount("workingset", 0).draw(),
            slot: 0,
            data: 0..0,
            offset: 0,
        })
    },
};

struct ReadWholeFile {
    choice: Choice,
    iosize: Amount,
    range: u64,
    slot: usize,
    data: Range<usize>,
    offset: u64,
}

impl Flowop for ReadWholeFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.opened(thread)?;
        let mut size = self.iosize.draw();
        if size == 0 {
            size = if self.range > 0 { self.range } else { thread.nominal_size(self.slot) };
        }
        // An empty file is asked for a byte, so that its end is seen.
        self.data = thread.data(size.max(1), self.choice.direct)?;
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let fd = thread.fd(self.slot);
        self.offset = 0;
        loop {
            match data::read(thread, fd, self.data.clone(), Place::At(self.offset)) {
                Ok(0) => return Ok(Moved::read(self.offset)),
                Ok(bytes) => self.offset += bytes,
                // Direct I/O from the unaligned end of a file: nothing is there to be read.
                Err(rustix::io::Errno::INVAL) if self.choice.direct && self.offset > 0 => {
                    return Ok(Moved::read(self.offset));
                }
                Err(errno) => return Err(Broken { errno: Some(errno), moved: Moved::read(self.offset) }),
            }
        }
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.choice.describe("read", self.data.len(), Place::At(self.offset), self.slot, thread)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn the_whole_file_is_one_operation_by_any_request_size() {
        let bench = Bench::sized(1, 1, 10_000);
        let mut thread = bench.thread();
        for iosize in ["iosize=1k", "iosize=1m", "iosize=0"] {
            let mut read = bench.flowop("readwholefile", &format!("filename=fs,{iosize}"));
            for _ in 0..2 {
                assert_eq!(bench.step(&mut read, &mut thread), Ok((Turn::Go, Moved::read(10_000))), "{iosize}");
            }
        }
    }

    #[test]
    fn an_empty_file_is_an_operation_of_no_bytes() {
        let bench = Bench::sized(1, 1, 0);
        let mut thread = bench.thread();
        let mut read = bench.flowop("readfile", "filename=fs");
        assert_eq!(bench.step(&mut read, &mut thread), Ok((Turn::Go, Moved::NONE)));
    }
}
