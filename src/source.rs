//! Where a piece of workload text stands: the file and the bytes.
//!
//! A [`Span`] is two byte offsets. Line and column are worked out when something is shown, never stored. The texts of
//! one workload, the file and what it includes, share one space of offsets: [`Sources`] says which file an offset is in.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

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

    /// The span that lies `by` bytes further on.
    pub fn moved(self, by: usize) -> Span {
        Span { start: self.start + by, end: self.end + by }
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
    /// Where it was read; none for what came from no file. What it includes is looked for beside it.
    pub path: Option<PathBuf>,
    /// Where its text begins in the offsets of its [`Sources`].
    pub base: usize,
    /// Place in `text` of the first byte that was not UTF-8, where the text was taken for Latin-1.
    pub latin1: Option<usize>,
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
        SourceFile { name: name.into(), text, path: None, base: 0, latin1: None }
    }

    /// A source from the bytes of a file.
    ///
    /// What is not UTF-8 is taken for Latin-1 as Windows writes it (code page 1252), in which old workloads have their
    /// comments.
    ///
    /// # Errors
    ///
    /// In words that follow the file's name, where the bytes are no text.
    pub fn decode(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err("is UTF-16, and a workload is UTF-8: iconv -f UTF-16 -t UTF-8 makes one of the other".into());
        }
        let line = |at: usize| bytes[..at].iter().filter(|b| **b == b'\n').count() + 1;
        if let Some(at) = bytes.iter().position(|b| *b == 0) {
            return Err(format!("is no text: line {} has a NUL byte (byte {at})", line(at)));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(SourceFile::new(name, text)),
            Err(error) => {
                let odd = error.utf8_error().valid_up_to();
                let bytes = error.into_bytes();
                let control = |b: &u8| matches!(b, 0..=8 | 14..=31 | 127);
                if let Some(at) = bytes.iter().position(control) {
                    let line = bytes[..at].iter().filter(|b| **b == b'\n').count() + 1;
                    return Err(format!(
                        "is no text: it is not UTF-8 (byte {odd}), and line {line} has the control character 0x{:02x}",
                        bytes[at]
                    ));
                }
                let text = bytes.iter().map(|b| windows1252(*b)).collect::<String>();
                // What stands before the first odd byte is UTF-8; beyond ASCII it is longer now.
                let place = bytes[..odd].iter().map(|b| windows1252(*b).len_utf8()).sum();
                Ok(SourceFile { latin1: Some(place), ..SourceFile::new(name, text) })
            }
        }
    }

    /// The same source, read from this path.
    pub fn at(self, path: impl Into<PathBuf>) -> Self {
        SourceFile { path: Some(path.into()), ..self }
    }

    /// The directory of the file; none for what came from no file.
    pub fn directory(&self) -> Option<&Path> {
        self.path.as_deref().map(|path| path.parent().unwrap_or(Path::new("")))
    }

    /// The name without directories, brackets and suffix: `fileserver` of `<fileserver>` and of `/x/fileserver.wl`.
    pub fn stem(&self) -> String {
        let name = self.name.trim_start_matches('<').trim_end_matches('>');
        Path::new(name).file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// True for a text of wlrun's own language by its name: a file that ends in `.wl`, or an embedded personality. Any
    /// other may be one of filebench's.
    pub fn is_wl(&self) -> bool {
        self.name.ends_with(".wl") || self.name.starts_with('<') && self.path.is_none()
    }

    /// All of it.
    pub fn span(&self) -> Span {
        Span::new(self.base, self.base + self.text.len())
    }

    /// The place of the last thing that is written in it.
    pub fn last(&self) -> Span {
        let last = self.text.trim_end().char_indices().last();
        last.map_or(Span::new(self.base, self.base), |(at, c)| Span::new(at, at + c.len_utf8()).moved(self.base))
    }

    /// The text under a span; empty where the span does not fit the text.
    pub fn slice(&self, span: Span) -> &str {
        let local = |at: usize| at.checked_sub(self.base);
        local(span.start).zip(local(span.end)).and_then(|(start, end)| self.text.get(start..end)).unwrap_or("")
    }

    /// Bytes of the line that holds a byte offset.
    pub fn line_length(&self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        let offset = offset.saturating_sub(self.base).min(bytes.len());
        let before = bytes[..offset].iter().rev().take_while(|b| **b != b'\n').count();
        before + bytes[offset..].iter().take_while(|b| **b != b'\n').count()
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.saturating_sub(self.base).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (line, before[start..].chars().count() + 1)
    }
}

