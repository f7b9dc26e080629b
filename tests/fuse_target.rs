//! Runs on a file system that is as slow or as broken as the test says, held against what its server saw.

use crate::fusefs::{Call, FIRST, Fault, FuseFs, Served, mean, percentile};
use crate::support::{Bench, Outcome, Started, mark, skip, until};
use rustix::io::Errno;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Three files that are there, `f`, and thirty of which half are, `g`.
const SETS: &str = "define fileset name=f,path=$dir,entries=3,dirwidth=10,size=64k,prealloc,reuse
                    define fileset name=g,path=$dir,entries=30,dirwidth=30,size=64k,prealloc=50,reuse";

/// One thread of these flowops, or several of several processes.
fn workload(process: &str, thread: &str, flowops: &str, run: &str) -> String {
    format!(
        "set mode quit alldone\n{SETS}\n\
         define process name=p{process} {{ thread name=t{thread} {{\n{flowops}\n}} }}\nrun {run}\n"
    )
}

fn alone(flowops: &str) -> String {
    workload("", "", flowops, "20")
}

const READS: &str = "flowop read name=r,filesetname=f,fd=1,iosize=4k,random";

/// Two processes of two threads that read without an end in sight.
fn readers() -> String {
    workload(",instances=2", ",instances=2", READS, "100000")
}

/// A mount with the file sets on it, and nothing counted.
fn made() -> Option<FuseFs> {
    FuseFs::mount().and_then(filled)
}

fn filled(fs: FuseFs) -> Option<FuseFs> {
    let once = "flowop statfile name=s,filesetname=f flowop finishoncount name=n,value=1,target=s";
    Bench::new(&alone(once)).at(fs.path()).run().exits(0);
    fs.forget_calls();
    Some(fs)
}

/// A run that may hang, and what it hangs on, which goes first.
struct Trial {
    fs: FuseFs,
    run: Started,
}

impl Trial {
    fn new(fs: FuseFs, text: &str, args: &[&str]) -> Self {
        let run = Started::new(Bench::new(text).at(fs.path()).args(args.iter().copied()));
        Trial { fs, run }
    }

    /// Waits until so many calls hang.
    fn hangs(&mut self, calls: u64) {
        let fs = &self.fs;
        self.run.sees("calls that hang", |_| (fs.hanging() >= calls).then_some(()));
    }

    /// Interrupts the run as often as it takes: two signals that come at once may be one.
    #[track_caller]
    fn is_interrupted_until(&mut self, what: &str, mut done: impl FnMut(&mut Started) -> bool) {
        until(what, || {
            self.run.send(Signal::INT);
            done(&mut self.run).then_some(())
        });
    }

    /// Waits until so many calls of a kind were answered.
    fn has_served(&mut self, call: Call, calls: u64) {
        let fs = &self.fs;
        self.run.sees("calls that are answered", |_| (fs.count(call) >= calls).then_some(()));
    }
}

/// The run came to nothing, and says so the same way everywhere.
#[track_caller]
fn is_broken(outcome: &Outcome, ended: &str) {
    let run = outcome.only_run();
    assert_eq!((&run["ended"], &run["complete"], &run["valid"]), (&json!(ended), &json!(false), &json!(false)));
    let reason = run["reason"].as_str().unwrap();
    assert!(outcome.stdout.contains(&format!("run incomplete: {reason}")), "{}", outcome.stdout);
    assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
}

/// The bytes of a file set as the server has them.
fn bytes_of(fs: &FuseFs, set: &str) -> u64 {
    fs.contents().iter().filter(|(path, _)| path.starts_with(set)).map(|(_, data)| data.len() as u64).sum()
}

/// How long a flowop's calls took at least and at most, by what the server saw of the one thread that made them: at
/// least as long as the server had each; and no longer than from the answer before it to the call behind it.
struct Bounds {
    held: Vec<u64>,
    most: Vec<u64>,
}

impl Bounds {
    /// Of the calls of a kind among those of one thread, in order.
    fn of(call: Call, calls: &[Served]) -> Self {
        let around = calls.windows(3).filter(|around| around[1].call == call);
        let (held, most) = around.map(|a| (a[1].held(), a[2].arrived - a[0].answered)).unzip();
        Bounds { held, most }
    }

