//! Comma-separated values after RFC 4180: a header, a row for each flowop and one for the total of each run.
//!
//! A column that does not apply, and a figure that there is none of, is empty. Columns have their unit in the name.

use super::word;
use crate::record::{Run, RunRecord};
use crate::summary::{Cell, Figures, METRICS, RunSummary, Summary, rate};

/// A row of named fields; the header is that of the first.
#[derive(Debug, Default)]
pub(super) struct Table {
    header: Vec<String>,
    rows: String,
}

/// The fields of a row, in order, each with its column.
pub(super) type Row = Vec<(String, String)>;

impl Table {
    /// A table with these columns.
    pub(super) fn new(like: Row) -> Self {
        Table { header: like.into_iter().map(|(column, _)| column).collect(), rows: String::new() }
    }

    pub(super) fn push(&mut self, row: Row) {
        debug_assert!(self.header.iter().eq(row.iter().map(|(column, _)| column)), "{row:?}");
        self.rows.push_str(&line(row.iter().map(|(_, field)| field.as_str())));
    }

    pub(super) fn render(self) -> String {
        line(self.header.iter().map(String::as_str)) + &self.rows
    }
}

fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    fields.map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

/// A field with a separator, a quote or an end of line in it stands between quotes; so does one that begins or ends
/// with a space, which readers may otherwise take away.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\r', '\n']) || field.trim() != field {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// What names a row: the run's number from 1, what the row is of, and the flowop's place, which a total has none of.
pub(super) fn place(number: usize, flowop: Option<[&str; 3]>) -> Row {
    let what = if flowop.is_some() { "flowop" } else { "total" };
    let [process, thread, name] = flowop.unwrap_or_default();
    [("run", number.to_string().as_str()), ("row", what), ("process", process), ("thread", thread), ("flowop", name)]
        .map(|(column, field)| (column.to_owned(), field.to_owned()))
        .into()
}

/// A field of a number.
pub(super) fn field(column: &str, value: impl std::fmt::Display) -> (String, String) {
    (column.to_owned(), value.to_string())
}

/// A field of what there may be none of.
pub(super) fn optional(column: &str, value: Option<impl std::fmt::Display>) -> (String, String) {
    (column.to_owned(), value.map(|value| value.to_string()).unwrap_or_default())
}

/// The whole document.
pub(super) fn render(record: &RunRecord) -> String {
    let mut table = Table::new(columns());
    for (at, (run, summary)) in record.runs.iter().zip(Summary::of(record).runs).enumerate() {
        for (flowop, row) in run.flowops.iter().zip(&summary.rows) {
            let place = place(at + 1, Some([&flowop.process, &flowop.thread, &flowop.name]));
            let own = [flowop.kind.clone(), word(flowop.class), flowop.instances.to_string()];
            table.push(row_of(place, Some(own), &row.figures, run, None));
        }
        table.push(row_of(place(at + 1, None), None, &summary.total.figures, run, Some(&summary)));
    }
    table.render()
}

/// A row, for its columns.
fn columns() -> Row {
    let nothing =
        Figures { counts: Default::default(), ops_per_s: 0.0, bytes_per_s: 0.0, latency: None, response: None };
    let place = place(0, None).into_iter();
    let figures = figures_of(&nothing);
    place
        .chain(["type", "class", "instances"].map(|column| field(column, "")))
        .chain(figures)
        .chain(TOTALS.iter().map(|(column, _)| field(column, "")))
        .chain(RUN.iter().map(|(column, _)| field(column, "")))
        .collect()
}

fn row_of(place: Row, own: Option<[String; 3]>, figures: &Figures, run: &Run, total: Option<&RunSummary>) -> Row {
    let own = own.unwrap_or_default();
    let own = ["type", "class", "instances"].into_iter().zip(own).map(|(column, text)| field(column, text));
    let totals = TOTALS.iter().map(|(column, of)| optional(column, total.and_then(of)));
    let run = RUN.iter().map(|(column, of)| field(column, of(run)));
    place.into_iter().chain(own).chain(figures_of(figures)).chain(totals).chain(run).collect()
}

