//! Whole runs on the engine `fake`: each call takes the time that its script says, on a clock that nothing else moves,
//! so a run has one exact result.

use crate::support::{Bench, Outcome, WLRUN};
use serde_json::{Value, json};
use std::process::Command;

/// Each call another time, so that a mistaken one shows.
const SCRIPT: &str =
    "fake:open=10us,close=2us,unlink=30us,stat=5us,fsync=7us,read=100us,write=200us,seek=1us,advise=1us";

fn fileserver() -> Bench {
    Bench::named("fileserver").args([
        "--set",
        "nthreads=1",
        "--set",
        "nfiles=100",
        "--runtime",
        "1",
        "--engine",
        SCRIPT,
    ])
}

/// A workload of constant sizes: what a thread does in a round does not depend on the file it comes upon.
fn constant(processes: u32, threads: u32) -> String {
    format!(
        "define fileset name=f,path=$dir,entries=100,dirwidth=10,size=8k,prealloc
         define process name=p,instances={processes} {{
           thread name=t,instances={threads} {{
             flowop openfile name=open1,filesetname=f,fd=1
             flowop read name=read1,fd=1,iosize=4k,iters=3
             flowop write name=write1,fd=1,iosize=1k,random
             flowop closefile name=close1,fd=1
             flowop statfile name=stat1,filesetname=f
             flowop delay name=wait1,value=583us
           }}
         }}
         run 1
        "
    )
}

/// The record without what differs between machines and moments: processor time, the machine, the directory, and what
/// the kernel counted.
fn lasting(outcome: &Outcome) -> Value {
    let mut record = outcome.record.clone().unwrap();
    record["environment"] = Value::Null;
    record["workload"]["parameters"]["dir"] = Value::Null;
    for run in record["runs"].as_array_mut().unwrap() {
        run["cpu_ns"] = Value::Null;
        run["monitors"] = Value::Null;
        for interval in run["intervals"].as_array_mut().unwrap() {
            interval["monitors"] = Value::Null;
        }
        run["total"]["cpu_ns_per_op"] = Value::Null;
        // Its figure is the machine's memory.
        run["warnings"].as_array_mut().unwrap().retain(|warning| warning["code"] != "W003");
    }
    record
}

/// Replaces what stands between two texts, on each line that has both.
pub fn redact(text: &str, before: &str, after: &str, word: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let inner = |line: &str| {
            let start = line.find(before)? + before.len();
            let end = start + line[start..].find(after)?;
            Some(format!("{}{word}{}", &line[..start], &line[end..]))
        };
        inner(line).unwrap_or_else(|| line.to_owned())
    });
    lines.collect()
}

#[test]
fn one_thread_of_the_fileserver_has_one_report() {
    let outcome = fileserver().run().exits(0);
    let text = redact(&outcome.stdout, " MB in ", "  1 process", "[dir] ([fs], [source])");
    let text = redact(&text, "   CPU ", "/op", "[time]");
    let text = redact(&text, "fits in memory (", ")", "[size]");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "snapshots" }, {
        insta::assert_snapshot!("exact-fileserver", text);
    });
    assert_eq!(outcome.stderr, "");
}

#[test]
fn every_count_and_every_latency_is_what_the_script_adds_up_to() {
    // A round: open 10, three reads at 100, write 200, close 2, stat 5, delay 583 us; 1100 us in all. Two reads make
    // the 8 KiB; the third comes to the end: a read of nothing, a seek, a read, 201 us. So a round is 1201 us, and after
    // the last whole one there is time for some of the next one's operations.
    let outcome = Bench::new(&constant(1, 1)).args(["--engine", SCRIPT]).run().exits(0);
    let round = 10 + 100 + 100 + 201 + 200 + 2 + 5 + 583;
    let rounds = 1_000_000 / round;
    let rest = 1_000_000 % round;
    let whole = |cost: u64, before: u64| rounds + u64::from(rest >= before + cost);
    assert_eq!(outcome.ops("open1"), whole(10, 0));
    assert_eq!(outcome.ops("write1"), whole(200, 411));
    assert_eq!(outcome.ops("close1"), whole(2, 611));
    assert_eq!(outcome.ops("stat1"), whole(5, 613));
    let reads = 3 * rounds + [110, 210, 411].iter().filter(|end| rest >= **end).count() as u64;
    assert_eq!(outcome.ops("read1"), reads);
    assert_eq!(outcome.bytes("read1"), reads * 4096);
    assert_eq!(outcome.bytes("write1"), outcome.ops("write1") * 1024);
    let read = &outcome.flowop("read1")["latency_ns"];
    assert_eq!((read["min"].as_u64(), read["max"].as_u64()), (Some(100_000), Some(201_000)));
    assert_eq!(outcome.flowop("wait1")["latency_ns"]["max"], 583_000);
    let run = outcome.only_run();
    assert_eq!((&run["ended"], &run["complete"], &run["valid"]), (&json!("time"), &json!(true), &json!(true)));
    assert_eq!(run["elapsed_ns"], 1_000_000_000);
    // The delay is in no total; every other flowop is.
    let io = ["open1", "read1", "write1", "close1", "stat1"];
    assert_eq!(run["total"]["ops"].as_u64().unwrap(), io.iter().map(|name| outcome.ops(name)).sum::<u64>());
    assert_eq!(run["total"]["bytes_read"].as_u64().unwrap(), outcome.bytes("read1"));
    assert_eq!(run["total"]["errors"], 0);
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let [one, two] = [1, 2].map(|_| lasting(&fileserver().run().exits(0)));
    assert_eq!(one, two);
    let other = lasting(&fileserver().args(["--seed", "2"]).run().exits(0));
    assert_ne!(one["runs"][0]["total"]["bytes_read"], other["runs"][0]["total"]["bytes_read"]);
}

