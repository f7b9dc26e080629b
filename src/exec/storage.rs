//! What lies below the file sets, and its counters. They are files of the kernel, so that reading them waits for no file
//! system, whatever state it is in.

use crate::record::{BytesRecord, Moved, StorageKind, StorageRecord, memory};
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::io;
use std::path::{Path, PathBuf};

const NFS: i64 = 0x6969;
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// What a sector is to /sys, whatever it is to the device.
const SECTOR: u64 = 512;

/// A counter of the bytes between storage and memory, from a beginning that does not matter.
pub(super) trait StorageBytes: std::fmt::Debug + Send + Sync {
    /// What the record calls it.
    fn name(&self) -> String;
    /// What it counts now; none where it cannot be read.
    fn read(&self) -> Option<Moved>;
}

/// A block device: `/sys/dev/block/MAJOR:MINOR/stat`.
#[derive(Debug)]
struct Device {
    directory: PathBuf,
}

impl StorageBytes for Device {
    fn name(&self) -> String {
        let target = self.directory.read_link().unwrap_or_else(|_| self.directory.clone());
        target.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn read(&self) -> Option<Moved> {
        device_bytes(&read_to_string(self.directory.join("stat")).ok()?)
    }
}

/// Of a device's `stat`: reads, merged, sectors, time, then the same for writes.
fn device_bytes(stat: &str) -> Option<Moved> {
    let fields: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    Some(Moved { read_bytes: fields.get(2)? * SECTOR, written_bytes: fields.get(6)? * SECTOR })
}

/// An NFS mount: `/proc/self/mountstats`.
#[derive(Debug)]
struct NfsMount {
    /// As the kernel writes it there, with its escapes.
    point: String,
}

impl StorageBytes for NfsMount {
    fn name(&self) -> String {
        self.point.clone()
    }

