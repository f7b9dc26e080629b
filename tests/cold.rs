//! Cold and warm on purpose, and where the bytes went, on file systems whose devices the test counts itself.

use crate::support::{Bench, WLRUN, root, skip, tmpfs};
use serde_json::Value;
use std::process::Command;

const MIB: u64 = 1 << 20;

/// Reads each of 32 files of 1 MiB once.
const ONCE: &str = "set mode quit alldone
    define fileset name=f,path=$dir,entries=32,dirwidth=8,size=1m,prealloc,reuse
    define process name=p { thread name=t {
      flowop openfile name=o,filesetname=f,fd=1
      flowop readwholefile name=r,fd=1,iosize=64k
      flowop closefile name=c,fd=1
      flowop finishoncount name=e,value=32,target=r
    } }
    run\n";

/// A disk of its own in a file, and what a script printed that ran wlrun on it.
struct Disk {
    bench: Bench,
    stdout: String,
}

impl Disk {
    /// Runs a script of the shell in a mount namespace, in which `$DIR` is a new ext4 on a loop device, `$IMAGE` its file,
    /// `wl` runs the workload there, with the record in `$1.json` and the rest as options, and `count` prints the
    /// sectors that the device has read and written. None where that is not possible here.
    fn run(workload: &str, script: &str) -> Option<Disk> {
        if !root("a mount") {
            return None;
        }
        let bench = Bench::new(workload);
        let script = format!(
            "export IMAGE='{scratch}/image' DIR='{dir}'
             truncate -s 160m \"$IMAGE\" && mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 \"$IMAGE\" &&
               mount -o loop \"$IMAGE\" \"$DIR\" || {{ echo cannot; exit; }}
             wl() {{ json=$1; shift; '{WLRUN}' '{scratch}/test.wl' --dir \"$DIR\" --json $json.json \"$@\" >$json.txt; }}
             count() {{ device=$(awk -v dir=\"$DIR\" '$5 == dir {{ print $3 }}' /proc/self/mountinfo)
               awk '{{ print \"counted\", $3, $7 }}' /sys/dev/block/$device/stat; }}
             set -e
             {script}",
            scratch = bench.scratch.path().display(),
            dir = bench.dir.display(),
        );
        let mut command = Command::new("unshare");
        let output = command.args(["-m", "sh", "-c", &script]).current_dir(bench.scratch.path()).output();
        let Ok(output) = output else {
            skip("unshare is not installed");
            return None;
        };
        let (stdout, stderr) = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).into();
        if stdout.starts_with("cannot") || stderr.contains("unshare failed") {
            skip(&format!("no loop device, no ext4, or no mount here: {stderr}"));
            return None;
        }
        assert!(output.status.success(), "{stdout}\n{stderr}");
        Some(Disk { bench, stdout })
    }

    /// The only run of a record.
    fn run_of(&self, json: &str) -> Value {
        let path = self.bench.scratch.path().join(json).with_extension("json");
        let record: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(record["runs"].as_array().unwrap().len(), 1);
        record["runs"][0].clone()
    }

    fn text_of(&self, json: &str) -> String {
        std::fs::read_to_string(self.bench.scratch.path().join(json).with_extension("txt")).unwrap()
    }

    /// Bytes read and written between two counts.
    fn counted(&self, from: usize) -> (u64, u64) {
        let lines = self.stdout.lines().filter_map(|line| line.strip_prefix("counted "));
        let counts: Vec<Vec<u64>> =
            lines.map(|l| l.split(' ').map(|n| n.parse::<u64>().unwrap() * 512).collect()).collect();
        (counts[from + 1][0] - counts[from][0], counts[from + 1][1] - counts[from][1])
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// Within 2 % of another number.
#[track_caller]
fn near(found: u64, expected: u64) {
    assert!(found.abs_diff(expected) * 50 <= expected, "{found} is not within 2 % of {expected}");
}

fn codes(run: &Value) -> Vec<&str> {
    run["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[test]
fn a_cold_set_is_read_from_the_device_and_a_warm_one_from_the_page_cache() {
    let script = "wl fresh; count; wl cold --cold; count; wl warm; count";
    let Some(disk) = Disk::run(ONCE, script) else { return };
    let fresh = &disk.run_of("fresh")["bytes"];
    let pages = number(&fresh["resident_before"]["pages"]);
    assert_eq!(pages * number(&fresh["resident_before"]["page_bytes"]), 32 * MIB);
    assert_eq!(number(&fresh["resident_before"]["files_looked_at"]), 32);
    assert_eq!(number(&fresh["resident_before"]["cached_pages"]), pages, "what was just written is all there");
    assert!(fresh["cold"].is_null());

    let run = disk.run_of("cold");
    let cold = &run["bytes"];
    assert_eq!((number(&cold["resident_before"]["cached_pages"]), &cold["cold"]["how"]), (0, &"drop".into()));
    assert_eq!(number(&cold["resident_after"]["cached_pages"]), pages, "reading brought it back");
    assert_eq!(cold["storage"]["kind"], "device");
    assert!(cold["storage"]["names"][0].as_str().unwrap().starts_with("loop"));
    let read = number(&cold["read"]["storage_bytes"]);
    near(read, 32 * MIB);
    near(read, disk.counted(0).0);
    assert_eq!(number(&cold["read"]["app_bytes"]), 32 * MIB);
    assert!(cold["read"]["page_cache_share"].as_f64().unwrap() < 0.02, "{cold}");
    assert!(!codes(&run).iter().any(|code| ["W003", "W010"].contains(code)), "it was cold: {:?}", codes(&run));
    let text = disk.text_of("cold");
    assert!(text.contains("cold: 0 % of the file sets in the page cache before the run"), "{text}");

    let run = disk.run_of("warm");
    let warm = &run["bytes"];
    assert_eq!(number(&warm["resident_before"]["cached_pages"]), pages);
    assert!(warm["read"]["page_cache_share"].as_f64().unwrap() > 0.99, "{warm}");
    assert!(disk.text_of("warm").contains("(100 %)"));
    assert!(codes(&run).contains(&"W003"));
}

#[test]
fn direct_and_cached_reads_at_random_cost_the_device_what_it_counts() {
    let workload = |options: &str| {
        format!(
            "set mode quit alldone
             define fileset name=f,path=$dir,entries=4,dirwidth=8,size=8m,prealloc,reuse
             define process name=p {{ thread name=t {{
               flowop read name=r,filesetname=f,iosize=4k,random{options}
               flowop finishoncount name=e,value=2000,target=r
             }} }}
             run\n"
        )
    };
    for options in ["", ",directio"] {
        let Some(disk) = Disk::run(&workload(options), "wl fresh; count; wl cold --cold; count") else { return };
        let run = disk.run_of("cold");
        let bytes = &run["bytes"];
        near(number(&bytes["read"]["storage_bytes"]), disk.counted(0).0);
        assert_eq!(number(&bytes["read"]["app_bytes"]), 2000 * 4096);
        let (app, device) = (2000 * 4096, number(&bytes["read"]["storage_bytes"]));
        if options.is_empty() {
            // A page that is read again is there already; what is there afterwards came from the device.
            let there =
                number(&bytes["resident_after"]["cached_pages"]) * number(&bytes["resident_after"]["page_bytes"]);
            near(device, there);
            assert_eq!(number(&bytes["read"]["page_cache_bytes"]), app - device);
        } else {
            near(device, app);
            assert_eq!(number(&bytes["resident_after"]["cached_pages"]), 0);
        }
    }
}

#[test]
fn each_flowop_alone_asks_the_device_for_what_it_reads() {
    let workload = "
        define fileset name=f,path=$dir,entries=4,dirwidth=8,size=8m,prealloc,reuse
        define process name=p,instances=2 { thread name=t,instances=3 {
          flowop read name=direct,filesetname=f,fd=1,iosize=64k,random,directio
          flowop statfile name=stat,filesetname=f
          flowop delay name=rest,value=1
        } }
        run 300ms\n";
    let Some(disk) = Disk::run(workload, "wl fresh; sync -f \"$DIR\"; wl alone --calibrate; count") else { return };
    let run = disk.run_of("alone");
    let alone = run["calibration"].as_array().unwrap();
    let names: Vec<_> = alone.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["direct", "stat"], "what only waits asks for nothing, and is not waited for");
    assert!(alone.iter().all(|one| one["ops"] == 20));
    let device = &run["bytes"]["storage"]["names"][0];
    let bytes = |at: usize| {
        let monitors = alone[at]["monitors"].as_array().unwrap();
        let of_device = monitors.iter().find(|m| &m["of"] == device);
        of_device.and_then(|m| m["counters"]["bytes_read"].as_u64()).unwrap_or(0)
    };
    assert_eq!((bytes(0), bytes(1)), (20 * (64 << 10), 0));
    let text = disk.text_of("alone");
    let line = text.lines().find(|line| line.starts_with("direct ") && line.contains(" 65.54 "));
    assert!(line.is_some(), "{text}");
}

#[test]
fn what_was_written_is_dirty_at_the_end_and_drained_after_it() {
    let write = "set mode quit alldone
        define fileset name=f,path=$dir,entries=1,dirwidth=8,size=64m,prealloc,reuse
        define process name=p { thread name=t {
          flowop write name=w,filesetname=f,iosize=1m
          flowop finishoncount name=e,value=64,target=w
        } }
        run\n";
    // The set is made, and written back, before.
    let script = "wl made; count; wl drained; count; wl after --no-drain";
    let Some(disk) = Disk::run(write, script) else { return };
    let run = disk.run_of("drained");
    let bytes = &run["bytes"];
    assert_eq!(number(&bytes["written"]["app_bytes"]), 64 * MIB);
    assert_eq!(bytes["dirty"]["source"], "file_sets");
    let (dirty, moved) = (number(&bytes["dirty"]["bytes"]), number(&bytes["written"]["storage_bytes"]));
    assert!(dirty <= 64 * MIB, "{dirty}");
    // The kernel may have begun to write; no byte is in neither.
    assert!(dirty + moved >= 63 * MIB, "{dirty} dirty, {moved} on the device");
    assert_eq!(bytes["drain"]["ended"], "drained");
    let (_, counted) = disk.counted(0);
    assert!(counted >= 63 * MIB, "{counted} of 64 MiB came to the device");
    let text = disk.text_of("drained");
    assert!(text.contains(" still dirty, drained in "), "{text}");

    let after = disk.run_of("after");
    let before = &after["bytes"]["resident_before"];
    assert_eq!((number(&before["dirty_pages"]), number(&before["writeback_pages"])), (0, 0));
    assert!(after["bytes"]["drain"].is_null(), "nobody wanted it");
    assert!(!disk.text_of("after").contains("drained"));
}

#[test]
fn a_file_system_is_mounted_anew_before_a_run_and_nothing_of_wlrun_keeps_it_busy() {
    let script = "wl fresh
        wl anew --allow-exec --cold --prepare 'umount \"$DIR\" && mount -o loop \"$IMAGE\" \"$DIR\" && echo mounted' \\
          --cleanup 'umount \"$DIR\"'
        if grep -q \" $DIR \" /proc/self/mountinfo; then echo still; fi";
    let Some(disk) = Disk::run(ONCE, script) else { return };
    assert_eq!(disk.stdout, "", "it was unmounted, and commands print to stderr");
    let bytes = &disk.run_of("anew")["bytes"];
    near(number(&bytes["read"]["storage_bytes"]), 32 * MIB);
    assert_eq!(number(&bytes["resident_before"]["cached_pages"]), 0);
}

#[test]
#[ignore = "it drops the page cache of the whole machine"]
fn the_caches_of_the_machine_are_dropped() {
    let Some(disk) = Disk::run(ONCE, "wl fresh; wl cold --cold=drop-caches") else { return };
    let bytes = &disk.run_of("cold")["bytes"];
    assert_eq!((number(&bytes["resident_before"]["cached_pages"]), &bytes["cold"]["how"]), (0, &"drop_caches".into()));
    assert!(bytes["read"]["page_cache_share"].as_f64().unwrap() < 0.02, "{bytes}");
}

#[test]
fn caches_that_may_not_be_dropped_are_an_objection_before_anything_is_made() {
    if !root("a mount that is read-only") {
        return;
    }
    let script = "mount --bind /proc/sys/vm /proc/sys/vm && mount -o remount,bind,ro /proc/sys/vm && exec \"$@\"";
    let bench = Bench::new(ONCE).args(["--cold=drop-caches"]).under(["unshare", "-m", "sh", "-c", script, "sh"]);
    let outcome = bench.run();
    if outcome.stderr.contains("unshare") || outcome.stderr.contains("mount:") {
        return skip("nothing may be mounted here");
    }
    outcome.exits(1).says("--cold=drop-caches").says("EROFS");
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
}

#[test]
fn tmpfs_cannot_be_cold_and_says_so() {
    let Some(dir) = tmpfs() else { return };
    let bench = Bench::new(ONCE).at(dir.path()).args(["--cold"]);
    let outcome = bench.run().exits(0);
    let run = outcome.only_run();
    let bytes = &run["bytes"];
    assert_eq!((&bytes["storage"]["kind"], bytes["read"]["page_cache_share"].as_f64()), (&"memory".into(), Some(1.0)));
    assert!(bytes["storage"]["names"] == serde_json::json!([]) && bytes["drain"].is_null() && bytes["dirty"].is_null());
    let warning = run["warnings"].as_array().unwrap().iter().find(|warning| warning["code"] == "W010").unwrap();
    assert!(warning["message"].as_str().unwrap().contains("tmpfs"), "{warning}");
    assert!(outcome.stdout.contains("all of it from memory (tmpfs)"), "{}", outcome.stdout);
}

// The user's own commands.

fn shell(bench: &Bench, options: &[&str]) -> crate::support::Outcome {
    let bench = Bench::new(ONCE).at(&bench.dir).args(["--allow-exec"]).args(options.iter().copied());
    bench.run()
}

#[test]
fn commands_run_before_and_after_each_run_and_print_to_stderr() {
    let bench = Bench::new(&format!("{ONCE}run\n"));
    let log = bench.scratch.path().join("log");
    let command = |word: &str| format!("echo {word}-out; echo {word}-err >&2; echo {word} >>'{}'", log.display());
    let outcome = Bench::new(&format!("{ONCE}run\n"))
        .at(&bench.dir)
        .args(["--allow-exec".to_owned(), "--prepare".into(), command("before"), "--cleanup".into(), command("after")])
        .run()
        .exits(0)
        .says("before-out")
        .says("before-err")
        .says("after-out");
    assert_eq!(outcome.runs().len(), 2);
    assert!(!outcome.stdout.contains("before"), "{}", outcome.stdout);
    assert_eq!(std::fs::read_to_string(log).unwrap(), "before\nafter\nbefore\nafter\n");
    // The command may have emptied a cache that looking at the files would fill.
    assert!(outcome.runs()[0]["bytes"]["resident_before"].is_null());
}

#[test]
fn a_command_that_fails_fails_the_run_and_the_one_for_afterwards_runs_all_the_same() {
    let bench = Bench::new(ONCE);
    let done = bench.scratch.path().join("done");
    let cleanup = format!("touch '{}'", done.display());
    let prepare = ["--prepare", "echo sorry >&2; exit 7", "--cleanup", &cleanup];
    let outcome = shell(&bench, &prepare).exits(1).says("sorry").says("exit status: 7");
    let run = outcome.only_run();
    assert_eq!((&run["complete"], &run["ended"]), (&false.into(), &"error".into()));
    assert!(done.exists());

    let outcome = shell(&bench, &["--cleanup", "echo sorry >&2; exit 8"]).exits(1).says("sorry").says("exit status: 8");
    let run = outcome.only_run();
    assert_eq!((&run["complete"], &run["valid"]), (&true.into(), &false.into()));
    assert_eq!(outcome.ops("r"), 32, "what was measured is there");
    assert!(run["failures"][0]["message"].as_str().unwrap().starts_with("--cleanup"));
}

#[test]
fn commands_need_leave_and_an_engine_with_files() {
    for option in ["--prepare", "--cleanup"] {
        let bench = Bench::new(ONCE).args([option, "true"]);
        bench.run().exits(3).says(option).says("--allow-exec");
        assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0, "nothing was made");
    }
    for options in [
        &["--cold"][..],
        &["--calibrate"],
        &["--prepare", "true", "--allow-exec"],
        &["--cleanup", "true", "--allow-exec"],
    ] {
        let bench = Bench::new(ONCE).args(["--engine", "null"]).args(options.iter().copied());
        bench.run().exits(2).says(options[0]).says("null");
    }
    Bench::new(ONCE).args(["--cold=freezing"]).run().exits(2).says("expected drop or drop-caches");
}

#[test]
fn the_null_engine_has_no_bytes_to_account_for() {
    let text = "define fileset name=f,path=$dir,entries=3,size=8k,prealloc
        define process name=p { thread name=t { flowop read name=r,filesetname=f,iosize=4k } }
        run 100ms\n";
    let outcome = Bench::new(text).args(["--engine", "null"]).run().exits(0);
    assert!(outcome.only_run()["bytes"].is_null());
    assert!(!outcome.stdout.contains("where the bytes went"));
}

#[test]
fn a_tree_that_a_command_has_replaced_is_not_ours() {
    let bench = Bench::new(ONCE);
    let replace = format!("rm -r '{0}/f' && mkdir '{0}/f'", bench.dir.display());
    shell(&bench, &["--prepare", &replace]).exits(3).says("no mark of wlrun");
    let gone = format!("rm -r '{}/f'", bench.dir.display());
    std::fs::remove_dir(bench.dir.join("f")).unwrap();
    shell(&bench, &["--prepare", &gone]).exits(1).says("No such file");
}

#[test]
fn the_lock_is_taken_again_after_the_command() {
    let bench = Bench::new(ONCE);
    shell(&bench, &[]).exits(0);
    // Another that holds the tree by then keeps this one out.
    let pid = bench.scratch.path().join("pid");
    let line = format!(
        "(exec 9<'{0}/f'; flock -x 9; echo locked >'{1}.locked'; exec sleep 600) >/dev/null 2>&1 &
         echo $! >'{1}'; while [ ! -e '{1}.locked' ]; do :; done",
        bench.dir.display(),
        pid.display()
    );
    let outcome = shell(&bench, &["--prepare", &line]);
    let pid = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    outcome.exits(3).says("another wlrun works in it");
}

#[test]
fn storage_that_takes_nothing_holds_neither_the_report_nor_who_will_not_wait() {
    // A disk in a file of another disk: frozen, that takes no write of the first, whose `syncfs` then does not come back.
    let write = "set mode quit alldone
        define fileset name=f,path=$dir,entries=1,dirwidth=8,size=1m,prealloc,reuse
        define process name=p { thread name=t {
          flowop write name=w,filesetname=f,iosize=64k
          flowop finishoncount name=e,value=16,target=w
        } }
        run\n";
    let script = format!(
        "OUTER=$DIR; DIR=$PWD/inner; mkdir \"$DIR\"
         truncate -s 64m \"$OUTER/inner\"
         mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 \"$OUTER/inner\"
         mount -o loop \"$OUTER/inner\" \"$DIR\"
         wl made
         sync -f \"$OUTER\"
         trap 'fsfreeze -u \"$OUTER\" 2>/dev/null || :' EXIT
         fsfreeze -f \"$OUTER\"
         env --default-signal=INT '{WLRUN}' test.wl --dir \"$DIR\" --json stuck.json >stuck.txt & pid=$!
         until grep -q '^{} ' /proc/$pid/task/*/syscall 2>/dev/null; do kill -0 $pid; done
         kill -INT $pid
         until [ -e stuck.json ]; do kill -0 $pid; done
         fsfreeze -u \"$OUTER\"
         wait $pid",
        libc::SYS_syncfs
    );
    let Some(disk) = Disk::run(write, &script) else { return };
    let run = disk.run_of("stuck");
    assert_eq!((&run["complete"], &run["valid"]), (&true.into(), &true.into()));
    assert_eq!(run["bytes"]["drain"]["ended"], "skipped");
    assert_eq!(number(&run["bytes"]["dirty"]["bytes"]), MIB);
    assert!(codes(&run).contains(&"W011"));
    assert!(disk.text_of("stuck").contains("1.05 MB still dirty, not drained: skipped after"));
}
