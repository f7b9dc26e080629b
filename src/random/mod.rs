//! Random variables: what they are, and streams of numbers that repeat with the seed.
//!
//! A distribution is one file here and its line in [`DISTRIBUTIONS`]. `randvar(...)`, `cvar(...)` and the distributions'
//! own names as functions of the language all come to a [`Spec`], which the plan keeps; a [`Sampler`] is made of it where
//! numbers are drawn.

use crate::diagnostic::nearest_name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;

pub mod stream;

#[cfg(test)]
mod check;
mod constant;
mod empirical;
mod erlang;
mod exponential;
mod gamma;
mod hotspot;
mod lognormal;
mod normal;
mod pareto;
mod poisson;
mod positions;
mod rank;
mod tabular;
mod triangular;
mod uniform;
mod variable;
mod weibull;
mod zipf;

pub use empirical::Values;
pub use positions::key as positions_key;
use stream::{Generator, Seed};
pub use variable::{Call, ON_ANY, RandVar, Takes, cvar};

/// Every distribution, in the order in which people meet them.
pub static DISTRIBUTIONS: &[&DistributionDef] = &[
    &uniform::UNIFORM,
    &gamma::GAMMA,
    &tabular::TABULAR,
    &normal::NORMAL,
    &exponential::EXPONENTIAL,
    &erlang::ERLANG,
    &lognormal::LOGNORMAL,
    &triangular::TRIANGULAR,
    &weibull::WEIBULL,
    &zipf::ZIPF,
    &hotspot::HOTSPOT,
    &pareto::PARETO,
    &poisson::POISSON,
    &constant::CONSTANT,
    &empirical::EMPIRICAL,
    &positions::POSITIONS,
];

/// The distribution of that name.
pub fn find(name: &str) -> Option<&'static DistributionDef> {
    DISTRIBUTIONS.iter().copied().find(|def| def.name == name)
}

/// One kind of distribution: what it is called, what it takes, how it is made.
#[derive(Debug)]
pub struct DistributionDef {
    /// The name; as a custom variable it is called `cvar-` and this.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// What shapes it.
    pub parameters: &'static [Parameter],
    /// What it needs beside numbers.
    pub data: Data,
    /// Makes it; `spec` has passed [`Spec::build`]'s own checks. The error is in words.
    pub build: fn(&Spec) -> Result<Box<dyn Distribution>, String>,
}

impl DistributionDef {
    /// True where a `cvar` may be of it: it is told by numbers alone.
    fn is_cvar(&self) -> bool {
        self.data == Data::None
    }
}

/// What a distribution is drawn from, which is then required; anything else means nothing there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Its parameters alone.
    None,
    /// A table of rows.
    Table,
    /// The values of a file.
    Values,
}

/// A distribution with its parameters bound.
///
/// Samples share no state but the generator: the same generator gives the same samples, whatever was drawn before.
pub trait Distribution: Send + Debug {
    /// Draws one number. On the measured path: it does not allocate.
    fn sample(&self, generator: &mut Generator) -> f64;

    /// The mean of all samples, in closed form; of ranks that are scrambled, the one before that.
    fn mean(&self) -> f64;
}

/// No parameter, table entry or limit is larger, so that a product of any two stays finite.
const LARGEST: f64 = 1e100;

/// The number, where it is one to count with.
fn usable(name: &str, x: f64) -> Result<f64, String> {
    // A NaN fails the comparison too.
    if x.abs() <= LARGEST {
        Ok(x)
    } else {
        Err(format!("{name} is {x}; it must lie within -{LARGEST:e} and {LARGEST:e}"))
    }
}

/// One parameter of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// What a workload calls it.
    pub name: &'static str,
    /// What holds where it is not given.
    pub default: f64,
    /// One line for people, with the range.
    pub help: &'static str,
}

impl Parameter {
    /// What `spec` gives, or the default.
    fn of(&self, spec: &Spec) -> f64 {
        spec.parameters.get(self.name).copied().unwrap_or(self.default)
    }

    /// The same, where it must be above 0.
    fn above_zero(&self, spec: &Spec) -> Result<f64, String> {
        let x = self.of(spec);
        if x > 0.0 { Ok(x) } else { Err(format!("{} is {x}; it must be above 0", self.name)) }
    }

