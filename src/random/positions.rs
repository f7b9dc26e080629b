//! One of a set of offsets that were drawn once: filebench's position set.

use super::stream::{Generator, Seed, below};
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand::Rng;

/// Positions are multiples of this.
const UNIT: u64 = 512;

/// Whole numbers up to here are exact as floating point.
const EXACT: f64 = 9_007_199_254_740_992.0;

const ENTRIES: Parameter = Parameter { name: "entries", default: 512.0, help: "number of positions, 1 or more" };
const LAST: Parameter = Parameter { name: "last", default: 1_048_576.0, help: "the greatest position, 0 or more" };
const KEY: Parameter = Parameter { name: "key", default: 0.0, help: "which positions are drawn, 0 or more" };

/// The positions are a function of `key` and their number in the set, so no set is kept in memory: it may have any size,
/// and all threads have the same one.
pub static POSITIONS: DistributionDef = DistributionDef {
    name: "positions",
    summary: "one of a fixed set of multiples of 512, drawn once up to `last` (define posset)",
    parameters: &[ENTRIES, LAST, KEY],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Positions {
    entries: u64,
    /// Multiples of [`UNIT`] up to `last`.
    places: u64,
    seed: Seed,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let whole = |parameter: Parameter, least: f64| {
        let x = parameter.of(spec);
        if x.fract() == 0.0 && (least..EXACT).contains(&x) {
            Ok(x as u64)
        } else {
            Err(format!("{} is {x}; it must be a whole number of {least} or more, and below 2^53", parameter.name))
        }
    };
    let (entries, last, key) = (whole(ENTRIES, 1.0)?, whole(LAST, 0.0)?, whole(KEY, 0.0)?);
    Ok(Box::new(Positions { entries, places: last / UNIT + 1, seed: Seed::root(key) }))
}

impl Positions {
    fn position(&self, number: u64) -> u64 {
        below(&mut self.seed.index(number).generator(), self.places) * UNIT
    }
}

impl Distribution for Positions {
    fn sample(&self, generator: &mut Generator) -> f64 {
        self.position(below(generator, self.entries)) as f64
    }

    /// Of all sets with this `last`; that of one set of many positions is near it.
    fn mean(&self) -> f64 {
        ((self.places - 1) * UNIT) as f64 / 2.0
    }
}

/// The `key` of a set of the workload.
pub fn key(seed: u64, name: &str, own: u64) -> f64 {
    // As many bits as are exact.
    (Seed::root(seed).child("posset").child(name).index(own).generator().next_u64() >> 11) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;
    use std::collections::BTreeMap;

    fn drawn(entries: f64, last: f64, key: f64, stream: u64, count: usize) -> Vec<u64> {
        let spec = Spec::new("positions", &[("entries", entries), ("last", last), ("key", key)]);
        let mut sampler = spec.sampler(Seed::root(stream)).unwrap();
        (0..count).map(|_| sampler.whole()).collect()
    }

    #[test]
    fn a_set_has_its_members_and_each_is_as_likely() {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        drawn(20.0, 1e12, 7.0, 1, 20_000).into_iter().for_each(|at| *counts.entry(at).or_default() += 1);
        assert_eq!(counts.len(), 20);
        assert!(counts.keys().all(|at| at % 512 == 0 && *at <= 1_000_000_000_000));
        check::even(&counts.values().copied().collect::<Vec<_>>());
        // Another thread has the same set; another key has another.
        assert!(drawn(20.0, 1e12, 7.0, 2, 100).iter().all(|at| counts.contains_key(at)));
        assert!(drawn(20.0, 1e12, 8.0, 1, 100).iter().all(|at| !counts.contains_key(at)));
    }

    #[test]
    fn positions_are_even_over_the_whole_range_both_ends_included() {
        let mut counts = [0; 9];
        // More entries than draws: nearly each draw is another position.
        drawn(4e9, 4096.0, 3.0, 1, 50_000).into_iter().for_each(|at| counts[at as usize / 512] += 1);
        check::even(&counts);
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for (name, x) in [("entries", 0.0), ("entries", 1.5), ("last", -1.0), ("last", 1e16)] {
            assert!(Spec::new("positions", &[(name, x)]).build().unwrap_err().contains(name), "{name} {x}");
        }
        assert_ne!(key(1, "a", 0), key(1, "b", 0));
        assert_ne!(key(1, "a", 0), key(1, "a", 1));
        assert_ne!(key(1, "a", 0), key(2, "a", 0));
    }
}
