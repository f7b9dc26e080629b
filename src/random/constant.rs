//! Always the same number: what a variable is while its distribution does not matter.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};

const VALUE: Parameter = Parameter { name: "value", default: 1.0, help: "the number" };

/// The number itself; nothing is drawn.
pub static CONSTANT: DistributionDef = DistributionDef {
    name: "constant",
    summary: "always the same number",
    parameters: &[VALUE],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Constant(f64);

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    Ok(Box::new(Constant(VALUE.of(spec))))
}

impl Distribution for Constant {
    fn sample(&self, _: &mut Generator) -> f64 {
        self.0
    }

    fn mean(&self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;

    #[test]
    fn is_its_value() {
        for value in [0.0, -3.5, 4096.0] {
            check::constant(&Spec::new("constant", &[("value", value)]), value);
        }
        check::constant(&Spec::new("constant", &[]), 1.0);
    }
}
