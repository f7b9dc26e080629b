//! `wlrun list`: what there is, from the lists that the code itself uses.

use super::exit::{EXIT_CODES, Exit};
use super::{library, print};
use crate::engine::ENGINES;
use crate::flowop::{self, FLOWOPS};
use crate::monitor::MONITORS;
use crate::plan::COMMANDS;
use crate::plan::entity::ENTITIES;
use crate::random::DISTRIBUTIONS;
use crate::report::RENDERERS;
use crate::summary::{METRICS, WARNINGS};
use clap::{Args, ValueEnum};
use std::fmt::Write as _;

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Which list
    #[arg(value_enum, default_value = "workloads")]
    what: What,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    Workloads,
    Commands,
    Flowops,
    Attributes,
    Distributions,
    Engines,
    Formats,
    Metrics,
    Monitors,
    Warnings,
    ExitCodes,
}

pub(super) fn run(args: &ListArgs) -> Exit {
    let rows: Vec<(String, String)> = match args.what {
        What::Workloads => pairs(library::LIBRARY.iter().map(|p| (p.name, p.summary()))),
        What::Commands => pairs(COMMANDS.iter().map(|def| (def.form, def.summary))),
        What::Flowops => {
            FLOWOPS.iter().map(|def| (with_aliases(def.name, def.aliases), def.summary.to_owned())).collect()
        }
        What::Attributes => attributes(),
        What::Distributions => pairs(DISTRIBUTIONS.iter().map(|def| (def.name, def.summary))),
        What::Engines => pairs(ENGINES.iter().filter(|def| def.listed).map(|def| (def.name, def.summary))),
        What::Formats => pairs(RENDERERS.iter().map(|def| (def.name, def.summary))),
        What::Metrics => METRICS
            .iter()
            .map(|metric| {
                let unit = if metric.unit.is_empty() { String::new() } else { format!(" [{}]", metric.unit) };
                (metric.name.to_owned(), format!("{}{unit}", metric.help))
            })
            .collect(),
        What::Monitors => pairs(MONITORS.iter().map(|def| (def.name, def.summary))),
        What::Warnings => pairs(WARNINGS.iter().map(|def| (def.code, def.title))),
        What::ExitCodes => pairs(EXIT_CODES.iter().copied()),
    };
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, text) in rows {
        let _ = writeln!(out, "{name:width$}  {text}");
    }
    print(&out)
}

fn pairs<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    rows.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

fn with_aliases(name: &str, aliases: &[&str]) -> String {
    if aliases.is_empty() { name.to_owned() } else { format!("{name} ({})", aliases.join(", ")) }
}

fn attributes() -> Vec<(String, String)> {
    let of_entities = ENTITIES.iter().flat_map(|entity| entity.attributes.iter().map(move |def| (entity.name, def)));
    let of_flowops = flowop::attributes::ALL.iter().copied().flatten().map(|def| ("flowop", def));
    of_entities
        .chain(of_flowops)
        .map(|(owner, def)| (format!("{owner} {}", with_aliases(def.name, def.aliases)), def.help.to_owned()))
        .collect()
}
