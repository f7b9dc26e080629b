//! `aiowait`: waits for operations that the thread has submitted.

use super::{Acts, Amount, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "aiowait",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts::NOTHING,
    summary: "waits until half of what aioread and aiowrite have begun, or `value` of it, is complete",
    attributes: &[attributes::WAITED_FOR],
    build: |build| {
        let value = build.attributes.get("value").map(|_| build.amount("value", 0));
        Box::new(AioWait { target: build.target, value, count: 0 })
    },
};

struct AioWait {
    target: Option<usize>,
    value: Option<Amount>,
    count: usize,
}

impl Flowop for AioWait {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let all = thread.outstanding(self.target);
        if all == 0 {
            return Ok(Turn::Quiet);
        }
        self.count = match self.value.as_mut().map(Amount::draw) {
            None => (all / 2).max(1),
            Some(0) => all,
            Some(n) => usize::try_from(n).unwrap_or(all).min(all),
        };
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        if self.target.is_none() {
            return thread.reap(self.count).map(|()| Moved::NONE).map_err(|_| Broken::OVER);
        }
        let enough = thread.outstanding(self.target) - self.count;
        while thread.outstanding(self.target) > enough {
            thread.reap(1).map_err(|_| Broken::OVER)?;
        }
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        format!("wait for {} operations", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    /// Submits one each time, at 10 us, 20 us, and so on until its end.
    fn submit(bench: &Bench, thread: &mut Thread<'_>, kind: &str, count: u64) {
        let mut flowop = bench.flowop(kind, "filename=fs,iosize=1k");
        for _ in 0..count {
            bench.step(&mut flowop, thread).unwrap();
            thread.clock.advance(10_000);
        }
    }

    #[test]
    fn it_waits_for_half_and_at_least_for_one() {
        let bench = Bench::with_script(1, 1, "write=100us");
        let mut thread = bench.thread();
        let mut wait = bench.flowop("aiowait", "");
        submit(&bench, &mut thread, "aiowrite", 6);
        let mut left = Vec::new();
        while bench.step(&mut wait, &mut thread).unwrap().0 == Turn::Go {
            left.push((thread.outstanding(None), thread.clock.now()));
        }
        // Submitted at 0, 10, ... 50 us.
        assert_eq!(left, [(3, 120_000), (2, 130_000), (1, 140_000), (0, 150_000)]);
        assert_eq!(bench.run.completed.borrow().len(), 6);
    }

    #[test]
    fn value_says_how_many_and_none_is_all() {
        let bench = Bench::with_script(1, 1, "write=100us");
        let mut thread = bench.thread();
        submit(&bench, &mut thread, "aiowrite", 6);
        bench.step(&mut bench.flowop("aiowait", "value=2"), &mut thread).unwrap();
        assert_eq!((thread.outstanding(None), thread.clock.now()), (4, 110_000));
        bench.step(&mut bench.flowop("aiowait", "value=0"), &mut thread).unwrap();
        assert_eq!((thread.outstanding(None), thread.clock.now()), (0, 150_000));
        submit(&bench, &mut thread, "aiowrite", 1);
        bench.step(&mut bench.flowop("aiowait", "value=99"), &mut thread).unwrap();
        assert_eq!(thread.outstanding(None), 0);
    }

    #[test]
    fn with_a_target_it_waits_for_that_flowops_operations() {
        let bench = Bench::with_script(1, 1, "read=100us,write=100us");
        let mut thread = bench.thread();
        submit(&bench, &mut thread, "aiowrite", 2);
        bench.step(&mut bench.flowop_with_target("aiowait", "value=0", Some(8)), &mut thread).unwrap();
        assert_eq!((thread.outstanding(None), thread.clock.now()), (2, 20_000), "none is of flowop 8");
        bench.step(&mut bench.flowop_with_target("aiowait", "value=1", Some(7)), &mut thread).unwrap();
        assert_eq!((thread.outstanding(Some(7)), thread.clock.now()), (1, 100_000));
    }

    #[test]
    fn with_nothing_under_way_there_is_nothing_to_count() {
        let bench = Bench::new(1, 1);
        assert_eq!(bench.step(&mut bench.flowop("aiowait", ""), &mut bench.thread()), Ok((Turn::Quiet, Moved::NONE)));
    }
}
