//! The documentation says what the code does: the generated reference is up to date, every workload in a page can be
//! planned, and every option that a page writes down exists.

use crate::support::WLRUN;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use wlrun::attribute::{AttributeDef, Fallback, Kind};
use wlrun::cli::exit::EXIT_CODES;
use wlrun::cli::library::{LIBRARY, Shelves};
use wlrun::diagnostic::Diagnostics;
use wlrun::engine::{self, ENGINES};
use wlrun::flowop::{self, FLOWOPS};
use wlrun::monitor::{Kind as FigureKind, MONITORS};
use wlrun::plan::COMMANDS;
use wlrun::plan::entity::{ENTITIES, Entity};
use wlrun::random::DISTRIBUTIONS;
use wlrun::report::RENDERERS;
use wlrun::source::SourceFile;
use wlrun::summary::{METRICS, WARNINGS};
use wlrun::syntax::Texts;

/// The directory of the package.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md and all pages below docs/, each with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let mut paths = vec![root().join("README.md")];
    let mut directories = vec![root().join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root()).unwrap().to_owned(), text)
    };
    paths.into_iter().map(read).collect()
}

/// The fenced blocks of a page that are marked with `language`, each with the number of its first line.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(bool, usize, String)> = None;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(marked)) => open = Some((marked == language, at + 2, String::new())),
            (Some(_), Some(_)) => {
                if let Some((true, first, block)) = open.take() {
                    found.push((first, block));
                }
                open = None;
            }
            (Some((_, _, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

/// The words that begin with `--` in a text.
fn options(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(|word| word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase())))
        .map(str::to_owned)
        .collect()
}

fn help(words: &[&str]) -> String {
    let output = Command::new(WLRUN).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

const SUBCOMMANDS: [&str; 9] = ["run", "check", "plan", "fmt", "list", "show", "explain", "report", "clean"];

#[test]
fn every_workload_in_a_page_can_be_planned() {
    let mut count = 0;
    for (page, text) in pages() {
        for (line, block) in blocks(&text, "wl") {
            let file = SourceFile::new(format!("{}:{line}", page.display()), block);
            let mut diagnostics = Diagnostics::new();
            let texts = Texts::read(file, &Shelves::default(), &mut diagnostics);
            let options =
                wlrun::plan::Options { base: "/".into(), seed: 1, check: true, ..wlrun::plan::Options::default() };
            wlrun::plan::plan(&texts, &options, &mut diagnostics);
            assert!(!diagnostics.has_errors(), "{}", diagnostics.render(texts.sources(), false));
            count += 1;
        }
    }
    assert!(count > 0, "no page has a workload");
}

#[test]
fn every_command_in_a_page_has_options_that_exist() {
    let known: BTreeMap<&str, BTreeSet<String>> =
        SUBCOMMANDS.iter().map(|name| (*name, options(&help(&[name])))).collect();
    for (page, text) in pages() {
        for (line, block) in ["sh", "console"].iter().flat_map(|language| blocks(&text, language)) {
            for command in block.lines() {
                let command = command.trim_start_matches("$ ").split(" #").next().unwrap_or_default();
                let Some(words) = command.strip_prefix("wlrun ") else { continue };
                let first = words.split(' ').next().unwrap_or_default();
                let name = SUBCOMMANDS.iter().find(|name| **name == first).copied().unwrap_or("run");
                let unknown: Vec<String> = options(words).difference(&known[name]).cloned().collect();
                assert!(unknown.is_empty(), "{} line {line}: {command}: {unknown:?}", page.display());
            }
        }
    }
}

#[test]
fn the_page_of_the_command_line_has_every_option_and_no_other() {
    let page = std::fs::read_to_string(root().join("docs/reference/cli.md")).unwrap();
    let built = page.split("## Not built yet").next().unwrap();
    let mut known = options(&help(&[]));
    for name in SUBCOMMANDS {
        known.extend(options(&help(&[name])));
        assert!(built.contains(&format!("wlrun {name}")), "wlrun {name}");
    }
    assert_eq!(options(built), known);
}

#[test]
fn the_readme_begins_with_the_two_commands_that_ci_runs() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let commands: Vec<String> = blocks(&text, "sh").into_iter().map(|(_, block)| block).collect();
    assert!(commands[0].starts_with("cargo run --release -- fileserver "), "{}", commands[0]);
    assert_eq!(commands[1], "cargo test\n");
    assert!(commands[..2].iter().all(|command| command.lines().count() == 1));
}

#[test]
fn links_lead_to_files_that_are_there() {
    for (page, text) in pages() {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = target.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = root().join(&page).parent().unwrap().join(target);
            assert!(path.exists(), "{}: {target}", page.display());
        }
    }
}

