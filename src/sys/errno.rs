//! Names of the kernel's errors.

use rustix::io::Errno;
use std::io;

/// The name of an error number, `ENOSPC`; `errno 123` for one without.
pub fn errno_name(errno: i32) -> String {
    ERRNO_NAMES.iter().find(|(n, _)| *n == errno).map_or_else(|| format!("errno {errno}"), |(_, name)| (*name).into())
}

macro_rules! errno_names {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

/// The text of an error, with the name that manuals use: `No space left on device (ENOSPC)`.
pub fn describe(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => format!("{} ({})", text.split(" (os error").next().unwrap_or_default(), errno_name(number)),
        None => text,
    }
}

/// What is behind an error of a file system, or where to look, as the end of a sentence; none where its text says it.
pub fn advice(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::IO => "the kernel's log may say more (dmesg)",
        Errno::DQUOT => "the quota of the user, the group or the project is used up",
        Errno::ROFS => "the file system is mounted read-only, or the kernel has made it so after an error (dmesg)",
        Errno::STALE => {
            "the server does not know the file any more: somebody removed it there, or what it exports is another; \
             mount it again"
        }
        Errno::NOTCONN | Errno::CONNABORTED => "who serves this file system is gone; mount it again",
        _ => return None,
    })
}

/// The errors that file systems give.
const ERRNO_NAMES: &[(i32, &str)] = errno_names! {
    EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL
    ENFILE EMFILE ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY
    ELOOP ENODATA ETIME EOVERFLOW EOPNOTSUPP ETIMEDOUT ECONNREFUSED EHOSTDOWN EALREADY EINPROGRESS ESTALE EDQUOT
    ENOMEDIUM ECANCELED EREMOTEIO EUCLEAN ENOTCONN ECONNABORTED ECONNRESET ENETDOWN ENETUNREACH EHOSTUNREACH ESHUTDOWN
    ENOLINK EPROTO EBADMSG EILSEQ E2BIG EMEDIUMTYPE ENOKEY EKEYREJECTED
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_names() {
        assert_eq!(errno_name(libc::ENOSPC), "ENOSPC");
        assert_eq!(errno_name(4095), "errno 4095");
        assert_eq!(describe(&io::Error::from_raw_os_error(libc::EDQUOT)), "Disk quota exceeded (EDQUOT)");
        assert_eq!(describe(&io::Error::other("gone")), "gone");
    }

    #[test]
    fn what_has_advice_has_a_name() {
        let advised = (1..200).filter(|number| advice(Errno::from_raw_os_error(*number)).is_some());
        let names: Vec<String> = advised.map(errno_name).collect();
        assert!(names.contains(&"ENOTCONN".to_owned()) && names.iter().all(|name| name.starts_with('E')), "{names:?}");
    }
}