    /// Whatever the machine was busy with, a flowop's figures lie within.
    #[track_caller]
    fn hold(&self, flowop: &Value) {
        let name = &flowop["name"];
        assert_eq!(flowop["ops"], self.held.len() as u64, "{name}");
        let figure = |name: &str| flowop["latency_ns"][name].as_f64().unwrap();
        let within = |what: &str, low: f64, high: f64| {
            assert!((low..=high).contains(&figure(what)), "{what} of {name}: {} in {low} to {high}", figure(what));
        };
        let least = |times: &[u64]| *times.iter().min().unwrap() as f64;
        let greatest = |times: &[u64]| *times.iter().max().unwrap() as f64;
        within("min", least(&self.held), least(&self.most));
        within("max", greatest(&self.held), greatest(&self.most));
        // A mean is rounded to a whole number, and the histogram knows a percentile to 0.4 %.
        within("mean", mean(&self.held) - 1.0, mean(&self.most) + 1.0);
        for (name, percent) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0)] {
            within(
                name,
                percentile(&self.held, percent) as f64 * 0.996,
                percentile(&self.most, percent) as f64 * 1.004,
            );
        }
    }

    /// By what share of the time that the server had the calls a flowop's mean and p99 differ from it.
    fn differences(&self, flowop: &Value) -> [(&'static str, f64); 2] {
        let of =
            |what: &'static str, held: f64| (what, (flowop["latency_ns"][what].as_f64().unwrap() - held).abs() / held);
        [of("mean", mean(&self.held)), of("p99", percentile(&self.held, 99.0) as f64)]
    }
}

/// While this is open, processors that have nothing to do do not sleep, where the kernel can be asked for that: being
/// woken takes a virtual machine up to a tenth of a millisecond.
fn awake() -> Option<std::fs::File> {
    let mut file = std::fs::OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0i32.to_ne_bytes()).ok()?;
    Some(file)
}

#[test]
fn latencies_are_the_times_that_the_server_took() {
    const ROUNDS: usize = 8;
    const OPS: u64 = 100;
    let Some(fs) = FuseFs::first().and_then(filled) else { return };
    let flowops = format!(
        "{READS} flowop write name=w,fd=1,iosize=4k,random flowop fsync name=y,fd=1
         flowop statfile name=s,filesetname=f flowop finishoncount name=n,value={OPS},target=s"
    );
    let kinds = [("r", Call::Read), ("w", Call::Write), ("y", Call::Fsync), ("s", Call::Getattr)];
    for (_, call) in kinds {
        fs.on(call, .., Fault::Delay(Duration::from_millis(5)));
    }
    // Where that is allowed, neither the server nor the run waits for a processor that others keep busy.
    let bench = Bench::new(&workload("", "", &flowops, "60")).at(fs.path());
    let bench = if fs.is_first() { bench.under(FIRST) } else { bench };
    let _awake = awake();
    // The least difference of each figure in all rounds.
    let mut least = BTreeMap::new();
    for _ in 0..ROUNDS {
        fs.forget_calls();
        let outcome = bench.run().exits(0);
        let calls = fs.served();
        // Those of the one thread that reads: others have looked at the files before.
        let thread = calls.iter().find(|served| served.call == Call::Read).unwrap().thread;
        let calls: Vec<Served> = calls.into_iter().filter(|served| served.thread == thread).collect();
        for (name, call) in kinds {
            let (flowop, bounds) = (outcome.flowop(name), Bounds::of(call, &calls));
            assert_eq!(flowop["ops"], OPS);
            bounds.hold(flowop);
            for (figure, difference) in bounds.differences(flowop) {
                let least = least.entry((name, figure)).or_insert(difference);
                *least = difference.min(*least);
            }
        }
        // The thread did nothing else, so its latencies together are no longer than the run.
        let total = &outcome.only_run()["total"];
        let sum = total["latency_ns"]["mean"].as_f64().unwrap() * total["ops"].as_f64().unwrap();
        assert!(sum <= outcome.only_run()["elapsed_ns"].as_f64().unwrap() + 400.0);
        if least.values().all(|difference| *difference <= 0.02) {
            return;
        }
    }
    least.retain(|_, difference| *difference > 0.02);
    skip(&format!(
        "these differ from the server's own times by more than 2 % in each of {ROUNDS} rounds, for the machine was busy \
         between its calls, as it saw itself: {least:?}"
    ));
}

