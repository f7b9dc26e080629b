//! Holds the code to the table of layers: a module uses only what stands below it, or left of it in its row.
//!
//! The sources are read as tokens, so that comments and strings say nothing, and uses of another module are found in
//! paths of any form: `crate::units::bytes`, `use crate::{plan, syntax}`, `super::super::units` from where that leads out
//! of a module.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Lowest first. The order within a row counts too, so no two modules can use each other.
const LAYERS: &[&[&str]] = &[
    &["sys"],
    &["source", "units", "diagnostic", "attribute", "mounts"],
    &["random", "engine", "fileset", "syntax"],
    &["flowop"],
    &["record", "event", "monitor"],
    &["summary", "plan"],
    &["exec", "report"],
    &["cli"],
];

/// Pairs that do not know each other although the table would let one use the other.
const STRANGERS: &[(&str, &str)] = &[("report", "exec")];

/// Modules that work on texts and figures and open nothing.
const NO_FILES: &[&str] =
    &["attribute", "diagnostic", "source", "units", "syntax", "random", "plan", "summary", "report"];

#[derive(Debug, Clone, PartialEq)]
struct Token {
    text: String,
    line: usize,
}

/// Words, `::`, and single other characters; comments, strings, characters and lifetimes are left out.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut at, mut line) = (Vec::new(), 0, 1);
    while at < chars.len() {
        let start = at;
        let c = chars[at];
        let next = chars.get(at + 1).copied().unwrap_or('\0');
        let begun = line;
        if c == '/' && next == '/' {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if c == '/' && next == '*' {
            let mut depth = 0;
            while at < chars.len() {
                match (chars[at], chars.get(at + 1)) {
                    ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
                    ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
                    _ => at += 1,
                }
                if depth == 0 {
                    break;
                }
            }
        } else if let Some(hashes) = raw_string(&chars[at..]) {
            let end: String = format!("\"{}", "#".repeat(hashes));
            let end: Vec<char> = end.chars().collect();
            while chars[at] != '"' {
                at += 1;
            }
            at += 1;
            while at < chars.len() && !chars[at..].starts_with(&end) {
                at += 1;
            }
            at += end.len();
        } else if c == '"' {
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if c == '\'' && (next == '\\' || chars.get(at + 2) == Some(&'\'')) {
            at += if next == '\\' { 3 } else { 2 };
            while at < chars.len() && chars[at] != '\'' {
                at += 1;
            }
            at += 1;
        } else if c == '\'' {
            at += 1;
            while at < chars.len() && is_word(chars[at]) {
                at += 1;
            }
        } else if is_word(c) {
            while at < chars.len() && is_word(chars[at]) {
                at += 1;
            }
            found.push(Token { text: chars[start..at].iter().collect(), line: begun });
        } else if c == ':' && next == ':' {
            at += 2;
            found.push(Token { text: "::".into(), line: begun });
        } else {
            at += 1;
            if !c.is_whitespace() {
                found.push(Token { text: c.into(), line: begun });
            }
        }
        line += chars[start..at.min(chars.len())].iter().filter(|c| **c == '\n').count();
    }
    found
}

/// Number of `#` where a raw string starts here: `r"`, `br##"`, `c"` and `b"` are ordinary ones with a letter before.
fn raw_string(rest: &[char]) -> Option<usize> {
    let rest = match rest {
        ['b' | 'c', 'r', tail @ ..] => tail,
        ['r', tail @ ..] => tail,
        _ => return None,
    };
    let hashes = rest.iter().take_while(|c| **c == '#').count();
    (rest.get(hashes) == Some(&'"')).then_some(hashes)
}

/// A file below `src`.
struct Source {
    /// `src/plan/scope.rs`
    path: PathBuf,
    tokens: Vec<Token>,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Source { path: path.into(), tokens: tokens(text) }
    }

    /// `plan`, `scope` of `src/plan/scope.rs`; nothing for `main.rs` and `lib.rs`.
    fn module(&self) -> Vec<String> {
        let inner = self.path.strip_prefix("src").unwrap().with_extension("");
        let mut parts: Vec<String> = inner.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            parts.pop();
        }
        parts
    }

    fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }

    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    /// Top-level modules that are named, with the line of each.
    fn uses(&self) -> Vec<(String, usize)> {
        let module = self.module();
        let mut found = Vec::new();
        // Inline modules (`mod tests { }`), each with the depth of braces outside it.
        let mut inline: Vec<usize> = Vec::new();
        let mut depth = 0;
        for at in 0..self.tokens.len() {
            match self.text(at) {
                "{" => {
                    if at >= 2 && self.text(at - 2) == "mod" {
                        inline.push(depth);
                    }
                    depth += 1;
                }
                "}" => {
                    depth -= 1;
                    inline.pop_if(|outside| *outside == depth);
                }
                "crate" if self.text(at + 1) == "::" => self.heads(at + 2, &mut found),
                "super" if self.text(at + 1) == "::" && (at == 0 || self.text(at - 1) != "::") => {
                    let mut behind = at;
                    let mut ups = 0;
                    while self.text(behind) == "super" && self.text(behind + 1) == "::" {
                        (ups, behind) = (ups + 1, behind + 2);
                    }
                    if ups >= module.len() + inline.len() {
                        self.heads(behind, &mut found);
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// The first word of the path at `at`, or of each path of the group there.
    fn heads(&self, at: usize, found: &mut Vec<(String, usize)>) {
        if self.text(at) != "{" {
            return found.push((self.text(at).to_owned(), self.tokens.get(at).map_or(0, |t| t.line)));
        }
        let (mut depth, mut first) = (0, false);
        for token in &self.tokens[at..] {
            match token.text.as_str() {
                "{" => (depth, first) = (depth + 1, depth == 0),
                "}" => depth -= 1,
                "," if depth == 1 => first = true,
                word if first => {
                    found.push((word.to_owned(), token.line));
                    first = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }

    /// Lines where `words` stand one after the other.
    fn lines_of(&self, words: &[&str]) -> Vec<usize> {
        let starts = self.tokens.windows(words.len());
        starts.filter(|w| w.iter().zip(words).all(|(t, word)| t.text == *word)).map(|w| w[0].line).collect()
    }
}

fn rank(module: &str) -> Option<usize> {
    LAYERS.iter().copied().flatten().position(|name| *name == module)
}

/// Uses of what stands above.
fn layer_violations(source: &Source) -> Vec<String> {
    let Some(own) = source.module().first().cloned() else { return Vec::new() };
    let Some(own_rank) = rank(&own) else {
        return vec![format!("{}: the module {own} is not in the table of layers", source.place(1))];
    };
    source
        .uses()
        .into_iter()
        .filter_map(|(used, line)| {
            let why = match rank(&used) {
                None => format!("{used} is not in the table of layers"),
                Some(_) if STRANGERS.contains(&(own.as_str(), used.as_str())) => {
                    format!("{own} and {used} do not know each other")
                }
                Some(rank) if rank > own_rank => format!("{own} uses {used}, which stands above or right of it"),
                Some(_) => return None,
            };
            Some(format!("{}: {why}", source.place(line)))
        })
        .collect()
}

/// Everything else that is forbidden somewhere.
fn other_violations(source: &Source) -> Vec<String> {
    let own = source.module().first().cloned().unwrap_or_default();
    let mut found = Vec::new();
    let mut forbid = |words: &[&str], rule: &str| {
        found.extend(source.lines_of(words).into_iter().map(|line| format!("{}: {rule}", source.place(line))));
    };
    if own != "sys" {
        forbid(&["unsafe"], "unsafe code is in sys only");
        forbid(&["unsafe_code"], "unsafe code is in sys only, and allowed nowhere else");
    }
    for name in ["println", "print", "eprintln", "eprint", "dbg"] {
        forbid(&[name, "!"], "output goes through cli, which looks after errors");
    }
    if NO_FILES.contains(&own.as_str()) {
        for words in [["std", "::", "fs"], ["rustix", "::", "fs"], ["std", "::", "net"]] {
            forbid(&words, &format!("{own} opens no file"));
        }
        forbid(&["File", "::", "open"], &format!("{own} opens no file"));
    }
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn collect(dir: &Path, found: &mut Vec<Source>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(root()).unwrap().to_str().unwrap();
            found.push(Source::new(relative, &std::fs::read_to_string(&path).unwrap()));
        }
    }
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root().join("src"), &mut found);
    assert!(found.len() > 50, "the sources were not found: {}", found.len());
    found
}

#[track_caller]
fn assert_none(violations: Vec<String>) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn a_module_uses_only_what_stands_below_it() {
    assert_none(sources().iter().flat_map(layer_violations).collect());
}

#[test]
fn unsafe_code_output_and_files_are_where_they_belong() {
    assert_none(sources().iter().flat_map(other_violations).collect());
}

#[test]
fn every_top_level_module_is_in_the_table_and_in_the_library() {
    let sources = sources();
    let modules: BTreeSet<String> = sources.iter().filter_map(|source| source.module().first().cloned()).collect();
    for module in &modules {
        assert!(rank(module).is_some(), "{module} is not in the table of layers");
    }
    let lib = sources.iter().find(|source| source.path.ends_with("src/lib.rs")).unwrap();
    let declared = lib.tokens.windows(2).filter(|w| w[0].text == "mod").map(|w| w[1].text.clone());
    assert_eq!(declared.collect::<BTreeSet<_>>(), modules);
}

/// Stems of the files of a module that define something of the module's list.
fn defining_files(module: &str, definition: &[&str]) -> BTreeSet<String> {
    sources()
        .iter()
        .filter(|source| source.module().first().is_some_and(|m| m == module) && source.module().len() == 2)
        .filter(|source| !source.lines_of(definition).is_empty())
        .map(|source| source.module()[1].clone())
        .collect()
}

fn names<'a>(list: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    list.map(str::to_owned).collect()
}

#[test]
fn what_a_list_has_is_one_file_of_that_name() {
    let flowops = names(wlrun::flowop::FLOWOPS.iter().map(|def| def.name));
    assert_eq!(defining_files("flowop", &["static", "DEF", ":", "FlowopDef"]), flowops);
    let engines = names(wlrun::engine::ENGINES.iter().map(|def| def.name));
    assert_eq!(defining_files("engine", &["static", "DEF", ":", "EngineDef"]), engines);
    let distributions = names(wlrun::random::DISTRIBUTIONS.iter().map(|def| def.name));
    assert_eq!(defining_files("random", &[":", "DistributionDef", "="]), distributions);
    let monitors = names(wlrun::monitor::MONITORS.iter().map(|def| def.name));
    assert_eq!(defining_files("monitor", &["static", "DEF", ":", "MonitorDef"]), monitors);
    let forms = wlrun::report::RENDERERS.iter().map(|def| def.name.replace('-', "_")).collect();
    assert_eq!(defining_files("report", &["fn", "render", "(", "record"]), forms);
}

#[test]
fn a_flowop_never_reads_the_clock() {
    let clocks: Vec<String> = sources()
        .iter()
        .filter(|source| source.module().first().is_some_and(|m| m == "flowop"))
        // What a thread is made of hands the clock to the pauses; the flowops themselves have no use for it.
        .filter(|source| !matches!(source.module().get(1).map(String::as_str), Some("thread" | "testing")))
        .flat_map(|source| {
            let calls = [&["clock_gettime"][..], &["Instant", "::", "now"], &["SystemTime", "::", "now"]];
            let lines: Vec<usize> = calls.iter().flat_map(|words| source.lines_of(words)).collect();
            lines.into_iter().map(|line| source.place(line)).collect::<Vec<_>>()
        })
        .collect();
    assert_none(clocks);
}

// The checker itself.

fn layers_of(path: &str, text: &str) -> Vec<String> {
    layer_violations(&Source::new(path, text))
}

#[test]
fn a_use_of_a_higher_module_is_found_in_every_form() {
    let upward = "is_not_used;\n\nuse crate::{\n  units::{self, bytes},\n  plan::Plan,\n};\n";
    let rule = "record uses plan, which stands above or right of it";
    assert_eq!(layers_of("src/record/mod.rs", upward), [format!("src/record/mod.rs:5: {rule}")]);
    assert_eq!(layers_of("src/record/counters.rs", "fn f() { crate::plan::x() }").len(), 1);
    assert_eq!(layers_of("src/record/counters.rs", "use super::super::plan;").len(), 1);
    assert_eq!(layers_of("src/record/mod.rs", "use super::plan;").len(), 1);
    assert_eq!(layers_of("src/record/mod.rs", "mod tests { use super::super::plan; } use super::plan;").len(), 2);
    assert_eq!(layers_of("src/units.rs", "use crate::attribute::Value;").len(), 1, "right of it in the same row");
    assert_eq!(
        layers_of("src/report/text.rs", "use crate::exec::run;"),
        ["src/report/text.rs:1: report and exec do not know each other"]
    );
    assert_eq!(layers_of("src/new/mod.rs", ""), ["src/new/mod.rs:1: the module new is not in the table of layers"]);
    assert_eq!(layers_of("src/cli/run.rs", "use crate::*;").len(), 1);
}

#[test]
fn what_is_allowed_and_what_is_no_code_is_not_found() {
    let fine = r##"
        //! [`crate::cli`]
        /* crate::cli /* crate::cli */ crate::cli */
        use crate::sys; use crate::units::{self, bytes};
        const TEXT: &str = "crate::cli \" crate::cli"; const RAW: &str = r#"crate::cli " unsafe"#;
        const QUOTE: char = '"'; const SLASH: char = '\''; fn f<'a>(x: &'a str) {} // crate::cli println!
        mod tests { use super::super::record::Run; use super::Run; }
    "##;
    assert_eq!(layers_of("src/record/counters.rs", fine), [""; 0]);
    assert_eq!(other_violations(&Source::new("src/record/counters.rs", fine)), [""; 0]);
}

#[test]
fn what_is_forbidden_somewhere_is_found_there() {
    let all = "fn f() { unsafe { println!() }; std::fs::read(p); rustix::fs::open(p) }";
    assert_eq!(other_violations(&Source::new("src/summary/mod.rs", all)).len(), 4);
    assert_eq!(other_violations(&Source::new("src/fileset/disk.rs", all)).len(), 2);
    assert_eq!(other_violations(&Source::new("src/sys/region.rs", all)).len(), 1);
}
