//! Facts and settings of this process and thread that have no safe call.

use std::io;

/// Lets a write over the file-size limit fail with EFBIG instead of killing the process, and a write to a closed
/// pipe with EPIPE. The settings are inherited by workers.
pub fn ignore_write_signals() {
    for signal in [libc::SIGXFSZ, libc::SIGPIPE] {
        // SAFETY: SIG_IGN installs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Leaves the signals of a terminal to the controller: a worker ends when the controller says so.
pub fn ignore_stop_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: SIG_IGN installs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// True where a signal is ignored, as `nohup` and shells leave it to what they start.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: all bytes zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: only reads the present disposition into `action`.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Gives a descriptor number that the parent left open for us an owner.
///
/// # Errors
///
/// EBADF where no such descriptor is open.
pub fn adopt_descriptor(number: i32) -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
    if number < 3 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: borrowed for one fcntl only, which fails where the number is not open.
    rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) })?;
    // SAFETY: open (checked above), and the parent handed it to this process for this purpose alone.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Sets the best-effort I/O priority of the calling thread, 0 (first) to 7.
///
/// # Errors
///
/// Of `ioprio_set`.
pub fn set_io_priority(level: u8) -> io::Result<()> {
    const WHO_PROCESS: libc::c_int = 1;
    const CLASS_BEST_EFFORT: libc::c_int = 2;
    const CLASS_SHIFT: libc::c_int = 13;
    let value = (CLASS_BEST_EFFORT << CLASS_SHIFT) | libc::c_int::from(level & 7);
    // SAFETY: takes three integers; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, value) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_that_is_not_open_is_refused() {
        assert!(adopt_descriptor(1_000_000).is_err());
        assert!(adopt_descriptor(0).is_err());
    }

    #[test]
    fn an_ignored_signal_is_known() {
        ignore_write_signals();
        assert!(is_ignored(libc::SIGXFSZ));
        assert!(!is_ignored(libc::SIGUSR2));
    }

    #[test]
    fn any_thread_may_take_the_default_io_priority() {
        std::thread::spawn(|| set_io_priority(4).unwrap()).join().unwrap();
    }
}
