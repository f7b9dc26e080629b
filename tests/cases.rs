//! Faults that users of filebench and other storage benchmarks met, each as a small workload in `tests/cases` with
//! the outcome that is right. A test has the number and the title of its file.

use crate::strace::{calls, traced};
use crate::support::{Bench, Outcome, WLRUN, have, on_disk, root, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");

/// Limits of wall time are multiplied by this: machines that run tests are noisy.
const PATIENCE: u32 = 3;

fn path(name: &str) -> String {
    format!("{CASES}/{name}.wl")
}

fn case(name: &str) -> Bench {
    Bench::named(&path(name))
}

/// The case's directory is on a disk, for the temporary directory is often in memory.
fn case_on_disk(name: &str) -> (Bench, tempfile::TempDir) {
    let disk = on_disk();
    (case(name).at(disk.path()), disk)
}

/// What wlrun says itself: stderr without the file's own name and the lines it quotes, which hold many of the words
/// that a message must have.
fn messages(outcome: &Outcome) -> String {
    let quoted = |line: &str| line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(" │ ");
    outcome
        .stderr
        .lines()
        .filter(|line| !line.contains("╭─[") && !quoted(line))
        .map(|line| line.to_lowercase() + "\n")
        .collect()
}

#[track_caller]
fn mentions(outcome: &Outcome, text: &str) {
    assert!(messages(outcome).contains(&text.to_lowercase()), "no message mentions '{text}':\n{}", outcome.stderr);
}

/// A message gives this line and a column inside this text, which starts at `column`.
#[track_caller]
fn located(outcome: &Outcome, line: usize, column: usize, text: &str) {
    let inside = (column..column + text.chars().count()).any(|c| outcome.stderr.contains(&format!(".wl:{line}:{c}]")));
    assert!(inside, "no message is located at {line}:{column} ({text}):\n{}", outcome.stderr);
}

/// `wlrun check` refuses the case with a message that mentions the text and gives its place.
#[track_caller]
fn refused(name: &str, mentioned: &str, line: usize, column: usize, text: &str) {
    let checked = case(name).check().exits(2);
    mentions(&checked, mentioned);
    located(&checked, line, column, text);
}

/// True where a case needs a part of the language that nobody has built: it must be refused by name before anything
/// is touched. Once it is built, the assertions that follow hold.
#[track_caller]
fn not_yet(bench: &Bench, feature: &str) -> bool {
    let checked = bench.check();
    if !messages(&checked).contains("not supported yet") {
        return false;
    }
    for outcome in [checked, bench.run()] {
        let outcome = outcome.exits(2);
        mentions(&outcome, feature);
        mentions(&outcome, "not supported yet");
        assert_eq!(outcome.stdout, "");
    }
    assert!(is_empty(&bench.dir));
    true
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let result = work();
    (result, started.elapsed())
}

#[track_caller]
fn faster_than(wall: Duration, seconds: u32) {
    assert!(wall < Duration::from_secs(seconds.into()) * PATIENCE, "{wall:?} is more than {PATIENCE} x {seconds} s");
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

/// Everything below a directory, directories and links too.
fn tree(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(tree(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

#[track_caller]
fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is no number in {value}"))
}

#[track_caller]
fn elapsed_ns(outcome: &Outcome) -> f64 {
    number(outcome.only_run(), "elapsed_ns")
}

/// The length of the run was not cut.
#[track_caller]
fn ran_its_second(outcome: &Outcome) {
    assert_eq!(outcome.only_run()["ended"], "time");
    assert!(elapsed_ns(outcome) > 0.99e9, "{} ns", elapsed_ns(outcome));
}

#[track_caller]
fn near(value: u64, expected: u64, by: u64) {
    assert!(value.abs_diff(expected) <= by, "{value} is not {expected} +-{by}");
}

/// Every rate of the record is a number. (NaN and infinity are no JSON: the record would not have been read.)
#[track_caller]
fn rates_are_numbers(outcome: &Outcome) {
    let run = outcome.only_run();
    for figures in run["flowops"].as_array().unwrap().iter().chain([&run["total"]]) {
        number(figures, "ops_per_s");
        number(figures, "bytes_per_s");
    }
}

/// The record of a failed run is not there, or says that it failed.
#[track_caller]
fn no_valid_record(outcome: &Outcome) {
    if outcome.record.is_some() {
        assert_eq!(outcome.only_run()["valid"], false);
        assert_eq!(outcome.only_run()["ended"], "error");
    }
}

/// Under a limit of the shell.
fn limited(bench: Bench, limit: &str) -> Bench {
    bench.under(["bash", "-c", &format!("{limit}; exec \"$@\""), "bash"])
}

#[test]
fn every_case_has_its_test() {
    let tests = include_str!("cases.rs");
    let mut count = 0;
    for entry in fs::read_dir(CASES).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "wl") {
            let name = file.file_stem().unwrap().to_str().unwrap().replace('-', "_");
            assert!(tests.contains(&format!("fn case_{name}()")), "no test is called case_{name}");
            count += 1;
        }
    }
    assert_eq!(count, 71);
}

// Diagnostics.

#[test]
fn case_001_misspelt_attribute() {
    let bench = case("001-misspelt-attribute");
    let dir = bench.dir.display().to_string();
    let bench = bench.args(["--dir", &dir]);
    let checked = bench.check().exits(2);
    mentions(&checked, "filesze");
    located(&checked, 2, 35, "filesze");
    assert!(is_empty(&bench.dir));
}

#[test]
fn case_002_shell_script_as_workload() {
    let checked = case("002-shell-script-as-workload").check().exits(2);
    located(&checked, 3, 1, "sudo");
    let messages = messages(&checked);
    let errors: Vec<&str> = messages.lines().filter(|line| line.contains('×')).collect();
    assert!(errors[0].contains("sudo"), "{errors:?}");
    assert!(errors[1..].iter().all(|error| !error.contains("sudo")), "{errors:?}");
    assert!(!messages.contains("run command"), "{messages}");
}

#[test]
fn case_004_missing_comma() {
    refused("004-missing-comma", "a comma is expected", 2, 25, "path");
}

#[test]
fn case_005_unclosed_brace() {
    let checked = case("005-unclosed-brace").check().exits(2);
    let messages = messages(&checked);
    let opened =
        ["the block opened at line 3", "the block opened at line 4"].iter().any(|text| messages.contains(text));
    assert!(opened, "{messages}");
    mentions(&checked, "is not closed");
}

// The run command.

#[test]
fn case_010_no_run_command() {
    let bench = case("010-no-run-command");
    let checked = bench.check().exits(0);
    mentions(&checked, "⚠ there is no run");
    let refused = bench.run().exits(2);
    mentions(&refused, "run");
    assert_eq!(refused.stdout, "");
}

#[test]
fn case_011_text_after_run() {
    let outcome = case("011-text-after-run").run().exits(0);
    assert_eq!(outcome.runs().len(), 1);
    assert_eq!(outcome.stdout.lines().filter(|line| line.starts_with("flowop ")).count(), 1);
    if messages(&outcome).contains("unreachable") {
        located(&outcome, 11, 1, "echo");
    } else {
        let table = outcome.stdout.find("flowop ").unwrap();
        let text = outcome.stdout.find("after the run").expect("the text");
        assert!(text > table, "the text is before the table:\n{}", outcome.stdout);
    }
}

#[test]
fn case_012_two_runs() {
    let (outcome, wall) = timed(|| case("012-two-runs").run().exits(0));
    if outcome.runs().len() == 1 {
        mentions(&outcome, "warning");
        located(&outcome, 11, 1, "run 1");
        return;
    }
    assert_eq!(outcome.runs().len(), 2);
    assert_eq!(outcome.stdout.lines().filter(|line| line.starts_with("flowop ")).count(), 2);
    assert!(wall > Duration::from_secs(2), "{wall:?}");
    faster_than(wall, 5);
}

// Quit modes.

#[test]
fn case_020_alldone_waits_for_slowest() {
    let bench = case("020-alldone-waits-for-slowest");
    let outcome = bench.run().exits(0);
    assert_eq!((outcome.ops("wa"), outcome.ops("wb")), (10, 200));
    assert_eq!(bench.sizes(), [40960, 819_200]);
    assert!(bench.files()[0].starts_with("fa"));
}

#[test]
fn case_021_fileset_exhausted() {
    let bench = case("021-fileset-exhausted");
    if not_yet(&bench, "makedir") {
        return;
    }
    let outcome = bench.run().exits(0);
    for text in ["warning", "mk1", "fs1", "ended early"] {
        mentions(&outcome, text);
    }
    assert_eq!(outcome.ops("mk1"), 20);
    assert!(elapsed_ns(&outcome) < 1.9e9);
    let all = tree(&bench.dir.join("fs1"));
    let is_leaf = |path: &&PathBuf| path.is_dir() && !all.iter().any(|other| other.parent() == Some(path.as_path()));
    assert_eq!(all.iter().filter(is_leaf).count(), 20);
}

#[test]
fn case_023_fast_finish_keeps_its_figures() {
    let outcome = case("023-fast-finish-keeps-its-figures").run().exits(0);
    assert_eq!(outcome.ops("cr1"), 100);
    assert!(number(outcome.flowop("cr1"), "ops_per_s") > 0.0);
    assert!(elapsed_ns(&outcome) < 1.9e9);
}

// Figures.

#[test]
fn case_030_write_then_read_same_file() {
    let bench = case("030-write-then-read-same-file");
    let outcome = bench.run().exits(0);
    assert_eq!(bench.sizes(), [16384; 4]);
    assert_eq!(outcome.bytes("wr1"), 16384 * outcome.ops("wr1"));
    assert_eq!(outcome.bytes("rd1"), 16384 * outcome.ops("rd1"));
    near(outcome.ops("wr1"), 4 * outcome.ops("rd1"), 4);
}

#[test]
fn case_031_latency_not_multiplied() {
    let outcome = case("031-latency-not-multiplied").run().exits(0);
    let elapsed = elapsed_ns(&outcome);
    let mut busy = 0.0;
    for name in ["wr1", "sy1"] {
        let latency = &outcome.flowop(name)["latency_ns"];
        let [min, mean, max] = ["min", "mean", "max"].map(|key| number(latency, key));
        assert!(min <= mean && mean <= max && max <= elapsed, "{latency}");
        busy += mean * outcome.ops(name) as f64;
    }
    assert!(busy <= 8.0 * elapsed * 1.05, "{busy} ns in 8 x {elapsed} ns");
}

#[test]
fn case_034_summary_is_the_sum() {
    let bench = case("034-summary-is-the-sum");
    if not_yet(&bench, "hog") {
        return;
    }
    let outcome = bench.run().exits(0);
    let total = &outcome.only_run()["total"];
    let ops = number(total, "ops");
    assert_eq!(ops, (outcome.ops("op1") + outcome.ops("rd1") + outcome.ops("cl1")) as f64);
    assert_eq!(number(total, "bytes_read") + number(total, "bytes_written"), outcome.bytes("rd1") as f64);
    let rate = ops / (elapsed_ns(&outcome) / 1e9);
    assert!((number(total, "ops_per_s") / rate - 1.0).abs() < 0.01, "{total}");
}

#[test]
fn case_035_iters_are_counted() {
    let outcome = case("035-iters-are-counted").run().exits(0);
    near(outcome.ops("rd1"), 4 * outcome.ops("cl1"), 4);
}

#[test]
fn case_036_read_credit_past_eof() {
    let outcome = case("036-read-credit-past-eof").run().exits(0);
    let (ops, bytes) = (outcome.ops("rd1"), outcome.bytes("rd1"));
    assert!(bytes <= ops * 65536);
    // 100k in two reads; a third one of no bytes would make it 34133.
    let mean = bytes as f64 / ops as f64;
    assert!((mean / 51200.0 - 1.0).abs() < 0.05, "{mean} bytes an operation");
}

// Zero and NaN.

#[test]
fn case_040_zero_size_files() {
    let outcome = case("040-zero-size-files").run().exits(0);
    assert!(outcome.ops("rd1") > 0);
    assert_eq!(outcome.bytes("rd1"), 0);
    assert_eq!(number(outcome.flowop("rd1"), "bytes_per_s"), 0.0);
    rates_are_numbers(&outcome);
}

#[test]
fn case_041_flowop_never_executed() {
    let bench = case("041-flowop-never-executed");
    if not_yet(&bench, "semblock") {
        return;
    }
    let outcome = bench.run().exits(0);
    assert_eq!(outcome.ops("never"), 0);
    let latency = &outcome.flowop("never")["latency_ns"];
    assert!(latency.is_null() || latency["mean"].is_null() || latency["mean"] == 0, "{latency}");
    assert!(outcome.ops("st1") > 0);
    rates_are_numbers(&outcome);
}

#[test]
fn case_043_no_dirwidth() {
    let bench = case("043-no-dirwidth");
    let outcome = bench.run().exits(0);
    assert_eq!(bench.files().len(), 10);
    assert!(outcome.ops("rd1") > 0);
    let negative = |word: &&str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_numeric()));
    let text = outcome.stdout.clone() + &outcome.stderr;
    assert_eq!(text.split_whitespace().find(negative), None, "{text}");
}

