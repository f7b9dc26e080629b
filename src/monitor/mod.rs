//! Kernel counters beside a run: block devices, NFS, network, processors, memory, and how long the workers waited for a
//! processor.
//!
//! A monitor reads /proc and /sys and nothing else: a mount that hangs cannot hang it, and it adds nothing to what is
//! measured on the file system under test. One that cannot be read says why and fails nothing.

use crate::mounts::Mounts;
use crate::record::{Level, MonitorInterval, MonitorRecord};
use crate::sys::describe;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

mod cpu;
mod disk;
mod memory;
mod net;
mod nfs;
mod pressure;
mod rundelay;

pub use rundelay::Scheduled;

/// A source of figures.
pub struct MonitorDef {
    /// What the record calls it.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// All figures that it may have.
    pub figures: &'static [FigureDef],
    /// Opens what it reads.
    pub open: fn(&Site<'_>) -> Opened,
}

/// A figure of a source.
#[derive(Debug)]
pub struct FigureDef {
    /// With its unit; none for a number of things.
    pub name: &'static str,
    /// See [`Kind`].
    pub kind: Kind,
    /// One line for people.
    pub help: &'static str,
}

/// How a figure behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only rises: the record has how much.
    Counter,
    /// Goes up and down: the record has it at the start, at the end, and the largest that was seen.
    Level,
    /// Does not change within a run.
    Fact,
}

const fn counter(name: &'static str, help: &'static str) -> FigureDef {
    FigureDef { name, kind: Kind::Counter, help }
}

const fn level(name: &'static str, help: &'static str) -> FigureDef {
    FigureDef { name, kind: Kind::Level, help }
}

const fn fact(name: &'static str, help: &'static str) -> FigureDef {
    FigureDef { name, kind: Kind::Fact, help }
}

/// In the order of the record.
pub static MONITORS: &[&MonitorDef] =
    &[&disk::DEF, &nfs::DEF, &net::DEF, &cpu::DEF, &pressure::DEF, &memory::DEF, &rundelay::DEF];

/// Those that say what storage does.
const STORAGE: [&str; 2] = [disk::DEF.name, nfs::DEF.name];

/// What is to be watched.
#[derive(Debug)]
pub struct Site<'a> {
    /// `/`; another directory in tests.
    pub root: &'a Path,
    /// Where the file sets lie: absolute paths without symbolic links. They are compared with mount points and never
    /// opened. Empty where no files are used.
    pub targets: &'a [PathBuf],
    /// Of the workers.
    pub pids: &'a [u32],
}

impl Site<'_> {
    fn mounts(&self) -> Result<Mounts, String> {
        Mounts::read(self.root).map_err(|error| format!("/proc/self/mountinfo cannot be read: {}", describe(&error)))
    }
}

/// Sources of a kind, each of which is read or missing by itself.
pub struct Opened(Vec<Result<Box<dyn Source>, Missing>>);

impl Opened {
    /// The only one of its kind.
    fn one<S: Source + 'static>(source: Result<S, String>) -> Self {
        let boxed = |source| -> Box<dyn Source> { Box::new(source) };
        Opened(vec![source.map(boxed).map_err(|why| Missing { of: None, why })])
    }
}

/// What is not there, and why.
#[derive(Debug, Clone, PartialEq)]
struct Missing {
    of: Option<String>,
    why: String,
}

/// Something that is read again and again.
trait Source: std::fmt::Debug + Send {
    /// The figures of this moment.
    ///
    /// # Errors
    ///
    /// Why there are none, in words.
    fn read(&mut self, moment: Moment) -> Result<Vec<Row>, String>;

    /// Takes what a thread of a worker said of itself at its end. The figures with it, where it concerns them.
    fn ended(&mut self, _: &Scheduled) -> Option<Vec<Row>> {
        None
    }
}

/// Why a source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The window begins or ends.
    Edge,
    /// An interval ends: what is dear is left out.
    Interval,
}

