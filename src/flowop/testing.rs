//! A place to try one flowop: a file set on the engine `fake`, a thread, and a run that says what the test says.

use super::{Broken, Build, End, Flowop, Moved, OpenSet, OwnIo, Posted, RunState, Taken, Thread, Turn};
use crate::attribute::{self, Attributes, Value, VariableId};
use crate::engine::Clock;
use crate::fileset::layout::NoVariables;
use crate::fileset::pool::{Pool, Shape};
use crate::fileset::{Content, Draw, Layout, PathBuffer, Presence, Spec};
use crate::random;
use crate::random::stream::Seed;
use crate::source::{Span, Spanned};
use crate::sys::Region;
use rustix::fs::OFlags;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Of a submitted operation: the flowop's place, start, end, result.
pub(super) type Completion = (usize, u64, u64, Result<Moved, Broken>);

/// Answers of a run. Nobody else is in it: a wait that does not end at once lasts until the run is over.
#[derive(Debug)]
pub(super) struct TestRun {
    pub(super) flowop: (u64, Moved),
    pub(super) own: OwnIo,
    pub(super) all: (u64, u64),
    /// Nanoseconds for each event.
    pub(super) event_ns: Option<u64>,
    /// Posts and room of two wait points: a flowop waits at the first, and acts on both.
    pub(super) points: RefCell<Vec<(u32, u32)>>,
    pub(super) said: RefCell<Vec<String>>,
    /// Submitted operations that are complete.
    pub(super) completed: RefCell<Vec<Completion>>,
    /// What ends later is not counted.
    pub(super) end_ns: u64,
}

impl Default for TestRun {
    fn default() -> Self {
        TestRun {
            flowop: Default::default(),
            own: OwnIo::default(),
            all: (0, 0),
            event_ns: None,
            points: RefCell::new(vec![(0, 0); 2]),
            said: RefCell::default(),
            completed: RefCell::default(),
            end_ns: u64::MAX,
        }
    }
}

impl RunState for TestRun {
    fn is_over(&self, _: &Clock) -> bool {
        false
    }
    fn pause(&self, clock: &Clock, until: u64) -> bool {
        clock.advance(until.saturating_sub(clock.now()));
        true
    }
    fn take_posts(&self, _: &Clock, point: u32, count: u32) -> bool {
        let (posts, _) = &mut self.points.borrow_mut()[point as usize];
        let left = posts.checked_sub(count);
        *posts = left.unwrap_or(*posts);
        left.is_some()
    }
    fn make_room(&self, point: u32, count: u32) {
        self.points.borrow_mut()[point as usize].1 += count;
    }
    fn post(&self, _: &Clock, point: u32, count: u32, bounded: bool) -> Posted {
        let (posts, room) = &mut self.points.borrow_mut()[point as usize];
        let Some(sum) = posts.checked_add(count) else { return Posted::TooMany };
        let Some(rest) = room.checked_sub(if bounded { count } else { 0 }) else { return Posted::Over };
        (*posts, *room) = (sum, rest);
        Posted::Done
    }
    fn say(&self, text: &str) {
        self.said.borrow_mut().push(text.to_owned());
    }
    fn take_events(&self, clock: &Clock, count: u64) -> Option<Taken> {
        self.event_ns.map(|ns| Taken { count, from: clock.now() + ns * count, rate: 0, dropped: 0 })
    }
    fn await_events(&self, clock: &Clock, taken: Taken) -> Option<u64> {
        self.pause(clock, taken.from).then_some(taken.from)
    }
    fn flowop(&self, _: usize) -> (u64, Moved) {
        self.flowop
    }
    fn flowop_since_gate(&self, _: usize) -> (u64, Moved) {
        self.flowop
    }
    fn record_completion(
        &self,
        index: usize,
        _: Option<u64>,
        start: u64,
        end: u64,
        result: &Result<Moved, Broken>,
    ) -> bool {
        let within = end <= self.end_ns;
        if within {
            self.completed.borrow_mut().push((index, start, end, *result));
        }
        within
    }
    fn own_io(&self) -> OwnIo {
        self.own
    }
    fn all_io(&self) -> (u64, u64) {
        self.all
    }
}

