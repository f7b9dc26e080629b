//! The figures that reports have a column for: what each is called, its unit and its digits, written once.

use super::{Figures, Latency};
use crate::units;
use std::fmt;

/// A figure of a flowop or a total.
pub struct Metric {
    /// Where the JSON document has it in an entry of `flowops` and in `total`, a dot for each step down.
    pub name: &'static str,
    /// What stands above its column.
    pub header: &'static str,
    /// The unit of the number in the JSON document.
    pub unit: &'static str,
    /// One line for people.
    pub help: &'static str,
    /// What an `assert` compares it with.
    pub limit: Limit,
    /// True where the text report has a column for it.
    pub in_table: bool,
    /// Its value.
    pub value: fn(&Figures) -> Cell,
}

/// What an `assert` compares a figure with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A whole number.
    Count,
    /// A number.
    Rate,
    /// A time with its unit.
    Time,
}

impl Metric {
    /// What an `assert` may call it: the last part of its name, and what stands above its column.
    pub fn spellings(&self) -> impl Iterator<Item = &'static str> {
        let last = self.name.rsplit('.').next().unwrap_or(self.name);
        std::iter::once(last).chain((self.header != last).then_some(self.header))
    }
}

/// A figure as an `assert` names it.
#[derive(Clone, Copy)]
pub struct Asserted {
    /// Which.
    pub metric: &'static Metric,
    /// The unit of its limit.
    pub unit: &'static str,
    /// Makes a number of that unit of one of the JSON document.
    pub(super) divisor: f64,
}

/// The metric with this spelling. `MB/s` counts 10^6 bytes, as its column does.
pub fn asserted(spelling: &str) -> Option<Asserted> {
    let metric = METRICS.iter().find(|metric| metric.spellings().any(|known| known == spelling))?;
    Some(match spelling {
        "MB/s" => Asserted { metric, unit: "MB per second", divisor: 1e6 },
        _ => Asserted { metric, unit: metric.unit, divisor: 1.0 },
    })
}

/// A value, which knows how it is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// There is none: no operation has finished.
    Empty,
    /// A number of things.
    Count(u64),
    /// Things per second.
    PerSecond(f64),
    /// Bytes per second, shown in 10^6; nothing is shown where no byte was moved.
    BytesPerSecond(f64),
    /// A time in nanoseconds, shown in the unit that leaves three digits.
    Nanos(u64),
}

impl Cell {
    /// The number itself, in the unit of [`Metric::unit`].
    pub fn number(self) -> Option<f64> {
        match self {
            Cell::Empty => None,
            Cell::Count(n) | Cell::Nanos(n) => Some(n as f64),
            Cell::PerSecond(x) | Cell::BytesPerSecond(x) => Some(x),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cell::Empty => f.write_str("-"),
            Cell::Count(n) => write!(f, "{n}"),
            Cell::PerSecond(x) => f.write_str(&decimal(x)),
            Cell::BytesPerSecond(0.0) => f.write_str("-"),
            Cell::BytesPerSecond(x) => f.write_str(&decimal(x / 1e6)),
            Cell::Nanos(n) => f.write_str(&units::duration(n)),
        }
    }
}

/// One decimal, as it lines up in a column; three below 1, where one would leave next to nothing of the figure.
fn decimal(x: f64) -> String {
    if x > 0.0 && x < 0.9995 { format!("{x:.3}") } else { format!("{x:.1}") }
}