// Runs without end.

#[test]
fn case_050_semaphore_never_posted() {
    let bench = case("050-semaphore-never-posted");
    if not_yet(&bench, "semblock") {
        return;
    }
    let (outcome, wall) = timed(|| bench.run().exits(0));
    faster_than(wall, 4);
    assert!(outcome.ops("st1") >= 1);
}

#[test]
fn case_051_rate_lower_than_threads() {
    let (outcome, wall) = timed(|| case("051-rate-lower-than-threads").run().exits(0));
    faster_than(wall, 4);
    assert!(outcome.ops("lim") <= 4);
}

#[test]
fn case_052_flowop_on_unknown_fileset() {
    refused("052-flowop-on-unknown-fileset", "nosuch", 7, 47, "nosuch");
}

// Resources.

#[test]
fn case_060_many_processes() {
    let (outcome, wall) = timed(|| case("060-many-processes").run().exits(0));
    faster_than(wall, 5);
    assert!(outcome.ops("st1") >= 32);
    assert!(!outcome.stderr.contains("waiting for thread"), "{}", outcome.stderr);
}

#[test]
fn case_061_too_many_open_files() {
    let (outcome, wall) = timed(|| limited(case("061-too-many-open-files"), "ulimit -n 40").run());
    faster_than(wall, 6);
    if outcome.code == 0 {
        assert!(outcome.ops("op1") >= 64);
        return;
    }
    outcome.exits(1).says("op1").says("Too many open files");
}

