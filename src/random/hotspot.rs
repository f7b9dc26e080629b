//! A hot spot: most of the draws go to a small part of the range.

use super::rank::{N, Ranks, SCRAMBLE};
use super::stream::{Generator, below};
use super::{Data, Distribution, DistributionDef, Parameter, Spec};
use rand::RngExt;

const SHARE: Parameter =
    Parameter { name: "share", default: 80.0, help: "per cent of the draws that go to the hot part, 0 to 100" };
const OF: Parameter = Parameter {
    name: "of",
    default: 20.0,
    help: "per cent of the range that is the hot part, above 0 to 100; rounded to whole ranks, 1 at least",
};

/// Ranks 0..n, the first `of` per cent of which get `share` per cent of the draws; in each part all ranks are equally
/// likely.
pub static HOTSPOT: DistributionDef = DistributionDef {
    name: "hotspot",
    summary: "ranks from 0, a share of the draws going to the first few",
    parameters: &[SHARE, OF, N, SCRAMBLE],
    data: Data::None,
    build,
};

#[derive(Debug)]
struct Hotspot {
    share: f64,
    hot: u64,
    ranks: Ranks,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    let (share, of) = (SHARE.not_negative(spec)?, OF.above_zero(spec)?);
    for (name, x) in [("share", share), ("of", of)] {
        if x > 100.0 {
            return Err(format!("{name} is {x}; it must be 100 or less"));
        }
    }
    let ranks = Ranks::of(spec)?;
    let hot = (ranks.n as f64 * of / 100.0).round() as u64;
    // A part of the range is never all of it, unless there is only one rank.
    let most = if of < 100.0 { ranks.n.saturating_sub(1).max(1) } else { ranks.n };
    Ok(Box::new(Hotspot { share: share / 100.0, hot: hot.clamp(1, most), ranks }))
}

impl Distribution for Hotspot {
    fn sample(&self, generator: &mut Generator) -> f64 {
        let is_hot = self.hot == self.ranks.n || generator.random::<f64>() < self.share;
        self.ranks.place(if is_hot {
            below(generator, self.hot)
        } else {
            self.hot + below(generator, self.ranks.n - self.hot)
        })
    }

    fn mean(&self) -> f64 {
        let (n, hot) = (self.ranks.n as f64, self.hot as f64);
        let share = if self.hot == self.ranks.n { 1.0 } else { self.share };
        share * (hot - 1.0) / 2.0 + (1.0 - share) * (hot + n - 1.0) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check;

    #[test]
    fn follows_its_distribution() {
        for (share, of, n, hot) in [
            (80.0, 20.0, 50, 10),
            (90.0, 10.0, 10, 1),
            (99.0, 1.0, 20, 1),
            (50.0, 99.9, 20, 19),
            (0.0, 20.0, 10, 2),
            (100.0, 20.0, 10, 2),
            (10.0, 100.0, 10, 10),
            (10.0, 20.0, 1, 1),
        ] {
            let spec = Spec::new("hotspot", &[("share", share), ("of", of), ("n", f64::from(n))]);
            let cold = f64::from((n - hot).max(1));
            let hot_share = if n == hot { 1.0 } else { share / 100.0 };
            let weight = |rank| if rank < hot { hot_share / f64::from(hot) } else { (1.0 - hot_share) / cold };
            check::counts(&spec, &(0..n).map(weight).collect::<Vec<f64>>());
        }
    }

    #[test]
    fn a_scrambled_hot_part_is_as_large_and_lies_elsewhere() {
        let spec = Spec::new("hotspot", &[("share", 100.0), ("of", 20.0), ("n", 100.0), ("scramble", 1.0)]);
        let hot: std::collections::BTreeSet<u64> = check::samples(&spec, 5000).iter().map(|x| *x as u64).collect();
        assert_eq!(hot.len(), 20);
        assert!(hot.last().unwrap() - hot.first().unwrap() > 80, "{hot:?}");
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let refused = |parameters| Spec::new("hotspot", parameters).build().unwrap_err();
        assert!(refused(&[("share", 101.0)]).contains("share is 101; it must be 100 or less"));
        assert!(refused(&[("share", -1.0)]).contains("0 or more"));
        assert!(refused(&[("of", 0.0)]).contains("of is 0; it must be above 0"));
        assert!(refused(&[("of", 200.0)]).contains("100 or less"));
        assert!(refused(&[]).contains("n is missing"));
    }
}
