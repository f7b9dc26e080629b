//! Counts and bytes of every flowop are those that the kernel has of the same operations, twice over: by strace(1), call by
//! call, and by `/proc/PID/io` of the worker.
//!
//! All flowops run in one workload, each in a process of its own. A process waits at a first mark, does its rounds, and
//! waits at a second one: the marks are files that the test has locked, and the flowop `flock` waits for the lock. So
//! nothing but the rounds lies between the two readings of the kernel's counters, and nothing is left to chance or time.

use crate::strace::{self, Call, can_trace, under_strace};
use crate::support::{Bench, Outcome, child_of, has_attributes, on_disk, skip, tmpfs, until, workers};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use wlrun::flowop::FLOWOPS;

/// Rounds of each process.
const ROUNDS: u64 = 12;

/// A flowop in one of its forms, and what the kernel sees of it.
struct Entry {
    flowop: &'static str,
    /// The attributes of the file sets `s` and `t`.
    sets: Vec<&'static str>,
    /// What a round does: flowops with their attributes. `it` is the flowop, `@s` its set and `@t` another one; `open` and
    /// `close` have a file of the set in slot 1.
    round: &'static str,
    /// Operations of it that the record has for each round.
    ops: u64,
    /// Calls of these operations; all of them but those for memory, and those that tell or wait for the time.
    calls: BTreeMap<&'static str, u64>,
    /// Calls that only the first of them makes.
    once: BTreeMap<&'static str, u64>,
    /// Bytes that they read and write; none where they are random.
    bytes: Option<[u64; 2]>,
    /// The bytes go through a mapping: no call has them, and no counter of the kernel.
    mapped: bool,
    /// It may wait for other threads, or for a time: by futex(2).
    waits: bool,
    /// It counts only where the event generator has a rate.
    paced: bool,
}

