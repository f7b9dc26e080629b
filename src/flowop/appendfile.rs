//! `appendfile`: iosize bytes at the end of a file.

use super::file::Choice;
use super::{Amount, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes, data};
use std::ops::Range;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "appendfile",
    aliases: &[],
    class: FlowopClass::Write,
    effect: Effect::Writes,
    summary: "writes iosize bytes at the end of a file",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::OPEN, attributes::IOSIZE],
    build: |build| {
        Box::new(AppendFile { choice: Choice::new(build), iosize: build.amount("iosize", 0), slot: 0, data: 0..0 })
    },
};

struct AppendFile {
    choice: Choice,
    iosize: Amount,
    slot: usize,
    data: Range<usize>,
}

impl Flowop for AppendFile {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.opened(thread)?;
        let size = self.iosize.draw().max(1);
        self.data = thread.data(size, self.choice.direct)?;
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let fd = thread.fd(self.slot);
        data::append(thread, fd, self.data.clone())
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        let (len, file) = (self.data.len(), thread.show_slot(self.slot));
        format!("append of {len} bytes to {file}{}", self.choice.how())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn a_file_grows_by_each_append() {
        let bench = Bench::sized(1, 1, 100);
        let mut thread = bench.thread();
        let mut append = bench.flowop("appendfile", "filename=fs,iosize=1k");
        for _ in 0..3 {
            assert_eq!(bench.step(&mut append, &mut thread), Ok((Turn::Go, Moved::written(1024))));
        }
        let mut read = bench.flowop("readwholefile", "filename=fs,iosize=1m");
        assert_eq!(bench.step(&mut read, &mut thread), Ok((Turn::Go, Moved::read(100 + 3 * 1024))));
    }
}
