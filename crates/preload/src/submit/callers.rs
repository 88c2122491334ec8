//! Which threads are in driver calls: what is found in a ring belongs to a call only if no other thread was in one.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// Threads at the same time.
const MOST: usize = 64;

/// A thread that is in a driver call.
struct ThreadInCall {
    /// Its thread state.
    thread: AtomicUsize,
    /// Where on its stack the call is.
    at: AtomicUsize,
    /// Another thread was in a call meanwhile.
    mixed: AtomicBool,
}

static PLACES: [ThreadInCall; MOST] =
    [const { ThreadInCall { thread: AtomicUsize::new(0), at: AtomicUsize::new(0), mixed: AtomicBool::new(false) } };
        MOST];
/// There were more threads at the same time once. From then on each may be in a call.
static CROWDED: AtomicBool = AtomicBool::new(false);

fn place_of(thread: usize) -> Option<&'static ThreadInCall> {
    PLACES.iter().find(|p| p.thread.load(Relaxed) == thread)
}

/// A thread begins a call at `at`; true when it is its outermost one, which must be ended.
pub fn enter(thread: usize, at: usize) -> bool {
    if let Some(own) = place_of(thread) {
        // A call that was left by an exception lies below.
        let nested = own.at.load(Relaxed) > at;
        if !nested {
            begin(own, thread, at);
        }
        return !nested;
    }
    let free = |p: &&ThreadInCall| p.thread.compare_exchange(0, thread, SeqCst, Relaxed).is_ok();
    let Some(own) = PLACES.iter().find(free) else {
        CROWDED.store(true, SeqCst);
        return false;
    };
    begin(own, thread, at);
    true
}

/// Of two calls at the same time the later one sees the other, for it has its place before it looks. It tells both
/// before it submits anything.
fn begin(own: &ThreadInCall, thread: usize, at: usize) {
    own.at.store(at, Relaxed);
    own.mixed.store(false, SeqCst);
    let is_other = |p: &&ThreadInCall| !matches!(p.thread.load(SeqCst), other if other == 0 || other == thread);
    for other in PLACES.iter().filter(is_other) {
        other.mixed.store(true, SeqCst);
        own.mixed.store(true, SeqCst);
    }
}

/// Whether what a thread in a call finds now may be another's.
pub fn is_shared(thread: usize) -> bool {
    CROWDED.load(SeqCst) || place_of(thread).is_none_or(|own| own.mixed.load(SeqCst))
}

/// The outermost call of a thread ends, and the rings were looked at.
pub fn exit(thread: usize) {
    if let Some(own) = place_of(thread) {
        own.thread.store(0, SeqCst);
    }
}

/// A forked child has one thread, which is in no driver call that counts.
pub fn forget() {
    PLACES.iter().for_each(|p| p.thread.store(0, Relaxed));
    CROWDED.store(false, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_a_call() {
        assert!(enter(1, 1000) && !enter(1, 900), "the second one is inside");
        assert!(!is_shared(1));
        assert!(enter(2, 5000));
        assert!(is_shared(1) && is_shared(2));
        exit(1);
        assert!(is_shared(2), "the other one overlapped it");
        assert!(enter(3, 7000) && is_shared(3), "the second one still runs");
        exit(2);
        assert!(is_shared(3));
        exit(3);
        assert!(enter(3, 7000) && !is_shared(3), "it is alone");
        exit(3);
        // One that was left by an exception: the next is an outermost one again.
        assert!(enter(1, 900) && enter(1, 1000) && !is_shared(1));
        exit(1);
        // More threads than places: from then on nothing is certain.
        assert!((1..=MOST).all(|thread| enter(thread, 10)) && !enter(MOST + 1, 10));
        (1..=MOST).for_each(exit);
        assert!(enter(1, 10) && is_shared(1));
        forget();
        assert!(enter(1, 10) && !is_shared(1));
        exit(1);
    }
}
