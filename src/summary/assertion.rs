//! `assert`: what must hold of a run's figures.
//!
//! An assertion compares a figure as the JSON document has it (whole nanoseconds, whole numbers, rates with three
//! decimals), so that anybody can do the comparison again.

use super::metric::{Asserted, Cell, asserted};
use super::{Figures, labels_of};
use crate::attribute::Relation;
use crate::record::{AssertRecord, Counts, Figure, FlowopClass, FlowopRecord, Histogram, Run};
use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A condition on a run, with its names bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assertion {
    /// As reports show it, with the value of the limit: `read1.p99 < 5ms`.
    pub text: String,
    /// Whose figure.
    pub subject: Subject,
    /// Which figure: a spelling that [`asserted`] knows.
    pub metric: String,
    /// How it must compare.
    pub relation: Relation,
    /// With what, in the unit of the figure.
    pub limit: Figure,
}

/// Whose figures an assertion is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The flowop at this place of [`Run::flowops`].
    Flowop(u32),
    /// All flowops that do I/O.
    Total,
    /// All flowops of a class.
    Class(FlowopClass),
}

/// Names that stand for several flowops, where no flowop has them.
pub const GROUPS: [(&str, Subject); 3] = [
    ("total", Subject::Total),
    ("reads", Subject::Class(FlowopClass::Read)),
    ("writes", Subject::Class(FlowopClass::Write)),
];

/// What a name of an assertion stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// This.
    One(Subject),
    /// Several flowops, which have these names in a report.
    Several(Vec<String>),
    /// Nothing.
    Nothing,
}

/// The names of a run's flowops, by which assertions refer to them.
pub struct Names {
    labels: Vec<String>,
    /// By what a report calls the row; by `process.thread.name`; by name.
    places: [HashMap<String, Vec<usize>>; 3],
}

impl Names {
    /// Of flowops in the order of definition: process, thread and name of each.
    pub fn new(flowops: &[[&str; 3]]) -> Self {
        let labels = labels_of(flowops);
        let mut places: [HashMap<String, Vec<usize>>; 3] = Default::default();
        for (at, (flowop, label)) in flowops.iter().zip(&labels).enumerate() {
            for (map, name) in places.iter_mut().zip([label.clone(), flowop.join("."), flowop[2].to_owned()]) {
                map.entry(name).or_default().push(at);
            }
        }
        Names { labels, places }
    }

    /// What `wanted` stands for; where it may be read in several ways, a label comes first, then `process.thread.name`.
    pub fn find(&self, wanted: &str) -> Found {
        match self.places.iter().find_map(|map| map.get(wanted)).map(Vec::as_slice) {
            Some([one]) => Found::One(Subject::Flowop(*one as u32)),
            Some(several) => Found::Several(several.iter().map(|at| self.labels[*at].clone()).collect()),
            None => match GROUPS.iter().find(|(name, _)| *name == wanted) {
                Some((_, group)) => Found::One(*group),
                None => Found::Nothing,
            },
        }
    }

    /// All names that a report has, and those of the groups.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(String::as_str).chain(GROUPS.map(|(name, _)| name))
    }
}

/// The assertions of a run, each with what became of it.
pub fn evaluate(assertions: &[Assertion], run: &Run) -> Vec<AssertRecord> {
    assertions.iter().map(|assertion| assertion.evaluate(run)).collect()
}

impl Assertion {
    fn evaluate(&self, run: &Run) -> AssertRecord {
        let asserted = asserted(&self.metric).expect("the plan keeps only metrics of the list");
        let record = AssertRecord {
            text: self.text.clone(),
            unit: asserted.unit.to_owned(),
            limit: self.limit,
            value: None,
            holds: None,
            reason: None,
        };
        if !run.valid {
            return AssertRecord { reason: Some("the run is not valid".into()), ..record };
        }
        match asserted.figure(&self.figures(run)) {
            Some(value) => {
                let holds = value.compare(self.limit).is_some_and(|order| self.relation.admits(order));
                AssertRecord { value: Some(value), holds: Some(holds), ..record }
            }
            // Nothing is faster than what was never done, but that is not what was asked.
            None => AssertRecord { holds: Some(false), reason: Some("no operations".into()), ..record },
        }
    }