    /// The same, where it must be 0 or more.
    fn not_negative(&self, spec: &Spec) -> Result<f64, String> {
        let x = self.of(spec);
        if x >= 0.0 { Ok(x) } else { Err(format!("{} is {x}; it must be 0 or more", self.name)) }
    }
}

/// A random variable as the plan keeps it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spec {
    /// A name of [`DISTRIBUTIONS`].
    pub distribution: String,
    /// By name; what is not given has the distribution's default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, f64>,
    /// The rows, for a distribution that is drawn from a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<Row>,
    /// The values, for a distribution that is drawn from a file's.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub values: Values,
    /// What is done to each sample.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// The variable's own seed, mixed into the stream's: another one gives another sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// One row of a table: with this probability, a number between the two.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The share of the samples, 0 to 100.
    pub percent: f64,
    /// The least number, included.
    pub low: f64,
    /// The end of the range, left out (unless it is `low`).
    pub high: f64,
}

/// What is done to a sample after it is drawn: first rounded, then kept between the two.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Round to the nearest multiple of this; 0 is as none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<f64>,
    /// How `round` is meant. True (a cvar): the fraction of the sample is dropped first, and a tie goes down. False (a
    /// randvar): the sample is taken as it is, and a tie goes away from 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncate: bool,
    /// The least value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The largest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

impl Limits {
    fn is_none(&self) -> bool {
        *self == Limits::default()
    }

    fn check(&self) -> Result<(), String> {
        for (name, limit) in [("round", self.round), ("min", self.min), ("max", self.max)] {
            usable(name, limit.unwrap_or(0.0))?;
        }
        match *self {
            Limits { round: Some(round), .. } if round < 0.0 => {
                Err(format!("round is {round}; it must be above 0, or 0 for none"))
            }
            Limits { min: Some(min), max: Some(max), .. } if min > max => {
                Err(format!("min, {min}, is above max, {max}"))
            }
            _ => Ok(()),
        }
    }

    /// The value that a sample comes to; always a finite number.
    pub fn apply(&self, sample: f64) -> f64 {
        let rounded = match self.round {
            Some(round) if round > 0.0 && self.truncate => {
                let whole = sample.trunc();
                let lower = (whole / round).floor() * round;
                let upper = lower + round;
                if whole - lower > upper - whole { upper } else { lower }
            }
            Some(round) if round > 0.0 => (sample / round).round() * round,
            _ => sample,
        };
        // max() and min() drop a NaN, where clamp() would keep it.
        rounded.max(self.min.unwrap_or(f64::MIN)).min(self.max.unwrap_or(f64::MAX))
    }
}

impl Spec {
    /// A variable of that distribution, with these parameters and nothing else.
    pub fn new(distribution: &str, parameters: &[(&str, f64)]) -> Self {
        Spec {
            distribution: distribution.to_owned(),
            parameters: parameters.iter().map(|(name, x)| ((*name).to_owned(), *x)).collect(),
            ..Spec::default()
        }
    }

    /// Binds the parameters, which shows whether the variable is a right one.
    ///
    /// # Errors
    ///
    /// In words: an unknown distribution or parameter, with the near name; a number out of its range.
    pub fn build(&self) -> Result<Box<dyn Distribution>, String> {
        let Some(def) = find(&self.distribution) else {
            return Err(unknown("distribution", &self.distribution, DISTRIBUTIONS.iter().map(|def| def.name)));
        };
        let named = |problem: String| format!("{} distribution: {problem}", def.name);
        for (name, x) in &self.parameters {
            if !def.parameters.iter().any(|p| p.name == name) {
                return Err(named(unknown("parameter", name, def.parameters.iter().map(|p| p.name))));
            }
            usable(name, *x).map_err(named)?;
        }
        if def.data == Data::Table && self.table.is_empty() {
            return Err(named("it needs a table, such as {{50, 1k, 4k}, {50, 8k, 8k}}".into()));
        }
        if def.data != Data::Table && !self.table.is_empty() {
            return Err(named("it takes no table".into()));
        }
        if def.data == Data::Values && self.values.is_empty() {
            return Err(named("it needs a file of values: empirical(file=\"sizes.txt\")".into()));
        }
        if def.data != Data::Values && !self.values.is_empty() {
            return Err(named("it takes no file of values".into()));
        }
        self.limits.check().map_err(named)?;
        let distribution = (def.build)(self).map_err(named)?;
        if !distribution.mean().is_finite() {
            return Err(named("its mean is too large to be a number".into()));
        }
        Ok(distribution)
    }

