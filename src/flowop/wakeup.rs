//! `wakeup`: ends one wait of each `block` of a name.

use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};
use std::sync::Arc;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "wakeup",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts::NOTHING,
    summary: "ends one wait of each instance of `target`, now or when it comes to wait; never waits itself",
    attributes: &[attributes::BLOCKS],
    build: |build| Box::new(Wakeup { points: std::mem::take(&mut build.target_points) }),
};

struct Wakeup {
    points: Vec<Arc<[u32]>>,
}

impl Flowop for Wakeup {
    fn prepare(&mut self, _: &mut Thread<'_>) -> Result<Turn, End> {
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        for point in self.points.iter().flat_map(|points| points.iter()) {
            // Wakeups beyond 2^32 - 1 that nobody has used are not kept: that many waits will not block as it is.
            let _ = thread.run.post(&thread.clock, *point, 1, false);
        }
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "wakeup".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn every_instance_is_woken_and_wakeups_that_cannot_be_counted_are_no_failure() {
        let bench = Bench::new(1, 1);
        bench.run.points.borrow_mut()[1].0 = u32::MAX;
        let mut wakeup = bench.flowop("wakeup", "target=block1");
        assert_eq!(bench.step(&mut wakeup, &mut bench.thread()), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(*bench.run.points.borrow(), [(1, 0), (u32::MAX, 0)]);
    }
}
