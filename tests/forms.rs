//! The forms of a report for programs: each is read by readers that are not ours, is one document however a run ends,
//! and is the same from a saved record. The JSON document and the stream are held to their schemas.

use crate::support::{Bench, Outcome, WLRUN, have};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wlrun::report::RENDERERS;

/// Names that each form has to escape or quote, and two flowops of one name.
const AWKWARD: &str = "
    define fileset name=f,path=$dir,entries=20,dirwidth=5,size=4k,prealloc
    define process name=p {
      thread name=t,instances=2 {
        flowop statfile name=\"say, 'é中' back\\\\slash\",filesetname=f
        flowop read name=same,filesetname=f,iosize=1k
      }
      thread name=u {
        flowop read name=same,filesetname=f,iosize=1k
        flowop delay name=rest,value=10us
      }
    }
    run 60ms\n";

const PLAIN: &str = "
    define fileset name=f,path=$dir,entries=5,dirwidth=5,size=1k,prealloc
    define process name=p { thread name=t { flowop statfile name=stat1,filesetname=f } }\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

// The schemas.

/// What of JSON Schema our own schemas use. A word of it that this does not know is a failure, and so is a key of the
/// document that the schema does not describe.
struct Schema(Value);

impl Schema {
    fn read(path: &str) -> Self {
        Schema(serde_json::from_str(&std::fs::read_to_string(root().join(path)).unwrap()).unwrap())
    }

    #[track_caller]
    fn accepts(&self, document: &Value) {
        if let Err(why) = self.check(&self.0, document, "$") {
            panic!("{why}\n{document:#}");
        }
    }

    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let Some(schema) = schema.as_object() else {
            return (schema == &json!(true)).then_some(()).ok_or_else(|| format!("{at}: nothing is allowed here"));
        };
        for (word, rule) in schema {
            self.rule(schema, word, rule, value, at)?;
        }
        Ok(())
    }

    fn rule(
        &self,
        schema: &Map<String, Value>,
        word: &str,
        rule: &Value,
        value: &Value,
        at: &str,
    ) -> Result<(), String> {
        let fails = |why: String| Err(format!("{at}: {why}"));
        let list = |rule: &Value| rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
        match word {
            "$schema" | "$id" | "$defs" | "title" | "description" | "format" | "default" => {}
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").expect("a reference within the schema");
                self.check(&self.0["$defs"][name], value, at)?;
            }
            "type" if !list(rule).iter().any(|kind| is(kind.as_str().unwrap(), value)) => {
                return fails(format!("expected {rule}, found {value}"));
            }
            "const" if rule != value => return fails(format!("expected {rule}, found {value}")),
            "enum" if !list(rule).contains(value) => return fails(format!("expected one of {rule}, found {value}")),
            "minimum" if value.as_f64() < rule.as_f64() && value.is_number() => {
                return fails(format!("{value} < {rule}"));
            }
            "maximum" if value.as_f64() > rule.as_f64() && value.is_number() => {
                return fails(format!("{value} > {rule}"));
            }
            "type" | "const" | "enum" | "minimum" | "maximum" => {}
            "anyOf" | "oneOf" => {
                let tried: Vec<_> = list(rule).iter().map(|schema| self.check(schema, value, at)).collect();
                let fit = tried.iter().filter(|tried| tried.is_ok()).count();
                if fit == 0 || word == "oneOf" && fit > 1 {
                    return fails(format!("{fit} alternatives fit: {tried:?}"));
                }
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.check(rule, item, &format!("{at}[{n}]"))?;
                }
            }
            "required" if !value.is_object() => {}
            "required" => {
                if let Some(missing) = list(rule).iter().find(|key| value.get(key.as_str().unwrap()).is_none()) {
                    return fails(format!("no {missing}"));
                }
            }
            "properties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    match rule.get(key) {
                        Some(schema) => self.check(schema, value, &format!("{at}.{key}"))?,
                        None if schema.contains_key("additionalProperties") => {}
                        None => return fails(format!("the schema does not have the key {key}")),
                    }
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (key, value) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(key)) {
                        self.check(rule, value, &format!("{at}.{key}"))?;
                    }
                }
            }
            unknown => panic!("the schema has '{unknown}', which this test does not know"),
        }
        Ok(())
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    }
}

