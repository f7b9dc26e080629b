//! Time as one thread sees it, in nanoseconds.

use std::cell::Cell;
use std::rc::Rc;

/// A thread's clock.
#[derive(Debug, Clone)]
pub enum Clock {
    /// CLOCK_MONOTONIC, the same in all processes of a machine.
    Monotonic,
    /// Stands still but for what the engine adds to it: a run has an exact result. It starts at 0.
    Stepped(Rc<Cell<u64>>),
}

impl Clock {
    /// A stepped clock at 0.
    pub fn stepped() -> Self {
        Clock::Stepped(Rc::new(Cell::new(0)))
    }

    /// Nanoseconds since some fixed moment in the past.
    #[inline]
    pub fn now(&self) -> u64 {
        match self {
            Clock::Monotonic => crate::sys::clock::monotonic(),
            Clock::Stepped(at) => at.get(),
        }
    }

    /// Moves a stepped clock forward by `nanos`; the real one moves by itself.
    pub fn advance(&self, nanos: u64) {
        if let Clock::Stepped(at) = self {
            at.set(at.get().saturating_add(nanos));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_clock_never_goes_back_and_the_stepped_one_stands_still() {
        let real = Clock::Monotonic;
        let first = real.now();
        assert!(real.now() >= first);
        let stepped = Clock::stepped();
        stepped.advance(5);
        assert_eq!((stepped.now(), stepped.now()), (5, 5));
    }
}
