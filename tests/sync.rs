//! Threads of several processes that wait for each other. Where a count can be exact it is.

use crate::support::{Bench, Outcome};
use serde_json::json;

/// Both ways in which a process instance can live.
const MODELS: [&str; 2] = ["processes", "threads"];

fn run(text: &str, model: &str) -> Outcome {
    Bench::new(text).args(["--process-model", model]).run()
}

#[track_caller]
fn in_flight(outcome: &Outcome, name: &str) -> u64 {
    outcome.flowop(name)["in_flight"].as_u64().unwrap()
}

#[test]
fn every_post_of_two_processes_is_taken_by_each_of_two_others() {
    let text = "set mode quit alldone
        define process name=producer,instances=2 {
          thread name=t {
            flowop sempost name=post,target=take,value=1,blocking
            flowop finishoncount name=enough1,value=500,target=post
          }
        }
        define process name=consumer,instances=2 {
          thread name=t {
            flowop semblock name=take,value=2,highwater=3
            flowop finishoncount name=enough2,value=500,target=take
          }
        }
        run\n";
    for model in MODELS {
        let outcome = run(text, model).exits(0);
        assert_eq!((outcome.ops("post"), outcome.ops("take")), (1000, 1000), "{model}");
        assert_eq!(outcome.flowop("take")["class"], "control");
        assert_eq!(outcome.only_run()["total"]["ops"], 0);
    }
}

/// Otherwise the first wait of one use would end by the wakeup of the other, or never.
#[test]
fn in_a_composite_who_waits_there_comes_before_who_has_the_name_elsewhere() {
    let text = "set mode quit alldone
        define flowop name=pair {
          flowop wakeup name=wake,target=wait
          flowop block name=wait
          flowop sempost name=post,target=take,value=2
          flowop semblock name=take,value=2
          flowop wakeup name=outside,target=alone
        }
        define process name=p {
          thread name=t {
            flowop pair name=one
            flowop pair name=two,iters=2
            flowop finishoncount name=enough,value=40,target=two.wait
          }
          thread name=u {
            flowop block name=alone
            flowop block name=wait
            flowop finishoncount name=enough2,value=1,target=alone
          }
          thread name=v {
            flowop wakeup name=last,target=wait
            flowop finishoncount name=enough3,value=1,target=last
          }
        }
        run\n";
    for model in MODELS {
        let outcome = run(text, model).exits(0);
        assert_eq!(["one.wait", "two.wait", "one.take", "two.take"].map(|name| outcome.ops(name)), [20, 40, 20, 40]);
        assert_eq!((outcome.ops("alone"), outcome.ops("wait")), (1, 1), "{model}");
    }
}

#[test]
fn blocking_posts_are_never_more_than_the_highwater_ahead() {
    let text = "set mode quit firstdone
        define process name=producer,instances=2 {
          thread name=t,instances=3 { flowop sempost name=post,target=take,value=1,blocking }
        }
        define process name=consumer {
          thread name=t {
            flowop semblock name=take,value=3,highwater=2
            flowop finishoncount name=enough,value=700,target=take
          }
        }
        run\n";
    for model in MODELS {
        let outcome = run(text, model).exits(0);
        let (posts, takes) = (outcome.ops("post"), outcome.ops("take"));
        assert_eq!(takes, 700);
        assert!(posts <= 3 * takes + 2, "{posts}");
        // What was posted at the very end may have come back after the window.
        assert!(posts + in_flight(&outcome, "post") >= 3 * takes, "{posts}");
    }
}

#[test]
fn processes_wake_each_other_in_turns() {
    let text = "set mode quit alldone
        define process name=one {
          thread name=t {
            flowop wakeup name=ping,target=wait2
            flowop block name=wait1
            flowop finishoncount name=enough1,value=500,target=wait1
          }
        }
        define process name=two {
          thread name=t {
            flowop block name=wait2
            flowop wakeup name=pong,target=wait1
            flowop finishoncount name=enough2,value=500,target=pong
          }
        }
        run\n";
    for model in MODELS {
        let outcome = run(text, model).exits(0);
        for name in ["ping", "pong", "wait1", "wait2"] {
            assert_eq!(outcome.ops(name), 500, "{name} {model}");
        }
    }
}

#[test]
fn wakeups_that_come_early_are_kept_for_every_instance() {
    let text = "set mode quit alldone
        define process name=waker {
          thread name=t {
            flowop wakeup name=wake,target=wait,iters=100
            flowop finishoncount name=enough1,value=100,target=wake
          }
        }
        define process name=sleeper,instances=2 {
          thread name=t,instances=2 {
            flowop delay name=late,value=30ms
            flowop block name=wait,iters=100
            flowop finishoncount name=enough2,value=100,target=wait
          }
        }
        run\n";
    let outcome = run(text, "processes").exits(0);
    assert_eq!((outcome.ops("wake"), outcome.ops("wait")), (100, 400));
}

#[test]
fn a_window_in_which_everybody_waits_closes_on_time_and_measured_nothing() {
    let text = "define process name=p,instances=2 {
          thread name=waits { flowop block name=never }
          thread name=takes { flowop semblock name=take,value=2,highwater=0 }
        }
        define process name=q {
          thread name=posts { flowop sempost name=post,target=take,value=100,blocking }
        }
        run 1\n";
    for model in MODELS {
        let outcome = run(text, model).exits(1).says("no operation finished");
        let record = outcome.only_run();
        assert_eq!((&record["ended"], &record["valid"]), (&json!("time"), &json!(false)));
        assert_eq!(record["elapsed_ns"], 1_000_000_000_u64);
        assert_eq!(in_flight(&outcome, "never") + in_flight(&outcome, "take") + in_flight(&outcome, "post"), 5);
        assert_eq!(record["failures"], json!([]));
    }
}