/// Fails the test unless this is one JSON document of a record.
#[track_caller]
pub fn document(text: &str) -> Value {
    let document = serde_json::from_str(text).unwrap_or_else(|e| panic!("no JSON: {e}\n{text}"));
    Schema::read("docs/record.schema.json").accepts(&document);
    document
}

/// Fails the test unless this is a whole stream: runs in their order, each behind its intervals, and an end.
#[track_caller]
fn stream(text: &str) -> Vec<Value> {
    let schema = Schema::read("docs/record-stream.schema.json");
    let objects: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("no JSON: {e}\n{line}")))
        .collect();
    objects.iter().for_each(|object| schema.accepts(object));
    let (end, rest) = objects.split_last().expect("there is an end");
    assert_eq!(end["type"], "end");
    let mut run = 1;
    for object in rest {
        assert_eq!(object["run"], run, "{text}");
        run += u64::from(object["type"] == "run");
    }
    assert_eq!((&end["runs"], rest.last().map(|last| &last["type"])), (&json!(run - 1), Some(&json!("run"))));
    objects
}

/// A workload, arguments, the exit code, what is in the reason, and whether the run was begun.
struct Ending {
    what: &'static str,
    text: String,
    args: Vec<&'static str>,
    code: i32,
    reason: &'static str,
    begun: bool,
}

fn every_exit_path() -> Vec<Ending> {
    let path = |what, text: &str, args: &[&'static str], code, reason, begun| Ending {
        what,
        text: text.to_owned(),
        args: args.to_vec(),
        code,
        reason,
        begun,
    };
    let fake = |script| ["--engine", script, "--interval", "10ms"];
    let dry = "define fileset name=f,path=$dir,entries=5,dirwidth=5,size=1k,prealloc
               define process name=p { thread name=t { flowop deletefile name=d,filesetname=f } }
               run 100\n";
    let run = format!("{PLAIN}run 20ms\n");
    vec![
        path("valid", &run, &[], 0, "", true),
        path("ran dry", dry, &[], 0, "no more work", true),
        path("an error", &run, &fake("fake:stat=20us,fail=stat:3:EIO"), 1, "stat1", true),
        path("nothing done", &run, &fake("fake:stat=90ms"), 1, "no operation finished", true),
        path("an assert", &format!("{run}assert stat1.ops < 1\n"), &[], 4, "", true),
        path("objections", &run.replace("name=t", "name=t,instances=1000000"), &[], 1, "1000000 threads", false),
        path("system without leave", &format!("system \"true\"\n{run}"), &[], 3, "--allow-exec", false),
        path("outside of --dir", &run.replace("$dir", "/tmp"), &[], 3, "outside", false),
        path("no directory", &run, &["--dir", "/nowhere/at/all"], 2, "", false),
        path("a mistake in the workload", &run.replace("statfile", "satfile"), &[], 2, "satfile", false),
        path("an unknown variable", &run, &["--set", "nosuch=1"], 2, "nosuch", false),
        path("an unknown option", &run, &["--nosuch"], 2, "--nosuch", false),
        path("a value that is none", &run, &["--runtime", "soon"], 2, "soon", false),
    ]
}

impl Ending {
    /// Its only document, and what the run said.
    #[track_caller]
    fn run(&self, format: &str) -> (Bench, Outcome) {
        let bench = Bench::new(&self.text);
        let file = bench.scratch.path().join("test.wl");
        let mut command = Command::new(WLRUN);
        command.arg(&file).args(["--format", format]).args(&self.args);
        if !self.args.contains(&"--dir") {
            command.arg("--dir").arg(&bench.dir);
        }
        command.arg("--json").arg(bench.json_path()).current_dir(bench.scratch.path());
        let outcome = bench.outcome(command.output().unwrap()).exits(self.code);
        assert_eq!(outcome.record.is_some(), self.begun, "{}: a file is written where a run was begun", self.what);
        if self.code != 0 {
            assert!(!outcome.stderr.is_empty(), "{}", self.what);
        }
        (bench, outcome)
    }
}

