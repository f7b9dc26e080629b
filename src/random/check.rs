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
    let mut all = samples(spec, SAMPLES);
    all.sort_by(f64::total_cmp);
    let n = SAMPLES as f64;
    let distance = all.iter().zip(0..).fold(0.0, |worst: f64, (x, i)| {
        let (below, at) = (f64::from(i) / n, f64::from(i + 1) / n);
        worst.max((cdf(*x) - below).abs()).max((cdf(*x) - at).abs())
    });
    // The asymptotic quantile of the Kolmogorov distribution at 0.999 is 1.949.
    assert!(distance < 1.949 / n.sqrt(), "{spec:?}: the distance is {distance}");
    mean_is_right(spec, &all);
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

#[test]
#[should_panic(expected = "the distance is")]
fn another_distribution_is_noticed() {
    follows(&Spec::new("normal", &[]), |x| normal_cdf(x * 1.04));
}