/// What a source says of one thing at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
struct Row {
    of: Option<String>,
    operation: Option<String>,
    upper_bound: Option<String>,
    /// Left out of the record where none of its counters rose: one of many things that a machine has.
    optional: bool,
    /// By their names in the list of figures; one that the kernel does not show is left out.
    figures: Vec<(&'static str, u64)>,
}

impl Row {
    fn new(figures: Vec<(&'static str, u64)>) -> Self {
        Row { figures, ..Row::default() }
    }

    fn is_of(&self, other: &Row) -> bool {
        (&self.of, &self.operation) == (&other.of, &other.operation)
    }

    fn figure(&self, name: &str) -> Option<u64> {
        self.figures.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }
}

/// All figures at one moment: the rows of each source that could be read, in the order of the sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading(Vec<Vec<Row>>);

/// One source and what became of it.
#[derive(Debug)]
struct Tracked {
    def: &'static MonitorDef,
    source: Option<Box<dyn Source>>,
    /// Why it is not read, or not any more.
    missing: Option<Missing>,
}

/// The monitors of one run or session.
#[derive(Debug, Default)]
pub struct Monitors {
    sources: Vec<Tracked>,
    begun: bool,
    ended: bool,
    first: Reading,
    last: Reading,
    /// The levels' largest.
    peak: Reading,
}

impl std::fmt::Debug for MonitorDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MonitorDef").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Monitors {
    /// Opens all sources of the list.
    pub fn open(site: &Site<'_>) -> Self {
        let of = |def: &'static MonitorDef| {
            (def.open)(site).0.into_iter().map(move |opened| match opened {
                Ok(source) => Tracked { def, source: Some(source), missing: None },
                Err(missing) => Tracked { def, source: None, missing: Some(missing) },
            })
        };
        Monitors { sources: MONITORS.iter().flat_map(|def| of(def)).collect(), ..Monitors::default() }
    }

    /// Those sources that say what storage does, as far as they can be read.
    pub fn of_storage(site: &Site<'_>) -> Self {
        let mut all = Monitors::open(site);
        all.sources.retain(|tracked| STORAGE.contains(&tracked.def.name) && tracked.source.is_some());
        all
    }

    /// True where there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The window begins.
    pub fn begin(&mut self) {
        self.first = self.read(Moment::Edge, &Reading::default());
        self.last = self.first.clone();
        self.peak = self.first.clone();
        (self.begun, self.ended) = (true, false);
    }

    /// An interval of the window ends.
    pub fn look(&mut self) {
        self.take(Moment::Interval);
    }

    /// What a snapshot says is as exact as what the end says.
    pub fn look_closely(&mut self) {
        self.take(Moment::Edge);
    }

    /// The window ends: what happens behind it belongs to no run. Only the first call has an effect.
    pub fn end(&mut self) {
        self.take(Moment::Edge);
        self.ended = true;
    }

    /// The window begins later.
    pub fn wait(&mut self) {
        *self = Monitors { sources: std::mem::take(&mut self.sources), ..Monitors::default() };
    }

    /// A thread of a worker has ended, and says how long it waited for a processor.
    pub fn thread_ended(&mut self, thread: &Scheduled) {
        for (tracked, last) in self.sources.iter_mut().zip(&mut self.last.0) {
            if let Some(rows) = tracked.source.as_mut().and_then(|source| source.ended(thread)) {
                *last = rows;
            }
        }
    }

    /// What was read last.
    pub fn last(&self) -> &Reading {
        &self.last
    }

    fn take(&mut self, moment: Moment) {
        if !self.begun || self.ended {
            return;
        }
        let before = std::mem::take(&mut self.last);
        self.last = self.read(moment, &before);
        for (peak, now) in self.peak.0.iter_mut().zip(&self.last.0) {
            for row in peak {
                let Some(now) = now.iter().find(|now| now.is_of(row)) else { continue };
                for (name, value) in &mut row.figures {
                    *value = (*value).max(now.figure(name).unwrap_or(0));
                }
            }
        }
    }

    /// A source that breaks keeps what it said last.
    fn read(&mut self, moment: Moment, before: &Reading) -> Reading {
        let read = |(at, tracked): (usize, &mut Tracked)| {
            let before = || before.0.get(at).cloned().unwrap_or_default();
            let Some(source) = &mut tracked.source else { return before() };
            source.read(moment).unwrap_or_else(|why| {
                let before = before();
                tracked.missing = Some(Missing { of: before.first().and_then(|row| row.of.clone()), why });
                tracked.source = None;
                before
            })
        };
        Reading(self.sources.iter_mut().enumerate().map(read).collect())
    }

    /// What changed from the beginning of the window to the last look. Empty where it did not begin.
    pub fn record(&self) -> Vec<MonitorRecord> {
        let mut found = Vec::new();
        if !self.begun {
            return found;
        }
        for (at, tracked) in self.sources.iter().enumerate() {
            let rows = |reading: &'_ Reading| reading.0.get(at).cloned().unwrap_or_default();
            let (first, last, peak) = (rows(&self.first), rows(&self.last), rows(&self.peak));
            for row in first {
                let of_row = |rows: &[Row]| rows.iter().find(|other| other.is_of(&row)).cloned();
                let Some(last) = of_row(&last) else { continue };
                let peak = of_row(&peak).unwrap_or_default();
                let record = tracked.def.record(&row, &last, &peak);
                if !(row.optional && record.counters.values().all(|rise| *rise == 0)) {
                    found.push(record);
                }
            }
            found.extend(tracked.missing.iter().map(|missing| MonitorRecord {
                monitor: tracked.def.name.into(),
                of: missing.of.clone(),
                missing: Some(missing.why.clone()),
                ..MonitorRecord::default()
            }));
        }
        found
    }

