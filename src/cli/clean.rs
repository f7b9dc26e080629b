//! `wlrun clean`: removes the trees that wlrun made below a directory, and nothing else.

use super::exit::{self, Exit};
use super::{complain, print, say};
use crate::fileset::{self, CreateError};
use crate::sys::describe;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

#[derive(Debug, Args)]
pub(super) struct CleanArgs {
    /// Where to look for trees that carry wlrun's mark; a tree itself will do
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Remove nothing; say what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: &CleanArgs) -> Exit {
    let mut exit = exit::OK;
    for directory in &args.directories {
        let worst = clean(directory, args.dry_run);
        // What was refused is still there, whatever else went wrong.
        exit = if exit == exit::REFUSED || worst == exit::OK { exit } else { worst };
    }
    exit
}

fn clean(directory: &Path, dry_run: bool) -> Exit {
    let Some(roots) = find(directory) else { return exit::USAGE };
    if roots.is_empty() {
        return print(&format!("nothing below {} carries wlrun's mark\n", directory.display()));
    }
    let mut exit = exit::OK;
    let word = if dry_run { "would remove" } else { "removed" };
    for root in roots {
        let shown = root.display();
        match fileset::clean(&root, dry_run, &AtomicBool::new(false)) {
            Ok(removed) => {
                let said = print(&format!("{word} {shown}: {} files and directories\n", removed.objects));
                if said != exit::OK {
                    return said;
                }
            }
            Err(error) => {
                complain(&error.to_string());
                if exit != exit::REFUSED {
                    exit = if matches!(error, CreateError::NotOurs { .. }) { exit::REFUSED } else { exit::FAILED };
                }
            }
        }
    }
    exit
}

/// The roots of the trees below a directory; none, and a word about it, where it cannot be looked at.
pub(super) fn find(directory: &Path) -> Option<Vec<PathBuf>> {
    match fileset::trees(directory) {
        Ok(trees) => {
            for (path, why) in trees.left_out {
                say(&format!("warning: {} is not looked into: {why}\n", path.display()));
            }
            Some(trees.roots)
        }
        Err(error) => {
            complain(&format!("{}: {}", directory.display(), describe(&error)));
            None
        }
    }
}
