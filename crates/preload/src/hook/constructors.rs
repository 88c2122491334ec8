//! The constructors of hook libraries, which run behind our own start: while those of a library run, a word in the run folder says so,
//! and a program that ends in one of them is reported with the library's name. The first and the last are exchanged in the library's
//! own list, which the loader reads later.
//!
//! Must never leave one out, nor call one twice: what cannot be exchanged stays as it is.

use crate::loader::elf::Tables;
use crate::sys::{self, PROT_READ, PROT_WRITE};
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use cutap_wire::hooks::{LIBRARIES, constructing};

type Constructor = extern "C" fn(c_int, *const *const u8, *const *const u8);

/// The library's own first and last; no last: it is the first.
struct Own {
    first: AtomicUsize,
    last: AtomicUsize,
}

static OWN: [Own; LIBRARIES] = [const { Own { first: AtomicUsize::new(0), last: AtomicUsize::new(0) } }; LIBRARIES];
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());

const PAGE: usize = 4096;

/// What stands in the place of a library's first and last, by its number: the loader passes no word of ours.
const FIRST: [Constructor; LIBRARIES] =
    [first::<0>, first::<1>, first::<2>, first::<3>, first::<4>, first::<5>, first::<6>, first::<7>];
const LAST: [Constructor; LIBRARIES] =
    [last::<0>, last::<1>, last::<2>, last::<3>, last::<4>, last::<5>, last::<6>, last::<7>];

/// Watches the constructors of library `n`.
///
/// # Safety
/// The tables are those of a library that is loaded and has not been started.
pub unsafe fn watch(n: u8, tables: &Tables, word: &'static AtomicU64) {
    let (list, count, n) = (tables.constructors, tables.constructor_count, usize::from(n));
    let (Some(own), Some(&first), Some(&last)) = (OWN.get(n), FIRST.get(n), LAST.get(n)) else { return };
    if list.is_null() || count == 0 {
        return;
    }
    let at = list as usize;
    let (from, to) = (at & !(PAGE - 1), (at + count * size_of::<usize>()).next_multiple_of(PAGE));
    // SAFETY: the list of the library, which its relocation has made; a right is added.
    unsafe {
        let end = list.add(count - 1);
        // Not relocated yet: whoever does that would write over ours.
        if *list == 0 || *end == 0 || !sys::protect(from, to - from, PROT_READ | PROT_WRITE) {
            return;
        }
        WORD.store(core::ptr::from_ref(word).cast_mut(), Release);
        own.first.store(*list, Release);
        if count > 1 {
            own.last.store(*end, Release);
            *end = last as usize;
        }
        *list = first as usize;
    }
}

extern "C" fn first<const N: usize>(count: c_int, arguments: *const *const u8, environment: *const *const u8) {
    say(constructing(sys::getpid(), N as u8));
    let Some(own) = OWN.get(N) else { return };
    call(&own.first, count, arguments, environment);
    if own.last.load(Acquire) == 0 {
        say(0);
    }
}

extern "C" fn last<const N: usize>(count: c_int, arguments: *const *const u8, environment: *const *const u8) {
    let Some(own) = OWN.get(N) else { return };
    call(&own.last, count, arguments, environment);
    say(0);
}

fn call(own: &AtomicUsize, count: c_int, arguments: *const *const u8, environment: *const *const u8) {
    // SAFETY: what the library's own list had in this place.
    let own = unsafe { core::mem::transmute::<usize, Constructor>(own.load(Acquire)) };
    own(count, arguments, environment);
}

fn say(what: u64) {
    // SAFETY: null, or in a page that stays mapped.
    if let Some(word) = unsafe { WORD.load(Acquire).as_ref() } {
        word.store(what, Release);
    }
}
