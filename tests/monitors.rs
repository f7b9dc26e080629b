//! What the kernel counted beside a run, against what the kernel says itself.

use crate::support::{Bench, Outcome, WLRUN, have, root, skip, tmpfs};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use wlrun::monitor::MONITORS;

/// One thread that writes and rests.
const WRITES: &str = "
    define fileset name=f,path=$dir,entries=4,dirwidth=4,size=64k,prealloc
    define process name=p {
      thread name=t {
        flowop write name=w,filesetname=f,iosize=4k
        flowop delay name=rest,value=1ms
      }
    }\n";

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// What the monitors say in the only run: those of this name.
fn of<'o>(outcome: &'o Outcome, monitor: &str) -> Vec<&'o Value> {
    let all = outcome.only_run()["monitors"].as_array().expect("monitors");
    all.iter().filter(|entry| entry["monitor"] == monitor).collect()
}

fn only<'o>(outcome: &'o Outcome, monitor: &str) -> &'o Value {
    let [entry] = of(outcome, monitor)[..] else { panic!("not one {monitor}: {:?}", of(outcome, monitor)) };
    assert_eq!(entry["missing"], Value::Null, "{entry}");
    entry
}

/// What tells one entry from the others.
fn name(entry: &Value) -> String {
    format!("{} {} {}", entry["monitor"], entry["of"], entry["operation"])
}

/// The intervals' counters make up those of the run.
#[track_caller]
fn intervals_add_up(run: &Value) {
    let mut sums: BTreeMap<(String, String), u64> = BTreeMap::new();
    for entry in run["intervals"].as_array().unwrap().iter().flat_map(|i| i["monitors"].as_array()).flatten() {
        for (counter, value) in entry["counters"].as_object().into_iter().flatten() {
            *sums.entry((name(entry), counter.clone())).or_default() += number(value);
        }
    }
    for entry in run["monitors"].as_array().unwrap() {
        for (counter, value) in entry["counters"].as_object().into_iter().flatten() {
            let sum = sums.remove(&(name(entry), counter.clone())).unwrap_or(0);
            assert_eq!(sum, number(value), "{} {counter}", name(entry));
        }
    }
    assert!(sums.is_empty(), "in intervals only: {sums:?}");
}

#[test]
fn the_monitors_are_listed() {
    let output = Command::new(WLRUN).args(["list", "monitors"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, MONITORS.iter().map(|def| def.name).collect::<Vec<_>>());
}

#[test]
fn every_monitor_says_something_and_its_intervals_add_up() {
    for text in [format!("{WRITES}run 500ms\n"), format!("{WRITES}warmup 200ms\nrun 500ms\n")] {
        let outcome = Bench::new(&text).args(["--interval", "100ms"]).run().exits(0);
        // Interfaces without traffic are left out.
        for def in MONITORS.iter().filter(|def| def.name != "net") {
            assert!(!of(&outcome, def.name).is_empty(), "{}", def.name);
        }
        intervals_add_up(outcome.only_run());
        let levels = &only(&outcome, "memory")["levels"]["cached_bytes"];
        assert!(number(&levels["max"]) >= number(&levels["start"]).max(number(&levels["end"])));
        assert!(number(&levels["end"]) > 0);
    }
}

#[test]
fn a_snapshot_has_what_was_until_then_and_the_end_what_was_until_the_end() {
    let text = format!(
        "{WRITES}create processes\nsleep 200ms\nstats clear\nsleep 300ms\nstats snap\nsleep 300ms\nstats snap\n"
    );
    let outcome = Bench::new(&text).args(["--interval", "100ms"]).run().exits(0);
    let idle = |run: &Value| {
        let cpu = run["monitors"].as_array().unwrap().iter().find(|entry| entry["monitor"] == "cpu").unwrap();
        cpu["counters"].as_object().unwrap().values().map(number).sum::<u64>()
    };
    let [first, second] = &outcome.runs()[..] else { panic!("two snapshots") };
    assert!(idle(first) > 0 && idle(second) > idle(first), "both since the clear");
    outcome.runs().iter().for_each(intervals_add_up);
}

#[test]
fn a_hog_is_seen_by_the_processors_and_by_the_scheduler() {
    let text = "define process name=p { thread name=t,instances=2 { flowop hog name=h,value=100000 } }\nrun 1\n";
    for model in ["processes", "threads"] {
        let outcome = Bench::new(text).args(["--process-model", model]).run().exits(0);
        let worked = number(&outcome.only_run()["cpu_ns"]);
        let cpu = only(&outcome, "cpu");
        // Ticks of 10 ms, which a kernel may book to whoever is there when they come.
        let user = number(&cpu["counters"]["user_ns"]) + number(&cpu["counters"]["nice_ns"]);
        assert!(2 * user >= worked, "{worked} of {cpu}");
        assert!(number(&cpu["facts"]["cpus"]) > 0);
        let scheduled = only(&outcome, "rundelay");
        // The same time by another clock, with what the threads did at their end.
        assert!(number(&scheduled["counters"]["run_time_ns"]) * 10 >= worked * 9, "{worked} of {scheduled}");
    }
}

#[test]
fn each_wait_of_a_thread_is_a_voluntary_switch_also_of_threads_that_ended_by_themselves() {
    let text = "define process name=p,instances=2 { thread name=t,instances=3 {
        flowop delay name=d,value=1ms
        flowop finishoncount name=end,value=100,target=d
      } }\nset mode quit alldone\nrun\n";
    let outcome = Bench::new(text).run().exits(0);
    let scheduled = only(&outcome, "rundelay");
    // Each thread counts its own hundred.
    let waits = outcome.ops("d");
    assert!(waits >= 600, "{waits}");
    assert!(number(&scheduled["counters"]["voluntary_switches"]) >= waits, "{waits} of {scheduled}");
}

