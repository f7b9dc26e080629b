//! Where a run took place.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// Machine and target. What could not be read is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// A mount point of /etc/fstab above the target on which nothing is mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmounted: Option<String>,
    /// The command line.
    pub command: Vec<String>,
}

impl Environment {
    /// Reads the machine, and the file system that holds `target`.
    pub fn read(target: Option<&Path>) -> Self {
        let uname = rustix::system::uname();
        let part = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
        let mut environment = Environment {
            kernel: Some(format!("{} {} {}", part(uname.sysname()), part(uname.release()), part(uname.machine()))),
            cpus: std::thread::available_parallelism().ok().map(|n| n.get() as u64),
            cpu_model: field("/proc/cpuinfo", "model name"),
            memory_bytes: memory("MemTotal"),
            command: std::env::args().collect(),
            ..Environment::default()
        };
        if let Some(target) = target {
            environment.target = Some(target.display().to_string());
            environment.free_bytes = rustix::fs::statvfs(target).ok().map(|s| s.f_bavail * s.f_frsize);
            if let Some(mount) = std::fs::read_to_string("/proc/self/mountinfo").ok().and_then(|t| mount_of(&t, target))
            {
                let fstab = std::fs::read_to_string("/etc/fstab").unwrap_or_default();
                environment.unmounted = unmounted(&fstab, &mount.point, target);
                environment.fs_type = Some(mount.fs_type);
                environment.fs_source = Some(mount.source);
                environment.mount_point = Some(mount.point);
                environment.mount_options = Some(mount.options);
            }
        }
        environment
    }
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

#[derive(Debug, PartialEq)]
struct Mount {
    point: String,
    fs_type: String,
    source: String,
    options: String,
}

/// The mount that holds an absolute path: the one with the longest mount point above it, the last of several.
fn mount_of(mountinfo: &str, path: &Path) -> Option<Mount> {
    let mut best: Option<Mount> = None;
    for line in mountinfo.lines() {
        // See proc_pid_mountinfo(5): ID parent major:minor root point options [fields] - type source super-options.
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let (Some(point), Some(options), Some(fs_type), Some(source)) =
            (left.get(4), left.get(5), right.first(), right.get(1))
        else {
            continue;
        };
        let point = unescape(point);
        if path.starts_with(&point) && best.as_ref().is_none_or(|b| point.len() >= b.point.len()) {
            let extra = right.get(2).map(|s| format!(",{s}")).unwrap_or_default();
            best = Some(Mount {
                point,
                fs_type: (*fs_type).into(),
                source: unescape(source),
                options: format!("{options}{extra}"),
            });
        }
    }
    best
}

/// The mount point of fstab that is above a path and below the mount that holds it: nothing is mounted there.
fn unmounted(fstab: &str, holder: &str, path: &Path) -> Option<String> {
    let lines = fstab.lines().filter(|line| !line.trim_start().starts_with('#'));
    let points = lines.filter_map(|line| line.split_ascii_whitespace().nth(1)).map(unescape);
    // A path that is no deeper than the holder's is the holder, or above it.
    let open = points.filter(|point| path.starts_with(point) && Path::new(point) != Path::new(holder));
    open.filter(|point| Path::new(point).starts_with(holder)).max_by_key(String::len)
}

/// Undoes the kernel's octal escapes (`\040` is a space).
fn unescape(text: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_holds_a_path_and_of_two_the_last() {
        let text = "21 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
                    22 21 0:5 / /mnt/a\\040b rw,noatime - nfs4 srv:/export vers=4.2\n\
                    23 21 0:6 / /mnt rw - tmpfs tmpfs rw\n\
                    24 21 0:7 / /mnt rw - xfs /dev/sdb rw\n";
        let of = |p: &str| mount_of(text, Path::new(p)).unwrap();
        assert_eq!(of("/home").fs_type, "ext4");
        assert_eq!(of("/mnt/x").fs_type, "xfs");
        assert_eq!(of("/mnt/a b/c").source, "srv:/export");
        assert_eq!(of("/mnt/a b/c").options, "rw,noatime,vers=4.2");
        assert_eq!(of("/mntx").fs_type, "ext4");
    }

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
        let here = Environment::read(Some(Path::new("/")));
        assert!(here.kernel.unwrap().starts_with("Linux "));
        assert!(here.memory_bytes.unwrap() > 1 << 20);
        assert!(here.fs_type.is_some());
    }
}
