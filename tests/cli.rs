//! The command line: what each mistake is answered with, by which exit code, and that nothing was touched.

use crate::support::{Bench, Outcome, WLRUN};
use std::path::Path;
use std::process::{Command, Stdio};

const WORKLOAD: &str = "set $nthreads=2
define fileset name=f,path=$dir,entries=5,dirwidth=5,size=1k,prealloc
define process name=p { thread name=t,instances=$nthreads { flowop statfile name=s,filesetname=f } }
run 20ms
";

/// Runs the binary in an empty directory.
fn wlrun(args: &[&str]) -> Outcome {
    let here = tempfile::tempdir().unwrap();
    let outcome = wlrun_in(here.path(), args);
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "{args:?} made something");
    outcome
}

fn wlrun_in(here: &Path, args: &[&str]) -> Outcome {
    let output = Command::new(WLRUN).args(args).current_dir(here).stdin(Stdio::null()).output().unwrap();
    Bench::named("").outcome(output)
}

fn lines(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty()).count()
}

// What is asked for is not there.

#[test]
fn an_unknown_variable_is_answered_with_the_near_name() {
    let bench = Bench::new(WORKLOAD).args(["--set", "nthread=4"]);
    let outcome = bench.run().exits(2).says("nthread").says("did you mean 'nthreads'?");
    assert_eq!(outcome.stdout, "");
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
    let outcome = Bench::new(WORKLOAD).args(["--set", "nthread=4"]).check().exits(2).says("nthreads");
    assert_eq!(outcome.stdout, "");
}

#[test]
fn a_variable_of_the_command_line_holds_against_the_text() {
    for name in ["nthreads", "$nthreads"] {
        let outcome = Bench::new(WORKLOAD).args(["--set".to_owned(), format!("{name}=3")]).run().exits(0);
        assert_eq!(outcome.record.as_ref().unwrap()["workload"]["threads"], 3);
        assert_eq!(outcome.record.as_ref().unwrap()["workload"]["parameters"]["nthreads"], 3);
    }
    Bench::new(WORKLOAD).args(["--set", "nthreads"]).run().exits(2).says("NAME=VALUE");
    Bench::new(WORKLOAD).args(["--set", "=3"]).run().exits(2).says("NAME=VALUE");
    Bench::new(WORKLOAD).args(["--set", "nthreads=many"]).run().exits(2).says("many").says("whole number");
}

#[test]
fn a_mistyped_option_is_answered_with_the_near_one() {
    wlrun(&["fileserver", "--rumtime", "1"]).exits(2).says("--rumtime").says("--runtime");
    wlrun(&["check"]).exits(2).says("FILE");
    wlrun(&["fileserver", "--runtime", "soon"]).exits(2).says("soon");
    wlrun(&["fileserver", "--runtime", "0"]).exits(2).says("no time");
    wlrun(&["fileserver", "--seed", "x"]).exits(2).says("whole number");
    wlrun(&["fileserver", "--process-model", "x"]).exits(2).says("processes").says("threads");
    wlrun(&["fileserver", "--mkdir"]).exits(2).says("--dir");
    wlrun(&[]).exits(2).says("usage");
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    wlrun(&["fileserver", "--dir", ".", "--engine", "uring"]).exits(2).says("uring").says("not supported yet");
    wlrun(&["fileserver", "--dir", ".", "--format", "html"]).exits(2).says("html").says("not supported yet");
    wlrun(&["fileserver", "--dir", ".", "--out", "html=x"]).exits(2).says("not supported yet");
    for command in ["compare", "ab", "sweep", "verify", "lib", "rerun", "lsp", "completions", "man"] {
        let outcome = wlrun(&[command, "x"]).exits(2).says(command).says("not supported yet");
        assert_eq!(outcome.stdout, "");
    }
    wlrun(&["fileserver", "--dir", ".", "--engine", "sink"]).exits(2).says("sync").says("null");
    wlrun(&["fileserver", "--dir", ".", "--format", "xml"]).exits(2).says("text").says("json").says("filebench");
}

#[test]
fn options_of_the_design_that_are_not_built_do_not_pass_in_silence() {
    for option in ["--on-error", "--cold", "--repeat", "--allow-exec", "--profile"] {
        wlrun(&["fileserver", "--dir", ".", option, "1"]).exits(2).says(option);
    }
}

