//! A file of a workload that is a block device: found, looked at for whatever is on it or uses it, and claimed.
//!
//! A device is never made, marked or removed. It is read like a file. It is written to only where the user has named it,
//! nothing uses it, and nothing that is known is on it: see [`Device::refusals`].

use super::create::CreateError;
use crate::mounts::{Mount, Mounts, unescape};
use crate::sys::describe;
use crate::units;
use rustix::fs::{FileType, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

mod signature;

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its path, without symbolic links in it.
    pub path: PathBuf,
    /// Its number, as `st_rdev` has it.
    pub number: u64,
    /// Its size.
    pub bytes: u64,
}

/// What the user allows to be done to devices.
#[derive(Debug, Clone, Default)]
pub struct Leave {
    /// Devices that may be written to, each by a path of its own.
    pub destroy: Vec<PathBuf>,
    /// What carries a signature may be overwritten.
    pub signatures: bool,
}

impl Leave {
    /// True where the device is named, by a path that leads to it.
    fn names(&self, device: &Device) -> bool {
        self.destroy.iter().any(|path| path.canonicalize().is_ok_and(|path| path == device.path))
    }
}

impl Device {
    /// The block device at `path`, behind symbolic links too; none where there is something else, or nothing.
    ///
    /// # Errors
    ///
    /// Where there is one, and it cannot be opened.
    pub fn find(path: &Path) -> io::Result<Option<Device>> {
        let Ok(metadata) = path.metadata() else { return Ok(None) };
        if !metadata.file_type().is_block_device() {
            return Ok(None);
        }
        let path = path.canonicalize()?;
        let fd = rustix::fs::open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let number = number_of(fd.as_fd())?;
        let bytes = rustix::fs::seek(&fd, SeekFrom::End(0))?;
        Ok(Some(Device { path, number, bytes }))
    }

    /// A descriptor of the device's name, by which it can be opened, where it still is the same device.
    ///
    /// # Errors
    ///
    /// In words.
    pub fn find_again(&self) -> Result<OwnedFd, String> {
        let open = || -> io::Result<OwnedFd> {
            let fd = rustix::fs::open(&self.path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            self.check(fd)
        };
        open().map_err(|error| describe(&error))
    }

    fn check(&self, fd: OwnedFd) -> io::Result<OwnedFd> {
        if number_of(fd.as_fd())? == self.number {
            return Ok(fd);
        }
        Err(io::Error::other("it is another device than the one that was looked at before the run"))
    }

    fn open(&self, extra: OFlags) -> io::Result<OwnedFd> {
        let fd = rustix::fs::open(&self.path, OFlags::RDONLY | OFlags::CLOEXEC | extra, Mode::empty())?;
        self.check(fd)
    }

    /// Why the device is not written to, all reasons; empty where it may be.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub fn refusals(&self, leave: &Leave) -> io::Result<Vec<String>> {
        let mut uses = self.uses();
        if uses.is_empty() && self.open(OFlags::EXCL).is_err_and(|error| is_busy(&error)) {
            uses.push(CLAIMED.into());
        }
        self.refusals_beside(uses, leave)
    }

    fn refusals_beside(&self, uses: Vec<String>, leave: &Leave) -> io::Result<Vec<String>> {
        let (path, size) = (self.path.display(), units::bytes(self.bytes));
        let mut found = Vec::new();
        if !leave.names(self) {
            found.push(format!(
                "the device {path} ({size}) is written to, and what is on it would be lost; --destroy-data {path} allows \
                 that"
            ));
        }
        found.extend(uses.into_iter().map(|why| format!("the device {path} is in use: {why}")));
        let signatures = signature::of(self.open(OFlags::empty())?.as_fd(), self.bytes)?;
        if !signatures.is_empty() && !leave.signatures {
            found.push(format!(
                "the device {path} ({size}) carries {}; --yes-overwrite-signature lets that be overwritten",
                signatures.join(", "),
            ));
        }
        Ok(found)
    }

