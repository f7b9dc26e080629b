//! `eventlimit`: waits for one event of the event generator.

use super::{Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "eventlimit",
    aliases: &[],
    class: FlowopClass::Control,
    effect: Effect::None,
    summary: "waits for one event of the event generator; without a rate it does nothing",
    attributes: &[],
    build: |_| Box::new(EventLimit { from: 0 }),
};

struct EventLimit {
    from: u64,
}

impl Flowop for EventLimit {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let Some(from) = thread.run.take_events(&thread.clock, 1) else { return Ok(Turn::Quiet) };
        self.from = from;
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        thread.run.pause(&thread.clock, self.from);
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "eventlimit".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn one_event_is_one_operation_and_no_rate_is_none() {
        let mut bench = Bench::new(1, 1);
        let mut limit = bench.flowop("eventlimit", "");
        assert_eq!(bench.step(&mut limit, &mut bench.thread()), Ok((Turn::Quiet, Moved::NONE)));
        bench.run.event_ns = Some(20_000);
        let mut thread = bench.thread();
        assert_eq!(bench.step(&mut limit, &mut thread), Ok((Turn::Go, Moved::NONE)));
        assert_eq!(thread.clock.now(), 20_000);
    }
}
