//! A lazy word at its first call. The loader would look the name up from the calling object, so we do
//! exactly that, from inside it: it is running, so it stays mapped. No name is searched in advance.
//!
//! Limits: a word at its first call is left to the loader if another thread opens a library for more than 50 ms. The
//! constructor of that library may wait for this thread. Calls through the word are missed until the
//! next look-up, and counted. Names of libnvblas are those of BLAS: a word that is bound at its first call is not
//! seen. Before glibc 2.34 `dlsym` allocates at its first call in each thread. A signal handler that makes that
//! call inside an allocation may damage the heap. The text of a pending `dlerror` is lost over a first call.

use super::dlsym;
use crate::loader::{live, lock, real};
use crate::process::{fork, page, vfork_word};
use crate::rewrite::stubs::STUBS;
use crate::rewrite::{libc, notice, words};
use crate::runtime::suppress;
use crate::slots::code::code;
use crate::slots::frame::Frame;
use crate::sys::allowed;
use crate::sys::arch::shadow_stack;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use cutap_wire::diagnostic;
use cutap_wire::names::route;

/// Where the first call through a word goes.
#[inline(always)]
pub fn bind(frame: &Frame) -> usize {
    let n = frame.slot as usize;
    let Some(s) = STUBS.get(n) else { return 0 };
    let first = s.first.load(Relaxed);
    fork::check();
    if !lock::may_ask() {
        page::count(diagnostic::BOUND_BY_LOADER, 1);
        words::look_again();
        return first;
    }
    let (word, name, version) = (s.word.load(Relaxed), s.name.load(Relaxed), s.version.load(Relaxed));
    let place = live::at(word, |o| (o.ret(), o.span, libc::is_user(o)));
    let Some((Some(gate), span, user)) = place.filter(|_| !shadow_stack()) else {
        suppress::disable();
        page::count(diagnostic::BOUND_BY_LOADER, 1);
        return first;
    };
    // SAFETY: the object is running, so its strings are mapped.
    let text = unsafe { crate::sys::text(name, 4096) };
    // SAFETY: the gate lies in the calling object.
    let resolve = |handle| real::without_signals(|| unsafe { as_the_loader(handle, text, name, version, gate) });
    let mut address = resolve(0);
    if address >= span.0 && address < span.1 {
        // A non-PIE program answers with its own PLT.
        address = resolve(usize::MAX);
    }
    if address == 0 {
        return first;
    }
    // Its parent binds the word for itself, and makes the slot.
    if allowed::has_own_filter() {
        if cutap_calls::in_family(text) {
            page::count(diagnostic::NO_RING, 1);
        }
        return address;
    }
    notice::notice();
    let target = match dlsym::hand_out(address, text, gate, route::FIRST_CALL) {
        same if same == address && user && libc::is_name(text) && libc::is_on() => {
            libc::slot_at(address, text, route::FIRST_CALL).unwrap_or(address)
        }
        target => target,
    };
    // Its parent binds the word for itself.
    if vfork_word::goes_without() {
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
    let (dlsym, dlvsym) = real::loaders_own();
    let Some(call_through) = code().map(|code| code.call_through) else { return 0 };
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