    /// True where it draws ranks and does not say how many there are: it can be drawn from only after
    /// [`Spec::among`].
    pub fn is_open(&self) -> bool {
        let has_ranks = find(&self.distribution).is_some_and(|def| def.parameters.contains(&rank::N));
        has_ranks && rank::N.of(self) == 0.0
    }

    /// The same variable among so many entries, where it [is open](Spec::is_open).
    pub fn among(&self, entries: u64) -> Spec {
        let mut spec = self.clone();
        if self.is_open() {
            // Nothing is ever picked from a set of no entries.
            spec.parameters.insert(rank::N.name.into(), entries.max(1) as f64);
        }
        spec
    }

    /// Whether the variable is a right one, an open one too.
    ///
    /// # Errors
    ///
    /// As [`Spec::build`].
    pub fn check(&self) -> Result<(), String> {
        self.among(1).build().map(|_| ())
    }

    /// What draws from it, at the start of a stream.
    ///
    /// # Errors
    ///
    /// As [`Spec::build`].
    pub fn sampler(&self, seed: Seed) -> Result<Sampler, String> {
        let seed = self.seed.map_or(seed, |own| seed.index(own));
        Ok(Sampler { distribution: self.build()?, limits: self.limits, generator: seed.generator() })
    }

    /// The mean of the distribution, before the limits.
    ///
    /// # Errors
    ///
    /// As [`Spec::build`].
    pub fn mean(&self) -> Result<f64, String> {
        Ok(self.build()?.mean())
    }
}

/// Draws numbers of one random variable, from a generator of its own.
#[derive(Debug)]
pub struct Sampler {
    distribution: Box<dyn Distribution>,
    limits: Limits,
    generator: Generator,
}

impl Sampler {
    /// The next number, within the limits.
    pub fn sample(&mut self) -> f64 {
        self.limits.apply(self.distribution.sample(&mut self.generator))
    }

    /// The next number without its fraction; a negative one is 0.
    pub fn whole(&mut self) -> u64 {
        // A cast from a float saturates: below 0 it gives 0.
        self.sample() as u64
    }
}

