//! `wlrun plan`: what would be made and run, and what will go wrong. Touches nothing.

use super::check::resolve;
use super::exit::{self, Exit};
use super::run::{bind_devices, check_places, check_system, missing_directories, raise_descriptor_limit};
use super::{Parameters, complain, files, library, print, say};
use crate::exec::{self, Preview, RunPreview, SetPreview, SizesPreview};
use crate::fileset::device::Leave;
use crate::plan::forecast::{self, Finding, FindingKind, FlowopForecast, Means, Mix, RunForecast, Sizes, Weight};
use crate::plan::{Plan, QuitMode, RunPlan};
use crate::record::{FlowopClass, memory};
use crate::report::Table;
use crate::summary::warning;
use crate::units;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

/// Version of the JSON document.
const SCHEMA_VERSION: &str = "1.0";

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// A workload file, or the name of a personality
    #[arg(value_name = "FILE|NAME")]
    workload: String,
    #[command(flatten)]
    parameters: Parameters,
    /// Form of the document on stdout
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The document.
#[derive(Debug, Serialize)]
struct Document<'p> {
    schema_version: &'static str,
    wlrun: &'static str,
    workload: &'p crate::plan::Workload,
    seed: u64,
    dir: Option<&'p Path>,
    filesets: &'p [SetPreview],
    shared_memory: exec::SharedPreview,
    runs: Vec<RunDocument<'p>>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RunDocument<'p> {
    length_ns: Option<u64>,
    warmup_ns: u64,
    session: bool,
    quit: QuitMode,
    needs: &'p RunPreview,
    memory_bytes: u64,
    #[serde(flatten)]
    forecast: RunForecast,
}

pub(super) fn run(args: &PlanArgs) -> Exit {
    let file = match library::load(&args.workload) {
        Ok(file) => file,
        Err(why) => {
            complain(&why);
            return exit::USAGE;
        }
    };
    let options = match args.parameters.plan_options(true) {
        Ok(options) => options,
        Err(error) => {
            complain(&format!("the working directory cannot be read: {error}"));
            return exit::FAILED;
        }
    };
    let mut resolved = resolve(file, &args.parameters.library(), &options);
    let fits = match bind_devices(&mut resolved) {
        Ok(fits) => fits,
        Err((exit, why)) => {
            complain(&why);
            return exit;
        }
    };
    say(&resolved.render(args.parameters.colored()));
    let Some(plan) = resolved.plan.filter(|_| fits) else { return exit::USAGE };
    // As a run does, before it asks for limits.
    raise_descriptor_limit();
    let preview = match exec::preview(&plan, &exec::Options::default(), &forecast::descriptors) {
        Ok(preview) => preview,
        Err(why) => {
            complain(&why);
            return exit::FAILED;
        }
    };
    let sizes: Vec<Sizes> = preview.filesets.iter().map(SetPreview::forecast_sizes).collect();
    let mut forecasts = forecast::forecast(&plan, &sizes, &mut Means::new(&plan.variables));
    for (forecast, needs) in forecasts.iter_mut().zip(&preview.runs) {
        forecast.findings.extend(of_machine(&preview, forecast, needs));
    }
    let runs = plan.runs().zip(&preview.runs).zip(forecasts);
    let document = Document {
        schema_version: SCHEMA_VERSION,
        wlrun: env!("CARGO_PKG_VERSION"),
        workload: &plan.workload,
        seed: plan.seed,
        dir: plan.dir.as_deref(),
        filesets: &preview.filesets,
        shared_memory: preview.shared,
        runs: runs
            .map(|((run, needs), forecast)| RunDocument {
                length_ns: if forecast.session { forecast.lasts_ns } else { run.length_ns },
                warmup_ns: run.warmup_ns,
                session: forecast.session,
                quit: run.quit,
                needs,
                memory_bytes: needs.needs.memory(),
                forecast,
            })
            .collect(),
        notes: notes(&plan),
    };
    match args.format {
        Form::Text => print(&text(&plan, &document)),
        Form::Json => match serde_json::to_string_pretty(&document) {
            Ok(json) => print(&(json + "\n")),
            Err(error) => {
                complain(&format!("the document cannot be written: {error}"));
                exit::FAILED
            }
        },
    }
}

