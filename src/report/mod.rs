//! How a record is shown. Each form is a pure function of the record: a saved one shows the same as the run did.

use crate::record::{Ended, Run, RunRecord};
use crate::units;

mod bytes;
mod calibration;
mod csv;
mod csv_intervals;
mod dump;
mod filebench;
mod hdr;
pub mod json;
mod multidump;
pub mod ndjson;
mod prometheus;
mod table;
mod text;
mod xmldump;

pub use table::Table;

/// A form in which a record is shown.
#[derive(Debug)]
pub struct RendererDef {
    /// What `--format` calls it.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// The whole document, which ends in a newline.
    pub render: fn(&RunRecord) -> String,
}

/// In the order of the reference; the first is the one that is used where none is named.
pub static RENDERERS: &[RendererDef] = &[
    RendererDef { name: "text", summary: "a table for people", render: text::render },
    RendererDef { name: "json", summary: "everything, for programs; can be read back", render: json::render },
    RendererDef {
        name: "filebench",
        summary: "filebench's breakdown and IO Summary, in its columns and units (MB is 2^20 bytes)",
        render: filebench::render,
    },
    RendererDef {
        name: "dump",
        summary: "filebench 1.4's `stats dump`: rates of each flowop and the IO Summary",
        render: dump::render,
    },
    RendererDef {
        name: "multidump",
        summary: "its `stats multidump`: the same figures between tabs",
        render: multidump::render,
    },
    RendererDef { name: "xmldump", summary: "its `stats xmldump`: the same figures as XML", render: xmldump::render },
    RendererDef {
        name: "ndjson",
        summary: "a JSON object a line: each interval while the run is on, each run's result, the end",
        render: ndjson::render,
    },
    RendererDef { name: "csv", summary: "a row for each flowop and the total of each run", render: csv::render },
    RendererDef {
        name: "csv-intervals",
        summary: "a row for each flowop and the total of each interval",
        render: csv_intervals::render,
    },
    RendererDef {
        name: "prometheus",
        summary: "Prometheus' text format: counters, and latencies as summaries",
        render: prometheus::render,
    },
    RendererDef {
        name: "hdr",
        summary: "HdrHistogram's log: a histogram for each flowop and the total of each run",
        render: hdr::render,
    },
];

/// The form with this name.
pub fn find(name: &str) -> Option<&'static RendererDef> {
    RENDERERS.iter().find(|r| r.name == name)
}

/// What must be said of a run that did not simply take the time that it was asked to take, a line each.
fn ending(run: &Run) -> Vec<String> {
    let elapsed = units::duration(run.elapsed_ns);
    let reason = run.reason.as_deref().unwrap_or(match run.ended {
        Ended::Time => "the time was up",
        Ended::Done => "the threads came to their end",
        Ended::Count => "the count to finish on was reached",
        Ended::RanDry => "no file was left",
        Ended::Error => "an operation failed",
        Ended::Interrupted => "interrupted",
        Ended::Stuck => "operations did not come back",
    });
    let mut lines = Vec::new();
    if !run.complete {
        // A run that did not come to its start has no time.
        let after = if run.elapsed_ns > 0 { format!(" after {elapsed}") } else { String::new() };
        lines.push(format!("run incomplete: {reason}{after}"));
    } else if run.ended != Ended::Time {
        let of = run.requested_ns.map(|asked| format!(" of {}", units::duration(asked))).unwrap_or_default();
        lines.push(format!("run ended after {elapsed}{of}: {reason}"));
    }
    if run.complete && !run.valid {
        lines.push(format!("run not valid, its figures are no result: {reason}"));
    }
    lines.iter().map(|line| line_of(line)).collect()
}

/// `1 file`, `2 files`.
fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What a record calls one of a few: `read`, `ran_dry`.
fn word(one_of_few: impl serde::Serialize) -> String {
    match serde_json::to_value(one_of_few) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Text of others on one line: names and messages may hold a newline or a terminal's escape sequence.
fn line_of(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::sample;

    #[test]
    fn every_form_is_found_by_its_name_and_ends_its_last_line() {
        for renderer in RENDERERS {
            let found = find(renderer.name).expect("it is in the list");
            assert!((found.render)(&sample()).ends_with("\n"));
            assert!(!(found.render)(&sample()).ends_with("\n\n"), "{}", renderer.name);
        }
        assert!(find("xml").is_none());
    }

    #[test]
    fn an_ending_is_told_unless_the_time_was_up() {
        let mut run = sample().runs.remove(0);
        assert_eq!(ending(&run), [""; 0]);
        run.valid = false;
        run.reason = Some("no operation finished".into());
        assert_eq!(ending(&run), ["run not valid, its figures are no result: no operation finished"]);
        run.reason = None;
        run.complete = false;
        run.ended = Ended::Interrupted;
        run.requested_ns = Some(60_000_000_000);
        assert_eq!(ending(&run), ["run incomplete: interrupted after 2.00 s"]);
        run.reason = Some("interrupted by SIGINT".into());
        assert_eq!(ending(&run), ["run incomplete: interrupted by SIGINT after 2.00 s"]);
        (run.complete, run.valid, run.ended) = (true, true, Ended::Count);
        run.reason = Some("count1 reached 1000 operations".into());
        assert_eq!(ending(&run), ["run ended after 2.00 s of 60.0 s: count1 reached 1000 operations"]);
        run.requested_ns = None;
        assert_eq!(ending(&run), ["run ended after 2.00 s: count1 reached 1000 operations"]);
    }

    #[test]
    fn text_of_others_stays_on_its_line() {
        assert_eq!(line_of("st é中"), "st é中");
        assert_eq!(line_of("a\nb\u{1b}[31m"), "a\\nb\\u{1b}[31m");
    }
}
