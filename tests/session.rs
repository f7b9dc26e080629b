//! Warm-ups, sessions and the commands of filebench's prompt, through the real binary.

use crate::support::{Bench, Outcome, until, workers_of};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// One thread that looks at files and rests a little, without an end.
const LOOKS: &str = "
    define fileset name=f,path=$dir,entries=20,dirwidth=20,size=4k,prealloc
    define process name=p {
      thread name=t {
        flowop statfile name=stat,filesetname=f
        flowop delay name=rest,value=100us
      }
    }\n";

/// The same, which ends when it has looked often enough.
const ENDS: &str = "
    set $enough=300
    define fileset name=f,path=$dir,entries=20,dirwidth=20,size=4k,prealloc
    define process name=p {
      thread name=t {
        flowop statfile name=stat,filesetname=f
        flowop delay name=rest,value=1ms
        flowop finishoncount name=end,value=$enough,target=stat
      }
    }\n";

const STATS: &str = "
    define fileset name=f,path=$dir,entries=20,dirwidth=20,prealloc
    define process name=p { thread name=t { flowop statfile name=stat,filesetname=f } }\n";

fn fake(text: &str, script: &str) -> Bench {
    Bench::new(text).args(["--engine", &format!("fake:{script}")])
}

/// Operations of a flowop of a run.
#[track_caller]
fn ops(run: &Value, name: &str) -> u64 {
    let flowop = run["flowops"].as_array().unwrap().iter().find(|flowop| flowop["name"] == name);
    flowop.unwrap_or_else(|| panic!("no {name}"))["ops"].as_u64().unwrap()
}

