//! Comma-separated values: a row for each flowop and one for the total of each interval of each run.

use super::csv::{Row, Table, field, optional, place};
use crate::record::{Interval, RunRecord};
use crate::summary::{IntervalFigures, Summary, rate};

/// The whole document.
pub(super) fn render(record: &RunRecord) -> String {
    let nothing =
        IntervalFigures { counts: Default::default(), ops_per_s: 0.0, bytes_per_s: 0.0, latency_mean_ns: None };
    let no_time =
        Interval { start_ns: 0, end_ns: 0, flowops: Vec::new(), monitors: Vec::new(), latency: None, lag_ns: None };
    let mut table = Table::new(row(place(0, None), &no_time, &nothing));
    for (at, (run, summary)) in record.runs.iter().zip(Summary::of(record).runs).enumerate() {
        for (interval, figures) in run.intervals.iter().zip(&summary.intervals) {
            for (flowop, figures) in run.flowops.iter().zip(&figures.rows) {
                let names = [flowop.process.as_str(), &flowop.thread, &flowop.name];
                table.push(row(place(at + 1, Some(names)), interval, figures));
            }
            table.push(row(place(at + 1, None), interval, &figures.total));
        }
    }
    table.render()
}

fn row(place: Row, interval: &Interval, figures: &IntervalFigures) -> Row {
    let counts = &figures.counts;
    let fields = [
        field("start_ns", interval.start_ns),
        field("end_ns", interval.end_ns),
        field("ops", counts.ops),
        field("ops_per_s", rate(figures.ops_per_s)),
        field("bytes_read", counts.bytes_read),
        field("bytes_written", counts.bytes_written),
        field("bytes_per_s", rate(figures.bytes_per_s)),
        field("latency_sum_ns", counts.latency_sum_ns),
        optional("latency_mean_ns", figures.latency_mean_ns.map(|mean| mean.round() as u64)),
    ];
    place.into_iter().chain(fields).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::sample;

    #[test]
    fn the_sample() {
        // The first interval is 1.5 s long: 3 / 1.5 = 2, 1 / 1.5 = 0.666667.
        assert_eq!(
            render(&sample()).replace("\r\n", "\n"),
            "run,row,process,thread,flowop,start_ns,end_ns,ops,ops_per_s,bytes_read,bytes_written,bytes_per_s,\
             latency_sum_ns,latency_mean_ns\n\
             1,flowop,reader,small,read1,0,1500000000,3,2,3000000,0,2000000,600000,200000\n\
             1,flowop,reader,large,read1,0,1500000000,1,0.666667,500000,0,333333.333,20000,20000\n\
             1,flowop,reader,large,delay1,0,1500000000,2,1.33333,0,0,0,2000000,1000000\n\
             1,total,,,,0,1500000000,4,2.66667,3500000,0,2333333.333,620000,155000\n\
             1,flowop,reader,small,read1,1500000000,2000000000,1,2,1000000,0,2000000,400000,400000\n\
             1,flowop,reader,large,read1,1500000000,2000000000,1,2,500000,0,1000000,40000,40000\n\
             1,flowop,reader,large,delay1,1500000000,2000000000,1,2,0,0,0,1000000,1000000\n\
             1,total,,,,1500000000,2000000000,2,4,1500000,0,3000000,440000,220000\n"
        );
    }
}