#[test]
fn three_processes_of_two_threads_do_six_times_what_one_does() {
    let one = Bench::new(&constant(1, 1)).args(["--engine", SCRIPT]).run().exits(0);
    let six = Bench::new(&constant(3, 2)).args(["--engine", SCRIPT]).run().exits(0);
    for name in ["open1", "read1", "write1", "close1", "stat1", "wait1"] {
        assert_eq!(six.ops(name), 6 * one.ops(name), "{name}");
        assert_eq!(six.bytes(name), 6 * one.bytes(name), "{name}");
        assert_eq!(six.flowop(name)["latency_ns"]["max"], one.flowop(name)["latency_ns"]["max"], "{name}");
        assert_eq!(six.flowop(name)["instances"], 6);
    }
    let record = six.record.as_ref().unwrap();
    assert_eq!((&record["workload"]["processes"], &record["workload"]["threads"]), (&json!(3), &json!(6)));
    assert!(six.stdout.lines().next().unwrap().contains("3 processes, 6 threads"), "{}", six.stdout);
}

#[test]
fn threads_in_place_of_processes_give_the_same_record() {
    let run = |model: &str| {
        let bench = Bench::new(&constant(3, 2)).args(["--engine", SCRIPT, "--process-model", model]);
        lasting(&bench.run().exits(0))
    };
    assert_eq!(run("processes"), run("threads"));
}

