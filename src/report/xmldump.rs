//! What the `stats xmldump` of filebench 1.4 writes: the figures of `stats dump` as XML.

use super::dump::{Line, cpu_us, each, line, lines};
use crate::record::RunRecord;
use std::fmt::Write as _;

/// Two groups of cells, each with the names along its sides.
pub(super) fn render(record: &RunRecord) -> String {
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
    fn the_xml_has_a_cell_for_each_pair_of_names_and_takes_any_name() {
        let mut record = sample();
        record.runs[0].flowops[2].name = "a<b&\"c\"".into();
        let text = render(&record);
        assert_eq!(text.matches("<cell>").count(), 3 * 4 + 7);
        assert_eq!(text.matches("<dimval>").count(), 3 + 4 + 1 + 7);
        assert!(text.contains("<dimval>a&lt;b&amp;&quot;c&quot;</dimval>\n"));
        for tag in ["stat_doc", "stat_group", "cell_list", "cell", "dim_list", "dim", "dim_name", "dimval"] {
            let open = text.matches(&format!("<{tag}>")).count() + text.matches(&format!("<{tag} ")).count();
            assert_eq!(open, text.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
