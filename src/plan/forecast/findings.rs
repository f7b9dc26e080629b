//! What will go wrong, and why.

use super::round::Round;
use super::slots::Walk;
use super::{Sizes, Term};
use crate::attribute::Typed;
use crate::diagnostic::Diagnostic;
use crate::flowop::{DataUse, FlowopClass, Pace};
use crate::plan::{FlowopPlan, Plan};
use crate::source::Span;
use crate::units;
use serde::Serialize;

/// How certain a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It follows from the workload alone, on any machine and in any length of time.
    Certain,
    /// It depends on the speed of the file system, on its rules, or on this machine.
    Possible,
}

/// What kind of trouble it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A set has no entry left for a flowop.
    RunsDry,
    /// A slot is opened while it is open.
    StillOpen,
    /// A slot is used while it is closed.
    NotOpen,
    /// A slot has a file of another set.
    OtherSet,
    /// A flowop without a slot of its own works on the file of another set than it names.
    OtherFile,
    /// A way of opening is asked for where the file is open already.
    NoEffect,
    /// A wait does not end.
    WaitsForEver,
    /// A post or wakeup has no effect.
    NobodyWaits,
    /// A request is larger than the file or the working set.
    TooLarge,
    /// A size does not suit direct I/O.
    Unaligned,
    /// An end that is never reached.
    NeverEnds,
    /// Descriptors.
    Descriptors,
    /// Reads are answered from memory.
    FitsInMemory,
    /// The machine cannot carry the run.
    Objection,
}

/// All kinds, with the word in the JSON document and what each means.
pub static FINDINGS: &[(FindingKind, &str, &str)] = &[
    (FindingKind::RunsDry, "runs_dry", "a set has no entry left that a flowop may make, remove or open"),
    (FindingKind::StillOpen, "still_open", "a flowop opens a slot that still has a file open, and fails"),
    (FindingKind::NotOpen, "not_open", "a flowop needs an open slot that is closed, and fails"),
    (FindingKind::OtherSet, "other_set", "a slot has a file of another set open than the flowop names, which fails"),
    (
        FindingKind::OtherFile,
        "other_file",
        "slot 0 has a file of another set open than the flowop names, which works on it",
    ),
    (FindingKind::NoEffect, "no_effect", "dsync, directio or noreadahead where another flowop opens the file"),
    (FindingKind::WaitsForEver, "waits_for_ever", "a block or semblock that nobody posts to"),
    (FindingKind::NobodyWaits, "nobody_waits", "a wakeup or sempost whose target no thread comes to"),
    (
        FindingKind::TooLarge,
        "too_large",
        "a request at a random offset that is larger than the file or its working set",
    ),
    (FindingKind::Unaligned, "unaligned", "direct I/O by sizes that are no multiples of 512"),
    (FindingKind::NeverEnds, "never_ends", "a finishoncount or finishonbytes that cannot be reached"),
    (FindingKind::Descriptors, "descriptors", "a process may need more descriptors than it can have"),
    (FindingKind::FitsInMemory, "fits_in_memory", "the working set is smaller than the memory (W003)"),
    (FindingKind::Objection, "objection", "this machine cannot carry the run: it would be refused"),
];

/// Something that will go wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// How certain it is.
    pub weight: Weight,
    /// The process, where it is about a flowop.
    pub process: Option<String>,
    /// The thread, where it is about a flowop.
    pub thread: Option<String>,
    /// The flowop it is about.
    pub flowop: Option<String>,
    /// One sentence with the names and numbers.
    pub message: String,
    /// What to do.
    pub help: String,
    /// Its place in the text.
    #[serde(skip)]
    pub span: Option<Span>,
}

impl Finding {
    pub(super) fn new(
        kind: FindingKind,
        weight: Weight,
        round: &Round<'_>,
        at: usize,
        attribute: &str,
        message: String,
        help: String,
    ) -> Self {
        let flowop = &round.thread.flowops[at];
        let span = flowop.attributes.span(attribute).or_else(|| flowop.attributes.span("name"));
        Finding {
            kind,
            weight,
            process: Some(round.process.name.clone()),
            thread: Some(round.thread.name.clone()),
            flowop: Some(flowop.name.clone()),
            message,
            help,
            span,
        }
    }

    /// One that is about the run, not about a flowop.
    pub fn of_run(kind: FindingKind, message: String, help: String) -> Self {
        let (process, thread, flowop, span) = (None, None, None, None);
        Finding { kind, weight: Weight::Possible, process, thread, flowop, message, help, span }
    }

    /// As a warning at its place; none for one without a place.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        let span = self.span?;
        let label = FINDINGS.iter().find(|(kind, ..)| *kind == self.kind).map_or("", |(_, _, title)| title);
        Some(Diagnostic::warning(span, self.message.clone(), label).help(self.help.clone()))
    }
}

