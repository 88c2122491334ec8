//! One thread at a time starts, flushes, switches or ends the collection: the thread of this library, or one of the
//! program that is about to profile. A thread that waits sleeps.

use core::sync::atomic::{AtomicU32, Ordering};

/// The thread whose turn it is; 0: none.
static HOLDER: AtomicU32 = AtomicU32::new(0);
/// Milliseconds after which a thread gives up its turn.
const PATIENCE: u32 = 5000;

/// Runs `act` when it is this thread's turn. None if it is its turn already, or if that takes too long.
pub fn with<R>(act: impl FnOnce() -> R) -> Option<R> {
    // SAFETY: a plain call.
    let thread = unsafe { libc::gettid() } as u32;
    if HOLDER.load(Ordering::Relaxed) == thread {
        return None;
    }
    let mut waited = 0;
    while HOLDER.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_err() {
        if waited == PATIENCE {
            return None;
        }
        waited += 1;
        let millisecond = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        // SAFETY: a plain call. A shorter sleep does no harm.
        unsafe { libc::nanosleep(&millisecond, core::ptr::null_mut()) };
    }
    let result = act();
    HOLDER.store(0, Ordering::Release);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_not_taken_twice() {
        assert_eq!(with(|| with(|| 1)), Some(None));
        assert_eq!(with(|| 2), Some(2));
    }
}
