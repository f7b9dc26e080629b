//! Numbers as they were found somewhere: a list of values, each with its weight.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Spec, usable};
use crate::units::{self, Number};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Different values of one list at most: each worker is sent them.
const MOST_VALUES: usize = 1 << 20;

/// Each value of the list in proportion to its weight, by a binary search in the sums of the weights.
pub static EMPIRICAL: DistributionDef = DistributionDef {
    name: "empirical",
    summary: "the values of a file, one a line with an optional weight",
    parameters: &[],
    data: Data::Values,
    build,
};

/// The values of an empirical distribution, ascending and each once. All samplers of a process share them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(f64, f64)>", into = "Vec<(f64, f64)>")]
pub struct Values(Arc<[Value]>);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Value {
    value: f64,
    weight: f64,
    /// Of the weights up to this value, it included.
    sum: f64,
}

impl From<Vec<(f64, f64)>> for Values {
    fn from(mut pairs: Vec<(f64, f64)>) -> Self {
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        pairs.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        let mut sum = 0.0;
        let with_sum = |(value, weight)| {
            sum += weight;
            Value { value, weight, sum }
        };
        Values(pairs.into_iter().map(with_sum).collect())
    }
}

impl From<Values> for Vec<(f64, f64)> {
    fn from(values: Values) -> Self {
        values.0.iter().map(|value| (value.value, value.weight)).collect()
    }
}

impl Values {
    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of different values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads a text: a number on each line, with a suffix `k`, `m`, `g` or `t` where it is a size; behind it, after
    /// spaces or a comma, its weight (1 where there is none). `#` begins a comment, empty lines are skipped.
    ///
    /// # Errors
    ///
    /// In words, with the number of the line: what is no number; a weight below 0; too many values; none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pairs = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
            let Some(first) = words.next() else { continue };
            let at = |problem: String| format!("line {number}: {problem}");
            let value = read(first).map_err(at)?;
            let weight = words.next().map_or(Ok(1.0), read).map_err(at)?;
            if weight < 0.0 {
                return Err(at(format!("the weight is {weight}; it must be 0 or more")));
            }
            if let Some(extra) = words.next() {
                return Err(at(format!("'{extra}' is one number too many; a line has a value and its weight")));
            }
            if weight > 0.0 {
                pairs.push((value, weight));
            }
        }
        let values = Values::from(pairs);
        match values.0.len() {
            0 => Err("it has no value of a weight above 0".into()),
            1..=MOST_VALUES => Ok(values),
            many => Err(format!("it has {many} different values; {MOST_VALUES} are possible")),
        }
    }
}

fn read(word: &str) -> Result<f64, String> {
    // `units` has no exponents.
    let x = match (units::number(word), word.parse::<f64>()) {
        (Ok(Number::Int(n)), _) => n as f64,
        (Ok(Number::Real(x)), _) | (Err(_), Ok(x)) => x,
        _ => return Err(format!("'{}' is not a number", word.chars().take(40).collect::<String>())),
    };
    usable("the number", x)
}

#[derive(Debug)]
struct Empirical {
    // At least one, and their sums ascend.
    values: Arc<[Value]>,
    total: f64,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let values = spec.values.0.clone();
    for Value { value, weight, .. } in values.iter() {
        usable("a value", *value)?;
        usable("a weight", *weight)?;
        if *weight <= 0.0 {
            return Err(format!("the weight of {value} is {weight}; it must be above 0"));
        }
    }
    let total = values.last().map_or(0.0, |value| value.sum);
    // Weighted before they are summed, so that the sum stays in range.
    let mean = values.iter().map(|value| value.value * (value.weight / total)).sum();
    Ok(Box::new(Empirical { values, total, mean }))
}

impl Distribution for Empirical {
    fn sample(&self, generator: &mut Generator) -> f64 {
        let point = self.total * generator.random::<f64>();
        let index = self.values.partition_point(|value| value.sum <= point).min(self.values.len() - 1);
        self.values[index].value
    }

    fn mean(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;

    fn spec(text: &str) -> Spec {
        Spec { values: Values::parse(text).unwrap(), ..Spec::new("empirical", &[]) }
    }

    #[test]
    fn values_come_by_their_weights() {
        check::counts(&spec("0\n1\n2\n3 # each once\n"), &[0.25; 4]);
        check::counts(&spec("3 1\n0 5\n1, 3\n2\t1"), &[0.5, 0.3, 0.1, 0.1]);
        // A value that is there twice has twice the weight; one of no weight never comes.
        check::counts(&spec("2\n0\n2\n1 0\n"), &[1.0 / 3.0, 0.0, 2.0 / 3.0]);
        check::constant(&spec("4k"), 4096.0);
    }

    #[test]
    fn sizes_comments_and_empty_lines_are_read() {
        let pairs: Vec<(f64, f64)> = Values::parse("# sizes\r\n\r\n  1.5k 2 \r\n16K\n1e3 0.5#end\n-1m").unwrap().into();
        assert_eq!(pairs, [(-1048576.0, 1.0), (1000.0, 0.5), (1536.0, 2.0), (16384.0, 1.0)]);
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        let refused = |text: &str| Values::parse(text).unwrap_err();
        assert_eq!(refused("1\n# two\n4kk\n"), "line 3: '4kk' is not a number");
        assert_eq!(refused("1 -2"), "line 1: the weight is -2; it must be 0 or more");
        assert!(refused("1 2 3").contains("'3' is one number too many"));
        assert!(refused("10ms").contains("not a number") && refused("nan").contains("NaN"));
        assert_eq!(refused("# nothing\n5 0\n"), "it has no value of a weight above 0");
        let many: String = (0..=MOST_VALUES).map(|n| format!("{n}\n")).collect();
        assert!(refused(&many).contains("1048577 different values"));
    }

    #[test]
    fn a_plan_keeps_the_values_and_samplers_share_them() {
        let spec = spec("5 2\n7\n");
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(text, r#"{"distribution":"empirical","values":[[5.0,2.0],[7.0,1.0]]}"#);
        let back: Spec = serde_json::from_str(&text).unwrap();
        assert_eq!(back, spec);
        let before = Arc::strong_count(&back.values.0);
        let _one = back.build().unwrap();
        assert_eq!(Arc::strong_count(&back.values.0), before + 1);
        let text = Spec::new("empirical", &[]).build().unwrap_err();
        assert_eq!(text, "empirical distribution: it needs a file of values: empirical(file=\"sizes.txt\")");
    }
}
