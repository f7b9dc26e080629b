//! Runs on a real file system: what the report says is compared with the tree that is left, and with the kernel's own
//! account of the calls.

use crate::strace;
use crate::support::{Bench, Outcome, have, root, tmpfs, workers_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

const FILESERVER: [&str; 11] = [
    "createfile1",
    "wrtfile1",
    "closefile1",
    "openfile1",
    "appendfilerand1",
    "closefile2",
    "openfile2",
    "readfile1",
    "closefile3",
    "deletefile1",
    "statfile1",
];

/// One flowop, for a moment or until it ends the run.
fn one_flowop(fileset: &str, flowops: &str, run: &str) -> String {
    format!(
        "define fileset name=f,path=$dir,{fileset}\ndefine process name=p {{ thread name=t {{\n{flowops}\n}} }}\n{run}\n"
    )
}

/// Only looks at files.
fn reader(fileset: &str) -> String {
    one_flowop(fileset, "flowop statfile name=stat1,filesetname=f", "run 200ms")
}

/// Everything below a directory: kind, size, time of the last change, target of a link.
fn tree(dir: &Path) -> BTreeMap<PathBuf, (u32, u64, i64, i64, Option<PathBuf>)> {
    let mut found = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(at) = todo.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let m = path.symlink_metadata().unwrap();
            if m.is_dir() {
                todo.push(path.clone());
            }
            let size = if m.is_dir() { 0 } else { m.len() };
            let link = std::fs::read_link(&path).ok();
            found.insert(path.strip_prefix(dir).unwrap().to_owned(), (m.mode(), size, m.mtime(), m.mtime_nsec(), link));
        }
    }
    found
}

/// Sizes of the files, by path.
fn sizes(bench: &Bench) -> BTreeMap<PathBuf, u64> {
    bench.files().into_iter().zip(bench.sizes()).collect()
}

/// Every file of the fileserver's set with its nominal size: a set that is all there and that nobody writes to.
fn nominal(nfiles: u32) -> BTreeMap<PathBuf, u64> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/fileserver.wl")).unwrap();
    let (head, _) = text.split_once("define process").unwrap();
    let text = format!(
        "{}\ndefine process name=p {{ thread name=t {{ flowop statfile name=s,filesetname=bigfileset }} }}\nrun 200ms\n",
        head.replace("prealloc=80", "prealloc=100")
    );
    let bench = Bench::new(&text).args(["--set".to_owned(), format!("nfiles={nfiles}")]);
    bench.run().exits(0);
    sizes(&bench)
}

fn fileserver_small() -> Bench {
    Bench::named("fileserver").args(["--set", "nfiles=200", "--set", "nthreads=4", "--runtime", "1"])
}

fn check_fileserver(bench: &Bench, threads: u64) {
    let outcome = bench.run().exits(0);
    let run = outcome.only_run();
    assert_eq!((&run["ended"], &run["total"]["errors"]), (&json!("time"), &json!(0)));
    let ops = FILESERVER.map(|name| outcome.ops(name));
    assert_eq!(run["flowops"].as_array().unwrap().len(), ops.len());
    assert!(ops.iter().all(|ops| *ops > 0), "{ops:?}");
    assert_eq!(run["total"]["ops"].as_u64().unwrap(), ops.iter().sum::<u64>());
    // A thread does one of each in a round, so a count is behind that before it by the threads that are in between.
    let skipped = outcome.flowop("deletefile1")["skipped"].as_u64().unwrap();
    assert!(ops[0] - ops[10] <= threads + skipped, "{ops:?}");
    for pair in ops.windows(2).filter(|_| skipped == 0) {
        assert!(pair[0] >= pair[1] && pair[0] - pair[1] <= threads, "{ops:?}");
    }
    // One create more or less than deletes for each thread: so many files are more or fewer than at the start.
    let nominal = nominal(200);
    let found = sizes(bench);
    let expected = 160 + ops[0] as i64 - ops[9] as i64;
    assert!((found.len() as i64 - expected).unsigned_abs() <= threads, "{} files, {expected} expected", found.len());
    // Files are written whole and appended to. A thread that was stopped may leave one unfinished.
    let short: Vec<_> = found.iter().filter(|(path, size)| **size < nominal[*path]).collect();
    assert!(short.len() as u64 <= threads, "{short:?}");
}

