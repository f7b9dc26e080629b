//! `wlrun run`, and `wlrun` without a subcommand: from arguments to exit code.

use super::check::{Resolved, resolve};
use super::exit::{self, Exit};
use super::live::{EchoTo, Live};
use super::output::{self, Format, Pending};
use super::stream::Stream;
use super::{Parameters, complain, library, print, say, written};
use crate::exec::{self, ExecError, Outcome, ProcessModel};
use crate::fileset::device::Leave;
use crate::plan::{Plan, Step, Workload};
use crate::record::{ColdHow, Ended, NotBegun, RunRecord};
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
    /// Let the workload write to this block device, whose data is lost then
    #[arg(long, value_name = "DEVICE")]
    destroy_data: Vec<PathBuf>,
    /// Let --destroy-data overwrite a device that carries a file system, a partition table or the like
    #[arg(long, requires = "destroy_data")]
    yes_overwrite_signature: bool,
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
    /// Find out before each run what each flowop asks of the server or the device by itself
    #[arg(long)]
    calibrate: bool,
    /// Do not wait after a run until what it wrote is on stable storage
    #[arg(long)]
    no_drain: bool,
    /// How requests reach the kernel: sync, null
    #[arg(long, value_name = "ENGINE", default_value = "sync", value_parser = parse_engine)]
    engine: String,
    /// Process instances as OS processes, or all as threads of one process
    #[arg(long, value_name = "MODEL", default_value = "processes", value_parser = parse_model)]
    process_model: ProcessModel,
    /// Form of the report on stdout, as `wlrun list formats` has them
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = output::parse_format)]
    format: Format,
    /// Write the record as JSON too
    #[arg(long, value_name = "FILE", value_parser = output::parse_file)]
    json: Option<PathBuf>,
    /// Write the report in another form too
    #[arg(long, value_name = "FORMAT=FILE", value_parser = output::parse_out)]
    out: Vec<(Format, PathBuf)>,
    /// Length of the intervals in the record
    #[arg(long, value_name = "TIME", value_parser = super::parse_interval)]
    interval: Option<u64>,
    /// Do not find out before the run what wlrun itself costs
    #[arg(long)]
    no_own_cost: bool,
    /// What each process instance did, in the record
    #[arg(long)]
    per_process: bool,
    /// Percentiles of each interval in the record, also where threads times flowops are more than 1000
    #[arg(long)]
    interval_percentiles: bool,
    /// Write what each thread chooses to a file: flowop, file, offset, size
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// So many of the first operations of each thread
    #[arg(long, value_name = "N", default_value = "10000", requires = "trace")]
    trace_ops: u64,
    /// No progress, only warnings and errors
    #[arg(short, long)]
    quiet: bool,
    /// Keep names of hosts and servers, addresses and paths out of the record and the reports
    #[arg(long)]
    redact: bool,
    /// Where monitors find proc and sys; for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    kernel_files: PathBuf,
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
    let mut about = About {
        workload: unread(args.workload.as_deref().unwrap_or_default()),
        seed: args.parameters.seed,
        dir: None,
        redact: args.redact,
        told: false,
    };
    match try_run(args, &mut about) {
        Ok(exit) => exit,
        Err((exit, message)) => {
            if !about.told {
                complain(&message);
            }
            about.print_refusal(args.format, exit, message);
            exit
        }
    }
}

/// The command line is wrong, so that no run is begun: whoever asked for a document gets one that says so.
pub(super) fn misused(message: &str) {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let subcommands = <super::Cli as clap::CommandFactory>::command();
    let mut words = words.as_slice();
    match words.split_first() {
        Some((first, rest)) if first == "run" => words = rest,
        Some((first, _)) if subcommands.get_subcommands().any(|command| command.get_name() == first) => return,
        _ => {}
    }
    let options = || words.iter().take_while(|word| *word != "--");
    let beside = options().zip(words.iter().skip(1)).find(|(option, _)| *option == "--format").map(|(_, name)| name);
    let within = options().find_map(|word| word.strip_prefix("--format="));
    let Some(format) = within.or(beside.map(String::as_str)).and_then(crate::report::find) else { return };
    let name = words.first().filter(|word| !word.starts_with('-')).map(String::as_str).unwrap_or_default();
    let about = About {
        workload: unread(name),
        seed: 1,
        dir: None,
        redact: words.iter().any(|word| word == "--redact"),
        told: true,
    };
    // The rest of clap's message is how to call it right.
    let reason = message.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    about.print_refusal(format, exit::USAGE, reason.trim_start_matches("error: ").to_owned());
}

/// A workload of which only the name is known.
fn unread(name: &str) -> Workload {
    let name = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Workload { name: name.unwrap_or_default(), hash: String::new() }
}

