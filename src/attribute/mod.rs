//! What an attribute is, and how a value becomes one of its kind.
//!
//! An [`AttributeDef`] is declared once, by the entity or flowop that has it. The grammar, the checks, `wlrun list
//! attributes` and the reference read the same declaration.

use crate::source::{Span, Spanned};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

mod value;
pub use value::{Relation, Value, VariableId};

/// What values an attribute takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true`, `false`, a number (0 is false), or the bare name (true).
    Flag,
    /// A whole number between the two, both included.
    Count(u64, u64),
    /// A whole number that may be negative, between the two, both included.
    Signed(i64, i64),
    /// A number of bytes, at least this many, with a suffix k, m, g or t (powers of 1024).
    Bytes(u64),
    /// 0 to 100; the bare name is 100.
    Percent,
    /// A time: a plain number is seconds and may have a fraction; or with a unit, `10ms`.
    Duration,
    /// A text.
    Text,
    /// The name of a fileset or file of the workload.
    Fileset,
    /// The name of another flowop of the same thread.
    Target,
    /// The name of another flowop of the same thread, of one of these types.
    TargetOf(&'static [&'static str]),
    /// The name of flowops of this type, in any thread of any process: all their instances are meant.
    Instances(&'static str),
    /// A number from 1 to this, which may have a fraction; kept in millionths.
    Ratio(u32),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A random variable and nothing else.
    Variable,
    /// How an entry of a file set is chosen: one of [`PICKS`], or a random variable whose value is an index.
    Pick(Picked),
    /// A share of a whole that all shares add up to: 0 to 10^6, kept in millionths.
    Weight,
    /// Permissions of a file: octal digits, `0640`, 0 to 0777.
    Mode,
    /// The name of an extended attribute, with its namespace: `user.test`.
    ExtendedAttribute,
    /// The name of a position set.
    Posset,
}

/// Of what entries one is picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picked {
    /// The files.
    Files,
    /// The leaf directories.
    Leafdirs,
    /// The directories that hold files; how many there are shows in the layout.
    Homes,
}

/// The words that [`Kind::Pick`] takes.
pub const PICKS: [&str; 2] = ["rotation", "random"];

/// Where the trees that wlrun makes have their mark. No flowop sets this one.
const MARK: &str = "user.wlrun";

impl Kind {
    /// What a message says was expected.
    pub fn expected(self) -> String {
        match self {
            Kind::Flag => "true or false".into(),
            Kind::Count(min, u64::MAX) => format!("a whole number of {min} or more"),
            Kind::Count(min, max) => format!("a whole number, {min} to {max}"),
            Kind::Signed(min, max) => format!("a whole number, {min} to {max}"),
            Kind::Bytes(0) => "a number of bytes, such as 4096, 16k or 1m".into(),
            Kind::Bytes(min) => format!("a number of bytes, {min} or more, such as 4096, 16k or 1m"),
            Kind::Percent => "a percentage, 0 to 100".into(),
            Kind::Duration => "a time, such as 1, 0.5 or 10ms".into(),
            Kind::Text => "a text".into(),
            Kind::Fileset => "the name of a fileset".into(),
            Kind::Target => "the name of a flowop".into(),
            Kind::TargetOf(kinds) => format!("the name of a flowop {} of the same thread", kinds.join(" or ")),
            Kind::Word(words) => words.join(" or "),
            Kind::Instances(kind) => format!("the name of a flowop {kind}, of any thread"),
            Kind::Ratio(most) => format!("a ratio, 1 to {most}, such as 2 or 1.5"),
            Kind::Variable => "a random variable".into(),
            Kind::Pick(_) => format!("{} or a random variable", PICKS.join(", ")),
            Kind::Weight => "a number, 0 to 1000000, such as 70 or 0.5".into(),
            Kind::Mode => "permissions in octal, 0 to 0777, such as 0640".into(),
            Kind::ExtendedAttribute => {
                format!("the name of an extended attribute, other than {MARK}, with its namespace, such as user.test")
            }
            Kind::Posset => "the name of a position set".into(),
        }
    }
}

/// What holds where an attribute is not written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fallback {
    /// Nothing: the attribute is absent.
    Absent,
    /// It must be written.
    Required,
    /// A number, in the unit of the kind (bytes, per cent, nanoseconds).
    Number(u64),
    /// True or false.
    Flag(bool),
}

