//! Counters of the measured path, in shared memory: each word is written by one thread only, so nothing is locked, the
//! controller reads a live picture, and what a worker had done is there also when it was killed.

use super::{Counts, Histogram, IntervalCounts, errno_name, histogram};
use crate::flowop::{Moved, OwnIo};
use crate::sys::Region;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Words of a thread: a cache line and its neighbour, so that no two threads write to one line or to a pair that the
/// processor fetches together.
const THREAD_WORDS: usize = 16;
const IO_OPS: usize = 0;
const IO_BYTES: usize = 1;
const CPU_NS: usize = 2;
const ENDED_NS: usize = 3;
const STATE: usize = 4;
const DATA_OPS: usize = 5;
/// One more than the start of the measurement that the counters are of; 0 while there is none.
const SINCE: usize = 6;
/// The most that the thread was behind its schedule.
const LAG_MAX: usize = 7;
/// When the next round of a thread with a schedule of its own is due, on its clock; 0 without one.
const NEXT_DUE: usize = 8;
/// Events that came too long ago to be given to anybody, as this thread found.
const DROPPED: usize = 9;
const DELAY_NS: usize = 10;

/// Words of a flowop before its histogram.
const FLOWOP_WORDS: usize = 24;
const OPS: usize = 0;
const BYTES_READ: usize = 1;
const BYTES_WRITTEN: usize = 2;
const SUM: usize = 3;
const SQUARES_LOW: usize = 4;
const SQUARES_HIGH: usize = 5;
/// One more than the least latency; 0 where there is none.
const MIN: usize = 6;
const MAX: usize = 7;
const AUTO_OPENS: usize = 8;
const SKIPPED: usize = 9;
const IN_FLIGHT: usize = 10;
/// Eight pairs of error number (16 bits) and count (48 bits).
const ERRORS: usize = 11;
const ERROR_KINDS: usize = 8;

/// Bytes of one flowop of one thread: what it may touch. Histogram pages that no latency falls into cost nothing.
pub const FLOWOP_BYTES: usize = (FLOWOP_WORDS + histogram::BUCKETS) * 8;

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum ThreadState {
    /// Not started, or not yet at the gate.
    Absent = 0,
    /// Past the gate, between calls or in one.
    Running = 1,
    /// Came to its end.
    Ended = 2,
}

/// How many threads there are, and how many flowops each has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// For each thread instance, in the order process, instance, thread, instance: the first of its flowops' numbers.
    first: Vec<u32>,
    flowops: usize,
}

impl Shape {
    /// From the number of flowops of each thread instance.
    pub fn new(flowops: impl IntoIterator<Item = usize>) -> Self {
        let mut total = 0;
        let first = flowops
            .into_iter()
            .map(|n| {
                let at = total as u32;
                total += n;
                at
            })
            .collect();
        Shape { first, flowops: total }
    }

    /// Number of thread instances.
    pub fn threads(&self) -> usize {
        self.first.len()
    }

    /// Bytes of shared memory, most of which is never touched.
    pub fn bytes(&self) -> usize {
        self.threads() * THREAD_WORDS * 8 + self.flowops * FLOWOP_BYTES + 128
    }

    /// Byte offset of a flowop's words. They lie close together, so that a live picture of all reads few pages.
    fn flowop_offset(&self, flowop: usize) -> usize {
        self.threads() * THREAD_WORDS * 8 + flowop * FLOWOP_WORDS * 8
    }

    /// Byte offset of a flowop's histogram.
    fn histogram_offset(&self, flowop: usize) -> usize {
        self.flowop_offset(self.flowops) + flowop * histogram::BUCKETS * 8
    }
}

/// All counters of a run.
#[derive(Debug, Clone)]
pub struct Counters<'r> {
    region: &'r Region,
    base: usize,
    shape: &'r Shape,
}

impl<'r> Counters<'r> {
    /// The counters at byte `base` of the region.
    pub fn new(region: &'r Region, base: usize, shape: &'r Shape) -> Self {
        Counters { region, base, shape }
    }

