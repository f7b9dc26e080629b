//! What is done around a run and not measured: the user's own commands, the page cache before and after, and the way of
//! what was written to stable storage. All that touches the file system under test is done by threads of their own, so
//! that a call that hangs there cannot hold the controller.

use super::{Controller, ExecError, Stage, not_run, signal_name};
use crate::event::Event;
use crate::exec::alone;
use crate::exec::calibrate::Calibration;
use crate::exec::filesets::{Set, Sets};
use crate::exec::protocol::Order;
use crate::exec::storage::Storage;
use crate::fileset::{Cached, CreateError, Files, Pool, lock_again};
use crate::plan::RunPlan;
use crate::random::stream::Seed;
use crate::record::{
    BytesRecord, Cold, ColdHow, Dirty, DirtySource, Drain, DrainEnd, Ended, Failure, Level, Residency, Run,
};
use crate::sys::{Region, describe};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;

/// Files of a set that are looked at; of more than these some are chosen by chance.
const LOOKED_AT: usize = 100_000;

/// Files that are looked at before a run where each is a call to a server, and may leave something there (a delegation)
/// that the run would not have found.
const LOOKED_AT_REMOTE: usize = 1000;

/// How long the files are looked at.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

/// How much longer a call may take that was begun by then.
const LOOK_GRACE: Duration = Duration::from_secs(2);

/// How long what was written may take to come to stable storage.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);

/// How long it may take before a word is said about it.
const SAID_AFTER: Duration = Duration::from_secs(1);

/// Where the kernel is told to drop its caches.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// A tree that is in use.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: PathBuf,
    /// It carries our mark.
    pub(super) ours: bool,
    /// The lock keeps those out too who only read.
    pub(super) exclusive: bool,
    /// Keeps other runs out; none where the file system has no locks, or while it is given up.
    pub(super) lock: Option<OwnedFd>,
}

/// What came of something that is done beside.
enum Aside<T> {
    Done(T),
    /// It took too long; it may still be at it.
    Late,
    /// A signal came; it may still be at it.
    Signal(i32),
}

/// What is known of the file sets before a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Before {
    pub(super) storage: Option<Storage>,
    pub(super) cold: Option<Cold>,
    pub(super) resident: Option<Residency>,
}

/// True where this process may drop the caches of the machine.
pub(in crate::exec) fn may_drop_caches() -> io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(DROP_CACHES).map(drop)
}