#[test]
fn what_is_missing_is_said_to_be_missing_and_the_run_is_valid() {
    let bench = Bench::new(&format!("{WRITES}run 200ms\n"));
    let nowhere = bench.scratch.path().join("nowhere");
    std::fs::create_dir(&nowhere).unwrap();
    let outcome = bench.args(["--kernel-files", nowhere.to_str().unwrap()]).run().exits(0);
    assert_eq!(outcome.only_run()["valid"], true);
    for def in MONITORS {
        let entries = of(&outcome, def.name);
        assert!(!entries.is_empty(), "{}", def.name);
        for entry in entries {
            assert!(entry["missing"].as_str().unwrap().contains("cannot be read"), "{entry}");
            assert_eq!(entry["counters"], Value::Null);
        }
    }
    assert!(!outcome.stdout.contains("device "), "{}", outcome.stdout);
    // A tmpfs has no device; that is another thing to say, and no reason to fail either.
    let Some(shm) = tmpfs() else { return };
    let outcome = Bench::new(&format!("{WRITES}run 200ms\n")).at(shm.path()).run().exits(0);
    let missing = of(&outcome, "disk")[0]["missing"].as_str().unwrap();
    assert!(missing.starts_with("no block device is known under "), "{missing}");
    assert_eq!(of(&outcome, "nfs")[0]["missing"], "no file set lies on NFS");
}

/// An ext4 in a file, mounted by way of a loop device; gone with the value.
struct Loop {
    scratch: tempfile::TempDir,
    device: Option<String>,
    mounted: bool,
}

impl Loop {
    /// None, with the reason said, where this machine does not let a test do that.
    fn new() -> Option<Self> {
        let can = root("a loop device") && have("losetup") && have("mount");
        if !can || Command::new("mkfs.ext4").arg("-V").output().is_err() {
            skip("no loop device, or mkfs.ext4 is not installed");
            return None;
        }
        let mut made = Loop { scratch: tempfile::tempdir().unwrap(), device: None, mounted: false };
        let image = made.scratch.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        std::fs::create_dir(made.point()).unwrap();
        let run = |program: &str, args: &[&str]| {
            let output = Command::new(program).args(args).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let said = || skip(&format!("{program} {args:?}: {text}"));
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap()).or_else(|| {
                said();
                None
            })
        };
        let image = image.to_str().unwrap();
        // Nothing is left to be initialised later: the device's traffic is the run's.
        run("mkfs.ext4", &["-q", "-O", "^has_journal", "-E", "lazy_itable_init=0,nodiscard", image])?;
        made.device = Some(run("losetup", &["--find", "--show", image])?.trim().to_owned());
        run("mount", &["-o", "noatime", made.device.as_deref()?, made.point().to_str().unwrap()])?;
        made.mounted = true;
        Some(made)
    }

    fn point(&self) -> PathBuf {
        self.scratch.path().join("mnt")
    }

    /// `loop3`.
    fn name(&self) -> &str {
        self.device.as_deref().unwrap().strip_prefix("/dev/").unwrap()
    }

    /// Bytes read and written, as /sys has them.
    fn bytes(&self) -> [u64; 2] {
        let stat = std::fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap();
        let numbers: Vec<u64> = stat.split_whitespace().map(|word| word.parse().unwrap()).collect();
        [numbers[2] * 512, numbers[6] * 512]
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount").arg(self.point()).status();
        }
        if let Some(device) = &self.device {
            let _ = Command::new("losetup").args(["--detach", device]).status();
        }
    }
}

#[track_caller]
fn near(found: u64, expected: u64) {
    assert!(found.abs_diff(expected) * 50 <= expected, "{found} is not within 2 % of {expected}");
}

