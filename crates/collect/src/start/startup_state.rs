//! State that cutap inherits and passes on unchanged (timers: `inherited_timers`): the dispositions of SIGPIPE and
//! SIGXFSZ, which of the descriptors 0 to 2 were closed, and the open descriptors.
//!
//! Rust and `main` change these, so they are read before Rust's start-up code. Only async-signal-safe calls are allowed
//! there.

use crate::start::inherited_timers::InheritedTimers;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static LIMIT_IGNORED: AtomicBool = AtomicBool::new(false);
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Runs before Rust's start-up code, as a constructor of the executable.
extern "C" fn capture_before_main() {
    // SAFETY: plain system calls on descriptors and a zeroed structure of cutap.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        for (signal, ignored) in [(libc::SIGPIPE, &PIPE_IGNORED), (libc::SIGXFSZ, &LIMIT_IGNORED)] {
            if libc::sigaction(signal, std::ptr::null(), &mut action) == 0 {
                ignored.store(action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
            }
        }
        for fd in 0..3 {
            if libc::fcntl(fd, libc::F_GETFD) == -1 {
                CLOSED.fetch_or(1 << fd, Ordering::Relaxed);
            }
        }
    }
}

// SAFETY: the loader calls what stands in this section, with no arguments that matter, at start.
#[used]
#[unsafe(link_section = ".init_array")]
static CAPTURE_BEFORE_MAIN: extern "C" fn() = capture_before_main;

/// From here on a file size limit (`ulimit -f`) is an error of a write, of which there is a sentence, and no signal
/// that ends us.
pub fn file_size_limit_is_an_error() {
    // SAFETY: no handler of ours runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The limit of open files as we found it.
static FILES: AtomicU64 = AtomicU64::new(u64::MAX);

/// Files of many threads and processes are read: up to the hard limit as many may be open. The program gets its own
/// limit back.
pub fn raise_file_limit() {
    // SAFETY: a structure of cutap.
    unsafe {
        let mut files: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut files) == 0 && files.rlim_cur < files.rlim_max {
            FILES.store(files.rlim_cur, Ordering::Relaxed);
            libc::setrlimit(libc::RLIMIT_NOFILE, &libc::rlimit { rlim_cur: files.rlim_max, ..files });
        }
    }
}

/// Takes that back, for a process that is to be the program: system calls only.
pub fn restore_file_limit() {
    let before = FILES.load(Ordering::Relaxed);
    // SAFETY: a structure of cutap.
    unsafe {
        let mut files: libc::rlimit = std::mem::zeroed();
        if before != u64::MAX && libc::getrlimit(libc::RLIMIT_NOFILE, &mut files) == 0 {
            libc::setrlimit(libc::RLIMIT_NOFILE, &libc::rlimit { rlim_cur: before, ..files });
        }
    }
}

/// What the program must find as we found it.
#[derive(Debug)]
pub struct StartupState {
    /// SIGPIPE was ignored.
    pub pipe_ignored: bool,
    /// SIGXFSZ was ignored.
    pub limit_ignored: bool,
    /// SIGCHLD was ignored.
    pub child_ignored: bool,
    /// Bit n: descriptor n (0 to 2) was closed.
    pub closed: u8,
    /// Descriptors from 3 on that were open.
    pub descriptors: Vec<i32>,
    /// Signals that the kernel is to send.
    pub timers: InheritedTimers,
}

impl StartupState {
    /// Takes stock; to be called before anything of ours is opened.
    pub fn capture() -> StartupState {
        // SAFETY: asks for a disposition into a zeroed structure of cutap.
        let child_ignored = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGCHLD, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
        };
        StartupState {
            pipe_ignored: PIPE_IGNORED.load(Ordering::Relaxed),
            limit_ignored: LIMIT_IGNORED.load(Ordering::Relaxed),
            child_ignored,
            closed: CLOSED.load(Ordering::Relaxed),
            descriptors: open_descriptors(),
            timers: InheritedTimers::capture(),
        }
    }

    /// Lets go of what only the program should hold, so that its closing a pipe is seen at the other
    /// end although we live on. Standard error stays: our words go there.
    pub fn release(&self) {
        for &fd in &self.descriptors {
            // SAFETY: these came from outside before anything of ours was opened; nobody here owns them.
            unsafe { libc::close(fd) };
        }
        // SAFETY: replaces what 0 and 1 are by /dev/null; they stay open, so no number is reused.
        unsafe {
            let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if null >= 0 {
                libc::dup2(null, 0);
                libc::dup2(null, 1);
                libc::close(null);
            }
        }
    }
}

/// Descriptors from 3 on that are open now and survive exec.
pub fn open_descriptors() -> Vec<i32> {
    let Ok(folder) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let mut all: Vec<i32> = folder.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    // The listing's own descriptor has the close-on-exec flag, what was inherited never has.
    // SAFETY: asks for a flag.
    all.retain(|&fd| fd > 2 && unsafe { libc::fcntl(fd, libc::F_GETFD) } == 0);
    all.sort_unstable();
    all
}
