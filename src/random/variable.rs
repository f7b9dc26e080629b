//! `randvar(...)`, `cvar(...)` and the distributions as functions, and the [`Spec`] that each comes to.

use super::{DISTRIBUTIONS, Data, DistributionDef, Limits, Row, Spec, Values, find, unknown, usable};
use crate::units::{self, Number};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `type=` of a randvar takes.
const KINDS: [&str; 3] = ["uniform", "gamma", "tabular"];

/// What `randsrc=` of a randvar takes. Both mean wlrun's own generator, whose numbers repeat with the seed.
const SOURCES: [&str; 2] = ["rand48", "urandom"];

/// What a custom variable's `type=` begins with.
const CVAR: &str = "cvar-";

/// The value of `randvar(...)`, by attribute, so that `set $v.mean=20` can change one and the rest stays.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RandVar {
    /// `type`: uniform, gamma or tabular; gamma where absent.
    pub kind: Option<String>,
    /// `mean`. Where absent: gamma / 1000 for a gamma, 0 for a uniform, the table's own for a tabular one.
    pub mean: Option<f64>,
    /// `gamma`: 1000 times the shape of a gamma; 1500 where absent.
    pub gamma: Option<f64>,
    /// `min`: the least number; 0 where absent.
    pub min: Option<f64>,
    /// `round`: to the nearest multiple of this; not at all where absent or 0.
    pub round: Option<f64>,
    /// `seed`: another one gives another sequence.
    pub seed: Option<u64>,
    /// `randsrc`: rand48 or urandom, with the same effect.
    pub source: Option<String>,
    /// `randtable`, for a tabular one.
    pub table: Vec<Row>,
}

impl RandVar {
    /// The distribution that the attributes describe. It is checked: a sampler of it can be made.
    ///
    /// # Errors
    ///
    /// In words and in the attributes' names: an unknown type or source, with the near name; a number out of its
    /// range.
    pub fn spec(&self) -> Result<Spec, String> {
        let kind = self.kind.as_deref().unwrap_or("gamma");
        if !KINDS.contains(&kind) {
            let bare = kind.strip_prefix(CVAR).unwrap_or(kind);
            return Err(match find(bare) {
                Some(_) if KINDS.contains(&bare) => {
                    format!("the type of a randvar is written '{bare}', without '{CVAR}'")
                }
                Some(_) => format!("a randvar cannot be {bare}, a custom variable can: cvar(type={CVAR}{bare})"),
                None => unknown("type of a randvar", kind, KINDS.into_iter()),
            });
        }
        if let Some(source) = self.source.as_deref().filter(|source| !SOURCES.contains(source)) {
            return Err(unknown("randsrc of a randvar", source, SOURCES.into_iter()));
        }
        for (name, x) in [("mean", self.mean), ("gamma", self.gamma), ("min", self.min)] {
            usable(name, x.unwrap_or(0.0)).map_err(|problem| format!("{kind} randvar: {problem}"))?;
        }
        if kind != "tabular" && !self.table.is_empty() {
            return Err(format!("a table needs type=tabular, and this randvar is {kind}"));
        }
        let min = self.min.unwrap_or(0.0);
        let shape = self.gamma.unwrap_or(1500.0) / 1000.0;
        let mean = match kind {
            "gamma" => self.mean.unwrap_or(shape),
            _ => self.mean.unwrap_or(0.0),
        };
        if kind == "gamma" && shape <= 0.0 {
            return Err(format!("gamma of a randvar is {}; it must be above 0 (1000 is a shape of 1)", shape * 1000.0));
        }
        if kind != "tabular" && mean < min {
            let default = if self.mean.is_none() { " (the default)" } else { "" };
            return Err(format!("mean of this {kind} randvar is {mean}{default}; it must be min, {min}, or more"));
        }
        let parameters: Vec<(&str, f64)> = match kind {
            "uniform" => vec![("lower", min), ("upper", 2.0 * mean - min)],
            "gamma" => vec![("mean", mean), ("gamma", shape), ("shift", min)],
            _ => vec![("min", min), ("mean", mean)],
        };
        let spec = Spec {
            table: self.table.clone(),
            limits: Limits { round: self.round, ..Limits::default() },
            seed: self.seed,
            ..Spec::new(kind, &parameters)
        };
        spec.build()?;
        Ok(spec)
    }
}

