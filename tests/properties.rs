//! What holds for every text, whatever it says. `tests/fuzz.rs` tries it with random texts, and the targets of `fuzz/`
//! with those that a fuzzer finds.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use wlrun::attribute::VariableId;
use wlrun::diagnostic::Diagnostics;
use wlrun::fileset::{Draw, Layout, Variables};
use wlrun::plan::{self, Options, Plan};
use wlrun::random::stream::{Generator, Seed};
use wlrun::source::SourceFile;
use wlrun::syntax::{self, Ast, Expression, Found, Item, Library, NoLibrary, Statement, Texts, Wanted};

/// Texts of more bytes are cut: a fuzzer finds the same in shorter ones, and sooner.
const LONGEST: usize = 1 << 16;

/// Files of a set that is laid out here; a larger one takes time and memory, as it is asked to.
const SMALL: u64 = 1000;

/// What is in the way of nothing: a text as it is after it was read from a file.
fn decoded(name: &str, bytes: &[u8]) -> Option<SourceFile> {
    SourceFile::decode(name, bytes[..bytes.len().min(LONGEST)].to_vec()).ok()
}

/// Reads a text: its tree lies within it, and what is found lies in it and can be shown.
pub fn parse(bytes: &[u8]) {
    let Some(file) = decoded("w.wl", bytes) else { return };
    let mut found = Diagnostics::new();
    let texts = Texts::read(file, &NoLibrary, &mut found);
    let file = texts.sources().main();
    let mut end = 0;
    for statement in &texts.main().statements {
        assert!(end <= statement.span.start, "statements overlap");
        end = statement.span.end;
        assert!(file.text.get(statement.span.start..end).is_some(), "a statement lies outside of its text");
    }
    // A hole in the tree has a finding.
    assert!(found.has_errors() || !has_holes(texts.main()), "what could not be read is not reported");
    shown(&found, &texts);
}

/// Shows what was found, in no more than so many bytes.
fn shown(found: &Diagnostics, texts: &Texts) {
    for finding in found.sorted() {
        assert!(!finding.message.is_empty());
        for (span, _) in &finding.labels {
            let file = texts.sources().file(span.start);
            let inside = span.end <= file.base + file.text.len();
            assert!(span.start <= span.end && inside, "{} {span:?}", finding.message);
            assert!(file.text.get(span.start - file.base..span.end - file.base).is_some(), "{}", finding.message);
        }
    }
    let text = found.render(texts.sources(), false);
    assert_eq!(text.is_empty(), found.is_empty());
    assert!(text.len() < 4 << 20, "{} bytes of findings", text.len());
}

fn has_holes(ast: &Ast) -> bool {
    let mut tree = String::new();
    let _ = write!(tree, "{ast:?}");
    // A text that has the word is no hole, and no reason to look closer.
    tree.contains("Invalid")
        && ast.statements.iter().any(|statement| match &statement.value {
            Statement::Set { value, .. } => value.value == Expression::Invalid,
            Statement::Run(Some(length)) => length.value == Expression::Invalid,
            _ => false,
        })
}

/// Lays a text out: the layout says the same and is its own, and so is what old forms are rewritten to.
pub fn fmt(bytes: &[u8]) {
    // A name that may be of filebench has more old forms.
    let Some(file) = decoded("w.f", bytes) else { return };
    let mut found = Diagnostics::new();
    let ast = syntax::parse(&file, &mut found);
    let sound = !found.has_errors();
    let mut found = Diagnostics::new();
    let Some(laid) = syntax::format(&file, &mut found) else {
        assert!(!sound, "a text without mistakes has no layout: {:?}", found.sorted());
        return;
    };
    assert!(sound, "a text with mistakes has a layout");
    let again = SourceFile::new("w.f", laid);
    let mut found = Diagnostics::new();
    let tree = syntax::parse(&again, &mut found).unplaced();
    assert!(!found.has_errors(), "the layout has mistakes: {:?}", found.sorted());
    assert_eq!(ast.clone().unplaced(), tree);
    assert_eq!(file.text.matches('#').count(), again.text.matches('#').count(), "a comment is lost");
    let twice = syntax::format(&again, &mut Diagnostics::new());
    assert_eq!(twice.as_deref(), Some(&*again.text), "the layout of a layout is another one");

    let new = SourceFile::new("w.wl", plan::to_wl(&file, &ast, &NoLibrary));
    let mut found = Diagnostics::new();
    let laid = syntax::format(&new, &mut found);
    assert!(laid.is_some(), "what is rewritten has mistakes: {:?}\n{}", found.sorted(), new.text);
}