#[test]
fn the_fileserver_does_what_it_says() {
    check_fileserver(&fileserver_small(), 4);
}

#[test]
fn the_fileserver_does_what_it_says_on_tmpfs() {
    if let Some(dir) = tmpfs() {
        check_fileserver(&fileserver_small().at(dir.path()), 4);
    }
}

#[test]
fn bytes_are_size_times_operations() {
    let text = one_flowop(
        "entries=20,dirwidth=20,size=48k,prealloc=50",
        "flowop createfile name=c,filesetname=f,fd=1
         flowop writewholefile name=w,srcfd=1,fd=1,iosize=10k
         flowop closefile name=x,fd=1
         flowop openfile name=o,filesetname=f,fd=1
         flowop readwholefile name=r,fd=1,iosize=10k
         flowop closefile name=y,fd=1
         flowop deletefile name=d,filesetname=f",
        "run 300ms",
    );
    let outcome = Bench::new(&text).run().exits(0);
    assert!(outcome.ops("w") > 0);
    assert_eq!(outcome.bytes("w"), outcome.ops("w") * 48 * 1024);
    assert_eq!(outcome.bytes("r"), outcome.ops("r") * 48 * 1024);
}

// The kernel's account.

/// Calls on files of the workload by worker processes, as strace saw them.
#[derive(Debug, Default)]
struct Calls {
    opens: u64,
    creates: u64,
    unlinks: u64,
    stats: u64,
    fsyncs: u64,
    read: u64,
    written: u64,
}

fn calls(log: &str) -> Calls {
    let lines = strace::calls(log);
    let workers = strace::workers(&lines);
    let mut calls = Calls::default();
    let mut open: HashSet<(u32, &str)> = HashSet::new();
    for call in &lines {
        let Some(process) = workers.get(&call.thread).map(|worker| worker.pid) else { continue };
        let first = call.argument(0);
        let ours = open.contains(&(process, first));
        // A path below a descriptor is the workload's; a process's own files have a path from the root.
        let below = first.parse::<u32>().is_ok() && !call.arguments.contains("\"\"");
        match call.name {
            "openat" if below => {
                let kind = if call.arguments.contains("O_CREAT") { &mut calls.creates } else { &mut calls.opens };
                *kind += 1;
                open.insert((process, &call.result));
            }
            "close" if ours => {
                open.remove(&(process, first));
            }
            "unlinkat" if below => calls.unlinks += 1,
            "newfstatat" | "statx" if below => calls.stats += 1,
            "fsync" if ours => calls.fsyncs += 1,
            "read" | "pread64" if ours => calls.read += call.moved(),
            "write" | "pwrite64" if ours => calls.written += call.moved(),
            _ => {}
        }
    }
    calls
}

/// Runs under strace; none where nothing can be traced.
fn traced(bench: Bench) -> Option<(Outcome, Calls)> {
    let names = "execve,clone,clone3,openat,close,unlinkat,newfstatat,statx,fsync,read,pread64,write,pwrite64";
    let (_bench, outcome, log) = strace::traced(bench, names)?;
    Some((outcome.exits(0), calls(&log)))
}

/// Operations, and those that were under way at the end: they are in no figure, and the kernel has seen them.
fn all(outcome: &Outcome, names: &[&str]) -> u64 {
    names.iter().map(|name| outcome.ops(name) + outcome.flowop(name)["in_flight"].as_u64().unwrap()).sum()
}

