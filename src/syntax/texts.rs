//! A workload of several texts: the one that was named, and what it includes, read before anything is carried out, so
//! that all mistakes of all texts are shown at once.

use super::{Ast, Attribute, Expression, Statement, parse};
use crate::attribute::Value;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{SourceFile, Sources, Span, Spanned};
use std::collections::{BTreeMap, BTreeSet};

/// So deep may texts stand in each other.
const DEEPEST: usize = 16;
/// So many bytes may all texts of a workload have together.
const LARGEST: usize = 256 << 20;

/// How a text asks for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// `include "lib/x.wl"`: a path.
    Include,
    /// `load NAME`, of filebench 1.4: a name without its `.f`.
    Load,
}

/// A text that was asked for.
#[derive(Debug, Clone)]
pub struct Found {
    /// What tells it from every other text, however it was asked for.
    pub key: String,
    /// The text.
    pub file: SourceFile,
}

/// Where the texts come from that a text asks for.
pub trait Library {
    /// The text that is called `name` for one who reads `from`.
    ///
    /// # Errors
    ///
    /// Where there is none, or it cannot be read: a sentence, and what to do about it.
    fn find(&self, wanted: Wanted, name: &str, from: &SourceFile) -> Result<Found, (String, String)>;

    /// What tells a text from every other that [`Library::find`] finds.
    fn key(&self, file: &SourceFile) -> String;
}

/// Has nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoLibrary;

impl Library for NoLibrary {
    fn find(&self, _: Wanted, name: &str, _: &SourceFile) -> Result<Found, (String, String)> {
        Err((format!("'{name}' is not there"), "there is no library".into()))
    }

    fn key(&self, file: &SourceFile) -> String {
        file.name.clone()
    }
}

/// The texts of a workload and their trees.
#[derive(Debug, Clone)]
pub struct Texts {
    sources: Sources,
    /// As many as sources.
    trees: Vec<Ast>,
    /// Which text stands for a command, by the place of its word.
    included: BTreeMap<Span, usize>,
    complete: bool,
}

/// A variable that a text sets, as its user knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Without its `$`.
    pub name: &'a str,
    /// The value as it is written.
    pub default: &'a str,
    /// Of its `##` comments.
    pub help: Option<&'a str>,
}

impl Texts {
    /// Reads a text, and all that it includes out of the library. All mistakes go to `diagnostics`.
    pub fn read(main: SourceFile, library: &dyn Library, diagnostics: &mut Diagnostics) -> Texts {
        let key = library.key(&main);
        let texts = Texts { sources: Sources::new(main), trees: Vec::new(), included: BTreeMap::new(), complete: true };
        let mut reader = Reader { texts, library, diagnostics, known: BTreeMap::new(), above: Vec::new() };
        reader.known.insert(key, Known { text: 0, height: None });
        reader.text(0);
        reader.texts
    }

    /// All texts.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The tree of the text that was named.
    pub fn main(&self) -> &Ast {
        &self.trees[0]
    }

    /// The trees in the order of the texts.
    pub fn trees(&self) -> &[Ast] {
        &self.trees
    }

    /// The place among the texts of the one that the command with its word at `span` includes. None where it could not
    /// be read, which was reported.
    pub fn included(&self, span: Span) -> Option<usize> {
        self.included.get(&span).copied()
    }

    /// True where every text that is asked for was found.
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// The variables that a text sets, and those that it includes, in the order of the texts.
    pub fn parameters(&self, text: usize) -> Vec<Parameter<'_>> {
        let mut found = Vec::new();
        let mut seen = (BTreeSet::new(), BTreeSet::new());
        self.parameters_into(text, &mut found, &mut seen);
        found
    }

    fn parameters_into<'a>(
        &'a self,
        text: usize,
        found: &mut Vec<Parameter<'a>>,
        seen: &mut (BTreeSet<usize>, BTreeSet<&'a str>),
    ) {
        if !seen.0.insert(text) {
            return;
        }
        let mut includes = Vec::new();
        each(&self.trees[text].statements, &mut |statement| match &statement.value {
            Statement::Set { variable, field: None, value, help } if seen.1.insert(&variable.value) => {
                let default = self.sources.slice(value.span);
                found.push(Parameter { name: &variable.value, default, help: help.as_deref() });
            }
            Statement::Define { what, attributes, .. } if what.value == "randvar" => {
                let name = attributes.iter().find(|a| a.name.value == "name").and_then(|a| a.value.as_ref());
                if let Some(Spanned { value: Expression::Variable(name), .. }) = name
                    && seen.1.insert(name)
                {
                    found.push(Parameter { name, default: self.sources.slice(statement.span), help: None });
                }
            }
            Statement::Command { word, .. } => includes.extend(self.included(word.span)),
            _ => {}
        });
        for text in includes {
            self.parameters_into(text, found, seen);
        }
    }
}

/// Every statement, and those within loops.
pub(crate) fn each<'a>(statements: &'a [Spanned<Statement>], see: &mut dyn FnMut(&'a Spanned<Statement>)) {
    for statement in statements {
        see(statement);
        if let Statement::Foreach { body, .. } = &statement.value {
            each(body, see);
        }
    }
}

/// A text that was read, or is being read.
#[derive(Debug, Clone, Copy)]
struct Known {
    text: usize,
    /// How deep texts stand in it; none while it is being read.
    height: Option<usize>,
}

