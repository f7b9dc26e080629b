//! `wlrun plan`: that it touches nothing, and that a run then does what it said.

use crate::exact::redact;
use crate::support::{Bench, Outcome, WLRUN, have};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// A workload in a file of its own, and what `wlrun plan` says of it.
fn plan(bench: &Bench, args: &[&str]) -> Outcome {
    let file = bench.scratch.path().join("test.wl");
    let output = Command::new(WLRUN).arg("plan").arg(file).args(args).stdin(Stdio::null()).output().unwrap();
    bench.outcome(output)
}

/// The document of `wlrun plan` with the bench's `--dir`.
fn document(bench: &Bench) -> Value {
    let dir = bench.dir.display().to_string();
    let outcome = plan(bench, &["--dir", &dir, "--format", "json"]).exits(0);
    serde_json::from_str(&outcome.stdout).unwrap()
}

const TREE: &str = "define fileset name=f,path=$dir,entries=40,leafdirs=9,dirwidth=4,prealloc=50,\
                    size=cvar(type=cvar-gamma,parameters=mean:3000;gamma:1.5)\n\
                    define process name=p { thread name=t {\n\
                    flowop statfile name=s,filesetname=f\nflowop finishoncount name=e,value=3\n} }\n\
                    set mode quit firstdone\nrun 5\n";

#[test]
fn a_plan_needs_no_directory_and_makes_none() {
    let bench = Bench::new(TREE);
    let missing = bench.scratch.path().join("missing");
    let outcome = plan(&bench, &["--dir", missing.to_str().unwrap()]).exits(0);
    assert!(outcome.stdout.contains("missing does not exist; make it, or give --mkdir"), "{}", outcome.stdout);
    assert!(!missing.exists() && bench.files().is_empty());
    // Not even where it could.
    plan(&bench, &["--dir", bench.dir.to_str().unwrap()]).exits(0);
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
}

#[test]
fn a_plan_opens_nothing_for_writing_and_starts_nothing() {
    if !have("strace") {
        return;
    }
    let bench = Bench::new(TREE);
    let trace = bench.scratch.path().join("trace");
    let status = Command::new("strace")
        .args(["-f", "-o", trace.to_str().unwrap(), "-e", "trace=%file,%process", WLRUN, "plan"])
        .arg(bench.scratch.path().join("test.wl"))
        .args(["--dir", bench.dir.to_str().unwrap()])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let trace = std::fs::read_to_string(trace).unwrap();
    let touches = ["O_WRONLY", "O_RDWR", "O_CREAT", "mkdir", "unlink", "rename", "clone", "fork"];
    let found: Vec<&str> = trace.lines().filter(|line| touches.iter().any(|word| line.contains(word))).collect();
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(trace.matches("execve(").count(), 1);
}

/// Files, bytes and directories below a tree, the root counted.
fn count(root: &Path) -> [u64; 3] {
    let (mut files, mut bytes, mut directories) = (0, 0, 1);
    for entry in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() == ".wlrun" {
                continue;
            }
            let [f, b, d] = count(&entry.path());
            (files, bytes, directories) = (files + f, bytes + b, directories + d);
        } else {
            (files, bytes) = (files + 1, bytes + entry.metadata().unwrap().len());
        }
    }
    [files, bytes, directories]
}

#[test]
fn a_run_makes_what_the_plan_said() {
    let bench = Bench::new(TREE);
    let set = document(&bench)["filesets"][0].clone();
    let outcome = bench.run().exits(0);
    let number = |key: &str| set[key].as_u64().unwrap();
    assert_eq!((number("files"), number("files_made"), number("leafdirs"), number("leafdirs_made")), (40, 20, 9, 5));
    let [files, bytes, directories] = count(&bench.dir.join("f"));
    assert_eq!(number("files_made"), files);
    assert_eq!(number("bytes_made"), bytes);
    assert_eq!(number("directories") + number("leafdirs_made"), directories);
    assert_eq!(number("inodes_made"), files + directories);
    assert_eq!(number("inodes"), 40 + 9 + number("directories"));
    let record = outcome.record.unwrap();
    assert_eq!(record["workload"]["bytes"].as_u64().unwrap(), number("bytes"));
    assert_eq!(set["size_bytes"]["mean"].as_f64().unwrap(), number("bytes") as f64 / 40.0);
}

