//! `wlrun report`: a saved run, shown again.

use super::exit::{self, Exit};
use super::output::{self, Format};
use super::{complain, print};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// What --json wrote
    #[arg(value_name = "RUN.json")]
    file: PathBuf,
    /// Form of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = output::parse_format)]
    format: Format,
}

pub(super) fn run(args: &ReportArgs) -> Exit {
    let shown = args.file.display();
    let text = match std::fs::read_to_string(&args.file) {
        Ok(text) => text,
        Err(error) => {
            complain(&format!("{shown} cannot be read: {error}"));
            return exit::USAGE;
        }
    };
    match crate::report::json::read(&text) {
        Ok(record) => print(&(args.format.render)(&record)),
        Err(why) => {
            complain(&format!("{shown}: {why}"));
            exit::USAGE
        }
    }
}
