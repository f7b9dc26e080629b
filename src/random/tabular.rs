//! Numbers drawn from a table of ranges, each with its share.

use super::stream::Generator;
use super::{Data, Distribution, DistributionDef, Parameter, Spec, usable};
use rand::RngExt;

const MIN: Parameter = Parameter { name: "min", default: 0.0, help: "what the table's least number becomes" };
const MEAN: Parameter =
    Parameter { name: "mean", default: 0.0, help: "what the table's mean becomes; 0 leaves it as it is" };

/// A row is chosen by its share, then a number of [low, high) with the same chance for each, then rescaled as in
/// filebench: with T the least `low` of the table (rows of no share count too) and M its mean,
/// (x - T) / (M - T) * (mean - min) + min. So the table stands as it is written only where `min` is its T.
pub static TABULAR: DistributionDef = DistributionDef {
    name: "tabular",
    summary: "ranges of a table, each with its share in per cent",
    parameters: &[MIN, MEAN],
    data: Data::Table,
    build,
};

/// A row, ready to draw from: for a point of [start, end), the number is `low + slope * (point - start)`.
#[derive(Debug)]
struct Segment {
    start: f64,
    end: f64,
    low: f64,
    slope: f64,
}

#[derive(Debug)]
struct Tabular {
    // At least one; ends ascend, and none is empty.
    segments: Box<[Segment]>,
    mean: f64,
}

fn build(spec: &Spec) -> Result<Box<dyn Distribution>, String> {
    for (row, number) in spec.table.iter().zip(1..) {
        for (name, x) in [("percent", row.percent), ("low", row.low), ("high", row.high)] {
            usable(name, x).map_err(|problem| format!("row {number} of the table: {problem}"))?;
        }
        if row.percent < 0.0 {
            return Err(format!("row {number} of the table: percent is {}; it must be 0 or more", row.percent));
        }
        if row.low > row.high {
            return Err(format!("row {number} of the table: low, {}, is above high, {}", row.low, row.high));
        }
    }
    let sum: f64 = spec.table.iter().map(|row| row.percent).sum();
    // Shares such as a third are not exact in binary, nor is their sum.
    if (sum - 100.0).abs() > 1e-6 {
        return Err(format!("the percents of the table sum to {sum}; they must sum to 100"));
    }
    let least = spec.table.iter().map(|row| row.low).fold(f64::INFINITY, f64::min);
    let min = MIN.of(spec);
    // Means are counted from their least number, so that a table which is not to be stretched has a scale of just 1,
    // and one of a single number a mean of just 0.
    let above_least: f64 =
        spec.table.iter().map(|row| row.percent / sum * ((row.low - least) + (row.high - least)) / 2.0).sum();
    let (above_min, whose) = match MEAN.of(spec) {
        0.0 => (least - min + above_least, "mean of the table"),
        given => (given - min, "mean"),
    };
    let scale = if above_least > 0.0 { above_min / above_least } else { 0.0 };
    if scale < 0.0 {
        return Err(format!("{whose}, {}, is below min, {min}", min + above_min));
    }
    if !scale.is_finite() {
        return Err(format!("the table is too narrow to be scaled to a mean of {}", min + above_min));
    }
    let mut segments = Vec::new();
    let mut start = 0.0;
    for row in spec.table.iter().filter(|row| row.percent > 0.0) {
        let (low, end) = (min + scale * (row.low - least), start + row.percent);
        segments.push(Segment { start, end, low, slope: scale * (row.high - row.low) / row.percent });
        start = end;
    }
    Ok(Box::new(Tabular { segments: segments.into(), mean: min + scale * above_least }))
}

impl Distribution for Tabular {
    fn sample(&self, generator: &mut Generator) -> f64 {
        let point = 100.0 * generator.random::<f64>();
        // The last row takes what rounding of the ends leaves over.
        let index = self.segments.partition_point(|segment| segment.end <= point).min(self.segments.len() - 1);
        let segment = &self.segments[index];
        segment.low + segment.slope * (point - segment.start)
    }

    fn mean(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Row, check};