#[test]
fn the_kernel_saw_the_operations_that_are_reported() {
    let text = "define fileset name=f,path=$dir,entries=40,dirwidth=10,size=20k,prealloc=50
         define process name=p,instances=2 { thread name=t,instances=2 {
           flowop createfile name=create,filesetname=f,fd=1
           flowop writewholefile name=whole,srcfd=1,fd=1,iosize=8k
           flowop fsync name=sync,fd=1
           flowop closefile name=close1,fd=1
           flowop openfile name=open,filesetname=f,fd=1
           flowop appendfile name=append,fd=1,iosize=1k
           flowop write name=write,fd=1,iosize=4k,random
           flowop closefile name=close2,fd=1
           flowop read name=read,filesetname=f,fd=2,iosize=4k,random
           flowop closefile name=close3,fd=2
           flowop deletefile name=delete,filesetname=f
           flowop statfile name=stat,filesetname=f
         } }
         run 500ms";
    let Some((outcome, calls)) = traced(Bench::new(text)) else { return };
    assert!(outcome.ops("stat") > 0);
    assert_eq!(calls.creates, all(&outcome, &["create"]));
    assert_eq!(calls.unlinks, all(&outcome, &["delete"]));
    assert_eq!(calls.stats, all(&outcome, &["stat"]));
    assert_eq!(calls.fsyncs, all(&outcome, &["sync"]));
    let auto_opens = outcome.flowop("read")["auto_opens"].as_u64().unwrap();
    assert!(auto_opens >= outcome.ops("read"));
    assert_eq!(calls.opens, all(&outcome, &["open"]) + auto_opens);
    let written =
        all(&outcome, &["whole"]) * 20 * 1024 + all(&outcome, &["append"]) * 1024 + all(&outcome, &["write"]) * 4096;
    assert_eq!(calls.written, written);
    // A file that another thread has just created and not yet written gives fewer bytes.
    let read = outcome.bytes("read");
    let under_way = outcome.flowop("read")["in_flight"].as_u64().unwrap() * 4096;
    assert!(read <= outcome.ops("read") * 4096);
    assert!((read..=read + under_way).contains(&calls.read), "{calls:?}, {read} reported");
    let run = outcome.only_run();
    let in_flight = run["total"]["in_flight"].as_u64().unwrap();
    assert!(in_flight <= 4, "{in_flight}");
    let reported = run["total"]["bytes_written"].as_u64().unwrap();
    assert!(written - reported <= in_flight * 20 * 1024, "{written} written, {reported} reported");
}

#[test]
fn the_kernel_saw_the_bytes_of_the_fileserver() {
    let Some((outcome, calls)) = traced(fileserver_small()) else { return };
    let run = outcome.only_run();
    let figure = |name: &str| run["total"][name].as_u64().unwrap();
    assert!(figure("in_flight") <= 4);
    assert_eq!(calls.creates, all(&outcome, &["createfile1"]));
    assert_eq!(calls.opens, all(&outcome, &["openfile1", "openfile2"]));
    assert_eq!(calls.unlinks, all(&outcome, &["deletefile1"]));
    assert_eq!(calls.stats, all(&outcome, &["statfile1"]));
    // A file is at most as long as the longest with many appends; so much may be under way at the end.
    let most = 4 * 4_000_000;
    assert!(figure("bytes_read") <= calls.read && calls.read <= figure("bytes_read") + most, "{calls:?}");
    assert!(figure("bytes_written") <= calls.written && calls.written <= figure("bytes_written") + most, "{calls:?}");
    if figure("in_flight") == 0 {
        assert_eq!((calls.read, calls.written), (figure("bytes_read"), figure("bytes_written")));
    }
}

/// The shape of filebench's `oltp`: readers post to a writer of many operations at once.
#[test]
fn the_kernel_saw_the_operations_that_others_carried_out() {
    let text = "define fileset name=data,path=$dir,entries=4,dirwidth=10,size=256k,prealloc
         define process name=shadow,instances=4 { thread name=t {
           flowop read name=shadowread,filesetname=data,iosize=2k,random,workingset=128k,opennext
           flowop hog name=hog,value=100
           flowop sempost name=post,value=1,target=wait,blocking
         } }
         define process name=dbwriter,instances=2 { thread name=t {
           flowop aiowrite name=dbwrite,filesetname=data,iosize=2k,iters=100,random,opennext
           flowop aioread name=ahead,filesetname=data,iosize=1k,iters=10,fd=1
           flowop aiowait name=dbwait
           flowop semblock name=wait,value=10,highwater=1000
         } }
         run 500ms";
    let Some((outcome, calls)) = traced(Bench::new(text)) else { return };
    let writes = all(&outcome, &["dbwrite"]);
    assert!(outcome.ops("dbwrite") > 0 && outcome.ops("dbwait") > 0 && outcome.ops("shadowread") > 0);
    assert_eq!(calls.written, writes * 2048);
    assert_eq!(outcome.bytes("dbwrite"), outcome.ops("dbwrite") * 2048);
    let reads = all(&outcome, &["shadowread"]) * 2048 + all(&outcome, &["ahead"]) * 1024;
    assert_eq!(calls.read, reads);
    let total = &outcome.only_run()["total"];
    let io: u64 = ["dbwrite", "ahead", "shadowread"].iter().map(|name| outcome.ops(name)).sum();
    assert_eq!((total["ops"].as_u64(), total["errors"].as_u64()), (Some(io), Some(0)), "waits are in no total");
}