fn number(run: &Value, key: &str) -> u64 {
    run[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {run}"))
}

/// The intervals of a run make up the whole of it.
#[track_caller]
fn whole(run: &Value) {
    let intervals = run["intervals"].as_array().unwrap();
    let sum: u64 = intervals.iter().map(|interval| number(&interval["total"], "ops")).sum();
    assert_eq!(sum, number(&run["total"], "ops"));
    assert_eq!(number(intervals.last().unwrap(), "end_ns"), number(run, "elapsed_ns"));
    assert_eq!(number(&intervals[0], "start_ns"), 0);
}

#[test]
fn what_the_warm_up_does_is_in_no_figure() {
    // The first call takes half of the warm-up; 5000 of 10 us are the other half.
    for text in [format!("{STATS}warmup 100ms\nrun 1\n"), format!("{STATS}warmup 7\nrun 1\n")] {
        let bench = fake(&text, "stat=10us,slow=stat:1:50ms");
        let bench = if text.contains("warmup 7") { bench.args(["--warmup", "100ms"]) } else { bench };
        let outcome = bench.run().exits(0);
        let run = outcome.only_run();
        assert_eq!((number(run, "warmup_ns"), number(run, "elapsed_ns")), (100_000_000, 1_000_000_000));
        assert_eq!(outcome.ops("stat"), 100_000);
        assert_eq!(outcome.flowop("stat")["latency_ns"]["max"], 10_000);
        assert_eq!(outcome.flowop("stat")["histogram"]["count"], 100_000);
        whole(run);
    }
    let outcome = fake(&format!("{STATS}run 1\n"), "stat=10us,slow=stat:1:50ms").run().exits(0);
    assert_eq!(outcome.ops("stat"), 95_001);
    assert_eq!(outcome.only_run()["warmup_ns"], Value::Null);
}

#[test]
fn an_operation_counts_that_starts_and_ends_within_the_window() {
    // The tenth goes from 90 to 100 us, over the start at 95; the last whole one ends at 1 000 090 of 1 000 095 us.
    let outcome = fake(&format!("{STATS}run 1\n"), "stat=10us").args(["--warmup", "95us"]).run().exits(0);
    assert_eq!(outcome.ops("stat"), 99_999);
    assert_eq!(outcome.flowop("stat")["in_flight"], 1);
}

#[test]
fn several_runs_each_have_the_warm_up_until_another_is_set() {
    let text = format!("{STATS}warmup 1\nrun 1\nrun 1\nwarmup 0\nrun 1\necho behind\n");
    let outcome = fake(&text, "stat=10us").run().exits(0);
    let warmups: Vec<&Value> = outcome.runs().iter().map(|run| &run["warmup_ns"]).collect();
    assert_eq!(warmups, [&json!(1_000_000_000), &json!(1_000_000_000), &Value::Null]);
    assert!(outcome.runs().iter().all(|run| ops(run, "stat") == 100_000));
    assert!(outcome.stdout.ends_with("behind\n"), "text behind the last run is carried out");
}

#[test]
fn limiters_go_on_at_their_rate_over_the_start_of_the_measurement() {
    let text = "
        define fileset name=f,path=$dir,entries=20,dirwidth=20,prealloc
        define process name=p {
          thread name=t {
            flowop statfile name=stat,filesetname=f
            flowop LIMIT name=limit
          }
        }
        eventgen rate=100
        warmup 1
        run 2\n";
    // A statfile each 10 ms; that of 1.00 s is the first of 200.
    for limit in ["opslimit", "eventlimit", "opslimit target=stat,"] {
        let outcome = fake(&text.replace("LIMIT", limit), "stat=10us").run().exits(0);
        assert_eq!(outcome.ops("stat"), 200, "{limit}");
    }
}

#[test]
fn a_count_to_finish_on_is_of_the_measurement() {
    let text = format!("{ENDS}warmup 30ms\nrun 60\n");
    for model in ["processes", "threads"] {
        let outcome = Bench::new(&text).args(["--process-model", model]).run().exits(0);
        assert_eq!(outcome.only_run()["ended"], "count");
        assert_eq!(outcome.ops("stat"), 300);
        whole(outcome.only_run());
    }
    // Of all threads together too, on a clock of each one's own.
    let text = "
        define fileset name=f,path=$dir,entries=20,dirwidth=20,prealloc
        define process name=p {
          thread name=t { flowop statfile name=stat,filesetname=f flowop finishoncount name=end,value=5000 }
        }
        warmup 1ms
        run 60\n";
    let outcome = fake(text, "stat=10us").run().exits(0);
    assert_eq!((outcome.ops("stat"), number(outcome.only_run(), "elapsed_ns")), (5000, 50_000_000));
}

#[test]
fn an_end_in_the_warm_up_measures_nothing_and_says_so() {
    let dry = "define fileset name=f,path=$dir,entries=5,dirwidth=5,size=1k
        define process name=p {
          thread name=t { flowop createfile name=make,filesetname=f,fd=1 flowop closefile name=close,fd=1 }
        }\n";
    let finished = ENDS.replace("$enough=300", "$enough=3");
    for (text, word) in [(dry.to_owned(), "all 5 files of f exist"), (finished, "end reached 3 operations")] {
        for mode in ["timeout", "firstdone", "alldone"] {
            let text = format!("set mode quit {mode}\n{text}warmup 1000\nrun 1000\n");
            let outcome = Bench::new(&text).run().exits(1);
            let run = outcome.only_run();
            let reason = run["reason"].as_str().unwrap();
            assert!(reason.starts_with("no operation finished: ") && reason.ends_with("in the warm-up"), "{reason}");
            assert!(mode == "alldone" || reason.contains(word), "{reason}");
            assert_eq!(
                (&run["valid"], &run["elapsed_ns"], &run["total"]["ops"]),
                (&json!(false), &json!(0), &json!(0))
            );
        }
    }
}

#[test]
fn a_snapshot_has_all_since_the_last_clear() {
    let text = format!(
        "{LOOKS}create processes\nwarmup 50ms\nstats snap\nsleep 400ms\nstats snap\nstats clear\nsleep 10ms\nstats snap\n\
         shutdown processes\necho after\nrun 200ms\n"
    );
    for model in ["processes", "threads"] {
        let outcome = Bench::new(&text).args(["--process-model", model, "--interval", "10ms"]).run().exits(0);
        let runs = outcome.runs();
        assert_eq!(runs.len(), 4);
        for run in runs {
            assert_eq!((&run["ended"], &run["valid"], &run["complete"]), (&json!("time"), &json!(true), &json!(true)));
            whole(run);
            assert!(number(run, "cpu_ns") > 0);
        }
        assert!(ops(&runs[1], "stat") >= ops(&runs[0], "stat"));
        assert!(number(&runs[1], "elapsed_ns") > number(&runs[0], "elapsed_ns"));
        assert!(ops(&runs[2], "stat") < ops(&runs[1], "stat"), "the clear sets back");
        assert_eq!(runs[3]["requested_ns"], 200_000_000);
        assert!(outcome.stdout.ends_with("after\n"));
    }
}

#[test]
fn a_run_measures_the_processes_that_live_and_ends_them() {
    let text = format!("{LOOKS}create processes\nsleep 20ms\nrun 100ms\nrun 50ms\n");
    let outcome = Bench::new(&text).args(["--warmup", "20ms"]).run().exits(0);
    let runs = outcome.runs();
    assert_eq!((number(&runs[0], "requested_ns"), number(&runs[0], "elapsed_ns")), (100_000_000, 100_000_000));
    assert_eq!((number(&runs[0], "warmup_ns"), &runs[0]["ended"]), (20_000_000, &json!("time")));
    assert_eq!((runs.len(), number(&runs[1], "elapsed_ns")), (2, 50_000_000));
    runs.iter().for_each(whole);
}

#[test]
fn a_session_without_a_snapshot_has_one_entry() {
    for end in ["", "quit\nrun 100000\n", "shutdown processes\n", "stats clear\nsleep 20ms\n"] {
        let outcome = Bench::new(&format!("{LOOKS}create processes\nsleep 50ms\n{end}")).run().exits(0);
        let run = outcome.only_run();
        assert_eq!((&run["ended"], &run["valid"], &run["reason"]), (&json!("time"), &json!(true), &Value::Null));
        whole(run);
    }
}

#[test]
fn processes_that_end_by_themselves_end_the_session() {
    let rest = "create processes\nsleep 100000\nstats snap\nsleep 100000\nshutdown processes\necho \"goes on\"\n";
    for (mode, ended) in [("timeout", "count"), ("firstdone", "count"), ("alldone", "done")] {
        let outcome = Bench::new(&format!("set mode quit {mode}\n{ENDS}{rest}")).run().exits(0);
        let run = outcome.only_run();
        assert_eq!((&run["ended"], ops(run, "stat")), (&json!(ended), 300));
        assert!(outcome.stdout.ends_with("goes on\n"));
        // To wait for that, sleep 0.
        let text = format!("set mode quit {mode}\n{ENDS}create processes\nsleep 0\nrun 20ms\n");
        let outcome = Bench::new(&text).run().exits(0);
        assert_eq!((ops(&outcome.runs()[0], "stat"), outcome.runs().len()), (300, 2));
        assert_eq!(number(&outcome.runs()[1], "requested_ns"), 20_000_000);
    }
    let failing = LOOKS.replace("flowop statfile", "flowop closefile name=close,fd=3\nflowop statfile");
    let outcome = Bench::new(&format!("{failing}{rest}")).run().exits(1).says("slot 3 has no open file");
    assert_eq!(outcome.only_run()["ended"], "error");
    assert!(!outcome.stdout.contains("goes on"), "what follows a failure is not done");
}

#[test]
fn a_system_line_comes_to_its_end_though_the_session_ends_before() {
    let text = format!("{ENDS}create processes\nsystem \"sleep 1; echo line done\"\nshutdown processes\n");
    let outcome = Bench::new(&text).args(["--allow-exec", "--set", "enough=3"]).run().exits(0);
    assert!(outcome.stdout.ends_with("line done\n"), "{}", outcome.stdout);
    assert_eq!(ops(outcome.only_run(), "stat"), 3);
}

#[test]
fn a_new_rate_holds_from_now_on() {
    let text = "
        set mode quit firstdone
        set $fast=1000
        define fileset name=f,path=$dir,entries=20,dirwidth=20,prealloc
        define process name=p,instances=2 {
          thread name=t {
            flowop statfile name=stat,filesetname=f
            flowop opslimit name=limit
            flowop finishoncount name=end,value=2000,target=stat
          }
        }
        eventgen rate=1
        create processes
        sleep 50ms
        eventgen rate=$fast*1000
        sleep 0\n";
    // At the first rate it would take half an hour.
    for args in [[].as_slice(), &["--set", "fast=0"]] {
        let outcome = Bench::new(text).args(args.iter().copied()).run().exits(0);
        assert_eq!(outcome.only_run()["ended"], "count");
    }
}

#[test]
fn a_signal_in_a_session_gives_the_figures_so_far() {
    let text = format!("{LOOKS}create processes\nstats clear\nsystem \"touch there\"\nsleep 100000\necho never\n");
    let bench = Bench::new(&text).args(["--allow-exec"]);
    let mut child = bench.command().spawn().unwrap();
    until("the sleep", || bench.scratch.path().join("there").exists().then_some(()));
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let pid = child.id();
    child.stdin.take();
    let outcome = bench.outcome(child.wait_with_output().unwrap()).exits(130).says("interrupted by SIGINT");
    let run = outcome.only_run();
    assert_eq!((&run["ended"], &run["valid"]), (&json!("interrupted"), &json!(false)));
    assert!(!outcome.stdout.contains("never"));
    until("the end of the workers", || workers_of(pid).is_empty().then_some(()));
}

#[test]
fn a_session_is_refused_where_this_machine_cannot_do_it() {
    let text = LOOKS.replace("thread name=t", "thread name=t,instances=1000000");
    Bench::new(&format!("{text}create processes\nsleep 1\n")).run().exits(1).says("1000000 threads");
    fake(&format!("{LOOKS}create processes\nsleep 1\n"), "").run().exits(2).says("no session can be timed");
}

#[test]
fn files_are_taken_away_and_made_again() {
    let text =
        format!("{LOOKS}run 50ms\nshutdown files\nsystem \"ls $dir; echo listed\"\nrun 50ms\nshutdown fileset\n");
    let bench = Bench::new(&text).args(["--allow-exec"]);
    let outcome = bench.run().exits(0);
    assert_eq!(outcome.runs().len(), 2);
    assert!(outcome.stdout.ends_with("\nlisted\n"), "{}", outcome.stdout);
    assert_eq!(outcome.record.as_ref().unwrap()["workload"]["files"], 20);
    assert_eq!(bench.files(), Vec::<std::path::PathBuf>::new());
    // Only what is ours.
    let other = bench.dir.join("f");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter"), "dear").unwrap();
    bench.run().exits(3);
    let adopted = Bench::new(&text).at(&bench.dir).args(["--allow-exec", "--adopt"]);
    adopted.run();
    assert_eq!(std::fs::read_to_string(other.join("letter")).unwrap(), "dear");
}

#[test]
fn dumps_hold_the_last_figures_and_a_log_its_lines() {
    let text = format!(
        "{LOOKS}set $n=7\ncreate processes\nstats directory out-$n\nsleep 30ms\nstats snap\nstats dump \"snap.$n\"\n\
         stats multidump \"snap.multi\"\nstats xmldump \"snap.xml\"\nlog \"first of $n\"\nlog \"second\"\nrun 50ms\n\
         stats dump \"run\"\n"
    );
    let bench = Bench::new(&text);
    let outcome = bench.run().exits(0);
    let out = bench.scratch.path().join("out-7");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let io = |run: &Value| format!("IO Summary:      {:8} ops ", number(&run["total"], "ops"));
    assert!(read("snap.7").contains(&io(&outcome.runs()[0])));
    assert!(read("run").contains(&io(&outcome.runs()[1])));
    assert!(read("snap.multi").contains(&format!("IO Summary:\t{}\t", number(&outcome.runs()[0]["total"], "ops"))));
    assert!(read("snap.xml").starts_with("<stat_doc name=\"Filebench Workload\">\n"));
    let log = bench.scratch.path().join("test.csv");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "first of 7\nsecond\n");
    // The second time there would be something to overwrite.
    bench.run().exits(3).says("stats dump would write to out-7/snap.7, which exists").says("--out FORMAT=FILE");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "first of 7\nsecond\n");
    std::fs::remove_dir_all(&out).unwrap();
    bench.run().exits(0);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "first of 7\nsecond\nfirst of 7\nsecond\n");
}

