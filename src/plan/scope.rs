//! Variables, and what expressions come to.

use crate::attribute::{AttributeDef, Kind, Typed, Value, VariableId};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::random::{self, RandVar, Row};
use crate::source::{SourceFile, Sources, Span, Spanned};
use crate::syntax::{Attribute, Expression};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Bytes that all values of a workload may have together, a copy of a value counted again: `set $a=$a$a` forty times is a
/// terabyte.
const MOST_BYTES: usize = 64 << 20;

/// Bytes of a value beside its text, and of a random variable beside its table.
const EACH: usize = 64;

/// Bytes of a file of values at most.
const LARGEST_FILE: u64 = 16 << 20;

/// How files that the text names are found and read.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Where each text begins in the offsets of all, and the directory that it lies in.
    directories: Vec<(usize, PathBuf)>,
    read: Option<super::ReadText>,
}

impl Files {
    pub(super) fn new(sources: &Sources, read: Option<super::ReadText>) -> Self {
        let directory = |file: &SourceFile| file.path.as_deref().and_then(Path::parent).map(Path::to_owned);
        let directories = sources.files().iter().map(|file| (file.base, directory(file).unwrap_or_default())).collect();
        Files { directories, read }
    }

    /// The directory of the text that has this place.
    fn beside(&self, span: Span) -> &Path {
        let before = self.directories.partition_point(|(base, _)| *base <= span.start);
        self.directories.get(before.saturating_sub(1)).map_or(Path::new(""), |(_, directory)| directory)
    }
}

/// What the variables that filebench 1.4 has by itself are made of.
#[derive(Debug, Default)]
pub(super) struct Internal {
    /// `${scriptname}`.
    pub(super) script: String,
    /// `${rate}`: that of the last `eventgen`.
    pub(super) rate: Option<Spanned<Expression>>,
}

/// `YYYYMMDD-HHMM` of seconds since 1970, in UTC.
fn date(seconds: u64) -> String {
    let (days, minutes) = (seconds / 86_400, seconds / 60 % 1440);
    let leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let (mut year, mut day) = (1970, days);
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year:04}{month:02}{:02}-{:02}{:02}", day + 1, minutes / 60, minutes % 60)
}

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
    /// A text that could not be read may set any variable.
    pub(super) partial: bool,
    pub(super) internal: Internal,
    files: Files,
    /// Bytes of values until now.
    spent: usize,
    /// They are more than may be, and this was reported.
    over: bool,
}

impl<'d> Scope<'d> {
    pub(super) fn new(
        diagnostics: &'d mut Diagnostics,
        overrides: BTreeMap<String, Value>,
        check: bool,
        files: Files,
    ) -> Self {
        Scope {
            diagnostics,
            values: overrides.clone(),
            overrides,
            fields: BTreeMap::new(),
            variables: Vec::new(),
            known: BTreeSet::new(),
            check,
            partial: false,
            internal: Internal::default(),
            files,
            spent: 0,
            over: false,
        }
    }

    /// Counts the bytes of a value that is made or copied; None, and an error, where all are too many.
    fn spend(&mut self, bytes: usize, span: Span) -> Option<()> {
        self.spent = self.spent.saturating_add(bytes);
        if self.spent <= MOST_BYTES {
            return Some(());
        }
        if !std::mem::replace(&mut self.over, true) {
            let message = format!("the values of this workload come to more than {} MiB", MOST_BYTES >> 20);
            let diagnostic = Diagnostic::error(span, message, "this one is too many");
            self.diagnostics.push(diagnostic.help("each use of a variable counts what it holds"));
        }
        None
    }

    /// Counts the bytes of variables that are copied.
    pub(super) fn spend_all(&mut self, values: &BTreeMap<String, Value>) {
        let bytes = values.iter().map(|(name, value)| EACH + name.len() + text_len(value));
        self.spent = self.spent.saturating_add(bytes.sum());
    }

