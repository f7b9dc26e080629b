//! Mounts, and the block devices beneath them: read from /proc and /sys alone, so that nothing is asked of the file
//! system itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A line of /proc/self/mountinfo.
#[derive(Debug, Clone, PartialEq)]
pub struct Mount {
    /// `8:1`; major number 0 for a file system without a device of its own.
    pub device: String,
    /// Where it is.
    pub point: String,
    /// `nfs4`.
    pub fs_type: String,
    /// `server:/export`, `/dev/sda1`.
    pub source: String,
    /// Of the mount and of the file system.
    pub options: String,
}

/// The mounts of this process, in the order of the kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mounts(Vec<Mount>);

impl Mounts {
    /// Reads a text of the form of proc_pid_mountinfo(5). Lines of another form are left out.
    pub fn parse(text: &str) -> Self {
        Mounts(text.lines().filter_map(mount).collect())
    }

    /// Those of this process; `root` is `/` but in tests.
    ///
    /// # Errors
    ///
    /// Of reading the file.
    pub fn read(root: &Path) -> std::io::Result<Self> {
        Ok(Mounts::parse(&std::fs::read_to_string(root.join("proc/self/mountinfo"))?))
    }

    /// The mount that holds an absolute path: the one with the longest mount point above it, the last of several.
    pub fn of(&self, path: &Path) -> Option<&Mount> {
        // Of equal ones `max_by_key` gives the last.
        self.0.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.len())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.0.iter()
    }
}

/// `ID parent major:minor root point options [fields] - type source super-options`.
fn mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let right: Vec<&str> = right.split(' ').collect();
    let extra = right.get(2).map(|options| format!(",{options}")).unwrap_or_default();
    Some(Mount {
        device: (*left.get(2)?).into(),
        point: unescape(left.get(4)?),
        fs_type: (*right.first()?).into(),
        source: unescape(right.get(1)?),
        options: format!("{}{extra}", left.get(5)?),
    })
}

/// Undoes the octal escapes of the kernel's lists (`\040` is a space).
pub fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Disk {
    /// `sda`, `sda1`, `dm-0`.
    pub name: String,
    /// Its directory in /sys.
    pub path: PathBuf,
}

/// The block devices that a mount's file system is on: one, or those of a btrfs. Empty where it has none, or /sys does not
/// show it.
pub fn devices(root: &Path, mount: &Mount) -> Vec<Disk> {
    let entries = if mount.device.starts_with("0:") {
        // btrfs has a number of its own, and its source is a device; so have others that span several.
        source_entry(root, &mount.source).map(|entry| members(root, &entry)).unwrap_or_default()
    } else {
        vec![root.join("sys/dev/block").join(&mount.device)]
    };
    entries.iter().filter_map(|entry| disk(entry.canonicalize().ok()?)).collect()
}

/// What a device file stands for; none where the path is none, or /sys does not show it.
pub fn device(root: &Path, path: &str) -> Option<Disk> {
    disk(source_entry(root, path)?.canonicalize().ok()?)
}

/// The whole disks beneath a mount; see [`whole`].
pub fn disks(root: &Path, mount: &Mount) -> Vec<Disk> {
    whole(&devices(root, mount))
}

/// The whole disks beneath devices: partitions are followed to their disk, device-mapper and md devices to what they are
/// made of.
pub fn whole(devices: &[Disk]) -> Vec<Disk> {
    let mut found = BTreeSet::new();
    devices.iter().for_each(|device| descend(&device.path, 0, &mut found));
    found.into_iter().collect()
}

/// A slash in a device's name (`cciss/c0d0`) is `!` in /sys.
fn disk(path: PathBuf) -> Option<Disk> {
    let name = path.file_name()?.to_str()?.replace('!', "/");
    Some(Disk { name, path })
}

/// The entry in /sys of `/dev/sda1`. `/dev/mapper/x` is a link to `../dm-0`.
fn source_entry(root: &Path, source: &str) -> Option<PathBuf> {
    let device = root.join(source.strip_prefix('/').filter(|path| path.starts_with("dev/"))?);
    let device = device.canonicalize().unwrap_or(device);
    let name = device.strip_prefix(root.join("dev")).ok()?.to_str()?.replace('/', "!");
    let entry = root.join("sys/class/block").join(name);
    entry.exists().then_some(entry)
}

/// All devices of the btrfs that has this one; of any other file system the device alone.
fn members(root: &Path, entry: &Path) -> Vec<PathBuf> {
    let name = entry.file_name().unwrap_or_default();
    let list = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut devices = list(root.join("sys/fs/btrfs")).map(|file_system| file_system.join("devices"));
    devices.find(|of| of.join(name).exists()).map_or_else(|| vec![entry.to_owned()], |of| list(of).collect())
}

