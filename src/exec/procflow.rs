//! One process instance: its file sets, its threads. The same code runs as an OS process of its own and, with
//! `--process-model threads`, within the controller.

use super::control::Control;
use super::points::{Numbers, Stand};
use super::protocol::{Message, Messenger, Order};
use super::threadflow::{self, Names, ThreadRun};
use super::trace::Trace;
use crate::engine::EngineDef;
use crate::fileset::Pool;
use crate::flowop::{OpenSet, Thread};
use crate::plan::{ProcessPlan, ThreadPlan};
use crate::random::stream::Seed;
use crate::record::Failure;
use crate::record::counters::{Counters, Shape};
use crate::sys::{Region, process};
use rustix::fs::{Mode, OFlags};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::mpsc;

/// Stack of a worker's thread: the flowops are shallow, and ten thousand threads shall fit.
const STACK_BYTES: usize = 256 << 10;

/// The counters' shape of a run: every thread instance in the order process, instance, thread, instance.
pub(super) fn shape(run: &crate::plan::RunPlan) -> Shape {
    Shape::new(run.processes.iter().flat_map(|process| {
        (0..process.instances).flat_map(move |_| {
            process.threads.iter().flat_map(|thread| (0..thread.instances).map(move |_| thread.counter_rows()))
        })
    }))
}

/// Number of the first thread instance of a process instance.
pub(super) fn first_thread(run: &crate::plan::RunPlan, process: usize, instance: u32) -> usize {
    let before: u64 = run.processes[..process].iter().map(|p| u64::from(p.instances) * p.thread_count()).sum();
    (before + u64::from(instance) * run.processes[process].thread_count()) as usize
}

/// Runs one process instance to its end.
pub(super) fn run(order: &Order, region: &Region, process: usize, instance: u32, messenger: &Messenger) {
    if let Err(failure) = try_run(order, region, process, instance, messenger) {
        Control::new(region).close(0);
        messenger.send(&Message::Failed(failure));
    }
}

fn try_run(
    order: &Order,
    region: &Region,
    process: usize,
    instance: u32,
    messenger: &Messenger,
) -> Result<(), Failure> {
    let plan = &order.run.processes[process];
    let process_name = format!("{}-{instance}", plan.name);
    let fail =
        |message: String| Failure { process: process_name.clone(), thread: None, flowop: None, errno: None, message };
    if plan.nice != 0 {
        rustix::process::nice(plan.nice)
            .map_err(|e| fail(format!("nice {}: {}", plan.nice, std::io::Error::from(e))))?;
    }
    let engine = engine(&order.engine).map_err(&fail)?;
    let sets = open_sets(order, region, process, engine.touches_files).map_err(&fail)?;
    let shape = shape(&order.run);
    let counters = Counters::new(region, order.counters, &shape);
    let numbers = Numbers::new(&order.run);
    let control = Control::new(region);
    let threads_in_all = order.run.thread_count() as usize;
    let seed = Seed::root(order.seed)
        .child("run")
        .index(order.number)
        .child("process")
        .index(process as u64)
        .index(u64::from(instance));
    let count = plan.thread_count() as usize;
    let (ready, arrivals) = mpsc::channel::<Result<(), String>>();
    std::thread::scope(|scope| {
        let mut number = first_thread(&order.run, process, instance);
        let mut handles = Vec::with_capacity(count);
        let mut refused = None;
        'start: for (t, thread_plan) in plan.threads.iter().enumerate() {
            for i in 0..thread_plan.instances {
                let thread_name = format!("{}-{i}", thread_plan.name);
                let names = Names {
                    process: process_name.clone(),
                    thread: thread_name.clone(),
                    place: format!("process ({},{instance}), thread ({},{i})", plan.name, thread_plan.name),
                };
                let among = instance as usize * thread_plan.instances as usize + i as usize;
                let stand = Stand { numbers: &numbers, process, thread: t, instance: among };
                let seed = seed.child("thread").index(t as u64).index(u64::from(i));
                let (ready, sets, counters) = (ready.clone(), &sets, counters.clone());
                let trace = match &order.trace {
                    None => None,
                    Some(options) => {
                        let names = thread_plan.flowops.iter().map(|flowop| flowop.name.clone()).collect();
                        match Trace::new(options, order.number, &process_name, &thread_name, names) {
                            Ok(trace) => Some(trace),
                            Err(e) => {
                                refused = Some(format!("the trace {}: {e}", options.path.display()));
                                break 'start;
                            }
                        }
                    }
                };
                let spawned = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
                    let mine = counters.thread(number);
                    let run = ThreadRun {
                        control,
                        counters: mine,
                        all: counters,
                        names: &names,
                        messenger,
                        cpu: Cell::new(0),
                        delay: Cell::new(0),
                        waits: true,
                        trace,
                        taps: None,
                        place: [among as u64, u64::from(plan.instances) * u64::from(thread_plan.instances)],
                    };
                    start_thread(order, engine, thread_plan, sets, &run, seed, threads_in_all, stand, ready);
                });
                match spawned {
                    Ok(handle) => handles.push((thread_name, handle)),
                    Err(e) => {
                        refused = Some(format!("thread {} of {count} could not be started: {e}", handles.len() + 1));
                        break 'start;
                    }
                }
                number += 1;
            }
        }
        drop(ready);
        // Each thread says once that it is ready, or why it is not.
        let mut failure = refused;
        for arrival in arrivals.iter().take(handles.len()) {
            if let Err(why) = arrival {
                failure.get_or_insert(why);
            }
        }
        match &failure {
            None => messenger.send(&Message::Ready),
            Some(_) => {
                // The threads that did come wait at the gate: let them go into a window that has closed.
                control.close(0);
                control.open(0, 0, 0);
            }
        }
        for (name, handle) in handles {
            if let Err(panic) = handle.join() {
                control.close(crate::engine::Clock::Monotonic.now());
                let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
                failure.get_or_insert(format!("thread {name} panicked: {}", text.unwrap_or("no message")));
            }
        }
        failure.map_or(Ok(()), |why| Err(fail(why)))
    })
}