/// A byte of code page 1252 as a character; the five bytes that it leaves open are control characters.
fn windows1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

/// The texts of one workload in one space of offsets: the file that was named, then those that it includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// The sources of a workload that has one text.
    pub fn new(main: SourceFile) -> Self {
        Sources { files: vec![SourceFile { base: 0, ..main }] }
    }

    /// Adds a text behind the others; the result is its place among them.
    pub fn add(&mut self, file: SourceFile) -> usize {
        // A byte lies between, so that the end of one text is not the start of another.
        let base = self.files.last().map_or(0, |last| last.span().end + 1);
        self.files.push(SourceFile { base, ..file });
        self.files.len() - 1
    }

    /// The text that was named.
    pub fn main(&self) -> &SourceFile {
        &self.files[0]
    }

    /// All texts in the order in which they were added.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The place among the texts of the one that an offset is in.
    pub fn index(&self, offset: usize) -> usize {
        self.files.partition_point(|file| file.base <= offset).saturating_sub(1)
    }

    /// The text that an offset is in.
    pub fn file(&self, offset: usize) -> &SourceFile {
        &self.files[self.index(offset)]
    }

    /// The text under a span; empty where the span does not fit one text.
    pub fn slice(&self, span: Span) -> &str {
        self.file(span.start).slice(span)
    }

    /// `name:line:column` of an offset.
    pub fn place(&self, offset: usize) -> String {
        let file = self.file(offset);
        let (line, column) = file.line_column(offset);
        format!("{}:{line}:{column}", file.name)
    }
}

impl miette::SourceCode for Sources {
    fn read_span<'a>(
        &'a self,
        span: &miette::SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn miette::SpanContents<'a> + 'a>, miette::MietteError> {
        let file = self.file(span.offset());
        // A span that goes over the end of its text is refused: so miette learns that two places are in two texts.
        let local = (span.offset() - file.base, span.len()).into();
        let found = file.text.read_span(&local, before, after)?;
        let place = (found.span().offset() + file.base, found.span().len()).into();
        Ok(Box::new(miette::MietteSpanContents::new_named(
            file.name.clone(),
            found.data(),
            place,
            found.line(),
            found.column(),
            found.line_count(),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wlruns_own_by_its_name() {
        let own = |name: &str| SourceFile::new(name, "").is_wl();
        assert!(own("/x/a.wl") && own("<fileserver>"));
        assert!(!own("a.f") && !own("-") && !own("a.wl.f") && !own("wl"));
        assert!(!SourceFile::new("<a>", "").at("<a>").is_wl());
    }

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

    #[test]
    fn an_offset_says_its_file() {
        let mut sources = Sources::new(SourceFile::new("a", "run 1"));
        assert_eq!(sources.add(SourceFile::new("b", "")), 1);
        assert_eq!(sources.add(SourceFile::new("c", "x\nrun 2")), 2);
        let places: Vec<String> = [0, 5, 6, 7, 9, 99].iter().map(|at| sources.place(*at)).collect();
        assert_eq!(places, ["a:1:1", "a:1:6", "b:1:1", "c:1:1", "c:2:1", "c:2:6"]);
        assert_eq!(sources.slice(Span::new(9, 12)), "run");
        assert_eq!((sources.slice(Span::new(3, 8)), sources.slice(Span::new(9, 99))), ("", ""));
    }

    #[test]
    fn what_is_not_utf8_is_latin1_of_windows() {
        let file = SourceFile::decode("w", b"# \xc3\xa9 f\xfcr 5\x80\nrun 1".to_vec()).unwrap();
        assert_eq!(file.text, "# Ã© für 5€\nrun 1");
        assert_eq!(&file.text[file.latin1.unwrap()..][..2], "ü");
        let file = SourceFile::decode("w", "\u{feff}# é".into()).unwrap();
        assert_eq!((file.text.as_str(), file.latin1), ("# é", None));
    }

    #[test]
    fn what_is_no_text_is_refused_in_few_words() {
        for (bytes, words) in [
            (&b"run 1\n\0"[..], "line 2 has a NUL byte (byte 6)"),
            (b"set $x=1\n\x89PNG\x1a\xff", "control character 0x1a"),
            (b"\xff\xfer\0u\0n\0", "is UTF-16"),
            (b"\xfe\xff\0r\0u\0n", "iconv -f UTF-16 -t UTF-8"),
        ] {
            let why = SourceFile::decode("w", bytes.to_vec()).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
