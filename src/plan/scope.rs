//! Variables, and what expressions come to.

use crate::attribute::{AttributeDef, Value, VariableId};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::random::{self, RandVar, Row};
use crate::source::{Span, Spanned};
use crate::syntax::{Attribute, Expression};
use std::collections::{BTreeMap, BTreeSet};

/// The variables at one moment of the workload.
pub(super) struct Scope<'d> {
    pub(super) diagnostics: &'d mut Diagnostics,
    values: BTreeMap<String, Value>,
    /// Of `--set` and `--dir`: they hold against any `set` of the text.
    overrides: BTreeMap<String, Value>,
    /// How `randvar(...)` variables were written, so that one field can be changed.
    fields: BTreeMap<VariableId, RandVar>,
    pub(super) variables: Vec<random::Spec>,
    /// All names that the text sets or uses.
    known: BTreeSet<String>,
    /// An absent `$dir` is a warning, and stands for itself.
    check: bool,
}

impl<'d> Scope<'d> {
    pub(super) fn new(diagnostics: &'d mut Diagnostics, overrides: BTreeMap<String, Value>, check: bool) -> Self {
        Scope {
            diagnostics,
            values: overrides.clone(),
            overrides,
            fields: BTreeMap::new(),
            variables: Vec::new(),
            known: BTreeSet::new(),
            check,
        }
    }

    /// All variables with their values.
    pub(super) fn values(&self) -> BTreeMap<String, Value> {
        self.values.clone()
    }

    /// All names that the text sets or uses.
    pub(super) fn known(&self) -> &BTreeSet<String> {
        &self.known
    }

