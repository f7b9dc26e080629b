//! The process that the user started: it prepares the file sets, starts the workers, opens the gate, watches, and makes
//! the record. One thread, which never touches the file system under test while a run is on.

mod around;
mod background;
mod session;

use super::control::{self, Control};
use super::filesets::{Created, Disk, Sets};
use super::limits;
use super::own;
use super::points::{Numbers, POINT_BYTES};
use super::procflow::{self, split_engine};
use super::protocol::Order;
use super::trace::TraceOptions;
use super::watch::{Parts, Watch, Workers};
use crate::engine::{self, Clock};
use crate::event::Event;
use crate::fileset::device::Leave;
use crate::fileset::{CreateError, Progress};
use crate::monitor::{Monitors, Site};
use crate::plan::{Plan, RunPlan, Step, Workload};
use crate::record::counters::{Counters, Shape};
use crate::record::{
    CalibrationRecord, ColdHow, Ended, Environment, Failure, NotBegun, OwnCost, Run, RunRecord, SCHEMA_VERSION,
    WarningRecord, WorkloadRecord, redact, resolved,
};
use crate::summary;
use crate::sys::{Region, describe};
use around::{Before, Tree};
use background::Background;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// How often progress is shown.
const PROGRESS_PERIOD: Duration = Duration::from_millis(100);

/// Length of an interval where nobody asks for another.
const INTERVAL_NS: u64 = 1_000_000_000;

/// Where the threads of process instances live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProcessModel {
    /// Each instance is an OS process.
    #[default]
    Processes,
    /// All are threads of the controller's process, for debuggers and sanitizers.
    Threads,
}

/// How a plan is carried out.
#[derive(Debug, Clone)]
pub struct Options {
    /// Engine, with the script of `fake` behind a colon.
    pub engine: String,
    /// See [`ProcessModel`].
    pub process_model: ProcessModel,
    /// Write into trees that are not ours.
    pub adopt: bool,
    /// What may be done to devices.
    pub leave: Leave,
    /// Take our trees away at the end.
    pub remove: bool,
    /// Length of an interval in nanoseconds, where the workload says none.
    pub interval_ns: Option<u64>,
    /// Take names of hosts and servers, addresses and paths out of the records.
    pub redact: bool,
    /// Where monitors find `proc` and `sys`: `/` but in tests.
    pub kernel_files: PathBuf,
    /// Find out before the run what wlrun itself costs.
    pub own_cost: bool,
    /// Put what each process instance did into the record too.
    pub per_process: bool,
    /// Percentiles of each interval, however many threads there are.
    pub interval_percentiles: bool,
    /// Write what each thread chooses.
    pub trace: Option<TraceOptions>,
    /// Take the file sets out of the page cache before each run.
    pub cold: Option<ColdHow>,
    /// For the shell, before the file sets are used in each run.
    pub prepare: Option<String>,
    /// For the shell, after each run.
    pub cleanup: Option<String>,
    /// Find out before each run what each flowop asks of the storage by itself.
    pub calibrate: bool,
    /// After a run that wrote, wait until that is on stable storage.
    pub drain: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            engine: "sync".into(),
            process_model: ProcessModel::Processes,
            adopt: false,
            leave: Leave::default(),
            remove: false,
            interval_ns: None,
            redact: false,
            kernel_files: "/".into(),
            own_cost: true,
            per_process: false,
            interval_percentiles: false,
            trace: None,
            cold: None,
            prepare: None,
            cleanup: None,
            calibrate: false,
            drain: true,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What happened.
    pub record: RunRecord,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What came behind the first run was refused for safety.
    pub refused: bool,
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// Refused for safety.
    #[error("{0}")]
    Refused(String),
    /// The command line or the workload asks for something that is not there.
    #[error("{0}")]
    Usage(String),
    /// This machine cannot do it; each objection has the number needed and the number there is.
    #[error("{}", .0.join("\n"))]
    CannotRun(Vec<String>),
    /// wlrun's own means failed.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
}

