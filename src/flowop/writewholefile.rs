//! `writewholefile`: a file from start to end, as one operation.

use super::data::{self, Place};
use super::file::Choice;
use super::{
    Acts, Amount, Broken, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Slot, Thread, Turn, attributes,
};
use std::ops::Range;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "writewholefile",
    aliases: &["writefile"],
    on_device: |_| Ok(()),
    class: FlowopClass::Write,
    effect: Effect::Writes,
    acts: Acts::on_a_file(DataUse::WholeFile),
    summary: "writes a file from the start to its nominal size (of srcfd's file) by requests of iosize bytes; one operation",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::OPEN,
        attributes::IOSIZE_OR_ALL,
        attributes::RANGE,
        attributes::SOURCE,
    ],
    build: |build| {
        Box::new(WriteWholeFile {
            choice: Choice::new(build),
            iosize: build.amount("iosize", 0),
            range: build.amount("workingset", 0).draw(),
            source: build.attributes.number("srcfd") as usize,
            slot: 0,
            size: 0,
            piece: 0,
            data: 0..0,
            offset: 0,
        })
    },
};

struct WriteWholeFile {
    choice: Choice,
    iosize: Amount,
    range: u64,
    source: usize,
    slot: usize,
    size: u64,
    /// Bytes of one request.
    piece: usize,
    data: Range<usize>,
    offset: u64,
}

impl Flowop for WriteWholeFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.opened(thread)?;
        self.size = match thread.slot(self.source) {
            Slot { file: Some(_), .. } => thread.nominal_size(self.source),
            _ if self.source > 0 => {
                return Err(End::Failed(None, format!("slot {} (srcfd) never had a file", self.source)));
            }
            _ if self.range > 0 => self.range,
            _ => thread.nominal_size(self.slot),
        };
        let iosize = self.iosize.draw();
        let piece = if iosize == 0 { self.size } else { iosize.min(self.size) };
        self.piece = piece as usize;
        self.data = if thread.renews(self.slot) {
            // All of it, so that no data is made while the clock runs.
            let data = thread.data_of_file(self.size, self.choice.direct)?;
            thread.renew(self.slot, &data);
            data
        } else {
            thread.data(piece, self.choice.direct)?
        };
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let fd = thread.fd(self.slot);
        self.offset = 0;
        // From the start and exactly to the end: a file that is written again stays as large as it was planned.
        while self.offset < self.size {
            let len = (self.size - self.offset).min(self.piece as u64);
            // Of data that is there for the whole file, each request has its own part.
            let part = if self.data.len() as u64 == self.size { self.offset as usize } else { 0 };
            let start = self.data.start + part;
            let data = start..start + len as usize;
            match data::write(thread, fd, data, Place::At(self.offset)) {
                Ok(bytes) => self.offset += bytes,
                Err(Broken { errno, moved }) => {
                    return Err(Broken { errno, moved: Moved::written(self.offset + moved.written) });
                }
            }
        }
        Ok(Moved::written(self.offset))
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.choice.describe("write", self.piece, Place::At(self.offset), self.slot, thread)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn a_file_is_written_to_its_exact_size_each_time() {
        let bench = Bench::sized(1, 1, 2_500 * 1024);
        let mut thread = bench.thread();
        let mut write = bench.flowop("writewholefile", "filename=fs,iosize=1m");
        for _ in 0..2 {
            assert_eq!(bench.step(&mut write, &mut thread), Ok((Turn::Go, Moved::written(2_500 * 1024))));
        }
        let mut read = bench.flowop("readwholefile", "filename=fs,iosize=1m");
        assert_eq!(bench.step(&mut read, &mut thread), Ok((Turn::Go, Moved::read(2_500 * 1024))));
    }

    #[test]
    fn the_size_is_that_of_the_source_slots_file() {
        let bench = Bench::sized(2, 1, 5_000);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("createfile", "filesetname=fs,fd=1"), &mut thread).unwrap();
        let mut write = bench.flowop("writewholefile", "srcfd=1,fd=1,iosize=1k");
        assert_eq!(bench.step(&mut write, &mut thread), Ok((Turn::Go, Moved::written(5_000))));
        let mut lost = bench.flowop("writewholefile", "srcfd=7,fd=1");
        let Err(End::Failed(None, message)) = bench.step(&mut lost, &mut thread) else { panic!("it was written") };
        assert!(message.contains("slot 7"), "{message}");
    }

    #[test]
    fn data_that_is_made_anew_is_there_before_the_file_is_written() {
        let bench = Bench::sized(1, 1, 10_000).with_content(crate::fileset::Content { compress: 2.0, dedup: 1.0 });
        // A memsize that holds a request is enough.
        let mut thread = bench.thread_with_memory(4096);
        let mut write = bench.flowop("writewholefile", "filename=fs,iosize=4k");
        write.prepare(&mut thread).unwrap();
        let first = thread.memory[..10_000].to_vec();
        assert!(first[2048..4096].iter().all(|byte| *byte == first[4095]));
        assert_ne!(first[..2048], first[4096..6144]);
        assert_eq!(write.execute(&mut thread), Ok(Moved::written(10_000)));
        assert_eq!(thread.memory[..10_000], first);
        write.finish(&mut thread, &Ok(Moved::written(10_000)));
        write.prepare(&mut thread).unwrap();
        assert_ne!(thread.memory[..2048], first[..2048]);
    }

    #[test]
    fn a_file_that_is_too_large_to_be_made_at_once_is_refused() {
        let bench = Bench::sized(1, 1, 2 << 30).with_content(crate::fileset::Content { compress: 2.0, dedup: 1.0 });
        let mut thread = bench.thread();
        let mut write = bench.flowop("writewholefile", "filename=fs,iosize=4k");
        let Err(End::Failed(None, message)) = bench.step(&mut write, &mut thread) else { panic!("it was written") };
        assert!(message.contains("2147483648 bytes is too large"), "{message}");
    }

    #[test]
    fn what_was_written_before_an_error_counts() {
        let bench = Bench::with_script(1, 1, "fail=write:3:ENOSPC");
        let mut thread = bench.thread();
        let mut write = bench.flowop("writewholefile", "filename=fs,iosize=1k");
        write.prepare(&mut thread).unwrap();
        let broken = write.execute(&mut thread).unwrap_err();
        assert_eq!(broken, Broken { errno: Some(rustix::io::Errno::NOSPC), moved: Moved::written(2048) });
        assert_eq!(write.describe(&thread), "write of 1024 bytes at 2048 of fs/00000001/00000001");
    }
}
