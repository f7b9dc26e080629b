//! Wait points: where threads of all processes wait for each other (`block`, `semblock`, and who posts to them).
//!
//! A point belongs to one flowop instance and is one cache line of shared memory. What it counts is one word, posts low
//! and room high, which changes by compare-exchange: a bounded post takes its room in the same step. Who finds too
//! little there sleeps on a [`Bell`] beside it, in the kernel, until somebody adds to it or the run is over.

use super::control::{Control, wake};
use crate::engine::Clock;
use crate::flowop::{Posted, has_wait_point};
use crate::plan::RunPlan;
use crate::sys::Region;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes of a point.
pub(super) const POINT_BYTES: usize = 64;

/// Byte offsets in a point.
const COUNTS: usize = 0;
const POSTED: usize = 8;
const ROOM: usize = 16;

/// What sleepers listen to: how often it rang, which is the futex, and how many sleep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bell<'r> {
    pub(super) rings: &'r AtomicU32,
    pub(super) sleepers: &'r AtomicU32,
}

impl<'r> Bell<'r> {
    fn at(region: &'r Region, offset: usize) -> Self {
        let words = region.u32s(offset, 2);
        Bell { rings: &words[0], sleepers: &words[1] }
    }

    /// Wakes all who sleep, and keeps those from sleeping who looked before the ring. Without sleepers it is no call.
    ///
    /// A sleeper counts itself after it has read `rings` and before the kernel compares that; here the order is the
    /// other one. So either we see the sleeper, or the kernel sees the ring.
    fn ring(&self) {
        self.rings.fetch_add(1, SeqCst);
        if self.sleepers.load(SeqCst) > 0 {
            wake(self.rings);
        }
    }
}

/// One point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point<'r> {
    counts: &'r AtomicU64,
    /// Rings when there are more posts.
    posted: Bell<'r>,
    /// Rings when there is more room.
    room: Bell<'r>,
}

impl<'r> Point<'r> {
    pub(super) fn at(region: &'r Region, offset: usize) -> Self {
        Point {
            counts: &region.u64s(offset + COUNTS, 1)[0],
            posted: Bell::at(region, offset + POSTED),
            room: Bell::at(region, offset + ROOM),
        }
    }

    /// No posts, and room for so many. Only while no worker runs.
    pub(super) fn reset(&self, room: u32) {
        self.counts.store(join(0, room), Relaxed);
        for bell in [self.posted, self.room] {
            // A worker that was killed in its sleep is still counted.
            bell.sleepers.store(0, Relaxed);
        }
    }

    /// Changes posts and room in one step, where `step` gives a result.
    fn change<E>(&self, step: impl Fn(u32, u32) -> Result<(u32, u32), E>) -> Result<(), E> {
        let mut counts = self.counts.load(Acquire);
        loop {
            let (posts, room) = step(counts as u32, (counts >> 32) as u32)?;
            match self.counts.compare_exchange_weak(counts, join(posts, room), AcqRel, Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => counts = now,
            }
        }
    }

    /// Takes `count` posts, waiting for them; false where the run was over before.
    pub(super) fn take(&self, control: &Control<'_>, clock: &Clock, count: u32) -> bool {
        let take = |posts: u32, room| posts.checked_sub(count).map(|rest| (rest, room)).ok_or(());
        control.wait_at(clock, self.posted, || self.change(take).is_ok())
    }

    /// Adds room for `count` posts. What is more than 2^32 - 1 is let go: as many posts cannot be outstanding.
    pub(super) fn make_room(&self, count: u32) {
        let Ok(()) = self.change(|posts, room| Ok::<_, Infallible>((posts, room.saturating_add(count))));
        self.room.ring();
    }

    /// Adds `count` posts; where they are `bounded`, waits for their room and takes it in the same step.
    pub(super) fn post(&self, control: &Control<'_>, clock: &Clock, count: u32, bounded: bool) -> Posted {
        let needed = if bounded { count } else { 0 };
        let post = |posts: u32, room: u32| {
            let room = room.checked_sub(needed).ok_or(Posted::Over)?;
            Ok((posts.checked_add(count).ok_or(Posted::TooMany)?, room))
        };
        let mut posted = Posted::Over;
        control.wait_at(clock, self.room, || {
            posted = self.change(post).err().unwrap_or(Posted::Done);
            posted != Posted::Over
        });
        if posted == Posted::Done {
            self.posted.ring();
        }
        posted
    }

    /// Wakes everybody, because the run is over.
    pub(super) fn ring_all(&self) {
        self.posted.ring();
        self.room.ring();
    }
}

fn join(posts: u32, room: u32) -> u64 {
    u64::from(room) << 32 | u64::from(posts)
}

/// The numbers of a run's points: every flowop instance that has one, in the order of the counters (process, instance,
/// thread, instance, flowop).
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// By process, thread and flowop of the plan: one for each instance.
    by_flowop: BTreeMap<[u32; 3], Arc<[u32]>>,
    /// Room at the start, by number.
    pub(super) rooms: Vec<u32>,
}

