//! `wlrun fmt` through the real binary: what it writes, what it leaves alone, and what it says.

use crate::support::{Bench, Outcome, WLRUN, skip};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use wlrun::cli::library::Shelves;
use wlrun::diagnostic::Diagnostics;
use wlrun::source::{SourceFile, Sources};
use wlrun::syntax::Texts;
use wlrun::{plan, syntax};

const UGLY: &str = "set $n = 5 # five\r\ndefine fileset name=f,path=$dir, entries = $n,\n dirwidth=5\n";
const NEAT: &str = "set $n=5 # five\ndefine fileset name=f, path=$dir, entries=$n, dirwidth=5\n";
const WRONG: &str = "set n=5\nrun\nrum 5\n";

fn fmt(here: &Path, args: &[&str]) -> Outcome {
    fmt_of("", here, args)
}

fn fmt_of(input: &str, here: &Path, args: &[&str]) -> Outcome {
    let mut child = Command::new(WLRUN)
        .arg("fmt")
        .args(args)
        .current_dir(here)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing of it may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Bench::named("").outcome(child.wait_with_output().unwrap())
}

/// A directory with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let here = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(here.path().join(name), text).unwrap();
    }
    here
}

fn read(here: &tempfile::TempDir, name: &str) -> String {
    std::fs::read_to_string(here.path().join(name)).unwrap()
}

