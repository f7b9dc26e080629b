//! Where workloads come from: a file, or the library of personalities in the binary.

use crate::diagnostic::nearest_name;
use crate::source::SourceFile;
use std::path::Path;

/// The largest workload text that is read.
const LARGEST: u64 = 64 << 20;

/// A personality that ships in the binary.
#[derive(Debug)]
pub struct Personality {
    /// What `wlrun NAME` takes.
    pub name: &'static str,
    /// The file `workloads/NAME.wl`.
    pub text: &'static str,
}

impl Personality {
    /// What it models: the first line of the head comment.
    pub fn summary(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
        first.split_once(": ").map_or(first, |(_, summary)| summary)
    }
}

macro_rules! library {
    ($($name:literal)*) => {
        &[$(Personality { name: $name, text: include_str!(concat!("../../workloads/", $name, ".wl")) }),*]
    };
}

/// All of them, by name.
pub static LIBRARY: &[Personality] = library! {
    "copyfiles" "createfiles" "cvar_example" "filemicro_create" "filemicro_createfiles" "filemicro_createrand"
    "filemicro_delete" "filemicro_rread" "filemicro_rwrite" "filemicro_rwritedsync" "filemicro_rwritefsync"
    "filemicro_seqread" "filemicro_seqwrite" "filemicro_seqwriterand" "filemicro_seqwriterandvargam"
    "filemicro_seqwriterandvartab" "filemicro_statfile" "filemicro_writefsync" "fileserver" "fivestreamread"
    "fivestreamreaddirect" "fivestreamwrite" "fivestreamwritedirect" "listdirs" "makedirs" "mongo" "openfiles"
    "randomfileaccess" "randomread" "randomrw" "randomwrite" "ratelimcopyfiles" "removedirs" "singlestreamread"
    "singlestreamreaddirect" "singlestreamwrite" "singlestreamwritedirect" "varmail" "videoserver" "webproxy"
    "webserver"
};

/// Reads a file, or takes the personality of that name.
///
/// # Errors
///
/// In words, where there is neither, or the file is no text.
pub fn load(name: &str) -> Result<SourceFile, String> {
    if name != "-" && !Path::new(name).exists() {
        if let Some(found) = LIBRARY.iter().find(|personality| personality.name == name) {
            return Ok(SourceFile::new(format!("<{}>", found.name), found.text));
        }
        let near = nearest_name(name, LIBRARY.iter().map(|p| p.name));
        let hint = near.map(|near| format!("; did you mean the personality '{near}'?")).unwrap_or_default();
        return Err(format!("there is no file '{name}', and no personality of that name{hint}"));
    }
    read(name).map(|text| SourceFile::new(name, text))
}

/// Reads the text of a file; `-` is standard input.
///
/// # Errors
///
/// In words, where it cannot be read or is no text.
pub fn read(name: &str) -> Result<String, String> {
    // A dash is standard input, as everywhere.
    let path = Path::new(if name == "-" { "/dev/stdin" } else { name });
    let cannot = |error: std::io::Error| format!("{name} cannot be read: {error}");
    let metadata = path.metadata().map_err(cannot)?;
    if metadata.is_dir() {
        return Err(format!("{name} is a directory, not a workload"));
    }
    if metadata.len() > LARGEST {
        return Err(format!("{name} has {} bytes; a workload has at most {LARGEST}", metadata.len()));
    }
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(path).map_err(cannot)?;
    std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, LARGEST + 1), &mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("{name} has more than {LARGEST} bytes, which no workload has"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].iter().filter(|b| **b == b'\n').count() + 1;
            Err(format!("{name}: line {line} is not UTF-8 text (byte {valid})"))
        }
    }
}

/// The name of a personality for a message about one that is not there.
pub fn find(name: &str) -> Result<&'static Personality, String> {
    LIBRARY.iter().find(|personality| personality.name == name).ok_or_else(|| {
        let near = nearest_name(name, LIBRARY.iter().map(|p| p.name));
        let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
        format!("there is no personality '{name}'{hint}")
    })
}
