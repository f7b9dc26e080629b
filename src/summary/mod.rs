//! What a record says: rates, latency statistics, totals.
//!
//! A [`Summary`] is a pure function of a [`RunRecord`], so a saved record says the same as the run did.

use crate::record::{Counts, FlowopClass, FlowopRecord, Histogram, Interval, IntervalCounts, Run, RunRecord};
use std::collections::HashMap;

pub mod assertion;
mod bytes;
pub mod metric;
#[cfg(test)]
pub(crate) mod sample;
pub mod warning;

pub use bytes::{BytesSummary, ReadSplit, ReadSummary, WrittenSummary};
pub use metric::{Cell, METRICS, Metric};
pub use warning::{WARNINGS, WarningDef, warnings};

/// What all runs of a record say.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// In the order of [`RunRecord::runs`].
    pub runs: Vec<RunSummary>,
}

/// What one run says.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// In the order of [`Run::flowops`].
    pub rows: Vec<Row>,
    /// All flowops that do I/O together.
    pub total: Total,
    /// In the order of [`Run::intervals`].
    pub intervals: Vec<IntervalSummary>,
    /// Where the bytes went; none where the run touched no file.
    pub bytes: Option<BytesSummary>,
}

/// One flowop of one thread of one process, all instances together.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What a report calls it: its name where no other flowop of the run has that, else `process.thread.name`, and
    /// where even that is not unique, with `#1`, `#2` in the order of definition.
    pub label: String,
    /// What kind of work it does.
    pub class: FlowopClass,
    /// True where the workload leaves it out of this run.
    pub left_out: bool,
    /// Its figures.
    pub figures: Figures,
}

/// The figures that a flowop and a total have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// What was counted.
    pub counts: Counts,
    /// Operations per second of the measured window.
    pub ops_per_s: f64,
    /// Bytes read and written per second of the measured window.
    pub bytes_per_s: f64,
    /// None where no operation finished.
    pub latency: Option<Latency>,
    /// From the moment that the operations were due; none where none had a schedule.
    pub response: Option<Latency>,
}

/// All flowops of a run that do I/O (data and metadata; no delays, limiters, semaphores).
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    /// Latencies are those of the merged histograms: each operation counts once.
    pub figures: Figures,
    /// Operations of class read per second.
    pub reads_per_s: f64,
    /// Operations of class write per second.
    pub writes_per_s: f64,
    /// Operations of class metadata per second.
    pub metadata_per_s: f64,
    /// Bytes read per second.
    pub bytes_read_per_s: f64,
    /// Bytes written per second.
    pub bytes_written_per_s: f64,
    /// Processor time of the workers for each operation, in nanoseconds; none where no operation finished.
    pub cpu_ns_per_op: Option<f64>,
}

/// What one interval says.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalSummary {
    /// In the order of [`Run::flowops`].
    pub rows: Vec<IntervalFigures>,
    /// All flowops that do I/O together.
    pub total: IntervalFigures,
    /// Operations per second of the flowops that read data.
    pub reads_per_s: f64,
    /// Operations per second of the flowops that write data.
    pub writes_per_s: f64,
}

/// The figures of a flowop, or a total, within an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalFigures {
    /// What was counted.
    pub counts: IntervalCounts,
    /// Operations per second of the interval.
    pub ops_per_s: f64,
    /// Bytes read and written per second of the interval.
    pub bytes_per_s: f64,
    /// Mean latency in nanoseconds; none where no operation finished.
    pub latency_mean_ns: Option<f64>,
}

/// Latency of operations, in nanoseconds. Mean, deviation, least and greatest are exact; a percentile is within 0.4 %
/// (see [`Histogram::percentile_ns`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Number of operations.
    pub count: u64,
    /// The least.
    pub min: u64,
    /// Sum divided by count.
    pub mean: f64,
    /// Standard deviation of the population.
    pub stddev: f64,
    /// What half of the operations did not exceed.
    pub p50: u64,
    /// What 90 % of the operations did not exceed.
    pub p90: u64,
    /// What 95 % of the operations did not exceed.
    pub p95: u64,
    /// What 99 % of the operations did not exceed.
    pub p99: u64,
    /// What 99.9 % of the operations did not exceed.
    pub p99_9: u64,
    /// What 99.99 % of the operations did not exceed.
    pub p99_99: u64,
    /// The greatest.
    pub max: u64,
}

