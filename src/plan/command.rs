//! The commands of a workload: each with a line for people, and what those mean that are no definition and no run.

use super::resolve::Resolver;
use super::{Measure, Period, RunPlan, Step, entity};
use crate::attribute::{AttributeDef, Attributes, Kind, Typed, Value, VariableId};
use crate::diagnostic::Diagnostic;
use crate::random;
use crate::source::{Span, Spanned};
use crate::syntax::{Attribute, Expression, Item};
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

/// Period of a `psrun` that says none.
pub(super) const DEFAULT_PERIOD_NS: u64 = 10_000_000_000;

/// A command of a workload.
#[derive(Debug)]
pub struct CommandDef {
    /// How it is written. The first word is one of the grammar's.
    pub form: &'static str,
    /// One line for people.
    pub summary: &'static str,
}

const fn command(form: &'static str, summary: &'static str) -> CommandDef {
    CommandDef { form, summary }
}

/// Every command, in the order of the reference.
pub static COMMANDS: &[CommandDef] = &[
    command("set $VAR=VALUE", "gives a variable its value"),
    command("set mode quit MODE", "what the end of a thread means: timeout, firstdone or alldone"),
    command("set mode nousestats", "has no effect, as in filebench 1.5"),
    command("define WHAT ...", "a file, fileset, process, composite flowop, randvar or posset"),
    command("create files", "makes the file sets that are defined and not yet made; also fileset, filesets"),
    command("create processes", "starts all processes and lets them run: a session begins"),
    command("run [TIME]", "runs and measures; in a session: measures anew for TIME, and stops the processes"),
    command(
        "psrun [PERIOD [TIME]]",
        "a run that shows each period: all since the start, or with -PERIOD what it had itself",
    ),
    command("warmup TIME", "the runs that follow begin with TIME that is not measured; in a session: waits"),
    command("sleep TIME", "waits; 0 in a session: until the processes have ended by themselves"),
    command("stats clear", "in a session: measures anew from here on"),
    command("stats snap", "in a session: puts what was measured until now into the report"),
    command(
        "stats command \"LINE\"",
        "runs a line of the shell beside, until the next snap or the end; only with --allow-exec",
    ),
    command("stats directory PATH", "makes a directory below the working directory for the dumps that follow"),
    command("stats dump \"FILE\"", "writes what the last run or snap measured to a new file, as filebench 1.4 does"),
    command("stats multidump \"FILE\"", "the same, separated by tabs"),
    command("stats xmldump \"FILE\"", "the same, as XML"),
    command("shutdown processes", "stops the processes of a session"),
    command("shutdown files", "takes away the trees that wlrun made; also fileset, filesets"),
    command("eventgen rate=N", "events a second for the limiters; in a session: from now on. 0 is no limit"),
    command("enable lathist", "shows the distribution of latencies; also enable_osprof"),
    command("enable_osprof", "as enable lathist"),
    command("disable_osprof", "ends that for the runs that follow"),
    command("enable multi ...", "refused: filebench's synchronisation of several hosts"),
    command("domultisync value=N", "refused: filebench's synchronisation of several hosts"),
    command("foreach $VAR in LIST { ... }", "carries commands out for each value of a list"),
    command("include \"FILE\"", "reads another file at this place"),
    command("load NAME", "reads another workload at this place"),
    command("assert FLOWOP.METRIC < LIMIT", "what must hold of the run; exit code 4 where it does not"),
    command("echo \"TEXT\"", "shows a line"),
    command("log \"TEXT\"", "adds a line to WORKLOAD.csv in the working directory"),
    command("system \"LINE\"", "runs a line of the shell and waits; only with --allow-exec"),
    command("list [fileset|flowop]", "shows the file sets, or the flowops of all processes"),
    command("vars", "shows the variables with their values"),
    command("version", "shows the version of wlrun"),
    command("usage \"TEXT\"", "help for `help`; shows nothing by itself"),
    command("help", "shows the texts of `usage` so far"),
    command("quit", "ends the text, and stops the processes of a session"),
    command("exit", "as quit"),
    command("debug N", "has no effect, with a warning: see -q"),
    command("nousestats", "has no effect, as in filebench 1.5"),
    command("fscheck ...", "has no effect, with a warning"),
    command("fsflush ...", "has no effect, with a warning"),
];