#[test]
fn case_063_two_million_entries_check() {
    let scratch = tempfile::tempdir().unwrap();
    let check = [WLRUN, "check", &path("063-two-million-entries-check"), "--dir", "."];
    // What is resident is no more than what is mapped.
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -v 1048576; exec \"$@\"", "bash"]).args(check).current_dir(scratch.path());
    let (output, wall) = timed(|| command.output().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    faster_than(wall, 5);
    assert!(is_empty(scratch.path()));
}

#[test]
fn case_065_fd_number_out_of_range() {
    let bench = case("065-fd-number-out-of-range");
    let checked = bench.check();
    if checked.code == 2 {
        mentions(&checked, "fd");
        located(&checked, 7, 49, "200");
        return;
    }
    checked.exits(0);
    let outcome = bench.run().exits(0);
    assert!(outcome.ops("op1") > 0 && outcome.ops("cl1") > 0);
}

#[test]
fn case_066_hundreds_of_filesets() {
    case("066-hundreds-of-filesets").check().exits(0);
}

// Direct I/O.

#[test]
fn case_070_directio_odd_iosize() {
    let (bench, _disk) = case_on_disk("070-directio-odd-iosize");
    let outcome = bench.run();
    if outcome.code == 0 {
        assert!(outcome.ops("rd1") > 0);
        return;
    }
    let outcome = outcome.exits(1);
    for text in ["rd1", "directio", "4062", "Invalid argument"] {
        mentions(&outcome, text);
    }
}