pub(super) type Failed = (Exit, String);

/// What is known of a run that may not be begun.
struct About {
    workload: Workload,
    seed: u64,
    dir: Option<PathBuf>,
    redact: bool,
    /// stderr has the reason already.
    told: bool,
}

impl About {
    /// Whoever asked for a document gets one that says why nothing was begun; a report for people would be a table of
    /// nothing.
    fn print_refusal(&self, format: Format, exit: Exit, reason: String) {
        if format.name != "text" {
            let why = NotBegun { exit_code: exit.0, reason };
            print(&(format.render)(&exec::refusal(&self.workload, self.seed, self.dir.as_deref(), why, self.redact)));
        }
    }
}

fn try_run(args: &RunArgs, about: &mut About) -> Result<Exit, Failed> {
    let name = args.workload.as_deref().unwrap_or_default();
    let file = library::load(name).map_err(|why| (exit::USAGE, why))?;
    let options = args
        .parameters
        .plan_options(false)
        .map_err(|error| (exit::FAILED, format!("the working directory cannot be read: {error}")))?;
    about.dir = options.dir.clone();
    let mut resolved = resolve(file, &args.parameters.library(), &options);
    about.workload = Workload::of(resolved.texts.sources());
    let fits = bind_devices(&mut resolved)?;
    say(&resolved.render(args.parameters.colored()));
    let Some(plan) = resolved.plan.as_ref().filter(|_| fits) else {
        about.told = true;
        return Err((exit::USAGE, resolved.mistakes().join("\n")));
    };
    check_around(args)?;
    check_system(plan, args.allow_exec)?;
    check_places(plan, &args.allow_path)?;
    super::files::check(plan)?;
    let leave = Leave { destroy: args.destroy_data.clone(), signatures: args.yes_overwrite_signature };
    check_devices(plan, &leave, &args.engine)?;
    let missing = missing_directories(plan, args.mkdir)?;
    raise_descriptor_limit();
    let exec_options = exec::Options {
        engine: args.engine.clone(),
        process_model: args.process_model,
        adopt: args.adopt,
        leave,
        remove: args.remove,
        interval_ns: args.interval,
        redact: args.redact,
        kernel_files: args.kernel_files.clone(),
        own_cost: !args.no_own_cost,
        per_process: args.per_process,
        interval_percentiles: args.interval_percentiles,
        trace: match &args.trace {
            None => None,
            Some(path) => {
                let here = std::env::current_dir()
                    .map_err(|error| (exit::FAILED, format!("the working directory cannot be read: {error}")))?;
                Some(exec::TraceOptions { path: super::absolute(&here, path), operations: args.trace_ops })
            }
        },
        cold: args.cold,
        prepare: args.prepare.clone(),
        cleanup: args.cleanup.clone(),
        calibrate: args.calibrate,
        drain: !args.no_drain,
    };
    let objections = exec::objections(plan, &exec_options);
    if !objections.is_empty() {
        return Err((exit::FAILED, objections.join("\n")));
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
    let mut stream = (args.format.name == "ndjson").then(Stream::new);
    let outcome = exec::run(plan, &exec_options, &mut |event| {
        if let Some(stream) = &mut stream {
            stream.show(&event);
        }
        live.show(event);
    });
    live.clear();
    // A stream of which nothing was written yet is one document like any other.
    let outcome = outcome.map_err(|error| match &error {
        ExecError::Refused(_) => (exit::REFUSED, error.to_string()),
        ExecError::Usage(_) => (exit::USAGE, error.to_string()),
        ExecError::CannotRun(_) | ExecError::System(..) => (exit::FAILED, error.to_string()),
    })?;
    let mut exit = verdict(&outcome);
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
    let printed = match stream {
        Some(stream) => written(stream.finish(&outcome.record)),
        None => print(&format!("{}{}", (args.format.render)(&outcome.record), live.after)),
    };
    exit = worse(exit, printed);
    for output in outputs {
        let path = output.path().display().to_string();
        if let Err(error) = output.write(&outcome.record) {
            complain(&format!("{path} cannot be written: {error}"));
            exit = worse(exit, exit::FAILED);
        }
    }
    Ok(exit)
}

/// The first thing that went wrong stays the verdict.
fn worse(first: Exit, second: Exit) -> Exit {
    if first == exit::OK { second } else { first }
}

fn verdict(outcome: &Outcome) -> Exit {
    let record = &outcome.record;
    match outcome.signal {
        Some(signal) => Exit::signal(signal),
        None if outcome.refused => exit::REFUSED,
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

/// Finds the block devices among the files of a workload; false where one is used as no device can be, which is among the
/// findings then.
pub(super) fn bind_devices(resolved: &mut Resolved) -> Result<bool, Failed> {
    let mistakes = match &mut resolved.plan {
        Some(plan) => exec::devices::bind(plan).map_err(|why| (exit::USAGE, why))?,
        None => Vec::new(),
    };
    let fits = mistakes.is_empty();
    mistakes.into_iter().for_each(|mistake| resolved.diagnostics.push(mistake));
    Ok(fits)
}

/// Devices are written to only with leave, and where nothing is known to need what is on them.
fn check_devices(plan: &Plan, leave: &Leave, engine: &str) -> Result<(), Failed> {
    let known: Vec<&Path> =
        plan.filesets.iter().filter_map(|spec| Some(spec.device.as_ref()?.path.as_path())).collect();
    for named in &leave.destroy {
        // A mistyped name would be no leave for anything, and is more likely a mistake elsewhere.
        if !named.canonicalize().is_ok_and(|path| known.contains(&path.as_path())) {
            let message = format!("--destroy-data {}: no file of the workload is this block device", named.display());
            return Err((exit::USAGE, message));
        }
    }
    if !exec::touches_files(engine) {
        return Ok(());
    }
    let refused = exec::devices::refusals(plan, leave).map_err(|why| (exit::FAILED, why))?;
    if refused.is_empty() { Ok(()) } else { Err((exit::REFUSED, refused.join("\n"))) }
}

/// File sets lie beneath --dir, or what --allow-path adds, and behind no link; without --dir, anywhere. A device is where
/// its own name is, whatever links lead there.
pub(super) fn check_places(plan: &Plan, allowed: &[PathBuf]) -> Result<(), Failed> {
    let Some(dir) = &plan.dir else { return Ok(()) };
    let here = std::env::current_dir().unwrap_or_default();
    let bases: Vec<PathBuf> =
        std::iter::once(dir.clone()).chain(allowed.iter().map(|path| super::absolute(&here, path))).collect();
    let objection = |spec: &crate::fileset::Spec| {
        if let Some(device) = &spec.device {
            let (name, path, dir) = (&spec.name, device.path.display(), dir.display());
            let outside = format!("the file '{name}' is the device {path}, outside {dir}");
            return (!bases.iter().any(|base| device.path.starts_with(base))).then_some(outside);
        }
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

/// What is about files is of no use where none are touched; and what goes to the shell needs leave.
fn check_around(args: &RunArgs) -> Result<(), Failed> {
    let commands = [("--prepare", args.prepare.is_some()), ("--cleanup", args.cleanup.is_some())];
    let given = || commands.into_iter().filter(|(_, given)| *given).map(|(name, _)| name);
    let of_files = [("--cold", args.cold.is_some()), ("--calibrate", args.calibrate)];
    let of_files = of_files.into_iter().filter(|(_, given)| *given).map(|(name, _)| name);
    if let Some(option) = of_files.chain(given()).next()
        && !exec::touches_files(&args.engine)
    {
        let engine = args.engine.split(':').next().unwrap_or_default();
        let message = format!("{option} is about files, and the engine {engine} touches none; leave one of them out");
        return Err((exit::USAGE, message));
    }
    match given().next() {
        Some(name) if !args.allow_exec => {
            Err((exit::REFUSED, format!("{name} gives a command to the shell; --allow-exec lets it")))
        }
        _ => Ok(()),
    }
}

/// A workload is data from a stranger: what it gives to the shell runs only with leave.
pub(super) fn check_system(plan: &Plan, allowed: bool) -> Result<(), Failed> {
    let lines: Vec<String> = plan
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::System(line) | Step::Background(line) => Some(format!("    {line}")),
            _ => None,
        })
        .collect();
    if allowed || lines.is_empty() {
        return Ok(());
    }
    let message = format!("the workload gives this to the shell; --allow-exec lets it:\n{}", lines.join("\n"));
    Err((exit::REFUSED, message))
}

/// Directories that are not there and may be made: --dir, or without it the places of the file sets, so that a mistyped
/// mount point is not measured by mistake.
pub(super) fn missing_directories(plan: &Plan, mkdir: bool) -> Result<Vec<PathBuf>, Failed> {
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
            Err(error) => {
                // What stands behind the path is broken, not the path.
                let advice = rustix::io::Errno::from_io_error(&error).and_then(crate::sys::advice);
                return Err(match advice {
                    Some(advice) => (exit::FAILED, format!("{shown}: {}; {advice}", describe(&error))),
                    None => (exit::USAGE, format!("{shown}: {}", describe(&error))),
                });
            }
        }
    }
    Ok(missing)
}

/// As many descriptors as the system allows: a workload's threads need theirs, and each process is watched by one.
pub(super) fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
