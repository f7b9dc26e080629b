//! What the `stats multidump` of filebench 1.4 writes: the figures of `stats dump` between tabs.

use super::dump::{Line, cpu_us, each, line, lines};
use crate::record::RunRecord;
use std::fmt::Write as _;

/// Tabs between the columns.
pub(super) fn render(record: &RunRecord) -> String {
    each(record, |out, run| {
        for Line { label, ops_per_s, mb_per_s, ms } in lines(run) {
            let _ = writeln!(out, "{label}\t{ops_per_s:.0}\t{mb_per_s:.1}\t{ms:.1}\t{:.0}", 0.0);
        }
        let total = &run.total;
        let Line { ops_per_s, mb_per_s, ms, .. } = line("", &total.figures);
        let _ = writeln!(
            out,
            "IO Summary:\t{}\t{ops_per_s:.1}\t{:.0}\t{:.0}\t{mb_per_s:.1}\t{:.0}\t{ms:.1}",
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
    fn each_line_has_its_figures_between_tabs() {
        assert_eq!(
            render(&sample()),
            "delay1\t2\t0.0\t1.0\t0\n\
             reader.large.read1\t1\t0.5\t0.0\t0\n\
             reader.small.read1\t2\t1.9\t0.2\t0\n\
             IO Summary:\t6\t3.0\t3\t0\t2.4\t30\t0.2\n"
        );
    }
}