#[test]
fn every_exit_path_has_one_document_of_the_schema() {
    for path in every_exit_path() {
        let (bench, outcome) = path.run("json");
        let found = document(&outcome.stdout);
        let run = &found["runs"][0];
        let what = path.what;
        assert_eq!(run["valid"], path.code == 0 || path.code == 4, "{what}");
        assert!(run["reason"].as_str().unwrap_or_default().contains(path.reason), "{what}: {}", run["reason"]);
        if path.begun {
            assert_eq!(found.get("not_begun"), None, "{what}");
            assert_eq!(Some(&found), outcome.record.as_ref(), "{what}: the file has the same");
        } else {
            let why = &found["not_begun"];
            assert_eq!((&why["exit_code"], &why["reason"]), (&json!(path.code), &run["reason"]), "{what}");
            assert_eq!(found["workload"]["name"], "test", "{what}");
            assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0, "{what}: nothing was touched");
        }
    }
}

#[test]
fn every_exit_path_has_one_stream() {
    for path in every_exit_path() {
        let (_, outcome) = path.run("ndjson");
        let objects = stream(&outcome.stdout);
        assert_eq!(objects.last().unwrap()["valid"], path.code == 0 || path.code == 4, "{}", path.what);
        assert_eq!(objects.last().unwrap().get("not_begun").is_some(), !path.begun, "{}", path.what);
    }
}

#[test]
fn every_exit_path_has_a_document_in_each_other_form() {
    for path in every_exit_path() {
        let (_, outcome) = path.run("csv");
        let rows = csv(&outcome.stdout);
        assert_eq!(rows.last().unwrap()["row"], "total", "{}", path.what);
        assert_eq!(rows[0]["valid"], (path.code == 0 || path.code == 4).to_string(), "{}", path.what);
        assert!(rows[0]["reason"].contains(path.reason), "{}", path.what);
    }
    let refused = &every_exit_path()[6];
    csv(&refused.run("csv-intervals").1.stdout);
    let samples = exposition(&refused.run("prometheus").1.stdout);
    assert!(samples.iter().any(|(name, _, value)| name == "wlrun_not_begun_exit_code" && value == "3"));
    assert!(samples.iter().any(|(name, _, value)| name == "wlrun_run_valid" && value == "0"));
    assert!(refused.run("hdr").1.stdout.contains("#[run 1: run incomplete: the workload gives this"));
    assert_eq!(refused.run("text").1.stdout, "", "a table of nothing is for nobody");
}

#[test]
fn a_command_line_that_is_wrong_is_answered_in_the_form_that_it_asks_for() {
    let answer = |words: &[&str]| {
        let output = Command::new(WLRUN).args(words).output().unwrap();
        Bench::named("").outcome(output).exits(2).stdout
    };
    for words in [
        &["run", "x.wl", "--format=json", "--nosuch"][..],
        &["--format", "json"],
        &["x.wl", "--nosuch", "--format", "json"],
        &["x.wl", "--format", "json", "--json", "-"],
        &["x.wl", "--format", "json", "--out", "csv=-"],
    ] {
        assert_eq!(document(&answer(words))["not_begun"]["exit_code"], 2, "{words:?}");
    }
    for words in [
        &["check", "--format", "json"][..],
        &["x.wl", "--nosuch"],
        &["x.wl", "--format", "xml"],
        &["x.wl", "--nosuch", "--", "--format", "json"],
        &["report", "none.json", "--format", "json"],
    ] {
        assert_eq!(answer(words), "", "{words:?}");
    }
}

