//! The document for programs: the record as it is, and beside its counts what follows from them.
//!
//! Times are whole nanoseconds, sizes whole bytes, rates numbers as [`summary::rate`] has them; what does not exist (the latency
//! of no operation) is null. The derived keys are for readers without a histogram library; [`read`] works them out anew.

use crate::record::{FlowopRecord, Interval, Run, RunRecord, SCHEMA_VERSION};
use crate::summary::{self, BytesSummary, Figures, IntervalFigures, IntervalSummary, Latency, RunSummary, Total};
use serde_json::{Map, Value, json};

/// The whole document.
pub fn render(record: &RunRecord) -> String {
    let mut document = object(serde_json::to_value(record));
    for (entry, run) in entries_of(&mut document, "runs").zip(&record.runs) {
        add_to_run(entry, run);
    }
    let mut text = serde_json::to_string_pretty(&document).expect("a document can be written to memory");
    text.push('\n');
    text
}

/// A run as the document has it.
pub(super) fn run(run: &Run) -> Map<String, Value> {
    let mut entry = object(serde_json::to_value(run));
    add_to_run(&mut entry, run);
    entry
}

/// An interval as the document has it, of a run with these flowops.
pub(super) fn interval(interval: &Interval, flowops: &[FlowopRecord]) -> Map<String, Value> {
    let mut entry = object(serde_json::to_value(interval));
    add_to_interval(&mut entry, &IntervalSummary::of(interval, flowops), flowops);
    entry
}

/// The record of a document.
///
/// # Errors
///
/// What is wrong with it, in words.
pub fn read(text: &str) -> Result<RunRecord, String> {
    let document: Value = serde_json::from_str(text).map_err(|e| format!("not JSON: {e}"))?;
    let version = document
        .get("schema_version")
        .and_then(Value::as_str)
        .ok_or("not a record of wlrun: it has no schema_version")?
        .to_owned();
    let major = |version: &str| version.split('.').next().and_then(|n| n.parse::<u64>().ok());
    if major(&version).is_none() || major(&version) != major(SCHEMA_VERSION) {
        return Err(format!(
            "the record has schema version '{version}', and this wlrun reads {SCHEMA_VERSION} and what is compatible \
             with it"
        ));
    }
    serde_json::from_value(document).map_err(|e| format!("not a whole record (schema version {version}): {e}"))
}

/// True where the minor version is greater than ours: keys that we do not know are passed over.
pub fn is_newer(version: &str) -> bool {
    let parts = |version: &str| version.split('.').map(|n| n.parse().unwrap_or(0)).collect::<Vec<u64>>();
    parts(version) > parts(SCHEMA_VERSION)
}

fn add_to_run(entry: &mut Map<String, Value>, run: &Run) {
    let summary = RunSummary::of(run);
    for (flowop, row) in entries_of(entry, "flowops").zip(&summary.rows) {
        add_to_flowop(flowop, &row.figures);
    }
    insert_after(entry, "flowops", "total", total(&summary.total));
    for (interval, summary) in entries_of(entry, "intervals").zip(&summary.intervals) {
        add_to_interval(interval, summary, &run.flowops);
    }
    if let (Some(bytes), Some(summary)) = (entry.get_mut("bytes").and_then(Value::as_object_mut), &summary.bytes) {
        bytes.extend(bytes_of(summary));
    }
    for (entry, interval) in entries_of(entry, "intervals").zip(&run.intervals) {
        if let Some(summary) = BytesSummary::of_interval(run, interval) {
            entry.insert("bytes".into(), bytes_of(&summary).into());
        }
    }
}

fn bytes_of(summary: &BytesSummary) -> Map<String, Value> {
    let read = summary.read.map(|read| {
        json!({
            "app_bytes": read.app_bytes,
            "storage_bytes": read.split.map(|split| split.storage_bytes),
            "page_cache_bytes": read.split.map(|split| split.page_cache_bytes),
            "page_cache_share": read.split.map(|split| summary::rate(split.page_cache_share)),
        })
    });
    let written = summary
        .written
        .map(|written| json!({ "app_bytes": written.app_bytes, "storage_bytes": written.storage_bytes }));
    [("read".to_owned(), read.into()), ("written".to_owned(), written.into())].into_iter().collect()
}