#[test]
fn whose_calls_they_are_is_known_by_descriptor_and_process() {
    let log = "1 execve(\"/wlrun\", [\"/wlrun\", \"x.wl\"]) = 0\n1 openat(5, \"00000001\", O_RDWR|O_CREAT) = 9\n\
               2 execve(\"/wlrun\", [\"/wlrun\", \"worker-process\", \"0\"] <unfinished ...>\n2 <... execve resumed>) = 0\n\
               2 openat(AT_FDCWD, \"/lib/libc.so\", O_RDONLY) = 7\n2 read(7, \"x\", 832) = 832\n\
               2 clone3({flags=CLONE_VM} => {parent_tid=[3]}, 88) = 3\n\
               3 openat(4, \"00000001/00000001\", O_RDWR|O_CREAT|O_TRUNC, 0666) = 7\n3 pwrite64(7, \"x\"..., 5, 0 <unfinished ...>\n\
               2 unlinkat(4, \"00000001/00000002\", 0) = 0\n3 <... pwrite64 resumed>) = 5\n3 close(7) = 0\n3 write(7, \"ready\", 5) = 5\n\
               3 newfstatat(7, \"\", {}, AT_EMPTY_PATH) = 0\n3 newfstatat(4, \"00000001/00000003\", {}, 0) = 0\n";
    let found = calls(log);
    assert_eq!((found.creates, found.opens, found.unlinks, found.stats), (1, 0, 1, 1));
    assert_eq!((found.written, found.read), (5, 0));
}

// The same seed.

#[test]
fn the_seed_decides_the_tree() {
    let text = reader("entries=150,dirwidth=5,size=cvar(type=cvar-gamma,parameters=mean:2000;gamma:1.5),prealloc=60");
    let run = |seed: &str| {
        let bench = Bench::new(&text).args(["--seed", seed]);
        let outcome = bench.run().exits(0);
        assert_eq!(outcome.record.as_ref().unwrap()["seed"].to_string(), seed);
        sizes(&bench)
    };
    let (first, again, other) = (run("1"), run("1"), run("2"));
    assert_eq!(first.len(), 90, "60 per cent, exactly");
    assert_eq!(first, again);
    assert_ne!(first.values().collect::<Vec<_>>(), other.values().collect::<Vec<_>>());
}

// Whose tree it is.

/// A complete tree of the set `f` that carries no mark, beside a stranger's file in it.
fn foreign_tree(bench: &Bench, text: &str) {
    let maker = Bench::new(&text.replace("trusttree", "reuse").replace(",readonly", "")).at(&bench.dir);
    maker.run().exits(0);
    crate::support::unmark(&bench.dir.join("f"));
    std::fs::write(bench.dir.join("f/keep.txt"), "not yours").unwrap();
}

const SET: &str = "entries=12,dirwidth=4,size=3k,prealloc=100";

#[test]
fn a_tree_of_others_is_not_written_to_and_stays_as_it_is() {
    let write = one_flowop(SET, "flowop write name=w,filesetname=f,iosize=1k", "run 200ms");
    let delete = one_flowop(SET, "flowop deletefile name=d,filesetname=f", "run 200ms");
    let create = one_flowop(&SET.replace("100", "50"), "flowop createfile name=c,filesetname=f", "run 200ms");
    let trusting = one_flowop(&format!("{SET},trusttree"), "flowop write name=w,filesetname=f,iosize=1k", "run 200ms");
    let reusing = one_flowop(&format!("{SET},reuse"), "flowop write name=w,filesetname=f,iosize=1k", "run 200ms");
    for text in [write, delete, create, trusting, reusing] {
        let bench = Bench::new(&text);
        foreign_tree(&bench, &reader(SET));
        let before = tree(&bench.dir);
        bench.run().exits(3).says("--adopt").says("refused");
        assert_eq!(tree(&bench.dir), before, "{text}");
        assert!(!bench.json_path().exists());
    }
}

