//! Signals of the foreground process. It blocks all and takes them one by one, so no handler runs and the program
//! inherits the dispositions that cutap got.

use std::mem::zeroed;
use std::ptr::null_mut;
use std::time::Duration;

/// A signal that was sent to us.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedSignal {
    /// Its number.
    pub signal: i32,
    /// True when a process sent it; false when the kernel did (terminal, child, timer).
    pub by_process: bool,
    /// Who, if a process did.
    pub sender: i32,
}

/// The mask as it was before [`block`].
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

/// Signals that report a defect of cutap: never blocked.
const OWN_FAULTS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];

fn all_signals() -> libc::sigset_t {
    // SAFETY: fills a set of cutap.
    unsafe {
        let mut set = zeroed();
        libc::sigfillset(&mut set);
        for fault in OWN_FAULTS {
            libc::sigdelset(&mut set, fault);
        }
        set
    }
}

/// Blocks everything and makes sure that the end of a child is told.
pub fn block() -> Mask {
    // SAFETY: sets of cutap; SIGCHLD's default action runs no code.
    unsafe {
        let mut before = zeroed();
        libc::sigprocmask(libc::SIG_BLOCK, &all_signals(), &mut before);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        Mask(before)
    }
}

impl Mask {
    /// Puts the mask back, in a child of ours.
    pub fn restore(&self) {
        // SAFETY: a set that sigprocmask gave.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.0, null_mut()) };
    }
}

/// Waits for the next signal, not longer than `most`.
pub fn take(most: Duration) -> Option<ReceivedSignal> {
    let most = libc::timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
    // SAFETY: a zeroed structure of cutap; `si_pid` is valid for signals that a process sent.
    unsafe {
        let mut info: libc::siginfo_t = zeroed();
        let signal = libc::sigtimedwait(&all_signals(), &mut info, &most);
        // SI_USER 0, SI_QUEUE -1, SI_TKILL -6: up to zero it was a process.
        (signal > 0).then(|| ReceivedSignal { signal, by_process: info.si_code <= 0, sender: info.si_pid() })
    }
}

/// Sends a signal to a process; one that is gone is no error.
pub fn send(pid: i32, signal: i32) {
    // SAFETY: no memory is involved; pid is a child that was not waited for yet.
    unsafe { libc::kill(pid, signal) };
}

/// What became of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildChange {
    /// It returned or called exit.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// A signal stopped it.
    Stopped(i32),
}

/// Asks what became of a child, without waiting.
pub fn change(pid: i32) -> Option<ChildChange> {
    let mut status = 0;
    // SAFETY: a word of cutap.
    if unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG | libc::WUNTRACED) } != pid {
        return None;
    }
    match status {
        s if libc::WIFEXITED(s) => Some(ChildChange::Exited(libc::WEXITSTATUS(s))),
        s if libc::WIFSIGNALED(s) => Some(ChildChange::Killed(libc::WTERMSIG(s))),
        s if libc::WIFSTOPPED(s) => Some(ChildChange::Stopped(libc::WSTOPSIG(s))),
        _ => None,
    }
}

/// Stops this process as the signal stopped the child; returns when we are continued.
pub fn stop_as(signal: i32) {
    raise_default(signal);
}

/// Ends this process as the signal ended the child, without a core dump of ours.
pub fn die_as(signal: i32) -> ! {
    // SAFETY: a structure of cutap; both only make a core dump impossible.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    raise_default(signal);
    // A signal that does not end us (a stop, one out of range): the shell's way to say it.
    std::process::exit(128 + signal)
}

/// Raises a signal with its default action.
fn raise_default(signal: i32) {
    // SAFETY: sets and structures of cutap; the default action runs no code of ours.
    unsafe {
        let (mut before, mut one): (libc::sigaction, libc::sigset_t) = (zeroed(), zeroed());
        let mut default: libc::sigaction = zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &default, &mut before);
        libc::sigemptyset(&mut one);
        libc::sigaddset(&mut one, signal);
        libc::raise(signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &one, null_mut());
        libc::sigprocmask(libc::SIG_BLOCK, &one, null_mut());
        libc::sigaction(signal, &before, null_mut());
    }
}

/// True when this process belongs to the group in front of a terminal; `None` without a terminal.
pub fn in_foreground() -> Option<bool> {
    // SAFETY: a descriptor of cutap, closed again.
    unsafe {
        let tty = libc::open(c"/dev/tty".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOCTTY);
        if tty < 0 {
            return None;
        }
        let front = libc::tcgetpgrp(tty) == libc::getpgrp();
        libc::close(tty);
        Some(front)
    }
}
