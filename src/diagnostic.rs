//! Collects what is wrong with a workload and shows it all at once, by miette.

use crate::source::{Sources, Span};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, Severity};
use std::collections::HashSet;
use std::fmt::Write as _;

/// So many findings are shown; the rest is counted. Nobody reads more, and each costs a look through its text.
const SHOWN: usize = 100;

/// Bytes of a line that is quoted at most.
const LONGEST_LINE: usize = 1000;

/// Bytes of a message, a label or an advice that are shown at most; it may have a word of the text in it.
const LONGEST_WORDS: usize = 4000;

/// Longer names, in bytes, have no near one: nobody mistyped them, and to compare two takes the product of their lengths.
const LONGEST_NAME: usize = 200;

/// So many names are looked through for a near one. A workload that has more was made by a loop or a script.
const MOST_NAMES: usize = 2000;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The workload runs; the reader should know.
    Warning,
    /// The workload does not run.
    Error,
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Level::Warning => "warning",
            Level::Error => "error",
        })
    }
}

/// One finding: what is wrong, where, what was expected there, what to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// Error or warning.
    pub level: Level,
    /// One sentence that names the thing.
    pub message: String,
    /// The places, the first of which is where the mistake is, each with the words at its caret.
    pub labels: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place; `label` says what was expected there.
    pub fn error(span: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Diagnostic { level: Level::Error, message: message.into(), labels: vec![(span, label.into())], help: None }
    }

    /// A warning at a place.
    pub fn warning(span: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Diagnostic { level: Level::Warning, ..Diagnostic::error(span, message, label) }
    }

    /// The refusal of a part of the language that is not built: named, with its place.
    pub fn not_supported(span: Span, what: impl std::fmt::Display) -> Self {
        Diagnostic::error(span, format!("{what} is not supported yet"), "not supported yet")
    }

    /// Adds a second place.
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds "did you mean" where one of `known` is near `written`.
    pub fn near<'a>(self, written: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest_name(written, known) {
            Some(name) => self.help(format!("did you mean '{name}'?")),
            None => self,
        }
    }
}

/// The findings of one run over a workload, in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// How many of them are errors.
    errors: usize,
    seen: HashSet<Diagnostic>,
    /// Where a finding of that level is.
    places: HashSet<(Span, Level)>,
    /// What is read is read again, with other values: a place that has its finding needs no second one.
    again: bool,
}

impl Diagnostics {
    /// An empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding; a second one with the same words at the same place is dropped.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if let Some((span, _)) = diagnostic.labels.first()
            && !self.places.insert((*span, diagnostic.level))
            && self.again
        {
            return;
        }
        if self.seen.insert(diagnostic.clone()) {
            self.errors += usize::from(diagnostic.level == Level::Error);
            self.list.push(diagnostic);
        }
    }

    /// Where `holds`, drops a second finding at a place, whatever its words, for a text is carried out repeatedly; until
    /// [`Diagnostics::as_before`] gets what this returns.
    pub fn once_a_place(&mut self, holds: bool) -> bool {
        let before = self.again;
        self.again |= holds;
        before
    }

    /// Ends what [`Diagnostics::once_a_place`] began.
    pub fn as_before(&mut self, before: bool) {
        self.again = before;
    }

    /// Takes the findings of one text into those of all its workload's; its offsets begin at `base` there.
    pub fn extend(&mut self, found: Diagnostics, base: usize) {
        for mut diagnostic in found.list {
            diagnostic.labels.iter_mut().for_each(|(span, _)| *span = span.moved(base));
            self.push(diagnostic);
        }
    }

    /// True where at least one finding is an error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// True where nothing was found.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The findings, by place in the text.
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut all: Vec<&Diagnostic> = self.list.iter().collect();
        all.sort_by_key(|d| (d.labels.first().map(|(span, _)| span.start), std::cmp::Reverse(d.level)));
        all
    }

    /// All findings as text: the message, the place with carets, the help.
    pub fn render(&self, sources: &Sources, color: bool) -> String {
        let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(120).with_context_lines(1);
        let mut out = String::new();
        let all = self.sorted();
        for d in all.iter().take(SHOWN) {
            let severity = match d.level {
                Level::Warning => Severity::Warning,
                Level::Error => Severity::Error,
            };
            let mut shown = MietteDiagnostic::new(cut(&d.message))
                .with_severity(severity)
                // The header gives the place of the primary label: the mistake, not what it collides with.
                .with_labels(d.labels.iter().enumerate().map(|(at, (span, text))| match at {
                    0 => LabeledSpan::new_primary_with_span(Some(cut(text)), *span),
                    _ => LabeledSpan::new_with_span(Some(cut(text)), *span),
                }));
            if let Some(help) = &d.help {
                shown = shown.with_help(cut(help));
            }
            if let Some((span, label)) = d.labels.first()
                && d.labels.iter().any(|(span, _)| is_long(sources, *span))
            {
                // A line of garbage is not quoted: it would hide what is said about it.
                let (message, label) = (cut(&d.message), cut(label));
                let _ = writeln!(out, "  {}: {message} [{}] {label}", d.level, sources.place(span.start));
                continue;
            }
            let mut text = String::new();
            if handler.render_report(&mut text, &Shown { finding: shown, sources }).is_err() {
                let _ = writeln!(text, "{}", d.message);
            }
            out.push_str(&text);
        }
        if all.len() > SHOWN {
            let _ = writeln!(out, "  {} more findings are not shown", all.len() - SHOWN);
        }
        out
    }
}