#[test]
fn a_run_does_the_rounds_that_the_plan_said() {
    let bench = Bench::new(
        "define fileset name=f,path=$dir,entries=8,dirwidth=8,size=8k,prealloc\n\
         define flowop name=pair { flowop openfile name=o,filesetname=f,fd=1\n\
           flowop read name=r,fd=1,iosize=2k,iters=3\nflowop closefile name=c,fd=1 }\n\
         define process name=p { thread name=t {\n\
           flowop pair name=x,iters=2\nflowop statfile name=s,filesetname=f\n\
           flowop write name=w,filesetname=f,iosize=4k,fd=2,random\nflowop finishoncount name=e,value=50,target=s\n\
         } }\nset mode quit firstdone\nrun\n",
    );
    let document = document(&bench);
    let run = &document["runs"][0];
    assert_eq!(run["length_ns"], Value::Null);
    let outcome = bench.run().exits(0);
    for flowop in run["threads"][0]["flowops"].as_array().unwrap().iter().filter(|f| f["class"] != "control") {
        let name = flowop["name"].as_str().unwrap();
        let expected = 50.0 * flowop["ops_per_round"].as_f64().unwrap();
        assert_eq!(outcome.ops(name) as f64, expected, "{name}");
        assert_eq!(outcome.bytes(name) as f64, expected * flowop["bytes_per_op"].as_f64().unwrap(), "{name}");
    }
    let round = &run["round"];
    assert_eq!([&round["reads"], &round["writes"], &round["metadata"]].map(|n| n.as_f64().unwrap()), [6.0, 1.0, 5.0]);
}

#[test]
fn a_set_runs_dry_after_exactly_the_operations_that_the_plan_said() {
    let bench = Bench::new(
        "define fileset name=f,path=$dir,entries=20,dirwidth=20,size=0,prealloc=35\n\
         define process name=p { thread name=t {\n\
           flowop createfile name=c,filesetname=f,fd=1\nflowop closefile name=k,fd=1\n\
           flowop createfile name=c2,filesetname=f,fd=1\nflowop closefile name=k2,fd=1\n\
           flowop deletefile name=d,filesetname=f\n\
         } }\nrun 60\n",
    );
    let document = document(&bench);
    let finding = document["runs"][0]["findings"].as_array().unwrap().iter().find(|f| f["kind"] == "runs_dry").unwrap();
    // 13 do not exist; round n needs n + 1 of them at its height.
    assert!(finding["message"].as_str().unwrap().contains("round 13"), "{finding}");
    let outcome = bench.run().exits(0);
    assert_eq!(outcome.only_run()["ended"], "ran_dry");
    assert_eq!((outcome.ops("c"), outcome.ops("c2"), outcome.ops("d")), (13, 12, 12));
}

#[test]
fn names_come_from_one_set_and_go_to_another_until_the_plan_says() {
    for (flowop, done) in [("rename", 7), ("link", 9), ("symlink", 9), ("copyfile", 9)] {
        let bench = Bench::new(&format!(
            "define fileset name=a,path=$dir,entries=7,dirwidth=20,size=4k,prealloc\n\
             define fileset name=b,path=$dir,entries=20,dirwidth=20,size=4k,prealloc=55\n\
             define process name=p {{ thread name=t {{ flowop {flowop} name=x,source=a,filesetname=b }} }}\nrun 60\n"
        ));
        let document = document(&bench);
        let findings = document["runs"][0]["findings"].as_array().unwrap();
        let dry: Vec<&str> =
            findings.iter().filter_map(|f| f["message"].as_str()).filter(|m| m.contains("until")).collect();
        let first = dry.iter().any(|message| message.contains(&format!("in round {} of", done + 1)));
        assert!(first, "{flowop}: {dry:?}");
        let outcome = bench.run().exits(0);
        assert_eq!((outcome.only_run()["ended"].as_str(), outcome.ops("x")), (Some("ran_dry"), done), "{flowop}");
        let flowop = &document["runs"][0]["threads"][0]["flowops"][0];
        // A copy is read and written.
        let bytes = 2.0 * done as f64 * flowop["bytes_per_op"].as_f64().unwrap();
        assert_eq!(outcome.bytes("x") as f64, bytes);
        let round = &document["runs"][0]["round"];
        assert_eq!(round["bytes_read"], round["bytes_written"]);
    }
}

#[test]
fn slot_0_leads_a_flowop_to_another_file_as_check_warns() {
    let bench = Bench::new(
        "define fileset name=full,path=$dir,entries=2,dirwidth=2,size=4k,prealloc\n\
         define fileset name=other,path=$dir,entries=2,dirwidth=2,size=8k,prealloc\n\
         define process name=p { thread name=t {\n\
         flowop read name=a,filesetname=full,iosize=1k\nflowop appendfile name=b,filesetname=other,iosize=1k\n\
         flowop finishoncount name=e,value=3,target=b\n} }\nset mode quit firstdone\nrun 60\n",
    );
    bench.check().exits(0).says("b works on a file of full and not of other").says(".wl:5:");
    assert_eq!(document(&bench)["runs"][0]["findings"][0]["kind"], "other_file");
    bench.run().exits(0);
    let mut sizes = bench.sizes();
    sizes.sort_unstable();
    assert_eq!(sizes, [4096, 4096 + 3 * 1024, 8192, 8192]);
}

