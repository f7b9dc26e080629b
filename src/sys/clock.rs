//! The kernel's clocks in nanoseconds.
//!
//! Through the C library: it reads them without a system call, and it also does so where there is no vDSO to read, as
//! under valgrind.

/// CLOCK_MONOTONIC: the same in all processes of a machine, and never set back.
#[inline]
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CLOCK_THREAD_CPUTIME_ID: processor time of the calling thread.
pub fn thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Processor time of a process until now; none where it is gone.
pub fn process_cpu(pid: u32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is written by the call.
    let result = unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock) };
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is written by the call, which fails where the process has gone in between.
    let read = result == 0 && unsafe { libc::clock_gettime(clock, &mut now) } == 0;
    read.then(|| now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// Nanoseconds that the calling thread was ready to run and had no processor; 0 where the kernel does not count them.
pub fn thread_run_delay() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().nth(1).and_then(|delay| delay.parse().ok()).unwrap_or(0)
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is written by the call; both clocks exist on every Linux, so it does not fail.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward() {
        let (wall, cpu) = (monotonic(), thread_cpu());
        assert!(wall > 0);
        assert!(monotonic() >= wall);
        assert!(thread_cpu() >= cpu);
        let delay = thread_run_delay();
        assert!(thread_run_delay() >= delay);
        assert!(process_cpu(std::process::id()).unwrap() >= cpu);
        // Beyond the greatest process id of any Linux, 2^22.
        assert_eq!(process_cpu((1 << 22) + 7), None);
    }
}
