//! `wlrun run`, and `wlrun` without a subcommand: from arguments to exit code.

use super::check::resolve;
use super::exit::{self, Exit};
use super::live::{EchoTo, Live};
use super::output::{self, Format, Pending};
use super::{Parameters, complain, library, print, say};
use crate::exec::{self, ExecError, ProcessModel};
use crate::plan::{Plan, Step};
use crate::record::{ColdHow, Ended, RunRecord};
use crate::summary::assertion;
use crate::sys::describe;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// A workload file, or the name of a personality
    #[arg(value_name = "FILE|NAME", required = true)]
    workload: Option<String>,
    #[command(flatten)]
    parameters: Parameters,
    /// Make --dir (without it, the workload's own paths) where it does not exist
    #[arg(long)]
    mkdir: bool,
    /// Write into trees that wlrun did not make; files that were there are written to, and never removed
    #[arg(long)]
    adopt: bool,
    /// Let the workload's `system` and `stats command` lines run, and --prepare and --cleanup
    #[arg(long)]
    allow_exec: bool,
    /// File sets may lie below this path too
    #[arg(long, value_name = "PATH")]
    allow_path: Vec<PathBuf>,
    /// Take the trees away at the end
    #[arg(long)]
    remove: bool,
    /// Take the file sets out of this machine's page cache before each run: `drop` (file by file, the default) or
    /// `drop-caches` (the whole page cache, with directories and inodes; for root)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "drop", value_parser = parse_cold)]
    cold: Option<ColdHow>,
    /// Give this to the shell before each run, when the file sets are made, for instance to mount anew; needs --allow-exec
    #[arg(long, value_name = "CMD")]
    prepare: Option<String>,
    /// Give this to the shell after each run; needs --allow-exec
    #[arg(long, value_name = "CMD")]
    cleanup: Option<String>,
    /// Do not wait after a run until what it wrote is on stable storage
    #[arg(long)]
    no_drain: bool,
    /// How requests reach the kernel: sync, null
    #[arg(long, value_name = "ENGINE", default_value = "sync", value_parser = parse_engine)]
    engine: String,
    /// Process instances as OS processes, or all as threads of one process
    #[arg(long, value_name = "MODEL", default_value = "processes", value_parser = parse_model)]
    process_model: ProcessModel,
    /// Form of the report on stdout: text, json, filebench
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = output::parse_format)]
    format: Format,
    /// Write the record as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report in another form too
    #[arg(long, value_name = "FORMAT=FILE", value_parser = output::parse_out)]
    out: Vec<(Format, PathBuf)>,
    /// Length of the intervals in the record
    #[arg(long, value_name = "TIME", value_parser = super::parse_interval)]
    interval: Option<u64>,
    /// No progress, only warnings and errors
    #[arg(short, long)]
    quiet: bool,
}

fn parse_engine(text: &str) -> Result<String, String> {
    use crate::engine::{ENGINES, PLANNED, find};
    let name = text.split(':').next().unwrap_or_default();
    if find(name).is_some() {
        return Ok(text.to_owned());
    }
    if PLANNED.contains(&name) {
        return Err(format!("the engine {name} is not supported yet"));
    }
    let names: Vec<&str> = ENGINES.iter().filter(|def| def.listed).map(|def| def.name).collect();
    Err(format!("expected {}", names.join(", ")))
}

fn parse_cold(text: &str) -> Result<ColdHow, String> {
    match text {
        "drop" => Ok(ColdHow::Drop),
        "drop-caches" => Ok(ColdHow::DropCaches),
        _ => Err("expected drop or drop-caches".into()),
    }
}

fn parse_model(text: &str) -> Result<ProcessModel, String> {
    match text {
        "processes" => Ok(ProcessModel::Processes),
        "threads" => Ok(ProcessModel::Threads),
        _ => Err("expected processes or threads".into()),
    }
}

pub(super) fn run(args: &RunArgs) -> Exit {
    match try_run(args) {
        Ok(exit) => exit,
        Err((exit, message)) => {
            complain(&message);
            exit
        }
    }
}

pub(super) type Failed = (Exit, String);