    fn thread_words(&self, thread: usize) -> &'r [AtomicU64] {
        self.region.u64s(self.base + thread * THREAD_WORDS * 8, THREAD_WORDS)
    }

    /// The counters of one thread, for that thread.
    pub fn thread(&self, thread: usize) -> ThreadCounters<'r> {
        let first = self.shape.first[thread] as usize;
        let end = self.shape.first.get(thread + 1).map_or(self.shape.flowops, |n| *n as usize);
        ThreadCounters {
            words: self.thread_words(thread),
            flowops: (first..end).map(|flowop| self.flowop(flowop)).collect(),
            since: Cell::new(0),
            before: Cell::default(),
            flowops_before: (first..end).map(|_| Cell::default()).collect(),
        }
    }

    fn flowop(&self, flowop: usize) -> FlowopCounters<'r> {
        let words = self.region.u64s(self.base + self.shape.flowop_offset(flowop), FLOWOP_WORDS);
        let buckets = self.region.u64s(self.base + self.shape.histogram_offset(flowop), histogram::BUCKETS);
        FlowopCounters {
            words: words.try_into().expect("as many as asked for"),
            buckets: buckets.try_into().expect("as many as asked for"),
        }
    }

    /// The counters of the flowop `index` of a thread, for a reader.
    pub fn of(&self, thread: usize, index: usize) -> FlowopCounters<'r> {
        self.flowop(self.shape.first[thread] as usize + index)
    }

    /// I/O operations and bytes of all threads in the measurement that began at `since`.
    pub fn all_io(&self, since: u64) -> (u64, u64) {
        let threads = (0..self.shape.threads()).map(|thread| self.thread_words(thread));
        threads.filter(|words| is_of(words, since)).fold((0, 0), |(ops, bytes), words| {
            (ops + words[IO_OPS].load(Relaxed), bytes + words[IO_BYTES].load(Relaxed))
        })
    }

    /// True where the counters of a thread are of the measurement that began at `since`; what they hold otherwise is
    /// of an older one, and counts as nothing.
    pub fn is_of(&self, thread: usize, since: u64) -> bool {
        is_of(self.thread_words(thread), since)
    }

    /// Processor time of a thread within the run, in nanoseconds; 0 until it has ended.
    pub fn cpu_ns(&self, thread: usize) -> u64 {
        self.thread_words(thread)[CPU_NS].load(Relaxed)
    }

    /// Time that a thread was ready within the run and had no processor, in nanoseconds; 0 until it has ended.
    pub fn run_delay_ns(&self, thread: usize) -> u64 {
        self.thread_words(thread)[DELAY_NS].load(Relaxed)
    }

    /// When a thread came to its end, on its clock; none where it has not.
    pub fn ended_ns(&self, thread: usize) -> Option<u64> {
        (self.state(thread) == ThreadState::Ended).then(|| self.thread_words(thread)[ENDED_NS].load(Relaxed))
    }

    /// The most that a thread was behind its schedule, in nanoseconds.
    pub fn lag_max_ns(&self, thread: usize) -> u64 {
        self.thread_words(thread)[LAG_MAX].load(Relaxed)
    }

    /// When the next round of a thread is due, on its clock; none where it has no schedule of its own.
    pub fn next_due_ns(&self, thread: usize) -> Option<u64> {
        Some(self.thread_words(thread)[NEXT_DUE].load(Relaxed)).filter(|due| *due > 0)
    }

    /// Events of the generator that came too long ago to be given to anybody, as a thread found.
    pub fn dropped_events(&self, thread: usize) -> u64 {
        self.thread_words(thread)[DROPPED].load(Relaxed)
    }

    /// Where a thread stands.
    pub fn state(&self, thread: usize) -> ThreadState {
        match self.thread_words(thread)[STATE].load(Acquire) {
            1 => ThreadState::Running,
            2 => ThreadState::Ended,
            _ => ThreadState::Absent,
        }
    }

    /// Sets everything to zero, for the next run. Only while no worker runs.
    pub fn clear(&self) {
        for thread in 0..self.shape.threads() {
            self.thread_words(thread).iter().for_each(|word| word.store(0, Relaxed));
        }
        (0..self.shape.flowops).for_each(|flowop| self.flowop(flowop).clear());
    }
}

fn is_of(words: &[AtomicU64], since: u64) -> bool {
    words[SINCE].load(Acquire) == since.wrapping_add(1)
}

