//! Asks the loader for its list of objects. It does not ask while libc forks, nor in a child that was forked while
//! another thread was inside the list.

use super::{lock, real};
use crate::process::page;
use crate::sys;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use cutap_wire::diagnostic;

/// Our own calls inside the loader's list: where the lock itself is not known, a child forked while it
/// was not zero must never make one.
static IN_FLIGHT: AtomicUsize = AtomicUsize::new(0);
static OFF: AtomicBool = AtomicBool::new(false);
/// Forks that libc has reported and that are not over, and the thread that makes the last of them. libc does not make
/// the list's lock new in a child. A child that inherits it taken would hang in its next dlopen. So no thread is inside
/// the list for cutap while libc forks.
static FORKS: AtomicU32 = AtomicU32::new(0);
static FORKER: AtomicU32 = AtomicU32::new(0);
/// How often a look and a fork wait for each other, 50 microseconds each time, a second or two together. A first look
/// takes long, and so does the fork of a large process. Neither may wait permanently.
const TURNS: u32 = 20_000;
/// True in a child that was forked while another thread was inside the loader's list.
pub fn is_off() -> bool {
    OFF.load(SeqCst)
}

/// The child of a fork: true in one that may never ask the loader again.
pub fn forked() -> bool {
    let ours = IN_FLIGHT.swap(0, SeqCst) != 0;
    let off = lock::was_taken().unwrap_or(ours);
    if off {
        OFF.store(true, SeqCst);
        page::count(diagnostic::FORKED_IN_LOADER, 1);
    }
    off
}

/// Called by libc before a fork: those that are inside the list come out.
pub fn before_fork() {
    FORKER.store(sys::gettid(), SeqCst);
    FORKS.fetch_add(1, SeqCst);
    // Who forks inside the list itself keeps the others waiting there.
    let mut turns = if lock::is_mine() { 0 } else { TURNS };
    while turns > 0 && IN_FLIGHT.load(SeqCst) != 0 {
        sys::sleep_us(50);
        turns -= 1;
    }
}

/// Called by libc in the parent.
pub fn after_fork() {
    let _ = FORKS.fetch_update(SeqCst, SeqCst, |forks| forks.checked_sub(1));
}

/// Called by libc in the child.
pub fn after_fork_in_child() {
    FORKS.store(0, SeqCst);
}

/// This thread goes inside the list; further inside, if it is there already, for then a fork waits for it.
fn go_in() {
    for _ in 0..TURNS {
        IN_FLIGHT.fetch_add(1, SeqCst);
        if FORKS.load(SeqCst) == 0 || lock::is_mine() || FORKER.load(SeqCst) == sys::gettid() {
            return;
        }
        IN_FLIGHT.fetch_sub(1, SeqCst);
        sys::sleep_us(50);
    }
    // A handler may have left the fork by siglongjmp. No later look waits for that fork again.
    FORKS.store(0, SeqCst);
    IN_FLIGHT.fetch_add(1, SeqCst);
}

/// Lists through the loader, counted.
///
/// # Safety
/// `data` is what `f` takes.
pub unsafe fn iterate(f: crate::sys::libc::PhdrCallback, data: *mut c_void) {
    if is_off() {
        return;
    }
    if let Some(call) = real::loaders_list() {
        // A handler that left by siglongjmp would leave the loader's lock taken.
        let signals = sys::block_signals();
        go_in();
        // SAFETY: the caller's promise.
        unsafe { call(f, data) };
        IN_FLIGHT.fetch_sub(1, SeqCst);
        sys::restore_signals(signals);
    }
}
