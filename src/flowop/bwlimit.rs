//! `bwlimit`: holds the thread back to the event generator's rate of data.

use super::pacing::Limiter;
use super::{Acts, Effect, FlowopClass, FlowopDef, Pace, Paid, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "bwlimit",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts { pace: Pace::Limits(Paid::Mebibyte), ..Acts::NOTHING },
    summary: "waits until the event generator has given an event for each MiB (2^20 bytes) read and written; without a rate it does nothing",
    attributes: &[attributes::TARGET],
    build: |build| Box::new(Limiter::new(build, Paid::Mebibyte)),
};

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;

    #[test]
    fn an_event_pays_for_a_mebibyte() {
        let mut bench = Bench::new(1, 1);
        bench.run.event_ns = Some(1_000);
        bench.run.own = OwnIo { ops: 9, data_ops: 9, bytes: (2 << 20) + 1 };
        let mut limit = bench.flowop("bwlimit", "");
        {
            let mut thread = bench.thread();
            bench.step(&mut limit, &mut thread).unwrap();
            assert_eq!(thread.clock.now(), 3_000);
        }
        bench.run.own.bytes = 3 << 20;
        assert_eq!(bench.step(&mut limit, &mut bench.thread()), Ok((Turn::Quiet, Moved::NONE)), "it is paid for");
    }
}
