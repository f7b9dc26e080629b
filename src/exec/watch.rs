//! The workers of a run or a session while they live: started, watched, stopped, and what they did put into words.

use super::WORKER;
use super::control::Control;
use super::controller::{ExecError, ProcessModel, Signals, signal_name};
use super::procflow;
use super::protocol::{Message, Messenger, Order};
use crate::attribute::Typed;
use crate::engine::Clock;
use crate::event::{Event, Tick};
use crate::monitor::{Monitors, Reading};
use crate::plan::{Measure, Period, ProcessPlan, QuitMode, RunPlan, ThreadPlan};
use crate::record::counters::{Counters, Shape, ThreadState};
use crate::record::{
    BUCKETS, Counts, Ended, Failure, FlowopRecord, Histogram, InstanceRecord, Interval, IntervalCounts,
    IntervalLatency, Run, Schedule,
};
use crate::sys::Region;
use crate::sys::clock::process_cpu;
use rustix::fd::AsRawFd;
use std::future::Future;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How long operations may stay under way after the window has closed, before the workers are ended by force.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

/// How long killed workers may take to be gone.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// How long operations may be under way after the window has closed before a word is said about it.
const DRAIN_SAID: Duration = Duration::from_secs(1);

/// So many histograms are looked through at the end of each interval without being asked for: it takes less than 1 % of a
/// processor.
const MOST_HISTOGRAMS: usize = 1_000;

/// Histograms of all instances of a process.
fn histograms_of(process: &ProcessPlan) -> usize {
    let of_instance: usize = process.threads.iter().map(|t| t.instances as usize * t.flowops.len()).sum();
    process.instances as usize * of_instance
}

/// The worker processes, or the threads that stand for them.
pub(super) struct Workers {
    /// Each gives the name of its process instance and, where it died, how.
    tasks: JoinSet<(String, Option<String>)>,
    /// Process ids, for the last resort.
    pids: Vec<u32>,
    count: u64,
}

impl Workers {
    pub(super) fn start(
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

    /// The processes that have the workers' threads: our own where they are none of their own.
    pub(super) fn pids(&self) -> Vec<u32> {
        if self.pids.is_empty() { vec![std::process::id()] } else { self.pids.clone() }
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

/// What is measured, which a session may change.
#[derive(Debug, Clone, Copy)]
struct Asked {
    length_ns: Option<u64>,
    warmup_ns: u64,
    period: Option<Period>,
    lathist: bool,
}

/// A warm-up as it is shown.
struct Warm {
    /// The measurement whose counters are on.
    since: u64,
    /// The last look.
    at: u64,
    /// All I/O by then.
    io: IntervalCounts,
}

/// One run or session while it is on.
pub(super) struct Watch<'r> {
    plan: &'r RunPlan,
    asked: Asked,
    control: Control<'r>,
    counters: Counters<'r>,
    shape: &'r Shape,
    /// One for each flowop of the record.
    rows: Vec<Row>,
    lines: Lines<BufReader<pipe::Receiver>>,
    lines_open: bool,
    workers: Workers,
    stepped: bool,
    /// Length of an interval where no `psrun` says one.
    interval_ns: u64,
    ready: u64,
    opened: bool,
    /// Why, with words; the gravest reason stays.
    ended: Option<(Ended, String)>,
    failures: Vec<Failure>,
    intervals: Intervals,
    /// While it warms up.
    warm: Option<Warm>,
    /// The end of the interval that is on; none while there are none.
    tick_at: Option<Instant>,
    /// The signal that came.
    signalled: Option<i32>,
    drain_from: Option<Instant>,
    /// Killed processes that are in a call that does not come back do not die before it ends, threads of our own
    /// not at all: then the report comes from the shared counters, without waiting for them.
    give_up: Option<Instant>,
    gave_up: bool,
    said_drain: bool,
    /// The workload stops the processes: that is an end as good as the time's.
    stopped: bool,
    per_process: bool,
    /// Intervals have percentiles.
    percentiles: bool,
    /// How often wlrun was let go on after it was stopped; and how often it was when the measurement began.
    resumed: Arc<AtomicU64>,
    resumed_before: u64,
    /// Processor time of each worker when the measurement began.
    cpu_before: Vec<u64>,
    monitors: Monitors,
    /// A snapshot of a session is in the record.
    pub(super) snapped: bool,
    /// The rows of the intervals, where each is shown in full as it is over.
    shown: Option<Arc<[FlowopRecord]>>,
}

/// What a [`Watch`] is made of.
pub(super) struct Parts<'r> {
    pub(super) plan: &'r RunPlan,
    pub(super) control: Control<'r>,
    pub(super) counters: Counters<'r>,
    pub(super) shape: &'r Shape,
    pub(super) lines: Lines<BufReader<pipe::Receiver>>,
    pub(super) workers: Workers,
    pub(super) monitors: Monitors,
    pub(super) stepped: bool,
    pub(super) interval_ns: u64,
    pub(super) resumed: Arc<AtomicU64>,
    pub(super) per_process: bool,
    pub(super) percentiles: bool,
}

impl<'r> Watch<'r> {
    pub(super) fn new(parts: Parts<'r>) -> Self {
        let Parts { plan, control, counters, shape, lines, workers, monitors, stepped, interval_ns, resumed, .. } =
            parts;
        let histograms: usize = plan.processes.iter().map(histograms_of).sum();
        let &RunPlan { length_ns, warmup_ns, period, lathist, .. } = plan;
        Watch {
            plan,
            asked: Asked { length_ns, warmup_ns, period, lathist },
            control,
            counters,
            shape,
            rows: rows_of(plan),
            lines,
            lines_open: true,
            workers,
            stepped,
            interval_ns,
            ready: 0,
            opened: false,
            ended: None,
            failures: Vec::new(),
            intervals: Intervals::default(),
            warm: None,
            tick_at: None,
            signalled: None,
            drain_from: None,
            give_up: None,
            gave_up: false,
            said_drain: false,
            stopped: false,
            cpu_before: Vec::new(),
            monitors,
            per_process: parts.per_process,
            percentiles: parts.percentiles || histograms <= MOST_HISTOGRAMS,
            resumed,
            resumed_before: 0,
            snapped: false,
            shown: None,
        }
    }

