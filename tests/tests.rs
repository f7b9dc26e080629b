//! All tests through the real binary, one module a file.

// A skipped test says why.
#![allow(clippy::print_stdout)]

mod asserts;
mod cases;
mod choose;
mod cli;
mod cold;
mod content;
mod data;
mod docs;
mod exact;
mod fmt;
mod layers;
mod library;
mod mix;
mod names;
mod pacing;
mod real;
mod regressions;
mod session;
mod signals;
mod support;
mod sync;
mod texts;
mod workloads;