impl Latency {
    /// Of a histogram; none where it has no operation.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        let mean = histogram.mean_ns()?;
        // The whole numbers of `stddev_ns` end at about 5 million operations of an hour each; beyond, floating point.
        let stddev = histogram
            .stddev_ns()
            .unwrap_or_else(|| (histogram.sum_squares as f64 / histogram.count as f64 - mean * mean).max(0.0).sqrt());
        Some(Latency {
            count: histogram.count,
            min: histogram.min_ns,
            mean,
            stddev,
            p50: histogram.percentile_ns(50.0)?,
            p90: histogram.percentile_ns(90.0)?,
            p95: histogram.percentile_ns(95.0)?,
            p99: histogram.percentile_ns(99.0)?,
            p99_9: histogram.percentile_ns(99.9)?,
            p99_99: histogram.percentile_ns(99.99)?,
            max: histogram.max_ns,
        })
    }
}

impl Summary {
    /// What `record` says.
    pub fn of(record: &RunRecord) -> Self {
        Summary { runs: record.runs.iter().map(RunSummary::of).collect() }
    }
}

impl RunSummary {
    /// What one run says.
    pub fn of(run: &Run) -> Self {
        let rows = run
            .flowops
            .iter()
            .zip(labels_of(&places(&run.flowops)))
            .map(|(flowop, label)| Row {
                label,
                class: flowop.class,
                left_out: flowop.left_out,
                figures: Figures::of(
                    flowop.counts.clone(),
                    &flowop.histogram,
                    flowop.response.as_ref(),
                    run.elapsed_ns,
                ),
            })
            .collect();
        let intervals = run.intervals.iter().map(|interval| IntervalSummary::of(interval, &run.flowops)).collect();
        RunSummary { rows, total: Total::of(run), intervals, bytes: BytesSummary::of(run) }
    }
}

/// What a `psrun` shows for one of its periods.
#[derive(Debug, Clone, PartialEq)]
pub struct PeriodSummary {
    /// Since the beginning of the window; 0 for all where they are cumulative.
    pub start_ns: u64,
    /// Since the beginning of the window.
    pub end_ns: u64,
    /// Of that time.
    pub figures: IntervalSummary,
    /// Where its bytes went; none where the run touched no file.
    pub bytes: Option<BytesSummary>,
}

/// The periods of a `psrun`, each by itself or with all before it, as the run asks for.
pub fn periods(run: &Run) -> Vec<PeriodSummary> {
    let mut sum = vec![IntervalCounts::default(); run.flowops.len()];
    let mut counted = Vec::new();
    let period = |interval: &Interval| {
        let mut shown = interval.clone();
        if run.period_cumulative {
            sum.iter_mut().zip(&interval.flowops).for_each(|(sum, counts)| sum.merge(counts));
            counted.extend(interval.monitors.iter().cloned());
            let monitors = counted.clone();
            shown = Interval { start_ns: 0, flowops: sum.clone(), monitors, ..interval.clone() };
        }
        let figures = IntervalSummary::of(&shown, &run.flowops);
        let bytes = BytesSummary::of_interval(run, &shown);
        PeriodSummary { start_ns: shown.start_ns, end_ns: shown.end_ns, figures, bytes }
    };
    run.intervals.iter().map(period).collect()
}

impl Figures {
    fn of(counts: Counts, histogram: &Histogram, response: Option<&Histogram>, elapsed_ns: u64) -> Self {
        Figures {
            ops_per_s: per_second(counts.ops, elapsed_ns),
            bytes_per_s: per_second(counts.bytes_read + counts.bytes_written, elapsed_ns),
            latency: Latency::of(histogram),
            response: response.and_then(Latency::of),
            counts,
        }
    }
}

impl Total {
    fn of(run: &Run) -> Self {
        let mut counts = Counts::default();
        let (mut histogram, mut response) = (Histogram::default(), Histogram::default());
        for flowop in run.flowops.iter().filter(|f| f.class.is_io()) {
            counts.merge(&flowop.counts);
            histogram.merge(&flowop.histogram);
            flowop.response.iter().for_each(|of_flowop| response.merge(of_flowop));
        }
        let class_per_s = |class| {
            let ops = run.flowops.iter().filter(|f| f.class == class).map(|f| f.counts.ops).sum();
            per_second(ops, run.elapsed_ns)
        };
        Total {
            reads_per_s: class_per_s(FlowopClass::Read),
            writes_per_s: class_per_s(FlowopClass::Write),
            metadata_per_s: class_per_s(FlowopClass::Metadata),
            bytes_read_per_s: per_second(counts.bytes_read, run.elapsed_ns),
            bytes_written_per_s: per_second(counts.bytes_written, run.elapsed_ns),
            cpu_ns_per_op: (counts.ops > 0).then(|| run.cpu_ns as f64 / counts.ops as f64),
            figures: Figures::of(counts, &histogram, Some(&response), run.elapsed_ns),
        }
    }
}