fn names(here: &tempfile::TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(here.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_rewritten_in_place_and_nothing_is_said() {
    let here = folder(&[("a.wl", UGLY), ("b.wl", NEAT), ("c.wl", "\u{feff}run 5\n")]);
    let mode = |name: &str| here.path().join(name).metadata().unwrap().mode() & 0o7777;
    std::fs::set_permissions(here.path().join("a.wl"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let before = here.path().join("b.wl").metadata().unwrap();
    let outcome = fmt(here.path(), &["a.wl", "b.wl", "c.wl"]).exits(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    assert_eq!((read(&here, "a.wl").as_str(), read(&here, "b.wl").as_str()), (NEAT, NEAT));
    assert_eq!(read(&here, "c.wl"), "run 5\n");
    assert_eq!(mode("a.wl"), 0o640);
    // What is canonical is not written.
    let after = here.path().join("b.wl").metadata().unwrap();
    assert_eq!((before.ino(), before.ctime_nsec()), (after.ino(), after.ctime_nsec()));
    assert_eq!(names(&here), ["a.wl", "b.wl", "c.wl"]);
    fmt(here.path(), &["--check", "a.wl", "b.wl", "c.wl"]).exits(0);
}

#[test]
fn check_lists_what_would_change_and_writes_nothing() {
    let here = folder(&[("a.wl", UGLY), ("b.wl", NEAT), ("c.wl", UGLY), ("d.wl", WRONG)]);
    let outcome = fmt(here.path(), &["--check", "a.wl", "b.wl", "c.wl"]).exits(1);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("a.wl\nc.wl\n", ""));
    assert_eq!(read(&here, "a.wl"), UGLY);
    assert_eq!(fmt(here.path(), &["--check", "d.wl", "a.wl"]).exits(2).stdout, "a.wl\n");
    assert_eq!(fmt_of(UGLY, here.path(), &["--check", "-"]).exits(1).stdout, "-\n");
    assert_eq!(fmt_of(NEAT, here.path(), &["--check", "-"]).exits(0).stdout, "");
}

#[test]
fn a_dash_is_standard_input_to_standard_output() {
    let here = folder(&[]);
    let outcome = fmt_of(UGLY, here.path(), &["-"]).exits(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), (NEAT, ""));
    assert_eq!(fmt_of("", here.path(), &["-"]).exits(0).stdout, "");
    assert_eq!(fmt_of(WRONG, here.path(), &["-"]).exits(2).says("-:1:5").stdout, "");
    assert_eq!(names(&here), [""; 0]);
}

#[test]
fn a_file_with_mistakes_is_left_and_the_others_are_done() {
    let here = folder(&[("a.wl", WRONG), ("b.wl", UGLY)]);
    let outcome =
        fmt(here.path(), &["a.wl", "b.wl"]).exits(2).says("a.wl:1:5").says("'rum'").says("did you mean 'run'?");
    assert_eq!(outcome.stdout, "");
    assert_eq!((read(&here, "a.wl").as_str(), read(&here, "b.wl").as_str()), (WRONG, NEAT));
    assert_eq!(names(&here), ["a.wl", "b.wl"]);
}

#[test]
fn what_is_no_file_that_can_be_written_is_refused_with_advice() {
    let here = folder(&[("a.wl", UGLY), ("b.wl", UGLY), ("wide.wl", "")]);
    std::fs::write(here.path().join("wide.wl"), b"\xff\xfer\0u\0n\0").unwrap();
    std::fs::create_dir(here.path().join("dir")).unwrap();
    fmt(here.path(), &["dir"]).exits(2).says("dir is a directory");
    fmt(here.path(), &["none.wl"]).exits(2).says("none.wl").says("No such file");
    // A personality is no file.
    fmt(here.path(), &["varmail"]).exits(2).says("varmail").says("No such file");
    fmt(here.path(), &["wide.wl"]).exits(2).says("wide.wl is UTF-16");
    fmt(here.path(), &["/dev/null"]).exits(0);
    fmt(here.path(), &[]).exits(2).says("FILE");
    fmt(here.path(), &["--force", "a.wl"]).exits(2).says("--to-wl");
    let [a, b] = ["a.wl", "b.wl"].map(|name| here.path().join(name));
    std::fs::set_permissions(&a, std::fs::Permissions::from_mode(0o444)).unwrap();
    fmt(here.path(), &["a.wl"]).exits(1).says("a.wl is read-only").says("chmod u+w");
    std::fs::hard_link(&b, here.path().join("c.wl")).unwrap();
    fmt(here.path(), &["b.wl"]).exits(1).says("2 names (hard links)");
    assert_eq!((read(&here, "a.wl").as_str(), read(&here, "b.wl").as_str()), (UGLY, UGLY));
    assert_eq!(names(&here), ["a.wl", "b.wl", "c.wl", "dir", "wide.wl"]);
}

#[test]
fn latin_1_becomes_utf_8_and_this_is_said() {
    let here = folder(&[]);
    let path = here.path().join("latin.f");
    let (old, new) = (b"# caf\xe9\nusage \"\x80\"\nrun 5\n", "# café\nusage \"€\"\nrun 5\n");
    std::fs::write(&path, old).unwrap();
    let said = "warning: latin.f is not UTF-8: it is read as Latin-1 (Windows-1252), and written as UTF-8";
    // The layout is right, and the bytes are not.
    assert_eq!(fmt(here.path(), &["--check", "latin.f"]).exits(1).says(said).stdout, "latin.f\n");
    assert_eq!(std::fs::read(&path).unwrap(), old);
    fmt(here.path(), &["--to-wl", "latin.f"]).exits(0).says(said);
    assert_eq!(read(&here, "latin.wl"), "# café\n# €\nrun 5\n");
    fmt(here.path(), &["latin.f"]).exits(0).says(said);
    assert_eq!(read(&here, "latin.f"), new);
    assert_eq!(fmt(here.path(), &["--check", "latin.f"]).exits(0).stderr, "");
}

#[test]
fn what_may_not_be_read_or_replaced_is_said() {
    if rustix::process::geteuid().is_root() {
        return skip("a file that may not be read is one for others than root only");
    }
    let here = folder(&[("a.wl", UGLY)]);
    let path = here.path().join("a.wl");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o200)).unwrap();
    fmt(here.path(), &["a.wl"]).exits(2).says("a.wl cannot be read: Permission denied");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::set_permissions(here.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
    fmt(here.path(), &["a.wl"]).exits(1).says("a.wl").says("cannot be made: Permission denied");
    std::fs::set_permissions(here.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(read(&here, "a.wl"), UGLY);
}

#[test]
fn a_link_stays_one_and_its_file_is_written() {
    let here = folder(&[("a.wl", UGLY)]);
    std::fs::create_dir(here.path().join("other")).unwrap();
    symlink("../a.wl", here.path().join("other/link.wl")).unwrap();
    fmt(here.path(), &["other/link.wl"]).exits(0);
    assert!(here.path().join("other/link.wl").is_symlink());
    assert_eq!(read(&here, "a.wl"), NEAT);
    assert_eq!(names(&here), ["a.wl", "other"]);
}

const OLD: &str =
    "usage \"an old one\"\ndefine filesets name=f,path=${dir},filesize=4K,entries=2,dirwidth=2,cached=false\nexit\n";
const NEW: &str =
    "# an old one\ndefine fileset name=f, path=$dir, size=4k, filesizegamma=1500, entries=2, dirwidth=2\nquit\n";

#[test]
fn old_forms_are_rewritten_into_a_file_beside() {
    let here = folder(&[("old.f", OLD)]);
    let outcome = fmt(here.path(), &["--to-wl", "old.f"]).exits(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    assert_eq!((read(&here, "old.f").as_str(), read(&here, "old.wl").as_str()), (OLD, NEW));
    // Layout alone changes no word.
    fmt(here.path(), &["old.f"]).exits(0);
    assert!(read(&here, "old.f").contains("filesize=4K") && read(&here, "old.f").ends_with("exit\n"));
    // A file that is there is somebody's.
    std::fs::write(here.path().join("old.wl"), UGLY).unwrap();
    fmt(here.path(), &["--to-wl", "old.f"]).exits(3).says("old.wl is there already").says("--force");
    assert_eq!(read(&here, "old.wl"), UGLY);
    fmt(here.path(), &["--to-wl", "--force", "old.f"]).exits(0);
    assert_eq!(read(&here, "old.wl"), NEW);
    assert_eq!(fmt_of(OLD, here.path(), &["--to-wl", "-"]).exits(0).stdout, NEW);
    fmt_of(WRONG, here.path(), &["--to-wl", "-"]).exits(2).says("'rum'");
    fmt(here.path(), &["--to-wl", "--check", "old.f"]).exits(2).says("cannot be used with");
    assert_eq!(names(&here), ["old.f", "old.wl"]);
}

/// What `load` finds beside the file is what `include` names; the working directory comes first for `load` alone.
#[test]
fn what_is_loaded_is_included() {
    let here =
        folder(&[("one.f", "load part\nload \"other\"\nload varmail\nrun 1\n"), ("part.f", OLD), ("other.wl", NEW)]);
    fmt(here.path(), &["--to-wl", "one.f"]).exits(0);
    assert_eq!(read(&here, "one.wl"), "include \"part.f\"\ninclude \"other.wl\"\ninclude \"varmail.wl\"\nrun 1\n");
}

/// What is rewritten out of filebench 1.4 is wlrun's own: it says what it means, and so does what is added to it.
#[test]
fn a_wl_is_never_of_filebench_1_4() {
    let process = "define process name=p { thread name=t { flowop statfile name=s,filesetname=f } }\nrun 1\n";
    let old =
        format!("usage \"x\"\ndefine fileset name=f,path=$dir,filesize=4k,entries=2,dirwidth=2,prealloc\n{process}");
    let here = folder(&[("old.f", old.as_str())]);
    let check = |name: &str| {
        let mut command = Command::new(WLRUN);
        let output = command.args(["check", name, "--dir", "."]).current_dir(here.path()).output().unwrap();
        Bench::named("").outcome(output).exits(0).stderr
    };
    let says = "the constant size is the mean of a gamma distribution";
    assert!(check("old.f").contains(says));
    fmt(here.path(), &["--to-wl", "old.f"]).exits(0);
    assert_eq!(check("old.wl"), "");
    let more =
        "define fileset name=more, path=$dir, size=4k, entries=2, dirwidth=2\n".to_owned() + &read(&here, "old.wl");
    std::fs::write(here.path().join("old.wl"), &more).unwrap();
    assert_eq!(check("old.wl"), "");
    fmt(here.path(), &["--to-wl", "--force", "old.wl"]).exits(0);
    assert_eq!(read(&here, "old.wl"), more);
}

#[test]
fn the_example_of_the_documentation_is_canonical() {
    let page = include_str!("../docs/reference/language.md");
    let section = page.split("## The canonical layout").nth(1).unwrap();
    let example = section.split("```wl\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(fmt_of(example, Path::new("/"), &["-"]).exits(0).stdout, example);
}

/// All workloads of the package, by their paths, that have no mistake of syntax.
fn workloads() -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["workloads", "tests/workloads/good", "tests/cases"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            // Some cases are no text.
            let Ok(file) = SourceFile::decode(path.display().to_string(), std::fs::read(&path).unwrap()) else {
                continue;
            };
            // What it includes lies there for all that are in `good`.
            let file = file.at(root.join("tests/workloads/lib/x"));
            let mut mistakes = Diagnostics::new();
            syntax::parse(&file, &mut mistakes);
            if !mistakes.has_errors() {
                found.push(file);
            }
        }
    }
    assert!(found.len() > 80, "{}", found.len());
    found
}

fn laid(file: &SourceFile) -> SourceFile {
    let mut found = Diagnostics::new();
    let text = syntax::format(file, &mut found);
    let text = text.unwrap_or_else(|| panic!("{}", found.render(&Sources::new(file.clone()), false)));
    SourceFile { text, ..file.clone() }
}

#[test]
fn the_layout_of_each_workload_says_the_same_and_is_its_own() {
    let tree = |file: &SourceFile| syntax::parse(file, &mut Diagnostics::new()).unplaced();
    // What stands in quotes is the tree's, so a difference is one of comments.
    let comments = |file: &SourceFile| file.text.matches('#').count();
    for file in workloads() {
        let new = laid(&file);
        assert_eq!(tree(&file), tree(&new), "{}", file.name);
        assert_eq!(comments(&file), comments(&new), "{}", file.name);
        assert_eq!(laid(&new).text, new.text, "{}", file.name);
    }
}

/// The plan of a text without its places, its dialect and what names the text; none where it has mistakes.
fn meaning(file: &SourceFile) -> Option<serde_json::Value> {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(object) => {
                object.remove("span");
                object.values_mut().for_each(strip);
            }
            serde_json::Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut found = Diagnostics::new();
    let texts = Texts::read(file.clone(), &Shelves::default(), &mut found);
    let dir = Some("/d".into());
    let options = plan::Options { base: "/d".into(), dir, seed: 1, check: true, ..plan::Options::default() };
    let mut json = serde_json::to_value(plan::plan(&texts, &options, &mut found)?).unwrap();
    strip(&mut json);
    json["workload"].take();
    json["dialect"].take();
    Some(json)
}

#[test]
fn rewriting_old_forms_keeps_the_plan_of_each_workload() {
    let mut count = 0;
    for file in workloads() {
        let Some(before) = meaning(&file) else { continue };
        let ast = syntax::parse(&file, &mut Diagnostics::new());
        let new = plan::to_wl(&file, &ast, &Shelves::default());
        let name = Path::new(&file.name).with_extension("wl").display().to_string();
        let new = laid(&SourceFile { text: new, name, latin1: None, ..file });
        assert_eq!(Some(before), meaning(&new), "{}", new.text);
        count += 1;
    }
    assert!(count > 60, "{count}");
}

#[test]
fn our_own_workloads_are_canonical() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
    let names: Vec<String> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".wl"))
        .collect();
    assert!(names.len() > 40);
    let mut args = vec!["--check"];
    args.extend(names.iter().map(String::as_str));
    assert_eq!(fmt(&root, &args).exits(0).stdout, "");
}
