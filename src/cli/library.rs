//! Where workloads come from: a file, or the library of personalities in the binary.

use crate::diagnostic::nearest_name;
use crate::source::SourceFile;
use crate::syntax::{Found, Library, Wanted};
use crate::sys::describe;
use std::path::{Path, PathBuf};

/// The largest workload text that is read.
const LARGEST: u64 = 64 << 20;
/// The largest one that another includes.
const LARGEST_INCLUDED: u64 = 16 << 20;

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
    "accessmix" "appendlog" "compflow_demo" "copyfiles" "createdelete-swing" "createfiles" "cvar_example"
    "filemicro_create" "filemicro_createfiles" "filemicro_createrand" "filemicro_delete" "filemicro_rread"
    "filemicro_rwrite" "filemicro_rwritedsync" "filemicro_rwritefsync" "filemicro_seqread" "filemicro_seqwrite"
    "filemicro_seqwriterand" "filemicro_seqwriterandvargam" "filemicro_seqwriterandvartab" "filemicro_statfile"
    "filemicro_writefsync" "fileserver" "fivestreamread" "fivestreamreaddirect" "fivestreamwrite"
    "fivestreamwritedirect" "listdirs" "makedirs" "metadata" "mongo" "netsfs" "networkfs" "oltp" "openfiles"
    "randomfileaccess" "randomread" "randomrw" "randomwrite" "ratelimcopyfiles" "removedirs" "singlestreamread"
    "singlestreamreaddirect" "singlestreamwrite" "singlestreamwritedirect" "sio" "smallfile" "streams" "tpcso"
    "varmail" "videoserver" "webproxy" "webserver"
};

/// Reads a file, or takes the personality of that name.
///
/// # Errors
///
/// In words, where there is neither, or the file is no text.
pub fn load(name: &str) -> Result<SourceFile, String> {
    let path = path_of(name);
    if name != "-" && !path.exists() {
        if let Some(found) = LIBRARY.iter().find(|personality| personality.name == name) {
            return Ok(embedded(found));
        }
        let near = nearest_name(name, LIBRARY.iter().map(|p| p.name));
        let hint = near.map(|near| format!("; did you mean the personality '{near}'?")).unwrap_or_default();
        return Err(format!("there is no file '{name}', and no personality of that name{hint}"));
    }
    decode(name, bytes(name, path, LARGEST)?)
}

/// Reads the bytes of a workload file.
///
/// # Errors
///
/// In words, where it cannot be read.
pub fn raw(name: &str) -> Result<Vec<u8>, String> {
    bytes(name, path_of(name), LARGEST)
}

/// The text of a file out of its bytes.
///
/// # Errors
///
/// In words, where they are no text.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<SourceFile, String> {
    // What comes from standard input includes what lies in the working directory.
    let file = SourceFile::decode(name, bytes).map_err(|why| format!("{name} {why}"))?;
    Ok(file.at(name))
}

/// A dash is standard input, as everywhere.
fn path_of(name: &str) -> &Path {
    Path::new(if name == "-" { "/dev/stdin" } else { name })
}

fn embedded(personality: &Personality) -> SourceFile {
    SourceFile::new(format!("<{}>", personality.name), personality.text)
}

fn bytes(name: &str, path: &Path, largest: u64) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("{name} cannot be read: {}", describe(&error));
    let metadata = path.metadata().map_err(cannot)?;
    if metadata.is_dir() {
        return Err(format!("{name} is a directory, not a workload"));
    }
    if metadata.len() > largest {
        return Err(format!("{name} has {} bytes; a workload has at most {largest}", metadata.len()));
    }
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(path).map_err(cannot)?;
    std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, largest + 1), &mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > largest {
        return Err(format!("{name} has more than {largest} bytes, which no workload has"));
    }
    Ok(bytes)
}

/// Where `include` and `load` look: beside the file, in the directories of the library, among the personalities.
#[derive(Debug, Clone, Default)]
pub struct Shelves {
    /// Of `--lib`, then of `WLRUN_LIB`.
    pub directories: Vec<PathBuf>,
}

impl Shelves {
    /// The directories of `--lib`, and behind them those of the environment.
    pub fn new(lib: &[PathBuf]) -> Self {
        let environment = std::env::var_os("WLRUN_LIB").unwrap_or_default();
        let environment = std::env::split_paths(&environment).filter(|path| !path.as_os_str().is_empty());
        Shelves { directories: lib.iter().cloned().chain(environment).collect() }
    }