/// `lseek, read x5`
fn counts(calls: &'static str) -> BTreeMap<&'static str, u64> {
    let count = |call: &'static str| call.split_once(" x").map_or((call, 1), |(name, n)| (name, n.parse().unwrap()));
    calls.split_terminator(", ").map(count).collect()
}

impl Entry {
    /// One operation for each round.
    fn new(flowop: &'static str, set: &'static str, round: &'static str, calls: &'static str) -> Self {
        Entry {
            flowop,
            sets: vec![set],
            round,
            ops: 1,
            calls: counts(calls),
            once: BTreeMap::new(),
            bytes: Some([0; 2]),
            mapped: false,
            waits: false,
            paced: false,
        }
    }

    fn and(mut self, set: &'static str) -> Self {
        self.sets.push(set);
        self
    }

    fn once(self, calls: &'static str) -> Self {
        Entry { once: counts(calls), ..self }
    }

    fn ops(self, ops: u64) -> Self {
        Entry { ops, ..self }
    }

    fn reads(self, bytes: u64) -> Self {
        Entry { bytes: self.bytes.map(|[_, written]| [bytes, written]), ..self }
    }

    fn writes(self, bytes: u64) -> Self {
        Entry { bytes: self.bytes.map(|[read, _]| [read, bytes]), ..self }
    }

    fn random_bytes(self) -> Self {
        Entry { bytes: None, ..self }
    }

    fn mapped(self) -> Self {
        Entry { mapped: true, ..self }
    }

    fn waits(self) -> Self {
        Entry { waits: true, ..self }
    }

    fn paced(self) -> Self {
        Entry { paced: true, ..self }
    }

    /// The flowops of a round, as the workload has them.
    fn round(&self, n: usize) -> String {
        let items = self.round.split("; ").zip(1..).map(|(item, place)| {
            let (kind, attributes) = item.split_once(' ').unwrap_or((item, ""));
            let (kind, name, attributes) = match kind {
                "it" => (self.flowop, "it".to_owned(), attributes),
                "open" => ("openfile", format!("open{place}"), "@s,fd=1"),
                "close" => ("closefile", format!("close{place}"), "fd=1"),
                kind => (kind, format!("{kind}{place}"), attributes),
            };
            let name = if attributes.starts_with("name=") { String::new() } else { format!("name={name},") };
            let line = format!("flowop {kind} {name}{attributes}");
            line.replace("@s", &format!("filesetname=s{n}")).replace("@t", &format!("source=t{n}"))
        });
        items.map(|line| line.trim_end_matches(',').to_owned() + "\n").collect()
    }

    /// Operations of each round in a run with a rate of events, or without one.
    fn counted(&self, rate: bool) -> u64 {
        if self.paced && !rate { 0 } else { self.ops }
    }
}

/// Four files of 10 KiB.
const FILES: &str = "entries=4,dirwidth=10,size=10k,prealloc";
/// Half of the names are taken.
const HALF: &str = "entries=8,dirwidth=10,size=10k,prealloc=50";
/// None of them is.
const NONE: &str = "entries=8,dirwidth=10,size=10k";
/// One file of that size.
const ONE: &str = "entries=1,dirwidth=10,size=10k,prealloc";
/// Three directories with room for a file in each.
const HOMES: &str = "entries=3,dirwidth=1,size=0";
const LEAFDIRS: &str = "entries=0,leafdirs=8,dirwidth=10";
const MEGABYTES: &str = "entries=1,dirwidth=10,size=4m,prealloc";

/// Every flowop. What the first entry of each says is what one operation of it costs where it stands beside others.
fn table() -> Vec<Entry> {
    let e = Entry::new;
    vec![
        // Each that is under way has memory of its own, which is used again.
        e("aioread", FILES, "it @s,iosize=4k; aiowait value=0", "pread64").once("mmap").reads(4096).waits(),
        e("aioread", FILES, "it @s,iosize=4k,random,iters=8,outstanding=4; aiowait value=0", "pread64 x8")
            .once("mmap x4")
            .ops(8)
            .reads(8 * 4096)
            .waits(),
        e("aiowait", FILES, "aioread @s,iosize=4k,iters=4; it value=0", "").once("mmap x4").waits(),
        e("aiowrite", FILES, "it @s,iosize=4k; aiowait value=0", "pwrite64").once("mmap").writes(4096).waits(),
        e("appendfile", FILES, "it @s,iosize=1000", "lseek, write").writes(1000),
        e("appendfilerand", FILES, "it @s,iosize=1000", "lseek, write").random_bytes(),
        e("block", ONE, "wakeup target=it; it", ""),
        e("bwlimit", MEGABYTES, "read @s,iosize=1m,random; it", "").paced(),
        e("chmod", FILES, "it @s", "fchmodat"),
        e("chmod", FILES, "open; it fd=1; close", "fchmod"),
        e("closefile", FILES, "open; it fd=1", "close"),
        e("copyfile", HALF, "it @s,iosize=4k; deletefile @s", "openat x2, copy_file_range x4, close x2")
            .reads(10_240)
            .writes(10_240),
        e("createfile", NONE, "it @s,fd=1; close; deletefile @s", "openat"),
        e("delay", ONE, "it value=1ms", "").waits(),
        e("deletefile", NONE, "createfile @s,fd=1; close; it @s", "unlinkat"),
        e("deletefile", NONE, "createfile @s,fd=1; it fd=1; close", "unlinkat"),
        e("eventlimit", ONE, "hog value=1; it", "").paced(),
        e("fallocate", FILES, "it @s,iosize=4k", "stat, fallocate"),
        e("fallocate", FILES, "it @s,iosize=4k,random", "fallocate"),
        e("fallocate", FILES, "it @s,iosize=4k,punch", "fallocate"),
        e("finishonbytes", FILES, "read name=r,@s,iosize=4k,random; it value=1g,target=r", ""),
        e("finishoncount", FILES, "read name=r,@s,iosize=4k,random; it value=1000000,target=r", ""),
        e("flock", FILES, "open; it fd=1; flock fd=1,unlock; close", "flock"),
        e("fsync", FILES, "open; it fd=1; close", "fsync"),
        e("fsyncset", FILES, "open; openfile @s,fd=2; it @s; closefile fd=2; close", "fsync x2").ops(2),
        e("getxattr", ONE, "setxattr @s; it @s", "getxattr"),
        e("getxattr", ONE, "open; setxattr @s; it fd=1; close", "fgetxattr"),
        e("hog", ONE, "it value=1000", ""),
        e("iopslimit", FILES, "read @s,iosize=4k,random; it", "").paced(),
        e("link", HALF, "it @s; deletefile @s", "linkat"),
        e("listdir", FILES, "it @s", "openat, getdents64 x2, close"),
        e("listxattr", ONE, "it @s", "listxattr"),
        e("listxattr", ONE, "open; it fd=1; close", "flistxattr"),
        e("lseek", FILES, "it @s,whence=data,random", "lseek"),
        // The position; the hole, which is the end; the position, no hole behind it, the start.
        e("lseek", FILES, "open; it fd=1,whence=hole,iters=2; close", "lseek x5").ops(2),
        e("makedir", LEAFDIRS, "it @s; removedir @s", "mkdirat"),
        e("mkdir", HOMES, "rmdir @s; it @s", "mkdirat"),
        // The length, the access, the mapping, which goes with the close.
        e("mmapread", FILES, "open; it fd=1,iosize=4k,random,iters=3; close", "stat, fcntl, mmap, munmap")
            .ops(3)
            .reads(3 * 4096)
            .mapped(),
        e("mmapwrite", FILES, "open; it fd=1,iosize=4k,random,iters=3; close", "stat, fcntl, mmap, munmap")
            .ops(3)
            .writes(3 * 4096)
            .mapped(),
        e("openfile", FILES, "it @s,fd=1; close", "openat"),
        e("openfile", FILES, "it @s,fd=1,noreadahead; close", "openat, fadvise64"),
        e("opslimit", FILES, "statfile @s; it", "").paced(),
        // To the controller.
        e("print", ONE, "hog value=1; it value=hello", "write").ops(0),
        e("read", FILES, "it @s,iosize=4k,random", "pread64").reads(4096),
        // The third is short, and the fourth starts over.
        e("read", FILES, "open; it fd=1,iosize=4k,iters=4; close", "read x5, lseek").ops(4).reads(10_240 + 4096),
        // A file for each, which is opened on its behalf.
        e("read", FILES, "it @s,iosize=4k; closefile", "read").reads(4096),
        e("readlink", NONE, "symlink @s,@t; it @s; deletefile @s", "readlinkat").and(FILES),
        // Three with data, and one that finds the end.
        e("readwholefile", FILES, "it @s,iosize=4k", "pread64 x4").reads(10_240),
        e("readwholefile", FILES, "it @s", "pread64 x2").reads(10_240),
        e("removedir", LEAFDIRS, "makedir @s; it @s", "unlinkat"),
        e("rename", HALF, "it @s", "renameat"),
        e("rmdir", HOMES, "it @s; mkdir @s", "unlinkat"),
        e("semblock", ONE, "sempost value=2,target=it; it value=2", ""),
        e("sempost", ONE, "it value=2,target=w; semblock name=w,value=2", ""),
        e("setxattr", FILES, "it @s", "setxattr"),
        e("setxattr", FILES, "open; it fd=1; close", "fsetxattr"),
        e("statdir", LEAFDIRS, "makedir @s; it @s; removedir @s", "stat"),
        e("statfile", FILES, "it @s", "stat"),
        e("statfile", FILES, "open; it fd=1; close", "stat"),
        e("symlink", NONE, "it @s,@t; deletefile @s", "symlinkat").and(FILES),
        e("syncfs", ONE, "it @s", "openat, syncfs, close"),
        e("testrandvar", ONE, "hog value=1; it value=7", "").ops(0),
        e("truncate", FILES, "it @s,value=5000", "openat, ftruncate, close"),
        e("truncate", FILES, "open; it fd=1,value=5000; close", "ftruncate"),
        e("utimes", FILES, "it @s", "utimensat"),
        e("utimes", FILES, "open; it fd=1; close", "utimensat"),
        e("wakeup", ONE, "it target=b; block name=b", ""),
        e("write", FILES, "it @s,iosize=4k,random", "pwrite64").writes(4096),
        e("write", FILES, "open; it fd=1,iosize=1000,iters=3; close", "write x3").ops(3).writes(3000),
        // The third has the rest of the file.
        e("write", FILES, "it @s,iosize=4k,wrap,iters=3", "pwrite64 x3").ops(3).writes(10_240),
        e("writewholefile", FILES, "it @s,iosize=4k", "pwrite64 x3").writes(10_240),
        e("writewholefile", FILES, "it @s", "pwrite64").writes(10_240),
    ]
}

#[test]
fn every_flowop_is_in_the_table() {
    let found: Vec<&str> = table().iter().map(|entry| entry.flowop).collect::<BTreeSet<_>>().into_iter().collect();
    let all: Vec<&str> = FLOWOPS.iter().map(|def| def.name).collect();
    assert_eq!(found, all);
}

/// The two marks.
const MARKS: &str =
    "define file name=mark1,path=$dir,size=0,reuse,prealloc\ndefine file name=mark2,path=$dir,size=0,reuse,prealloc\n";

/// A process for each entry.
fn workload(entries: &[Entry], rounds: &[u64], rate: bool) -> String {
    let mut text = format!("set mode quit alldone\n{MARKS}");
    if rate {
        text += "eventgen rate=2000\n";
    }
    for (n, (entry, rounds)) in entries.iter().zip(rounds).enumerate() {
        for (name, set) in ["s", "t"].iter().zip(&entry.sets) {
            writeln!(text, "define fileset name={name}{n},path=$dir,{set}").unwrap();
        }
        let round = entry.round(n);
        write!(
            text,
            "define flowop name=round{n} {{\n{round}\n}}
             define process name=p{n} {{ thread name=t,memsize=2m {{
               flowop openfile name=open1,filename=mark1,fd=8
               flowop flock name=first,fd=8,shared
               flowop round{n} name=r{n},iters={rounds}
               flowop openfile name=open2,filename=mark2,fd=9
               flowop flock name=last,fd=9,shared
               flowop finishoncount name=end,value=1,target=last
             }} }}\n"
        )
        .unwrap();
    }
    text + "run\n"
}

/// What the kernel has counted for a process: bytes and calls, of reads and of writes.
type Io = [u64; 4];

fn io(pid: u32) -> Option<Io> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok());
    Some([number("rchar")?, number("wchar")?, number("syscr")?, number("syscw")?])
}