    fn table(rows: &[(f64, f64, f64)], parameters: &[(&str, f64)]) -> Spec {
        let table = rows.iter().map(|(percent, low, high)| Row { percent: *percent, low: *low, high: *high }).collect();
        Spec { table, ..Spec::new("tabular", parameters) }
    }

    #[test]
    fn stands_as_written_where_min_is_its_least() {
        // 25 % in 0..10, nothing in 10..20, 75 % in 20..40.
        let rows = [(25.0, 0.0, 10.0), (75.0, 20.0, 40.0)];
        let cdf = |x: f64| if x < 10.0 { x / 40.0 } else { 0.25 + 0.75 * ((x - 20.0) / 20.0).max(0.0) };
        check::follows(&table(&rows, &[]), cdf);
        check::follows(&table(&[(100.0, 10.0, 20.0)], &[("min", 10.0)]), |x| (x - 10.0) / 10.0);
    }

    #[test]
    fn is_stretched_to_min_and_mean() {
        // T = 10 and M = 15, so 10..20 becomes 0..30 by min = 0, and 4..36 by min = 4 and mean = 20.
        check::follows(&table(&[(100.0, 10.0, 20.0)], &[]), |x| x / 30.0);
        check::follows(&table(&[(100.0, 10.0, 20.0)], &[("min", 4.0), ("mean", 20.0)]), |x| (x - 4.0) / 32.0);
        // A row that is never drawn still moves the least number: T = 0.
        check::follows(&table(&[(100.0, 10.0, 20.0), (0.0, 0.0, 5.0)], &[]), |x| (x - 10.0) / 10.0);
    }

    #[test]
    fn one_number_only_becomes_min() {
        check::constant(&table(&[(100.0, 8192.0, 8192.0)], &[]), 0.0);
        check::constant(&table(&[(60.0, 7.0, 7.0), (40.0, 7.0, 7.0)], &[("min", 5.0), ("mean", 9.0)]), 5.0);
    }

    #[test]
    fn shares_that_do_not_sum_to_100_are_refused_with_their_sum() {
        let refused = |rows: &[(f64, f64, f64)], parameters| table(rows, parameters).build().unwrap_err();
        let text = refused(&[(50.0, 1.0, 2.0), (40.0, 2.0, 3.0)], &[]);
        assert_eq!(text, "tabular distribution: the percents of the table sum to 90; they must sum to 100");
        assert!(refused(&[(60.0, 1.0, 2.0), (60.0, 2.0, 3.0)], &[]).contains("sum to 120"));
        assert!(refused(&[(0.0, 1.0, 2.0)], &[]).contains("sum to 0;"));
        table(&[(100.0 / 3.0, 1.0, 2.0); 3], &[]).build().unwrap();
        check::constant(&table(&[(100.0 / 3.0, 7.0, 7.0); 3], &[("min", 7.0)]), 7.0);
        table(&[(0.1, 1.0, 2.0), (99.9, 1.0, 2.0)], &[]).build().unwrap();
    }

    #[test]
    fn rows_out_of_range_are_refused_by_number() {
        let refused = |rows: &[(f64, f64, f64)], parameters| table(rows, parameters).build().unwrap_err();
        assert!(refused(&[(100.0, 1.0, 2.0), (0.0, 3.0, 2.0)], &[]).contains("row 2 of the table: low, 3, is above"));
        assert!(refused(&[(-10.0, 1.0, 2.0), (110.0, 1.0, 2.0)], &[]).contains("row 1 of the table: percent is -10"));
        assert!(refused(&[(100.0, f64::NAN, 2.0)], &[]).contains("low is NaN"));
        assert!(refused(&[(100.0, 0.0, 10.0)], &[("min", 6.0)]).contains("mean of the table, 5, is below min, 6"));
        assert!(refused(&[(100.0, 0.0, 10.0)], &[("min", 6.0), ("mean", 4.0)]).contains("mean, 4, is below min, 6"));
        assert!(refused(&[], &[]).contains("it needs a table"));
        let stray = Spec { table: table(&[(100.0, 1.0, 2.0)], &[]).table, ..Spec::new("gamma", &[]) };
        assert_eq!(stray.build().unwrap_err(), "gamma distribution: it takes no table");
    }
}
