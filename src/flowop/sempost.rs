//! `sempost`: posts to each `semblock` of a name.

use super::{
    Acts, Amount, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Posted, Thread, Turn, attributes,
};
use rustix::io::Errno;
use std::sync::Arc;

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "sempost",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts::NOTHING,
    summary: "gives `value` posts to each instance of `target`; with blocking it waits while too many are outstanding",
    attributes: &[attributes::POSTS, attributes::SEMBLOCKS],
    build: |build| {
        Box::new(Sempost {
            points: std::mem::take(&mut build.target_points),
            value: build.amount("value", 1),
            bounded: build.attributes.flag("blocking"),
            count: 0,
        })
    },
};

struct Sempost {
    points: Vec<Arc<[u32]>>,
    value: Amount,
    bounded: bool,
    count: u32,
}

impl Flowop for Sempost {
    fn prepare(&mut self, _: &mut Thread<'_>) -> Result<Turn, End> {
        self.count = u32::try_from(self.value.draw()).unwrap_or(u32::MAX);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        for point in self.points.iter().flat_map(|points| points.iter()) {
            match thread.run.post(&thread.clock, *point, self.count, self.bounded) {
                Posted::Done => {}
                Posted::Over => return Err(Broken::OVER),
                Posted::TooMany => return Err(Errno::OVERFLOW.into()),
            }
        }
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        format!("{} posts, with those that wait to be taken", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn it_posts_to_all_and_is_bounded_only_where_it_is_blocking() {
        let bench = Bench::new(1, 1);
        *bench.run.points.borrow_mut() = vec![(0, 3), (0, 9)];
        let mut thread = bench.thread();
        let mut blocking = bench.flowop("sempost", "value=2,target=semblock1,blocking");
        assert_eq!(bench.step(&mut blocking, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(*bench.run.points.borrow(), [(2, 1), (2, 7)]);
        assert_eq!(bench.step(&mut blocking, &mut thread), Err(End::Over));
        let mut free = bench.flowop("sempost", "value=2,target=semblock1");
        assert_eq!(bench.step(&mut free, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(*bench.run.points.borrow(), [(4, 1), (4, 7)]);
    }

    #[test]
    fn posts_that_cannot_be_counted_are_a_failure() {
        let bench = Bench::new(1, 1);
        bench.run.points.borrow_mut()[0].0 = u32::MAX;
        let mut post = bench.flowop("sempost", "value=1,target=semblock1");
        let end = bench.step(&mut post, &mut bench.thread()).unwrap_err();
        assert_eq!(end, End::Failed(Some(Errno::OVERFLOW), "1 posts, with those that wait to be taken".into()));
    }
}