fn descend(entry: &Path, depth: u32, found: &mut BTreeSet<Disk>) {
    // Stacks of devices are a few storeys high; the limit is for a loop that the kernel would not make.
    let Some(mut path) = entry.canonicalize().ok().filter(|_| depth < 16) else { return };
    if path.join("partition").exists() {
        path.pop();
    }
    let slaves = std::fs::read_dir(path.join("slaves")).into_iter().flatten().flatten();
    let slaves: Vec<PathBuf> = slaves.map(|slave| slave.path()).collect();
    if !slaves.is_empty() {
        slaves.iter().for_each(|slave| descend(slave, depth + 1, found));
    } else {
        found.extend(disk(path));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_deepest_mount_holds_a_path_and_of_two_the_last() {
        let text = "21 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
                    22 21 0:5 / /mnt/a\\040b rw,noatime - nfs4 srv:/export vers=4.2\n\
                    23 21 0:6 / /mnt rw - tmpfs tmpfs rw\n\
                    no mount\n\
                    24 21 0:7 / /mnt rw - xfs /dev/sdb rw\n";
        let mounts = Mounts::parse(text);
        let of = |p: &str| mounts.of(Path::new(p)).unwrap();
        assert_eq!(of("/home").fs_type, "ext4");
        assert_eq!(of("/mnt/x").fs_type, "xfs");
        assert_eq!(of("/mnt/a b/c").source, "srv:/export");
        assert_eq!(of("/mnt/a b/c").options, "rw,noatime,vers=4.2");
        assert_eq!(of("/mntx").device, "8:1");
        assert_eq!(mounts.iter().count(), 4);
    }

    #[test]
    fn escapes_are_undone_and_other_backslashes_stay() {
        assert_eq!(unescape("/a\\040b\\134c"), "/a b\\c");
        assert_eq!(unescape("\\9\\04"), "\\9\\04");
    }

    /// Two disks, one in two partitions; a mirror of a partition of each; a volume on the mirror; a btrfs of two disks.
    pub(crate) fn stack() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let path = |p: &str| root.path().join(p);
        let device = |name: &str, directory: &str, number: &str| {
            let directory = path(&format!("sys/devices/{directory}"));
            std::fs::create_dir_all(&directory).unwrap();
            for list in ["sys/dev/block", "sys/class/block", "dev"] {
                std::fs::create_dir_all(path(list)).unwrap();
            }
            symlink(&directory, path(&format!("sys/dev/block/{number}"))).unwrap();
            symlink(&directory, path(&format!("sys/class/block/{name}"))).unwrap();
            std::fs::write(path(&format!("dev/{}", name.replace('!', "_"))), "").unwrap();
            directory
        };
        for (disk, number) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32"), ("sdd", "8:48")] {
            device(disk, disk, number);
        }
        for (partition, directory, number) in
            [("sda1", "sda/sda1", "8:1"), ("sda2", "sda/sda2", "8:2"), ("sdb1", "sdb/sdb1", "8:17")]
        {
            std::fs::write(device(partition, directory, number).join("partition"), "1\n").unwrap();
        }
        let slaves = |of: &Path, names: &[&str]| {
            std::fs::create_dir(of.join("slaves")).unwrap();
            names.iter().for_each(|name| {
                symlink(path(&format!("sys/class/block/{name}")), of.join("slaves").join(name)).unwrap();
            });
        };
        slaves(&device("md0", "md0", "9:0"), &["sda2", "sdb1"]);
        slaves(&device("dm-0", "dm-0", "253:0"), &["md0"]);
        std::fs::create_dir(path("dev/mapper")).unwrap();
        symlink("../dm-0", path("dev/mapper/vg-data")).unwrap();
        std::fs::create_dir_all(path("sys/fs/btrfs/1234/devices")).unwrap();
        for disk in ["sdc", "sdd"] {
            symlink(path(&format!("sys/devices/{disk}")), path(&format!("sys/fs/btrfs/1234/devices/{disk}"))).unwrap();
        }
        root
    }

    #[test]
    fn a_stack_of_devices_is_walked_down_to_its_disks() {
        let root = stack();
        let names = |device: &str, source: &str| {
            let line = format!("1 0 {device} / /x rw - any {source} rw");
            let found = disks(root.path(), &mount(&line).unwrap());
            found.into_iter().map(|disk| disk.name).collect::<Vec<_>>()
        };
        assert_eq!(names("8:0", "/dev/sda"), ["sda"]);
        assert_eq!(names("8:1", "/dev/sda1"), ["sda"], "a partition");
        assert_eq!(names("253:0", "/dev/mapper/vg-data"), ["sda", "sdb"], "a volume on a mirror of partitions");
        assert_eq!(names("0:40", "/dev/sdd"), ["sdc", "sdd"], "a btrfs of two disks, mounted by one of them");
        assert_eq!(names("0:41", "/dev/mapper/vg-data"), ["sda", "sdb"], "a btrfs on a volume");
        assert_eq!(names("0:42", "tmpfs"), [""; 0]);
        assert_eq!(names("0:43", "server:/dev/sda"), [""; 0]);
        assert_eq!(names("7:9", "/dev/loop9"), [""; 0], "a device that /sys does not show");
        let swap = device(root.path(), "/dev/sda2").unwrap();
        assert_eq!((swap.name.as_str(), whole(std::slice::from_ref(&swap))[0].name.as_str()), ("sda2", "sda"));
        assert_eq!(device(root.path(), "/mnt/sda2"), None);
        let own = |number: &str, source: &str| {
            let mount = mount(&format!("1 0 {number} / /x rw - any {source} rw")).unwrap();
            devices(root.path(), &mount).into_iter().map(|device| device.name).collect::<Vec<_>>()
        };
        assert_eq!(own("8:1", "/dev/sda1"), ["sda1"], "no disk is looked for beneath");
        assert_eq!(own("253:0", "/dev/mapper/vg-data"), ["dm-0"]);
        assert_eq!(own("0:40", "/dev/sdd").len(), 2);
        assert_eq!(own("0:42", "tmpfs"), [""; 0]);
    }
}
