//! What the system knows of a thread that runs now: whether it is there, and the system call that it sleeps in.

use std::path::{Path, PathBuf};

/// System calls in which programs wait, with words; those with a descriptor say which.
const SLEEPS: [(i64, &str, bool); 23] = [
    (libc::SYS_futex, "sleeps in futex: a lock, a condition or the end of a thread", false),
    (libc::SYS_read, "sleeps in read", true),
    (libc::SYS_write, "sleeps in write", true),
    (libc::SYS_readv, "sleeps in readv", true),
    (libc::SYS_writev, "sleeps in writev", true),
    (libc::SYS_recvfrom, "sleeps in recvfrom", true),
    (libc::SYS_recvmsg, "sleeps in recvmsg", true),
    (libc::SYS_sendto, "sleeps in sendto", true),
    (libc::SYS_sendmsg, "sleeps in sendmsg", true),
    (libc::SYS_accept4, "sleeps in accept4", true),
    (libc::SYS_connect, "sleeps in connect", true),
    (libc::SYS_ppoll, "sleeps in ppoll", false),
    (libc::SYS_epoll_pwait, "sleeps in epoll_pwait", false),
    (libc::SYS_wait4, "sleeps in wait4: a child process", false),
    (libc::SYS_clock_nanosleep, "sleeps in clock_nanosleep", false),
    (libc::SYS_nanosleep, "sleeps in nanosleep", false),
    (libc::SYS_pause, "sleeps in pause: a signal", false),
    (libc::SYS_rt_sigsuspend, "sleeps in rt_sigsuspend: a signal", false),
    (libc::SYS_rt_sigtimedwait, "sleeps in rt_sigtimedwait: a signal", false),
    (libc::SYS_poll, "sleeps in poll", false),
    (libc::SYS_select, "sleeps in select", false),
    (libc::SYS_epoll_wait, "sleeps in epoll_wait", false),
    (libc::SYS_ioctl, "sleeps in ioctl", true),
];

/// Whether a process has such a thread now.
pub fn has_thread(pid: u32, tid: u32) -> bool {
    task(pid, tid).exists()
}

fn task(pid: u32, tid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join("task").join(tid.to_string())
}

/// Why a thread does not run on by itself, in words; none if it may.
pub fn stopped(pid: u32, tid: u32) -> Option<&'static str> {
    let text = std::fs::read_to_string(task(pid, tid).join("stat")).ok()?;
    // The name of the program may have any character.
    let state = text.rsplit_once(") ")?.1.chars().next()?;
    match state {
        'T' => Some("is stopped by a signal; SIGCONT lets it go on"),
        't' => Some("is stopped by a debugger"),
        _ => None,
    }
}

/// The system call that a thread sleeps in, in words: `sleeps in write of descriptor 5 (pipe:[91])`. None if it runs,
/// or the system does not say.
pub fn system_call(pid: u32, tid: u32) -> Option<String> {
    let text = std::fs::read_to_string(task(pid, tid).join("syscall")).ok()?;
    let mut words = text.split_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let Some((_, name, has_descriptor)) = SLEEPS.iter().find(|(known, ..)| *known == number) else {
        return Some(format!("sleeps in system call {number}"));
    };
    if !has_descriptor {
        return Some((*name).to_owned());
    }
    let descriptor = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()? as i32;
    let link = Path::new("/proc").join(pid.to_string()).join("fd").join(descriptor.to_string());
    let target = std::fs::read_link(link).map_or_else(|_| String::new(), |file| format!(" ({})", file.display()));
    Some(format!("{name} of descriptor {descriptor}{target}"))
}