/// What would go wrong on this machine.
fn of_machine(preview: &Preview, forecast: &RunForecast, needs: &RunPreview) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for objection in needs.needs.objections() {
        let help = "the run would be refused before anything is made".into();
        found.push(Finding::of_run(FindingKind::Objection, objection, help));
    }
    let (most, possible) = (needs.descriptors_in_one, needs.needs.descriptors_possible);
    if most > possible {
        let message =
            format!("a process may have {most} descriptors open at the same time, and {possible} are possible");
        let help = "raise the hard limit (ulimit -Hn), or use fewer threads in a process or less opennext".into();
        found.push(Finding::of_run(FindingKind::Descriptors, message, help));
    }
    let bytes = preview.filesets.iter().fold(0, |sum: u64, set| sum.saturating_add(set.bytes));
    if let Some(why) = warning::cached(forecast.cached_reads, bytes, memory("MemTotal")) {
        let help = "use more or larger files, twice the memory at least, or direct I/O (W003)".into();
        found.push(Finding::of_run(FindingKind::FitsInMemory, why, help));
    }
    found
}

/// What a run would ask for or refuse before it begins.
fn notes(plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    let objections = [
        // Without --dir, `$dir` stands for a directory that is not known.
        plan.dir.as_ref().and_then(|_| missing_directories(plan, false).err()),
        check_places(plan, &[]).err(),
        check_system(plan, false).err(),
        files::check(plan).err(),
    ];
    notes.extend(objections.into_iter().flatten().map(|(_, why)| why));
    match exec::devices::refusals(plan, &Leave::default()) {
        Ok(refused) => notes.extend(refused),
        Err(why) => notes.push(why),
    }
    for set in plan.filesets.iter().filter(|set| set.trusttree && set.device.is_none()) {
        notes.push(format!("the tree of '{}' is taken as it is (trusttree): nothing is made in it", set.name));
    }
    for set in plan.filesets.iter().filter(|set| set.reuse && !set.trusttree && set.device.is_none()) {
        notes.push(format!(
            "a tree of '{}' that an earlier run left is kept, and what differs is repaired (reuse)",
            set.name
        ));
    }
    notes
}

fn text(plan: &Plan, document: &Document<'_>) -> String {
    let mut out = String::new();
    let dir = document.dir.map(|dir| format!(" in {}", dir.display())).unwrap_or_default();
    let _ = writeln!(out, "plan of {}{dir}, seed {}; nothing was touched", document.workload.name, document.seed);
    for note in &document.notes {
        let _ = writeln!(out, "note: {note}");
    }
    if !document.filesets.is_empty() {
        let _ = write!(out, "\n{}", filesets(plan, document.filesets));
    }
    let several = document.runs.len() > 1;
    for (at, (run, plan)) in document.runs.iter().zip(plan.runs()).enumerate() {
        let number = if several { format!(" {}", at + 1) } else { String::new() };
        let length = match (run.length_ns, run.session) {
            (Some(length), false) => units::duration(length),
            (Some(length), true) => format!("a session of {} or more", units::duration(length)),
            (None, false) => "until done".to_owned(),
            (None, true) => "a session until done".to_owned(),
        };
        let warmup = match run.warmup_ns {
            0 => String::new(),
            nanos => format!(" after a warm-up of {}", units::duration(nanos)),
        };
        let _ = writeln!(out, "\nrun{number}: {length}{warmup}, quit mode {}", word(plan));
        needs(&mut out, document, run);
        mix(&mut out, run);
        findings(&mut out, &run.forecast.findings);
    }
    out
}

fn word(run: &RunPlan) -> &'static str {
    QuitMode::ALL.iter().find(|(_, mode)| *mode == run.quit).map_or("", |(word, _)| word)
}

fn filesets(plan: &Plan, sets: &[SetPreview]) -> String {
    let mut table = Table::new([
        "fileset", "files", "at start", "bytes", "at start", "inodes", "at start", "dirs", "leafdirs", "depth",
        "size min", "median", "mean", "max",
    ]);
    let mut places = String::new();
    let here = std::env::current_dir().unwrap_or_default();
    for set in sets {
        let SetPreview { files, files_made, inodes, inodes_made, directories, leafdirs, depth, .. } = set;
        let sizes = match set.sizes {
            Some(SizesPreview { min, median, mean, max }) => {
                [units::bytes(min), units::bytes(median), units::bytes(mean.round() as u64), units::bytes(max)]
            }
            None => ["-"; 4].map(str::to_owned),
        };
        let counts = [files.to_string(), files_made.to_string(), units::bytes(set.bytes), units::bytes(set.bytes_made)];
        let tree = [inodes, inodes_made, directories, leafdirs, depth].map(u64::to_string);
        table.push([set.name.clone()].into_iter().chain(counts).chain(tree).chain(sizes));
        // The stand-in of a $dir that nobody has set.
        let path = match (&plan.dir, set.path.strip_prefix(&here)) {
            (None, Ok(below)) if below.starts_with("$dir") => below,
            _ => &set.path,
        };
        let _ = writeln!(places, "{} is {}", set.name, path.display());
    }
    format!("{}{places}", table.render())
}

