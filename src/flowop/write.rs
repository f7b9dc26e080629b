//! `write`: one request of iosize bytes.

use super::data::{self, Lap, Place};
use super::read::Transfer;
use super::{Acts, Broken, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "write",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Write,
    effect: Effect::Writes,
    acts: Acts::on_a_file(DataUse::Request),
    summary: "writes iosize bytes, at the current position (the file grows without end, unless it wraps) or at a random offset",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::OPEN,
        attributes::IOSIZE,
        attributes::OFFSET,
        attributes::POSITIONS,
        attributes::RANGE,
        attributes::WRAP,
    ],
    build: |build| {
        let lap = build.attributes.flag("wrap").then(Lap::default);
        Box::new(Write { transfer: Transfer::new(build), lap })
    },
};

struct Write {
    transfer: Transfer,
    /// Where it is in a file that it writes over and over.
    lap: Option<Lap>,
}

impl Flowop for Write {
    #[inline]
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let turn = self.transfer.prepare(thread)?;
        if let (Some(lap), Place::Here) = (&mut self.lap, self.transfer.place) {
            let (slot, len) = (self.transfer.slot, self.transfer.data.len() as u64);
            let range = match self.transfer.range(thread) {
                0 => {
                    return Err(End::Failed(
                        None,
                        format!("{} has no size at whose end to wrap", thread.show_slot(slot)),
                    ));
                }
                range => range,
            };
            let (at, len) = lap.part(thread.slot_serial(slot), len, range);
            self.transfer.place = Place::At(at);
            self.transfer.data.end = self.transfer.data.start + len as usize;
        }
        thread.renew(self.transfer.slot, &self.transfer.data);
        Ok(turn)
    }

    #[inline]
    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let Transfer { slot, ref data, place, .. } = self.transfer;
        let fd = thread.fd(slot);
        let result = data::write(thread, fd, data.clone(), place);
        if let Err(broken) = &result {
            self.transfer.locate(thread, broken.moved);
        }
        result.map(Moved::written)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        self.transfer.describe("write", thread)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn a_write_counts_its_bytes_and_an_error_names_the_call() {
        let bench = Bench::with_script(1, 1, "fail=write:2:ENOSPC");
        let mut thread = bench.thread();
        let mut write = bench.flowop("write", "filename=fs,iosize=1k");
        assert_eq!(bench.step(&mut write, &mut thread), Ok((Turn::Go, Moved::written(1024))));
        let Err(End::Failed(Some(rustix::io::Errno::NOSPC), message)) = bench.step(&mut write, &mut thread) else {
            panic!()
        };
        assert_eq!(message, "write of 1024 bytes at 1024 of fs/00000001/00000001");
    }

    #[test]
    fn a_write_that_wraps_stays_within_the_file_to_its_last_byte() {
        let bench = Bench::sized(2, 2, 10_000);
        let mut thread = bench.thread();
        let mut write = bench.flowop("write", "filename=fs,iosize=4k,wrap");
        let mut places = Vec::new();
        for _ in 0..5 {
            bench.step(&mut write, &mut thread).unwrap();
            places.push(write.describe(&thread));
        }
        let file = "fs/00000001/00000001";
        let place = |len, at| format!("write of {len} bytes at {at} of {file}");
        assert_eq!(places, [place(4096, 0), place(4096, 4096), place(1808, 8192), place(4096, 0), place(4096, 4096)]);
        // In another file it begins anew.
        bench.step(&mut bench.flowop("closefile", ""), &mut thread).unwrap();
        bench.step(&mut write, &mut thread).unwrap();
        assert_eq!(write.describe(&thread), "write of 4096 bytes at 0 of fs/00000001/00000002");
        // In the same one too, where it was opened again.
        bench.step(&mut write, &mut thread).unwrap();
        bench.step(&mut bench.flowop("closefile", ""), &mut thread).unwrap();
        bench.step(&mut bench.flowop("openfile", "filename=fs,indexed=1"), &mut thread).unwrap();
        bench.step(&mut write, &mut thread).unwrap();
        assert_eq!(write.describe(&thread), "write of 4096 bytes at 0 of fs/00000001/00000002");
        let mut short = bench.flowop("write", "filename=fs,iosize=4k,wrap,workingset=6k");
        let bytes: Vec<u64> = (0..3).map(|_| bench.step(&mut short, &mut thread).unwrap().1.written).collect();
        assert_eq!(bytes, [4096, 2048, 4096]);
    }

    #[test]
    fn a_file_without_a_size_cannot_be_wrapped() {
        let bench = Bench::sized(1, 1, 0);
        let mut thread = bench.thread();
        let mut write = bench.flowop("write", "filename=fs,iosize=4k,wrap");
        let Err(End::Failed(None, message)) = bench.step(&mut write, &mut thread) else { panic!("it was written") };
        assert!(message.contains("no size"), "{message}");
    }

    #[test]
    fn a_working_set_may_reach_past_the_file() {
        let bench = Bench::sized(1, 1, 0);
        let mut thread = bench.thread();
        let mut write = bench.flowop("write", "filename=fs,iosize=1k,random,workingset=8k");
        assert_eq!(bench.step(&mut write, &mut thread), Ok((Turn::Go, Moved::written(1024))));
    }

    #[test]
    fn a_request_larger_than_the_memory_is_refused_with_both_sizes() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread_with_memory(4096);
        let mut write = bench.flowop("write", "filename=fs,iosize=8k");
        let Err(End::Failed(None, message)) = bench.step(&mut write, &mut thread) else { panic!("it was written") };
        assert!(message.contains("8192") && message.contains("memsize of 4096"), "{message}");
    }
}
