//! Exit codes, each with its meaning. Scripts rely on them.

use std::process::ExitCode;

/// An exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit(pub u8);

/// A valid result.
pub const OK: Exit = Exit(0);
/// The run failed, or this machine or the target cannot do it.
pub const FAILED: Exit = Exit(1);
/// The command line or the workload is wrong; nothing was touched.
pub const USAGE: Exit = Exit(2);
/// Refused for safety.
pub const REFUSED: Exit = Exit(3);
/// The result is valid, and not what the workload asserts.
pub const NOT_HELD: Exit = Exit(4);

/// All codes for `wlrun list exit-codes`.
pub const EXIT_CODES: &[(&str, &str)] = &[
    ("0", "a valid result"),
    (
        "1",
        "the run failed, or this machine or the target cannot do it: an I/O error, no space, too few descriptors or threads, stuck, output that cannot be written; or fmt --check found a file in another layout",
    ),
    ("2", "a mistake on the command line or in the workload, or --dir does not exist; nothing was touched"),
    (
        "3",
        "refused for safety: a tree that wlrun did not make, a file set outside --dir, a device that is in use or not named by --destroy-data, system without leave, a file that fmt --to-wl would write over",
    ),
    ("4", "an assert of the workload does not hold; the result is valid"),
    ("128+n", "ended by signal n; the result so far was shown"),
];

impl Exit {
    /// Ended by a signal.
    pub fn signal(number: i32) -> Self {
        Exit(128u8.saturating_add(number as u8))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.0)
    }
}