/// One attribute of an entity or a flowop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttributeDef {
    /// The name that the reference uses.
    pub name: &'static str,
    /// Other spellings with the same meaning.
    pub aliases: &'static [&'static str],
    /// What it takes.
    pub kind: Kind,
    /// True where a random variable may stand in for the number.
    pub random: bool,
    /// What holds where it is not written.
    pub default: Fallback,
    /// True for a size that must fit the thread's memory.
    pub in_memory: bool,
    /// One line for people.
    pub help: &'static str,
}

impl AttributeDef {
    /// An attribute that may be left out.
    pub const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        AttributeDef { name, aliases: &[], kind, random: false, default: Fallback::Absent, in_memory: false, help }
    }

    /// With other spellings.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// With a default number.
    pub const fn or(mut self, number: u64) -> Self {
        self.default = Fallback::Number(number);
        self
    }

    /// A flag that is false where it is not written.
    pub const fn flag(name: &'static str, help: &'static str) -> Self {
        let mut def = AttributeDef::new(name, Kind::Flag, help);
        def.default = Fallback::Flag(false);
        def
    }

    /// It must be written.
    pub const fn required(mut self) -> Self {
        self.default = Fallback::Required;
        self
    }

    /// A random variable may stand in for the number.
    pub const fn random(mut self) -> Self {
        self.random = true;
        self
    }

    /// So many bytes of the thread's memory are used at once.
    pub const fn in_memory(mut self) -> Self {
        self.in_memory = true;
        self
    }

    /// True where `written` is this attribute's name or an alias of it.
    pub fn is_called(&self, written: &str) -> bool {
        self.name == written || self.aliases.contains(&written)
    }

    /// Reads a value as this attribute's kind.
    ///
    /// # Errors
    ///
    /// What was expected, in words, where the value is of another kind or out of range.
    pub fn read(&self, value: &Value) -> Result<Typed, String> {
        let expected = || self.kind.expected();
        if let Value::Random(id) = value {
            return match (self.kind, self.random) {
                (Kind::Variable | Kind::Pick(_), _) | (_, true) => Ok(Typed::Random(*id)),
                _ => Err(format!("{}, not a random variable", expected())),
            };
        }
        let whole = |value: &Value| match value {
            Value::Int(n) => u64::try_from(*n).ok(),
            Value::Real(x) if x.fract() == 0.0 && (0.0..9e15).contains(x) => Some(*x as u64),
            _ => None,
        };
        match self.kind {
            Kind::Flag => match value {
                Value::Flag(f) => Ok(Typed::Flag(*f)),
                Value::Int(n) => Ok(Typed::Flag(*n != 0)),
                _ => Err(expected()),
            },
            Kind::Count(min, max) => {
                whole(value).filter(|n| (min..=max).contains(n)).map(Typed::Number).ok_or_else(expected)
            }
            Kind::Signed(min, max) => match value {
                Value::Int(n) if (min..=max).contains(n) => Ok(Typed::Signed(*n)),
                _ => Err(expected()),
            },
            Kind::Bytes(min) => whole(value).filter(|n| *n >= min).map(Typed::Number).ok_or_else(expected),
            Kind::Percent => match value {
                Value::Flag(f) => Ok(Typed::Number(if *f { 100 } else { 0 })),
                other => whole(other).filter(|n| *n <= 100).map(Typed::Number).ok_or_else(expected),
            },
            Kind::Duration => value.as_nanos().map(Typed::Number).ok_or_else(expected),
            Kind::Word(words) => match value {
                Value::Text(text) if words.contains(&text.as_str()) => Ok(Typed::Text(text.clone())),
                _ => Err(expected()),
            },
            Kind::Text | Kind::Fileset | Kind::Target | Kind::TargetOf(_) | Kind::Instances(_) | Kind::Posset => {
                match value {
                    Value::Text(text) if text.is_empty() => Err(format!("{} that is not empty", expected())),
                    Value::Text(text) => Ok(Typed::Text(text.clone())),
                    Value::Flag(f) => Ok(Typed::Text(f.to_string())),
                    Value::Int(n) => Ok(Typed::Text(n.to_string())),
                    _ => Err(expected()),
                }
            }
            Kind::Ratio(most) => match value.as_number() {
                Some(x) if (1.0..=f64::from(most)).contains(&x) => Ok(Typed::Number((x * 1e6).round() as u64)),
                _ => Err(expected()),
            },
            Kind::Variable => Err(expected()),
            Kind::Pick(_) => match value {
                Value::Text(text) if PICKS.contains(&text.as_str()) => Ok(Typed::Text(text.clone())),
                _ => Err(expected()),
            },
            // One that would be rounded to 0 is refused: 0 means never.
            Kind::Weight => value
                .as_number()
                .map(|x| (x, (x * 1e6).round()))
                .filter(|(x, millionths)| (0.0..=1e12).contains(millionths) && (*x == 0.0) == (*millionths == 0.0))
                .map(|(_, millionths)| Typed::Number(millionths as u64))
                .ok_or_else(expected),
            Kind::Mode => {
                // 0640 without quotes is the number 640: its digits are meant.
                let digits = match value {
                    Value::Text(text) => text.clone(),
                    Value::Int(n) => n.to_string(),
                    _ => return Err(expected()),
                };
                let octal = digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
                let mode = u64::from_str_radix(&digits, 8).ok().filter(|mode| octal && *mode <= 0o777);
                mode.map(Typed::Number).ok_or_else(expected)
            }
            Kind::ExtendedAttribute => match value {
                Value::Text(text) if is_attribute_name(text) => Ok(Typed::Text(text.clone())),
                _ => Err(expected()),
            },
        }
    }
}

