//! All tests through the real binary, one module a file.

mod exact;
mod layers;
mod real;
mod signals;
mod support;
mod workloads;
