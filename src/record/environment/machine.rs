//! What the machine is made of and what it is allowed: of /proc and /sys below `root`, which is `/` but in tests.

use super::BlockDevice;
use crate::mounts::{Disk, Mounts};
use std::path::{Path, PathBuf};

/// The first line of a file, where there is one that says something.
pub(super) fn line(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Makers of virtual machines, as firmware calls them.
const MAKERS: &[(&str, &str)] = &[
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("Amazon EC2", "amazon"),
    ("Google", "google"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "virtualbox"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
    ("Microsoft Corporation", "microsoft"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
];

/// See the field of the same name. The firmware names the maker of a virtual machine; the processor only says that there
/// is one, and without that word the firmware's is not taken: the same makers sell machines.
pub(super) fn hypervisor(root: &Path) -> Option<String> {
    let cpuinfo = std::fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    if cpuinfo.contains("User Mode Linux") {
        return Some("uml".into());
    }
    if let Some(kind) = line(&root.join("sys/hypervisor/type")) {
        return Some(kind);
    }
    let flagged = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let firmware = root.join("sys/class/dmi/id");
    let firmware = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"].map(|name| line(&firmware.join(name)));
    let maker = MAKERS.iter().find(|(word, _)| firmware.iter().flatten().any(|name| name.contains(word)));
    let is_x86 = !flagged.is_empty();
    match (flagged.split(' ').any(|flag| flag == "hypervisor"), maker) {
        (true, Some((_, kind))) => Some((*kind).into()),
        (true, None) => Some("unknown".into()),
        // Other processors have no such flag, so there the firmware's word is all there is, where it means nothing else.
        (false, Some((_, kind))) if !is_x86 && !matches!(*kind, "amazon" | "google" | "microsoft") => {
            Some((*kind).into())
        }
        (false, _) => None,
    }
}

/// See the field of the same name.
pub(super) fn container(root: &Path) -> Option<String> {
    if let Some(kind) = line(&root.join("run/systemd/container")) {
        return Some(kind);
    }
    if root.join("run/.containerenv").exists() {
        return Some("podman".into());
    }
    if root.join("var/run/secrets/kubernetes.io").exists() {
        return Some("kubernetes".into());
    }
    if root.join(".dockerenv").exists() {
        return Some("docker".into());
    }
    // The control group of a container's first process, where the container sees it.
    let groups = std::fs::read_to_string(root.join("proc/1/cgroup")).unwrap_or_default();
    let words = [("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("/lxc", "lxc")];
    words.iter().find(|(word, _)| groups.contains(word)).map(|(_, kind)| (*kind).to_owned())
}

/// Thousandths of a processor and bytes of memory that the control groups of this process allow: the least of its own
/// and all above it.
pub(super) fn limits(root: &Path) -> (Option<u64>, Option<u64>) {
    let (mut cpu, mut memory) = (Vec::new(), Vec::new());
    for directory in groups(root, "cgroup2", None) {
        cpu.extend(line(&directory.join("cpu.max")).and_then(|text| {
            let (quota, period) = text.split_once(' ')?;
            millicpus(quota.parse().ok()?, period.parse().ok()?)
        }));
        memory.extend(line(&directory.join("memory.max")).and_then(|text| text.parse::<u64>().ok()));
    }
    for directory in groups(root, "cgroup", Some("cpu")) {
        let number = |name| line(&directory.join(name)).and_then(|text| text.parse().ok());
        cpu.extend(
            number("cpu.cfs_quota_us").zip(number("cpu.cfs_period_us")).and_then(|(q, p): (u64, u64)| millicpus(q, p)),
        );
    }
    for directory in groups(root, "cgroup", Some("memory")) {
        memory.extend(line(&directory.join("memory.limit_in_bytes")).and_then(|text| text.parse::<u64>().ok()));
    }
    // Version 1 says "no limit" by a number near 2^63.
    (cpu.into_iter().min(), memory.into_iter().filter(|bytes| *bytes < 1 << 60).min())
}

fn millicpus(quota: u64, period: u64) -> Option<u64> {
    (quota * 1000).checked_div(period)
}

/// The directories of this process's group and of all above it, in the hierarchy of a controller (version 1) or in the
/// one of version 2.
fn groups(root: &Path, fs_type: &str, controller: Option<&str>) -> Vec<PathBuf> {
    let own = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    // NUMBER:CONTROLLERS:PATH
    let of_hierarchy = |line: &&str| {
        let controllers = line.split(':').nth(1).unwrap_or_default();
        controller.map_or(controllers.is_empty(), |name| controllers.split(',').any(|c| c == name))
    };
    let Some(path) = own.lines().find(of_hierarchy).and_then(|line| line.splitn(3, ':').nth(2)) else {
        return Vec::new();
    };
    let mounts = Mounts::read(root).unwrap_or_default();
    let has = |options: &str| controller.is_none_or(|name| options.split(',').any(|option| option == name));
    let Some(mount) = mounts.iter().find(|mount| mount.fs_type == fs_type && has(&mount.options)) else {
        return Vec::new();
    };
    let top = root.join(mount.point.trim_start_matches('/'));
    let path = path.trim_start_matches('/');
    // A container may not see the groups above its own, and then finds its own at the top.
    Path::new(path).ancestors().map(|group| top.join(group)).filter(|directory| directory.exists()).collect()
}

/// A whole disk, by its directory in /sys.
pub(super) fn block_device(disk: &Disk) -> BlockDevice {
    let number = |name: &str| line(&disk.path.join(name)).and_then(|text| text.parse::<u64>().ok());
    let scheduler = line(&disk.path.join("queue/scheduler"));
    BlockDevice {
        name: disk.name.clone(),
        model: line(&disk.path.join("device/model")),
        size_bytes: number("size").map(|sectors| sectors * 512),
        rotational: number("queue/rotational").map(|turns| turns != 0),
        // The one in brackets; a device that has no choice shows it without.
        scheduler: scheduler.map(|list| match list.split_once('[') {
            Some((_, rest)) => rest.split(']').next().unwrap_or_default().to_owned(),
            None => list,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn virtual_machines_are_known_by_processor_and_firmware() {
        let guest = ("proc/cpuinfo", "model name\t: X\nflags\t\t: fpu hypervisor lm\n");
        let host = ("proc/cpuinfo", "flags\t\t: fpu lm\n");
        let maker = ("sys/class/dmi/id/sys_vendor", "QEMU\n");
        let of = |list: &[(&str, &str)]| hypervisor(files(list).path());
        assert_eq!(of(&[guest, maker]).as_deref(), Some("qemu"));
        assert_eq!(
            of(&[guest, maker, ("sys/class/dmi/id/product_name", "KVM Virtual Machine\n")]).as_deref(),
            Some("kvm")
        );
        assert_eq!(of(&[guest]).as_deref(), Some("unknown"));
        assert_eq!(of(&[host, ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n")]), None, "a laptop");
        assert_eq!(of(&[host]), None);
        assert_eq!(of(&[("proc/cpuinfo", "Features\t: fp\n"), maker]).as_deref(), Some("qemu"), "no x86");
        assert_eq!(of(&[host, ("sys/hypervisor/type", "xen\n")]).as_deref(), Some("xen"));
        assert_eq!(of(&[("proc/cpuinfo", "vendor_id\t: User Mode Linux\n")]).as_deref(), Some("uml"));
    }

    #[test]
    fn containers_are_known_by_what_their_makers_leave() {
        let of = |list: &[(&str, &str)]| container(files(list).path());
        assert_eq!(of(&[(".dockerenv", "")]).as_deref(), Some("docker"));
        assert_eq!(of(&[("run/.containerenv", "")]).as_deref(), Some("podman"));
        assert_eq!(of(&[("run/systemd/container", "systemd-nspawn\n")]).as_deref(), Some("systemd-nspawn"));
        assert_eq!(of(&[("proc/1/cgroup", "0::/kubepods/pod1/2\n")]).as_deref(), Some("kubernetes"));
        assert_eq!(of(&[("proc/1/cgroup", "0::/init.scope\n")]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn the_least_of_all_groups_counts() {
        let root = files(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", "1 0 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a/memory.max", "1000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/b/memory.max", "2000\n"),
        ]);
        assert_eq!(limits(root.path()), (Some(1500), Some(1000)));
        let root = files(&[
            ("proc/self/cgroup", "2:cpu,cpuacct:/x\n1:memory:/y\n0::/\n"),
            (
                "proc/self/mountinfo",
                "1 0 0:2 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n2 0 0:3 / /cg/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("cg/cpu/x/cpu.cfs_quota_us", "50000\n"),
            ("cg/cpu/x/cpu.cfs_period_us", "100000\n"),
            ("cg/cpu/cpu.cfs_quota_us", "-1\n"),
            ("cg/cpu/cpu.cfs_period_us", "100000\n"),
            ("cg/memory/y/memory.limit_in_bytes", "4096\n"),
            ("cg/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(limits(root.path()), (Some(500), Some(4096)));
        assert_eq!(limits(files(&[]).path()), (None, None));
    }

    #[test]
    fn a_disk_has_a_size_a_scheduler_and_may_turn() {
        let root = files(&[
            ("sda/size", "2048\n"),
            ("sda/queue/rotational", "1\n"),
            ("sda/queue/scheduler", "none [mq-deadline] bfq\n"),
            ("sda/device/model", "Fast 1T   \n"),
        ]);
        let of = |name: &str| block_device(&Disk { name: name.into(), path: root.path().join(name) });
        let sda = of("sda");
        assert_eq!((sda.size_bytes, sda.rotational), (Some(1 << 20), Some(true)));
        assert_eq!((sda.scheduler.as_deref(), sda.model.as_deref()), (Some("mq-deadline"), Some("Fast 1T")));
        assert_eq!(of("sdz"), BlockDevice { name: "sdz".into(), ..BlockDevice::default() });
    }
}