#[test]
fn the_generated_reference_is_up_to_date() {
    let path = root().join("docs/reference/generated.md");
    let generated = reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = generated.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(
        generated == found,
        "docs/reference/generated.md is out of date; UPDATE_DOCS=1 cargo test docs writes it. First difference: \
         {differs:?}"
    );
}

/// What docs/reference/generated.md holds.
fn reference() -> String {
    let mut out = String::from(
        "<!-- Generated from the lists in the code. Do not edit: UPDATE_DOCS=1 cargo test docs writes it anew. -->\n\n\
         # Reference: flowops, attributes and the other lists\n\n\
         `wlrun list WHAT` prints the same lists in short. How the language reads them is in\n\
         [language.md](language.md).\n",
    );
    section(&mut out, "Commands", &["command", "what it does"]);
    for def in COMMANDS {
        row(&mut out, &[&format!("`{}`", def.form), def.summary]);
    }

    section(&mut out, "Flowops", &["flowop", "class", "what it does", "attributes"]);
    for def in FLOWOPS {
        let attributes: Vec<String> = def
            .attributes()
            .map(|a| if a.default == Fallback::Required { format!("**{}**", a.name) } else { a.name.into() })
            .collect();
        let class = format!("{:?}", def.class).to_lowercase();
        row(&mut out, &[&names(def.name, def.aliases), &class, def.summary, &attributes.join(", ")]);
    }
    out.push_str("\nAttributes in bold are required. Operations of the class control are not in the totals.\n");

    section(&mut out, "Attributes of flowops", &["attribute", "of", "takes", "default", "meaning"]);
    // One row for each declaration: flowops that share one stand together.
    let mut declarations: Vec<(&AttributeDef, Vec<&str>)> = Vec::new();
    for def in FLOWOPS {
        for attribute in def.attributes() {
            match declarations.iter_mut().find(|(known, _)| *known == attribute) {
                Some((_, of)) => of.push(def.name),
                None => declarations.push((attribute, vec![def.name])),
            }
        }
    }
    declarations.sort_by_key(|(def, _)| def.name);
    for (def, of) in declarations {
        let of = if of.len() == FLOWOPS.len() { "all".to_owned() } else { of.join(", ") };
        row(&mut out, &[&names(def.name, def.aliases), &of, &takes(def), &default(def), def.help]);
    }
    out.push_str(
        "\nAn attribute of another flowop is accepted with a warning that it has no effect; an unknown one is an \
         error.\n",
    );
    if !flowop::attributes::PLANNED.is_empty() {
        let _ = writeln!(out, "\nRefused by name and not built yet: {}.", list(flowop::attributes::PLANNED));
    }

    out.push_str("\n## Entities\n");
    for entity in ENTITIES {
        describe_entity(&mut out, entity);
    }

    section(&mut out, "Distributions", &["distribution", "what it is", "parameters"]);
    for def in DISTRIBUTIONS {
        let parameters: Vec<String> =
            def.parameters.iter().map(|p| format!("`{}` ({}): {}", p.name, p.default, p.help)).collect();
        row(&mut out, &[&format!("`{}`", def.name), def.summary, &parameters.join("; ")]);
    }
    out.push_str(
        "\nThe default of a parameter stands in brackets. As the type of a `cvar` a distribution is called `cvar-` and \
         its name;\nthose with a table or a file cannot be a cvar. A `randvar` is uniform, gamma or tabular. As functions, \
         all take also:\n\n",
    );
    for (name, help) in wlrun::random::ON_ANY {
        let _ = writeln!(out, "- `{name}`: {help}");
    }
    out.push_str(
        "- `table` (tabular): rows of per cent, low, high\n- `file` (empirical): the path of a text file of values\n",
    );

    section(&mut out, "Engines", &["engine", "how requests reach the kernel"]);
    for def in ENGINES.iter().filter(|def| def.listed) {
        row(&mut out, &[&format!("`{}`", def.name), def.summary]);
    }
    let _ = writeln!(out, "\nRefused by name and not built yet: {}.", list(engine::PLANNED));

    section(&mut out, "Personalities", &["name", "what it models"]);
    for personality in LIBRARY {
        row(&mut out, &[&format!("`{}`", personality.name), personality.summary()]);
    }

    section(&mut out, "Report formats", &["format", "what it is"]);
    for def in RENDERERS {
        row(&mut out, &[&format!("`{}`", def.name), def.summary]);
    }

    section(&mut out, "Metrics", &["in the JSON document", "column of the text report", "unit", "meaning"]);
    for metric in METRICS {
        let header = if metric.in_table { metric.header } else { "" };
        row(&mut out, &[&format!("`{}`", metric.name), header, metric.unit, metric.help]);
    }
    out.push_str("\nThe unit is that of the JSON document; the text report shows MB/s of 10^6 bytes and times with their unit.\n");

    out.push_str("\n## Monitors\n");
    for def in MONITORS {
        let _ = write!(out, "\n### {}\n\n{}\n\n", def.name, def.summary);
        table_head(&mut out, &["figure", "kind", "meaning"]);
        for figure in def.figures {
            let kind = match figure.kind {
                FigureKind::Counter => "counter",
                FigureKind::Level => "level",
                FigureKind::Fact => "fact",
            };
            row(&mut out, &[&format!("`{}`", figure.name), kind, figure.help]);
        }
    }

    out.push_str("\n## Warnings\n");
    for def in WARNINGS {
        let _ = write!(out, "\n### {}: {}\n\n{}\n", def.code, def.title, def.explanation);
    }

    section(&mut out, "Exit codes", &["code", "meaning"]);
    for (code, meaning) in EXIT_CODES {
        row(&mut out, &[code, meaning]);
    }
    out
}

