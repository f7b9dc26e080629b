//! What a signal, or the death of a process, leaves: the figures so far, a word about the end, and nobody running.
//!
//! No test waits for time to pass: each waits until it sees that the run has come to the place it is about.

use crate::support::{Bench, Outcome, Started, send, workers_of};
use rustix::process::{Pid, Signal};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A run without end. When the file of the set `flag` is there, the gate is open and operations are under way.
const ENDLESS: &str = "
    set mode quit alldone
    define fileset name=flag,path=$dir,entries=1,dirwidth=1,size=0
    define fileset name=f,path=$dir,entries=20,dirwidth=20,size=4k,prealloc
    define process name=opener {
      thread name=once {
        flowop createfile name=raise,filesetname=flag,fd=1
        flowop closefile name=close1,fd=1
        flowop finishoncount name=enough,value=1,target=raise
      }
      thread name=pauser { flowop delay name=long,value=100000 }
    }
    define process name=worker,instances=2 {
      thread name=t,instances=2 {
        flowop read name=read1,filesetname=f,iosize=1k
        flowop statfile name=stat1,filesetname=f
      }
    }
    run 100000
";

/// Waits until the threads of an endless run are at work.
fn at_work(mut run: Started) -> Started {
    run.sees("the file that says that the gate is open", |run| has_file(&run.bench.dir.join("flag")).then_some(()));
    run
}

/// Starts an endless run, and waits until its threads are at work.
fn started(bench: Bench) -> Started {
    at_work(Started::new(bench))
}

/// True where somewhere below there is a regular file.
fn has_file(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_file(&entry.path()),
        Ok(kind) => kind.is_file(),
        Err(_) => false,
    })
}

/// The figures so far are on stdout and in the record, and both say that they are not whole.
#[track_caller]
fn is_partial(outcome: &Outcome, word: &str) {
    let run = outcome.only_run();
    assert_eq!((&run["ended"], &run["complete"], &run["valid"]), (&json!("interrupted"), &json!(false), &json!(false)));
    assert!(run["reason"].as_str().unwrap().contains(word), "{run}");
    assert!(outcome.stdout.contains("run incomplete") && outcome.stdout.contains(word), "{}", outcome.stdout);
    assert!(outcome.stderr.contains(word), "{}", outcome.stderr);
}

/// How often the flag was raised: the file is there a moment before its operation is counted, so a signal may find that
/// operation under way.
fn raised(outcome: &Outcome) -> u64 {
    outcome.ops("raise") + outcome.flowop("raise")["in_flight"].as_u64().unwrap()
}

#[test]
fn an_interrupt_gives_the_figures_so_far() {
    for (signal, code, word) in
        [(Signal::INT, 130, "SIGINT"), (Signal::TERM, 143, "SIGTERM"), (Signal::HUP, 129, "SIGHUP")]
    {
        let run = started(Bench::new(ENDLESS));
        run.send(signal);
        let outcome = run.end().exits(code);
        is_partial(&outcome, word);
        assert_eq!(raised(&outcome), 1);
        assert!(outcome.stdout.contains("\nraise "), "{}", outcome.stdout);
        let run = outcome.only_run();
        assert!(run["elapsed_ns"].as_u64().unwrap() > 0);
        assert_eq!(run["total"]["errors"], 0);
        assert_eq!(run["failures"], json!([]), "a worker that was told to end has not failed");
    }
}

#[test]
fn an_assert_says_nothing_of_a_run_that_was_interrupted() {
    let text = format!("{ENDLESS}\nassert read1.ops > 1000000000000000\n");
    let run = started(Bench::new(&text));
    run.send(Signal::INT);
    let outcome = run.end().exits(130);
    is_partial(&outcome, "SIGINT");
    assert_eq!(outcome.only_run()["asserts"][0]["holds"], serde_json::Value::Null);
    assert!(!outcome.stderr.contains("assert"), "{}", outcome.stderr);
}

#[test]
fn the_form_of_the_report_is_kept_when_interrupted() {
    let run = started(Bench::new(ENDLESS).args(["--format", "json"]));
    run.send(Signal::INT);
    let outcome = run.end().exits(130);
    let document = crate::forms::document(&outcome.stdout);
    assert_eq!(Some(&document), outcome.record.as_ref());
}

#[test]
fn threads_of_one_process_end_too() {
    let run = started(Bench::new(ENDLESS).args(["--process-model", "threads"]));
    run.send(Signal::INT);
    is_partial(&run.end().exits(130), "SIGINT");
}

#[test]
fn an_interrupt_of_the_whole_group_ends_as_one_of_the_controller() {
    // Ctrl-C in a terminal goes to every process of the group.
    use std::os::unix::process::CommandExt;
    let bench = Bench::new(ENDLESS);
    let mut command: Command = bench.command();
    let child = command.process_group(0).spawn().unwrap();
    let pid = child.id();
    let run = at_work(Started { bench, child: Some(child), pid });
    rustix::process::kill_process_group(Pid::from_raw(pid as i32).unwrap(), Signal::INT).unwrap();
    let outcome = run.end().exits(130);
    is_partial(&outcome, "SIGINT");
    assert_eq!(outcome.only_run()["failures"], json!([]));
}

#[test]
fn two_interrupts_end_at_once() {
    let run = started(Bench::new(ENDLESS));
    run.send(Signal::INT);
    run.send(Signal::INT);
    let outcome = run.end().exits(130);
    is_partial(&outcome, "SIGINT");
}

