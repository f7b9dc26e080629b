//! What each flowop asks of the storage by itself.

use super::MonitorInterval;
use serde::{Deserialize, Serialize};

/// A flowop of a thread that ran alone before the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CalibrationRecord {
    /// The flowop's name.
    pub name: String,
    /// Its process.
    pub process: String,
    /// Its thread.
    pub thread: String,
    /// Operations that were looked at.
    pub ops: u64,
    /// How much the counters of mounts and devices rose in all of them together. What the client or the kernel does on
    /// its own at such a moment (write-back, read-ahead) is in them too.
    pub monitors: Vec<MonitorInterval>,
}
