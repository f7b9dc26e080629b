//! Work with a schedule: the time of the call and the time from the moment that it was due are two histograms, and how far
//! the work is behind is said. On the engine `fake`, whose clock goes by its script, so every figure is exact.

use crate::support::{Bench, Outcome};
use wlrun::record::{FlowopRecord, bucket};
use wlrun::report::json;

const MS: u64 = 1_000_000;
const CALL: u64 = 10_000;

fn stats(thread: &str, before: &str, run: &str) -> String {
    format!(
        "define fileset name=f,path=$dir,entries=10,size=0,dirwidth=10,prealloc
         define process name=p {{ thread name=t{thread} {{ {before} flowop statfile name=stat1,filesetname=f }} }}
         {run}"
    )
}

fn on_fake(text: &str, script: &str) -> Outcome {
    Bench::new(text).args(["--engine".to_owned(), format!("fake:{script}")]).run().exits(0)
}

/// The flowop `stat1` with its histograms.
fn stat1(outcome: &Outcome) -> FlowopRecord {
    let text = outcome.record.as_ref().unwrap().to_string();
    let mut runs = json::read(&text).unwrap().runs;
    runs.remove(0).flowops.into_iter().find(|flowop| flowop.name == "stat1").unwrap()
}

/// After a stall of a second in a round that was due at `due` ms, with a round due each ms and each of 10 us: what those
/// behind it waited, in nanoseconds, until the work was on schedule again.
fn lags(due: u64) -> Vec<u64> {
    let begin = |n: u64| (due + 1000) * MS + (n - 1) * CALL;
    (1..).map_while(|n| begin(n).checked_sub((due + n) * MS).filter(|lag| *lag > 0)).collect()
}