fn describe_entity(out: &mut String, entity: &Entity) {
    let _ = write!(out, "\n### {}\n\n", names(entity.name, entity.aliases));
    // Random variables read their attributes themselves: the declared kind is not what they take.
    if ["randvar", "cvar"].contains(&entity.name) {
        table_head(out, &["attribute", "meaning"]);
        for def in entity.attributes {
            row(out, &[&names(def.name, def.aliases), def.help]);
        }
    } else {
        table_head(out, &["attribute", "takes", "default", "meaning"]);
        for def in entity.attributes {
            row(out, &[&names(def.name, def.aliases), &takes(def), &default(def), def.help]);
        }
    }
    if !entity.idle.is_empty() {
        out.push_str("\nTaken with a warning, for old workloads' sake:\n\n");
        for (name, why) in entity.idle {
            let _ = writeln!(out, "- `{name}`: {why}");
        }
    }
    if !entity.planned.is_empty() {
        let _ = writeln!(out, "\nRefused by name and not built yet: {}.", list(entity.planned));
    }
}

fn section(out: &mut String, title: &str, columns: &[&str]) {
    let _ = write!(out, "\n## {title}\n\n");
    table_head(out, columns);
}

fn table_head(out: &mut String, columns: &[&str]) {
    row(out, columns);
    row(out, &vec!["---"; columns.len()]);
}

fn row(out: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn names(name: &str, aliases: &[&str]) -> String {
    std::iter::once(&name).chain(aliases).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn takes(def: &AttributeDef) -> String {
    let bare = match def.kind {
        Kind::Flag => "; the bare name is true",
        Kind::Percent => "; the bare name is 100",
        _ => "",
    };
    let random = if def.random { "; or a random variable" } else { "" };
    format!("{}{bare}{random}", def.kind.expected())
}

fn default(def: &AttributeDef) -> String {
    match def.default {
        Fallback::Absent => String::new(),
        Fallback::Required => "required".into(),
        Fallback::Number(n) => n.to_string(),
        Fallback::Flag(flag) => flag.to_string(),
    }
}
