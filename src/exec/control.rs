//! The words that controller and workers share beside file sets and counters: the gate, the window, the events, and the
//! way to the wait points.

use super::points::{Bell, POINT_BYTES, Point};
use crate::engine::Clock;
use crate::flowop::Taken;
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
const RATE_NUMBER: usize = 24;
const NEWS: usize = 28;
const POINTS_AT: usize = 32;
const POINTS: usize = 40;
const GATE_AT: usize = 48;
/// The settings of the rate: each new one takes the next of these places, so that who is still at the last one sees
/// nothing half-changed. The numbers that are only read have a line apart from the one that all write.
const RATES: usize = 512;
const RATE_BYTES: usize = 128;
const RATE_PLACES: u32 = 16;
const RATE_FROM: usize = 0;
const RATE_PER_S: usize = 8;
const RATE_TAKEN: usize = 64;
const _: () = assert!(RATES + RATE_BYTES * RATE_PLACES as usize <= BYTES);

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
    /// Rings, by another number, whenever who pauses should look anew.
    news: &'r AtomicU32,
    gate_at: &'r AtomicU64,
    window_start: &'r AtomicU64,
    window_end: &'r AtomicU64,
    rate_number: &'r AtomicU32,
    points_at: &'r AtomicU64,
    points: &'r AtomicU64,
}

/// One setting of the event generator.
struct Rate<'r> {
    from: &'r AtomicU64,
    per_s: &'r AtomicU64,
    taken: &'r AtomicU64,
}

/// Why a rest is over.
enum Rest {
    Time,
    Over,
    Disturbed,
}

impl<'r> Control<'r> {
    pub(super) fn new(region: &'r Region) -> Self {
        Control {
            region,
            gate: &region.u32s(GATE, 1)[0],
            over: &region.u32s(OVER, 1)[0],
            news: &region.u32s(NEWS, 1)[0],
            gate_at: &region.u64s(GATE_AT, 1)[0],
            window_start: &region.u64s(WINDOW_START, 1)[0],
            window_end: &region.u64s(WINDOW_END, 1)[0],
            rate_number: &region.u32s(RATE_NUMBER, 1)[0],
            points_at: &region.u64s(POINTS_AT, 1)[0],
            points: &region.u64s(POINTS, 1)[0],
        }
    }

    /// Sets everything for a run, before its workers start.
    pub(super) fn reset(&self, events_per_s: Option<u64>) {
        self.gate.store(0, Relaxed);
        self.over.store(OPEN, Relaxed);
        self.points.store(0, Relaxed);
        self.gate_at.store(0, Relaxed);
        self.window_start.store(0, Relaxed);
        self.window_end.store(u64::MAX, Relaxed);
        self.rate_number.store(0, Relaxed);
        self.write_rate(0, 0, events_per_s.unwrap_or(0));
    }