fn a_stall_delays_a_thousand(outcome: &Outcome, ops: u64, due: u64) {
    let lags = lags(due);
    assert_eq!(lags.len(), 1010);
    let flowop = stat1(outcome);
    let (service, response) = (&flowop.histogram, flowop.response.as_ref().unwrap());
    let above = |buckets: &[u64]| buckets[bucket(CALL) + 1..].iter().sum::<u64>();
    assert_eq!((service.count, above(&service.buckets)), (ops, 1));
    assert_eq!((response.count, above(&response.buckets)), (ops, 1 + 1010));
    assert_eq!(service.sum_ns, (ops - 1) * CALL + 1000 * MS);
    assert_eq!(response.sum_ns, service.sum_ns + lags.iter().sum::<u64>());
    assert_eq!((response.min_ns, response.max_ns), (CALL, 1000 * MS));
    let run = outcome.only_run();
    assert_eq!(run["schedule"]["lag_max_ns"], 999 * MS);
    assert_eq!((&run["schedule"]["lag_end_ns"], &run["schedule"]["dropped_events"]), (&0.into(), &0.into()));
    let shown = &outcome.flowop("stat1")["response_ns"];
    assert_eq!((&shown["max"], &run["total"]["response_ns"]["max"]), (&(1000 * MS).into(), &(1000 * MS).into()));
    assert!(shown["p90"].as_u64().unwrap() > 400 * MS, "a fifth of the operations began late: {shown}");
    assert!(outcome.flowop("stat1")["latency_ns"]["p99_9"].as_u64().unwrap() < 11_000);
    assert!(outcome.stdout.contains("\nbehind schedule: at most 999 ms, 0 ns at the end\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("\nfrom the due time"), "{}", outcome.stdout);
}

#[test]
fn a_stall_of_a_second_delays_a_thousand_of_a_thread_with_a_rate() {
    // Round 1000, from 0, is due after a second.
    let outcome = on_fake(&stats(",rate=1000", "", "run 5"), "stat=10us,slow=stat:1001:1s");
    a_stall_delays_a_thousand(&outcome, 5000, 1000);
}

#[test]
fn a_stall_of_a_second_delays_a_thousand_of_a_limited_thread() {
    // The first event comes after a millisecond, so one round less has its time, and the last is not done.
    for limiter in ["eventlimit", "opslimit"] {
        let text = stats("", &format!("flowop {limiter} name=limit"), "eventgen rate=1000\nrun 5");
        // What pays afterwards does its first operation at once.
        let stalled = if limiter == "eventlimit" { 1001 } else { 1002 };
        let outcome = on_fake(&text, &format!("stat=10us,slow=stat:{stalled}:1s"));
        a_stall_delays_a_thousand(&outcome, stalled + 3998, 1001);
    }
}

#[test]
fn what_never_catches_up_is_behind_at_the_end() {
    // Two milliseconds of work each: half of a second's thousand are done, the round of 500 ms is next.
    let outcome = on_fake(&stats(",rate=1000", "", "run 1"), "stat=2ms");
    assert_eq!(outcome.ops("stat1"), 500);
    let schedule = &outcome.only_run()["schedule"];
    assert_eq!((&schedule["lag_max_ns"], &schedule["lag_end_ns"]), (&(500 * MS).into(), &(500 * MS).into()));
    // The last that was done began 499 ms late.
    assert_eq!(outcome.flowop("stat1")["response_ns"]["max"], 501 * MS);
    assert_eq!(outcome.only_run()["intervals"][0]["lag_ns"], 500 * MS);
}

#[test]
fn events_that_are_too_old_are_counted_and_said() {
    let text = stats("", "flowop eventlimit name=limit", "eventgen rate=1000\nrun 10");
    let outcome = on_fake(&text, "stat=20ms");
    let schedule = &outcome.only_run()["schedule"];
    let dropped = schedule["dropped_events"].as_u64().unwrap();
    // Of ten seconds' events those of the last five are kept, and the others were used or are gone.
    assert!((4000..5000).contains(&dropped), "{dropped}");
    assert!(schedule["lag_max_ns"].as_u64().unwrap() <= 5000 * MS);
    assert!(outcome.stdout.contains(&format!("; {dropped} events came to nothing\n")), "{}", outcome.stdout);
}

#[test]
fn what_has_no_schedule_has_no_response_time() {
    let unlimited = stats("", "flowop eventlimit name=limit", "run 1");
    for text in [stats("", "", "run 1"), stats(",rate=0", "", "run 1"), unlimited] {
        let outcome = on_fake(&text, "stat=1ms");
        let flowop = outcome.flowop("stat1");
        assert_eq!((flowop.get("response_ns"), flowop.get("response")), (None, None));
        assert_eq!(outcome.only_run().get("schedule"), None);
        assert!(!outcome.stdout.contains("schedule") && !outcome.stdout.contains("due time"), "{}", outcome.stdout);
    }
}

/// Submitted operations were due when they were submitted, less the lag of their round.
#[test]
fn submitted_operations_have_response_times_too() {
    let text = "define file name=f,path=$dir,size=1m,prealloc
        define process name=p { thread name=t,rate=100 {
          flowop aiowrite name=stat1,filename=f,iosize=4k,outstanding=1
          flowop aiowait name=wait,value=0
        } }
        run 1";
    let outcome = on_fake(text, "write=20ms");
    let flowop = stat1(&outcome);
    let response = flowop.response.unwrap();
    assert_eq!(response.count, flowop.histogram.count);
    assert_eq!(flowop.histogram.max_ns, 20 * MS);
    // Each round takes 20 ms, and one is due each 10 ms; in the first one the file is opened, for 1 us.
    let lags = (0..response.count).map(|round| round * 10 * MS + if round > 0 { 1_000 } else { 0 });
    assert_eq!(response.sum_ns, flowop.histogram.sum_ns + lags.sum::<u64>());
}

/// On the real clock: with nothing that stalls the rate is kept, and the whole schedule is done.
#[test]
fn a_rate_is_kept() {
    let outcome = Bench::new(&stats(",rate=200,instances=2", "", "run 1")).run().exits(0);
    let ops = outcome.ops("stat1");
    assert!((200..=400).contains(&ops), "{ops}: never more than is due, and half of it on any machine");
    assert_eq!(outcome.flowop("stat1")["response_ns"]["min"].as_u64().map(|min| min > 0), Some(true));
}