/// True where a line that would be quoted for this place is too long: one of its own, the one before or the one behind.
fn is_long(sources: &Sources, span: Span) -> bool {
    let file = sources.file(span.start);
    let start = (span.start - file.base).min(file.text.len());
    let end = span.end.saturating_sub(file.base).clamp(start, file.text.len());
    let (before, behind) = (&file.text.as_bytes()[..start], &file.text.as_bytes()[end..]);
    let end_of_line = |c: &u8| *c == b'\n';
    let above: usize = before.rsplit(end_of_line).take(2).map(<[u8]>::len).max().unwrap_or(0);
    let below: usize = behind.split(end_of_line).take(2).map(<[u8]>::len).max().unwrap_or(0);
    let within = file.text.as_bytes()[start..end].split(end_of_line).map(<[u8]>::len).max().unwrap_or(0);
    above.max(below).max(within) > LONGEST_LINE || file.line_length(span.start) > LONGEST_LINE
}

/// Words that may have a part of the text in them, without their end where they are very long.
fn cut(words: &str) -> String {
    if words.len() <= LONGEST_WORDS {
        return words.to_owned();
    }
    let end = (0..=LONGEST_WORDS).rev().find(|at| words.is_char_boundary(*at)).unwrap_or(0);
    format!("{}...", &words[..end])
}

/// A finding with the texts that its places are in.
#[derive(Debug)]
struct Shown<'a> {
    finding: MietteDiagnostic,
    sources: &'a Sources,
}

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.finding.fmt(f)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn severity(&self) -> Option<Severity> {
        self.finding.severity()
    }

    fn help(&self) -> Option<Box<dyn std::fmt::Display + '_>> {
        self.finding.help()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.finding.labels()
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(self.sources)
    }
}

