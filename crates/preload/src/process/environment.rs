//! The environment, read once at start by our own reader: getenv may be replaced by another library by then.

use crate::sys::{self, libc};

/// The environment before libc has run: behind argc and argv, where the kernel put it.
pub fn before_libc() -> *const *const u8 {
    if let Some(end) = libc::stack_end() {
        // SAFETY: ld.so's variable points to argc; argv, a null and the environment follow.
        unsafe {
            let start = *end;
            if !start.is_null() {
                return start.add(*start + 2).cast();
            }
        }
    }
    // SAFETY: libc's variable.
    libc::environ().map_or(core::ptr::null(), |e| unsafe { *e })
}

/// The value of a variable.
pub fn find(environment: *const *const u8, name: &[u8]) -> Option<&'static [u8]> {
    let mut e = environment;
    if e.is_null() {
        return None;
    }
    // SAFETY: the environment: strings, and a null at the end.
    unsafe {
        while !(*e).is_null() {
            if let Some(value) = sys::text(*e, 1 << 20).strip_prefix(name).and_then(|v| v.strip_prefix(b"=")) {
                return Some(value);
            }
            e = e.add(1);
        }
    }
    None
}
