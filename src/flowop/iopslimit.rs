//! `iopslimit`: holds the thread back to the event generator's rate of reads and writes.

use super::pacing::Limiter;
use super::{Acts, Effect, FlowopClass, FlowopDef, Pace, Paid, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "iopslimit",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts { pace: Pace::Limits(Paid::DataOperation), ..Acts::NOTHING },
    summary: "waits until the event generator has given an event for each read and write done; without a rate it does nothing",
    attributes: &[attributes::TARGET],
    build: |build| Box::new(Limiter::new(build, Paid::DataOperation)),
};

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn only_reads_and_writes_are_paid_for() {
        let mut bench = Bench::new(1, 1);
        bench.run.event_ns = Some(1_000);
        bench.run.own = OwnIo { ops: 5, data_ops: 2, bytes: 0 };
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop("iopslimit", ""), &mut thread).unwrap();
        assert_eq!(thread.clock.now(), 2_000);
    }

    #[test]
    fn with_a_target_only_its_operations_are() {
        let mut bench = Bench::new(1, 1);
        bench.run.event_ns = Some(1_000);
        bench.run.flowop = (7, Moved::NONE);
        let mut thread = bench.thread();
        bench.step(&mut bench.flowop_with_target("iopslimit", "target=x", Some(0)), &mut thread).unwrap();
        assert_eq!(thread.clock.now(), 7_000);
    }
}