#[test]
fn a_script_of_the_fake_engine_that_is_wrong_is_a_mistake() {
    let bench = Bench::new(WORKLOAD).args(["--engine", "fake:opne=1us"]);
    bench.run().exits(2).says("opne");
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
}

#[test]
fn a_workload_that_is_none() {
    wlrun(&["filserver", "--dir", "."]).exits(2).says("filserver").says("did you mean the personality 'fileserver'?");
    wlrun(&["nothing-like-it.f", "--dir", "."]).exits(2).says("there is no file 'nothing-like-it.f'");
    let here = tempfile::tempdir().unwrap();
    std::fs::create_dir(here.path().join("folder")).unwrap();
    std::fs::write(here.path().join("picture.wl"), b"set $x=1\n\x89PNG\x1a\xff").unwrap();
    std::fs::write(here.path().join("empty.wl"), b"").unwrap();
    for command in [&["check"][..], &["run"], &[]] {
        let run = |name: &str| wlrun_in(here.path(), &[command, &[name]].concat());
        run("folder").exits(2).says("folder is a directory");
        run("picture.wl").exits(2).says("picture.wl").says("line 2").says("UTF-8");
    }
    wlrun_in(here.path(), &["empty.wl"]).exits(2).says("no run command");
}

#[test]
fn a_file_of_a_personalitys_name_comes_first() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("fileserver"), "run soon after\n").unwrap();
    wlrun_in(here.path(), &["check", "fileserver"]).exits(2).says("fileserver:1");
}

// Reports that cannot be written.

#[test]
fn a_reader_that_has_gone_is_no_error() {
    for words in ["list flowops", "show fileserver", "explain w003", "--help", "list attributes"] {
        let script = format!("set -o pipefail; {WLRUN} {words} | head -0");
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8(output.stderr).unwrap()),
            (Some(0), String::new()),
            "{words}"
        );
    }
    let bench = Bench::new(WORKLOAD);
    let mut child = bench.command().spawn().unwrap();
    drop(child.stdout.take());
    let outcome = bench.outcome(child.wait_with_output().unwrap()).exits(0);
    assert!(outcome.record.is_some(), "the record is written all the same");
}

#[test]
fn a_full_disk_is_an_error() {
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    for words in [&["list", "flowops"][..], &["show", "fileserver"], &["explain", "w003"]] {
        let output = Command::new(WLRUN).args(words).stdout(full()).output().unwrap();
        Bench::named("").outcome(output).exits(1).says("cannot be written");
    }
    let bench = Bench::new(WORKLOAD);
    let output = bench.command().stdout(full()).output().unwrap();
    let outcome = bench.outcome(output).exits(1).says("cannot be written").says("No space left");
    assert!(outcome.record.is_some(), "the record has room");
    let echo = Bench::new(&format!("echo hello\n{WORKLOAD}"));
    let output = echo.command().stdout(full()).output().unwrap();
    echo.outcome(output).exits(1).says("cannot be written");
    for option in [["--out", "text=/dev/full"], ["--json", "/dev/full"]] {
        let bench = Bench::named("fileserver");
        let mut command = Command::new(WLRUN);
        command.args(["fileserver", "--set", "nfiles=5", "--set", "nthreads=1", "--runtime", "20ms", "--dir"]);
        let output = command.arg(&bench.dir).args(option).output().unwrap();
        let outcome = bench.outcome(output).exits(1).says("/dev/full cannot be written");
        assert!(outcome.stdout.contains("statfile1"), "the report is there all the same");
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error_too() {
    for word in ["--help", "--version"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(WLRUN).arg(word).stdout(full).output().unwrap();
        Bench::named("").outcome(output).exits(1).says("cannot be written");
    }
}

#[test]
fn a_record_that_cannot_be_written_is_known_before_anything_is_made() {
    for option in ["--json", "--out"] {
        for path in ["/nowhere/at/all.json", "/proc/version", "."] {
            let bench = Bench::named("fileserver");
            let value = if option == "--out" { format!("json={path}") } else { path.to_owned() };
            let words = ["fileserver", "--dir", bench.dir.to_str().unwrap(), option, &value];
            let outcome = wlrun_in(bench.scratch.path(), &words).exits(1).says(path).says("cannot be written");
            assert_eq!(outcome.stdout, "");
            assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0, "{option} {path}");
        }
    }
}

#[test]
fn an_old_record_stays_until_the_new_one_is_whole() {
    let bench = Bench::new(WORKLOAD).args(["--engine", "fake:opne=1us"]);
    std::fs::write(bench.json_path(), "{\"old\": true}").unwrap();
    let output = bench.command().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(bench.json_path()).unwrap(), "{\"old\": true}");
    let names: Vec<_> = std::fs::read_dir(bench.scratch.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "no temporary file is left: {names:?}");
}

