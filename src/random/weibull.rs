//! The Weibull distribution: times to failure.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand_distr::Distribution as _;

const SHAPE: Parameter =
    Parameter { name: "shape", default: 1.0, help: "above 0: 1 is exponential, below it a longer tail" };
const SCALE: Parameter = Parameter { name: "scale", default: 1.0, help: "63 % of the numbers are below it; above 0" };

/// Weibull, by shape and scale.
pub static WEIBULL: DistributionDef = DistributionDef {
    name: "weibull",
    summary: "times to failure, by a shape and a scale",
    parameters: &[SHAPE, SCALE],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Weibull {
    samples: rand_distr::Weibull<f64>,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let (shape, scale) = (SHAPE.above_zero(spec)?, SCALE.above_zero(spec)?);
    let samples = rand_distr::Weibull::new(scale, shape).map_err(|e| e.to_string())?;
    Ok(Box::new(Weibull { samples, mean: scale * ln_gamma(1.0 + 1.0 / shape).exp() }))
}

impl Distribution for Weibull {
    fn sample(&self, generator: &mut Generator) -> f64 {
        self.samples.sample(generator)
    }

    fn mean(&self) -> f64 {
        self.mean
    }
}

/// The logarithm of the gamma function for x > 0, to 10 digits: Lanczos's approximation with g = 5 and 6 terms
/// (Numerical Recipes in C, 2nd ed., section 6.1).
pub(super) fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.18009172947146,
        -86.50532032941677,
        24.01409824083091,
        -1.231739572450155,
        0.1208650973866179e-2,
        -0.5395239384953e-5,
    ];
    let base = x + 5.5;
    let series = TERMS.iter().zip(1..).fold(1.000000000190015, |sum, (term, k)| sum + term / (x + f64::from(k)));
    (x + 0.5) * base.ln() - base + (std::f64::consts::TAU.sqrt() * series / x).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;

    #[test]
    fn follows_its_distribution() {
        for shape in [0.7, 1.0, 3.0] {
            let spec = Spec::new("weibull", &[("shape", shape), ("scale", 100.0)]);
            check::follows(&spec, |x| 1.0 - (-(x / 100.0).powf(shape)).exp());
        }
    }

    #[test]
    fn the_gamma_function_is_known_at_whole_numbers_and_a_half() {
        for (x, gamma) in [(1.0, 1.0), (2.0, 1.0), (5.0, 24.0), (11.0, 3628800.0), (0.5, 1.7724538509055159)] {
            let ratio: f64 = ln_gamma(x).exp() / gamma;
            assert!((ratio - 1.0).abs() < 1e-9, "{x}: {ratio}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let refused = |parameters| Spec::new("weibull", parameters).build().unwrap_err();
        assert!(refused(&[("shape", 0.0)]).contains("shape is 0; it must be above 0"));
        assert!(refused(&[("scale", -1.0)]).contains("scale is -1; it must be above 0"));
        assert!(refused(&[("shape", 1e-4)]).contains("mean is too large"));
    }
}
