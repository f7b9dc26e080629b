//! `appendfile`: iosize bytes at the end of a file.

use super::file::Choice;
use super::thread::DIRECT_ALIGNMENT;
use super::{
    Acts, Amount, Broken, Build, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes,
    data,
};
use std::ops::Range;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "appendfile",
    aliases: &[],
    on_device: |_| Err("the size of a device is fixed, and nothing can be appended"),
    class: FlowopClass::Write,
    effect: Effect::Writes,
    acts: Acts::on_a_file(DataUse::Request),
    summary: "writes iosize bytes at the end of a file",
    attributes: &[attributes::SLOT, attributes::FILE, attributes::INDEX, attributes::OPEN, attributes::IOSIZE],
    build: |build| Box::new(Append::new(build, Sizes::Exact)),
};

/// How much of iosize is appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sizes {
    /// All.
    Exact,
    /// 1 byte to all, each number as likely; with directio whole blocks.
    UpTo,
}

/// `appendfile` and `appendfilerand`.
pub(super) struct Append {
    choice: Choice,
    iosize: Amount,
    sizes: Sizes,
    slot: usize,
    data: Range<usize>,
}

impl Append {
    pub(super) fn new(build: &Build<'_>, sizes: Sizes) -> Self {
        Append { choice: Choice::new(build), iosize: build.amount("iosize", 0), sizes, slot: 0, data: 0..0 }
    }
}

impl Flowop for Append {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.opened(thread)?;
        // A random size may come out as 0; a request of nothing is none.
        let most = self.iosize.draw().max(1);
        let size = match self.sizes {
            Sizes::Exact => most,
            // A direct write of an odd number of bytes is EINVAL on every block device.
            Sizes::UpTo if self.choice.direct => {
                thread.random_up_to((most / DIRECT_ALIGNMENT).max(1)) * DIRECT_ALIGNMENT
            }
            Sizes::UpTo => thread.random_up_to(most),
        };
        self.data = thread.data(size, self.choice.direct)?;
        thread.renew(self.slot, &self.data);
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
