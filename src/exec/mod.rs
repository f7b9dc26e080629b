//! Plan to record: the controller, the worker processes, their threads.
//!
//! ```text
//! controller (tokio, one thread)          worker process            worker process
//!   order ── stdin ──────────────────────►  procflow                  procflow
//!   shared memory: gate, window, file       threadflow threadflow     threadflow ...
//!   sets, counters ◄──────────────────────────┘ read and written by all
//!   messages ◄── pipe ──────────────────────  ready, ran dry, failed
//! ```

mod alone;
mod calibrate;
mod control;
mod controller;
pub mod devices;
mod filesets;
mod limits;
mod own;
mod pace;
mod points;
mod preview;
mod procflow;
mod protocol;
mod storage;
mod taps;
mod threadflow;
mod trace;
mod watch;

pub use controller::{ExecError, Options, Outcome, ProcessModel, objections, refusal, run, touches_files};
pub use limits::{Needs, Tasks};
pub use preview::{Preview, RunPreview, SetPreview, SharedPreview, SizesPreview, preview};
pub use procflow::worker;
pub use trace::TraceOptions;

/// The hidden subcommand that makes our own binary a worker.
pub const WORKER: &str = "worker-process";