#[test]
fn a_workload_writes_only_below_the_working_directory() {
    let refused = |command: &str| {
        let bench = Bench::new(&format!("{LOOKS}run 50ms\n{command}\n"));
        let base = bench.scratch.path();
        std::os::unix::fs::symlink(base, base.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", base.join("test.csv")).unwrap();
        std::fs::write(base.join("mine"), "precious").unwrap();
        let outcome = bench.run().exits(3).says("--out FORMAT=FILE");
        assert!(bench.files().is_empty() && outcome.stdout.is_empty(), "nothing was begun");
        assert_eq!(std::fs::read_to_string(base.join("mine")).unwrap(), "precious");
        assert!(!base.join("nowhere").exists());
        outcome
    };
    refused("stats dump \"/tmp/x\"").says("outside the working directory");
    refused("stats dump \"../x\"").says("outside the working directory");
    refused("stats multidump \"a/../../x\"").says("outside the working directory");
    refused("stats directory /tmp/x").says("outside the working directory");
    refused("stats directory ../x\nstats dump \"y\"").says("outside the working directory");
    refused("stats dump \"link/x\"").says("through the symbolic link link");
    refused("stats directory link").says("through the symbolic link");
    refused("stats dump \"mine\"").says("which exists");
    refused("stats directory mine").says("where something else is");
    refused("stats dump \"a\"\nstats xmldump \"a\"").says("where another dump is by then");
    refused("log \"x\"").says("through the symbolic link test.csv");
    // And `check` says it before.
    let text = format!("{LOOKS}run 1\nstats dump \"../x\"\n");
    Bench::new(&text).args(["--dir", "."]).check().exits(0).says("leads out of the working directory");
    Bench::new(&format!("{LOOKS}run 50ms\nstats dump \"no/x\"\n"))
        .run()
        .exits(2)
        .says("the directory no does not exist");
}

#[test]
fn a_line_beside_runs_with_leave_only_and_ends_with_the_snapshot() {
    let text = format!(
        "{LOOKS}create processes\nstats command \"echo beside; echo $$ > shell; sleep 100000 & echo $! > child; wait\"\n\
         system \"until test -s child; do sleep 0.01; done\"\nstats snap\nsystem \"mv shell was\"\nshutdown processes\n"
    );
    let bench = Bench::new(&text);
    bench.run().exits(3).says("--allow-exec").says("echo beside");
    let bench = bench.args(["--allow-exec"]);
    let outcome = bench.run().exits(0).says("beside");
    assert!(!outcome.stdout.contains("beside"), "its words go to stderr");
    for file in ["was", "child"] {
        let pid = std::fs::read_to_string(bench.scratch.path().join(file)).unwrap();
        until("the end of the line", || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            (stat.is_empty() || stat.contains(") Z ")).then_some(())
        });
    }
}