    /// Carries out `set $name = value`.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.known.insert(name.to_owned());
        if !self.overrides.contains_key(name) {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Gives a variable that could not be computed some value, so that its uses are no further mistakes.
    pub(super) fn set_unknown(&mut self, name: &str) {
        self.known.insert(name.to_owned());
        self.values.entry(name.to_owned()).or_insert(Value::Int(1));
    }

    /// Lets local variables hold, until [`Scope::leave`] gets what this returns.
    pub(super) fn enter(&mut self, locals: &BTreeMap<String, Value>) -> Vec<(String, Option<Value>)> {
        let set = |(name, value): (&String, &Value)| (name.clone(), self.values.insert(name.clone(), value.clone()));
        locals.iter().map(set).collect()
    }

    /// Ends what [`Scope::enter`] began.
    pub(super) fn leave(&mut self, before: Vec<(String, Option<Value>)>) {
        for (name, value) in before {
            match value {
                Some(value) => self.values.insert(name, value),
                None => self.values.remove(&name),
            };
        }
    }

    /// Keeps a random variable.
    pub(super) fn add_random(&mut self, spec: random::Spec) -> VariableId {
        self.variables.push(spec);
        VariableId(self.variables.len() as u32 - 1)
    }

    /// Carries out `set $name.field = value`.
    pub(super) fn set_field(&mut self, name: &Spanned<String>, field: &Spanned<String>, value: &Spanned<Expression>) {
        self.known.insert(name.value.clone());
        let Some(Value::Random(id)) = self.values.get(&name.value) else {
            self.diagnostics.push(Diagnostic::error(
                name.span,
                format!("${} is not a random variable", name.value),
                "only a randvar has fields",
            ));
            return;
        };
        let Some(mut fields) = self.fields.get(id).cloned() else {
            self.diagnostics.push(Diagnostic::error(
                name.span,
                format!("${} is a cvar", name.value),
                "only a randvar has fields",
            ));
            return;
        };
        let attribute = Attribute { name: field.clone(), value: Some(value.clone()) };
        if self.read_field(&mut fields, &attribute).is_some()
            && let Some(value) = self.keep_randvar(fields, value.span)
        {
            self.set(&name.value, value);
        }
    }

    fn keep_randvar(&mut self, fields: RandVar, span: Span) -> Option<Value> {
        match fields.spec() {
            Ok(spec) => {
                let id = self.add_random(spec);
                self.fields.insert(id, fields);
                Some(Value::Random(id))
            }
            Err(why) => {
                self.diagnostics.push(Diagnostic::error(span, why, "in this random variable"));
                None
            }
        }
    }

    /// One attribute of a randvar. None where it was wrong (and was reported).
    fn read_field(&mut self, fields: &mut RandVar, attribute: &Attribute) -> Option<()> {
        let name = attribute.name.value.as_str();
        let known = super::entity::RANDVAR.attributes;
        let Some(def) = crate::attribute::find(known, name) else {
            let diagnostic = Diagnostic::error(
                attribute.name.span,
                format!("unknown attribute '{name}' of a randvar"),
                "not an attribute of a randvar",
            );
            self.diagnostics.push(diagnostic.near(name, known.iter().map(|def| def.name)));
            return None;
        };
        let Some(value) = &attribute.value else {
            self.needs_value(attribute);
            return None;
        };
        if def.name == "name" {
            return Some(());
        }
        if let (Expression::Table(rows), "randtable") = (&value.value, def.name) {
            fields.table = rows.iter().map(|row| self.row(row)).collect::<Option<_>>()?;
            return Some(());
        }
        let computed = self.evaluate(value)?;
        match def.name {
            "type" => fields.kind = Some(self.text_of(&computed, value.span)?),
            "randsrc" => fields.source = Some(self.text_of(&computed, value.span)?),
            "seed" => fields.seed = Some(self.number_of(&computed, value.span)? as u64),
            "mean" => fields.mean = Some(self.number_of(&computed, value.span)?),
            "gamma" => fields.gamma = Some(self.number_of(&computed, value.span)?),
            "min" => fields.min = Some(self.number_of(&computed, value.span)?),
            "round" => fields.round = Some(self.number_of(&computed, value.span)?),
            _ => {
                self.diagnostics.push(Diagnostic::error(
                    value.span,
                    "a table is expected",
                    "expected {{percent, low, high}, ...}",
                ));
                return None;
            }
        }
        Some(())
    }

    fn row(&mut self, row: &Spanned<Vec<Spanned<Expression>>>) -> Option<Row> {
        let [percent, low, high] = row.value.as_slice() else {
            self.diagnostics.push(Diagnostic::error(
                row.span,
                "a row of a table has three numbers",
                "expected {percent, low, high}",
            ));
            return None;
        };
        let mut number = |e: &Spanned<Expression>| {
            let value = self.evaluate(e)?;
            self.number_of(&value, e.span)
        };
        Some(Row { percent: number(percent)?, low: number(low)?, high: number(high)? })
    }

    fn text_of(&mut self, value: &Value, span: Span) -> Option<String> {
        match value {
            Value::Text(text) => Some(text.clone()),
            other => self.wrong_kind("a word", other, span),
        }
    }

    fn number_of(&mut self, value: &Value, span: Span) -> Option<f64> {
        match value.as_number() {
            Some(number) => Some(number),
            None => self.wrong_kind("a number", value, span),
        }
    }

    fn wrong_kind<T>(&mut self, expected: &str, found: &Value, span: Span) -> Option<T> {
        self.diagnostics.push(Diagnostic::error(
            span,
            format!("{expected} is expected, not {}", found.kind()),
            format!("expected {expected}"),
        ));
        None
    }

    fn needs_value(&mut self, attribute: &Attribute) {
        self.diagnostics.push(Diagnostic::error(
            attribute.name.span,
            format!("'{}' has no value", attribute.name.value),
            format!("expected {}=VALUE", attribute.name.value),
        ));
    }

    /// The random variable that a list of attributes describes.
    pub(super) fn randvar(&mut self, attributes: &[Attribute], span: Span) -> Option<Value> {
        let mut fields = RandVar::default();
        let read: Vec<Option<()>> = attributes.iter().map(|a| self.read_field(&mut fields, a)).collect();
        if read.contains(&None) {
            return None;
        }
        self.keep_randvar(fields, span)
    }

    fn cvar(&mut self, attributes: &[Attribute], span: Span) -> Option<Value> {
        let known = super::entity::CVAR.attributes;
        let (mut kind, mut parameters, mut limits) = (None, String::new(), BTreeMap::new());
        let mut wrong = false;
        for attribute in attributes {
            let name = attribute.name.value.as_str();
            let Some(def) = crate::attribute::find(known, name) else {
                let diagnostic = Diagnostic::error(
                    attribute.name.span,
                    format!("unknown attribute '{name}' of a cvar"),
                    "not an attribute of a cvar",
                );
                self.diagnostics.push(diagnostic.near(name, known.iter().map(|def| def.name)));
                wrong = true;
                continue;
            };
            let Some(written) = &attribute.value else {
                self.needs_value(attribute);
                wrong = true;
                continue;
            };
            let Some(value) = self.evaluate(written) else {
                wrong = true;
                continue;
            };
            match def.name {
                "type" => kind = self.text_of(&value, written.span),
                "parameters" => match self.text_of(&value, written.span) {
                    Some(text) => parameters = text,
                    None => wrong = true,
                },
                _ => match self.number_of(&value, written.span) {
                    Some(number) => {
                        limits.insert(def.name, number);
                    }
                    None => wrong = true,
                },
            }
        }
        if wrong {
            return None;
        }
        let Some(kind) = kind else {
            self.diagnostics.push(Diagnostic::error(
                span,
                "a cvar needs a type",
                "expected type=cvar-gamma or another",
            ));
            return None;
        };
        let limit = |name: &str| limits.get(name).copied();
        match random::cvar(&kind, &parameters, limit("min"), limit("max"), limit("round")) {
            Ok(spec) => Some(Value::Random(self.add_random(spec))),
            Err(why) => {
                self.diagnostics.push(Diagnostic::error(span, why, "in this custom variable"));
                None
            }
        }
    }

    /// What an expression comes to. None where it is wrong (and was reported).
    pub(super) fn evaluate(&mut self, expression: &Spanned<Expression>) -> Option<Value> {
        let span = expression.span;
        match &expression.value {
            Expression::Literal(value) => Some(value.clone()),
            Expression::Variable(name) => self.variable(name, span),
            Expression::Environment(name) => match std::env::var(name) {
                Ok(value) => Some(Value::Text(value)),
                Err(_) => {
                    self.diagnostics.push(Diagnostic::error(
                        span,
                        format!("the environment has no variable {name}"),
                        "not set in the environment",
                    ));
                    None
                }
            },
            Expression::Join(parts) => {
                let parts: Vec<Option<Value>> = parts.iter().map(|part| self.evaluate(part)).collect();
                let parts: Vec<Value> = parts.into_iter().collect::<Option<_>>()?;
                Some(Value::Text(parts.iter().map(Value::to_string).collect()))
            }
            Expression::Binary { operator, left, right } => {
                let (left_value, right_value) = (self.evaluate(left), self.evaluate(right));
                let (left_value, right_value) = (left_value?, right_value?);
                self.calculate(*operator, (left_value, left.span), (right_value, right.span), span)
            }
            Expression::Call { function, attributes } => match function.value.as_str() {
                "randvar" => self.randvar(attributes, span),
                "cvar" => self.cvar(attributes, span),
                other => {
                    let diagnostic = Diagnostic::error(
                        function.span,
                        format!("unknown function '{other}'"),
                        "expected randvar(...) or cvar(...)",
                    );
                    self.diagnostics.push(diagnostic.near(other, ["randvar", "cvar"]));
                    None
                }
            },
            // Reported where it was read.
            Expression::Invalid => None,
            Expression::Table(_) => {
                self.diagnostics.push(Diagnostic::error(
                    span,
                    "a table is possible as randtable only",
                    "expected a value",
                ));
                None
            }
        }
    }

    fn variable(&mut self, name: &str, span: Span) -> Option<Value> {
        self.known.insert(name.to_owned());
        if let Some(value) = self.values.get(name) {
            return Some(value.clone());
        }
        if name == "dir" && self.check {
            self.diagnostics.push(Diagnostic::warning(span, "$dir is never set", "the run needs --dir DIR"));
            let stand_in = Value::Text("$dir".into());
            self.values.insert(name.into(), stand_in.clone());
            return Some(stand_in);
        }
        let mut diagnostic = Diagnostic::error(span, format!("${name} is not set"), "no value at this point");
        diagnostic = if name == "dir" {
            diagnostic.help("give the directory with --dir DIR")
        } else {
            diagnostic.near(name, self.values.keys().map(String::as_str))
        };
        self.diagnostics.push(diagnostic);
        // One message for each variable is enough.
        self.values.insert(name.into(), Value::Int(1));
        None
    }

    fn calculate(&mut self, operator: char, left: (Value, Span), right: (Value, Span), span: Span) -> Option<Value> {
        let outcome = match (&left.0, &right.0) {
            (Value::Int(a), Value::Int(b)) => {
                let result = match operator {
                    '+' => a.checked_add(*b),
                    '-' => a.checked_sub(*b),
                    '*' => a.checked_mul(*b),
                    '/' => a.checked_div(*b),
                    _ => a.checked_rem(*b),
                };
                match result {
                    Some(n) => Ok(Value::Int(n)),
                    None if *b == 0 => Err("division by zero"),
                    None => Err("the result is too large: at most 2^63-1 is possible"),
                }
            }
            (Value::Nanos(_), _) | (_, Value::Nanos(_)) => calculate_time(operator, &left.0, &right.0),
            (a, b) => {
                let a = self.number_of(a, left.1);
                let b = self.number_of(b, right.1);
                let (a, b) = (a?, b?);
                let x = match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '/' => a / b,
                    _ => a % b,
                };
                if x.is_finite() { Ok(Value::Real(x)) } else { Err("division by zero") }
            }
        };
        outcome.map_err(|why| self.diagnostics.push(Diagnostic::error(span, why, "in this calculation"))).ok()
    }

