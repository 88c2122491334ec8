//! Lazy words that are not bound yet: each leads to a stub, which `first_call` binds.

use crate::process::page;
use crate::slots::code::code;
use crate::slots::table::{lead, take_number};
use crate::sys::{Opened, Table};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use cutap_wire::diagnostic;

const MAX: usize = crate::ring::counts::THUNKS;

/// A word not bound yet.
pub struct Stub {
    pub word: AtomicUsize,
    /// What the word held: the loader's own way to bind it.
    pub first: AtomicUsize,
    pub name: AtomicPtr<u8>,
    pub version: AtomicPtr<u8>,
}
#[unsafe(link_section = ".bss.cutap_tables")]
pub static STUBS: Table<Stub, MAX> = Table(
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
        page::count(diagnostic::NO_SLOT_LEFT, 1);
        return None;
    }
    let s = STUBS.get(n)?;
    s.word.store(word, Relaxed);
    s.first.store(first, Relaxed);
    s.name.store(name.as_ptr().cast_mut(), Relaxed);
    s.version.store(if version.is_empty() { core::ptr::null_mut() } else { version.as_ptr().cast_mut() }, Relaxed);
    lead(n as u32, code()?.resolve as usize)
}