#[test]
fn an_error_ends_the_run_and_is_in_every_form() {
    let script = format!("{SCRIPT},fail=write:3:ENOSPC");
    let bench = Bench::new(&constant(1, 1)).args(["--engine", &script]);
    let outcome = bench.run().exits(1).says("No space left on device").says("write1");
    let run = outcome.only_run();
    assert_eq!((&run["ended"], &run["valid"], &run["complete"]), (&json!("error"), &json!(false), &json!(false)));
    assert_eq!(outcome.ops("write1"), 2);
    assert_eq!(outcome.flowop("write1")["errors"], json!({ "ENOSPC": 1 }));
    assert_eq!(run["total"]["errors"], 1);
    assert_eq!(outcome.bytes("write1"), 2048, "a failed write adds no bytes");
    let failure = &run["failures"][0];
    assert_eq!(failure["errno"], "ENOSPC");
    assert_eq!((&failure["process"], &failure["thread"]), (&json!("p-0"), &json!("t-0")));
    assert!(run["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "W004"));
    // Two whole rounds, and the third up to its write.
    assert_eq!(run["elapsed_ns"].as_u64().unwrap() / 1000, 2 * 1201 + 611);
    assert_eq!((outcome.ops("open1"), outcome.ops("close1")), (3, 2));
    assert!(outcome.stdout.contains("ENOSPC x 1"), "{}", outcome.stdout);
}

#[test]
fn an_error_of_one_among_many_threads_is_counted_once_for_each_that_met_it() {
    let script = format!("{SCRIPT},fail=stat:2:EIO");
    let outcome = Bench::new(&constant(3, 2)).args(["--engine", &script]).run().exits(1).says("EIO");
    let errors = outcome.flowop("stat1")["errors"]["EIO"].as_u64().unwrap();
    assert!((1..=6).contains(&errors), "{errors}");
    assert_eq!(outcome.only_run()["total"]["errors"].as_u64(), Some(errors));
}

#[test]
fn a_saved_record_shows_what_the_run_showed() {
    for format in ["text", "json", "filebench"] {
        let bench = fileserver().args(["--format", format]);
        let outcome = bench.run().exits(0);
        let mut report = Command::new(WLRUN);
        let report = report.arg("report").arg(bench.json_path()).args(["--format", format]).output().unwrap();
        assert!(report.status.success() && report.stderr.is_empty());
        assert_eq!(String::from_utf8(report.stdout).unwrap(), outcome.stdout, "{format}");
    }
}

#[test]
fn json_on_stdout_is_the_document_of_the_file() {
    let bench = fileserver().args(["--format", "json"]);
    let outcome = bench.run().exits(0);
    assert_eq!(outcome.stdout, std::fs::read_to_string(bench.json_path()).unwrap());
}

#[test]
fn other_forms_go_to_files_too() {
    let bench = fileserver();
    let (text, lines) = (bench.scratch.path().join("a.txt"), bench.scratch.path().join("b.txt"));
    let bench = bench.args([
        "--out".into(),
        format!("text={}", text.display()),
        "--out".into(),
        format!("filebench={}", lines.display()),
    ]);
    let outcome = bench.run().exits(0);
    assert_eq!(std::fs::read_to_string(text).unwrap(), outcome.stdout);
    assert!(std::fs::read_to_string(lines).unwrap().contains("IO Summary: "));
}

#[test]
fn an_echo_stands_where_it_is_written_in_text_and_beside_any_other_form() {
    let text = format!("set $x=12\necho \"before $x\"\n{}echo after\n", constant(1, 1));
    let outcome = Bench::new(&text).args(["--engine", SCRIPT]).run().exits(0);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!((lines[0], *lines.last().unwrap()), ("before 12", "after"));
    assert!(lines[1].starts_with("wlrun "), "{}", outcome.stdout);
    assert_eq!(outcome.stderr, "");
    for format in ["json", "filebench"] {
        let outcome = Bench::new(&text).args(["--engine", SCRIPT, "--format", format]).run().exits(0);
        assert_eq!(outcome.stderr, "before 12\nafter\n", "{format}");
        assert!(!outcome.stdout.contains("before 12"), "{format}");
    }
}

/// The value behind a `before` and in front of an `after`, taken off the line.
fn field<'a>(rest: &mut &'a str, before: &str, after: &str) -> &'a str {
    let inner = rest.strip_prefix(before).unwrap_or_else(|| panic!("no '{before}' in '{rest}'"));
    let end = inner.find(after).unwrap_or_else(|| panic!("no '{after}' in '{inner}'"));
    *rest = &inner[end + after.len()..];
    inner[..end].trim_start()
}

/// filebench 1.5's own formats, with its widths; `%8.0lf` is `{:8.0}`.
#[test]
fn the_filebench_form_has_the_columns_of_filebench() {
    let outcome = fileserver().args(["--format", "filebench"]).run().exits(0);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines[0], format!("wlrun {}", env!("CARGO_PKG_VERSION")));
    assert_eq!(lines[1], "1.000: Run took 1 seconds...");
    assert_eq!(lines[2], "1.000: Per-Operation Breakdown");
    let rows = &lines[3..lines.len() - 1];
    assert_eq!(rows.len(), 11);
    let mut names = Vec::new();
    for row in rows {
        let mut rest = *row;
        let name = field(&mut rest, "", " ");
        let ops: u64 = field(&mut rest, "", "ops ").parse().unwrap();
        let rate: f64 = field(&mut rest, "", "ops/s ").parse().unwrap();
        let mb: f64 = field(&mut rest, "", "mb/s ").parse().unwrap();
        let mean: f64 = field(&mut rest, "", "ms/op ").parse().unwrap();
        let min: f64 = field(&mut rest, "[", "ms - ").parse().unwrap();
        let max: f64 = field(&mut rest, "", "ms]").parse().unwrap();
        let again =
            format!("{name:<20} {ops}ops {rate:8.0}ops/s {mb:5.1}mb/s {mean:8.3}ms/op [{min:.3}ms - {max:5.3}ms]");
        assert_eq!((again.as_str(), rest), (*row, ""));
        assert_eq!(ops, outcome.ops(name), "{name}");
        let per_s = outcome.bytes(name) as f64 / 1_048_576.0;
        assert_eq!(format!("{mb:.1}"), format!("{per_s:.1}"), "{name}: 2^20 bytes are a MB there");
        names.push(name);
    }
    assert_eq!((names[0], names[10]), ("statfile1", "createfile1"), "in reverse of the definition");
    let mut rest = *lines.last().unwrap();
    let ops: u64 = field(&mut rest, "1.000: IO Summary: ", " ops ").parse().unwrap();
    let rate: f64 = field(&mut rest, "", " ops/s ").parse().unwrap();
    let reads: u64 = field(&mut rest, "", "/").parse().unwrap();
    let writes: u64 = field(&mut rest, "", " rd/wr ").parse().unwrap();
    let mb: f64 = field(&mut rest, "", "mb/s ").parse().unwrap();
    let mean: f64 = field(&mut rest, "", "ms/op").parse().unwrap();
    let again = format!(
        "1.000: IO Summary: {ops:5} ops {rate:5.3} ops/s {reads:.0}/{writes:.0} rd/wr {mb:5.1}mb/s {mean:5.3}ms/op"
    );
    assert_eq!((again.as_str(), rest), (*lines.last().unwrap(), ""));
    assert_eq!(Some(ops), outcome.only_run()["total"]["ops"].as_u64());
}