/// The distribution of `cvar(type=KIND, parameters=NAME:NUMBER;NAME:NUMBER, min=, max=, round=)`. It is checked: a
/// sampler of it can be made.
///
/// Numbers of `parameters` are decimal, or whole with a size suffix (`mean:16k`). Without `min`, a negative sample
/// becomes the smallest positive number, as in filebench.
///
/// # Errors
///
/// In words: an unknown type or parameter, with the near name; what is no number; a number out of its range.
pub fn cvar(
    kind: &str,
    parameters: &str,
    min: Option<f64>,
    max: Option<f64>,
    round: Option<f64>,
) -> Result<Spec, String> {
    let types: Vec<String> =
        DISTRIBUTIONS.iter().filter(|def| def.is_cvar()).map(|def| format!("{CVAR}{}", def.name)).collect();
    let Some(def) = kind.strip_prefix(CVAR).and_then(find).filter(|def| def.is_cvar()) else {
        return Err(match find(kind.strip_prefix(CVAR).unwrap_or(kind)) {
            Some(def) if def.data == Data::Table => {
                format!("a cvar has no table; a randvar has: randvar(type={})", def.name)
            }
            Some(def) if def.data == Data::Values => {
                format!("a cvar reads no file; the function does: {}(file=\"sizes.txt\")", def.name)
            }
            Some(def) => format!("unknown type of a cvar '{kind}'; did you mean '{CVAR}{}'?", def.name),
            None => unknown("type of a cvar", kind, types.iter().map(String::as_str)),
        });
    };
    let mut given = BTreeMap::new();
    for part in parameters.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let Some((name, text)) = part.split_once(':').map(|(name, text)| (name.trim(), text.trim())) else {
            return Err(format!("'{part}' in the parameters of {kind} is not of the form NAME:NUMBER"));
        };
        if !def.parameters.iter().any(|p| p.name == name) {
            return Err(unknown(&format!("parameter of {kind}"), name, def.parameters.iter().map(|p| p.name)));
        }
        let Some(x) = number(text) else {
            return Err(format!("{name} of {kind} is '{text}', which is not a number"));
        };
        if given.insert(name.to_owned(), x).is_some() {
            return Err(format!("{name} of {kind} is given twice"));
        }
    }
    let limits = Limits { round, truncate: true, min: Some(min.unwrap_or(f64::MIN_POSITIVE)), max };
    let spec = Spec { distribution: def.name.into(), parameters: given, limits, ..Spec::default() };
    spec.check()?;
    Ok(spec)
}

/// What every distribution takes as a function, beside its parameters: name and help.
pub static ON_ANY: &[(&str, &str)] = &[
    ("min", "least value"),
    ("max", "greatest value"),
    ("round", "values are rounded to the nearest multiple of it, before min and max hold"),
    ("seed", "a whole number that makes this variable's sequence another one"),
];

/// A distribution as a function, `lognormal(shape=1, scale=10, min=1k)`, on its way to a [`Spec`].
#[derive(Debug)]
pub struct Call {
    def: &'static DistributionDef,
    spec: Spec,
    given: Vec<String>,
}

/// What an argument of a [`Call`] takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A number.
    Number,
    /// Rows of per cent, low, high.
    Table,
    /// The path of a file of values.
    File,
}

impl Call {
    /// The function of that name; none where no distribution is called so.
    pub fn new(name: &str) -> Option<Self> {
        let def = find(name)?;
        Some(Call { def, spec: Spec { distribution: def.name.into(), ..Spec::default() }, given: Vec::new() })
    }

