//! The triangular distribution: a range, and the number in it that is the most frequent.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand_distr::Distribution as _;

const LOWER: Parameter = Parameter { name: "lower", default: 0.0, help: "the least number" };
const UPPER: Parameter = Parameter { name: "upper", default: 1.0, help: "the largest number; lower or more" };
const MODE: Parameter =
    Parameter { name: "mode", default: 0.5, help: "the most frequent number, between lower and upper" };

/// Triangular on [lower, upper] with its peak at `mode`.
pub static TRIANGULAR: DistributionDef = DistributionDef {
    name: "triangular",
    summary: "a range with one most frequent number",
    parameters: &[LOWER, UPPER, MODE],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Triangular {
    samples: rand_distr::Triangular<f64>,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let (lower, upper, mode) = (LOWER.of(spec), UPPER.of(spec), MODE.of(spec));
    if lower > upper {
        return Err(format!("lower, {lower}, is above upper, {upper}"));
    }
    if !(lower..=upper).contains(&mode) {
        return Err(format!("mode is {mode}; it must lie between lower, {lower}, and upper, {upper}"));
    }
    let samples = rand_distr::Triangular::new(lower, upper, mode).map_err(|e| e.to_string())?;
    Ok(Box::new(Triangular { samples, mean: (lower + upper + mode) / 3.0 }))
}

impl Distribution for Triangular {
    fn sample(&self, generator: &mut Generator) -> f64 {
        self.samples.sample(generator)
    }

    fn mean(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;

    #[test]
    fn follows_its_distribution() {
        let (a, b) = (10.0, 50.0);
        for c in [10.0, 20.0, 50.0] {
            check::follows(&Spec::new("triangular", &[("lower", a), ("upper", b), ("mode", c)]), |x| {
                if x < c {
                    (x - a) * (x - a) / ((b - a) * (c - a))
                } else {
                    1.0 - (b - x) * (b - x) / if c < b { (b - a) * (b - c) } else { 1.0 }
                }
            });
        }
        check::constant(&Spec::new("triangular", &[("lower", 2.0), ("upper", 2.0), ("mode", 2.0)]), 2.0);
    }

    #[test]
    fn the_peak_lies_in_the_range() {
        let text = Spec::new("triangular", &[("lower", 10.0), ("upper", 20.0)]).build().unwrap_err();
        assert_eq!(text, "triangular distribution: mode is 0.5; it must lie between lower, 10, and upper, 20");
        assert!(Spec::new("triangular", &[("lower", 2.0)]).build().unwrap_err().contains("above upper"));
    }
}
