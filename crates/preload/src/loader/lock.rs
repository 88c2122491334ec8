//! Whether the loader's list may be asked for in a forked child. glibc makes its other loader locks new
//! in a child, but not the one around the list of objects: a child that was forked while any thread
//! opened, closed or listed hangs when it asks. So the lock is found, once and by looking only: the one
//! recursive mutex in ld.so's data that is this thread's inside a list call and free behind it.

use super::live;
use super::notice::iterate;
use crate::sys::{self, libc::PhdrInfo};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

static AT: AtomicUsize = AtomicUsize::new(0);
static LOOKED: AtomicU32 = AtomicU32::new(0);

/// Offsets in a pthread_mutex_t on x86-64, and the kind of a recursive one.
const OWNER: usize = 8;
const KIND: usize = 16;
const RECURSIVE: u32 = 1;
const MUTEX: usize = 40;

struct Search {
    from: usize,
    to: usize,
    me: u32,
    held: [usize; 4],
}

/// Finds the lock, at the first look at the list.
pub fn find() {
    if LOOKED.swap(1, Relaxed) != 0 {
        return;
    }
    let mut s = Search { from: 0, to: 0, me: sys::gettid(), held: [0; 4] };
    live::each(
        |_| true,
        |o| {
            // SAFETY: under the loader's lock.
            let found = unsafe {
                o.tables.find(b"_rtld_global", |symbol, _| {
                    s.from = o.base.wrapping_add(symbol.value);
                    s.to = s.from + symbol.size as usize;
                    s.from >= o.span.0 && s.to <= o.span.1
                })
            };
            found.then_some(())
        },
    );
    if s.to < s.from + MUTEX {
        return;
    }
    // SAFETY: the callback's own data.
    unsafe { iterate(inside, (&raw mut s).cast()) };
    let mut free = s.held.iter().filter(|&&at| at != 0 && word(at) == 0);
    if let (Some(&at), None) = (free.next(), free.next()) {
        AT.store(at, Release);
    }
}

unsafe extern "C" fn inside(_: *const PhdrInfo, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: called by the loader with our data.
    let s = unsafe { &mut *data.cast::<Search>() };
    let mut places = s.held.iter_mut();
    let mut at = s.from;
    while at + MUTEX <= s.to {
        if word(at) != 0 && word(at + OWNER) == s.me && word(at + KIND) == RECURSIVE {
            match places.next() {
                Some(place) => *place = at,
                None => return 1,
            }
        }
        at += 8;
    }
    1
}

fn word(at: usize) -> u32 {
    // SAFETY: within ld.so's data object, as its own symbol table says; other threads write it.
    unsafe { (*(at as *const AtomicU32)).load(Relaxed) }
}

/// In a forked child: was the lock taken when the child was made? `None`: the lock was not found.
pub fn was_taken() -> Option<bool> {
    match AT.load(Acquire) {
        0 => None,
        at => Some(word(at) != 0),
    }
}

/// Where the loader counts the objects that it ever added.
static ADDS: AtomicUsize = AtomicUsize::new(0);

/// Says what the count is, inside no list call: it lies behind the list's lock, in newer versions with one lock in
/// between.
pub fn found_adds(adds: u64) {
    let at = AT.load(Acquire);
    if at == 0 || ADDS.load(Relaxed) != 0 {
        return;
    }
    let mut places = [at + MUTEX, at + 2 * MUTEX].into_iter().filter(|&at| count(at) == adds);
    if let (Some(found), None) = (places.next(), places.next()) {
        ADDS.store(found, Release);
    }
}

/// Objects that the loader ever added; `None`: its count was not found.
pub fn adds() -> Option<u64> {
    Some(ADDS.load(Acquire)).filter(|&at| at != 0).map(count)
}

/// This thread holds the list's lock: a signal handler has come in the middle of the loader's work.
pub fn is_mine() -> bool {
    let at = AT.load(Acquire);
    at != 0 && word(at) != 0 && word(at + OWNER) == sys::gettid()
}

fn count(at: usize) -> u64 {
    u64::from(word(at)) | u64::from(word(at + 4)) << 32
}

/// Whether the loader's other lock, which dlsym takes and lazy binding does not, can be had now. It lies
/// right in front of the list's. A constructor may hold it and wait for the very thread that asks, so
/// nobody waits long.
pub fn may_ask() -> bool {
    let Some(at) = AT.load(Acquire).checked_sub(MUTEX).filter(|&at| at != 0) else { return true };
    let me = sys::gettid();
    for _ in 0..50 {
        if word(at + KIND) != RECURSIVE || word(at) == 0 || word(at + OWNER) == me {
            return true;
        }
        sys::sleep_us(1000);
    }
    false
}
