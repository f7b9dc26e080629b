//! What stands beside the figures: own cost, warnings, traces, percentiles of intervals, figures of each instance.

use crate::support::{Bench, Outcome, until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

/// Two processes, each with a set of its own, so that no rotation is shared.
const APART: &str = "define fileset name=a,path=$dir,entries=50,size=64k,dirwidth=10,prealloc
    define fileset name=b,path=$dir,entries=20,size=16k,dirwidth=5,prealloc=50
    define process name=one { thread name=t {
      flowop openfile name=open,filesetname=a,fd=1
      flowop read name=read,fd=1,iosize=4k,random,iters=2
      flowop closefile name=close,fd=1
      mix { flowop statfile name=stat,filesetname=a,weight=3 flowop delay name=rest,value=0,weight=1 }
    } }
    define process name=two { thread name=t {
      flowop createfile name=create,filesetname=b,fd=1
      flowop writewholefile name=write,fd=1,iosize=4k
      flowop closefile name=close2,fd=1
      flowop deletefile name=delete,filesetname=b
    } }
    run 1";

/// The lines of a trace by thread, without the thread, in order.
fn traced(bench: &Bench, text: &str) -> BTreeMap<String, Vec<String>> {
    let mut threads: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let [run, process, thread, number, flowop, what] = words[..] else { panic!("not six words: {line}") };
        assert_eq!(run, "0");
        assert!(!what.contains(bench.dir.to_str().unwrap()), "paths are those of the set: {what}");
        let lines = threads.entry(format!("{process} {thread}")).or_default();
        lines.push((number.parse().unwrap(), format!("{flowop}: {what}")));
    }
    let in_order = |(thread, mut lines): (String, Vec<(u64, String)>)| {
        lines.sort();
        assert!(lines.iter().zip(0..).all(|((number, _), n)| *number == n), "{thread}: each number once");
        (thread, lines.into_iter().map(|(_, line)| line).collect())
    };
    threads.into_iter().map(in_order).collect()
}

fn trace_of(engine: &str, seed: &str, operations: &str) -> BTreeMap<String, Vec<String>> {
    let bench = Bench::new(APART);
    let path = bench.scratch.path().join("trace");
    let words = ["--engine", engine, "--seed", seed, "--trace", path.to_str().unwrap(), "--trace-ops", operations];
    let bench = bench.args(words);
    bench.run().exits(0);
    traced(&bench, &std::fs::read_to_string(path).unwrap())
}

#[test]
fn two_runs_with_one_seed_make_the_same_choices() {
    for engine in ["fake:other=1ms", "sync"] {
        let (first, second, other) =
            (trace_of(engine, "7", "300"), trace_of(engine, "7", "300"), trace_of(engine, "8", "300"));
        assert_eq!(first.keys().collect::<Vec<_>>(), ["one-0 t-0", "two-0 t-0"]);
        for (thread, lines) in &first {
            // How far a thread comes is a matter of speed.
            let both = lines.len().min(second[thread].len());
            assert!(both >= 100, "{engine}: {both} lines of {thread}");
            assert_eq!(lines[..both], second[thread][..both], "{engine}: {thread}");
        }
        let [one, two] = ["one-0 t-0", "two-0 t-0"].map(|thread| (&first[thread], &other[thread]));
        assert!(one.0 != one.1 && two.0 != two.1, "{engine}: another seed, other choices");
        assert!(first["one-0 t-0"].iter().any(|line| line.starts_with("read: read of 4096 bytes at ")));
        assert!(first["two-0 t-0"].iter().any(|line| line.starts_with("delete: unlink of b/")));
    }
}

#[test]
fn a_trace_ends_where_it_is_told_to() {
    let lines = trace_of("fake:other=1us", "1", "12");
    assert!(lines.values().all(|lines| lines.len() == 12), "{lines:?}");
    let outcome = Bench::new(APART).args(["--trace", "/nowhere/trace"]).run();
    assert_eq!(outcome.code, 1);
    outcome.says("the trace cannot be written");
}

