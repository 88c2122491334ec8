//! The loader's list of objects, walked by ourselves: at the very start, to find the loader's own
//! functions, and for the other namespaces, of which it tells nobody else. A sanitizer in front of us has functions of these names that look theirs up through our
//! dlsym while they are not ready, so none of them may be called for it.

use super::elf::{Dyn, Tables};
use crate::sys::libc::r_debug;
use core::arch::asm;

/// The head of the list, as debuggers find it.
#[repr(C)]
pub struct Debug {
    version: i32,
    first: *const Link,
    _brk: usize,
    _state: u64,
    _base: usize,
    /// From version 2 on: that of another namespace.
    next: *const Debug,
}

#[repr(C)]
struct Link {
    base: usize,
    name: *const u8,
    dynamic: *const Dyn,
    next: *const Link,
}

/// Calls `f` with each object of the first namespace: where it lies, its tables, and the loader's name for it.
pub fn named(mut f: impl FnMut(usize, &Tables, &[u8])) {
    links(|l, tables, _| {
        // SAFETY: the loader's string.
        f(l.base, tables, unsafe { crate::sys::text(l.name, 4096) });
    });
}

/// Calls `f` with each object of the first namespace, in the loader's order: where it lies, its tables,
/// and whether it is this library.
pub fn each(mut f: impl FnMut(usize, &Tables, bool)) {
    links(|l, tables, ours| f(l.base, tables, ours));
}

/// Calls `f` with the loader's name of each object of the other namespaces (`dlmopen`); glibc tells of them since 2.35.
///
/// # Safety
/// Under the loader's lock.
pub unsafe fn elsewhere(mut f: impl FnMut(&[u8])) {
    let Some(first) = r_debug().filter(|d| !d.is_null()) else { return };
    // SAFETY: ld.so's own lists, which the lock holds still.
    unsafe {
        let mut debug = if (*first).version >= 2 { (*first).next } else { core::ptr::null() };
        while !debug.is_null() {
            let mut link = (*debug).first;
            while !link.is_null() {
                f(crate::sys::text((*link).name, 4096));
                link = (*link).next;
            }
            debug = (*debug).next;
        }
    }
}

fn links(mut f: impl FnMut(&Link, &Tables, bool)) {
    let Some(debug) = r_debug().filter(|d| !d.is_null()) else { return };
    let ours: *const Dyn;
    // SAFETY: the address of our own dynamic section.
    unsafe { asm!(".hidden _DYNAMIC", "lea {}, [rip + _DYNAMIC]", out(reg) ours, options(nomem, nostack)) };
    // SAFETY: ld.so's own list. Nobody holds it still for us; at the start nobody else changes it.
    unsafe {
        let mut link = (*debug).first;
        while !link.is_null() {
            let l = &*link;
            f(l, &Tables::read(l.dynamic, l.base), core::ptr::eq(l.dynamic, ours));
            link = l.next;
        }
    }
}
