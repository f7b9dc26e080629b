//! A value as a workload computes it, before an attribute gives it a kind.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A random variable, by its place in the plan's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VariableId(pub u32);

/// What a variable holds or an expression comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A whole number; a suffix k, m, g, t is already multiplied in.
    Int(i64),
    /// A number with a fraction.
    Real(f64),
    /// A time written with its unit, in nanoseconds.
    Nanos(u64),
    /// `true` or `false`.
    Flag(bool),
    /// A word or quoted text.
    Text(String),
    /// `randvar(...)` or `cvar(...)`.
    Random(VariableId),
}

impl Value {
    /// What a message calls this kind of value.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Int(_) => "a number",
            Value::Real(_) => "a number with a fraction",
            Value::Nanos(_) => "a time",
            Value::Flag(_) => "true or false",
            Value::Text(_) => "a text",
            Value::Random(_) => "a random variable",
        }
    }

    /// As a number, where it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Int(n) => Some(*n as f64),
            Value::Real(x) => Some(*x),
            _ => None,
        }
    }

    /// As a time in nanoseconds: a plain number counts seconds. None for negative or far too long ones.
    pub fn as_nanos(&self) -> Option<u64> {
        match self {
            Value::Nanos(n) => Some(*n),
            other => other.as_number().map(|s| s * 1e9).filter(|n| (0.0..1.8e19).contains(n)).map(|n| n.round() as u64),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Int(n) => write!(f, "{n}"),
            Value::Real(x) => write!(f, "{x}"),
            Value::Nanos(n) => write!(f, "{}", crate::units::duration(*n)),
            Value::Flag(b) => write!(f, "{b}"),
            Value::Text(text) => f.write_str(text),
            Value::Random(_) => f.write_str("random variable"),
        }
    }
}

/// How a value compares with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// Below it.
    #[serde(rename = "<")]
    Less,
    /// Not above it.
    #[serde(rename = "<=")]
    AtMost,
    /// Above it.
    #[serde(rename = ">")]
    More,
    /// Not below it.
    #[serde(rename = ">=")]
    AtLeast,
    /// Exactly it.
    #[serde(rename = "==")]
    Equal,
    /// Anything else.
    #[serde(rename = "!=")]
    Unequal,
}

impl Relation {
    /// All, as they are written.
    pub const ALL: [(&'static str, Relation); 6] = [
        ("<", Relation::Less),
        ("<=", Relation::AtMost),
        (">", Relation::More),
        (">=", Relation::AtLeast),
        ("==", Relation::Equal),
        ("!=", Relation::Unequal),
    ];

    /// True where a value that stands like this to the limit satisfies it.
    pub fn admits(self, order: Ordering) -> bool {
        match self {
            Relation::Less => order.is_lt(),
            Relation::AtMost => order.is_le(),
            Relation::More => order.is_gt(),
            Relation::AtLeast => order.is_ge(),
            Relation::Equal => order.is_eq(),
            Relation::Unequal => order.is_ne(),
        }
    }
}

impl std::fmt::Display for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, _) = Relation::ALL.iter().find(|(_, relation)| relation == self).expect("all are in the list");
        f.write_str(sign)
    }
}

impl From<crate::units::Number> for Value {
    fn from(number: crate::units::Number) -> Self {
        match number {
            crate::units::Number::Int(n) => Value::Int(n),
            crate::units::Number::Real(x) => Value::Real(x),
            crate::units::Number::Nanos(n) => Value::Nanos(n),
        }
    }
}
