//! The Zipf distribution: how often things are wanted that differ in popularity.

use super::rank::{N, Ranks, SCRAMBLE};
use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand::RngExt;

const THETA: Parameter =
    Parameter { name: "theta", default: 1.0, help: "how uneven, above 0 to 100: rank r comes as (r + 1)^-theta" };

/// Ranks 0..n, rank r with a probability in proportion to (r + 1)^-theta.
///
/// Drawn by rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", ACM TOMACS 6(3), 1996. The cost and the memory do not depend on n, and on average less
/// than 1.3 numbers are drawn for one sample. The integral of x^-theta and its inverse are taken through expm1(x)/x
/// and ln(1+x)/x, so nothing is lost where theta is next to 1.
pub static ZIPF: DistributionDef = DistributionDef {
    name: "zipf",
    summary: "ranks from 0, the popular ones first: (r + 1)^-theta",
    parameters: &[THETA, N, SCRAMBLE],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Zipf {
    theta: f64,
    ranks: Ranks,
    /// The integral at 1.5, less the weight of the first rank: the end of the range that is drawn from.
    first: f64,
    /// The integral at n + 1/2: its start.
    last: f64,
    /// Where the rank is this near to the inverted number, it is accepted at once.
    near: f64,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let theta = THETA.above_zero(spec)?;
    if theta > 100.0 {
        return Err(format!("theta is {theta}; it must be 100 or less"));
    }
    let ranks = Ranks::of(spec)?;
    let n = ranks.n as f64;
    Ok(Box::new(Zipf {
        theta,
        ranks,
        first: integral(theta, 1.5) - 1.0,
        last: integral(theta, n + 0.5),
        near: 2.0 - inverse(theta, integral(theta, 2.5) - (-theta * std::f64::consts::LN_2).exp()),
        mean: harmonic(n, theta - 1.0) / harmonic(n, theta) - 1.0,
    }))
}

impl Distribution for Zipf {
    fn sample(&self, generator: &mut Generator) -> f64 {
        loop {
            let u = self.last + generator.random::<f64>() * (self.first - self.last);
            let x = inverse(self.theta, u);
            // Ranks count from 1 here.
            let rank = (x + 0.5).floor().clamp(1.0, self.ranks.n as f64);
            if rank - x <= self.near || u >= integral(self.theta, rank + 0.5) - (-self.theta * rank.ln()).exp() {
                return self.ranks.place(rank as u64 - 1);
            }
        }
    }

    fn mean(&self) -> f64 {
        self.mean
    }
}

/// The integral of x^-theta from 1 to x: (x^(1 - theta) - 1) / (1 - theta), or ln x.
fn integral(theta: f64, x: f64) -> f64 {
    let log = x.ln();
    expm1_over((1.0 - theta) * log) * log
}

/// The x at which [`integral`] is y.
fn inverse(theta: f64, y: f64) -> f64 {
    // Rounding may take the argument of the logarithm below 0, where the integral has its end.
    let t = (y * (1.0 - theta)).max(-1.0);
    (ln1p_over(t) * y).exp()
}

/// expm1(x) / x, with its limit at 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

/// ln(1 + x) / x, with its limit at 0.
fn ln1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

/// The sum of k^-s for k of 1..=n, by the first terms and the Euler-Maclaurin formula for the rest (Abramowitz and
/// Stegun, 23.1.30).
fn harmonic(n: f64, s: f64) -> f64 {
    const HEAD: f64 = 64.0;
    let term = |k: f64| (-s * k.ln()).exp();
    let head = (1..=n.min(HEAD) as u32).rev().map(|k| term(f64::from(k))).sum::<f64>();
    if n <= HEAD {
        return head;
    }
    let slope = |k: f64| -s * term(k) / k;
    let third = |k: f64| -s * (s + 1.0) * (s + 2.0) * term(k) / (k * k * k);
    // From the last term of the head on, half of which each side has.
    let area = integral(s, n) - integral(s, HEAD);
    head + area + (term(n) - term(HEAD)) / 2.0 + (slope(n) - slope(HEAD)) / 12.0 - (third(n) - third(HEAD)) / 720.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;

    /// The probability of each rank, summed up plainly.
    pub(in crate::random) fn weights(n: usize, theta: f64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-theta)).collect();
        let sum: f64 = weights.iter().rev().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    #[test]
    fn follows_its_distribution_at_every_theta() {
        for theta in [0.01, 0.5, 0.9, 0.99, 1.0, 1.0 + 1e-9, 1.1, 2.0, 8.0] {
            for n in [1, 2, 3, 50, 1000] {
                let spec = Spec::new("zipf", &[("theta", theta), ("n", n as f64)]);
                check::counts(&spec, &weights(n, theta));
            }
        }
    }

    #[test]
    fn scrambled_ranks_keep_their_probabilities() {
        let n = 97;
        let spec = Spec::new("zipf", &[("theta", 0.9), ("n", 97.0), ("scramble", 1.0)]);
        let ranks = Ranks::of(&spec).unwrap();
        let mut at = vec![0.0; n];
        for (rank, weight) in weights(n, 0.9).into_iter().enumerate() {
            at[ranks.place(rank as u64) as usize] = weight;
        }
        check::proportions(&check::samples(&spec, 100_000), &at).unwrap();
    }

    #[test]
    fn the_cost_of_a_huge_range_is_that_of_a_small_one() {
        // A table of 2^53 weights could not be made.
        let spec = Spec::new("zipf", &[("theta", 1.0), ("n", 9_007_199_254_740_992.0)]);
        let all = check::samples(&spec, 10_000);
        // P(rank 0) = 1 / H(n) = 1 / (ln n + 0.5772) = 0.0268.
        let first = all.iter().filter(|x| **x == 0.0).count();
        assert!((200..340).contains(&first), "{first}");
        assert!(all.iter().any(|x| *x > 1e12) && all.iter().all(|x| x.fract() == 0.0 && *x < 9.1e15));
    }

    #[test]
    fn the_harmonic_numbers_are_those_of_the_sum() {
        for s in [-1.0, -0.1, 0.0, 0.5, 1.0, 2.0, 7.0] {
            for n in [1u32, 64, 65, 1000, 100_000] {
                let sum: f64 = (1..=n).rev().map(|k| f64::from(k).powf(-s)).sum();
                let ratio = harmonic(f64::from(n), s) / sum;
                assert!((ratio - 1.0).abs() < 1e-10, "{s} {n}: {ratio}");
            }
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let refused = |parameters| Spec::new("zipf", parameters).build().unwrap_err();
        assert_eq!(refused(&[("theta", 0.0)]), "zipf distribution: theta is 0; it must be above 0");
        assert!(refused(&[("theta", 101.0), ("n", 5.0)]).contains("100 or less"));
        assert!(refused(&[]).contains("n is missing"));
    }
}