#[allow(clippy::too_many_arguments)]
pub(super) fn start_thread(
    order: &Order,
    engine: &EngineDef,
    plan: &ThreadPlan,
    sets: &[OpenSet<'_>],
    run: &ThreadRun<'_>,
    seed: Seed,
    threads_in_all: usize,
    stand: Stand<'_>,
    ready: mpsc::Sender<Result<(), String>>,
) {
    let prepare = || -> Result<_, String> {
        if plan.is_paced() {
            // The kernel may let a sleeper lie for 50 us longer, which would count as lag.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
        if let Some(level) = plan.ioprio {
            process::set_io_priority(level).map_err(|e| format!("ioprio {level}: {e}"))?;
        }
        let (_, script) = split_engine(&order.engine);
        let (engine, clock) = (engine.build)(script)?;
        let mut flowops = threadflow::build(plan, &order.variables, seed, stand);
        if let Some(taps) = &run.taps {
            flowops = taps.tap(flowops);
        }
        let steps = threadflow::steps(plan, &order.variables, seed);
        let mut thread = Thread::new(engine, clock, sets, run, seed, plan.memsize, plan.slots as usize, threads_in_all)
            .map_err(|e| format!("thread {}: {} bytes of memory: {e}", run.names.thread, plan.memsize))?;
        if let most @ 1.. = plan.outstanding() as usize {
            thread
                .expect_outstanding(most)
                .map_err(|e| format!("thread {}: {most} operations outstanding: {e}", run.names.thread))?;
        }
        Ok((steps, flowops, thread))
    };
    let prepared = prepare();
    // A receiver that is gone has failed already.
    let _ = ready.send(prepared.as_ref().map(|_| ()).map_err(Clone::clone));
    drop(ready);
    if let Ok((mut steps, mut flowops, mut thread)) = prepared {
        threadflow::live(&mut thread, (&mut steps, &mut flowops), plan, run, order.run.quit);
    }
}

/// `fake` and its script of `fake:open=1us`.
pub(super) fn split_engine(engine: &str) -> (&str, &str) {
    engine.split_once(':').unwrap_or((engine, ""))
}

fn engine(text: &str) -> Result<&'static EngineDef, String> {
    let (name, _) = split_engine(text);
    crate::engine::find(name).ok_or_else(|| format!("no engine {name}"))
}

/// The file sets whose roots a process opens, by place.
pub(super) fn used_sets(process: &ProcessPlan) -> BTreeSet<usize> {
    let flowops = process.threads.iter().flat_map(|thread| &thread.flowops);
    flowops.flat_map(|flowop| ["filesetname", "source"].map(|name| flowop.attributes.fileset(name))).flatten().collect()
}

/// The file sets, those of which this process uses with their roots open.
pub(super) fn open_sets<'r>(
    order: &Order,
    region: &'r Region,
    process: usize,
    touches_files: bool,
) -> Result<Vec<OpenSet<'r>>, String> {
    let used = used_sets(&order.run.processes[process]);
    order
        .sets
        .iter()
        .enumerate()
        .map(|(at, set)| {
            let mut path = PathBuf::new();
            let root = if let (true, Some(device)) = (touches_files && used.contains(&at), &set.device) {
                let node = device.find_again().map_err(|why| format!("{}: {why}", device.path.display()))?;
                // The way over the descriptor leads to what was looked at, whatever is called so by then.
                path = format!("/proc/self/fd/{}", node.as_raw_fd()).into();
                Some(node)
            } else if touches_files && used.contains(&at) {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let root = rustix::fs::open(&set.root, flags, Mode::empty())
                    .map_err(|e| format!("open of {}: {}", set.root.display(), std::io::Error::from(e)))?;
                // Symbolic links lead from one tree to another, so the way between them must not have links in it.
                path = set.root.canonicalize().map_err(|e| format!("path of {}: {e}", set.root.display()))?;
                Some(root)
            } else {
                None
            };
            let access = match (set.readonly, set.writeonly) {
                (true, _) => OFlags::RDONLY,
                (false, true) => OFlags::WRONLY,
                (false, false) => OFlags::RDWR,
            };
            let pool = Pool::attach(region, set.pool, set.shape());
            let device = set.device.as_ref().map(|device| device.path.clone());
            Ok(OpenSet { name: set.name.clone(), pool, root, path, access, device, content: set.content })
        })
        .collect()
}

/// What the hidden subcommand does: the order from standard input, the region from an inherited descriptor.
///
/// # Errors
///
/// In words, where it was not started by a controller.
pub fn worker(process: usize, instance: u32, region: i32, parent: i32) -> Result<(), String> {
    // The controller may die in any way; a worker must not outlive it. The signal follows the controller's main
    // thread, which forks and lives as long as the controller.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|e| format!("parent-death signal: {e}"))?;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if now != Some(parent) {
        return Err("the controller is gone".into());
    }
    process::ignore_stop_signals();
    let order: Order = serde_json::from_reader(std::io::BufReader::new(std::io::stdin().lock()))
        .map_err(|e| format!("the order cannot be read: {e}"))?;
    let region = process::adopt_descriptor(region).and_then(Region::map).map_err(|e| format!("shared memory: {e}"))?;
    let pipe = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).map_err(|e| format!("pipe: {e}"))?;
    run(&order, &region, process, instance, &Messenger::new(pipe));
    Ok(())
}
