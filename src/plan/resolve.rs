//! [`Ast`] to [`Plan`]: the workload is executed as far as that touches nothing. Variables take their values in the
//! order of the text; file sets are resolved where they are created, processes where they run, so that a variable may be
//! set after the definition that mentions it, as in filebench.

use super::composite::{Composite, Expanded};
use super::entity::{self, Entity};
use super::scope::Scope;
use super::{Dialect, FlowopPlan, Options, Plan, ProcessPlan, QuitMode, RunPlan, Step, ThreadPlan, Workload};
use crate::attribute::{self, AttributeDef, Attributes, Fallback, Kind, Quantity, Typed, Value};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::fileset::{self, Draw};
use crate::flowop::{self, Effect, FlowopClass, FlowopDef};
use crate::random::stream::Seed;
use crate::source::{SourceFile, Span, Spanned};
use crate::syntax::{Ast, Attribute, Block, Expression, Item, Statement};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Length of a run that says none, in the quit mode `timeout`: filebench's.
const DEFAULT_LENGTH_NS: u64 = 60_000_000_000;
/// Period of a `psrun` that says none.
const DEFAULT_PERIOD_NS: u64 = 10_000_000_000;

/// Resolves a workload.
///
/// None where it has mistakes; each is in `diagnostics` then.
pub fn plan(file: &SourceFile, ast: &Ast, options: &Options, diagnostics: &mut Diagnostics) -> Option<Plan> {
    let mut overrides = BTreeMap::new();
    if let Some(dir) = &options.dir {
        overrides.insert("dir".to_owned(), Value::Text(dir.display().to_string()));
    }
    overrides.extend(options.set.iter().cloned());
    let garbled = diagnostics.has_errors();
    let scope = Scope::new(diagnostics, overrides, options.check);
    let (dialect, sign) = dialect(ast);
    let mut resolver = Resolver {
        scope,
        options,
        dialect,
        sign,
        filesets: Vec::new(),
        specs: Vec::new(),
        processes: Vec::new(),
        nameless: false,
        composites: BTreeMap::new(),
        refused: BTreeSet::new(),
        quit: QuitMode::Timeout,
        events: None,
        steps: Vec::new(),
        ran: false,
        garbled,
    };
    for statement in &ast.statements {
        if !resolver.statement(&statement.value, statement.span) {
            break;
        }
    }
    resolver.end(file);
    let Resolver { scope, specs, steps, .. } = resolver;
    let variables = scope.variables;
    if diagnostics.has_errors() {
        return None;
    }
    Some(Plan {
        workload: Workload { name: workload_name(&file.name), hash: hash(&file.text) },
        dialect,
        seed: options.seed,
        dir: options.dir.clone(),
        variables,
        filesets: specs,
        steps,
    })
}

/// `fileserver` of `<fileserver>` and of `/x/fileserver.wl`.
fn workload_name(file: &str) -> String {
    let name = file.trim_start_matches('<').trim_end_matches('>');
    Path::new(name).file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// FNV-1a of the text, to tell two records of the same workload.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    format!("fnv1a64:{hash:016x}")
}

