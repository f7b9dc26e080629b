//! The schedule of a thread with `rate=`: when each of its rounds is to begin, whatever became of those before it.

use super::threadflow::ThreadRun;
use crate::engine::Clock;

/// When the rounds of a thread are due.
pub(super) struct Schedule {
    from: u64,
    per_s: u64,
    /// The place among the instances of the thread, and their number: they begin one after the other within the time of
    /// a round, so that they do not all come at the same moment.
    place: [u64; 2],
    round: u64,
}

impl Schedule {
    /// Of `per_s` rounds a second from the moment `from`.
    pub(super) fn new(from: u64, per_s: u64, place: [u64; 2]) -> Self {
        Schedule { from, per_s, place, round: 0 }
    }

    /// When round `n`, from 0, is due: to the nanosecond for ever, so no fraction is lost.
    fn due(&self, n: u64) -> u64 {
        let [place, places] = self.place.map(u128::from);
        let nanos = (u128::from(n) * places + place) * 1_000_000_000 / (u128::from(self.per_s) * places);
        self.from.saturating_add(nanos as u64)
    }

    /// Waits for the next round; when it was due and when it begins, and none where the window closed before.
    pub(super) fn wait(&mut self, clock: &Clock, run: &ThreadRun<'_>) -> Option<[u64; 2]> {
        let due = self.due(self.round);
        if self.round == 0 {
            run.counters.next_due(due);
        }
        let mut now = clock.now();
        if now < due {
            if !run.control.pause(clock, due) {
                return None;
            }
            now = clock.now();
        }
        if now >= run.control.window_end() {
            return None;
        }
        self.round += 1;
        run.counters.next_due(self.due(self.round));
        Some([due, now])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_due_at_their_exact_times() {
        let three = Schedule::new(5, 3, [0, 1]);
        assert_eq!(
            [0, 1, 2, 3, 3_000_000_000].map(|n| three.due(n)),
            [5, 333_333_338, 666_666_671, 1_000_000_005, 1_000_000_000_000_000_005]
        );
    }

    #[test]
    fn the_instances_share_the_time_of_a_round() {
        let due = |place| [0, 1].map(|n| Schedule::new(0, 100, [place, 4]).due(n));
        assert_eq!([0, 1, 3].map(due), [[0, 10_000_000], [2_500_000, 12_500_000], [7_500_000, 17_500_000]]);
    }
}