/// True for a name that an extended attribute can have, other than that of the mark.
fn is_attribute_name(text: &str) -> bool {
    let parts = text.split_once('.').is_some_and(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    parts && text.len() <= 255 && !text.contains('\0') && text != MARK
}

/// The declaration that `written` names.
pub fn find<'a>(defs: impl IntoIterator<Item = &'a AttributeDef>, written: &str) -> Option<&'a AttributeDef> {
    defs.into_iter().find(|def| def.is_called(written))
}

/// A value that has its attribute's kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Typed {
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// A count, bytes, per cent, nanoseconds or millionths, by kind.
    Number(u64),
    /// Of [`Kind::Signed`].
    Signed(i64),
    /// Drawn anew at each use.
    Random(VariableId),
    /// A text, a target.
    Text(String),
    /// A fileset, by its place in the plan's list.
    Fileset(u32),
}

/// A number that is fixed, or drawn anew at each use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Always this.
    Fixed(u64),
    /// Of this random variable.
    Random(VariableId),
}

/// The attributes of one entity or flowop, by the declared name; what was not written and has a default is there too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attributes {
    /// Names of declarations are not copied: there are very many of these lists.
    values: BTreeMap<Cow<'static, str>, Spanned<Typed>>,
}

impl Attributes {
    /// Sets one; the last one of a name wins.
    pub fn insert(&mut self, name: &'static str, value: Spanned<Typed>) {
        self.values.insert(Cow::Borrowed(name), value);
    }

    /// Puts the default of `def` where nothing was written; `span` is the place of the whole entity.
    pub fn fill(&mut self, def: &AttributeDef, span: Span) {
        let value = match def.default {
            Fallback::Number(n) => Typed::Number(n),
            Fallback::Flag(f) => Typed::Flag(f),
            Fallback::Absent | Fallback::Required => return,
        };
        self.values.entry(Cow::Borrowed(def.name)).or_insert(Spanned::new(value, span));
    }

    /// The value under a declared name.
    pub fn get(&self, name: &str) -> Option<&Typed> {
        self.values.get(name).map(|v| &v.value)
    }

    /// Where it was written.
    pub fn span(&self, name: &str) -> Option<Span> {
        self.values.get(name).map(|v| v.span)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Spanned<Typed>)> {
        self.values.iter().map(|(name, value)| (&**name, value))
    }