    /// Text for people (`echo`): variables by their values, unknown ones as they are written.
    pub(super) fn text(&mut self, arguments: &[Spanned<Expression>]) -> Option<String> {
        let mut out = String::new();
        for argument in arguments {
            match &argument.value {
                Expression::Variable(name) => match self.values.get(name) {
                    Some(value) => out.push_str(&value.to_string()),
                    None => {
                        out.push('$');
                        out.push_str(name);
                    }
                },
                Expression::Join(parts) => out.push_str(&self.text(parts)?),
                _ => out.push_str(&self.evaluate(argument)?.to_string()),
            }
        }
        Some(out)
    }

    /// A value of an attribute, read as its kind; a bare attribute is `true`.
    pub(super) fn attribute(
        &mut self,
        def: &AttributeDef,
        attribute: &Attribute,
    ) -> Option<Spanned<crate::attribute::Typed>> {
        let (value, span) = match &attribute.value {
            Some(written) => (self.evaluate(written)?, written.span),
            None => (Value::Flag(true), attribute.name.span),
        };
        if attribute.value.is_none()
            && !matches!(def.kind, crate::attribute::Kind::Flag | crate::attribute::Kind::Percent)
        {
            self.needs_value(attribute);
            return None;
        }
        match def.read(&value) {
            Ok(typed) => Some(Spanned::new(typed, span)),
            Err(expected) => {
                let shown = match &value {
                    Value::Random(_) => String::new(),
                    other => format!(", not {other}"),
                };
                self.diagnostics.push(Diagnostic::error(
                    span,
                    format!("{} takes {expected}{shown}", def.name),
                    format!("expected {expected}"),
                ));
                None
            }
        }
    }
}

