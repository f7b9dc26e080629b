//! `delay`: does nothing for a while.

use super::{Acts, Amount, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "delay",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts::NOTHING,
    summary: "waits for `value` seconds (a fraction or a unit is possible: 0.5, 10ms)",
    attributes: &[attributes::TIME],
    build: |build| Box::new(Delay { value: build.amount("value", 0), until: 0 }),
};

struct Delay {
    value: Amount,
    until: u64,
}

impl Flowop for Delay {
    fn prepare(&mut self, thread: &mut Thread<'_>) -> Result<Turn, End> {
        let nanos = match &mut self.value {
            Amount::Fixed(nanos) => *nanos,
            // A random variable counts seconds.
            Amount::Random(sampler) => (sampler.sample().max(0.0) * 1e9) as u64,
        };
        self.until = thread.clock.now().saturating_add(nanos);
        Ok(Turn::Go)
    }

    fn execute(&mut self, thread: &mut Thread<'_>) -> Result<Moved, Broken> {
        thread.run.pause(&thread.clock, self.until);
        Ok(Moved::NONE)
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "delay".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;

    #[test]
    fn a_delay_takes_its_time_on_the_threads_clock() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        let before = thread.clock.now();
        bench.step(&mut bench.flowop("delay", "value=0.5"), &mut thread).unwrap();
        assert_eq!(thread.clock.now() - before, 500_000_000);
    }
}
