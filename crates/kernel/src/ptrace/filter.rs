//! The seccomp filter: it lets the tracer stop ioctl, open family, close, dup family, mmap of files, and munmap. All
//! other system calls run at full speed.

use super::sys::{AUDIT_ARCH_I386, AUDIT_ARCH_X86_64};
use libc::sock_filter;

/// System calls that always stop.
pub(super) const STOPPED: [i64; 10] = [
    libc::SYS_ioctl,
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_creat,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_munmap,
];

/// The ioctl of 32-bit programs.
const I386_IOCTL: u32 = 54;
/// From here on the numbers of the x32 interface.
const X32: u32 = 0x4000_0000;

/// Offsets in the kernel's `seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument(n: u32) -> u32 {
    16 + 8 * n
}

const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// One instruction. Jumps are written as the number of instructions to skip.
const fn step(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

const ALLOW: sock_filter = step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0);
const STOP: sock_filter = step(RETURN, libc::SECCOMP_RET_TRACE, 0, 0);

/// The filter.
pub(super) fn program() -> Vec<sock_filter> {
    let mut all = vec![
        step(LOAD, ARCHITECTURE, 0, 0),
        step(EQUAL, AUDIT_ARCH_X86_64, 5, 0),
        // A 32-bit program: its ioctls are counted.
        step(EQUAL, AUDIT_ARCH_I386, 0, 2),
        step(LOAD, NUMBER, 0, 0),
        step(EQUAL, I386_IOCTL, 1, 0),
        ALLOW,
        STOP,
        step(LOAD, NUMBER, 0, 0),
        step(AT_LEAST, X32, 0, 1),
        ALLOW,
    ];
    for number in STOPPED {
        all.push(step(EQUAL, u32::try_from(number).unwrap_or(u32::MAX), 0, 1));
        all.push(STOP);
    }
    let number = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    all.extend([
        step(EQUAL, number(libc::SYS_mmap), 0, 4),
        step(LOAD, argument(3), 0, 0),
        step(ANY_BIT, libc::MAP_ANONYMOUS.cast_unsigned(), 0, 1),
        ALLOW,
        STOP,
        step(EQUAL, number(libc::SYS_fcntl), 0, 4),
        step(LOAD, argument(1), 0, 0),
        step(EQUAL, libc::F_DUPFD.cast_unsigned(), 1, 0),
        step(EQUAL, libc::F_DUPFD_CLOEXEC.cast_unsigned(), 0, 1),
        STOP,
        ALLOW,
    ]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter on one system call, as the kernel does.
    fn stops(architecture: u32, number: i64, arguments: [u32; 6]) -> bool {
        let (all, mut at, mut value) = (program(), 0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = all[at];
            at += 1;
            let jump = match code {
                LOAD if k == ARCHITECTURE => {
                    value = architecture;
                    continue;
                }
                LOAD if k == NUMBER => {
                    value = u32::try_from(number).unwrap();
                    continue;
                }
                LOAD => {
                    value = arguments[(k as usize - 16) / 8];
                    continue;
                }
                RETURN => return k == libc::SECCOMP_RET_TRACE,
                EQUAL => value == k,
                AT_LEAST => value >= k,
                ANY_BIT => value & k != 0,
                _ => panic!("{code}"),
            };
            at += usize::from(if jump { jt } else { jf });
        }
    }

    #[test]
    fn only_these_stop() {
        for number in 0..500 {
            let expected = STOPPED.contains(&number) || number == libc::SYS_mmap || number == libc::SYS_fcntl;
            assert_eq!(stops(AUDIT_ARCH_X86_64, number, [0; 6]), expected, "{number}");
        }
        let anonymous = [0, 0, 0, 0x22, 0, 0];
        assert!(!stops(AUDIT_ARCH_X86_64, libc::SYS_mmap, anonymous));
        assert!(stops(AUDIT_ARCH_X86_64, libc::SYS_mmap, [0, 0, 0, 1, 3, 0]));
        assert!(stops(AUDIT_ARCH_X86_64, libc::SYS_fcntl, [3, 1030, 0, 0, 0, 0]));
        assert!(!stops(AUDIT_ARCH_X86_64, libc::SYS_fcntl, [3, 1, 0, 0, 0, 0]));
        assert!(!stops(AUDIT_ARCH_X86_64, libc::SYS_ioctl | 0x4000_0000, [0; 6]));
        assert!(stops(AUDIT_ARCH_I386, 54, [0; 6]) && !stops(AUDIT_ARCH_I386, 16, [0; 6]) && !stops(7, 16, [0; 6]));
    }
}
