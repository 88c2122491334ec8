//! Finds the lock around the loader's list, which `lock` reads.

use super::lock::{AT, KIND, LOADED_OFFSET, MUTEX, OWNER, RECURSIVE, found_adds, found_loaded, word};
use super::{list, live};
use crate::sys;
use crate::sys::libc::PhdrInfo;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering::*};

static LOOKED: AtomicU32 = AtomicU32::new(0);

struct Search {
    from: usize,
    to: usize,
    me: u32,
    /// Objects that the loader ever added.
    adds: u64,
    candidates: [usize; 4],
}

/// Finds the lock, at the first look at the list.
pub fn find() {
    if LOOKED.swap(1, Relaxed) != 0 {
        return;
    }
    let mut s = Search { from: 0, to: 0, me: sys::gettid(), adds: 0, candidates: [0; 4] };
    live::each(
        |_| true,
        |o| {
            // SAFETY: under the loader's lock.
            let has_globals = unsafe {
                o.tables.find(b"_rtld_global", |symbol, _| {
                    s.from = o.base.wrapping_add(symbol.value);
                    s.to = s.from + symbol.size as usize;
                    s.from >= o.span.0 && s.to <= o.span.1
                })
            };
            has_globals.then_some(())
        },
    );
    if s.to < s.from + MUTEX {
        return;
    }
    // SAFETY: the callback's own data.
    unsafe { list::iterate(inside, (&raw mut s).cast()) };
    let mut free = s.candidates.iter().filter(|&&at| at != 0 && word(at) == 0);
    if let (Some(&at), None) = (free.next(), free.next()) {
        AT.store(at, Release);
        found_adds(s.adds);
    }
}

unsafe extern "C" fn inside(info: *const PhdrInfo, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: called by the loader with our data.
    let (s, info) = unsafe { (&mut *data.cast::<Search>(), &*info) };
    s.adds = info.adds;
    found_loaded(s.from + LOADED_OFFSET, info.adds.wrapping_sub(info.subs));
    let mut places = s.candidates.iter_mut();
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