fn add_to_interval(entry: &mut Map<String, Value>, summary: &IntervalSummary, flowops: &[FlowopRecord]) {
    for ((row, figures), flowop) in entries_of(entry, "flowops").zip(&summary.rows).zip(flowops) {
        let counts = std::mem::take(row);
        let names = [("name", &flowop.name), ("process", &flowop.process), ("thread", &flowop.thread)];
        row.extend(names.map(|(key, name)| (key.to_owned(), name.as_str().into())));
        row.extend(counts);
        add_figures(row, figures);
    }
    let mut total = object(serde_json::to_value(&summary.total.counts));
    add_figures(&mut total, &summary.total);
    entry.insert("total".into(), total.into());
}

fn add_to_flowop(flowop: &mut Map<String, Value>, figures: &Figures) {
    insert_after(flowop, "ops", "ops_per_s", rate(figures.ops_per_s));
    insert_after(flowop, "bytes_written", "bytes_per_s", rate(figures.bytes_per_s));
    insert_after(flowop, "errors", "latency_ns", latency(figures.latency.as_ref()));
    for instance in entries_of(flowop, "processes") {
        let histogram = serde_json::from_value(instance["histogram"].clone()).ok();
        insert_after(instance, "errors", "latency_ns", latency(histogram.as_ref().and_then(Latency::of).as_ref()));
    }
    if figures.response.is_some() {
        insert_after(flowop, "latency_ns", "response_ns", latency(figures.response.as_ref()));
    }
}

fn add_figures(flowop: &mut Map<String, Value>, figures: &IntervalFigures) {
    insert_after(flowop, "ops", "ops_per_s", rate(figures.ops_per_s));
    insert_after(flowop, "bytes_written", "bytes_per_s", rate(figures.bytes_per_s));
    flowop.insert("latency_mean_ns".into(), figures.latency_mean_ns.map(whole).into());
}

fn total(total: &Total) -> Value {
    let counts = &total.figures.counts;
    let mut value = json!({
        "ops": counts.ops,
        "ops_per_s": rate(total.figures.ops_per_s),
        "reads_per_s": rate(total.reads_per_s),
        "writes_per_s": rate(total.writes_per_s),
        "metadata_per_s": rate(total.metadata_per_s),
        "bytes_read": counts.bytes_read,
        "bytes_written": counts.bytes_written,
        "bytes_per_s": rate(total.figures.bytes_per_s),
        "auto_opens": counts.auto_opens,
        "skipped": counts.skipped,
        "in_flight": counts.in_flight,
        "errors": counts.error_count(),
        "cpu_ns_per_op": total.cpu_ns_per_op.map(whole),
        "latency_ns": latency(total.figures.latency.as_ref()),
    });
    if let Some(response) = &total.figures.response {
        value["response_ns"] = latency(Some(response));
    }
    value
}

fn latency(latency: Option<&Latency>) -> Value {
    latency.map_or(Value::Null, |l| {
        json!({
            "min": l.min, "mean": whole(l.mean), "stddev": whole(l.stddev), "p50": l.p50, "p90": l.p90, "p95": l.p95,
            "p99": l.p99, "p99_9": l.p99_9, "p99_99": l.p99_99, "max": l.max,
        })
    })
}

fn whole(nanos: f64) -> u64 {
    nanos.round() as u64
}

fn rate(x: f64) -> Value {
    summary::rate(x).into()
}

/// Puts a key behind another, so that what belongs together stands together.
fn insert_after(object: &mut Map<String, Value>, key: &str, name: &str, value: Value) {
    let at = object.keys().position(|k| k == key).map_or(object.len(), |at| at + 1);
    object.shift_insert(at, name.into(), value);
}

