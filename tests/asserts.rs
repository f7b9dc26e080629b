//! `assert` through the real binary, on the engine `fake`: each call takes the time that its script says, so a limit can
//! stand exactly where the figure is.

use crate::support::{Bench, WLRUN, example_of_the_language_page};
use serde_json::{Value, json};
use std::process::Command;

/// One thread; of five equal times, stat1 has one, stat2 three and wait1 one.
const WORKLOAD: &str = "
    define fileset name=f,path=$dir,entries=100,dirwidth=10,size=64k,prealloc
    define process name=p {
      thread name=t {
        flowop openfile name=open1,filesetname=f,fd=1,iters=0
        flowop statfile name=stat1,filesetname=f
        flowop statfile name=stat2,filesetname=f,iters=3
        flowop delay name=wait1,value=20us
      }
    }
";

fn bench(before: &str, after: &str) -> Bench {
    bench_on("fake:stat=20us", before, after)
}

fn bench_on(engine: &str, before: &str, after: &str) -> Bench {
    Bench::new(&format!("{WORKLOAD}{before}\nrun 10ms\n{after}\n")).args(["--engine", engine])
}

fn asserts(outcome: &crate::support::Outcome) -> Vec<Value> {
    outcome.only_run()["asserts"].as_array().cloned().unwrap_or_default()
}

#[test]
fn each_relation_is_exact_on_its_limit() {
    // 500 calls of 20 us in 10 ms, a fifth of them stat1: 100, 10000 a second.
    let figures = [
        ("stat1.max", ["19999ns", "20us", "20001ns"]),
        ("stat1.min", ["19999ns", "20us", "20001ns"]),
        ("stat1.mean", ["19999ns", "20us", "20001ns"]),
        ("stat1.p50", ["19999ns", "20us", "20001ns"]),
        ("stat1.p99.99", ["19999ns", "20us", "20001ns"]),
        ("stat1.ops", ["99", "100", "101"]),
        ("stat1.ops_per_s", ["9999.999", "10000", "10000.001"]),
        ("total.ops/s", ["39999", "40000", "40001"]),
        ("wait1.ops", ["99", "100", "101"]),
    ];
    let relations = [
        ("<", [false, false, true]),
        ("<=", [false, true, true]),
        (">", [true, false, false]),
        (">=", [true, true, false]),
        ("==", [false, true, false]),
        ("!=", [true, false, true]),
    ];
    let (mut text, mut expected) = (String::new(), Vec::new());
    for (figure, limits) in figures {
        for (relation, holds) in relations {
            for (limit, holds) in limits.iter().zip(holds) {
                text += &format!("assert {figure} {relation} {limit}\n");
                expected.push((format!("{figure} {relation} {limit}"), Value::from(holds)));
            }
        }
    }
    let outcome = bench("", &text).run().exits(4);
    let found: Vec<(String, Value)> =
        asserts(&outcome).iter().map(|a| (a["text"].as_str().unwrap().to_owned(), a["holds"].clone())).collect();
    assert_eq!(found, expected);
    let failed = expected.iter().filter(|(_, holds)| holds.as_bool() == Some(false)).count();
    assert_eq!(outcome.stderr.lines().filter(|line| line.contains("assert failed: ")).count(), failed);
}

#[test]
fn what_holds_is_in_the_report_and_the_exit_code_is_0() {
    let outcome = bench("assert stat1.p99 < 1ms", "assert total.errors == 0").run().exits(0);
    assert_eq!(outcome.stderr, "");
    let lines: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("assert ")).collect();
    assert_eq!(lines, ["assert held: stat1.p99 < 1ms (it is 20.0 us)", "assert held: total.errors == 0 (it is 0)"]);
    let first = json!({
        "text": "stat1.p99 < 1ms", "unit": "ns", "limit": 1_000_000, "value": 20_000, "holds": true, "reason": null,
    });
    assert_eq!(asserts(&outcome)[0], first);
}

