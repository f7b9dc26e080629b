//! One canonical layout of a text.
//!
//! The pairs of the grammar are walked in the order of the text, and each word of them becomes a [`Piece`]: the word as it
//! was written, and what may stand before it. Nothing but the space between words is ours; a comment stays between the
//! two words where it was (a comma, which means nothing by itself, is written before it), so no construct can lose
//! one. What is to stand on a line of its own where there is room is a *phrase*: a simple statement, `define ...` up to its
//! block, `thread ...`, `flowop ...`, a brace. [`Layout::end_phrase`] breaks one that is too long.
//!
//! A new statement or item is one more arm of [`Layout::statement`]. One without is refused, not left out.

use super::grammar::{Rule, Wl};
use super::{Ast, build};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{SourceFile, Span};
use pest::Parser;
use pest::iterators::{Pair, Pairs};
use std::iter::Peekable;

/// Columns of a line, comments aside.
const WIDTH: usize = 100;
/// Of a block.
const BLOCK: usize = 2;
/// Of what continues a line.
const CONTINUED: usize = 4;
/// Of the rows of a table.
const ROW: usize = 2;
/// A table of more rows has a line for each.
const ROWS_IN_LINE: usize = 2;

/// The text in the canonical layout.
///
/// Words, strings and numbers stay as they were written, and so do comments, but for blanks at their ends. None
/// where the text has mistakes; each is in `diagnostics` then.
pub fn format(file: &SourceFile, diagnostics: &mut Diagnostics) -> Option<String> {
    let (ast, pairs) = read(file, diagnostics);
    let pairs = pairs.filter(|_| !diagnostics.has_errors())?;
    let laid = layout(&file.text, pairs).and_then(|out| {
        // These are other people's files: what we are about to write is read again first.
        let mut found = Diagnostics::new();
        let (again, _) = read(&SourceFile::new(&*file.name, &*out), &mut found);
        let same = !found.has_errors() && again.unplaced() == ast.unplaced();
        if same { Ok(out) } else { Err(Span::default()) }
    });
    let fault = |at| {
        let message = "the canonical layout of this text would mean something else";
        Diagnostic::error(at, message, "in this text").help("this is a fault of wlrun; please report it")
    };
    laid.map_err(|at| diagnostics.push(fault(at))).ok()
}

fn read<'i>(file: &'i SourceFile, diagnostics: &mut Diagnostics) -> (Ast, Option<Pairs<'i, Rule>>) {
    match Wl::parse(Rule::file, &file.text) {
        Ok(pairs) => (build::ast(file, pairs.clone(), diagnostics), Some(pairs)),
        // Says why.
        Err(_) => (super::parse(file, diagnostics), None),
    }
}

/// The text anew, or the place of a statement that no arm of [`Layout::statement`] is for.
fn layout(text: &str, pairs: Pairs<'_, Rule>) -> Result<String, Span> {
    let mut layout = Layout {
        text,
        read: 0,
        out: String::with_capacity(text.len() + text.len() / 8),
        indent: 0,
        after_open: true,
        phrase: Vec::new(),
        lists: Vec::new(),
        depth: 0,
        unknown: None,
    };
    for pair in pairs.flat_map(Pair::into_inner) {
        layout.statement(pair);
    }
    let rest = layout.gap(text.len());
    layout.comments(&rest, true);
    if !layout.out.is_empty() {
        layout.out.push('\n');
    }
    layout.unknown.map_or(Ok(layout.out), Err)
}

/// What may stand between a word and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Glue {
    /// Nothing.
    Tight,
    /// A space.
    Space,
    /// A space, or a new line where the list of this number is broken there.
    Item(usize),
    /// A new line where the table is broken; else a space, or nothing before the first row.
    Row { first: bool },
    /// A new line where the table is broken, else nothing.
    EndOfTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    None,
    Open,
    /// With the place of its last piece in the phrase, and whether it is broken in any case.
    OpenTable(usize, bool),
    Close,
}

/// A word of the text.
#[derive(Debug)]
struct Piece<'i> {
    text: &'i str,
    glue: Glue,
    /// What stood before it.
    gap: Gap<'i>,
    bracket: Bracket,
    /// Number of brackets around it.
    depth: usize,
    /// Blanks before it where the table around it is broken.
    pad: usize,
}

