//! What a file set is asked to be.

use super::content::Content;
use super::device::Device;
use crate::attribute::VariableId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A number that is fixed, or drawn anew each time it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Always this.
    Fixed(f64),
    /// Of the gamma distribution; a shape of 0 means always the mean.
    Gamma {
        /// The mean.
        mean: f64,
        /// The shape: 1 is exponential, large ones are narrow.
        shape: f64,
    },
    /// Of a random variable of the workload.
    Random(VariableId),
}

/// A file set (`define fileset`) or a single file (`define file`), with every attribute resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Its name, which is also the name of the tree's root directory.
    pub name: String,
    /// The directory that holds the tree; absolute.
    pub path: PathBuf,
    /// Number of files.
    pub entries: u64,
    /// Number of directories without files, for makedir and removedir.
    pub leafdirs: u64,
    /// Entries of a directory (`dirwidth`); 0 or less puts each file into a directory of its own.
    pub width: Draw,
    /// Shape of the gamma distribution of widths and depths (`dirgamma` / 1000); 0 makes both constant.
    pub dir_gamma: f64,
    /// Depth of the tree (`dirdepthrv`); its mean is replaced by the mean depth that entries and width give.
    pub depth: Option<Draw>,
    /// Size of a file in bytes, drawn once for each file.
    pub size: Draw,
    /// Percentage of the files (and leaf directories) that exist at the start, 0 to 100.
    pub prealloc_percent: u64,
    /// True for `define file`.
    pub single: bool,
    /// Keep and repair the tree that an earlier run left.
    pub reuse: bool,
    /// The tree is there and right: only look whether each file exists.
    pub trusttree: bool,
    /// Workers open its files for reading only.
    pub readonly: bool,
    /// Workers open its files for writing only.
    pub writeonly: bool,
    /// The workload gives no size: that of a file is the default, and that of a device its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sizeless: bool,
    /// The block device that it is, where it is one: `exec::devices::bind` looks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// How its data compresses and repeats; none for any random data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

/// So many of `count` exist at the start.
pub(super) fn count_of(count: u64, percent: u64) -> u64 {
    (count * percent.min(100) + 50) / 100
}

impl Spec {
    /// The root directory of the tree.
    pub fn root(&self) -> PathBuf {
        self.path.join(&self.name)
    }

    /// True where every file exists at the start.
    pub fn is_full(&self) -> bool {
        count_of(self.entries, self.prealloc_percent) == self.entries
    }
}
