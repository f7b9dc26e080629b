//! What each flowop asks of the storage by itself (`--calibrate`): before the run, each thread goes through its flowops
//! alone for some rounds, on the real files, and the counters of mounts and devices are read around each operation.

use super::alone::{self, Alone};
use super::protocol::{Message, Messenger, Order};
use super::taps::{Tapped, Taps};
use crate::monitor::{Monitors, Site};
use crate::random::stream::Seed;
use crate::record::CalibrationRecord;
use crate::sys::{Region, describe};
use std::io::{BufRead, BufReader, Seek};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Operations of each flowop that are enough.
const ENOUGH: u64 = 20;

/// A thread goes on for so long at most, in nanoseconds.
const LENGTH_NS: u64 = 3_000_000_000;

/// For what is under way when the last thread's time is over.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is needed to run the threads of a run alone.
pub(super) struct Calibration {
    /// Of a run of [`alone::plan`].
    pub(super) order: Order,
    pub(super) region: Arc<Region>,
    /// Byte offset in the region, of the wait points.
    pub(super) points: usize,
    /// Where monitors find `proc` and `sys`.
    pub(super) kernel_files: PathBuf,
    /// Where the file sets lie.
    pub(super) targets: Vec<PathBuf>,
}

impl Calibration {
    /// How long it may take; then a call hangs.
    pub(super) fn limit(&self) -> Duration {
        let threads = alone::threads_of(&self.order.run).count() as u64;
        Duration::from_nanos(LENGTH_NS) * threads as u32 + PATIENCE
    }

    /// Goes through all threads, one after the other. It touches the file system under test.
    ///
    /// # Errors
    ///
    /// Why there is nothing to read, or what failed in a thread, in words.
    pub(super) fn measure(&self, cancel: &AtomicBool) -> Result<Vec<CalibrationRecord>, String> {
        let site = Site { root: &self.kernel_files, targets: &self.targets, pids: &[] };
        let mut monitors = Monitors::of_storage(&site);
        if monitors.is_empty() {
            return Err(
                "neither a block device nor an NFS mount is known under the file sets, so nothing counts".into()
            );
        }
        let said = rustix::fs::memfd_create("wlrun-said", rustix::fs::MemfdFlags::CLOEXEC)
            .map_err(|error| format!("no memory: {}", describe(&error.into())))?;
        let messenger = said.try_clone().map_err(|error| format!("no descriptor: {}", describe(&error)))?;
        let messenger = Messenger::new(messenger);
        let one = Alone { order: &self.order, region: &self.region, points: self.points, messenger: &messenger };
        let mut found = Vec::new();
        for [process, thread] in alone::threads_of(&self.order.run).map(|(process, thread)| [process, thread]) {
            if cancel.load(Relaxed) {
                return Err("it was ended".into());
            }
            let of = &self.order.run.processes[process];
            let plan = &of.threads[thread];
            let tapped = plan.flowops.iter().map(|flowop| flowop.def().class.is_io()).collect();
            let taps = Arc::new(Taps::new(monitors, tapped, ENOUGH));
            let seed = Seed::root(self.order.seed).child("calibration");
            one.run([process, thread], seed, Some(taps.clone()), |gate| [gate, gate + LENGTH_NS])?;
            let (tapped, back) = taps.take();
            monitors = back;
            let flowops = plan.flowops.iter().zip(tapped).filter(|(flowop, _)| flowop.def().class.is_io());
            found.extend(flowops.map(|(flowop, Tapped { ops, counters })| CalibrationRecord {
                name: flowop.name.clone(),
                process: of.name.clone(),
                thread: plan.name.clone(),
                ops,
                monitors: counters,
            }));
        }
        failure(said.into())?;
        Ok(found)
    }
}

/// What a thread said that failed.
fn failure(mut said: std::fs::File) -> Result<(), String> {
    said.rewind().map_err(|error| format!("what was said is lost: {}", describe(&error)))?;
    for line in BufReader::new(said).lines().map_while(Result::ok) {
        if let Ok(Message::Failed(failure)) = serde_json::from_str(&line) {
            return Err(match failure.flowop {
                Some(flowop) => format!("{flowop}: {}", failure.message),
                None => failure.message,
            });
        }
    }
    Ok(())
}