#[test]
fn a_device_moves_the_bytes_of_the_run() {
    let Some(disk) = Loop::new() else { return };
    let text = "
        define fileset name=f,path=$dir,entries=2,dirwidth=2,size=4m,prealloc,reuse
        define process name=p { thread name=t {
            flowop write name=w,filesetname=f,iosize=64k,random,directio
            flowop read name=r,filesetname=f,iosize=64k,random,directio
            flowop finishoncount name=end,value=150,target=r
        } }
        run 120\n";
    let dir = disk.point().join("bench");
    std::fs::create_dir(&dir).unwrap();
    // The files are made, and on the device, before anything is compared.
    Bench::new(text).at(&dir).run().exits(0);
    rustix::fs::sync();
    let before = disk.bytes();
    let bench = Bench::new(text).at(&dir).args(["--interval", "50ms"]);
    let outcome = bench.run().exits(0);
    let after = disk.bytes();
    let entry = only(&outcome, "disk");
    assert_eq!(entry["of"], disk.name());
    assert_eq!(entry["upper_bound"], Value::Null, "nobody else has it");
    let counters = &entry["counters"];
    for (at, (counter, flowop)) in [("bytes_read", "r"), ("bytes_written", "w")].into_iter().enumerate() {
        let found = number(&counters[counter]);
        near(found, outcome.bytes(flowop));
        near(found, after[at] - before[at]);
    }
    near(number(&counters["reads"]), outcome.ops("r"));
    intervals_add_up(outcome.only_run());
    let target = &outcome.record.as_ref().unwrap()["environment"]["targets"][0];
    assert_eq!((&target["fs_type"], &target["devices"][0]["name"]), (&"ext4".into(), &disk.name().into()));
    assert_eq!(target["devices"][0]["size_bytes"], 64 << 20);
    assert!(number(&target["free_inodes"]) > 0);
    // The report says it, and says it again.
    let line = format!("\ndevice {}: ", disk.name());
    assert!(outcome.stdout.contains(&line), "{}", outcome.stdout);
    let again = Command::new(WLRUN).arg("report").arg(bench.json_path()).output().unwrap();
    assert_eq!(String::from_utf8(again.stdout).unwrap(), outcome.stdout);
}

/// Bytes and operations of a mount in a text of /proc/self/mountstats: by line, without its name.
fn mountstats(text: &str, point: &str) -> BTreeMap<String, Vec<u64>> {
    let mount = format!(" mounted on {point} with fstype nfs");
    let section = text.split("device ").find(|section| section.lines().next().unwrap_or_default().contains(&mount));
    let lines = section.expect("the mount is there").lines().filter_map(|line| line.trim().split_once(": "));
    lines
        .chain(section.unwrap().lines().filter_map(|line| line.trim().split_once(":\t")))
        .map(|(key, rest)| (key.to_owned(), rest.split_whitespace().filter_map(|word| word.parse().ok()).collect()))
        .collect()
}

