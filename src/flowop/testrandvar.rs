//! `testrandvar`: draws from a random variable, to show what it gives.

use super::{Acts, Amount, Broken, Effect, End, Flowop, FlowopClass, FlowopDef, Moved, Thread, Turn, attributes};

pub(super) static DEF: FlowopDef = FlowopDef {
    name: "testrandvar",
    aliases: &[],
    on_device: |_| Ok(()),
    class: FlowopClass::Control,
    effect: Effect::None,
    acts: Acts::NOTHING,
    summary: "draws `value`, and at the end of the thread says how often, the mean and the standard deviation; not counted",
    attributes: &[attributes::SAMPLED],
    build: |build| {
        Box::new(Trial {
            name: build.name.to_owned(),
            value: build.amount("value", 0),
            count: 0,
            mean: 0.0,
            spread: 0.0,
        })
    },
};

struct Trial {
    name: String,
    value: Amount,
    count: u64,
    mean: f64,
    /// Sum of the squares of the distances from the mean, by Welford's method: no large numbers are subtracted.
    spread: f64,
}

impl Flowop for Trial {
    fn prepare(&mut self, _: &mut Thread<'_>) -> Result<Turn, End> {
        let sample = match &mut self.value {
            Amount::Fixed(n) => *n as f64,
            Amount::Random(sampler) => sampler.sample(),
        };
        self.count += 1;
        let distance = sample - self.mean;
        self.mean += distance / self.count as f64;
        self.spread += distance * (sample - self.mean);
        Ok(Turn::Quiet)
    }

    fn execute(&mut self, _: &mut Thread<'_>) -> Result<Moved, Broken> {
        Ok(Moved::NONE)
    }

    fn end(&mut self, thread: &mut Thread<'_>) {
        let deviation = (self.spread / self.count.max(1) as f64).sqrt();
        let Trial { name, count, mean, .. } = self;
        thread.run.say(&format!("testrandvar {name}: ops = {count}, mean = {mean:.2}, stddev = {deviation:.2}"));
    }

    fn describe(&self, _: &Thread<'_>) -> String {
        "testrandvar".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::*;
    use super::Trial;

    #[test]
    fn what_is_said_at_the_end_is_of_all_samples() {
        let bench = Bench::new(1, 1);
        let mut thread = bench.thread();
        let mut trial: Box<dyn Flowop> = bench.flowop("testrandvar", "value=7");
        assert_eq!(bench.step(&mut trial, &mut thread), Ok((Turn::Quiet, Moved::NONE)));
        bench.step(&mut trial, &mut thread).unwrap();
        trial.end(&mut thread);
        let mut trial = Trial { name: "t".into(), value: Amount::Fixed(0), count: 0, mean: 0.0, spread: 0.0 };
        for n in [2, 4, 4, 4, 5, 5, 7, 9] {
            trial.value = Amount::Fixed(n);
            trial.prepare(&mut thread).unwrap();
        }
        trial.end(&mut thread);
        let expected = [
            "testrandvar testrandvar1: ops = 2, mean = 7.00, stddev = 0.00",
            "testrandvar t: ops = 8, mean = 5.00, stddev = 2.00",
        ];
        assert_eq!(*bench.run.said.borrow(), expected);
    }
}
