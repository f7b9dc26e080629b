//! Files that a workload writes (`stats dump`, `log`): below the working directory, behind no link, and never over
//! something that is there. A workload is data from a stranger.

use super::exit;
use super::run::Failed;
use crate::plan::command::is_below;
use crate::plan::{Plan, Step};
use crate::record::RunRecord;
use crate::sys::describe;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What whoever is refused may do instead.
const INSTEAD: &str = "to write a report where you want it, give --out FORMAT=FILE";

/// Looks before the start whether all that the workload will write may be written.
pub(super) fn check(plan: &Plan) -> Result<(), Failed> {
    let mut refused = Vec::new();
    let mut missing = Vec::new();
    let (mut dumps, mut directories) = (BTreeSet::new(), BTreeSet::from([PathBuf::new()]));
    for step in &plan.steps {
        let (path, what) = match step {
            Step::Dump { path, format } => (path, format!("stats {format}")),
            Step::Directory(path) => (path, "stats directory".to_owned()),
            Step::Log { path, .. } => (path, "log".to_owned()),
            _ => continue,
        };
        let shown = path.display();
        if !is_below(path) {
            refused.push(format!("{what} would write to {shown}, outside the working directory"));
            continue;
        }
        if let Some(link) = link_on_the_way(path) {
            refused.push(format!("{what} would write to {shown} through the symbolic link {}", link.display()));
            continue;
        }
        let there = path.symlink_metadata().ok();
        match step {
            Step::Dump { .. } if there.is_some() => {
                refused.push(format!("{what} would write to {shown}, which exists"));
            }
            Step::Dump { .. } if !dumps.insert(path.clone()) => {
                refused.push(format!("{what} would write to {shown}, where another dump is by then"));
            }
            Step::Dump { .. } => {
                let above = path.parent().unwrap_or(Path::new(""));
                if !directories.contains(above) && !above.is_dir() {
                    missing.push(format!(
                        "{what} would write to {shown}, and the directory {} does not exist; 'stats directory' makes one",
                        above.display()
                    ));
                }
            }
            Step::Directory(_) if there.as_ref().is_some_and(|there| !there.is_dir()) => {
                refused.push(format!("{what} would make {shown}, where something else is"));
            }
            Step::Directory(_) => directories.extend(path.ancestors().map(Path::to_owned)),
            _ if there.as_ref().is_some_and(|there| !there.is_file()) => {
                refused.push(format!("{what} would write to {shown}, which is no plain file"));
            }
            _ => {}
        }
    }
    if !refused.is_empty() {
        return Err((exit::REFUSED, format!("{}; {INSTEAD}", refused.join("\n"))));
    }
    if !missing.is_empty() {
        return Err((exit::USAGE, missing.join("\n")));
    }
    Ok(())
}

/// The first symbolic link on a relative path, its last part included.
fn link_on_the_way(path: &Path) -> Option<PathBuf> {
    let mut at = PathBuf::new();
    path.components().find_map(|component| {
        at.push(component);
        at.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()).then(|| at.clone())
    })
}

/// Writes the files, and keeps what went wrong.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// In words.
    pub(super) failed: Vec<String>,
}

impl Files {
    /// A report into a new file.
    pub(super) fn dump(&mut self, format: &str, path: &Path, record: &RunRecord) {
        let text = crate::report::find(format).map(|def| (def.render)(record)).unwrap_or_default();
        self.write(path, OFlags::EXCL, &text);
    }

    /// A line at the end of a file.
    pub(super) fn log(&mut self, path: &Path, text: &str) {
        self.write(path, OFlags::APPEND, &format!("{text}\n"));
    }

    /// A directory, where it is not there.
    pub(super) fn directory(&mut self, path: &Path) {
        let made = walk(path, true);
        self.keep(path, made.map(drop));
    }

    fn write(&mut self, path: &Path, how: OFlags, text: &str) {
        let written = open(path, how).map_err(std::io::Error::from).and_then(|file| {
            let mut file = std::fs::File::from(file);
            file.write_all(text.as_bytes())
        });
        self.keep(path, written);
    }

    fn keep(&mut self, path: &Path, result: std::io::Result<()>) {
        if let Err(error) = result {
            self.failed.push(format!("{} cannot be written: {}", path.display(), describe(&error)));
        }
    }
}

/// Opens a file for writing; no part of its path may be a link, also where it was made one since the start.
fn open(path: &Path, how: OFlags) -> Result<OwnedFd, Errno> {
    let directory = walk(path.parent().unwrap_or(Path::new("")), false).map_err(|_| Errno::NOTDIR)?;
    let name = path.file_name().ok_or(Errno::ISDIR)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | how;
    openat(&directory, name, flags, Mode::from_raw_mode(0o666))
}

/// The directory of a relative path, step by step.
fn walk(path: &Path, make: bool) -> std::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(CWD, ".", flags, Mode::empty())?;
    for component in path.components() {
        let name = component.as_os_str();
        match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
            _ if !make => {}
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(at)
}