    /// Intervals are shown in full while the run is on; not for a session, whose intervals may be thrown away.
    pub(super) fn show_intervals(&mut self) {
        self.shown = Some(self.flowops().into());
    }

    fn now(&self) -> u64 {
        if self.stepped { 0 } else { Clock::Monotonic.now() }
    }

    /// The run that the workers belong to.
    pub(super) fn plan(&self) -> &'r RunPlan {
        self.plan
    }

    /// True where nothing but the workload has ended it.
    pub(super) fn ended_well(&self) -> bool {
        self.ended.is_none()
    }

    /// The signal that ended it.
    pub(super) fn signal(&self) -> Option<i32> {
        self.signalled
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

    /// True where workers were ended by force, for a call of theirs does not come back or somebody would not wait.
    pub(super) fn was_forced(&self) -> bool {
        self.give_up.is_some()
    }

    /// True once nobody is left, or nobody is waited for any more.
    fn is_gone(&self) -> bool {
        self.gave_up || self.workers.tasks.is_empty() && !self.lines_open
    }

    /// Watches until all workers are gone.
    pub(super) async fn until_gone(&mut self, signals: &mut Signals, show: &mut dyn FnMut(Event)) {
        while !self.is_gone() {
            self.step(signals, show).await;
        }
    }

    /// Watches until the gate is open; false where it came to an end before.
    pub(super) async fn until_open(&mut self, signals: &mut Signals, show: &mut dyn FnMut(Event)) -> bool {
        while !self.opened && !self.is_gone() {
            self.step(signals, show).await;
        }
        self.lives()
    }

    /// Watches while something else is done. None where the workers came to their end, or are on the way to it, before.
    pub(super) async fn during<T>(
        &mut self,
        work: impl Future<Output = T>,
        signals: &mut Signals,
        show: &mut dyn FnMut(Event),
    ) -> Option<T> {
        let mut work = std::pin::pin!(work);
        while self.lives() {
            tokio::select! {
                biased;
                result = &mut work => return Some(result),
                // A step has no effect before its last moment, so it may be broken off.
                () = self.step(signals, show) => {}
            }
        }
        self.until_gone(signals, show).await;
        None
    }

    /// True while the window is open.
    fn lives(&self) -> bool {
        self.opened && self.drain_from.is_none() && self.ended.is_none() && !self.workers.tasks.is_empty()
    }

    /// Waits for one thing to happen, and does what follows from it.
    async fn step(&mut self, signals: &mut Signals, show: &mut dyn FnMut(Event)) {
        let (processes, threads) = (self.workers.count, self.plan.thread_count());
        if !self.opened && self.ready == processes && self.ended.is_none() {
            self.open();
            return;
        }
        // The window's end: known from the start, or set by a worker; then the drain begins.
        let close_at = match (self.opened && !self.stepped, self.control.window_end()) {
            (true, end) if end != u64::MAX => Some(Duration::from_nanos(end.saturating_sub(self.now()))),
            _ => None,
        };
        let drain_at = self.drain_from.map(|from| from + DRAIN_LIMIT);
        // In this order: workers may say lines faster than they are read (print), and must not keep a signal or the
        // end of the window waiting; and what a process said comes before its end.
        tokio::select! {
            biased;
            signal = signals.next() => {
                if self.signalled.replace(signal).is_some() {
                    self.workers.kill();
                    self.give_up.get_or_insert_with(|| Instant::now() + KILL_LIMIT);
                }
                self.end(Ended::Interrupted, format!("interrupted by {}", signal_name(signal)));
                self.control.close(self.now());
                self.drain();
                if !self.opened {
                    // The threads at the gate go into a window that has closed.
                    self.control.open(0, 0, 0);
                }
            },
            () = sleep(close_at), if close_at.is_some() && self.drain_from.is_none() => {
                // Time is up or a worker closed the window; pauses end, and what is under way may come back.
                if self.now() >= self.control.window_end() {
                    self.control.close(self.control.window_end());
                    self.drain();
                }
            },
            () = sleep_until(self.tick_at), if self.tick_at.is_some() => self.tick(show),
            line = self.lines.next_line(), if self.lines_open => match line {
                Ok(Some(line)) => {
                    self.message(&line, show);
                    if self.ended.is_some() && !self.opened {
                        self.control.close(0);
                    }
                    if !self.opened {
                        show(Event::Starting { ready: self.ready, processes, threads });
                    }
                }
                _ => self.lines_open = false,
            },
            Some(task) = self.workers.tasks.join_next(), if !self.workers.tasks.is_empty() => {
                let killed_by_us = self.signalled.is_some() || matches!(self.ended, Some((Ended::Stuck, _)));
                if let Ok((name, Some(how))) = task
                    && !killed_by_us
                {
                    self.process_lost(&name, &how);
                }
            },
            () = sleep_until(self.give_up), if self.give_up.is_some() => self.gave_up = true,
            () = sleep_until(drain_at), if drain_at.is_some() && self.give_up.is_none() => {
                let left = self.workers.tasks.len();
                self.end(Ended::Stuck, format!(
                    "operations of {left} process instances did not come back within {} s of the end",
                    DRAIN_LIMIT.as_secs(),
                ));
                self.workers.kill();
                self.give_up = Some(Instant::now() + KILL_LIMIT);
            },
        }
    }

    /// The window has closed; what is under way may come back.
    fn drain(&mut self) {
        self.drain_from.get_or_insert_with(Instant::now);
        self.monitors.end();
    }

    /// What the kernel counts from now on, or from the end of the warm-up on, belongs to the measurement.
    fn begin_monitors(&mut self) {
        if self.asked.warmup_ns == 0 || self.stepped {
            self.monitors.begin();
        } else {
            self.monitors.wait();
        }
        self.intervals = Intervals::from(self.monitors.last());
    }

    fn open(&mut self) {
        // Before the gate opens: nothing that happens behind it is missed, and nothing of it waits for this.
        self.begin_monitors();
        let gate = self.now();
        let start = gate.saturating_add(self.asked.warmup_ns);
        let end = self.asked.length_ns.map_or(u64::MAX, |length| start.saturating_add(length));
        self.opened = true;
        self.cpu_before = self.process_cpu();
        self.resumed_before = self.resumed.load(Relaxed);
        self.control.open(gate, start, end);
        self.begin_ticks(Warm { since: gate, at: gate, io: IntervalCounts::default() }, start);
    }

    /// Measures anew from now on, or after a warm-up.
    fn begin(&mut self, asked: Asked) {
        self.asked = asked;
        self.begin_monitors();
        let now = self.now();
        let start = now.saturating_add(asked.warmup_ns);
        let end = asked.length_ns.map_or(u64::MAX, |length| start.saturating_add(length));
        self.cpu_before = self.process_cpu();
        self.resumed_before = self.resumed.load(Relaxed);
        let since = self.control.window_start();
        let warm = Warm { since, at: now, io: self.io_of(since) };
        self.control.begin(start, end);
        self.begin_ticks(warm, start);
    }

    /// `stats clear`.
    pub(super) fn clear(&mut self) {
        self.begin(Asked { length_ns: None, warmup_ns: 0, ..self.asked });
    }

    /// `run` in a session.
    pub(super) fn measure(&mut self, measure: &Measure) {
        let &Measure { length_ns, warmup_ns, period, lathist } = measure;
        self.begin(Asked { length_ns, warmup_ns, period, lathist });
    }

    /// `eventgen` in a session.
    pub(super) fn set_rate(&self, per_s: u64) {
        self.control.set_rate(self.now(), per_s);
    }

    /// Closes the window: the workers come to their end.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        self.control.close(self.now());
        self.drain();
    }

