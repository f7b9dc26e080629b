//! The normal distribution.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand_distr::Distribution as _;

const MEAN: Parameter = Parameter { name: "mean", default: 0.0, help: "mean of the numbers" };
const SIGMA: Parameter = Parameter { name: "sigma", default: 1.0, help: "standard deviation, 0 or more" };

/// Normal, by mean and standard deviation.
pub static NORMAL: DistributionDef = DistributionDef {
    name: "normal",
    summary: "around a mean, by a standard deviation",
    parameters: &[MEAN, SIGMA],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Normal(rand_distr::Normal<f64>);

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let (mean, sigma) = (MEAN.of(spec), SIGMA.not_negative(spec)?);
    Ok(Box::new(Normal(rand_distr::Normal::new(mean, sigma).map_err(|e| e.to_string())?)))
}

impl Distribution for Normal {
    fn sample(&self, generator: &mut Generator) -> f64 {
        self.0.sample(generator)
    }

    fn mean(&self) -> f64 {
        self.0.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;

    #[test]
    fn follows_its_distribution() {
        let spec = Spec::new("normal", &[("mean", 40.0), ("sigma", 8.0)]);
        check::follows(&spec, |x| check::normal_cdf((x - 40.0) / 8.0));
        check::constant(&Spec::new("normal", &[("mean", 3.0), ("sigma", 0.0)]), 3.0);
    }

    #[test]
    fn a_negative_deviation_is_refused() {
        let text = Spec::new("normal", &[("sigma", -1.0)]).build().unwrap_err();
        assert_eq!(text, "normal distribution: sigma is -1; it must be 0 or more");
    }
}