/// On the NFS mount that WLRUN_TEST_NFS names (tests/nfs.rs makes one): figures of the record are those of mountstats around a
/// time in which nothing else happened. The thread rests before its work and behind it, and the figures are taken by hand while it rests.
#[test]
fn on_nfs_a_mount_moves_the_bytes_and_calls_that_mountstats_has() {
    let Some(point) = std::env::var_os("WLRUN_TEST_NFS").map(PathBuf::from) else {
        return skip("WLRUN_TEST_NFS names no NFS mount");
    };
    let text = "
        define fileset name=f,path=$dir,entries=10,dirwidth=10,size=256k,prealloc=50
        define process name=p { thread name=t {
            flowop delay name=before,value=5
            flowop createfile name=c,filesetname=f,fd=1
            flowop writewholefile name=w,fd=1,iosize=64k
            flowop fsync name=s,fd=1
            flowop closefile name=x,fd=1
            flowop read name=d,filesetname=f,fd=2,iosize=16k,directio,iters=4
            flowop write name=e,filesetname=f,fd=2,iosize=16k,directio,iters=3
            flowop closefile name=y,fd=2
            flowop statfile name=st,filesetname=f
            flowop deletefile name=del,filesetname=f
            flowop delay name=behind,value=1000
        } }
        create processes
        system \"sync; cat /proc/self/mountstats > before\"
        stats clear
        sleep 12
        stats snap
        system \"cat /proc/self/mountstats > after\"
        shutdown processes\n";
    let dir = point.join(format!("monitors-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let bench = Bench::new(text).at(&dir).args(["--allow-exec", "--interval", "1", "--remove"]);
    let outcome = bench.run().exits(0);
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(outcome.ops("del"), 1, "the work was done within the window");
    let shown = point.to_str().unwrap();
    let read = |name: &str| mountstats(&std::fs::read_to_string(bench.scratch.path().join(name)).unwrap(), shown);
    let (before, after) = (read("before"), read("after"));
    let rise = |key: &str| -> Vec<u64> {
        let none = vec![0; after[key].len()];
        let pairs = after[key].iter().zip(before.get(key).unwrap_or(&none));
        pairs.map(|(after, before)| after - before).collect()
    };
    let entries = of(&outcome, "nfs");
    let mount = entries.iter().find(|entry| entry["operation"] == Value::Null).expect("the mount");
    let counters = |entry: &Value, names: &[&str]| -> Vec<u64> {
        names.iter().map(|name| number(&entry["counters"][*name])).collect()
    };
    let names = [
        "app_bytes_read",
        "app_bytes_written",
        "app_direct_bytes_read",
        "app_direct_bytes_written",
        "wire_bytes_read",
        "wire_bytes_written",
        "pages_read",
        "pages_written",
    ];
    assert_eq!(counters(mount, &names), rise("bytes"));
    assert_eq!(counters(mount, &names[1..4]), [outcome.bytes("w"), outcome.bytes("d"), outcome.bytes("e")]);
    let names = ["rpcs", "transmissions", "timeouts", "rpc_bytes_sent", "rpc_bytes_received"];
    let mut compared = 0;
    for operation in after.keys().filter(|key| key.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')) {
        let expected = rise(operation);
        match entries.iter().find(|entry| entry["operation"] == operation.as_str()) {
            Some(entry) => {
                assert_eq!(counters(entry, &names), expected[..5], "{operation}");
                let times = ["queue_time_ns", "rtt_time_ns", "execute_time_ns"];
                let milliseconds: Vec<u64> = counters(entry, &times).iter().map(|nanos| nanos / 1_000_000).collect();
                assert_eq!(milliseconds, expected[5..8], "{operation}");
                compared += 1;
            }
            None => assert!(expected.iter().all(|rise| *rise == 0), "{operation}: {expected:?}"),
        }
    }
    let has = |name: &str| entries.iter().any(|entry| entry["operation"] == name);
    assert!(compared >= 4 && has("READ") && has("WRITE") && has("REMOVE"), "{compared}");
    intervals_add_up(outcome.only_run());
    assert!(outcome.stdout.contains(&format!("\nnfs {shown}: application ")), "{}", outcome.stdout);
    let target = &outcome.record.as_ref().unwrap()["environment"]["targets"][0];
    let options = target["mount_options"].as_str().unwrap();
    assert!(["vers=", "rsize=", "wsize=", "proto="].iter().all(|option| options.contains(option)), "{options}");
    println!("compared the bytes and {compared} operations of {options}");
}

#[test]
fn a_redacted_run_says_no_place_and_no_host() {
    let text = format!("{WRITES}system \"false /etc/of/mine\"\nrun 200ms\n");
    let bench = Bench::new(&text).args(["--allow-exec", "--redact", "--out", "filebench=report"]);
    let outcome = bench.run().exits(0);
    let document = outcome.record.as_ref().unwrap().to_string();
    let report = std::fs::read_to_string(bench.scratch.path().join("report")).unwrap();
    let scratch = bench.scratch.path().to_str().unwrap();
    let uname = rustix::system::uname();
    let host = uname.nodename().to_str().unwrap();
    for text in [&document, &outcome.stdout, &report] {
        assert!(!text.contains(scratch), "{text}");
        assert!(!text.contains("/etc/of/mine"), "{text}");
        // A short name may be part of some word.
        assert!(host.len() < 8 || host == "localhost" || !text.contains(host), "{text}");
    }
    let environment = &outcome.record.as_ref().unwrap()["environment"];
    assert_eq!(environment["target"], "<path1>");
    assert!(outcome.stdout.contains(" in <path1> ("), "{}", outcome.stdout);
    let command: Vec<&str> = environment["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(command[2..4], ["--dir", "<path1>"]);
    let warnings = outcome.only_run()["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["code"] == "W007"), "{warnings:?}");
    // What the run said is said again.
    let again = Command::new(WLRUN).arg("report").arg(bench.json_path()).output().unwrap();
    assert_eq!(String::from_utf8(again.stdout).unwrap(), outcome.stdout);
    let plain = Bench::new(&format!("{WRITES}run 200ms\n")).run().exits(0);
    assert!(!plain.record.unwrap().to_string().contains("<path1>"));
}

#[test]
fn a_run_that_cannot_begin_is_redacted_too() {
    let text = WRITES.replace("thread name=t", "thread name=t,instances=1000000");
    let bench = Bench::new(&format!("{text}run 1\n")).args(["--format", "json", "--redact"]);
    let outcome = bench.run().exits(1);
    assert!(outcome.stdout.contains("<path1>"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains(bench.scratch.path().to_str().unwrap()), "{}", outcome.stdout);
}
