//! Text to [`Ast`].
//!
//! `grammar/wl.pest` knows the shapes, `build.rs` makes the tree and says what is wrong. Nothing here knows
//! a flowop, an attribute or an entity by name; that is the plan's part.

mod ast;
mod build;
mod format;
mod places;
mod texts;
pub use ast::{Ast, Attribute, Block, Expression, Item, Statement};
pub use format::format;
pub(crate) use texts::each;
pub use texts::{Found, Library, NoLibrary, Parameter, Texts, Wanted};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{SourceFile, Span};
use grammar::{Rule, Wl};
use pest::Parser;

/// The generated parser. Its rules carry their comments in the grammar.
#[allow(missing_docs)]
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "../grammar/wl.pest"]
    pub(super) struct Wl;
}

/// Every word that begins a statement, in the order of the grammar's rule `keyword`.
pub const COMMANDS: [&str; 32] = [
    "set",
    "define",
    "run",
    "echo",
    "usage",
    "create",
    "eventgen",
    "psrun",
    "debug",
    "disable_osprof",
    "domultisync",
    "enable_osprof",
    "enable",
    "exit",
    "foreach",
    "fscheck",
    "fsflush",
    "help",
    "include",
    "list",
    "load",
    "log",
    "nousestats",
    "quit",
    "shutdown",
    "sleep",
    "stats",
    "system",
    "vars",
    "version",
    "warmup",
    "assert",
];

/// Reads a whole text. All mistakes in it go to `diagnostics`; the tree holds what could be read all the same. What it
/// includes is not read: that is [`Texts::read`].
pub fn parse(file: &SourceFile, diagnostics: &mut Diagnostics) -> Ast {
    if let Some(at) = file.latin1 {
        let end = file.text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
        let message = format!("{} is not UTF-8, and is read as Latin-1 (Windows-1252)", file.name);
        let place = Span::new(at, end).moved(file.base);
        diagnostics.push(Diagnostic::warning(place, message, "the first byte that is not UTF-8"));
    }
    // build.rs knows one text, by its own offsets.
    if file.base == 0 {
        return parse_alone(file, diagnostics);
    }
    let mut found = Diagnostics::new();
    let ast = parse_alone(&SourceFile { base: 0, ..file.clone() }, &mut found);
    diagnostics.extend(found, file.base);
    ast.moved(file.base)
}

/// Reads a text by its own offsets.
fn parse_alone(file: &SourceFile, diagnostics: &mut Diagnostics) -> Ast {
    match Wl::parse(Rule::file, &file.text) {
        Ok(pairs) => build::ast(file, pairs, diagnostics),
        // The grammar takes any text, so this is a fault of the grammar; the place is all that helps a reader.
        Err(error) => {
            let at = match error.location {
                pest::error::InputLocation::Pos(at) | pest::error::InputLocation::Span((at, _)) => at,
            };
            diagnostics.push(Diagnostic::error(
                Span::new(at, at),
                "the text cannot be read from here on",
                "a command is expected here",
            ));
            Ast::default()
        }
    }
}

#[cfg(test)]
mod tests;