/// The words for a name that is not there: what there is, and the near one.
fn unknown<'a>(what: &str, written: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let mut text = format!("unknown {what} '{written}'; there ");
    let all: Vec<&str> = known.clone().collect();
    match all.as_slice() {
        [] => text.push_str("is none"),
        [one] => text.push_str(&format!("is only '{one}'")),
        _ => text.push_str(&format!("are {}", all.join(", "))),
    }
    if let Some(near) = nearest_name(written, known) {
        text.push_str(&format!("; did you mean '{near}'?"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(round: f64, truncate: bool) -> Limits {
        Limits { round: Some(round), truncate, ..Limits::default() }
    }

    #[test]
    fn names_are_listed_once_and_lead_to_their_distribution() {
        for def in DISTRIBUTIONS {
            assert!(std::ptr::eq(find(def.name).unwrap(), *def), "{}", def.name);
            assert!(!def.summary.is_empty());
            assert!(def.parameters.iter().all(|p| !p.help.is_empty() && p.default.is_finite()));
        }
    }

    #[test]
    fn defaults_make_a_distribution() {
        for def in DISTRIBUTIONS.iter().filter(|def| def.data == Data::None) {
            Spec::new(def.name, &[]).check().unwrap();
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_answered_with_those_that_are() {
        let text = Spec::new("gama", &[]).build().unwrap_err();
        assert!(text.contains("uniform, gamma") && text.ends_with("did you mean 'gamma'?"), "{text}");
        let text = Spec::new("weibull", &[("shap", 1.0)]).build().unwrap_err();
        assert_eq!(
            text,
            "weibull distribution: unknown parameter 'shap'; there are shape, scale; did you mean 'shape'?"
        );
        let text = Spec::new("exponential", &[("rate", 1.0)]).build().unwrap_err();
        assert_eq!(text, "exponential distribution: unknown parameter 'rate'; there is only 'mean'");
    }

    #[test]
    fn a_randvar_rounds_to_the_nearest_and_a_cvar_cuts_the_fraction_first() {
        let nearest = |x| limits(10.0, false).apply(x);
        assert_eq!([nearest(14.9), nearest(15.0), nearest(15.9), nearest(-14.0)], [10.0, 20.0, 20.0, -10.0]);
        let cut = |x| limits(10.0, true).apply(x);
        assert_eq!([cut(14.9), cut(15.0), cut(15.9), cut(16.0), cut(-14.0)], [10.0, 10.0, 10.0, 20.0, -10.0]);
        assert_eq!(limits(1.0, false).apply(1.7), 2.0);
        assert_eq!(limits(1.0, true).apply(1.7), 1.0);
        assert_eq!(limits(0.0, true).apply(1.7), 1.7);
    }

    #[test]
    fn the_limits_hold_after_rounding_and_for_what_is_no_number() {
        let both = Limits { min: Some(3.0), max: Some(18.0), ..limits(10.0, true) };
        assert_eq!([both.apply(1.0), both.apply(12.0), both.apply(19.0)], [3.0, 10.0, 18.0]);
        assert_eq!(both.apply(f64::NAN), 3.0);
        assert_eq!(Limits::default().apply(f64::INFINITY), f64::MAX);
    }

    #[test]
    fn limits_that_cannot_hold_are_refused() {
        let refused = |limits| Spec { limits, ..Spec::new("uniform", &[]) }.build().unwrap_err();
        let text = refused(Limits { min: Some(2.0), max: Some(1.0), ..Limits::default() });
        assert_eq!(text, "uniform distribution: min, 2, is above max, 1");
        assert!(refused(limits(-1.0, false)).contains("round is -1"));
        assert!(refused(limits(f64::NAN, false)).contains("round is NaN"));
        assert!(refused(Limits { max: Some(f64::INFINITY), ..Limits::default() }).contains("max is inf"));
    }

    #[test]
    fn a_seed_repeats_its_sequence_and_another_gives_another() {
        for def in DISTRIBUTIONS.iter().filter(|def| def.name != "constant") {
            let mut spec = Spec::new(def.name, &[]).among(1000);
            match def.data {
                Data::None => {}
                Data::Table => spec.table = vec![Row { percent: 100.0, low: 0.0, high: 1.0 }],
                Data::Values => spec.values = Values::parse("1\n2\n3\n4\n5\n6\n7\n8").unwrap(),
            }
            let draw = |spec: &Spec, root: u64| -> Vec<f64> {
                let mut sampler = spec.sampler(Seed::root(root)).unwrap();
                (0..8).map(|_| sampler.sample()).collect()
            };
            let first = draw(&spec, 1);
            assert_eq!(draw(&spec, 1), first, "{}", def.name);
            assert_ne!(draw(&spec, 2), first, "{}", def.name);
            let own = Spec { seed: Some(42), ..spec.clone() };
            assert_ne!(draw(&own, 1), first, "{}", def.name);
            assert_eq!(draw(&own, 1), draw(&own, 1), "{}", def.name);
            assert_ne!(draw(&Spec { seed: Some(43), ..spec }, 1), draw(&own, 1), "{}", def.name);
        }
    }

    #[test]
    fn the_sequences_are_fixed_for_ever() {
        // A seed in a report must mean the same in the next version: where this fails, a dependency draws differently.
        let first = |name: &str, parameters: &[(&str, f64)]| -> [u64; 3] {
            let mut sampler = Spec::new(name, parameters).sampler(Seed::root(1)).unwrap();
            std::array::from_fn(|_| sampler.whole())
        };
        assert_eq!(first("uniform", &[("upper", 1e6)]), [109112, 594612, 731549]);
        assert_eq!(first("gamma", &[("mean", 1e6)]), [446264, 1574321, 2024648]);
        assert_eq!(first("normal", &[("mean", 1e6), ("sigma", 1e5)]), [945224, 1021161, 1085859]);
        assert_eq!(first("exponential", &[("mean", 1e6)]), [49852, 583890, 1687309]);
        assert_eq!(first("triangular", &[("upper", 1e6)]), [56132, 363299, 481878]);
        assert_eq!(first("weibull", &[("scale", 1e6)]), [2215373, 519845, 312590]);
        let later = [
            first("zipf", &[("theta", 1.1), ("n", 1e6)]),
            first("hotspot", &[("n", 1e6)]),
            first("pareto", &[("scale", 1e6)]),
            first("poisson", &[("mean", 1e6)]),
            first("poisson", &[("mean", 5.0)]),
        ];
        let known = [
            [49203, 22, 5],
            [118922, 40216, 643238],
            [3027346, 1296829, 1169171],
            [999452, 1000858, 999775],
            [5, 2, 10],
        ];
        assert_eq!(later, known);
    }

    #[test]
    fn an_open_variable_is_bound_to_a_number_of_entries() {
        let open = Spec::new("zipf", &[("theta", 0.9)]);
        assert!(open.is_open() && open.check().is_ok());
        assert!(open.build().unwrap_err().contains("n is missing"));
        let bound = open.among(50);
        assert!(!bound.is_open());
        assert_eq!(bound, Spec::new("zipf", &[("theta", 0.9), ("n", 50.0)]));
        assert_eq!(bound.among(7), bound);
        assert!(open.among(0).build().is_ok());
        let other = Spec::new("gamma", &[]);
        assert!(!other.is_open() && other.among(9) == other);
    }

    #[test]
    fn a_whole_number_has_no_fraction_and_no_sign() {
        let spec = Spec::new("uniform", &[("lower", -3.0), ("upper", 3.0)]);
        let mut real = spec.sampler(Seed::root(1)).unwrap();
        let mut whole = spec.sampler(Seed::root(1)).unwrap();
        for _ in 0..100 {
            assert_eq!(whole.whole(), real.sample().max(0.0).floor() as u64);
        }
    }

    #[test]
    fn the_plan_keeps_it_unchanged() {
        let spec = Spec {
            distribution: "tabular".into(),
            parameters: [("min".to_owned(), 10.0)].into(),
            table: vec![Row { percent: 100.0, low: 10.0, high: 20.0 }],
            limits: Limits { min: Some(f64::MIN_POSITIVE), ..limits(64.0, true) },
            seed: Some(u64::MAX),
            ..Spec::default()
        };
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<Spec>(&text).unwrap(), spec, "{text}");
        let bare = Spec::new("gamma", &[]);
        assert_eq!(serde_json::to_string(&bare).unwrap(), r#"{"distribution":"gamma"}"#);
    }

    /// Numbers of every kind: usual, huge, tiny, negative, infinite, none.
    fn any_number() -> impl Strategy<Value = f64> {
        prop_oneof![-10.0..10.0, 0.0..1e6, proptest::num::f64::ANY, Just(0.0), Just(f64::NAN), Just(f64::INFINITY)]
    }

    proptest! {
        #[test]
        fn no_parameters_panic_or_give_what_is_no_number(
            which in 0..DISTRIBUTIONS.len(),
            numbers in proptest::collection::vec(proptest::option::of(any_number()), 4),
            rows in proptest::collection::vec((any_number(), any_number(), any_number()), 0..4),
            round in proptest::option::of(any_number()),
            truncate: bool,
            min in proptest::option::of(any_number()),
            max in proptest::option::of(any_number()),
        ) {
            let def = DISTRIBUTIONS[which];
            let parameters = def.parameters.iter().zip(numbers).filter_map(|(p, x)| Some((p.name.to_owned(), x?)));
            let mut table: Vec<Row> = rows.into_iter().map(|(percent, low, high)| Row { percent, low, high }).collect();
            // Tables that add up are rare by chance: half of them are made so.
            if truncate {
                let share = 100.0 / table.len() as f64;
                table.iter_mut().for_each(|row| row.percent = share);
            }
            let spec = Spec {
                distribution: def.name.into(),
                parameters: parameters.collect(),
                values: if def.data == Data::Values {
                    Values::from(table.iter().map(|row| (row.low, row.percent)).collect::<Vec<_>>())
                } else {
                    Values::default()
                },
                table: if def.data == Data::Table { table } else { Vec::new() },
                limits: Limits { round, truncate, min, max },
                seed: None,
            };
            if let Ok(mut sampler) = spec.sampler(Seed::root(1)) {
                prop_assert!(spec.mean().unwrap().is_finite());
                for _ in 0..20 {
                    let x = sampler.sample();
                    prop_assert!(x.is_finite());
                    prop_assert!(min.is_none_or(|min| x >= min) && max.is_none_or(|max| x <= max));
                }
            }
        }
    }
}