#[test]
fn a_tree_of_others_is_read() {
    for text in [reader(SET), reader(&format!("{SET},readonly")), reader(&format!("{SET},trusttree"))] {
        let bench = Bench::new(&text);
        foreign_tree(&bench, &reader(SET));
        let before = tree(&bench.dir);
        let outcome = bench.run().exits(0);
        assert!(outcome.ops("stat1") > 0);
        assert_eq!(tree(&bench.dir), before, "{text}");
    }
}

#[test]
fn adopting_adds_what_is_missing_and_takes_nothing_away() {
    let text =
        one_flowop(SET, "flowop write name=w,filesetname=f,iosize=1k,random\nflowop closefile name=x", "run 200ms");
    let bench = Bench::new(&text).args(["--adopt", "--remove"]);
    foreign_tree(&bench, &reader(SET));
    let files = bench.files();
    let [gone, longer] = [&files[0], &files[1]].map(|path| bench.dir.join(path));
    std::fs::remove_file(&gone).unwrap();
    std::fs::write(&longer, vec![7; 9000]).unwrap();
    let outcome = bench.run().exits(0);
    assert!(outcome.ops("w") > 0);
    assert_eq!(std::fs::read_to_string(bench.dir.join("f/keep.txt")).unwrap(), "not yours");
    assert_eq!(bench.files(), files, "what was missing is there again, and nothing else");
    assert_eq!(gone.metadata().unwrap().len(), 3072);
    let kept = std::fs::read(&longer).unwrap();
    assert_eq!(kept.len(), 9000, "a file of others is not cut");
    assert!(kept[3072..].iter().all(|byte| *byte == 7));
    assert_eq!(crate::support::mark(&bench.dir.join("f")), None);
}

#[test]
fn a_link_at_the_place_of_a_tree_is_not_followed() {
    let bench = Bench::new(&reader(SET));
    let elsewhere = bench.scratch.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, bench.dir.join("f")).unwrap();
    let outcome = bench.run();
    assert!([1, 3].contains(&outcome.code), "{outcome:?}");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_path_that_leads_outside_by_a_link_is_refused() {
    let bench = Bench::new(&reader(SET).replace("path=$dir", "path=$dir/link"));
    let elsewhere = bench.scratch.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, bench.dir.join("link")).unwrap();
    bench.run().exits(3);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_missing_directory_is_made_only_if_asked_for() {
    let bench = Bench::new(&reader(SET));
    std::fs::remove_dir(&bench.dir).unwrap();
    bench.run().exits(2).says("does not exist").says("--mkdir");
    assert!(!bench.dir.exists());
    let bench = bench.args(["--mkdir"]);
    bench.run().exits(0);
    assert_eq!(bench.files().len(), 12);
}

#[test]
fn a_file_in_place_of_the_directory_is_a_mistake() {
    let bench = Bench::new(&reader(SET));
    std::fs::remove_dir(&bench.dir).unwrap();
    std::fs::write(&bench.dir, "").unwrap();
    bench.run().exits(2).says("not a directory");
}

#[test]
fn filesets_stay_beneath_the_directory() {
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path();
    for path in ["$dir/../out".to_owned(), "../out".into(), format!("{}/a", outside.display()), "$dir/../dirt".into()] {
        let text = reader(SET).replace("path=$dir", &format!("path={path}"));
        let bench = Bench::new(&text);
        let before = tree(bench.scratch.path());
        bench.run().exits(3).says("outside").says("--allow-path");
        assert_eq!(tree(bench.scratch.path()), before, "{path}");
        let allowed = if path.contains("..") { bench.scratch.path().to_owned() } else { outside.to_owned() };
        let bench = bench.args(["--allow-path".to_owned(), allowed.display().to_string()]);
        bench.run().exits(0);
        assert_eq!(bench.files().len(), 0, "{path}: it is not in --dir");
    }
    assert_eq!(std::fs::read_dir(outside.join("a")).unwrap().count(), 1);
}