/// An `include` or `load` as it is written.
struct Request {
    wanted: Wanted,
    word: Span,
    /// None where it was wrong, and was reported.
    name: Option<Spanned<String>>,
}

struct Reader<'l> {
    texts: Texts,
    library: &'l dyn Library,
    diagnostics: &'l mut Diagnostics,
    known: BTreeMap<String, Known>,
    /// The commands that led to the text that is being read, each with the text that it stands for.
    above: Vec<(Span, usize)>,
}

impl Reader<'_> {
    /// Reads a text of the sources; the result is how deep others stand in it.
    fn text(&mut self, at: usize) -> usize {
        let tree = parse(&self.texts.sources.files()[at], self.diagnostics);
        let mut requests = Vec::new();
        each(&tree.statements, &mut |statement| {
            if let Statement::Command { word, arguments, attributes } = &statement.value {
                let wanted = match word.value.as_str() {
                    "include" => Wanted::Include,
                    "load" => Wanted::Load,
                    _ => return,
                };
                requests.push(request(wanted, word.span, arguments, attributes, self.diagnostics));
            }
        });
        debug_assert_eq!(self.texts.trees.len(), at);
        self.texts.trees.push(tree);
        let mut height = 0;
        for request in requests {
            match self.include(at, &request) {
                Some(inner) => height = height.max(inner + 1),
                None => self.texts.complete = false,
            }
        }
        height
    }

    /// Reads what a command asks for, unless it is known; the result is how deep others stand in that.
    fn include(&mut self, from: usize, request: &Request) -> Option<usize> {
        let name = request.name.as_ref()?;
        let found = match self.library.find(request.wanted, &name.value, &self.texts.sources.files()[from]) {
            Ok(found) => found,
            Err((message, help)) => {
                let diagnostic = Diagnostic::error(name.span, message, "a workload file is expected here");
                self.diagnostics.push(diagnostic.help(help));
                return None;
            }
        };
        let known = self.known.get(&found.key).copied();
        let height = match known {
            Some(Known { text, height: None }) => {
                self.circle(name.span, text);
                return None;
            }
            Some(Known { height: Some(height), .. }) => height,
            None => 0,
        };
        if self.above.len() + 1 + height > DEEPEST {
            let message = format!("includes stand more than {DEEPEST} deep in each other");
            let mut diagnostic = Diagnostic::error(name.span, message, "this one is too many");
            if let Some((first, _)) = self.above.first() {
                diagnostic = diagnostic.also(*first, "the first of them");
            }
            self.diagnostics.push(diagnostic);
            return None;
        }
        if let Some(Known { text, .. }) = known {
            self.texts.included.insert(request.word, text);
            return Some(height);
        }
        let total: usize = self.texts.sources.files().iter().map(|file| file.text.len()).sum();
        if total + found.file.text.len() > LARGEST {
            let message = format!("the texts of this workload have more than {LARGEST} bytes together");
            self.diagnostics.push(Diagnostic::error(name.span, message, "this one is too many"));
            return None;
        }
        let text = self.texts.sources.add(found.file);
        self.known.insert(found.key.clone(), Known { text, height: None });
        self.texts.included.insert(request.word, text);
        self.above.push((name.span, text));
        let height = self.text(text);
        self.above.pop();
        self.known.insert(found.key, Known { text, height: Some(height) });
        Some(height)
    }

    /// The command at `span` asks for a text that it stands in.
    fn circle(&mut self, span: Span, text: usize) {
        let files = self.texts.sources.files();
        let name = |text: usize| files[text].name.as_str();
        let here = self.above.last().map_or(0, |(_, text)| *text);
        let message = match here == text {
            true => format!("{} includes itself", name(text)),
            false => format!("{} includes itself by way of {}", name(text), name(here)),
        };
        let mut diagnostic = Diagnostic::error(span, message, format!("leads back to {}", name(text)));
        // From the text that comes again, down to the one that asks for it.
        let first = self.above.iter().position(|(_, of)| *of == text).map_or(0, |at| at + 1);
        for (place, of) in &self.above[first..] {
            diagnostic = diagnostic.also(*place, format!("{} is included here", name(*of)));
        }
        self.diagnostics.push(diagnostic);
    }
}

/// Reads the arguments of an `include` or `load`.
fn request(
    wanted: Wanted,
    word: Span,
    arguments: &[Spanned<Expression>],
    attributes: &[Attribute],
    diagnostics: &mut Diagnostics,
) -> Request {
    let (command, form) = match wanted {
        Wanted::Include => ("include", "include \"PATH\""),
        Wanted::Load => ("load", "load NAME"),
    };
    let mut wrong = |span, message: String, label: &str| {
        diagnostics.push(Diagnostic::error(span, message, label));
        None
    };
    let name = match arguments {
        [Spanned { value: Expression::Literal(Value::Text(name)), span }] if !name.is_empty() => {
            Some(Spanned::new(name.clone(), *span))
        }
        [] => wrong(word, format!("{command} names no file"), &format!("expected {form}")),
        [Spanned { value: Expression::Invalid, .. }] => None,
        [one] => wrong(one.span, format!("{command} takes a constant text"), &format!("expected {form}")),
        [_, second, ..] => wrong(second.span, format!("{command} takes one file"), &format!("expected {form}")),
    };
    let name = match (wanted, attributes) {
        (Wanted::Load, [first, ..]) => {
            wrong(first.name.span, "load takes no parameters".into(), "include takes them: include \"PATH\" NAME=VALUE")
        }
        _ => name,
    };
    Request { wanted, word, name }
}