    /// True, and an error, where the values come to more than may be.
    pub(super) fn is_full(&mut self, span: Span) -> bool {
        self.spend(0, span).is_none()
    }

    /// True where a `set` of the text has no effect on this variable.
    pub(super) fn is_overridden(&self, name: &str) -> bool {
        self.overrides.contains_key(name)
    }

    /// Gives variables values that hold against any `set`, until [`Scope::release`] gets what this returns. What holds
    /// already goes on to hold.
    pub(super) fn hold(&mut self, given: Vec<(String, Value)>) -> Vec<String> {
        let mut held = Vec::new();
        for (name, value) in given {
            self.known.insert(name.clone());
            if !self.overrides.contains_key(&name) {
                self.values.insert(name.clone(), value.clone());
                self.overrides.insert(name.clone(), value);
                held.push(name);
            }
        }
        held
    }

    /// Lets `set` have its effect again. The values stay.
    pub(super) fn release(&mut self, held: Vec<String>) {
        for name in held {
            self.overrides.remove(&name);
        }
    }

    /// The value of a variable, if it has one.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
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
        // A randvar's table is kept once more, for its fields can be changed.
        let bytes = EACH + 2 * size_of_val(&*spec.table) + 2 * size_of::<f64>() * spec.values.len();
        self.spent = self.spent.saturating_add(bytes);
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
                format!("${} is no randvar", name.value),
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

    /// The random variable that a distribution as a function gives: `zipf(theta=1.1, n=1000)`.
    fn distribution(&mut self, mut call: random::Call, attributes: &[Attribute], span: Span) -> Option<Value> {
        let read: Vec<Option<()>> = attributes.iter().map(|a| self.argument(&mut call, a)).collect();
        if read.contains(&None) {
            return None;
        }
        match call.finish() {
            Ok(spec) => Some(Value::Random(self.add_random(spec))),
            Err(why) => {
                self.diagnostics.push(Diagnostic::error(span, why, "in this random variable"));
                None
            }
        }
    }

    /// One argument of a distribution. None where it was wrong (and was reported).
    fn argument(&mut self, call: &mut random::Call, attribute: &Attribute) -> Option<()> {
        let name = attribute.name.value.as_str();
        let takes = match call.takes(name) {
            Ok(takes) => takes,
            Err(why) => {
                self.diagnostics.push(Diagnostic::error(attribute.name.span, why, "in this random variable"));
                return None;
            }
        };
        let Some(written) = &attribute.value else {
            self.needs_value(attribute);
            return None;
        };
        if let (random::Takes::Table, Expression::Table(rows)) = (takes, &written.value) {
            call.table(rows.iter().map(|row| self.row(row)).collect::<Option<_>>()?);
            return Some(());
        }
        let value = self.evaluate(written)?;
        let result = match takes {
            random::Takes::Number => {
                let x = self.number_of(&value, written.span)?;
                call.number(name, x)
            }
            random::Takes::Table => {
                return self.wrong_kind("a table {{percent, low, high}, ...}", &value, written.span);
            }
            random::Takes::File => {
                let path = self.text_of(&value, written.span)?;
                self.values_of(&path, written.span).map(|values| call.values(values))
            }
        };
        result
            .map_err(|why| self.diagnostics.push(Diagnostic::error(written.span, why, "in this random variable")))
            .ok()
    }

