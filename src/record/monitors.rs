//! What the kernel counted beside a run. The sources are the monitors' list.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one source says of one thing (a device, a mount, an interface) over the measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MonitorRecord {
    /// The source's name in the list of monitors, `disk`.
    pub monitor: String,
    /// The device, mount point or interface; none where there is only one of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The remote procedure of an NFS mount, `READ`; none for the mount as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Why there are no figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Why the figures may hold what others did; none where nobody else is known to use the thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_bound: Option<String>,
    /// What does not change within a run: a link's speed, the number of processors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, u64>,
    /// How much each counter rose from the beginning of the window to its end. The unit is in the name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// What goes up and down. The unit is in the name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Level>,
}

impl MonitorRecord {
    /// A counter; none where the source does not have it.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }
}

/// Something that goes up and down, as it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Level {
    /// At the beginning of the window.
    pub start: u64,
    /// At its end.
    pub end: u64,
    /// The largest that was seen: at the beginning, at the end of each interval, at the end.
    pub max: u64,
}

/// What a source says of an interval. What did not change is left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MonitorInterval {
    /// As in [`MonitorRecord`].
    pub monitor: String,
    /// As in [`MonitorRecord`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// As in [`MonitorRecord`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// How much each counter rose within the interval, where it did.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// What the levels were at its end.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, u64>,
}
