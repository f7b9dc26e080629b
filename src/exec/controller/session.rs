//! Processes that live from `create processes` on, and the commands that act on them one by one.

use super::background::Background;
use super::{Controller, ExecError};
use crate::event::Event;
use crate::plan::{RunPlan, Step};
use std::future::Future;

impl<'a> Controller<'a> {
    /// Carries out a step that is none of a plain run. False where it ended the invocation.
    pub(super) async fn session_step(&mut self, step: &Step) -> Result<bool, ExecError> {
        match step {
            Step::Clear => {
                if let Some(live) = &mut self.live {
                    live.clear();
                }
            }
            Step::Rate(per_s) => {
                if let Some(live) = &self.live {
                    live.set_rate(*per_s);
                }
            }
            Step::Snap => self.snap().await,
            Step::Measure(measure) => {
                if let Some(live) = &mut self.live {
                    live.measure(measure);
                    return Ok(self.leave().await);
                }
                self.left_early = false;
            }
            Step::UntilDone => {
                if self.live.is_some() {
                    let go_on = self.leave().await;
                    self.left_early = true;
                    return Ok(go_on);
                }
            }
            Step::Stop => {
                self.left_early = false;
                return Ok(self.stop().await);
            }
            Step::Remove => {
                self.take_away().await;
            }
            Step::Background(line) => {
                let line = Background::start(line).map_err(|e| ExecError::System("the shell cannot be started", e))?;
                self.background.push(line);
            }
            Step::Dump { format, path } => {
                let last = self.runs.last().cloned().into_iter().collect();
                let record = Box::new(self.record_of(last));
                (self.show)(Event::Dump { format: format.clone(), path: path.clone(), record });
            }
            Step::Directory(path) => (self.show)(Event::Directory(path.clone())),
            Step::Log { path, text } => (self.show)(Event::Log { path: path.clone(), text: text.clone() }),
            // Those of a plain run are done by the caller.
            Step::Echo(_)
            | Step::System(_)
            | Step::Sleep(_)
            | Step::Warmup(_)
            | Step::Create(_)
            | Step::Run(_)
            | Step::Start(_) => {}
        }
        Ok(true)
    }

    /// Starts the processes of a session. False where they did not come to the gate.
    pub(super) async fn start_session(&mut self, plan: &'a RunPlan) -> Result<bool, ExecError> {
        if !self.before(plan).await? {
            return Ok(false);
        }
        let mut watch = self.start(plan)?;
        if watch.until_open(&mut self.signals, self.show).await {
            self.live = Some(watch);
            return Ok(true);
        }
        watch.until_gone(&mut self.signals, self.show).await;
        self.left_early = true;
        Ok(self.keep(watch).await)
    }

    /// `stats snap`.
    async fn snap(&mut self) {
        self.end_background().await;
        if let Some(live) = &mut self.live {
            let (plan, mut run) = (live.plan(), live.snapshot());
            self.add_before(&mut run);
            self.add(plan, run);
        }
    }

    /// Stops the processes of a session. What was measured since the last `stats clear` becomes an entry where the
    /// session has none yet, or ended in another way than by this. False where that ends the invocation.
    pub(super) async fn stop(&mut self) -> bool {
        let Some(mut live) = self.live.take() else { return true };
        live.stop();
        live.until_gone(&mut self.signals, self.show).await;
        if !(live.snapped && live.ended_well()) {
            return self.keep(live).await;
        }
        match (self.clean_up().await, self.runs.last_mut()) {
            (Some(failure), Some(run)) => {
                super::around::fail(run, failure);
                false
            }
            _ => self.signal.is_none(),
        }
    }

    /// Watches a session to its own end. False where that ends the invocation.
    async fn leave(&mut self) -> bool {
        let Some(mut live) = self.live.take() else { return true };
        live.until_gone(&mut self.signals, self.show).await;
        self.keep(live).await
    }

    /// Does something that takes time while the processes of a session live. None where a signal came, or where the
    /// session ended by itself and the work is not one to `finish` all the same.
    pub(super) async fn beside<T>(&mut self, work: impl Future<Output = T>, place: &str, finish: bool) -> Option<T> {
        let mut work = std::pin::pin!(work);
        if let Some(mut live) = self.live.take() {
            let result = live.during(work.as_mut(), &mut self.signals, self.show).await;
            if result.is_some() {
                self.live = Some(live);
                return result;
            }
            self.left_early = true;
            self.keep(live).await;
            if !finish || self.signal.is_some() {
                return None;
            }
        }
        tokio::select! {
            result = work => Some(result),
            signal = self.signals.next() => {
                self.interrupted(signal, place);
                None
            }
        }
    }

    /// False where what is in the record ends the invocation.
    pub(super) fn goes_on(&self) -> bool {
        self.signal.is_none() && self.runs.last().is_none_or(|run| run.complete && run.valid)
    }

    /// Ends the lines that run beside.
    pub(super) async fn end_background(&mut self) {
        for line in std::mem::take(&mut self.background) {
            line.end().await;
        }
    }
}
