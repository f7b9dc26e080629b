//! `wlrun report`: a saved run, shown again.

use super::exit::{self, Exit};
use super::output::{self, Format};
use super::{complain, print, say};
use crate::record::SCHEMA_VERSION;
use crate::report::json;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// What --json wrote
    #[arg(value_name = "RUN.json")]
    file: PathBuf,
    /// Form of the report, as `wlrun list formats` has them
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
    match json::read(&text) {
        Ok(record) => {
            if json::is_newer(&record.schema_version) {
                say(&format!(
                    "warning: {shown} has schema version {}, and this wlrun knows {SCHEMA_VERSION}: what was added \
                     since is not shown\n",
                    record.schema_version
                ));
            }
            print(&(args.format.render)(&record))
        }
        Err(why) => {
            complain(&format!("{shown}: {why}"));
            exit::USAGE
        }
    }
}
