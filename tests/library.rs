//! The library: each personality has a head that says how to size it, checks clean, and does all its operations.

use crate::support::{Bench, on_disk};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use wlrun::cli::library::{LIBRARY, Shelves};
use wlrun::diagnostic::Diagnostics;
use wlrun::source::SourceFile;
use wlrun::syntax::Texts;

/// A run that takes a second at most.
struct Small {
    name: &'static str,
    /// `NAME=VALUE`, each.
    set: &'static [&'static str],
    ends: Ends,
}

/// How a small run ends.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// After its work, as the model wants it: when the count is reached, or no file is left.
    Itself(&'static str),
    /// By `--runtime`.
    After(&'static str),
}

const COUNT: Ends = Ends::Itself("count");
const FILES: Ends = Ends::Itself("done");
const SECOND: Ends = Ends::After("1");

/// Every flowop but those of the class control must do an operation in these runs. There is no exception. Writers without
/// an end write little at a time, for what they write is on a disk until the test is over.
const SMALL: &[Small] = &[
    small("accessmix", &["filesize=1m", "nthreads=2"], SECOND),
    small("appendlog", &["nthreads=3"], SECOND),
    small("appendlog", &["nthreads=3", "group=1"], SECOND),
    small("compflow_demo", &["nfiles=50", "filesize=8k", "nthreads=2"], SECOND),
    small("copyfiles", &["nfiles=50", "nthreads=2", "meanfilesize=8k"], FILES),
    small("createdelete-swing", &["nfiles=50", "filesize=4k", "eventrate=10000"], SECOND),
    small("createfiles", &["nfiles=200", "nthreads=2", "meanfilesize=4k"], FILES),
    small("cvar_example", &["filesize=64k"], SECOND),
    small("filemicro_create", &["count=100", "iosize=4k", "nthreads=2", "sync=true"], COUNT),
    small("filemicro_createfiles", &["nfiles=200", "count=150", "nthreads=2"], COUNT),
    small("filemicro_createrand", &["bytes=1m", "iosize=64k", "iters=3", "nthreads=2", "sync=true"], COUNT),
    small("filemicro_delete", &["nfiles=200", "count=100", "filesize=1k", "nthreads=2", "eventrate=1000"], COUNT),
    small("filemicro_rread", &["filesize=1m", "bytes=256k", "iters=2", "nthreads=2"], COUNT),
    small("filemicro_rwrite", &["filesize=1m", "bytes=256k", "iters=2", "nthreads=2", "sync=true"], COUNT),
    small("filemicro_rwritedsync", &["filesize=1m", "count=100", "iters=2", "nthreads=2"], COUNT),
    small("filemicro_rwritefsync", &["filesize=1m", "iters=50", "nthreads=1"], COUNT),
    small("filemicro_seqread", &["filesize=1m", "iosize=64k", "nthreads=2"], SECOND),
    small("filemicro_seqwrite", &["count=100", "iosize=4k", "nthreads=2", "sync=true"], COUNT),
    small("filemicro_seqwriterand", &["count=100", "iosize=4k", "nthreads=2", "sync=true"], COUNT),
    small("filemicro_seqwriterandvargam", &["count=100", "nthreads=2", "sync=true"], COUNT),
    small("filemicro_seqwriterandvartab", &["count=100", "nthreads=2", "sync=true"], COUNT),
    small("filemicro_statfile", &["nfiles=100", "filesize=0", "nthreads=2"], SECOND),
    small("filemicro_writefsync", &["iosize=4k", "writeiters=10", "fsynccount=5"], COUNT),
    small("fileserver", &["nfiles=100", "filesize=16k", "nthreads=2"], SECOND),
    small("fivestreamread", &["filesize=256k", "iosize=64k"], SECOND),
    small("fivestreamreaddirect", &["filesize=256k", "iosize=64k"], SECOND),
    small("fivestreamwrite", &["filesize=256k", "iosize=512"], SECOND),
    small("fivestreamwritedirect", &["filesize=256k", "iosize=4k"], SECOND),
    small("listdirs", &["nfiles=200", "nthreads=2"], SECOND),
    small("makedirs", &["ndirs=200", "nthreads=2"], FILES),
    small("metadata", &["items=200", "nthreads=2"], FILES),
    small("mongo", &["nfiles=50", "nthreads=2", "filesize=4k"], FILES),
    small("netsfs", &["nfiles=500", "nthreads=2", "eventrate=200"], SECOND),
    small("networkfs", &["nfiles=5", "nthreads=2", "eventrate=100"], SECOND),
    small(
        "oltp",
        &[
            "nshadows=4",
            "ndbwriters=2",
            "usermode=100",
            "filesize=1m",
            "logfilesize=1m",
            "logchanges=20",
            "dbchanges=10",
        ],
        SECOND,
    ),
    small("openfiles", &["nfiles=200", "nthreads=2"], SECOND),
    small("randomfileaccess", &["nfiles=100", "nthreads=2"], SECOND),
    small("randomread", &["filesize=1m", "nthreads=2", "workingset=512k", "directio=1"], SECOND),
    small("randomrw", &["filesize=1m", "nthreads=2", "workingset=512k", "directio=1"], SECOND),
    small("randomwrite", &["filesize=1m", "nthreads=2", "workingset=512k", "directio=1"], SECOND),
    small("ratelimcopyfiles", &["nfiles=50", "nthreads=2", "filesize=4k", "eventrate=200"], FILES),
    small("removedirs", &["ndirs=200", "nthreads=2"], FILES),
    small("singlestreamread", &["filesize=1m", "iosize=64k", "nthreads=2"], SECOND),
    small("singlestreamreaddirect", &["filesize=1m", "iosize=64k", "nthreads=2"], SECOND),
    small("singlestreamwrite", &["iosize=512", "nthreads=2"], SECOND),
    small("singlestreamwritedirect", &["iosize=4k", "nthreads=2"], SECOND),
    small("sio", &["filesize=1m", "randpct=50", "nthreads=2"], SECOND),
    small("smallfile", &["nfiles=200", "nthreads=2"], FILES),
    small("streams", &["readers=2", "writers=2", "filesize=1m", "iosize=64k"], SECOND),
    small("tpcso", &["unit=4k", "nshadows=3", "ndbwriters=1", "usermode=100", "logchanges=10", "dbchanges=10"], SECOND),
    small("varmail", &["nfiles=100", "filesize=4k", "nthreads=2"], SECOND),
    small(
        "videoserver",
        &["filesize=1m", "numactivevids=4", "numpassivevids=6", "nthreads=4", "repintval=100ms", "reuseit=true"],
        SECOND,
    ),
    small("webproxy", &["nfiles=100", "nthreads=2", "eventrate=100000"], SECOND),
    small("webserver", &["nfiles=100", "filesize=4k", "nthreads=2"], SECOND),
];

const fn small(name: &'static str, set: &'static [&'static str], ends: Ends) -> Small {
    Small { name, set, ends }
}

/// The comment before the first command, without the signs.
fn head(text: &str) -> String {
    let lines = text.lines().take_while(|line| line.starts_with('#'));
    lines.map(|line| line.trim_start_matches('#').trim_start().to_owned() + "\n").collect()
}

/// Names behind a dollar sign.
fn parameters(text: &str) -> BTreeSet<&str> {
    let names = text.split('$').skip(1);
    names.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()).collect()
}

/// Variables that the text sets.
fn variables(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("set $")?.split_once('=')).map(|(name, _)| name.trim()).collect()
}

