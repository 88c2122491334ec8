//! Re-arms in the child the timers of `alarm` and `setitimer` and the signal for the parent's death. Fork drops them
//! and exec keeps them, so the program would lose what its parent had set up.
//!
//! Timers of `timer_create` ended with the exec of cutap.

use std::mem::zeroed;
use std::ptr::null_mut;

/// Each timer and its signal.
const TIMERS: [(libc::c_int, i32); 3] =
    [(libc::ITIMER_REAL, libc::SIGALRM), (libc::ITIMER_VIRTUAL, libc::SIGVTALRM), (libc::ITIMER_PROF, libc::SIGPROF)];
const REAL: usize = 0;

/// The orders, on their way to the program.
#[derive(Debug, Clone, Copy)]
pub struct InheritedTimers {
    /// What was left of each timer.
    remaining: [libc::itimerval; 3],
    /// Its signal had come and was blocked.
    is_pending: [bool; 3],
    /// The signal at the parent's death, or 0.
    death: i32,
    /// The process that will be the program's parent.
    parent: i32,
}

impl InheritedTimers {
    /// At our start: the processor's time that we take is none of the program's. The clock on the wall goes on, and
    /// what it ends before there is a program is cutap.
    pub fn capture() -> InheritedTimers {
        let mut death = 0;
        // SAFETY: the kernel writes a word of cutap; getpid touches no memory.
        let parent = unsafe {
            libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut death);
            libc::getpid()
        };
        // SAFETY: zeros are a timer that does not run.
        let none = unsafe { zeroed() };
        let remaining = [none, stop(libc::ITIMER_VIRTUAL), stop(libc::ITIMER_PROF)];
        InheritedTimers { remaining, is_pending: [false; 3], death, parent }
    }

    /// The rest of them, just before the program is started, with all signals blocked.
    pub fn capture_real(&mut self) {
        self.remaining[REAL] = stop(libc::ITIMER_REAL);
        for ((_, signal), came) in TIMERS.iter().zip(&mut self.is_pending) {
            // SAFETY: structures of cutap.
            *came = unsafe {
                let (mut one, now): (libc::sigset_t, libc::timespec) = (zeroed(), zeroed());
                libc::sigemptyset(&mut one);
                libc::sigaddset(&mut one, *signal);
                libc::sigtimedwait(&one, null_mut(), &now) == *signal
            };
        }
        // One that repeats stands still until its signal is taken.
        let real = &mut self.remaining[REAL];
        if self.is_pending[REAL] && (real.it_value.tv_sec, real.it_value.tv_usec) == (0, 0) {
            real.it_value = real.it_interval;
        }
    }

    /// In the child, with the program's own signal mask: system calls only.
    pub fn rearm(&self) {
        // SAFETY: structures of cutap; what a signal does here it would have done to the program.
        unsafe {
            for (n, (which, signal)) in TIMERS.iter().enumerate() {
                libc::setitimer(*which, &self.remaining[n], null_mut());
                if self.is_pending[n] {
                    libc::raise(*signal);
                }
            }
            if self.death != 0 {
                libc::prctl(libc::PR_SET_PDEATHSIG, self.death);
                // A parent that died before that is not heard of any more.
                if libc::getppid() != self.parent {
                    libc::raise(self.death);
                }
            }
        }
    }
}

/// Stops a timer of ours; what was left of it.
fn stop(which: libc::c_int) -> libc::itimerval {
    // SAFETY: structures of cutap.
    unsafe {
        let (none, mut remaining) = (zeroed(), zeroed());
        libc::setitimer(which, &none, &mut remaining);
        remaining
    }
}
