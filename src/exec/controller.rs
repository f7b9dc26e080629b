//! The process that the user started: it prepares the file sets, starts the workers, opens the gate, watches, and makes
//! the record. One thread, which never touches the file system under test while a run is on.

use super::control::{self, Control};
use super::filesets::{Created, Disk, Sets};
use super::points::{Numbers, POINT_BYTES};
use super::procflow::{self, split_engine};
use super::protocol::{Message, Messenger, Order};
use super::{WORKER, limits};
use crate::engine::{self, Clock};
use crate::event::{Event, Tick};
use crate::fileset::{CreateError, Progress};
use crate::plan::{Plan, QuitMode, RunPlan, Step};
use crate::record::counters::{Counters, Shape, ThreadState};
use crate::record::{
    Counts, Ended, Environment, Failure, FlowopRecord, Histogram, Interval, IntervalCounts, Run, RunRecord,
    SCHEMA_VERSION, WarningRecord, WorkloadRecord,
};
use crate::summary;
use crate::sys::Region;
use rustix::fd::AsRawFd;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

/// How long operations may stay under way after the window has closed, before the workers are ended by force.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

/// How long killed workers may take to be gone.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// How long operations may be under way after the window has closed before a word is said about it.
const DRAIN_SAID: Duration = Duration::from_secs(1);

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
    /// Take our trees away at the end.
    pub remove: bool,
    /// Length of an interval in nanoseconds, where the workload says none.
    pub interval_ns: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            engine: "sync".into(),
            process_model: ProcessModel::Processes,
            adopt: false,
            remove: false,
            interval_ns: None,
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
    plan.runs().flat_map(|run| limits::Needs::of(run, one_process).objections()).collect()
}

/// Where things lie in the shared memory of a plan, in bytes.
pub(super) struct Places {
    /// The wait points, behind control page and file sets.
    pub(super) points: usize,
    pub(super) counters: usize,
    pub(super) end: usize,
}

impl Places {
    /// Runs follow each other, so each has the same place, and the largest says how large it is.
    pub(super) fn of(plan: &Plan, sets: &Sets) -> Self {
        let points = sets.end.next_multiple_of(control::BYTES);
        let points_bytes = plan.runs().map(|run| Numbers::new(run).rooms.len() * POINT_BYTES).max().unwrap_or(0);
        let counters = points + points_bytes.next_multiple_of(control::BYTES);
        let counters_bytes = plan.runs().map(|run| procflow::shape(run).bytes()).max().unwrap_or(0);
        Places { points, counters, end: counters + counters_bytes }
    }
}

/// The record of a plan that could not be begun, for who reads documents and not messages.
pub fn refusal(plan: &Plan, reason: &str) -> RunRecord {
    RunRecord {
        schema_version: SCHEMA_VERSION.into(),
        wlrun: env!("CARGO_PKG_VERSION").into(),
        seed: plan.seed,
        environment: Environment::read(plan.dir.as_deref()),
        workload: nothing_of(plan),
        runs: vec![not_run(Ended::Error, reason, None)],
    }
}

/// The workload of a plan of which nothing was laid out.
fn nothing_of(plan: &Plan) -> WorkloadRecord {
    WorkloadRecord {
        name: plan.workload.name.clone(),
        hash: plan.workload.hash.clone(),
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
        let mut controller = Controller::new(plan, options, show)?;
        controller.steps().await?;
        controller.finish().await
    });
    // A creating thread may hang in a call on a dead mount; it must not hold the report up.
    runtime.shutdown_background();
    outcome
}

