//! [`Ast`] to [`Plan`]: the workload is executed as far as that touches nothing. Variables take their values in the
//! order of the text; file sets are resolved where they are created, processes where they run, so that a variable may be
//! set after the definition that mentions it, as in filebench.

use super::assertion::Claim;
use super::command::Session;
use super::composite::{Composite, Expanded};
use super::entity::{self, Entity};
use super::scope::{Files, Scope};
use super::{Dialect, FlowopPlan, Options, Period, Plan, ProcessPlan, QuitMode, RunPlan, Step, ThreadPlan, Workload};
use crate::attribute::{self, AttributeDef, Attributes, Fallback, Kind, Picked, Quantity, Typed, Value, VariableId};
use crate::diagnostic::{Diagnostic, Diagnostics, nearest_name};
use crate::fileset::{self, Content, Draw};
use crate::flowop::{self, Effect, FlowopClass, FlowopDef};
use crate::random::stream::Seed;
use crate::source::{SourceFile, Sources, Span, Spanned};
use crate::syntax::{self, Ast, Attribute, Block, Expression, Item, Parameter, Statement, Texts};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

/// Length of a run that says none, in the quit mode `timeout`: filebench's.
const DEFAULT_LENGTH_NS: u64 = 60_000_000_000;

/// So much may loops, included texts and composites come to: statements, turns of a loop, flowops and composites; and the
/// flowops of runs, but for the first that stands outside of loops.
const MOST_REPEATED: usize = 100_000;

/// So many errors end the planning: a text like that is no workload, and each may look through all names for a near
/// one.
const MOST_FINDINGS: usize = 200;

/// So many parameters are listed where one is not known.
const FEW_PARAMETERS: usize = 12;

/// Resolves a workload.
///
/// None where it has mistakes; each is in `diagnostics` then.
pub fn plan(texts: &Texts, options: &Options, diagnostics: &mut Diagnostics) -> Option<Plan> {
    let mut overrides = BTreeMap::new();
    if let Some(dir) = &options.dir {
        overrides.insert("dir".to_owned(), Value::Text(dir.display().to_string()));
    }
    overrides.extend(options.set.iter().cloned());
    let garbled = diagnostics.has_errors();
    let scope = Scope::new(diagnostics, overrides, options.check, Files::new(texts.sources(), options.read));
    let signs: Vec<_> = texts.sources().files().iter().zip(texts.trees()).map(|(file, ast)| sign(file, ast)).collect();
    let dialect = if signs.iter().any(Option::is_some) { Dialect::Filebench14 } else { Dialect::Current };
    let mut resolver = Resolver {
        scope,
        options,
        texts,
        signs,
        filesets: Vec::new(),
        by_name: HashMap::new(),
        specs: Vec::new(),
        processes: Vec::new(),
        defined: HashSet::new(),
        nameless: false,
        composites: BTreeMap::new(),
        unfolding: Vec::new(),
        refused: BTreeSet::new(),
        quit: QuitMode::Timeout,
        events: None,
        session: Session::default(),
        possets: BTreeMap::new(),
        name: texts.sources().main().stem(),
        steps: Vec::new(),
        ran: false,
        claims: Vec::new(),
        garbled,
        loops: Vec::new(),
        within: 0,
        repeated: 0,
        planned: 0,
        over: false,
    };
    resolver.scope.partial = !texts.complete();
    resolver.scope.internal.script = texts.sources().main().stem();
    resolver.statements(&texts.main().statements);
    resolver.end();
    let Resolver { scope, specs, steps, .. } = resolver;
    let variables = scope.variables;
    if diagnostics.has_errors() {
        return None;
    }
    Some(Plan {
        workload: Workload::of(texts.sources()),
        dialect,
        seed: options.seed,
        dir: options.dir.clone(),
        variables,
        filesets: specs,
        steps,
    })
}

impl Workload {
    /// Of texts, right or wrong.
    pub fn of(sources: &Sources) -> Self {
        Workload { name: sources.main().stem(), hash: hash(sources) }
    }
}