#[test]
fn case_071_directio_random_append() {
    let (bench, _disk) = case_on_disk("071-directio-random-append");
    let outcome = bench.run();
    if outcome.code == 1 {
        mentions(&outcome, "ar1");
        mentions(&outcome, "directio");
        return;
    }
    let outcome = outcome.exits(0);
    let sizes = bench.sizes();
    assert!(sizes.iter().all(|size| size % 512 == 0), "{sizes:?}");
    let growth = sizes.iter().sum::<u64>() - 4 * 4096;
    // On a disk so slow that the time ends the run, the last append may finish after it and is not counted.
    let uncounted = if outcome.only_run()["ended"] == "time" { 16384 } else { 0 };
    assert!((growth - uncounted..=growth).contains(&outcome.bytes("ar1")), "{growth} bytes more");
}

// Randomness.

#[test]
fn case_080_seed_repeats() {
    let sizes = || {
        let bench = case("080-seed-repeats");
        bench.run().exits(0);
        let mut sizes = bench.sizes();
        sizes.sort_unstable();
        sizes
    };
    let first = sizes();
    assert_eq!(first.len(), 100);
    assert_eq!(first, sizes());
    assert!(first.iter().collect::<BTreeSet<_>>().len() >= 3, "{first:?}");
    assert!(first.iter().all(|size| size % 1024 == 0 && *size >= 1024), "{first:?}");
}