#[test]
fn runs_that_follow_do_not_take_place() {
    let run = started(Bench::new(&format!("{ENDLESS}\necho afterwards\nrun 100000\n")));
    run.send(Signal::INT);
    let outcome = run.end().exits(130);
    is_partial(&outcome, "SIGINT");
    assert!(!outcome.stdout.contains("afterwards"));
}

#[test]
fn an_interrupt_while_files_are_made_leaves_a_tree_that_says_so() {
    let text = |entries| {
        format!(
            "define fileset name=f,path=$dir,entries={entries},dirwidth=1000000,size=1k,prealloc
             define process name=p {{ thread name=t {{ flowop statfile name=s,filesetname=f }} }}
             run 50ms\n"
        )
    };
    let mut run = Started::new(Bench::new(&text(400_000)));
    run.sees("the first file", |run| has_file(&run.bench.dir.join("f")).then_some(()));
    run.send(Signal::INT);
    let output = run.output();
    let outcome = run.bench.outcome(output).exits(130);
    let dir = run.bench.dir.clone();
    let record = outcome.only_run();
    assert_eq!(
        (&record["ended"], &record["complete"], &record["elapsed_ns"]),
        (&json!("interrupted"), &json!(false), &json!(0))
    );
    assert!(outcome.stdout.contains("SIGINT") && outcome.stderr.contains("SIGINT"), "{outcome:?}");
    let mark = crate::support::mark(&dir.join("f")).unwrap();
    assert!(mark.contains("state=making"), "{mark}");
    // The next run takes it away and makes its own.
    let next = Bench::new(&text(30)).at(&dir);
    next.run().exits(0);
    assert_eq!(next.files().len(), 30);
}

#[test]
fn a_worker_that_is_killed_ends_the_run_with_its_name() {
    let mut run = started(Bench::new(ENDLESS));
    let workers = run.sees("three workers", |run| Some(workers_of(run.pid)).filter(|workers| workers.len() == 3));
    let line = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    // The second process of the plan, its second instance.
    let victim = *workers
        .iter()
        .find(|pid| line(pid).split('\0').nth(2) == Some("1") && line(pid).split('\0').nth(3) == Some("1"))
        .unwrap();
    send(victim, Signal::KILL);
    let outcome = run.end().exits(1).says("worker-1").says("SIGKILL");
    let record = outcome.only_run();
    assert_eq!(
        (&record["ended"], &record["complete"], &record["valid"]),
        (&json!("error"), &json!(false), &json!(false))
    );
    assert_eq!(record["failures"].as_array().unwrap().len(), 1, "{}", record["failures"]);
    assert_eq!(record["failures"][0]["process"], "worker-1");
    assert!(outcome.stdout.contains("SIGKILL") && raised(&outcome) == 1, "{}", outcome.stdout);
}

#[test]
fn workers_do_not_outlive_their_controller() {
    let mut run = started(Bench::new(ENDLESS));
    run.sees("three workers", |run| Some(()).filter(|()| workers_of(run.pid).len() == 3));
    run.send(Signal::KILL);
    let outcome = run.end().exits(-9);
    assert!(outcome.record.is_none(), "a record has its name when it is whole");
}

#[test]
fn a_signal_before_the_start_is_an_end_too() {
    // Three hundred processes take a while to come to the gate.
    let text = "define fileset name=f,path=$dir,entries=2,dirwidth=2,size=0,prealloc
                define process name=p,instances=300 { thread name=t { flowop statfile name=s,filesetname=f } }
                run 100000\n";
    let mut run = Started::new(Bench::new(text));
    run.sees("the first worker", |run| (!workers_of(run.pid).is_empty()).then_some(()));
    run.send(Signal::INT);
    let outcome = run.end().exits(130);
    is_partial(&outcome, "SIGINT");
}

/// Says when it is at work with the file of the set `flag`, as `ENDLESS` does.
fn endless_with(flowops: &str) -> String {
    format!(
        "set mode quit alldone
         define fileset name=flag,path=$dir,entries=1,dirwidth=1,size=0
         define process name=opener {{
           thread name=once {{
             flowop createfile name=raise,filesetname=flag,fd=1
             flowop closefile name=close1,fd=1
             flowop block name=sleep
           }}
         }}
         define process name=worker,instances=2 {{ thread name=t,instances=2 {{ {flowops} }} }}
         run\n"
    )
}

#[test]
fn an_interrupt_wakes_everybody_who_waits() {
    let posts = "flowop sempost name=post,target=take,value=1,blocking
                 flowop semblock name=take,value=100,highwater=0";
    for model in ["processes", "threads"] {
        let run = started(Bench::new(&endless_with(posts)).args(["--process-model", model]));
        let started = std::time::Instant::now();
        run.send(Signal::INT);
        let outcome = run.end().exits(130);
        is_partial(&outcome, "SIGINT");
        // Nobody was ended by force after half a minute.
        assert!(started.elapsed() < Duration::from_secs(20));
        assert!(!outcome.stderr.contains("under way"), "{}", outcome.stderr);
    }
}

#[test]
fn lines_without_end_do_not_hold_an_interrupt_up() {
    use std::io::Read;
    let mut run = Started::new(Bench::new(&endless_with("flowop print name=chat,value=chatter")));
    // A reader that keeps up; the run's own end closes the pipe.
    let mut said = run.child.as_mut().unwrap().stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        said.read_to_string(&mut text).unwrap();
        text
    });
    let run = at_work(run);
    run.send(Signal::INT);
    let outcome = run.end().exits(130);
    assert_eq!(outcome.only_run()["ended"], "interrupted");
    let text = reader.join().unwrap();
    assert!(text.contains("Message from process (worker,1), thread (t,1): chatter"));
}
