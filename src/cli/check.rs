//! `wlrun check`: everything that is wrong with workload files.

use super::exit::{self, Exit};
use super::{Parameters, complain, library, say};
use crate::diagnostic::Diagnostics;
use crate::plan::{Options, Plan, forecast};
use crate::source::SourceFile;
use crate::{plan, syntax};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Workload files, or personalities
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    #[command(flatten)]
    parameters: Parameters,
}

/// Text to plan, with everything that was found on the way.
pub(super) fn resolve(file: &SourceFile, options: &Options) -> (Option<Plan>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let ast = syntax::parse(file, &mut diagnostics);
    // A text that does not parse is resolved all the same: all mistakes are shown at once.
    let plan = plan::plan(file, &ast, options, &mut diagnostics);
    (plan, diagnostics)
}

/// Adds what is certain to go wrong in a run, each at its place.
pub(super) fn warn(plan: &Plan, diagnostics: &mut Diagnostics) {
    for finding in forecast::certain(plan) {
        finding.diagnostic().into_iter().for_each(|diagnostic| diagnostics.push(diagnostic));
    }
}

pub(super) fn run(args: &CheckArgs) -> Exit {
    let options = match args.parameters.plan_options(true) {
        Ok(options) => options,
        Err(error) => {
            complain(&format!("the working directory cannot be read: {error}"));
            return exit::FAILED;
        }
    };
    let mut outcome = exit::OK;
    for name in &args.files {
        match library::load(name) {
            Ok(file) => {
                let (plan, mut diagnostics) = resolve(&file, &options);
                if let Some(plan) = plan {
                    warn(&plan, &mut diagnostics);
                }
                say(&diagnostics.render(&file, args.parameters.colored()));
                if diagnostics.has_errors() {
                    outcome = exit::USAGE;
                }
            }
            Err(why) => {
                complain(&why);
                outcome = exit::USAGE;
            }
        }
    }
    outcome
}