    /// The directories that are looked through, in order.
    fn places(&self, wanted: Wanted, from: &SourceFile) -> Vec<PathBuf> {
        let mut places = Vec::new();
        if wanted == Wanted::Load {
            places.push(PathBuf::new());
        }
        places.extend(from.directory().map(Path::to_owned));
        places.extend(self.directories.iter().cloned());
        let mut seen = Vec::new();
        places.retain(|place| {
            !seen.contains(place) && {
                seen.push(place.clone());
                true
            }
        });
        places
    }
}

/// The names under which a text is looked for.
fn names(wanted: Wanted, name: &str) -> Vec<String> {
    match wanted {
        Wanted::Include => vec![name.to_owned()],
        Wanted::Load if name.ends_with(".f") || name.ends_with(".wl") => vec![name.to_owned()],
        Wanted::Load => vec![format!("{name}.f"), format!("{name}.wl")],
    }
}

/// A directory as a message shows it.
fn shown(place: &Path) -> String {
    if place.as_os_str().is_empty() { "the working directory".into() } else { place.display().to_string() }
}

/// The file of a folder whose name is near to `written`.
fn near_file(written: &Path, places: &[PathBuf]) -> Option<String> {
    let name = written.file_name()?.to_str()?;
    let mut known: Vec<(String, String)> = Vec::new();
    for place in places {
        let above = written.parent().unwrap_or(Path::new(""));
        let folder = place.join(above);
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        // A folder of very many files is not a library of workloads.
        for entry in std::fs::read_dir(folder).into_iter().flatten().take(1000).flatten() {
            let Ok(file) = entry.file_name().into_string() else { continue };
            if file.ends_with(".wl") || file.ends_with(".f") {
                known.push((above.join(&file).display().to_string(), file));
            }
        }
    }
    known.sort();
    let stem = |file: &str| file.trim_end_matches(".wl").trim_end_matches(".f").to_owned();
    let stems: Vec<String> = known.iter().map(|(_, file)| stem(file)).collect();
    let files = known.iter().map(|(_, file)| file.as_str());
    // Of the right name with another suffix, else a near name, else one whose suffix is another too.
    let at = stems
        .iter()
        .position(|other| *other == stem(name))
        .or_else(|| nearest_name(name, files.clone()).and_then(|near| files.clone().position(|file| file == near)))
        .or_else(|| {
            let near = nearest_name(name, stems.iter().map(String::as_str))?;
            stems.iter().position(|stem| stem == near)
        })?;
    Some(known[at].0.clone())
}

impl Library for Shelves {
    fn find(&self, wanted: Wanted, name: &str, from: &SourceFile) -> Result<Found, (String, String)> {
        let places = self.places(wanted, from);
        for place in &places {
            for name in names(wanted, name) {
                let path = place.join(name);
                let shown = path.display().to_string();
                let Ok(metadata) = path.metadata() else { continue };
                let advice = || "an included file is a regular file of at most 16 MiB, in UTF-8".to_owned();
                // A pipe or a device may have no end.
                if !metadata.is_file() && !metadata.is_dir() {
                    return Err((format!("{shown} is no regular file"), advice()));
                }
                let file = bytes(&shown, &path, LARGEST_INCLUDED).and_then(|bytes| decode(&shown, bytes));
                let file = file.map_err(|why| (why, advice()))?.at(&path);
                return Ok(Found { key: self.key(&file), file });
            }
        }
        let bare = name.strip_suffix(".wl").or(name.strip_suffix(".f")).unwrap_or(name);
        if let Some(personality) = LIBRARY.iter().find(|personality| personality.name == bare) {
            let file = embedded(personality);
            return Ok(Found { key: self.key(&file), file });
        }
        let looked: Vec<String> = places.iter().map(|place| shown(place)).collect();
        let places_text = match looked.as_slice() {
            [] => "among the personalities of wlrun".to_owned(),
            _ => format!("in {}, and among the personalities of wlrun", looked.join(", ")),
        };
        let near = near_file(Path::new(name), &places)
            .or_else(|| nearest_name(bare, LIBRARY.iter().map(|p| p.name)).map(str::to_owned))
            .map(|near| format!("did you mean '{near}'? "))
            .unwrap_or_default();
        let searched = match wanted {
            Wanted::Include => format!("{near}It was looked for {places_text}; --lib DIR adds a place"),
            Wanted::Load => {
                format!(
                    "{near}{} was looked for {places_text}; --lib DIR adds a place",
                    names(wanted, name).join(" or ")
                )
            }
        };
        Err((format!("there is no workload file '{name}'"), searched))
    }

    fn key(&self, file: &SourceFile) -> String {
        let path = file.path.as_ref().and_then(|path| path.canonicalize().ok());
        path.map_or_else(|| file.name.clone(), |path| path.to_string_lossy().into_owned())
    }
}