/// The dialect, and what shows it: commands and attributes that only filebench 1.4 has.
pub(super) fn dialect(ast: &Ast) -> (Dialect, Option<(Span, &'static str)>) {
    let mut sign = None;
    for statement in &ast.statements {
        match &statement.value {
            Statement::Command { word, .. } if word.value == "usage" => sign = sign.or(Some((word.span, "usage"))),
            Statement::Define { what, attributes, .. } => {
                if what.value == "randvar" {
                    sign = sign.or(Some((what.span, "define randvar")));
                }
                for attribute in attributes {
                    for word in ["cached", "filesizegamma"] {
                        if attribute.name.value == word {
                            sign = sign.or(Some((attribute.name.span, word)));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    (if sign.is_some() { Dialect::Filebench14 } else { Dialect::Current }, sign)
}

struct FilesetDef<'a> {
    name: String,
    name_span: Span,
    entity: &'static Entity,
    attributes: &'a [Attribute],
    /// Place among the specs once it is created.
    spec: Option<u32>,
}

struct ProcessDef<'a> {
    name: String,
    span: Span,
    attributes: &'a [Attribute],
    block: &'a Block,
}

pub(super) struct Resolver<'a, 'd> {
    pub(super) scope: Scope<'d>,
    options: &'a Options,
    dialect: Dialect,
    /// What showed the dialect.
    sign: Option<(Span, &'static str)>,
    filesets: Vec<FilesetDef<'a>>,
    specs: Vec<fileset::Spec>,
    processes: Vec<ProcessDef<'a>>,
    /// A file set's name could not be read: an unknown name may be that one.
    nameless: bool,
    /// By name.
    pub(super) composites: BTreeMap<String, Composite<'a>>,
    /// Names of flowops that were refused: a target that names one is no second mistake.
    refused: BTreeSet<String>,
    quit: QuitMode,
    events: Option<&'a [Attribute]>,
    steps: Vec<Step>,
    ran: bool,
    /// The text has parts that could not be read.
    garbled: bool,
}

impl<'a> Resolver<'a, '_> {
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.scope.diagnostics.push(diagnostic);
    }

    /// Says that a constant size is not taken as one, and why.
    fn note_dialect(&mut self, size: Span) {
        let Some((span, word)) = self.sign else { return };
        let message = "the constant size is the mean of a gamma distribution, as in filebench 1.4";
        let diagnostic = Diagnostic::warning(size, message, "files of many sizes, this one on average")
            .also(span, format!("'{word}' shows a workload of filebench 1.4"));
        self.push(diagnostic.help("write filesizegamma=0 at the fileset for files that are all of its size"));
    }

    /// Carries one statement out; false where the workload ends there.
    fn statement(&mut self, statement: &'a Statement, span: Span) -> bool {
        match statement {
            Statement::Set { variable, field: Some(field), value } => self.scope.set_field(variable, field, value),
            Statement::Set { variable, field: None, value } => match self.scope.evaluate(value) {
                Some(value) => self.scope.set(&variable.value, value),
                None => self.scope.set_unknown(&variable.value),
            },
            Statement::SetMode(words) => self.set_mode(words, span),
            Statement::Define { what, attributes, block } => self.define(what, attributes, block.as_ref()),
            Statement::Run(length) => self.run(length.as_ref(), None),
            Statement::Command { word, arguments, attributes } => return self.command(word, arguments, attributes),
        }
        true
    }

    fn set_mode(&mut self, words: &[Spanned<String>], span: Span) {
        match words {
            [quit, mode] if quit.value == "quit" => match QuitMode::ALL.iter().find(|(name, _)| *name == mode.value) {
                Some((_, mode)) => self.quit = *mode,
                None => {
                    let diagnostic = Diagnostic::error(
                        mode.span,
                        format!("unknown quit mode '{}'", mode.value),
                        "expected timeout, firstdone or alldone",
                    );
                    self.push(diagnostic.near(&mode.value, QuitMode::ALL.iter().map(|(name, _)| *name)));
                }
            },
            [word] if word.value == "nousestats" => {
                self.push(Diagnostic::not_supported(word.span, "the mode 'nousestats'"));
            }
            _ => {
                let place = words.first().map_or(span, |word| word.span);
                self.push(Diagnostic::error(
                    place,
                    "unknown mode",
                    "expected quit timeout, quit firstdone or quit alldone",
                ));
            }
        }
    }

    fn command(
        &mut self,
        word: &'a Spanned<String>,
        arguments: &'a [Spanned<Expression>],
        attributes: &'a [Attribute],
    ) -> bool {
        match word.value.as_str() {
            "echo" => {
                if let Some(text) = self.scope.text(arguments) {
                    self.steps.push(Step::Echo(text));
                }
            }
            "system" => {
                if let Some(text) = self.scope.text(arguments) {
                    self.steps.push(Step::System(text));
                }
            }
            "sleep" => match arguments {
                [length] => {
                    if let Some(nanos) = self.time(length, "a sleep") {
                        self.steps.push(Step::Sleep(nanos));
                    }
                }
                _ => self.push(Diagnostic::error(word.span, "sleep takes one time", "expected sleep SECONDS")),
            },
            // Help of filebench 1.4's prompt; a file that is run shows none of it.
            "usage" => {}
            "create" => match arguments {
                [Spanned { value: Expression::Literal(Value::Text(what)), .. }]
                    if ["file", "files", "fileset", "filesets"].contains(&what.as_str()) =>
                {
                    self.create();
                }
                [Spanned { value: Expression::Literal(Value::Text(what)), span }]
                    if ["process", "processes"].contains(&what.as_str()) =>
                {
                    self.push(Diagnostic::not_supported(*span, "'create processes'"));
                }
                _ => {
                    let place = arguments.first().map_or(word.span, |a| a.span);
                    self.push(Diagnostic::error(place, "create what?", "expected create files"));
                }
            },
            "psrun" => match arguments {
                [] => self.run(None, Some(DEFAULT_PERIOD_NS)),
                [period] => self.psrun(period, None),
                [period, length] => self.psrun(period, Some(length)),
                [_, _, extra, ..] => {
                    self.push(Diagnostic::error(extra.span, "psrun has two numbers", "expected psrun PERIOD LENGTH"));
                }
            },
            "eventgen" => self.events = Some(attributes),
            "quit" | "exit" => return false,
            other => self.push(Diagnostic::not_supported(word.span, format!("the command '{other}'"))),
        }
        true
    }

    fn psrun(&mut self, period: &Spanned<Expression>, length: Option<&Spanned<Expression>>) {
        let Some(value) = self.scope.evaluate(period) else { return };
        // filebench's negative period resets its counters after each block; an interval here always has its own.
        let nanos = match value {
            Value::Int(n) => Value::Int(n.saturating_abs()).as_nanos(),
            other => other.as_nanos(),
        };
        match nanos.filter(|nanos| *nanos > 0) {
            Some(nanos) => self.run(length, Some(nanos)),
            None => self.push(Diagnostic::error(period.span, "the period of psrun is a time", "expected seconds")),
        }
    }

    fn define(&mut self, what: &'a Spanned<String>, attributes: &'a [Attribute], block: Option<&'a Block>) {
        let word = what.value.as_str();
        for entity in [&entity::FILE, &entity::FILESET] {
            if entity.is_called(word) {
                return self.define_fileset(entity, what.span, attributes);
            }
        }
        if entity::PROCESS.is_called(word) {
            let Some(name) = self.name_of(&entity::PROCESS, what.span, attributes) else { return };
            let Some(block) = block else {
                return self.push(Diagnostic::error(what.span, "a process has no threads", "expected { thread ... }"));
            };
            return self.processes.push(ProcessDef { name: name.value, span: what.span, attributes, block });
        }
        match word {
            "randvar" => self.define_randvar(what.span, attributes),
            "flowop" => self.define_composite(what.span, attributes, block),
            "posset" => self.push(Diagnostic::not_supported(what.span, "a position set")),
            other => {
                let known = ["file", "fileset", "process", "randvar", "flowop"];
                let diagnostic = Diagnostic::error(
                    what.span,
                    format!("'{other}' cannot be defined"),
                    format!("expected {}", known.join(", ")),
                );
                self.push(diagnostic.near(other, known));
            }
        }
    }

    fn define_composite(&mut self, span: Span, attributes: &'a [Attribute], block: Option<&'a Block>) {
        let Some(attribute) = attributes.iter().find(|a| a.name.value == "name") else {
            return self.push(Diagnostic::error(span, "a composite flowop needs a name", "expected name=NAME"));
        };
        let Some(block) = block else {
            return self.push(Diagnostic::error(span, "a composite flowop has no flowops", "expected { flowop ... }"));
        };
        let Some(typed) = self.scope.attribute(&flowop::attributes::COMMON[0], attribute) else { return };
        let Typed::Text(name) = typed.value else { return };
        if flowop::find(&name).is_some() {
            let message = format!("'{name}' is a flowop of its own, which a composite cannot replace");
            return self.push(Diagnostic::error(typed.span, message, "the name of a flowop"));
        }
        if self.composites.contains_key(&name) {
            let message = format!("the composite flowop '{name}' is defined twice");
            return self.push(Diagnostic::error(typed.span, message, "defined here again"));
        }
        self.composites.insert(name, Composite { attributes, block });
    }

    fn define_randvar(&mut self, span: Span, attributes: &[Attribute]) {
        let name = attributes.iter().find(|a| a.name.value == "name");
        let Some(Attribute { value: Some(Spanned { value: Expression::Variable(name), .. }), .. }) = name else {
            let place = name.map_or(span, |a| a.name.span);
            return self.push(Diagnostic::error(place, "a random variable needs a name", "expected name=$variable"));
        };
        match self.scope.randvar(attributes, span) {
            Some(value) => self.scope.set(name, value),
            None => self.scope.set_unknown(name),
        }
    }

    /// The name of an entity, which holds from its definition on.
    fn name_of(&mut self, entity: &Entity, span: Span, attributes: &[Attribute]) -> Option<Spanned<String>> {
        let Some(attribute) = attributes.iter().rev().find(|a| a.name.value == "name") else {
            self.push(Diagnostic::error(span, format!("a {} needs a name", entity.name), "expected name=NAME"));
            return None;
        };
        let def = attribute::find(entity.attributes, "name")?;
        let typed = self.scope.attribute(def, attribute)?;
        match typed.value {
            Typed::Text(name) => Some(Spanned::new(name, typed.span)),
            _ => None,
        }
    }

    fn define_fileset(&mut self, entity: &'static Entity, span: Span, attributes: &'a [Attribute]) {
        let Some(name) = self.name_of(entity, span, attributes) else {
            self.nameless = true;
            return;
        };
        if name.value.contains('/') || name.value == "." || name.value == ".." || name.value.contains('\0') {
            let diagnostic = Diagnostic::error(
                name.span,
                format!("'{}' cannot be a {} name", name.value, entity.name),
                "the name becomes a directory",
            );
            return self.push(diagnostic.help("the directory above it is its path"));
        }
        if let Some(first) = self.filesets.iter().find(|set| set.name == name.value) {
            let diagnostic = Diagnostic::error(
                name.span,
                format!("the {} '{}' is defined twice", entity.name, name.value),
                "defined here again",
            );
            let first = first.name_span;
            return self.push(diagnostic.also(first, "first defined here"));
        }
        self.filesets.push(FilesetDef { name: name.value, name_span: name.span, entity, attributes, spec: None });
    }

    /// Reads attributes by their declarations. The result has what could be read; mistakes are reported.
    fn attributes(&mut self, entity: &Entity, span: Span, written: &[Attribute]) -> Attributes {
        let mut attributes = Attributes::default();
        for attribute in written {
            let name = attribute.name.value.as_str();
            if let Some(def) = attribute::find(entity.attributes, name) {
                if let Some(value) = self.scope.attribute(def, attribute) {
                    attributes.insert(def.name, value);
                } else {
                    // Reported; its absence must not be reported as well.
                    attributes.insert(def.name, Spanned::new(Typed::Flag(false), attribute.name.span));
                }
            } else if let Some((_, why)) = entity.idle.iter().find(|(idle, _)| *idle == name) {
                if let Some(value) = &attribute.value {
                    self.scope.evaluate(value);
                }
                let message = format!("'{name}' has no effect: {why}");
                self.push(Diagnostic::warning(attribute.name.span, message, "no effect"));
            } else if entity.planned.contains(&name) {
                self.push(Diagnostic::not_supported(
                    attribute.name.span,
                    format!("the attribute '{name}' of a {}", entity.name),
                ));
            } else {
                let known =
                    entity.attributes.iter().flat_map(|def| std::iter::once(&def.name).chain(def.aliases)).copied();
                self.unknown_attribute(&attribute.name, &format!("a {}", entity.name), known);
            }
        }
        self.fill(&mut attributes, entity.attributes.iter(), &format!("a {}", entity.name), span);
        attributes
    }

    pub(super) fn unknown_attribute<'n>(
        &mut self,
        name: &Spanned<String>,
        of: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) {
        let diagnostic = Diagnostic::error(
            name.span,
            format!("unknown attribute '{}' of {of}", name.value),
            format!("not an attribute of {of}"),
        );
        self.push(diagnostic.near(&name.value, known));
    }

    pub(super) fn fill<'n>(
        &mut self,
        attributes: &mut Attributes,
        defs: impl Iterator<Item = &'n AttributeDef>,
        of: &str,
        span: Span,
    ) {
        for def in defs {
            if def.default == Fallback::Required && attributes.get(def.name).is_none() {
                let message = format!("{of} needs the attribute '{}'", def.name);
                self.push(Diagnostic::error(span, message, format!("{}= is missing: {}", def.name, def.help)));
            }
            attributes.fill(def, span);
        }
    }

    /// Creates the file sets that are defined and not yet created.
    fn create(&mut self) {
        let mut made = Vec::new();
        for at in 0..self.filesets.len() {
            if self.filesets[at].spec.is_some() {
                continue;
            }
            let FilesetDef { entity, attributes, name_span, .. } = self.filesets[at];
            let spec = self.fileset(at, entity, attributes, name_span);
            self.specs.push(spec);
            let index = self.specs.len() as u32 - 1;
            self.filesets[at].spec = Some(index);
            made.push(index);
        }
        if !made.is_empty() {
            self.steps.push(Step::Create(made));
        }
    }

    fn fileset(&mut self, at: usize, entity: &'static Entity, written: &[Attribute], span: Span) -> fileset::Spec {
        let attributes = self.attributes(entity, span, written);
        let name = self.filesets[at].name.clone();
        let single = std::ptr::eq(entity, &entity::FILE);
        let path = attributes.text("path").map(|path| self.path(path)).unwrap_or_default();
        let draw = |quantity: Quantity| match quantity {
            Quantity::Fixed(n) => Draw::Fixed(n as f64),
            Quantity::Random(id) => Draw::Random(id),
        };
        let gamma = match attributes.quantity("filesizegamma") {
            Some(Quantity::Fixed(g)) => g as f64 / 1000.0,
            _ if self.dialect == Dialect::Filebench14 && !single => 1.5,
            _ => 0.0,
        };
        let constant = matches!(attributes.quantity("size"), Some(Quantity::Fixed(1..)));
        if let (true, true, None, Some(place)) =
            (constant, gamma > 0.0, attributes.get("filesizegamma"), attributes.span("size"))
        {
            self.note_dialect(place);
        }
        let size = match attributes.quantity("size") {
            Some(Quantity::Fixed(n)) if gamma > 0.0 && n > 0 => Draw::Gamma { mean: n as f64, shape: gamma },
            Some(quantity) => draw(quantity),
            None if self.dialect == Dialect::Filebench14 => Draw::Fixed(0.0),
            None => Draw::Fixed(1024.0),
        };
        let entries = if single { 1 } else { self.once(&name, "entries", &attributes).min(4_000_000_000) };
        let leafdirs = self.once(&name, "leafdirs", &attributes).min(1_000_000_000);
        // What could not be read is reported, and may be what seems to be missing.
        let certain = !self.scope.diagnostics.has_errors();
        if entries == 0 && leafdirs == 0 && certain {
            self.push(Diagnostic::warning(
                span,
                format!("the fileset '{name}' has no files and no leaf directories"),
                "entries and leafdirs are 0",
            ));
        }
        let width = attributes.quantity("dirwidth");
        if width.is_none() && !single && entries + leafdirs > 0 && certain {
            let diagnostic = Diagnostic::warning(
                span,
                format!("the fileset '{name}' has no dirwidth"),
                "each file gets a directory of its own",
            );
            self.push(diagnostic);
        }
        fileset::Spec {
            name,
            path,
            entries,
            leafdirs,
            width: if single { Draw::Fixed(10.0) } else { width.map_or(Draw::Fixed(0.0), draw) },
            dir_gamma: if single { 0.0 } else { attributes.number("dirgamma") as f64 / 1000.0 },
            depth: match attributes.get("dirdepthrv") {
                Some(Typed::Random(id)) => Some(Draw::Random(*id)),
                _ => None,
            },
            size,
            prealloc_percent: attributes.number("prealloc"),
            single,
            reuse: attributes.flag("reuse"),
            trusttree: attributes.flag("trusttree"),
            readonly: attributes.flag("readonly"),
            writeonly: attributes.flag("writeonly"),
        }
    }

    /// A number of a file set that is drawn once where it is random.
    fn once(&self, set: &str, attribute: &str, attributes: &Attributes) -> u64 {
        match attributes.quantity(attribute) {
            Some(Quantity::Fixed(n)) => n,
            Some(Quantity::Random(id)) => {
                let seed = Seed::root(self.options.seed).child("fileset").child(set).child(attribute);
                self.scope.variables[id.0 as usize].sampler(seed).map_or(0, |mut sampler| sampler.whole())
            }
            None => 0,
        }
    }

    /// An absolute path without `.` and `..`.
    fn path(&self, written: &str) -> PathBuf {
        let home = self.options.home.as_deref();
        let expanded = match (written.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ if written == "~" => home.map_or_else(|| PathBuf::from(written), Path::to_owned),
            _ => PathBuf::from(written),
        };
        let mut path = PathBuf::new();
        for component in self.options.base.join(expanded).components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir => {
                    path.pop();
                }
                other => path.push(other),
            }
        }
        path
    }

    fn run(&mut self, length: Option<&Spanned<Expression>>, interval_ns: Option<u64>) {
        self.ran = true;
        self.create();
        let mut length_ns = match length {
            Some(written) => self.time(written, "a run"),
            None if self.quit == QuitMode::Timeout => Some(DEFAULT_LENGTH_NS),
            None => None,
        };
        // `run 0` in the other modes is filebench's "until done".
        if length_ns == Some(0) {
            length_ns = (self.quit == QuitMode::Timeout).then_some(DEFAULT_LENGTH_NS);
        }
        let length_ns = self.options.runtime_ns.or(length_ns);
        let events_per_s = self.events.and_then(|written| {
            let span = written.first().map_or_else(Span::default, |a| a.name.span);
            let rate = self.attributes(&entity::EVENTGEN, span, written).number("rate");
            (rate > 0).then_some(rate)
        });
        let mut processes: Vec<ProcessPlan> = (0..self.processes.len()).filter_map(|at| self.process(at)).collect();
        self.bind_instances(&mut processes);
        let none = !processes.is_empty() && processes.iter().all(|process| process.instances == 0);
        // A number that could not be read is reported already.
        if none && !self.scope.diagnostics.has_errors() {
            let span = self.processes[0].span;
            self.push(Diagnostic::error(
                span,
                "no process has an instance, so there is nothing to run",
                "instances is 0",
            ));
        }
        let parameters = self.scope.values();
        self.steps.push(Step::Run(RunPlan {
            length_ns,
            interval_ns,
            quit: self.quit,
            events_per_s,
            parameters,
            processes,
        }));
    }

    fn time(&mut self, written: &Spanned<Expression>, of: &str) -> Option<u64> {
        let value = self.scope.evaluate(written)?;
        match value.as_nanos() {
            Some(nanos) => Some(nanos),
            None => {
                self.push(Diagnostic::error(
                    written.span,
                    format!("the length of {of} is a time, not {value}"),
                    "expected seconds, or a time with its unit",
                ));
                None
            }
        }
    }

    fn process(&mut self, at: usize) -> Option<ProcessPlan> {
        let ProcessDef { ref name, span, attributes, block } = self.processes[at];
        let name = name.clone();
        let read = self.attributes(&entity::PROCESS, span, attributes);
        let mut threads = Vec::new();
        for item in &block.items {
            match &item.value {
                Item::Thread { attributes, block } => threads.extend(self.thread(item.span, attributes, block)),
                Item::Flowop { kind, .. } => {
                    self.push(Diagnostic::error(
                        kind.span,
                        "a flowop outside a thread",
                        "expected within thread ... { }",
                    ));
                }
            }
        }
        if block.items.is_empty() {
            self.push(Diagnostic::error(
                block.span,
                format!("the process '{name}' has no threads"),
                "expected thread ... { }",
            ));
        }
        Some(ProcessPlan {
            name,
            instances: read.number("instances") as u32,
            nice: read.signed("nice") as i32,
            threads,
        })
    }

    fn thread(&mut self, span: Span, written: &[Attribute], block: &'a Block) -> Option<ThreadPlan> {
        // The span of the item covers the whole block; a message points at its word.
        let word = Span::new(span.start, span.start + "thread".len());
        let attributes = self.attributes(&entity::THREAD, word, written);
        let name = attributes.text("name").unwrap_or_default().to_owned();
        let (expanded, program) = self.expand(block);
        let names: Vec<Option<Spanned<String>>> = expanded.iter().map(|flowop| self.flowop_name(flowop)).collect();
        let slot_sets = self.slot_sets(&expanded);
        let mut flowops = Vec::new();
        for (item, name) in expanded.iter().zip(&names) {
            let before = self.scope.enter(&item.locals);
            let flowop = self.flowop(item, &names, &slot_sets);
            self.scope.leave(before);
            if flowop.is_none() {
                self.refused.extend(name.as_ref().map(|name| name.value.clone()));
            }
            flowops.extend(flowop);
        }
        if block.items.is_empty() {
            self.push(Diagnostic::error(
                block.span,
                format!("the thread '{name}' has no flowops"),
                "expected flowop TYPE ...",
            ));
        }
        self.check_memory(&attributes, &flowops);
        let slots = flowops
            .iter()
            .map(|f: &FlowopPlan| f.attributes.number("fd").max(f.attributes.number("srcfd")) as u32 + 1)
            .max()
            .unwrap_or(1);
        Some(ThreadPlan {
            name,
            instances: attributes.number("instances") as u32,
            memsize: attributes.number("memsize"),
            ioprio: match attributes.get("ioprio") {
                Some(Typed::Number(n)) => Some(*n as u8),
                _ => None,
            },
            slots,
            flowops,
            program,
        })
    }

    /// Refuses requests that do not fit the thread's memory. Random sizes show in the run.
    fn check_memory(&mut self, thread: &Attributes, flowops: &[FlowopPlan]) {
        let memsize = thread.number("memsize");
        let Some(span) = thread.span("memsize").filter(|_| memsize > 0) else { return };
        for flowop in flowops {
            let (Some(Typed::Number(iosize)), Some(place)) =
                (flowop.attributes.get("iosize"), flowop.attributes.span("iosize"))
            else {
                continue;
            };
            if *iosize > memsize {
                let message =
                    format!("{}: an iosize of {iosize} does not fit the thread's memsize of {memsize}", flowop.name);
                self.push(
                    Diagnostic::error(place, message, "larger than memsize").also(span, "the memory of each thread"),
                );
            }
        }
    }

    /// A flowop's name as targets refer to it; mistakes are reported with the flowop.
    fn flowop_name(&mut self, item: &Expanded<'_>) -> Option<Spanned<String>> {
        let attribute = item.attributes.iter().rev().find(|a| a.name.value == "name")?;
        let before = self.scope.enter(&item.locals);
        let typed = self.scope.attribute(&flowop::attributes::COMMON[0], attribute);
        self.scope.leave(before);
        match typed? {
            Spanned { value: Typed::Text(name), span } => Some(Spanned::new(format!("{}{name}", item.prefix), span)),
            _ => None,
        }
    }

    /// Which file sets are opened into which slots of a thread: a flowop that names no set works on these.
    fn slot_sets(&mut self, flowops: &[Expanded<'_>]) -> BTreeMap<u64, BTreeSet<u32>> {
        let mut sets: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        for Expanded { attributes, locals, .. } in flowops {
            let before = self.scope.enter(locals);
            let find = |name: &str| {
                flowop::attributes::known(name)
                    .and_then(|def| attributes.iter().rev().find(|a| def.is_called(&a.name.value)).map(|a| (def, a)))
            };
            let set =
                find("filesetname").and_then(|(def, a)| self.scope.attribute(def, a)).and_then(|typed| {
                    match typed.value {
                        Typed::Text(name) => self.find_set(&name),
                        _ => None,
                    }
                });
            let fd = match find("fd").map(|(def, a)| self.scope.attribute(def, a)) {
                Some(Some(Spanned { value: Typed::Number(fd), .. })) => fd,
                _ => 0,
            };
            self.scope.leave(before);
            if let Some(set) = set {
                sets.entry(fd).or_default().insert(set);
            }
        }
        sets
    }

    fn find_set(&self, name: &str) -> Option<u32> {
        self.filesets.iter().find(|set| set.name == name).and_then(|set| set.spec)
    }

    fn flowop(
        &mut self,
        item: &Expanded<'_>,
        names: &[Option<Spanned<String>>],
        slot_sets: &BTreeMap<u64, BTreeSet<u32>>,
    ) -> Option<FlowopPlan> {
        let Expanded { prefix, kind, attributes: written, .. } = item;
        let Some(def) = flowop::find(&kind.value) else {
            self.unknown_flowop(kind);
            return None;
        };
        let of = format!("flowop {}", def.name);
        let mut attributes = Attributes::default();
        let mut target = None;
        for attribute in *written {
            let name = attribute.name.value.as_str();
            let Some(attribute_def) = attribute::find(def.attributes(), name) else {
                self.foreign_attribute(def, attribute);
                continue;
            };
            let Some(mut value) = self.scope.attribute(attribute_def, attribute) else {
                attributes.insert(attribute_def.name, Spanned::new(Typed::Flag(false), attribute.name.span));
                continue;
            };
            if let (Kind::Fileset, Typed::Text(set)) = (attribute_def.kind, &value.value) {
                match self.find_set(set) {
                    Some(index) => value.value = Typed::Fileset(index),
                    None => self.unknown_fileset(set.clone(), value.span),
                }
            }
            if let (Kind::Target, Typed::Text(wanted)) = (attribute_def.kind, &value.value) {
                target = find_target(names, prefix, wanted);
                if target.is_none() {
                    let diagnostic = Diagnostic::error(
                        value.span,
                        format!("no flowop of this thread is called '{wanted}'"),
                        "expected the name of a flowop of the same thread",
                    );
                    self.push(diagnostic.near(wanted, names.iter().flatten().map(|n| n.value.as_str())));
                }
            }
            attributes.insert(attribute_def.name, value);
        }
        self.fill(&mut attributes, def.attributes(), &of, kind.span);
        let name = format!("{prefix}{}", attributes.text("name").unwrap_or_default());
        self.check_access(def, &name, kind.span, &attributes, slot_sets);
        Some(FlowopPlan { name, kind: def.name.to_owned(), target, acts_on: Vec::new(), attributes })
    }

    /// Binds the targets that may be in any thread of any process, which takes all of them to be known.
    fn bind_instances(&mut self, processes: &mut [ProcessPlan]) {
        let mut all: BTreeMap<(String, String), Vec<[u32; 3]>> = BTreeMap::new();
        for (p, process) in processes.iter().enumerate() {
            for (t, thread) in process.threads.iter().enumerate() {
                for (f, flowop) in thread.flowops.iter().enumerate() {
                    let key = (flowop.name.clone(), flowop.kind.clone());
                    all.entry(key).or_default().push([p, t, f].map(|at| at as u32));
                }
            }
        }
        for flowop in processes.iter_mut().flat_map(|process| &mut process.threads).flat_map(|t| &mut t.flowops) {
            for def in flowop.def().attributes() {
                let Kind::Instances(kind) = def.kind else { continue };
                let (Some(wanted), Some(span)) = (flowop.attributes.text(def.name), flowop.attributes.span(def.name))
                else {
                    continue;
                };
                let key = (wanted.to_owned(), kind.to_owned());
                match all.get(&key) {
                    Some(places) => flowop.acts_on.extend(places),
                    // What was refused or could not be read may be it.
                    None if self.garbled || self.refused.contains(wanted) => {}
                    None => {
                        let other = all.keys().find(|(name, _)| name == wanted).map(|(_, kind)| kind);
                        let message = match other {
                            Some(other) => format!("'{wanted}' is a flowop {other}, not a {kind}"),
                            None => format!("no flowop {kind} of any thread is called '{wanted}'"),
                        };
                        let diagnostic = Diagnostic::error(span, message, format!("expected {}", def.kind.expected()));
                        let known = all.keys().filter(|(_, of)| of == kind).map(|(name, _)| name.as_str());
                        self.scope.diagnostics.push(diagnostic.near(wanted, known));
                    }
                }
            }
        }
    }

    fn unknown_flowop(&mut self, kind: &Spanned<String>) {
        if flowop::PLANNED.contains(&kind.value.as_str()) {
            return self.push(Diagnostic::not_supported(kind.span, format!("the flowop '{}'", kind.value)));
        }
        let composites: Vec<String> = self.composites.keys().cloned().collect();
        let built_in = flowop::FLOWOPS.iter().flat_map(|def| std::iter::once(&def.name).chain(def.aliases)).copied();
        let known = built_in.chain(composites.iter().map(String::as_str));
        let diagnostic =
            Diagnostic::error(kind.span, format!("unknown flowop '{}'", kind.value), "not a type of flowop");
        self.push(diagnostic.near(&kind.value, known));
    }

    fn unknown_fileset(&mut self, name: String, span: Span) {
        if self.nameless {
            return;
        }
        let known: Vec<String> = self.filesets.iter().map(|set| set.name.clone()).collect();
        let diagnostic = Diagnostic::error(span, format!("no fileset or file is called '{name}'"), "not defined");
        self.push(diagnostic.near(&name, known.iter().map(String::as_str)));
    }

    /// An attribute that this flowop does not honour: of another flowop, not built, or unknown.
    fn foreign_attribute(&mut self, def: &FlowopDef, attribute: &Attribute) {
        let name = attribute.name.value.as_str();
        if flowop::attributes::PLANNED.contains(&name) {
            return self.push(Diagnostic::not_supported(attribute.name.span, format!("the attribute '{name}'")));
        }
        if flowop::attributes::known(name).is_some() {
            if let Some(value) = &attribute.value {
                self.scope.evaluate(value);
            }
            let message = format!("'{name}' has no effect on {}", def.name);
            return self.push(Diagnostic::warning(attribute.name.span, message, "no effect"));
        }
        let known: Vec<&str> =
            def.attributes().flat_map(|def| std::iter::once(&def.name).chain(def.aliases)).copied().collect();
        self.unknown_attribute(&attribute.name, &format!("flowop {}", def.name), known);
    }

    /// Refuses a flowop that cannot work on a set that is readonly or writeonly.
    fn check_access(
        &mut self,
        def: &FlowopDef,
        name: &str,
        span: Span,
        attributes: &Attributes,
        slot_sets: &BTreeMap<u64, BTreeSet<u32>>,
    ) {
        let of_slot = slot_sets.get(&attributes.number("fd"));
        let sets: Vec<u32> = match attributes.fileset("filesetname") {
            Some(set) => vec![set as u32],
            None => of_slot.into_iter().flatten().copied().collect(),
        };
        for set in sets {
            let spec = &self.specs[set as usize];
            let (word, does) = match (def.effect, def.class) {
                (Effect::Writes, _) if spec.readonly => ("readonly", "writes"),
                (_, FlowopClass::Read) if spec.writeonly && !spec.readonly => ("writeonly", "reads"),
                _ => continue,
            };
            let message = format!("{} {name} {does}, and the fileset '{}' is {word}", def.name, spec.name);
            self.push(Diagnostic::error(span, message, format!("{does} a {word} fileset")));
        }
    }

    fn end(&mut self, file: &SourceFile) {
        // The last thing that is written: a place that can be shown.
        let last = file.text.trim_end().char_indices().last();
        let end = last.map_or_else(Span::default, |(at, c)| Span::new(at, at + c.len_utf8()));
        if !self.ran {
            if self.options.runtime_ns.is_some() {
                self.run(None, None);
            } else if self.garbled {
                // What could not be read may have been the run command.
                return self.run(None, None);
            } else if self.options.check {
                self.push(Diagnostic::warning(end, "there is no run command", "the run needs --runtime SECONDS"));
                // Everything that a run would find wrong is found now.
                self.run(None, None);
            } else {
                let diagnostic = Diagnostic::error(end, "there is no run command", "expected run SECONDS");
                self.push(diagnostic.help("give the length on the command line: --runtime 60"));
            }
        }
        if self.processes.is_empty() && self.ran && !self.garbled {
            let message = "there is no process, so there is nothing to run";
            self.push(if self.options.check {
                Diagnostic::warning(end, message, "expected define process ... { }")
            } else {
                Diagnostic::error(end, message, "expected define process ... { }")
            });
        }
        for (name, _) in &self.options.set {
            if !self.scope.known().contains(name) {
                let known: Vec<String> = self.scope.known().iter().cloned().collect();
                let diagnostic = Diagnostic {
                    labels: Vec::new(),
                    ..Diagnostic::error(end, format!("--set {name}: the workload has no variable ${name}"), "")
                };
                self.push(diagnostic.near(name, known.iter().map(String::as_str)));
            }
        }
    }
}

/// The place of the flowop that `wanted` names for one whose composites are `prefix`: one beside it, else one of that
/// whole name, else the first that ends in it.
fn find_target(names: &[Option<Spanned<String>>], prefix: &str, wanted: &str) -> Option<u32> {
    let find =
        |is: &dyn Fn(&str) -> bool| names.iter().position(|name| name.as_ref().is_some_and(|name| is(&name.value)));
    let beside = format!("{prefix}{wanted}");
    let within = format!(".{wanted}");
    find(&|name| name == beside)
        .or_else(|| find(&|name| name == wanted))
        .or_else(|| find(&|name| name.ends_with(&within)))
        .map(|at| at as u32)
}