#[test]
fn case_081_threads_do_not_share_offsets() {
    // Longer than the file says: strace leaves few operations of a second.
    let bench = case("081-threads-do-not-share-offsets").args(["--runtime", "3"]);
    let Some((_, outcome, log)) = traced(bench, "pread64") else { return };
    outcome.exits(0);
    let mut threads = std::collections::BTreeMap::<u32, Vec<u64>>::new();
    for call in calls(&log).iter().filter(|call| call.moved() == 4096) {
        // `5, "…", 4096, 8192)`
        let mut words = call.arguments.trim_end().trim_end_matches(')').rsplit(", ");
        let (offset, length) = (words.next().unwrap(), words.next().unwrap());
        if length == "4096" {
            threads.entry(call.thread).or_default().push(offset.parse().unwrap());
        }
    }
    let threads: Vec<Vec<u64>> = threads.into_values().collect();
    assert_eq!(threads.len(), 4);
    for (at, one) in threads.iter().enumerate() {
        assert!(one.len() >= 50, "{} reads", one.len());
        for other in &threads[..at] {
            let different = one.iter().zip(other).take(50).filter(|(a, b)| a != b).count();
            assert!(different >= 45, "two threads differ in {different} of 50 offsets");
        }
    }
    let offsets: Vec<u64> = threads.concat();
    assert!(offsets.iter().all(|offset| *offset <= (8 << 20) - 4096));
    let blocks: BTreeSet<u64> = offsets.iter().map(|offset| offset / 4096).collect();
    assert!(blocks.len() * 100 >= 2048 * 60, "{} reads touch {} of 2048 blocks", offsets.len(), blocks.len());
}

#[test]
fn case_083_table_distribution() {
    let bench = case("083-table-distribution");
    let outcome = bench.run().exits(0);
    let text = messages(&outcome);
    assert!(!text.contains("error") && !text.contains('×') && !text.contains("table"), "{text}");
    let sizes = bench.sizes();
    assert_eq!(sizes.len(), 400);
    assert!(sizes.iter().all(|size| [1024, 8192].contains(size)), "{sizes:?}");
    near(sizes.iter().filter(|size| **size == 8192).count() as u64, 200, 40);
}

#[test]
fn case_086_cvar_limits() {
    let bench = case("086-cvar-limits");
    bench.run().exits(0);
    let sizes = bench.sizes();
    assert_eq!(sizes.len(), 300);
    assert!(sizes.iter().all(|size| size % 64 == 0 && (4096..=16384).contains(size)), "{sizes:?}");
}

// Numbers.

#[test]
fn case_090_suffix_kb() {
    refused("090-suffix-kb", "kb", 2, 13, "1kb");
}

#[test]
fn case_091_upper_case_suffix() {
    let bench = case("091-upper-case-suffix");
    let outcome = bench.run();
    if outcome.code == 2 {
        mentions(&outcome, "64K");
        located(&outcome, 2, 36, "64K");
        return;
    }
    let outcome = outcome.exits(0);
    assert_eq!(bench.sizes(), [65536]);
    assert!(outcome.ops("rd1") > 0);
    assert_eq!(outcome.bytes("rd1"), 4096 * outcome.ops("rd1"));
}

#[test]
fn case_093_number_out_of_range() {
    let digits = "99999999999999999999";
    refused("093-number-out-of-range", digits, 2, 10, digits);
    let text = messages(&case("093-number-out-of-range").check());
    assert!(text.contains("too large") || text.contains("out of range"), "{text}");
}

#[test]
fn case_095_negative_count() {
    refused("095-negative-count", "-5", 2, 51, "-5");
}

#[test]
fn case_097_fractional_number() {
    let bench = case("097-fractional-number").args(["--runtime", "2"]);
    let checked = bench.check();
    if checked.code == 2 {
        mentions(&checked, "0.5");
        located(&checked, 7, 33, "0.5");
        return;
    }
    checked.exits(0);
    let outcome = bench.run().exits(0);
    let mean = number(&outcome.flowop("dl1")["latency_ns"], "mean");
    assert!((0.499e9..0.75e9).contains(&mean), "{mean} ns");
}