impl IntervalSummary {
    /// What an interval of a run with these flowops says.
    pub fn of(interval: &Interval, flowops: &[FlowopRecord]) -> Self {
        let length = interval.end_ns.saturating_sub(interval.start_ns);
        let mut total = IntervalCounts::default();
        for (counts, _) in interval.flowops.iter().zip(flowops).filter(|(_, f)| f.class.is_io()) {
            total.merge(counts);
        }
        let rate_of = |class: FlowopClass| {
            let of_class = interval.flowops.iter().zip(flowops).filter(|(_, f)| f.class == class);
            per_second(of_class.map(|(counts, _)| counts.ops).sum(), length)
        };
        IntervalSummary {
            reads_per_s: rate_of(FlowopClass::Read),
            writes_per_s: rate_of(FlowopClass::Write),
            rows: interval.flowops.iter().map(|counts| IntervalFigures::of(counts.clone(), length)).collect(),
            total: IntervalFigures::of(total, length),
        }
    }
}

impl IntervalFigures {
    fn of(counts: IntervalCounts, length_ns: u64) -> Self {
        IntervalFigures {
            ops_per_s: per_second(counts.ops, length_ns),
            bytes_per_s: per_second(counts.bytes_read + counts.bytes_written, length_ns),
            latency_mean_ns: (counts.ops > 0).then(|| counts.latency_sum_ns as f64 / counts.ops as f64),
            counts,
        }
    }
}

/// A rate; 0 where no time has passed, so that no report ever shows a NaN or an infinity.
fn per_second(count: u64, nanos: u64) -> f64 {
    if nanos == 0 { 0.0 } else { count as f64 / (nanos as f64 / 1e9) }
}

/// A rate as documents have it: three decimals, and six digits where these are more. The rest is noise and makes a
/// document hard to read; the counts and the time that it comes from stand beside it in full.
pub fn rate(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let decimals = (5 - x.abs().log10().floor() as i32).max(3);
    // By way of text, which rounds the number itself and not its product with a power of ten.
    format!("{x:.*}", decimals as usize).parse().unwrap_or(x)
}

/// Process, thread and name of each flowop.
fn places(flowops: &[FlowopRecord]) -> Vec<[&str; 3]> {
    flowops.iter().map(|f| [f.process.as_str(), f.thread.as_str(), f.name.as_str()]).collect()
}

