//! All tests through the real binary, one module a file.

// A skipped test says why.
#![allow(clippy::print_stdout)]

mod asserts;
mod cases;
mod choose;
mod clean;
mod cli;
mod cold;
mod content;
mod data;
mod devices;
mod docs;
mod exact;
mod fmt;
mod forms;
mod fuse_target;
mod fusefs;
mod fuzz;
mod kernel;
mod layers;
mod library;
mod many;
mod mix;
mod monitors;
mod names;
mod nfs;
mod openloop;
mod pacing;
mod plan;
mod properties;
mod real;
mod regressions;
mod session;
mod signals;
mod strace;
mod support;
mod sync;
mod texts;
mod trust;
mod workloads;