    fn rate(&self, number: u32) -> Rate<'r> {
        let at = RATES + RATE_BYTES * (number % RATE_PLACES) as usize;
        let word = |offset| &self.region.u64s(at + offset, 1)[0];
        Rate { from: word(RATE_FROM), per_s: word(RATE_PER_S), taken: word(RATE_TAKEN) }
    }

    fn write_rate(&self, number: u32, from: u64, per_s: u64) {
        let rate = self.rate(number);
        rate.from.store(from, Relaxed);
        rate.per_s.store(per_s, Relaxed);
        rate.taken.store(0, Relaxed);
    }

    /// Gives the event generator another rate from `now` on; 0 is no limit. Who waits for events of the old one takes
    /// events of the new one instead.
    pub(super) fn set_rate(&self, now: u64, per_s: u64) {
        let number = self.rate_number.load(Relaxed).wrapping_add(1);
        self.write_rate(number, now, per_s);
        self.rate_number.store(number, Release);
        self.ring_news();
    }

    fn ring_news(&self) {
        self.news.fetch_add(1, SeqCst);
        wake(self.news);
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

    /// Lets all threads go at `gate` of their clock. The window is from `start` to `end`; what is before it is the
    /// warm-up. The event generator starts at the gate.
    pub(super) fn open(&self, gate: u64, start: u64, end: u64) {
        self.gate_at.store(gate, Relaxed);
        self.window_start.store(start, Relaxed);
        self.window_end.fetch_min(end, AcqRel);
        self.rate(0).from.store(gate, Relaxed);
        self.gate.store(1, Release);
        wake(self.gate);
    }

    /// Begins a new measurement while threads are at work: the window is from `start` to `end`, where it is not closed
    /// already. Each start is another number than those before it.
    pub(super) fn begin(&self, start: u64, end: u64) {
        self.window_end.fetch_min(end, AcqRel);
        self.window_start.store(start.max(self.window_start.load(Relaxed) + 1), Release);
    }

    /// Waits for the gate; when it opened.
    pub(super) fn wait(&self) -> u64 {
        while self.gate.load(Acquire) == 0 {
            let _ = futex::wait(self.gate, futex::Flags::empty(), 0, None);
        }
        self.gate_at()
    }

    /// When the gate opened.
    pub(super) fn gate_at(&self) -> u64 {
        self.gate_at.load(Relaxed)
    }

    /// Closes the window at `at`, where it is not closed already, and ends all pauses and waits.
    pub(super) fn close(&self, at: u64) {
        self.window_end.fetch_min(at, AcqRel);
        // Who dies on the way leaves the rest to the next: only a word that says so keeps others from it.
        if self.over.fetch_max(CLOSED, SeqCst) == TOLD {
            return;
        }
        self.ring_news();
        (0..self.points.load(Relaxed)).for_each(|number| self.point(number as u32).ring_all());
        self.over.store(TOLD, Release);
    }

    /// Start of the window as it is known now: another number is another measurement. An operation counts when it
    /// starts no earlier.
    #[inline]
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
        matches!(self.rest(clock, until, || false), Rest::Time)
    }

    fn rest(&self, clock: &Clock, until: u64, disturbed: impl Fn() -> bool) -> Rest {
        if let Clock::Stepped(_) = clock {
            clock.advance(until.saturating_sub(clock.now()));
            return if clock.now() < self.window_end() { Rest::Time } else { Rest::Over };
        }
        loop {
            let news = self.news.load(SeqCst);
            let now = clock.now();
            if now >= until {
                return Rest::Time;
            }
            let end = self.window_end();
            if now >= end || self.is_closed() {
                return Rest::Over;
            }
            if disturbed() {
                return Rest::Disturbed;
            }
            let _ = futex::wait(self.news, futex::Flags::empty(), news, Some(&timeout(until.min(end) - now)));
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
    /// Event number n (from 1) of a rate R is there at `from + n / R`, where R holds from the moment `from`, to the
    /// nanosecond and for ever, so no fraction is lost; who takes first is served first. Events that nobody took are
    /// kept for [`EVENT_BACKLOG_S`]. A new measurement changes nothing here.
    pub(super) fn take_events(&self, clock: &Clock, count: u64) -> Option<Taken> {
        let number = self.rate_number.load(Acquire);
        let Rate { from, per_s, taken: events_taken } = self.rate(number);
        let rate = u128::from(per_s.load(Relaxed));
        if rate == 0 {
            return None;
        }
        let start = from.load(Relaxed);
        let kept_from = kept_from(clock.now(), start, rate);
        let mut taken = events_taken.load(Relaxed);
        loop {
            let last = taken.max(kept_from) + count;
            match events_taken.compare_exchange_weak(taken, last, Relaxed, Relaxed) {
                Ok(_) => {
                    let from = start + (u128::from(last) * 1_000_000_000).div_ceil(rate) as u64;
                    return Some(Taken { count, from, rate: number, dropped: kept_from.saturating_sub(taken) });
                }
                Err(now) => taken = now,
            }
        }
    }

    /// By how many nanoseconds the oldest event that is there for the taking is in the past; 0 where the next one is still
    /// to come. None where there is no rate.
    pub(super) fn events_behind(&self, now: u64) -> Option<u64> {
        let Rate { from, per_s, taken } = self.rate(self.rate_number.load(Acquire));
        let rate = u128::from(per_s.load(Relaxed));
        if rate == 0 {
            return None;
        }
        let start = from.load(Relaxed);
        let next = taken.load(Relaxed).max(kept_from(now, start, rate)) + 1;
        Some(now.saturating_sub(start + (u128::from(next) * 1_000_000_000).div_ceil(rate) as u64))
    }

    /// Waits for events that were taken; the moment from which they could be used, and none where the window closed
    /// before.
    pub(super) fn await_events(&self, clock: &Clock, mut taken: Taken) -> Option<u64> {
        loop {
            match self.rest(clock, taken.from, || self.rate_number.load(Acquire) != taken.rate) {
                Rest::Time => return Some(taken.from),
                Rest::Over => return None,
                Rest::Disturbed => match self.take_events(clock, taken.count) {
                    Some(anew) => taken = anew,
                    None => return Some(clock.now()),
                },
            }
        }
    }
}

/// The number of the last event, of a rate that holds from `start`, that is too old to be kept at `now`.
fn kept_from(now: u64, start: u64, rate: u128) -> u64 {
    let passed = u128::from(now.saturating_sub(start));
    (passed * rate / 1_000_000_000).saturating_sub(EVENT_BACKLOG_S * rate) as u64
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
        control.open(0, 0, u64::MAX);
        let clock = Clock::stepped();
        let take = |count| control.take_events(&clock, count).map(|taken| taken.from);
        let times: Vec<u64> = (0..6).map(|_| take(1).unwrap()).collect();
        assert_eq!(times, [333_333_334, 666_666_667, 1_000_000_000, 1_333_333_334, 1_666_666_667, 2_000_000_000]);
        clock.advance(100_000_000_000);
        assert_eq!(control.events_behind(1_000_000_000), Some(0));
        assert_eq!(control.events_behind(2_500_000_000), Some(166_666_666), "the seventh was due at 2.333 s");
        assert_eq!(control.events_behind(100_000_000_000), Some(4_666_666_666));
        // 300 events have come; those of the last five seconds are kept.
        let oldest = control.take_events(&clock, 1).unwrap();
        assert_eq!((oldest.from, oldest.dropped), (95_333_333_334, 279));
        assert_eq!(take(14), Some(100_000_000_000));
        // A new measurement is no new source: neither a burst nor a gap.
        control.begin(100_000_000_000, u64::MAX);
        assert_eq!(take(3), Some(101_000_000_000));
        control.set_rate(100_000_000_000, 10);
        assert_eq!((take(1), take(2)), (Some(100_100_000_000), Some(100_300_000_000)));
        control.reset(None);
        assert_eq!((take(1), control.events_behind(1 << 40)), (None, None));
    }

    #[test]
    fn who_waits_for_events_of_a_slow_rate_goes_on_at_the_new_one() {
        let region = Region::create(BYTES).unwrap();
        let control = Control::new(&region);
        control.reset(Some(1));
        let now = Clock::Monotonic.now();
        control.open(now, now, u64::MAX);
        // A million events of one a second: eleven days.
        let taken = control.take_events(&Clock::Monotonic, 1_000_000).unwrap();
        for rate in [1_000_000_000, 0] {
            std::thread::scope(|scope| {
                let waits = scope.spawn(move || control.await_events(&Clock::Monotonic, taken));
                control.set_rate(Clock::Monotonic.now(), rate);
                assert!(waits.join().unwrap().is_some());
            });
        }
    }

    #[test]
    fn each_measurement_has_a_start_of_its_own() {
        let region = Region::create(BYTES).unwrap();
        let control = Control::new(&region);
        control.reset(None);
        control.open(5, 10, u64::MAX);
        assert_eq!((control.gate_at(), control.window_start()), (5, 10));
        control.begin(10, 100);
        assert_eq!((control.window_start(), control.window_end()), (11, 100));
    }

    #[test]
    fn the_first_close_holds() {
        let region = Region::create(BYTES).unwrap();
        let control = Control::new(&region);
        control.reset(None);
        control.open(10, 10, 100);
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
        control.open(0, 0, u64::MAX);
        std::thread::scope(|scope| {
            let paused = scope.spawn(|| control.pause(&Clock::Monotonic, u64::MAX));
            control.close(0);
            assert!(!paused.join().unwrap());
        });
    }
}
