//! All tests through the real binary, one module a file.

mod docs;
mod support;
