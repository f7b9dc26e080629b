//! The rate of the event generator: exact, one for all threads of all processes, and fair among them.

use crate::support::Bench;

/// Processes of threads that stat and pay for it, each with names of its own, so that each has its row.
fn payers(rate: &str, limiter: &str, processes: u32, threads: u32, run: &str) -> String {
    let mut text =
        format!("eventgen rate={rate}\ndefine fileset name=f,path=$dir,entries=64,size=4k,dirwidth=64,prealloc\n");
    for p in 0..processes {
        text += &format!("define process name=p{p} {{\n");
        for t in 0..threads {
            let name = format!("{p}{t}");
            text += &format!(
                "thread name=t{name} {{ flowop read name=read{name},filename=f,iosize=4k,random\n flowop {limiter} name=limit{name} }}\n"
            );
        }
        text += "}\n";
    }
    text + run
}

/// Operations of each row whose name begins so.
fn ops(run: &serde_json::Value, prefix: &str) -> Vec<u64> {
    let rows = run["flowops"].as_array().unwrap();
    let named = rows.iter().filter(|row| row["name"].as_str().unwrap().starts_with(prefix));
    named.map(|row| row["ops"].as_u64().unwrap()).collect()
}

/// The clock of the engine `fake` is each thread's own, and goes from event to event: what is paid for is exact.
#[test]
fn each_limiter_pays_for_what_its_name_says() {
    // Events per second, and the reads that one pays for: a MiB is 256 of 4 KiB.
    for (limiter, rate, each) in [("eventlimit", 50, 1), ("opslimit", 50, 1), ("iopslimit", 50, 1), ("bwlimit", 2, 256)]
    {
        let text = payers(&rate.to_string(), limiter, 1, 1, "run 2");
        let outcome = Bench::new(&text).args(["--engine", "fake:read=1us"]).run();
        assert_eq!(outcome.code, 0, "{limiter}: {}", outcome.stderr);
        let reads = ops(outcome.only_run(), "read");
        // A read is paid for after it is done. The last event comes when the run is over, with what it pays for begun.
        assert_eq!(reads, [(2 * rate - 1) * each + 1], "{limiter}");
    }
}

#[test]
fn a_rate_is_that_of_all_threads_of_all_processes_and_each_gets_its_share() {
    for limiter in ["eventlimit", "opslimit", "iopslimit"] {
        let text = payers("400", limiter, 2, 3, "run 1");
        let round = || {
            let outcome = Bench::new(&text).run();
            assert_eq!(outcome.code, 0, "{limiter}: {}", outcome.stderr);
            let run = outcome.only_run();
            let reads = ops(run, "read");
            let total = reads.iter().sum::<u64>();
            // However slow the machine is, no thread reads before it has paid, but for its first read.
            let events = 400 * run["elapsed_ns"].as_u64().unwrap() / 1_000_000_000;
            assert!(total <= events + 6, "{limiter}: {total} reads for {events} events: {reads:?}");
            assert!(total >= 100, "{limiter}: a quarter of the rate at the least, on any machine: {reads:?}");
            reads
        };
        // A thread waits for the event after those that others wait for, so none is left behind. On a machine that halts
        // all but one thread for a while, that one has what the others did not come for, so another round may be needed.
        let mut seen = Vec::new();
        let even = (0..5).any(|_| {
            let reads = round();
            let (most, least) = (*reads.iter().max().unwrap(), *reads.iter().min().unwrap());
            seen.push(reads);
            least * 2 >= most
        });
        assert!(even, "{limiter}: {seen:?}");
    }
}

#[test]
fn the_rate_may_be_a_variable_that_is_set_later_and_calculated() {
    let text = payers("$rate * 10 - (2 + 3) * 2", "eventlimit", 1, 1, "set $rate=6\nrun 2");
    let outcome = Bench::new(&text).args(["--engine", "fake:read=1us"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(ops(outcome.only_run(), "read"), [100]);
    let faster = Bench::new(&text).args(["--engine", "fake:read=1us", "--set", "rate=11"]).run();
    assert_eq!(ops(faster.only_run(), "read"), [200]);
}

/// filebench's generator spins for the whole run at this rate.
#[test]
fn a_rate_of_nothing_limits_nothing_and_burns_no_processor() {
    let text = payers("0", "eventlimit", 1, 1, "run 1");
    let outcome = Bench::new(&text).args(["--engine", "fake:read=1ms"]).run();
    let reads = ops(outcome.only_run(), "read")[0];
    assert!((999..=1000).contains(&reads), "{reads}");

    let idle = "eventgen rate=0\ndefine file name=f,path=$dir,size=4k,prealloc\n\
        define process name=p { thread name=t { flowop read name=r,filename=f,iosize=4k,random\n \
        flowop eventlimit name=limit\n flowop delay name=d,value=1 } }\nrun 2";
    // The shell says what its children used, and theirs that they waited for.
    let outcome = Bench::new(idle).under(["bash", "-c", "\"$@\"; code=$?; times >&2; exit $code", "bash"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let used: f64 = outcome.stderr.lines().last().unwrap().split(' ').map(seconds).sum();
    // A thread that spins, here or in a worker, takes the two seconds or, beside others, a good part of them.
    assert!(used < 0.5, "{used} s of processor time in 2 s");
}

/// `1m2.345s` as bash writes it.
fn seconds(text: &str) -> f64 {
    let (minutes, rest) = text.split_once('m').unwrap();
    60.0 * minutes.parse::<f64>().unwrap() + rest.trim_end_matches('s').parse::<f64>().unwrap()
}