    fn figures(&self, run: &Run) -> Figures {
        let of = |is: &dyn Fn(usize, &FlowopRecord) -> bool| {
            let (mut counts, mut histogram, mut response) =
                (Counts::default(), Histogram::default(), Histogram::default());
            for (_, flowop) in run.flowops.iter().enumerate().filter(|(at, flowop)| is(*at, flowop)) {
                counts.merge(&flowop.counts);
                histogram.merge(&flowop.histogram);
                flowop.response.iter().for_each(|of_flowop| response.merge(of_flowop));
            }
            Figures::of(counts, &histogram, Some(&response), run.elapsed_ns)
        };
        match self.subject {
            Subject::Flowop(place) => of(&|at, _| at == place as usize),
            Subject::Total => of(&|_, flowop| flowop.class.is_io()),
            Subject::Class(class) => of(&|_, flowop| flowop.class == class),
        }
    }
}

impl Asserted {
    /// The figure, in its unit; none where no operation finished and it is a latency.
    fn figure(&self, figures: &Figures) -> Option<Figure> {
        match (self.metric.value)(figures) {
            Cell::Empty => None,
            Cell::Count(n) | Cell::Nanos(n) => Some(Figure::Whole(n)),
            Cell::PerSecond(x) | Cell::BytesPerSecond(x) => Some(Figure::Real(super::rate(x / self.divisor))),
        }
    }
}