#[test]
fn what_was_measured_before_a_refusal_is_not_thrown_away() {
    let measured = "create files\ncreate processes\nsleep 30ms\nstats snap\nshutdown processes\n";
    let text = format!("{PLAIN}{measured}shutdown files\nsystem \"mkdir f; touch f/foreign\"\n{measured}");
    for format in ["json", "ndjson"] {
        let bench = Bench::new(&text);
        let mut command = Command::new(WLRUN);
        command.arg(bench.scratch.path().join("test.wl")).args(["--format", format, "--allow-exec", "--dir", "."]);
        let outcome = bench.outcome(command.current_dir(&bench.dir).output().unwrap()).exits(3).says("refused");
        let runs = match format {
            "json" => document(&outcome.stdout)["runs"].as_array().unwrap().clone(),
            _ => stream(&outcome.stdout).into_iter().filter(|object| object["type"] == "run").collect(),
        };
        let valid: Vec<&Value> = runs.iter().map(|run| &run["valid"]).collect();
        assert_eq!(valid, [true, false]);
        assert!(runs[1]["reason"].as_str().unwrap().contains("refused"), "{}", runs[1]["reason"]);
    }
}

/// A run that operations do not come back from takes half a minute, so its record is made from another one.
#[test]
fn a_stuck_run_is_of_the_schema() {
    let bench = Bench::new(&format!("{PLAIN}run 20ms\n"));
    let mut record = bench.run().exits(0).record.unwrap();
    record["runs"][0]["complete"] = false.into();
    record["runs"][0]["valid"] = false.into();
    record["runs"][0]["ended"] = "stuck".into();
    record["runs"][0]["reason"] = "1 process has operations under way".into();
    std::fs::write(bench.json_path(), record.to_string()).unwrap();
    assert_eq!(document(&report(&bench.json_path(), "json"))["runs"][0]["ended"], "stuck");
    assert_eq!(stream(&report(&bench.json_path(), "ndjson")).last().unwrap()["valid"], false);
}

#[test]
fn the_schema_refuses_what_is_none() {
    let bench = Bench::new(&format!("{PLAIN}run 20ms\n"));
    let record = bench.run().exits(0).record.unwrap();
    let schema = Schema::read("docs/record.schema.json");
    schema.accepts(&record);
    type Change = fn(&mut Value);
    let changes: [Change; 6] = [
        |record| record["runs"][0]["flowops"][0]["ops"] = (-1).into(),
        |record| record["runs"][0]["ended"] = "tired".into(),
        |record| record["runs"][0]["elapsed_ns"] = json!(1.5),
        |record| record["runs"][0]["total"]["latency_ns"]["p99"] = Value::Null,
        |record| record["seed"] = "1".into(),
        |record| record["runs"][0]["flowops"][0]["undescribed"] = 1.into(),
    ];
    for (n, change) in changes.iter().enumerate() {
        let mut record = record.clone();
        change(&mut record);
        assert!(schema.check(&schema.0, &record, "$").is_err(), "change {n}");
    }
    let mut record = record;
    record["runs"][0].as_object_mut().unwrap().shift_remove("total");
    assert!(schema.check(&schema.0, &record, "$").is_err());
}

// While the run is on.

#[test]
fn a_stream_goes_on_with_the_run_and_to_its_end_by_a_signal() {
    let bench = Bench::new(&format!("{PLAIN}run 100000\n")).args(["--format", "ndjson", "--interval", "20ms"]);
    let mut child = bench.command().spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    // The run goes on for a day, and this comes all the same.
    for _ in 0..2 {
        reader.read_line(&mut text).unwrap();
    }
    assert_eq!(text.matches("\"type\":\"interval\"").count(), 2, "{text}");
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    reader.read_to_string(&mut text).unwrap();
    let output = child.wait_with_output().unwrap();
    let outcome = bench.outcome(output).exits(130);
    let objects = stream(&text);
    let run = &objects[objects.len() - 2];
    assert_eq!((&run["ended"], &run["valid"]), (&json!("interrupted"), &json!(false)));
    Schema::read("docs/record.schema.json").accepts(outcome.record.as_ref().unwrap());
    assert_eq!(report(&bench.json_path(), "ndjson"), text, "the record has the same lines");
}

#[test]
fn a_reader_of_a_stream_that_has_gone_is_no_error_and_a_full_disk_is() {
    let bench = || Bench::new(&format!("{PLAIN}run 100ms\n")).args(["--format", "ndjson", "--interval", "20ms"]);
    let gone = bench();
    let mut child = gone.command().spawn().unwrap();
    drop(child.stdout.take());
    gone.outcome(child.wait_with_output().unwrap()).exits(0);
    let full = bench();
    let to = Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let output = full.command().stdout(to).output().unwrap();
    let outcome = full.outcome(output).exits(1).says("the output cannot be written").says("No space left");
    assert!(outcome.record.is_some(), "the record has room");
}