// Colour.

#[test]
fn colour_is_for_terminals_and_never_against_no_color() {
    let bad = || Bench::new("run soon after\n");
    let escape = '\u{1b}';
    assert!(!bad().check().exits(2).stderr.contains(escape), "a pipe is no terminal");
    assert!(bad().args(["--color", "always"]).check().exits(2).stderr.contains(escape));
    assert!(!bad().args(["--color", "never"]).check().exits(2).stderr.contains(escape));
    // On a terminal, which script(1) is one of.
    let terminal = |no_color: &str| {
        let bench = bad();
        let file = bench.scratch.path().join("test.wl");
        let line = format!("{WLRUN} check {}", file.display());
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).env_remove("NO_COLOR").env("TERM", "xterm");
        if !no_color.is_empty() {
            command.env("NO_COLOR", no_color);
        }
        command.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    match terminal("") {
        Some(text) => {
            assert!(text.contains(escape), "{text}");
            assert!(!terminal("1").unwrap().contains(escape));
        }
        None => println!("skipped: script is not installed"),
    }
}

// Commands that only tell.

#[test]
fn every_list_has_something_in_it() {
    for (what, word) in [
        ("workloads", "fileserver"),
        ("flowops", "readwholefile"),
        ("attributes", "flowop iosize"),
        ("distributions", "lognormal"),
        ("engines", "sync"),
        ("formats", "filebench"),
        ("metrics", "ops_per_s"),
        ("warnings", "W003"),
        ("exit-codes", "128+n"),
    ] {
        let outcome = wlrun(&["list", what]).exits(0);
        assert!(lines(&outcome.stdout) >= 2, "{what}:\n{}", outcome.stdout);
        assert!(outcome.stdout.contains(word), "{what} has no {word}:\n{}", outcome.stdout);
        assert_eq!(outcome.stderr, "");
        for line in outcome.stdout.lines() {
            assert!(line.contains("  ") && !line.ends_with(' '), "{what}: '{line}' has no explanation");
        }
    }
    assert_eq!(wlrun(&["list"]).exits(0).stdout, wlrun(&["list", "workloads"]).exits(0).stdout);
    wlrun(&["list", "flowop"]).exits(2).says("flowops");
}

/// `value` is a number, bytes or a time, by flowop.
#[test]
fn an_attribute_with_several_meanings_is_listed_with_each() {
    let text = wlrun(&["list", "attributes"]).exits(0).stdout;
    let value: Vec<&str> = text.lines().filter(|line| line.starts_with("flowop value ")).collect();
    for word in ["operations", "bytes", "seconds"] {
        assert!(value.iter().any(|line| line.contains(word)), "no {word}:\n{}", value.join("\n"));
    }
}

#[test]
fn a_personality_is_shown_as_it_ships() {
    for personality in wlrun::cli::library::LIBRARY {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("workloads/{}.wl", personality.name));
        let outcome = wlrun(&["show", "--text", personality.name]).exits(0);
        assert_eq!(outcome.stdout, std::fs::read_to_string(path).unwrap());
    }
    let outcome =
        wlrun(&["show", "fileservr"]).exits(2).says("fileservr").says("did you mean the personality 'fileserver'?");
    assert_eq!(outcome.stdout, "");
}

#[test]
fn a_warning_is_explained_in_any_case_of_letters() {
    for def in wlrun::summary::WARNINGS {
        let outcome = wlrun(&["explain", &def.code.to_lowercase()]).exits(0);
        assert!(outcome.stdout.starts_with(def.code) && outcome.stdout.contains(def.explanation));
    }
    wlrun(&["explain", "w03"]).exits(2).says("w03").says("W003");
    wlrun(&["explain", "banana"]).exits(2).says("no warning banana");
}

#[test]
fn an_explanation_names_only_what_there_is() {
    for def in wlrun::summary::WARNINGS {
        for command in ["wlrun compare", "wlrun ab", "--on-error"] {
            assert!(!def.explanation.contains(command), "{} advises {command}, which is not built", def.code);
        }
        assert!(!def.explanation.contains("  "), "{} has the spaces of the source in its text", def.code);
    }
}

