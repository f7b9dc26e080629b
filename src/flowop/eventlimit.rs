//! `eventlimit`: waits for one event of the event generator.

use super::pacing::Limiter;
use super::{Acts, Effect, FlowopClass, FlowopDef, Pace, Paid};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "eventlimit",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts { pace: Pace::Limits(Paid::Turn), ..Acts::NOTHING },
    summary: "waits for one event of the event generator; without a rate it does nothing",
    attributes: &[],
    build: |build| Box::new(Limiter::new(build, Paid::Turn)),
};

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