#[test]
fn each_call_is_counted_once() {
    let Some(fs) = made() else { return };
    let flowops = format!(
        "{READS} flowop write name=w,fd=1,iosize=4k,random flowop fsync name=y,fd=1
         flowop statfile name=s,filesetname=f
         flowop openfile name=o,filesetname=f,fd=2 flowop closefile name=c,fd=2"
    );
    let outcome = Bench::new(&workload(",instances=2", ",instances=2", &flowops, "300ms")).at(fs.path()).run().exits(0);
    let calls = fs.served();
    let threads: HashSet<u32> = calls.iter().filter(|c| c.call == Call::Read).map(|c| c.thread).collect();
    assert_eq!(threads.len(), 4);
    let count = |call| calls.iter().filter(|c| c.call == call && threads.contains(&c.thread)).count() as u64;
    let done = |name: &str| outcome.ops(name) + outcome.flowop(name)["in_flight"].as_u64().unwrap();
    assert!(outcome.ops("c") > 0);
    for (name, call) in [("r", Call::Read), ("w", Call::Write), ("y", Call::Fsync), ("s", Call::Getattr)] {
        assert_eq!(done(name), count(call), "{name}");
    }
    // Each thread's first read opened its slot; what the threads left open they closed.
    assert_eq!(outcome.flowop("r")["auto_opens"], 4);
    assert_eq!(done("o") + 4, count(Call::Open));
    assert_eq!(count(Call::Open), count(Call::Flush));
    assert_eq!((outcome.bytes("r"), outcome.bytes("w")), (outcome.ops("r") << 12, outcome.ops("w") << 12));
}

#[test]
fn what_the_warm_up_did_is_not_counted() {
    let Some(fs) = made() else { return };
    fs.on(Call::Read, .., Fault::Delay(Duration::from_millis(5)));
    let outcome =
        Bench::new(&workload("", "", READS, "500ms")).at(fs.path()).args(["--warmup", "300ms"]).run().exits(0);
    let calls = fs.served();
    let flush = calls.iter().find(|served| served.call == Call::Flush && served.arrived > calls[0].arrived).unwrap();
    let reads: Vec<&Served> = calls.iter().filter(|served| served.call == Call::Read).collect();
    let (ops, in_flight) = (outcome.ops("r") as usize, outcome.flowop("r")["in_flight"].as_u64().unwrap() as usize);
    assert!(ops > 0 && in_flight <= 1);
    let first = reads.len() - ops - in_flight;
    assert!(first >= 3, "{first} reads in the warm-up");
    let elapsed = outcome.only_run()["elapsed_ns"].as_u64().unwrap();
    // The counted ones fit into the window. The window does not reach back to the end of the last but one before them, nor
    // on to what the thread did behind its last.
    assert!(reads[first + ops - 1].answered - reads[first].arrived <= elapsed);
    assert!(elapsed <= flush.arrived - reads[first - 2].answered);
}

