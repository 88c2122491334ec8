//! The lock of what is known of memory and channels. It is held while the rings are read, or a mapping is forgotten
//! before it goes; never while code of the program or of the driver runs. Signals are blocked meanwhile: a handler of
//! this thread would wait for itself.
//!
//! A thread that has to wait lends its priority to the one that holds the lock (a futex of the kind PI). A real-time
//! thread would else keep the processor from an ordinary thread that holds it.

use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// The thread that holds it; 0: free. The kernel adds a bit while others wait.
static HOLDER: AtomicU32 = AtomicU32::new(0);

/// How often the kernel may say that there is no such thread as the holder.
const TURNS: u32 = 100;
/// The bits of the thread.
const THREAD: u32 = 0x3fff_ffff;

/// Runs `then` alone. `None`: a signal handler that came in the middle of it goes without, where signals cannot be
/// blocked.
pub fn alone<R>(then: impl FnOnce() -> R) -> Option<R> {
    let signals = sys::block_signals();
    let me = sys::gettid() & THREAD;
    let locked = take(me);
    let result = locked.then(then);
    if locked && HOLDER.compare_exchange(me, 0, Release, Relaxed).is_err() && !sys::unlock_pi(&HOLDER) {
        HOLDER.store(0, Release);
    }
    sys::restore_signals(signals);
    result
}

fn take(me: u32) -> bool {
    let mut turn = 0;
    loop {
        let holder = match HOLDER.compare_exchange(0, me, Acquire, Relaxed) {
            Ok(_) => return true,
            Err(holder) if holder & THREAD == me => return false,
            Err(holder) => holder,
        };
        match sys::lock_pi(&HOLDER) {
            Ok(()) => return true,
            // A child by vfork was killed in the middle of it.
            Err(true) if turn > TURNS && HOLDER.compare_exchange(holder, me, Acquire, Relaxed).is_ok() => return true,
            // The kernel has no such futex, or a sandbox.
            Err(_) => sys::wait(turn),
        }
        turn = turn.saturating_add(1);
    }
}

/// A forked child: the holder was a thread of its parent.
pub fn forked() {
    HOLDER.store(0, Release);
}
