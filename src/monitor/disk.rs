//! The block devices under the file sets, and the whole disks under those: the `stat` of each in /sys.

use super::{FigureDef, Missing};
use super::{KernelFile, Moment, MonitorDef, Opened, Row, Site, Source, counter, level, named, numbers};
use crate::mounts::{self, Disk, Mount, Mounts};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(super) static DEF: MonitorDef = MonitorDef {
    name: "disk",
    summary: "the block devices of the file sets, and the whole disks beneath them",
    figures: FIGURES,
    open: |site| match watched(site) {
        Ok(disks) => {
            Opened(disks.into_iter().map(|(disk, shared)| Ok(Box::new(open(&disk, shared)?) as Box<_>)).collect())
        }
        Err(why) => Opened(vec![Err(Missing { of: None, why })]),
    },
};

static FIGURES: &[FigureDef] = &[
    counter("reads", "read requests that the device completed"),
    counter("bytes_read", "what they read"),
    counter("read_time_ns", "how long they took, all together"),
    counter("writes", "write requests that the device completed"),
    counter("bytes_written", "what they wrote"),
    counter("write_time_ns", "how long they took, all together"),
    counter("io_time_ns", "time in which the device had anything to do"),
    counter("weighted_time_ns", "the same time, multiplied by the number of requests under way"),
    counter("discards", "discard requests that it completed"),
    counter("bytes_discarded", "what they gave back"),
    counter("flushes", "requests to flush its cache that it completed"),
    level("in_flight", "requests under way"),
];

/// Sectors are of 512 bytes here, whatever the device's own are.
const SECTOR: u64 = 512;
const MILLISECOND: u64 = 1_000_000;

#[derive(Debug)]
struct Stat {
    disk: String,
    upper_bound: Option<String>,
    file: KernelFile,
}

impl Source for Stat {
    fn read(&mut self, _: Moment) -> Result<Vec<Row>, String> {
        let figures = parse(&self.file.text()?).ok_or_else(|| self.file.strange())?;
        Ok(vec![Row { of: Some(self.disk.clone()), upper_bound: self.upper_bound.clone(), ..Row::new(figures) }])
    }
}

fn open(disk: &Disk, upper_bound: Option<String>) -> Result<Stat, Missing> {
    let file = KernelFile::open(disk.path.join("stat"));
    let file = file.map_err(|why| Missing { of: Some(disk.name.clone()), why })?;
    Ok(Stat { disk: disk.name.clone(), upper_bound, file })
}

/// See the kernel's Documentation/block/stat.rst: reads, merged, sectors, ms; the same of writes; in flight, ms with
/// anything to do, weighted ms; since 4.18 the four of discards; since 5.5 flushes and their ms.
fn parse(text: &str) -> Option<Vec<(&'static str, u64)>> {
    let all = numbers(text);
    if all.len() < 11 {
        return None;
    }
    let at = |places: &[usize]| -> Vec<u64> { places.iter().map_while(|at| all.get(*at).copied()).collect() };
    let mut figures = named(&["reads", "writes", "in_flight", "discards", "flushes"], &at(&[0, 4, 8, 11, 15]), 1);
    figures.extend(named(&["bytes_read", "bytes_written", "bytes_discarded"], &at(&[2, 6, 13]), SECTOR));
    figures.extend(named(
        &["read_time_ns", "write_time_ns", "io_time_ns", "weighted_time_ns"],
        &at(&[3, 7, 9, 10]),
        MILLISECOND,
    ));
    Some(figures)
}

/// The devices of all targets and the whole disks beneath, each with why others may use it too.
fn watched(site: &Site<'_>) -> Result<Vec<(Disk, Option<String>)>, String> {
    if site.targets.is_empty() {
        return Err("no files of a file system are used".into());
    }
    let mounts = site.mounts()?;
    // A file of the workload may be a device itself.
    let is_device = |target: &&PathBuf| target.to_str().and_then(|path| mounts::device(site.root, path));
    let (themselves, files): (Vec<_>, Vec<_>) = site.targets.iter().partition(|target| is_device(target).is_some());
    let mut targets: Vec<&Mount> = files.into_iter().filter_map(|target| mounts.of(target)).collect();
    targets.dedup();
    let mut devices: Vec<Disk> = targets.iter().flat_map(|mount| mounts::devices(site.root, mount)).collect();
    devices.extend(themselves.iter().filter_map(is_device));
    let disks: BTreeSet<Disk> = mounts::whole(&devices).into_iter().chain(devices).collect();
    if disks.is_empty() {
        let of = |mount: &&Mount| format!("{} on {}", mount.fs_type, mount.point);
        let of: BTreeSet<String> = targets.iter().map(of).collect();
        return Err(match of.len() {
            0 => "no mount is known that the file sets lie on".into(),
            _ => format!("no block device is known under {}", Vec::from_iter(of).join(", ")),
        });
    }
    let others = others(site.root, &mounts, &targets);
    Ok(disks.into_iter().map(|disk| (disk.clone(), others.get(&disk.name).cloned())).collect())
}

