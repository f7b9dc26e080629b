//! Prometheus' text exposition format, version 0.0.4, for a push gateway or a textfile collector.
//!
//! Times are in seconds and sizes in bytes, as its conventions ask for. Counters are those of a run, which the label
//! `run` numbers from 1. What does not exist is left out: the format would have NaN for it.

use super::word;
use crate::record::{Histogram, Run, RunRecord};
use crate::summary::{Latency, RunSummary, Summary};
use std::fmt::Write as _;

/// Names and values of labels.
type Labels = Vec<(&'static str, String)>;

/// All samples of one name stand together, as the format asks for.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    /// What stands behind the name, the labels, the value.
    samples: Vec<(&'static str, Labels, String)>,
}

/// Families in the order in which they are first met.
#[derive(Default)]
struct Families(Vec<Family>);

impl Families {
    fn add(&mut self, name: &'static str, kind: &'static str, help: &'static str, labels: &Labels, value: String) {
        self.sample(name, kind, help, "", labels.clone(), value);
    }

    fn sample(
        &mut self,
        name: &'static str,
        kind: &'static str,
        help: &'static str,
        suffix: &'static str,
        labels: Labels,
        value: String,
    ) {
        let at = self.0.iter().position(|family| family.name == name).unwrap_or_else(|| {
            self.0.push(Family { name, kind, help, samples: Vec::new() });
            self.0.len() - 1
        });
        self.0[at].samples.push((suffix, labels, value));
    }

    /// Quantiles, sum and count; least and greatest are gauges of their own.
    fn latency(
        &mut self,
        [name, least, greatest]: [&'static str; 3],
        help: &'static str,
        labels: &Labels,
        of: Latencies,
    ) {
        if let Some(latency) = of.latency {
            let quantiles = [
                ("0.5", latency.p50),
                ("0.9", latency.p90),
                ("0.95", latency.p95),
                ("0.99", latency.p99),
                ("0.999", latency.p99_9),
                ("0.9999", latency.p99_99),
            ];
            for (quantile, nanos) in quantiles {
                let labels = labels.iter().cloned().chain([("quantile", quantile.to_owned())]).collect();
                self.sample(name, "summary", help, "", labels, seconds(nanos));
            }
        }
        self.sample(name, "summary", help, "_sum", labels.clone(), seconds(of.sum_ns));
        self.sample(name, "summary", help, "_count", labels.clone(), of.count.to_string());
        if let Some(latency) = of.latency {
            self.add(least, "gauge", "The shortest operation.", labels, seconds(latency.min));
            self.add(greatest, "gauge", "The longest operation.", labels, seconds(latency.max));
        }
    }

    fn render(&self) -> String {
        let mut out = String::new();
        for Family { name, kind, help, samples } in &self.0 {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (suffix, labels, value) in samples {
                let labels: Vec<String> =
                    labels.iter().map(|(name, text)| format!("{name}=\"{}\"", escaped(text))).collect();
                let _ = writeln!(out, "{name}{suffix}{{{}}} {value}", labels.join(","));
            }
        }
        out
    }
}

struct Latencies {
    latency: Option<Latency>,
    sum_ns: u64,
    count: u64,
}

impl Latencies {
    fn of(histogram: &Histogram) -> Self {
        Latencies { latency: Latency::of(histogram), sum_ns: histogram.sum_ns, count: histogram.count }
    }
}

/// The value of a label: these three are all that the format escapes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Nanoseconds as seconds, exactly.
fn seconds(nanos: u64) -> String {
    let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let text = format!("{whole}.{part:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The whole document.
pub(super) fn render(record: &RunRecord) -> String {
    let mut out = Families::default();
    let workload = ("workload", record.workload.name.clone());
    let info = vec![
        workload.clone(),
        ("version", record.wlrun.clone()),
        ("schema_version", record.schema_version.clone()),
        ("hash", record.workload.hash.clone()),
        ("seed", record.seed.to_string()),
        ("target", record.environment.target.clone().unwrap_or_default()),
        ("fs_type", record.environment.fs_type.clone().unwrap_or_default()),
    ];
    out.add("wlrun_info", "gauge", "What was run, and where; always 1.", &info, "1".into());
    if let Some(why) = &record.not_begun {
        let labels = vec![workload.clone()];
        let help = "What wlrun exits with where nothing was begun.";
        out.add("wlrun_not_begun_exit_code", "gauge", help, &labels, why.exit_code.to_string());
    }
    for (at, (run, summary)) in record.runs.iter().zip(Summary::of(record).runs).enumerate() {
        let labels = vec![workload.clone(), ("run", (at + 1).to_string())];
        add_run(&mut out, &labels, run, &summary);
    }
    out.render()
}

fn add_run(out: &mut Families, labels: &Labels, run: &Run, summary: &RunSummary) {
    let flag = |holds: bool| u8::from(holds).to_string();
    let help = "1 where the figures of the run may be used as a result.";
    out.add("wlrun_run_valid", "gauge", help, labels, flag(run.valid));
    let help = "1 where the run took its course.";
    out.add("wlrun_run_complete", "gauge", help, labels, flag(run.complete));
    let help = "Length of the measured window.";
    out.add("wlrun_run_elapsed_seconds", "gauge", help, labels, seconds(run.elapsed_ns));
    let help = "Processor time of the workers' threads.";
    out.add("wlrun_run_cpu_seconds_total", "counter", help, labels, seconds(run.cpu_ns));
    let mut all = Histogram::default();
    run.flowops.iter().filter(|flowop| flowop.class.is_io()).for_each(|flowop| all.merge(&flowop.histogram));
    let names = ["wlrun_run_latency_seconds", "wlrun_run_latency_least_seconds", "wlrun_run_latency_greatest_seconds"];
    out.latency(names, "Latency of all I/O operations of the run.", labels, Latencies::of(&all));
    for (flowop, row) in run.flowops.iter().zip(&summary.rows) {
        let counts = &flowop.counts;
        // Two flowops of one thread may have one name, and no two samples the same labels.
        let name = match row.label.rsplit_once('#') {
            Some((before, number)) if before == [&*flowop.process, &*flowop.thread, &*flowop.name].join(".") => {
                format!("{}#{number}", flowop.name)
            }
            _ => flowop.name.clone(),
        };
        let own = [
            ("process", flowop.process.clone()),
            ("thread", flowop.thread.clone()),
            ("flowop", name),
            ("type", flowop.kind.clone()),
            ("class", word(flowop.class)),
        ];
        let labels: Labels = labels.iter().cloned().chain(own).collect();
        let mut count = |name, help, n: u64| out.add(name, "counter", help, &labels, n.to_string());
        count("wlrun_flowop_operations_total", "Operations that finished in the measured window.", counts.ops);
        count("wlrun_flowop_read_bytes_total", "Bytes that read calls returned.", counts.bytes_read);
        count("wlrun_flowop_written_bytes_total", "Bytes that write calls took.", counts.bytes_written);
        count("wlrun_flowop_auto_opens_total", "Files opened on behalf of a read or write.", counts.auto_opens);
        count("wlrun_flowop_skipped_total", "Times that there was nothing that it may do.", counts.skipped);
        let help = "Operations under way when the window closed.";
        out.add("wlrun_flowop_in_flight", "gauge", help, &labels, counts.in_flight.to_string());
        for (error, n) in &counts.errors {
            let labels = labels.iter().cloned().chain([("error", error.clone())]).collect();
            out.add("wlrun_flowop_errors_total", "counter", "Operations that failed.", &labels, n.to_string());
        }
        let names = [
            "wlrun_flowop_latency_seconds",
            "wlrun_flowop_latency_least_seconds",
            "wlrun_flowop_latency_greatest_seconds",
        ];
        out.latency(names, "Latency of the operations.", &labels, Latencies::of(&flowop.histogram));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::{idle, sample};

    #[test]
    fn a_flowop_has_counters_and_a_summary() {
        let text = render(&sample());
        let labels = "workload=\"twins\",run=\"1\",process=\"reader\",thread=\"small\",flowop=\"read1\",type=\"read\",\
                      class=\"read\"";
        for line in [
            "# TYPE wlrun_flowop_operations_total counter".to_owned(),
            format!("wlrun_flowop_operations_total{{{labels}}} 4"),
            format!("wlrun_flowop_read_bytes_total{{{labels}}} 4000000"),
            "# TYPE wlrun_flowop_latency_seconds summary".to_owned(),
            format!("wlrun_flowop_latency_seconds{{{labels},quantile=\"0.5\"}} 0.000200192"),
            format!("wlrun_flowop_latency_seconds_sum{{{labels}}} 0.001"),
            format!("wlrun_flowop_latency_seconds_count{{{labels}}} 4"),
            format!("wlrun_flowop_latency_least_seconds{{{labels}}} 0.0001"),
            "wlrun_run_elapsed_seconds{workload=\"twins\",run=\"1\"} 2".to_owned(),
            "wlrun_run_latency_seconds_count{workload=\"twins\",run=\"1\"} 6".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
    }

    #[test]
    fn no_operation_has_no_quantile() {
        let text = render(&idle());
        assert!(!text.contains("quantile") && text.contains("_seconds_sum{") && !text.contains("NaN"), "{text}");
    }

    #[test]
    fn names_are_escaped_and_told_apart() {
        let mut record = sample();
        let run = &mut record.runs[0];
        run.flowops[1].thread = "small".into();
        run.flowops[2].name = "a\"b\\c\nd".into();
        let text = render(&record);
        for name in ["flowop=\"read1#1\"", "flowop=\"read1#2\"", "flowop=\"a\\\"b\\\\c\\nd\""] {
            assert!(text.contains(name), "{name}");
        }
        let mut samples: Vec<&str> = text.lines().map(|line| line.rsplit_once(' ').unwrap().0).collect();
        let all = samples.len();
        samples.sort_unstable();
        samples.dedup();
        assert_eq!(samples.len(), all, "two samples have the same labels");
    }

    #[test]
    fn seconds_are_exact() {
        for (nanos, shown) in
            [(0, "0"), (1, "0.000000001"), (1_500_000_000, "1.5"), (u64::MAX, "18446744073.709551615")]
        {
            assert_eq!(seconds(nanos), shown);
        }
    }
}