#[test]
fn an_early_end_wakes_who_waits_in_other_processes() {
    // Without a length the waits have no time of their own.
    let text = "set mode quit firstdone
        define fileset name=f,path=$dir,entries=2,dirwidth=2,size=0,prealloc
        define process name=waiters,instances=2 {
          thread name=t,instances=4 { flowop semblock name=take,value=1 }
          thread name=u { flowop block name=never }
        }
        define process name=worker {
          thread name=t {
            flowop delay name=late,value=20ms
            flowop statfile name=stat,filesetname=f
            flowop finishoncount name=enough,value=10,target=stat
          }
        }
        run\n";
    for model in MODELS {
        let outcome = run(text, model).exits(0);
        assert_eq!((outcome.ops("stat"), outcome.ops("take"), outcome.ops("never")), (10, 0, 0));
        assert!(in_flight(&outcome, "take") <= 8);
    }
}

#[test]
fn a_wait_is_the_latency_of_its_operation() {
    let text = "set mode quit alldone
        define process name=waker {
          thread name=t {
            flowop block name=there
            flowop delay name=pause,value=50ms
            flowop wakeup name=wake,target=wait
            flowop finishoncount name=enough1,value=1,target=wake
          }
        }
        define process name=sleeper {
          thread name=t {
            flowop wakeup name=here,target=there
            flowop block name=wait
            flowop finishoncount name=enough2,value=1,target=wait
          }
        }
        run\n";
    let outcome = run(text, "processes").exits(0);
    let pause = outcome.flowop("pause")["latency_ns"]["min"].as_u64().unwrap();
    let wait = outcome.flowop("wait")["latency_ns"]["max"].as_u64().unwrap();
    let from_here = outcome.flowop("here")["latency_ns"]["max"].as_u64().unwrap();
    assert!(pause >= 50_000_000);
    // The pause may have begun before the sleeper went from `here` to `wait`, by what a busy machine makes of that.
    assert!(wait + from_here > pause / 2, "{wait} {pause}");
}

#[test]
fn each_run_of_a_text_begins_with_nothing_posted() {
    let text = "define process name=p {
          thread name=posts { flowop sempost name=post,target=take,value=1,blocking }
          thread name=takes {
            flowop delay name=late,value=1000
            flowop semblock name=take,value=1,highwater=7
          }
        }
        run 500ms
        run 500ms\n";
    let outcome = Bench::new(text).run().exits(0);
    for run in outcome.runs() {
        let post = run["flowops"].as_array().unwrap().iter().find(|flowop| flowop["name"] == "post").unwrap();
        assert_eq!((&post["ops"], &post["in_flight"]), (&json!(7), &json!(1)));
    }
}

#[test]
fn on_a_stepped_clock_a_wait_that_nobody_has_ended_goes_to_the_end_of_the_window() {
    let text = "define process name=p {
          thread name=t {
            flowop wakeup name=wake,target=wait,iters=3
            flowop block name=wait,iters=4
          }
        }
        run 2\n";
    let outcome = Bench::new(text).args(["--engine", "fake"]).run().exits(0);
    assert_eq!((outcome.ops("wake"), outcome.ops("wait"), in_flight(&outcome, "wait")), (3, 3, 1));
    assert_eq!(outcome.only_run()["elapsed_ns"], 2_000_000_000_u64);
}

#[test]
fn a_target_is_looked_for_everywhere_and_must_be_of_its_type() {
    let text = |target: &str| {
        format!(
            "define process name=p {{ thread name=t {{ flowop wakeup name=w,target={target} }} }}
             define process name=q {{ thread name=t {{ flowop block name=sleeper }} }}
             run 1\n"
        )
    };
    Bench::new(&text("sleeper")).check().exits(0);
    Bench::new(&text("sleepr")).check().exits(2).says("'sleepr'").says("did you mean 'sleeper'?").says(".wl:1:69]");
    Bench::new(&text("w")).run().exits(2).says("'w' is a flowop wakeup, not a block");
}

#[test]
fn a_printed_line_has_the_names_of_its_thread_and_is_no_operation() {
    let text = "set mode quit alldone
        set $n=7
        set $v=randvar(type=uniform,mean=100)
        define process name=p,instances=2 {
          thread name=t {
            flowop print name=hello,value=\"pass of ${n}\"
            flowop testrandvar name=try,value=$v
            flowop delay name=d,value=1ms
            flowop finishoncount name=enough,value=3,target=d
          }
        }
        run\n";
    for model in MODELS {
        let outcome = run(text, model).exits(0);
        let lines = |text: &str| outcome.stderr.lines().filter(|line| line.contains(text)).count();
        for instance in 0..2 {
            let place = format!("Message from process (p,{instance}), thread (t,0): ");
            assert_eq!(lines(&format!("{place}pass of 7")), 3, "{}", outcome.stderr);
            assert_eq!(lines(&format!("{place}testrandvar try: ops = 3, mean = ")), 1, "{}", outcome.stderr);
        }
        assert_eq!((outcome.ops("hello"), outcome.ops("try"), outcome.ops("d")), (0, 0, 6));
        assert!(!outcome.stdout.contains("Message"), "the report is by itself");
    }
}