#[test]
fn the_list_has_each_file_of_the_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
    let mut files: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let mut listed: Vec<String> = LIBRARY.iter().map(|personality| format!("{}.wl", personality.name)).collect();
    listed.sort();
    assert_eq!(files, listed);
    assert!(LIBRARY.is_sorted_by_key(|personality| personality.name));
    let mut tested: Vec<&str> = SMALL.iter().map(|small| small.name).collect();
    tested.dedup();
    assert_eq!(tested, LIBRARY.iter().map(|personality| personality.name).collect::<Vec<_>>());
}

#[test]
fn each_head_says_what_it_models_and_how_to_size_it() {
    for personality in LIBRARY {
        let (name, head) = (personality.name, head(personality.text));
        let first = head.lines().next().unwrap_or_default();
        assert!(first.starts_with(&format!("{name}: ")) && !personality.summary().ends_with('.'), "{name}: {first}");
        // What it models, and how to size it.
        assert!(head.trim().split("\n\n").count() >= 3, "{name}: {head}");
        let mentioned = parameters(&head);
        let variables = variables(personality.text);
        assert!(!mentioned.is_empty(), "{name}: the head names no parameter");
        assert!(mentioned.is_subset(&variables), "{name}: {mentioned:?} are not all in {variables:?}");
        // An option of the head too gives a value to what is there.
        for option in head.replace('\n', " ").split("--set ").skip(1) {
            let given = option.split('=').next().unwrap_or_default();
            assert!(variables.contains(given), "{name}: --set {given}");
        }
        // Each one has its help, in the line above; what is set between runs is no parameter.
        let lines: Vec<&str> = personality.text.lines().take_while(|line| !line.starts_with("define")).collect();
        for pair in lines.windows(2).filter(|pair| pair[1].starts_with("set $")) {
            let help = pair[0].strip_prefix("## ").unwrap_or_default();
            assert!(!help.is_empty() && !help.ends_with('.'), "{name}: {} has no help", pair[1]);
        }
        // Each one has its use.
        let body: String = personality.text.lines().filter(|line| !line.starts_with('#')).collect();
        let unused: Vec<_> = variables.iter().filter(|v| body.matches(&format!("${v}")).count() < 2).collect();
        assert!(unused.is_empty(), "{name}: {unused:?} have no use");
        assert!(!variables.contains("dir"), "{name}: --dir says where");
    }
}