fn warnings(outcome: &Outcome) -> Vec<&str> {
    outcome.only_run()["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect()
}

const CACHED: &str = "define fileset name=f,path=$dir,entries=10,size=4k,dirwidth=10,prealloc
    define process name=p { thread name=t { flowop statfile name=stat1,filesetname=f } }
    run 1";

#[test]
fn the_own_cost_is_in_the_record_in_the_report_and_in_a_warning() {
    let outcome = Bench::new(CACHED).run().exits(0);
    let own = &outcome.only_run()["own_cost"];
    let number = |value: &Value| value.as_u64().unwrap();
    assert!(number(&own["clock_step_ns"]) > 0, "{own}");
    let [thread] = &own["threads"].as_array().unwrap()[..] else { panic!("{own}") };
    assert_eq!((&thread["process"], &thread["thread"]), (&"p".into(), &"t".into()));
    // A stat in memory takes microseconds, and a pass of the loop is more than ten nanoseconds on any machine.
    assert!((10..1_000_000).contains(&number(&thread["ns_per_op"])), "{own}");
    assert!(warnings(&outcome).contains(&"W008"), "{:?}", warnings(&outcome));
    let lines: Vec<&str> = outcome.stdout.lines().rev().take(2).collect();
    assert!(lines[1].starts_with("own cost ") && lines[1].ends_with(" a reading of the clock"), "{lines:?}");

    let without = Bench::new(CACHED).args(["--no-own-cost"]).run().exits(0);
    assert_eq!(without.only_run().get("own_cost"), None);
    assert!(!warnings(&without).contains(&"W008") && !without.stdout.contains("own cost"));
    // Where there is no call there is nothing to compare with.
    let null = Bench::new(CACHED).args(["--engine", "null"]).run().exits(0);
    assert_eq!(null.only_run().get("own_cost"), None);
}

#[test]
fn the_own_cost_of_what_waits_is_found_without_waiting() {
    // Each of these would hold a thread up for longer than the test: a delay, a semaphore without a post, a rate.
    let text = "define fileset name=f,path=$dir,entries=10,size=4k,dirwidth=10,prealloc
        eventgen rate=100
        define process name=p {
          thread name=slow { flowop statfile name=s1,filesetname=f flowop delay name=d1,value=3600 }
          thread name=waits { flowop statfile name=s2,filesetname=f flowop semblock name=sem,value=1,highwater=1 }
          thread name=limited { flowop statfile name=s3,filesetname=f flowop eventlimit name=limit }
          thread name=paced,rate=1 { flowop statfile name=s4,filesetname=f }
          thread name=posts { flowop statfile name=s5,filesetname=f flowop sempost name=post,target=sem,value=1 \
            flowop finishoncount name=end,value=100 }
        }
        run 1";
    let outcome = Bench::new(text).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let threads = outcome.only_run()["own_cost"]["threads"].as_array().unwrap();
    let names: Vec<&str> = threads.iter().map(|thread| thread["thread"].as_str().unwrap()).collect();
    assert_eq!(names, ["slow", "waits", "limited", "paced", "posts"]);
}

#[test]
fn a_run_that_was_stopped_and_let_go_on_says_so() {
    let mut child = Bench::new(CACHED);
    child = child.args(["--runtime", "30"]);
    let process = child.command().spawn().unwrap();
    let pid = process.id();
    let worker = until("a worker", || crate::support::workers_of(pid).first().copied());
    // It has begun when the worker's thread has used some time.
    until("work", || {
        let stat = std::fs::read_to_string(format!("/proc/{worker}/stat")).ok()?;
        let rest = stat.rsplit(')').next()?;
        let used: u64 = rest.split_ascii_whitespace().nth(11)?.parse().ok()?;
        (used > 10).then_some(())
    });
    let send = |signal| {
        let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    };
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().trim_start().chars().next()
    };
    send(rustix::process::Signal::STOP);
    until("a stop", || (state() == Some('T')).then_some(()));
    send(rustix::process::Signal::CONT);
    until("going on", || (state() != Some('T')).then_some(()));
    send(rustix::process::Signal::INT);
    let outcome = child.outcome(process.wait_with_output().unwrap());
    assert_eq!(outcome.only_run()["suspended"], true);
    assert!(warnings(&outcome).contains(&"W018"), "{:?}", warnings(&outcome));
}

