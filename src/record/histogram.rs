//! A latency histogram with exact count, sum, sum of squares, least and greatest.

use hdrhistogram::serialization::Serializer;
use serde::{Deserialize, Serialize};

/// Number of linear steps in each power of two: a bucket is at most 1/128 of its value wide, so the value that stands
/// for it is within 0.4 % of each value in it. The layout is HdrHistogram's with two significant digits
/// (`sub_bucket_count` 256), so nothing is lost between the two.
const HALF_STEPS: u64 = 128;
const HALF_BITS: u32 = HALF_STEPS.trailing_zeros();

/// The longest latency with a bucket of its own, 2^43 ns or 2.4 hours; longer ones are counted in the last bucket and
/// are exact in `max` and `sum`.
pub const LONGEST_NS: u64 = (1 << 43) - 1;

/// Number of buckets.
pub const BUCKETS: usize = bucket(LONGEST_NS) + 1;

/// The bucket of a latency.
pub const fn bucket(nanos: u64) -> usize {
    let nanos = if nanos > LONGEST_NS { LONGEST_NS } else { nanos };
    let bits = 64 - (nanos | (2 * HALF_STEPS - 1)).leading_zeros();
    let shift = bits - (HALF_BITS + 1);
    (shift as usize * HALF_STEPS as usize) + (nanos >> shift) as usize
}

/// The least latency of a bucket.
pub const fn lowest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * HALF_STEPS {
        return bucket;
    }
    let shift = bucket / HALF_STEPS - 1;
    (bucket - shift * HALF_STEPS) << shift
}

/// Latencies of many operations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// Number of operations.
    pub count: u64,
    /// Sum of the latencies in nanoseconds.
    pub sum_ns: u64,
    /// Sum of their squares.
    pub sum_squares: u128,
    /// The least; 0 where there is none.
    pub min_ns: u64,
    /// The greatest; 0 where there is none.
    pub max_ns: u64,
    /// Operations by [`bucket`]; shorter than [`BUCKETS`] where the rest is 0.
    pub buckets: Vec<u64>,
}

impl Histogram {
    /// Counts one operation.
    pub fn record(&mut self, nanos: u64) {
        let at = bucket(nanos);
        if self.buckets.len() <= at {
            self.buckets.resize(at + 1, 0);
        }
        self.buckets[at] += 1;
        self.min_ns = if self.count == 0 { nanos } else { self.min_ns.min(nanos) };
        self.max_ns = self.max_ns.max(nanos);
        self.count += 1;
        self.sum_ns += nanos;
        self.sum_squares += u128::from(nanos) * u128::from(nanos);
    }

    /// Adds another's operations; the order of merges does not matter.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_squares += other.sum_squares;
    }

    /// Mean latency in nanoseconds; none where there is no operation.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Standard deviation (of the population) in nanoseconds; none where there is no operation.
    pub fn stddev_ns(&self) -> Option<f64> {
        // n * sum(x^2) - sum(x)^2 in whole numbers: no digit is lost where the latencies are alike.
        let n = u128::from(self.count);
        let sum = u128::from(self.sum_ns);
        let spread = n.checked_mul(self.sum_squares)?.checked_sub(sum * sum)?;
        (n > 0).then(|| (spread as f64).sqrt() / self.count as f64)
    }

    /// The latency that `percent` of the operations did not exceed (nearest rank), never outside min and max; none
    /// where there is no operation.
    ///
    /// Within a bucket the middle stands for all; the error is at most 0.4 %.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        // In whole numbers: 99.9 / 100 * 1000 is a little more than 999 in floating point, one rank too high.
        let thousandths = (percent * 1000.0).round() as u128;
        let rank = (thousandths * u128::from(self.count)).div_ceil(100_000) as u64;
        let rank = rank.clamp(1, self.count.max(1));
        let mut seen = 0;
        for (at, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let middle = lowest(at) + (lowest(at + 1) - lowest(at)) / 2;
                return Some(middle.clamp(self.min_ns, self.max_ns));
            }
        }
        None
    }

    /// Operations by power of two: number i has those of at least 2^(i-1) ns and less than 2^i, number 0 those of 0 ns.
    pub fn by_power_of_two(&self) -> [u64; 64] {
        let mut counts = [0; 64];
        for (at, count) in self.buckets.iter().enumerate() {
            // A power of two begins a bucket, so none is in two of these.
            counts[64 - lowest(at).leading_zeros() as usize] += count;
        }
        counts
    }

    /// As HdrHistogram's, with the same buckets.
    pub fn to_hdr(&self) -> hdrhistogram::Histogram<u64> {
        let mut hdr =
            hdrhistogram::Histogram::new_with_bounds(1, LONGEST_NS, 2).expect("the bounds are constants that fit");
        for (at, count) in self.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            hdr.record_n(lowest(at), *count).expect("each bucket is within the bounds");
        }
        hdr
    }
}

