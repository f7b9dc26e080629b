//! `wlrun fmt`: one canonical layout.

use super::exit::{self, Exit};
use super::{colored, complain, library, print, say};
use crate::diagnostic::Diagnostics;
use crate::source::{SourceFile, Sources};
use crate::{plan, syntax};
use clap::{Args, ColorChoice};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

#[derive(Debug, Args)]
pub(super) struct FmtArgs {
    /// Workload files, which are rewritten in place; - is standard input, and goes to standard output
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Write nothing: list the files that would change, and exit with 1 where there are any
    #[arg(long)]
    check: bool,
    /// Rewrite forms of filebench 1.4 and 1.5 too, and write FILE with the suffix .wl beside it
    #[arg(long, conflicts_with = "check")]
    to_wl: bool,
    /// With --to-wl: write over a file that is there
    #[arg(long, requires = "to_wl")]
    force: bool,
    /// When to colour messages
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

/// Why a file was not done.
enum Refusal {
    /// It has mistakes, or is none; messages are shown.
    Mistakes(String),
    /// It would write over another file.
    Unsafe(String),
    /// It cannot be written.
    Failed(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Refusal::Failed(why)
    }
}

pub(super) fn run(args: &FmtArgs) -> Exit {
    let mut outcome = exit::OK;
    for name in &args.files {
        let of_this = match one(name, args) {
            Ok(exit) => exit,
            Err(Refusal::Mistakes(messages)) => {
                say(&messages);
                exit::USAGE
            }
            Err(Refusal::Unsafe(why)) => {
                complain(&why);
                exit::REFUSED
            }
            Err(Refusal::Failed(why)) => {
                complain(&why);
                exit::FAILED
            }
        };
        // The other files are done all the same.
        if of_this.0 > outcome.0 {
            outcome = of_this;
        }
    }
    outcome
}

fn one(name: &str, args: &FmtArgs) -> Result<Exit, Refusal> {
    let no_text = |why| Refusal::Mistakes(format!("error: {why}\n"));
    let bytes = library::raw(name).map_err(no_text)?;
    let file = library::decode(name, bytes.clone()).map_err(no_text)?;
    let laid = layout(&file, args)?;
    if file.latin1.is_some() {
        say(&format!("warning: {name} is not UTF-8: it is read as Latin-1 (Windows-1252), and written as UTF-8\n"));
    }
    let canonical = laid.as_bytes() == bytes;
    if args.check {
        if canonical {
            return Ok(exit::OK);
        }
        print(&format!("{name}\n"));
        return Ok(exit::FAILED);
    }
    if name == "-" {
        return Ok(print(&laid));
    }
    let path = Path::new(name);
    if args.to_wl {
        let target = path.with_extension("wl");
        let there = target.symlink_metadata().is_ok();
        if there && !args.force {
            let why = "is there already: --force writes over it, and - instead of a file writes to standard output";
            return Err(Refusal::Unsafe(format!("{} {why}", target.display())));
        }
        if there { replace(&target, &laid)? } else { create(&target, &laid, None)? }
    } else if !canonical {
        replace(path, &laid)?;
    }
    Ok(exit::OK)
}

/// The text as it is to be.
fn layout(file: &SourceFile, args: &FmtArgs) -> Result<String, Refusal> {
    let mut found = Diagnostics::new();
    let with_mistakes = |found: &Diagnostics, file: &SourceFile| {
        Refusal::Mistakes(found.render(&Sources::new(file.clone()), colored(args.color)))
    };
    if !args.to_wl {
        return syntax::format(file, &mut found).ok_or_else(|| with_mistakes(&found, file));
    }
    let ast = syntax::parse(file, &mut found);
    if found.has_errors() {
        return Err(with_mistakes(&found, file));
    }
    let rewritten = SourceFile::new(&*file.name, plan::to_wl(file, &ast, &library::Shelves::new(&[])));
    syntax::format(&rewritten, &mut found).ok_or_else(|| with_mistakes(&found, &rewritten))
}

/// Gives a file that is there another text, and keeps its mode and owner. A link stays one: what it leads to is
/// written.
fn replace(path: &Path, text: &str) -> Result<(), String> {
    let shown = path.display();
    let cannot = |error: io::Error| format!("{shown} cannot be written: {error}");
    let path = path.canonicalize().map_err(cannot)?;
    let there = path.metadata().map_err(cannot)?;
    if !there.is_file() {
        return Err(format!("{shown} is no regular file: - reads standard input and writes to standard output"));
    }
    // A new file would take one of the names only.
    if there.nlink() > 1 {
        let names = there.nlink();
        return Err(format!(
            "{shown} is one file with {names} names (hard links): fmt writes no such file; copy it first"
        ));
    }
    // The directory may let us replace what the file's mode protects.
    if there.permissions().readonly() {
        return Err(format!("{shown} is read-only: make it writable first (chmod u+w)"));
    }
    OpenOptions::new().write(true).open(&path).map_err(cannot)?;
    create(&path, text, Some(&there))
}

/// Writes a file under another name beside it, which takes the name when it is whole: nobody finds half of one.
fn create(path: &Path, text: &str, like: Option<&Metadata>) -> Result<(), String> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary)
        .map_err(|error| format!("{}: {} cannot be made: {error}", path.display(), temporary.display()))?;
    let written = fill(&mut file, text, like).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        format!("{} cannot be written: {error}", path.display())
    })
}

fn fill(file: &mut File, text: &str, like: Option<&Metadata>) -> io::Result<()> {
    if let Some(like) = like {
        let ours = file.metadata()?;
        if (ours.uid(), ours.gid()) != (like.uid(), like.gid()) {
            fchown(&*file, Some(like.uid()), Some(like.gid()))?;
        }
        file.set_permissions(like.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