/// What follows `stats`.
const STATS: [&str; 7] = ["clear", "snap", "command", "directory", "dump", "multidump", "xmldump"];
/// What can be created, and shut down.
const FILES: [&str; 4] = ["files", "file", "filesets", "fileset"];
const PROCESSES: [&str; 2] = ["processes", "process"];

/// True for a path that a workload may write to, as far as its words go: relative, and not upwards.
pub fn is_below(path: &Path) -> bool {
    path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
}

/// Whether processes live, and what the commands have left behind.
#[derive(Debug, Default)]
pub(super) struct Session<'a> {
    /// Where the processes were created that live now.
    pub(super) started: Option<Span>,
    /// Nanoseconds that runs warm up.
    pub(super) warmup_ns: u64,
    pub(super) lathist: bool,
    /// Something was measured that can be dumped.
    pub(super) measured: bool,
    /// Of `stats directory`.
    directory: PathBuf,
    /// Of `usage`; put into words where they are shown.
    usages: Vec<&'a [Spanned<Expression>]>,
}

impl<'a> Resolver<'a, '_> {
    /// Carries out a command that is neither a definition nor a run.
    pub(super) fn other_command(
        &mut self,
        word: &'a Spanned<String>,
        arguments: &'a [Spanned<Expression>],
        attributes: &'a [Attribute],
    ) {
        match word.value.as_str() {
            "usage" => self.session.usages.push(arguments),
            "help" => {
                let usages = self.session.usages.clone();
                let lines: Vec<String> = usages.into_iter().filter_map(|usage| self.scope.text(usage)).collect();
                self.show(lines.join("\n"));
            }
            "vars" => {
                let lines = self.scope.values().into_iter().map(|(name, value)| format!("{name} = {value}"));
                let lines: Vec<String> = lines.collect();
                self.show(lines.join("\n"));
            }
            "version" => self.show(format!("wlrun {}", env!("CARGO_PKG_VERSION"))),
            "list" => self.list(word, arguments),
            "stats" => self.stats(word, arguments),
            "shutdown" => self.shutdown(word, arguments),
            "enable" => self.enable(word, arguments),
            "enable_osprof" => self.session.lathist = true,
            "disable_osprof" => self.session.lathist = false,
            "domultisync" => self.several_hosts(word.span, "domultisync"),
            "warmup" => match arguments {
                [length] => self.warmup(length),
                _ => self.push(Diagnostic::error(word.span, "warmup takes one time", "expected warmup SECONDS")),
            },
            "log" => {
                if let Some(text) = self.scope.text(arguments) {
                    let path = format!("{}.csv", self.name).into();
                    self.steps.push(Step::Log { path, text });
                }
            }
            // The CPU columns that it is about are not shown.
            "nousestats" => {}
            "debug" => self.no_effect(word, "wlrun says what a user must know; -q leaves out progress"),
            "fscheck" => self.no_effect(word, "filebench's does nothing either"),
            "fsflush" => {
                let why = "the script that it runs is not part of filebench; --remove and a new tree, or a line of `system`, \
                           leave nothing in the page cache";
                self.no_effect(word, why);
            }
            other => self.push(Diagnostic::not_supported(word.span, format!("the command '{other}'"))),
        }
        let takes_attributes = ["enable", "domultisync", "fscheck", "fsflush"].contains(&word.value.as_str());
        if let (Some(attribute), false) = (attributes.first(), takes_attributes) {
            let message = format!("{} has no attributes", word.value);
            self.push(Diagnostic::error(attribute.name.span, message, "not expected here"));
        }
    }

    fn show(&mut self, text: String) {
        if !text.is_empty() {
            self.steps.push(Step::Echo(text));
        }
    }

    fn no_effect(&mut self, word: &Spanned<String>, why: &str) {
        let message = format!("'{}' has no effect", word.value);
        self.push(Diagnostic::warning(word.span, message, "no effect").help(why));
    }

    fn several_hosts(&mut self, span: Span, what: &str) {
        let diagnostic = Diagnostic::not_supported(span, format!("{what}, a measurement on several hosts,"));
        self.push(
            diagnostic.help("start one wlrun on each host at the same time, and compare the files of their --json"),
        );
    }

    /// What a command is told to do with; its place for a message where that is no word.
    fn object(word: &Spanned<String>, arguments: &'a [Spanned<Expression>]) -> Result<(&'a str, Span), Span> {
        match arguments.first() {
            Some(Spanned { value: Expression::Literal(Value::Text(what)), span }) => Ok((what, *span)),
            Some(other) => Err(other.span),
            None => Err(word.span),
        }
    }

    fn unknown_object(&mut self, word: &Spanned<String>, found: Result<(&str, Span), Span>, known: &[&'static str]) {
        let expected = format!("expected {} {}", word.value, known.join(", "));
        let diagnostic = match found {
            Ok((what, span)) => {
                let message = format!("'{} {what}' is no command", word.value);
                Diagnostic::error(span, message, expected).near(what, known.iter().copied())
            }
            Err(span) => Diagnostic::error(span, format!("{} what?", word.value), expected),
        };
        self.push(diagnostic);
    }

    /// `create WHAT`.
    pub(super) fn create_command(&mut self, word: &'a Spanned<String>, arguments: &'a [Spanned<Expression>]) {
        match Self::object(word, arguments) {
            Ok((what, _)) if FILES.contains(&what) => self.create_files(word.span),
            Ok((what, _)) if PROCESSES.contains(&what) => self.create_processes(word.span),
            found => self.unknown_object(word, found, &["files", "processes"]),
        }
    }

    /// Makes the file sets that are missing; with processes about, they would not know them.
    fn create_files(&mut self, span: Span) {
        match self.session.started {
            Some(started) if self.has_unmade_files() => {
                let diagnostic = Diagnostic::error(span, "files are made before the processes", "processes live here");
                self.push(diagnostic.also(started, "they were created here").help("move create files up"));
            }
            Some(_) => {}
            None => self.create(),
        }
    }

    fn create_processes(&mut self, span: Span) {
        if let Some(first) = self.session.started {
            let diagnostic = Diagnostic::error(span, "the processes live already", "created here again");
            return self.push(diagnostic.also(first, "first created here").help("write shutdown processes before it"));
        }
        self.next_run();
        self.create();
        let run = self.run_plan(None, None);
        self.session.started = Some(span);
        self.steps.push(Step::Start(RunPlan { length_ns: None, warmup_ns: 0, ..run }));
    }

    /// `run` where processes live: it measures these, and they end with it.
    pub(super) fn run_session(&mut self, length_ns: Option<u64>, period: Option<Period>) {
        self.session.started = None;
        self.session.measured = true;
        let warmup_ns = self.warmup_ns();
        let lathist = self.session.lathist;
        self.steps.push(Step::Measure(Measure { length_ns, warmup_ns, period, lathist }));
    }

    /// How long a run warms up.
    pub(super) fn warmup_ns(&self) -> u64 {
        self.options.warmup_ns.unwrap_or(self.session.warmup_ns)
    }

    fn warmup(&mut self, length: &Spanned<Expression>) {
        let Some(nanos) = self.time(length, "a warm-up") else { return };
        match self.session.started {
            Some(_) => self.steps.push(Step::Warmup(nanos)),
            None => self.session.warmup_ns = nanos,
        }
    }

    /// `sleep TIME`.
    pub(super) fn sleep(&mut self, length: &Spanned<Expression>) {
        let Some(nanos) = self.time(length, "a sleep") else { return };
        match (nanos, self.session.started) {
            (1.., _) => self.steps.push(Step::Sleep(nanos)),
            (0, Some(_)) => {
                // Nobody lives behind it.
                self.session.started = None;
                self.session.measured = true;
                self.steps.extend([Step::UntilDone, Step::Stop]);
            }
            (0, None) => {
                let diagnostic =
                    Diagnostic::error(length.span, "a sleep of 0 would never end", "no processes live here");
                self.push(diagnostic.help("after create processes it lasts until these have ended by themselves"));
            }
        }
    }

    /// `psrun PERIOD LENGTH`.
    pub(super) fn psrun(&mut self, period: Option<&'a Spanned<Expression>>, length: Option<&'a Spanned<Expression>>) {
        let Some(written) = period else {
            return self.run(length, Some(Period { length_ns: DEFAULT_PERIOD_NS, cumulative: true }));
        };
        let Some(value) = self.scope.evaluate(written) else { return };
        let (value, cumulative) = match value {
            Value::Int(n) => (Value::Int(n.saturating_abs()), n > 0),
            Value::Real(x) => (Value::Real(x.abs()), x > 0.0),
            other => (other, true),
        };
        match value.as_nanos().filter(|nanos| *nanos > 0) {
            Some(length_ns) => self.run(length, Some(Period { length_ns, cumulative })),
            None => self.push(Diagnostic::error(written.span, "the period of psrun is a time", "expected seconds")),
        }
    }

    /// `eventgen rate=N`.
    pub(super) fn eventgen(&mut self, word: &'a Spanned<String>, attributes: &'a [Attribute]) {
        self.events = Some((word.span, attributes));
        if self.session.started.is_some()
            && let Some(rate) = self.rate()
        {
            self.steps.push(Step::Rate(rate));
        }
    }

    /// Events per second; none where the workload sets no rate.
    pub(super) fn rate(&mut self) -> Option<u64> {
        let (span, written) = self.events?;
        Some(self.attributes(&entity::EVENTGEN, span, written).number("rate"))
    }

    fn enable(&mut self, word: &Spanned<String>, arguments: &'a [Spanned<Expression>]) {
        match Self::object(word, arguments) {
            Ok(("lathist" | "osprof", _)) => self.session.lathist = true,
            Ok(("multi", span)) => self.several_hosts(span, "enable multi"),
            found => self.unknown_object(word, found, &["lathist", "multi"]),
        }
    }

    fn shutdown(&mut self, word: &Spanned<String>, arguments: &'a [Spanned<Expression>]) {
        match Self::object(word, arguments) {
            Ok((what, _)) if PROCESSES.contains(&what) => match self.session.started.take() {
                Some(_) => {
                    self.session.measured = true;
                    self.steps.push(Step::Stop);
                }
                None => {
                    let shutdown = Spanned::new("shutdown processes".to_owned(), word.span);
                    self.no_effect(&shutdown, "no processes live here");
                }
            },
            Ok((what, span)) if FILES.contains(&what) => {
                if let Some(started) = self.session.started {
                    let diagnostic = Diagnostic::error(span, "processes live that use the files", "files go last");
                    let diagnostic = diagnostic.also(started, "they were created here");
                    return self.push(diagnostic.help("write shutdown processes before it"));
                }
                self.forget_files();
                self.steps.push(Step::Remove);
            }
            found => self.unknown_object(word, found, &["processes", "files"]),
        }
    }

    fn stats(&mut self, word: &Spanned<String>, arguments: &'a [Spanned<Expression>]) {
        let found = Self::object(word, arguments);
        let Ok((what, span)) = found else { return self.unknown_object(word, found, &STATS) };
        let rest = &arguments[1..];
        match what {
            "clear" if self.session.started.is_some() => self.steps.push(Step::Clear),
            "clear" => {
                let clear = Spanned::new("stats clear".to_owned(), span);
                self.no_effect(&clear, "no processes live here: each run counts from its own start");
            }
            "snap" if self.session.started.is_some() => {
                self.session.measured = true;
                self.steps.push(Step::Snap);
            }
            "snap" => {
                let diagnostic = Diagnostic::error(span, "there is nothing to measure", "no processes live here");
                self.push(diagnostic.help("write create processes before it; a run is in the report by itself"));
            }
            "command" => {
                if let Some(text) = self.given(what, span, rest) {
                    self.steps.push(Step::Background(text));
                }
            }
            "directory" => {
                if let Some(path) = self.given(what, span, rest) {
                    let path = self.below(&path, rest[0].span);
                    self.session.directory.clone_from(&path);
                    self.steps.push(Step::Directory(path));
                }
            }
            "dump" | "multidump" | "xmldump" => {
                let Some(text) = self.given(what, span, rest) else { return };
                if !self.session.measured {
                    let message = format!("there is nothing yet for 'stats {what}' to write");
                    let diagnostic = Diagnostic::error(span, message, "no run and no stats snap stands before it");
                    return self.push(diagnostic);
                }
                let path = self.below(&text, rest[0].span);
                let path = self.session.directory.join(path);
                self.steps.push(Step::Dump { format: what.to_owned(), path });
            }
            _ => self.unknown_object(word, found, &STATS),
        }
    }

    /// The text that `stats WHAT` is given.
    fn given(&mut self, what: &str, span: Span, rest: &'a [Spanned<Expression>]) -> Option<String> {
        if rest.is_empty() {
            self.push(Diagnostic::error(span, format!("'stats {what}' needs a text"), "expected \"TEXT\" after this"));
            return None;
        }
        self.scope.text(rest).filter(|text| {
            if text.is_empty() {
                let message = format!("'stats {what}' needs a text that is not empty");
                self.scope.diagnostics.push(Diagnostic::error(rest[0].span, message, "empty"));
            }
            !text.is_empty()
        })
    }

    /// A path that a workload writes to. One that leads out of the working directory is no mistake in the text, but
    /// will be refused: whoever runs it decides where files go.
    fn below(&mut self, text: &str, span: Span) -> PathBuf {
        let path = Path::new(text);
        if !is_below(path) {
            let message = format!("'{text}' leads out of the working directory, and a run refuses that");
            let diagnostic = Diagnostic::warning(span, message, "expected a relative path without ..");
            self.push(diagnostic.help("to write a report elsewhere, give --out FORMAT=FILE on the command line"));
        }
        path.components().filter(|c| *c != Component::CurDir).collect()
    }

    fn list(&mut self, word: &Spanned<String>, arguments: &'a [Spanned<Expression>]) {
        match (arguments.is_empty(), Self::object(word, arguments)) {
            (true, _) | (_, Ok(("fileset" | "filesets", _))) => {
                let table = self.list_filesets();
                self.show(table);
            }
            (_, Ok(("flowop" | "flowops", _))) => {
                let table = self.list_flowops();
                self.show(table);
            }
            (_, found) => self.unknown_object(word, found, &["fileset", "flowop"]),
        }
    }

    fn list_filesets(&self) -> String {
        let row =
            |name: &str, cells: [&str; 3]| format!("{name:>24} {:>14} {:>14} {:>14}", cells[0], cells[1], cells[2]);
        let mut table = row("File or Fileset name", ["file size", "dir width", "entries"]);
        for (name, spec) in self.filesets_made() {
            // What is not made takes its values when it is.
            let line = spec.map_or_else(
                || row(name, ["-", "-", "0"]),
                |spec| {
                    let number = |draw: crate::fileset::Draw| match draw {
                        crate::fileset::Draw::Fixed(n) | crate::fileset::Draw::Gamma { mean: n, .. } => format!("{n}"),
                        crate::fileset::Draw::Random(_) => "random".to_owned(),
                    };
                    row(name, [&number(spec.size), &number(spec.width), &spec.entries.to_string()])
                },
            );
            let _ = write!(table, "\n{line}");
        }
        table
    }

    fn list_flowops(&mut self) -> String {
        let name_of = |resolver: &mut Self, attributes: &[Attribute]| {
            let name = attributes.iter().rev().find(|attribute| attribute.name.value == "name");
            let value = name.and_then(|name| name.value.as_ref());
            value.and_then(|value| resolver.scope.text(std::slice::from_ref(value))).unwrap_or_default()
        };
        let mut rows = vec![["Flowop name", "type", "process", "thread"].map(str::to_owned)];
        for (process, block) in self.process_blocks() {
            for item in &block.items {
                let Item::Thread { attributes, block } = &item.value else { continue };
                let thread = name_of(self, attributes);
                for item in &block.items {
                    if let Item::Flowop { kind, attributes } = &item.value {
                        rows.push([name_of(self, attributes), kind.value.clone(), process.clone(), thread.clone()]);
                    }
                }
            }
        }
        let lines = rows
            .iter()
            .map(|[name, kind, process, thread]| format!("{name:>24} {kind:>16} {process:>16} {thread:>16}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// `define posset`: a random variable that draws from offsets which are drawn once.
    pub(super) fn define_posset(&mut self, span: Span, written: &'a [Attribute]) {
        let Some(name) = self.name_of(&entity::POSSET, span, written) else { return };
        if self.possets.contains_key(&name.value) {
            let message = format!("the position set '{}' is defined twice", name.value);
            return self.push(Diagnostic::error(name.span, message, "defined here again"));
        }
        // Where the rest is wrong, its uses are no further mistakes.
        self.possets.insert(name.value.clone(), VariableId(0));
        let read = self.attributes(&entity::POSSET, span, written);
        if let (Some(kind), Some(place)) = (read.text("type"), read.span("type"))
            && kind != "rnd"
        {
            let diagnostic = match kind {
                "collection" => Diagnostic::not_supported(place, "a position set of the type 'collection'"),
                other => Diagnostic::error(place, format!("unknown type of position set '{other}'"), "expected rnd"),
            };
            return self.push(diagnostic);
        }
        let (entries, max) = (read.number("entries"), read.number("max"));
        let key = random::positions_key(self.options.seed, &name.value, read.number("seed"));
        let parameters = [("entries", entries as f64), ("last", max as f64), ("key", key)];
        let spec = random::Spec::new("positions", &parameters);
        match spec.build() {
            Ok(_) => {
                let id = self.scope.add_random(spec);
                self.possets.insert(name.value, id);
            }
            // An attribute that could not be read is reported already.
            Err(_) if self.scope.diagnostics.has_errors() => {}
            Err(why) => self.push(Diagnostic::error(span, why, "in this position set")),
        }
    }

    /// The position set that a flowop names, as what it draws from.
    pub(super) fn bind_posset(&mut self, def: &AttributeDef, value: &mut Spanned<Typed>) {
        let (Kind::Posset, Typed::Text(name)) = (def.kind, &value.value) else { return };
        match self.possets.get(name) {
            Some(id) => value.value = Typed::Random(*id),
            None => {
                let message = format!("no position set is called '{name}'");
                let known: Vec<String> = self.possets.keys().cloned().collect();
                let diagnostic = Diagnostic::error(value.span, message, "not defined");
                self.push(diagnostic.near(name, known.iter().map(String::as_str)));
            }
        }
    }

    /// A position set is for random places; elsewhere it would be a word without a meaning.
    pub(super) fn check_posset(&mut self, attributes: &Attributes) {
        if let (Some(span), false) = (attributes.span("possetname"), attributes.flag("random")) {
            let message = "'possetname' has no effect without random";
            self.push(Diagnostic::warning(span, message, "no effect"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax;
    use std::collections::BTreeSet;

    #[test]
    fn each_command_of_the_grammar_is_in_the_table_and_no_other() {
        let first = |def: &CommandDef| def.form.split(' ').next().unwrap().to_owned();
        let described: BTreeSet<String> = COMMANDS.iter().map(first).collect();
        assert_eq!(described, syntax::COMMANDS.iter().map(|word| (*word).to_owned()).collect());
        assert!(COMMANDS.iter().all(|def| !def.summary.is_empty()));
    }
}
