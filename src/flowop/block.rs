//! `block`: waits for a wakeup.

use super::{Acts, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "block",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts::NOTHING,
    summary: "waits until a wakeup has this flowop as its target; wakeups are counted, so one that comes earlier is kept",
    attributes: &[],
    build: |build| Box::new(Block { point: build.wait_point.unwrap_or_default() }),
};

struct Block {
    point: u32,
}

impl Flowop for Block {
    fn prepare(&mut self, _: &mut Thread<'_>) -> Result<Turn, End> {
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        if thread.run.take_posts(&thread.clock, self.point, 1) { Ok(Moved::NONE) } else { Err(Broken::OVER) }
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "wait for a wakeup".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn each_wakeup_that_came_ends_one_wait_and_the_next_one_lasts() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        let mut block = bench.flowop("block", "");
        let mut wakeup = bench.flowop("wakeup", "target=block1,iters=1");
        bench.step(&mut wakeup, &mut thread).unwrap();
        bench.step(&mut wakeup, &mut thread).unwrap();
        assert_eq!(bench.step(&mut block, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(bench.step(&mut block, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(bench.step(&mut block, &mut thread), Err(End::Over));
    }
}
