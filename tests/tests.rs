//! All tests through the real binary, one module a file.

mod exact;
mod layers;
mod support;
mod workloads;