/// FNV-1a of the texts, to tell two records of the same workload.
fn hash(sources: &Sources) -> String {
    let add = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (at, file) in sources.files().iter().enumerate() {
        // No text has a NUL, so that what moves from one text to the next changes the sum.
        let between = (at > 0).then_some(0);
        hash = between.into_iter().chain(file.text.bytes()).fold(hash, add);
    }
    format!("fnv1a64:{hash:016x}")
}

/// What shows that a text is one of filebench 1.4: commands and attributes that only that has. One that is called `.wl`
/// is none, whatever it holds.
pub(super) fn sign(file: &SourceFile, ast: &Ast) -> Option<(Span, &'static str)> {
    if file.is_wl() {
        return None;
    }
    let mut sign = None;
    syntax::each(&ast.statements, &mut |statement| match &statement.value {
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
    });
    sign
}

struct FilesetDef<'a> {
    name: String,
    name_span: Span,
    entity: &'static Entity,
    attributes: &'a [Attribute],
    /// Place among the specs once it is created.
    spec: Option<u32>,
    /// The variables of the loops around it, as they were.
    loops: BTreeMap<String, Value>,
}

struct ProcessDef<'a> {
    name: String,
    span: Span,
    attributes: &'a [Attribute],
    block: &'a Block,
    /// The variables of the loops around it, as they were.
    loops: BTreeMap<String, Value>,
}

pub(super) struct Resolver<'a, 'd> {
    pub(super) scope: Scope<'d>,
    pub(super) options: &'a Options,
    texts: &'a Texts,
    /// What shows the dialect of each text.
    signs: Vec<Option<(Span, &'static str)>>,
    filesets: Vec<FilesetDef<'a>>,
    /// Places in `filesets`; loops may define very many.
    by_name: HashMap<String, usize>,
    specs: Vec<fileset::Spec>,
    processes: Vec<ProcessDef<'a>>,
    /// The processes by definition and name.
    defined: HashSet<(Span, String)>,
    /// A file set's name could not be read: an unknown name may be that one.
    nameless: bool,
    /// By name.
    pub(super) composites: BTreeMap<String, Composite<'a>>,
    /// The composites that are being taken apart at this moment, the outermost first.
    pub(super) unfolding: Vec<&'a str>,
    /// Names of flowops that were refused: a target that names one is no second mistake.
    pub(super) refused: BTreeSet<String>,
    quit: QuitMode,
    /// The last `eventgen`, whose rate holds for the runs that follow.
    pub(super) events: Option<(Span, &'a [Attribute])>,
    /// What the commands have left behind.
    pub(super) session: Session<'a>,
    /// Position sets by name.
    pub(super) possets: BTreeMap<String, VariableId>,
    /// Of the workload.
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    pub(super) ran: bool,
    /// Asserts whose run is not complete yet.
    pub(super) claims: Vec<Claim>,
    /// The text has parts that could not be read.
    pub(super) garbled: bool,
    /// The variables of the loops that the statement stands in.
    loops: Vec<&'a str>,
    /// Loops and included texts that the statement stands in.
    within: usize,
    /// What was carried out in them.
    repeated: usize,
    /// Runs that were planned.
    planned: usize,
    /// More was repeated than may be, and this was reported.
    over: bool,
}

impl<'a> Resolver<'a, '_> {
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.scope.diagnostics.push(diagnostic);
    }

    /// What shows that the text at this place is one of filebench 1.4.
    fn sign(&self, place: Span) -> Option<(Span, &'static str)> {
        self.signs[self.texts.sources().index(place.start)]
    }