    /// Opens the device for as long as it is used, so that its number stays its own. Where it is written to, all that
    /// [`Device::refusals`] says is asked again, and nobody else can claim the device meanwhile, to mount it for one.
    ///
    /// # Errors
    ///
    /// Refused, or it cannot be opened.
    pub fn claim(&self, writes: bool, leave: &Leave) -> Result<OwnedFd, CreateError> {
        let failed = |error: io::Error| CreateError::io("open", &self.path, error);
        let refused = |why: &[String]| CreateError::NotOurs { path: self.path.clone(), why: why.join("; ") };
        if !writes {
            return self.open(OFlags::empty()).map_err(failed);
        }
        let fd = match self.open(OFlags::EXCL) {
            Err(error) if is_busy(&error) => return Err(refused(&[CLAIMED.into()])),
            other => other.map_err(failed)?,
        };
        match self.refusals_beside(self.uses(), leave).map_err(failed)?.as_slice() {
            [] => Ok(fd),
            why => Err(refused(why)),
        }
    }

    /// What uses the device, its partitions, or the disk that it is a partition of; each with what to do about it.
    fn uses(&self) -> Vec<String> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (mounts, swaps) = (Mounts::parse(&read("/proc/self/mountinfo")), read("/proc/swaps"));
        let mut found = Vec::new();
        for node in self.nodes() {
            let what = if node.path == self.path { String::new() } else { format!("{} ", node.path.display()) };
            found.extend(
                mounted_at(&mounts, &node).into_iter().map(|at| format!("{what}is mounted at {at} (unmount it first)")),
            );
            if is_swap(&swaps, &node) {
                found.push(format!("{what}is swap space (swapoff it first)"));
            }
            let holders = entries(&node.sysfs.join("holders"));
            if !holders.is_empty() {
                let holders: Vec<String> = holders.iter().map(|name| format!("{name}{}", kind_of(name))).collect();
                found.push(format!("{what}is part of {} (take that apart first)", holders.join(", ")));
            }
            found.extend(
                loops_on(&node).into_iter().map(|name| format!("{what}is what {name} is made of (detach that first)")),
            );
        }
        found
    }

    /// The device itself; its partitions; the disk that it is a partition of.
    fn nodes(&self) -> Vec<Node> {
        let (major, minor) = (rustix::fs::major(self.number), rustix::fs::minor(self.number));
        let Ok(own) = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else {
            // No sysfs: what can be asked without it.
            let node = Node { path: self.path.clone(), number: format!("{major}:{minor}"), sysfs: PathBuf::new() };
            return vec![node];
        };
        let is_partition = |directory: &Path| directory.join("partition").exists();
        let mut directories = vec![own.clone()];
        directories.extend(entries(&own).into_iter().map(|name| own.join(name)).filter(|path| is_partition(path)));
        directories.extend(own.parent().filter(|_| is_partition(&own)).map(Path::to_owned));
        let node = |sysfs: PathBuf| {
            let number = fs::read_to_string(sysfs.join("dev")).ok()?.trim().to_owned();
            let path = if sysfs == own { self.path.clone() } else { Path::new("/dev").join(name_of(&sysfs)?) };
            Some(Node { path, number, sysfs })
        };
        directories.into_iter().filter_map(node).collect()
    }
}

const CLAIMED: &str = "the kernel or another program has claimed it for itself (EBUSY)";

/// A block device as the kernel's lists have it.
#[derive(Debug)]
struct Node {
    path: PathBuf,
    /// `7:0`.
    number: String,
    /// Its directory in sysfs.
    sysfs: PathBuf,
}

impl Node {
    /// True where a path of a list leads to it.
    fn is_at(&self, path: &str) -> bool {
        let number = Path::new(path).metadata().ok().filter(|found| found.file_type().is_block_device());
        number.is_some_and(|found| {
            format!("{}:{}", rustix::fs::major(found.rdev()), rustix::fs::minor(found.rdev())) == self.number
        })
    }
}