// From a saved record.

#[track_caller]
fn report(file: &Path, format: &str) -> String {
    let output = Command::new(WLRUN).arg("report").arg(file).args(["--format", format]).output().unwrap();
    Bench::named("").outcome(output).exits(0).stdout
}

#[test]
fn a_saved_record_is_shown_as_the_run_was_in_each_form() {
    let several = format!("{AWKWARD}echo between\nrun 30ms\n");
    let session = format!(
        "{PLAIN}create processes\nsleep 30ms\nstats clear\nsleep 60ms\nstats snap\nsleep 20ms\nstats snap\n\
         shutdown processes\n"
    );
    for renderer in RENDERERS {
        for text in [AWKWARD, &several, &session] {
            let bench = Bench::new(text).args(["--format", renderer.name, "--interval", "20ms"]);
            let file = bench.scratch.path().join("out");
            let bench = bench.args([format!("--out={}={}", renderer.name, file.display())]);
            let ran = bench.run().exits(0);
            let shown = report(&bench.json_path(), renderer.name);
            // An echo behind the first run is the workload's, not the report's.
            let printed = ran.stdout.strip_suffix("between\n").unwrap_or(&ran.stdout);
            assert_eq!(printed, shown, "{}", renderer.name);
            assert_eq!(std::fs::read_to_string(file).unwrap(), shown, "{}", renderer.name);
        }
    }
}

#[test]
fn a_record_of_the_first_version_is_still_read() {
    let path = root().join("tests/records/1.0.json");
    let old: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for renderer in RENDERERS {
        assert!(!report(&path, renderer.name).is_empty());
    }
    let new = document(&report(&path, "json"));
    for key in ["seed", "workload", "environment"] {
        for (name, value) in old[key].as_object().into_iter().flatten() {
            assert_eq!(&new[key][name], value, "{key}.{name}");
        }
    }
    for key in ["flowops", "total", "asserts"] {
        assert_eq!(new["runs"][0][key], old["runs"][0][key], "{key}");
    }
}

#[test]
fn a_newer_record_is_read_with_a_word() {
    let bench = Bench::new(&format!("{PLAIN}run 20ms\n"));
    let mut record = bench.run().exits(0).record.unwrap();
    let mut show = |version: &str| {
        record["schema_version"] = version.into();
        record["runs"][0]["moon"] = "full".into();
        std::fs::write(bench.json_path(), record.to_string()).unwrap();
        let output = Command::new(WLRUN).arg("report").arg(bench.json_path()).output().unwrap();
        bench.outcome(output)
    };
    let newer = show("1.999").exits(0).says("schema version 1.999").says("is not shown");
    let known = show(wlrun::record::SCHEMA_VERSION).exits(0);
    assert_eq!((known.stderr.as_str(), &known.stdout), ("", &newer.stdout));
    show("2.0").exits(2).says("2.0");
}

// Readers.

/// Runs a program on a text; none where it is not installed.
fn read_by(program: &str, args: &[&str], text: &str) -> Option<String> {
    use std::io::Write;
    if !have(program) {
        return None;
    }
    let mut command = Command::new(program);
    let mut child =
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// An awkward run in these forms, with its record.
fn awkward(formats: &[&str]) -> (Value, BTreeMap<String, String>) {
    let bench = Bench::new(AWKWARD).args(["--interval", "20ms"]);
    let paths: Vec<PathBuf> = formats.iter().map(|format| bench.scratch.path().join(format)).collect();
    let outs: Vec<String> =
        formats.iter().zip(&paths).map(|(format, path)| format!("--out={format}={}", path.display())).collect();
    let bench = bench.args(outs);
    let record = bench.run().exits(0).record.unwrap();
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).unwrap());
    (record, formats.iter().map(|format| (*format).to_owned()).zip(texts).collect())
}

