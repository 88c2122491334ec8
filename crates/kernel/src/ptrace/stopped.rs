//! The system calls that stop: ioctl, open family, close, dup family, mmap of files, and munmap.

use crate::error::Result;
use cutap_ptrace::Gate;
use cutap_ptrace::filter::StopRule;

/// The ioctl of 32-bit programs, which are counted.
pub(super) const I386_IOCTL: i64 = 54;

const RULES: [StopRule; 13] = [
    StopRule::Narrow(I386_IOCTL),
    StopRule::Always(libc::SYS_ioctl),
    StopRule::Always(libc::SYS_open),
    StopRule::Always(libc::SYS_openat),
    StopRule::Always(libc::SYS_openat2),
    StopRule::Always(libc::SYS_creat),
    StopRule::Always(libc::SYS_close),
    StopRule::Always(libc::SYS_dup),
    StopRule::Always(libc::SYS_dup2),
    StopRule::Always(libc::SYS_dup3),
    StopRule::Always(libc::SYS_munmap),
    StopRule::UnlessBits { number: libc::SYS_mmap, argument: 3, bits: libc::MAP_ANONYMOUS.cast_unsigned() },
    StopRule::IfEither {
        number: libc::SYS_fcntl,
        argument: 1,
        values: [libc::F_DUPFD.cast_unsigned(), libc::F_DUPFD_CLOEXEC.cast_unsigned()],
    },
];

/// The start of a program that stops at the system calls of this layer.
///
/// # Errors
/// There are too many open files.
pub fn gate() -> Result<Gate> {
    Ok(Gate::new(&RULES)?)
}