// Variables.

#[test]
fn case_100_one_letter_variable() {
    let bench = case("100-one-letter-variable");
    bench.run().exits(0);
    assert_eq!(bench.files().len(), 4);
}

#[test]
fn case_101_undefined_variable() {
    refused("101-undefined-variable", "nthreads", 5, 39, "$nthreads");
}

#[test]
fn case_102_variable_plus_path() {
    let bench = case("102-variable-plus-path");
    bench.run().exits(0);
    let files = bench.files();
    assert_eq!(files.len(), 4);
    assert!(files.iter().all(|file| file.starts_with("sub")), "{files:?}");
}

#[test]
fn case_103_shell_variable_in_system() {
    let bench = case("103-shell-variable-in-system").env("HOME", "/nowhere");
    if not_yet(&bench, "system") {
        return;
    }
    let bench = bench.args(["--allow-exec"]);
    let outcome = bench.run().exits(0);
    let expected = format!("home=/nowhere dir={}", bench.dir.display());
    assert!(outcome.stdout.lines().any(|line| line == expected), "{}", outcome.stdout);
}

#[test]
fn case_106_set_option() {
    let bench = case("106-set-option").args(["--set", "nfiles=3"]);
    bench.run().exits(0);
    assert_eq!(bench.files().len(), 3);
}

#[test]
fn case_108_variable_from_variable() {
    let bench = case("108-variable-from-variable");
    let outcome = bench.run();
    if outcome.code == 2 {
        mentions(&outcome, "$na");
        located(&outcome, 3, 9, "$na");
        return;
    }
    outcome.exits(0);
    assert_eq!(bench.files().len(), 4);
}

#[test]
fn case_109_dir_never_set() {
    let bench = case("109-dir-never-set");
    bench.run().exits(0);
    assert_eq!(bench.files().len(), 4);

    let empty = tempfile::tempdir().unwrap();
    let mut command = Command::new(WLRUN);
    command.arg(path("109-dir-never-set")).current_dir(empty.path()).stdin(Stdio::null());
    let output: Output = command.output().unwrap();
    let refused = bench.outcome(output).exits(2);
    mentions(&refused, "$dir");
    assert_eq!(refused.stdout, "");
    assert!(is_empty(empty.path()));
    assert!(!Path::new("/fs1").exists());
}

// Text.

#[test]
fn case_110_caret_in_string() {
    let bench = case("110-caret-in-string");
    if not_yet(&bench, "system") {
        return;
    }
    let outcome = bench.args(["--allow-exec"]).run().exits(0);
    assert!(outcome.stdout.lines().any(|line| line == "^caret^ -O ^uninit_bg"), "{}", outcome.stdout);
}

#[test]
fn case_111_crlf_file() {
    let text = fs::read_to_string(path("111-crlf-file")).unwrap();
    assert!(text.lines().count() > 1 && text.matches('\n').count() == text.matches("\r\n").count());
    let bench = case("111-crlf-file");
    bench.run().exits(0);
    assert_eq!(bench.files().len(), 4);
    let all = tree(&bench.dir);
    assert!(all.iter().all(|path| !path.to_str().unwrap().contains('\r')), "{all:?}");
}

#[test]
fn case_112_curly_quotes() {
    refused("112-curly-quotes", "“", 2, 21, "“fs1”");
}

#[test]
fn case_115_bare_dollar_in_string() {
    let outcome = case("115-bare-dollar-in-string").run().exits(0);
    assert!(outcome.stdout.contains("Web Version $Revision: 1.13 $ loaded"), "{}", outcome.stdout);
}

#[test]
fn case_117_comments_everywhere() {
    let bench = case("117-comments-everywhere");
    let outcome = bench.run().exits(0);
    assert_eq!(bench.files().len(), 4);
    assert!(outcome.ops("st1") > 0);
}

#[test]
fn case_119_attributes_over_lines() {
    let bench = case("119-attributes-over-lines");
    let outcome = bench.run().exits(0);
    assert_eq!(bench.files().len(), 4);
    assert!(outcome.ops("st1") > 0);
}

// Paths.

