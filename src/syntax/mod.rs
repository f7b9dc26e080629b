//! Text to [`Ast`].
//!
//! `grammar/wl.pest` knows the shapes, `build.rs` makes the tree and says what is wrong. Nothing here knows
//! a flowop, an attribute or an entity by name; that is the plan's part.

mod ast;
mod build;
mod format;
mod unplaced;
pub use ast::{Ast, Attribute, Block, Expression, Item, Statement};
pub use format::format;

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
pub const COMMANDS: [&str; 31] = [
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
];

/// Reads a whole text. All mistakes in it go to `diagnostics`; the tree holds what could be read all the same.
pub fn parse(file: &SourceFile, diagnostics: &mut Diagnostics) -> Ast {
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