#[test]
fn nothing_is_to_be_said_about_any_of_them() {
    let options =
        wlrun::plan::Options { dir: Some("/d".into()), base: "/d".into(), seed: 1, ..wlrun::plan::Options::default() };
    for personality in LIBRARY {
        let file = SourceFile::new(personality.name, personality.text);
        let mut diagnostics = Diagnostics::new();
        let texts = Texts::read(file, &Shelves::default(), &mut diagnostics);
        let plan = wlrun::plan::plan(&texts, &options, &mut diagnostics);
        assert!(plan.is_some() && diagnostics.sorted().is_empty(), "{}", diagnostics.render(texts.sources(), false));
    }
}

#[test]
fn each_of_them_does_all_its_operations() {
    let next = AtomicUsize::new(0);
    // Most of a small run is waiting for its end, so a few go at a time.
    let work = || {
        while let Some(small) = SMALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            runs(small);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
}

/// What is true of each of these runs and no fault of the personality: the set fits in memory, so a call is hardly longer
/// than what wlrun does for it; others want the processors; there are few operations, and little time.
const OF_SMALL_RUNS: [&str; 6] = ["W003", "W008", "W009", "W011", "W013", "W015"];

fn runs(small: &Small) {
    // On a disk: the temporary directory is often in memory, where direct I/O may not be possible.
    let disk = on_disk();
    let mut bench = Bench::named(small.name).at(disk.path());
    for set in small.set {
        bench = bench.args(["--set", *set]);
    }
    let ended = match small.ends {
        Ends::Itself(ended) => ended,
        Ends::After(time) => {
            bench = bench.args(["--runtime", time]);
            "time"
        }
    };
    let outcome = bench.run();
    assert_eq!(outcome.code, 0, "{}: {}{}", small.name, outcome.stdout, outcome.stderr);
    for run in outcome.record.as_ref().unwrap()["runs"].as_array().unwrap() {
        assert_eq!(run["ended"], ended, "{}: {}", small.name, outcome.stdout);
        assert_eq!((&run["valid"], &run["total"]["errors"]), (&true.into(), &0.into()), "{}", small.name);
        let idle = idle(run);
        assert!(idle.is_empty(), "{}: no operation of {idle:?}:\n{}", small.name, outcome.stdout);
        let told = |w: &&Value| !OF_SMALL_RUNS.iter().any(|code| w["code"] == *code);
        let warnings: Vec<_> = run["warnings"].as_array().unwrap().iter().filter(told).collect();
        assert!(warnings.is_empty(), "{}: {warnings:?}", small.name);
    }
}

/// Flowops of I/O that did nothing, though the parameters do not leave them out.
fn idle(run: &Value) -> Vec<&str> {
    let idle = |flowop: &&Value| flowop["class"] != "control" && flowop["ops"] == 0 && flowop["left_out"] != true;
    run["flowops"].as_array().unwrap().iter().filter(idle).map(|flowop| flowop["name"].as_str().unwrap()).collect()
}