/// Plans texts: with mistakes or a plan, which is no larger than its limits, is a plan still when it was sent, and can be
/// drawn from. A NUL ends a text; those behind the first are what it may include, `1.wl` and so on.
pub fn plan(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let mut texts = bytes.split(|b| *b == 0);
    let Some(main) = decoded("w", texts.next().unwrap_or_default()) else { return };
    let shelf =
        Shelf(texts.take(9).enumerate().filter_map(|(at, text)| decoded(&format!("{}.wl", at + 1), text)).collect());
    for check in [false, true] {
        let dir = (!check).then(|| "/d".into());
        let options = Options { base: "/d".into(), dir, seed: 1, check, read: Some(values), ..Options::default() };
        let mut found = Diagnostics::new();
        let texts = Texts::read(main.clone(), &shelf, &mut found);
        let plan = plan::plan(&texts, &options, &mut found);
        assert_eq!(plan.is_none(), found.has_errors(), "a plan in spite of mistakes, or none without any");
        shown(&found, &texts);
        if let Some(plan) = plan {
            planned(&plan, &texts);
        }
    }
}

/// The texts that a text may include.
struct Shelf(Vec<SourceFile>);

impl Library for Shelf {
    fn find(&self, _: Wanted, name: &str, _: &SourceFile) -> Result<Found, (String, String)> {
        let file = self.0.iter().find(|file| file.name.trim_end_matches(".wl") == name.trim_end_matches(".wl"));
        let file = file.ok_or_else(|| (format!("'{name}' is not there"), "it has a number".to_owned()))?;
        Ok(Found { key: file.name.clone(), file: file.clone() })
    }

    fn key(&self, file: &SourceFile) -> String {
        file.name.clone()
    }
}

/// The file of values that a text may name.
fn values(path: &Path, _: u64) -> io::Result<String> {
    match path.ends_with("values") {
        true => Ok("1\n2.5\n4k\n".into()),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Flowops that a text has, as written.
fn written(ast: &Ast) -> usize {
    fn items(list: &[wlrun::source::Spanned<Item>]) -> usize {
        list.iter()
            .map(|item| match &item.value {
                Item::Flowop { .. } => 1,
                Item::Thread { block, .. } | Item::Mix { block, .. } => items(&block.items),
            })
            .sum()
    }
    fn statements(list: &[wlrun::source::Spanned<Statement>]) -> usize {
        list.iter()
            .map(|statement| match &statement.value {
                Statement::Define { block: Some(block), .. } => items(&block.items),
                Statement::Foreach { body, .. } => statements(body),
                _ => 0,
            })
            .sum()
    }
    statements(&ast.statements)
}

fn planned(plan: &Plan, texts: &Texts) {
    // Loops, includes, composites and repeated runs may add 100,000, and the last of these runs may be as large again.
    let flowops: usize = plan.runs().map(|run| run.flowops().count()).sum();
    let most = 200_000 + 2 * texts.trees().iter().map(written).sum::<usize>();
    assert!(flowops <= most, "{flowops} flowops of {most}");
    let bytes: usize = texts.sources().files().iter().map(|file| file.text.len()).sum();
    assert!(plan.steps.len() <= 200_000 + bytes, "{} steps", plan.steps.len());

    let json = serde_json::to_string(plan).unwrap();
    assert!(&serde_json::from_str::<Plan>(&json).unwrap() == plan, "a plan that was sent is another one: {json}");

    let mut draws = Draws { plan };
    for at in 0..plan.variables.len().min(100) {
        let mut generator = Seed::root(1).generator();
        for _ in 0..3 {
            assert!(draws.sample(VariableId(at as u32), &mut generator).is_finite());
        }
    }
    for set in plan.filesets.iter().take(10) {
        // Directories too thin for their files make as many as are allowed.
        let thin = !matches!(set.width, Draw::Fixed(width) if width >= 2.0);
        if set.entries.saturating_add(set.leafdirs) <= if thin { 20 } else { SMALL } {
            let _ = Layout::plan(set, Seed::root(1), &mut draws).map(|layout| layout.figures());
        }
    }
}

/// The variables of a plan, without streams of their own.
struct Draws<'a> {
    plan: &'a Plan,
}

impl Variables for Draws<'_> {
    fn mean(&self, id: VariableId) -> f64 {
        self.plan.variables[id.0 as usize].among(10).mean().unwrap()
    }

    fn sample(&mut self, id: VariableId, stream: &mut Generator) -> f64 {
        let spec = self.plan.variables[id.0 as usize].among(10);
        spec.limits.apply(spec.build().unwrap().sample(stream))
    }

    fn sample_about(&mut self, id: VariableId, mean: f64, stream: &mut Generator) -> f64 {
        // The mean of some is 0.
        self.sample(id, stream) * if self.mean(id) == 0.0 { 1.0 } else { mean / self.mean(id) }
    }
}
