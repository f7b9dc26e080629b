//! `wlrun check`: everything that is wrong with workload files.

use super::exit::{self, Exit};
use super::{Parameters, complain, library, say};
use crate::diagnostic::{Diagnostics, Level};
use crate::plan::{self, Options, Plan, forecast};
use crate::source::SourceFile;
use crate::syntax::{Library, Texts};
use clap::Args;

/// A workload of more flowops is not judged beyond its mistakes: a check takes a second at most.
const MOST_JUDGED: usize = 50_000;

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Workload files, or personalities
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    #[command(flatten)]
    parameters: Parameters,
}

/// What came of a text: its plan, and the texts that its findings are in.
pub(super) struct Resolved {
    /// None where there are mistakes.
    pub(super) plan: Option<Plan>,
    pub(super) texts: Texts,
    pub(super) diagnostics: Diagnostics,
}

impl Resolved {
    /// All findings, for people.
    pub(super) fn render(&self, color: bool) -> String {
        self.diagnostics.render(self.texts.sources(), color)
    }

    /// Adds what is certain to go wrong in a run, each at its place.
    fn warn(&mut self) {
        let threads = self.plan.iter().flat_map(Plan::runs).flat_map(|run| &run.processes).flat_map(|p| &p.threads);
        if threads.map(|thread| thread.flowops.len()).sum::<usize>() > MOST_JUDGED {
            return;
        }
        let findings = self.plan.iter().flat_map(forecast::certain);
        findings.filter_map(|finding| finding.diagnostic()).for_each(|diagnostic| self.diagnostics.push(diagnostic));
    }

    /// The mistakes, a line each with its place.
    pub(super) fn mistakes(&self) -> Vec<String> {
        let mistakes = self.diagnostics.sorted().into_iter().filter(|found| found.level == Level::Error);
        mistakes
            .map(|found| match found.labels.first() {
                Some((span, _)) => format!("{}: {}", self.texts.sources().place(span.start), found.message),
                None => found.message.clone(),
            })
            .collect()
    }
}

/// Text to plan, with everything that was found on the way.
pub(super) fn resolve(file: SourceFile, library: &dyn Library, options: &Options) -> Resolved {
    let mut diagnostics = Diagnostics::new();
    let texts = Texts::read(file, library, &mut diagnostics);
    // A text that does not parse is resolved all the same: all mistakes are shown at once.
    let plan = plan::plan(&texts, options, &mut diagnostics);
    Resolved { plan, texts, diagnostics }
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
                let mut resolved = resolve(file, &args.parameters.library(), &options);
                resolved.warn();
                say(&resolved.render(args.parameters.colored()));
                if resolved.diagnostics.has_errors() {
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
