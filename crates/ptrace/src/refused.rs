//! Why the system does not allow ptrace, with the setting that forbids it.

use crate::error::{Error, reason};
use std::fs::read_to_string;
use std::io;

/// The sentence for a process that cannot be traced. `what` is the process in words.
pub(crate) fn sentence(what: &str, pid: i32, error: &io::Error) -> Error {
    let status = status_of(pid);
    let yama = read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let own = read_to_string("/proc/self/status").unwrap_or_default();
    Error::new(why_refused(what, error, &status, &own, yama.trim()))
}

/// What the kernel says of a process or thread; empty if there is none. Its name has any bytes.
fn status_of(id: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{id}/status")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the first thread of a process has ended. Other threads may still run.
pub(crate) fn has_ended(pid: i32) -> bool {
    is_zombie(&status_of(pid))
}

/// The process of a thread; the thread's own id where there is no such thread.
#[must_use]
pub fn process_of(tid: i32) -> i32 {
    let status = status_of(tid);
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|pid| pid.trim().parse().ok()).unwrap_or(tid)
}

fn is_zombie(status: &str) -> bool {
    status.lines().any(|line| line.starts_with("State:\tZ"))
}

/// The reason, from the two status files of /proc and the value of Yama's setting (empty: there is none).
#[must_use]
pub fn why_refused(what: &str, error: &io::Error, status: &str, own: &str, yama: &str) -> String {
    match error.raw_os_error() {
        Some(libc::ESRCH) => return format!("cannot trace {what}: there is no such process; check the number"),
        Some(libc::EPERM | libc::EACCES) => {}
        _ => return format!("cannot trace {what}: {}; try it without --ptrace", reason(error)),
    }
    if is_zombie(status) {
        return format!("cannot trace {what}: it has ended, and its parent has not waited for it yet");
    }
    let field = |text: &str, name: &str, n: usize| -> Option<u64> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(n)?.parse().ok()
    };
    if let Some(tracer) = field(status, "TracerPid:", 1).filter(|tracer| *tracer != 0) {
        return format!("cannot trace {what}: process {tracer} traces it already; end that debugger or strace first");
    }
    let capability = own.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capability = capability.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    // CAP_SYS_PTRACE.
    let may_all = capability >> 19 & 1 == 1;
    // The last word of "Uid:" is the file system's; the first the real one.
    let (theirs, ours) = (field(status, "Uid:", 1), field(own, "Uid:", 1));
    if !may_all && theirs.is_some() && theirs != ours {
        return format!("cannot trace {what}: it belongs to another user; run cutap as that user or as root");
    }
    // The kernel compares the effective and the saved ids too.
    let differs = |(name, n)| field(status, name, n).is_some_and(|theirs| Some(theirs) != field(own, name, 1));
    if !may_all && [("Uid:", 2), ("Uid:", 3), ("Gid:", 1), ("Gid:", 2), ("Gid:", 3)].into_iter().any(differs) {
        return format!(
            "cannot trace {what}: it has the rights of another user or group (a set-user-ID program); run cutap as root"
        );
    }
    match yama {
        "3" => format!(
            "cannot trace {what}: kernel.yama.ptrace_scope is 3, which forbids ptrace until the next boot; \
             use cutap syscall trace without --ptrace"
        ),
        "2" if !may_all => format!(
            "cannot trace {what}: kernel.yama.ptrace_scope is 2, which requires CAP_SYS_PTRACE; run cutap as root"
        ),
        "1" if !may_all => format!(
            "cannot trace {what}: kernel.yama.ptrace_scope is 1, which allows only a program's own children; run \
             sysctl kernel.yama.ptrace_scope=0 as root, or start the program with cutap syscall trace --ptrace -- PROG"
        ),
        _ => format!(
            "cannot trace {what}: permission denied. A container's seccomp profile forbids ptrace (docker run \
             --cap-add=SYS_PTRACE allows it), or the process changed its user; use cutap syscall trace without --ptrace"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_named() {
        let why = |errno, status: &str, own: &str, yama: &str| {
            why_refused("process 7", &io::Error::from_raw_os_error(errno), status, own, yama)
        };
        let (mine, root) = ("Uid:\t1000\t1000\nCapEff:\t0\n", "Uid:\t0\t0\nCapEff:\t000001ffffffffff\n");
        assert!(why(libc::ESRCH, "", mine, "1").contains("no such process"));
        assert!(why(libc::EPERM, "State:\tZ (zombie)\nUid:\t0\n", root, "0").contains("it has ended"));
        assert!(why(libc::EPERM, "Uid:\t1000\nTracerPid:\t12\n", mine, "0").contains("process 12 traces it already"));
        assert!(why(libc::EPERM, "Uid:\t1001\n", mine, "0").contains("another user"));
        assert!(why(libc::EPERM, "Uid:\t1000\t0\t0\t0\n", mine, "0").contains("set-user-ID"));
        assert!(why(libc::EPERM, "Uid:\t1000\nGid:\t1000\t42\n", mine, "0").contains("set-user-ID"));
        assert!(why(libc::EPERM, "Uid:\t1000\n", mine, "1").contains("ptrace_scope is 1"));
        assert!(why(libc::EPERM, "Uid:\t1000\n", mine, "2").contains("ptrace_scope is 2"));
        assert!(why(libc::EPERM, "Uid:\t1000\n", root, "3").contains("ptrace_scope is 3"));
        assert!(why(libc::EPERM, "Uid:\t1000\n", root, "1").contains("--cap-add=SYS_PTRACE"));
        assert!(why(libc::EIO, "Uid:\t1000\n", root, "1").contains("without --ptrace"));
    }
}