#[test]
fn a_record_that_is_none_is_told_from_one() {
    let here = tempfile::tempdir().unwrap();
    for (name, text, word) in [
        ("a.json", "not json", "not JSON"),
        ("b.json", "{}", "schema_version"),
        ("c.json", "{\"schema_version\": \"9.0\"}", "9.0"),
        ("d.json", "{\"schema_version\": \"1.0\"}", "not a whole record"),
    ] {
        std::fs::write(here.path().join(name), text).unwrap();
        let outcome = wlrun_in(here.path(), &["report", name]).exits(2).says(name).says(word);
        assert_eq!(outcome.stdout, "");
    }
    wlrun_in(here.path(), &["report", "none.json"]).exits(2).says("none.json cannot be read");
}

#[test]
fn the_version_and_the_help_are_on_stdout() {
    assert_eq!(wlrun(&["--version"]).exits(0).stdout, format!("wlrun {}\n", env!("CARGO_PKG_VERSION")));
    let help = wlrun(&["--help"]).exits(0);
    for word in ["check", "list", "show", "explain", "report", "--dir", "--set", "--json"] {
        assert!(help.stdout.contains(word), "{word}");
    }
    assert!(!help.stdout.contains("worker-process"), "a worker is nobody's command");
}

// Check.

#[test]
fn check_tells_everything_and_touches_nothing() {
    let text = include_str!("workloads/bad/five-mistakes.wl");
    let bench = Bench::new(text);
    let outcome = bench.check().exits(2);
    assert_eq!(outcome.stdout, "");
    assert_eq!(outcome.stderr.matches('×').count(), 5, "{}", outcome.stderr);
    let good = Bench::new(WORKLOAD).args(["--dir", "/nowhere"]);
    let outcome = good.check().exits(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    for bench in [bench, good] {
        assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(bench.scratch.path()).unwrap().count(), 2, "the text and the directory");
    }
    assert!(!Path::new("/nowhere").exists());
}

#[test]
fn a_workload_with_mistakes_is_not_begun() {
    let bench = Bench::new(include_str!("workloads/bad/five-mistakes.wl"));
    let outcome = bench.run().exits(2);
    assert_eq!(outcome.stderr.matches('×').count(), 5, "{}", outcome.stderr);
    assert_eq!((outcome.stdout.as_str(), outcome.record.is_none()), ("", true));
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
}

#[test]
fn check_goes_through_all_files_and_one_mistake_is_enough_to_fail() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("good.wl"), WORKLOAD).unwrap();
    std::fs::write(here.path().join("bad.wl"), WORKLOAD.replace("statfile", "satfile")).unwrap();
    let outcome = wlrun_in(here.path(), &["check", "bad.wl", "none.wl", "good.wl"]).exits(2);
    outcome.says("bad.wl:3").says("none.wl").says("$dir");
}

#[test]
fn without_a_directory_nothing_is_guessed() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("w.wl"), WORKLOAD).unwrap();
    wlrun_in(here.path(), &["w.wl"]).exits(2).says("$dir is not set").says("--dir DIR");
    wlrun(&["fileserver"]).exits(2).says("--dir DIR");
}

#[test]
fn a_workload_takes_values_of_the_environment() {
    let text = WORKLOAD.replace("set $nthreads=2", "set $where=$(WLRUN_TEST_PLACE)\nset $nthreads=2");
    let bench = Bench::new(&text.replace("path=$dir", "path=$dir/$where")).env("WLRUN_TEST_PLACE", "by name");
    bench.run().exits(0);
    assert!(bench.dir.join("by name/f").is_dir());
    Bench::new(&text).run().exits(2).says("the environment has no variable WLRUN_TEST_PLACE");
}

#[test]
fn a_run_without_length_asks_for_one() {
    let text = WORKLOAD.replace("run 20ms\n", "");
    Bench::new(&text).run().exits(2).says("--runtime");
    let outcome = Bench::new(&text).args(["--runtime", "20ms"]).run().exits(0);
    assert_eq!(outcome.only_run()["requested_ns"], 20_000_000);
}

#[test]
fn a_worker_is_not_started_by_hand() {
    wlrun(&[wlrun::exec::WORKER, "0", "0", "3", "1"]).exits(1).says("worker");
}
