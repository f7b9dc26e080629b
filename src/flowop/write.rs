//! `write`: one request of iosize bytes.

use super::data;
use super::read::Transfer;
use super::{Acts, Broken, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "write",
    aliases: &[],
    class: FlowopClass::Write,
    effect: Effect::Writes,
    acts: Acts::on_a_file(DataUse::Request),
    summary: "writes iosize bytes, at the current position (the file grows without end) or at a random offset",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::OPEN,
        attributes::IOSIZE,
        attributes::OFFSET,
        attributes::RANGE,
    ],
    build: |build| Box::new(Write { transfer: Transfer::new(build) }),
};

struct Write {
    transfer: Transfer,
}

impl Flowop for Write {
    #[inline]
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.transfer.prepare(thread)
    }

    #[inline]
    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let Transfer { slot, data, place, .. } = &self.transfer;
        let fd = thread.fd(*slot);
        data::write(thread, fd, data.clone(), *place).map(Moved::written)
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
        assert_eq!(message, "write of 1024 bytes at the current position of fs/00000001/00000001");
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
