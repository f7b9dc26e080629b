//! Workload files and what comes of them: `workloads/good` with the plan, `workloads/bad` with every message.
//!
//! A snapshot of a bad one holds the text and the messages together, and is named after the mistake. To write them
//! anew: `INSTA_UPDATE=always cargo test workloads::`, and read what has changed.

use crate::support::Bench;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wlrun::cli::library::Shelves;
use wlrun::diagnostic::Diagnostics;
use wlrun::plan::Plan;
use wlrun::source::{SourceFile, Sources};
use wlrun::syntax::Texts;

/// What `wlrun FILE --dir /d` makes of a text. It may include what lies in `tests/workloads/lib`.
fn plan(name: &str, text: &str) -> (Option<Plan>, Diagnostics, Sources) {
    // Tests run in the directory of the package; a path from there is the same everywhere.
    let file = SourceFile::new(name, text).at(Path::new("tests/workloads/lib").join(name));
    let options =
        wlrun::plan::Options { dir: Some("/d".into()), base: "/d".into(), seed: 1, ..wlrun::plan::Options::default() };
    let mut diagnostics = Diagnostics::new();
    let texts = Texts::read(file, &Shelves::default(), &mut diagnostics);
    let plan = wlrun::plan::plan(&texts, &options, &mut diagnostics);
    (plan, diagnostics, texts.sources().clone())
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Files of a folder with their texts, by name: `.wl`, or `.f` for what is of filebench 1.4.
fn workloads(kind: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::fs::read_dir(folder("workloads").join(kind))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wl" || extension == "f"))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    found.sort();
    assert!(found.len() >= 12, "{kind}: {}", found.len());
    found
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').unwrap().0
}

/// The name of a snapshot: `bad-unknown-flowop`.
fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "snapshots",
    }, { insta::assert_snapshot!(name, text) });
}

#[test]
fn the_plan_of_each_good_workload_is_what_it_means() {
    for (name, text) in workloads("good") {
        let (plan, diagnostics, sources) = plan(&name, &text);
        let found = diagnostics.render(&sources, false);
        let plan = plan.unwrap_or_else(|| panic!("{name} has mistakes:\n{found}"));
        let json = serde_json::to_string(&plan).unwrap();
        // What a worker is sent must come back as it was.
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan, "{name}");
        let notes = if found.is_empty() { String::new() } else { format!("{found}\n") };
        snapshot(&format!("good-{}", stem(&name)), &format!("{notes}{}", readable(&without_spans(&plan), 0)));
    }
}

#[test]
fn the_messages_of_each_bad_workload_say_what_is_wrong_and_where() {
    for (name, text) in workloads("bad") {
        let (plan, diagnostics, sources) = plan(&name, &text);
        assert!(plan.is_none() && diagnostics.has_errors(), "{name} has no mistake");
        let messages = diagnostics.render(&sources, false);
        snapshot(&format!("bad-{}", stem(&name)), &format!("{text}\n----- says -----\n{messages}"));
    }
}

#[test]
fn five_mistakes_are_five_messages_at_once() {
    let (_, text) = workloads("bad").into_iter().find(|(name, _)| name == "five-mistakes.wl").unwrap();
    let (_, diagnostics, sources) = plan("five-mistakes.wl", &text);
    let lines: Vec<usize> =
        diagnostics.sorted().iter().map(|d| sources.main().line_column(d.labels[0].0.start).0).collect();
    assert_eq!(lines, [3, 3, 8, 9, 11]);
    // And so says the binary.
    let outcome = Bench::new(&text).check().exits(2);
    for word in ["nfiles", "4kk", "openfile", "workingset", "data"] {
        assert!(outcome.stderr.contains(word), "{word}:\n{}", outcome.stderr);
    }
}

