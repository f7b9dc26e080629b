//! Where a run took place.

use crate::mounts::{self, Mounts};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

mod machine;

/// Machine and target. What could not be read is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// `Linux 6.12.0 x86_64`.
    pub kernel: Option<String>,
    /// Processors that may be used.
    pub cpus: Option<u64>,
    /// Model name of the first processor.
    pub cpu_model: Option<String>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// The base directory of the run (`--dir`).
    pub target: Option<String>,
    /// File system type of the target, `nfs4`.
    pub fs_type: Option<String>,
    /// What is mounted there, `server:/export`.
    pub fs_source: Option<String>,
    /// Where it is mounted.
    pub mount_point: Option<String>,
    /// Options as the kernel shows them.
    pub mount_options: Option<String>,
    /// Bytes free for an ordinary user before the run.
    pub free_bytes: Option<u64>,
    /// The files of the workload that are block devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceRecord>,
    /// A mount point of /etc/fstab above the target on which nothing is mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmounted: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// How the clock of the first processor is governed, `performance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_governor: Option<String>,
    /// What the kernel reads its clock from, `tsc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// The hypervisor of a virtual machine: `kvm`, `vmware`, `microsoft`, `xen` or another; `unknown` where only that there
    /// is one could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// What made the container that wlrun ran in: `docker`, `podman`, `kubernetes`, `lxc`, `systemd-nspawn` or another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Processor time that the control group may use: thousandths of a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit_millicpus: Option<u64>,
    /// Bytes of memory that the control group may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// The mounts that the file sets lie on, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
}

/// A mount that file sets lie on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Target {
    /// The place of the first file set on it.
    pub path: String,
    /// `nfs4`.
    pub fs_type: String,
    /// `server:/export`, `/dev/sda1`.
    pub fs_source: String,
    /// Where it is.
    pub mount_point: String,
    /// As the kernel shows them, with what client and server agreed on: version, rsize, wsize, proto, nconnect.
    pub mount_options: String,
    /// Bytes free for an ordinary user before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Inodes free for an ordinary user before the run; none where the file system does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_inodes: Option<u64>,
    /// The whole disks beneath.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<BlockDevice>,
}

/// A whole disk beneath a target.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockDevice {
    /// `sda`.
    pub name: String,
    /// As its maker calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Bytes that it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Whether the kernel takes it for a disk that turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Who decides in which order it gets requests, `mq-deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
}

/// A block device that a workload works on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceRecord {
    /// Without symbolic links in it.
    pub path: String,
    /// Bytes of it that the workload uses.
    pub bytes: u64,
    /// Its size.
    pub size_bytes: u64,
}