impl Numbers {
    pub(super) fn new(run: &RunPlan) -> Self {
        let mut rooms = Vec::new();
        let mut numbers: BTreeMap<[u32; 3], Vec<u32>> = BTreeMap::new();
        for (p, process) in run.processes.iter().enumerate() {
            let waiting: Vec<Vec<(usize, u32)>> = process
                .threads
                .iter()
                .map(|thread| {
                    let flowops = thread.flowops.iter().enumerate();
                    let waiting = flowops.filter(|(_, flowop)| has_wait_point(&flowop.kind));
                    waiting.map(|(f, flowop)| (f, flowop.attributes.number("highwater") as u32)).collect()
                })
                .collect();
            if waiting.iter().all(Vec::is_empty) {
                continue;
            }
            for _ in 0..process.instances {
                for (t, (thread, waiting)) in process.threads.iter().zip(&waiting).enumerate() {
                    for (f, room) in (0..thread.instances).flat_map(|_| waiting) {
                        numbers.entry([p as u32, t as u32, *f as u32]).or_default().push(rooms.len() as u32);
                        rooms.push(*room);
                    }
                }
            }
        }
        let by_flowop = numbers.into_iter().map(|(place, numbers)| (place, numbers.into())).collect();
        Numbers { by_flowop, rooms }
    }

    /// Of all instances of a flowop.
    pub(super) fn of(&self, place: [u32; 3]) -> Option<&Arc<[u32]>> {
        self.by_flowop.get(&place)
    }
}

/// A thread instance among the points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stand<'a> {
    pub(super) numbers: &'a Numbers,
    /// Of the plan.
    pub(super) process: usize,
    pub(super) thread: usize,
    /// Among the instances of this thread in all instances of its process.
    pub(super) instance: usize,
}

impl Stand<'_> {
    /// The point of the thread's flowop `index`.
    pub(super) fn own(&self, index: usize) -> Option<u32> {
        let all = self.numbers.of([self.process, self.thread, index].map(|at| at as u32))?;
        Some(all[self.instance])
    }

    /// The points of all instances of flowops.
    pub(super) fn of(&self, flowops: &[[u32; 3]]) -> Vec<Arc<[u32]>> {
        flowops.iter().filter_map(|place| self.numbers.of(*place).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::control;
    use super::*;
    use std::time::Duration;

    /// A control page, and points with this much room behind it.
    fn region(rooms: &[u32]) -> Region {
        let region = Region::create(control::BYTES + rooms.len() * POINT_BYTES).unwrap();
        let control = Control::new(&region);
        control.reset(None);
        control.set_points(control::BYTES, rooms);
        control.open(0, 0, u64::MAX);
        region
    }

    fn counts(point: Point<'_>) -> (u32, u32) {
        let counts = point.counts.load(SeqCst);
        (counts as u32, (counts >> 32) as u32)
    }

    #[test]
    fn posts_are_kept_room_is_taken_with_them_and_what_cannot_be_counted_is_refused() {
        let region = region(&[3, 5]);
        let control = Control::new(&region);
        let (one, two) = (control.point(0), control.point(1));
        let clock = Clock::Monotonic;
        assert_eq!(one.post(&control, &clock, 2, true), Posted::Done);
        assert_eq!(one.post(&control, &clock, 7, false), Posted::Done);
        assert_eq!(counts(one), (9, 1));
        assert!(one.take(&control, &clock, 8));
        one.make_room(8);
        assert_eq!(counts(one), (1, 9));
        assert_eq!(counts(two), (0, 5));
        assert_eq!(one.post(&control, &clock, u32::MAX, false), Posted::TooMany);
        one.make_room(u32::MAX);
        assert_eq!(counts(one), (1, u32::MAX));
    }

    #[test]
    fn a_close_ends_every_wait_whoever_waits_for_what() {
        let region = region(&[0; 3]);
        let control = Control::new(&region);
        std::thread::scope(|scope| {
            let takers: Vec<_> = (0..6)
                .map(|at| scope.spawn(move || control.point(at % 3).take(&control, &Clock::Monotonic, 1)))
                .collect();
            let posters: Vec<_> = (0..6)
                .map(|at| scope.spawn(move || control.point(at % 3).post(&control, &Clock::Monotonic, 1, true)))
                .collect();
            // Some sleep by now, others have not begun: none may be missed.
            std::thread::sleep(Duration::from_millis(1));
            control.close(5);
            takers.into_iter().for_each(|taker| assert!(!taker.join().unwrap()));
            posters.into_iter().for_each(|poster| assert_eq!(poster.join().unwrap(), Posted::Over));
        });
    }

    #[test]
    fn the_end_of_the_window_ends_a_wait_by_itself() {
        let region = Region::create(control::BYTES + POINT_BYTES).unwrap();
        let control = Control::new(&region);
        control.reset(None);
        control.set_points(control::BYTES, &[0]);
        let start = Clock::Monotonic.now();
        control.open(start, start, start + 20_000_000);
        assert!(!control.point(0).take(&control, &Clock::Monotonic, 1));
        assert!(Clock::Monotonic.now() >= start + 20_000_000);
        // On a clock that stands still nothing comes by waiting: it goes to the end at once.
        let stepped = Clock::stepped();
        assert!(!control.point(0).take(&control, &stepped, 1));
        assert_eq!(stepped.now(), start + 20_000_000);
    }

    #[test]
    fn of_many_threads_every_post_is_taken_once_and_the_bound_holds_at_every_moment() {
        const EACH: u32 = 3_000;
        let region = region(&[4]);
        let control = Control::new(&region);
        let point = control.point(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..EACH {
                        assert_eq!(point.post(&control, &Clock::Monotonic, 2, true), Posted::Done);
                        let (posts, room) = counts(point);
                        assert!(posts <= 4 + 4 * 2 && room <= 4 + 4 * 2, "{posts} {room}");
                    }
                });
                scope.spawn(move || {
                    for _ in 0..EACH {
                        point.make_room(2);
                        assert!(point.take(&control, &Clock::Monotonic, 2));
                    }
                });
            }
        });
        assert_eq!(counts(point), (0, 4));
    }
}
