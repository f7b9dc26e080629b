//! The lognormal distribution: numbers whose logarithm is normal.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand_distr::Distribution as _;

const SHAPE: Parameter =
    Parameter { name: "shape", default: 1.0, help: "standard deviation of the numbers' logarithm, 0 or more" };
const SCALE: Parameter = Parameter { name: "scale", default: 1.0, help: "mean of the numbers' logarithm" };

/// Lognormal: exp(normal of mean `scale` and standard deviation `shape`), the names as in filebench.
pub static LOGNORMAL: DistributionDef = DistributionDef {
    name: "lognormal",
    summary: "numbers whose logarithm is normal",
    parameters: &[SHAPE, SCALE],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Lognormal {
    samples: rand_distr::LogNormal<f64>,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let (sigma, mu) = (SHAPE.not_negative(spec)?, SCALE.of(spec));
    let samples = rand_distr::LogNormal::new(mu, sigma).map_err(|e| e.to_string())?;
    Ok(Box::new(Lognormal { samples, mean: (mu + sigma * sigma / 2.0).exp() }))
}

impl Distribution for Lognormal {
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
        let spec = Spec::new("lognormal", &[("shape", 0.5), ("scale", 8.0)]);
        check::follows(&spec, |x| check::normal_cdf((x.ln() - 8.0) / 0.5));
        check::constant(&Spec::new("lognormal", &[("shape", 0.0), ("scale", 0.0)]), 1.0);
    }

    #[test]
    fn what_has_no_finite_mean_is_refused() {
        let text = Spec::new("lognormal", &[("scale", 4096.0)]).build().unwrap_err();
        assert_eq!(text, "lognormal distribution: its mean is too large to be a number");
        assert!(Spec::new("lognormal", &[("shape", -1.0)]).build().is_err());
    }
}