#[test]
fn jq_reads_the_document_and_the_stream() {
    let (record, forms) = awkward(&["json", "ndjson"]);
    let total = record["runs"][0]["total"]["ops"].to_string();
    let ask = |filter: &str, text: &str| read_by("jq", &["-c", filter], text);
    if let Some(found) = ask(".runs[0].total.ops", &forms["json"]) {
        assert_eq!(found.trim(), total);
    }
    if let Some(found) = ask("select(.type == \"run\") | .total.ops", &forms["ndjson"]) {
        assert_eq!(found.trim(), total);
    }
    if let Some(found) = read_by("jq", &["-s", "map(select(.type == \"interval\").total.ops) | add"], &forms["ndjson"])
    {
        assert_eq!(found.trim(), total);
    }
}

/// python3's own readers, and its `jsonschema` where that is installed.
#[test]
fn python_reads_json_and_csv() {
    let (record, forms) = awkward(&["json", "ndjson", "csv", "csv-intervals"]);
    let run = |script: &str, text: &str| read_by("python3", &["-c", script], text);
    let script = "import csv, io, json, sys
rows = list(csv.DictReader(io.TextIOWrapper(sys.stdin.buffer, 'utf-8', newline='')))
assert all(None not in row and None not in row.values() for row in rows)
print(json.dumps(rows))";
    for form in ["csv", "csv-intervals"] {
        if let Some(found) = run(script, &forms[form]) {
            let theirs: Vec<BTreeMap<String, String>> = serde_json::from_str(&found).unwrap();
            assert_eq!(theirs, csv(&forms[form]), "{form}");
        }
    }
    // Strictly: no NaN, no infinity, no key twice.
    let script = "import json, sys
def no(x): raise ValueError(x)
def once(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), keys
    return dict(pairs)
for text in sys.stdin.read().split('\\n\\0'):
    json.loads(text, parse_constant=no, object_pairs_hook=once)";
    run(script, &forms["json"]);
    run(script, &forms["ndjson"].trim_end().replace('\n', "\n\0"));
    let schema = |path: &str, text: &str| {
        let path = root().join(path);
        let script = format!(
            "import json, sys
from jsonschema import Draft202012Validator as V
schema = json.load(open({:?}))
V.check_schema(schema)
for text in sys.stdin.read().split('\\n\\0'): V(schema).validate(json.loads(text))",
            path.display().to_string()
        );
        run(&script, text);
    };
    let installed = Command::new("python3").args(["-c", "import jsonschema"]).output();
    if installed.is_ok_and(|output| output.status.success()) {
        schema("docs/record.schema.json", &forms["json"]);
        schema("docs/record-stream.schema.json", &forms["ndjson"].trim_end().replace('\n', "\n\0"));
    } else {
        crate::support::skip("python3 has no module jsonschema");
    }
    assert_eq!(record["runs"].as_array().unwrap().len(), 1);
}

/// The rows of a table after RFC 4180, by the names of its columns.
#[track_caller]
fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut rows = vec![vec![String::new()]];
    let (mut chars, mut within) = (text.chars().peekable(), false);
    while let Some(c) = chars.next() {
        let row = rows.last_mut().unwrap();
        let field = row.last_mut().unwrap();
        match c {
            '"' if within && chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
            '"' if within => {
                within = false;
                assert!(matches!(chars.peek(), Some(',' | '\r')), "text behind a quote: {text}");
            }
            _ if within => field.push(c),
            '"' if field.is_empty() => within = true,
            ',' => row.push(String::new()),
            '\r' => {
                assert_eq!(chars.next(), Some('\n'), "lines end in CR LF");
                rows.push(vec![String::new()]);
            }
            '"' | '\n' => panic!("a bare {c:?} in {text}"),
            c => field.push(c),
        }
    }
    assert_eq!(rows.pop(), Some(vec![String::new()]), "the last line ends");
    let header = rows.remove(0);
    let row = |row: Vec<String>| {
        assert_eq!(row.len(), header.len(), "{row:?}");
        header.iter().cloned().zip(row).collect()
    };
    rows.into_iter().map(row).collect()
}