/// Two file sets, `fs` and `other`, of equal files.
pub(super) struct Bench {
    sets: Vec<OpenSet<'static>>,
    pub(super) run: TestRun,
    /// What `$0`, `$1`, ... stand for in the attributes of a flowop.
    pub(super) variables: Vec<random::Spec>,
    script: String,
}

impl Bench {
    /// `files` files of 8 KiB, the first `existing` of which exist.
    pub(super) fn new(files: u64, existing: usize) -> Self {
        Bench::make(files, 0, existing, 8192, "")
    }

    /// No files, and so many leaf directories, none of which exists.
    pub(super) fn with_leafdirs(leafdirs: u64, script: &str) -> Self {
        Bench::make(0, leafdirs, 0, 0, script)
    }

    pub(super) fn sized(files: u64, existing: usize, size: u64) -> Self {
        Bench::make(files, 0, existing, size, "")
    }

    pub(super) fn with_script(files: u64, existing: usize, script: &str) -> Self {
        Bench::make(files, 0, existing, 8192, script)
    }

    fn make(files: u64, leafdirs: u64, existing: usize, size: u64, script: &str) -> Self {
        let sets = ["fs", "other"]
            .map(|name| {
                let spec = Spec {
                    name: name.into(),
                    path: "/nowhere".into(),
                    entries: files,
                    leafdirs,
                    width: Draw::Fixed(1000.0),
                    dir_gamma: 0.0,
                    depth: None,
                    size: Draw::Fixed(size as f64),
                    prealloc_percent: 0,
                    single: false,
                    reuse: false,
                    trusttree: false,
                    readonly: false,
                    writeonly: false,
                    sizeless: false,
                    device: None,
                    content: None,
                };
                let layout = Layout::plan(&spec, Seed::root(1), &mut NoVariables).unwrap();
                let shape = Shape::of(&layout);
                // A test's memory is the process's: leaked, so that the sets may borrow it for ever.
                let region: &'static Region = Box::leak(Box::new(Region::create(Pool::bytes(shape)).unwrap()));
                let pool = Pool::attach(region, 0, shape);
                let files = (0..files as usize).map(|at| at < existing).collect();
                pool.fill(&layout, &Presence { files, leafdirs: vec![false; leafdirs as usize] });
                OpenSet {
                    name: name.to_owned(),
                    pool,
                    root: None,
                    path: PathBuf::new(),
                    device: None,
                    access: OFlags::RDWR,
                    content: None,
                }
            })
            .into();
        Bench { sets, run: TestRun::default(), variables: Vec::new(), script: script.to_owned() }
    }

    /// Says how the data of the set `fs` compresses and repeats.
    pub(super) fn with_content(mut self, content: Content) -> Self {
        self.sets[0].content = Some(content);
        self
    }

