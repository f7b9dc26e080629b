//! The Poisson distribution: how many events come in a span of time, if they come at random.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand_distr::Distribution as _;

const MEAN: Parameter = Parameter { name: "mean", default: 1.0, help: "mean of the numbers, above 0 to 10^15" };

/// Poisson, by its mean: whole numbers. Up to a mean of 12 by multiplication of uniform numbers (Knuth, The Art of
/// Computer Programming, vol. 2, section 3.4.1), above by the normal distribution and a correction (Ahrens and Dieter,
/// ACM TOMS 8(2), 1982): the cost is bounded.
pub static POISSON: DistributionDef = DistributionDef {
    name: "poisson",
    summary: "the number of events that come at random, by its mean",
    parameters: &[MEAN],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Poisson {
    samples: rand_distr::Poisson<f64>,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let mean = MEAN.above_zero(spec)?;
    // Above it, not every whole number of the range is one in a float.
    if mean > 1e15 {
        return Err(format!("mean is {mean}; it must be 10^15 or less"));
    }
    let samples = rand_distr::Poisson::new(mean).map_err(|e| e.to_string())?;
    Ok(Box::new(Poisson { samples, mean }))
}

impl Distribution for Poisson {
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

    /// The probability of 0, 1, ... up to where nothing is left.
    fn weights(mean: f64) -> Vec<f64> {
        let most = (mean + 12.0 * mean.sqrt() + 20.0) as u32;
        (0..most).map(|k| (f64::from(k) * mean.ln() - mean - check::ln_factorial(k)).exp()).collect()
    }

    #[test]
    fn follows_its_distribution_on_both_sides_of_the_change_of_method() {
        for mean in [0.1, 1.0, 5.0, 11.9, 12.0, 40.0, 1000.0] {
            check::counts(&Spec::new("poisson", &[("mean", mean)]), &weights(mean));
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let refused = |parameters| Spec::new("poisson", parameters).build().unwrap_err();
        assert!(refused(&[("mean", 0.0)]).contains("mean is 0; it must be above 0"));
        assert!(refused(&[("mean", 1e16)]).contains("10^15 or less"));
    }
}
