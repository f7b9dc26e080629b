//! `opslimit`: holds the thread back to the event generator's rate of I/O operations.

use super::{Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "opslimit",
    aliases: &[],
    class: FlowopClass::Control,
    effect: Effect::None,
    summary: "waits until the event generator's rate allows the operations done; without a rate it does nothing",
    attributes: &[attributes::TARGET],
    build: |build| Box::new(OpsLimit { target: build.target, paid: 0, from: 0 }),
};

/// One event pays for one operation: those of `target` in this thread, else all I/O of this thread. The events come
/// from one source for all threads of all processes, so the rate is the run's.
struct OpsLimit {
    target: Option<usize>,
    paid: u64,
    from: u64,
}

impl Flowop for OpsLimit {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let done = match self.target {
            Some(index) => thread.run.flowop(index).0,
            None => thread.run.own_io().0,
        };
        let due = done - self.paid;
        if due == 0 {
            return Ok(Turn::Quiet);
        }
        let Some(from) = thread.run.take_events(&thread.clock, due) else { return Ok(Turn::Quiet) };
        self.paid = done;
        self.from = from;
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        thread.run.pause(&thread.clock, self.from);
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "opslimit".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn without_a_rate_it_neither_waits_nor_counts() {
        let mut bench = Bench::new(1, 1);
        bench.run.own = (5, 0);
        assert_eq!(bench.step(&mut bench.flowop("opslimit", ""), &mut bench.thread()), Ok((Turn::Quiet, Moved::NONE)));
    }

    #[test]
    fn each_operation_is_paid_once() {
        let mut bench = Bench::new(1, 1);
        bench.run.event_ns = Some(1_000);
        bench.run.own = (5, 0);
        let mut limit = bench.flowop("opslimit", "");
        {
            let mut thread = bench.thread();
            bench.step(&mut limit, &mut thread).unwrap();
            assert_eq!(thread.clock.now(), 5_000);
        }
        assert_eq!(bench.step(&mut limit, &mut bench.thread()), Ok((Turn::Quiet, Moved::NONE)));
    }
}
