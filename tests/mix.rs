//! `mix` through the real binary: which flowops it comes to, and that this repeats.

use crate::support::{Bench, Outcome, example_of_the_language_page};

/// A thread that ends after so many choices.
fn mix(items: &str, count: u64) -> Bench {
    Bench::new(&format!(
        "define fileset name=f,path=$dir,entries=100,dirwidth=10,size=64k,prealloc
         define process name=p {{
           thread name=t,memsize=64k {{
             mix name=access {{ {items} }}
             flowop finishoncount name=enough,value={count}
           }}
         }}
         set mode quit firstdone
         run
        "
    ))
    .args(["--engine", "null"])
}

fn counts(outcome: &Outcome) -> Vec<(String, u64)> {
    let flowops = outcome.only_run()["flowops"].as_array().unwrap();
    flowops.iter().map(|f| (f["name"].as_str().unwrap().to_owned(), f["ops"].as_u64().unwrap())).collect()
}

#[test]
fn shares_are_those_of_the_weights() {
    const N: u64 = 30_000;
    let items = "flowop read name=r,filesetname=f,iosize=4k,random,weight=70
                 flowop write name=w,filesetname=f,iosize=4k,random,weight=30
                 flowop fsync name=never,filesetname=f,weight=0";
    let outcome = mix(items, N).run().exits(0);
    let (r, w) = (outcome.ops("r"), outcome.ops("w"));
    assert_eq!((r + w, outcome.ops("never")), (N, 0));
    // Four standard deviations of a binomial distribution: a chance of 1 in 16000, and the seed is fixed.
    let deviation = (N as f64 * 0.7 * 0.3).sqrt();
    assert!((r as f64 - N as f64 * 0.7).abs() < 4.0 * deviation, "{r} and {w}");
    assert_eq!(outcome.bytes("r"), r * 4096);
    // Rows are called what the workload calls them, and a mix has none.
    let names: Vec<String> = counts(&outcome).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["r", "w", "never", "enough"]);
    // What is never chosen is left out on purpose: no row for people, and no warning.
    assert!(!outcome.stdout.contains("never"), "{}", outcome.stdout);
}

#[test]
fn the_same_seed_chooses_the_same_and_another_another() {
    let items = "flowop statfile name=a,filesetname=f flowop statfile name=b,filesetname=f
                 flowop statfile name=c,filesetname=f";
    let run = |seed: &str| counts(&mix(items, 5_000).args(["--seed", seed]).run().exits(0));
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

/// What a mix chooses is done `iters` times, as anywhere; and so is a mix.
#[test]
fn composites_and_mixes_within_a_mix() {
    let text = "define fileset name=f,path=$dir,entries=100,dirwidth=10,size=64k,prealloc
         define flowop name=pair,$n { mix iters=$n { flowop statfile name=one,filesetname=f } }
         define process name=p {
           thread name=t {
             mix iters=1000 {
               flowop pair name=use,iters=2,$n=3
               mix { flowop statfile name=inner,filesetname=f,iters=5 flowop statfile name=no,filesetname=f,weight=0 }
             }
             flowop finishoncount name=enough,value=1
           }
         }
         set mode quit firstdone
         run
        ";
    let outcome = Bench::new(text).args(["--engine", "null"]).run().exits(0);
    let (use_one, inner) = (outcome.ops("use.one"), outcome.ops("inner"));
    assert_eq!((use_one % 6, inner % 5, outcome.ops("no")), (0, 0, 0));
    assert_eq!(use_one / 6 + inner / 5, 1000, "each of the choices is one or the other");
    assert!(use_one > 0 && inner > 0);
}

/// A target may be in a mix; and where a mix comes to nothing that can be done, the run goes on to its end.
#[test]
fn targets_and_idle_choices() {
    let text = "define fileset name=f,path=$dir,entries=100,dirwidth=10,size=64k,prealloc
         define process name=p {
           thread name=t {
             mix { flowop statfile name=s,filesetname=f flowop statfile name=other,filesetname=f }
             flowop finishoncount name=enough,value=100,target=s
           }
         }
         set mode quit firstdone
         run
        ";
    let outcome = Bench::new(text).args(["--engine", "null"]).run().exits(0);
    assert_eq!(outcome.ops("s"), 100);
    let text = "define fileset name=f,path=$dir,entries=100,dirwidth=10,size=64k,prealloc
         define process name=p {
           thread name=busy { flowop statfile name=s,filesetname=f }
           thread name=idle { mix iters=1000000000 { flowop statfile name=none,filesetname=f,iters=0 } }
         }
         run 10ms
        ";
    let outcome = Bench::new(text).args(["--engine", "fake:stat=20us"]).run().exits(0);
    assert_eq!((outcome.ops("s"), outcome.ops("none")), (500, 0));
    assert_eq!(outcome.only_run()["ended"], "time");
}

#[test]
fn the_example_of_the_language_page_runs() {
    let text = example_of_the_language_page("## Mixes");
    let outcome = Bench::new(&text).args(["--engine", "fake:other=10us", "--runtime", "20ms"]).run().exits(0);
    assert!(outcome.only_run()["total"]["ops"].as_u64().unwrap() > 0);
}