fn number_of(fd: rustix::fd::BorrowedFd<'_>) -> io::Result<u64> {
    let stat = rustix::fs::fstat(fd)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice {
        return Ok(stat.st_rdev);
    }
    Err(io::Error::other("it is no block device any more"))
}

/// The name of a device in /dev, by its directory in sysfs: `cciss!c0d0` is `cciss/c0d0`.
fn name_of(sysfs: &Path) -> Option<String> {
    Some(sysfs.file_name()?.to_str()?.replace('!', "/"))
}

fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::BUSY.raw_os_error())
}

/// The names in a directory; none where it is not there.
fn entries(directory: &Path) -> BTreeSet<String> {
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Where a device is mounted. A file system on several devices has a number of its own, and names one of them.
fn mounted_at(mounts: &Mounts, node: &Node) -> Vec<String> {
    let is =
        |mount: &&Mount| mount.device == node.number || mount.source.starts_with("/dev/") && node.is_at(&mount.source);
    mounts.iter().filter(is).map(|mount| mount.point.clone()).collect()
}

/// True where /proc/swaps, whose text this is, has the device.
fn is_swap(swaps: &str, node: &Node) -> bool {
    swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).any(|path| node.is_at(&unescape(path)))
}

/// Loop devices whose data is on the device: the kernel does not count them as its holders.
fn loops_on(node: &Node) -> Vec<String> {
    let backed = |name: &String| {
        let path = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap_or_default();
        node.is_at(path.trim_end_matches('\n'))
    };
    entries(Path::new("/sys/block")).into_iter().filter(|name| name.starts_with("loop")).filter(backed).collect()
}

/// What a holder is, for people.
fn kind_of(name: &str) -> String {
    if name.starts_with("md") {
        return " (md)".into();
    }
    match fs::read_to_string(format!("/sys/block/{name}/dm/name")) {
        Ok(dm) => format!(" (device mapper, {})", dm.trim()),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: &str) -> Node {
        Node { path: "/dev/none".into(), number: number.into(), sysfs: PathBuf::new() }
    }

    #[test]
    fn mounts_are_found_by_number_and_named_by_their_point() {
        let text = "21 1 8:1 / / rw shared:1 - ext4 /dev/none1 rw\n\
                    22 21 8:17 / /mnt/a\\040b rw,noatime - xfs /dev/none2 rw\n\
                    23 21 8:17 /sub /mnt/c rw - xfs /dev/none2 rw\n\
                    24 21 0:5 / /proc rw - proc proc rw\n";
        let mounts = Mounts::parse(text);
        assert_eq!(mounted_at(&mounts, &node("8:17")), ["/mnt/a b", "/mnt/c"]);
        assert_eq!(mounted_at(&mounts, &node("8:16")), [""; 0]);
    }

    #[test]
    fn only_block_devices_are_devices() {
        for path in ["/dev/null", "/", "/no/such/path", "/proc/self/stat"] {
            assert_eq!(Device::find(Path::new(path)).unwrap(), None, "{path}");
        }
    }

    #[test]
    fn leave_is_for_the_device_that_is_named() {
        let device = |path: &str| Device { path: path.into(), number: 0, bytes: 0 };
        let scratch = tempfile::tempdir().unwrap();
        let (one, link) = (scratch.path().canonicalize().unwrap().join("one"), scratch.path().join("link"));
        fs::write(&one, "").unwrap();
        std::os::unix::fs::symlink(&one, &link).unwrap();
        let leave = Leave { destroy: vec![link], signatures: false };
        assert!(leave.names(&device(one.to_str().unwrap())));
        assert!(!leave.names(&device("/dev/none")));
        assert!(!leave.names(&device(scratch.path().to_str().unwrap())));
    }
}