/// Adds to a word that no other thread writes.
#[inline]
fn add(word: &AtomicU64, n: u64) {
    word.store(word.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Counters of one flowop of one thread.
#[derive(Debug, Clone, Copy)]
pub struct FlowopCounters<'r> {
    words: &'r [AtomicU64; FLOWOP_WORDS],
    buckets: &'r [AtomicU64; histogram::BUCKETS],
}

impl FlowopCounters<'_> {
    /// Counts one finished operation.
    #[inline]
    pub fn record(&self, latency_ns: u64, moved: Moved) {
        let words = self.words;
        add(&self.buckets[histogram::bucket(latency_ns)], 1);
        add(&words[OPS], 1);
        add(&words[BYTES_READ], moved.read);
        add(&words[BYTES_WRITTEN], moved.written);
        add(&words[SUM], latency_ns);
        let square = u128::from(latency_ns) * u128::from(latency_ns);
        let low = words[SQUARES_LOW].load(Relaxed);
        let (sum, carry) = low.overflowing_add(square as u64);
        words[SQUARES_LOW].store(sum, Relaxed);
        if carry || square > u128::from(u64::MAX) {
            add(&words[SQUARES_HIGH], (square >> 64) as u64 + u64::from(carry));
        }
        let min = words[MIN].load(Relaxed);
        if latency_ns < min.wrapping_sub(1) {
            words[MIN].store(latency_ns + 1, Relaxed);
        }
        if latency_ns > words[MAX].load(Relaxed) {
            words[MAX].store(latency_ns, Relaxed);
        }
    }

    /// Sets everything to zero. Only its thread may, or the controller while no worker runs.
    fn clear(&self) {
        if self.words[OPS].load(Relaxed) > 0 {
            // Only buckets between the least and the greatest latency were written: the pages of the others are not
            // touched, for that would make them.
            let (min, max) = (self.words[MIN].load(Relaxed).saturating_sub(1), self.words[MAX].load(Relaxed));
            let used = &self.buckets[histogram::bucket(min)..=histogram::bucket(max)];
            used.iter().filter(|word| word.load(Relaxed) > 0).for_each(|word| word.store(0, Relaxed));
        }
        self.words.iter().for_each(|word| word.store(0, Relaxed));
    }

    /// Counts a failed operation; the bytes that moved before it failed count.
    #[cold]
    pub fn record_error(&self, errno: i32, moved: Moved) {
        add(&self.words[BYTES_READ], moved.read);
        add(&self.words[BYTES_WRITTEN], moved.written);
        for word in &self.words[ERRORS..ERRORS + ERROR_KINDS] {
            let value = word.load(Relaxed);
            if value == 0 || (value >> 48) as i32 == errno {
                word.store(((errno as u64) << 48) | ((value & 0xffff_ffff_ffff) + 1), Relaxed);
                return;
            }
        }
        // A ninth kind of error is counted with the eighth: no failure is lost, and nobody has seen nine kinds.
        add(&self.words[ERRORS + ERROR_KINDS - 1], 1);
    }

    /// Counts files opened on its behalf.
    #[cold]
    pub fn record_auto_opens(&self, count: u64) {
        add(&self.words[AUTO_OPENS], count);
    }

    /// Counts a turn with nothing to do.
    pub fn record_skip(&self) {
        add(&self.words[SKIPPED], 1);
    }

    /// Counts an operation that the end of the window found under way.
    #[cold]
    pub fn record_in_flight(&self) {
        add(&self.words[IN_FLIGHT], 1);
    }

    /// Operations and bytes until now.
    #[inline]
    pub fn done(&self) -> (u64, Moved) {
        let load = |word: usize| self.words[word].load(Relaxed);
        (load(OPS), Moved { read: load(BYTES_READ), written: load(BYTES_WRITTEN) })
    }

    /// Adds what is counted until now to an interval's sums.
    pub fn add_to_interval(&self, counts: &mut IntervalCounts) {
        let (ops, moved) = self.done();
        counts.ops += ops;
        counts.bytes_read += moved.read;
        counts.bytes_written += moved.written;
        counts.latency_sum_ns += self.words[SUM].load(Relaxed);
    }

    /// Adds the operations until now to sums by bucket, [`histogram::BUCKETS`] of them.
    pub fn add_to_buckets(&self, sums: &mut [u64]) {
        if self.words[OPS].load(Relaxed) == 0 {
            return;
        }
        // Outside min and max every bucket is zero: those pages are not read, for reading would make them.
        let first = histogram::bucket(self.words[MIN].load(Relaxed).saturating_sub(1));
        let last = histogram::bucket(self.words[MAX].load(Relaxed)).max(first);
        let pairs = sums[first..=last].iter_mut().zip(&self.buckets[first..=last]);
        pairs.for_each(|(sum, word)| *sum += word.load(Relaxed));
    }

    /// Adds everything to a record's sums.
    pub fn add_to(&self, counts: &mut Counts, histogram: &mut Histogram) {
        let load = |word: usize| self.words[word].load(Relaxed);
        let ops = load(OPS);
        let errors: BTreeMap<String, u64> = (ERRORS..ERRORS + ERROR_KINDS)
            .map(load)
            .filter(|value| *value > 0)
            .map(|value| (errno_name((value >> 48) as i32), value & 0xffff_ffff_ffff))
            .collect();
        counts.merge(&Counts {
            ops,
            bytes_read: load(BYTES_READ),
            bytes_written: load(BYTES_WRITTEN),
            auto_opens: load(AUTO_OPENS),
            skipped: load(SKIPPED),
            in_flight: load(IN_FLIGHT),
            errors,
        });
        if ops == 0 {
            return;
        }
        // The thread may be in the middle of an operation's words: what is not whole yet is left out, and no word is
        // taken to agree with another.
        let min_ns = load(MIN).saturating_sub(1);
        let max_ns = load(MAX).max(min_ns);
        // Outside min and max every bucket is zero: those pages are not read, for reading would make them.
        let used = histogram::bucket(max_ns) + 1;
        let first = histogram::bucket(min_ns);
        let mut buckets = vec![0; first];
        buckets.extend(self.buckets[first..used].iter().map(|word| word.load(Relaxed)));
        histogram.merge(&Histogram {
            count: ops.min(buckets.iter().sum()),
            sum_ns: load(SUM),
            sum_squares: u128::from(load(SQUARES_HIGH)) << 64 | u128::from(load(SQUARES_LOW)),
            min_ns,
            max_ns,
            buckets,
        });
    }
}

