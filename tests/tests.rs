//! All tests through the real binary, one module a file.

mod cases;
mod docs;
mod support;
