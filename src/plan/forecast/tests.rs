use super::*;
use crate::diagnostic::Diagnostics;
use crate::plan::{Options, plan};
use crate::source::SourceFile;
use crate::syntax::{NoLibrary, Texts};

fn planned(text: &str) -> Plan {
    let file = SourceFile::new("test.wl", text);
    let mut diagnostics = Diagnostics::new();
    let texts = Texts::read(file, &NoLibrary, &mut diagnostics);
    let options = Options { dir: Some("/d".into()), base: "/d".into(), seed: 1, ..Options::default() };
    let plan = plan(&texts, &options, &mut diagnostics);
    plan.unwrap_or_else(|| panic!("{}", diagnostics.render(texts.sources(), false)))
}

fn forecasts(text: &str) -> Vec<RunForecast> {
    let plan = planned(text);
    let mut means = Means::new(&plan.variables);
    let sizes = Sizes::of(&plan, &mut means);
    forecast(&plan, &sizes, &mut means)
}

fn only(text: &str) -> RunForecast {
    let mut runs = forecasts(text);
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// Two sets of ten files of 4 KiB, one with all and one without any, and half of four leaf directories.
const SETS: &str = "define fileset name=full,path=$dir,entries=10,dirwidth=10,size=4k,prealloc\n\
                    define fileset name=empty,path=$dir,entries=10,dirwidth=10,size=4k\n\
                    define fileset name=dirs,path=$dir,leafdirs=4,dirwidth=10,prealloc=50\n";

/// A run of ten seconds of these threads.
fn of(threads: &str) -> RunForecast {
    only(&format!("{SETS}define process name=p {{\n{threads}\n}}\nrun 10\n"))
}

fn thread(flowops: &str) -> RunForecast {
    of(&format!("thread name=t {{ {flowops} }}"))
}

fn kinds(run: &RunForecast) -> Vec<(FindingKind, Weight, &str)> {
    run.findings.iter().map(|f| (f.kind, f.weight, f.flowop.as_deref().unwrap_or_default())).collect()
}

#[track_caller]
fn finds(run: &RunForecast, kind: FindingKind, weight: Weight, flowop: &str, words: &[&str]) {
    assert_eq!(kinds(run), [(kind, weight, flowop)], "{:#?}", run.findings);
    for word in words {
        assert!(run.findings[0].message.contains(word), "'{word}' in: {}", run.findings[0].message);
    }
    assert!(run.findings[0].span.is_some() && !run.findings[0].help.is_empty());
}

#[track_caller]
fn finds_nothing(run: &RunForecast) {
    assert_eq!(kinds(run), [], "{:#?}", run.findings);
}

use FindingKind::*;
use Weight::*;

#[test]
fn a_round_is_counted_by_iters_and_by_those_of_composites() {
    let run = only(&format!(
        "{SETS}define flowop name=twice {{\n\
           flowop statfile name=s,filesetname=full,iters=3\n\
           flowop read name=r,filesetname=full,iosize=1k,fd=2\n\
         }}\n\
         define process name=p,instances=2 {{ thread name=t,instances=3 {{\n\
           flowop twice name=c,iters=2\n\
           flowop write name=w,filesetname=full,iosize=4k,fd=1,iters=5\n\
           flowop statfile name=never,filesetname=full,iters=0\n\
           flowop delay name=d,value=0.001\n\
         }} }}\nrun 10\n"
    ));
    let [thread] = run.threads.as_slice() else { panic!() };
    let times: Vec<(&str, f64, f64, bool)> =
        thread.flowops.iter().map(|f| (f.name.as_str(), f.ops_per_round, f.bytes_per_op, f.exact)).collect();
    let expected = [
        ("c.s", 6.0, 0.0, true),
        ("c.r", 2.0, 1024.0, true),
        ("w", 5.0, 4096.0, true),
        ("never", 0.0, 0.0, true),
        ("d", 1.0, 0.0, true),
    ];
    assert_eq!(times, expected);
    assert_eq!(thread.instances, 6);
    let one = Mix { reads: 2.0, writes: 5.0, metadata: 6.0, bytes_read: 2048.0, bytes_written: 20_480.0 };
    assert_eq!(thread.round, one);
    assert_eq!((run.round.ops(), run.round.bytes_written), (6.0 * 13.0, 6.0 * 20_480.0));
    assert_eq!(thread.descriptors, 2);
}

#[test]
fn random_numbers_are_their_means_as_they_are_drawn() {
    let run = thread(
        "flowop statfile name=s,filesetname=full,iters=randvar(type=uniform,mean=2)\n\
         flowop write name=w,filesetname=full,iosize=randvar(type=uniform,mean=8192),fd=1\n\
         flowop appendfilerand name=a,filesetname=full,iosize=7,fd=1\n\
         flowop appendfilerand name=b,filesetname=full,iosize=16k,directio,fd=2\n",
    );
    let flowops = &run.threads[0].flowops;
    assert!(flowops.iter().all(|flowop| !flowop.exact));
    // 0 to 4, each fraction dropped: 0, 1, 2 and 3 come up.
    assert!((flowops[0].ops_per_round - 1.5).abs() < 0.02, "{}", flowops[0].ops_per_round);
    assert_eq!([flowops[1].bytes_per_op, flowops[2].bytes_per_op, flowops[3].bytes_per_op], [8192.0, 4.0, 10_240.0]);
}

#[test]
fn a_whole_file_is_as_large_as_its_set_says_or_that_of_srcfd() {
    let run = thread(
        "flowop openfile name=o,filesetname=full,fd=1\n\
         flowop readwholefile name=r,fd=1,iosize=1k\n\
         flowop createfile name=c,filesetname=empty,fd=2\n\
         flowop writewholefile name=w,srcfd=1,fd=2,iosize=1k\n\
         flowop deletefile name=x,filesetname=empty,fd=2\n\
         flowop closefile name=k1,fd=1\n\
         flowop closefile name=k2,fd=2\n",
    );
    finds_nothing(&run);
    let bytes: Vec<f64> = run.threads[0].flowops.iter().map(|f| f.bytes_per_op).collect();
    assert_eq!(bytes, [0.0, 4096.0, 0.0, 4096.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_limiter_caps_what_its_events_pay_for() {
    let limited = |limiter: &str, more: &str| {
        let run = only(&format!(
            "{SETS}eventgen rate=100\ndefine process name=p {{ thread name=t {{\n\
               flowop read name=r,filesetname=full,iosize=1m,fd=1\n\
               flowop statfile name=s,filesetname=full,iters=3\n\
               {limiter}\n }} {more} }}\nrun 10\n"
        ));
        run.limit.unwrap().ops_per_s_at_most.map(f64::round)
    };
    assert_eq!(limited("flowop eventlimit name=l", ""), Some(400.0));
    assert_eq!(limited("flowop opslimit name=l", ""), Some(100.0));
    assert_eq!(limited("flowop opslimit name=l\nflowop opslimit name=m", ""), Some(50.0));
    assert_eq!(limited("flowop iopslimit name=l", ""), Some(400.0));
    assert_eq!(limited("flowop iopslimit name=l,target=s", ""), Some(133.0));
    assert_eq!(limited("flowop bwlimit name=l", ""), Some(400.0));
    assert_eq!(limited("", ""), None);
    let free = "thread name=u { flowop statfile name=s2,filesetname=full }";
    assert_eq!(limited("flowop opslimit name=l", free), None);
    let idle = "thread name=u { flowop delay name=d,value=1 }";
    assert_eq!(limited("flowop opslimit name=l", idle), Some(100.0));
}

#[test]
fn a_slot_that_is_opened_while_open_fails_in_the_second_round() {
    let run = thread("flowop openfile name=o,filesetname=full,fd=1\nflowop read name=r,fd=1,iosize=1k");
    finds(&run, StillOpen, Certain, "o", &["second round", "slot 1"]);
    let run =
        thread("flowop read name=r,filesetname=full,iosize=1k,fd=1\nflowop openfile name=o,filesetname=full,fd=1");
    finds(&run, StillOpen, Certain, "o", &["slot 1", "file of r"]);
    assert!(!run.findings[0].message.contains("second"));
    for fine in [
        "flowop openfile name=o,filesetname=full,fd=1\nflowop closefile name=c,fd=1",
        // It ends before it comes to a second round.
        "flowop openfile name=o,filesetname=full,fd=1\nflowop finishoncount name=e,value=1,target=o",
        "flowop openfile name=o,filesetname=full,fd=1\nflowop delay name=d,value=10",
        // Opened on its own and never closed is how most workloads read.
        "flowop read name=r,filesetname=full,iosize=1k,fd=1,iters=9",
        "flowop openfile name=o,filesetname=full,fd=1,iters=randvar(type=uniform,mean=1)",
    ] {
        finds_nothing(&thread(fine));
    }
    finds(&thread("flowop openfile name=o,filesetname=full,fd=1,iters=2"), StillOpen, Certain, "o", &["its own"]);
}

#[test]
fn a_rotation_that_nothing_closes_comes_round() {
    let opens = "flowop openfile name=o,filesetname=full,opennext";
    let run = thread(opens);
    finds(&run, StillOpen, Certain, "o", &["128"]);
    assert_eq!(run.threads[0].descriptors, 128);
    finds_nothing(&thread(&format!("{opens}\nflowop closefile name=c,opennext")));
    finds_nothing(&thread("flowop read name=r,filesetname=full,opennext,iosize=1k"));
}

#[test]
fn a_slot_that_nobody_opens_is_named() {
    finds(&thread("flowop closefile name=c,fd=3"), NotOpen, Certain, "c", &["slot 3"]);
    finds(
        &thread("flowop read name=r,filesetname=full,iosize=1k\nflowop fsync name=f,fd=1"),
        NotOpen,
        Certain,
        "f",
        &["slot 1"],
    );
    finds(&thread("flowop read name=r,iosize=1k,fd=1"), NotOpen, Certain, "r", &["no filesetname"]);
    let twice =
        "flowop openfile name=o,filesetname=full,fd=1\nflowop closefile name=c,fd=1\nflowop closefile name=d,fd=1";
    finds(&thread(twice), NotOpen, Certain, "d", &["slot 1"]);
    finds_nothing(&thread("flowop write name=w,filesetname=full,iosize=1k,fd=1\nflowop fsync name=f,fd=1"));
    let by_chance = "flowop openfile name=o,filesetname=full,fd=1,iters=randvar(type=uniform,mean=1)\n\
                     flowop closefile name=c,fd=1";
    finds_nothing(&thread(by_chance));
}

#[test]
fn a_slot_with_a_file_of_another_set_is_named() {
    let text = |set: &str| {
        format!(
            "flowop openfile name=o,filesetname=full,fd=1\nflowop read name=r,filesetname={set},iosize=1k,fd=1\n\
             flowop createfile name=c,filesetname=empty,fd=2\nflowop deletefile name=x,filesetname=empty,fd=2\n\
             flowop closefile name=k,fd=2\nflowop closefile name=l,fd=1"
        )
    };
    finds(&thread(&text("empty")), OtherSet, Certain, "r", &["full", "empty"]);
    finds_nothing(&thread(&text("full")));
}

#[test]
fn a_way_of_opening_belongs_to_who_opens() {
    let text = |open: &str, write: &str| {
        format!(
            "flowop openfile name=o,filesetname=full,fd=1{open}\nflowop write name=w,fd=1,iosize=4k{write}\n\
             flowop closefile name=c,fd=1"
        )
    };
    finds(&thread(&text("", ",dsync")), NoEffect, Certain, "w", &["'dsync'", "o opens"]);
    finds(&thread(&text(",dsync", ",directio")), NoEffect, Certain, "w", &["'directio'"]);
    finds_nothing(&thread(&text(",dsync", ",dsync")));
    finds_nothing(&thread("flowop write name=w,filesetname=full,iosize=4k,dsync"));
}

#[test]
fn waits_that_nobody_ends_and_posts_that_nobody_takes() {
    finds(&thread("flowop block name=b"), WaitsForEver, Certain, "b", &["no flowop"]);
    let pair = |first: &str, second: &str| of(&format!("thread name=t {{ {first} }}\nthread name=u {{ {second} }}"));
    finds_nothing(&pair("flowop block name=b", "flowop wakeup name=w,target=b"));
    finds_nothing(&pair(
        "flowop wakeup name=v,target=c\nflowop block name=b",
        "flowop block name=c\nflowop wakeup name=w,target=b",
    ));
    let run = pair(
        "flowop block name=b\nflowop wakeup name=v,target=c",
        "flowop block name=c\nflowop wakeup name=w,target=b",
    );
    assert_eq!(kinds(&run), [(WaitsForEver, Certain, "b"), (WaitsForEver, Certain, "c")]);
    assert!(run.findings[0].message.contains("w of thread u"), "{}", run.findings[0].message);
    finds(
        &pair("flowop semblock name=s,value=1,iters=0", "flowop sempost name=x,value=1,target=s"),
        NobodyWaits,
        Certain,
        "x",
        &["nobody waits"],
    );
    finds_nothing(&pair("flowop semblock name=s,value=5", "flowop sempost name=x,value=1,target=s"));
    let by_chance = "flowop block name=b,iters=randvar(type=uniform,mean=1)\nflowop wakeup name=w,target=b";
    finds_nothing(&thread(by_chance));
}

#[test]
fn a_set_without_the_entries_that_are_wanted_first() {
    let some = "exist at the start";
    finds(&thread("flowop statfile name=s,filesetname=empty"), RunsDry, Certain, "s", &["0 of 10", some]);
    finds(&thread("flowop deletefile name=d,filesetname=empty"), RunsDry, Certain, "d", &["0 of 10", some]);
    finds(&thread("flowop read name=r,filesetname=empty,iosize=1k"), RunsDry, Certain, "r", &["0 of 10"]);
    let create = "flowop createfile name=c,filesetname=full,fd=1\nflowop closefile name=k,fd=1";
    finds(&thread(create), RunsDry, Certain, "c", &["all 10", some]);
    // Whoever removes first makes room.
    finds_nothing(&thread(&format!("flowop deletefile name=d,filesetname=full\n{create}")));
    // It is not known who comes first.
    let other = "thread name=u { flowop deletefile name=d,filesetname=full }";
    finds_nothing(&of(&format!("thread name=t {{ {create} }} {other}")));
    let made = "flowop createfile name=c,filesetname=empty,fd=1\nflowop closefile name=k,fd=1\n\
                flowop statfile name=s,filesetname=empty\nflowop deletefile name=d,filesetname=empty";
    finds_nothing(&thread(made));
}

#[test]
fn what_an_earlier_run_made_is_there() {
    let text = |first: &str| {
        format!(
            "{SETS}define process name=p {{ thread name=t {{ {first}\nflowop statfile name=s,filesetname=empty }} }}\n\
             set mode quit firstdone\nrun 1\nrun 1\n"
        )
    };
    let runs = forecasts(&text("flowop createfile name=c,filesetname=empty,fd=1\nflowop closefile name=k,fd=1"));
    runs.iter().for_each(finds_nothing);
    for run in forecasts(&text("")) {
        finds(&run, RunsDry, Certain, "s", &["0 of 10"]);
    }
    assert_eq!(certain(&planned(&text(""))).len(), 1, "of two runs that say the same");
}

#[test]
fn a_set_runs_dry_after_a_number_of_rounds() {
    let mkdirs = thread("flowop makedir name=m,filesetname=dirs");
    finds(&mkdirs, RunsDry, Possible, "m", &["2 that do not exist", "after 2 operations", "round 3", "0.2 a second"]);
    let rmdirs = thread("flowop removedir name=m,filesetname=dirs,iters=2");
    finds(&rmdirs, RunsDry, Possible, "m", &["2 that exist", "after 2 operations", "round 2"]);
    let both = "flowop createfile name=c,filesetname=empty,fd=1,iters=1\nflowop closefile name=k,fd=1\n\
                flowop createfile name=c2,filesetname=empty,fd=1\nflowop closefile name=k2,fd=1\n\
                flowop deletefile name=d,filesetname=empty";
    // The height of round n is n + 1: ten files are there in round 9, and the eleventh is wanted in round 10.
    finds(&thread(both), RunsDry, Possible, "c", &["round 10", "1 more than are removed"]);
    let many = of("thread name=t,instances=4 { flowop removedir name=m,filesetname=dirs }");
    finds(&many, RunsDry, Possible, "m", &["after 2 operations", "about 0.5 rounds"]);
}

#[test]
fn a_set_that_lasts_or_whose_end_is_wanted_is_no_trouble() {
    let make = "flowop createfile name=c,filesetname=empty,fd=1\nflowop closefile name=k,fd=1";
    let in_mode = |mode: &str, end: &str, head: &str| {
        only(&format!(
            "{SETS}{head}\nset mode quit {mode}\ndefine process name=p {{ thread name=t {{ {make}\n{end} }} }}\nrun 10\n"
        ))
    };
    finds(&in_mode("timeout", "", ""), RunsDry, Possible, "c", &["after 10 operations", "round 11"]);
    finds_nothing(&in_mode("firstdone", "", ""));
    finds_nothing(&in_mode("alldone", "", ""));
    finds_nothing(&in_mode("timeout", "flowop deletefile name=d,filesetname=empty", ""));
    finds_nothing(&in_mode("timeout", "flowop finishoncount name=e,target=c,value=10", ""));
    let beyond = in_mode("timeout", "flowop finishoncount name=e,target=c,value=11", "");
    finds(&beyond, RunsDry, Possible, "c", &["after 10 operations"]);
    // An event a second makes ten files in ten seconds, and one more is under way; half as many last.
    finds(&in_mode("timeout", "flowop eventlimit name=l", "eventgen rate=1"), RunsDry, Possible, "c", &[]);
    finds_nothing(&in_mode("timeout", "flowop eventlimit name=l,iters=2", "eventgen rate=1"));
}

#[test]
fn requests_that_do_not_fit() {
    let random = "flowop read name=r,filesetname=full,random,iosize=";
    finds(&thread(&format!("{random}8k")), TooLarge, Certain, "r", &["8192", "4096"]);
    finds_nothing(&thread(&format!("{random}4k")));
    finds_nothing(&thread("flowop read name=r,filesetname=full,iosize=8k"));
    finds_nothing(&thread("flowop write name=r,filesetname=full,random,iosize=8k,workingset=1m"));
    finds(&thread(&format!("{random}4k,workingset=2k")), TooLarge, Certain, "r", &["4096", "2048"]);
    let direct = "flowop read name=r,filesetname=full,directio,iosize=";
    finds(&thread(&format!("{direct}1000")), Unaligned, Possible, "r", &["1000"]);
    finds_nothing(&thread(&format!("{direct}1024")));
}

#[test]
fn ends_that_are_never_reached() {
    let stat = "flowop statfile name=s,filesetname=full";
    let end = "flowop finishoncount name=e,value=5";
    finds_nothing(&thread(&format!("{stat}\n{end}")));
    finds(
        &thread("flowop finishonbytes name=e,value=5"),
        NeverEnds,
        Certain,
        "e",
        &["no flowop of the run moves bytes"],
    );
    finds(&thread(&format!("{stat},iters=0\n{end},target=s")), NeverEnds, Certain, "e", &["s is never done"]);
    let bytes = format!("{stat}\nflowop finishonbytes name=e,value=5,target=s");
    finds(&thread(&bytes), NeverEnds, Certain, "e", &["s moves no bytes"]);
    finds_nothing(&thread(
        "flowop read name=r,filesetname=full,iosize=1k\nflowop finishonbytes name=e,value=5,target=r",
    ));
}

#[test]
fn a_mix_counts_by_its_shares_and_is_certain_of_nothing() {
    let run = thread(
        "mix name=m,iters=4 {\n\
           flowop statfile name=s,filesetname=full,weight=3\n\
           flowop read name=r,filesetname=full,iosize=1k,fd=2,iters=2\n\
           flowop closefile name=never,fd=9,weight=0\n\
         }\nflowop write name=w,filesetname=full,iosize=1k,fd=3",
    );
    finds_nothing(&run);
    let times: Vec<(f64, bool)> = run.threads[0].flowops.iter().map(|f| (f.ops_per_round, f.exact)).collect();
    assert_eq!(times, [(3.0, false), (2.0, false), (0.0, true), (1.0, true)]);
    let one_of = |choices: &str, more: &str| thread(&format!("mix name=m {{ {choices} }}\n{more}"));
    let close = "flowop closefile name=c,fd=1";
    finds_nothing(&one_of("flowop openfile name=o,filesetname=full,fd=1\nflowop delay name=d,value=0.1", close));
    // The only choice is none.
    finds(&one_of(close, ""), NotOpen, Certain, "c", &["slot 1"]);
    finds_nothing(&one_of("flowop block name=b\nflowop delay name=d,value=0.1", "flowop wakeup name=w,target=b"));
    // One choice removes and the other does not: no round is the last for certain.
    let some = one_of("flowop removedir name=x,filesetname=dirs\nflowop delay name=d,value=0.1", "");
    finds(&some, RunsDry, Possible, "x", &["after 2 operations", "about 4 rounds"]);
}

#[test]
fn a_flowop_without_a_slot_of_its_own_works_on_whatever_slot_0_has() {
    const MORE: &str = "define fileset name=other,path=$dir,entries=10,dirwidth=10,size=4k,prealloc\n";
    let thread = |flowops: &str| {
        only(&format!("{SETS}{MORE}define process name=p {{ thread name=t {{ {flowops} }} }}\nrun 10\n"))
    };
    let reads = |first: &str, second: &str, between: &str| {
        thread(&format!(
            "flowop read name=a,filesetname=full,iosize=1k{first}\n{between}\n\
             flowop read name=b,filesetname=other,iosize=1k{second},iters=3"
        ))
    };
    finds(&reads("", "", ""), OtherFile, Certain, "b", &["a file of full and not of other", "slot 0"]);
    let many = reads("", "", "flowop write name=w,filesetname=other,iosize=1k");
    finds(&many, OtherFile, Certain, "w", &["so does another flowop"]);
    finds_nothing(&reads("", ",fd=1", ""));
    finds_nothing(&reads(",fd=1", "", ""));
    // Closed between them, b has its own file, and a has that of b from then on.
    finds(
        &reads("", "", "flowop closefile name=c"),
        OtherFile,
        Certain,
        "a",
        &["not of full from its second round on"],
    );
    finds_nothing(&reads("", "", "flowop closefile name=c\nflowop finishoncount name=e,value=9,target=a"));
    finds_nothing(&reads(",iters=randvar(type=uniform,mean=1)", "", ""));
    let truncates = |fd: &str| {
        thread(&format!(
            "flowop read name=a,filesetname=full,iosize=1k{fd}\nflowop truncate name=b,filesetname=other,value=0{fd}\n\
             flowop statfile name=s,filesetname=other"
        ))
    };
    finds(&truncates(""), OtherFile, Certain, "b", &["a file of full and not of other"]);
    finds(&truncates(",fd=1"), OtherSet, Certain, "b", &["slot 1"]);
}

#[test]
fn names_come_from_one_set_and_go_to_another() {
    let from_to =
        |flowop: &str, from: &str, to: &str| thread(&format!("flowop {flowop} name=x,source={from},filesetname={to}"));
    finds(&from_to("rename", "full", "full"), RunsDry, Certain, "x", &["nothing to make", "of full"]);
    finds(&from_to("link", "empty", "empty"), RunsDry, Certain, "x", &["none of the files of empty"]);
    finds(&from_to("link", "full", "dirs"), RunsDry, Certain, "x", &["files of dirs: it has none"]);
    // The set that names go to is full when the other one is empty.
    let run = from_to("rename", "full", "empty");
    let both = [(RunsDry, Possible, "x"), (RunsDry, Possible, "x")];
    assert_eq!(kinds(&run), both, "{:#?}", run.findings);
    assert!(run.findings.iter().all(|f| f.message.contains("round 11")), "{:#?}", run.findings);
    finds(&from_to("symlink", "full", "empty"), RunsDry, Possible, "x", &["makes files of empty", "round 11"]);
    let copies = from_to("copyfile", "full", "empty");
    assert_eq!(copies.threads[0].round.bytes_written, 4096.0);
    // Within one set the entry is claimed before a name goes, so the eleventh file cannot be.
    let text = |flowops: &str| {
        only(&format!(
            "define fileset name=half,path=$dir,entries=10,dirwidth=10,size=4k,prealloc=50\n\
             define process name=p {{ thread name=t {{ {flowops} }} }}\nrun 10\n"
        ))
    };
    finds_nothing(&text("flowop rename name=x,filesetname=half"));
    let make = "flowop createfile name=c,filesetname=half,fd=1\nflowop closefile name=k,fd=1\n";
    finds(&text(&format!("{make}flowop rename name=x,filesetname=half")), RunsDry, Possible, "c", &["round 5"]);
}

#[test]
fn directories_of_files_are_all_there_at_the_start() {
    finds(
        &thread("flowop mkdir name=m,filesetname=full"),
        RunsDry,
        Certain,
        "m",
        &["all directories of files of full"],
    );
    finds_nothing(&thread("flowop rmdir name=r,filesetname=empty\nflowop mkdir name=m,filesetname=empty"));
    finds(&thread("flowop rmdir name=r,filesetname=dirs"), RunsDry, Certain, "r", &[]);
    let stat = "define fileset name=none,path=$dir,leafdirs=4,dirwidth=10\n\
                define process name=p { thread name=t { flowop statdir name=s,filesetname=none } }\nrun 10\n";
    finds(&only(stat), RunsDry, Certain, "s", &["none of the leaf directories of none", "0 of 4"]);
}

#[test]
fn a_warm_up_and_what_a_session_does_are_part_of_its_time() {
    let text = |head: &str, run: &str| {
        only(&format!(
            "{SETS}define process name=p {{ thread name=t {{\n\
               flowop makedir name=m,filesetname=dirs\nflowop delay name=d,value=5\nflowop fsync name=f,fd=1\n\
             }} }}\n{head}\n{run}\n"
        ))
    };
    let dry = (RunsDry, Possible, "m");
    let fails = (NotOpen, Certain, "f");
    // A run of three seconds does not come to the end of the delay, and with its warm-up it does.
    finds(&text("", "run 3"), RunsDry, Possible, "m", &["at more than 0.7 a second the run of 3.00 s ends"]);
    let warm = text("warmup 3", "run 3");
    assert_eq!(kinds(&warm), [dry, fails]);
    assert!(warm.findings[0].message.contains("the run of 3.00 s and 3.00 s of warm-up"), "{:#?}", warm.findings);
    let session = "create files\ncreate processes\nstats clear\nsleep 2\nstats snap";
    let short = text("", &format!("{session}\nsleep 1\nshutdown processes"));
    finds(&short, RunsDry, Possible, "m", &["the session of 3.00 s"]);
    assert_eq!((short.session, short.lasts_ns), (true, Some(3_000_000_000)));
    assert_eq!(kinds(&text("", &format!("{session}\nrun 4"))), [dry, fails]);
    // Until the threads end by themselves there is no time to be up.
    let open = text("", &format!("{session}\nsleep 0"));
    assert_eq!((kinds(&open), open.lasts_ns), (vec![fails], None));
}

#[test]
fn each_kind_is_in_the_list_once_by_its_word_in_json() {
    let mut words: Vec<&str> = FINDINGS.iter().map(|(_, word, _)| *word).collect();
    for (kind, word, title) in FINDINGS {
        assert_eq!(serde_json::to_value(kind).unwrap(), *word);
        assert!(!title.is_empty());
    }
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), FINDINGS.len());
}

#[test]
fn composites_in_composites_do_not_multiply_without_end() {
    let mut text = SETS.to_owned();
    text.push_str("define flowop name=c0 { flowop statfile name=s,filesetname=full }\n");
    for depth in 1..12 {
        let inner = depth - 1;
        text.push_str(&format!("define flowop name=c{depth} {{ flowop c{inner} name=x,iters=9 }}\n"));
    }
    text.push_str("define process name=p { thread name=t { flowop c11 name=y,iters=1000 } }\nrun 1\n");
    let run = only(&text);
    assert_eq!(run.threads[0].round.metadata, 1000.0 * 9f64.powi(11));
}