/// A name for each flowop (process, thread, name) that no other has; see [`Row::label`].
pub fn labels_of(flowops: &[[&str; 3]]) -> Vec<String> {
    let (mut by_name, mut by_place) = (HashMap::new(), HashMap::new());
    for flowop in flowops {
        *by_name.entry(flowop[2]).or_insert(0) += 1;
        *by_place.entry(flowop).or_insert(0) += 1;
    }
    let mut seen: HashMap<[&str; 3], usize> = HashMap::new();
    let mut labels = Vec::with_capacity(flowops.len());
    for flowop in flowops {
        let number = seen.entry(*flowop).or_default();
        *number += 1;
        labels.push(match (by_name[flowop[2]], by_place[flowop]) {
            (1, _) => flowop[2].to_owned(),
            (_, 1) => flowop.join("."),
            _ => format!("{}#{number}", flowop.join(".")),
        });
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_real_window_and_totals_leave_pacing_out() {
        let run = &Summary::of(&sample::sample()).runs[0];
        // 4 and 2 operations in 2 s; 3 more of delay1, which are not in the total.
        assert_eq!(run.rows.iter().map(|r| r.figures.ops_per_s).collect::<Vec<_>>(), [2.0, 1.0, 1.5]);
        assert_eq!((run.total.figures.counts.ops, run.total.figures.ops_per_s), (6, 3.0));
        assert_eq!((run.total.reads_per_s, run.total.writes_per_s, run.total.metadata_per_s), (3.0, 0.0, 0.0));
        // 4 MB + 1 MB in 2 s.
        assert_eq!(run.total.bytes_read_per_s, 2_500_000.0);
        // 180 us of processor time for 6 operations.
        assert_eq!(run.total.cpu_ns_per_op, Some(30_000.0));
    }

    #[test]
    fn the_latency_of_the_total_is_per_operation() {
        let run = &Summary::of(&sample::sample()).runs[0];
        let total = run.total.figures.latency.unwrap();
        // (100 + 200 + 300 + 400 + 20 + 40) us / 6. The mean of the two means would be (250 + 30) / 2 = 140 us.
        assert_eq!(total.mean, 1_060_000.0 / 6.0);
        assert_eq!((total.min, total.max, total.count), (20_000, 400_000, 6));
        // Sorted: 20 40 100 200 300 400; rank 3 is 100 us. The middle of its bucket, 99 840 to 100 351, stands for it.
        assert_eq!(total.p50, 100_096);
        // Each 90th or higher percentile of six is the sixth.
        assert_eq!((total.p90, total.p99_99), (400_000, 400_000));
    }

    #[test]
    fn a_rate_keeps_three_decimals_and_six_digits() {
        for (x, shown) in [
            (0.0, 0.0),
            (54_477.633_333, 54_477.633),
            (2_333_333.333_333, 2_333_333.333),
            (2.666_666_6, 2.666_67),
            // One operation in an hour is not none.
            (1.0 / 3600.0, 0.000_277_778),
            (99.999_999, 100.0),
            (f64::NAN, 0.0),
        ] {
            assert_eq!(rate(x), shown, "{x}");
        }
    }

    #[test]
    fn interval_rates_are_of_the_interval() {
        let run = &Summary::of(&sample::sample()).runs[0];
        let second = &run.intervals[1];
        // The second interval is half a second long and has 1 + 1 operations of class read.
        assert_eq!((second.total.counts.ops, second.total.ops_per_s), (2, 4.0));
        assert_eq!(second.total.latency_mean_ns, Some(220_000.0));
    }

    #[test]
    fn a_cumulative_period_has_all_before_it() {
        let mut record = sample::sample();
        let run = &mut record.runs[0];
        let alone = periods(run);
        assert_eq!((alone[1].start_ns, alone[1].figures.total.counts.ops), (1_500_000_000, 2));
        run.period_cumulative = true;
        let all = periods(run);
        assert_eq!(
            (all[0].figures.clone(), all[1].start_ns, all[1].end_ns),
            (alone[0].figures.clone(), 0, 2_000_000_000)
        );
        // All 6 operations in 2 s; each flowop's too.
        assert_eq!((all[1].figures.total.counts.ops, all[1].figures.total.ops_per_s), (6, 3.0));
        assert_eq!(all[1].figures.rows.iter().map(|row| row.counts.ops).collect::<Vec<_>>(), [4, 2, 3]);
    }

    #[test]
    fn nothing_is_no_number_where_no_time_has_passed_or_nothing_was_done() {
        let mut record = sample::sample();
        record.runs[0].elapsed_ns = 0;
        record.runs[0].intervals[0].end_ns = 0;
        let run = &Summary::of(&record).runs[0];
        assert_eq!(
            (run.total.figures.ops_per_s, run.total.figures.bytes_per_s, run.total.reads_per_s),
            (0.0, 0.0, 0.0)
        );
        assert_eq!(run.intervals[0].total.ops_per_s, 0.0);

        let run = &Summary::of(&sample::idle()).runs[0];
        assert_eq!((run.total.figures.ops_per_s, run.total.cpu_ns_per_op), (0.0, None));
        assert_eq!(run.total.figures.latency, None);
        assert_eq!(run.intervals[0].total.latency_mean_ns, None);
    }

    #[test]
    fn a_label_is_as_short_as_it_can_be_and_never_that_of_another() {
        let mut flowops = sample::sample().runs.remove(0).flowops;
        assert_eq!(labels_of(&places(&flowops)), ["reader.small.read1", "reader.large.read1", "delay1"]);
        flowops[1].thread = "small".into();
        assert_eq!(labels_of(&places(&flowops)), ["reader.small.read1#1", "reader.small.read1#2", "delay1"]);
    }

    #[test]
    fn a_deviation_beyond_the_whole_numbers_is_still_one() {
        // Sum of squares times count is beyond 2^128.
        let hour: u64 = 3_600_000_000_000;
        let histogram = Histogram {
            count: 3 << 20,
            sum_ns: (2 << 20) * hour,
            sum_squares: u128::MAX / 4,
            min_ns: 0,
            max_ns: hour,
            buckets: vec![3 << 20],
        };
        assert_eq!(histogram.stddev_ns(), None);
        assert!(Latency::of(&histogram).unwrap().stddev.is_finite());
    }
}