/// On disk: the exact figures, and the buckets in HdrHistogram's own compressed form (V2, base64), which its readers
/// in other languages take.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Stored {
    /// Number of operations.
    count: u64,
    /// Sum of the latencies.
    sum_ns: u64,
    /// Sum of their squares, a whole number of up to 128 bits.
    sum_squares: String,
    /// The least; 0 where there is none.
    min_ns: u64,
    /// The greatest; 0 where there is none.
    max_ns: u64,
    /// The buckets in HdrHistogram's compressed form, V2, as base64.
    hdr: String,
}

#[cfg(test)]
impl schemars::JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Stored::json_schema(generator)
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        hdrhistogram::serialization::V2DeflateSerializer::new()
            .serialize(&self.to_hdr(), &mut bytes)
            .map_err(|e| serde::ser::Error::custom(format!("histogram: {e:?}")))?;
        Stored {
            count: self.count,
            sum_ns: self.sum_ns,
            sum_squares: self.sum_squares.to_string(),
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            hdr: base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &bytes),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let stored = Stored::deserialize(deserializer)?;
        let bytes =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, &stored.hdr).map_err(Error::custom)?;
        let hdr: hdrhistogram::Histogram<u64> = hdrhistogram::serialization::Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| Error::custom(format!("histogram: {e:?}")))?;
        let mut buckets = Vec::new();
        for step in hdr.iter_recorded() {
            let at = bucket(hdr.lowest_equivalent(step.value_iterated_to()));
            if buckets.len() <= at {
                buckets.resize(at + 1, 0);
            }
            buckets[at] += step.count_at_value();
        }
        Ok(Histogram {
            count: stored.count,
            sum_ns: stored.sum_ns,
            sum_squares: stored.sum_squares.parse().map_err(Error::custom)?,
            min_ns: stored.min_ns,
            max_ns: stored.max_ns,
            buckets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut h = Histogram::default();
        values.iter().for_each(|v| h.record(*v));
        h
    }

    #[test]
    fn buckets_are_contiguous_and_narrow() {
        for at in 0..BUCKETS - 1 {
            assert_eq!(bucket(lowest(at)), at);
            assert_eq!(bucket(lowest(at + 1) - 1), at);
            let width = lowest(at + 1) - lowest(at);
            assert!(width == 1 || width * 128 <= lowest(at), "bucket {at}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn an_empty_histogram_has_no_figures() {
        let h = Histogram::default();
        assert_eq!((h.mean_ns(), h.stddev_ns(), h.percentile_ns(50.0)), (None, None, None));
    }

    #[test]
    fn equal_latencies_have_no_spread_and_exact_percentiles() {
        let h = of(&[123_456_789; 1000]);
        assert_eq!(h.stddev_ns(), Some(0.0));
        assert_eq!(h.percentile_ns(99.9), Some(123_456_789));
    }

    #[test]
    fn the_rank_is_exact_at_every_count() {
        for count in 1..=3000u64 {
            // Single nanoseconds up to 255 have buckets of their own: the value is the rank.
            let mut h = Histogram { count, max_ns: 255, buckets: vec![0; 256], ..Histogram::default() };
            let rank = (count * 999).div_ceil(1000);
            h.buckets[1] = rank - 1;
            h.buckets[2] = 1;
            h.buckets[3] = count - rank;
            assert_eq!(h.percentile_ns(99.9), Some(2), "{count}");
        }
    }

    #[test]
    fn powers_of_two_have_their_own() {
        let counts = of(&[0, 1, 2, 3, 4, 1023, 1024, 1 << 40, (1 << 41) - 1]).by_power_of_two();
        let expected = [(0, 1), (1, 1), (2, 2), (3, 1), (10, 1), (11, 1), (41, 2)];
        let found: Vec<(usize, u64)> = counts.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_bucket_up_to_an_hour_is_within_one_per_cent_of_all_in_it() {
        let hour = bucket(3_600_000_000_000);
        assert!(hour < BUCKETS - 1);
        for at in 1..=hour {
            let (low, high) = (lowest(at), lowest(at + 1) - 1);
            assert_eq!((bucket(low), bucket(high)), (at, at));
            let shown = low + (high + 1 - low) / 2;
            assert!((shown - low) * 100 <= low && high.abs_diff(shown) * 100 <= high, "{low} to {high} as {shown}");
        }
    }

    #[test]
    fn hours_do_not_saturate_silently() {
        let h = of(&[10, 4 * LONGEST_NS]);
        assert_eq!(h.max_ns, 4 * LONGEST_NS);
        assert_eq!(h.percentile_ns(100.0).unwrap() * 100 / LONGEST_NS, 99);
        assert_eq!(h.count, 2);
    }

    fn latency() -> impl Strategy<Value = u64> {
        (0u32..43).prop_flat_map(|bits| 0..(2u64 << bits)).prop_map(|v| v.min(LONGEST_NS))
    }

    proptest! {
        #[test]
        fn percentiles_are_within_one_per_cent_of_the_sorted_list(
            mut values in prop::collection::vec(latency(), 1..300),
            percent in 0.1f64..100.0,
        ) {
            let h = of(&values);
            values.sort_unstable();
            let percent = (percent * 1000.0).round() / 1000.0;
            let rank = ((percent * 1000.0).round() as usize * values.len()).div_ceil(100_000).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let shown = h.percentile_ns(percent).unwrap() as f64;
            prop_assert!((shown - exact).abs() <= exact * 0.01 + 0.5, "{} is not near {}", shown, exact);
        }

        #[test]
        fn mean_and_deviation_agree_with_the_definition(values in prop::collection::vec(0u64..1 << 40, 1..100)) {
            let h = of(&values);
            let mean = values.iter().map(|v| *v as f64).sum::<f64>() / values.len() as f64;
            let var = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / values.len() as f64;
            prop_assert!((h.mean_ns().unwrap() - mean).abs() <= mean * 1e-9);
            prop_assert!((h.stddev_ns().unwrap() - var.sqrt()).abs() <= var.sqrt() * 1e-6 + 1e-3);
        }

        #[test]
        fn merging_does_not_depend_on_the_order(a in prop::collection::vec(latency(), 0..50), b in prop::collection::vec(latency(), 0..50)) {
            let (mut ab, mut ba) = (of(&a), of(&b));
            ab.merge(&of(&b));
            ba.merge(&of(&a));
            prop_assert_eq!(&ab, &ba);
            let both: Vec<u64> = a.into_iter().chain(b).collect();
            prop_assert_eq!(ab, of(&both));
        }

        #[test]
        fn what_is_stored_comes_back(values in prop::collection::vec(latency(), 0..100)) {
            let h = of(&values);
            let text = serde_json::to_string(&h).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), h);
        }
    }
}