impl Controller<'_> {
    /// Everything that has to be done before the workers of a run start. False where that ended the invocation, with a
    /// record that says so.
    pub(super) async fn before(&mut self, plan: &RunPlan) -> Result<bool, ExecError> {
        (self.before, self.calibration) = (Before::default(), None);
        if !self.stage.touches_files {
            return Ok(true);
        }
        self.wants_cleanup = self.options.cleanup.is_some();
        if let Some(line) = self.options.prepare.clone() {
            // A tree's lock is an open directory, and would keep its file system from being unmounted.
            self.unlock();
            if let Some(why) = self.shell("--prepare", &line).await? {
                self.runs.push(match self.signal {
                    Some(_) => not_run(Ended::Interrupted, &why, None),
                    None => not_run(Ended::Error, &why, None),
                });
                return Ok(false);
            }
        }
        if let Some(run) = self.lock_again().await? {
            self.runs.push(run);
            return Ok(false);
        }
        Ok(self.calibrate(plan).await && self.look_before().await?)
    }

    /// Finds out what each flowop asks of the storage by itself, where somebody wants to know. False where that ended the
    /// invocation.
    async fn calibrate(&mut self, plan: &RunPlan) -> bool {
        if !self.options.calibrate {
            return true;
        }
        let Stage { sets, region, counters, points, .. } = self.stage;
        let calibration = Calibration {
            order: Order::new(self.plan, sets, alone::plan(plan), &self.options.engine, *counters),
            region: region.clone(),
            points: *points,
            kernel_files: self.options.kernel_files.clone(),
            targets: self.targets.clone(),
        };
        let said = "each flowop by itself, for --calibrate";
        let limit = calibration.limit();
        let why = match self.aside(Some(limit), Some(said), move |cancel| calibration.measure(cancel)).await {
            Aside::Done(Ok(found)) => {
                self.calibration = Some(found);
                return true;
            }
            Aside::Done(Err(why)) => why,
            Aside::Late => format!("a call did not come back within {} s", limit.as_secs()),
            Aside::Signal(signal) => return self.interrupted(signal, "before the run"),
        };
        self.runs.push(not_run(Ended::Error, &format!("--calibrate: {why}"), None));
        false
    }

    /// Finds what lies below the file sets, makes them cold where that is asked for, and looks at the page cache.
    async fn look_before(&mut self) -> Result<bool, ExecError> {
        let storage = match Storage::find(&self.options.kernel_files, &self.targets) {
            Ok(storage) => storage,
            Err(error) => {
                (self.show)(Event::Warning(format!(
                    "what lies below the file sets is not known: {}",
                    describe(&error)
                )));
                return Ok(true);
            }
        };
        let (sets, region, seed) = (self.stage.sets.clone(), self.stage.region.clone(), self.look_seed());
        let (cold, prepared) = (self.options.cold, self.options.prepare.is_some());
        let said = cold.map(|_| "making the file sets cold");
        let work = move |cancel: &AtomicBool| -> Result<Before, String> {
            let cold = match cold {
                Some(how) => Some(make_cold(how, &storage, &sets, &region, cancel)?),
                None => None,
            };
            // Looking at a file brings its inode into memory, which a command has perhaps just taken out.
            let limit = match (&cold, prepared, storage.remote) {
                (Some(_), ..) => LOOKED_AT,
                (None, true, _) => 0,
                _ if !storage.is_known() => 0,
                (None, false, true) => LOOKED_AT_REMOTE,
                (None, false, false) => LOOKED_AT,
            };
            let resident = look(&sets, &region, limit, seed, cancel);
            if matches!(&cold, Some(Cold { how: ColdHow::DropCaches, .. })) {
                let _ = std::fs::write(DROP_CACHES, "2\n");
            }
            Ok(Before { storage: Some(storage), cold, resident })
        };
        match self.aside(None, said, work).await {
            Aside::Done(Ok(before)) => self.before = before,
            Aside::Done(Err(why)) => {
                if cold.is_some() {
                    self.runs.push(not_run(Ended::Error, &format!("--cold: {why}"), None));
                    return Ok(false);
                }
                (self.show)(Event::Warning(why));
            }
            Aside::Late => {}
            Aside::Signal(signal) => return Ok(self.interrupted(signal, "before the run")),
        }
        Ok(true)
    }

    /// Adds to a run what was found before its workers started, and what its monitors say of what is dirty.
    pub(super) fn add_before(&self, run: &mut Run) {
        // Without monitors the window did not begin.
        let Some(storage) = self.before.storage.as_ref().filter(|_| !run.monitors.is_empty()) else { return };
        let dirty = dirty_growth(run).filter(|_| !storage.is_memory());
        run.bytes = Some(BytesRecord {
            storage: storage.record.clone(),
            cold: self.before.cold.clone(),
            resident_before: self.before.resident,
            dirty: dirty.map(|bytes| Dirty { bytes, source: DirtySource::Machine }),
            ..BytesRecord::default()
        });
    }

    /// Adds to a run what is known once its workers are gone.
    pub(super) async fn after(&mut self, run: &mut Run) {
        self.add_before(run);
        let (Some(bytes), Some(storage)) = (&mut run.bytes, self.before.storage.take()) else { return };
        // Who ends it does not want to wait, and what is stuck cannot be looked at.
        if self.signal.is_some() || run.ended == Ended::Stuck {
            return;
        }
        let (sets, region, seed) = (self.stage.sets.clone(), self.stage.region.clone(), self.look_seed());
        let limit = if storage.is_known() || self.options.cold.is_some() { LOOKED_AT } else { 0 };
        let work = move |cancel: &AtomicBool| look(&sets, &region, limit, seed, cancel);
        match self.aside(Some(LOOK_LIMIT + LOOK_GRACE), None, work).await {
            Aside::Done(resident) => bytes.resident_after = resident,
            Aside::Late => (self.show)(Event::Warning("the file system does not answer; nothing is said of it".into())),
            Aside::Signal(signal) => {
                self.signal = Some(signal);
                return;
            }
        }
        // What is in memory has nowhere to go.
        if storage.is_memory() {
            return;
        }
        if let Some(dirty) = bytes.resident_after.as_ref().and_then(Residency::dirty_bytes) {
            bytes.dirty = Some(Dirty { bytes: dirty, source: DirtySource::FileSets });
        }
        if self.options.drain && run.flowops.iter().any(|flowop| flowop.counts.bytes_written > 0) {
            bytes.drain = Some(self.drain(storage).await);
        }
    }

    /// Waits until all that was written is on stable storage. What others have written to these file systems goes with it.
    async fn drain(&mut self, storage: Storage) -> Drain {
        let started = Instant::now();
        let work = move |_: &AtomicBool| storage.sync();
        let said = "what was written is brought to stable storage; Ctrl-C skips that";
        let (ended, error) = match self.aside(Some(DRAIN_LIMIT), Some(said), work).await {
            Aside::Done(Ok(())) => (DrainEnd::Drained, None),
            Aside::Done(Err((_, error))) => (DrainEnd::Failed, Some(describe(&error).to_string())),
            Aside::Late => (DrainEnd::Limit, None),
            Aside::Signal(libc::SIGINT) => (DrainEnd::Skipped, None),
            Aside::Signal(signal) => {
                self.signal = Some(signal);
                (DrainEnd::Skipped, None)
            }
        };
        Drain { ended, elapsed_ns: started.elapsed().as_nanos() as u64, error }
    }

    /// Runs the command for after a run, once. Gives why that failed.
    pub(super) async fn clean_up(&mut self) -> Option<Failure> {
        let line = self.options.cleanup.clone().filter(|_| std::mem::take(&mut self.wants_cleanup))?;
        self.unlock();
        let message = match self.shell("--cleanup", &line).await {
            Ok(why) => why?,
            Err(error) => error.to_string(),
        };
        Some(Failure { process: "controller".into(), thread: None, flowop: None, errno: None, message })
    }

    /// Gives the locks of all trees up.
    fn unlock(&mut self) {
        self.trees.iter_mut().for_each(|tree| tree.lock = None);
        self.unlocked = true;
    }

    /// Takes the locks that were given up. Gives a run that did not take place where that is not possible.
    pub(super) async fn lock_again(&mut self) -> Result<Option<Run>, ExecError> {
        if !std::mem::take(&mut self.unlocked) {
            return Ok(None);
        }
        let wanted: Vec<_> = self.trees.iter().map(|tree| (tree.root.clone(), tree.exclusive, tree.ours)).collect();
        let work = move |_: &AtomicBool| -> Result<Vec<Option<OwnedFd>>, CreateError> {
            wanted.iter().map(|(root, exclusive, ours)| lock_again(root, *exclusive, *ours)).collect()
        };
        match self.aside(None, None, work).await {
            Aside::Done(Ok(locks)) => {
                self.trees.iter_mut().zip(locks).for_each(|(tree, lock)| tree.lock = lock);
                Ok(None)
            }
            Aside::Done(Err(error @ CreateError::NotOurs { .. })) => Err(ExecError::Refused(error.to_string())),
            Aside::Done(Err(error)) => Ok(Some(not_run(Ended::Error, &error.to_string(), Some(&error)))),
            Aside::Late => Ok(None),
            Aside::Signal(signal) => {
                self.signal = Some(signal);
                let why = format!("interrupted by {} before the run", signal_name(signal));
                Ok(Some(not_run(Ended::Interrupted, &why, None)))
            }
        }
    }

    /// Runs a command of the user by the shell; what it prints goes to stderr. Gives why it failed.
    async fn shell(&mut self, what: &str, line: &str) -> Result<Option<String>, ExecError> {
        (self.show)(Event::Doing(format!("{what}: {line}")));
        let out = io::stderr().as_fd().try_clone_to_owned();
        let out = out.map_err(|e| ExecError::System("stderr cannot be passed on", e))?;
        let mut child = tokio::process::Command::new("/bin/sh")
            .args(["-c", line])
            .stdin(Stdio::null())
            .stdout(out)
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| ExecError::System("the shell cannot be started", e))?;
        tokio::select! {
            status = child.wait() => {
                let status = status.map_err(|e| ExecError::System("the shell was lost", e))?;
                Ok((!status.success()).then(|| format!("{what} \"{line}\" failed: {status}")))
            }
            signal = self.signals.next() => {
                self.signal.get_or_insert(signal);
                Ok(Some(format!("interrupted by {} in {what}", signal_name(signal))))
            }
        }
    }

    fn look_seed(&self) -> Seed {
        Seed::root(self.plan.seed).child("residency")
    }

    /// Does something that calls the file system, for `limit` at most, and says a word where it takes its time. Where it
    /// is not waited for any more it is told to end; in a call that does not come back it cannot, and stays behind.
    async fn aside<T: Send + 'static>(
        &mut self,
        limit: Option<Duration>,
        said: Option<&str>,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Aside<T> {
        let cancel = Arc::new(AtomicBool::new(false));
        let mut task = tokio::task::spawn_blocking({
            let cancel = cancel.clone();
            move || work(&cancel)
        });
        let mut late = std::pin::pin!(maybe(limit));
        let mut say = std::pin::pin!(maybe(said.map(|_| SAID_AFTER)));
        let mut unsaid = said;
        let aside = loop {
            tokio::select! {
                result = &mut task => match result {
                    Ok(result) => return Aside::Done(result),
                    Err(panic) => std::panic::resume_unwind(panic.into_panic()),
                },
                () = &mut late => break Aside::Late,
                () = &mut say, if unsaid.is_some() => {
                    (self.show)(Event::Doing(unsaid.take().unwrap_or_default().to_owned()));
                }
                signal = self.signals.next() => break Aside::Signal(signal),
            }
        };
        cancel.store(true, Relaxed);
        aside
    }
}