/// Why this machine cannot carry a plan out, each with the number needed and the number there is; empty where it can.
pub fn objections(plan: &Plan, options: &Options) -> Vec<String> {
    let one_process = options.process_model == ProcessModel::Threads;
    let helpers = helpers(options);
    let limits = plan.runs().flat_map(|run| limits::Needs::of(run, one_process, helpers).objections());
    let caches = (options.cold == Some(ColdHow::DropCaches)).then(around::may_drop_caches).and_then(Result::err);
    let caches = caches.map(|error| {
        format!("--cold=drop-caches: this process may not drop the caches of the machine: {}", describe(&error))
    });
    limits.chain(caches).collect()
}

/// Helpers that the engine starts for a thread at most.
pub(super) fn helpers(options: &Options) -> u64 {
    engine::find(split_engine(&options.engine).0).map_or(0, |def| def.helpers)
}

/// Where things lie in the shared memory of a plan, in bytes.
pub(super) struct Places {
    /// The wait points, behind control page and file sets.
    pub(super) points: usize,
    pub(super) counters: usize,
    pub(super) end: usize,
}

impl Places {
    /// Runs follow each other, so each has the same place, and the largest says how large it is. `shapes`: of the
    /// counters of all of them.
    pub(super) fn of(plan: &Plan, sets: &Sets, shapes: &[Shape]) -> Self {
        let points = sets.end.next_multiple_of(control::BYTES);
        let points_bytes = plan.runs().map(|run| Numbers::new(run).rooms.len() * POINT_BYTES).max().unwrap_or(0);
        let counters = points + points_bytes.next_multiple_of(control::BYTES);
        let counters_bytes = shapes.iter().map(Shape::bytes).max().unwrap_or(0);
        Places { points, counters, end: counters + counters_bytes }
    }
}

/// Where the file sets are to be.
fn places(plan: &Plan) -> Vec<PathBuf> {
    plan.filesets.iter().map(crate::fileset::Spec::root).collect()
}

/// A record as others may see it.
fn shown(record: RunRecord, redacted: bool) -> RunRecord {
    if !redacted {
        return record;
    }
    redact(&record, &rustix::system::uname().nodename().to_string_lossy())
}

/// True where an engine, with its script, works on what is on the disk.
pub fn touches_files(engine: &str) -> bool {
    engine::find(split_engine(engine).0).is_some_and(|def| def.touches_files)
}

/// The record of what was not begun, for who reads documents and not messages.
/// `redacted`: as others may see it.
pub fn refusal(workload: &Workload, seed: u64, dir: Option<&Path>, why: NotBegun, redacted: bool) -> RunRecord {
    let record = RunRecord {
        schema_version: SCHEMA_VERSION.into(),
        wlrun: env!("CARGO_PKG_VERSION").into(),
        seed,
        environment: Environment::read(dir, &[]),
        workload: nothing_of(workload),
        // Whoever asks whether all runs are valid must not find that all of none are.
        runs: vec![not_run(Ended::Error, &why.reason, None)],
        not_begun: Some(why),
    };
    shown(record, redacted)
}

/// A workload of which nothing was laid out.
fn nothing_of(workload: &Workload) -> WorkloadRecord {
    WorkloadRecord {
        name: workload.name.clone(),
        hash: workload.hash.clone(),
        parameters: Default::default(),
        files: 0,
        bytes: 0,
        processes: 0,
        threads: 0,
    }
}

/// Carries a plan out.
///
/// # Errors
///
/// Where nothing was run. What fails in a run is in the record.
pub fn run(plan: &Plan, options: &Options, show: &mut dyn FnMut(Event)) -> Result<Outcome, ExecError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| ExecError::System("the controller cannot start", e))?;
    let outcome = runtime.block_on(async {
        let stage = Stage::new(plan, options)?;
        if let Some(trace) = &options.trace {
            trace.create().map_err(|e| ExecError::System("the trace cannot be written", e))?;
        }
        let own_costs = if options.own_cost && stage.touches_files { own::costs(plan) } else { Vec::new() };
        let mut controller = Controller::new(plan, options, &stage, own_costs, show)?;
        let refused = match controller.steps().await {
            Ok(()) => false,
            Err(error) if controller.runs.is_empty() => return Err(error),
            Err(error) => {
                // What was measured before is not thrown away.
                controller.runs.push(not_run(Ended::Error, &error.to_string(), None));
                matches!(error, ExecError::Refused(_))
            }
        };
        controller.finish(refused).await
    });
    // A creating thread may hang in a call on a dead mount; it must not hold the report up.
    runtime.shutdown_background();
    outcome
}