/// Requests that do not fit their files, or not direct I/O.
pub(super) fn of_sizes(plan: &Plan, round: &Round<'_>, walk: &Walk, sizes: &[Sizes], found: &mut Vec<Finding>) {
    for (at, flowop) in round.thread.flowops.iter().enumerate() {
        let def = round.facts[at].def;
        if def.acts.data == DataUse::None || round.times[at].value == 0.0 {
            continue;
        }
        let Some(Typed::Number(iosize)) = flowop.attributes.get("iosize") else { continue };
        let name = &flowop.name;
        let random = def.acts.data == DataUse::Request && flowop.attributes.flag("random");
        if random && let Some(range) = fixed_range(flowop) {
            let set = walk.sets[at].map(|set| (&plan.filesets[set].name, sizes[set]));
            let too_large = |of: String, weight| {
                let message = format!("{name} asks for {iosize} bytes at a random offset, and {of}");
                let help = "use a smaller iosize, larger files, or leave out random".into();
                Finding::new(FindingKind::TooLarge, weight, round, at, "iosize", message, help)
            };
            found.extend(match set {
                _ if range > 0 => {
                    (*iosize > range).then(|| too_large(format!("its workingset is {range} bytes"), Weight::Certain))
                }
                Some((set, Sizes { most: Some(most), .. })) if *iosize > most => {
                    Some(too_large(format!("no file of {set} has more than {most}: it fails"), Weight::Certain))
                }
                Some((set, Sizes { least: Some(least), .. })) if *iosize > least => {
                    Some(too_large(format!("the smallest file of {set} has {least}: it fails there"), Weight::Possible))
                }
                _ => None,
            });
        }
        let written_whole = def.acts.data == DataUse::WholeFile && def.class == FlowopClass::Write;
        let odd = match def.acts.data {
            DataUse::Request | DataUse::WholeFile if iosize % 512 != 0 => Some(format!("an iosize of {iosize} bytes")),
            DataUse::WholeFile if written_whole => {
                match walk.sets[at].map(|set| (&plan.filesets[set].name, sizes[set])) {
                    Some((set, Sizes { least: Some(least), most: Some(most), .. }))
                        if least == most && most % 512 != 0 =>
                    {
                        Some(format!("files of {set} with {most} bytes"))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(odd) = odd
            && flowop.attributes.flag("directio")
        {
            let message = format!("{name} has directio and {odd}: most file systems refuse it (EINVAL)");
            let help = "direct I/O needs multiples of 512, or of 4096 on some devices".into();
            found.push(Finding::new(FindingKind::Unaligned, Weight::Possible, round, at, "iosize", message, help));
        }
    }
}

/// Bytes of the working set, 0 for the whole file; none where they are random.
fn fixed_range(flowop: &FlowopPlan) -> Option<u64> {
    match flowop.attributes.get("workingset") {
        None => Some(0),
        Some(Typed::Number(range)) => Some(*range),
        Some(_) => None,
    }
}

/// What there is in a run to be counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    io: bool,
    bytes: bool,
}

impl Counted {
    pub(super) fn of(rounds: &[Round<'_>]) -> Self {
        let classes = rounds.iter().flat_map(|round| {
            let done = round.facts.iter().zip(&round.times).filter(|(_, times)| times.value > 0.0);
            done.map(|(facts, _)| facts.def.class)
        });
        let mut counted = Counted { io: false, bytes: false };
        for class in classes {
            counted.io |= class.is_io();
            counted.bytes |= moves(class);
        }
        counted
    }
}

fn moves(class: FlowopClass) -> bool {
    matches!(class, FlowopClass::Read | FlowopClass::Write)
}

/// Ends that cannot be reached.
pub(super) fn of_ends(term: Term, all: &Counted, round: &Round<'_>, found: &mut Vec<Finding>) {
    if !round.ends {
        return;
    }
    for (at, flowop) in round.thread.flowops.iter().enumerate() {
        let pace = round.facts[at].def.acts.pace;
        let wants = || matches!(flowop.attributes.get("value"), Some(Typed::Number(1..)));
        if !pace.ends() || !wants() || round.times[at].value == 0.0 {
            continue;
        }
        let of_bytes = pace == Pace::EndsOnBytes;
        let target = flowop.target.map(|target| target as usize);
        let why = match target.map(|target| (&round.thread.flowops[target], round.times[target].value)) {
            Some((target, 0.0)) => format!("{} is never done", target.name),
            Some((target, _)) if of_bytes && !moves(target.def().class) => format!("{} moves no bytes", target.name),
            None if of_bytes && !all.bytes => "no flowop of the run moves bytes".to_owned(),
            None if !of_bytes && !all.io => "no flowop of the run does I/O".to_owned(),
            _ => continue,
        };
        let message = format!("{} is never reached: {why}", flowop.name);
        let help = match term.length_ns {
            Some(length) => format!("without it the run may last its {}", units::duration(length)),
            None => "without it the thread may have no end".into(),
        };
        found.push(Finding::new(FindingKind::NeverEnds, Weight::Certain, round, at, "target", message, help));
    }
}