#[test]
fn a_call_that_fails_ends_the_run_with_its_name_place_and_error() {
    // The third call of the kind fails. The first flowop of each text is x, whose third call it is.
    let whole = |flowop: &str| format!("flowop {flowop} name=x,filesetname=f,fd=1,iosize=4k");
    let file = "f/00000001/0000000";
    let cases = [
        (Call::Read, Errno::IO, whole("read"), "read of 4096 bytes at 8192 of f/00000001/00000001", 2),
        (Call::Read, Errno::IO, whole("readwholefile"), "read of 4096 bytes at 8192 of f/00000001/00000001", 0),
        (Call::Read, Errno::IO, whole("aioread") + " flowop aiowait name=a", "aioread of 4096 bytes at ", 2),
        (Call::Write, Errno::NOSPC, whole("write"), "write of 4096 bytes at 8192 of f/00000001/00000001", 2),
        (Call::Write, Errno::DQUOT, whole("write") + ",random", "write of 4096 bytes at ", 2),
        (Call::Write, Errno::IO, whole("writewholefile"), "write of 4096 bytes at 8192 of f/00000001/00000001", 0),
        (Call::Write, Errno::NOSPC, whole("appendfile"), "append of 4096 bytes to f/00000001/00000001", 2),
        (Call::Write, Errno::IO, whole("aiowrite") + " flowop aiowait name=a", "aiowrite of 4096 bytes at ", 2),
        (Call::Fsync, Errno::IO, "flowop fsync name=x,fd=1".into(), "fsync of f/00000001/0000000", 2),
        (Call::Flush, Errno::IO, "flowop closefile name=x,fd=1".into(), "close of f/00000001/0000000", 2),
        (Call::Unlink, Errno::IO, "flowop deletefile name=x,filesetname=g".into(), "unlink of g/00000001/000000", 2),
        (
            Call::Create,
            Errno::NOSPC,
            "flowop createfile name=x,filesetname=g,fd=2".into(),
            "create of g/00000001/000000",
            2,
        ),
    ];
    for (call, errno, flowop, what, ops) in cases {
        // What x needs before it, and what brings it back to where it was.
        let text = match call {
            Call::Fsync => format!("flowop openfile name=o,filesetname=f,fd=1 {flowop} flowop closefile name=c,fd=1"),
            Call::Flush => format!("flowop openfile name=o,filesetname=f,fd=1 {flowop}"),
            Call::Create => format!("{flowop} flowop closefile name=c,fd=2"),
            _ => flowop.clone(),
        };
        let Some(fs) = made() else { return };
        fs.on(call, 3..=3, Fault::Error(errno));
        let outcome = Bench::new(&alone(&text)).at(fs.path()).run().exits(1).says(what);
        is_broken(&outcome, "error");
        let name = wlrun::sys::errno_name(errno.raw_os_error());
        assert_eq!(outcome.flowop("x")["errors"], json!({ name.clone(): 1 }), "{flowop}");
        assert_eq!(outcome.ops("x"), ops, "{flowop}");
        let run = outcome.only_run();
        assert_eq!(run["total"]["errors"], 1);
        let [failure] = run["failures"].as_array().unwrap().as_slice() else { panic!("{}", run["failures"]) };
        assert_eq!((&failure["flowop"], &failure["errno"]), (&json!("x"), &json!(name)));
        let message = failure["message"].as_str().unwrap();
        assert!(message.starts_with(what) && message.contains(&name), "{message}");
        assert!(call == Call::Unlink || call == Call::Create || message.contains(file), "{message}");
    }
}

/// A stale handle is tried once more by the kernel itself, so only one that stays is seen.
#[test]
fn what_fails_from_a_call_on_fails_for_the_first_that_comes() {
    let Some(fs) = made() else { return };
    fs.on(Call::Getattr, 100.., Fault::Error(Errno::STALE));
    let stat = "flowop statfile name=x,filesetname=f";
    let outcome = Bench::new(&alone(stat)).at(fs.path()).run().exits(1).says("stat of f/00000001/").says("ESTALE");
    is_broken(&outcome, "error");
    outcome.says("mount it again");
    fs.heal();
    fs.on(Call::Open, .., Fault::Error(Errno::STALE));
    // It is the read's, which found its slot closed.
    let outcome = Bench::new(&alone(READS)).at(fs.path()).run().exits(1).says("r: open of f/00000001/00000001");
    assert_eq!((&outcome.flowop("r")["errors"], outcome.ops("r")), (&json!({ "ESTALE": 1 }), 0));
    fs.heal();
    fs.on(Call::Read, 10.., Fault::Error(Errno::IO));
    let outcome = Bench::new(&readers()).at(fs.path()).run().exits(1).says("read of 4096 bytes at ");
    is_broken(&outcome, "error");
    // Those that came back when one had closed the window, well or not, were under way.
    let (ops, flowop) = (outcome.ops("r"), outcome.flowop("r"));
    let (failed, in_flight) = (flowop["errors"]["EIO"].as_u64().unwrap(), flowop["in_flight"].as_u64().unwrap());
    assert!(failed >= 1 && ops <= 9 && (10..=13).contains(&(ops + in_flight + failed)), "{ops}: {flowop}");
}

/// Data that was written and not flushed may be lost as late as here.
#[test]
fn an_error_at_the_close_of_what_a_thread_left_open_fails_the_run() {
    let Some(fs) = made() else { return };
    fs.on(Call::Flush, .., Fault::Error(Errno::DQUOT));
    let flowops = "flowop write name=w,filesetname=f,fd=1,iosize=4k flowop finishoncount name=n,value=5,target=w";
    for threads in [1, 3] {
        let text = workload("", &format!(",instances={threads}"), flowops, "20");
        let outcome = Bench::new(&text).at(fs.path()).run().exits(1).says("close of f/00000001/").says("EDQUOT");
        is_broken(&outcome, "error");
        assert!(outcome.ops("w") > 0);
        let failures = outcome.only_run()["failures"].as_array().unwrap();
        assert_eq!(failures.len(), threads, "each thread had a file open");
        for failure in failures {
            assert_eq!((&failure["errno"], &failure["flowop"]), (&json!("EDQUOT"), &Value::Null));
            assert!(failure["message"].as_str().unwrap().contains("at the end of the thread"), "{failure}");
        }
    }
}

