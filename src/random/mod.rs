//! Random variables: what they are, and streams of numbers that repeat with the seed.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub mod stream;

/// A random variable as the plan keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// A name of the list of distributions.
    pub distribution: String,
    /// By name; what is not given has the distribution's default.
    pub parameters: BTreeMap<String, f64>,
}
