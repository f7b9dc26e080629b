//! Faults that were found once, each with a test for its kind.

use crate::support::{Bench, Outcome, WLRUN, mark};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

const SET: &str = "entries=20,size=4k,dirwidth=20,prealloc";

fn workload(set: &str, flowop: &str) -> String {
    format!(
        "define fileset name=u,path=$dir,{set}\n\
         define process name=p {{ thread name=t {{ {flowop} }} }}\nrun 1\n"
    )
}

/// Files of somebody who is not wlrun, under the names that a file set gives.
fn foreign_files(dir: &Path, count: usize) {
    let holder = dir.join("u/00000001");
    std::fs::create_dir_all(&holder).unwrap();
    for serial in 1..=count {
        std::fs::write(holder.join(format!("{serial:08}")), format!("precious {serial}")).unwrap();
    }
}

fn contents(bench: &Bench) -> Vec<String> {
    bench
        .files()
        .iter()
        .map(|path| String::from_utf8_lossy(&std::fs::read(bench.dir.join(path)).unwrap()).into())
        .collect()
}

/// What was there before is never removed from an adopted tree, whatever the workload does.
#[test]
fn adopting_a_tree_never_removes_what_was_in_it() {
    let delete = "flowop createfile name=c,filesetname=u,fd=1 flowop deletefile name=e,fd=1 flowop closefile name=k,fd=1 \
                  flowop deletefile name=d,filesetname=u,iters=3";
    let bench = Bench::new(&workload("entries=20,size=4k,dirwidth=20,prealloc=0", delete)).args(["--adopt"]);
    foreign_files(&bench.dir, 15);
    let before = contents(&bench);
    let outcome = bench.run().exits(0);
    assert!(outcome.ops("e") > 0 && outcome.ops("d") > 0 || outcome.flowop("d")["skipped"].as_u64() > Some(0));
    let after = contents(&bench);
    assert!(before.iter().all(|content| after.contains(content)), "{after:?}");
}

/// A mark beside data that it was not made for is no leave to remove the data.
#[test]
fn a_mark_that_was_copied_gives_no_leave() {
    let bench = Bench::new(&workload(SET, "flowop statfile name=s,filesetname=u"));
    bench.run().exits(0);
    let other = bench.dir.join("other");
    std::fs::create_dir_all(other.join("u/.wlrun").join(mark(&bench.dir.join("u")).unwrap())).unwrap();
    // As `cp -a` copies the attribute, where there are some.
    let text = mark(&bench.dir.join("u")).unwrap();
    let _ = rustix::fs::setxattr(other.join("u"), "user.wlrun", text.as_bytes(), rustix::fs::XattrFlags::empty());
    std::fs::write(other.join("u/data.txt"), "precious").unwrap();
    let text = workload(SET, "flowop statfile name=s,filesetname=u");
    Bench::new(&text).at(&other).run().exits(3);
    assert_eq!(std::fs::read_to_string(other.join("u/data.txt")).unwrap(), "precious");
}

/// A report is written through what is there: a link stays a link, and keeps leading where it led.
#[test]
fn a_report_does_not_replace_a_link_a_second_name_or_a_mode() {
    let bench = Bench::new(&workload(SET, "flowop statfile name=s,filesetname=u")).args(["--engine", "fake:other=1ms"]);
    let path = |name: &str| bench.scratch.path().join(name);
    symlink("target.json", path("link.json")).unwrap();
    std::fs::write(path("named.json"), "old").unwrap();
    std::fs::hard_link(path("named.json"), path("second.json")).unwrap();
    std::fs::write(path("secret.json"), "old").unwrap();
    std::fs::set_permissions(path("secret.json"), std::fs::Permissions::from_mode(0o600)).unwrap();
    for name in ["link.json", "named.json", "secret.json"] {
        let words = ["test.wl", "--dir", bench.dir.to_str().unwrap(), "--engine", "fake:other=1ms", "--json", name];
        let status =
            Command::new(WLRUN).args(words).current_dir(bench.scratch.path()).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{name}");
    }
    assert!(path("link.json").is_symlink());
    for name in ["target.json", "second.json", "secret.json"] {
        assert!(std::fs::read_to_string(path(name)).unwrap().starts_with('{'), "{name}");
    }
    assert_eq!(path("secret.json").metadata().unwrap().mode() & 0o777, 0o600);
}

