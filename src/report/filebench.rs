//! The lines that filebench 1.5 prints, for the scripts that read them, in its columns and units: MB is 2^20 bytes,
//! `rd/wr` are operations per second, the order is the reverse of the definition.
//!
//! Where filebench's figures are wrong, these are not:
//!
//! - Several flowops of one name: filebench adds all to one line and shows zeros in the others; here each has its own
//!   line, under `process.thread.name`.
//! - filebench counts opening a file on behalf of a read or write as one more of these; here it is in no figure.
//! - The least latency of a flowop with an idle instance is that of its operations, not 0.
//!
//! The seconds at the start of a line are those since the run began; filebench counts from the start of the program.

use super::{ending, line_of, plural};
use crate::record::{Run, RunRecord};
use crate::summary::{Figures, IntervalFigures, PeriodSummary, RunSummary, Summary, periods};
use std::fmt::Write as _;

/// The whole report.
pub(super) fn render(record: &RunRecord) -> String {
    // Not `Filebench Version`, as it is none.
    let mut out = format!("wlrun {}\n", line_of(&record.wlrun));
    for (run, summary) in record.runs.iter().zip(Summary::of(record).runs) {
        block(&mut out, run, &summary);
    }
    out
}

fn block(out: &mut String, run: &Run, summary: &RunSummary) {
    let seconds = run.elapsed_ns as f64 / 1e9;
    if run.period_ns.is_some() {
        periods_of(out, run, summary);
    }
    let _ = writeln!(out, "{seconds:.3}: Run took {seconds:.0} seconds...");
    for line in ending(run) {
        let _ = writeln!(out, "{seconds:.3}: {line}");
    }
    let errors = summary.total.figures.counts.error_count();
    if errors > 0 {
        let _ = writeln!(out, "{seconds:.3}: {} failed", plural(errors, "operation", "operations"));
    }
    let _ = writeln!(out, "{seconds:.3}: Per-Operation Breakdown");
    for (row, flowop) in summary.rows.iter().zip(&run.flowops).rev() {
        let f = &row.figures;
        let (min, max) = f.latency.map_or((0, 0), |l| (l.min, l.max));
        let _ = write!(
            out,
            "{:<20} {}ops {:8.0}ops/s {:5.1}mb/s {:8.3}ms/op [{:.3}ms - {:5.3}ms]",
            line_of(&row.label),
            f.counts.ops,
            f.ops_per_s,
            mb_per_s(f),
            mean_ms(f),
            min as f64 / 1e6,
            max as f64 / 1e6,
        );
        if run.lathist {
            let counts: String = flowop.histogram.by_power_of_two().iter().map(|count| format!("{count} ")).collect();
            let _ = write!(out, "\t[ {counts}]");
        }
        out.push('\n');
    }
    let total = &summary.total;
    let _ = writeln!(
        out,
        "{seconds:.3}: IO Summary: {:5} ops {:5.3} ops/s {:.0}/{:.0} rd/wr {:5.1}mb/s {:5.3}ms/op",
        total.figures.counts.ops,
        total.figures.ops_per_s,
        total.reads_per_s,
        total.writes_per_s,
        mb_per_s(&total.figures),
        mean_ms(&total.figures),
    );
}

/// A psrun has a block each period. The ranges of single flowops are known for the whole run only.
fn periods_of(out: &mut String, run: &Run, summary: &RunSummary) {
    let mb_per_s = |figures: &IntervalFigures| figures.bytes_per_s / f64::from(1 << 20);
    let mean_ms = |figures: &IntervalFigures| figures.latency_mean_ns.unwrap_or(0.0) / 1e6;
    for PeriodSummary { end_ns, figures, .. } in periods(run) {
        let at = end_ns as f64 / 1e9;
        let _ = writeln!(out, "{at:.3}: Per-Operation Breakdown");
        for (row, f) in summary.rows.iter().zip(&figures.rows).rev() {
            let _ = writeln!(
                out,
                "{:<20} {}ops {:8.0}ops/s {:5.1}mb/s {:8.3}ms/op",
                line_of(&row.label),
                f.counts.ops,
                f.ops_per_s,
                mb_per_s(f),
                mean_ms(f),
            );
        }
        let _ = writeln!(
            out,
            "{at:.3}: IO Summary: {:5} ops {:5.3} ops/s {:.0}/{:.0} rd/wr {:5.1}mb/s {:5.3}ms/op",
            figures.total.counts.ops,
            figures.total.ops_per_s,
            figures.reads_per_s,
            figures.writes_per_s,
            mb_per_s(&figures.total),
            mean_ms(&figures.total),
        );
    }
}

