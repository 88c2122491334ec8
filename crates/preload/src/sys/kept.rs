//! What this library keeps of the kernel's answers, for a process whose filters forbid to ask again: ids and clocks.

use super::allowed;
use super::arch::{thread_pointer, timestamp};
use super::used::nr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

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

/// Keeps what may not be asked for later. `list`: this thread's robust list. libc has the thread's id in front of it.
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
pub fn pair() -> (u64, u64) {
    (TICKS.load(Relaxed), MONOTONIC.load(Relaxed))
}

/// The counter may not be read any more.
pub fn stop_ticks() {
    STOPPED.store(true, Relaxed);
}

/// A forked child: the thread is its first one, so the process has its id.
pub fn forked() {
    allowed::forked();
    if !allowed::may(nr::GETPID) {
        PPID.store(PID.swap(tid(), Relaxed), Relaxed);
    }
}

pub(super) fn pid() -> u32 {
    PID.load(Relaxed)
}
pub(super) fn ppid() -> u32 {
    PPID.load(Relaxed)
}

/// This thread's id as libc has it; else a number that no other thread has.
pub(super) fn tid() -> u32 {
    let (tid_offset, thread) = (TID.load(Relaxed), thread_pointer());
    if tid_offset == 0 {
        return (thread >> 6) as u32 & 0x3fff_ffff;
    }
    // SAFETY: libc's block of this thread: a thread that libc did not make calls no driver.
    unsafe { *(thread.wrapping_add(tid_offset) as *const u32) }
}

/// A clock without a system call, about.
pub(super) fn clock(realtime: bool) -> u64 {
    let from = if realtime { &REALTIME } else { &MONOTONIC }.load(Relaxed);
    if STOPPED.load(Relaxed) {
        return from;
    }
    let ticks = timestamp().saturating_sub(TICKS.load(Relaxed));
    from.wrapping_add((u128::from(ticks).wrapping_mul(u128::from(RATE.load(Relaxed))) >> 32) as u64)
}