#[test]
fn bytes_are_those_that_were_moved() {
    let Some(fs) = made() else { return };
    fs.on(Call::Read, 3..=5, Fault::Short(1000));
    fs.on(Call::Write, 3..=5, Fault::Short(1000));
    let flowops = "flowop read name=r,filesetname=f,fd=1,iosize=4k flowop write name=w,filesetname=f,fd=2,iosize=4k
                   flowop finishoncount name=n,value=10,target=w";
    let outcome = Bench::new(&alone(flowops)).at(fs.path()).run().exits(0);
    // A read takes what it gets; a write goes on until all is written.
    assert_eq!((outcome.ops("r"), outcome.bytes("r")), (10, 7 * 4096 + 3 * 1000));
    assert_eq!((outcome.ops("w"), outcome.bytes("w")), (10, 10 * 4096));
    // Three calls for 4096 - 1000 more, the first two of which are short too.
    assert_eq!((fs.count(Call::Read), fs.count(Call::Write)), (10, 10 + 3));
}

#[test]
fn a_file_system_that_fills_up_ends_the_run_and_all_that_was_written_is_there() {
    let Some(fs) = FuseFs::of_size(4 << 20) else { return };
    let text = "define fileset name=f,path=$dir,entries=4,size=0,prealloc
                define process name=p { thread name=t,instances=4 { flowop appendfile name=a,filesetname=f,iosize=64k } }
                run 100000";
    let outcome = Bench::new(text).at(fs.path()).run().exits(1).says("append of 65536 bytes to f/").says("ENOSPC");
    is_broken(&outcome, "error");
    let (written, failed) = (outcome.bytes("a"), outcome.flowop("a")["errors"]["ENOSPC"].as_u64().unwrap());
    assert!(failed >= 1);
    assert_eq!(bytes_of(&fs, "f"), 4 << 20);
    // What was under way when the window closed is in no figure.
    let in_flight = outcome.flowop("a")["in_flight"].as_u64().unwrap();
    assert!(written <= 4 << 20 && written >= (4 << 20) - (in_flight << 16), "{written}, {in_flight} in flight");
}

#[test]
fn a_tree_that_cannot_be_made_says_where_it_failed_and_the_next_run_makes_it() {
    let cases = [
        (Call::Create, Errno::NOSPC, "cannot create"),
        (Call::Write, Errno::NOSPC, "cannot write"),
        (Call::Write, Errno::DQUOT, "cannot write"),
        (Call::Flush, Errno::IO, "cannot close"),
        (Call::Mkdir, Errno::NOSPC, "cannot make directory"),
        (Call::Setxattr, Errno::NOSPC, "cannot mark"),
    ];
    let once = alone("flowop statfile name=s,filesetname=f flowop finishoncount name=n,value=1,target=s");
    for reuse in [true, false] {
        let text = if reuse { once.clone() } else { once.replace(",reuse", "") };
        for (call, errno, what) in cases {
            let Some(fs) = FuseFs::mount() else { return };
            fs.on(call, 2..=2, Fault::Error(errno));
            let bench = Bench::new(&text).at(fs.path());
            let name = wlrun::sys::errno_name(errno.raw_os_error());
            let outcome = bench.run().exits(1).says("fileset g").says(what).says(&name).says("marked as unfinished");
            is_broken(&outcome, "error");
            let failure = &outcome.only_run()["failures"][0];
            assert_eq!((&failure["process"], &failure["errno"]), (&json!("controller"), &json!(name)));
            assert!(mark(&fs.path().join("g")).unwrap().contains("state=making"));
            assert!(!fs.path().join("f").exists(), "the other is not begun");
            bench.run().exits(0);
            assert!(mark(&fs.path().join("g")).unwrap().contains("state=ready"));
            assert_eq!((bytes_of(&fs, "f"), bytes_of(&fs, "g")), (3 << 16, 15 << 16));
        }
    }
}