fn needs(out: &mut String, document: &Document<'_>, run: &RunDocument<'_>) {
    let RunPreview { needs, descriptors_in_one, descriptors } = run.needs;
    let possible = |n: Option<u64>| n.map(|n| format!(" ({n} possible)")).unwrap_or_default();
    let tasks = needs.tasks_possible.iter().min_by_key(|tasks| tasks.possible);
    let tasks = tasks.map(|tasks| format!(" ({} tasks possible, {})", tasks.possible, tasks.limit)).unwrap_or_default();
    let submitted = match needs.outstanding {
        0 => String::new(),
        n => format!(", helpers {} for {n} operations under way at most", needs.helpers),
    };
    let _ = writeln!(out, "  processes    {}, threads {}{submitted}{tasks}", needs.processes, needs.threads);
    let available = needs.available.map(|bytes| format!(" ({} available)", units::bytes(bytes))).unwrap_or_default();
    let bookkeeping = match needs.bookkeeping {
        0 => String::new(),
        bytes => format!(", what is under way {}", units::bytes(bytes)),
    };
    let _ = writeln!(
        out,
        "  memory       {}{available}: buffers {}, stacks {}{bookkeeping}, histograms {}",
        units::bytes(run.memory_bytes),
        units::bytes(needs.buffers),
        units::bytes(needs.stacks),
        units::bytes(needs.histograms),
    );
    let shared = document.shared_memory;
    let _ = writeln!(
        out,
        "  shared       {} of address space: file sets {}, counters {}",
        units::bytes(shared.total),
        units::bytes(shared.filesets),
        units::bytes(shared.counters),
    );
    let _ = writeln!(
        out,
        "  descriptors  {descriptors_in_one} at most in one process ({} possible), {descriptors} in all",
        needs.descriptors_possible
    );
    let _ = writeln!(out, "  mappings     about {} in one process{}", needs.maps, possible(needs.maps_possible));
}

fn mix(out: &mut String, run: &RunDocument<'_>) {
    let mut table = Table::new(["  round of", "type", "times", "bytes each", "threads"]);
    for thread in &run.forecast.threads {
        for FlowopForecast { name, kind, class, ops_per_round, bytes_per_op, exact } in &thread.flowops {
            let about = if *exact { "" } else { "~" };
            let bytes = match class {
                FlowopClass::Read | FlowopClass::Write => {
                    format!("{about}{}", units::bytes(bytes_per_op.round() as u64))
                }
                FlowopClass::Metadata | FlowopClass::Control => "-".into(),
            };
            let label = format!("  {}/{}/{name}", thread.process, thread.thread);
            table.push([label, kind.clone(), number(*ops_per_round), bytes, thread.instances.to_string()]);
        }
    }
    out.push('\n');
    out.push_str(&table.render());
    let all = &run.forecast.round;
    if all.ops() > 0.0 {
        let Mix { reads, writes, metadata, .. } = *all;
        let _ = writeln!(
            out,
            "  a round of all threads: {} ops, of them {} reads, {} writes, {} metadata; read {}, written {}",
            number(all.ops()),
            number(reads),
            number(writes),
            number(metadata),
            units::bytes(all.bytes_read.round() as u64),
            units::bytes(all.bytes_written.round() as u64),
        );
        let _ = writeln!(
            out,
            "  reads : writes = {} in ops, {} in bytes",
            ratio(reads, writes),
            ratio(all.bytes_read, all.bytes_written)
        );
    }
    if let Some(limit) = &run.forecast.limit {
        let most = match limit.ops_per_s_at_most {
            Some(most) => format!("{} ops/s at most", number(most)),
            None => "not all threads with I/O are held back by it".into(),
        };
        let _ = writeln!(out, "  event generator: {} events/s, {most}", limit.events_per_s);
    }
}

fn findings(out: &mut String, findings: &[Finding]) {
    if findings.is_empty() {
        let _ = writeln!(out, "\n  nothing is known to go wrong");
        return;
    }
    let _ = writeln!(out, "\n  what will go wrong");
    for finding in findings {
        let word = match finding.weight {
            Weight::Certain => "certain",
            Weight::Possible => "possible",
        };
        let thread = finding.thread.as_ref().map(|thread| format!(" (thread {thread})")).unwrap_or_default();
        let _ = writeln!(out, "  {word}: {}{thread}; {}", finding.message, finding.help);
    }
}

/// `2 : 1`, with the smaller one as 1.
fn ratio(a: f64, b: f64) -> String {
    match (a > 0.0, b > 0.0) {
        (false, false) => "0 : 0".into(),
        (true, false) => "1 : 0".into(),
        (false, true) => "0 : 1".into(),
        _ if a >= b => format!("{} : 1", number(a / b)),
        _ => format!("1 : {}", number(b / a)),
    }
}

/// Whole where it is, else with two decimals.
fn number(x: f64) -> String {
    if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.2}") }
}
