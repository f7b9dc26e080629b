//! What the tests of the distributions measure with.

use super::Spec;
use super::stream::Seed;
use super::weibull::ln_gamma;

const SAMPLES: usize = 100_000;

/// Samples of the real sampler, at a fixed seed.
pub(super) fn samples(spec: &Spec, n: usize) -> Vec<f64> {
    let mut sampler = spec.sampler(Seed::root(20).child("check")).unwrap();
    (0..n).map(|_| sampler.sample()).collect()
}

/// Fails where the samples do not follow `cdf` (Kolmogorov-Smirnov, at 1 in 1000), or where their mean is not the
/// declared one within 4 standard errors.
pub(super) fn follows(spec: &Spec, cdf: impl Fn(f64) -> f64) {
    let all = samples(spec, SAMPLES);
    distance(&all, cdf).unwrap_or_else(|why| panic!("{spec:?}: {why}"));
    mean_is_right(spec, &all);
}

/// The Kolmogorov-Smirnov test at 1 in 1000, on samples of a distribution without steps.
pub(super) fn distance(samples: &[f64], cdf: impl Fn(f64) -> f64) -> Result<(), String> {
    let mut all = samples.to_vec();
    all.sort_by(f64::total_cmp);
    let n = all.len() as f64;
    let distance = all.iter().zip(0..).fold(0.0, |worst: f64, (x, i)| {
        let (below, at) = (f64::from(i) / n, f64::from(i + 1) / n);
        worst.max((cdf(*x) - below).abs()).max((cdf(*x) - at).abs())
    });
    // The asymptotic quantile of the Kolmogorov distribution at 0.999 is 1.949.
    if distance < 1.949 / n.sqrt() { Ok(()) } else { Err(format!("the distance is {distance}")) }
}

/// Fails where the samples are not 0, 1, 2, ... in these proportions, or their mean is not the declared one.
pub(super) fn counts(spec: &Spec, weights: &[f64]) {
    let all = samples(spec, SAMPLES);
    proportions(&all, weights).unwrap_or_else(|why| panic!("{spec:?}: {why}"));
    mean_is_right(spec, &all);
}

/// The chi-square test at about 1 in 10000, on samples that are whole numbers from 0. Numbers that are expected fewer
/// than 10 times are taken together with those behind them.
pub(super) fn proportions(samples: &[f64], weights: &[f64]) -> Result<(), String> {
    let mut found = vec![0.0; weights.len()];
    for x in samples {
        match found.get_mut(*x as usize) {
            Some(count) if x.fract() == 0.0 && *x >= 0.0 => *count += 1.0,
            _ => return Err(format!("{x} is not among the {} numbers", weights.len())),
        }
    }
    let n = samples.len() as f64;
    let mut classes: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for (count, weight) in found.iter().zip(weights) {
        if *weight == 0.0 && *count > 0.0 {
            return Err("a number came that has no chance".into());
        }
        if let Some(last) = classes.last_mut().filter(|(_, expected)| *expected < 10.0) {
            *last = (last.0 + count, last.1 + n * weight);
        } else {
            classes.push((*count, n * weight));
        }
    }
    // The rest at the end may be small: it belongs to the class before it.
    if classes.len() > 1 && classes[classes.len() - 1].1 < 10.0 {
        let rest = classes.pop().unwrap_or_default();
        let last = classes.len() - 1;
        classes[last] = (classes[last].0 + rest.0, classes[last].1 + rest.1);
    }
    let chi: f64 = classes.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    let most = chi_square_quantile(classes.len() as f64 - 1.0);
    if classes.len() == 1 || chi < most {
        Ok(())
    } else {
        Err(format!("chi-square is {chi}, above {most}, for {} classes", classes.len()))
    }
}

/// About the quantile at 0.9999 of the chi-square distribution (Wilson and Hilferty 1931).
pub(super) fn chi_square_quantile(freedom: f64) -> f64 {
    let part = 2.0 / (9.0 * freedom);
    freedom * (1.0 - part + 3.719 * part.sqrt()).powi(3)
}

/// The logarithm of k!.
pub(super) fn ln_factorial(k: u32) -> f64 {
    (2..=k).map(|i| f64::from(i).ln()).sum()
}

