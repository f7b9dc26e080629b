//! Counters of the measured path.
