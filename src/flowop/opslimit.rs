//! `opslimit`: holds the thread back to the event generator's rate of I/O operations.

use super::pacing::Limiter;
use super::{Acts, Effect, FlowopClass, FlowopDef, Pace, Paid, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "opslimit",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts { pace: Pace::Limits(Paid::Operation), ..Acts::NOTHING },
    summary: "waits until the event generator has given an event for each I/O operation done; without a rate it does nothing",
    attributes: &[attributes::TARGET],
    build: |build| Box::new(Limiter::new(build, Paid::Operation)),
};

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn without_a_rate_it_neither_waits_nor_counts() {
        let mut bench = Bench::new(1, 1);
        bench.run.own = OwnIo { ops: 5, ..OwnIo::default() };
        assert_eq!(bench.step(&mut bench.flowop("opslimit", ""), &mut bench.thread()), Ok((Turn::Quiet, Moved::NONE)));
    }

    #[test]
    fn each_operation_is_paid_once() {
        let mut bench = Bench::new(1, 1);
        bench.run.event_ns = Some(1_000);
        bench.run.own = OwnIo { ops: 5, data_ops: 1, bytes: 0 };
        let mut limit = bench.flowop("opslimit", "");
        {
            let mut thread = bench.thread();
            bench.step(&mut limit, &mut thread).unwrap();
            assert_eq!(thread.clock.now(), 5_000);
        }
        assert_eq!(bench.step(&mut limit, &mut bench.thread()), Ok((Turn::Quiet, Moved::NONE)));
    }
}
