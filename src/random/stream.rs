//! Streams of random numbers that repeat with the seed, one for each user of randomness.

use rand::{Rng, SeedableRng};

/// The generator of all streams: small, fast, and its sequence is part of its published definition, so a seed means
/// the same in each version of wlrun.
pub type Generator = rand_xoshiro::Xoshiro256PlusPlus;

/// The start of a stream. Children of different names are independent streams; the same path gives the same stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// The seed that the user gave.
    pub fn root(seed: u64) -> Self {
        Seed(mix(seed ^ 0x9e37_79b9_7f4a_7c15))
    }

    /// The stream of a named part.
    pub fn child(self, name: &str) -> Seed {
        // FNV-1a over the name (http://www.isthe.com/chongo/tech/comp/fnv/), then mixed into this seed.
        let hash =
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        Seed(mix(self.0.rotate_left(25) ^ mix(hash)))
    }

    /// The stream of a numbered part.
    pub fn index(self, number: u64) -> Seed {
        Seed(mix(self.0.rotate_left(17) ^ mix(number.wrapping_add(0x632b_e59b_d9b4_e019))))
    }

    /// The generator of this stream, at its start.
    pub fn generator(self) -> Generator {
        Generator::seed_from_u64(self.0)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): each bit of the input changes half of the output's.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A whole number of 0..n, each with the same chance; 0 where n is 0.
///
/// Lemire, "Fast Random Integer Generation in an Interval" (2019): a multiplication takes the place of the division,
/// which is left for the n / 2^64 of the draws that could be biased.
#[inline]
pub fn below(generator: &mut Generator, n: u64) -> u64 {
    let mut product = u128::from(generator.next_u64()) * u128::from(n);
    if (product as u64) < n {
        let biased = n.wrapping_neg() % n;
        while (product as u64) < biased {
            product = u128::from(generator.next_u64()) * u128::from(n);
        }
    }
    (product >> 64) as u64
}

/// An offset at which `unit` bytes fit into `range` bytes: a multiple of `unit`, each with the same chance, the last
/// one included; 0 where `unit` is 0 or does not fit.
#[inline]
pub fn pick_block(generator: &mut Generator, range: u64, unit: u64) -> u64 {
    // Units are powers of 2 almost always, and a shift costs a tenth of a division.
    let blocks = match unit {
        0 => 0,
        _ if unit.is_power_of_two() => range >> unit.trailing_zeros(),
        _ => range / unit,
    };
    below(generator, blocks) * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;
    use proptest::prelude::*;

    #[test]
    fn a_path_names_a_stream() {
        let first = |seed: Seed| seed.generator().next_u64();
        let one = Seed::root(1);
        assert_eq!(first(one.child("a").index(3)), first(Seed::root(1).child("a").index(3)));
        let all = [
            first(one),
            first(Seed::root(2)),
            first(one.child("a")),
            first(one.child("b")),
            first(one.child("a").index(0)),
            first(one.child("a").index(1)),
            first(one.index(1).child("a")),
        ];
        let distinct: std::collections::BTreeSet<u64> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn the_sequence_is_fixed_for_ever() {
        let mut g = Seed::root(1).generator();
        let first: Vec<u64> = (0..3).map(|_| g.next_u64()).collect();
        assert_eq!(first, [2012775937921775851, 10968666948299887549, 13494710728135144532]);
    }
    #[test]
    fn numbers_below_a_bound_are_even() {
        let mut g = Seed::root(3).generator();
        let mut counts = [0u64; 37];
        (0..100_000).for_each(|_| counts[below(&mut g, 37) as usize] += 1);
        check::even(&counts);
        // Three quarters of 2^64: without the rejection, multiples of 3 would come twice as often as the others.
        let n = 3u64 << 62;
        let (mut by_size, mut by_rest) = ([0u64; 12], [0u64; 3]);
        for _ in 0..100_000 {
            let x = below(&mut g, n);
            by_size[(x >> 60) as usize] += 1;
            by_rest[(x % 3) as usize] += 1;
        }
        check::even(&by_size);
        check::even(&by_rest);
        assert_eq!(below(&mut g, 0), 0);
        assert_eq!(below(&mut g, 1), 0);
    }

    #[test]
    fn blocks_are_even_and_the_last_one_is_reached() {
        for unit in [8192, 1000] {
            let mut g = Seed::root(4).generator();
            let mut counts = [0u64; 50];
            for _ in 0..100_000 {
                // A rest that is no whole block is never begun.
                let offset = pick_block(&mut g, 50 * unit + unit / 2, unit);
                assert_eq!(offset % unit, 0);
                counts[(offset / unit) as usize] += 1;
            }
            check::even(&counts);
        }
        let mut g = Seed::root(5).generator();
        let two: std::collections::BTreeSet<u64> = (0..64).map(|_| pick_block(&mut g, 8192, 4096)).collect();
        assert_eq!(two, [0, 4096].into());
    }

    #[test]
    fn what_does_not_fit_is_at_0() {
        let mut g = Seed::root(6).generator();
        for (range, unit) in [(0, 0), (100, 0), (0, 4096), (4095, 4096), (999, 1000), (4096, 4096), (1, u64::MAX)] {
            assert_eq!(pick_block(&mut g, range, unit), 0, "{range} {unit}");
        }
    }

    proptest! {
        #[test]
        fn a_block_fits(seed: u64, range: u64, shift in 0u32..64, odd: bool) {
            let unit = (1u64 << shift) + u64::from(odd);
            let offset = pick_block(&mut Seed::root(seed).generator(), range, unit);
            prop_assert_eq!(offset % unit, 0);
            prop_assert!(offset == 0 || offset <= range - unit);
        }
    }
}