/// Counters of one thread.
#[derive(Debug)]
pub struct ThreadCounters<'r> {
    words: &'r [AtomicU64],
    /// In the order of the workload.
    pub flowops: Vec<FlowopCounters<'r>>,
    /// Start of the measurement that the counters are of.
    since: Cell<u64>,
    /// What was done between the gate and that start.
    before: Cell<OwnIo>,
    /// The same, by flowop.
    flowops_before: Vec<Cell<(u64, Moved)>>,
}

impl ThreadCounters<'_> {
    /// Counts an operation towards the thread's I/O; `data` where it reads or writes.
    #[inline]
    pub fn record_io(&self, moved: Moved, data: bool) {
        add(&self.words[IO_OPS], 1);
        add(&self.words[DATA_OPS], u64::from(data));
        add(&self.words[IO_BYTES], moved.read + moved.written);
    }

    /// The row of response times of a flowop of a thread that is paced.
    #[inline]
    pub fn response(&self, index: usize) -> &FlowopCounters<'_> {
        &self.flowops[self.flowops.len() / 2 + index]
    }

    /// The thread is so much behind its schedule.
    #[inline]
    pub fn record_lag(&self, nanos: u64) {
        if nanos > self.words[LAG_MAX].load(Relaxed) {
            self.words[LAG_MAX].store(nanos, Relaxed);
        }
    }

    /// The thread's next round is due at a moment of its clock.
    #[inline]
    pub fn next_due(&self, at_ns: u64) {
        self.words[NEXT_DUE].store(at_ns.max(1), Relaxed);
    }

    /// Counts events that nobody gets any more.
    #[cold]
    pub fn record_dropped(&self, events: u64) {
        add(&self.words[DROPPED], events);
    }

    /// What this thread has done since the gate.
    #[inline]
    pub fn own_io(&self) -> OwnIo {
        let load = |word: usize| self.words[word].load(Relaxed);
        let before = self.before.get();
        OwnIo {
            ops: before.ops + load(IO_OPS),
            data_ops: before.data_ops + load(DATA_OPS),
            bytes: before.bytes + load(IO_BYTES),
        }
    }

    /// Operations and bytes of one flowop since the gate.
    #[inline]
    pub fn flowop_since_gate(&self, index: usize) -> (u64, Moved) {
        let (ops, moved) = self.flowops[index].done();
        let (ops_before, moved_before) = self.flowops_before[index].get();
        let read = moved_before.read + moved.read;
        (ops_before + ops, Moved { read, written: moved_before.written + moved.written })
    }

    /// The thread is past the gate, which opened at `gate` of its clock.
    pub fn start(&self, gate: u64) {
        self.since.set(gate);
        self.words[SINCE].store(gate.wrapping_add(1), Release);
        self.words[STATE].store(ThreadState::Running as u64, Relaxed);
    }

    /// Start of the measurement that the counters are of.
    #[inline]
    pub fn since(&self) -> u64 {
        self.since.get()
    }

    /// Sets everything to zero for the measurement that began at `since`.
    #[cold]
    pub fn begin(&self, since: u64) {
        self.words[SINCE].store(0, Relaxed);
        self.before.set(self.own_io());
        for (index, before) in self.flowops_before.iter().enumerate() {
            before.set(self.flowop_since_gate(index));
            self.flowops[index].clear();
        }
        [IO_OPS, IO_BYTES, DATA_OPS, LAG_MAX, DROPPED].into_iter().for_each(|word| self.words[word].store(0, Relaxed));
        self.since.set(since);
        // Whoever sees the new start sees the zeros too.
        self.words[SINCE].store(since.wrapping_add(1), Release);
    }

    /// The thread has come to its end, at a time of its clock, after so much processor time within the run, and so much
    /// time that it was ready without a processor.
    pub fn end(&self, at_ns: u64, cpu_ns: u64, delay_ns: u64) {
        self.words[DELAY_NS].store(delay_ns, Relaxed);
        self.words[ENDED_NS].store(at_ns, Relaxed);
        self.words[CPU_NS].store(cpu_ns, Relaxed);
        self.words[STATE].store(ThreadState::Ended as u64, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn region(shape: &Shape) -> Region {
        Region::create(shape.bytes()).unwrap()
    }

    fn read(counters: FlowopCounters<'_>) -> (Counts, Histogram) {
        let (mut counts, mut histogram) = Default::default();
        counters.add_to(&mut counts, &mut histogram);
        (counts, histogram)
    }

    #[test]
    fn threads_have_their_own_words() {
        let shape = Shape::new([2, 1]);
        let region = region(&shape);
        let counters = Counters::new(&region, 0, &shape);
        let (one, two) = (counters.thread(0), counters.thread(1));
        assert_eq!((one.flowops.len(), two.flowops.len()), (2, 1));
        one.flowops[1].record(10, Moved::read(5));
        one.record_io(Moved::read(5), true);
        two.flowops[0].record(20, Moved::written(7));
        two.record_io(Moved::written(7), true);
        assert_eq!(read(counters.of(0, 0)).0.ops, 0);
        assert_eq!(read(counters.of(0, 1)).0.bytes_read, 5);
        assert_eq!(read(counters.of(1, 0)).0.bytes_written, 7);
        [&one, &two].into_iter().for_each(|thread| thread.start(7));
        assert_eq!((counters.all_io(7), counters.all_io(8)), ((2, 12), (0, 0)));
        assert_eq!(counters.ended_ns(1), None);
        two.end(99, 3, 2);
        assert_eq!((counters.ended_ns(1), counters.cpu_ns(1), counters.run_delay_ns(1)), (Some(99), 3, 2));
        counters.clear();
        assert_eq!(read(counters.of(1, 0)), Default::default());
        assert_eq!(counters.state(1), ThreadState::Absent);
    }

    #[test]
    fn a_new_measurement_counts_from_zero_and_the_gate_is_not_forgotten() {
        let shape = Shape::new([2]);
        let region = region(&shape);
        let counters = Counters::new(&region, 0, &shape);
        let thread = counters.thread(0);
        thread.start(0);
        assert!(counters.is_of(0, 0) && !counters.is_of(0, 50));
        for latency in [3, 5_000_000] {
            thread.flowops[1].record(latency, Moved::read(8));
            thread.record_io(Moved::read(8), true);
        }
        thread.flowops[0].record_error(5, Moved::NONE);
        thread.begin(50);
        assert!(!counters.is_of(0, 0) && counters.is_of(0, 50));
        assert_eq!((read(counters.of(0, 0)), read(counters.of(0, 1))), Default::default());
        assert_eq!((counters.all_io(50), thread.flowops[1].done()), ((0, 0), (0, Moved::NONE)));
        thread.flowops[1].record(9, Moved::written(1));
        thread.record_io(Moved::written(1), true);
        let (counts, histogram) = read(counters.of(0, 1));
        assert_eq!((counts.ops, histogram.min_ns, histogram.max_ns), (1, 9, 9));
        assert_eq!(thread.flowop_since_gate(1), (3, Moved { read: 16, written: 1 }));
        assert_eq!(thread.own_io(), OwnIo { ops: 3, data_ops: 3, bytes: 17 });
    }

    #[test]
    fn a_look_into_the_middle_of_an_operation_shows_what_is_whole() {
        let shape = Shape::new([1]);
        let region = region(&shape);
        let counters = Counters::new(&region, 0, &shape).thread(0).flowops[0];
        counters.record(1_000, Moved::NONE);
        // The greatest latency is the last word to be written.
        counters.words[MAX].store(0, Relaxed);
        let (_, histogram) = read(counters);
        assert_eq!((histogram.count, histogram.min_ns, histogram.max_ns), (1, 1_000, 1_000));
        counters.words[OPS].store(2, Relaxed);
        assert_eq!(read(counters).1.percentile_ns(100.0), Some(1_000));
    }

    /// A thousand threads of twelve flowops, each of which has calls of any time from a microsecond to a minute.
    #[test]
    fn the_memory_of_a_thousand_threads_is_bounded() {
        const PAGE: usize = 4096;
        let shape = Shape::new(vec![12; 1000]);
        let touched = |flowop: usize| {
            let byte = |nanos| (shape.histogram_offset(flowop) + histogram::bucket(nanos) * 8) / PAGE;
            byte(60_000_000_000) + 1 - byte(1_000)
        };
        let histograms: usize = (0..12_000).map(touched).sum::<usize>() * PAGE;
        let all = histograms + shape.histogram_offset(0);
        assert!(all < 400_000_000, "{all}");
        // What nobody touches has addresses only.
        assert!(shape.bytes() < 480_000_000, "{}", shape.bytes());
        // And so the kernel has it, of ten of the threads.
        let region = Region::create(shape.bytes()).unwrap();
        let counters = Counters::new(&region, 0, &shape);
        let latencies = || (0..26).map(|n| 1_000 << n).chain([60_000_000_000]);
        for flowop in (0..10).flat_map(|thread| counters.thread(thread).flowops) {
            latencies().for_each(|nanos| flowop.record(nanos, Moved::NONE));
        }
        let taken = rustix::fs::fstat(region.fd()).unwrap().st_blocks as usize * 512;
        assert!(taken > 120 * 4 * PAGE && taken * 100 < 400_000_000, "{taken}");
    }

    #[test]
    fn errors_are_counted_by_kind_and_none_is_lost() {
        let shape = Shape::new([1]);
        let region = region(&shape);
        let counters = Counters::new(&region, 0, &shape).thread(0).flowops[0];
        for errno in (1..=10).chain([5, 5]) {
            counters.record_error(errno, Moved::NONE);
        }
        let (counts, _) = read(counters);
        assert_eq!(counts.errors["EIO"], 3);
        assert_eq!(counts.error_count(), 12);
        assert_eq!(counts.ops, 0);
    }

    proptest! {
        #[test]
        fn the_shared_words_say_what_a_histogram_of_the_same_latencies_says(
            latencies in prop::collection::vec(prop_oneof![0u64..1000, 0u64..1 << 44, Just(u64::MAX >> 8)], 0..100),
        ) {
            let shape = Shape::new([1]);
            let region = region(&shape);
            let counters = Counters::new(&region, 0, &shape).thread(0).flowops[0];
            let mut expected = Histogram::default();
            for latency in &latencies {
                counters.record(*latency, Moved::read(1));
                expected.record(*latency);
            }
            let (counts, histogram) = read(counters);
            prop_assert_eq!(counts.ops, latencies.len() as u64);
            let mut sums = vec![0; histogram::BUCKETS];
            counters.add_to_buckets(&mut sums);
            sums.truncate(expected.buckets.len());
            prop_assert_eq!(&sums, &expected.buckets);
            prop_assert_eq!(histogram, expected);
        }
    }
}
