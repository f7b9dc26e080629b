//! The words that controller and workers share beside file sets and counters: the gate, the window, the events, and the
//! way to the wait points.

use super::points::{Bell, POINT_BYTES, Point};
use crate::engine::Clock;
use crate::sys::Region;
use rustix::thread::futex;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// Bytes at the start of the region.
pub(super) const BYTES: usize = 4096;

/// Byte offsets. What is only read while the run is on has a line of its own, apart from what all write.
const GATE: usize = 0;
const OVER: usize = 4;
const WINDOW_START: usize = 8;
const WINDOW_END: usize = 16;
const RATE: usize = 24;
const POINTS_AT: usize = 32;
const POINTS: usize = 40;
const EVENTS_TAKEN: usize = 256;

/// Unused events pile up for so long, as in filebench's queue.
const EVENT_BACKLOG_S: u128 = 5;

/// Values of the word that says whether somebody has closed the window: not; yes; yes, and all who wait have been told.
const OPEN: u32 = 0;
const CLOSED: u32 = 1;
const TOLD: u32 = 2;

/// The gate and the window of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Control<'r> {
    region: &'r Region,
    gate: &'r AtomicU32,
    over: &'r AtomicU32,
    window_start: &'r AtomicU64,
    window_end: &'r AtomicU64,
    rate: &'r AtomicU64,
    points_at: &'r AtomicU64,
    points: &'r AtomicU64,
    events_taken: &'r AtomicU64,
}

impl<'r> Control<'r> {
    pub(super) fn new(region: &'r Region) -> Self {
        Control {
            region,
            gate: &region.u32s(GATE, 1)[0],
            over: &region.u32s(OVER, 1)[0],
            window_start: &region.u64s(WINDOW_START, 1)[0],
            window_end: &region.u64s(WINDOW_END, 1)[0],
            rate: &region.u64s(RATE, 1)[0],
            points_at: &region.u64s(POINTS_AT, 1)[0],
            points: &region.u64s(POINTS, 1)[0],
            events_taken: &region.u64s(EVENTS_TAKEN, 1)[0],
        }
    }

    /// Sets everything for a run, before its workers start.
    pub(super) fn reset(&self, events_per_s: Option<u64>) {
        self.gate.store(0, Relaxed);
        self.over.store(OPEN, Relaxed);
        self.points.store(0, Relaxed);
        self.window_start.store(0, Relaxed);
        self.window_end.store(u64::MAX, Relaxed);
        self.rate.store(events_per_s.unwrap_or(0), Relaxed);
        self.events_taken.store(0, Relaxed);
    }

    /// Sets the wait points of a run, which lie at byte `at` of the region, each with its room at the start.
    pub(super) fn set_points(&self, at: usize, rooms: &[u32]) {
        self.points_at.store(at as u64, Relaxed);
        self.points.store(rooms.len() as u64, Relaxed);
        for (number, room) in rooms.iter().enumerate() {
            self.point(number as u32).reset(*room);
        }
    }

