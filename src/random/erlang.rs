//! The Erlang distribution: the time until the last of several events that come at random.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand_distr::Distribution as _;

const SHAPE: Parameter =
    Parameter { name: "shape", default: 1.0, help: "how many events, a whole number of 1 or more" };
// The name is filebench's, and so is the meaning: there too the samples are scaled to this mean.
const RATE: Parameter = Parameter { name: "rate", default: 1.0, help: "mean of the numbers (not a rate), above 0" };

/// Erlang: the sum of `shape` exponentials, each of mean rate / shape.
pub static ERLANG: DistributionDef = DistributionDef {
    name: "erlang",
    summary: "the sum of several exponential numbers, scaled to a mean",
    parameters: &[SHAPE, RATE],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Erlang {
    // The sum of n exponentials is a gamma of shape n, which costs the same for any n.
    sum: rand_distr::Gamma<f64>,
    scale: f64,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let (shape, mean) = (SHAPE.of(spec), RATE.above_zero(spec)?);
    if shape < 1.0 || shape.fract() != 0.0 {
        return Err(format!("shape is {shape}; it must be a whole number of 1 or more"));
    }
    let sum = rand_distr::Gamma::new(shape, 1.0).map_err(|e| e.to_string())?;
    Ok(Box::new(Erlang { sum, scale: mean / shape, mean }))
}

impl Distribution for Erlang {
    fn sample(&self, generator: &mut Generator) -> f64 {
        self.scale * self.sum.sample(generator)
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
        for shape in [1.0, 2.0, 7.0] {
            let spec = Spec::new("erlang", &[("shape", shape), ("rate", 300.0)]);
            check::follows(&spec, |x| check::gamma_cdf(shape, x * shape / 300.0));
        }
    }

    #[test]
    fn events_are_counted_in_whole_numbers() {
        for shape in [0.0, 1.5, -1.0] {
            let text = Spec::new("erlang", &[("shape", shape)]).build().unwrap_err();
            assert!(text.contains("whole number of 1 or more"), "{text}");
        }
        assert!(Spec::new("erlang", &[("rate", 0.0)]).build().is_err());
    }
}