/// What became of an assertion, on a line: `assert failed: read1.p99 < 5ms (it is 6.20 ms)`.
pub fn line(record: &AssertRecord) -> String {
    let shown = |figure: Figure| match figure {
        Figure::Whole(nanos) if record.unit == "ns" => units::duration(nanos),
        other => other.to_string(),
    };
    let found = record.value.map(|value| {
        // Where three digits do not tell it from the limit, all do.
        let close = value != record.limit && shown(value) == shown(record.limit);
        if close { format!("it is {value} {}", record.unit) } else { format!("it is {}", shown(value)) }
    });
    let became = match record.holds {
        Some(true) => "assert held",
        Some(false) => "assert failed",
        None => "assert not evaluated",
    };
    let why = found.or_else(|| record.reason.clone()).map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{became}: {}{why}", record.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample::{idle, sample};

    /// `read1` of the thread `small`: 100, 200, 300, 400 us, 4 MB in 2 s.
    const SMALL: Subject = Subject::Flowop(0);

    fn assertion(subject: Subject, metric: &str, relation: Relation, limit: Figure) -> Assertion {
        Assertion { text: format!("x.{metric} {relation} {limit}"), subject, metric: metric.into(), relation, limit }
    }

    fn holds(subject: Subject, metric: &str, relation: Relation, limit: Figure) -> bool {
        assertion(subject, metric, relation, limit).evaluate(&sample().runs[0]).holds.unwrap()
    }

    #[test]
    fn each_relation_is_exact_at_the_limit() {
        for (metric, value) in [("max", 400_000), ("min", 100_000), ("mean", 250_000), ("ops", 4), ("errors", 0)] {
            let expected = [
                (Relation::Less, [false, false, true]),
                (Relation::AtMost, [false, true, true]),
                (Relation::More, [true, false, false]),
                (Relation::AtLeast, [true, true, false]),
                (Relation::Equal, [false, true, false]),
                (Relation::Unequal, [true, false, true]),
            ];
            for (relation, [below, at, above]) in expected {
                if value > 0 {
                    assert_eq!(holds(SMALL, metric, relation, Figure::Whole(value - 1)), below, "{metric} {relation}");
                }
                assert_eq!(holds(SMALL, metric, relation, Figure::Whole(value)), at, "{metric} {relation}");
                assert_eq!(holds(SMALL, metric, relation, Figure::Whole(value + 1)), above, "{metric} {relation}");
            }
        }
    }

    #[test]
    fn rates_are_compared_as_the_document_has_them() {
        let at = |subject, metric, x| holds(subject, metric, Relation::Equal, Figure::Real(x));
        assert!(at(SMALL, "ops_per_s", 2.0) && at(SMALL, "ops/s", 2.0));
        assert!(at(SMALL, "bytes_per_s", 2_000_000.0) && at(SMALL, "MB/s", 2.0));
        let mut run = sample().runs.remove(0);
        run.elapsed_ns = 3_000_000_000;
        // 4 / 3, to six digits.
        let assertion = assertion(SMALL, "ops_per_s", Relation::Equal, Figure::Real(1.33333));
        let record = assertion.evaluate(&run);
        assert_eq!((record.value, record.holds), (Some(Figure::Real(1.33333)), Some(true)));
    }

    #[test]
    fn groups_are_merged() {
        let value = |subject, metric| {
            let record = assertion(subject, metric, Relation::Equal, Figure::Whole(0)).evaluate(&sample().runs[0]);
            record.value.map(|value| value.to_string())
        };
        assert_eq!(value(Subject::Total, "ops").unwrap(), "6");
        assert_eq!(value(Subject::Total, "max").unwrap(), "400000");
        assert_eq!(value(Subject::Class(FlowopClass::Read), "mean").unwrap(), "176667");
        assert_eq!(value(Subject::Class(FlowopClass::Write), "ops").unwrap(), "0");
        assert_eq!(value(Subject::Class(FlowopClass::Write), "p99"), None);
    }

    #[test]
    fn a_latency_of_nothing_satisfies_nothing_and_counts_are_0() {
        let run = &idle().runs[0];
        for relation in [Relation::Less, Relation::More, Relation::Unequal] {
            let record = assertion(SMALL, "p99", relation, Figure::Whole(5)).evaluate(run);
            assert_eq!((record.value, record.holds), (None, Some(false)));
            assert_eq!(line(&record), format!("assert failed: x.p99 {relation} 5 (no operations)"));
        }
        let none = assertion(SMALL, "ops", Relation::Equal, Figure::Whole(0));
        assert_eq!(none.evaluate(run).holds, Some(true));
    }

    #[test]
    fn nothing_is_said_of_a_run_that_is_not_valid() {
        let mut run = sample().runs.remove(0);
        run.valid = false;
        let record = assertion(SMALL, "ops", Relation::Equal, Figure::Whole(4)).evaluate(&run);
        assert_eq!((record.value, record.holds), (None, None));
        assert_eq!(line(&record), "assert not evaluated: x.ops == 4 (the run is not valid)");
    }

    #[test]
    fn a_line_shows_the_difference_to_the_limit() {
        let of = |metric, limit| line(&assertion(SMALL, metric, Relation::Less, limit).evaluate(&sample().runs[0]));
        assert_eq!(of("max", Figure::Whole(500_000)), "assert held: x.max < 500000 (it is 400 us)");
        assert_eq!(of("max", Figure::Whole(400_000)), "assert failed: x.max < 400000 (it is 400 us)");
        assert_eq!(of("max", Figure::Whole(399_999)), "assert failed: x.max < 399999 (it is 400000 ns)");
        assert_eq!(of("ops", Figure::Whole(4)), "assert failed: x.ops < 4 (it is 4)");
        assert_eq!(of("ops/s", Figure::Real(1.5)), "assert failed: x.ops/s < 1.5 (it is 2)");
    }

    #[test]
    fn a_name_is_found_as_a_report_has_it_and_in_full() {
        let flowops = [["p", "t", "read1"], ["p", "u", "read1"], ["p", "t", "total"], ["p", "t", "stat"]];
        let one = |at| Found::One(Subject::Flowop(at));
        let find = |flowops: &[[&str; 3]], wanted: &str| Names::new(flowops).find(wanted);
        assert_eq!(find(&flowops, "stat"), one(3));
        assert_eq!(find(&flowops, "p.t.stat"), one(3));
        assert_eq!(find(&flowops, "p.u.read1"), one(1));
        assert_eq!(find(&flowops, "read1"), Found::Several(vec!["p.t.read1".into(), "p.u.read1".into()]));
        assert_eq!(find(&flowops, "total"), one(2), "a flowop's own name comes first");
        assert_eq!(find(&flowops[..2], "total"), Found::One(Subject::Total));
        assert_eq!(find(&flowops, "u.read1"), Found::Nothing);
        // Twice in one thread.
        let twins = [["p", "t", "a"], ["p", "t", "a"]];
        assert_eq!(find(&twins, "p.t.a#2"), one(1));
        assert_eq!(find(&twins, "p.t.a"), Found::Several(vec!["p.t.a#1".into(), "p.t.a#2".into()]));
    }
}