    /// The values of a file: beside the text that names it, else from the working directory.
    fn values_of(&mut self, path: &str, span: Span) -> Result<random::Values, String> {
        let Some(read) = self.files.read else { return Err("files cannot be read here".into()) };
        let beside = self.files.beside(span).join(path);
        let (shown, text) = match read(&beside, LARGEST_FILE) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && beside != Path::new(path) => {
                (Path::new(path).to_owned(), read(Path::new(path), LARGEST_FILE))
            }
            other => (beside, other),
        };
        let text = text.map_err(|error| format!("{} cannot be read: {error}", shown.display()))?;
        self.spent = self.spent.saturating_add(text.len());
        random::Values::parse(&text).map_err(|why| format!("{}: {why}", shown.display()))
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
                self.spend(parts.iter().map(text_len).sum(), span)?;
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
                name => match random::Call::new(name) {
                    Some(call) => self.distribution(call, attributes, span),
                    None => {
                        let known = ["randvar", "cvar"].into_iter().chain(random::DISTRIBUTIONS.iter().map(|d| d.name));
                        let diagnostic = Diagnostic::error(
                            function.span,
                            format!("unknown function '{name}'"),
                            format!("expected {}", known.clone().collect::<Vec<_>>().join(", ")),
                        );
                        self.diagnostics.push(diagnostic.near(name, known));
                        None
                    }
                },
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
            let bytes = text_len(value);
            return self.spend(bytes, span).and_then(|()| self.values.get(name).cloned());
        }
        if name == "dir" && self.check {
            self.diagnostics.push(Diagnostic::warning(span, "$dir is never set", "the run needs --dir DIR"));
            let stand_in = Value::Text("$dir".into());
            self.values.insert(name.into(), stand_in.clone());
            return Some(stand_in);
        }
        if let Some(value) = self.internal(name) {
            return Some(value);
        }
        if self.partial {
            self.values.insert(name.into(), Value::Int(1));
            return None;
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

    /// A variable that filebench 1.4 has by itself. They are looked up here and not kept: whoever uses none of them has
    /// the same plan at any time on any machine.
    fn internal(&mut self, name: &str) -> Option<Value> {
        match name {
            "scriptname" => Some(Value::Text(self.internal.script.clone())),
            "hostname" => Some(Value::Text(rustix::system::uname().nodename().to_string_lossy().into_owned())),
            "date" => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
                Some(Value::Text(date(now.as_secs())))
            }
            // Taken away meanwhile: a rate that is made of itself is none.
            "rate" => {
                let rate = self.internal.rate.take()?;
                let value = self.evaluate(&rate);
                self.internal.rate = Some(rate);
                value
            }
            _ => None,
        }
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
                Expression::Variable(name) => match self.values.get(name).cloned().or_else(|| self.internal(name)) {
                    Some(value) => {
                        self.spend(text_len(&value), argument.span)?;
                        out.push_str(&value.to_string());
                    }
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
    pub(super) fn attribute(&mut self, def: &AttributeDef, attribute: &Attribute) -> Option<Spanned<Typed>> {
        let (value, span) = match &attribute.value {
            Some(written) => (self.evaluate(written)?, written.span),
            None => (Value::Flag(true), attribute.name.span),
        };
        if attribute.value.is_none() && !matches!(def.kind, Kind::Flag | Kind::Percent) {
            self.needs_value(attribute);
            return None;
        }
        match def.read(&value) {
            Ok(Typed::Random(id)) if !matches!(def.kind, Kind::Pick(_)) && self.variables[id.0 as usize].is_open() => {
                let kind = self.variables[id.0 as usize].distribution.clone();
                let message = format!("this {kind} needs n, the number of its ranks, except in pick=");
                self.diagnostics.push(Diagnostic::error(span, message, format!("expected {kind}(n=NUMBER, ...)")));
                None
            }
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

/// Bytes of a value that is a text; others have few.
fn text_len(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        _ => 0,
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
    fn a_date_is_that_of_the_calendar() {
        for (seconds, shown) in [
            (0, "19700101-0000"),
            (951_782_399, "20000228-2359"),
            (951_782_400, "20000229-0000"),
            (951_868_800, "20000301-0000"),
            (1_735_689_599, "20241231-2359"),
            (1_772_323_260, "20260301-0001"),
        ] {
            assert_eq!(date(seconds), shown, "{seconds}");
        }
    }

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
