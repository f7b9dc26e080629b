//! wlrun runs declarative workload files (filebench's language and more) against real file systems.
//!
//! The modules in the order of the data flow; each uses only what stands above it in this list's layers
//! (`tests/layers.rs` holds the code to that):
//!
//! ```text
//! text ──► syntax ──► plan ──► exec ──► record ──► summary ──► report
//!           Ast       Plan      │       RunRecord   Summary     text, JSON, filebench
//!                               └──► Event ───────────────────► live (stderr)
//! ```

pub mod sys;

pub mod attribute;
pub mod diagnostic;
pub mod mounts;
pub mod source;
pub mod units;

pub mod engine;
pub mod fileset;
pub mod random;
pub mod syntax;

pub mod flowop;

pub mod event;
pub mod monitor;
pub mod record;

pub mod plan;
pub mod summary;

pub mod exec;
pub mod report;

pub mod cli;