    /// A flag; false where absent.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Typed::Flag(true)))
    }

    /// A number that is not random; 0 where absent.
    pub fn number(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Typed::Number(n)) => *n,
            _ => 0,
        }
    }

    /// A number of [`Kind::Ratio`]; none where absent.
    pub fn ratio(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Typed::Number(millionths)) => Some(*millionths as f64 / 1e6),
            _ => None,
        }
    }

    /// A number that may be negative; 0 where absent.
    pub fn signed(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Typed::Signed(n)) => *n,
            _ => 0,
        }
    }

    /// A number that may be random; none where absent.
    pub fn quantity(&self, name: &str) -> Option<Quantity> {
        match self.get(name) {
            Some(Typed::Number(n)) => Some(Quantity::Fixed(*n)),
            Some(Typed::Random(id)) => Some(Quantity::Random(*id)),
            _ => None,
        }
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Typed::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A fileset's place in the plan's list.
    pub fn fileset(&self, name: &str) -> Option<usize> {
        match self.get(name) {
            Some(Typed::Fileset(index)) => Some(*index as usize),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, value: Value) -> Result<Typed, String> {
        AttributeDef::new("a", kind, "").read(&value)
    }

    #[test]
    fn each_kind_takes_its_own_values_and_names_what_it_wanted() {
        assert_eq!(read(Kind::Flag, Value::Int(2)), Ok(Typed::Flag(true)));
        assert_eq!(read(Kind::Percent, Value::Flag(true)), Ok(Typed::Number(100)));
        assert_eq!(read(Kind::Percent, Value::Int(101)), Err("a percentage, 0 to 100".into()));
        assert_eq!(read(Kind::Count(0, 7), Value::Int(7)), Ok(Typed::Number(7)));
        assert_eq!(read(Kind::Count(0, 7), Value::Int(8)), Err("a whole number, 0 to 7".into()));
        assert_eq!(read(Kind::Count(1, u64::MAX), Value::Int(-5)), Err("a whole number of 1 or more".into()));
        assert_eq!(read(Kind::Duration, Value::Real(0.5)), Ok(Typed::Number(500_000_000)));
        assert_eq!(read(Kind::Duration, Value::Nanos(10)), Ok(Typed::Number(10)));
        assert_eq!(read(Kind::Ratio(9), Value::Real(1.5)), Ok(Typed::Number(1_500_000)));
        assert_eq!(read(Kind::Ratio(9), Value::Real(0.5)), Err("a ratio, 1 to 9, such as 2 or 1.5".into()));
        assert!(read(Kind::Ratio(9), Value::Int(10)).is_err());
        assert_eq!(read(Kind::Weight, Value::Int(70)), Ok(Typed::Number(70_000_000)));
        assert_eq!(read(Kind::Weight, Value::Real(0.5)), Ok(Typed::Number(500_000)));
        assert_eq!(read(Kind::Weight, Value::Int(0)), Ok(Typed::Number(0)));
        for bad in [Value::Int(-1), Value::Real(-1e-9), Value::Real(1e-7), Value::Int(1_000_001), Value::Nanos(1)] {
            assert!(read(Kind::Weight, bad.clone()).is_err(), "{bad}");
        }
        assert!(read(Kind::Weight, Value::Random(VariableId(0))).is_err());
        assert!(read(Kind::Bytes(0), Value::Flag(true)).is_err());
        assert!(read(Kind::Bytes(0), Value::Real(1.5)).is_err());
        assert!(read(Kind::Text, Value::Text(String::new())).is_err());
        assert!(read(Kind::Bytes(0), Value::Random(VariableId(0))).unwrap_err().contains("not a random variable"));
    }

    #[test]
    fn a_pick_is_one_of_its_words_or_a_random_variable() {
        assert_eq!(read(Kind::Pick(Picked::Files), Value::Text("random".into())), Ok(Typed::Text("random".into())));
        assert_eq!(read(Kind::Pick(Picked::Files), Value::Random(VariableId(3))), Ok(Typed::Random(VariableId(3))));
        for wrong in [Value::Text("rotate".into()), Value::Int(3), Value::Flag(true)] {
            assert_eq!(read(Kind::Pick(Picked::Files), wrong), Err("rotation, random or a random variable".into()));
        }
    }

    #[test]
    fn permissions_are_octal_with_or_without_quotes() {
        let text = |text: &str| Value::Text(text.into());
        for (value, mode) in [(text("0640"), 0o640), (Value::Int(640), 0o640), (text("0"), 0), (Value::Int(777), 0o777)]
        {
            assert_eq!(read(Kind::Mode, value), Ok(Typed::Number(mode)));
        }
        for value in [text("0888"), text("1000"), text(""), text("+7"), text("rw"), Value::Int(-1), Value::Int(648)] {
            assert!(read(Kind::Mode, value.clone()).is_err(), "{value}");
        }
    }

    #[test]
    fn an_extended_attribute_has_a_namespace_and_is_not_the_mark() {
        let name = |text: &str| read(Kind::ExtendedAttribute, Value::Text(text.into()));
        assert_eq!(name("user.wlrun.test"), Ok(Typed::Text("user.wlrun.test".into())));
        let long = format!("user.{}", "x".repeat(251));
        for wrong in ["user.wlrun", "user.", ".x", "x", "", "user.\0", &long] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_default_does_not_hide_what_was_written() {
        let def = AttributeDef::new("iters", Kind::Count(0, 9), "").or(1);
        let mut attributes = Attributes::default();
        attributes.insert("iters", Spanned::new(Typed::Number(4), Span::new(3, 4)));
        attributes.fill(&def, Span::new(0, 9));
        assert_eq!(attributes.number("iters"), 4);
        assert_eq!(attributes.span("iters"), Some(Span::new(3, 4)));
    }
}