pub(super) fn object(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// The objects of the list with this key.
fn entries_of<'a>(object: &'a mut Map<String, Value>, key: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{
        AssertRecord, BytesRecord, CalibrationRecord, Cold, ColdHow, Counts, Dirty, DirtySource, Drain, DrainEnd,
        Ended, Environment, Failure, Figure, FlowopClass, FlowopRecord, Histogram, InstanceRecord, Interval,
        IntervalCounts, IntervalLatency, Level, MonitorInterval, MonitorRecord, NotBegun, OwnCost, Residency, Schedule,
        StorageKind, StorageRecord, ThreadCost, WarningRecord, WorkloadRecord,
    };
    use crate::summary::sample::{idle, sample};
    use crate::summary::{METRICS, Summary};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The document without the blobs of the histograms, which nobody can check by eye.
    fn shown(record: &RunRecord) -> String {
        let mut document: Map<String, Value> = serde_json::from_str(&render(record)).unwrap();
        for run in entries_of(&mut document, "runs") {
            for flowop in entries_of(run, "flowops") {
                assert!(!flowop["histogram"]["hdr"].as_str().unwrap().is_empty());
                flowop["histogram"]["hdr"] = "...".into();
            }
        }
        serde_json::to_string_pretty(&document).unwrap()
    }

    #[test]
    fn the_sample() {
        // small: mean (100 + 200 + 300 + 400) / 4 us; deviation sqrt(30e10 / 4 - 250 000^2) = 111 803 ns; the median is
        // of rank 2, 200 000 ns, in the bucket 199 680 to 200 703, of which 200 192 is the middle.
        // large: deviation sqrt(2e9 / 2 - 30 000^2) = 10 000 ns; median in the bucket 19 968 to 20 095.
        // total: 1 060 000 / 6 = 176 667 ns; deviation sqrt(302e9 / 6 - 176 666.7^2) = 138 283 ns; median of rank 3,
        // 100 000 ns, in the bucket 99 840 to 100 351. 180 000 ns of processor time / 6 = 30 000.
        // The first interval is 1.5 s long: 1 / 1.5 = 0.666667, (3 + 1) / 1.5 = 2.66667, 3.5 MB / 1.5 = 2.333.
        insta::assert_snapshot!(shown(&sample()), @r#"
        {
          "schema_version": "1.1",
          "wlrun": "0.1.0",
          "seed": 7,
          "environment": {
            "kernel": null,
            "cpus": null,
            "cpu_model": null,
            "memory_bytes": 24000000000,
            "target": "/mnt/nfs",
            "fs_type": "nfs4",
            "fs_source": "server:/export",
            "mount_point": null,
            "mount_options": null,
            "free_bytes": null,
            "command": [
              "wlrun",
              "twins"
            ]
          },
          "workload": {
            "name": "twins",
            "hash": "fnv1a64:0123456789abcdef",
            "parameters": {
              "eventrate": 1.5,
              "nfiles": 10000
            },
            "files": 10000,
            "bytes": 1250000000,
            "processes": 1,
            "threads": 3
          },
          "runs": [
            {
              "complete": true,
              "valid": true,
              "ended": "time",
              "reason": null,
              "elapsed_ns": 2000000000,
              "requested_ns": 2000000000,
              "flowops": [
                {
                  "name": "read1",
                  "type": "read",
                  "class": "read",
                  "process": "reader",
                  "thread": "small",
                  "instances": 1,
                  "ops": 4,
                  "ops_per_s": 2.0,
                  "bytes_read": 4000000,
                  "bytes_written": 0,
                  "bytes_per_s": 2000000.0,
                  "auto_opens": 0,
                  "skipped": 0,
                  "in_flight": 0,
                  "errors": {},
                  "latency_ns": {
                    "min": 100000,
                    "mean": 250000,
                    "stddev": 111803,
                    "p50": 200192,
                    "p90": 400000,
                    "p95": 400000,
                    "p99": 400000,
                    "p99_9": 400000,
                    "p99_99": 400000,
                    "max": 400000
                  },
                  "histogram": {
                    "count": 4,
                    "sum_ns": 1000000,
                    "sum_squares": "300000000000",
                    "min_ns": 100000,
                    "max_ns": 400000,
                    "hdr": "..."
                  }
                },
                {
                  "name": "read1",
                  "type": "read",
                  "class": "read",
                  "process": "reader",
                  "thread": "large",
                  "instances": 1,
                  "ops": 2,
                  "ops_per_s": 1.0,
                  "bytes_read": 1000000,
                  "bytes_written": 0,
                  "bytes_per_s": 500000.0,
                  "auto_opens": 0,
                  "skipped": 0,
                  "in_flight": 0,
                  "errors": {},
                  "latency_ns": {
                    "min": 20000,
                    "mean": 30000,
                    "stddev": 10000,
                    "p50": 20032,
                    "p90": 40000,
                    "p95": 40000,
                    "p99": 40000,
                    "p99_9": 40000,
                    "p99_99": 40000,
                    "max": 40000
                  },
                  "histogram": {
                    "count": 2,
                    "sum_ns": 60000,
                    "sum_squares": "2000000000",
                    "min_ns": 20000,
                    "max_ns": 40000,
                    "hdr": "..."
                  }
                },
                {
                  "name": "delay1",
                  "type": "delay",
                  "class": "control",
                  "process": "reader",
                  "thread": "large",
                  "instances": 1,
                  "ops": 3,
                  "ops_per_s": 1.5,
                  "bytes_read": 0,
                  "bytes_written": 0,
                  "bytes_per_s": 0.0,
                  "auto_opens": 0,
                  "skipped": 0,
                  "in_flight": 0,
                  "errors": {},
                  "latency_ns": {
                    "min": 1000000,
                    "mean": 1000000,
                    "stddev": 0,
                    "p50": 1000000,
                    "p90": 1000000,
                    "p95": 1000000,
                    "p99": 1000000,
                    "p99_9": 1000000,
                    "p99_99": 1000000,
                    "max": 1000000
                  },
                  "histogram": {
                    "count": 3,
                    "sum_ns": 3000000,
                    "sum_squares": "3000000000000",
                    "min_ns": 1000000,
                    "max_ns": 1000000,
                    "hdr": "..."
                  }
                }
              ],
              "total": {
                "ops": 6,
                "ops_per_s": 3.0,
                "reads_per_s": 3.0,
                "writes_per_s": 0.0,
                "metadata_per_s": 0.0,
                "bytes_read": 5000000,
                "bytes_written": 0,
                "bytes_per_s": 2500000.0,
                "auto_opens": 0,
                "skipped": 0,
                "in_flight": 0,
                "errors": 0,
                "cpu_ns_per_op": 30000,
                "latency_ns": {
                  "min": 20000,
                  "mean": 176667,
                  "stddev": 138283,
                  "p50": 100096,
                  "p90": 400000,
                  "p95": 400000,
                  "p99": 400000,
                  "p99_9": 400000,
                  "p99_99": 400000,
                  "max": 400000
                }
              },
              "cpu_ns": 180000,
              "intervals": [
                {
                  "start_ns": 0,
                  "end_ns": 1500000000,
                  "flowops": [
                    {
                      "name": "read1",
                      "process": "reader",
                      "thread": "small",
                      "ops": 3,
                      "ops_per_s": 2.0,
                      "bytes_read": 3000000,
                      "bytes_written": 0,
                      "bytes_per_s": 2000000.0,
                      "latency_sum_ns": 600000,
                      "latency_mean_ns": 200000
                    },
                    {
                      "name": "read1",
                      "process": "reader",
                      "thread": "large",
                      "ops": 1,
                      "ops_per_s": 0.666667,
                      "bytes_read": 500000,
                      "bytes_written": 0,
                      "bytes_per_s": 333333.333,
                      "latency_sum_ns": 20000,
                      "latency_mean_ns": 20000
                    },
                    {
                      "name": "delay1",
                      "process": "reader",
                      "thread": "large",
                      "ops": 2,
                      "ops_per_s": 1.33333,
                      "bytes_read": 0,
                      "bytes_written": 0,
                      "bytes_per_s": 0.0,
                      "latency_sum_ns": 2000000,
                      "latency_mean_ns": 1000000
                    }
                  ],
                  "total": {
                    "ops": 4,
                    "ops_per_s": 2.66667,
                    "bytes_read": 3500000,
                    "bytes_written": 0,
                    "bytes_per_s": 2333333.333,
                    "latency_sum_ns": 620000,
                    "latency_mean_ns": 155000
                  }
                },
                {
                  "start_ns": 1500000000,
                  "end_ns": 2000000000,
                  "flowops": [
                    {
                      "name": "read1",
                      "process": "reader",
                      "thread": "small",
                      "ops": 1,
                      "ops_per_s": 2.0,
                      "bytes_read": 1000000,
                      "bytes_written": 0,
                      "bytes_per_s": 2000000.0,
                      "latency_sum_ns": 400000,
                      "latency_mean_ns": 400000
                    },
                    {
                      "name": "read1",
                      "process": "reader",
                      "thread": "large",
                      "ops": 1,
                      "ops_per_s": 2.0,
                      "bytes_read": 500000,
                      "bytes_written": 0,
                      "bytes_per_s": 1000000.0,
                      "latency_sum_ns": 40000,
                      "latency_mean_ns": 40000
                    },
                    {
                      "name": "delay1",
                      "process": "reader",
                      "thread": "large",
                      "ops": 1,
                      "ops_per_s": 2.0,
                      "bytes_read": 0,
                      "bytes_written": 0,
                      "bytes_per_s": 0.0,
                      "latency_sum_ns": 1000000,
                      "latency_mean_ns": 1000000
                    }
                  ],
                  "total": {
                    "ops": 2,
                    "ops_per_s": 4.0,
                    "bytes_read": 1500000,
                    "bytes_written": 0,
                    "bytes_per_s": 3000000.0,
                    "latency_sum_ns": 440000,
                    "latency_mean_ns": 220000
                  }
                }
              ],
              "failures": [],
              "warnings": [
                {
                  "code": "W003",
                  "message": "the working set (1.25 GB) fits in memory (24.0 GB): reads measure this client's cache. Use a larger $nfiles."
                }
              ]
            }
          ]
        }
        "#);
    }

    #[test]
    fn nothing_done_in_no_time_is_zero_rates_and_null_latencies() {
        let mut record = idle();
        record.runs[0].elapsed_ns = 0;
        let document: Value = serde_json::from_str(&render(&record)).unwrap();
        let run = &document["runs"][0];
        for entry in [&run["flowops"][0], &run["total"]] {
            assert_eq!(entry["ops_per_s"], 0.0);
            assert_eq!(entry["bytes_per_s"], 0.0);
            assert_eq!(entry["latency_ns"], Value::Null);
        }
        assert_eq!(run["total"]["cpu_ns_per_op"], Value::Null);
        assert_eq!(run["intervals"][0]["total"]["latency_mean_ns"], Value::Null);
        assert_eq!(read(&render(&record)).unwrap(), record);
    }

    #[test]
    fn each_metric_stands_where_its_name_says() {
        let record = sample();
        let document: Value = serde_json::from_str(&render(&record)).unwrap();
        let summary = &Summary::of(&record).runs[0];
        let figures = [(&document["runs"][0]["flowops"][0], &summary.rows[0].figures)];
        for (entry, figures) in figures.into_iter().chain([(&document["runs"][0]["total"], &summary.total.figures)]) {
            for metric in METRICS {
                let found = metric.name.split('.').fold(entry, |value, key| &value[key]);
                // A flowop has its errors by name.
                let by_name = |o: &Map<String, Value>| o.values().filter_map(Value::as_f64).sum();
                let found = found.as_f64().or_else(|| found.as_object().map(by_name));
                assert_eq!(found, (metric.value)(figures).number(), "{}", metric.name);
            }
        }
    }

    #[test]
    fn any_name_is_valid_json() {
        let mut record = sample();
        record.workload.name = "st é中 \"\\\u{0}\n".into();
        assert_eq!(read(&render(&record)).unwrap(), record);
    }

    #[test]
    fn what_is_no_record_is_refused_in_words() {
        let refused = |text: &str| read(text).unwrap_err();
        assert!(refused("ops 12").starts_with("not JSON: "));
        assert_eq!(refused("{}"), "not a record of wlrun: it has no schema_version");
        assert_eq!(refused("[1]"), "not a record of wlrun: it has no schema_version");
        for other in ["2.0", "0.9", "10.0", "one"] {
            let text = render(&sample()).replacen("\"1.1\"", &format!("\"{other}\""), 1);
            assert_eq!(
                refused(&text),
                format!(
                    "the record has schema version '{other}', and this wlrun reads 1.1 and what is compatible with it"
                )
            );
        }
        assert!(refused("{\"schema_version\": \"1.0\"}").contains("missing field `wlrun`"));
        // A later minor version has keys more, which mean nothing here.
        let later = render(&sample()).replacen("\"1.1\"", "\"1.7\", \"cluster\": 3", 1);
        assert_eq!(read(&later).unwrap().schema_version, "1.7");
        for (version, newer) in [("1.7", true), ("1.10", true), ("1.1", false), ("1.0", false)] {
            assert_eq!(is_newer(version), newer, "{version}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z]{1,8}[0-9]?", any::<String>()]
    }

    fn histogram() -> impl Strategy<Value = Histogram> {
        prop::collection::vec(0u64..1 << 44, 0..20).prop_map(|values| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|v| histogram.record(*v));
            histogram
        })
    }

    fn counts() -> impl Strategy<Value = Counts> {
        let number = || 0u64..1 << 60;
        let errors = prop::collection::btree_map("E[A-Z]{2,6}", 0u64..1 << 40, 0..3);
        (number(), number(), number(), number(), 0u64..9, 0u64..9, errors).prop_map(
            |(ops, bytes_read, bytes_written, auto_opens, skipped, in_flight, errors)| Counts {
                ops,
                bytes_read,
                bytes_written,
                auto_opens,
                skipped,
                in_flight,
                errors,
            },
        )
    }

    fn flowop() -> impl Strategy<Value = FlowopRecord> {
        let class = prop::sample::select(vec![
            FlowopClass::Read,
            FlowopClass::Write,
            FlowopClass::Metadata,
            FlowopClass::Control,
        ]);
        (text(), text(), class, text(), text(), any::<u64>(), counts(), histogram()).prop_map(
            |(name, kind, class, process, thread, instances, counts, histogram)| FlowopRecord {
                name,
                kind,
                class,
                process,
                thread,
                instances,
                iosize: (instances % 7 == 1).then_some(instances),
                random: instances % 4 == 1,
                direct: instances % 2 == 1,
                left_out: instances % 3 == 1,
                processes: if instances % 3 == 2 {
                    vec![InstanceRecord { instance: 1, counts: counts.clone(), histogram: histogram.clone() }]
                } else {
                    Vec::new()
                },
                response: (instances % 5 == 1).then(|| histogram.clone()),
                counts,
                histogram,
            },
        )
    }

    fn interval(flowops: usize) -> impl Strategy<Value = Interval> {
        let number = || 0u64..1 << 58;
        let part =
            (number(), number(), number(), number()).prop_map(|(ops, bytes_read, bytes_written, latency_sum_ns)| {
                let latency = IntervalLatency { p50_ns: ops, p99_ns: bytes_read, max_ns: latency_sum_ns };
                let latency = Some(latency).filter(|_| ops % 2 == 1);
                IntervalCounts { ops, bytes_read, bytes_written, latency_sum_ns, latency }
            });
        (any::<u64>(), any::<u64>(), prop::collection::vec(part, flowops)).prop_map(|(start_ns, end_ns, flowops)| {
            Interval { start_ns, end_ns, flowops, latency: None, lag_ns: Some(end_ns), monitors: seen(end_ns).1 }
        })
    }

    fn failure() -> impl Strategy<Value = Failure> {
        (text(), prop::option::of(text()), prop::option::of(text()), prop::option::of("E[A-Z]{2,6}"), text())
            .prop_map(|(process, thread, flowop, errno, message)| Failure { process, thread, flowop, errno, message })
    }

    fn assert() -> impl Strategy<Value = AssertRecord> {
        let figure = || {
            prop_oneof![
                any::<u64>().prop_map(Figure::Whole),
                (0i64..1 << 40).prop_map(|n| Figure::Real(n as f64 / 1000.0)),
            ]
        };
        let unit = prop::sample::select(vec!["ns", "operations per second"]);
        let value = prop::option::of(figure());
        (text(), unit, figure(), value, prop::option::of(any::<bool>()), prop::option::of(text())).prop_map(
            |(text, unit, limit, value, holds, reason)| AssertRecord {
                text,
                unit: unit.into(),
                limit,
                value,
                holds,
                reason,
            },
        )
    }

    /// What a monitor says of a window and of an interval; of some nothing.
    fn seen(number: u64) -> (Vec<MonitorRecord>, Vec<MonitorInterval>) {
        if number.is_multiple_of(3) {
            return (Vec::new(), Vec::new());
        }
        let counters: BTreeMap<String, u64> = [("bytes_read".to_owned(), number)].into();
        let level = Level { start: number, end: number / 2, max: number };
        let record = MonitorRecord {
            monitor: "disk".into(),
            of: Some("sda".into()),
            upper_bound: number.is_multiple_of(2).then(|| "the device is shared".into()),
            counters: counters.clone(),
            levels: [("in_flight".to_owned(), level)].into(),
            ..MonitorRecord::default()
        };
        let missing = MonitorRecord { monitor: "nfs".into(), missing: Some("none".into()), ..MonitorRecord::default() };
        let interval = MonitorInterval { monitor: "disk".into(), counters, ..MonitorInterval::default() };
        (vec![record, missing], vec![interval])
    }

    /// With each of its parts, or without.
    fn bytes(n: u64) -> BytesRecord {
        let residency = |n| Residency { pages: n, cached_pages: n / 2, dirty_pages: Some(n), ..Residency::default() };
        let reason = n.is_multiple_of(2).then(|| "no counter".to_owned());
        BytesRecord {
            storage: StorageRecord { kind: StorageKind::Device, names: vec!["sda".into()], reason },
            cold: n.is_multiple_of(4).then(|| Cold { how: ColdHow::DropCaches, failed: Some((n, "no".into())) }),
            resident_before: n.is_multiple_of(5).then(|| residency(n)),
            resident_after: n.is_multiple_of(7).then(|| residency(n / 3)),
            dirty: n.is_multiple_of(2).then_some(Dirty { bytes: n, source: DirtySource::Machine }),
            drain: n.is_multiple_of(3).then(|| Drain {
                ended: DrainEnd::Failed,
                elapsed_ns: n,
                error: Some("EIO".into()),
            }),
        }
    }

    fn run() -> impl Strategy<Value = Run> {
        let ended = prop::sample::select(vec![
            Ended::Time,
            Ended::Done,
            Ended::Count,
            Ended::RanDry,
            Ended::Error,
            Ended::Interrupted,
            Ended::Stuck,
        ]);
        let lists = (0usize..4)
            .prop_flat_map(|n| (prop::collection::vec(flowop(), n), prop::collection::vec(interval(n), 0..3)));
        let warnings = prop::collection::vec(text(), 0..2);
        let elapsed = prop_oneof![Just(0), any::<u64>()];
        (
            (any::<bool>(), any::<bool>(), ended, prop::option::of(text())),
            (elapsed, prop::option::of(any::<u64>()), any::<u64>()),
            lists,
            prop::collection::vec(failure(), 0..2),
            (warnings, prop::collection::vec(assert(), 0..3)),
        )
            .prop_map(
                |(
                    (complete, valid, ended, reason),
                    (elapsed_ns, requested_ns, cpu_ns),
                    (flowops, intervals),
                    failures,
                    (warnings, asserts),
                )| Run {
                    complete,
                    valid,
                    ended,
                    reason,
                    elapsed_ns,
                    requested_ns,
                    warmup_ns: cpu_ns / 2,
                    period_ns: requested_ns,
                    period_cumulative: cpu_ns % 2 == 1,
                    lathist: cpu_ns % 3 == 1,
                    flowops,
                    cpu_ns,
                    intervals,
                    bytes: (cpu_ns % 5 == 1).then(|| bytes(cpu_ns)),
                    calibration: (0..cpu_ns % 3)
                        .map(|ops| CalibrationRecord { ops, monitors: seen(cpu_ns).1, ..CalibrationRecord::default() })
                        .collect(),
                    failures,
                    warnings: warnings
                        .into_iter()
                        .map(|message| WarningRecord { code: "W001".into(), message })
                        .collect(),
                    asserts,
                    monitors: seen(cpu_ns).0,
                    own_cost: requested_ns.map(|clock_ns| OwnCost {
                        clock_ns,
                        threads: vec![ThreadCost { process: "p".into(), thread: "t".into(), ns_per_op: elapsed_ns }],
                        ..OwnCost::default()
                    }),
                    run_delay_ns: requested_ns,
                    suspended: cpu_ns % 5 == 1,
                    schedule: requested_ns.map(|lag_max_ns| Schedule { lag_max_ns, lag_end_ns: 1, dropped_events: 2 }),
                },
            )
    }

    fn parameter() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            text().prop_map(Value::from),
            // As people write them; serde_json reads a number of 17 digits back to the last bit only with its feature
            // `float_roundtrip`.
            (-1_000_000i32..1_000_000).prop_map(|n| Value::from(f64::from(n) / 1000.0)),
        ]
    }

    fn record() -> impl Strategy<Value = RunRecord> {
        let environment =
            (prop::option::of(text()), prop::option::of(any::<u64>()), prop::collection::vec(text(), 0..3)).prop_map(
                |(text, number, command)| Environment {
                    kernel: text.clone(),
                    target: text.clone(),
                    fs_type: text,
                    memory_bytes: number,
                    free_bytes: number,
                    command,
                    ..Environment::default()
                },
            );
        let workload = (
            text(),
            prop::collection::btree_map(text(), parameter(), 0..4),
            any::<u64>(),
            any::<u64>(),
            0u64..3,
            any::<u64>(),
        )
            .prop_map(|(name, parameters, files, bytes, processes, threads)| WorkloadRecord {
                name,
                hash: "fnv1a64:0123456789abcdef".into(),
                parameters,
                files,
                bytes,
                processes,
                threads,
            });
        let not_begun = (0u8..5, text()).prop_map(|(exit_code, reason)| NotBegun { exit_code, reason });
        let all =
            (any::<u64>(), environment, workload, prop::option::of(not_begun), prop::collection::vec(run(), 0..3));
        all.prop_map(|(seed, environment, workload, not_begun, runs)| RunRecord {
            schema_version: SCHEMA_VERSION.into(),
            wlrun: "0.1.0".into(),
            seed,
            environment,
            workload,
            not_begun,
            runs,
        })
    }

    /// Each rate is a number: serde_json would write a NaN as null without a word.
    fn rates_are_numbers(value: &Value) -> bool {
        match value {
            Value::Object(object) => object
                .iter()
                .all(|(key, value)| if key.ends_with("_per_s") { value.is_number() } else { rates_are_numbers(value) }),
            Value::Array(list) => list.iter().all(rates_are_numbers),
            _ => true,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn a_record_comes_back_and_says_the_same(mut record in record()) {
            // Names of parameters are the workload's; none of them is a rate.
            record.workload.parameters.retain(|name, _| !name.ends_with("_per_s"));
            let text = render(&record);
            let again = read(&text).map_err(TestCaseError::fail)?;
            prop_assert_eq!(&again, &record);
            prop_assert_eq!(&render(&again), &text);
            for renderer in crate::report::RENDERERS {
                prop_assert_eq!((renderer.render)(&again), (renderer.render)(&record));
            }
            prop_assert!(rates_are_numbers(&serde_json::from_str(&text).unwrap()));
        }
    }
}
