//! All tests through the real binary, one module a file.

// A skipped test says why.
#![allow(clippy::print_stdout)]

mod cases;
mod cli;
mod docs;
mod exact;
mod fmt;
mod layers;
mod library;
mod real;
mod regressions;
mod signals;
mod support;
mod sync;
mod workloads;
