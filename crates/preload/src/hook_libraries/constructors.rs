//! The constructors and destructors of hook libraries, which run after our own start. While those of a library run, a
//! word in the run directory has the library's number: if the program ends there, the exit message names the library.
//! The first and the last are exchanged in the library's own list, which the loader reads later.
//!
//! Must never leave one out, nor call one twice: what cannot be exchanged stays unchanged.

use crate::loader::elf::Tables;
use crate::sys::{self, PROT_READ, PROT_WRITE};
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use cutap_wire::hooks::{LIBRARIES, constructing, destroying, library_and_place};

type Constructor = extern "C" fn(c_int, *const *const u8, *const *const u8);
type Destructor = extern "C" fn();

/// The library's own that runs first, and last; no last: it is the first.
struct Own {
    first: AtomicUsize,
    last: AtomicUsize,
}

impl Own {
    const fn none() -> Own {
        Own { first: AtomicUsize::new(0), last: AtomicUsize::new(0) }
    }
}

static CONSTRUCTORS: [Own; LIBRARIES] = [const { Own::none() }; LIBRARIES];
static DESTRUCTORS: [Own; LIBRARIES] = [const { Own::none() }; LIBRARIES];
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
/// What the word said of this process before its destructors: one that leaves in a constructor has them run too.
static BEFORE: AtomicU64 = AtomicU64::new(0);

const PAGE: usize = 4096;

/// What stands in the place of a library's first and last, by its number: the loader passes no word of ours.
const FIRST: [Constructor; LIBRARIES] =
    [first::<0>, first::<1>, first::<2>, first::<3>, first::<4>, first::<5>, first::<6>, first::<7>];
const LAST: [Constructor; LIBRARIES] =
    [last::<0>, last::<1>, last::<2>, last::<3>, last::<4>, last::<5>, last::<6>, last::<7>];
const FIRST_END: [Destructor; LIBRARIES] = [
    first_end::<0>,
    first_end::<1>,
    first_end::<2>,
    first_end::<3>,
    first_end::<4>,
    first_end::<5>,
    first_end::<6>,
    first_end::<7>,
];
const LAST_END: [Destructor; LIBRARIES] = [
    last_end::<0>,
    last_end::<1>,
    last_end::<2>,
    last_end::<3>,
    last_end::<4>,
    last_end::<5>,
    last_end::<6>,
    last_end::<7>,
];

/// Watches the constructors and destructors of library `n`.
///
/// # Safety
/// The tables are those of a library that is loaded and has not been started.
pub unsafe fn watch(n: u8, tables: &Tables, word: &'static AtomicU64) {
    let n = usize::from(n);
    WORD.store(core::ptr::from_ref(word).cast_mut(), Release);
    if let (Some(own), Some(&first), Some(&last)) = (CONSTRUCTORS.get(n), FIRST.get(n), LAST.get(n)) {
        // SAFETY: the list of the library, by the caller's promise.
        unsafe { exchange(tables.constructors, false, own, (first as usize, last as usize)) };
    }
    if let (Some(own), Some(&first), Some(&last)) = (DESTRUCTORS.get(n), FIRST_END.get(n), LAST_END.get(n)) {
        // SAFETY: as above.
        unsafe { exchange(tables.destructors, true, own, (first as usize, last as usize)) };
    }
}

/// Puts ours in the places of those that run first and last.
///
/// # Safety
/// A list of functions of a library that is loaded, and that is not read yet.
unsafe fn exchange((list, count): (*mut usize, usize), backwards: bool, own: &Own, ours: (usize, usize)) {
    if list.is_null() || count == 0 {
        return;
    }
    let at = list as usize;
    let (from, to) = (at & !(PAGE - 1), (at + count * size_of::<usize>()).next_multiple_of(PAGE));
    // SAFETY: the list of the library, which its relocation has made; a right is added.
    unsafe {
        let end = list.add(count - 1);
        let (first, last) = if backwards { (end, list) } else { (list, end) };
        // Not relocated yet: whoever does that would write over ours.
        if *first == 0 || *last == 0 || !sys::protect(from, to - from, PROT_READ | PROT_WRITE) {
            return;
        }
        own.first.store(*first, Release);
        if count > 1 {
            own.last.store(*last, Release);
            *last = ours.1;
        }
        *first = ours.0;
    }
}

extern "C" fn first<const N: usize>(count: c_int, arguments: *const *const u8, environment: *const *const u8) {
    exchange_word(constructing(sys::getpid(), N as u8));
    let Some(own) = CONSTRUCTORS.get(N) else { return };
    construct(&own.first, count, arguments, environment);
    if own.last.load(Acquire) == 0 {
        exchange_word(0);
    }
}

extern "C" fn last<const N: usize>(count: c_int, arguments: *const *const u8, environment: *const *const u8) {
    let Some(own) = CONSTRUCTORS.get(N) else { return };
    construct(&own.last, count, arguments, environment);
    exchange_word(0);
}

fn construct(own: &AtomicUsize, count: c_int, arguments: *const *const u8, environment: *const *const u8) {
    // SAFETY: what the library's own list had in this place.
    let own = unsafe { core::mem::transmute::<usize, Constructor>(own.load(Acquire)) };
    own(count, arguments, environment);
}

extern "C" fn first_end<const N: usize>() {
    let pid = sys::getpid();
    let before = exchange_word(destroying(pid, N as u8));
    // Of another process it may be over when it would be said again.
    let ours = matches!(library_and_place(before), Some((of, ..)) if of == pid);
    BEFORE.store(if ours { before } else { 0 }, Release);
    let Some(own) = DESTRUCTORS.get(N) else { return };
    destroy(&own.first);
    if own.last.load(Acquire) == 0 {
        exchange_word(BEFORE.load(Acquire));
    }
}

extern "C" fn last_end<const N: usize>() {
    let Some(own) = DESTRUCTORS.get(N) else { return };
    destroy(&own.last);
    exchange_word(BEFORE.load(Acquire));
}

fn destroy(own: &AtomicUsize) {
    // SAFETY: what the library's own list had in this place.
    let own = unsafe { core::mem::transmute::<usize, Destructor>(own.load(Acquire)) };
    own();
}

/// Returns what the word was before.
fn exchange_word(word: u64) -> u64 {
    // SAFETY: null, or in a page that stays mapped.
    unsafe { WORD.load(Acquire).as_ref() }.map_or(0, |place| place.swap(word, AcqRel))
}