    /// All arguments that it has. A parameter of the distribution goes before one that every distribution has.
    fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        let data = match self.def.data {
            Data::None => None,
            Data::Table => Some("table"),
            Data::Values => Some("file"),
        };
        let own = self.def.parameters.iter().map(|p| p.name);
        let is_own = |name: &str| self.def.parameters.iter().any(|p| p.name == name);
        let any = ON_ANY.iter().map(|(name, _)| *name).filter(move |name| !is_own(name));
        // Collected, for the iterator must not borrow.
        own.chain(data).chain(any).collect::<Vec<_>>().into_iter()
    }

    /// What the argument of that name takes.
    ///
    /// # Errors
    ///
    /// In words: there is none, with the near name; it was given before.
    pub fn takes(&mut self, name: &str) -> Result<Takes, String> {
        if !self.names().any(|known| known == name) {
            return Err(unknown(&format!("parameter of {}", self.def.name), name, self.names()));
        }
        if self.given.iter().any(|given| given == name) {
            return Err(format!("{name} of {} is given twice", self.def.name));
        }
        self.given.push(name.to_owned());
        Ok(match (name, self.def.data) {
            ("table", Data::Table) => Takes::Table,
            ("file", Data::Values) => Takes::File,
            _ => Takes::Number,
        })
    }

    /// Gives an argument that takes a number.
    ///
    /// # Errors
    ///
    /// In words: a seed that is no whole number.
    pub fn number(&mut self, name: &str, x: f64) -> Result<(), String> {
        if self.def.parameters.iter().any(|p| p.name == name) {
            self.spec.parameters.insert(name.to_owned(), x);
            return Ok(());
        }
        let limits = &mut self.spec.limits;
        match name {
            "min" => limits.min = Some(x),
            "max" => limits.max = Some(x),
            "round" => limits.round = Some(x),
            _ if x.fract() == 0.0 && (0.0..9e15).contains(&x) => self.spec.seed = Some(x as u64),
            _ => return Err(format!("{name} is {x}; it must be a whole number of 0 or more")),
        }
        Ok(())
    }

    /// Gives the table.
    pub fn table(&mut self, rows: Vec<Row>) {
        self.spec.table = rows;
    }

    /// Gives the values of the file.
    pub fn values(&mut self, values: Values) {
        self.spec.values = values;
    }

    /// The distribution, checked: a sampler of it can be made, of an [open](Spec::is_open) one once it is bound.
    ///
    /// # Errors
    ///
    /// As [`Spec::build`].
    pub fn finish(self) -> Result<Spec, String> {
        self.spec.check()?;
        Ok(self.spec)
    }
}