#[test]
fn removing_takes_the_trees_and_leaves_what_others_made() {
    let text = format!(
        "{}define fileset name=g,path=$dir/sub,{SET}\n",
        reader(SET).split_once("define process").map(|(head, _)| head.to_owned()).unwrap()
    ) + &reader(SET).split_once("define process").map(|(_, tail)| format!("define process{tail}")).unwrap();
    let bench = Bench::new(&text).args(["--remove"]);
    std::fs::write(bench.dir.join("mine.txt"), "mine").unwrap();
    let outcome = bench.run().exits(0);
    assert_eq!(outcome.record.as_ref().unwrap()["workload"]["files"], 24);
    assert_eq!(bench.files(), [PathBuf::from("mine.txt")]);
    assert!(!bench.dir.join("f").exists() && !bench.dir.join("sub/g").exists());
}

#[test]
fn trees_stay_and_are_made_anew_or_reused() {
    let bench = Bench::new(&reader(SET));
    bench.run().exits(0);
    let made = sizes(&bench);
    assert_eq!(made.len(), 12);
    bench.run().exits(0);
    assert_eq!(sizes(&bench), made, "a tree of ours is emptied and made anew");
    std::fs::write(bench.dir.join("f/left.txt"), "").unwrap();
    bench.run().exits(3).says("f/left.txt");
    assert_eq!(sizes(&bench).len(), 13, "something that wlrun did not make is in it: nothing was removed");

    let files: Vec<PathBuf> = bench.files().iter().map(|path| bench.dir.join(path)).collect();
    std::fs::write(bench.dir.join("f/left.txt"), "").unwrap();
    std::fs::remove_file(&files[0]).unwrap();
    std::fs::write(&files[1], "short").unwrap();
    std::fs::write(&files[2], vec![0; 99_999]).unwrap();
    let untouched = files[5].metadata().unwrap();
    Bench::new(&reader(&format!("{SET},reuse"))).at(&bench.dir).run().exits(0);
    let mut expected = made.clone();
    expected.insert("f/left.txt".into(), 0);
    assert_eq!(sizes(&bench), expected, "what differs is repaired, the rest stays");
    let now = files[5].metadata().unwrap();
    assert_eq!((now.ino(), now.mtime_nsec()), (untouched.ino(), untouched.mtime_nsec()));
}

#[test]
fn a_trusted_tree_that_is_not_there_is_an_error() {
    let bench = Bench::new(&reader(&format!("{SET},trusttree")));
    bench.run().exits(1).says("trusttree");
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
}

// What the machine has not.

/// Runs with a file system of this size at `--dir`, which goes with the namespace it is mounted in.
fn on_small_disk(bench: Bench, size: &str) -> Option<Outcome> {
    if !root("a mount") || !have("unshare") {
        return None;
    }
    let script = format!("mount -t tmpfs -o size={size} none '{}' && exec \"$@\"", bench.dir.display());
    let outcome = bench.under(["unshare", "-m", "sh", "-c", &script, "sh"]).run();
    if outcome.stderr.contains("unshare failed") || outcome.stderr.contains("permission denied") {
        println!("skipped: nothing may be mounted here");
        return None;
    }
    Some(outcome)
}

#[test]
fn a_disk_that_becomes_full_ends_the_run_and_is_in_the_record() {
    let text = one_flowop(
        "entries=1,dirwidth=1,size=4k,prealloc",
        "flowop appendfile name=a,filesetname=f,iosize=64k",
        "run 100",
    );
    let Some(outcome) = on_small_disk(Bench::new(&text), "2m") else { return };
    let outcome = outcome.exits(1).says("No space left on device").says("f/00000001");
    assert_eq!(ended(&outcome), ("error".into(), false, false));
    assert_eq!(outcome.flowop("a")["errors"], json!({ "ENOSPC": 1 }));
    assert_eq!(outcome.only_run()["failures"][0]["errno"], "ENOSPC");
    // Whole requests of 64 KiB, and what the last one could still write.
    let (ops, bytes) = (outcome.ops("a"), outcome.bytes("a"));
    assert!(ops >= 25 && (ops * 65_536..(ops + 1) * 65_536).contains(&bytes), "{ops} {bytes}");
    assert!(bytes <= 2 << 20);
}

#[test]
fn a_set_that_does_not_fit_is_refused_before_it_is_made() {
    let text = reader("entries=100,dirwidth=10,size=64k,prealloc");
    let Some(outcome) = on_small_disk(Bench::new(&text), "2m") else { return };
    outcome.exits(1).says("not enough space").says("6553600");
}