/// What flowops and totals have in common.
fn figures_of(figures: &Figures) -> Row {
    let counts = &figures.counts;
    let metrics = METRICS.iter().map(|metric| {
        let column = column(metric.name);
        match (metric.value)(figures) {
            Cell::Empty => (column, String::new()),
            Cell::Count(n) | Cell::Nanos(n) => (column, n.to_string()),
            Cell::PerSecond(x) | Cell::BytesPerSecond(x) => (column, rate(x).to_string()),
        }
    });
    let counted = [
        ("bytes_read", counts.bytes_read),
        ("bytes_written", counts.bytes_written),
        ("auto_opens", counts.auto_opens),
        ("skipped", counts.skipped),
        ("in_flight", counts.in_flight),
    ];
    metrics.chain(counted.map(|(column, n)| field(column, n))).collect()
}

/// `latency_p99_ns` of the metric `latency_ns.p99`: the unit stands last.
fn column(metric: &str) -> String {
    match metric.split_once("_ns.") {
        Some((what, statistic)) => format!("{what}_{statistic}_ns"),
        None => metric.to_owned(),
    }
}

type OfTotal = (&'static str, fn(&RunSummary) -> Option<String>);
type OfRun = (&'static str, fn(&Run) -> String);

/// What only a total has.
static TOTALS: &[OfTotal] = &[
    ("reads_per_s", |s| Some(rate(s.total.reads_per_s).to_string())),
    ("writes_per_s", |s| Some(rate(s.total.writes_per_s).to_string())),
    ("metadata_per_s", |s| Some(rate(s.total.metadata_per_s).to_string())),
    ("cpu_ns_per_op", |s| s.total.cpu_ns_per_op.map(|nanos| (nanos.round() as u64).to_string())),
];

/// What each row repeats of its run, so that it can be judged by itself.
static RUN: &[OfRun] = &[
    ("elapsed_ns", |run| run.elapsed_ns.to_string()),
    ("complete", |run| run.complete.to_string()),
    ("valid", |run| run.valid.to_string()),
    ("ended", |run| word(run.ended)),
    ("reason", |run| run.reason.clone().unwrap_or_default()),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::{idle, sample};

    #[test]
    fn the_sample() {
        assert_eq!(
            render(&sample()).replace("\r\n", "\n"),
            "run,row,process,thread,flowop,type,class,instances,ops,ops_per_s,bytes_per_s,errors,latency_mean_ns,\
             latency_stddev_ns,latency_p50_ns,latency_p90_ns,latency_p95_ns,latency_p99_ns,latency_p99_9_ns,\
             latency_p99_99_ns,latency_min_ns,latency_max_ns,bytes_read,bytes_written,auto_opens,skipped,in_flight,\
             reads_per_s,writes_per_s,metadata_per_s,cpu_ns_per_op,elapsed_ns,complete,valid,ended,reason\n\
             1,flowop,reader,small,read1,read,read,1,4,2,2000000,0,250000,111803,200192,400000,400000,400000,400000,\
             400000,100000,400000,4000000,0,0,0,0,,,,,2000000000,true,true,time,\n\
             1,flowop,reader,large,read1,read,read,1,2,1,500000,0,30000,10000,20032,40000,40000,40000,40000,40000,\
             20000,40000,1000000,0,0,0,0,,,,,2000000000,true,true,time,\n\
             1,flowop,reader,large,delay1,delay,control,1,3,1.5,0,0,1000000,0,1000000,1000000,1000000,1000000,\
             1000000,1000000,1000000,1000000,0,0,0,0,0,,,,,2000000000,true,true,time,\n\
             1,total,,,,,,,6,3,2500000,0,176667,138283,100096,400000,400000,400000,400000,400000,20000,400000,\
             5000000,0,0,0,0,3,0,0,30000,2000000000,true,true,time,\n"
        );
    }

    #[test]
    fn what_there_is_none_of_is_empty() {
        let text = render(&idle());
        let row = text.lines().last().unwrap();
        assert!(row.starts_with("1,total,,,,,,,0,0,0,0,,,,,,,,,,,0,0,0,0,0,0,0,0,,2000000000,"), "{row}");
        let mut record = sample();
        record.runs.clear();
        assert_eq!(render(&record).lines().count(), 1, "the header alone");
    }

    #[test]
    fn any_text_is_one_field() {
        for (text, field) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            (" space", "\" space\""),
            ("é中", "é中"),
            ("", ""),
        ] {
            assert_eq!(quoted(text), field);
        }
    }

    #[test]
    fn columns_have_their_unit_last() {
        assert_eq!(column("latency_ns.p99_9"), "latency_p99_9_ns");
        assert_eq!(column("ops_per_s"), "ops_per_s");
    }
}