/// Where stdout is a file, /dev/stdout is a link to it, and must be one afterwards.
#[test]
fn the_standard_output_may_be_named_as_a_path() {
    let bench = Bench::new(&workload(SET, "flowop statfile name=s,filesetname=u"));
    let out = bench.scratch.path().join("out");
    let words = ["test.wl", "--dir", bench.dir.to_str().unwrap(), "--engine", "fake:other=1ms", "--json"];
    let status = Command::new(WLRUN)
        .args(words)
        .arg("/proc/self/fd/1")
        .current_dir(bench.scratch.path())
        .stdout(std::fs::File::create(&out).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    assert!(std::fs::read_to_string(out).unwrap().contains("\"schema_version\""));
}

#[test]
fn two_reports_to_one_path_are_a_mistake_of_the_command_line() {
    let bench = Bench::new(&workload(SET, "flowop statfile name=s,filesetname=u"));
    let json = format!("text={}", bench.json_path().display());
    let outcome = bench.args(["--out", &json]).run().exits(2).says("two reports");
    assert_eq!(outcome.stdout, "");
    // By another way of writing it, by a link, by a second name.
    let bench = Bench::new(&workload(SET, "flowop statfile name=s,filesetname=u"));
    let path = |name: &str| bench.scratch.path().join(name);
    std::fs::write(path("named.json"), "").unwrap();
    std::fs::hard_link(path("named.json"), path("second.txt")).unwrap();
    symlink("named.json", path("link.txt")).unwrap();
    symlink("new.json", path("ahead.txt")).unwrap();
    for (json, text) in [
        ("new.json", "./new.json"),
        ("new.json", "dir/../new.json"),
        ("new.json", "ahead.txt"),
        ("named.json", "second.txt"),
        ("named.json", "link.txt"),
    ] {
        let words = ["test.wl", "--dir", "dir", "--json", json, "--out", &format!("text={text}")].map(str::to_owned);
        let output = Command::new(WLRUN).args(words).current_dir(bench.scratch.path()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains("two reports"), "{text}: {stderr}");
    }
}

/// `..` in --dir is a way to write a directory, not a way out of one.
#[test]
fn the_directory_may_be_written_with_dots() {
    let bench = Bench::new(&workload(SET, "flowop statfile name=s,filesetname=u")).args(["--engine", "fake:other=1ms"]);
    std::fs::create_dir(bench.scratch.path().join("here")).unwrap();
    for dir in ["../dir", "../dir/.", "..//dir", ".."] {
        let words = ["../test.wl", "--engine", "fake:other=1ms", "--dir", dir];
        let output = Command::new(WLRUN).args(words).current_dir(bench.scratch.path().join("here")).output().unwrap();
        assert!(output.status.success(), "{dir}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let words = ["../test.wl", "--dir", "../nowhere"];
    let output = Command::new(WLRUN).args(words).current_dir(bench.scratch.path().join("here")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// A run in which no operation finished has no result, however it ended.
#[test]
fn a_run_in_which_nothing_was_done_is_not_valid() {
    for flowop in [
        "flowop statfile name=s,filesetname=u,iters=0",
        "flowop delay name=d,value=1h",
        "flowop createfile name=c,filesetname=u,fd=1 flowop closefile name=k,fd=1",
    ] {
        let outcome = Bench::new(&workload(SET, flowop)).run().exits(1).says("no operation finished");
        assert_eq!(outcome.only_run()["valid"], false, "{flowop}");
    }
}

/// A request that cannot fit the thread's memory is found before anything is made.
#[test]
fn a_request_larger_than_the_memory_is_a_mistake_of_the_workload() {
    let text = workload(SET, "flowop read name=r,filesetname=u,iosize=8k").replace("name=t", "name=t,memsize=4k");
    let bench = Bench::new(&text);
    bench.check().exits(2).says("memsize").says("8192");
    bench.run().exits(2);
    assert_eq!(bench.files().len(), 0);
}

/// nohup leaves SIGHUP ignored; so does wlrun.
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let bench = Bench::new(&workload(SET, "flowop statfile name=s,filesetname=u")).under([
        "bash",
        "-c",
        "trap '' HUP; kill -HUP $$; \"$@\" & job=$!; kill -HUP $job; wait $job",
        "bash",
    ]);
    let outcome: Outcome = bench.run().exits(0);
    assert!(outcome.ops("s") > 0);
}

/// Nothing is made for a run that this machine cannot carry.
#[test]
fn a_refused_run_leaves_no_directory() {
    let text = workload(SET, "flowop statfile name=s,filesetname=u").replace("name=t", "name=t,instances=9000000");
    let bench = Bench::new(&text);
    let dir = bench.dir.join("new");
    let bench = bench.at(&dir).args(["--mkdir"]);
    bench.run().exits(1).says("possible");
    assert!(!dir.exists());
}

/// An interval has a floor: shorter ones would fill the record and measure themselves.
#[test]
fn intervals_are_not_shorter_than_the_reading_of_the_counters() {
    let bench = Bench::new(&workload(SET, "flowop statfile name=s,filesetname=u")).args(["--interval", "1us"]);
    bench.run().exits(2).says("10ms");
}

/// What a finding is about is not hidden by a line of garbage.
#[test]
fn a_line_of_garbage_is_not_echoed() {
    let outcome = Bench::new(&"@#!{ ".repeat(40_000)).check().exits(2);
    assert!(outcome.stderr.len() < 100_000, "{} bytes", outcome.stderr.len());
}

/// Two runs in one directory: the second is told, and the first keeps its files.
#[test]
fn a_second_run_does_not_take_the_tree_from_under_the_first() {
    let bench = Bench::new(&workload(SET, "flowop statfile name=s,filesetname=u")).args(["--runtime", "20"]);
    let mut first = bench.command().spawn().unwrap();
    // The mark says `ready` once the files are made; the lock is held from before that on.
    while !mark(&bench.dir.join("u")).is_some_and(|text| text.contains("state=ready")) {
        assert!(first.try_wait().unwrap().is_none(), "the first run has ended");
        std::thread::yield_now();
    }
    let text = workload(SET, "flowop statfile name=s,filesetname=u");
    Bench::new(&text).at(&bench.dir).run().exits(3).says("another wlrun");
    assert_eq!(bench.files().len(), 20);
    rustix::process::kill_process(rustix::process::Pid::from_child(&first), rustix::process::Signal::INT).unwrap();
    let output = first.wait_with_output().unwrap();
    assert_eq!(bench.outcome(output).exits(130).runs().len(), 1);
}

/// Who asked for a document gets one, also where this machine cannot begin.
#[test]
fn a_refused_run_has_its_document() {
    let text = workload(SET, "flowop statfile name=s,filesetname=u").replace("name=t", "name=t,instances=9000000");
    let outcome = Bench::new(&text).args(["--format", "json"]).run().exits(1);
    let record: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["runs"][0]["ended"], &record["runs"][0]["valid"]), (&"error".into(), &false.into()));
    assert!(record["runs"][0]["reason"].as_str().unwrap().contains("possible"));
    assert_eq!(Bench::new(&text).run().exits(1).stdout, "");
}

/// What went wrong around a run is in its record, not only on a terminal that is gone.
#[test]
fn a_system_line_that_failed_is_in_the_record() {
    let text = workload(SET, "flowop statfile name=s,filesetname=u").replace("run 1", "system \"exit 3\"\nrun 1");
    let outcome = Bench::new(&text).args(["--allow-exec", "--engine", "fake:other=1ms"]).run().exits(0).says("exit 3");
    let warnings = outcome.only_run()["warnings"].to_string();
    assert!(warnings.contains("W007") && warnings.contains("exit 3"), "{warnings}");
}

/// Threads that wait for each other are named.
#[test]
fn a_run_of_threads_that_only_wait_says_so() {
    let text = "define fileset name=u,path=$dir,entries=1,dirwidth=1,prealloc\n\
                define process name=p { thread name=t { flowop statfile name=s,filesetname=u flowop block name=never }\n\
                thread name=o { flowop block name=nor flowop wakeup name=w,target=never } }\nrun 1\n";
    let outcome = Bench::new(text).run().exits(0);
    let warnings = outcome.only_run()["warnings"].to_string();
    assert!(warnings.contains("W006") && warnings.contains("never, nor"), "{warnings}");
}

/// Direct reads do not come from the page cache, so nobody is warned of it.
#[test]
fn the_cache_is_no_matter_of_direct_reads() {
    let warned = |attributes: &str| {
        let read = format!("flowop read name=r,filesetname=u,iosize=4k,random{attributes}");
        let outcome = Bench::new(&workload(SET, &read)).args(["--engine", "fake:other=1ms"]).run().exits(0);
        outcome.only_run()["warnings"].to_string().contains("W003")
    };
    assert!(warned(""));
    assert!(!warned(",directio"));
}

/// What is there under a name of the file set is there, preallocated or not: it is not made anew in a tree of others.
#[test]
fn a_name_that_need_not_be_there_is_looked_at_before_it_is_written_to() {
    let make = "flowop createfile name=c,filesetname=u,fd=1 flowop closefile name=k,fd=1";
    let rename = &format!("{make} flowop rename name=m,filesetname=u");
    let copy = "flowop copyfile name=cp,filesetname=u";
    for set in ["trusttree", "trusttree,readonly", "reuse"] {
        for flowop in [make, rename, copy] {
            // It writes data, which a readonly set refuses.
            if flowop == copy && set.contains("readonly") {
                continue;
            }
            let text = workload(&format!("entries=20,size=4k,dirwidth=50,dirgamma=0,prealloc=0,{set}"), flowop);
            let bench = Bench::new(&text.replace("run 1", "set mode quit alldone\nrun 1")).args(["--adopt"]);
            foreign_files(&bench.dir, 14);
            let before = contents(&bench);
            bench.run().exits(0);
            let after = contents(&bench);
            assert_eq!(after.len(), 20, "{set}: {flowop}: {after:?}");
            assert!(before.iter().all(|content| after.contains(content)), "{set}: {flowop}: {after:?}");
        }
    }
}

/// Directories of others are as safe as their files.
#[test]
fn adopting_a_tree_removes_none_of_its_directories() {
    let set = "entries=4,leafdirs=4,size=1k,dirwidth=2,dirgamma=0";
    for more in ["prealloc", "prealloc,trusttree", "prealloc=0,trusttree"] {
        let remove = "flowop removedir name=l,filesetname=u flowop rmdir name=h,filesetname=u \
                      flowop deletefile name=d,filesetname=u";
        let made = Bench::new(&workload(&format!("{set},prealloc"), "flowop statfile name=s,filesetname=u"));
        made.run().exits(0);
        crate::support::unmark(&made.dir.join("u"));
        made.files().iter().for_each(|file| std::fs::remove_file(made.dir.join(file)).unwrap());
        let count =
            || std::process::Command::new("find").arg(made.dir.join("u")).args(["-type", "d"]).output().unwrap();
        let before = count().stdout;
        let text = workload(&format!("{set},{}", more.replace("prealloc,trusttree", "prealloc=0,trusttree")), remove);
        let outcome = Bench::new(&text).at(&made.dir).args(["--adopt"]).run();
        assert!([0, 1].contains(&outcome.code), "{}", outcome.stderr);
        assert_eq!(count().stdout, before, "{more}");
    }
}

/// A write that names another set may still go to the file that slot 0, which both share, has open.
#[test]
fn a_tree_of_others_is_written_to_by_no_slot_that_is_shared() {
    let text = "define fileset name=theirs,path=$dir,entries=1,size=4k,dirwidth=20,prealloc,trusttree\n\
                define fileset name=ours,path=$dir,entries=1,size=4k,dirwidth=20,prealloc\n\
                define process name=p { thread name=t {\n\
                flowop read name=r,filesetname=theirs,iosize=1k flowop write name=w,filesetname=ours,iosize=1k\n\
                } }\nset mode quit alldone\nrun 1\n";
    let bench = Bench::new(text);
    let file = bench.dir.join("theirs/00000001/00000001");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "precious").unwrap();
    bench.run().exits(3).says("theirs");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    let apart = text.replace("filesetname=ours,", "filesetname=ours,fd=1,").replace("run 1\n", "run 0.2\n");
    let text = apart.replace("set mode quit alldone\n", "");
    Bench::new(&text).at(&bench.dir).run().exits(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

/// Runs of a tree that only read it do not keep each other out; whoever writes, or has to make something, is alone.
#[test]
fn runs_that_only_read_share_a_tree() {
    let set = format!("{SET},reuse");
    let read = Bench::new(&workload(&set, "flowop statfile name=s,filesetname=u").replace("run 1", "run 60"));
    let write = workload(&set, "flowop write name=w,filesetname=u,iosize=1k").replace("run 1", "run 0.1");
    let short = workload(&set, "flowop statfile name=s,filesetname=u").replace("run 1", "run 0.1");
    let other = short.replace("size=4k", "size=5k");
    // The first makes the tree, and shares it from then on.
    let mut first = read.command().stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let ready = || mark(&read.dir.join("u")).filter(|mark| mark.contains("state=ready"));
    crate::support::until("the tree", || read.dir.join("u").exists().then(ready).flatten());
    crate::support::until("the workers", || (!crate::support::workers_of(first.id()).is_empty()).then_some(()));
    Bench::new(&short).at(&read.dir).run().exits(0);
    for alone in [&write, &other] {
        Bench::new(alone).at(&read.dir).run().exits(3).says("another wlrun works in it");
    }
    // Without reuse it would be made anew.
    Bench::new(&short.replace(",reuse", "")).at(&read.dir).run().exits(3).says("another wlrun works in it");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(first.id() as i32).unwrap(),
        rustix::process::Signal::INT,
    )
    .unwrap();
    first.wait().unwrap();
    let mut writer = Bench::new(&write.replace("run 0.1", "run 60")).at(&read.dir);
    writer = writer.args(["--quiet"]);
    let mut child = writer.command().stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    crate::support::until("the workers", || (!crate::support::workers_of(child.id()).is_empty()).then_some(()));
    Bench::new(&short).at(&read.dir).run().exits(3).says("another wlrun works in it");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The message is true: the slot is open, and this flowop does not take the file of slot 0.
#[test]
fn a_flowop_without_a_slot_does_not_say_that_slot_0_is_closed() {
    for flowop in ["chmod name=x", "statfile name=x", "utimes name=x", "getxattr name=x", "deletefile name=x"] {
        let bench = Bench::new(&workload(SET, &format!("flowop openfile name=o,filesetname=u flowop {flowop}")));
        let outcome = bench.run().exits(1).says("only where fd= gives one");
        assert!(!outcome.stderr.contains("closed"), "{}", outcome.stderr);
        let bench = Bench::new(&workload(SET, &format!("flowop {flowop}")));
        bench.run().exits(1).says("slot 0 is closed");
    }
}

/// Words that filebench reserves are taken, and said to do nothing.
#[test]
fn reserved_attributes_of_a_fileset_have_no_effect() {
    let set = format!("{SET},fstype=ufs,namelength=8");
    let outcome = Bench::new(&workload(&set, "flowop statfile name=s,filesetname=u")).run().exits(0);
    for word in ["fstype", "namelength"] {
        assert!(outcome.stderr.contains(&format!("'{word}' has no effect")), "{}", outcome.stderr);
    }
}

/// Reads are direct where their file was opened so, whoever asks for it.
#[test]
fn reads_of_a_file_that_was_opened_without_directio_are_of_the_cache() {
    let warns = |flowops: &str| {
        let text = workload(SET, flowops).replace("run 1", "run 0.1");
        let outcome = Bench::new(&text).args(["--engine", "null"]).run().exits(0);
        let warnings = outcome.only_run()["warnings"].as_array().unwrap();
        warnings.iter().any(|warning| warning["code"] == "W003")
    };
    let read = "flowop read name=r,filesetname=u,fd=1,iosize=4k";
    let open = "flowop openfile name=o,filesetname=u,fd=1";
    let close = "flowop closefile name=c,fd=1";
    assert!(warns(&format!("{open} {read},directio {close}")));
    assert!(!warns(&format!("{open},directio {read} {close}")));
    assert!(!warns(&format!("{read},directio")));
    assert!(!warns(&format!("{read},directio flowop write name=w,filesetname=u,fd=1,iosize=4k")));
    assert!(warns(&format!("flowop write name=w,filesetname=u,fd=1,iosize=4k {read},directio")));
    assert!(warns(&format!("flowop openfile name=d,filesetname=u,fd=1,directio,iters=0 {read}")));
    assert!(warns(
        &format!("{read},directio {close} flowop write name=w,filesetname=u,fd=1,iosize=4k {close}2")
            .replace("name=c,fd=12", "name=c2,fd=1")
    ));
}
