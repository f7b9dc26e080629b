//! What lies below the file sets: whose counters say what came from there and went there. It is read from the kernel's
//! lists, so that nothing is asked of a file system, whatever state it is in.

use crate::mounts::{self, Mounts};
use crate::record::{StorageKind, StorageRecord};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// What lies below all file sets of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Storage {
    pub(super) record: StorageRecord,
    /// Opening a file may ask a server.
    pub(super) remote: bool,
    /// One place on each file system, and each device.
    places: Vec<Place>,
}

#[derive(Debug, Clone)]
enum Place {
    Tree(PathBuf),
    Device(PathBuf),
}

impl Storage {
    /// Looks for the mounts and devices that hold these paths, which have no symbolic links in them. `root`: `/` but in
    /// tests.
    ///
    /// # Errors
    ///
    /// Of reading the list of mounts.
    pub(super) fn find(root: &Path, targets: &[PathBuf]) -> io::Result<Self> {
        let mounts = Mounts::read(root)?;
        let mut storage = Storage::default();
        let (mut kinds, mut names, mut seen) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for target in targets {
            if let Some(device) = target.to_str().and_then(|path| mounts::device(root, path)) {
                kinds.insert("device");
                if names.insert(device.name) {
                    storage.places.push(Place::Device(target.clone()));
                }
                continue;
            }
            let Some(mount) = mounts.of(target) else { continue };
            if !seen.insert(&mount.point) {
                continue;
            }
            storage.places.push(Place::Tree(target.clone()));
            let devices = mounts::devices(root, mount);
            match mount.fs_type.as_str() {
                "tmpfs" | "ramfs" => {
                    kinds.insert("memory");
                }
                "nfs" | "nfs4" => {
                    storage.remote = true;
                    kinds.insert("nfs");
                    names.insert(mount.point.clone());
                }
                _ if !devices.is_empty() => {
                    kinds.insert("device");
                    names.extend(devices.into_iter().map(|device| device.name));
                }
                other => {
                    // No device of its own: FUSE, a server, an overlay. Each of them may be asked over a wire.
                    storage.remote = true;
                    let why = format!("{other} on {} has no counter that wlrun knows", mount.point);
                    storage.record.reason.get_or_insert(why);
                }
            }
        }
        storage.record.kind = match (&storage.record.reason, Vec::from_iter(kinds).as_slice()) {
            (None, ["memory"]) => StorageKind::Memory,
            (None, ["device"]) => StorageKind::Device,
            (None, ["nfs"]) => StorageKind::Nfs,
            (None, []) | (Some(_), _) => StorageKind::Unknown,
            (None, _) => {
                storage.record.reason = Some("the file sets are on file systems of several kinds".into());
                StorageKind::Unknown
            }
        };
        if storage.record.kind != StorageKind::Unknown {
            storage.record.names = names.into_iter().collect();
        }
        Ok(storage)
    }

    /// False where nothing counts for it: then nobody asks how much of it is in the page cache either, and its files are
    /// opened by the workload alone.
    pub(super) fn is_known(&self) -> bool {
        self.record.kind != StorageKind::Unknown
    }

    /// True where the page cache is all there is.
    pub(super) fn is_memory(&self) -> bool {
        self.record.kind == StorageKind::Memory
    }

    /// Brings everything that was written to these file systems and devices, by anybody, to stable storage.
    ///
    /// # Errors
    ///
    /// Of the calls; the first ends it, with the place.
    pub(super) fn sync(&self) -> Result<(), (PathBuf, io::Error)> {
        self.places.iter().try_for_each(|place| match place {
            Place::Tree(path) => {
                let synced = std::fs::File::open(path).and_then(|root| Ok(rustix::fs::syncfs(root)?));
                synced.map_err(|error| (path.clone(), error))
            }
            // The data of a device file is no part of the file system that it lies on.
            Place::Device(path) => {
                let synced = std::fs::File::open(path).and_then(|device| device.sync_all());
                synced.map_err(|error| (path.clone(), error))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::tests::stack;

    fn found(lines: &str, targets: &[&str]) -> Storage {
        let root = stack();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/mountinfo"), lines).unwrap();
        let targets: Vec<PathBuf> = targets.iter().map(|target| root.path().join(target)).collect();
        let under: Vec<PathBuf> =
            targets.iter().map(|t| Path::new("/").join(t.strip_prefix(root.path()).unwrap())).collect();
        Storage::find(root.path(), &under).unwrap()
    }

    const MOUNTS: &str = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /t rw - tmpfs tmpfs rw\n\
                          3 1 0:6 / /n rw - nfs4 srv:/e rw\n4 1 0:7 / /o rw - overlay overlay rw\n\
                          5 1 253:0 / /v rw - xfs /dev/mapper/vg-data rw\n";

    #[test]
    fn the_device_of_the_file_system_counts_and_not_the_disks_beneath() {
        let storage = found(MOUNTS, &["v/set", "v/other", "x"]);
        assert_eq!((storage.record.kind, storage.remote), (StorageKind::Device, false));
        assert_eq!(storage.record.names, ["dm-0", "sda1"]);
        assert_eq!(storage.places.len(), 2, "each file system is there once");
        let device = found(MOUNTS, &["dev/sdc"]);
        assert_eq!((device.record.kind, &device.record.names[..]), (StorageKind::Device, &["sdc".to_owned()][..]));
        assert!(matches!(&device.places[..], [Place::Device(_)]));
    }

    #[test]
    fn a_server_memory_and_what_nothing_counts() {
        let nfs = found(MOUNTS, &["n/set"]);
        assert_eq!((nfs.record.kind, nfs.remote, &nfs.record.names[0][..]), (StorageKind::Nfs, true, "/n"));
        let memory = found(MOUNTS, &["t/set"]);
        assert!(memory.is_memory() && !memory.remote && memory.record.names.is_empty());
        let unknown = found(MOUNTS, &["o/set", "x"]);
        assert_eq!((unknown.record.kind, unknown.remote), (StorageKind::Unknown, true));
        assert_eq!(unknown.record.reason.as_deref(), Some("overlay on /o has no counter that wlrun knows"));
        let mixed = found(MOUNTS, &["n/set", "x"]);
        assert_eq!((mixed.record.kind, mixed.record.names.len()), (StorageKind::Unknown, 0));
    }
}