fn mb_per_s(figures: &Figures) -> f64 {
    figures.bytes_per_s / f64::from(1 << 20)
}

fn mean_ms(figures: &Figures) -> f64 {
    figures.latency.map_or(0.0, |l| l.mean / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Ended, FlowopClass};
    use crate::summary::sample::{flowop, idle, sample};

    #[test]
    fn the_sample() {
        // small: 4 000 000 bytes / 2^20 / 2 s = 1.907 MB/s; large: 1 000 000 / 2^20 / 2 = 0.477; both 2.384.
        // delay1 has a line and is not in the summary: (1000 + 60) us / 6 operations = 0.177 ms.
        insta::assert_snapshot!(render(&sample()), @r"
        wlrun 0.1.0
        2.000: Run took 2 seconds...
        2.000: Per-Operation Breakdown
        delay1               3ops        2ops/s   0.0mb/s    1.000ms/op [1.000ms - 1.000ms]
        reader.large.read1   2ops        1ops/s   0.5mb/s    0.030ms/op [0.020ms - 0.040ms]
        reader.small.read1   4ops        2ops/s   1.9mb/s    0.250ms/op [0.100ms - 0.400ms]
        2.000: IO Summary:     6 ops 3.000 ops/s 3/0 rd/wr   2.4mb/s 0.177ms/op
        ");
    }

    #[test]
    fn a_psrun_has_a_summary_each_period_and_one_of_the_whole_run() {
        let mut record = sample();
        record.runs[0].period_ns = Some(1_500_000_000);
        let text = render(&record);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("IO Summary")).collect();
        // 3 500 000 bytes / 2^20 / 1.5 s = 2.2; 1 500 000 / 2^20 / 0.5 s = 2.9; 4 / 1.5 s = 2.667.
        assert_eq!(
            lines,
            [
                "1.500: IO Summary:     4 ops 2.667 ops/s 3/0 rd/wr   2.2mb/s 0.155ms/op",
                "2.000: IO Summary:     2 ops 4.000 ops/s 4/0 rd/wr   2.9mb/s 0.220ms/op",
                "2.000: IO Summary:     6 ops 3.000 ops/s 3/0 rd/wr   2.4mb/s 0.177ms/op",
            ]
        );
    }

    #[test]
    fn each_period_has_a_block_of_what_it_had_or_of_all_so_far() {
        let mut record = sample();
        record.runs[0].period_ns = Some(1_500_000_000);
        for (cumulative, second) in [(false, "1ops        2ops/s   1.9mb/s"), (true, "4ops        2ops/s   1.9mb/s")] {
            record.runs[0].period_cumulative = cumulative;
            let text = render(&record);
            assert_eq!(text.matches("Per-Operation Breakdown").count(), 3);
            let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("reader.small.read1")).collect();
            // 3 operations of 3 MB in 1.5 s, 600 us in all; then 1 of 1 MB in 0.5 s, or 4 of 4 MB in 2 s.
            assert_eq!(rows[0], "reader.small.read1   3ops        2ops/s   1.9mb/s    0.200ms/op");
            assert!(rows[1].contains(second), "{}", rows[1]);
            assert!(rows[2].ends_with("[0.100ms - 0.400ms]"));
        }
    }

    #[test]
    fn lathist_puts_sixty_four_counts_behind_each_line() {
        let mut record = sample();
        record.runs[0].lathist = true;
        let text = render(&record);
        let row = text.lines().find(|line| line.starts_with("reader.small.read1")).unwrap();
        let (line, counts) = row.split_once("\t[ ").unwrap();
        assert!(line.ends_with("[0.100ms - 0.400ms]"));
        let counts: Vec<u64> = counts.strip_suffix(" ]").unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
        assert_eq!((counts.len(), counts[17], counts[18], counts[19], counts.iter().sum::<u64>()), (64, 1, 1, 2, 4));
    }

    #[test]
    fn a_run_of_the_usual_size_fills_the_columns() {
        let mut record = sample();
        let run = &mut record.runs[0];
        run.elapsed_ns = 61_156_700_000;
        run.flowops = vec![
            flowop("closefile1", FlowopClass::Metadata, "t", &[4_000; 1234], 0),
            flowop("writewholefile-name", FlowopClass::Write, "t", &[12_345_678; 3000], 0),
            flowop("aname-longer-than-its-column", FlowopClass::Read, "t", &[999_999_999; 5765], 20_000_000_000),
        ];
        // Per second of 61.1567: 1234 -> 20.18, 3000 -> 49.05, 5765 -> 94.27, all 9999 -> 163.498.
        // 20e9 / 2^20 / 61.1567 = 311.9.  (5765 * 999.999999 + 3000 * 12.345678 + 1234 * 0.004) / 9999 = 580.262 ms.
        assert_eq!(
            render(&record),
            "wlrun 0.1.0\n\
             61.157: Run took 61 seconds...\n\
             61.157: Per-Operation Breakdown\n\
             aname-longer-than-its-column 5765ops       94ops/s 311.9mb/s 1000.000ms/op [1000.000ms - 1000.000ms]\n\
             writewholefile-name  3000ops       49ops/s   0.0mb/s   12.346ms/op [12.346ms - 12.346ms]\n\
             closefile1           1234ops       20ops/s   0.0mb/s    0.004ms/op [0.004ms - 0.004ms]\n\
             61.157: IO Summary:  9999 ops 163.498 ops/s 94/49 rd/wr 311.9mb/s 580.262ms/op\n"
        );
    }

    #[test]
    fn a_run_that_did_nothing_shows_zeros_and_one_that_failed_says_so() {
        let mut record = idle();
        let run = &mut record.runs[0];
        run.elapsed_ns = 0;
        run.complete = false;
        run.ended = Ended::Error;
        run.flowops.truncate(1);
        run.flowops[0].counts.errors = [("EIO".into(), 1)].into();
        assert_eq!(
            render(&record),
            "wlrun 0.1.0\n\
             0.000: Run took 0 seconds...\n\
             0.000: run incomplete: an operation failed\n\
             0.000: 1 operation failed\n\
             0.000: Per-Operation Breakdown\n\
             read1                0ops        0ops/s   0.0mb/s    0.000ms/op [0.000ms - 0.000ms]\n\
             0.000: IO Summary:     0 ops 0.000 ops/s 0/0 rd/wr   0.0mb/s 0.000ms/op\n"
        );
    }

    /// C's printf rounds the exact binary value, and a half to the even neighbour.
    #[test]
    fn figures_are_rounded_as_printf_does() {
        let shown: Vec<String> = [0.5, 1.5, 2.5, 3.5, 2.500_000_1].iter().map(|x| format!("{x:.0}")).collect();
        assert_eq!(shown, ["0", "2", "2", "4", "3"]);
        // 0.0625 and 0.1875 are binary fractions, halves of a thousandth; 1.0005 is a little less than it looks.
        let shown: Vec<String> = [0.0625, 0.1875, 1.0005].iter().map(|x| format!("{x:.3}")).collect();
        assert_eq!(shown, ["0.062", "0.188", "1.000"]);
    }
}
