//! Names of the kernel's errors.

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

/// The errors that file systems give.
const ERRNO_NAMES: &[(i32, &str)] = errno_names! {
    EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL
    ENFILE EMFILE ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY
    ELOOP ENODATA ETIME EOVERFLOW EOPNOTSUPP ETIMEDOUT ECONNREFUSED EHOSTDOWN EALREADY EINPROGRESS ESTALE EDQUOT
    ENOMEDIUM ECANCELED EREMOTEIO EUCLEAN
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
}
