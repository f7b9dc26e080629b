//! `finishoncount`: ends the run when enough operations are done.

use super::pacing::Watched;
use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Pace, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "finishoncount",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts { pace: Pace::EndsOnCount, ..Acts::NOTHING },
    summary: "ends when `target` has done `value` operations in this thread; without target, all I/O of the run counts",
    attributes: &[attributes::TARGET, attributes::COUNT],
    build: |build| {
        let (watched, value) = (Watched::new(build), build.amount("value", 0).draw());
        Box::new(FinishOnCount { name: build.name.to_owned(), watched, value })
    },
};

struct FinishOnCount {
    name: String,
    watched: Watched,
    value: u64,
}

impl Flowop for FinishOnCount {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let (ops, _) = self.watched.counts(thread);
        if ops >= self.value {
            let noun = if self.value == 1 { "operation" } else { "operations" };
            return Err(End::Finished(format!("{} reached {} {noun}", self.name, self.value)));
        }
        Ok(Turn::Go)
    }

    fn execute(&mut self, _: &mut Thread<'_>) -> Result<Moved, Broken> {
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "finishoncount".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn it_watches_its_target_or_all_io() {
        for (attributes, target, ops, all) in [("value=3", None, 0, 3), ("value=3,target=x", Some(0), 3, 0)] {
            let mut bench = Bench::new(1, 1);
            let mut flowop = bench.flowop_with_target("finishoncount", attributes, target);
            assert_eq!(bench.step(&mut flowop, &mut bench.thread()), Ok((Turn::Go, Moved::NONE)));
            bench.run.flowop = (ops, Moved::NONE);
            bench.run.all = (all, 0);
            let end = bench.step(&mut flowop, &mut bench.thread()).unwrap_err();
            assert_eq!(end, End::Finished("finishoncount1 reached 3 operations".into()));
        }
    }
}