#[test]
fn case_120_tilde_path() {
    let bench = case("120-tilde-path");
    let home = bench.dir.join("home");
    let bench = bench.env("HOME", home.to_str().unwrap());
    let outcome = bench.run();
    assert!(!bench.scratch.path().join("~").exists());
    if outcome.code == 0 {
        let files = bench.files();
        assert_eq!(files.len(), 4);
        assert!(files.iter().all(|file| file.starts_with("home/wl-tilde")), "{files:?}");
        return;
    }
    assert!([1, 2].contains(&outcome.code), "{outcome:?}");
    mentions(&outcome, "~");
}

#[test]
fn case_121_foreign_file_survives() {
    let bench = case("121-foreign-file-survives");
    let keep = bench.dir.join("keepset/keep.txt");
    fs::create_dir(keep.parent().unwrap()).unwrap();
    fs::write(&keep, "precious\n").unwrap();
    let outcome = bench.run();
    assert_eq!(fs::read_to_string(&keep).unwrap(), "precious\n");
    let outcome = outcome.exits(3);
    mentions(&outcome, "keepset");
    assert_eq!(tree(&bench.dir).len(), 2);
}

#[test]
fn case_122_reuse_keeps_files() {
    let bench = case("122-reuse-keeps-files");
    let state = || {
        bench.run().exits(0);
        let [file] = bench.files().try_into().unwrap();
        let data = bench.dir.join(file).metadata().unwrap();
        (data.ino(), data.modified().unwrap())
    };
    assert_eq!(state(), state());
}

#[test]
fn case_126_unwritable_dir() {
    let dir = Path::new("/proc/wl-no");
    let error = fs::create_dir(dir).unwrap_err().to_string();
    let (outcome, wall) = timed(|| case("126-unwritable-dir").at(dir).args(["--mkdir"]).run());
    faster_than(wall, 2);
    assert!([1, 2].contains(&outcome.code), "{outcome:?}");
    mentions(&outcome, "/proc/wl-no");
    mentions(&outcome, error.split(" (").next().unwrap());
    assert_eq!(outcome.stdout, "");
}

#[test]
fn case_127_dir_missing() {
    let bench = case("127-dir-missing");
    let new = bench.dir.join("new");
    let bench = bench.at(&new.join("deep"));
    let refused = bench.run().exits(2);
    mentions(&refused, "--mkdir");
    assert!(!new.exists());

    let bench = bench.args(["--mkdir"]);
    bench.run().exits(0);
    let files = bench.files();
    assert_eq!(files.len(), 4);
    assert!(files.iter().all(|file| file.starts_with("fs1")), "{files:?}");
}

// Errors of I/O.