    fn period(&self) -> Duration {
        Duration::from_nanos(self.asked.period.map_or(self.interval_ns, |period| period.length_ns))
    }

    /// The first tick ends the warm-up's first interval, or the window's.
    fn begin_ticks(&mut self, warm: Warm, start: u64) {
        let warmup = Duration::from_nanos(start - warm.at);
        let first = if warmup.is_zero() { self.period() } else { warmup.min(self.period()) };
        self.warm = (!warmup.is_zero()).then_some(warm);
        self.tick_at = (!self.stepped).then(|| Instant::now() + first);
    }

    fn tick(&mut self, show: &mut dyn FnMut(Event)) {
        let Some(at) = self.tick_at else { return };
        let (now, start) = (self.now(), self.control.window_start());
        // A late interval does not shift those behind it.
        let mut next = at + self.period();
        while next <= Instant::now() {
            next += self.period();
        }
        if self.drain_from.is_some() {
            if !self.said_drain && self.drain_from.is_some_and(|from| from.elapsed() >= DRAIN_SAID) {
                self.said_drain = true;
                show(Event::Draining { processes: self.workers.tasks.len() as u64 });
            }
        } else if let Some(warm) = self.warm.take() {
            if now < start {
                next = next.min(Instant::now() + Duration::from_nanos(start - now));
                self.show_warmup(warm, now, start, show);
            } else {
                // The warm-up is over; the intervals are counted from its end.
                self.monitors.begin();
                self.intervals = Intervals::from(self.monitors.last());
                next = Instant::now() + self.period().saturating_sub(Duration::from_nanos(now - start));
            }
        } else {
            self.interval(show);
        }
        self.tick_at = Some(next);
    }

