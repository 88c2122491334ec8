//! The loader's list of objects, walked by ourselves: at the very start, to find the loader's own functions, and for
//! the other namespaces, of which it says nothing. A sanitizer in front of us has functions of these names that
//! look theirs up through our dlsym while they are not ready, so none of them may be called for it.

use super::elf::{Dyn, Tables};
use crate::sys::arch;
use crate::sys::libc::{dl_debug_addr, r_debug};
use core::ffi::c_void;

/// The head of the list, as debuggers find it.
#[repr(C)]
struct Debug {
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

/// The file name of this library.
pub const FILE: &[u8] = b"libcutap_preload.so";

/// Calls `f` with the loader's name of this library.
pub fn own_name(f: impl FnOnce(&[u8])) {
    let mut own: &[u8] = &[];
    links(|l, _, ours| {
        if ours {
            // SAFETY: the loader's string, which stays as long as the object.
            own = unsafe { crate::sys::text(l.name, 4096) };
        }
    });
    f(own);
}

/// Calls `f` with the loader's name of the first object behind this library that is wanted by its name.
pub fn behind_us(wanted: impl Fn(&[u8]) -> bool, f: impl FnOnce(&[u8])) {
    let (mut after_us, mut first_match) = (false, None);
    links(|l, _, ours| {
        after_us |= ours;
        // SAFETY: the loader's string, which stays as long as the object.
        let name = unsafe { crate::sys::text(l.name, 4096) };
        if after_us && first_match.is_none() && wanted(name) {
            first_match = Some(name);
        }
    });
    if let Some(name) = first_match {
        f(name);
    }
}

/// Calls `f` with each object of the first namespace, in the loader's order: where it lies, its tables,
/// and whether it is this library.
pub fn each(mut f: impl FnMut(usize, &Tables, bool)) {
    links(|l, tables, ours| f(l.base, tables, ours));
}

/// Calls `f` with the loader's name of each object of the other namespaces (`dlmopen`); glibc reports them since 2.35.
///
/// # Safety
/// Under the loader's lock.
pub unsafe fn elsewhere(mut f: impl FnMut(&[u8])) {
    let Some(first) = r_debug().map(|d| d.cast::<Debug>()).filter(|d| !d.is_null()) else { return };
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

/// True when the loader that loaded this library is glibc's: it has it in its list at `_r_debug`. That a symbol of
/// glibc's is there says nothing: gcompat, which runs programs for glibc on musl, defines `gnu_get_libc_version`, and a
/// fork of it `__libc_stack_end` too. musl's own list is at `*_dl_debug_addr`, and has the same form.
pub fn is_glibcs() -> bool {
    let (mut is_listed, ours) = (false, own_dynamic());
    if let Some(debug) = r_debug() {
        walk(debug, |l| {
            is_listed = core::ptr::eq(l.dynamic, ours);
            is_listed
        });
    }
    is_listed
}

fn links(mut f: impl FnMut(&Link, &Tables, bool)) {
    let ours = own_dynamic();
    let list = if is_glibcs() {
        r_debug()
    } else {
        // SAFETY: the loader's variable.
        dl_debug_addr().map(|at| unsafe { *at })
    };
    if let Some(debug) = list {
        walk(debug, |l| {
            // SAFETY: an object that is loaded.
            f(l, &unsafe { Tables::read(l.dynamic, l.base) }, core::ptr::eq(l.dynamic, ours));
            false
        });
    }
}

/// Calls `f` with each object of a list until it says true. Nobody holds the list still for us; at the start nobody
/// else changes it.
fn walk(debug: *const c_void, mut f: impl FnMut(&Link) -> bool) {
    if debug.is_null() {
        return;
    }
    // SAFETY: the loader's own list.
    unsafe {
        let mut link = (*debug.cast::<Debug>()).first;
        while !link.is_null() && !f(&*link) {
            link = (*link).next;
        }
    }
}

/// Our own dynamic section.
fn own_dynamic() -> *const Dyn {
    arch::own_dynamic() as *const Dyn
}