#[test]
fn intervals_have_percentiles_and_many_histograms_only_on_request() {
    let text = |threads: u32| {
        format!(
            "define fileset name=f,path=$dir,entries=10,size=4k,dirwidth=10,prealloc
             define process name=p {{ thread name=t,instances={threads} {{
               flowop statfile name=stat1,filesetname=f flowop delay name=d,value=1ms }} }}
             run 1"
        )
    };
    let run = |threads, args: &[&str]| {
        let words = ["--engine", "fake:stat=10us,slow=stat:1:50ms"];
        let outcome = Bench::new(&text(threads)).args(words.iter().chain(args).map(|word| word.to_string())).run();
        outcome.exits(0)
    };
    let outcome = run(2, &[]);
    let intervals = outcome.only_run()["intervals"].as_array().unwrap();
    let latency = &intervals[0]["flowops"][0]["latency"];
    let near = |value: &Value, nanos: f64| (value.as_f64().unwrap() - nanos).abs() <= nanos * 0.004;
    assert!(near(&latency["p50_ns"], 10e3) && near(&latency["max_ns"], 50e6), "{latency}");
    // Of both threads together 950 and some, of which two were slow.
    assert!(near(&latency["p99_ns"], 10e3), "{latency}");
    assert_eq!(intervals[0]["latency"], *latency, "the delay is in no total");
    assert_eq!(run(501, &[]).only_run()["intervals"][0]["flowops"][0].get("latency"), None);
    let forced = run(501, &["--interval-percentiles"]);
    assert!(near(&forced.only_run()["intervals"][0]["latency"]["p50_ns"], 10e3));
}

#[test]
fn each_process_instance_is_in_the_record_on_request() {
    let text = "define fileset name=f,path=$dir,entries=10,size=4k,dirwidth=10,prealloc
        define process name=p,instances=3 { thread name=t,instances=2 { flowop statfile name=stat1,filesetname=f } }
        run 1";
    let bench = || Bench::new(text).args(["--engine", "fake:stat=1ms"]);
    assert_eq!(bench().run().exits(0).flowop("stat1").get("processes"), None);
    let outcome = bench().args(["--per-process"]).run().exits(0);
    let flowop = outcome.flowop("stat1");
    let parts = flowop["processes"].as_array().unwrap();
    let ops: Vec<u64> = parts.iter().map(|part| part["ops"].as_u64().unwrap()).collect();
    assert_eq!((ops, flowop["ops"].as_u64()), (vec![2000; 3], Some(6000)));
    let instances: Vec<u64> = parts.iter().map(|part| part["instance"].as_u64().unwrap()).collect();
    assert_eq!(instances, [0, 1, 2]);
    assert!(parts.iter().all(|part| part["latency_ns"]["p99"] == 1_000_000));
}

/// A thousand threads of twelve flowops: what is touched of the shared memory, while the run is on.
#[test]
fn a_thousand_threads_stay_within_their_memory() {
    let flowops: String = (0..12).map(|n| format!("flowop statfile name=s{n},filesetname=f\n")).collect();
    let text = format!(
        "define fileset name=f,path=$dir,entries=10,size=0,dirwidth=10,prealloc
         define process name=p {{ thread name=t,instances=1000 {{ {flowops} flowop delay name=d,value=100ms }} }}
         run 3"
    );
    let bench = Bench::new(&text).args(["--interval-percentiles"]);
    let mut child = bench.command().spawn().unwrap();
    let pid = child.id();
    let shared = || {
        let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let regions = fds.filter_map(|fd| {
            let path = fd.ok()?.path();
            let name = std::fs::read_link(&path).ok()?;
            name.to_str()?.starts_with("/memfd:").then(|| path.metadata().ok().map(|m| m.blocks() * 512))?
        });
        regions.max()
    };
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = shared().unwrap_or(0).max(most);
        std::thread::yield_now();
    }
    let outcome = bench.outcome(child.wait_with_output().unwrap()).exits(0);
    assert!((1..400_000_000).contains(&most), "{most} bytes");
    assert!(outcome.only_run()["intervals"].as_array().unwrap().len() >= 2, "{}", outcome.only_run()["intervals"]);
}