/// What follows from a mistake that was shown is no mistake of the user's.
#[test]
fn one_mistake_is_one_message() {
    let mut more = Vec::new();
    for (text, message) in [
        (
            "define process name=p { thread name=t { flowop delay name=d,value=1 } }\nset $x=\"no end\nrun 1\n",
            "closing",
        ),
        ("define process name=p,instances=-1 { thread name=t { flowop delay name=d,value=1 } }\nrun 1\n", "instances"),
        (
            "define fileset name=f,path=$dir,entires=1,dirwidth=1\n\
             define process name=p { thread name=t { flowop statfile name=s,filesetname=f } }\nrun 1\n",
            "entires",
        ),
    ] {
        let (_, diagnostics, sources) = plan("one.wl", text);
        let shown = diagnostics.render(&sources, false);
        assert!(shown.contains(message), "{shown}");
        if diagnostics.sorted().len() > 1 {
            more.push(format!(
                "{text}
{shown}"
            ));
        }
    }
    assert!(more.is_empty(), "\n{}", more.join("\n"));
}

#[test]
fn each_snapshot_belongs_to_a_workload() {
    let expected: BTreeSet<String> = ["good", "bad"]
        .iter()
        .flat_map(|kind| workloads(kind).into_iter().map(move |(name, _)| format!("{kind}-{}.snap", stem(&name))))
        .collect();
    let found: BTreeSet<String> = std::fs::read_dir(folder("snapshots"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("good-") || name.starts_with("bad-"))
        .collect();
    assert_eq!(found, expected);
}

/// The lines of a workload that end in another way do not change its plan.
#[test]
fn line_ends_mean_nothing() {
    for (name, text) in workloads("good") {
        let unix = text.replace("\r\n", "\n");
        let other = unix.replace('\n', "\r\n");
        let [a, b] = [&unix, &other].map(|text| {
            let mut plan = plan(&name, text).0.unwrap();
            plan.workload.hash.clear();
            plan
        });
        assert_eq!(without_spans(&a), without_spans(&b), "{name}");
    }
}

/// A plan keeps the places of its attributes for messages; they move with the text.
fn without_spans(plan: &Plan) -> serde_json::Value {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(object) => {
                object.values_mut().for_each(strip);
                if object.remove("span").is_some() && object.len() == 1 {
                    let typed = object.values_mut().next().map(serde_json::Value::take);
                    *value = typed.unwrap_or_default();
                }
            }
            serde_json::Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut json = serde_json::to_value(plan).unwrap();
    strip(&mut json);
    json
}

/// JSON with whatever fits a line on one line: a plan is read, not only compared.
fn readable(value: &serde_json::Value, indent: usize) -> String {
    use serde_json::Value;
    let flat = value.to_string();
    let (open, close, parts): (_, _, Vec<String>) = match value {
        _ if indent + flat.chars().count() <= 110 => return flat,
        Value::Array(list) => ('[', ']', list.iter().map(|item| readable(item, indent + 2)).collect()),
        Value::Object(object) => {
            let part = |(key, item)| format!("{}: {}", Value::from(key as &str), readable(item, indent + 2));
            ('{', '}', object.iter().map(|(key, item)| part((key.as_str(), item))).collect())
        }
        _ => return flat,
    };
    let pad = " ".repeat(indent + 2);
    format!("{open}\n{pad}{}\n{}{close}", parts.join(&format!(",\n{pad}")), " ".repeat(indent))
}

#[test]
fn each_personality_checks_without_a_word_and_lies_where_dir_says() {
    let shipped: BTreeSet<String> = std::fs::read_dir(folder("../workloads"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(wlrun::cli::library::LIBRARY.iter().map(|p| p.name.to_owned()).collect::<BTreeSet<_>>(), shipped);
    for personality in wlrun::cli::library::LIBRARY {
        let outcome = Bench::named(personality.name).args(["--dir", "/d"]).check().exits(0);
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""), "{}", personality.name);
        let (plan, diagnostics, _) = plan(&format!("{}.wl", personality.name), personality.text);
        assert!(diagnostics.is_empty(), "{}", personality.name);
        let plan = plan.unwrap();
        assert!(!plan.filesets.is_empty());
        for set in &plan.filesets {
            assert!(set.path.starts_with("/d"), "{}: {}", personality.name, set.path.display());
        }
        assert!(!personality.summary().is_empty());
    }
}