/// Processes that wait for a lock of flock(2).
fn waiting() -> BTreeSet<u32> {
    // 7: -> FLOCK  ADVISORY  READ 1234 fe:00:5678 0 EOF
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let waiting = locks.lines().filter_map(|line| line.split_once("-> FLOCK"));
    waiting.filter_map(|(_, rest)| rest.split_whitespace().nth(2)?.parse().ok()).collect()
}

/// A run of the table, and what the kernel has of the rounds of each entry.
struct Run {
    outcome: Outcome,
    /// The rise of the kernel's counters by entry; none where they cannot be read.
    io: BTreeMap<usize, Option<Io>>,
    /// The log, where calls can be traced.
    log: Option<String>,
}

fn run(dir: &Path, entries: &[Entry], rounds: &[u64], rate: bool) -> Run {
    let make = format!(
        "set mode quit alldone\n{MARKS}define process name=p {{ thread name=t {{
           flowop statfile name=s,filename=mark1
           flowop statfile name=t,filename=mark2
           flowop finishoncount name=end,value=1,target=t
         }} }}\nrun\n"
    );
    Bench::new(&make).at(dir).run().exits(0);
    let marks = ["mark1", "mark2"].map(|mark| {
        let file = std::fs::File::open(dir.join(mark).join("00000001/00000001")).unwrap();
        file.lock().unwrap();
        file
    });
    let mut bench = Bench::new(&workload(entries, rounds, rate)).at(dir);
    let mut log = None;
    if can_trace() {
        let (traced, path) = under_strace(bench, &["-y"]);
        (bench, log) = (traced, Some(path));
    }
    let mut child = bench.command().spawn().unwrap();
    let started = child.id();
    let [before, after] = marks.map(|mark| {
        let found = until("all processes at a mark", || {
            if child.try_wait().unwrap().is_some() {
                return Some(BTreeMap::new());
            }
            let waiting = waiting();
            if waiting.len() < entries.len() {
                return None;
            }
            let workers = workers(if log.is_some() { child_of(started)? } else { started });
            let all = workers.len() == entries.len() && workers.keys().all(|pid| waiting.contains(pid));
            all.then(|| workers.into_iter().map(|(pid, place)| (place, io(pid))).collect())
        });
        mark.unlock().unwrap();
        found
    });
    let outcome = bench.outcome(child.wait_with_output().unwrap()).exits(0);
    let rise = |place| {
        let (before, after): (Io, Io) = (before[place]?, after[place]?);
        Some(std::array::from_fn(|at| after[at] - before[at]))
    };
    let io = before.keys().map(|place| (*place, rise(place))).collect();
    Run { outcome, io, log: log.map(|path| std::fs::read_to_string(path).unwrap()) }
}