/// In the order of the columns.
pub static METRICS: &[Metric] = &[
    Metric {
        name: "ops",
        header: "ops",
        unit: "operations",
        help: "operations that finished in the measured window",
        limit: Limit::Count,
        in_table: true,
        value: |f| Cell::Count(f.counts.ops),
    },
    Metric {
        name: "ops_per_s",
        header: "ops/s",
        unit: "operations per second",
        help: "operations divided by the length of the measured window",
        limit: Limit::Rate,
        in_table: true,
        value: |f| Cell::PerSecond(f.ops_per_s),
    },
    Metric {
        name: "bytes_per_s",
        header: "MB/s",
        unit: "bytes per second",
        help: "bytes read and written, divided by the length of the measured window; MB is 10^6 bytes",
        limit: Limit::Rate,
        in_table: true,
        value: |f| Cell::BytesPerSecond(f.bytes_per_s),
    },
    Metric {
        name: "errors",
        header: "errors",
        unit: "operations",
        help: "failed operations; a flowop's entry in the JSON document has them by the error's name",
        limit: Limit::Count,
        in_table: false,
        value: |f| Cell::Count(f.counts.error_count()),
    },
    Metric {
        name: "latency_ns.mean",
        header: "mean",
        unit: "ns",
        help: "mean latency",
        limit: Limit::Time,
        in_table: true,
        value: |f| nanos(f, |l| l.mean.round() as u64),
    },
    Metric {
        name: "latency_ns.stddev",
        header: "stddev",
        unit: "ns",
        help: "standard deviation of the latency",
        limit: Limit::Time,
        in_table: false,
        value: |f| nanos(f, |l| l.stddev.round() as u64),
    },
    Metric {
        name: "latency_ns.p50",
        header: "p50",
        unit: "ns",
        help: "median latency: half of the operations took at most this",
        limit: Limit::Time,
        in_table: true,
        value: |f| nanos(f, |l| l.p50),
    },
    Metric {
        name: "latency_ns.p90",
        header: "p90",
        unit: "ns",
        help: "90 % of the operations took at most this",
        limit: Limit::Time,
        in_table: false,
        value: |f| nanos(f, |l| l.p90),
    },
    Metric {
        name: "latency_ns.p95",
        header: "p95",
        unit: "ns",
        help: "95 % of the operations took at most this",
        limit: Limit::Time,
        in_table: true,
        value: |f| nanos(f, |l| l.p95),
    },
    Metric {
        name: "latency_ns.p99",
        header: "p99",
        unit: "ns",
        help: "99 % of the operations took at most this",
        limit: Limit::Time,
        in_table: true,
        value: |f| nanos(f, |l| l.p99),
    },
    Metric {
        name: "latency_ns.p99_9",
        header: "p99.9",
        unit: "ns",
        help: "99.9 % of the operations took at most this",
        limit: Limit::Time,
        in_table: true,
        value: |f| nanos(f, |l| l.p99_9),
    },
    Metric {
        name: "latency_ns.p99_99",
        header: "p99.99",
        unit: "ns",
        help: "99.99 % of the operations took at most this",
        limit: Limit::Time,
        in_table: false,
        value: |f| nanos(f, |l| l.p99_99),
    },
    Metric {
        name: "latency_ns.min",
        header: "min",
        unit: "ns",
        help: "the shortest operation",
        limit: Limit::Time,
        in_table: true,
        value: |f| nanos(f, |l| l.min),
    },
    Metric {
        name: "latency_ns.max",
        header: "max",
        unit: "ns",
        help: "the longest operation",
        limit: Limit::Time,
        in_table: true,
        value: |f| nanos(f, |l| l.max),
    },
];

fn nanos(figures: &Figures, of: fn(&Latency) -> u64) -> Cell {
    figures.latency.as_ref().map_or(Cell::Empty, |latency| Cell::Nanos(of(latency)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_what_can_be_read() {
        assert_eq!(Cell::Empty.to_string(), "-");
        assert_eq!(Cell::PerSecond(54_477.64).to_string(), "54477.6");
        assert_eq!(Cell::PerSecond(0.0).to_string(), "0.0");
        assert_eq!(Cell::PerSecond(0.016_667).to_string(), "0.017");
        assert_eq!(Cell::PerSecond(0.9996).to_string(), "1.0");
        assert_eq!(Cell::BytesPerSecond(0.0).to_string(), "-");
        assert_eq!(Cell::BytesPerSecond(651_300_000.0).to_string(), "651.3");
        assert_eq!(Cell::Nanos(2_200_000).to_string(), "2.20 ms");
    }

    #[test]
    fn names_and_headers_are_unique() {
        let spellings: Vec<&str> = METRICS.iter().flat_map(Metric::spellings).collect();
        let distinct: std::collections::BTreeSet<&str> = spellings.iter().copied().collect();
        assert_eq!(distinct.len(), spellings.len());
        for (at, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[at + 1..].iter().all(|m| m.name != metric.name && m.header != metric.header));
        }
    }
}
