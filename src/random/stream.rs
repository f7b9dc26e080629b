//! Streams of random numbers that repeat with the seed, one for each user of randomness.

use rand::SeedableRng;

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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

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
}