#[test]
fn lists_and_help_are_shown_as_an_echo() {
    let text = r#"
        usage "sizes: 4k"
        usage "Set ${nfiles}"
        set $nfiles=20
        define fileset name=many,path=$dir,entries=$nfiles,dirwidth=5,size=4k,filesizegamma=0,prealloc
        define process name=p { thread name=t { flowop statfile name=stat,filesetname=many } }
        list fileset
        create files
        list
        list flowop
        version
        help
        vars
        run 50ms
"#;
    let outcome = Bench::new(text).run().exits(0);
    let shown = outcome.stdout.split("\nwlrun 0").next().unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = outcome.stdout.lines().map(words).collect();
    assert_eq!(lines[0], words("File or Fileset name file size dir width entries"), "{shown}");
    assert_eq!(lines[1], words("many - - 0"));
    assert_eq!(lines[3], words("many 4096 5 20"));
    assert_eq!(lines[5], words("stat statfile p t"));
    assert_eq!(lines[6], words(&format!("wlrun {}", env!("CARGO_PKG_VERSION"))));
    assert_eq!(lines[8], words("Set 20"));
    assert!(outcome.stdout.contains("\nnfiles = 20\n"));
}

#[test]
fn lathist_and_the_sign_of_a_period_are_in_the_record() {
    let text =
        format!("{STATS}enable lathist\npsrun 1 3\ndisable_osprof\npsrun -1 3\nset $v=1\nset $w=3\npsrun $v $w\n");
    let outcome = fake(&text, "stat=10us").args(["--format", "filebench"]).run().exits(0);
    let of = |key: &str| outcome.runs().iter().map(|run| run[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("lathist"), [json!(true), Value::Null, Value::Null]);
    assert_eq!(of("period_cumulative"), [json!(true), Value::Null, json!(true)]);
    assert_eq!(of("period_ns"), [json!(1_000_000_000), json!(1_000_000_000), json!(1_000_000_000)]);
    assert_eq!(outcome.stdout.matches("\t[ ").count(), 1);
}

#[test]
fn positions_are_those_of_the_set() {
    let text = "
        define file name=f,path=$dir,size=1m,prealloc
        define posset name=places,type=rnd,entries=3,max=900k
        define process name=p {
          thread name=t {
            flowop write name=write,filesetname=f,iosize=512,random,possetname=places
            flowop finishoncount name=end,value=100,target=write
          }
        }
        set mode quit firstdone
        run\n";
    let places = |seed: &str| {
        let bench = Bench::new(text).args(["--seed", seed]);
        // Data that is not there before: the file is made of other blocks.
        bench.run().exits(0);
        let path = bench.files().into_iter().find(|path| path.ends_with("00000001")).unwrap();
        let data = std::fs::read(bench.dir.join(path)).unwrap();
        assert_eq!(data.len(), 1 << 20);
        let fresh =
            Bench::new(&text.replace("flowop write name=write", "flowop read name=write")).args(["--seed", seed]);
        fresh.run().exits(0);
        let path = fresh.files().into_iter().find(|path| path.ends_with("00000001")).unwrap();
        let before = std::fs::read(fresh.dir.join(path)).unwrap();
        (0..2048).filter(|block| data[block * 512..][..512] != before[block * 512..][..512]).collect::<Vec<usize>>()
    };
    let one = places("1");
    assert!(one.len() == 3 && one.iter().all(|block| block * 512 <= 900 * 1024), "{one:?}");
    assert_eq!(places("1"), one);
    assert_ne!(places("2"), one);
}

#[test]
fn what_is_out_of_place_is_said_with_its_place() {
    let said = |commands: &str| -> Outcome {
        let text = format!("{LOOKS}{commands}\nrun 1\n");
        Bench::new(&text).args(["--dir", "."]).check()
    };
    said("create processes\ncreate processes").exits(2).says("the processes live already").says("first created here");
    said("create processes\ndefine file name=x,path=$dir\ncreate files").exits(2).says("files are made before");
    said("create processes\nshutdown files").exits(2).says("processes live that use the files");
    let late = "create processes\ndefine process name=q { thread name=t { flowop statfile name=s,filesetname=f } }";
    said(late).exits(0).says("the process 'q' is not among those that live");
    said("stats snap").exits(2).says("there is nothing to measure");
    said("stats dump \"x\"").exits(2).says("there is nothing yet for 'stats dump' to write");
    said("stats snp").exits(2).says("did you mean 'snap'?");
    said("stats").exits(2).says("stats what?");
    said("shutdown proceses").exits(2).says("did you mean 'processes'?");
    said("create proceses").exits(2).says("did you mean 'processes'?");
    said("enable lathst").exits(2).says("did you mean 'lathist'?");
    said("list filset").exits(2).says("did you mean 'fileset'?");
    said("sleep 0").exits(2).says("a sleep of 0 would never end");
    said("enable multi master=h,client=c").exits(2).says("not supported yet").says("one wlrun on each host");
    said("domultisync value=1").exits(2).says("not supported yet").says("one wlrun on each host");
    for idle in ["debug 3", "fscheck path=/x,fstype=ufs", "fsflush fstype=zfs", "stats clear", "shutdown processes"] {
        said(idle).exits(0).says("has no effect");
    }
    for silent in ["nousestats", "set mode nousestats", "warmup 1", "enable lathist"] {
        assert_eq!(said(silent).exits(0).stderr, "", "{silent}");
    }
    said("define posset name=p,type=collection,entries=2,max=4k").exits(2).says("'collection' is not supported yet");
    said("define posset name=p,type=rnd,max=4k").exits(2).says("needs the attribute 'entries'");
    let used = LOOKS.replace("flowop statfile name=stat", "flowop read name=r,iosize=1k,random,possetname=p");
    let text = format!("define posset name=p,entries=0,max=4k\n{used}run 1\n");
    let outcome = Bench::new(&text).args(["--dir", "."]).check().exits(2).says("entries takes");
    assert_eq!(outcome.stderr.matches('×').count(), 1, "{}", outcome.stderr);
}