#[test]
fn a_tree_that_would_not_fit_is_not_begun() {
    let Some(fs) = FuseFs::of_size(1 << 20) else { return };
    // The last defined is made first, and fits.
    let outcome = Bench::new(&alone(READS)).at(fs.path()).run().exits(1).says("fileset f").says("not enough space");
    is_broken(&outcome, "error");
    assert_eq!((bytes_of(&fs, "g"), fs.count(Call::Create)), (15 << 16, 15));
    assert!(!fs.path().join("f").exists());
}

/// Some file systems give the old list of a directory again, however often it is read.
#[test]
fn a_tree_is_emptied_by_lists_that_are_old() {
    let Some(fs) = made() else { return };
    fs.on(Call::Readdir, .., Fault::Stale);
    let flowops = "flowop statfile name=s,filesetname=f flowop finishoncount name=n,value=3,target=s";
    let run = Trial::new(fs, &alone(flowops).replace(",reuse", ""), &["--remove"]);
    run.run.end().exits(0);
    assert!(run.fs.contents().is_empty());
}

#[test]
fn calls_that_come_back_after_the_end_are_in_flight() {
    let Some(fs) = made() else { return };
    fs.on(Call::Read, 100.., Fault::Hang);
    let mut trial = Trial::new(fs, &readers().replace("run 100000", "run 100ms"), &[]);
    trial.hangs(4);
    let words = said(trial.run.child.as_mut().unwrap().stderr.take().unwrap());
    trial.run.sees("a word about those under way", |_| words.lock().unwrap().contains("under way").then_some(()));
    trial.fs.let_go();
    let outcome = trial.run.end().exits(0);
    assert_eq!((outcome.ops("r"), &outcome.flowop("r")["in_flight"]), (99, &json!(4)));
    assert_eq!(outcome.only_run()["ended"], "time");
}

/// What comes from a pipe, as far as it has come.
fn said(mut pipe: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let (to, mut buffer) = (text.clone(), [0; 4096]);
    std::thread::spawn(move || {
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            to.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    });
    text
}

#[test]
fn two_interrupts_end_a_run_whose_calls_do_not_come_back() {
    let Some(fs) = made() else { return };
    fs.on(Call::Read, 100.., Fault::Hang);
    let mut trial = Trial::new(fs, &readers(), &["--remove"]);
    trial.hangs(4);
    // From now on nobody who goes there comes back.
    for call in [Call::Lookup, Call::Getattr, Call::Opendir, Call::Unlink, Call::Rmdir, Call::Getxattr, Call::Flush] {
        trial.fs.on(call, .., Fault::Hang);
    }
    trial.is_interrupted_until("the end", |run| run.child.as_mut().unwrap().try_wait().unwrap().is_some());
    assert_eq!(trial.fs.hanging(), 4, "the calls are still there");
    trial.fs.let_go();
    let outcome = trial.run.end().exits(130).says("nothing was removed");
    is_broken(&outcome, "interrupted");
    assert_eq!(outcome.ops("r"), 99);
    assert_eq!((bytes_of(&trial.fs, "f"), bytes_of(&trial.fs, "g")), (3 << 16, 15 << 16));
}

#[test]
fn one_interrupt_waits_for_what_is_under_way() {
    let Some(fs) = made() else { return };
    fs.on(Call::Read, 100.., Fault::Hang);
    let mut trial = Trial::new(fs, &readers(), &[]);
    trial.hangs(4);
    trial.run.send(Signal::INT);
    trial.fs.let_go();
    let outcome = trial.run.end().exits(130);
    is_broken(&outcome, "interrupted");
    // The signal may come behind the calls.
    assert!(outcome.ops("r") >= 99);
    assert_eq!(outcome.only_run()["total"]["errors"], 0);
}

/// The threads that make files are the controller's own, and a call to a FUSE file system ends for no signal: the report
/// is there all the same, and the process goes when the call does.
#[test]
fn two_interrupts_give_the_report_where_the_making_of_files_hangs() {
    let Some(fs) = FuseFs::mount() else { return };
    fs.on(Call::Write, 5.., Fault::Hang);
    let mut trial = Trial::new(fs, &readers(), &["--remove"]);
    let out = said(trial.run.child.as_mut().unwrap().stdout.take().unwrap());
    trial.hangs(1);
    trial.is_interrupted_until("the report", |_| out.lock().unwrap().contains("run incomplete: SIGINT"));
    trial.fs.let_go();
    trial.run.end().exits(130);
}

