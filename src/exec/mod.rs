//! Plan to record: the controller, the worker processes, their threads.
//!
//! ```text
//! controller (tokio, one thread)          worker process            worker process
//!   order ── stdin ──────────────────────►  procflow                  procflow
//!   shared memory: gate, window, file       threadflow threadflow     threadflow ...
//!   sets, counters ◄──────────────────────────┘ read and written by all
//!   messages ◄── pipe ──────────────────────  ready, ran dry, failed
//! ```

mod control;
mod controller;
mod filesets;
mod limits;
mod points;
mod procflow;
mod protocol;
mod storage;
mod threadflow;
mod watch;

pub use controller::{ExecError, Options, Outcome, ProcessModel, objections, refusal, run};
pub use procflow::worker;

/// The hidden subcommand that makes our own binary a worker.
pub const WORKER: &str = "worker-process";