#[test]
fn what_is_submitted_needs_helpers_and_a_session_lasts_as_long_as_its_commands() {
    let bench = Bench::new(
        "define fileset name=f,path=$dir,entries=2,dirwidth=2,size=64k,prealloc\n\
         define process name=p,instances=3 { thread name=t,instances=2 {\n\
         flowop aiowrite name=w,filesetname=f,iosize=4k,random,outstanding=5,iters=8\nflowop aiowait name=a\n} }\n\
         create files\ncreate processes\nwarmup 1\nstats clear\nsleep 2\nstats snap\nrun 4\n",
    );
    let document = document(&bench);
    let [run] = document["runs"].as_array().unwrap().as_slice() else { panic!("{document}") };
    assert_eq!(
        (&run["session"], &run["length_ns"], &run["warmup_ns"]),
        (&true.into(), &7_000_000_000u64.into(), &0.into())
    );
    let needs = &run["needs"];
    assert_eq!(
        (&needs["helpers"], &needs["helpers_in_one"], &needs["outstanding"]),
        (&30.into(), &10.into(), &30.into())
    );
    let text = plan(&bench, &[]).exits(0).stdout;
    assert!(text.contains("run: a session of 7.00 s or more, quit mode timeout"), "{text}");
    assert!(text.contains("processes    3, threads 6, helpers 30 for 30 operations under way at most"), "{text}");
    let warm = Bench::new(&TREE.replace("run 5", "warmup 2\nrun 5"));
    let text = plan(&warm, &[]).exits(0).stdout;
    assert!(text.contains("run: 5.00 s after a warm-up of 2.00 s, quit mode firstdone"), "{text}");
}

#[test]
fn the_text_for_people() {
    let output = Command::new(WLRUN).args(["plan", "fileserver", "--dir", "/d"]).output().unwrap();
    let mut text = Bench::named("").outcome(output).exits(0).stdout;
    for before in ["threads 50 (", " MB (", "in one process (", "fits in memory ("] {
        text = redact(&text, before, ")", "[of this machine]");
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "snapshots" }, {
        insta::assert_snapshot!("plan-fileserver", text);
    });
}

#[test]
fn mistakes_are_those_of_check_and_certain_trouble_is_warned_of_by_both() {
    let bench = Bench::new(&TREE.replace("statfile", "statfil"));
    let outcome = plan(&bench, &[]).exits(2).says("statfile");
    assert_eq!(outcome.stdout, "");
    let bench = Bench::new(&TREE.replace("flowop statfile", "flowop closefile name=c,fd=3\nflowop statfile"));
    bench.check().exits(0).says("c fails because no file is open in slot 3").says(".wl:3:28]");
    let outcome = plan(&bench, &["--dir", "/d"]).exits(0);
    assert!(outcome.stdout.contains("certain: c fails because no file is open in slot 3"), "{}", outcome.stdout);
}

#[test]
fn what_the_machine_cannot_do_and_what_the_run_would_refuse_is_said() {
    let many = TREE.replace("thread name=t", "thread name=t,instances=10000000,memsize=1g");
    let outcome = plan(&Bench::new(&format!("system \"true\"\n{many}")), &["--dir", "/proc"]).exits(0);
    for words in ["10000000 threads in one process are asked for", "memsize", "--allow-exec"] {
        assert!(outcome.stdout.contains(words), "{words}:\n{}", outcome.stdout);
    }
}

#[test]
fn reads_that_memory_answers_are_named_as_the_runs_warning_names_them() {
    let reads = |flags: &str| {
        let flowop = format!("flowop read name=s,iosize=4k{flags},");
        let text = plan(&Bench::new(&TREE.replace("flowop statfile name=s,", &flowop)), &["--dir", "/d"]).stdout;
        text.contains("fits in memory")
    };
    assert!(reads(""));
    assert!(!reads(",directio"));
}

#[test]
fn every_kind_of_finding_is_in_the_reference() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/json.md")).unwrap();
    for (_, word, title) in wlrun::plan::forecast::FINDINGS {
        assert!(page.contains(&format!("| `{word}` | {title} |")), "{word}");
    }
}

#[test]
fn no_personality_is_certain_to_go_wrong() {
    for personality in wlrun::cli::library::LIBRARY {
        let outcome = Bench::named("").outcome(
            Command::new(WLRUN).args(["plan", personality.name, "--dir", "/d", "--format", "json"]).output().unwrap(),
        );
        let document: Value = serde_json::from_str(&outcome.exits(0).stdout).unwrap();
        for run in document["runs"].as_array().unwrap() {
            let certain: Vec<&Value> =
                run["findings"].as_array().unwrap().iter().filter(|f| f["weight"] == "certain").collect();
            assert!(certain.is_empty(), "{}: {certain:?}", personality.name);
        }
    }
}
