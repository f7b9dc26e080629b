//! The Pareto distribution: few large numbers that hold most of the sum, such as the sizes of files.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand_distr::Distribution as _;

const SCALE: Parameter = Parameter { name: "scale", default: 1.0, help: "the least number, above 0" };
const SHAPE: Parameter =
    Parameter { name: "shape", default: 2.0, help: "above 1: the smaller, the longer the tail (1.16 is 80/20)" };

/// Pareto: P(x > t) = (scale / t)^shape, by inversion.
///
/// A shape of 1 or less has no finite mean and is refused; fio's `pareto:h`, which is for choosing blocks and no
/// distribution of sizes, is done by `zipf` here.
pub static PARETO: DistributionDef = DistributionDef {
    name: "pareto",
    summary: "a least number and a long tail above it",
    parameters: &[SCALE, SHAPE],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Pareto {
    samples: rand_distr::Pareto<f64>,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let (scale, shape) = (SCALE.above_zero(spec)?, SHAPE.of(spec));
    if shape <= 1.0 {
        return Err(format!("shape is {shape}; it must be above 1, for the mean is infinite otherwise"));
    }
    let samples = rand_distr::Pareto::new(scale, shape).map_err(|e| e.to_string())?;
    Ok(Box::new(Pareto { samples, mean: scale * shape / (shape - 1.0) }))
}

impl Distribution for Pareto {
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
        for shape in [2.5, 4.0, 50.0] {
            let spec = Spec::new("pareto", &[("scale", 1024.0), ("shape", shape)]);
            check::follows(&spec, |x| 1.0 - (1024.0 / x).powf(shape));
        }
    }

    #[test]
    fn what_has_no_finite_mean_is_refused() {
        let refused = |parameters| Spec::new("pareto", parameters).build().unwrap_err();
        let text = refused(&[("shape", 1.0)]);
        assert_eq!(text, "pareto distribution: shape is 1; it must be above 1, for the mean is infinite otherwise");
        assert!(refused(&[("scale", 0.0)]).contains("scale is 0; it must be above 0"));
    }
}