/// Fails where the mean of the samples is not the declared one within 4 standard errors.
pub(super) fn mean_is_right(spec: &Spec, all: &[f64]) {
    let n = all.len() as f64;
    let mean = all.iter().sum::<f64>() / n;
    let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let declared = spec.mean().unwrap();
    assert!((mean - declared).abs() <= 4.0 * (variance / n).sqrt(), "{spec:?}: the mean is {mean}, not {declared}");
}

/// Fails where a sample, or the declared mean, is another number.
pub(super) fn constant(spec: &Spec, x: f64) {
    assert!(samples(spec, 100).iter().all(|sample| *sample == x), "{spec:?}");
    assert_eq!(spec.mean().unwrap(), x);
}

/// Fails where the counts are not even (chi-square, about 1 in 10000: the normal approximation at 4 sigma, right for
/// ten classes and more).
pub(super) fn even(counts: &[u64]) {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let chi: f64 = counts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
    let freedom = counts.len() as f64 - 1.0;
    assert!(chi < freedom + 4.0 * (2.0 * freedom).sqrt(), "chi-square {chi} at {freedom} degrees of freedom");
}

/// The CDF of the gamma distribution of scale 1: the regularised lower incomplete gamma function P(shape, x), by its
/// series or its continued fraction (Numerical Recipes in C, 2nd ed., section 6.2).
pub(super) fn gamma_cdf(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (shape * x.ln() - x - ln_gamma(shape)).exp();
    if x < shape + 1.0 {
        let (mut term, mut sum, mut a) = (1.0 / shape, 1.0 / shape, shape);
        while term > sum * 1e-15 {
            a += 1.0;
            term *= x / a;
            sum += term;
        }
        return front * sum;
    }
    let mut b = x + 1.0 - shape;
    let mut c = f64::INFINITY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..1000 {
        let i = f64::from(i);
        let a = i * (shape - i);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    1.0 - front * fraction
}

/// The CDF of the standard normal distribution: erf(x) = P(1/2, x^2).
pub(super) fn normal_cdf(x: f64) -> f64 {
    let erf = gamma_cdf(0.5, x * x / 2.0);
    if x < 0.0 { 0.5 - erf / 2.0 } else { 0.5 + erf / 2.0 }
}

#[test]
fn the_functions_have_their_known_values() {
    for (value, known) in [
        (gamma_cdf(1.0, 2.0), 1.0 - (-2.0f64).exp()),
        (gamma_cdf(3.0, 1.0), 0.0803013970713942),
        (gamma_cdf(2.0, 8.0), 1.0 - 9.0 * (-8.0f64).exp()),
        (normal_cdf(1.959963984540054), 0.975),
        (normal_cdf(-1.0), 0.158655253931457),
    ] {
        assert!((value - known).abs() < 1e-9, "{value} {known}");
    }
}

/// How the numbers of a distribution should be.
enum Law {
    /// By the cumulative distribution function.
    Cdf(fn(f64) -> f64),
    /// Whole numbers from 0 by their probabilities.
    Weights(Vec<f64>),
}

impl Law {
    fn holds(&self, samples: &[f64]) -> Result<(), String> {
        match self {
            Law::Cdf(cdf) => distance(samples, cdf),
            Law::Weights(weights) => proportions(samples, weights),
        }
    }
}

/// One of each distribution, what it follows, and another that is slightly off.
fn laws() -> Vec<(Spec, Law, Spec)> {
    let of = |name: &str, law, right: &[(&str, f64)], wrong: &[(&str, f64)]| {
        (Spec::new(name, right), law, Spec::new(name, wrong))
    };
    let tabular = |percent: f64| Spec {
        table: vec![
            super::Row { percent, low: 10.0, high: 20.0 },
            super::Row { percent: 100.0 - percent, low: 20.0, high: 40.0 },
        ],
        ..Spec::new("tabular", &[("min", 10.0)])
    };
    let empirical = |text| Spec { values: super::Values::parse(text).unwrap(), ..Spec::new("empirical", &[]) };
    let zipf: Vec<f64> = (1..=100).map(|k| f64::from(k).powf(-0.9)).collect();
    let sum: f64 = zipf.iter().sum();
    let poisson = (0..60).map(|k| (f64::from(k) * 20f64.ln() - 20.0 - ln_factorial(k)).exp()).collect();
    vec![
        of("uniform", Law::Cdf(|x| x / 10.0), &[("upper", 10.0)], &[("upper", 10.2)]),
        of("gamma", Law::Cdf(|x| gamma_cdf(1.5, x * 1.5)), &[("mean", 1.0)], &[("mean", 1.0), ("gamma", 1.55)]),
        (
            tabular(50.0),
            Law::Cdf(|x| if x < 20.0 { (x - 10.0) / 20.0 } else { 0.5 + (x - 20.0) / 40.0 }),
            tabular(51.0),
        ),
        of("normal", Law::Cdf(normal_cdf), &[], &[("sigma", 1.04)]),
        of("exponential", Law::Cdf(|x| 1.0 - (-x).exp()), &[], &[("mean", 1.03)]),
        of("erlang", Law::Cdf(|x| gamma_cdf(3.0, 3.0 * x)), &[("shape", 3.0)], &[("shape", 3.0), ("rate", 1.02)]),
        of("lognormal", Law::Cdf(|x| normal_cdf(x.ln() - 1.0)), &[], &[("shape", 1.04)]),
        of(
            "triangular",
            Law::Cdf(|x| if x < 0.5 { 2.0 * x * x } else { 1.0 - 2.0 * (1.0 - x) * (1.0 - x) }),
            &[],
            &[("mode", 0.53)],
        ),
        of("weibull", Law::Cdf(|x| 1.0 - (-x * x).exp()), &[("shape", 2.0)], &[("shape", 2.05)]),
        of(
            "zipf",
            Law::Weights(zipf.iter().map(|w| w / sum).collect()),
            &[("theta", 0.9), ("n", 100.0)],
            &[("theta", 0.92), ("n", 100.0)],
        ),
        of(
            "hotspot",
            Law::Weights([vec![0.2; 4], vec![0.0125; 16]].concat()),
            &[("n", 20.0)],
            &[("n", 20.0), ("share", 81.0)],
        ),
        of("pareto", Law::Cdf(|x| 1.0 - x.powi(-3)), &[("shape", 3.0)], &[("shape", 3.1)]),
        of("poisson", Law::Weights(poisson), &[("mean", 20.0)], &[("mean", 20.5)]),
        of("constant", Law::Weights(vec![0.0, 0.0, 0.0, 1.0]), &[("value", 3.0)], &[("value", 3.01)]),
        (empirical("0 30\n1 70"), Law::Weights(vec![0.3, 0.7]), empirical("0 31\n1 69")),
        // More of them than draws: nearly each draw is another position.
        of(
            "positions",
            Law::Weights((0..=4096).map(|at| if at % 512 == 0 { 1.0 / 9.0 } else { 0.0 }).collect()),
            &[("entries", 4e9), ("last", 4096.0)],
            &[("entries", 9.0), ("last", 4096.0)],
        ),
    ]
}

/// The tests have the power to tell a distribution from one that is a few per cent off, and each distribution is tested.
#[test]
fn another_distribution_is_noticed() {
    let laws = laws();
    let tested: Vec<&str> = laws.iter().map(|(spec, ..)| spec.distribution.as_str()).collect();
    assert_eq!(tested, super::DISTRIBUTIONS.iter().map(|def| def.name).collect::<Vec<_>>());
    for (right, law, wrong) in laws {
        law.holds(&samples(&right, SAMPLES)).unwrap_or_else(|why| panic!("{right:?}: {why}"));
        assert!(law.holds(&samples(&wrong, SAMPLES)).is_err(), "{wrong:?} passes for {right:?}");
    }
}

#[test]
#[should_panic(expected = "the distance is")]
fn a_test_that_notices_fails() {
    follows(&Spec::new("normal", &[]), |x| normal_cdf(x * 1.04));
}

#[test]
fn the_quantile_of_chi_square_is_right() {
    // Of tables at 0.9999. For one degree of freedom the formula is a little above.
    for (freedom, known, off) in [(1.0, 15.14, 0.08), (10.0, 35.56, 0.02), (100.0, 161.32, 0.01)] {
        let found = chi_square_quantile(freedom);
        assert!((found / known - 1.0).abs() < off, "{freedom}: {found}");
    }
}
