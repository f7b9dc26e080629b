//! `lseek`: looks for the next data or the next hole of a file.

use super::file::Choice;
use super::{
    Acts, Broken, DataUse, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes, data,
};
use crate::engine::Request;
use rustix::io::Errno;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "lseek",
    aliases: &[],
    on_device: |_| Err("a device has no holes that could be looked for"),
    class: FlowopClass::Metadata,
    effect: Effect::Reads,
    acts: Acts::on_a_file(DataUse::None),
    summary: "moves the position of a file to the next data or hole; to the start where there is none",
    attributes: &[
        attributes::SLOT,
        attributes::FILE,
        attributes::INDEX,
        attributes::OPEN,
        attributes::WHENCE,
        attributes::RANGE,
    ],
    build: |build| {
        Box::new(Lseek {
            choice: Choice::new(build),
            range: build.amount("workingset", 0).draw(),
            random: build.attributes.flag("random"),
            hole: build.attributes.text("whence") == Some("hole"),
            slot: 0,
            offset: 0,
        })
    },
};

struct Lseek {
    choice: Choice,
    range: u64,
    random: bool,
    hole: bool,
    slot: usize,
    offset: u64,
}

impl Flowop for Lseek {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        self.slot = self.choice.opened(thread)?;
        self.offset = if self.random {
            let range = data::used(thread, self.slot, self.range);
            thread.random_offset(range.max(1), 1)
        } else {
            let fd = thread.fd(self.slot);
            thread.engine.execute(Request::Position { fd }).map_err(|errno| {
                End::Failed(Some(errno), format!("current position of {}", thread.show_slot(self.slot)))
            })?
        };
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        let fd = thread.fd(self.slot);
        match thread.engine.execute(Request::SeekNext { fd, offset: self.offset, hole: self.hole }) {
            // There is none up to the end: start over, as a read does.
            Err(Errno::NXIO) => thread.engine.execute(Request::Rewind { fd })?,
            other => other?,
        };
        Ok(Moved::NONE)
    }

    fn describe(&self, thread: &Thread<'_>) -> String {
        let what = if self.hole { "hole" } else { "data" };
        format!("lseek to {what} from {} of {}", self.offset, thread.show_slot(self.slot))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use crate::engine::Request;

    fn position(thread: &mut Thread<'_>) -> u64 {
        let fd = thread.fd(0);
        thread.engine.execute(Request::Position { fd }).unwrap()
    }

    #[test]
    fn the_end_is_the_last_hole_and_past_it_comes_the_start() {
        let bench = Bench::sized(1, 1, 10_000);
        let mut thread = bench.thread();
        let mut hole = bench.flowop("lseek", "filename=fs,whence=hole");
        let positions: Vec<u64> = (0..4)
            .map(|_| {
                assert_eq!(bench.step(&mut hole, &mut thread), Ok((Turn::Go, Moved::NONE)));
                position(&mut thread)
            })
            .collect();
        assert_eq!(positions, [10_000, 0, 10_000, 0]);
        bench.step(&mut bench.flowop("read", "iosize=1k"), &mut thread).unwrap();
        bench.step(&mut bench.flowop("lseek", "whence=data"), &mut thread).unwrap();
        assert_eq!(position(&mut thread), 1024, "there is data");
    }

    #[test]
    fn random_is_from_any_byte_of_the_range() {
        let bench = Bench::sized(1, 1, 10_000);
        let mut thread = bench.thread();
        let mut data = bench.flowop("lseek", "filename=fs,whence=data,random,workingset=100");
        let seen: std::collections::BTreeSet<u64> = (0..500)
            .map(|_| {
                bench.step(&mut data, &mut thread).unwrap();
                position(&mut thread)
            })
            .collect();
        assert!(seen.len() > 90 && seen.last() <= Some(&99), "{seen:?}");
    }
}