/// A number of `parameters`: as C's atof takes it, or with a size suffix; a time is none.
fn number(text: &str) -> Option<f64> {
    match text.parse::<f64>() {
        Ok(x) => x.is_finite().then_some(x),
        Err(_) => match units::number(text).ok()? {
            Number::Int(n) => Some(n as f64),
            Number::Real(x) => Some(x),
            Number::Nanos(_) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;
    use crate::random::stream::Seed;
    use std::collections::BTreeSet;

    fn randvar(kind: &str) -> RandVar {
        RandVar { kind: Some(kind.into()), ..RandVar::default() }
    }

    fn wholes(spec: &Spec, n: usize) -> Vec<u64> {
        let mut sampler = spec.sampler(Seed::root(1).child("size")).unwrap();
        (0..n).map(|_| sampler.whole()).collect()
    }

    #[test]
    fn a_uniform_randvar_reaches_from_min_to_as_far_above_the_mean() {
        let spec = RandVar { min: Some(1000.0), mean: Some(4000.0), ..randvar("uniform") }.spec().unwrap();
        check::follows(&spec, |x| (x - 1000.0) / 6000.0);
        // Nothing given: mean 0, and so always 0.
        check::constant(&randvar("uniform").spec().unwrap(), 0.0);
    }

    #[test]
    fn a_rounded_uniform_randvar_has_several_sizes_and_none_below_min() {
        let (k, seed) = (1024.0, Some(42));
        let variable = RandVar { min: Some(k), mean: Some(4.0 * k), round: Some(k), seed, ..randvar("uniform") };
        let spec = variable.spec().unwrap();
        let sizes = wholes(&spec, 100);
        assert!(sizes.iter().all(|size| size % 1024 == 0 && (1024..=7168).contains(size)), "{sizes:?}");
        assert!(sizes.iter().collect::<BTreeSet<_>>().len() >= 3);
        assert_eq!(wholes(&spec, 100), sizes);
        assert_ne!(wholes(&RandVar { seed: Some(43), ..variable.clone() }.spec().unwrap(), 100), sizes);
        assert_ne!(wholes(&RandVar { seed: None, ..variable }.spec().unwrap(), 100), sizes);
    }

    #[test]
    fn a_gamma_randvar_counts_its_shape_in_thousandths() {
        let spec =
            RandVar { min: Some(20.0), mean: Some(50.0), gamma: Some(2000.0), ..randvar("gamma") }.spec().unwrap();
        check::follows(&spec, |x| check::gamma_cdf(2.0, (x - 20.0) / 15.0));
        // The defaults: gamma of shape 1.5 and, for its mean is not given, of mean 1.5 too.
        let spec = RandVar::default().spec().unwrap();
        assert_eq!(spec.mean().unwrap(), 1.5);
        check::follows(&spec, |x| check::gamma_cdf(1.5, x));
        assert_eq!(RandVar { gamma: Some(100.0), ..RandVar::default() }.spec().unwrap().mean().unwrap(), 0.1);
    }

    #[test]
    fn a_table_of_two_sizes_gives_both_and_no_other() {
        let row = |percent, low, high| Row { percent, low, high };
        let table = vec![row(50.0, 1024.0, 1024.0), row(50.0, 8192.0, 8192.0)];
        let spec = RandVar { min: Some(1024.0), round: Some(1024.0), table, ..randvar("tabular") }.spec().unwrap();
        let sizes = wholes(&spec, 400);
        assert!(sizes.iter().all(|size| [1024, 8192].contains(size)));
        let large = sizes.iter().filter(|size| **size == 8192).count();
        assert!((160..=240).contains(&large), "{large}");
    }

    #[test]
    fn a_table_is_stretched_down_to_min() {
        let table = vec![Row { percent: 100.0, low: 10.0, high: 20.0 }];
        let stretched = wholes(&RandVar { table: table.clone(), ..randvar("tabular") }.spec().unwrap(), 2000);
        assert_eq!(stretched.iter().collect::<BTreeSet<_>>().len(), 30);
        assert_eq!(stretched.iter().max(), Some(&29));
        let mean = stretched.iter().sum::<u64>() as f64 / 2000.0;
        assert!((13.8..15.2).contains(&mean), "{mean}");
        let plain = wholes(&RandVar { min: Some(10.0), table, ..randvar("tabular") }.spec().unwrap(), 2000);
        assert_eq!(plain.iter().collect::<BTreeSet<_>>(), (10..20).collect::<Vec<u64>>().iter().collect());
    }

    #[test]
    fn one_attribute_can_change_and_the_rest_stays() {
        let mut variable = RandVar { gamma: Some(3000.0), ..RandVar::default() };
        variable.mean = Some(20.0);
        let spec = variable.spec().unwrap();
        assert_eq!(spec.mean().unwrap(), 20.0);
        check::follows(&spec, |x| check::gamma_cdf(3.0, x * 3.0 / 20.0));
    }

    #[test]
    fn a_randvar_that_cannot_be_is_refused_in_its_own_words() {
        let refused = |variable: RandVar| variable.spec().unwrap_err();
        assert_eq!(
            refused(randvar("unifrom")),
            "unknown type of a randvar 'unifrom'; there are uniform, gamma, tabular; did you mean 'uniform'?"
        );
        assert_eq!(
            refused(randvar("normal")),
            "a randvar cannot be normal, a custom variable can: cvar(type=cvar-normal)"
        );
        assert!(refused(randvar("cvar-gamma")).contains("written 'gamma'"));
        let text = refused(RandVar { source: Some("rand84".into()), ..RandVar::default() });
        assert!(text.ends_with("there are rand48, urandom; did you mean 'rand48'?"), "{text}");
        assert_eq!(
            refused(RandVar { min: Some(1024.0), ..RandVar::default() }),
            "mean of this gamma randvar is 1.5 (the default); it must be min, 1024, or more"
        );
        assert!(refused(RandVar { gamma: Some(0.0), ..RandVar::default() }).contains("gamma of a randvar is 0"));
        assert!(refused(RandVar { mean: Some(f64::NAN), ..RandVar::default() }).contains("mean is NaN"));
        assert!(refused(RandVar { round: Some(-1.0), ..RandVar::default() }).contains("round is -1"));
        assert!(refused(randvar("tabular")).contains("needs a table"));
        let table = vec![Row { percent: 100.0, low: 1.0, high: 2.0 }];
        assert!(refused(RandVar { table, ..randvar("uniform") }).contains("needs type=tabular"));
    }

    #[test]
    fn both_sources_are_the_same_generator() {
        let of = |source: &str| RandVar { source: Some(source.into()), ..RandVar::default() }.spec().unwrap();
        assert_eq!(of("rand48"), of("urandom"));
    }

    #[test]
    fn the_limits_of_a_cvar_hold() {
        let spec = cvar("cvar-gamma", "mean:8192;gamma:1.5", Some(4096.0), Some(16384.0), Some(64.0)).unwrap();
        let sizes = wholes(&spec, 3000);
        assert!(sizes.iter().all(|size| size % 64 == 0 && (4096..=16384).contains(size)));
        assert!(sizes.contains(&4096) && sizes.contains(&16384));
        assert!(sizes.iter().collect::<BTreeSet<_>>().len() > 100);
    }

    #[test]
    fn rounding_and_limits_leave_the_shares_that_they_should() {
        let shares = |spec: &Spec, tens: [f64; 11]| {
            let all: Vec<f64> = check::samples(spec, 100_000).iter().map(|x| x / 10.0).collect();
            check::proportions(&all, &tens).unwrap();
        };
        // Of 0..100. A cvar drops the fraction, and a tie goes down: 20 is of 16 to 25, and all below it.
        let spec = cvar("cvar-uniform", "upper:100", Some(20.0), Some(70.0), Some(10.0)).unwrap();
        shares(&spec, [0.0, 0.0, 0.26, 0.1, 0.1, 0.1, 0.1, 0.34, 0.0, 0.0, 0.0]);
        // A randvar takes the nearest, and so does a function.
        let nearest = [0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05];
        shares(&RandVar { mean: Some(50.0), round: Some(10.0), ..randvar("uniform") }.spec().unwrap(), nearest);
        shares(&call("uniform", &[("upper", 100.0), ("round", 10.0)]).unwrap(), nearest);
        let spec = call("uniform", &[("upper", 100.0), ("round", 10.0), ("min", 20.0), ("max", 70.0)]).unwrap();
        shares(&spec, [0.0, 0.0, 0.25, 0.1, 0.1, 0.1, 0.1, 0.35, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_negative_sample_of_a_cvar_becomes_next_to_nothing() {
        let spec = cvar("cvar-normal", "mean:0;sigma:1000", None, None, None).unwrap();
        let all = check::samples(&spec, 400);
        assert!(all.iter().all(|x| *x >= f64::MIN_POSITIVE));
        let empty = wholes(&spec, 400).iter().filter(|size| **size == 0).count();
        assert!((150..250).contains(&empty), "{empty}");
        let spec = cvar("cvar-normal", "sigma:1000", Some(-5000.0), None, None).unwrap();
        assert!(check::samples(&spec, 400).iter().any(|x| *x < -100.0));
    }

    #[test]
    fn each_cvar_has_its_defaults() {
        let mean = |kind| cvar(kind, "", None, None, None).unwrap().mean().unwrap();
        assert_eq!(mean("cvar-uniform"), 0.5);
        assert_eq!(mean("cvar-normal"), 0.0);
        assert_eq!(mean("cvar-exponential"), 1.0);
        assert_eq!(mean("cvar-gamma"), 4096.0);
        assert_eq!(mean("cvar-erlang"), 1.0);
        assert_eq!(mean("cvar-lognormal"), 1.5f64.exp());
        assert_eq!(mean("cvar-triangular"), 0.5);
        assert!((mean("cvar-weibull") - 1.0).abs() < 1e-9);
    }

    fn call(name: &str, numbers: &[(&str, f64)]) -> Result<Spec, String> {
        let mut call = Call::new(name).unwrap();
        for (name, x) in numbers {
            assert_eq!(call.takes(name)?, Takes::Number);
            call.number(name, *x)?;
        }
        call.finish()
    }

    #[test]
    fn every_distribution_is_a_function_with_its_parameters_and_the_limits() {
        for def in DISTRIBUTIONS.iter().filter(|def| def.is_cvar()) {
            let defaults: Vec<(&str, f64)> = def.parameters.iter().map(|p| (p.name, p.default)).collect();
            let mut numbers = defaults.clone();
            numbers.extend([("min", 2.0), ("max", 9.0), ("round", 0.5), ("seed", 7.0)]);
            let spec = call(def.name, &numbers).unwrap();
            assert_eq!(spec.parameters, Spec::new(def.name, &defaults).parameters);
            let limits = Limits { min: Some(2.0), max: Some(9.0), round: Some(0.5), truncate: false };
            assert_eq!((spec.limits, spec.seed), (limits, Some(7)));
        }
        assert!(Call::new("zip").is_none());
        // Numbers below 0 stay what they are where nothing is said.
        assert!(check::samples(&call("normal", &[]).unwrap(), 50).iter().any(|x| *x < 0.0));
    }

    #[test]
    fn a_tables_own_min_is_not_the_limit() {
        let mut tabular = Call::new("tabular").unwrap();
        assert_eq!(tabular.takes("table"), Ok(Takes::Table));
        tabular.table(vec![Row { percent: 100.0, low: 10.0, high: 20.0 }]);
        for (name, x) in [("min", 4.0), ("mean", 20.0), ("max", 30.0)] {
            assert_eq!(tabular.takes(name), Ok(Takes::Number));
            tabular.number(name, x).unwrap();
        }
        let spec = tabular.finish().unwrap();
        assert_eq!(spec.parameters, [("min".to_owned(), 4.0), ("mean".to_owned(), 20.0)].into());
        assert_eq!(spec.limits, Limits { max: Some(30.0), ..Limits::default() });
    }

    #[test]
    fn a_function_that_cannot_be_is_refused_in_its_own_words() {
        assert_eq!(
            call("zipf", &[("tehta", 1.0)]).unwrap_err(),
            "unknown parameter of zipf 'tehta'; there are theta, n, scramble, min, max, round, seed; did you mean 'theta'?"
        );
        assert_eq!(call("zipf", &[("n", 5.0), ("n", 6.0)]).unwrap_err(), "n of zipf is given twice");
        assert_eq!(
            call("normal", &[("seed", 0.5)]).unwrap_err(),
            "seed is 0.5; it must be a whole number of 0 or more"
        );
        assert!(call("normal", &[("min", 5.0), ("max", 4.0)]).unwrap_err().contains("min, 5, is above max, 4"));
        assert!(call("pareto", &[("shape", 0.5)]).unwrap_err().contains("shape is 0.5"));
        assert!(call("zipf", &[("theta", -1.0)]).unwrap_err().contains("theta is -1"));
        assert!(Call::new("empirical").unwrap().finish().unwrap_err().contains("it needs a file"));
        assert!(Call::new("gamma").unwrap().takes("table").is_err());
    }

    #[test]
    fn the_new_distributions_are_cvars_too() {
        let spec = cvar("cvar-zipf", "theta:1.1;n:1k", None, None, None).unwrap();
        assert!(wholes(&spec, 1000).contains(&0));
        assert!(cvar("cvar-hotspot", "", None, None, None).unwrap().is_open());
        let text = cvar("cvar-empirical", "", None, None, None).unwrap_err();
        assert_eq!(text, "a cvar reads no file; the function does: empirical(file=\"sizes.txt\")");
    }

    #[test]
    fn parameters_are_decimal_or_sizes_in_any_order() {
        let of = |parameters| cvar("cvar-gamma", parameters, None, None, None);
        assert_eq!(of("mean:16384;gamma:1.5"), of("gamma:1.5; mean:16k;"));
        assert_eq!(of("mean:1e3"), of("mean:1000"));
    }

    #[test]
    fn a_cvar_that_cannot_be_is_refused_in_its_own_words() {
        let refused = |kind: &str, parameters: &str| cvar(kind, parameters, None, None, None).unwrap_err();
        let text = refused("cvar-gama", "");
        assert!(text.contains("cvar-uniform, cvar-gamma, cvar-normal") && text.ends_with("'cvar-gamma'?"), "{text}");
        assert!(!text.contains("tabular"));
        assert!(refused("weibull", "").ends_with("did you mean 'cvar-weibull'?"));
        assert!(refused("cvar-tabular", "").contains("randvar(type=tabular)"));
        assert_eq!(
            refused("cvar-gamma", "men:3"),
            "unknown parameter of cvar-gamma 'men'; there are mean, gamma, shift; did you mean 'mean'?"
        );
        assert!(refused("cvar-gamma", "mean=3").contains("'mean=3'"));
        assert!(refused("cvar-gamma", "mean:3;mean:4").contains("given twice"));
        for text in ["abc", "", "nan", "inf", "10ms", "1k5"] {
            assert!(refused("cvar-gamma", &format!("mean:{text}")).ends_with("not a number"), "{text}");
        }
        assert!(cvar("cvar-uniform", "", Some(9.0), Some(3.0), None).unwrap_err().contains("min, 9, is above max, 3"));
        assert!(cvar("cvar-uniform", "", None, Some(-3.0), None).is_err());
    }
}
