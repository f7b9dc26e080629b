//! What the `stats dump` of filebench 1.4 writes, in its columns and units: MB is 2^20 bytes.
//!
//! The processor time of a single flowop is not known; its column is 0, as filebench's is with `nousestats`.

use super::line_of;
use crate::record::RunRecord;
use crate::summary::{Figures, RunSummary, Summary};
use std::fmt::Write as _;

/// The figures of a line.
pub(super) struct Line {
    pub(super) label: String,
    pub(super) ops_per_s: f64,
    pub(super) mb_per_s: f64,
    pub(super) ms: f64,
}

pub(super) fn line(label: &str, figures: &Figures) -> Line {
    Line {
        label: line_of(label),
        ops_per_s: figures.ops_per_s,
        mb_per_s: figures.bytes_per_s / f64::from(1 << 20),
        ms: figures.latency.map_or(0.0, |latency| latency.mean / 1e6),
    }
}

/// In filebench's order, the reverse of the definition.
pub(super) fn lines(summary: &RunSummary) -> Vec<Line> {
    summary.rows.iter().rev().map(|row| line(&row.label, &row.figures)).collect()
}

pub(super) fn cpu_us(summary: &RunSummary) -> f64 {
    summary.total.cpu_ns_per_op.unwrap_or(0.0) / 1e3
}

/// Each run by itself.
pub(super) fn each(record: &RunRecord, block: fn(&mut String, &RunSummary)) -> String {
    let mut out = String::new();
    Summary::of(record).runs.iter().for_each(|run| block(&mut out, run));
    // A document ends in a newline, also where no run took place.
    if out.is_empty() { "\n".into() } else { out }
}

/// Columns for people.
pub(super) fn render(record: &RunRecord) -> String {
    each(record, |out, run| {
        out.push_str("Flowop totals:\n");
        for Line { label, ops_per_s, mb_per_s, ms } in lines(run) {
            let _ =
                writeln!(out, "{label:<20} {ops_per_s:8.0}ops/s {mb_per_s:5.1}mb/s {ms:8.1}ms/op {:8.0}us/op-cpu", 0.0);
        }
        let total = &run.total;
        let Line { ops_per_s, mb_per_s, .. } = line("", &total.figures);
        let _ = writeln!(
            out,
            "\nIO Summary:      {:8} ops {ops_per_s:8.1} ops/s, {:8.0}/{:.0} r/w{mb_per_s:8.1}mb/s, {:8.0}uscpu/op",
            total.figures.counts.ops,
            total.reads_per_s,
            total.writes_per_s,
            cpu_us(run),
        );
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::sample;

    #[test]
    fn the_columns_are_those_of_filebench() {
        // As in the filebench report: 1.9 and 0.5 MiB/s, 2.4 in all; 180 us of processor time for 6 operations.
        assert_eq!(
            render(&sample()),
            "Flowop totals:\n\
             delay1                      2ops/s   0.0mb/s      1.0ms/op        0us/op-cpu\n\
             reader.large.read1          1ops/s   0.5mb/s      0.0ms/op        0us/op-cpu\n\
             reader.small.read1          2ops/s   1.9mb/s      0.2ms/op        0us/op-cpu\n\
             \n\
             IO Summary:             6 ops      3.0 ops/s,        3/0 r/w     2.4mb/s,       30uscpu/op\n"
        );
    }
}