fn try_run(args: &RunArgs) -> Result<Exit, Failed> {
    let name = args.workload.as_deref().unwrap_or_default();
    let file = library::load(name).map_err(|why| (exit::USAGE, why))?;
    let options = args
        .parameters
        .plan_options(false)
        .map_err(|error| (exit::FAILED, format!("the working directory cannot be read: {error}")))?;
    let resolved = resolve(file, &args.parameters.library(), &options);
    say(&resolved.render(args.parameters.colored()));
    let Some(plan) = resolved.plan else { return Ok(exit::USAGE) };
    check_around(args)?;
    check_system(&plan, args)?;
    check_places(&plan, &args.allow_path)?;
    super::files::check(&plan)?;
    let missing = missing_directories(&plan, args.mkdir)?;
    raise_descriptor_limit();
    let exec_options = exec::Options {
        engine: args.engine.clone(),
        process_model: args.process_model,
        adopt: args.adopt,
        remove: args.remove,
        interval_ns: args.interval,
        cold: args.cold,
        prepare: args.prepare.clone(),
        cleanup: args.cleanup.clone(),
        drain: !args.no_drain,
    };
    let objections = exec::objections(&plan, &exec_options);
    if !objections.is_empty() {
        return Err(not_begun(args, &plan, objections.join("\n")));
    }
    let outputs = open_outputs(args)?;
    // The first thing that is made, when nothing else stands against the run.
    for directory in missing {
        std::fs::create_dir_all(&directory).map_err(|error| {
            (exit::FAILED, format!("the directory {} cannot be made: {}", directory.display(), describe(&error)))
        })?;
    }
    let echo = if args.format.name == "text" { EchoTo::Stdout } else { EchoTo::Stderr };
    let mut live = Live::new(echo, args.quiet);
    let outcome = exec::run(&plan, &exec_options, &mut |event| live.show(event));
    live.clear();
    let outcome = outcome.map_err(|error| match &error {
        ExecError::Refused(_) => (exit::REFUSED, error.to_string()),
        ExecError::Usage(_) => (exit::USAGE, error.to_string()),
        ExecError::CannotRun(_) | ExecError::System(..) => not_begun(args, &plan, error.to_string()),
    })?;
    let mut exit = verdict(&outcome.record, outcome.signal);
    for failed in outcome.record.runs.iter().flat_map(|run| &run.asserts).filter(|a| a.holds == Some(false)) {
        complain(&assertion::line(failed));
    }
    if let Some(why) = reason(&outcome.record).filter(|_| exit != exit::OK) {
        complain(&why);
    }
    if let Some(error) = live.broken.filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
        complain(&format!("the output cannot be written: {error}"));
        exit = worse(exit, exit::FAILED);
    }
    for why in &live.files.failed {
        complain(why);
        exit = worse(exit, exit::FAILED);
    }
    exit = worse(exit, print(&format!("{}{}", (args.format.render)(&outcome.record), live.after)));
    for output in outputs {
        let path = output.path().display().to_string();
        if let Err(error) = output.write(&outcome.record) {
            complain(&format!("{path} cannot be written: {error}"));
            exit = worse(exit, exit::FAILED);
        }
    }
    Ok(exit)
}

/// This machine cannot do it. Who asked for a document gets one that says so; a report for people would be a table of
/// nothing.
fn not_begun(args: &RunArgs, plan: &Plan, reason: String) -> Failed {
    if args.format.name != "text" {
        print(&(args.format.render)(&exec::refusal(plan, &reason)));
    }
    (exit::FAILED, reason)
}

/// The first thing that went wrong stays the verdict.
fn worse(first: Exit, second: Exit) -> Exit {
    if first == exit::OK { second } else { first }
}

fn verdict(record: &RunRecord, signal: Option<i32>) -> Exit {
    match signal {
        Some(signal) => Exit::signal(signal),
        None if !record.runs.iter().all(|run| run.valid) => exit::FAILED,
        None if record.runs.iter().flat_map(|run| &run.asserts).any(|a| a.holds == Some(false)) => exit::NOT_HELD,
        None => exit::OK,
    }
}

/// Why the last run has no valid result.
fn reason(record: &RunRecord) -> Option<String> {
    let run = record.runs.iter().find(|run| !run.valid)?;
    match (run.ended, &run.reason) {
        (Ended::Interrupted, reason) => reason.clone(),
        (_, Some(reason)) => Some(format!("the run failed: {reason}")),
        (_, None) => Some("the run failed".into()),
    }
}

