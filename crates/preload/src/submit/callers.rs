//! Which threads are in driver calls: what is found in a ring belongs to a call only if no other thread was in one.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// Threads at the same time; more are as if each were always in a call.
const MOST: usize = 64;

/// A thread that is in a driver call: its block, and where on its stack the call is.
struct Place {
    thread: AtomicUsize,
    at: AtomicUsize,
}

static PLACES: [Place; MOST] = [const { Place { thread: AtomicUsize::new(0), at: AtomicUsize::new(0) } }; MOST];
/// The call in progress, or one that it overlaps, overlaps one of another thread.
static MIXED: AtomicBool = AtomicBool::new(false);

/// A thread begins a call at `at`; true when it is its outermost one, which must be ended.
pub fn enter(thread: usize, at: usize) -> bool {
    let own = PLACES.iter().find(|p| p.thread.load(Relaxed) == thread);
    if let Some(own) = own {
        // A call that was left by an exception lies below.
        let nested = own.at.load(Relaxed) > at;
        if !nested {
            own.at.store(at, Relaxed);
            look(thread);
        }
        return !nested;
    }
    // Before other threads can see this one: those that do come later, and set it.
    if !others(thread) {
        MIXED.store(false, SeqCst);
    }
    let free = |p: &&Place| p.thread.compare_exchange(0, thread, SeqCst, Relaxed).is_ok();
    let Some(place) = PLACES.iter().find(free) else {
        MIXED.store(true, SeqCst);
        return false;
    };
    place.at.store(at, Relaxed);
    look(thread);
    true
}

fn others(thread: usize) -> bool {
    PLACES.iter().map(|p| p.thread.load(SeqCst)).any(|other| other != 0 && other != thread)
}

fn look(thread: usize) {
    if others(thread) {
        MIXED.store(true, SeqCst);
    }
}

/// Whether what this thread finds now may be another's.
pub fn is_shared() -> bool {
    MIXED.load(SeqCst)
}

/// The outermost call of a thread ends, and the rings were looked at.
pub fn leave(thread: usize) {
    for own in PLACES.iter().filter(|p| p.thread.load(Relaxed) == thread) {
        own.thread.store(0, SeqCst);
    }
}

/// A forked child has one thread, which is in no driver call that counts.
pub fn forget() {
    PLACES.iter().for_each(|p| p.thread.store(0, Relaxed));
    MIXED.store(false, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_a_call() {
        assert!(enter(1, 1000) && !enter(1, 900), "the second one is inside");
        assert!(!is_shared());
        assert!(enter(2, 5000));
        assert!(is_shared());
        leave(1);
        assert!(is_shared(), "the other one overlapped it");
        leave(2);
        assert!(is_shared(), "so did it");
        // One that was left by an exception: the next is an outermost one again.
        assert!(enter(1, 900) && enter(1, 1000) && !is_shared());
        leave(1);
    }
}