/// Signals that end a run. One that was ignored when wlrun was started (nohup, a background job of a script) stays so.
struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Signals {
    fn new() -> Result<Self, ExecError> {
        let new = |kind: SignalKind| {
            if crate::sys::process::is_ignored(kind.as_raw_value()) {
                return Ok(None);
            }
            signal(kind).map(Some).map_err(|e| ExecError::System("signals cannot be watched", e))
        };
        Ok(Signals {
            interrupt: new(SignalKind::interrupt())?,
            terminate: new(SignalKind::terminate())?,
            hangup: new(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> i32 {
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

fn signal_name(signal: i32) -> String {
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

struct Controller<'a> {
    plan: &'a Plan,
    options: &'a Options,
    show: &'a mut dyn FnMut(Event),
    signals: Signals,
    sets: Arc<Sets>,
    region: Arc<Region>,
    /// Byte offsets in the region, of the wait points and of the counters.
    points: usize,
    counters: usize,
    touches_files: bool,
    stepped: bool,
    /// What happened before the next run and belongs into its record.
    notes: Vec<WarningRecord>,
    /// Keep other runs out of our trees.
    locks: Vec<rustix::fd::OwnedFd>,
    /// Roots of trees that carry our mark.
    ours: Vec<std::path::PathBuf>,
    environment: Environment,
    runs: Vec<Run>,
    runs_started: u64,
    signal: Option<i32>,
}

impl<'a> Controller<'a> {
    fn new(plan: &'a Plan, options: &'a Options, show: &'a mut dyn FnMut(Event)) -> Result<Self, ExecError> {
        let (name, script) = split_engine(&options.engine);
        let def = engine::find(name).ok_or_else(|| ExecError::Usage(format!("there is no engine '{name}'")))?;
        let (_, clock) = (def.build)(script).map_err(ExecError::Usage)?;
        let objections = objections(plan, options);
        if !objections.is_empty() {
            return Err(ExecError::CannotRun(objections));
        }
        let sets = Sets::plan(plan, control::BYTES).map_err(|why| ExecError::CannotRun(vec![why]))?;
        let Places { points, counters, end } = Places::of(plan, &sets);
        let region = Region::create(end).map_err(|e| ExecError::System("shared memory cannot be had", e))?;
        Ok(Controller {
            plan,
            options,
            show,
            signals: Signals::new()?,
            sets: Arc::new(sets),
            region: Arc::new(region),
            points,
            counters,
            touches_files: def.touches_files,
            stepped: matches!(clock, Clock::Stepped(_)),
            notes: Vec::new(),
            locks: Vec::new(),
            ours: Vec::new(),
            environment: Environment::read(plan.dir.as_deref()),
            runs: Vec::new(),
            runs_started: 0,
            signal: None,
        })
    }

    async fn steps(&mut self) -> Result<(), ExecError> {
        for step in &self.plan.steps {
            let go_on = match step {
                Step::Echo(text) => {
                    (self.show)(Event::Echo(format!("{text}\n")));
                    true
                }
                Step::System(line) => self.system(line).await?,
                Step::Sleep(nanos) => self.sleep(Duration::from_nanos(*nanos)).await,
                Step::Create(sets) => self.create(sets).await?,
                Step::Run(run) => {
                    let run = self.run(run).await?;
                    let go_on = run.complete && run.valid;
                    self.runs.push(run);
                    go_on
                }
            };
            if !go_on {
                break;
            }
        }
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
        tokio::select! {
            output = child.wait_with_output() => {
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
            signal = self.signals.next() => Ok(self.interrupted(signal, "in a system line")),
        }
    }

    /// Waits. False where a signal ended the invocation.
    async fn sleep(&mut self, length: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(length) => true,
            signal = self.signals.next() => self.interrupted(signal, "in a sleep"),
        }
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
            let (work_files, work_bytes) = self.sets.work(at);
            let name = self.plan.filesets[at].name.clone();
            let mut task = tokio::task::spawn_blocking({
                let (sets, region, plan) = (self.sets.clone(), self.region.clone(), plan.clone());
                let (progress, cancel) = (progress.clone(), cancel.clone());
                let (adopt, touches_files) = (self.options.adopt, self.touches_files);
                move || {
                    let threads = std::thread::available_parallelism().map_or(4, |n| (2 * n.get()).clamp(4, 32));
                    let disk = Disk { adopt, threads, progress: &progress, cancel: &cancel };
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
                    self.locks.extend(lock);
                    made += m;
                    files += f;
                    if ours {
                        self.ours.push(self.plan.filesets[at].root());
                    }
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

    async fn run(&mut self, plan: &RunPlan) -> Result<Run, ExecError> {
        let shape = procflow::shape(plan);
        let order = Order {
            run: RunPlan { parameters: Default::default(), ..plan.clone() },
            number: self.runs_started,
            seed: self.plan.seed,
            variables: self.plan.variables.clone(),
            sets: self.sets.list.iter().map(|set| set.order.clone()).collect(),
            engine: self.options.engine.clone(),
            counters: self.counters,
        };
        self.runs_started += 1;
        let region = self.region.clone();
        let counters = Counters::new(&region, order.counters, &shape);
        if order.number > 0 {
            // A new region is zero as it is; looking through it would only make its pages.
            counters.clear();
        }
        let control = Control::new(&region);
        control.reset(plan.events_per_s);
        control.set_points(self.points, &Numbers::new(plan).rooms);
        let (receiver, sender) = std::io::pipe().map_err(|e| ExecError::System("no pipe for the workers", e))?;
        let receiver = pipe::Receiver::from_owned_fd(receiver.into())
            .map_err(|e| ExecError::System("no pipe for the workers", e))?;
        let workers = Workers::start(&order, &region, self.options.process_model, sender.into())?;
        let mut watch = Watch {
            plan,
            control,
            counters,
            shape: &shape,
            rows: rows_of(plan),
            lines: BufReader::new(receiver).lines(),
            workers,
            stepped: self.stepped,
            interval_ns: plan.interval_ns.or(self.options.interval_ns).unwrap_or(INTERVAL_NS),
            ready: 0,
            opened: false,
            ended: None,
            failures: Vec::new(),
            intervals: Intervals::default(),
        };
        let signal = watch.watch(&mut self.signals, self.show).await;
        self.signal = self.signal.or(signal);
        let mut run = watch.record();
        if let (Ended::RanDry, Some(reason)) = (run.ended, &run.reason) {
            (self.show)(Event::Warning(format!("the run ended early: {reason}")));
        }
        let workload = self.workload(plan);
        run.warnings = summary::warnings(&workload, &run, &self.environment);
        run.warnings.append(&mut self.notes);
        Ok(run)
    }

    fn workload(&self, run: &RunPlan) -> WorkloadRecord {
        let (files, bytes) = self.sets.totals();
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

    async fn finish(mut self) -> Result<Outcome, ExecError> {
        if self.options.remove {
            let cancel = AtomicBool::new(false);
            for root in std::mem::take(&mut self.ours) {
                if let Err(error) = crate::fileset::remove(&root, &cancel) {
                    (self.show)(Event::Warning(format!("{error}")));
                }
            }
        }
        let largest = self.plan.runs().max_by_key(|run| run.thread_count());
        let record = RunRecord {
            schema_version: SCHEMA_VERSION.into(),
            wlrun: env!("CARGO_PKG_VERSION").into(),
            seed: self.plan.seed,
            workload: largest.map_or_else(|| nothing_of(self.plan), |run| self.workload(run)),
            environment: self.environment,
            runs: self.runs,
        };
        Ok(Outcome { record, signal: self.signal })
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
        requested_ns: None,
        period_ns: None,
        flowops: Vec::new(),
        cpu_ns: 0,
        intervals: Vec::new(),
        failures: failures.into_iter().collect(),
        warnings: Vec::<WarningRecord>::new(),
    }
}

/// The worker processes, or the threads that stand for them.
struct Workers {
    /// Each gives the name of its process instance and, where it died, how.
    tasks: JoinSet<(String, Option<String>)>,
    /// Process ids, for the last resort.
    pids: Vec<u32>,
    count: u64,
}

impl Workers {
    fn start(
        order: &Order,
        region: &Arc<Region>,
        model: ProcessModel,
        pipe: rustix::fd::OwnedFd,
    ) -> Result<Self, ExecError> {
        let mut workers = Workers { tasks: JoinSet::new(), pids: Vec::new(), count: order.run.process_count() };
        let instances = order
            .run
            .processes
            .iter()
            .enumerate()
            .flat_map(|(at, process)| (0..process.instances).map(move |instance| (at, instance)));
        match model {
            ProcessModel::Threads => {
                let order = Arc::new(order.clone());
                let messenger = Arc::new(Messenger::new(pipe));
                for (process, instance) in instances {
                    let (order, region, messenger) = (order.clone(), region.clone(), messenger.clone());
                    let name = format!("{}-{instance}", order.run.processes[process].name);
                    let (sender, done) = tokio::sync::oneshot::channel::<()>();
                    std::thread::Builder::new()
                        .spawn(move || {
                            procflow::run(&order, &region, process, instance, &messenger);
                            drop(messenger);
                            let _ = sender.send(());
                        })
                        .map_err(|e| ExecError::System("a process's thread cannot be started", e))?;
                    workers.tasks.spawn(async move { (name, done.await.err().map(|_| "panicked".to_owned())) });
                }
            }
            ProcessModel::Processes => {
                let text = serde_json::to_vec(order)
                    .map_err(|e| ExecError::System("the order cannot be written", e.into()))?;
                let orders = Region::create(text.len()).map_err(|e| ExecError::System("no memory for the order", e))?;
                let system = |e: rustix::io::Errno| ExecError::System("no memory for the order", e.into());
                rustix::io::pwrite(orders.fd(), &text, 0).map_err(system)?;
                let binary = std::env::current_exe().map_err(|e| ExecError::System("wlrun does not find itself", e))?;
                for (process, instance) in instances {
                    let name = format!("{}-{instance}", order.run.processes[process].name);
                    // Opened anew for each worker: a duplicate would share its position with all others.
                    let stdin = std::fs::File::open(format!("/proc/self/fd/{}", orders.fd().as_raw_fd()))
                        .map_err(|e| ExecError::System("the order cannot be opened", e))?;
                    let stdout = pipe.try_clone().map_err(|e| ExecError::System("the pipe cannot be passed on", e))?;
                    let mut child = tokio::process::Command::new(&binary)
                        .arg(WORKER)
                        .args([process.to_string(), instance.to_string()])
                        .args([region.fd().as_raw_fd().to_string(), std::process::id().to_string()])
                        .stdin(Stdio::from(stdin))
                        .stdout(Stdio::from(stdout))
                        .kill_on_drop(true)
                        .spawn()
                        .map_err(|e| ExecError::System("a process cannot be started", e))?;
                    workers.pids.extend(child.id());
                    workers.tasks.spawn(async move {
                        let how = match child.wait().await {
                            Ok(status) if status.success() => None,
                            Ok(status) => Some(match status.signal() {
                                Some(signal) => format!("killed by {}", signal_name(signal)),
                                None => format!("ended with exit code {}", status.code().unwrap_or(-1)),
                            }),
                            Err(error) => Some(format!("lost: {error}")),
                        };
                        (name, how)
                    });
                }
            }
        }
        Ok(workers)
    }

    /// Ends the processes by force. Threads of our own process cannot be ended so.
    fn kill(&mut self) {
        for pid in self.pids.drain(..) {
            if let Some(pid) = rustix::process::Pid::from_raw(pid as i32) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

/// One run while it is on.
struct Watch<'r> {
    plan: &'r RunPlan,
    control: Control<'r>,
    counters: Counters<'r>,
    shape: &'r Shape,
    /// One for each flowop of the record.
    rows: Vec<Row>,
    lines: Lines<BufReader<pipe::Receiver>>,
    workers: Workers,
    stepped: bool,
    interval_ns: u64,
    ready: u64,
    opened: bool,
    /// Why, with words; the gravest reason stays.
    ended: Option<(Ended, String)>,
    failures: Vec<Failure>,
    intervals: Intervals,
}

impl Watch<'_> {
    fn now(&self) -> u64 {
        if self.stepped { 0 } else { Clock::Monotonic.now() }
    }

    /// Notes why the run ends; an error or a signal weighs more than a count that was reached.
    fn end(&mut self, ended: Ended, why: String) {
        let weight = |ended: &Ended| match ended {
            Ended::Time | Ended::Done => 0,
            Ended::Count | Ended::RanDry => 1,
            Ended::Interrupted => 2,
            Ended::Error => 3,
            Ended::Stuck => 4,
        };
        if self.ended.as_ref().is_none_or(|(old, _)| weight(old) < weight(&ended)) {
            self.ended = Some((ended, why));
        }
    }

    /// Watches until all workers are gone. The signal that came.
    async fn watch(&mut self, signals: &mut Signals, show: &mut dyn FnMut(Event)) -> Option<i32> {
        let mut signalled = None;
        let mut lines_open = true;
        let mut tick: Option<tokio::time::Interval> = None;
        let mut drain_from: Option<Instant> = None;
        // Killed processes that are in a call that does not come back do not die before it ends, threads of our own
        // not at all: then the report comes from the shared counters, without waiting for them.
        let mut give_up: Option<Instant> = None;
        let mut said_drain = false;
        let (processes, threads) = (self.workers.count, self.plan.thread_count());
        loop {
            if self.workers.tasks.is_empty() && !lines_open {
                break;
            }
            if !self.opened && self.ready == processes && self.ended.is_none() {
                self.open();
                let period = Duration::from_nanos(self.interval_ns);
                let mut interval = tokio::time::interval_at(Instant::now() + period, period);
                // A late interval does not shift those behind it.
                interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
                tick = (!self.stepped).then_some(interval);
            }
            // The window's end: known from the start, or set by a worker; then the drain begins.
            let close_at = match (self.opened && !self.stepped, self.control.window_end()) {
                (true, end) if end != u64::MAX => Some(Duration::from_nanos(end.saturating_sub(self.now()))),
                _ => None,
            };
            let drain_at = drain_from.map(|from| from + DRAIN_LIMIT);
            // In this order: workers may say lines faster than they are read (print), and must not keep a signal or the
            // end of the window waiting; and what a process said comes before its end.
            tokio::select! {
                biased;
                signal = signals.next() => {
                    if signalled.replace(signal).is_some() {
                        self.workers.kill();
                        give_up.get_or_insert_with(|| Instant::now() + KILL_LIMIT);
                    }
                    self.end(Ended::Interrupted, format!("interrupted by {}", signal_name(signal)));
                    self.control.close(self.now());
                    drain_from.get_or_insert_with(Instant::now);
                    if !self.opened {
                        // The threads at the gate go into a window that has closed.
                        self.control.open(0, 0);
                    }
                },
                () = sleep(close_at), if close_at.is_some() && drain_from.is_none() => {
                    // Time is up or a worker closed the window; pauses end, and what is under way may come back.
                    if self.now() >= self.control.window_end() {
                        self.control.close(self.control.window_end());
                        drain_from = Some(Instant::now());
                    }
                },
                () = tick_of(&mut tick), if tick.is_some() => {
                    if drain_from.is_none() {
                        self.interval(show);
                    } else if !said_drain && drain_from.is_some_and(|from| from.elapsed() >= DRAIN_SAID) {
                        said_drain = true;
                        show(Event::Draining { processes: self.workers.tasks.len() as u64 });
                    }
                },
                line = self.lines.next_line(), if lines_open => match line {
                    Ok(Some(line)) => {
                        self.message(&line, show);
                        if self.ended.is_some() && !self.opened {
                            self.control.close(0);
                        }
                        if !self.opened {
                            show(Event::Starting { ready: self.ready, processes, threads });
                        }
                    }
                    _ => lines_open = false,
                },
                Some(task) = self.workers.tasks.join_next(), if !self.workers.tasks.is_empty() => {
                    let killed_by_us = signalled.is_some() || matches!(self.ended, Some((Ended::Stuck, _)));
                    if let Ok((name, Some(how))) = task
                        && !killed_by_us
                    {
                        self.process_lost(&name, &how);
                    }
                },
                () = sleep_until(give_up), if give_up.is_some() => break,
                () = sleep_until(drain_at), if drain_at.is_some() && give_up.is_none() => {
                    let left = self.workers.tasks.len();
                    self.end(Ended::Stuck, format!(
                        "operations of {left} process instances did not come back within {} s of the end",
                        DRAIN_LIMIT.as_secs(),
                    ));
                    self.workers.kill();
                    give_up = Some(Instant::now() + KILL_LIMIT);
                },
            }
        }
        signalled
    }

    fn open(&mut self) {
        let start = self.now();
        let end = self.plan.length_ns.map_or(u64::MAX, |length| start.saturating_add(length));
        self.opened = true;
        self.control.open(start, end);
    }

    fn message(&mut self, line: &str, show: &mut dyn FnMut(Event)) {
        let Ok(message) = serde_json::from_str::<Message>(line) else {
            self.end(Ended::Error, format!("a worker said what is no message: {line}"));
            return;
        };
        match message {
            Message::Ready => self.ready += 1,
            Message::RanDry { flowop, why } => {
                let why = format!("{flowop} had no more work: {why}");
                match self.plan.quit {
                    QuitMode::Timeout => self.end(Ended::RanDry, why),
                    QuitMode::Firstdone => self.end(Ended::Done, why),
                    QuitMode::Alldone => {}
                }
            }
            Message::Finished { why } => match self.plan.quit {
                QuitMode::Timeout | QuitMode::Firstdone => self.end(Ended::Count, why),
                QuitMode::Alldone => {}
            },
            Message::Failed(failure) => {
                let at = failure.flowop.as_deref().map(|flowop| format!("{flowop}: ")).unwrap_or_default();
                let place = failure.thread.as_deref().map(|thread| format!(".{thread}")).unwrap_or_default();
                self.end(Ended::Error, format!("{at}{} ({}{place})", failure.message, failure.process));
                self.failures.push(failure);
            }
            Message::Said(text) => show(Event::Said(text)),
            Message::Warning(text) => show(Event::Warning(text)),
        }
    }

    fn process_lost(&mut self, name: &str, how: &str) {
        let message = format!("process {name} was {how}");
        self.end(Ended::Error, message.clone());
        self.failures.push(Failure { process: name.to_owned(), thread: None, flowop: None, errno: None, message });
        self.control.close(self.now());
        if !self.opened {
            self.control.open(0, 0);
        }
    }

    fn interval(&mut self, show: &mut dyn FnMut(Event)) {
        let start = self.control.window_start();
        let at = self.now().min(self.control.window_end()).saturating_sub(start);
        let total = self.totals();
        let Some(interval) = self.intervals.add(at, total) else { return };
        let seconds = (interval.end_ns - interval.start_ns) as f64 / 1e9;
        let mut sum = IntervalCounts::default();
        let io = interval.flowops.iter().zip(&self.rows).filter(|(_, row)| row.io);
        io.for_each(|(counts, _)| sum.merge(counts));
        show(Event::Interval(Tick {
            elapsed_ns: at,
            length_ns: self.plan.length_ns,
            ops_per_s: sum.ops as f64 / seconds,
            read_per_s: sum.bytes_read as f64 / seconds,
            written_per_s: sum.bytes_written as f64 / seconds,
            mean_ns: (sum.ops > 0).then(|| sum.latency_sum_ns as f64 / sum.ops as f64),
        }));
    }

    /// What each row has done until now.
    fn totals(&self) -> Vec<IntervalCounts> {
        self.rows
            .iter()
            .map(|row| {
                let mut counts = IntervalCounts::default();
                row.thread_numbers()
                    .for_each(|thread| self.counters.of(thread, row.flowop).add_to_interval(&mut counts));
                counts
            })
            .collect()
    }

    /// Everything that happened.
    fn record(mut self) -> Run {
        let start = self.control.window_start();
        let threads = 0..self.shape.threads();
        let last = threads.clone().filter_map(|thread| self.counters.ended_ns(thread)).max();
        let all_ended = threads.clone().all(|thread| self.counters.state(thread) == ThreadState::Ended);
        let end = match (self.control.window_end(), last) {
            // All threads came to their own end before the window closed.
            (window, Some(last)) if all_ended => window.min(last),
            (u64::MAX, _) => self.now(),
            (window, _) => window,
        };
        let elapsed_ns = if self.opened { end.saturating_sub(start) } else { 0 };
        if self.opened {
            let totals = self.totals();
            self.intervals.add(elapsed_ns, totals);
        }
        let (ended, reason) = match self.ended.take() {
            Some((ended, why)) => (ended, Some(why)),
            None if self.plan.length_ns.is_some_and(|length| elapsed_ns >= length) => (Ended::Time, None),
            None => (Ended::Done, Some("all threads came to their end".to_owned())),
        };
        let flowops: Vec<FlowopRecord> = self
            .rows
            .iter()
            .map(|row| {
                let process = &self.plan.processes[row.process];
                let thread = &process.threads[row.thread];
                let flowop = &thread.flowops[row.flowop];
                let (mut counts, mut histogram) = (Counts::default(), Histogram::default());
                row.thread_numbers().for_each(|n| self.counters.of(n, row.flowop).add_to(&mut counts, &mut histogram));
                FlowopRecord {
                    name: flowop.name.clone(),
                    kind: flowop.kind.clone(),
                    class: flowop.def().class,
                    process: process.name.clone(),
                    thread: thread.name.clone(),
                    instances: u64::from(row.instances) * u64::from(row.threads),
                    direct: thread.opens_direct(flowop.attributes.number("fd")),
                    counts,
                    histogram,
                }
            })
            .collect();
        let complete = matches!(ended, Ended::Time | Ended::Done | Ended::Count | Ended::RanDry);
        // A run in which nothing was done measures nothing, however it ended.
        let did_something = flowops.iter().any(|flowop| flowop.counts.ops > 0);
        let reason = match (complete && !did_something, reason) {
            (false, reason) => reason,
            (true, None) => Some("no operation finished".to_owned()),
            (true, Some(reason)) => Some(format!("no operation finished: {reason}")),
        };
        Run {
            complete,
            valid: complete && did_something,
            ended,
            reason,
            elapsed_ns,
            requested_ns: self.plan.length_ns,
            period_ns: self.plan.interval_ns,
            flowops,
            cpu_ns: threads.map(|thread| self.counters.cpu_ns(thread)).sum(),
            intervals: self.intervals.list,
            failures: self.failures,
            warnings: Vec::new(),
        }
    }
}

/// A flowop as it is defined, and the thread instances that run it.
struct Row {
    process: usize,
    thread: usize,
    flowop: usize,
    io: bool,
    /// Number of the first thread instance, of the first process instance.
    first: usize,
    /// Thread instances of one process instance.
    per_instance: usize,
    instances: u32,
    threads: u32,
}

impl Row {
    fn thread_numbers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.instances as usize).flat_map(move |instance| {
            let first = self.first + instance * self.per_instance;
            first..first + self.threads as usize
        })
    }
}

/// Flowops of all threads of all processes, one row for each definition.
fn rows_of(plan: &RunPlan) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut first = 0;
    for (p, process) in plan.processes.iter().enumerate() {
        let per_instance = process.thread_count() as usize;
        let mut thread_first = 0;
        for (t, thread) in process.threads.iter().enumerate() {
            for (f, flowop) in thread.flowops.iter().enumerate() {
                rows.push(Row {
                    process: p,
                    thread: t,
                    flowop: f,
                    io: flowop.def().class.is_io(),
                    first: first + thread_first,
                    per_instance,
                    instances: process.instances,
                    threads: thread.instances,
                });
            }
            thread_first += thread.instances as usize;
        }
        first += per_instance * process.instances as usize;
    }
    rows
}

/// The window in pieces.
#[derive(Debug, Default)]
struct Intervals {
    list: Vec<Interval>,
    last: Vec<IntervalCounts>,
}

impl Intervals {
    /// Adds the piece up to `at` (since the gate), by then `totals` had been done. None where it has no length.
    fn add(&mut self, at: u64, totals: Vec<IntervalCounts>) -> Option<&Interval> {
        let start_ns = self.list.last().map_or(0, |interval| interval.end_ns);
        if at <= start_ns {
            // What was counted since belongs to the piece that ended at this very moment.
            if let Some(last) = self.list.last_mut() {
                for ((counts, total), before) in last.flowops.iter_mut().zip(&totals).zip(&self.last) {
                    counts.merge_difference(total, before);
                }
                self.last = totals;
            }
            return None;
        }
        self.last.resize(totals.len(), IntervalCounts::default());
        let flowops = totals
            .iter()
            .zip(&self.last)
            .map(|(total, before)| {
                let mut counts = IntervalCounts::default();
                counts.merge_difference(total, before);
                counts
            })
            .collect();
        self.last = totals;
        self.list.push(Interval { start_ns, end_ns: at, flowops });
        self.list.last()
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn tick_of(tick: &mut Option<tokio::time::Interval>) {
    match tick {
        Some(tick) => {
            tick.tick().await;
        }
        None => std::future::pending().await,
    }
}