/// File sets lie beneath --dir, or what --allow-path adds, and behind no link; without --dir, anywhere.
fn check_places(plan: &Plan, allowed: &[PathBuf]) -> Result<(), Failed> {
    let Some(dir) = &plan.dir else { return Ok(()) };
    let here = std::env::current_dir().unwrap_or_default();
    let bases: Vec<PathBuf> =
        std::iter::once(dir.clone()).chain(allowed.iter().map(|path| super::absolute(&here, path))).collect();
    let objection = |spec: &crate::fileset::Spec| {
        let (name, path, dir) = (&spec.name, spec.path.display(), dir.display());
        let Some(base) = bases.iter().find(|base| spec.path.starts_with(base)) else {
            return Some(format!("the fileset '{name}' would be in {path}, outside {dir}"));
        };
        let link = link_below(base, &spec.path)?;
        let link = link.display();
        Some(format!("the fileset '{name}' would be behind the symbolic link {link}, which may lead outside {dir}"))
    };
    let refused: Vec<String> = plan.filesets.iter().filter_map(objection).collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err((exit::REFUSED, format!("{}; --allow-path PATH allows another place", refused.join("\n"))))
}

/// The first symbolic link on the way from `base` down to `path`.
fn link_below(base: &Path, path: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(base).ok()?;
    let mut at = base.to_owned();
    below.components().find_map(|component| {
        at.push(component);
        at.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()).then(|| at.clone())
    })
}

/// Files for the reports, each path once.
fn open_outputs(args: &RunArgs) -> Result<Vec<Pending>, Failed> {
    let mut outputs: Vec<Pending> = Vec::new();
    let mut places = std::collections::HashSet::new();
    let json = args.json.iter().map(|path| Ok((output::parse_format("json")?, path)));
    for wanted in json.chain(args.out.iter().map(|(format, path)| Ok((*format, path)))) {
        let (format, path) = wanted.map_err(|why: String| (exit::USAGE, why))?;
        if let Some(place) = output::place(path)
            && !places.insert(place)
        {
            return Err((exit::USAGE, format!("two reports would go to {}", path.display())));
        }
        let output = Pending::open(format, path)
            .map_err(|error| (exit::FAILED, format!("{} cannot be written: {}", path.display(), describe(&error))))?;
        outputs.push(output);
    }
    Ok(outputs)
}

/// What is about files is of no use where none are touched.
fn check_around(args: &RunArgs) -> Result<(), Failed> {
    let name = args.engine.split(':').next().unwrap_or_default();
    let touches_files = crate::engine::find(name).is_none_or(|def| def.touches_files);
    let options =
        [("--cold", args.cold.is_some()), ("--prepare", args.prepare.is_some()), ("--cleanup", args.cleanup.is_some())];
    match options.iter().find(|(_, given)| *given && !touches_files) {
        Some((option, _)) => Err((
            exit::USAGE,
            format!("{option} is about files, and the engine {name} touches none; leave one of them out"),
        )),
        None => Ok(()),
    }
}

/// A workload is data from a stranger: what it gives to the shell runs only with leave.
fn check_system(plan: &Plan, args: &RunArgs) -> Result<(), Failed> {
    let lines: Vec<String> = plan
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::System(line) | Step::Background(line) => Some(format!("    {line}")),
            _ => None,
        })
        .collect();
    if args.allow_exec {
        return Ok(());
    }
    let commands = [("--prepare", &args.prepare), ("--cleanup", &args.cleanup)];
    if let Some((name, _)) = commands.iter().find(|(_, command)| command.is_some()) {
        return Err((exit::REFUSED, format!("{name} gives a command to the shell; --allow-exec lets it")));
    }
    if lines.is_empty() {
        return Ok(());
    }
    let message = format!("the workload gives this to the shell; --allow-exec lets it:\n{}", lines.join("\n"));
    Err((exit::REFUSED, message))
}

/// Directories that are not there and may be made: --dir, or without it the places of the file sets, so that a mistyped
/// mount point is not measured by mistake.
fn missing_directories(plan: &Plan, mkdir: bool) -> Result<Vec<PathBuf>, Failed> {
    let mut missing: Vec<PathBuf> = Vec::new();
    let places: Vec<&PathBuf> = match &plan.dir {
        Some(dir) => vec![dir],
        None => plan.filesets.iter().map(|spec| &spec.path).collect(),
    };
    for place in places {
        let shown = place.display();
        match place.metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err((exit::USAGE, format!("{shown} is not a directory"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && mkdir => missing.push(place.clone()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err((exit::USAGE, format!("the directory {shown} does not exist; make it, or give --mkdir")));
            }
            Err(error) => return Err((exit::USAGE, format!("{shown}: {}", describe(&error)))),
        }
    }
    Ok(missing)
}

/// As many descriptors as the system allows: a workload's threads need theirs, and each process is watched by one.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
