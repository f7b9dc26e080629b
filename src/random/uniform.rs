//! All numbers of a range with the same chance.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand::RngExt;

const LOWER: Parameter = Parameter { name: "lower", default: 0.0, help: "start of the range, included" };
const UPPER: Parameter = Parameter { name: "upper", default: 1.0, help: "end of the range, left out; lower or more" };

/// Uniform on [lower, upper), of which rounding can give `upper` itself once in 2^53; where the two are equal, always
/// that number.
pub static UNIFORM: DistributionDef = DistributionDef {
    name: "uniform",
    summary: "every number of a range with the same chance",
    parameters: &[LOWER, UPPER],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Uniform {
    lower: f64,
    width: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let (lower, upper) = (LOWER.of(spec), UPPER.of(spec));
    if lower > upper {
        return Err(format!("lower, {lower}, is above upper, {upper}"));
    }
    Ok(Box::new(Uniform { lower, width: upper - lower }))
}

impl Distribution for Uniform {
    fn sample(&self, generator: &mut Generator) -> f64 {
        self.lower + self.width * generator.random::<f64>()
    }

    fn mean(&self) -> f64 {
        self.lower + self.width / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;

    #[test]
    fn follows_its_distribution() {
        check::follows(&Spec::new("uniform", &[("lower", -5.0), ("upper", 15.0)]), |x| (x + 5.0) / 20.0);
        check::follows(&Spec::new("uniform", &[]), |x| x);
    }

    #[test]
    fn an_empty_range_is_a_constant_and_a_reversed_one_an_error() {
        check::constant(&Spec::new("uniform", &[("lower", 3.0), ("upper", 3.0)]), 3.0);
        let text = Spec::new("uniform", &[("lower", 2.0)]).build().unwrap_err();
        assert_eq!(text, "uniform distribution: lower, 2, is above upper, 1");
    }
}