/// By how much the memory of the machine that is to be written grew within the window.
fn dirty_growth(run: &Run) -> Option<u64> {
    let memory = run.monitors.iter().find(|monitor| monitor.monitor == "memory")?;
    let levels = [memory.levels.get("dirty_bytes")?, memory.levels.get("writeback_bytes")?];
    let sum = |of: fn(&Level) -> u64| levels.into_iter().map(of).sum::<u64>();
    Some(sum(|level| level.end).saturating_sub(sum(|level| level.start)))
}

/// Marks a run as failed by what was to be done around it.
pub(super) fn fail(run: &mut Run, failure: Failure) {
    if run.valid {
        run.valid = false;
        run.reason = Some(failure.message.clone());
    }
    run.failures.push(failure);
}

async fn maybe(length: Option<Duration>) {
    match length {
        Some(length) => tokio::time::sleep(length).await,
        None => std::future::pending().await,
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(4, |n| (2 * n.get()).clamp(4, 32))
}

/// How much of all file sets is in the page cache; none where that could not be found out, or `limit` is 0.
fn look(sets: &Sets, region: &Region, limit: usize, seed: Seed, cancel: &AtomicBool) -> Option<Residency> {
    if limit == 0 {
        return None;
    }
    let until = std::time::Instant::now() + LOOK_LIMIT;
    let mut sum = Cached { unwritten: Some(Default::default()), ..Cached::default() };
    for set in sets.unlike() {
        let pool = Pool::attach(region, set.order.pool, set.order.shape());
        let files = files_of(set, &pool, cancel);
        sum.merge(&files.cached(limit, until, seed.child(&set.order.name)).ok()?);
    }
    Some(Residency {
        page_bytes: rustix::param::page_size() as u64,
        files: sum.files,
        files_looked_at: sum.looked_at,
        files_unknown: sum.unknown,
        pages: sum.pages,
        cached_pages: sum.cached,
        dirty_pages: sum.unwritten.map(|unwritten| unwritten.dirty),
        writeback_pages: sum.unwritten.map(|unwritten| unwritten.writeback),
    })
}

fn files_of<'a>(set: &'a Set, pool: &'a Pool<'a>, cancel: &'a AtomicBool) -> Files<'a> {
    Files { root: &set.order.root, device: set.order.device.as_ref(), pool, threads: threads(), cancel }
}

/// Takes all file sets out of the page cache.
fn make_cold(
    how: ColdHow,
    storage: &Storage,
    sets: &Sets,
    region: &Region,
    cancel: &AtomicBool,
) -> Result<Cold, String> {
    let mut failed: Option<(u64, String)> = None;
    match how {
        ColdHow::DropCaches => {
            storage
                .sync()
                .map_err(|(at, error)| format!("{} cannot be written back: {}", at.display(), describe(&error)))?;
            std::fs::write(DROP_CACHES, "3\n").map_err(|error| format!("{DROP_CACHES}: {}", describe(&error)))?;
        }
        ColdHow::Drop => {
            for set in sets.unlike() {
                let pool = Pool::attach(region, set.order.pool, set.order.shape());
                let files = files_of(set, &pool, cancel);
                let dropped = files.drop_cached().map_err(|error| {
                    let root = set.order.root.display();
                    format!("{root} cannot be written back and dropped: {}", describe(&error.into()))
                })?;
                if let Some((count, error)) = dropped {
                    failed.get_or_insert((0, describe(&error.into()).to_string())).0 += count;
                }
            }
        }
    }
    Ok(Cold { how, failed })
}
