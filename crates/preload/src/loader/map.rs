//! The loader's list of objects, walked by ourselves: only at the very start, to find the loader's own
//! functions. A sanitizer in front of us has functions of these names that look theirs up through our
//! dlsym while they are not ready, so none of them may be called for it.

use super::elf::{Dyn, Tables};
use crate::sys::libc::r_debug;
use core::arch::asm;

/// The head of the list, as debuggers find it.
#[repr(C)]
pub struct Debug {
    version: i32,
    first: *const Link,
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
