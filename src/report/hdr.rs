//! HdrHistogram's interval log, which HistogramLogProcessor and its readers in other languages take.
//!
//! A line for each flowop of each run under the flowop's name as its tag, over the whole measured window, and one
//! without a tag for all I/O. Values are nanoseconds; the third column, for people, is the longest in milliseconds.
//! The record does not say when on the calendar a run began, so times are seconds from the first run's window on, and
//! each run follows the one before it.

use super::{ending, line_of};
use crate::record::{Histogram, Run, RunRecord};
use crate::summary::{RunSummary, Summary};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::time::{Duration, SystemTime};

/// What readers of this version understand, they say.
const VERSION: &str = "[Histogram log format version 1.3]";
/// The unit of the third column, which its own tools assume too.
const NANOS_PER_MS: f64 = 1e6;

/// The whole document.
pub(super) fn render(record: &RunRecord) -> String {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut write = || -> std::io::Result<()> {
        let fail = |error| std::io::Error::other(format!("{error:?}"));
        let mut log = IntervalLogWriterBuilder::new()
            .add_comment(&format!("[Logged with wlrun {}]", line_of(&record.wlrun)))
            .add_comment(VERSION)
            .with_start_time(SystemTime::UNIX_EPOCH)
            .with_base_time(SystemTime::UNIX_EPOCH)
            .with_max_value_divisor(NANOS_PER_MS)
            .begin_log_with(&mut bytes, &mut serializer)?;
        let mut start = Duration::ZERO;
        for (at, (run, summary)) in record.runs.iter().zip(Summary::of(record).runs).enumerate() {
            let length = Duration::from_nanos(run.elapsed_ns);
            for line in ending(run) {
                log.write_comment(&format!("[run {}: {line}]", at + 1))?;
            }
            for (tag, histogram) in histograms(run, &summary) {
                let tag = tag.map(|tag| if record.runs.len() > 1 { format!("run{}.{tag}", at + 1) } else { tag });
                let tag = tag.as_deref().and_then(Tag::new);
                log.write_histogram(&histogram.to_hdr(), start, length, tag).map_err(fail)?;
            }
            start = start.saturating_add(length);
        }
        Ok(())
    };
    write().expect("a log can be written to memory");
    String::from_utf8(bytes).expect("a log is text")
}

/// Of each flowop with its tag, and of all I/O without one.
fn histograms(run: &Run, summary: &RunSummary) -> Vec<(Option<String>, Histogram)> {
    let mut all = Histogram::default();
    run.flowops.iter().filter(|flowop| flowop.class.is_io()).for_each(|flowop| all.merge(&flowop.histogram));
    let each = run.flowops.iter().zip(&summary.rows);
    let each = each.map(|(flowop, row)| (Some(tag_of(&row.label)), flowop.histogram.clone()));
    each.chain([(None, all)]).collect()
}

/// A tag ends at a comma, and readers split lines at white space: such characters are written as in a URL.
fn tag_of(label: &str) -> String {
    let mut tag = String::new();
    for c in label.chars() {
        if c == ',' || c == '%' || c == '"' || c.is_whitespace() || c.is_control() {
            c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| tag.push_str(&format!("%{byte:02X}")));
        } else {
            tag.push(c);
        }
    }
    tag
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::sample;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn a_reader_finds_each_flowop_under_its_tag() {
        let mut record = sample();
        record.runs[0].flowops[2].name = "wait, then go".into();
        record.runs.push(record.runs[0].clone());
        record.runs[1].complete = false;
        let text = render(&record);
        let mut found = Vec::new();
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            if let LogEntry::Interval(interval) = entry.expect("each line is one of a log") {
                let bytes =
                    base64::Engine::decode(&base64::engine::general_purpose::STANDARD, interval.encoded_histogram())
                        .unwrap();
                let histogram: hdrhistogram::Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                let tag = interval.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default();
                assert_eq!(interval.duration(), Duration::from_secs(2));
                found.push((tag, interval.start_timestamp().as_secs(), histogram.len()));
            }
        }
        let of = |run: u64| {
            let tags = ["reader.small.read1", "reader.large.read1", "wait%2C%20then%20go"];
            let tags = tags.into_iter().zip([4, 2, 3]);
            let tags = tags.map(move |(tag, count)| (format!("run{run}.{tag}"), 2 * (run - 1), count));
            tags.chain([(String::new(), 2 * (run - 1), 6)])
        };
        assert_eq!(found, of(1).chain(of(2)).collect::<Vec<_>>());
        assert!(text.contains("\n#[run 2: run incomplete: the time was up after 2.00 s]\n"), "{text}");
    }

    #[test]
    fn the_least_line_of_the_sample() {
        let text = render(&sample());
        let line = text.lines().find(|line| line.starts_with("Tag=reader.small.read1,")).unwrap();
        assert!(line.starts_with("Tag=reader.small.read1,0.000,2.000,0.4"), "{line}");
        assert!(
            text.starts_with("#[Logged with wlrun 0.1.0]\n#[Histogram log format version 1.3]\n#[StartTime: 0.000 ")
        );
    }
}