/// A file system of 4 MB; unmounted when it goes.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// None where it cannot be had.
    fn mount() -> Option<Self> {
        if !root("a small file system") || !have("mount") {
            return None;
        }
        let at = tempfile::tempdir().unwrap();
        let output = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(at.path()).output();
        let output = output.unwrap();
        if !output.status.success() {
            skip(&format!("no tmpfs can be mounted: {}", String::from_utf8_lossy(&output.stderr)));
            return None;
        }
        Some(SmallDisk(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn case_130_disk_full_in_run() {
    let Some(disk) = SmallDisk::mount() else { return };
    let outcome = case("130-disk-full-in-run").at(disk.0.path()).run().exits(1);
    let outcome = outcome.says("ap1").says("No space left");
    no_valid_record(&outcome);
}

#[test]
fn case_132_file_size_limit() {
    let outcome = limited(case("132-file-size-limit"), "ulimit -f 1024").run();
    outcome.exits(1).says("ap1").says("File too large");
}

#[test]
fn case_134_read_of_empty_preallocated_set() {
    let outcome = case("134-read-of-empty-preallocated-set").run().exits(0);
    ran_its_second(&outcome);
    assert!(outcome.ops("rd1") >= 10);
}

// JSON.

#[test]
fn case_140_json_beside_echo() {
    let on_stdout_only = |outcome: Outcome, text: &str| {
        assert_eq!(outcome.runs().len(), 1);
        assert!(outcome.stdout.lines().any(|line| line == text), "{}", outcome.stdout);
        assert!(!outcome.stderr.contains(text), "{}", outcome.stderr);
        outcome
    };
    // The echo alone, which needs no leave to run commands.
    let text = fs::read_to_string(path("140-json-beside-echo")).unwrap();
    let echo: Vec<&str> = text.lines().filter(|line| !line.starts_with("system")).collect();
    on_stdout_only(Bench::new(&echo.join("\n")).run().exits(0), "hello {");

    let bench = case("140-json-beside-echo");
    if not_yet(&bench, "system") {
        return;
    }
    let outcome = on_stdout_only(bench.args(["--allow-exec"]).run().exits(0), "hello {");
    on_stdout_only(outcome, "from the shell");
}

#[test]
fn case_141_json_on_failure() {
    let outcome = case("141-json-on-failure").run().exits(1);
    mentions(&outcome, "op1");
    mentions(&outcome, "fd=1");
    no_valid_record(&outcome);
    if outcome.record.is_some() {
        assert!(outcome.only_run()["reason"].as_str().unwrap().contains("op1"), "{}", outcome.only_run());
    }
}

#[test]
fn case_144_json_name() {
    let outcome = case("144-json-name").run().exits(0);
    assert!(outcome.ops("st é中") > 0);
}

// Rates.

#[test]
fn case_150_eventgen_50() {
    let outcome = case("150-eventgen-50").run().exits(0);
    near(outcome.ops("lim"), 100, 15);
    near(outcome.ops("rd1"), outcome.ops("lim"), 3);
}

#[test]
fn case_151_latency_without_throttle() {
    let outcome = case("151-latency-without-throttle").run().exits(0);
    let mean = number(&outcome.flowop("rd1")["latency_ns"], "mean");
    assert!(mean > 0.0 && mean < 5e6, "{mean} ns");
}

#[test]
fn case_154_eventgen_zero() {
    let outcome = case("154-eventgen-zero").run().exits(0);
    assert!(outcome.ops("st1") > 1000);
}

// File sets.

#[test]
fn case_160_more_threads_than_files() {
    let outcome = case("160-more-threads-than-files").run().exits(0);
    ran_its_second(&outcome);
    assert!(outcome.ops("rd1") > 100);
}

#[test]
fn case_161_exact_tree() {
    let bench = case("161-exact-tree");
    bench.run().exits(0);
    let files = bench.files();
    assert_eq!(files.len(), 1000);
    let depths: BTreeSet<usize> = files.iter().map(|file| file.components().count()).collect();
    assert_eq!(depths.len(), 1, "{depths:?}");
    for dir in tree(&bench.dir.join("fs1")).iter().filter(|path| path.is_dir()) {
        let entries = fs::read_dir(dir).unwrap().count();
        assert!(entries <= 10, "{entries} entries in {}", dir.display());
    }
}

#[test]
fn case_163_readonly_set() {
    let outcome = case("163-readonly-set").run();
    assert!([1, 2].contains(&outcome.code), "{outcome:?}");
    mentions(&outcome, "readonly");
    let text = messages(&outcome);
    assert!(text.contains("wr1") || text.contains("fs1"), "{text}");
    if outcome.record.is_some() {
        assert_eq!(outcome.ops("wr1"), 0);
    }
}

#[test]
fn case_165_same_fileset_twice() {
    let checked = case("165-same-fileset-twice").check().exits(2);
    mentions(&checked, "fs1");
    let quotes_the_first = checked.stderr.lines().any(|line| line.trim_start().starts_with("2 │ define fileset"));
    assert!(quotes_the_first || messages(&checked).contains("line 2"), "{}", checked.stderr);
    located(&checked, 3, 21, "fs1");
}

#[test]
fn case_166_same_thread_name_twice() {
    let name = "166-same-thread-name-twice";
    let outcome = case(name).run().exits(0);
    assert!(outcome.ops("read-1") > 0 && outcome.ops("read-2") > 0);
    let Some((bench, outcome, log)) = traced(case(name), "open,openat") else { return };
    outcome.exits(0);
    let files = bench.files();
    assert_eq!(files.len(), 2);
    for file in files {
        let end = format!("{}\"", file.strip_prefix("fs1").unwrap().display());
        let opened = log.lines().any(|line| line.contains(&end) && !line.contains("O_CREAT"));
        assert!(opened, "{} was not opened", file.display());
    }
}

// Priority.

#[test]
fn case_170_ioprio_out_of_range() {
    refused("170-ioprio-out-of-range", "ioprio", 5, 48, "9");
    mentions(&case("170-ioprio-out-of-range").check(), "0 to 7");
}

#[test]
fn case_172_ioprio_valid() {
    let outcome = case("172-ioprio-valid").run().exits(0);
    assert!(outcome.ops("st1") > 0);
}