#[test]
fn what_does_not_hold_is_said_everywhere_and_the_result_is_valid() {
    let after = "set $most=10us\nassert stat1.max <= $most\nassert stat1.ops == 100\nassert open1.p99 < 5s\nassert total.MB/s >= 0.5";
    let bench = bench("", after);
    let outcome = bench.run().exits(4);
    let lines = [
        "assert failed: stat1.max <= 10us (it is 20.0 us)",
        "assert held: stat1.ops == 100 (it is 100)",
        "assert failed: open1.p99 < 5s (no operations)",
        "assert failed: total.MB/s >= 0.5 (it is 0)",
    ];
    let found: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("assert ")).collect();
    assert_eq!(found, lines);
    let said: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(said, [lines[0], lines[2], lines[3]].map(|line| format!("error: {line}")));
    assert_eq!(outcome.only_run()["valid"], true);
    assert_eq!(
        (&asserts(&outcome)[2]["value"], &asserts(&outcome)[2]["reason"]),
        (&Value::Null, &json!("no operations"))
    );
    // The saved record shows the same, and showing it is no failure.
    let report = Command::new(WLRUN).arg("report").arg(bench.json_path()).output().unwrap();
    assert_eq!((report.status.code(), report.stderr.len()), (Some(0), 0));
    assert_eq!(String::from_utf8(report.stdout).unwrap(), outcome.stdout);
}

#[test]
fn a_run_that_failed_has_its_own_exit_code_and_no_verdicts() {
    let outcome = bench_on("fake:stat=20us,fail=stat:3:EIO", "", "assert stat1.ops > 1000000").run().exits(1);
    let assert = &asserts(&outcome)[0];
    assert_eq!((&assert["holds"], &assert["reason"]), (&Value::Null, &json!("the run is not valid")));
    assert!(!outcome.stderr.contains("assert"), "{}", outcome.stderr);
    let line = "\nassert not evaluated: stat1.ops > 1000000 (the run is not valid)\n";
    assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
}

#[test]
fn an_assert_is_of_the_last_run_before_it_or_of_the_first() {
    let text = format!(
        "assert stat1.ops == 100\n{WORKLOAD}\nassert stat1.ops != 100\nrun 10ms\nassert stat1.ops >= 100\nrun 20ms\n\
         assert stat1.ops == 200\nassert stat1.ops <= 200\n"
    );
    let outcome = Bench::new(&text).args(["--engine", "fake:stat=20us"]).run().exits(4);
    let texts = |run: &Value| {
        run["asserts"].as_array().unwrap().iter().map(|a| a["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let runs = outcome.runs();
    assert_eq!(texts(&runs[0]), ["stat1.ops == 100", "stat1.ops != 100", "stat1.ops >= 100"]);
    assert_eq!(texts(&runs[1]), ["stat1.ops == 200", "stat1.ops <= 200"]);
    assert_eq!(outcome.stderr, "error: assert failed: stat1.ops != 100 (it is 100)\n");
    // The run that the command line makes.
    let text = format!("{WORKLOAD}\nassert stat1.ops == 300\n");
    let outcome = Bench::new(&text).args(["--engine", "fake:stat=20us", "--runtime", "30ms"]).run().exits(0);
    assert_eq!(asserts(&outcome).len(), 1);
    Bench::new(&format!("{WORKLOAD}\nassert stat3.ops == 300\n")).check().exits(2).says("'stat3'").says("'stat1'");
}

#[test]
fn a_wrong_assert_is_found_before_anything_is_made() {
    let bench = bench_on("sync", "", "assert stat1.p99 < 5");
    bench.run().exits(2).says("a time with its unit, such as 5ms");
    assert_eq!(bench.files().len(), 0);
}

#[test]
fn the_example_of_the_language_page_runs() {
    let text = example_of_the_language_page("## Asserts");
    let outcome = Bench::new(&text).args(["--engine", "fake:other=10us", "--runtime", "20ms"]).run().exits(0);
    assert!(outcome.only_run()["total"]["ops"].as_u64().unwrap() > 0);
}