    /// Says that a constant size is not taken as one, and why.
    fn note_dialect(&mut self, size: Span, (span, word): (Span, &'static str)) {
        let message = "the constant size is the mean of a gamma distribution, as in filebench 1.4";
        let diagnostic = Diagnostic::warning(size, message, "files of many sizes, this one on average")
            .also(span, format!("'{word}' shows a workload of filebench 1.4"));
        self.push(diagnostic.help("write filesizegamma=0 at the fileset for files that are all of its size"));
    }

    /// Carries statements out in order; false where the workload ends at one of them.
    fn statements(&mut self, statements: &'a [Spanned<Statement>]) -> bool {
        for statement in statements {
            if !self.count(usize::from(self.within > 0), statement.span) || self.is_full(statement.span) {
                return false;
            }
            if !self.statement(&statement.value, statement.span) {
                return false;
            }
        }
        true
    }

    /// True where so much is wrong, or the values are so large, that nothing more is planned.
    pub(super) fn is_full(&mut self, span: Span) -> bool {
        let full = self.scope.is_full(span) || self.scope.diagnostics.errors() >= MOST_FINDINGS;
        // What is not carried out is not missing.
        self.garbled |= full;
        full
    }

    /// Counts what is carried out more often than it is written; false, and an error, where that is too much.
    pub(super) fn count(&mut self, more: usize, span: Span) -> bool {
        self.repeated = self.repeated.saturating_add(more);
        if self.repeated <= MOST_REPEATED {
            return true;
        }
        // What is not carried out is not missing.
        self.garbled = true;
        if std::mem::replace(&mut self.over, true) {
            return false;
        }
        let word = self.texts.sources().slice(span).split_whitespace().next().map_or(1, str::len);
        let message =
            format!("loops, includes, composites and runs come to more than {MOST_REPEATED} statements and flowops");
        let diagnostic = Diagnostic::error(Span::new(span.start, span.start + word), message, "this one is too many");
        let help =
            "a foreach or a composite flowop within another multiplies it, and each further run counts its flowops";
        self.push(diagnostic.help(help));
        false
    }

    /// What a definition keeps of the loops around it: each time round it is another one.
    fn loop_values(&mut self) -> BTreeMap<String, Value> {
        let value = |name: &&str| self.scope.value(name).map(|value| ((*name).to_owned(), value.clone()));
        let values: BTreeMap<String, Value> = self.loops.iter().filter_map(value).collect();
        self.scope.spend_all(&values);
        values
    }

    fn foreach(
        &mut self,
        variable: &'a Spanned<String>,
        values: &[Spanned<Expression>],
        body: &'a [Spanned<Statement>],
    ) -> bool {
        if self.scope.is_overridden(&variable.value) {
            let name = &variable.value;
            let message = format!("${name} is given a value from outside, and is the variable of a foreach");
            let diagnostic = Diagnostic::error(variable.span, message, "takes its values from this foreach");
            self.push(diagnostic.help(match name.as_str() {
                "dir" => "choose another name for it: --dir is the value of $dir".into(),
                _ => format!("--set, or the parameter of an include, can give no value to ${name}"),
            }));
            return true;
        }
        self.within += 1;
        self.loops.push(&variable.value);
        let mut goes_on = true;
        let mut before = None;
        for value in values {
            if !self.count(1, value.span) {
                goes_on = false;
                break;
            }
            match self.scope.evaluate(value) {
                Some(value) => self.scope.set(&variable.value, value),
                None => self.scope.set_unknown(&variable.value),
            }
            goes_on = self.statements(body);
            // What is wrong in the body is said the first time.
            let held = self.scope.diagnostics.once_a_place(true);
            before.get_or_insert(held);
            if !goes_on {
                break;
            }
        }
        if let Some(before) = before {
            self.scope.diagnostics.as_before(before);
        }
        self.loops.pop();
        self.within -= 1;
        goes_on
    }

    /// Carries out the text that a command stands for, with other values for what it sets.
    fn include(&mut self, word: &Spanned<String>, attributes: &[Attribute]) -> bool {
        // What could not be read was reported.
        let Some(text) = self.texts.included(word.span) else { return true };
        let parameters = if attributes.is_empty() { Vec::new() } else { self.texts.parameters(text) };
        let mut given = Vec::new();
        for attribute in attributes {
            let name = attribute.name.value.as_str();
            let Some(written) = &attribute.value else {
                let label = format!("expected {name}=VALUE");
                self.push(Diagnostic::error(attribute.name.span, format!("'{name}' has no value"), label));
                continue;
            };
            let value = self.scope.evaluate(written);
            if parameters.iter().any(|parameter| parameter.name == name) {
                given.extend(value.map(|value| (name.to_owned(), value)));
                continue;
            }
            let file = &self.texts.sources().files()[text].name;
            let message = format!("{file} has no parameter {name}: it has no 'set ${name}'");
            let diagnostic = Diagnostic::error(attribute.name.span, message, "no variable that it sets");
            self.push(advise(diagnostic, name, parameters.iter().map(|parameter| parameter.name), &parameters));
        }
        let held = self.scope.hold(given);
        self.within += 1;
        let goes_on = self.statements(&self.texts.trees()[text].statements);
        self.within -= 1;
        self.scope.release(held);
        goes_on
    }

    /// Carries one statement out; false where the workload ends there.
    fn statement(&mut self, statement: &'a Statement, span: Span) -> bool {
        match statement {
            Statement::Set { variable, field: Some(field), value, .. } => self.scope.set_field(variable, field, value),
            Statement::Set { variable, field: None, value, .. } => match self.scope.evaluate(value) {
                Some(value) => self.scope.set(&variable.value, value),
                None => self.scope.set_unknown(&variable.value),
            },
            Statement::SetMode(words) => self.set_mode(words, span),
            Statement::Define { what, attributes, block } => self.define(what, attributes, block.as_ref()),
            Statement::Run(length) => self.run(length.as_ref(), None),
            Statement::Foreach { variable, values, body } => return self.foreach(variable, values, body),
            Statement::Command { word, attributes, .. } if ["include", "load"].contains(&word.value.as_str()) => {
                return self.include(word, attributes);
            }
            Statement::Assert { subject, relation, limit } => self.assert(subject, *relation, limit),
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
            // The CPU columns that it is about are not shown.
            [word] if word.value == "nousestats" => {}
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
                [length] => self.sleep(length),
                _ => self.push(Diagnostic::error(word.span, "sleep takes one time", "expected sleep SECONDS")),
            },
            "create" => self.create_command(word, arguments),
            "psrun" => match arguments {
                [] => self.psrun(None, None),
                [period] => self.psrun(Some(period), None),
                [period, length] => self.psrun(Some(period), Some(length)),
                [_, _, extra, ..] => {
                    self.push(Diagnostic::error(extra.span, "psrun has two numbers", "expected psrun PERIOD LENGTH"));
                }
            },
            "eventgen" => {
                let rate = attributes.iter().rev().find(|attribute| attribute.name.value == "rate");
                self.scope.internal.rate = rate.and_then(|attribute| attribute.value.clone());
                self.eventgen(word, attributes);
            }
            "quit" | "exit" => return false,
            _ => self.other_command(word, arguments, attributes),
        }
        true
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
            if !self.defined.insert((what.span, name.value.clone())) {
                // Two texts may each have a process of that name; the same text twice would run it twice.
                let message = format!("the process '{}' is defined twice", name.value);
                let diagnostic = Diagnostic::error(name.span, message, "defined here again, by the same definition");
                let help = format!("in a loop, the name may have the loop's variable in it: name={}-$v", name.value);
                return self.push(diagnostic.help(help));
            }
            if let Some(started) = self.session.started {
                let message = format!("the process '{}' is not among those that live", name.value);
                let diagnostic = Diagnostic::warning(name.span, message, "the next create processes or run starts it");
                self.push(diagnostic.also(started, "they were created here"));
            }
            let loops = self.loop_values();
            return self.processes.push(ProcessDef { name: name.value, span: what.span, attributes, block, loops });
        }
        match word {
            "randvar" => self.define_randvar(what.span, attributes),
            "flowop" => self.define_composite(what.span, attributes, block),
            "posset" | "possets" => self.define_posset(what.span, attributes),
            other => {
                let known = ["file", "fileset", "process", "randvar", "flowop", "posset"];
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
    pub(super) fn name_of(&mut self, entity: &Entity, span: Span, attributes: &[Attribute]) -> Option<Spanned<String>> {
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
        if let Some(first) = self.by_name.get(&name.value).map(|at| &self.filesets[*at]) {
            let diagnostic = Diagnostic::error(
                name.span,
                format!("the {} '{}' is defined twice", entity.name, name.value),
                "defined here again",
            );
            let first = first.name_span;
            return self.push(diagnostic.also(first, "first defined here"));
        }
        let loops = self.loop_values();
        self.by_name.insert(name.value.clone(), self.filesets.len());
        self.filesets.push(FilesetDef {
            name: name.value,
            name_span: name.span,
            entity,
            attributes,
            spec: None,
            loops,
        });
    }

    /// Reads attributes by their declarations. The result has what could be read; mistakes are reported.
    pub(super) fn attributes(&mut self, entity: &Entity, span: Span, written: &[Attribute]) -> Attributes {
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
    pub(super) fn create(&mut self) {
        let mut made = Vec::new();
        for at in 0..self.filesets.len() {
            if self.filesets[at].spec.is_some() {
                continue;
            }
            if self.is_full(self.filesets[at].name_span) {
                break;
            }
            let FilesetDef { entity, attributes, name_span, ref loops, .. } = self.filesets[at];
            let again = self.scope.diagnostics.once_a_place(!loops.is_empty());
            let before = self.scope.enter(loops);
            let spec = self.fileset(at, entity, attributes, name_span);
            self.scope.leave(before);
            self.scope.diagnostics.as_before(again);
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
        let sign = self.sign(span);
        let gamma = match attributes.quantity("filesizegamma") {
            Some(Quantity::Fixed(g)) => g as f64 / 1000.0,
            _ if sign.is_some() && !single => 1.5,
            _ => 0.0,
        };
        let constant = matches!(attributes.quantity("size"), Some(Quantity::Fixed(1..)));
        if let (true, true, None, Some(place), Some(sign)) =
            (constant, gamma > 0.0, attributes.get("filesizegamma"), attributes.span("size"), sign)
        {
            self.note_dialect(place, sign);
        }
        let size = match attributes.quantity("size") {
            Some(Quantity::Fixed(n)) if gamma > 0.0 && n > 0 => Draw::Gamma { mean: n as f64, shape: gamma },
            Some(quantity) => draw(quantity),
            None if sign.is_some() => Draw::Fixed(0.0),
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
            sizeless: attributes.quantity("size").is_none_or(|size| size == Quantity::Fixed(0)),
            device: None,
            content: Content::of(attributes.ratio("compress"), attributes.ratio("dedup")),
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

    pub(super) fn run(&mut self, length: Option<&Spanned<Expression>>, period: Option<Period>) {
        if self.session.started.is_none() {
            self.next_run();
            self.create();
        }
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
        if self.session.started.is_some() {
            return self.run_session(length_ns, period);
        }
        let run = self.run_plan(length_ns, period);
        self.steps.push(Step::Run(run));
        self.session.measured = true;
    }

    /// Notes that a run or a session follows. Asserts that stand before the first are of that one.
    pub(super) fn next_run(&mut self) {
        if self.ran {
            self.bind_asserts();
        }
        self.ran = true;
    }

    /// The processes with the values of this moment.
    pub(super) fn run_plan(&mut self, length_ns: Option<u64>, period: Option<Period>) -> RunPlan {
        let events_per_s = self.rate().filter(|rate| *rate > 0);
        let mut processes = Vec::new();
        for at in 0..self.processes.len() {
            let loops = &self.processes[at].loops;
            let again = self.scope.diagnostics.once_a_place(!loops.is_empty());
            let before = self.scope.enter(loops);
            processes.extend(self.process(at));
            self.scope.leave(before);
            self.scope.diagnostics.as_before(again);
        }
        self.bind_instances(&mut processes);
        self.check_room(&processes);
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
        if self.within > 0 || self.planned > 0 {
            let flowops = processes.iter().flat_map(|process| &process.threads).map(|thread| thread.flowops.len());
            // The statement that follows says so where they are too many.
            self.repeated = self.repeated.saturating_add(flowops.sum());
        }
        self.planned += 1;
        let parameters = self.scope.values();
        self.scope.spend_all(&parameters);
        RunPlan {
            length_ns,
            warmup_ns: self.warmup_ns(),
            period,
            lathist: self.session.lathist,
            quit: self.quit,
            events_per_s,
            parameters,
            processes,
            asserts: Vec::new(),
        }
    }

    /// True where a file set is defined and not made.
    pub(super) fn has_unmade_files(&self) -> bool {
        self.filesets.iter().any(|set| set.spec.is_none())
    }

    /// The file sets were taken away: they are made anew where they are used again.
    pub(super) fn forget_files(&mut self) {
        self.filesets.iter_mut().for_each(|set| set.spec = None);
    }

    /// The file sets, and what is known of those that are made.
    pub(super) fn filesets_made(&self) -> impl Iterator<Item = (&str, Option<&fileset::Spec>)> {
        self.filesets.iter().map(|set| (set.name.as_str(), set.spec.map(|spec| &self.specs[spec as usize])))
    }

    /// The processes by name.
    pub(super) fn process_blocks(&self) -> Vec<(String, &'a Block)> {
        self.processes.iter().map(|process| (process.name.clone(), process.block)).collect()
    }

    pub(super) fn time(&mut self, written: &Spanned<Expression>, of: &str) -> Option<u64> {
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
        let ProcessDef { ref name, span, attributes, block, .. } = self.processes[at];
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
                Item::Mix { .. } => {
                    let word = Span::new(item.span.start, item.span.start + "mix".len());
                    self.push(Diagnostic::error(word, "a mix outside a thread", "expected within thread ... { }"));
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
            if self.is_full(item.kind.span) {
                break;
            }
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
        if flowops.len() == names.len() {
            self.check_targets(&flowops);
        }
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
            rate: Some(attributes.number("rate")).filter(|rate| *rate > 0),
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
            let in_memory = attribute::find(flowop.def().attributes(), "iosize").is_some_and(|def| def.in_memory);
            if *iosize > memsize && in_memory {
                let message =
                    format!("{}: an iosize of {iosize} does not fit the thread's memsize of {memsize}", flowop.name);
                self.push(
                    Diagnostic::error(place, message, "larger than memsize").also(span, "the memory of each thread"),
                );
            }
        }
    }

    /// Refuses targets that are flowops of another type than is needed, and warns where there is none of that.
    fn check_targets(&mut self, flowops: &[FlowopPlan]) {
        for flowop in flowops {
            for def in flowop.def().attributes() {
                let Kind::TargetOf(kinds) = def.kind else { continue };
                let Some(at) = flowop.target else {
                    if let Some(span) = flowop.attributes.span("name")
                        && !flowops.iter().any(|other| kinds.contains(&other.kind.as_str()))
                    {
                        let kinds = kinds.join(" or ");
                        let message = format!("{} has nothing to do: its thread has no flowop {kinds}", flowop.name);
                        self.push(Diagnostic::warning(span, message, "no effect"));
                    }
                    continue;
                };
                let target = &flowops[at as usize];
                if let Some(span) = flowop.attributes.span(def.name)
                    && !kinds.contains(&target.kind.as_str())
                {
                    let message = format!("'{}' is a flowop {}, not {}", target.name, target.kind, kinds.join(" or "));
                    self.push(Diagnostic::error(span, message, format!("expected {}", def.kind.expected())));
                }
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
        self.by_name.get(name).and_then(|at| self.filesets[*at].spec)
    }

    fn flowop(
        &mut self,
        item: &Expanded<'_>,
        names: &[Option<Spanned<String>>],
        slot_sets: &BTreeMap<u64, BTreeSet<u32>>,
    ) -> Option<FlowopPlan> {
        let Expanded { prefix, kind, attributes: written, weighted, .. } = item;
        let Some(def) = flowop::find(&kind.value) else {
            self.unknown_flowop(kind);
            return None;
        };
        let of = format!("flowop {}", def.name);
        if !weighted {
            self.refuse_weight(written);
        }
        let mut attributes = Attributes::default();
        let mut target = None;
        for attribute in *written {
            let name = attribute.name.value.as_str();
            // Of the mix around it, or refused above.
            if name == entity::WEIGHT.name {
                continue;
            }
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
            if let (Kind::Target | Kind::TargetOf(_), Typed::Text(wanted)) = (attribute_def.kind, &value.value) {
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
            self.bind_posset(attribute_def, &mut value);
            attributes.insert(attribute_def.name, value);
        }
        self.fill(&mut attributes, def.attributes(), &of, kind.span);
        self.check_posset(&attributes);
        let name = format!("{prefix}{}", attributes.text("name").unwrap_or_default());
        self.bind_pick(def, &mut attributes);
        self.check_access(def, &name, kind.span, &attributes, slot_sets);
        Some(FlowopPlan { name, kind: def.name.to_owned(), target, acts_on: Vec::new(), attributes })
    }

    /// Checks `pick`, and tells a variable over ranks how many entries there are to pick from.
    fn bind_pick(&mut self, def: &FlowopDef, attributes: &mut Attributes) {
        let Some(span) = attributes.span("pick") else { return };
        if let Some(indexed) = attributes.span("indexed") {
            let diagnostic = Diagnostic::error(span, "pick and indexed both choose the entry", "chosen here");
            return self.push(diagnostic.also(indexed, "and here").help("pick=$variable takes an index too"));
        }
        let Some(set) = attributes.fileset("filesetname") else {
            // A name that is wrong is reported already.
            if attributes.get("filesetname").is_none() {
                let message = format!("pick chooses an entry of a fileset, and this {} names none", def.name);
                self.push(Diagnostic::error(span, message, "expected filesetname= too"));
            }
            return;
        };
        let Some(Typed::Random(id)) = attributes.get("pick") else { return };
        let variable = &self.scope.variables[id.0 as usize];
        if variable.is_open() {
            let spec = &self.specs[set];
            let number = match attribute::find(def.attributes(), "pick").map(|def| def.kind) {
                Some(Kind::Pick(Picked::Leafdirs)) => spec.leafdirs,
                Some(Kind::Pick(Picked::Homes)) => {
                    let message = "how many directories of files there are is known with their layout only";
                    let diagnostic = Diagnostic::error(span, message, "this distribution has no n");
                    return self
                        .push(diagnostic.help("give the number to choose from, such as zipf(theta=1.1, n=100)"));
                }
                _ => spec.entries,
            };
            let bound = variable.among(number);
            let id = self.scope.add_random(bound);
            attributes.insert("pick", Spanned::new(Typed::Random(id), span));
        }
    }

    /// Binds the targets that may be in any thread of any process, which takes all of them to be known.
    fn bind_instances(&mut self, processes: &mut [ProcessPlan]) {
        let acts = |flowop: &FlowopPlan| {
            let mut attributes = flowop.def().attributes();
            attributes.any(|def| matches!(def.kind, Kind::Instances(_)) && flowop.attributes.text(def.name).is_some())
        };
        // The names of all flowops are sorted below, which takes its time where there are very many.
        if !processes.iter().flat_map(|process| &process.threads).flat_map(|thread| &thread.flowops).any(acts) {
            return;
        }
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
                // In a composite, what it has itself comes first.
                let prefix = flowop.name.strip_suffix(flowop.attributes.text("name").unwrap_or_default()).unwrap_or("");
                let named = |name: String| all.get(&(name, kind.to_owned()));
                match named(format!("{prefix}{wanted}")).or_else(|| named(wanted.to_owned())) {
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

    /// Warns of flowops that make names for files that are there, in sets where every name exists and none is removed.
    fn check_room(&mut self, processes: &[ProcessPlan]) {
        let flowops = || processes.iter().flat_map(|process| &process.threads).flat_map(|thread| &thread.flowops);
        let target = |flowop: &FlowopPlan| flowop.attributes.fileset("filesetname");
        let source = |flowop: &FlowopPlan| flowop.attributes.fileset("source").or_else(|| target(flowop));
        let mut freed = BTreeSet::new();
        for flowop in flowops() {
            match (flowop.def().effect, target(flowop)) {
                // Removes whatever is open.
                (Effect::Removes, None) => return,
                (Effect::Removes, Some(set)) => _ = freed.insert(set),
                (Effect::Moves, to) => freed.extend(source(flowop).filter(|from| to != Some(*from))),
                _ => {}
            }
        }
        for flowop in flowops() {
            let makes = attribute::find(flowop.def().attributes(), "source").is_some();
            let (Some(set), Some(span)) = (target(flowop), flowop.attributes.span("filesetname")) else { continue };
            let spec = &self.specs[set];
            if !makes || !spec.is_full() || freed.contains(&set) {
                continue;
            }
            let message = format!("{} {} finds no name that is free in '{}'", flowop.kind, flowop.name, spec.name);
            let diagnostic = Diagnostic::warning(span, message, "all its entries exist from the start");
            let help = "give the fileset more entries than are preallocated (prealloc below 100)";
            self.push(diagnostic.help(help));
        }
    }

    fn unknown_flowop(&mut self, kind: &Spanned<String>) {
        if self.scope.partial {
            // It may be a composite of a text that could not be read.
            return;
        }
        let composites: Vec<String> = self.composites.keys().cloned().collect();
        let built_in = flowop::FLOWOPS.iter().flat_map(|def| std::iter::once(&def.name).chain(def.aliases)).copied();
        let known = built_in.chain(composites.iter().map(String::as_str));
        let diagnostic =
            Diagnostic::error(kind.span, format!("unknown flowop '{}'", kind.value), "not a type of flowop");
        self.push(diagnostic.near(&kind.value, known));
    }

    fn unknown_fileset(&mut self, name: String, span: Span) {
        if self.nameless || self.scope.partial {
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
        let copies = def.class == FlowopClass::Write && attribute::find(def.attributes(), "source").is_some();
        let source = attributes.fileset("source").or_else(|| attributes.fileset("filesetname"));
        if let (Some(source), true) = (source, copies) {
            let spec = &self.specs[source];
            if spec.writeonly && !spec.readonly {
                let message = format!("{} {name} reads, and the fileset '{}' is writeonly", def.name, spec.name);
                self.push(Diagnostic::error(span, message, "reads a writeonly fileset"));
            }
        }
        for set in sets {
            let spec = &self.specs[set as usize];
            let (word, does) = match (def.effect, def.class) {
                (Effect::Writes, _) if spec.readonly => ("readonly", "writes"),
                (Effect::Attributes, _) if spec.readonly => ("readonly", "changes attributes"),
                (_, FlowopClass::Read) if spec.writeonly && !spec.readonly => ("writeonly", "reads"),
                _ => continue,
            };
            let message = format!("{} {name} {does}, and the fileset '{}' is {word}", def.name, spec.name);
            let of = if def.effect == Effect::Attributes { "of a" } else { "a" };
            self.push(Diagnostic::error(span, message, format!("{does} {of} {word} fileset")));
        }
    }

    fn end(&mut self) {
        if self.session.started.take().is_some() {
            self.steps.push(Step::Stop);
        }
        let end = self.texts.sources().main().last();
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
        self.bind_asserts();
        if self.processes.is_empty() && self.ran && !self.garbled {
            let message = "there is no process, so there is nothing to run";
            self.push(if self.options.check {
                Diagnostic::warning(end, message, "expected define process ... { }")
            } else {
                Diagnostic::error(end, message, "expected define process ... { }")
            });
        }
        for (name, _) in &self.options.set {
            if !self.scope.known().contains(name) && !self.scope.partial {
                let diagnostic = Diagnostic {
                    labels: Vec::new(),
                    ..Diagnostic::error(end, format!("--set {name}: the workload has no variable ${name}"), "")
                };
                let known = self.scope.known().iter().map(String::as_str);
                let diagnostic = advise(diagnostic, name, known, &self.texts.parameters(0));
                self.push(diagnostic);
            }
        }
    }
}

/// Adds the near name, and all parameters where they are few.
fn advise<'n>(
    diagnostic: Diagnostic,
    written: &str,
    known: impl IntoIterator<Item = &'n str>,
    parameters: &[Parameter<'_>],
) -> Diagnostic {
    let near = nearest_name(written, known).map(|near| format!("did you mean '{near}'?"));
    let width = parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or_default();
    let line = |parameter: &Parameter<'_>| {
        let help = parameter.help.unwrap_or_default();
        format!("  {:width$}  {help}", parameter.name).trim_end().to_owned()
    };
    let few = (1..=FEW_PARAMETERS).contains(&parameters.len());
    let all = few.then(|| std::iter::once("its parameters are:".to_owned()).chain(parameters.iter().map(line)));
    let lines: Vec<String> = near.into_iter().chain(all.into_iter().flatten()).collect();
    if lines.is_empty() { diagnostic } else { diagnostic.help(lines.join("\n")) }
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
