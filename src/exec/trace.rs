//! What each thread chose: flowop, file, offset and size of its first operations, for who asks for it.
//!
//! Each line has run, process, thread, number, flowop and what it does, between tabs. A thread keeps its lines and adds
//! them to the file in large pieces; a piece is one `write` to a file that is opened to append, so pieces of threads and
//! processes do not mix within a line.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Bytes that a thread keeps before it writes them.
const PIECE: usize = 64 << 10;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceOptions {
    /// The file, absolute; what it had is gone.
    pub path: PathBuf,
    /// So many of the first operations of each thread.
    pub operations: u64,
}

impl TraceOptions {
    /// Makes the file, empty.
    pub(super) fn create(&self) -> io::Result<()> {
        File::create(&self.path).map(drop)
    }
}

/// The lines of one thread.
pub(super) struct Trace {
    /// Run, process and thread, as each line begins.
    head: String,
    /// Of the flowops, by place.
    names: Vec<String>,
    most: u64,
    state: RefCell<State>,
}

struct State {
    file: File,
    noted: u64,
    lines: String,
    /// What became of the last piece.
    result: io::Result<()>,
}

impl Trace {
    pub(super) fn new(
        options: &TraceOptions,
        run: u64,
        process: &str,
        thread: &str,
        names: Vec<String>,
    ) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).open(&options.path)?;
        let state = State { file, noted: 0, lines: String::with_capacity(2 * PIECE), result: Ok(()) };
        let head = format!("{run}\t{process}\t{thread}");
        Ok(Trace { head, names, most: options.operations, state: RefCell::new(state) })
    }

    /// Notes an operation that is about to begin, unless there are enough.
    pub(super) fn note(&self, flowop: usize, what: impl FnOnce() -> String) {
        let mut state = self.state.borrow_mut();
        if state.noted < self.most {
            let (number, name) = (state.noted, &self.names[flowop]);
            let _ = writeln!(state.lines, "{}\t{number}\t{name}\t{}", self.head, what());
            state.noted += 1;
            if state.lines.len() >= PIECE || state.noted == self.most {
                state.flush();
            }
        }
    }

    /// Writes what is left; the first thing that could not be written.
    pub(super) fn finish(&self) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        state.flush();
        std::mem::replace(&mut state.result, Ok(()))
    }
}

impl State {
    fn flush(&mut self) {
        if self.result.is_ok() {
            self.result = self.file.write_all(self.lines.as_bytes());
        }
        self.lines.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_operations_are_written_whole() {
        let dir = tempfile::tempdir().unwrap();
        let options = TraceOptions { path: dir.path().join("trace"), operations: 2000 };
        options.create().unwrap();
        let trace = |thread: &str| Trace::new(&options, 3, "p-0", thread, vec!["a".into(), "b".into()]).unwrap();
        let (one, two) = (trace("t-0"), trace("t-1"));
        for n in 0..3000 {
            one.note(n % 2, || format!("read of {n} bytes, {}", "x".repeat(100)));
            two.note(0, || "stat".into());
        }
        one.finish().unwrap();
        two.finish().unwrap();
        let text = std::fs::read_to_string(&options.path).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(lines.len(), 4000);
        assert!(lines.iter().all(|line| line.len() == 6 && line[0] == "3" && line[1] == "p-0"));
        let of_one: Vec<_> = lines.iter().filter(|line| line[2] == "t-0").collect();
        assert!(of_one.iter().enumerate().all(|(n, line)| line[3] == n.to_string()
            && line[4] == ["a", "b"][n % 2]
            && line[5].starts_with(&format!("read of {n} bytes"))));
    }
}
