//! A stream on stdout while the run goes on. A thread of its own writes it, so that a reader who stops reading does not
//! stop the controller.

use crate::event::Event;
use crate::record::RunRecord;
use crate::report::ndjson;
use std::io::{self, Write};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Writes what happens.
pub(super) struct Stream {
    sender: mpsc::Sender<String>,
    writer: JoinHandle<io::Result<()>>,
    /// Of the run that is on or comes next, from 1.
    number: usize,
    /// Intervals of it that are written.
    written: usize,
}

impl Stream {
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::channel::<String>();
        let writer = std::thread::spawn(move || {
            // What comes behind an error is dropped with the receiver.
            receiver.iter().try_for_each(|text| {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            })
        });
        Stream { sender, writer, number: 1, written: 0 }
    }

    pub(super) fn show(&mut self, event: &Event) {
        match event {
            Event::Counted { interval, flowops } => {
                self.send(ndjson::interval(self.number, interval, flowops));
                self.written += 1;
            }
            Event::Measured(run) => {
                self.send(ndjson::run(self.number, run, self.written));
                self.number += 1;
                self.written = 0;
            }
            _ => {}
        }
    }

    /// What is not yet written, and the end.
    ///
    /// # Errors
    ///
    /// The first of the system's while anything was written.
    pub(super) fn finish(mut self, record: &RunRecord) -> io::Result<()> {
        for run in record.runs.iter().skip(self.number - 1) {
            self.send(ndjson::run(self.number, run, self.written));
            self.number += 1;
            self.written = 0;
        }
        self.send(ndjson::end(record));
        drop(self.sender);
        self.writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn send(&self, text: String) {
        // The writer is gone only after an error, which is told at the end.
        let _ = self.sender.send(text);
    }
}
