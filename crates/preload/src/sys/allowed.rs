//! Which system calls are left to cutap in a process with seccomp filters of its own. A filter may end the process for a
//! call that it forbids. So such a call is never made: it fails here with ENOSYS, and its caller does what it does where
//! a kernel lacks it. What cannot fail (an id, a clock) has an answer here.

use super::used::nr;
use super::x86_64::{thread_pointer, timestamp};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

const WORDS: usize = 5;

/// System calls, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Calls([u64; WORDS]);

impl Calls {
    pub const NONE: Calls = Calls([0; WORDS]);

    pub fn insert(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }
    pub fn remove(&mut self, others: &Calls) {
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word &= !other;
        }
    }
    pub fn holds(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }
}

/// Calls that are not made. The frame of vfork looks at the first word.
pub static FORBIDDEN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// Whether a call may be made.
#[inline(always)]
pub fn may(number: usize) -> bool {
    FORBIDDEN.get(number / 64).is_none_or(|word| word.load(Relaxed) >> (number % 64) & 1 == 0)
}

/// What is forbidden now.
pub fn forbidden() -> Calls {
    let mut calls = Calls::NONE;
    for (to, from) in calls.0.iter_mut().zip(&FORBIDDEN) {
        *to = from.load(Acquire);
    }
    calls
}

/// These are forbidden too, from now on.
pub fn forbid(calls: &Calls) {
    for (to, from) in FORBIDDEN.iter().zip(&calls.0) {
        to.fetch_or(*from, AcqRel);
    }
}

/// The filter was not installed after all: what another one forbids stays.
pub fn permit(calls: &Calls) {
    for (to, from) in FORBIDDEN.iter().zip(&calls.0) {
        to.fetch_and(!from, AcqRel);
    }
}

/// Whether signals can be kept away for a moment.
#[inline]
pub fn may_block_signals() -> bool {
    may(nr::RT_SIGPROCMASK)
}

/// Whether a thread can wait without its processor.
pub fn may_sleep() -> bool {
    may(nr::NANOSLEEP)
}

/// Whether the kernel can be asked if memory is there.
pub fn may_ask_of_memory() -> bool {
    may(nr::RT_SIGPROCMASK) || may(nr::PROCESS_VM_READV)
}

/// Whether the kernel tells the time.
pub fn may_read_clocks() -> bool {
    may(nr::CLOCK_GETTIME)
}

/// Whether the kernel tells a thread its id.
pub fn may_tell_thread() -> bool {
    may(nr::GETTID)
}

/// Whether files can be opened, made longer and mapped.
pub fn may_make_files() -> bool {
    may_open_files() && [nr::FALLOCATE, nr::MMAP, nr::PRLIMIT64].into_iter().all(may)
}

/// Whether files can be opened and closed again.
pub(super) fn may_open_files() -> bool {
    [nr::OPENAT, nr::FCNTL, nr::NEWFSTATAT, nr::CLOSE].into_iter().all(may)
}

/// Id of this process, as it was last told.
static PID: AtomicU32 = AtomicU32::new(0);
static PPID: AtomicU32 = AtomicU32::new(0);
/// Where libc has the id of a thread behind its thread pointer; 0: not known.
static TID: AtomicUsize = AtomicUsize::new(0);

/// A pair of both clocks, CLOCK_REALTIME at the same moment, and nanoseconds of 2^32 ticks; 0: not known.
static TICKS: AtomicU64 = AtomicU64::new(0);
static MONOTONIC: AtomicU64 = AtomicU64::new(0);
static REALTIME: AtomicU64 = AtomicU64::new(0);
static RATE: AtomicU64 = AtomicU64::new(0);
/// The program forbids to read the time stamp counter.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Keeps what may not be asked for later. `list`: this thread's robust list, in front of which libc has the thread's id.
pub fn keep_ids((pid, ppid, tid): (u32, u32, u32), list: usize) {
    const BEFORE_LIST: usize = 16;
    PID.store(pid, Relaxed);
    PPID.store(ppid, Relaxed);
    let at = list.wrapping_sub(BEFORE_LIST);
    // SAFETY: libc's block of this thread, which the list is in, behind that word.
    if list > BEFORE_LIST && unsafe { *(at as *const u32) } == tid {
        TID.store(at.wrapping_sub(thread_pointer()), Relaxed);
    }
}

/// Keeps a moment on both clocks, and what the rate between them is.
pub fn keep_clock((ticks, monotonic): (u64, u64), realtime: u64, rate: u64) {
    TICKS.store(ticks, Relaxed);
    MONOTONIC.store(monotonic, Relaxed);
    REALTIME.store(realtime, Relaxed);
    RATE.store(rate, Relaxed);
}

/// The pair that was kept; 0: none.
pub fn kept_pair() -> (u64, u64) {
    (TICKS.load(Relaxed), MONOTONIC.load(Relaxed))
}

/// The counter may not be read any more.
pub fn stop_ticks() {
    STOPPED.store(true, Relaxed);
}

/// A forked child: the thread is its first one, so the process has its id.
pub fn forked() {
    if !may(nr::GETPID) {
        PPID.store(PID.swap(kept_tid(), Relaxed), Relaxed);
    }
}

pub(super) fn kept_pid() -> u32 {
    PID.load(Relaxed)
}
pub(super) fn kept_ppid() -> u32 {
    PPID.load(Relaxed)
}

/// This thread's id as libc has it; else a number that no other thread has.
pub(super) fn kept_tid() -> u32 {
    let (behind, thread) = (TID.load(Relaxed), thread_pointer());
    if behind == 0 {
        return (thread >> 6) as u32 & 0x3fff_ffff;
    }
    // SAFETY: libc's block of this thread: a thread that libc did not make calls no driver.
    unsafe { *(thread.wrapping_add(behind) as *const u32) }
}

/// A clock without a system call, about.
pub(super) fn kept_clock(realtime: bool) -> u64 {
    let from = if realtime { &REALTIME } else { &MONOTONIC }.load(Relaxed);
    if STOPPED.load(Relaxed) {
        return from;
    }
    let ticks = timestamp().saturating_sub(TICKS.load(Relaxed));
    from.wrapping_add((u128::from(ticks).wrapping_mul(u128::from(RATE.load(Relaxed))) >> 32) as u64)
}

#[cfg(test)]
mod tests {
    use super::super::used::USED;
    use super::*;

    #[test]
    fn each_call_that_is_used_has_a_place() {
        let mut calls = Calls::NONE;
        for used in USED {
            assert!(!calls.holds(used.number), "{} twice", used.number);
            calls.insert(used.number);
            assert!(calls.holds(used.number), "{} has no place", used.number);
        }
        assert!(!calls.holds(500));
    }
}