#[test]
fn each_row_has_the_figures_of_the_record() {
    let (record, forms) = awkward(&["csv", "csv-intervals"]);
    let run = &record["runs"][0];
    let rows = csv(&forms["csv"]);
    let flowops = run["flowops"].as_array().unwrap();
    let entries: Vec<&Value> = flowops.iter().chain([&run["total"]]).collect();
    assert_eq!(rows.len(), entries.len());
    for (row, entry) in rows.iter().zip(entries) {
        for key in ["ops", "ops_per_s", "bytes_read", "bytes_per_s", "auto_opens", "in_flight"] {
            assert_eq!(row[key].parse::<f64>().unwrap(), entry[key].as_f64().unwrap(), "{key}");
        }
        for statistic in ["min", "mean", "stddev", "p50", "p99_99", "max"] {
            let ours: u64 = row[&format!("latency_{statistic}_ns")].parse().unwrap();
            assert_eq!(entry["latency_ns"][statistic], ours, "{statistic}");
        }
        for (column, key) in [("flowop", "name"), ("process", "process"), ("thread", "thread"), ("type", "type")] {
            assert_eq!(row[column], entry.get(key).and_then(Value::as_str).unwrap_or_default());
        }
    }
    let rows = csv(&forms["csv-intervals"]);
    let total = rows.iter().filter(|row| row["row"] == "total");
    assert_eq!(total.map(|row| row["ops"].parse::<u64>().unwrap()).sum::<u64>(), run["total"]["ops"].as_u64().unwrap());
}

/// The samples of a text after Prometheus' exposition format 0.0.4: name, labels, value.
#[track_caller]
fn exposition(text: &str) -> Vec<(String, BTreeMap<String, String>, String)> {
    let is_name = |name: &str, colon: bool| {
        let fits = |c: char| c == '_' || c.is_ascii_alphanumeric() || colon && c == ':';
        !name.is_empty() && name.chars().all(fits) && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    assert!(text.ends_with('\n'));
    let mut samples = Vec::new();
    let (mut help, mut family) = (String::new(), (String::new(), String::new()));
    let mut families = std::collections::BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, text) = rest.split_once(' ').unwrap();
            assert!(is_name(name, true) && !text.is_empty(), "{line}");
            help = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "summary"].contains(&kind), "{line}");
            assert_eq!(name, help, "the help stands before the type");
            assert!(families.insert(name.to_owned()), "{name} has its lines in two places");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            family = (name.to_owned(), kind.to_owned());
        } else {
            let (name, rest) = line.split_once('{').unwrap();
            assert!(is_name(name, true), "{line}");
            let (mut labels, mut rest) = (BTreeMap::new(), rest);
            while !rest.starts_with('}') {
                let (label, value) = rest.split_once("=\"").unwrap();
                assert!(is_name(label, false), "{line}");
                let (mut text, mut chars) = (String::new(), value.char_indices());
                let end = loop {
                    match chars.next().unwrap() {
                        (_, '\\') => text.push(match chars.next().unwrap().1 {
                            'n' => '\n',
                            c @ ('\\' | '"') => c,
                            c => panic!("no escape \\{c} in {line}"),
                        }),
                        (at, '"') => break at + 1,
                        (_, c) => text.push(c),
                    }
                };
                assert!(labels.insert(label.to_owned(), text).is_none(), "{label} twice in {line}");
                rest = value[end..].trim_start_matches(',');
            }
            let value = rest.strip_prefix("} ").unwrap();
            assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
            let suffix = name.strip_prefix(family.0.as_str()).expect("the family's lines stand below it");
            let quantile = labels.contains_key("quantile");
            match family.1.as_str() {
                "summary" => assert!(matches!((suffix, quantile), ("", true) | ("_sum" | "_count", false)), "{line}"),
                _ => assert!(suffix.is_empty() && !quantile, "{line}"),
            }
            let sample = (name.to_owned(), labels, value.to_owned());
            assert!(!samples.iter().any(|(n, l, _)| (n, l) == (&sample.0, &sample.1)), "twice: {line}");
            samples.push(sample);
        }
    }
    samples
}

