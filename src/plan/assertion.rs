//! `assert`: its names, its metric and its limit are checked before anything runs.

use super::Step;
use super::resolve::Resolver;
use crate::attribute::{Relation, Value};
use crate::diagnostic::Diagnostic;
use crate::record::Figure;
use crate::source::{Span, Spanned};
use crate::summary::METRICS;
use crate::summary::assertion::{Assertion, Found, GROUPS, Names};
use crate::summary::metric::{Limit, Metric, asserted};
use crate::syntax::Expression;

/// An assert whose flowop is not bound yet.
pub(super) struct Claim {
    /// `readfile1`.
    name: Spanned<String>,
    /// As it is spelled, one of those that [`asserted`] knows.
    metric: String,
    relation: Relation,
    limit: Figure,
    /// The limit as it is shown.
    shown: String,
}

impl Resolver<'_, '_> {
    /// Notes an assert for the last run before it, or for the first one to come.
    pub(super) fn assert(
        &mut self,
        subject: &Spanned<Expression>,
        relation: Option<Relation>,
        limit: &Spanned<Expression>,
    ) {
        let name = self.assert_subject(subject);
        let value = self.scope.evaluate(limit);
        let (Some((name, metric)), Some(relation), Some(value)) = (name, relation, value) else { return };
        let Some((figure, shown)) = self.assert_limit(&metric, &value, limit.span) else { return };
        self.claims.push(Claim { name, metric, relation, limit: figure, shown });
    }

    /// The flowop's name and the spelling of the metric.
    fn assert_subject(&mut self, written: &Spanned<Expression>) -> Option<(Spanned<String>, String)> {
        let span = written.span;
        let wanted = "expected a flowop and a metric, such as read1.p99";
        let text = match self.scope.evaluate(written)? {
            Value::Text(text) => text,
            other => {
                let message = format!("an assert begins with a flowop and a metric, not with {}", other.kind());
                self.push(Diagnostic::error(span, message, wanted));
                return None;
            }
        };
        let spellings = || METRICS.iter().flat_map(Metric::spellings);
        // Names and metrics may have dots in them: the longest metric that fits is meant.
        let known = spellings()
            .filter_map(|spelling| Some((text.strip_suffix(spelling)?.strip_suffix('.')?, spelling)))
            .max_by_key(|(_, spelling)| spelling.len());
        if let Some((name, spelling)) = known.filter(|(name, _)| !name.is_empty()) {
            return Some((Spanned::new(name.to_owned(), span), spelling.to_owned()));
        }
        let Some((name, last)) = text.rsplit_once('.').filter(|(name, _)| !name.is_empty()) else {
            self.push(Diagnostic::error(span, format!("'{text}' names no metric"), wanted).help(metrics()));
            return None;
        };
        // 99.5 of `read1.p99.5` is one number.
        let percentile = name.rfind(".p").filter(|at| {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits(&name[at + 2..]) && digits(last)
        });
        let metric = percentile.map_or(last, |at| &text[at + 1..]);
        let found = Diagnostic::error(span, format!("unknown metric '{metric}'"), wanted).help(metrics());
        self.push(found.near(metric, spellings()));
        None
    }

    /// The limit in the metric's unit, and as it is shown.
    fn assert_limit(&mut self, metric: &str, value: &Value, span: Span) -> Option<(Figure, String)> {
        let limit = asserted(metric)?.metric.limit;
        let read = match (limit, value) {
            (Limit::Time, Value::Nanos(nanos)) => Some((Figure::Whole(*nanos), time(*nanos))),
            (Limit::Time, _) => None,
            (Limit::Count, Value::Int(n)) => u64::try_from(*n).ok().map(Figure::Whole).map(|f| (f, f.to_string())),
            // Six decimals come back from a record to the last bit.
            (Limit::Rate, _) => value
                .as_number()
                .filter(|x| (0.0..1e15).contains(x))
                .map(|x| Figure::Real((x * 1e6).round() / 1e6))
                .map(|f| (f, f.to_string())),
            (Limit::Count, _) => None,
        };
        if read.is_none() {
            let expected = match limit {
                Limit::Time => "a time with its unit, such as 5ms",
                Limit::Count => "a whole number of 0 or more",
                Limit::Rate => "a number of 0 or more",
            };
            let found = match value {
                Value::Random(_) => "a random variable".to_owned(),
                other => other.to_string(),
            };
            let message = format!("{metric} is compared with {expected}, not with {found}");
            self.push(Diagnostic::error(span, message, format!("expected {expected}")));
        }
        read
    }

    /// Binds the asserts that were noted since the run before the last to the flowops of the last.
    pub(super) fn bind_asserts(&mut self) {
        let last = self.steps.iter_mut().rev().find_map(|step| match step {
            Step::Run(run) | Step::Start(run) => Some(run),
            _ => None,
        });
        let Some(run) = last.filter(|_| !self.claims.is_empty()) else { return };
        let names = Names::new(&run.flowops().collect::<Vec<_>>());
        let mut asserts = Vec::new();
        for Claim { name, metric, relation, limit, shown } in std::mem::take(&mut self.claims) {
            let found = match names.find(&name.value) {
                Found::One(subject) => {
                    let text = format!("{}.{metric} {relation} {shown}", name.value);
                    asserts.push(Assertion { text, subject, metric, relation, limit });
                    continue;
                }
                // What was refused or could not be read may be it.
                Found::Nothing if self.garbled || self.refused.contains(&name.value) => continue,
                Found::Nothing => {
                    let message = format!("no flowop of the run is called '{}'", name.value);
                    let groups = GROUPS.map(|(name, _)| name);
                    let label = format!("expected a flowop's name, {}", groups.join(", "));
                    Diagnostic::error(name.span, message, label).near(&name.value, names.all())
                }
                Found::Several(labels) => {
                    let message = format!("several flowops are called '{}'", name.value);
                    let found = Diagnostic::error(name.span, message, format!("expected {}", list(&labels)));
                    // Outside of quotes a '#' begins a comment.
                    let quotes = labels.iter().any(|label| label.contains('#'));
                    if quotes { found.help("a name with a '#' stands in quotes") } else { found }
                }
            };
            self.scope.diagnostics.push(found);
        }
        run.asserts.extend(asserts);
    }
}

/// All spellings of metrics.
fn metrics() -> String {
    let spellings: Vec<&str> = METRICS.iter().flat_map(Metric::spellings).collect();
    format!("metrics are {}", spellings.join(", "))
}

/// Names with commas between, and not without end.
fn list(names: &[String]) -> String {
    let shown = names.len().min(4);
    let rest = if names.len() > shown { format!(" and {} more", names.len() - shown) } else { String::new() };
    format!("{}{rest}", names[..shown].join(", "))
}

/// A time in the largest unit that leaves no fraction: `5ms`.
fn time(nanos: u64) -> String {
    let unit = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)]
        .into_iter()
        .find(|(_, unit)| nanos.is_multiple_of(*unit));
    match unit {
        Some((name, unit)) => format!("{}{name}", nanos / unit),
        None => format!("{nanos}ns"),
    }
}
