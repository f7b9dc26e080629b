//! The record as a stream: a JSON object a line, each with its `type` and the `schema_version`.
//!
//! `interval` objects come while their run is on, a `run` object when it is over, an `end` object when all are. The
//! objects are those of the JSON document, taken apart, so that a saved record gives the same lines as the run did.

use super::json;
use crate::record::{FlowopRecord, Interval, Run, RunRecord, SCHEMA_VERSION};
use serde_json::{Map, Value};

/// The whole stream.
pub(super) fn render(record: &RunRecord) -> String {
    let version = &record.schema_version;
    let mut out = String::new();
    for (at, run) in record.runs.iter().enumerate() {
        let number = at + 1;
        for interval in &run.intervals {
            let entry = json::interval(interval, &run.flowops);
            line(&mut out, "interval", version, Some(number), entry);
        }
        let mut entry = json::run(run);
        entry.shift_remove("intervals");
        line(&mut out, "run", version, Some(number), entry);
    }
    out.push_str(&end(record));
    out
}

/// The line of an interval of the run with this number, from 1, while it is on.
pub fn interval(number: usize, interval: &Interval, flowops: &[FlowopRecord]) -> String {
    let mut out = String::new();
    line(&mut out, "interval", SCHEMA_VERSION, Some(number), json::interval(interval, flowops));
    out
}

/// The lines of the run with this number, from 1, behind those of its first intervals that are written already.
pub fn run(number: usize, run: &Run, written: usize) -> String {
    let mut out: String =
        run.intervals.iter().skip(written).map(|piece| interval(number, piece, &run.flowops)).collect();
    let mut entry = json::run(run);
    entry.shift_remove("intervals");
    line(&mut out, "run", SCHEMA_VERSION, Some(number), entry);
    out
}

/// The last line: all that is no run's own, and whether all runs are valid.
pub fn end(record: &RunRecord) -> String {
    let mut entry = json::object(serde_json::to_value(record));
    entry.insert("runs".into(), record.runs.len().into());
    let valid = record.not_begun.is_none() && record.runs.iter().all(|run| run.valid);
    entry.insert("valid".into(), valid.into());
    let mut out = String::new();
    line(&mut out, "end", &record.schema_version, None, entry);
    out
}

fn line(out: &mut String, kind: &str, version: &str, number: Option<usize>, entry: Map<String, Value>) {
    let mut object = Map::new();
    object.insert("type".into(), kind.into());
    object.insert("schema_version".into(), version.into());
    if let Some(number) = number {
        object.insert("run".into(), number.into());
    }
    object.extend(entry);
    out.push_str(&Value::Object(object).to_string());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::sample;

    fn objects(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn the_objects_are_those_of_the_document() {
        let mut record = sample();
        record.runs.push(record.runs[0].clone());
        let document: Value = serde_json::from_str(&json::render(&record)).unwrap();
        let objects = objects(&render(&record));
        let kinds: Vec<&str> = objects.iter().map(|object| object["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["interval", "interval", "run", "interval", "interval", "run", "end"]);
        let of = |object: &Value, added: &[&str]| {
            let mut object = object.as_object().unwrap().clone();
            added.iter().for_each(|key| assert!(object.shift_remove(*key).is_some(), "{key}"));
            Value::Object(object)
        };
        for (at, run) in document["runs"].as_array().unwrap().iter().enumerate() {
            for piece in 0..2 {
                let object = &objects[3 * at + piece];
                assert_eq!(object["run"], at + 1);
                assert_eq!(of(object, &["type", "schema_version", "run"]), run["intervals"][piece]);
            }
            assert_eq!(of(&objects[3 * at + 2], &["type", "schema_version", "run"]), of(run, &["intervals"]));
        }
        let end = objects.last().unwrap();
        assert_eq!((&end["runs"], &end["valid"]), (&2.into(), &true.into()));
        assert_eq!(of(end, &["type", "runs", "valid"]), of(&document, &["runs"]));
        assert!(objects.iter().all(|object| object["schema_version"] == SCHEMA_VERSION));
    }

    #[test]
    fn what_is_written_while_it_goes_on_is_the_stream() {
        let record = sample();
        let first = &record.runs[0];
        for written in 0..=first.intervals.len() {
            let live: String =
                first.intervals.iter().take(written).map(|piece| interval(1, piece, &first.flowops)).collect();
            assert_eq!(live + &run(1, first, written) + &end(&record), render(&record));
        }
    }

    #[test]
    fn an_end_without_valid_runs_is_not_valid() {
        let mut record = sample();
        record.runs[0].valid = false;
        assert!(end(&record).contains("\"valid\":false"));
    }
}