#[test]
fn a_server_that_dies_ends_the_run_at_once() {
    for hangs in [false, true] {
        let Some(fs) = made() else { return };
        if hangs {
            fs.on(Call::Read, 100.., Fault::Hang);
        }
        let mut trial = Trial::new(fs, &readers(), &["--remove"]);
        if hangs {
            trial.hangs(4)
        } else {
            trial.has_served(Call::Read, 100)
        }
        trial.fs.abort();
        let outcome = trial.run.end().exits(1).says("read of 4096 bytes at ").says("mount it again");
        is_broken(&outcome, "error");
        let run = outcome.only_run();
        let failures = run["failures"].as_array().unwrap();
        assert!(!failures.is_empty() && failures.len() <= 4);
        for failure in failures {
            // Who was under way learns it by the one name, who comes later by the other. That no thread can close what it
            // has open is no news then.
            let errno = failure["errno"].as_str().unwrap();
            assert!(["ECONNABORTED", "ENOTCONN"].contains(&errno), "{failure}");
            assert_eq!(failure["flowop"], "r");
        }
        let errors: u64 =
            outcome.flowop("r")["errors"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(errors as usize, failures.len());
        let (ops, others) = (outcome.ops("r"), errors + outcome.flowop("r")["in_flight"].as_u64().unwrap());
        assert!(if hangs { (ops, others) == (99, 4) } else { ops + others >= 100 }, "{ops} and {others}");
        // And who begins there says the same.
        let outcome = Bench::new(&readers()).at(trial.fs.path()).run().exits(1).says("ENOTCONN").says("mount it again");
        assert!(outcome.record.is_none(), "nothing was begun");
    }
}

#[test]
fn a_server_that_dies_while_files_are_made_ends_that() {
    let Some(fs) = FuseFs::mount() else { return };
    fs.on(Call::Write, 5.., Fault::Hang);
    let mut trial = Trial::new(fs, &readers(), &[]);
    trial.hangs(1);
    trial.fs.abort();
    let outcome = trial.run.end().exits(1).says("fileset g").says("mount it again");
    is_broken(&outcome, "error");
}

#[test]
fn a_test_that_fails_leaves_no_mount_and_nobody_who_hangs() {
    let Some(fs) = made() else { return };
    let path = fs.path().to_owned();
    let mounted = || std::fs::read_to_string("/proc/self/mounts").unwrap().contains(path.to_str().unwrap());
    assert!(mounted());
    fs.on(Call::Read, 100.., Fault::Hang);
    let mut trial = Trial::new(fs, &readers(), &[]);
    let pid = trial.run.pid;
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        trial.hangs(4);
        std::panic::resume_unwind(Box::new("on purpose"));
    }));
    assert!(failed.is_err());
    assert!(!mounted() && !path.exists());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    until("the end of the workers", || crate::support::workers_of(pid).is_empty().then_some(()));
}

/// The target is a file system like any other while nothing is wrong with it, with and without extended attributes.
#[test]
fn the_personalities_run_on_it() {
    for attributes in [true, false] {
        let Some(fs) = FuseFs::mount() else { return };
        if !attributes {
            for call in [Call::Getxattr, Call::Setxattr, Call::Listxattr, Call::Removexattr] {
                fs.on(call, .., Fault::Error(Errno::OPNOTSUPP));
            }
        }
        for (name, sizes) in [("fileserver", ["nfiles=60", "nthreads=3"]), ("varmail", ["nfiles=60", "nthreads=3"])] {
            let run = |more: &[&str]| {
                let sizes = sizes.iter().flat_map(|size| ["--set", size]);
                let bench = Bench::named(name).at(fs.path()).args(sizes).args(["--runtime", "300ms"]);
                bench.args(more.iter().copied()).run().exits(0)
            };
            // The second empties the tree that the first has left.
            for more in [&[][..], &["--remove"]] {
                let outcome = run(more);
                assert_eq!(outcome.only_run()["total"]["errors"], 0);
                assert!(outcome.only_run()["total"]["ops"].as_u64().unwrap() > 0);
            }
        }
        assert!(fs.contents().is_empty(), "{:?}", fs.contents().keys());
    }
}
