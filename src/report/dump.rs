//! What the `stats dump`, `multidump` and `xmldump` of filebench 1.4 write, in its columns and units: MB is 2^20 bytes.
//!
//! The processor time of a single flowop is not known; its column is 0, as filebench's is with `nousestats`.

use super::line_of;
use crate::record::RunRecord;
use crate::summary::{Figures, RunSummary, Summary};
use std::fmt::Write as _;

/// The figures of a line.
struct Line {
    label: String,
    ops_per_s: f64,
    mb_per_s: f64,
    ms: f64,
}

fn line(label: &str, figures: &Figures) -> Line {
    Line {
        label: line_of(label),
        ops_per_s: figures.ops_per_s,
        mb_per_s: figures.bytes_per_s / f64::from(1 << 20),
        ms: figures.latency.map_or(0.0, |latency| latency.mean / 1e6),
    }
}

/// In filebench's order, the reverse of the definition.
fn lines(summary: &RunSummary) -> Vec<Line> {
    summary.rows.iter().rev().map(|row| line(&row.label, &row.figures)).collect()
}

fn cpu_us(summary: &RunSummary) -> f64 {
    summary.total.cpu_ns_per_op.unwrap_or(0.0) / 1e3
}

/// Each run by itself.
fn each(record: &RunRecord, block: fn(&mut String, &RunSummary)) -> String {
    let mut out = String::new();
    Summary::of(record).runs.iter().for_each(|run| block(&mut out, run));
    // A document ends in a newline, also where no run took place.
    if out.is_empty() { "\n".into() } else { out }
}

/// Columns for people.
pub(super) fn text(record: &RunRecord) -> String {
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

/// Tabs between the columns.
pub(super) fn multi(record: &RunRecord) -> String {
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

/// Two groups of cells, each with the names along its sides.
pub(super) fn xml(record: &RunRecord) -> String {
    each(record, |out, run| {
        out.push_str("<stat_doc name=\"Filebench Workload\">\n");
        let lines = lines(run);
        let cells = lines.iter().flat_map(|l| {
            [format!("{:.0}", l.ops_per_s), format!("{:.1}", l.mb_per_s), format!("{:.1}", l.ms), "0".into()]
        });
        let names: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
        group(out, "Flowop totals", cells.collect(), &names, &["ops/s", "mb/s", "ms/op", "us/op-cpu"]);
        let total = &run.total;
        let Line { ops_per_s, mb_per_s, ms, .. } = line("", &total.figures);
        let cells = vec![
            total.figures.counts.ops.to_string(),
            format!("{ops_per_s:.1}"),
            format!("{:.0}", total.reads_per_s),
            format!("{:.0}", total.writes_per_s),
            format!("{mb_per_s:.1}"),
            format!("{:.0}", cpu_us(run)),
            format!("{ms:.1}"),
        ];
        group(out, "IO Summary", cells, &["IO Summary"], &["ops", "ops/s", "r", "w", "mb/s", "uscpu/op", "ms/op"]);
        out.push_str("</stat_doc>\n");
    })
}

fn group(out: &mut String, name: &str, cells: Vec<String>, rows: &[&str], columns: &[&str]) {
    let _ = writeln!(out, "<stat_group name=\"{name}\">\n<cell_list>");
    for cell in cells {
        let _ = writeln!(out, "<cell>{cell}</cell>");
    }
    out.push_str("</cell_list>\n<dim_list>\n");
    for (dimension, values) in [("Operations", rows), ("Statistics", columns)] {
        let _ = writeln!(out, "<dim><dim_name>{dimension}</dim_name>");
        for value in values {
            let _ = writeln!(out, "<dimval>{}</dimval>", escaped(value));
        }
        out.push_str("</dim>\n");
    }
    out.push_str("</dim_list>\n</stat_group>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::sample;

    #[test]
    fn the_columns_are_those_of_filebench() {
        // As in the filebench report: 1.9 and 0.5 MiB/s, 2.4 in all; 180 us of processor time for 6 operations.
        assert_eq!(
            text(&sample()),
            "Flowop totals:\n\
             delay1                      2ops/s   0.0mb/s      1.0ms/op        0us/op-cpu\n\
             reader.large.read1          1ops/s   0.5mb/s      0.0ms/op        0us/op-cpu\n\
             reader.small.read1          2ops/s   1.9mb/s      0.2ms/op        0us/op-cpu\n\
             \n\
             IO Summary:             6 ops      3.0 ops/s,        3/0 r/w     2.4mb/s,       30uscpu/op\n"
        );
        assert_eq!(
            multi(&sample()),
            "delay1\t2\t0.0\t1.0\t0\n\
             reader.large.read1\t1\t0.5\t0.0\t0\n\
             reader.small.read1\t2\t1.9\t0.2\t0\n\
             IO Summary:\t6\t3.0\t3\t0\t2.4\t30\t0.2\n"
        );
    }

    #[test]
    fn the_xml_has_a_cell_for_each_pair_of_names_and_takes_any_name() {
        let mut record = sample();
        record.runs[0].flowops[2].name = "a<b&\"c\"".into();
        let text = xml(&record);
        assert_eq!(text.matches("<cell>").count(), 3 * 4 + 7);
        assert_eq!(text.matches("<dimval>").count(), 3 + 4 + 1 + 7);
        assert!(text.contains("<dimval>a&lt;b&amp;&quot;c&quot;</dimval>\n"));
        for tag in ["stat_doc", "stat_group", "cell_list", "cell", "dim_list", "dim", "dim_name", "dimval"] {
            let open = text.matches(&format!("<{tag}>")).count() + text.matches(&format!("<{tag} ")).count();
            assert_eq!(open, text.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
