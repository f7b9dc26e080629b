//! All tests through the real binary, one module a file.

mod layers;
mod support;
mod workloads;