    /// A wait point.
    pub(super) fn point(&self, number: u32) -> Point<'r> {
        Point::at(self.region, self.points_at.load(Relaxed) as usize + number as usize * POINT_BYTES)
    }

    /// Lets all threads go. The window is from `start` to `end` of the threads' clock.
    pub(super) fn open(&self, start: u64, end: u64) {
        self.window_start.store(start, Relaxed);
        self.window_end.fetch_min(end, AcqRel);
        self.gate.store(1, Release);
        wake(self.gate);
    }

    /// Waits for the gate; the start of the window.
    pub(super) fn wait(&self) -> u64 {
        while self.gate.load(Acquire) == 0 {
            let _ = futex::wait(self.gate, futex::Flags::empty(), 0, None);
        }
        self.window_start.load(Relaxed)
    }

    /// Closes the window at `at`, where it is not closed already, and ends all pauses and waits.
    pub(super) fn close(&self, at: u64) {
        self.window_end.fetch_min(at, AcqRel);
        // Who dies on the way leaves the rest to the next: only a word that says so keeps others from it.
        if self.over.fetch_max(CLOSED, SeqCst) == TOLD {
            return;
        }
        wake(self.over);
        (0..self.points.load(Relaxed)).for_each(|number| self.point(number as u32).ring_all());
        self.over.store(TOLD, Release);
    }

    /// Start of the window.
    pub(super) fn window_start(&self) -> u64 {
        self.window_start.load(Relaxed)
    }

    /// End of the window as it is known now; an operation counts when it ends no later.
    #[inline]
    pub(super) fn window_end(&self) -> u64 {
        self.window_end.load(Relaxed)
    }

    /// True where somebody has closed the window.
    pub(super) fn is_closed(&self) -> bool {
        self.over.load(Acquire) != OPEN
    }

    /// Waits until `until`; false where the window closed before.
    pub(super) fn pause(&self, clock: &Clock, until: u64) -> bool {
        if let Clock::Stepped(_) = clock {
            clock.advance(until.saturating_sub(clock.now()));
            return clock.now() < self.window_end();
        }
        loop {
            let now = clock.now();
            if now >= until {
                return true;
            }
            let end = self.window_end();
            if now >= end || self.is_closed() {
                return false;
            }
            let _ = futex::wait(self.over, futex::Flags::empty(), OPEN, Some(&timeout(until.min(end) - now)));
        }
    }

    /// Tries until `attempt` says true, each time that the bell rings; false where the run was over before.
    ///
    /// A stepped clock stands still while its thread waits, and what other threads do then is at no time of it. So there
    /// the first attempt decides: without success the clock goes to the window's end.
    pub(super) fn wait_at(&self, clock: &Clock, bell: Bell<'_>, mut attempt: impl FnMut() -> bool) -> bool {
        loop {
            let rings = bell.rings.load(SeqCst);
            if attempt() {
                return true;
            }
            let (now, end) = (clock.now(), self.window_end());
            if let Clock::Stepped(_) = clock {
                clock.advance(end.saturating_sub(now));
                return false;
            }
            if now >= end || self.is_closed() {
                return false;
            }
            bell.sleepers.fetch_add(1, SeqCst);
            let _ = futex::wait(bell.rings, futex::Flags::empty(), rings, Some(&timeout(end - now)));
            bell.sleepers.fetch_sub(1, SeqCst);
        }
    }

    /// Takes `count` events; the moment from which they may be used. None where there is no rate.
    ///
    /// Event number n (from 1) of a rate R is there at `start + n / R`, to the nanosecond and for ever, so no fraction
    /// is lost; who takes first is served first. Events that nobody took are kept for [`EVENT_BACKLOG_S`].
    pub(super) fn take_events(&self, clock: &Clock, count: u64) -> Option<u64> {
        let rate = u128::from(self.rate.load(Relaxed));
        if rate == 0 {
            return None;
        }
        let start = self.window_start();
        let passed = u128::from(clock.now().saturating_sub(start));
        let kept_from = (passed * rate / 1_000_000_000).saturating_sub(EVENT_BACKLOG_S * rate) as u64;
        let mut taken = self.events_taken.load(Relaxed);
        loop {
            let last = taken.max(kept_from) + count;
            match self.events_taken.compare_exchange_weak(taken, last, Relaxed, Relaxed) {
                Ok(_) => return Some(start + (u128::from(last) * 1_000_000_000).div_ceil(rate) as u64),
                Err(now) => taken = now,
            }
        }
    }
}

fn timeout(nanos: u64) -> rustix::thread::Timespec {
    let rest = Duration::from_nanos(nanos);
    rustix::thread::Timespec { tv_sec: rest.as_secs().min(1 << 30) as i64, tv_nsec: i64::from(rest.subsec_nanos()) }
}

/// Wakes all who wait on a word.
pub(super) fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_at_their_exact_times_and_unused_ones_are_kept_for_a_while() {
        let region = Region::create(BYTES).unwrap();
        let control = Control::new(&region);
        control.reset(Some(3));
        control.open(0, u64::MAX);
        let clock = Clock::stepped();
        let times: Vec<u64> = (0..6).map(|_| control.take_events(&clock, 1).unwrap()).collect();
        assert_eq!(times, [333_333_334, 666_666_667, 1_000_000_000, 1_333_333_334, 1_666_666_667, 2_000_000_000]);
        clock.advance(100_000_000_000);
        // 300 events have come; those of the last five seconds are kept.
        assert_eq!(control.take_events(&clock, 1), Some(95_333_333_334));
        assert_eq!(control.take_events(&clock, 14), Some(100_000_000_000));
        assert_eq!(control.take_events(&clock, 3), Some(101_000_000_000));
        control.reset(None);
        assert_eq!(control.take_events(&clock, 1), None);
    }

    #[test]
    fn the_first_close_holds() {
        let region = Region::create(BYTES).unwrap();
        let control = Control::new(&region);
        control.reset(None);
        control.open(10, 100);
        assert_eq!((control.wait(), control.window_end(), control.is_closed()), (10, 100, false));
        control.close(50);
        control.close(70);
        assert_eq!((control.window_end(), control.is_closed()), (50, true));
    }

    #[test]
    fn a_close_ends_a_pause() {
        let region = Region::create(BYTES).unwrap();
        let control = Control::new(&region);
        control.reset(None);
        control.open(0, u64::MAX);
        std::thread::scope(|scope| {
            let paused = scope.spawn(|| control.pause(&Clock::Monotonic, u64::MAX));
            control.close(0);
            assert!(!paused.join().unwrap());
        });
    }
}