    /// What changed between two readings of these monitors.
    pub fn between(&self, before: &Reading, after: &Reading) -> Vec<MonitorInterval> {
        let mut found = Vec::new();
        for (tracked, (before, after)) in self.sources.iter().zip(before.0.iter().zip(&after.0)) {
            for row in before {
                let Some(after) = after.iter().find(|after| after.is_of(row)) else { continue };
                found.extend(tracked.def.interval(row, after));
            }
        }
        found
    }
}

impl MonitorDef {
    fn record(&self, first: &Row, last: &Row, peak: &Row) -> MonitorRecord {
        let mut record = MonitorRecord {
            monitor: self.name.into(),
            of: first.of.clone(),
            operation: first.operation.clone(),
            upper_bound: first.upper_bound.clone(),
            ..MonitorRecord::default()
        };
        for def in self.figures {
            let (Some(start), Some(end)) = (first.figure(def.name), last.figure(def.name)) else { continue };
            let name = def.name.to_owned();
            match def.kind {
                Kind::Counter => drop(record.counters.insert(name, end.saturating_sub(start))),
                Kind::Level => {
                    let max = peak.figure(def.name).unwrap_or(0).max(end);
                    record.levels.insert(name, Level { start, end, max });
                }
                Kind::Fact => drop(record.facts.insert(name, end)),
            }
        }
        record
    }

    /// None where nothing changed.
    fn interval(&self, before: &Row, after: &Row) -> Option<MonitorInterval> {
        let (mut counters, mut levels) = (BTreeMap::new(), BTreeMap::new());
        for def in self.figures {
            let (Some(start), Some(end)) = (before.figure(def.name), after.figure(def.name)) else { continue };
            match def.kind {
                Kind::Counter if end > start => drop(counters.insert(def.name.to_owned(), end - start)),
                Kind::Level => drop(levels.insert(def.name.to_owned(), end)),
                Kind::Counter | Kind::Fact => {}
            }
        }
        (!counters.is_empty() || !levels.is_empty()).then(|| MonitorInterval {
            monitor: self.name.into(),
            of: before.of.clone(),
            operation: before.operation.clone(),
            counters,
            levels,
        })
    }
}

/// A file of /proc or /sys that is opened once and read again and again.
#[derive(Debug)]
struct KernelFile {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
}

impl KernelFile {
    /// # Errors
    ///
    /// In words.
    fn open(path: PathBuf) -> Result<Self, String> {
        let file =
            File::open(&path).map_err(|error| format!("{} cannot be read: {}", path.display(), describe(&error)))?;
        let mut opened = KernelFile { path, file, buffer: vec![0; 4096] };
        // Some say only when they are read that they are switched off (/proc/pressure).
        opened.text()?;
        Ok(opened)
    }

    /// The whole text of this moment. The kernel gives a page or so at a time.
    ///
    /// # Errors
    ///
    /// In words.
    fn text(&mut self) -> Result<std::borrow::Cow<'_, str>, String> {
        let mut length = 0;
        loop {
            if length == self.buffer.len() {
                self.buffer.resize(2 * length, 0);
            }
            match self.file.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) => return Ok(String::from_utf8_lossy(&self.buffer[..length])),
                Ok(n) => length += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("{} cannot be read: {}", self.path.display(), describe(&error))),
            }
        }
    }

    /// That its text is not what it is known for.
    fn strange(&self) -> String {
        format!("{} has another form than is known", self.path.display())
    }
}

