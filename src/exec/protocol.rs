//! What controller and workers say to each other: an [`Order`] on the worker's standard input, and lines of
//! [`Message`]s on the pipe that is its standard output.

use super::filesets::Sets;
use super::trace::TraceOptions;
use crate::fileset::{Content, Device, Shape};
use crate::monitor::Scheduled;
use crate::plan::{Plan, RunPlan};
use crate::random;
use crate::record::Failure;
use rustix::fd::{AsFd, OwnedFd};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Longest line. A pipe keeps writes up to this size whole (PIPE_BUF), so lines of many workers do not mix.
const LINE: usize = 4096;

/// What a worker needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    /// The run; parameters are left out.
    pub(super) run: RunPlan,
    /// Which run of the workload, from 0.
    pub(super) number: u64,
    pub(super) seed: u64,
    pub(super) variables: Vec<random::Spec>,
    /// By place in the plan.
    pub(super) sets: Vec<SetOrder>,
    /// Of `--engine`.
    pub(super) engine: String,
    /// Byte offset of the counters in the region.
    pub(super) counters: usize,
    pub(super) trace: Option<TraceOptions>,
}

impl Order {
    /// For a run of a plan with these sets. `counters`: byte offset in the region.
    pub(super) fn new(plan: &Plan, sets: &Sets, run: RunPlan, engine: &str, counters: usize) -> Self {
        Order {
            number: 0,
            seed: plan.seed,
            variables: plan.variables.clone(),
            sets: sets.list.iter().map(|set| set.order.clone()).collect(),
            engine: engine.into(),
            trace: None,
            counters,
            run,
        }
    }
}

/// Where a file set is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SetOrder {
    pub(super) name: String,
    pub(super) root: PathBuf,
    pub(super) readonly: bool,
    pub(super) writeonly: bool,
    /// The block device that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<Device>,
    /// Byte offset of the pool in the region.
    pub(super) pool: usize,
    pub(super) content: Option<Content>,
    /// Files, directories, leaf directories, homes.
    pub(super) shape: [u32; 4],
}

impl SetOrder {
    pub(super) fn shape(&self) -> Shape {
        let [files, directories, leafdirs, homes] = self.shape;
        Shape { files, directories, leafdirs, homes }
    }
}

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    /// All threads of a process instance wait at the gate.
    Ready,
    /// A thread found nothing to do.
    RanDry { flowop: String, why: String },
    /// A thread reached its count.
    Finished { why: String },
    /// Something failed.
    Failed(Failure),
    /// A line of the workload's own.
    Said(String),
    /// Something to tell, which ends nothing.
    Warning(String),
    /// What a thread at its end has had of processors.
    Scheduled(Scheduled),
}

/// The worker's end of the pipe.
#[derive(Debug)]
pub(super) struct Messenger {
    pipe: OwnedFd,
}

impl Messenger {
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Messenger { pipe }
    }

    /// Sends a line. A controller that is gone is no reason to do anything: its end is the worker's.
    pub(super) fn send(&self, message: &Message) {
        let mut line = encode(message);
        if line.len() > LINE {
            line = encode(&shorten(message));
        }
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match rustix::io::write(self.pipe.as_fd(), rest) {
                Ok(n) => rest = &rest[n..],
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

fn encode(message: &Message) -> String {
    let mut line = serde_json::to_string(message).expect("messages are plain data");
    line.push('\n');
    line
}

/// A message whose texts fit a line.
fn shorten(message: &Message) -> Message {
    let cut = |text: &str| text.chars().take(200).collect::<String>();
    match message {
        Message::Ready => Message::Ready,
        Message::RanDry { flowop, why } => Message::RanDry { flowop: cut(flowop), why: cut(why) },
        Message::Finished { why } => Message::Finished { why: cut(why) },
        Message::Failed(f) => Message::Failed(Failure {
            process: cut(&f.process),
            thread: f.thread.as_deref().map(cut),
            flowop: f.flowop.as_deref().map(cut),
            errno: f.errno.clone(),
            message: cut(&f.message),
        }),
        Message::Said(text) => Message::Said(cut(text)),
        Message::Warning(text) => Message::Warning(cut(text)),
        Message::Scheduled(thread) => Message::Scheduled(*thread),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_fits_a_line_and_comes_back() {
        let long = "é\"\u{1}".repeat(5000);
        let failure = Failure {
            process: long.clone(),
            thread: Some(long.clone()),
            flowop: Some(long.clone()),
            errno: Some("EIO".into()),
            message: long.clone(),
        };
        for message in [Message::Ready, Message::Finished { why: long }, Message::Failed(failure)] {
            let line = encode(&shorten(&message));
            assert!(line.len() <= LINE, "{}", line.len());
            assert_eq!(serde_json::from_str::<Message>(&line).unwrap(), shorten(&message));
        }
    }
}