/// What stood between two words: line ends and comments.
#[derive(Debug, Default)]
struct Gap<'i> {
    comments: Vec<Comment<'i>>,
    /// Line ends after the last comment, or all.
    lines: usize,
}

#[derive(Debug)]
struct Comment<'i> {
    text: &'i str,
    /// Line ends between it and what stands before it.
    lines: usize,
}

/// Brackets that are open while a phrase is written.
struct Frame {
    /// Where a new line begins within.
    inner: usize,
    /// Where the line of the bracket begins.
    outer: usize,
    /// Of a table.
    broken: bool,
}

struct Layout<'i> {
    text: &'i str,
    /// What is behind this is yet to be read.
    read: usize,
    /// Without the end of its last line.
    out: String,
    indent: usize,
    /// Nothing was written yet, or a `{` last: no empty line follows.
    after_open: bool,
    phrase: Vec<Piece<'i>>,
    /// Of each list in the phrase, whether each attribute gets a line.
    lists: Vec<bool>,
    depth: usize,
    /// A statement that was left out, for no arm is for it.
    unknown: Option<Span>,
}

impl<'i> Layout<'i> {
    // ---- From the text ----

    /// What stands between the last word that was read and `end`.
    fn gap(&mut self, end: usize) -> Gap<'i> {
        let mut gap = Gap::default();
        let text = &self.text[..end];
        let mut at = self.read;
        let mut bytes = text.as_bytes()[at..].iter();
        self.read = self.read.max(end);
        while let Some(byte) = bytes.next() {
            at += 1;
            match byte {
                b'\n' => gap.lines += 1,
                b'\r' if text.as_bytes().get(at) != Some(&b'\n') => gap.lines += 1,
                b'#' => {
                    let rest = &text[at - 1..];
                    let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
                    let comment = rest[..length].trim_end_matches([' ', '\t', '\u{b}', '\u{c}']);
                    gap.comments.push(Comment { text: comment, lines: gap.lines });
                    gap.lines = 0;
                    at += length - 1;
                    bytes = text.as_bytes()[at..].iter();
                }
                // Blanks; and commas, which are written again.
                _ => {}
            }
        }
        gap
    }

    fn piece(&mut self, glue: Glue, start: usize, end: usize) {
        self.bracket(glue, start, end, Bracket::None);
    }

    fn bracket(&mut self, glue: Glue, start: usize, end: usize, bracket: Bracket) {
        let gap = self.gap(start);
        self.read = end;
        let text = &self.text[start..end];
        self.phrase.push(Piece { text, glue, gap, bracket, depth: self.depth, pad: 0 });
    }

    fn whole(&mut self, glue: Glue, pair: &Pair<'i, Rule>) {
        self.piece(glue, pair.as_span().start(), pair.as_span().end());
    }

    /// The word at the start of `pair`, which has no pair of its own.
    fn word(&mut self, glue: Glue, pair: &Pair<'i, Rule>, word: &str) {
        let start = pair.as_span().start();
        self.piece(glue, start, start + word.len());
    }

    /// The next word, `=` or `in`, which has no pair of its own.
    fn next(&mut self, glue: Glue, word: &str) {
        let mut at = self.read;
        while let Some(next) = self.text[at..].find(|c| c == '#' || word.starts_with(c)) {
            at += next;
            if self.text[at..].starts_with(word) {
                return self.piece(glue, at, at + word.len());
            }
            at += self.text[at..].find(['\n', '\r']).unwrap_or(self.text.len() - at);
        }
    }

    fn comma(&mut self) {
        let gap = Gap::default();
        self.phrase.push(Piece {
            text: ",",
            glue: Glue::Tight,
            gap,
            bracket: Bracket::None,
            depth: self.depth,
            pad: 0,
        });
    }

    // ---- Shapes ----

    /// A statement, or an item of a block.
    fn statement(&mut self, pair: Pair<'i, Rule>) {
        match pair.as_rule() {
            Rule::set => {
                self.word(Glue::Tight, &pair, "set");
                let mut inner = pair.into_inner().peekable();
                if let Some(mode) = inner.next_if(|pair| pair.as_rule() == Rule::mode) {
                    self.word(Glue::Space, &mode, "mode");
                    mode.into_inner().for_each(|word| self.whole(Glue::Space, &word));
                } else {
                    if let Some(variable) = inner.next() {
                        self.whole(Glue::Space, &variable);
                    }
                    if let Some(field) = inner.next_if(|pair| pair.as_rule() == Rule::field) {
                        self.piece(Glue::Tight, field.as_span().start() - ".".len(), field.as_span().end());
                    }
                    self.next(Glue::Tight, "=");
                    self.value(inner, Glue::Tight);
                }
            }
            Rule::define => {
                self.word(Glue::Tight, &pair, "define");
                let mut inner = pair.into_inner().peekable();
                if let Some(what) = inner.next() {
                    self.whole(Glue::Space, &what);
                }
                self.list(&mut inner, Glue::Space);
                inner.for_each(|block| self.block(block));
            }
            Rule::run => {
                self.word(Glue::Tight, &pair, "run");
                self.value(pair.into_inner(), Glue::Space);
            }
            Rule::foreach => {
                self.word(Glue::Tight, &pair, "foreach");
                let mut inner = pair.into_inner().peekable();
                if let Some(variable) = inner.next() {
                    self.whole(Glue::Space, &variable);
                }
                self.next(Glue::Space, "in");
                self.loop_values(&mut inner);
                inner.for_each(|body| self.block(body));
            }
            Rule::assert => {
                self.word(Glue::Tight, &pair, "assert");
                let mut inner = pair.into_inner();
                for word in inner.by_ref().take(2) {
                    self.whole(Glue::Space, &word);
                }
                self.value(inner, Glue::Space);
            }
            Rule::command => {
                let mut inner = pair.into_inner().peekable();
                if let Some(word) = inner.next() {
                    self.whole(Glue::Tight, &word);
                }
                while let Some(argument) = inner.next_if(|pair| pair.as_rule() == Rule::argument) {
                    self.whole(Glue::Space, &argument);
                }
                self.list(&mut inner, Glue::Space);
            }
            Rule::thread | Rule::mix => {
                let word = if pair.as_rule() == Rule::mix { "mix" } else { "thread" };
                self.word(Glue::Tight, &pair, word);
                let mut inner = pair.into_inner().peekable();
                self.list(&mut inner, Glue::Space);
                inner.for_each(|block| self.block(block));
            }
            Rule::flowop => {
                self.word(Glue::Tight, &pair, "flowop");
                let mut inner = pair.into_inner().peekable();
                if let Some(kind) = inner.next() {
                    self.whole(Glue::Space, &kind);
                }
                self.list(&mut inner, Glue::Space);
            }
            Rule::EOI => return,
            // Nothing may be lost in silence; mistakes do not come here.
            _ => {
                let at = pair.as_span();
                self.unknown = self.unknown.or(Some(Span::new(at.start(), at.end())));
                return;
            }
        }
        self.end_phrase();
    }

    /// What is between braces, behind a phrase.
    fn block(&mut self, pair: Pair<'i, Rule>) {
        self.end_phrase();
        let (start, end) = (pair.as_span().start(), pair.as_span().end());
        self.piece(Glue::Tight, start, start + "{".len());
        self.end_phrase();
        self.indent += BLOCK;
        self.after_open = true;
        for item in pair.into_inner() {
            self.statement(item);
        }
        let close = end - "}".len();
        let rest = self.gap(close);
        self.comments(&rest, true);
        self.indent -= BLOCK;
        self.piece(Glue::Tight, close, end);
        self.end_phrase();
    }

    /// The attributes at the front of `pairs`.
    fn list(&mut self, pairs: &mut Peekable<Pairs<'i, Rule>>, before: Glue) {
        let (list, first) = (self.lists.len(), self.phrase.len());
        self.lists.push(false);
        let mut glue = before;
        while let Some(attribute) = pairs.next_if(|pair| pair.as_rule() == Rule::attribute) {
            if self.phrase.len() > first {
                self.comma();
            }
            let end = attribute.as_span().end();
            let mut inner = attribute.into_inner();
            if let Some(name) = inner.next() {
                self.whole(glue, &name);
                if name.as_span().end() < end {
                    self.next(Glue::Tight, "=");
                    self.value(inner, Glue::Tight);
                }
            }
            glue = Glue::Item(list);
        }
        self.lists[list] = self.has_comments(first + 1);
    }

    /// The values of a loop at the front of `pairs`.
    fn loop_values(&mut self, pairs: &mut Peekable<Pairs<'i, Rule>>) {
        let (list, first) = (self.lists.len(), self.phrase.len());
        self.lists.push(false);
        let mut glue = Glue::Space;
        while let Some(value) = pairs.next_if(|pair| pair.as_rule() == Rule::loop_value) {
            if self.phrase.len() > first {
                self.comma();
            }
            self.value(value.into_inner(), glue);
            glue = Glue::Item(list);
        }
        self.lists[list] = self.has_comments(first + 1);
    }

    /// True where a comment stands before a piece of the phrase from this one on.
    fn has_comments(&self, from: usize) -> bool {
        self.phrase.iter().skip(from).any(|piece| !piece.gap.comments.is_empty())
    }

    fn value(&mut self, pairs: impl Iterator<Item = Pair<'i, Rule>>, before: Glue) {
        let mut glue = before;
        for pair in pairs {
            let (start, end) = (pair.as_span().start(), pair.as_span().end());
            match pair.as_rule() {
                Rule::operator | Rule::spaced_operator => {
                    self.whole(Glue::Space, &pair);
                    glue = Glue::Space;
                    continue;
                }
                Rule::paren | Rule::arguments => {
                    self.bracket(glue, start, start + 1, Bracket::Open);
                    self.depth += 1;
                    let (list, first) = (self.lists.len(), self.phrase.len());
                    let paren = pair.as_rule() == Rule::paren;
                    if paren {
                        self.value(pair.into_inner(), Glue::Tight);
                    } else {
                        self.list(&mut pair.into_inner().peekable(), Glue::Tight);
                    }
                    self.depth -= 1;
                    self.bracket(Glue::Tight, end - 1, end, Bracket::Close);
                    if !paren {
                        self.lists[list] = self.has_comments(first);
                    }
                }
                Rule::table => self.table(pair, glue),
                _ => self.whole(glue, &pair),
            }
            glue = Glue::Tight;
        }
    }

    fn table(&mut self, pair: Pair<'i, Rule>, before: Glue) {
        let (start, end) = (pair.as_span().start(), pair.as_span().end());
        let open = self.phrase.len();
        self.piece(before, start, start + 1);
        self.depth += 1;
        let mut widths: Vec<usize> = Vec::new();
        let mut cells: Vec<(usize, usize)> = Vec::new();
        let mut rows = 0;
        for row in pair.into_inner() {
            if rows > 0 {
                self.comma();
            }
            let (start, end) = (row.as_span().start(), row.as_span().end());
            self.piece(Glue::Row { first: rows == 0 }, start, start + 1);
            for (column, cell) in row.into_inner().enumerate() {
                if column > 0 {
                    self.comma();
                }
                cells.push((self.phrase.len(), column));
                self.whole(if column > 0 { Glue::Space } else { Glue::Tight }, &cell);
                let width = width(cell.as_str());
                match widths.get_mut(column) {
                    Some(widest) => *widest = width.max(*widest),
                    None => widths.push(width),
                }
            }
            self.piece(Glue::Tight, end - 1, end);
            rows += 1;
        }
        self.depth -= 1;
        self.bracket(Glue::EndOfTable, end - 1, end, Bracket::Close);
        for (piece, column) in cells {
            self.phrase[piece].pad = widths[column] - width(self.phrase[piece].text);
        }
        let broken = rows > ROWS_IN_LINE || self.has_comments(open + 1);
        self.phrase[open].bracket = Bracket::OpenTable(self.phrase.len() - 1, broken);
    }

    // ---- Onto the page ----

    fn new_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// Begins the line of a phrase or of a comment between phrases, with an empty one before it where that may be.
    fn begin(&mut self, empty: bool) {
        if !self.out.is_empty() {
            if empty && !self.after_open {
                self.out.push('\n');
            }
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', self.indent));
        self.after_open = false;
    }

    /// The comments between two phrases; `empty` keeps the empty lines.
    fn comments(&mut self, gap: &Gap<'i>, empty: bool) {
        for (at, comment) in gap.comments.iter().enumerate() {
            if at == 0 && comment.lines == 0 && !self.out.is_empty() {
                self.out.push(' ');
            } else {
                self.begin(empty && comment.lines > 1);
            }
            self.out.push_str(comment.text);
        }
    }

    /// Writes the pieces that were gathered.
    fn end_phrase(&mut self) {
        let phrase = std::mem::take(&mut self.phrase);
        let Some(first) = phrase.first() else { return };
        let brace = matches!(first.text, "{" | "}");
        self.comments(&first.gap, !brace);
        self.begin(first.gap.lines > 1 && !brace);
        let whole = self.indent + phrase.iter().map(Piece::width).sum::<usize>();
        let forced =
            |piece: &Piece<'_>| !piece.gap.comments.is_empty() || matches!(piece.bracket, Bracket::OpenTable(_, true));
        if whole <= WIDTH && !phrase.iter().skip(1).any(forced) {
            for piece in &phrase {
                self.out.push_str(piece.glue.flat());
                self.out.push_str(piece.text);
            }
        } else {
            self.broken(&phrase);
        }
        self.lists.clear();
        // The allocation is used again.
        self.phrase = phrase;
        self.phrase.clear();
    }

    /// A phrase that does not fit its line, or that has a comment or a long table in it.
    fn broken(&mut self, phrase: &[Piece<'i>]) {
        let mut line = self.indent;
        let mut column = self.indent;
        let mut frames = vec![Frame { inner: self.indent + CONTINUED, outer: self.indent, broken: false }];
        for (at, piece) in phrase.iter().enumerate() {
            let (inner, in_table) = frames.last().map_or((line, false), |frame| (frame.inner, frame.broken));
            let closed = if piece.bracket == Bracket::Close { frames.pop() } else { None };
            let begin = closed.as_ref().map_or(inner, |frame| frame.outer);
            let mut new_line = match piece.glue {
                Glue::Tight | Glue::Space => false,
                Glue::Item(list) => self.lists[list] || column + unit(&phrase[at..]) > WIDTH,
                Glue::Row { .. } => in_table,
                Glue::EndOfTable => closed.as_ref().is_some_and(|frame| frame.broken),
            };
            for (nth, comment) in piece.gap.comments.iter().enumerate().filter(|_| at > 0) {
                if nth == 0 && comment.lines == 0 {
                    self.out.push(' ');
                } else {
                    self.new_line(inner);
                }
                self.out.push_str(comment.text);
                new_line = true;
            }
            if new_line {
                self.new_line(begin);
                (line, column) = (begin, begin);
            } else {
                self.out.push_str(piece.glue.flat());
                column += piece.glue.flat().len();
            }
            if in_table {
                self.out.extend(std::iter::repeat_n(' ', piece.pad));
                column += piece.pad;
            }
            self.out.push_str(piece.text);
            column += width(piece.text);
            match piece.bracket {
                Bracket::None | Bracket::Close => {}
                Bracket::Open => frames.push(Frame { inner: line + CONTINUED, outer: line, broken: false }),
                Bracket::OpenTable(last, forced) => {
                    let rest: usize = phrase[at + 1..=last].iter().map(Piece::width).sum();
                    let broken = forced || column + rest > WIDTH;
                    frames.push(Frame { inner: line + ROW, outer: line, broken });
                }
            }
        }
    }
}

impl Glue {
    /// Where no line ends.
    fn flat(self) -> &'static str {
        match self {
            Glue::Tight | Glue::EndOfTable | Glue::Row { first: true } => "",
            Glue::Space | Glue::Item(_) | Glue::Row { first: false } => " ",
        }
    }
}

impl Piece<'_> {
    fn width(&self) -> usize {
        self.glue.flat().len() + width(self.text)
    }
}

/// Columns of the item at the start of `phrase`, up to where the next line could begin.
fn unit(phrase: &[Piece<'_>]) -> usize {
    let mut columns = 0;
    for (at, piece) in phrase.iter().enumerate() {
        let next_item = matches!(piece.glue, Glue::Item(_)) && piece.depth <= phrase[0].depth;
        if at > 0 && (next_item || !piece.gap.comments.is_empty()) {
            break;
        }
        columns += piece.width();
        // More is not asked for, and a long list is gone through once.
        if columns > WIDTH || matches!(piece.bracket, Bracket::OpenTable(_, true)) {
            break;
        }
    }
    columns
}

/// Columns of a word; of a text of several lines, those of its longest.
fn width(text: &str) -> usize {
    if text.is_ascii() && !text.contains('\n') {
        return text.len();
    }
    text.split('\n').map(|line| line.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
