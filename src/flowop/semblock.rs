//! `semblock`: waits for posts, and lets as many more be made.

use super::{Acts, Amount, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "semblock",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts::NOTHING,
    summary: "lets `value` more posts be made, then waits until `value` posts have come to it, and takes them",
    attributes: &[attributes::POSTS, attributes::HIGHWATER],
    build: |build| {
        Box::new(Semblock { point: build.wait_point.unwrap_or_default(), value: build.amount("value", 1), count: 0 })
    },
};

struct Semblock {
    point: u32,
    value: Amount,
    count: u32,
}

impl Flowop for Semblock {
    fn prepare(&mut self, _: &mut Thread<'_>) -> Result<Turn, End> {
        self.count = u32::try_from(self.value.draw()).unwrap_or(u32::MAX);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        // First the room: the highwater may be less than what is waited for.
        thread.run.make_room(self.point, self.count);
        if thread.run.take_posts(&thread.clock, self.point, self.count) { Ok(Moved::NONE) } else { Err(Broken::OVER) }
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        format!("wait for {} posts", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn it_takes_its_posts_and_makes_room_for_as_many() {
        let bench = Bench::new(1, 1);
        bench.run.points.borrow_mut()[0] = (5, 1);
        let mut thread = bench.thread();
        let mut semblock = bench.flowop("semblock", "value=3");
        assert_eq!(bench.step(&mut semblock, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(bench.run.points.borrow()[0], (2, 4));
        // Too few: it takes none of them, and its room is there for those who post.
        assert_eq!(bench.step(&mut semblock, &mut thread), Err(End::Over));
        assert_eq!(bench.run.points.borrow()[0], (2, 7));
    }
}