/// Times add up, and are multiplied and divided by numbers.
fn calculate_time(operator: char, left: &Value, right: &Value) -> Result<Value, &'static str> {
    let range = "the result is no time: it is below 0, or too long";
    let whole = |nanos: f64| match nanos {
        nanos if (0.0..1.8e19).contains(&nanos) => Ok(Value::Nanos(nanos.round() as u64)),
        nanos if nanos.is_finite() => Err(range),
        _ => Err("division by zero"),
    };
    match (operator, left, right) {
        ('+', Value::Nanos(a), Value::Nanos(b)) => a.checked_add(*b).map(Value::Nanos).ok_or(range),
        ('-', Value::Nanos(a), Value::Nanos(b)) => a.checked_sub(*b).map(Value::Nanos).ok_or(range),
        ('*', Value::Nanos(time), Value::Int(n)) | ('*', Value::Int(n), Value::Nanos(time)) => {
            u64::try_from(*n).ok().and_then(|n| time.checked_mul(n)).map(Value::Nanos).ok_or(range)
        }
        ('*', Value::Nanos(time), Value::Real(x)) | ('*', Value::Real(x), Value::Nanos(time)) => {
            whole(*time as f64 * x)
        }
        ('/', Value::Nanos(time), Value::Int(_) | Value::Real(_)) => {
            whole(*time as f64 / right.as_number().unwrap_or(f64::NAN))
        }
        _ => Err("times are added to and taken from times, and multiplied and divided by numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_calculated_exactly() {
        let (ms, us) = (|n: u64| Value::Nanos(n * 1_000_000), |n: u64| Value::Nanos(n * 1_000));
        assert_eq!(calculate_time('+', &ms(5), &us(1)), Ok(us(5001)));
        assert_eq!(calculate_time('-', &ms(5), &us(1)), Ok(us(4999)));
        assert_eq!(calculate_time('*', &ms(5), &Value::Int(3)), Ok(ms(15)));
        assert_eq!(calculate_time('*', &Value::Real(0.5), &ms(5)), Ok(us(2500)));
        assert_eq!(calculate_time('/', &ms(5), &Value::Int(2)), Ok(us(2500)));
        assert_eq!(calculate_time('/', &ms(5), &Value::Int(0)), Err("division by zero"));
        for (operator, left, right) in [
            ('-', us(1), us(2)),
            ('*', ms(1), Value::Int(-1)),
            ('*', ms(1), Value::Int(i64::MAX)),
            ('*', ms(1), Value::Real(-0.5)),
        ] {
            assert!(
                calculate_time(operator, &left, &right).unwrap_err().contains("no time"),
                "{left} {operator} {right}"
            );
        }
        for (operator, left, right) in [
            ('+', ms(1), Value::Int(1)),
            ('*', ms(1), ms(1)),
            ('/', Value::Int(1), ms(1)),
            ('%', ms(1), ms(1)),
            ('+', ms(1), Value::Text("a".into())),
        ] {
            assert!(
                calculate_time(operator, &left, &right).unwrap_err().contains("added"),
                "{left} {operator} {right}"
            );
        }
    }
}