/// Signals that end a run. One that was ignored when wlrun was started (nohup, a background job of a script) stays so.
pub(super) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
    /// How often wlrun was let go on after it was stopped.
    resumed: Arc<AtomicU64>,
}

impl Signals {
    fn new() -> Result<Self, ExecError> {
        let new = |kind: SignalKind| {
            if crate::sys::process::is_ignored(kind.as_raw_value()) {
                return Ok(None);
            }
            signal(kind).map(Some).map_err(|e| ExecError::System("signals cannot be watched", e))
        };
        let resumed = Arc::new(AtomicU64::new(0));
        let cont = SignalKind::from_raw(libc::SIGCONT);
        let mut conts = signal(cont).map_err(|e| ExecError::System("signals cannot be watched", e))?;
        tokio::spawn({
            let resumed = resumed.clone();
            async move {
                while conts.recv().await.is_some() {
                    resumed.fetch_add(1, Relaxed);
                }
            }
        });
        Ok(Signals {
            resumed,
            interrupt: new(SignalKind::interrupt())?,
            terminate: new(SignalKind::terminate())?,
            hangup: new(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> i32 {
        tokio::select! {
            () = received(&mut self.interrupt) => libc::SIGINT,
            () = received(&mut self.terminate) => libc::SIGTERM,
            () = received(&mut self.hangup) => libc::SIGHUP,
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

pub(super) fn signal_name(signal: i32) -> String {
    match signal {
        libc::SIGINT => "SIGINT".into(),
        libc::SIGTERM => "SIGTERM".into(),
        libc::SIGHUP => "SIGHUP".into(),
        libc::SIGKILL => "SIGKILL".into(),
        libc::SIGSEGV => "SIGSEGV".into(),
        libc::SIGBUS => "SIGBUS".into(),
        libc::SIGABRT => "SIGABRT".into(),
        other => format!("signal {other}"),
    }
}

/// What all steps share and none changes: the file sets, and the memory that controller and workers have in common.
struct Stage {
    sets: Arc<Sets>,
    region: Arc<Region>,
    /// Byte offsets in the region, of the wait points and of the counters.
    points: usize,
    counters: usize,
    /// Of the counters, by the number of what is started.
    shapes: Vec<Shape>,
    touches_files: bool,
    stepped: bool,
}

impl Stage {
    fn new(plan: &Plan, options: &Options) -> Result<Self, ExecError> {
        let (name, script) = split_engine(&options.engine);
        let def = engine::find(name).ok_or_else(|| ExecError::Usage(format!("there is no engine '{name}'")))?;
        let (_, clock) = (def.build)(script).map_err(ExecError::Usage)?;
        let stepped = matches!(clock, Clock::Stepped(_));
        if stepped && plan.steps.iter().any(|step| matches!(step, Step::Start(_))) {
            let message =
                "time on the engine 'fake' passes for each thread by itself, so no session can be timed on it";
            return Err(ExecError::Usage(message.into()));
        }
        let objections = objections(plan, options);
        if !objections.is_empty() {
            return Err(ExecError::CannotRun(objections));
        }
        let sets = Sets::plan(plan, control::BYTES).map_err(|why| ExecError::CannotRun(vec![why]))?;
        let shapes: Vec<Shape> = plan.runs().map(procflow::shape).collect();
        let Places { points, counters, end } = Places::of(plan, &sets, &shapes);
        let region = Region::create(end).map_err(|e| ExecError::System("shared memory cannot be had", e))?;
        Ok(Stage {
            sets: Arc::new(sets),
            region: Arc::new(region),
            points,
            counters,
            shapes,
            touches_files: def.touches_files,
            stepped,
        })
    }
}

struct Controller<'a> {
    plan: &'a Plan,
    options: &'a Options,
    stage: &'a Stage,
    show: &'a mut dyn FnMut(Event),
    signals: Signals,
    /// The processes of a session.
    live: Option<Watch<'a>>,
    /// The session ended by itself, before the workload says so: what it would still do is left out.
    left_early: bool,
    /// Lines of the shell that run beside the rest.
    background: Vec<Background>,
    /// What happened before the next run and belongs into its record.
    notes: Vec<WarningRecord>,
    /// Devices that are open as long as this invocation lasts.
    devices: Vec<(u64, rustix::fd::OwnedFd)>,
    /// The trees that were made or found.
    trees: Vec<Tree>,
    /// Their locks were given up for a command of the user.
    unlocked: bool,
    /// The command for after a run is still to come.
    wants_cleanup: bool,
    /// What was found before the run that is on.
    before: Before,
    /// What each of its flowops asks for alone.
    calibration: Option<Vec<CalibrationRecord>>,
    environment: Environment,
    /// Where the file sets lie, without symbolic links. Looked at once, before the first run.
    targets: Vec<PathBuf>,
    runs: Vec<Run>,
    runs_started: u64,
    /// By the number of what is started.
    own_costs: Vec<Option<OwnCost>>,
    signal: Option<i32>,
    /// Somebody who works in the trees was ended by force, or is left behind in a call: who goes there now may not come
    /// back.
    forced: bool,
}

impl<'a> Controller<'a> {
    fn new(
        plan: &'a Plan,
        options: &'a Options,
        stage: &'a Stage,
        own_costs: Vec<Option<OwnCost>>,
        show: &'a mut dyn FnMut(Event),
    ) -> Result<Self, ExecError> {
        Ok(Controller {
            plan,
            options,
            stage,
            show,
            signals: Signals::new()?,
            live: None,
            left_early: false,
            background: Vec::new(),
            notes: Vec::new(),
            devices: Vec::new(),
            trees: Vec::new(),
            unlocked: false,
            wants_cleanup: false,
            before: Before::default(),
            calibration: None,
            environment: Environment {
                devices: stage.sets.devices(),
                ..Environment::read(plan.dir.as_deref(), &places(plan))
            },
            targets: places(plan).iter().map(|path| resolved(path)).collect(),
            runs: Vec::new(),
            runs_started: 0,
            own_costs,
            signal: None,
            forced: false,
        })
    }

    async fn steps(&mut self) -> Result<(), ExecError> {
        let result = self.each_step().await;
        // Where something failed before the run, the command for after it has not been run yet.
        if let Some(failure) = self.clean_up().await {
            match self.runs.last_mut() {
                Some(run) => around::fail(run, failure),
                None => (self.show)(Event::Warning(failure.message)),
            }
        }
        result
    }

    async fn each_step(&mut self) -> Result<(), ExecError> {
        let plan = self.plan;
        for step in &plan.steps {
            let go_on = match step {
                Step::Echo(text) => {
                    (self.show)(Event::Echo(format!("{text}\n")));
                    true
                }
                Step::System(line) => self.system(line).await?,
                Step::Sleep(nanos) | Step::Warmup(nanos) => self.sleep(Duration::from_nanos(*nanos)).await,
                Step::Create(sets) => self.create(sets).await?,
                Step::Run(run) => {
                    self.before(run).await? && {
                        let mut watch = self.start(run)?;
                        watch.show_intervals();
                        watch.until_gone(&mut self.signals, self.show).await;
                        self.keep(watch).await
                    }
                }
                Step::Start(run) => self.start_session(run).await?,
                step => self.session_step(step).await?,
            };
            if !go_on {
                break;
            }
        }
        self.stop().await;
        self.end_background().await;
        Ok(())
    }

    /// Runs a line of the workload by the shell. False where a signal ended the invocation.
    async fn system(&mut self, line: &str) -> Result<bool, ExecError> {
        let child = tokio::process::Command::new("/bin/sh")
            .args(["-c", line])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| ExecError::System("the shell cannot be started", e))?;
        match self.beside(child.wait_with_output(), "in a system line", true).await {
            Some(output) => {
                let output = output.map_err(|e| ExecError::System("the shell was lost", e))?;
                let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                (self.show)(Event::Echo(text));
                if !output.status.success() {
                    // filebench ignores it, and workloads rely on that; who reads the record must know.
                    let message = format!("system \"{line}\": {}", output.status);
                    (self.show)(Event::Warning(message.clone()));
                    self.notes.push(WarningRecord { code: summary::warning::SYSTEM_FAILED.into(), message });
                }
                Ok(true)
            }
            None => Ok(self.goes_on()),
        }
    }

    /// Waits. False where a signal ended the invocation.
    async fn sleep(&mut self, length: Duration) -> bool {
        if self.left_early {
            return true;
        }
        let slept = self.beside(tokio::time::sleep(length), "in a sleep", false).await;
        slept.is_some() || self.goes_on()
    }

    /// Notes that a signal came between runs.
    fn interrupted(&mut self, signal: i32, place: &str) -> bool {
        self.signal = Some(signal);
        self.runs.push(not_run(Ended::Interrupted, &format!("interrupted by {} {place}", signal_name(signal)), None));
        false
    }

    /// Makes file sets. False where that ended the invocation, with a record that says so.
    async fn create(&mut self, sets: &[u32]) -> Result<bool, ExecError> {
        let cancel = Arc::new(AtomicBool::new(false));
        let started = Instant::now();
        let (mut made, mut files) = (0, 0);
        let plan = Arc::new(self.plan.clone());
        // The last defined first, as filebench does.
        for at in sets.iter().rev().map(|at| *at as usize) {
            let progress = Arc::new(Progress::default());
            let (work_files, work_bytes) = self.stage.sets.work(at);
            let name = self.plan.filesets[at].name.clone();
            let device = self.plan.filesets[at].device.as_ref().map(|device| device.number);
            let claimed = self.devices.iter().any(|(number, _)| Some(*number) == device);
            let mut task = tokio::task::spawn_blocking({
                let (sets, region, plan) = (self.stage.sets.clone(), self.stage.region.clone(), plan.clone());
                let (progress, cancel) = (progress.clone(), cancel.clone());
                let (adopt, touches_files) = (self.options.adopt, self.stage.touches_files);
                let leave = self.options.leave.clone();
                move || {
                    let threads = std::thread::available_parallelism().map_or(4, |n| (2 * n.get()).clamp(4, 32));
                    let (progress, cancel, leave) = (&*progress, &*cancel, &leave);
                    let disk = Disk { adopt, threads, progress, cancel, leave, claimed };
                    sets.create(&plan, at, &region, touches_files.then_some(&disk))
                }
            });
            let mut tick = tokio::time::interval(PROGRESS_PERIOD);
            let result = loop {
                tokio::select! {
                    result = &mut task => break result,
                    signal = self.signals.next() => {
                        if self.signal.replace(signal).is_some() {
                            // The second time: at once. What is on the disk is marked as unfinished.
                            self.forced = true;
                            self.runs.push(not_run(Ended::Interrupted, &signal_name(signal), None));
                            return Ok(false);
                        }
                        cancel.store(true, Relaxed);
                    }
                    _ = tick.tick() => (self.show)(Event::Preparing {
                        fileset: name.clone(),
                        files_done: progress.files_done.load(Relaxed),
                        files: work_files,
                        bytes_done: progress.bytes_done.load(Relaxed),
                        bytes: work_bytes,
                    }),
                }
            };
            let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
            match result {
                Ok(Created { lock, made: m, files: f, ours, unfinished }) => {
                    match device {
                        Some(number) => self.devices.extend(lock.map(|fd| (number, fd))),
                        None if self.stage.touches_files => {
                            let exclusive = self.stage.sets.list[at].writes;
                            self.trees.push(Tree { root: self.plan.filesets[at].root(), ours, exclusive, lock });
                        }
                        None => {}
                    }
                    made += m;
                    files += f;
                    if unfinished {
                        (self.show)(Event::Warning(format!("fileset {name}: an earlier run did not finish making it")));
                    }
                }
                Err(error @ CreateError::NotOurs { .. }) => {
                    return Err(ExecError::Refused(format!("fileset {name}: {error}")));
                }
                Err(error) => {
                    let run = match self.signal {
                        Some(signal) => not_run(
                            Ended::Interrupted,
                            &format!("{} while files were made: {error}", signal_name(signal)),
                            None,
                        ),
                        None => not_run(Ended::Error, &format!("fileset {name}: {error}"), Some(&error)),
                    };
                    self.runs.push(run);
                    return Ok(false);
                }
            }
        }
        (self.show)(Event::Prepared { files, made, elapsed_ns: started.elapsed().as_nanos() as u64 });
        Ok(true)
    }

    /// Starts the workers of a run or a session.
    fn start(&mut self, plan: &'a RunPlan) -> Result<Watch<'a>, ExecError> {
        let stage = self.stage;
        let run = RunPlan { parameters: Default::default(), ..plan.clone() };
        let order = Order {
            number: self.runs_started,
            trace: self.options.trace.clone(),
            ..Order::new(self.plan, &stage.sets, run, &self.options.engine, stage.counters)
        };
        self.runs_started += 1;
        let shape = &stage.shapes[order.number as usize];
        let counters = Counters::new(&stage.region, order.counters, shape);
        if order.number > 0 || self.calibration.is_some() {
            // A new region is zero as it is; looking through it would only make its pages.
            counters.clear();
        }
        let control = Control::new(&stage.region);
        control.reset(plan.events_per_s);
        control.set_points(stage.points, &Numbers::new(plan).rooms);
        let (receiver, sender) = std::io::pipe().map_err(|e| ExecError::System("no pipe for the workers", e))?;
        let receiver = pipe::Receiver::from_owned_fd(receiver.into())
            .map_err(|e| ExecError::System("no pipe for the workers", e))?;
        let workers = Workers::start(&order, &stage.region, self.options.process_model, sender.into())?;
        // Where the engine makes no files, no mount has anything to do with the run.
        let targets: &[PathBuf] = if stage.touches_files { &self.targets } else { &[] };
        let site = Site { root: &self.options.kernel_files, targets, pids: &workers.pids() };
        let monitors = Monitors::open(&site);
        Ok(Watch::new(Parts {
            plan,
            control,
            counters,
            shape,
            lines: BufReader::new(receiver).lines(),
            workers,
            monitors,
            stepped: stage.stepped,
            interval_ns: self.options.interval_ns.unwrap_or(INTERVAL_NS),
            resumed: self.signals.resumed.clone(),
            per_process: self.options.per_process,
            percentiles: self.options.interval_percentiles,
        }))
    }

    /// Puts what came of workers that are gone into the record. False where that ends the invocation.
    async fn keep(&mut self, watch: Watch<'_>) -> bool {
        self.signal = self.signal.or(watch.signal());
        self.forced |= watch.was_forced();
        let plan = watch.plan();
        let mut run = watch.record();
        if let (Ended::RanDry, Some(reason)) = (run.ended, &run.reason) {
            (self.show)(Event::Warning(format!("the run ended early: {reason}")));
        }
        self.after(&mut run).await;
        if let Some(failure) = self.clean_up().await {
            around::fail(&mut run, failure);
        }
        let go_on = run.complete && run.valid && self.signal.is_none();
        self.add(plan, run);
        go_on
    }

    fn add(&mut self, plan: &RunPlan, mut run: Run) {
        let workload = self.workload(plan);
        let number = self.runs_started.saturating_sub(1) as usize;
        run.own_cost = self.own_costs.get(number).cloned().flatten();
        run.calibration = self.calibration.clone().unwrap_or_default();
        run.warnings = summary::warnings(&workload, &run, &self.environment);
        run.warnings.append(&mut self.notes);
        run.asserts = summary::assertion::evaluate(&plan.asserts, &run);
        (self.show)(Event::Measured(Box::new(run.clone())));
        self.runs.push(run);
    }

    fn workload(&self, run: &RunPlan) -> WorkloadRecord {
        let (files, bytes) = self.stage.sets.totals();
        let parameters = run
            .parameters
            .iter()
            .map(|(name, value)| {
                use crate::attribute::Value;
                let json = match value {
                    Value::Int(n) => (*n).into(),
                    Value::Real(x) => (*x).into(),
                    Value::Flag(b) => (*b).into(),
                    Value::Nanos(_) | Value::Text(_) => value.to_string().into(),
                    Value::Random(id) => {
                        serde_json::to_value(&self.plan.variables[id.0 as usize]).unwrap_or(serde_json::Value::Null)
                    }
                };
                (name.clone(), json)
            })
            .collect();
        WorkloadRecord {
            name: self.plan.workload.name.clone(),
            hash: self.plan.workload.hash.clone(),
            parameters,
            files,
            bytes,
            processes: run.process_count(),
            threads: run.thread_count(),
        }
    }

    async fn finish(mut self, refused: bool) -> Result<Outcome, ExecError> {
        let ours: Vec<String> =
            self.trees.iter().filter(|tree| tree.ours).map(|tree| tree.root.display().to_string()).collect();
        if self.options.remove && self.forced && !ours.is_empty() {
            let roots = ours.join(", ");
            (self.show)(Event::Warning(format!(
                "nothing was removed after an end by force; what was made is in {roots}"
            )));
        } else if self.options.remove {
            self.take_away().await;
        }
        Ok(Outcome { signal: self.signal, refused, record: self.record_of(self.runs.clone()) })
    }

    /// Takes our trees away, under their locks.
    async fn take_away(&mut self) {
        let why = match self.lock_again().await {
            Ok(None) => return self.remove(),
            Ok(Some(run)) => run.reason.unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        (self.show)(Event::Warning(format!("the trees are not taken away: {why}")));
    }

    fn remove(&mut self) {
        let cancel = AtomicBool::new(false);
        // The locks are held until the last is gone.
        let trees = std::mem::take(&mut self.trees);
        for tree in trees.iter().filter(|tree| tree.ours) {
            if let Err(error) = crate::fileset::remove(&tree.root, &cancel) {
                (self.show)(Event::Warning(format!("{error}")));
            }
        }
    }

    fn record_of(&self, runs: Vec<Run>) -> RunRecord {
        let largest = self.plan.runs().max_by_key(|run| run.thread_count());
        let record = RunRecord {
            schema_version: SCHEMA_VERSION.into(),
            wlrun: env!("CARGO_PKG_VERSION").into(),
            seed: self.plan.seed,
            workload: largest.map_or_else(|| nothing_of(&self.plan.workload), |run| self.workload(run)),
            environment: self.environment.clone(),
            not_begun: None,
            runs,
        };
        shown(record, self.options.redact)
    }
}

/// A run that did not come to its start.
fn not_run(ended: Ended, reason: &str, error: Option<&CreateError>) -> Run {
    let failures = error.map(|error| Failure {
        process: "controller".into(),
        thread: None,
        flowop: None,
        errno: match error {
            CreateError::Io { error, .. } => error.raw_os_error().map(crate::record::errno_name),
            _ => None,
        },
        message: reason.to_owned(),
    });
    Run {
        complete: false,
        valid: false,
        ended,
        reason: Some(reason.to_owned()),
        elapsed_ns: 0,
        warmup_ns: 0,
        requested_ns: None,
        period_ns: None,
        period_cumulative: false,
        lathist: false,
        flowops: Vec::new(),
        cpu_ns: 0,
        intervals: Vec::new(),
        bytes: None,
        calibration: Vec::new(),
        failures: failures.into_iter().collect(),
        warnings: Vec::<WarningRecord>::new(),
        asserts: Vec::new(),
        monitors: Vec::new(),
        schedule: None,
        own_cost: None,
        run_delay_ns: None,
        suspended: false,
    }
}