/// A number that stands alone in a file; none where it is not there.
fn number_in(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The numbers of a line, separated by blanks; words that are none are left out.
fn numbers(text: &str) -> Vec<u64> {
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Names in the order of a line's numbers, as far as the line goes: older kernels have fewer.
fn named(names: &[&'static str], numbers: &[u64], unit: u64) -> Vec<(&'static str, u64)> {
    names.iter().copied().zip(numbers.iter().map(|n| n.saturating_mul(unit))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Scripted(Vec<Result<Vec<Row>, String>>);

    impl Source for Scripted {
        fn read(&mut self, _: Moment) -> Result<Vec<Row>, String> {
            self.0.remove(0)
        }
    }

    static DEF: MonitorDef = MonitorDef {
        name: "test",
        summary: "",
        figures: &[counter("ops", ""), level("depth", ""), fact("speed", "")],
        open: |_| Opened(Vec::new()),
    };

    fn row(of: &str, ops: u64, depth: u64) -> Row {
        Row { of: Some(of.into()), ..Row::new(vec![("ops", ops), ("depth", depth), ("speed", 9)]) }
    }

    fn monitors(script: Vec<Result<Vec<Row>, String>>) -> Monitors {
        let source: Box<dyn Source> = Box::new(Scripted(script));
        let sources = vec![Tracked { def: &DEF, source: Some(source), missing: None }];
        Monitors { sources, ..Monitors::default() }
    }

    #[test]
    fn a_window_has_rises_and_the_largest_level_and_nothing_behind_its_end() {
        let quiet = |ops| Row { optional: true, ..row("quiet", ops, 0) };
        let mut monitors = monitors(vec![
            Ok(vec![row("a", 10, 3), quiet(7)]),
            Ok(vec![row("a", 15, 8), quiet(7)]),
            Ok(vec![row("a", 15, 2), quiet(7)]),
        ]);
        monitors.look();
        assert!(monitors.record().is_empty(), "before the window");
        monitors.begin();
        let first = monitors.last().clone();
        monitors.look();
        let second = monitors.last().clone();
        monitors.end();
        monitors.look();
        monitors.end();
        let record = monitors.record();
        assert_eq!(record.len(), 1, "what is optional and quiet is left out: {record:?}");
        assert_eq!(record[0].counters, [("ops".to_owned(), 5)].into());
        assert_eq!(record[0].levels, [("depth".to_owned(), Level { start: 3, end: 2, max: 8 })].into());
        assert_eq!(record[0].facts, [("speed".to_owned(), 9)].into());
        let intervals = [monitors.between(&first, &second), monitors.between(&second, monitors.last())];
        assert_eq!(intervals[0][0].counters, [("ops".to_owned(), 5)].into());
        assert_eq!(intervals[0][0].levels, [("depth".to_owned(), 8)].into());
        assert!(intervals[1][0].counters.is_empty(), "it did not rise");
    }

    #[test]
    fn a_source_that_breaks_keeps_what_it_said_and_says_why_it_broke() {
        let mut monitors = monitors(vec![Ok(vec![row("a", 10, 0)]), Ok(vec![row("a", 30, 0)]), Err("gone".into())]);
        monitors.begin();
        monitors.look();
        monitors.look();
        monitors.end();
        let record = monitors.record();
        assert_eq!(record[0].counter("ops"), Some(20));
        assert_eq!((record[1].of.as_deref(), record[1].missing.as_deref()), (Some("a"), Some("gone")));
    }

    #[test]
    fn where_nothing_can_be_read_each_monitor_says_so() {
        let nowhere = tempfile::tempdir().unwrap();
        let site = Site { root: nowhere.path(), targets: &["/".into()], pids: &[1] };
        let mut monitors = Monitors::open(&site);
        monitors.begin();
        monitors.end();
        let record = monitors.record();
        for def in MONITORS {
            let mut of_def = record.iter().filter(|record| record.monitor == def.name).peekable();
            assert!(of_def.peek().is_some(), "{} says nothing", def.name);
            for record in of_def {
                assert!(record.missing.is_some() && record.counters.is_empty(), "{record:?}");
            }
        }
    }

    #[test]
    fn this_machine_shows_figures_that_are_in_the_list() {
        let site = Site { root: Path::new("/"), targets: &["/".into()], pids: &[std::process::id()] };
        let mut monitors = Monitors::open(&site);
        monitors.begin();
        for (tracked, rows) in monitors.sources.iter().zip(&monitors.last.0) {
            for (name, _) in rows.iter().flat_map(|row| &row.figures) {
                assert!(tracked.def.figures.iter().any(|def| def.name == *name), "{} {name}", tracked.def.name);
            }
        }
        let cpu = monitors.record().into_iter().find(|record| record.monitor == "cpu").unwrap();
        assert!(cpu.missing.is_none() && cpu.facts["cpus"] > 0);
    }

    #[test]
    fn a_text_longer_than_a_page_is_read_whole_each_time() {
        let mut file = KernelFile::open("/proc/vmstat".into()).unwrap();
        for _ in 0..2 {
            let text = file.text().unwrap();
            assert!(text.starts_with("nr_free_pages ") && text.ends_with('\n'));
            assert_eq!(text.lines().count(), std::fs::read_to_string("/proc/vmstat").unwrap().lines().count());
        }
    }
}
