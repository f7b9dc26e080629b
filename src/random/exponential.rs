//! The exponential distribution: the time until the next of events that come at random.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand::RngExt;
use rand_distr::Exp1;

const MEAN: Parameter = Parameter { name: "mean", default: 1.0, help: "mean of the numbers, above 0" };

/// Exponential, by its mean (the inverse of the rate).
pub static EXPONENTIAL: DistributionDef = DistributionDef {
    name: "exponential",
    summary: "the time between events that come at random, by its mean",
    parameters: &[MEAN],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Exponential {
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    Ok(Box::new(Exponential { mean: MEAN.above_zero(spec)? }))
}

impl Distribution for Exponential {
    fn sample(&self, generator: &mut Generator) -> f64 {
        self.mean * generator.sample::<f64, _>(Exp1)
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
        check::follows(&Spec::new("exponential", &[("mean", 250.0)]), |x| 1.0 - (-x / 250.0).exp());
    }

    #[test]
    fn a_mean_of_nothing_is_refused() {
        for mean in [0.0, -2.0] {
            assert!(Spec::new("exponential", &[("mean", mean)]).build().unwrap_err().contains("above 0"));
        }
    }
}
