//! The seccomp filter: it lets the tracer stop the system calls of its rules, and each clone that could make a child
//! without a tracer. All other system calls run at full speed.

use crate::sys::{AUDIT_ARCH_I386, AUDIT_ARCH_X86_64};
use libc::sock_filter;

/// When a system call of 64-bit code stops. Those that no rule names run at full speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRule {
    /// Always.
    Always(i64),
    /// Unless this argument has one of these bits.
    UnlessBits {
        /// The system call.
        number: i64,
        /// Which argument, from 0.
        argument: u32,
        /// In its lower half.
        bits: u32,
    },
    /// If this argument is one of two values.
    IfEither {
        /// The system call.
        number: i64,
        /// Which argument, from 0.
        argument: u32,
        /// Of its lower half.
        values: [u32; 2],
    },
    /// Always, of 32-bit code: the number is that of its interface.
    Narrow(i64),
}

/// The clone of 32-bit programs. Their clone3 has the usual number.
pub const I386_CLONE: i64 = 120;
/// From here on the numbers of the x32 interface.
pub const X32: i64 = 0x4000_0000;

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

fn number(n: i64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Stops at each clone that could make a child which no tracer sees. clone3 has its flags in memory.
fn clones(clone: i64, clone3: i64, stop: sock_filter) -> [sock_filter; 6] {
    [
        step(EQUAL, number(clone3), 0, 1),
        stop,
        step(EQUAL, number(clone), 0, 3),
        step(LOAD, argument(0), 0, 0),
        step(ANY_BIT, libc::CLONE_UNTRACED.cast_unsigned(), 0, 1),
        stop,
    ]
}

/// The filter. `value` tells its stops from those of filters that the program installs.
pub(crate) fn program(value: u16, rules: &[StopRule]) -> Vec<sock_filter> {
    let stop = step(RETURN, libc::SECCOMP_RET_TRACE | u32::from(value), 0, 0);
    let (narrow, native): (Vec<_>, Vec<_>) = rules.iter().partition(|rule| matches!(rule, StopRule::Narrow(_)));
    let mut narrow_part = vec![step(LOAD, NUMBER, 0, 0)];
    narrow_part.extend(narrow.into_iter().flat_map(|rule: &StopRule| instructions(*rule, stop)));
    narrow_part.extend(clones(I386_CLONE, libc::SYS_clone3, stop));
    narrow_part.push(ALLOW);
    // Both architectures are asked first. Of the second, the jump leads over the ALLOW for all others.
    let to_native = u8::try_from(narrow_part.len() + 2).unwrap_or(u8::MAX);
    let mut all = vec![
        step(LOAD, ARCHITECTURE, 0, 0),
        step(EQUAL, AUDIT_ARCH_X86_64, to_native, 0),
        step(EQUAL, AUDIT_ARCH_I386, 1, 0),
        ALLOW,
    ];
    all.extend(narrow_part);
    all.extend([step(LOAD, NUMBER, 0, 0), step(AT_LEAST, number(X32), 0, 7)]);
    all.extend(clones(X32 + libc::SYS_clone, X32 + libc::SYS_clone3, stop));
    all.push(ALLOW);
    all.extend(native.into_iter().flat_map(|rule: &StopRule| instructions(*rule, stop)));
    all.extend(clones(libc::SYS_clone, libc::SYS_clone3, stop));
    all.push(ALLOW);
    all
}

/// One rule. The number of the system call is loaded before and, for a call of another number, after it.
fn instructions(rule: StopRule, stop: sock_filter) -> Vec<sock_filter> {
    match rule {
        StopRule::Always(n) | StopRule::Narrow(n) => vec![step(EQUAL, number(n), 0, 1), stop],
        StopRule::UnlessBits { number: n, argument: word, bits } => {
            vec![step(EQUAL, number(n), 0, 4), step(LOAD, argument(word), 0, 0), step(ANY_BIT, bits, 0, 1), ALLOW, stop]
        }
        StopRule::IfEither { number: n, argument: word, values: [one, other] } => vec![
            step(EQUAL, number(n), 0, 5),
            step(LOAD, argument(word), 0, 0),
            step(EQUAL, one, 1, 0),
            step(EQUAL, other, 0, 1),
            stop,
            ALLOW,
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOPPED: [i64; 2] = [libc::SYS_ioctl, libc::SYS_munmap];
    const I386_IOCTL: i64 = 54;
    const RULES: [StopRule; 5] = [
        StopRule::Always(STOPPED[0]),
        StopRule::UnlessBits { number: libc::SYS_mmap, argument: 3, bits: libc::MAP_ANONYMOUS.cast_unsigned() },
        StopRule::IfEither { number: libc::SYS_fcntl, argument: 1, values: [0, 1030] },
        StopRule::Narrow(I386_IOCTL),
        StopRule::Always(STOPPED[1]),
    ];

    /// Runs the filter on one system call, as the kernel does.
    fn stops(architecture: u32, number: i64, arguments: [u32; 6]) -> bool {
        let (all, mut at, mut value) = (program(0xbeef, &RULES), 0, 0);
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
                RETURN => return k == libc::SECCOMP_RET_TRACE | 0xbeef,
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
            let others = [libc::SYS_mmap, libc::SYS_fcntl, libc::SYS_clone3];
            let expected = STOPPED.contains(&number) || others.contains(&number);
            assert_eq!(stops(AUDIT_ARCH_X86_64, number, [0; 6]), expected, "{number}");
        }
        let anonymous = [0, 0, 0, 0x22, 0, 0];
        assert!(!stops(AUDIT_ARCH_X86_64, libc::SYS_mmap, anonymous));
        assert!(stops(AUDIT_ARCH_X86_64, libc::SYS_mmap, [0, 0, 0, 1, 3, 0]));
        assert!(stops(AUDIT_ARCH_X86_64, libc::SYS_fcntl, [3, 1030, 0, 0, 0, 0]));
        assert!(!stops(AUDIT_ARCH_X86_64, libc::SYS_fcntl, [3, 1, 0, 0, 0, 0]));
        assert!(!stops(AUDIT_ARCH_X86_64, libc::SYS_ioctl | 0x4000_0000, [0; 6]));
        let untraced = [0x0080_0011, 0, 0, 0, 0, 0];
        for (architecture, clone) in
            [(AUDIT_ARCH_X86_64, 56), (AUDIT_ARCH_X86_64, 0x4000_0038), (AUDIT_ARCH_I386, I386_CLONE)]
        {
            assert!(stops(architecture, clone, untraced) && !stops(architecture, clone, [17; 6]), "{clone}");
        }
        assert!(stops(AUDIT_ARCH_I386, 435, [0; 6]) && stops(AUDIT_ARCH_X86_64, 0x4000_0000 + 435, [0; 6]));
        assert!(stops(AUDIT_ARCH_I386, 54, [0; 6]) && !stops(AUDIT_ARCH_I386, 16, [0; 6]) && !stops(7, 16, [0; 6]));
    }
}
