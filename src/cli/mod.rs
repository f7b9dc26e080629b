//! The command line: one subcommand a file.

use clap::{Args, ColorChoice, Parser, Subcommand};
use std::io::{IsTerminal, Write};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

mod check;
mod clean;
pub mod exit;
mod explain;
mod files;
mod fmt;
pub mod library;
mod list;
mod live;
mod output;
mod plan;
mod report;
mod run;
#[cfg(test)]
mod schema;
mod show;
mod stream;

use exit::Exit;

/// Subcommands of the design that nobody has built, so that they are refused by name rather than looked for as files.
const PLANNED: &[&str] = &["compare", "ab", "sweep", "verify", "lib", "rerun", "lsp", "completions", "man"];

/// Runs workload files of filebench's language against real file systems, and reports per-flowop ops/s, MB/s and
/// latency.
#[derive(Debug, Parser)]
#[command(
    name = "wlrun",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "`wlrun fileserver --dir /mnt/nfs` runs a personality that ships in the binary; `wlrun list` shows all."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::RunArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a workload (the default)
    Run(Box<run::RunArgs>),
    /// Say everything that is wrong with workload files; touches nothing
    Check(check::CheckArgs),
    /// Show what would be made and run, and what will go wrong; touches nothing
    Plan(plan::PlanArgs),
    /// Bring workload files into the canonical layout
    Fmt(fmt::FmtArgs),
    /// List workloads, commands, flowops, attributes, distributions, engines, metrics, monitors, warnings or exit codes
    List(list::ListArgs),
    /// Show what a personality or a file models, its parameters, and its text
    Show(show::ShowArgs),
    /// Explain a warning, such as W003
    Explain(explain::ExplainArgs),
    /// Show a saved run again
    Report(report::ReportArgs),
    /// Remove the trees that wlrun made below a directory, and nothing else
    Clean(clean::CleanArgs),
    /// A worker of a run; started by wlrun itself
    #[command(name = crate::exec::WORKER, hide = true)]
    Worker { process: usize, instance: u32, region: i32, parent: i32 },
}

/// Options of everything that reads a workload.
#[derive(Debug, Clone, Default, Args)]
struct Parameters {
    /// Directory of the file sets: sets $dir, and relative paths start there
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Give a variable of the workload another value
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_set)]
    set: Vec<(String, crate::attribute::Value)>,
    /// Look here too for what the workload includes, behind its own directory; may be repeated
    #[arg(long, value_name = "DIR")]
    lib: Vec<PathBuf>,
    /// Length of the run: seconds, or with a unit (500ms, 5min)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    runtime: Option<u64>,
    /// How long each run runs before it is measured; whatever the file says
    #[arg(long, value_name = "TIME", value_parser = crate::units::seconds)]
    warmup: Option<u64>,
    /// Everything random derives from it
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_seed)]
    seed: u64,
    /// When to colour messages
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

impl Parameters {
    /// True where messages on stderr are coloured.
    fn colored(&self) -> bool {
        colored(self.color)
    }

    /// Where included texts are looked for.
    fn library(&self) -> library::Shelves {
        library::Shelves::new(&self.lib)
    }

    /// For the planner.
    fn plan_options(&self, check: bool) -> std::io::Result<crate::plan::Options> {
        let here = std::env::current_dir()?;
        let dir = self.dir.as_ref().map(|dir| absolute(&here, dir));
        Ok(crate::plan::Options {
            base: dir.clone().unwrap_or(here),
            dir,
            home: std::env::var_os("HOME").map(PathBuf::from),
            set: self.set.clone(),
            runtime_ns: self.runtime,
            warmup_ns: self.warmup,
            seed: self.seed,
            check,
            read: Some(crate::sys::files::read_text),
        })
    }
}

/// True where messages on stderr are coloured. `NO_COLOR` is honoured (<https://no-color.org>).
fn colored(choice: ColorChoice) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && std::io::stderr().is_terminal()
        }
    }
}

