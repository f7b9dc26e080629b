//! What the distributions over ranks share: ranks are whole numbers from 0, and a low one is drawn often.

use super::{Parameter, Spec};

pub(super) const N: Parameter = Parameter {
    name: "n",
    default: 0.0,
    help: "how many ranks; 0 is as many as there are entries in the file set that pick= chooses from",
};
pub(super) const SCRAMBLE: Parameter = Parameter {
    name: "scramble",
    default: 0.0,
    help: "1 spreads the frequent ranks over the range by a fixed permutation, 0 leaves them at its start",
};

/// No rank is larger, so that each is a whole number in a float.
const MOST: f64 = 9_007_199_254_740_992.0;

/// Ranks of 0..n, each with its place in the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ranks {
    pub(super) n: u64,
    /// Rank r is at place r * step modulo n; 1 leaves each rank where it is.
    step: u64,
}

impl Ranks {
    /// Of the parameters `n` and `scramble`.
    pub(super) fn of(spec: &Spec) -> Result<Self, String> {
        let n = N.of(spec);
        if n == 0.0 {
            return Err("n is missing; without it the ranks are those of a file set, in pick= only".into());
        }
        if !(1.0..=MOST).contains(&n) || n.fract() != 0.0 {
            return Err(format!("n is {n}; it must be a whole number, 1 to 2^53 (0 is for pick= only)"));
        }
        let n = n as u64;
        let step = match SCRAMBLE.of(spec) {
            0.0 => 1,
            1.0 => scrambling_step(n),
            other => return Err(format!("scramble is {other}; it must be 0 or 1")),
        };
        Ok(Ranks { n, step })
    }

    /// The place of a rank below n: a permutation of 0..n.
    #[inline]
    pub(super) fn place(self, rank: u64) -> f64 {
        match self.step {
            1 => rank as f64,
            step => (u128::from(rank) * u128::from(step) % u128::from(self.n)) as f64,
        }
    }
}

/// A factor that permutes 0..n and takes ranks that follow each other far apart: the whole number next to n / golden
/// ratio that has no divisor in common with n. Multiples of the golden ratio, taken modulo 1, divide the range most
/// evenly (Knuth, The Art of Computer Programming, vol. 3, section 6.4).
fn scrambling_step(n: u64) -> u64 {
    let start = (n as f64 * 0.618_033_988_749_894_9) as u64;
    (start.max(1)..n).find(|step| gcd(*step, n) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn ranks(n: f64, scramble: f64) -> Ranks {
        Ranks::of(&Spec::new("zipf", &[("n", n), ("scramble", scramble)])).unwrap()
    }

    #[test]
    fn scrambling_is_a_permutation_of_every_range() {
        for n in (1..400).chain([1 << 16, 65_537, 100_000]) {
            let ranks = ranks(n as f64, 1.0);
            let places: BTreeSet<u64> = (0..n).map(|rank| ranks.place(rank) as u64).collect();
            assert_eq!(places.len() as u64, n);
            assert_eq!(places.last(), Some(&(n - 1)));
        }
        let largest = ranks(MOST, 1.0);
        assert_ne!(largest.place(1), 1.0);
        assert!(largest.place(largest.n - 1) < MOST);
    }

    #[test]
    fn scrambling_takes_the_frequent_ranks_apart() {
        let ranks = ranks(1000.0, 1.0);
        let mut first: Vec<u64> = (0..10).map(|rank| ranks.place(rank) as u64).collect();
        first.sort_unstable();
        assert!(first.windows(2).all(|pair| pair[1] - pair[0] > 40), "{first:?}");
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let refused = |parameters| Ranks::of(&Spec::new("zipf", parameters)).unwrap_err();
        assert!(refused(&[]).contains("n is missing"));
        assert!(refused(&[("n", 1.5)]).contains("n is 1.5; it must be a whole number"));
        assert!(refused(&[("n", -1.0)]).contains("n is -1"));
        assert!(refused(&[("n", 1e17)]).contains("1 to 2^53"));
        assert!(refused(&[("n", 3.0), ("scramble", 2.0)]).contains("scramble is 2; it must be 0 or 1"));
    }
}