    fn show_warmup(&mut self, warm: Warm, now: u64, start: u64, show: &mut dyn FnMut(Event)) {
        let (before, after) = (warm.io, self.io_of(warm.since));
        // Threads that come to the window's start in this moment count from zero again.
        let done = IntervalCounts {
            ops: after.ops.saturating_sub(before.ops),
            bytes_read: after.bytes_read.saturating_sub(before.bytes_read),
            bytes_written: after.bytes_written.saturating_sub(before.bytes_written),
            latency_sum_ns: after.latency_sum_ns.saturating_sub(before.latency_sum_ns),
            latency: None,
        };
        let length = self.asked.warmup_ns;
        let tick = tick_of(true, now + length - start, Some(length), &done, now - warm.at);
        show(Event::Interval(Tick { lag_ns: self.lag_at(now), ..tick }));
        self.warm = Some(Warm { at: now, io: after, ..warm });
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
            // Where the run is broken already, a close at the end of another thread that fails too says nothing new.
            Message::Failed(failure) if failure.is_of_an_end() && self.failures.iter().any(|f| !f.is_of_an_end()) => {}
            Message::Failed(failure) => {
                let at = failure.flowop.as_deref().map(|flowop| format!("{flowop}: ")).unwrap_or_default();
                let place = failure.thread.as_deref().map(|thread| format!(".{thread}")).unwrap_or_default();
                self.end(Ended::Error, format!("{at}{} ({}{place})", failure.message, failure.process));
                self.failures.push(failure);
            }
            Message::Said(text) => show(Event::Said(text)),
            Message::Warning(text) => show(Event::Warning(text)),
            Message::Scheduled(thread) => self.monitors.thread_ended(&thread),
        }
    }

    fn process_lost(&mut self, name: &str, how: &str) {
        let message = format!("process {name} was {how}");
        self.end(Ended::Error, message.clone());
        self.failures.push(Failure { process: name.to_owned(), thread: None, flowop: None, errno: None, message });
        self.control.close(self.now());
        if !self.opened {
            self.control.open(0, 0, 0);
        }
    }

    fn interval(&mut self, show: &mut dyn FnMut(Event)) {
        let start = self.control.window_start();
        let at = self.now().min(self.control.window_end()).saturating_sub(start);
        let total = self.totals();
        self.monitors.look();
        let lag_ns = self.lag_at(start + at);
        let buckets = self.buckets();
        let piece = Piece { lag_ns, buckets, rows: &self.rows, monitors: &self.monitors };
        let Some(interval) = self.intervals.add(at, total, piece) else { return };
        let length = interval.end_ns - interval.start_ns;
        let mut sum = IntervalCounts::default();
        let io = interval.flowops.iter().zip(&self.rows).filter(|(_, row)| row.io);
        io.for_each(|(counts, _)| sum.merge(counts));
        show(Event::Interval(Tick { lag_ns, ..tick_of(false, at, self.asked.length_ns, &sum, length) }));
        // What ends while the window closes is added to the last interval.
        if let (Some(flowops), [.., whole, _]) = (&self.shown, self.intervals.list.as_slice()) {
            show(Event::Counted { interval: Box::new(whole.clone()), flowops: flowops.clone() });
        }
    }

    /// Thread instances of the threads that are like this.
    fn threads_that(&self, like: impl Fn(&ThreadPlan) -> bool) -> impl Iterator<Item = usize> {
        let thread = move |row: &&Row| like(&self.plan.processes[row.process].threads[row.thread]);
        self.rows.iter().filter(|row| row.flowop == 0).filter(thread).flat_map(Row::thread_numbers)
    }

    /// By how much the work is behind its schedule at a moment of the clock: of the threads with one of their own that
    /// is furthest behind, and of the event generator where threads wait for it. None where there is no schedule.
    fn lag_at(&self, now: u64) -> Option<u64> {
        let own = self.threads_that(|thread| thread.rate.is_some()).filter_map(|thread| {
            let now = self.counters.ended_ns(thread).map_or(now, |ended| ended.min(now));
            Some(now.saturating_sub(self.counters.next_due_ns(thread)?))
        });
        let limited = self.threads_that(ThreadPlan::is_limited).next().is_some();
        let events = limited.then(|| self.control.events_behind(now)).flatten();
        own.chain(events).max()
    }

    /// How the schedule was kept until a moment of the clock.
    fn schedule(&self, now: u64) -> Option<Schedule> {
        let lag_end_ns = self.lag_at(now)?;
        let since = self.control.window_start();
        let paced = || self.threads_that(ThreadPlan::is_paced).filter(|thread| self.counters.is_of(*thread, since));
        let most = paced().map(|thread| self.counters.lag_max_ns(thread)).max();
        Some(Schedule {
            lag_max_ns: most.unwrap_or(0).max(lag_end_ns),
            lag_end_ns,
            dropped_events: paced().map(|thread| self.counters.dropped_events(thread)).sum(),
        })
    }

    /// The threads of a row whose counters are of the measurement that began at `since`.
    fn threads_of<'s>(&'s self, row: &'s Row, since: u64) -> impl Iterator<Item = usize> + 's {
        row.thread_numbers().filter(move |thread| self.counters.is_of(*thread, since))
    }

    fn row_total(&self, row: &Row, since: u64) -> IntervalCounts {
        let mut counts = IntervalCounts::default();
        let threads = self.threads_of(row, since);
        threads.for_each(|thread| self.counters.of(thread, row.flowop).add_to_interval(&mut counts));
        counts
    }

    /// What each row has done until now.
    fn totals(&self) -> Vec<IntervalCounts> {
        let since = self.control.window_start();
        self.rows.iter().map(|row| self.row_total(row, since)).collect()
    }

    /// The operations of each row by bucket until now; none where nobody wants to know.
    fn buckets(&self) -> Option<Vec<Vec<u64>>> {
        let since = self.control.window_start();
        let of = |row: &Row| {
            let mut sums = vec![0; BUCKETS];
            self.threads_of(row, since).for_each(|n| self.counters.of(n, row.flowop).add_to_buckets(&mut sums));
            sums
        };
        self.percentiles.then(|| self.rows.iter().map(of).collect())
    }

    /// All I/O of the measurement that began at `since`.
    fn io_of(&self, since: u64) -> IntervalCounts {
        let mut sum = IntervalCounts::default();
        self.rows.iter().filter(|row| row.io).for_each(|row| sum.merge(&self.row_total(row, since)));
        sum
    }

    /// Processor time of each worker until now; of this process where they are its threads.
    fn process_cpu(&self) -> Vec<u64> {
        self.workers.pids().iter().map(|pid| process_cpu(*pid).unwrap_or(0)).collect()
    }

    /// Processor time since the measurement began. Threads that have ended have said it; while one of a process has
    /// not, the process's clock stands for all of them.
    fn cpu_ns(&self) -> u64 {
        let since = self.control.window_start();
        let ended = |thread: usize| self.counters.state(thread) == ThreadState::Ended;
        let said = |thread: usize| if self.counters.is_of(thread, since) { self.counters.cpu_ns(thread) } else { 0 };
        let clocks = self.process_cpu();
        let mut first = 0;
        let mut processes = Vec::new();
        for process in &self.plan.processes {
            for _ in 0..process.instances {
                let next = first + process.thread_count() as usize;
                processes.push(first..next);
                first = next;
            }
        }
        if clocks.len() != processes.len() {
            // All are threads of this process.
            processes = std::iter::once(0..first).collect();
        }
        let each = processes.into_iter().zip(clocks.iter().zip(&self.cpu_before));
        each.map(|(threads, (now, before))| {
            if self.drain_from.is_some() || threads.clone().all(ended) {
                threads.map(said).sum()
            } else {
                now.saturating_sub(*before)
            }
        })
        .sum()
    }

    /// Time that the threads were ready and had no processor; none while one has not said it, or where all say nothing.
    fn run_delay_ns(&self) -> Option<u64> {
        let mut threads = 0..self.shape.threads();
        let ended = threads.clone().all(|thread| self.counters.state(thread) == ThreadState::Ended);
        let sum = ended.then(|| threads.by_ref().map(|thread| self.counters.run_delay_ns(thread)).sum());
        sum.filter(|nanos| *nanos > 0 && !self.stepped)
    }

    fn flowops(&self) -> Vec<FlowopRecord> {
        let since = self.control.window_start();
        let row = |row: &Row| {
            let process = &self.plan.processes[row.process];
            let thread = &process.threads[row.thread];
            let flowop = &thread.flowops[row.flowop];
            let (mut counts, mut histogram) = (Counts::default(), Histogram::default());
            let threads = self.threads_of(row, since);
            threads.for_each(|n| self.counters.of(n, row.flowop).add_to(&mut counts, &mut histogram));
            let mut response = Histogram::default();
            if thread.is_paced() && row.io {
                let at = thread.flowops.len() + row.flowop;
                let threads = self.threads_of(row, since);
                threads.for_each(|n| self.counters.of(n, at).add_to(&mut Counts::default(), &mut response));
            }
            let processes = if self.per_process { self.by_process(row, since) } else { Vec::new() };
            FlowopRecord {
                processes,
                name: flowop.name.clone(),
                kind: flowop.kind.clone(),
                class: flowop.def().class,
                process: process.name.clone(),
                thread: thread.name.clone(),
                instances: u64::from(row.instances) * u64::from(row.threads),
                left_out: row.instances == 0 || row.left_out,
                iosize: match flowop.attributes.get("iosize") {
                    Some(Typed::Number(bytes)) => Some(*bytes),
                    _ => None,
                },
                random: flowop.attributes.flag("random"),
                direct: flowop.may_be_direct() && thread.opens_direct(flowop.attributes.number("fd")),
                counts,
                histogram,
                response: Some(response).filter(|response| response.count > 0),
            }
        };
        self.rows.iter().map(row).collect()
    }

    /// What each process instance did of a row.
    fn by_process(&self, row: &Row, since: u64) -> Vec<InstanceRecord> {
        let instance = |instance: u32| {
            let first = row.first + instance as usize * row.per_instance;
            let (mut counts, mut histogram) = (Counts::default(), Histogram::default());
            let threads = (first..first + row.threads as usize).filter(|n| self.counters.is_of(*n, since));
            threads.for_each(|n| self.counters.of(n, row.flowop).add_to(&mut counts, &mut histogram));
            InstanceRecord { instance, counts, histogram }
        };
        (0..row.instances).map(instance).collect()
    }

    /// `stats snap`: everything since the measurement began, while it goes on.
    pub(super) fn snapshot(&mut self) -> Run {
        self.snapped = true;
        let elapsed_ns = self.now().saturating_sub(self.control.window_start());
        let flowops = self.flowops();
        // Of the same look at the counters, which go on: the intervals add up to the run.
        let total = |flowop: &FlowopRecord| IntervalCounts {
            ops: flowop.counts.ops,
            bytes_read: flowop.counts.bytes_read,
            bytes_written: flowop.counts.bytes_written,
            latency_sum_ns: flowop.histogram.sum_ns,
            latency: None,
        };
        let mut intervals = self.intervals.clone();
        self.monitors.look_closely();
        let lag_ns = self.lag_at(self.control.window_start() + elapsed_ns);
        let piece = Piece { lag_ns, buckets: self.buckets(), rows: &self.rows, monitors: &self.monitors };
        intervals.add(elapsed_ns, flowops.iter().map(total).collect(), piece);
        self.entry(Ended::Time, None, elapsed_ns, flowops, intervals.list)
    }

    /// Everything that happened.
    pub(super) fn record(mut self) -> Run {
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
            // All threads may have come to their end without the window having been closed.
            self.monitors.end();
            let lag_ns = self.lag_at(start + elapsed_ns);
            let piece = Piece { lag_ns, buckets: self.buckets(), rows: &self.rows, monitors: &self.monitors };
            self.intervals.add(elapsed_ns, totals, piece);
        }
        let (ended, reason) = match self.ended.take() {
            Some((ended, why)) => (ended, Some(why)),
            None if self.stopped || self.asked.length_ns.is_some_and(|length| elapsed_ns >= length) => {
                (Ended::Time, None)
            }
            None => (Ended::Done, Some("all threads came to their end".to_owned())),
        };
        let reason = match reason {
            Some(why) if self.opened && end < start => Some(format!("{why}, in the warm-up")),
            reason => reason,
        };
        let intervals = std::mem::take(&mut self.intervals).list;
        let flowops = self.flowops();
        self.entry(ended, reason, elapsed_ns, flowops, intervals)
    }

    fn entry(
        &self,
        ended: Ended,
        reason: Option<String>,
        elapsed_ns: u64,
        flowops: Vec<FlowopRecord>,
        intervals: Vec<Interval>,
    ) -> Run {
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
            warmup_ns: self.asked.warmup_ns,
            requested_ns: self.asked.length_ns,
            period_ns: self.asked.period.map(|period| period.length_ns),
            period_cumulative: self.asked.period.is_some_and(|period| period.cumulative),
            lathist: self.asked.lathist,
            flowops,
            cpu_ns: self.cpu_ns(),
            intervals,
            bytes: None,
            calibration: Vec::new(),
            failures: self.failures.clone(),
            warnings: Vec::new(),
            asserts: Vec::new(),
            monitors: self.monitors.record(),
            own_cost: None,
            run_delay_ns: self.run_delay_ns(),
            suspended: self.opened && self.resumed.load(Relaxed) != self.resumed_before,
            schedule: self.opened.then(|| self.schedule(self.control.window_start() + elapsed_ns)).flatten(),
        }
    }
}