#[test]
fn too_few_descriptors_are_an_objection_with_both_numbers() {
    let text =
        one_flowop(SET, "flowop statfile name=s,filesetname=f", "run 1").replace("name=p", "name=p,instances=100");
    let bench = Bench::new(&text).under(["bash", "-c", "ulimit -n 64; exec \"$@\"", "bash"]);
    bench.run().exits(1).says("100 processes").says("64 open files");
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_file_that_vanishes_is_an_error_with_its_name() {
    let bench = Bench::new(&reader(&format!("{SET},trusttree")).replace("run 200ms", "run 100"));
    foreign_tree(&bench, &reader(SET));
    let files: Vec<PathBuf> = bench.files();
    let mut command = bench.command();
    let child = command.spawn().unwrap();
    crate::support::until("the worker", || (!workers_of(child.id()).is_empty()).then_some(()));
    std::fs::remove_file(bench.dir.join(&files[3])).unwrap();
    let output = child.wait_with_output().unwrap();
    let name = files[3].file_name().unwrap().to_str().unwrap();
    let outcome = bench.outcome(output).exits(1).says("stat1").says(name).says("No such file");
    assert_eq!(outcome.flowop("stat1")["errors"], json!({ "ENOENT": 1 }));
}

// How runs end.

#[test]
fn two_runs_of_a_file_have_a_record_each() {
    let text = format!(
        "{}set $iosize=2k\nrun 250ms\n",
        one_flowop(SET, "flowop read name=r,filesetname=f,iosize=$iosize", "run 200ms")
    );
    let outcome = Bench::new(&format!("set $iosize=1k\n{text}")).run().exits(0);
    let runs = outcome.runs();
    assert_eq!(runs.len(), 2);
    for (run, (size, length)) in runs.iter().zip([(1024, 200_000_000_u64), (2048, 250_000_000)]) {
        assert_eq!((&run["ended"], &run["requested_ns"]), (&json!("time"), &json!(length)));
        assert_eq!(run["elapsed_ns"], json!(length));
        let max = run["flowops"][0]["bytes_read"].as_u64().unwrap();
        let ops = run["flowops"][0]["ops"].as_u64().unwrap();
        assert!(ops > 0 && max <= ops * size && max > ops * size / 2, "{max} bytes in {ops} reads");
    }
    assert!(outcome.stdout.contains("run 1 of 2") && outcome.stdout.contains("run 2 of 2"));
}

fn ended(outcome: &Outcome) -> (String, bool, bool) {
    let run = outcome.only_run();
    let flag = |name: &str| run[name].as_bool().unwrap();
    (run["ended"].as_str().unwrap().to_owned(), flag("complete"), flag("valid"))
}

/// Three processes of two threads, each of which counts its own operations.
fn counting(mode: &str, run: &str) -> String {
    format!(
        "set mode quit {mode}\ndefine fileset name=f,path=$dir,{SET}
             define process name=p,instances=3 {{ thread name=t,instances=2 {{
               flowop statfile name=s,filesetname=f
               flowop finishoncount name=e,value=70,target=s
             }} }}\n{run}\n"
    )
}

#[test]
fn with_alldone_each_thread_comes_to_its_end() {
    let outcome = Bench::new(&counting("alldone", "run")).run().exits(0);
    assert_eq!(ended(&outcome), ("done".into(), true, true));
    assert_eq!(outcome.ops("s"), 6 * 70);
    assert_eq!(outcome.only_run()["requested_ns"], Value::Null);
}

#[test]
fn with_firstdone_the_first_thread_ends_the_run() {
    for mode in ["firstdone", "timeout"] {
        let run = if mode == "firstdone" { "run" } else { "run 100" };
        let outcome = Bench::new(&counting(mode, run)).run().exits(0);
        assert_eq!(ended(&outcome), ("count".into(), true, true));
        let ops = outcome.ops("s");
        assert!((70..=420).contains(&ops), "{ops}");
        let reason = outcome.only_run()["reason"].as_str().unwrap();
        assert!(reason.contains('e') && reason.contains("70"), "{reason}");
    }
}

#[test]
fn a_count_without_target_is_of_the_whole_run() {
    let text = counting("timeout", "run 100").replace(",target=s", "");
    let outcome = Bench::new(&text).run().exits(0);
    assert_eq!(ended(&outcome).0, "count");
    let total = outcome.only_run()["total"]["ops"].as_u64().unwrap();
    // Each of the six may have one under way when the seventieth is done.
    assert!((70..70 + 6).contains(&total), "{total}");
}

#[test]
fn files_that_run_out_end_the_run_by_its_mode() {
    for (mode, run, how) in
        [("timeout", "run 100", "ran_dry"), ("firstdone", "run", "done"), ("alldone", "run", "done")]
    {
        let text = format!(
            "set mode quit {mode}\n{}",
            one_flowop("entries=500,dirwidth=50,size=0,prealloc=100", "flowop deletefile name=d,filesetname=f", run)
                .replace("thread name=t", "thread name=t,instances=3")
        );
        let bench = Bench::new(&text);
        let outcome = bench.run().exits(0);
        assert_eq!(ended(&outcome), (how.into(), true, true), "{mode}");
        let in_flight = outcome.flowop("d")["in_flight"].as_u64().unwrap();
        assert_eq!(outcome.ops("d") + in_flight, 500, "{mode}");
        assert!(mode != "alldone" || in_flight == 0);
        assert_eq!(bench.files().len(), 0);
        let warnings = outcome.only_run()["warnings"].as_array().unwrap();
        assert_eq!(warnings.iter().any(|warning| warning["code"] == "W001"), how == "ran_dry", "{mode}");
    }
}

#[test]
fn bytes_end_a_run_too() {
    let text = format!(
        "set mode quit alldone\n{}",
        one_flowop(
            "entries=1,dirwidth=1,size=64k,prealloc=100",
            "flowop read name=r,filesetname=f,iosize=4k,random\nflowop finishonbytes name=e,value=40k,target=r",
            "run",
        )
    );
    let outcome = Bench::new(&text).run().exits(0);
    // filebench ends where more than so many bytes were moved; so many are enough here.
    assert!([40 * 1024, 44 * 1024].contains(&outcome.bytes("r")), "{}", outcome.bytes("r"));
}

// Many of them.

#[test]
fn many_processes_start_and_end() {
    let text = format!(
        "set mode quit alldone
         define fileset name=f,path=$dir,{SET}
         define process name=p,instances=300 {{ thread name=t,instances=2 {{
           flowop statfile name=s,filesetname=f
           flowop finishoncount name=e,value=7,target=s
         }} }}
         run\n"
    );
    let bench = Bench::new(&text);
    let child = bench.command().spawn().unwrap();
    let controller = child.id();
    let outcome = bench.outcome(child.wait_with_output().unwrap()).exits(0);
    assert_eq!(workers_of(controller), [0; 0]);
    assert_eq!(ended(&outcome), ("done".into(), true, true));
    assert_eq!(outcome.flowop("s")["instances"], 600);
    assert_eq!(outcome.ops("s"), 600 * 7);
}

#[test]
fn thousands_of_threads_in_a_process_start_and_end() {
    let flowops = "flowop statfile name=s,filesetname=f\nflowop finishoncount name=e,value=3,target=s";
    let text = format!("set mode quit alldone\n{}", one_flowop(SET, flowops, "run"))
        .replace("thread name=t", "thread name=t,instances=2000");
    let outcome = Bench::new(&text).run().exits(0);
    assert_eq!(outcome.flowop("s")["instances"], 2000);
    assert_eq!(outcome.ops("s"), 2000 * 3);
}

#[test]
fn more_threads_than_the_machine_has_room_for_are_refused_with_both_numbers() {
    let maps: u64 = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
    if maps > 400_000 {
        return println!("skipped: this machine has room for so many");
    }
    let text = one_flowop(SET, "flowop statfile name=s,filesetname=f", "run 1")
        .replace("thread name=t", "thread name=t,instances=100000");
    let bench = Bench::new(&text);
    let outcome = bench.run().exits(1).says("100000 threads").says(&maps.to_string());
    assert!(outcome.stdout.is_empty() && outcome.record.is_none());
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0, "nothing was made");
}

#[test]
fn names_of_a_set_are_unlike() {
    // A layout's paths are unlike and as many as entries, whatever the width.
    for width in ["1", "3", "1000000"] {
        let bench = Bench::new(&reader(&format!("entries=77,dirwidth={width},size=0,prealloc=100")));
        bench.run().exits(0);
        assert_eq!(bench.files().into_iter().collect::<BTreeSet<_>>().len(), 77);
    }
}
