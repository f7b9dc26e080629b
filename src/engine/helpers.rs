//! Threads that carry out the jobs of one thread by plain calls, as the C library's aio does.
//!
//! Jobs go to the helpers through one bounded channel and come back through another. Both have room for all jobs that
//! may be under way, so nobody waits to put one in, and nothing is allocated for a job.

use super::{Done, Job, Way};
use crate::sys::{clock, files};
use rustix::io::Errno;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Most helpers of a thread, and so most jobs of it that the kernel sees at once.
pub(super) const HELPERS: usize = 16;

/// A helper makes one call at a time.
const STACK_BYTES: usize = 128 << 10;

/// The helpers of a thread. They end when this is dropped, each after the job that it is at.
#[derive(Debug)]
pub(super) struct Helpers {
    jobs: SyncSender<Job>,
    done: Receiver<Done>,
    /// Each gives its processor time.
    threads: Vec<JoinHandle<u64>>,
    under_way: usize,
    most: usize,
}

impl Helpers {
    /// Helpers for `most` jobs under way at once.
    pub(super) fn start(most: usize) -> std::io::Result<Self> {
        let (jobs, queue) = sync_channel::<Job>(most);
        let (results, done) = sync_channel(most);
        let queue = Arc::new(Mutex::new(queue));
        let threads = (0..most.min(HELPERS))
            .map(|_| {
                let (queue, results) = (queue.clone(), results.clone());
                std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
                    // Who waits for a job waits within the lock, and the others for the lock. The thread that gives
                    // jobs never takes it.
                    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    while let Ok(job) = next() {
                        if results.send(carry_out(job)).is_err() {
                            break;
                        }
                    }
                    clock::thread_cpu()
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Helpers { jobs, done, threads, under_way: 0, most })
    }

    pub(super) fn submit(&mut self, jobs: &mut Vec<Job>) {
        for job in jobs.drain(..) {
            self.under_way += 1;
            assert!(self.under_way <= self.most, "more than {} jobs are under way", self.most);
            self.jobs.send(job).expect("helpers live as long as their thread");
        }
    }

    pub(super) fn reap(&mut self, least: usize, done: &mut Vec<Done>) {
        assert!(least <= self.under_way, "{least} of {} jobs are waited for", self.under_way);
        let before = done.len();
        for _ in 0..least {
            done.push(self.done.recv().expect("helpers live as long as their thread"));
        }
        done.extend(self.done.try_iter());
        self.under_way -= done.len() - before;
    }

    /// Waits for their end; their processor time in nanoseconds.
    pub(super) fn finish(self) -> u64 {
        let Helpers { jobs, threads, .. } = self;
        drop(jobs);
        threads.into_iter().filter_map(|thread| thread.join().ok()).sum()
    }
}

fn carry_out(job: Job) -> Done {
    let Job { tag, way, fd, offset, len, mut buffer } = job;
    let mut moved = 0;
    let error = loop {
        let rest = &mut buffer[moved..len];
        let at = offset + moved as u64;
        let result = match way {
            Way::Read => files::read_at(fd, rest, at),
            Way::Write => files::write_at(fd, rest, at),
        };
        match (result, way) {
            (Err(Errno::INTR), _) => {}
            (Err(errno), _) => break Some(errno),
            // One call, as a read makes it: at the end of a file there are fewer bytes.
            (Ok(n), Way::Read) => {
                moved = n;
                break None;
            }
            // A file system that takes nothing and gives no error would be asked for ever.
            (Ok(0), Way::Write) => break Some(Errno::IO),
            (Ok(n), Way::Write) => {
                moved += n;
                if moved == len {
                    break None;
                }
            }
        }
    };
    Done { tag, buffer, end_ns: clock::monotonic(), moved: moved as u64, error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::AlignedBuffer;
    use std::os::fd::AsRawFd;

    fn job(tag: u32, way: Way, fd: i32, offset: u64, byte: u8) -> Job {
        let mut buffer = AlignedBuffer::new(4096).unwrap();
        buffer.fill(byte);
        Job { tag, way, fd, offset, len: 1000, buffer }
    }

    #[test]
    fn every_job_is_done_once_and_its_buffer_comes_back() {
        let file = tempfile::tempfile().unwrap();
        let fd = file.as_raw_fd();
        let mut helpers = Helpers::start(64).unwrap();
        assert_eq!(helpers.threads.len(), HELPERS);
        let mut jobs: Vec<Job> = (0..64).map(|n| job(n, Way::Write, fd, u64::from(n) * 1000, n as u8)).collect();
        helpers.submit(&mut jobs);
        let mut done = Vec::new();
        helpers.reap(40, &mut done);
        assert!(done.len() >= 40);
        helpers.reap(64 - done.len(), &mut done);
        assert_eq!((done.len(), helpers.under_way), (64, 0));
        let tags: std::collections::BTreeSet<u32> = done.iter().map(|done| done.tag).collect();
        assert_eq!(tags.len(), 64);
        assert!(done.iter().all(|done| (done.moved, done.error) == (1000, None)));
        let now = clock::monotonic();
        assert!(done.iter().all(|done| done.end_ns > 0 && done.end_ns <= now));
        done.clear();
        helpers.submit(&mut (0..64).map(|n| job(n, Way::Read, fd, u64::from(n) * 1000, 255)).collect());
        helpers.reap(64, &mut done);
        for Done { tag, buffer, .. } in &done {
            assert!(buffer[..1000].iter().all(|byte| *byte == *tag as u8), "{tag}");
            assert!(buffer[1000..].iter().all(|byte| *byte == 255), "{tag}: past its length");
        }
        helpers.finish();
    }

    #[test]
    fn a_read_at_the_end_is_short_and_an_error_is_the_kernels() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1500).unwrap();
        let mut helpers = Helpers::start(2).unwrap();
        assert_eq!(helpers.threads.len(), 2);
        let mut done = Vec::new();
        for (fd, offset, expected) in [
            (file.as_raw_fd(), 1000, (500, None)),
            (file.as_raw_fd(), 2000, (0, None)),
            (-1, 0, (0, Some(Errno::BADF))),
        ] {
            helpers.submit(&mut vec![job(0, Way::Read, fd, offset, 1)]);
            helpers.reap(1, &mut done);
            let Done { moved, error, .. } = done.pop().unwrap();
            assert_eq!((moved, error), expected);
        }
    }

    #[test]
    #[should_panic(expected = "of 0 jobs are waited for")]
    fn a_wait_for_what_is_not_under_way_would_be_for_ever() {
        Helpers::start(1).unwrap().reap(1, &mut Vec::new());
    }
}