    fn read(&self) -> Option<Moved> {
        nfs_bytes(&read_to_string("/proc/self/mountstats").ok()?, &self.point)
    }
}

/// Payload that went over the wire for a mount: the fifth and sixth of its `bytes:`, behind four of what was asked for.
fn nfs_bytes(mountstats: &str, point: &str) -> Option<Moved> {
    let mounted = format!(" mounted on {point} with fstype nfs");
    let lines = mountstats.lines().skip_while(|line| !(line.starts_with("device ") && line.contains(&mounted)));
    let bytes = lines.skip(1).take_while(|line| !line.starts_with("device "));
    let bytes = bytes.filter_map(|line| line.trim().strip_prefix("bytes:")).next()?;
    let fields: Vec<u64> = bytes.split_whitespace().map_while(|word| word.parse().ok()).collect();
    Some(Moved { read_bytes: *fields.get(4)?, written_bytes: *fields.get(5)? })
}

/// What lies below all file sets of a run.
#[derive(Debug, Default)]
pub(super) struct Storage {
    kind: StorageKind,
    counters: Vec<Box<dyn StorageBytes>>,
    reason: Option<String>,
    /// Opening a file asks a server.
    pub(super) remote: bool,
    /// One root for each file system.
    pub(super) roots: Vec<PathBuf>,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading {
    moved: Option<Moved>,
    /// Bytes of the machine's memory that are to be written.
    dirty: Option<u64>,
}

impl Storage {
    /// Looks at the file systems that hold these directories.
    pub(super) fn find<'a>(roots: impl Iterator<Item = &'a Path>) -> io::Result<Self> {
        let mut storage = Storage::default();
        let mut seen = BTreeSet::new();
        let mut kinds = BTreeSet::new();
        for root in roots {
            let dev = match rustix::fs::stat(root) {
                Ok(stat) => stat.st_dev,
                // A set that is made later, or was taken away.
                Err(rustix::io::Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            if !seen.insert(dev) {
                continue;
            }
            storage.roots.push(root.to_owned());
            let magic = rustix::fs::statfs(root)?.f_type as i64;
            let number = format!("{}:{}", rustix::fs::major(dev), rustix::fs::minor(dev));
            let directory = Path::new("/sys/dev/block").join(&number);
            let counter: Option<Box<dyn StorageBytes>> = match magic {
                TMPFS | RAMFS => {
                    kinds.insert("memory");
                    continue;
                }
                NFS => {
                    storage.remote = true;
                    kinds.insert("nfs");
                    let mounts = read_to_string("/proc/self/mountinfo").unwrap_or_default();
                    mount_point(&mounts, &number).map(|point| Box::new(NfsMount { point }) as _)
                }
                _ if directory.exists() => {
                    kinds.insert("device");
                    Some(Box::new(Device { directory }))
                }
                _ => {
                    // No device of its own: FUSE, a server, an overlay. Each of them may be asked over a wire.
                    storage.remote = true;
                    None
                }
            };
            match counter.filter(|counter| counter.read().is_some()) {
                Some(counter) => storage.counters.push(counter),
                None => {
                    let why = format!("the file system of {} has no counter that wlrun knows", root.display());
                    storage.reason.get_or_insert(why);
                }
            }
        }
        storage.kind = match (&storage.reason, Vec::from_iter(kinds).as_slice()) {
            (None, ["memory"]) => StorageKind::Memory,
            (None, ["device"]) => StorageKind::Device,
            (None, ["nfs"]) => StorageKind::Nfs,
            (None, []) => StorageKind::Unknown,
            (None, _) => {
                storage.reason = Some("the file sets are on file systems of several kinds".into());
                StorageKind::Unknown
            }
            (Some(_), _) => StorageKind::Unknown,
        };
        if storage.kind == StorageKind::Unknown {
            storage.counters.clear();
        }
        Ok(storage)
    }

    /// True where the page cache is all there is.
    pub(super) fn is_memory(&self) -> bool {
        self.kind == StorageKind::Memory
    }

    /// Reads all counters.
    pub(super) fn read(&self) -> Reading {
        let moved = self.counters.iter().try_fold(Moved::default(), |sum, counter| {
            let one = counter.read()?;
            Some(Moved {
                read_bytes: sum.read_bytes + one.read_bytes,
                written_bytes: sum.written_bytes + one.written_bytes,
            })
        });
        let dirty = memory("Dirty").zip(memory("Writeback")).map(|(dirty, writeback)| dirty + writeback);
        Reading { moved: moved.filter(|_| !self.counters.is_empty()), dirty }
    }

    /// What there is to say of the time between two readings.
    pub(super) fn between(&self, before: Reading, after: Reading) -> BytesRecord {
        let moved = before.moved.zip(after.moved).map(|(before, after)| Moved {
            // A counter that started anew (a mount, a device) has counted what it shows.
            read_bytes: after.read_bytes.checked_sub(before.read_bytes).unwrap_or(after.read_bytes),
            written_bytes: after.written_bytes.checked_sub(before.written_bytes).unwrap_or(after.written_bytes),
        });
        let storage = StorageRecord {
            kind: self.kind,
            names: self.counters.iter().map(|counter| counter.name()).collect(),
            reason: self.reason.clone(),
        };
        BytesRecord { storage, moved, ..BytesRecord::default() }
    }
}

/// By how much the dirty memory of the machine grew.
pub(super) fn dirty_growth(before: Reading, after: Reading) -> Option<u64> {
    Some(after.dirty?.saturating_sub(before.dirty?))
}

/// The last mount of a file system, as /proc/self/mountinfo has it: ID, parent, MAJOR:MINOR, root, mount point.
fn mount_point(mountinfo: &str, number: &str) -> Option<String> {
    mountinfo.lines().rev().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        (fields.get(2) == Some(&number)).then_some(())?;
        Some((*fields.get(4)?).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_counts_sectors() {
        let stat = "  100 5 2048 30   7 1 16 9 0 40 39 0 0 0 0\n";
        assert_eq!(device_bytes(stat), Some(Moved { read_bytes: 2048 * 512, written_bytes: 16 * 512 }));
        assert_eq!(device_bytes("1 2 3"), None);
    }

    #[test]
    fn a_mount_counts_what_went_over_its_wire_and_not_that_of_another() {
        let mount = |point: &str, bytes: &str| {
            format!(
                "device srv:/e mounted on {point} with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.2\n\tage:\t7\n\
                 {bytes}\n\tRPC iostats version: 1.1\n"
            )
        };
        let text = format!(
            "device /dev/vda mounted on / with fstype ext4\n{}{}{}",
            mount("/mnt/a", "\tbytes:\t1 2 3 4 500 600 7 8"),
            mount("/mnt/ab", "\tbytes:\t1 2 3 4 50 60 7 8"),
            mount("/mnt/none", ""),
        );
        assert_eq!(nfs_bytes(&text, "/mnt/a"), Some(Moved { read_bytes: 500, written_bytes: 600 }));
        assert_eq!(nfs_bytes(&text, "/mnt/ab"), Some(Moved { read_bytes: 50, written_bytes: 60 }));
        for point in ["/mnt/none", "/mnt", "/"] {
            assert_eq!(nfs_bytes(&text, point), None, "{point}");
        }
    }

    #[test]
    fn a_file_system_is_found_by_its_number() {
        let text = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:52 / /mnt/a\\040b rw - nfs4 srv:/e rw\n";
        assert_eq!(mount_point(text, "0:52").as_deref(), Some("/mnt/a\\040b"));
        assert_eq!(mount_point(text, "0:5"), None);
    }

    #[test]
    fn memory_has_no_counter_and_each_file_system_is_there_once() {
        let Ok(dir) = tempfile::tempdir_in("/dev/shm") else { return };
        let roots = [dir.path(), Path::new("/dev/shm"), Path::new("/nowhere/at/all")];
        let storage = Storage::find(roots.into_iter()).unwrap();
        assert!(storage.is_memory() && !storage.remote);
        assert_eq!(storage.roots, [dir.path()]);
        assert_eq!(storage.between(storage.read(), storage.read()).moved, None);
    }

    #[test]
    fn a_counter_that_started_anew_counts_from_zero() {
        let moved = |n| Some(Moved { read_bytes: n, written_bytes: 2 * n });
        let reading = |n| Reading { moved: moved(n), dirty: Some(n) };
        let storage = Storage::default();
        assert_eq!(storage.between(reading(3), reading(10)).moved, moved(7));
        assert_eq!(storage.between(reading(30), reading(10)).moved, moved(10));
        assert_eq!((dirty_growth(reading(3), reading(10)), dirty_growth(reading(30), reading(10))), (Some(7), Some(0)));
    }
}