/// An interval in numbers.
fn tick_of(warmup: bool, elapsed_ns: u64, length_ns: Option<u64>, done: &IntervalCounts, nanos: u64) -> Tick {
    let seconds = nanos.max(1) as f64 / 1e9;
    Tick {
        warmup,
        elapsed_ns,
        length_ns,
        ops_per_s: done.ops as f64 / seconds,
        read_per_s: done.bytes_read as f64 / seconds,
        written_per_s: done.bytes_written as f64 / seconds,
        mean_ns: (done.ops > 0).then(|| done.latency_sum_ns as f64 / done.ops as f64),
        lag_ns: None,
    }
}

/// A flowop as it is defined, and the thread instances that run it.
struct Row {
    process: usize,
    thread: usize,
    flowop: usize,
    io: bool,
    left_out: bool,
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
            let left_out = thread.left_out();
            for (f, flowop) in thread.flowops.iter().enumerate() {
                rows.push(Row {
                    process: p,
                    thread: t,
                    flowop: f,
                    io: flowop.def().class.is_io(),
                    left_out: left_out.contains(&(f as u32)),
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
#[derive(Debug, Clone, Default)]
struct Intervals {
    list: Vec<Interval>,
    last: Vec<IntervalCounts>,
    /// By row, all operations by bucket until the last piece's end.
    last_buckets: Vec<Vec<u64>>,
    /// What the monitors read at the beginning of the last piece, and at its end.
    read: [Reading; 2],
}

/// What a piece of the window has beside its counts.
struct Piece<'a> {
    /// How far the work is behind its schedule at its end.
    lag_ns: Option<u64>,
    /// By row, all operations by bucket until its end; none where percentiles of intervals are not taken.
    buckets: Option<Vec<Vec<u64>>>,
    rows: &'a [Row],
    monitors: &'a Monitors,
}

impl Intervals {
    /// None yet, from what the monitors read at the beginning on.
    fn from(first: &Reading) -> Self {
        Intervals { read: [first.clone(), first.clone()], ..Intervals::default() }
    }

    /// Adds the piece up to `at` (since the gate), by then `totals` had been done and the monitors had been read. None
    /// where it has no length.
    fn add(&mut self, at: u64, totals: Vec<IntervalCounts>, piece: Piece<'_>) -> Option<&Interval> {
        let Piece { lag_ns, buckets, rows, monitors } = piece;
        let start_ns = self.list.last().map_or(0, |interval| interval.end_ns);
        if at <= start_ns {
            // What was counted since belongs to the piece that ended at this very moment.
            if let Some(last) = self.list.last_mut() {
                for ((counts, total), before) in last.flowops.iter_mut().zip(&totals).zip(&self.last) {
                    counts.merge_difference(total, before);
                }
                self.last = totals;
                self.read[1] = monitors.last().clone();
                last.monitors = monitors.between(&self.read[0], &self.read[1]);
            }
            return None;
        }
        self.last.resize(totals.len(), IntervalCounts::default());
        let mut flowops: Vec<IntervalCounts> = totals
            .iter()
            .zip(&self.last)
            .map(|(total, before)| {
                let mut counts = IntervalCounts::default();
                counts.merge_difference(total, before);
                counts
            })
            .collect();
        self.last = totals;
        self.read.swap(0, 1);
        self.read[1] = monitors.last().clone();
        let monitors = monitors.between(&self.read[0], &self.read[1]);
        let mut latency = None;
        if let Some(buckets) = buckets {
            self.last_buckets.resize(buckets.len(), vec![0; BUCKETS]);
            let mut all = vec![0; BUCKETS];
            for (at, row) in rows.iter().enumerate() {
                let both = buckets[at].iter().zip(&self.last_buckets[at]);
                let done: Vec<u64> = both.map(|(now, before)| now.saturating_sub(*before)).collect();
                if row.io {
                    all.iter_mut().zip(&done).for_each(|(all, done)| *all += done);
                }
                flowops[at].latency = IntervalLatency::of(done);
            }
            latency = IntervalLatency::of(all);
            self.last_buckets = buckets;
        }
        self.list.push(Interval { start_ns, end_ns: at, flowops, monitors, latency, lag_ns });
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