#[test]
fn prometheus_finds_each_flowop() {
    let (record, forms) = awkward(&["prometheus"]);
    let samples = exposition(&forms["prometheus"]);
    for flowop in record["runs"][0]["flowops"].as_array().unwrap() {
        let of = |name: &str| {
            let label = |labels: &BTreeMap<String, String>, name: &str| labels.get(name).cloned().unwrap_or_default();
            let found: Vec<&str> = samples
                .iter()
                .filter(|(n, labels, _)| {
                    n == name
                        && label(labels, "flowop") == flowop["name"].as_str().unwrap()
                        && label(labels, "thread") == flowop["thread"].as_str().unwrap()
                })
                .map(|(_, _, value)| value.as_str())
                .collect();
            assert_eq!(found.len(), 1, "{name} of {flowop}");
            found[0].to_owned()
        };
        assert_eq!(of("wlrun_flowop_operations_total"), flowop["ops"].to_string());
        assert_eq!(of("wlrun_flowop_latency_seconds_count"), flowop["ops"].to_string());
        let sum: f64 = of("wlrun_flowop_latency_seconds_sum").parse().unwrap();
        assert_eq!((sum * 1e9).round() as u64, flowop["histogram"]["sum_ns"].as_u64().unwrap());
    }
}

/// By the reader of Python's `hdrhistogram`, where that is installed; the one of Rust reads it in the unit tests.
#[test]
fn hdrhistogram_reads_the_log() {
    let (record, forms) = awkward(&["hdr"]);
    let installed = Command::new("python3").args(["-c", "import hdrh.log"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        crate::support::skip("python3 has no module hdrh");
        return;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &forms["hdr"]).unwrap();
    let script = "import sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 1 << 43, 2))
while True:
    found = reader.get_next_interval_histogram()
    if found is None: break
    print(found.get_total_count())";
    let output = Command::new("python3").args(["-c", script]).arg(file.path()).output().unwrap();
    let found = String::from_utf8_lossy(&output.stdout);
    let counts: Vec<String> = found.lines().map(str::to_owned).collect();
    let run = &record["runs"][0];
    let flowops = run["flowops"].as_array().unwrap().iter().chain([&run["total"]]);
    assert_eq!(counts, flowops.map(|flowop| flowop["ops"].to_string()).collect::<Vec<_>>(), "{output:?}");
}

// Files.

#[test]
fn stdout_is_no_file_for_a_second_report() {
    for option in [["--json", "-"], ["--out", "csv=-"], ["--out", "csv="]] {
        let bench = Bench::new(&format!("{PLAIN}run 20ms\n"));
        let mut command = Command::new(WLRUN);
        command.arg(bench.scratch.path().join("test.wl")).arg("--dir").arg(&bench.dir).args(option);
        let outcome = bench.outcome(command.output().unwrap()).exits(2);
        let word = if option[1] == "csv=" { "expected a file" } else { "stdout has the report already" };
        assert_eq!(outcome.says(word).stdout, "");
        assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 0);
    }
}

/// A file system of 64 KiB, where the test may mount one.
#[test]
fn a_file_that_does_not_fit_leaves_the_old_one() {
    if !crate::support::root("mounting a small file system") {
        return;
    }
    let bench = Bench::new(AWKWARD);
    let small = bench.scratch.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8k", "none"]).arg(&small).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        crate::support::skip("no tmpfs can be mounted");
        return;
    }
    let file = small.join("run.ndjson");
    std::fs::write(&file, "old\n").unwrap();
    let bench = bench.args([format!("--out=ndjson={}", file.display()), "--interval=10ms".into()]);
    let output = bench.command().output();
    let (old, names) = (std::fs::read_to_string(&file), std::fs::read_dir(&small).map(Iterator::count));
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    let outcome = bench.outcome(output.unwrap()).exits(1).says("run.ndjson cannot be written").says("No space left");
    assert!(outcome.stdout.contains("same") && outcome.record.is_some(), "the other reports are whole");
    assert_eq!((old.unwrap().as_str(), names.unwrap()), ("old\n", 1));
}