#[test]
fn a_name_that_a_shell_of_old_scripts_splits_stays_whole() {
    let text = constant(1, 1).replace("stat1", "\"a name\"");
    let outcome = Bench::new(&text).args(["--engine", SCRIPT, "--format", "filebench"]).run().exits(0);
    assert!(outcome.stdout.contains("\na name               "), "{}", outcome.stdout);
}

#[test]
fn nothing_reaches_the_disk() {
    let bench = fileserver();
    bench.run().exits(0);
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
}

#[test]
fn intervals_add_up_to_the_run() {
    let outcome = fileserver().run().exits(0);
    let run = outcome.only_run();
    let intervals = run["intervals"].as_array().unwrap();
    let sum: u64 = intervals.iter().map(|interval| interval["total"]["ops"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), run["total"]["ops"].as_u64());
    assert_eq!(intervals.last().unwrap()["end_ns"], run["elapsed_ns"]);
}

/// A composite flowop is its flowops, as often as its `iters` say, with the local variables of each use.
#[test]
fn composites_are_taken_apart_and_counted_by_their_place() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/workloads/good/composites.wl")).unwrap();
    let outcome = Bench::new(&text).args(["--engine", "fake:other=1ms", "--runtime", "0.0801"]).run().exits(0);
    // A round is 2 stats, then three times open, 5 stats, read and close: 2 + 3 * 8 = 26 calls of 1 ms. Three rounds are
    // 78 ms; two more calls end within 80.1 ms.
    let ops: Vec<(String, u64)> = outcome.only_run()["flowops"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["name"].as_str().unwrap().to_owned(), f["ops"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("first.stat", 8),
        ("second.open", 9),
        ("second.again.stat", 45),
        ("second.read", 9),
        ("second.close", 9),
        ("second.enough", 9),
    ];
    assert_eq!(ops, expected.map(|(name, count)| (name.to_owned(), count)));
    assert_eq!(outcome.bytes("second.read"), 9 * 4096, "the use's $io, not the definition's");
}

#[test]
fn mistakes_in_a_composite_are_mistakes() {
    let head = "define fileset name=f,path=$dir,entries=1,dirwidth=1,prealloc\n";
    let run = |define: &str, used: &str| {
        let text = format!("{head}{define}\ndefine process name=p {{ thread name=t {{ {used} }} }}\nrun 1\n");
        Bench::new(&text).args(["--dir", "."]).check().exits(2)
    };
    let look = "define flowop name=look,$n { flowop statfile name=s,filesetname=f,iters=$n }";
    run(look, "flowop look name=l,$m=1").says("no local variable $m");
    run(look, "flowop look name=l").says("$n is not set");
    run(look, "flowop lok name=l,$n=1").says("unknown flowop 'lok'").says("did you mean 'look'");
    run("define flowop name=read { flowop statfile name=s,filesetname=f }", "flowop statfile name=s,filesetname=f")
        .says("'read' is a flowop of its own");
    run("define flowop name=a { flowop a name=b }", "flowop a name=c").says("'a' uses itself").says("a -> a");
    // Said once, and at once: a circle that multiplies is not followed to the limit of flowops.
    let circle = "define flowop name=a { flowop b name=x mix { flowop b name=y flowop b name=z } }
        define flowop name=b { flowop c name=x flowop c name=y }
        define flowop name=c { flowop a name=x flowop statfile name=s,filesetname=f }";
    let outcome = run(circle, "flowop a name=c");
    assert_eq!(outcome.stderr.matches("uses itself").count(), 1, "{}", outcome.stderr);
    outcome.says("here: a -> b -> c -> a");
}