    pub(super) fn thread(&self) -> Thread<'_> {
        self.thread_with_memory(0)
    }

    pub(super) fn thread_with_memory(&self, memsize: u64) -> Thread<'_> {
        let (engine, clock) =
            (crate::engine::find("fake").unwrap().build)(&format!("other=0,{}", self.script)).unwrap();
        let mut thread = Thread::new(engine, clock, &self.sets, &self.run, Seed::root(1), memsize, 0, 1).unwrap();
        thread.expect_outstanding(8).unwrap();
        thread
    }

    pub(super) fn flowop(&self, kind: &str, written: &str) -> Box<dyn Flowop> {
        self.flowop_with_target(kind, written, None)
    }

    pub(super) fn flowop_with_target(&self, kind: &str, written: &str, target: Option<usize>) -> Box<dyn Flowop> {
        flowop(&self.sets, &self.variables, kind, written, target)
    }

    /// The sets on the disk, below `directory`: each existing file has 100 bytes and its index, and that is its size.
    pub(super) fn on_disk(&mut self, directory: &Path) -> &[OpenSet<'static>] {
        std::fs::create_dir_all(directory).unwrap();
        for set in &mut self.sets {
            set.path = directory.canonicalize().unwrap().join(&set.name);
            for file in 0..set.pool.files().len() {
                let path = path_on_disk(set, file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                set.pool.set_size(file, 100 + u64::from(file));
                if set.pool.files().exists(file) {
                    std::fs::write(path, vec![0; 100 + file as usize]).unwrap();
                }
            }
            set.root = Some(std::fs::File::open(&set.path).unwrap().into());
        }
        &self.sets
    }

    /// One turn as the threadflow does it.
    pub(super) fn step(&self, flowop: &mut Box<dyn Flowop>, thread: &mut Thread<'_>) -> Result<(Turn, Moved), End> {
        step(flowop, thread)
    }

    /// As a turn whose window closes before the call.
    pub(super) fn cancel(&self, flowop: &mut Box<dyn Flowop>, thread: &mut Thread<'_>) {
        assert_eq!(flowop.prepare(thread), Ok(Turn::Go));
        flowop.cancel(thread);
    }

    /// Which files of the first set exist.
    pub(super) fn existing(&self) -> Vec<u32> {
        let files = self.sets[0].pool.files();
        (0..files.len()).filter(|file| files.exists(*file)).collect()
    }
}

/// Where a file of a set on the disk is.
pub(super) fn path_on_disk(set: &OpenSet<'_>, file: u32) -> PathBuf {
    let mut path = PathBuffer::with_prefix(set.path.as_os_str());
    set.pool.file_path(file, &mut path);
    PathBuf::from(path.as_os_str())
}

/// A flowop with attributes as `name=value,name`.
pub(super) fn flowop(
    sets: &[OpenSet<'_>],
    variables: &[random::Spec],
    kind: &str,
    written: &str,
    target: Option<usize>,
) -> Box<dyn Flowop> {
    let def = super::find(kind).unwrap();
    let mut attributes = Attributes::default();
    for item in written.split(',').filter(|item| !item.is_empty()) {
        let (name, text) = item.split_once('=').unwrap_or((item, "true"));
        let attribute = attribute::find(def.attributes(), name).unwrap_or_else(|| panic!("{kind} has no {name}"));
        let value = match crate::units::number(text) {
            Ok(number) => Value::from(number),
            Err(_) if text == "true" => Value::Flag(true),
            Err(_) if text.starts_with('$') => Value::Random(VariableId(text[1..].parse().unwrap())),
            Err(_) => Value::Text(text.to_owned()),
        };
        let typed = match (attribute.kind, attribute.read(&value).unwrap()) {
            (attribute::Kind::Fileset, _) => {
                attribute::Typed::Fileset(sets.iter().position(|set| set.name == text).unwrap() as u32)
            }
            (_, typed) => typed,
        };
        attributes.insert(attribute.name, Spanned::new(typed, Span::default()));
    }
    def.attributes().for_each(|def| attributes.fill(def, Span::default()));
    let sampler = &|id: VariableId, seed| variables[id.0 as usize].sampler(seed).unwrap();
    let mut build = Build {
        name: &format!("{kind}1"),
        index: 7,
        attributes: &attributes,
        target,
        wait_point: Some(0),
        target_points: vec![[0].into(), [1].into()],
        seed: Seed::root(1),
        sampler,
    };
    (def.build)(&mut build)
}

/// One turn as the threadflow does it.
pub(super) fn step(flowop: &mut Box<dyn Flowop>, thread: &mut Thread<'_>) -> Result<(Turn, Moved), End> {
    let turn = flowop.prepare(thread)?;
    if !matches!(turn, Turn::Go | Turn::Submit) {
        return Ok((turn, Moved::NONE));
    }
    thread.submitted_ns = thread.clock.now();
    let result = flowop.execute(thread);
    flowop.finish(thread, &result);
    match result {
        Ok(moved) => Ok((turn, moved)),
        Err(broken) if broken.errno.is_none() => Err(End::Over),
        Err(broken) => Err(End::Failed(broken.errno, flowop.describe(thread))),
    }
}
