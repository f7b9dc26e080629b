//! `wlrun explain`: a warning in full.

use super::exit::{self, Exit};
use super::{complain, print};
use crate::diagnostic::nearest_name;
use crate::summary::{WARNINGS, warning};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The warning's code, such as W003
    code: String,
}

pub(super) fn run(args: &ExplainArgs) -> Exit {
    let code = args.code.to_uppercase();
    match warning::find(&code) {
        Some(def) => print(&format!("{} {}\n\n{}\n", def.code, def.title, def.explanation)),
        None => {
            let near = nearest_name(&code, WARNINGS.iter().map(|def| def.code));
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            complain(&format!("there is no warning {}{hint}", args.code));
            exit::USAGE
        }
    }
}
