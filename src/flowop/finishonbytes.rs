//! `finishonbytes`: ends the run when enough bytes have moved.

use super::pacing::Watched;
use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Pace, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "finishonbytes",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts { pace: Pace::EndsOnBytes, ..Acts::NOTHING },
    summary: "ends when `target` has moved `value` bytes in this thread; without target, all I/O of the run counts",
    attributes: &[attributes::TARGET, attributes::BYTES],
    build: |build| {
        let (watched, value) = (Watched::new(build), build.amount("value", 0).draw());
        Box::new(FinishOnBytes { name: build.name.to_owned(), watched, value })
    },
};

struct FinishOnBytes {
    name: String,
    watched: Watched,
    value: u64,
}

impl Flowop for FinishOnBytes {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let (_, bytes) = self.watched.counts(thread);
        if bytes >= self.value {
            return Err(End::Finished(format!("{} reached {} bytes", self.name, self.value)));
        }
        Ok(Turn::Go)
    }

    fn execute(&mut self, _: &mut Thread<'_>) -> Result<Moved, Broken> {
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "finishonbytes".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn read_and_written_bytes_of_the_target_count() {
        let mut bench = Bench::new(1, 1);
        let mut flowop = bench.flowop_with_target("finishonbytes", "value=1k,target=x", Some(0));
        bench.run.flowop = (9, Moved { read: 1000, written: 23 });
        assert_eq!(bench.step(&mut flowop, &mut bench.thread()), Ok((Turn::Go, Moved::NONE)));
        bench.run.flowop = (9, Moved { read: 1000, written: 24 });
        assert!(matches!(bench.step(&mut flowop, &mut bench.thread()), Err(End::Finished(_))));
    }
}