impl Environment {
    /// Reads the machine, and the file systems that hold `target` and the file sets; asks these for their free space.
    pub fn read(target: Option<&Path>, filesets: &[PathBuf]) -> Self {
        let root = Path::new("/");
        let uname = rustix::system::uname();
        let part = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
        let (cpu_limit_millicpus, memory_limit_bytes) = machine::limits(root);
        let mut environment = Environment {
            kernel: Some(format!("{} {} {}", part(uname.sysname()), part(uname.release()), part(uname.machine()))),
            cpus: std::thread::available_parallelism().ok().map(|n| n.get() as u64),
            cpu_model: field("/proc/cpuinfo", "model name"),
            memory_bytes: memory("MemTotal"),
            command: std::env::args().collect(),
            cpu_governor: machine::line(&root.join("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
            clock_source: machine::line(&root.join("sys/devices/system/clocksource/clocksource0/current_clocksource")),
            hypervisor: machine::hypervisor(root),
            container: machine::container(root),
            cpu_limit_millicpus,
            memory_limit_bytes,
            ..Environment::default()
        };
        let mounts = Mounts::read(root).unwrap_or_default();
        if let Some(target) = target {
            environment.target = Some(target.display().to_string());
            environment.free_bytes = rustix::fs::statvfs(target).ok().map(|s| s.f_bavail * s.f_frsize);
            if let Some(mount) = mounts.of(&resolved(target)) {
                let fstab = std::fs::read_to_string("/etc/fstab").unwrap_or_default();
                environment.unmounted = unmounted(&fstab, &mount.point, target);
                environment.fs_type = Some(mount.fs_type.clone());
                environment.fs_source = Some(mount.source.clone());
                environment.mount_point = Some(mount.point.clone());
                environment.mount_options = Some(mount.options.clone());
            }
        }
        for path in filesets {
            let place = resolved(path);
            let known = |mount: &&mounts::Mount| environment.targets.iter().all(|t| t.mount_point != mount.point);
            let Some(mount) = mounts.of(&place).filter(known) else { continue };
            let space = rustix::fs::statvfs(existing(&place)).ok();
            environment.targets.push(Target {
                path: path.display().to_string(),
                fs_type: mount.fs_type.clone(),
                fs_source: mount.source.clone(),
                mount_point: mount.point.clone(),
                mount_options: mount.options.clone(),
                free_bytes: space.as_ref().map(|s| s.f_bavail * s.f_frsize),
                // Of some file systems (btrfs) the number of inodes has no end, and both are 0.
                free_inodes: space.filter(|s| s.f_files > 0).map(|s| s.f_favail),
                devices: mounts::disks(root, mount).iter().map(machine::block_device).collect(),
            });
        }
        environment
    }
}

/// File systems whose data comes by way of the network.
const BY_NETWORK: &[&str] = &["nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "9p", "afs", "fuse.glusterfs", "beegfs"];

impl Environment {
    /// True where file sets lie across a network.
    pub fn by_network(&self) -> bool {
        let types = self.targets.iter().map(|target| &target.fs_type).chain(&self.fs_type);
        types.into_iter().any(|fs_type| BY_NETWORK.contains(&fs_type.as_str()))
    }
}

/// The deepest directory on the way to a path that exists.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"))
}

/// A path without symbolic links, as far as it exists: mount points are looked for by their names.
pub fn resolved(path: &Path) -> PathBuf {
    let above = existing(path);
    let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
    above.canonicalize().map_or_else(|_| path.to_owned(), |above| above.join(rest).components().collect())
}

/// A figure of /proc/meminfo in bytes.
pub fn memory(name: &str) -> Option<u64> {
    let text = field("/proc/meminfo", name)?;
    text.strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

/// The text after `name:` in a file of such lines.
fn field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// The mount point of fstab that is above a path and below the mount that holds it: nothing is mounted there.
fn unmounted(fstab: &str, holder: &str, path: &Path) -> Option<String> {
    let lines = fstab.lines().filter(|line| !line.trim_start().starts_with('#'));
    let points = lines.filter_map(|line| line.split_ascii_whitespace().nth(1)).map(mounts::unescape);
    // A path that is no deeper than the holder's is the holder, or above it.
    let open = points.filter(|point| path.starts_with(point) && Path::new(point) != Path::new(holder));
    open.filter(|point| Path::new(point).starts_with(holder)).max_by_key(String::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_of_fstab_without_a_mount_is_found() {
        let fstab = "# /dev/sdz /mnt/nfs ext4\n/dev/sda1 / ext4 defaults 0 1\nsrv:/e /mnt/nfs/ nfs4 noauto 0 0\n\
                     srv:/f /mnt/a\\040b nfs4 defaults\n/dev/sdb none swap sw 0 0\n";
        let of = |holder: &str, path: &str| unmounted(fstab, holder, Path::new(path));
        assert_eq!(of("/", "/mnt/nfs/bench").as_deref(), Some("/mnt/nfs/"));
        assert_eq!(of("/mnt/nfs", "/mnt/nfs/bench"), None, "it is mounted");
        assert_eq!(of("/mnt/nfs/bench", "/mnt/nfs/bench"), None, "another is mounted below it");
        assert_eq!(of("/", "/mnt/a b/x").as_deref(), Some("/mnt/a b"));
        assert_eq!((of("/", "/home"), of("/", "/mnt/nfsx")), (None, None));
    }

    #[test]
    fn this_machine_has_a_kernel_memory_and_a_root() {
        let here = Environment::read(Some(Path::new("/")), &["/".into(), "/no/such/place".into()]);
        assert!(here.kernel.unwrap().starts_with("Linux "));
        assert!(here.memory_bytes.unwrap() > 1 << 20);
        assert!(here.fs_type.is_some());
        let [target] = &here.targets[..] else { panic!("one mount is there once: {:?}", here.targets) };
        assert_eq!(Some(&target.fs_type), here.fs_type.as_ref());
        assert!(target.free_bytes.is_some());
    }

    #[test]
    fn a_path_that_is_not_there_yet_is_followed_as_far_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
        assert_eq!(resolved(&dir.path().join("link/new/set")), real.join("new/set"));
        assert_eq!(resolved(&dir.path().join("link")), real);
    }
}