/// True of calls that are no part of an operation: those that ask for the time, the allocator's for its arena, and a check
/// of the standard library's before it closes a descriptor, which only builds with debug assertions have.
fn is_aside(call: &Call<'_>) -> bool {
    ["clock_gettime", "brk", "mprotect", "madvise"].contains(&call.name)
        || call.name == "fcntl" && call.argument(1) == "F_GETFD"
}

/// One name for what is one call: libraries and machines differ in which they make.
fn name_of<'l>(call: &Call<'l>) -> &'l str {
    const NAMES: &[(&str, &[&str])] =
        &[("stat", &["newfstatat", "fstat", "statx", "fstatat64"]), ("renameat", &["renameat2"])];
    NAMES.iter().find(|(_, names)| names.contains(&call.name)).map_or(call.name, |(one, _)| one)
}

/// The calls of each process between its marks, by entry. Its main thread only waits for the others.
fn between_marks<'c, 'l>(calls: &'c [Call<'l>]) -> BTreeMap<usize, Vec<&'c Call<'l>>> {
    let workers = strace::workers(calls);
    let mut found: BTreeMap<usize, (bool, Vec<&Call<'_>>)> = BTreeMap::new();
    for call in calls {
        let Some(worker) = workers.get(&call.thread).filter(|worker| worker.pid != call.thread) else { continue };
        let (within, calls) = found.entry(worker.process).or_default();
        let at = |mark: &str| call.path(0).is_some_and(|path| path.contains(mark));
        if call.name == "flock" && at("/mark1/") {
            *within = true;
        } else if call.name == "openat" && at("/mark2") {
            *within = false;
        } else if *within && !is_aside(call) {
            calls.push(call);
        }
    }
    found.into_iter().map(|(process, (_, calls))| (process, calls)).collect()
}

/// Bytes that calls read and wrote: on files below a directory, and on all.
fn bytes(calls: &[&Call<'_>], dir: &Path) -> [[u64; 2]; 2] {
    let (mut ours, mut all) = ([0; 2], [0; 2]);
    for call in calls {
        let ways: &[(usize, usize)] = match call.name {
            "read" | "pread64" => &[(0, 0)],
            "write" | "pwrite64" => &[(0, 1)],
            "copy_file_range" => &[(0, 0), (2, 1)],
            _ => &[],
        };
        for (descriptor, way) in ways {
            all[*way] += call.moved();
            if call.path(*descriptor).is_some_and(|path| Path::new(path).starts_with(dir)) {
                ours[*way] += call.moved();
            }
        }
    }
    [ours, all]
}

/// Compares record, table and kernel; all differences, in words.
fn differences(dir: &Path, entries: &[Entry], rounds: &[u64], rate: bool, run: &Run) -> Vec<String> {
    let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let calls = run.log.as_deref().map(strace::calls).unwrap_or_default();
    let between = if run.log.is_some() { between_marks(&calls) } else { BTreeMap::new() };
    let mut wrong = Vec::new();
    for (n, (entry, rounds)) in entries.iter().zip(rounds).enumerate() {
        let mut expect = |what: &str, found: String, expected: String| {
            if found != expected {
                wrong.push(format!("{}: {}\n  {what}: {found}, expected {expected}", entry.flowop, entry.round));
            }
        };
        let all = run.outcome.only_run()["flowops"].as_array().unwrap();
        let its = format!("r{n}.it");
        let own = |row: &&Value| {
            row["process"] == format!("p{n}") && row["name"].as_str().unwrap().starts_with(&format!("r{n}."))
        };
        let rows: Vec<&Value> = all.iter().filter(own).collect();
        let sum = |name: &str| rows.iter().map(|row| number(row, name)).sum::<u64>();
        let it = rows.iter().find(|row| row["name"] == its).expect("a row of its own");
        // The record is what the table says.
        expect("operations", it["ops"].to_string(), (rounds * entry.counted(rate)).to_string());
        expect(
            "under way, skipped, errors",
            format!("{} {} {}", sum("in_flight"), sum("skipped"), it["errors"]),
            "0 0 {}".into(),
        );
        if let Some([read, written]) = entry.bytes {
            let reported = ["bytes_read", "bytes_written"].map(|name| number(it, name));
            expect("bytes of the record", format!("{reported:?}"), format!("{:?}", [read * rounds, written * rounds]));
        }
        // The kernel has the calls of the operations of the record, and no others.
        let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
        let mut add = |calls: &BTreeMap<&'static str, u64>, times: u64| {
            calls.iter().for_each(|(name, count)| *expected.entry(name).or_default() += count * times);
        };
        add(&entry.calls, *rounds);
        add(&entry.once, 1);
        add(&[("openat", 1)].into(), sum("auto_opens"));
        for row in rows.iter().filter(|row| row["name"] != its) {
            let of_type = |entry: &&Entry| row["type"] == entry.flowop;
            let other = entries.iter().find(of_type).expect("each flowop is in the table");
            assert!(other.ops <= 1, "the first entry of {} is of one operation", other.flowop);
            add(&other.calls, number(row, "ops"));
        }
        expected.retain(|_, count| *count > 0);
        let reported = if entry.mapped { [0; 2] } else { ["bytes_read", "bytes_written"].map(sum) };
        let mut transferred = Some(reported);
        if run.log.is_some() {
            let calls = between.get(&n).map(Vec::as_slice).unwrap_or_default();
            let waits = entry.waits || entry.paced && rate;
            let mut found: BTreeMap<&str, u64> = BTreeMap::new();
            for call in calls.iter().filter(|call| !(waits && call.name == "futex")) {
                *found.entry(name_of(call)).or_default() += 1;
            }
            expect("calls", format!("{found:?}"), format!("{expected:?}"));
            let [ours, all] = bytes(calls, dir);
            expect("bytes of the calls", format!("{ours:?}"), format!("{reported:?}"));
            transferred = Some(all);
        } else if entry.flowop == "print" {
            transferred = None;
        }
        if let (Some(Some([rchar, wchar, syscr, syscw])), Some(transferred)) = (run.io.get(&n), transferred) {
            expect("bytes of /proc/PID/io", format!("{:?}", [rchar, wchar]), format!("{transferred:?}"));
            let count = |names: &[&str]| names.iter().filter_map(|name| expected.get(name)).sum::<u64>();
            // A copy that finds the end of the file is no call to these counters.
            let empty = if entry.flowop == "copyfile" { number(it, "ops") } else { 0 };
            let reads = count(&["read", "pread64", "copy_file_range"]) - empty;
            let writes = count(&["write", "pwrite64", "copy_file_range"]) - empty;
            expect("calls of /proc/PID/io", format!("{:?}", [syscr, syscw]), format!("{:?}", [reads, writes]));
        }
    }
    wrong
}

fn check(dir: &Path, on_disk: bool, rate: bool) {
    let dir = &dir.canonicalize().unwrap();
    let mut entries = table();
    if !has_attributes(dir) {
        entries.retain(|entry| !entry.flowop.ends_with("xattr"));
    }
    // What others have written to a disk has to be flushed too.
    let rounds = |entry: &Entry| if on_disk && entry.flowop == "syncfs" { 1 } else { ROUNDS };
    let rounds: Vec<u64> = entries.iter().map(rounds).collect();
    let run = run(dir, &entries, &rounds, rate);
    if run.io.values().any(Option::is_none) {
        skip("/proc/PID/io cannot be read");
    }
    let wrong = differences(dir, &entries, &rounds, rate, &run);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_kernel_saw_what_every_flowop_reports_on_a_disk() {
    check(on_disk().path(), true, true);
}

#[test]
fn the_kernel_saw_what_every_flowop_reports_in_memory() {
    if let Some(dir) = tmpfs() {
        check(dir.path(), false, false);
    }
}

/// A run of every flowop that moves data, on one file, of which strace disturbs the calls. Bytes are those that the calls
/// gave back, and what was interrupted or cut short is gone on with: it is one operation still.
#[test]
fn calls_that_are_interrupted_or_come_back_early_are_counted_as_the_kernel_has_them() {
    if !can_trace() {
        return;
    }
    let text = "set mode quit alldone
        define file name=f,path=$dir,size=64k,prealloc,reuse
        define process name=p { thread name=t,memsize=1m {
          flowop openfile name=open,filename=f,fd=1
          flowop write name=write,fd=1,iosize=3000,iters=2
          flowop write name=pwrite,fd=1,iosize=4k,random
          flowop writewholefile name=whole,fd=1,iosize=5000
          flowop appendfile name=append,fd=1,iosize=2000
          flowop aiowrite name=aiowrite,fd=1,iosize=4k,iters=3
          flowop aiowait name=wait1,value=0
          flowop read name=read,fd=1,iosize=3000,iters=2
          flowop read name=pread,fd=1,iosize=4k,random
          flowop readwholefile name=all,fd=1,iosize=5000
          flowop aioread name=aioread,fd=1,iosize=4k,iters=3
          flowop aiowait name=wait2,value=0
          flowop truncate name=cut,fd=1,value=64k
          flowop closefile name=close,fd=1
          flowop finishoncount name=end,value=10,target=close
        } }
        run\n";
    for fault in ["error=EINTR", "retval=100"] {
        let bench = Bench::new(text);
        // The file is there already, so that only the run has to do with it.
        bench.run().exits(0);
        let file = bench.dir.canonicalize().unwrap().join("f/00000001/00000001");
        let [read, write, pread, pwrite] = [("read", "2+3"), ("write", "1+2"), ("pread64", "2+3"), ("pwrite64", "1+3")]
            .map(|(call, when)| format!("inject={call}:{fault}:when={when}"));
        let options = ["-y", "-P", file.to_str().unwrap(), "-e", &read, "-e", &write, "-e", &pread, "-e", &pwrite];
        let (bench, log) = under_strace(bench, &options);
        let outcome = bench.run().exits(0);
        let log = std::fs::read_to_string(log).unwrap();
        let calls = strace::calls(&log);
        let [ours, _] = bytes(&calls.iter().collect::<Vec<_>>(), &file);
        let total = &outcome.only_run()["total"];
        let reported = ["bytes_read", "bytes_written"].map(|name| total[name].as_u64().unwrap());
        assert_eq!(reported, ours, "{fault}");
        let ops = |names: &[&str]| names.iter().map(|name| outcome.ops(name)).sum::<u64>();
        assert_eq!(ops(&["write", "pwrite", "whole", "append", "aiowrite"]), 10 * 8, "{fault}");
        assert_eq!(ops(&["read", "pread", "all", "aioread"]), 10 * 7, "{fault}");
        assert_eq!(total["errors"], 0);
        // What is written is all that was asked for; a read is what one call gave.
        let sizes = [("write", 3000), ("pwrite", 4096), ("whole", 65_536), ("append", 2000), ("aiowrite", 4096)];
        sizes
            .iter()
            .for_each(|(name, size)| assert_eq!(outcome.bytes(name), outcome.ops(name) * size, "{fault} {name}"));
        for name in ["read", "pread64", "write", "pwrite64"] {
            let disturbed =
                log.lines().filter(|line| line.contains(&format!("{name}(")) && line.ends_with("(INJECTED)"));
            assert!(disturbed.count() >= 5, "{fault} {name}");
        }
    }
}

/// A real call that comes back early: the limit of the shell lets the last write have a part of its bytes.
#[test]
fn the_bytes_before_an_error_are_those_that_the_kernel_wrote() {
    if !can_trace() {
        return;
    }
    let text = "define fileset name=f,path=$dir,entries=1,dirwidth=1,size=0,prealloc
        define process name=p { thread name=t { flowop appendfile name=a,filesetname=f,iosize=7k } }
        run 100\n";
    let bench = Bench::new(text);
    let dir = bench.dir.canonicalize().unwrap();
    let (bench, log) = under_strace(bench, &["-y", "-e", "trace=execve,clone,clone3,write"]);
    let bench = bench.under(["bash", "-c", "ulimit -f 100; exec \"$@\"", "bash"]);
    let outcome = bench.run().exits(1).says("EFBIG");
    let log = std::fs::read_to_string(log).unwrap();
    let calls = strace::calls(&log);
    let [ours, _] = bytes(&calls.iter().collect::<Vec<_>>(), &dir);
    assert_eq!((ours, outcome.bytes("a")), ([0, 100 << 10], 100 << 10));
    assert_eq!((outcome.ops("a"), &outcome.flowop("a")["errors"]["EFBIG"]), (14, &1.into()));
}