/// An absolute path without `.` and `..`. Where the path is there, `..` behind a link is what the kernel takes it for.
fn absolute(here: &Path, path: &Path) -> PathBuf {
    let joined = here.join(path);
    if !joined.components().any(|component| component == Component::ParentDir) {
        // Takes `.` and doubled slashes away.
        return joined.components().collect();
    }
    joined.canonicalize().unwrap_or_else(|_| {
        joined.components().fold(PathBuf::new(), |mut path, component| {
            if component == Component::ParentDir {
                path.pop();
            } else {
                path.push(component);
            }
            path
        })
    })
}

fn parse_set(text: &str) -> Result<(String, crate::attribute::Value), String> {
    use crate::attribute::Value;
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as nthreads=2")?;
    let name = name.trim_start_matches('$');
    if name.is_empty() {
        return Err("expected NAME=VALUE, such as nthreads=2".into());
    }
    let value = match value {
        "true" => Value::Flag(true),
        "false" => Value::Flag(false),
        other => crate::units::number(other).map_or_else(|_| Value::Text(other.to_owned()), Value::from),
    };
    Ok((name.to_owned(), value))
}

fn parse_time(text: &str) -> Result<u64, String> {
    match crate::units::seconds(text)? {
        0 => Err("a run of no time measures nothing".into()),
        nanos => Ok(nanos),
    }
}

fn parse_interval(text: &str) -> Result<u64, String> {
    match crate::units::seconds(text)? {
        // Shorter ones would measure the reading of the counters.
        nanos if nanos < 10_000_000 => Err("an interval is 10ms or longer".into()),
        nanos => Ok(nanos),
    }
}

fn parse_seed(text: &str) -> Result<u64, String> {
    if text == "random" {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        // Any number will do that differs from run to run; it is shown, so that the run can be repeated.
        return Ok((clock.as_nanos() as u64) % 1_000_000_000);
    }
    text.parse().map_err(|_| "expected a whole number, or random".into())
}

/// Everything that `main` does.
pub fn main() -> ExitCode {
    crate::sys::process::ignore_write_signals();
    if let Some(word) = std::env::args().nth(1).filter(|word| PLANNED.contains(&word.as_str()))
        && !std::path::Path::new(&word).exists()
    {
        complain(&format!("the command '{word}' is not supported yet"));
        return exit::USAGE.into();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let asked_for = !error.use_stderr();
            let printed = error.print();
            if !asked_for {
                run::misused(&error.to_string());
            }
            return match printed {
                Err(why) if asked_for && why.kind() != std::io::ErrorKind::BrokenPipe => {
                    complain(&format!("the output cannot be written: {why}"));
                    exit::FAILED
                }
                _ if asked_for => exit::OK,
                _ => exit::USAGE,
            }
            .into();
        }
    };
    let exit = match cli.command {
        None => run::run(&cli.run),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Plan(args)) => plan::run(&args),
        Some(Command::Fmt(args)) => fmt::run(&args),
        Some(Command::List(args)) => list::run(&args),
        Some(Command::Show(args)) => show::run(&args),
        Some(Command::Explain(args)) => explain::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Clean(args)) => clean::run(&args),
        Some(Command::Worker { process, instance, region, parent }) => {
            match crate::exec::worker(process, instance, region, parent) {
                Ok(()) => exit::OK,
                Err(why) => {
                    complain(&format!("worker: {why}"));
                    exit::FAILED
                }
            }
        }
    };
    exit.into()
}

/// Says on stderr what is wrong.
fn complain(message: &str) {
    say(&format!("error: {message}\n"));
}

/// Writes to stderr; a closed stderr is nobody's loss.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Writes a document to stdout. A reader that has gone away (`| head`) ends us quietly; a full disk does not.
fn print(text: &str) -> Exit {
    let mut out = std::io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What the exit code is after something was written to stdout.
fn written(result: std::io::Result<()>) -> Exit {
    match result {
        Ok(()) => exit::OK,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => exit::OK,
        Err(error) => {
            complain(&format!("the output cannot be written: {error}"));
            exit::FAILED
        }
    }
}
