//! On a real NFS mount of versions 3 and 4.2: client and server of a kernel that runs as a process (User-mode Linux), with the
//! script `tests/on-nfs`. The tests whose names begin with `on_nfs` are those that run in it.

use crate::support::{Bench, Outcome, root, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs all tests for an NFS mount in a guest.
fn in_a_guest(version: &str) {
    if !root("a server in a guest") {
        return;
    }
    let needed = ["linux.uml", "exportfs", "mount.nfs"];
    let found = |name: &&&str| ["/usr/bin", "/usr/sbin", "/sbin"].iter().any(|dir| Path::new(dir).join(name).exists());
    if let Some(missing) = needed.iter().find(|name| !found(name)) {
        return skip(&format!("{missing} is not installed (user-mode-linux, nfs-kernel-server, nfs-common)"));
    }
    let tests = std::env::current_exe().unwrap();
    let command = format!("WLRUN_TEST_NFS=/mnt/n '{}' on_nfs --test-threads=1 --nocapture", tests.display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/on-nfs");
    let output = Command::new(script).args(["-v", version, &command]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(125) {
        return skip(&format!("the guest did not come to a mount of version {version}: {text}"));
    }
    println!("{text}");
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("skipped: WLRUN_TEST_NFS"), "{text}");
    assert!(text.contains("test result: ok. 3 passed"), "{text}");
}

#[test]
fn version_3_in_a_guest() {
    in_a_guest("3");
}

#[test]
fn version_4_2_in_a_guest() {
    in_a_guest("4.2");
}

/// A new directory on the mount that WLRUN_TEST_NFS names; gone with the value.
fn on_the_mount() -> Option<(tempfile::TempDir, PathBuf)> {
    let Some(point) = std::env::var_os("WLRUN_TEST_NFS").map(PathBuf::from) else {
        skip("WLRUN_TEST_NFS names no NFS mount");
        return None;
    };
    Some((tempfile::tempdir_in(&point).unwrap(), point))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// How often a flowop alone made a call of the server, in all its operations together.
fn rpcs(outcome: &Outcome, flowop: &str, operation: Option<&str>) -> u64 {
    let alone = outcome.only_run()["calibration"].as_array().unwrap();
    let of = alone.iter().find(|one| one["name"] == flowop).unwrap();
    assert_eq!(of["ops"], 20, "{flowop}");
    let monitors = of["monitors"].as_array().unwrap();
    let is_it = |m: &&Value| m["monitor"] == "nfs" && m.get("operation").and_then(Value::as_str) == operation;
    // What did not rise is not there.
    monitors.iter().find(is_it).and_then(|m| m["counters"]["rpcs"].as_u64()).unwrap_or(0)
}

#[test]
fn on_nfs_each_flowop_alone_makes_the_calls_of_its_kind() {
    let Some((dir, point)) = on_the_mount() else { return };
    let text = "
        define fileset name=f,path=$dir,entries=100,dirwidth=10,size=64k,prealloc=50
        define process name=p { thread name=t {
            flowop createfile name=create,filesetname=f,fd=1
            flowop writewholefile name=write,fd=1,iosize=64k
            flowop fsync name=sync,fd=1
            flowop closefile name=close,fd=1
            flowop deletefile name=delete,filesetname=f
            flowop read name=direct,filesetname=f,fd=2,iosize=16k,directio
            flowop closefile name=close2,fd=2
        } }
        run 1\n";
    let outcome = Bench::new(text).at(dir.path()).args(["--calibrate"]).run().exits(0);
    let options = outcome.record.as_ref().unwrap()["environment"]["targets"][0]["mount_options"].as_str().unwrap();
    let create = if options.contains("vers=3") { "CREATE" } else { "OPEN" };
    assert_eq!(rpcs(&outcome, "create", Some(create)), 20);
    assert_eq!(rpcs(&outcome, "delete", Some("REMOVE")), 20);
    // 64 KiB are one call or several, by wsize; what is written is on the wire when fsync has ended.
    assert!(rpcs(&outcome, "sync", Some("WRITE")) + rpcs(&outcome, "write", Some("WRITE")) >= 20);
    assert!(rpcs(&outcome, "direct", Some("READ")) >= 20);
    assert_eq!(rpcs(&outcome, "close", Some("WRITE")), 0, "fsync has done it");
    let whole: u64 =
        ["create", "write", "sync", "close", "delete", "direct"].map(|f| rpcs(&outcome, f, None)).iter().sum();
    assert!(whole >= 80);
    assert!(outcome.stdout.contains("\nalone "), "{}", outcome.stdout);
    println!("calls of each flowop alone on {} ({options}):\n{}", point.display(), outcome.stdout);
}

#[test]
fn on_nfs_a_cold_set_comes_over_the_wire_and_a_warm_one_from_the_page_cache() {
    let Some((dir, _)) = on_the_mount() else { return };
    let text = "set mode quit alldone
        define fileset name=f,path=$dir,entries=8,dirwidth=8,size=1m,prealloc,reuse
        define process name=p { thread name=t {
          flowop openfile name=o,filesetname=f,fd=1
          flowop readwholefile name=r,fd=1,iosize=64k
          flowop closefile name=c,fd=1
          flowop finishoncount name=e,value=8,target=r
        } }
        run\n";
    let read = |args: &[&str]| {
        let outcome = Bench::new(text).at(dir.path()).args(args.iter().copied()).run().exits(0);
        let bytes = &outcome.only_run()["bytes"];
        assert_eq!(bytes["storage"]["kind"], "nfs");
        assert_eq!(number(&bytes["read"]["app_bytes"]), 8 << 20);
        (number(&bytes["read"]["storage_bytes"]), bytes["read"]["page_cache_share"].as_f64().unwrap(), outcome.stdout)
    };
    read(&[]);
    let (wire, _, text) = read(&["--cold"]);
    assert!(wire.abs_diff(8 << 20) * 50 <= 8 << 20, "{wire} over the wire:\n{text}");
    assert!(text.contains(" = wire "), "{text}");
    let (wire, share, text) = read(&[]);
    assert!(share > 0.99 && wire == 0, "{wire} over the wire:\n{text}");
}