/// What is known to use disks beside the targets, by the disk's name.
fn others(root: &Path, mounts: &Mounts, targets: &[&Mount]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut note = |devices: Vec<Disk>| {
        for disk in mounts::whole(&devices).into_iter().chain(devices) {
            found.insert(disk.name, "the device is shared".to_owned());
        }
    };
    for mount in mounts.iter() {
        // The root file system has everybody's files, also where the target lies on it.
        if mount.point == "/" || !targets.iter().any(|target| target.device == mount.device) {
            note(mounts::devices(root, mount));
        }
    }
    let swaps = std::fs::read_to_string(root.join("proc/swaps")).unwrap_or_default();
    for device in swaps.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next()) {
        note(mounts::device(root, &mounts::unescape(device)).into_iter().collect());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::tests::stack;

    #[test]
    fn a_line_of_each_age_of_kernels() {
        let old = " 10 1 800 30 20 2 1600 40 3 50 70\n";
        let discards = " 10 1 800 30 20 2 1600 40 3 50 70 5 0 80 6\n";
        let flushes = " 10 1 800 30 20 2 1600 40 3 50 70 5 0 80 6 7 8\n";
        let get = |text: &str, name: &str| Row::new(parse(text).unwrap()).figure(name);
        for text in [old, discards, flushes] {
            assert_eq!((get(text, "reads"), get(text, "bytes_read")), (Some(10), Some(800 * 512)));
            assert_eq!((get(text, "writes"), get(text, "bytes_written")), (Some(20), Some(1600 * 512)));
            assert_eq!(get(text, "read_time_ns"), Some(30_000_000));
            assert_eq!(get(text, "write_time_ns"), Some(40_000_000));
            assert_eq!((get(text, "io_time_ns"), get(text, "weighted_time_ns")), (Some(50_000_000), Some(70_000_000)));
            assert_eq!(get(text, "in_flight"), Some(3));
        }
        assert_eq!((get(old, "discards"), get(old, "flushes")), (None, None));
        assert_eq!((get(discards, "discards"), get(discards, "bytes_discarded")), (Some(5), Some(80 * 512)));
        assert_eq!((get(discards, "flushes"), get(flushes, "flushes")), (None, Some(7)));
        assert_eq!(parse("1 2 3"), None);
        assert_eq!(parse(""), None);
    }

    /// Names of the disks under `/data`, each with whether it is known to be shared.
    fn disks_under_data(mountinfo: &str, swaps: &str) -> Result<Vec<(String, bool)>, String> {
        let root = stack();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/mountinfo"), mountinfo).unwrap();
        std::fs::write(root.path().join("proc/swaps"), format!("Filename Type Size\n{swaps}")).unwrap();
        let site = Site { root: root.path(), targets: &["/data/f".into()], pids: &[] };
        Ok(watched(&site)?.into_iter().map(|(disk, why)| (disk.name, why.is_some())).collect())
    }

    #[test]
    fn a_disk_is_shared_where_something_else_is_on_it() {
        let own = "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 8:32 / /data rw - xfs /dev/sdc rw\n";
        assert_eq!(disks_under_data(own, "").unwrap(), [("sdc".to_owned(), false)]);
        let bound = format!("{own}3 1 8:32 /a /b rw - xfs /dev/sdc rw\n");
        assert_eq!(disks_under_data(&bound, "").unwrap(), [("sdc".to_owned(), false)], "the same file system twice");
        assert_eq!(disks_under_data(own, "/dev/sdc partition 1").unwrap(), [("sdc".to_owned(), true)], "swap");
        let root = "1 0 8:32 / / rw - ext4 /dev/sdc rw\n";
        assert_eq!(disks_under_data(root, "").unwrap(), [("sdc".to_owned(), true)], "the root file system");
        let mirror = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 253:0 / /data rw - xfs /dev/mapper/vg-data rw\n";
        assert_eq!(
            disks_under_data(mirror, "").unwrap(),
            [("dm-0".to_owned(), false), ("sda".to_owned(), true), ("sdb".to_owned(), false)],
            "another partition of one half of the mirror"
        );
    }

    #[test]
    fn a_file_system_without_a_device_says_so() {
        let nfs = "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 0:40 / /data rw - nfs4 server:/export rw\n";
        assert_eq!(disks_under_data(nfs, "").unwrap_err(), "no block device is known under nfs4 on /data");
        assert_eq!(disks_under_data("", "").unwrap_err(), "no mount is known that the file sets lie on");
    }
}