/// The one of `known` that a typing mistake could have turned into `written`; none where nothing is near.
///
/// Near means: at most a third of the longer word's letters differ (Damerau-Levenshtein, so that two letters changed
/// round count once), or the words differ in case only.
pub fn nearest_name<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > LONGEST_NAME {
        return None;
    }
    let lower = written.to_lowercase();
    let length = lower.chars().count();
    let distance = |name: &'a str| {
        let other = name.to_lowercase();
        let count = other.chars().count();
        let allowed = count.max(length) / 3;
        // Where the lengths tell enough, the letters are not compared.
        if count.abs_diff(length) > allowed {
            return None;
        }
        let distance = strsim::damerau_levenshtein(&lower, &other);
        (distance <= allowed).then_some((distance, name))
    };
    let names = known.into_iter().take(MOST_NAMES).filter(|name| *name != written && name.len() <= LONGEST_NAME);
    names.filter_map(distance).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;

    #[test]
    fn a_near_name_is_offered_and_a_far_one_is_not() {
        let known = ["filesize", "filename", "entries", "iosize"];
        assert_eq!(nearest_name("filesze", known), Some("filesize"));
        assert_eq!(nearest_name("iosiez", known), Some("iosize"));
        assert_eq!(nearest_name("FILESIZE", known), Some("filesize"));
        assert_eq!(nearest_name("banana", known), None);
        assert_eq!(nearest_name("x", known), None);
    }

    #[test]
    fn a_very_long_line_is_not_quoted() {
        let sources = Sources::new(SourceFile::new("w.wl", format!("run 1\nx{}", "y".repeat(100_000))));
        let mut found = Diagnostics::new();
        found.push(Diagnostic::error(Span::new(6, 7), "unknown command 'x'", "a command is expected here"));
        let text = found.render(&sources, false);
        assert_eq!(text, "  error: unknown command 'x' [w.wl:2:1] a command is expected here\n");
    }

    #[test]
    fn findings_without_number_are_counted() {
        let sources = Sources::new(SourceFile::new("w.wl", "x".repeat(SHOWN + 7)));
        let mut found = Diagnostics::new();
        for at in 0..SHOWN + 7 {
            found.push(Diagnostic::error(Span::new(at, at + 1), format!("finding {at}"), "here"));
        }
        let text = found.render(&sources, false);
        assert!(text.contains(&format!("finding {}\n", SHOWN - 1)) && !text.contains(&format!("finding {SHOWN}")));
        assert!(text.ends_with("\n  7 more findings are not shown\n"), "{text}");
    }

    #[test]
    fn the_text_has_the_place_the_expectation_and_the_help() {
        let sources = Sources::new(SourceFile::new("w.wl", "define fileset name=a,filesze=4k\n"));
        let mut found = Diagnostics::new();
        found.push(
            Diagnostic::error(Span::new(22, 29), "unknown attribute 'filesze'", "no attribute of a fileset")
                .near("filesze", ["filesize"]),
        );
        let text = found.render(&sources, false);
        assert!(text.contains("w.wl:1:23"), "{text}");
        assert!(text.contains("did you mean 'filesize'?"), "{text}");
        assert!(text.contains("no attribute of a fileset"), "{text}");
    }

    #[test]
    fn two_places_in_two_files_are_both_shown() {
        let mut sources = Sources::new(SourceFile::new("main.wl", "include \"b.wl\"\nrun 1"));
        sources.add(SourceFile::new("b.wl", "\ninclude \"main.wl\""));
        let base = sources.files()[1].base;
        let mut found = Diagnostics::new();
        found.push(
            Diagnostic::error(Span::new(base + 1, base + 8), "a circle", "from here").also(Span::new(0, 7), "and here"),
        );
        insta::assert_snapshot!(found.render(&sources, false), @r#"
     × a circle
      ╭─[main.wl:1:1]
    1 │ include "b.wl"
      · ───┬───
      ·    ╰── and here
    2 │ run 1
      ╰────
      ╭─[b.wl:2:1]
    1 │ 
    2 │ include "main.wl"
      · ───┬───
      ·    ╰── from here
      ╰────
    "#);
    }

    #[test]
    fn a_place_that_is_read_again_has_one_finding() {
        let mut found = Diagnostics::new();
        let at = |n: usize, words: &str| Diagnostic::error(Span::new(n, n + 1), words, "here");
        found.push(at(0, "a"));
        found.push(at(0, "b"));
        assert!(!found.once_a_place(true));
        found.push(at(0, "c"));
        found.push(at(1, "d"));
        found.push(at(1, "e"));
        found.as_before(false);
        found.push(at(1, "f"));
        let words: Vec<_> = found.sorted().iter().map(|d| d.message.as_str()).collect();
        assert_eq!(words, ["a", "b", "d", "f"]);
    }
}
