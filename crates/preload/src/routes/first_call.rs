//! A lazy word at its first call. The loader would look the name up from the calling object, so we do
//! exactly that, from inside it: it is running, so it stays mapped. No name is searched in advance.
//!
//! Limits: a word at its first call is left to the loader if another thread opens a library for more than 50 ms. The
//! constructor of that library may wait for this thread. Calls through the word are missed until the
//! next look-up, and counted. Names of libnvblas are those of BLAS: a word that is bound at its first call is not
//! seen. Before glibc 2.34 `dlsym` allocates at its first call in each thread. A signal handler that makes that
//! call inside an allocation may damage the heap. The text of a pending `dlerror` is lost over a first call.

use crate::loader::{live, lock, notice};
use crate::routes::{dlsym, libc, suppress};
use crate::slots::table::{lead, take_number};
use crate::slots::thunks_x86_64::{Frame, call_through, resolve_entry};
use crate::sys::x86_64::shadow_stack;
use crate::sys::{Opened, Table};
use crate::{start, thread};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use cutap_wire::{diagnostic, names::route};

const MAX: usize = crate::slots::thunks_x86_64::THUNKS;

/// A word not bound yet.
struct Stub {
    word: AtomicUsize,
    /// What the word held: the loader's own way to bind it.
    first: AtomicUsize,
    name: AtomicPtr<u8>,
    version: AtomicPtr<u8>,
}
#[unsafe(link_section = ".bss.cutap_tables")]
static STUBS: Table<Stub, MAX> = Table(
    [const {
        Stub {
            word: AtomicUsize::new(0),
            first: AtomicUsize::new(0),
            name: AtomicPtr::new(core::ptr::null_mut()),
            version: AtomicPtr::new(core::ptr::null_mut()),
        }
    }; MAX],
);
static OPENED: Opened = Opened::all();

/// At start: no word has a stub.
pub fn close() {
    OPENED.close(&STUBS);
}

/// The address to put into a lazy word. Called under the loader's lock; name and version lie in the
/// object's own string table, which lives as long as the word does.
pub fn stub(word: usize, first: usize, name: &[u8], version: &[u8]) -> Option<usize> {
    let n = take_number()? as usize;
    if !OPENED.reach(&STUBS, n) {
        start::count(diagnostic::NO_SLOT_LEFT, 1);
        return None;
    }
    let s = STUBS.get(n)?;
    s.word.store(word, Relaxed);
    s.first.store(first, Relaxed);
    s.name.store(name.as_ptr().cast_mut(), Relaxed);
    s.version.store(if version.is_empty() { core::ptr::null_mut() } else { version.as_ptr().cast_mut() }, Relaxed);
    lead(n as u32, resolve_entry())
}

/// Called by the assembler: where the first call goes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_bind(frame: *mut Frame) -> usize {
    // SAFETY: the assembler's frame.
    let n = unsafe { (*frame).slot } as usize;
    let Some(s) = STUBS.get(n) else { return 0 };
    let first = s.first.load(Relaxed);
    thread::fork::check();
    if !lock::may_ask() {
        start::count(diagnostic::BOUND_BY_LOADER, 1);
        notice::look_again();
        return first;
    }
    let (word, name, version) = (s.word.load(Relaxed), s.name.load(Relaxed), s.version.load(Relaxed));
    let place = live::at(word, |o| (o.ret(), o.span, libc::is_user(o)));
    let Some((Some(gate), span, user)) = place.filter(|_| !shadow_stack()) else {
        suppress::never();
        start::count(diagnostic::BOUND_BY_LOADER, 1);
        return first;
    };
    // SAFETY: the object is running, so its strings are mapped.
    let text = unsafe { crate::sys::text(name, 4096) };
    // SAFETY: the gate lies in the calling object.
    let ask = |handle| dlsym::without_signals(|| unsafe { as_the_loader(handle, text, name, version, gate) });
    let mut found = ask(0);
    if found >= span.0 && found < span.1 {
        // A non-PIE program answers with its own PLT.
        found = ask(usize::MAX);
    }
    if found == 0 {
        return first;
    }
    notice::notice();
    let target = match dlsym::hand_out(found, text, gate, route::FIRST_CALL) {
        same if same == found && user && libc::is_name(text) && libc::is_on() => {
            libc::slot_at(found, text, route::FIRST_CALL).unwrap_or(found)
        }
        target => target,
    };
    // Its parent binds the word for itself.
    if thread::vfork_x86_64::goes_without() {
        return target;
    }
    // SAFETY: the word is a lazy word: its page is writable, or was made so for the stub.
    unsafe { (*(word as *const AtomicUsize)).store(target, Release) };
    target
}

/// The answer that the loader's own binding gives. dlvsym is stricter: it passes over a definition
/// without a version in a library that has versions of others, which a versioned reference takes.
///
/// # Safety
/// `gate` is a `ret` in the calling object; the strings are its own.
unsafe fn as_the_loader(handle: usize, text: &[u8], name: *const u8, version: *const u8, gate: usize) -> usize {
    let (dlsym, dlvsym) = dlsym::loaders_own();
    // SAFETY: the caller's promise.
    let any = unsafe { call_through(dlsym, handle, name, core::ptr::null(), gate) };
    if version.is_null() {
        return any;
    }
    // Asked first: of what is not there dlvsym would make an error text, and a signal handler may not allocate.
    // SAFETY: under the loader's lock.
    let unversioned = live::at(any, |o| unsafe { o.tables.find(text, |_, i| o.tables.is_unversioned(i)) });
    if unversioned == Some(true) {
        return any;
    }
    // SAFETY: the caller's promise.
    unsafe { call_through(dlvsym, handle, name, version, gate) }
}
