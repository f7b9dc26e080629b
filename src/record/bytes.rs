//! Where the bytes of a run went: what was in the page cache before and after it, what the storage below it moved
//! meanwhile, and what was not yet there when it ended.

use serde::{Deserialize, Serialize};

/// What is known of a run's bytes beside what its calls moved.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BytesRecord {
    /// What lies below the file sets.
    pub storage: StorageRecord,
    /// How the file sets were made cold before the run; none where nobody asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cold>,
    /// The file sets in the page cache before the workers started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_before: Option<Residency>,
    /// The same when they were gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_after: Option<Residency>,
    /// What of the file sets was not yet on stable storage by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<Dirty>,
    /// How that was brought there; none where nothing had been written, or nobody wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<Drain>,
}

/// What lies below the file sets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StorageRecord {
    /// See [`StorageKind`].
    pub kind: StorageKind,
    /// Devices (`sda1`) or mounts (`/mnt/nfs`): the `of` of their monitors, which count for it.
    pub names: Vec<String>,
    /// Why there is no counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What counts the bytes below the file sets. The counts are of the whole device or mount: what others moved there at the
/// same time is in them, so they are an upper bound of what the run moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StorageKind {
    /// Block devices.
    Device,
    /// NFS mounts: payload of reads and writes over the wire.
    Nfs,
    /// The files live in the page cache (tmpfs): there is nothing below.
    Memory,
    /// Nothing that is known.
    #[default]
    Unknown,
}

/// How file sets were made cold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cold {
    /// See [`ColdHow`].
    pub how: ColdHow,
    /// Files that could not be dropped, and why the first could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<(u64, String)>,
}

/// The ways of making file sets cold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ColdHow {
    /// Each file is written back and dropped from the page cache.
    #[default]
    Drop,
    /// The whole page cache of the machine is dropped, with directories and inodes.
    DropCaches,
}

/// What of file sets is in the page cache, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Residency {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Files that existed.
    pub files: u64,
    /// Of them, those that were looked at; where these are fewer they were chosen by chance.
    pub files_looked_at: u64,
    /// Of those, the ones that would not be looked at.
    pub files_unknown: u64,
    /// Pages of the files that were looked at.
    pub pages: u64,
    /// Of them, those in the page cache.
    pub cached_pages: u64,
    /// Of them, those that are changed and not written; none where the kernel does not say.
    pub dirty_pages: Option<u64>,
    /// Of them, those that are being written; none where the kernel does not say.
    pub writeback_pages: Option<u64>,
}

impl Residency {
    /// The part of the pages that is in the page cache, 0 to 1; none where there are no pages.
    pub fn share(&self) -> Option<f64> {
        (self.pages > 0).then(|| self.cached_pages as f64 / self.pages as f64)
    }

    /// Bytes of all files that are not on stable storage; none where the kernel does not say, or not every file was
    /// looked at.
    pub fn dirty_bytes(&self) -> Option<u64> {
        let all = self.files_looked_at == self.files && self.files_unknown == 0;
        Some((self.dirty_pages? + self.writeback_pages?) * self.page_bytes).filter(|_| all)
    }
}

/// Bytes that were not yet on stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Dirty {
    /// How many.
    pub bytes: u64,
    /// Where that is known from.
    pub source: DirtySource,
}

/// Where it is known from what is dirty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DirtySource {
    /// The pages of the file sets.
    FileSets,
    /// By how much the dirty memory of the whole machine grew within the window (/proc/meminfo).
    Machine,
}

/// How what was written came to stable storage after the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Drain {
    /// See [`DrainEnd`].
    pub ended: DrainEnd,
    /// How long it took, or was waited for.
    pub elapsed_ns: u64,
    /// The kernel's answer, where that was an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DrainEnd {
    /// All is on stable storage.
    Drained,
    /// It took longer than wlrun waits.
    Limit,
    /// The user did not want to wait.
    Skipped,
    /// The kernel answered with an error.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_bytes_are_known_where_all_files_were_looked_at() {
        let all = Residency {
            page_bytes: 4096,
            files: 3,
            files_looked_at: 3,
            files_unknown: 0,
            pages: 8,
            cached_pages: 6,
            dirty_pages: Some(2),
            writeback_pages: Some(1),
        };
        assert_eq!((all.dirty_bytes(), all.share()), (Some(3 * 4096), Some(0.75)));
        assert_eq!(Residency { files: 4, ..all }.dirty_bytes(), None);
        assert_eq!(Residency { files_unknown: 1, ..all }.dirty_bytes(), None);
        assert_eq!(Residency { writeback_pages: None, ..all }.dirty_bytes(), None);
        assert_eq!(Residency { pages: 0, cached_pages: 0, ..all }.share(), None);
    }
}
