//! The gamma distribution, which file sizes are thought to follow: many small ones, few large ones.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand_distr::Distribution as _;

const MEAN: Parameter = Parameter { name: "mean", default: 4096.0, help: "mean of the numbers; shift or more" };
const GAMMA_SHAPE: Parameter =
    Parameter { name: "gamma", default: 1.5, help: "shape, above 0: below 1 mostly tiny, large near the mean" };
const SHIFT: Parameter = Parameter { name: "shift", default: 0.0, help: "the least number; counted in the mean" };

/// Gamma of that shape, moved up by `shift`; its scale follows from the mean: (mean - shift) / gamma.
pub static GAMMA: DistributionDef = DistributionDef {
    name: "gamma",
    summary: "many small numbers and few large ones, by a mean and a shape",
    parameters: &[MEAN, GAMMA_SHAPE, SHIFT],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Gamma {
    standard: rand_distr::Gamma<f64>,
    scale: f64,
    shift: f64,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let (mean, shape, shift) = (MEAN.of(spec), GAMMA_SHAPE.above_zero(spec)?, SHIFT.of(spec));
    if mean < shift {
        return Err(format!(
            "mean, {mean}, is below {}",
            if shift == 0.0 { "0".into() } else { format!("shift, {shift}") }
        ));
    }
    // Scaled here and not in rand_distr, which takes no scale of 0: a mean of just `shift` is a constant.
    let standard = rand_distr::Gamma::new(shape, 1.0).map_err(|e| e.to_string())?;
    Ok(Box::new(Gamma { standard, scale: (mean - shift) / shape, shift, mean }))
}

impl Distribution for Gamma {
    fn sample(&self, generator: &mut Generator) -> f64 {
        self.shift + self.scale * self.standard.sample(generator)
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
    fn follows_its_distribution_at_every_shape() {
        for shape in [0.1, 0.5, 1.0, 1.5, 4.0, 100.0] {
            let spec = Spec::new("gamma", &[("mean", 16384.0), ("gamma", shape)]);
            check::follows(&spec, |x| check::gamma_cdf(shape, x * shape / 16384.0));
        }
    }

    #[test]
    fn a_shift_is_the_least_and_keeps_the_mean() {
        let spec = Spec::new("gamma", &[("mean", 50.0), ("gamma", 2.0), ("shift", 20.0)]);
        check::follows(&spec, |x| check::gamma_cdf(2.0, (x - 20.0) / 15.0));
        check::constant(&Spec::new("gamma", &[("mean", 7.0), ("shift", 7.0)]), 7.0);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let refused = |parameters| Spec::new("gamma", parameters).build().unwrap_err();
        assert_eq!(refused(&[("gamma", 0.0)]), "gamma distribution: gamma is 0; it must be above 0");
        assert_eq!(refused(&[("mean", -1.0)]), "gamma distribution: mean, -1, is below 0");
        assert_eq!(refused(&[("mean", 1.0), ("shift", 2.0)]), "gamma distribution: mean, 1, is below shift, 2");
    }
}
