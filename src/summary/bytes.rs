//! Where the bytes of a run went.

use super::per_second;
use crate::record::{Run, StorageKind};

/// What is said of the bytes of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BytesSummary {
    /// Of reads; none where no byte was read.
    pub read: Option<ReadSummary>,
    /// Of writes; none where no byte was written.
    pub written: Option<WrittenSummary>,
}

/// Where what was read came from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadSummary {
    /// Bytes that the read calls returned.
    pub app_bytes: u64,
    /// The same per second of the window.
    pub app_per_s: f64,
    /// What storage delivered meanwhile, and what of the first is left for the page cache; none where nothing counts it.
    pub split: Option<ReadSplit>,
}

/// Bytes that were read, by where they came from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadSplit {
    /// From storage, at most: what others read there, metadata, and what was read ahead and not used, is in it.
    pub storage_bytes: u64,
    /// The same per second of the window.
    pub storage_per_s: f64,
    /// From the page cache, at least.
    pub page_cache_bytes: u64,
    /// The same per second of the window.
    pub page_cache_per_s: f64,
    /// The part of `app_bytes` that came from the page cache, 0 to 1.
    pub page_cache_share: f64,
}

/// Where what was written went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WrittenSummary {
    /// Bytes that the write calls took.
    pub app_bytes: u64,
    /// The same per second of the window.
    pub app_per_s: f64,
    /// What storage took meanwhile, at most; none where nothing counts it.
    pub storage_bytes: Option<u64>,
    /// The same per second of the window.
    pub storage_per_s: Option<f64>,
}

impl BytesSummary {
    /// Of a run; none where the run touched no file.
    pub fn of(run: &Run) -> Option<Self> {
        let bytes = run.bytes.as_ref()?;
        let per_s = |count| per_second(count, run.elapsed_ns);
        let [read, written] = [|f: &super::Counts| f.bytes_read, |f: &super::Counts| f.bytes_written]
            .map(|of| run.flowops.iter().map(|flowop| of(&flowop.counts)).fold(0, u64::saturating_add));
        // Where memory is all there is, nothing comes from elsewhere.
        let from_storage = match bytes.storage.kind {
            StorageKind::Memory => Some(0),
            _ => bytes.moved.map(|moved| moved.read_bytes),
        };
        let split = |app: u64| {
            let storage_bytes = from_storage?;
            let page_cache_bytes = app.saturating_sub(storage_bytes);
            Some(ReadSplit {
                storage_bytes,
                storage_per_s: per_s(storage_bytes),
                page_cache_bytes,
                page_cache_per_s: per_s(page_cache_bytes),
                page_cache_share: page_cache_bytes as f64 / app as f64,
            })
        };
        let to_storage = bytes.moved.map(|moved| moved.written_bytes);
        Some(BytesSummary {
            read: (read > 0).then(|| ReadSummary { app_bytes: read, app_per_s: per_s(read), split: split(read) }),
            written: (written > 0).then(|| WrittenSummary {
                app_bytes: written,
                app_per_s: per_s(written),
                storage_bytes: to_storage,
                storage_per_s: to_storage.map(per_s),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BytesRecord, Moved};
    use crate::summary::sample::sample;

    fn with(kind: StorageKind, moved: Option<(u64, u64)>) -> Run {
        let mut run = sample().runs.remove(0);
        let mut bytes =
            BytesRecord { moved: moved.map(|(r, w)| Moved { read_bytes: r, written_bytes: w }), ..Default::default() };
        bytes.storage.kind = kind;
        run.bytes = Some(bytes);
        run
    }

    #[test]
    fn what_storage_did_not_deliver_was_in_the_page_cache() {
        // 5 MB read in 2 s.
        let summary = BytesSummary::of(&with(StorageKind::Device, Some((2_000_000, 7)))).unwrap();
        assert_eq!(summary.written, None);
        let read = summary.read.unwrap();
        assert_eq!((read.app_bytes, read.app_per_s), (5_000_000, 2_500_000.0));
        let split = read.split.unwrap();
        assert_eq!((split.storage_per_s, split.page_cache_per_s, split.page_cache_share), (1e6, 1.5e6, 0.6));
    }

    #[test]
    fn more_than_was_asked_for_leaves_nothing_for_the_page_cache() {
        let split =
            BytesSummary::of(&with(StorageKind::Nfs, Some((6_000_000, 0)))).unwrap().read.unwrap().split.unwrap();
        assert_eq!((split.storage_bytes, split.page_cache_bytes, split.page_cache_share), (6_000_000, 0, 0.0));
    }

    #[test]
    fn what_nothing_counts_is_not_guessed_and_memory_is_all_cache() {
        assert_eq!(BytesSummary::of(&with(StorageKind::Unknown, None)).unwrap().read.unwrap().split, None);
        let split = BytesSummary::of(&with(StorageKind::Memory, None)).unwrap().read.unwrap().split.unwrap();
        assert_eq!((split.page_cache_bytes, split.page_cache_share), (5_000_000, 1.0));
        assert_eq!(BytesSummary::of(&sample().runs[0]), None);
    }

    #[test]
    fn writes_are_compared_with_what_the_storage_took() {
        let mut run = with(StorageKind::Device, Some((0, 1_000_000)));
        run.flowops[0].counts.bytes_written = 4_000_000;
        let written = BytesSummary::of(&run).unwrap().written.unwrap();
        assert_eq!((written.app_per_s, written.storage_per_s), (2e6, Some(5e5)));
        run.elapsed_ns = 0;
        assert_eq!(BytesSummary::of(&run).unwrap().written.unwrap().storage_per_s, Some(0.0));
    }
}
