//! Where a piece of workload text stands: the file and the bytes.
//!
//! A [`Span`] is two byte offsets. Line and column are worked out when something is shown, never stored.

use serde::{Deserialize, Serialize};

/// A half-open range of bytes of one [`SourceFile`].
///
/// ```text
/// define fileset name=fs1
/// ^     ^
/// start end        Span { start: 0, end: 6 }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset just past the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// The smallest span that holds both.
    pub fn merge(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Number of bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// True where the span marks a place between two bytes.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl From<Span> for miette::SourceSpan {
    fn from(span: Span) -> Self {
        (span.start, span.len()).into()
    }
}

/// A value and the text it came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spanned<T> {
    /// What was read.
    pub value: T,
    /// Where it was read.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Pairs a value with its place.
    pub fn new(value: T, span: Span) -> Self {
        Spanned { value, span }
    }

    /// Applies `f` to the value and keeps the place.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: f(self.value), span: self.span }
    }
}

/// One workload text with the name that messages give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as the user typed it, or `<name>` for an embedded personality.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl SourceFile {
    /// A source from a name and a text. A leading byte-order mark is dropped, so that offsets start at the first
    /// character a reader sees.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text: String = text.into();
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        SourceFile { name: name.into(), text }
    }

    /// The text under a span; empty where the span does not fit the text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// Bytes of the line that holds a byte offset.
    pub fn line_length(&self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        let offset = offset.min(bytes.len());
        let before = bytes[..offset].iter().rev().take_while(|b| **b != b'\n').count();
        before + bytes[offset..].iter().take_while(|b| **b != b'\n').count()
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (line, before[start..].chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_from_one() {
        let file = SourceFile::new("w", "é“x\nab");
        assert_eq!(file.line_column(0), (1, 1));
        assert_eq!(file.line_column(2), (1, 2));
        assert_eq!(file.line_column(5), (1, 3));
        assert_eq!(file.line_column(7), (2, 1));
        assert_eq!(file.line_column(99), (2, 3));
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        assert_eq!(SourceFile::new("w", "\u{feff}run 1").text, "run 1");
    }
}
