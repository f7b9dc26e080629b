//! Where reports go: stdout in one form, and files in any.

use crate::record::RunRecord;
use crate::report::{RENDERERS, RendererDef};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A form of report.
pub(super) type Format = &'static RendererDef;

/// Forms that the design names and nobody has built.
const PLANNED: &[&str] = &["html"];

/// The form of that name.
pub(super) fn parse_format(name: &str) -> Result<Format, String> {
    if let Some(def) = crate::report::find(name) {
        return Ok(def);
    }
    if PLANNED.contains(&name) {
        return Err(format!("the format {name} is not supported yet"));
    }
    let names: Vec<&str> = RENDERERS.iter().map(|def| def.name).collect();
    Err(format!("expected {}", names.join(", ")))
}

/// `FORMAT=FILE` of `--out`.
pub(super) fn parse_out(text: &str) -> Result<(Format, PathBuf), String> {
    let (format, file) = text.split_once('=').ok_or("expected FORMAT=FILE, such as json=run.json")?;
    Ok((parse_format(format)?, parse_file(file)?))
}

/// The path of a file for a report.
pub(super) fn parse_file(path: &str) -> Result<PathBuf, String> {
    match path {
        "" => Err("expected a file".into()),
        "-" => Err("stdout has the report already; --format says in which form (./- is a file of that name)".into()),
        path => Ok(PathBuf::from(path)),
    }
}

/// What a path comes to, however it is written: two reports in one file would be one. None for a device or a pipe,
/// which takes any number.
pub(super) fn place(path: &Path) -> Option<(PathBuf, u64, u64)> {
    match path.metadata() {
        Ok(there) => there.is_file().then(|| (PathBuf::new(), there.dev(), there.ino())),
        Err(_) => {
            // A link that leads nowhere yet stands for where it leads.
            let target =
                path.read_link().map_or_else(|_| path.to_owned(), |target| path.with_file_name("").join(target));
            let above = match target.parent() {
                Some(above) if !above.as_os_str().is_empty() => above,
                _ => Path::new("."),
            };
            let above = above.canonicalize().unwrap_or_else(|_| above.to_owned());
            Some((above.join(target.file_name().unwrap_or_default()), 0, 0))
        }
    }
}

/// A file that will hold a report. It is opened before the run, so that a run is not lost to a mistyped path, and takes
/// its name when the report is whole, so that nobody reads half of one. A link, a device, or a file with several names
/// stays what it is and is written to.
#[derive(Debug)]
pub(super) struct Pending {
    format: Format,
    path: PathBuf,
    /// Beside the path; none where that is written to itself.
    temporary: Option<PathBuf>,
    file: fs::File,
}

impl Pending {
    pub(super) fn open(format: Format, path: &Path) -> io::Result<Self> {
        let there = path.symlink_metadata().ok();
        if there.as_ref().is_some_and(|there| !there.is_file() || there.nlink() > 1) {
            // A link that leads nowhere yet is followed too.
            let file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
            return Ok(Pending { format, path: path.to_owned(), temporary: None, file });
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        let file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        if let Some(there) = there {
            file.set_permissions(there.permissions())?;
        }
        Ok(Pending { format, path: path.to_owned(), temporary: Some(temporary), file })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn write(mut self, record: &RunRecord) -> io::Result<()> {
        if self.temporary.is_none() && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all((self.format.render)(record).as_bytes())?;
        if let Some(temporary) = &self.temporary {
            // Some file systems say only now that they are full, and a name without its content is worse than none.
            self.file.sync_all()?;
            fs::rename(temporary, &self.path)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}
