//! The environment, read once at start by our own reader: getenv may be somebody else's by then.

use crate::sys::{self, libc};
use cutap_wire::control;

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

/// Takes us out of the environment that children get (--no-follow): CUTAP_RUN goes, and LD_PRELOAD
/// loses its first entry, which is ours, or goes too.
pub fn leave(environment: *mut *const u8) {
    if environment.is_null() {
        return;
    }
    let (mut from, mut to) = (environment, environment);
    // SAFETY: the environment's own array; strings are changed in place, before anybody reads them.
    unsafe {
        while !(*from).is_null() {
            let text = sys::text(*from, 1 << 20);
            let gone = if let Some(value) = text.strip_prefix(b"LD_PRELOAD=") {
                match value.iter().position(|&c| c == b':' || c == b' ') {
                    Some(colon) => {
                        let keep = (*from).add(11).cast_mut();
                        for i in 0..=(value.len() - colon - 1) {
                            keep.add(i).write(keep.add(colon + 1 + i).read());
                        }
                        false
                    }
                    None => true,
                }
            } else {
                text.strip_prefix(control::ENV_RUN.as_bytes()).is_some_and(|v| v.starts_with(b"="))
            };
            if !gone {
                *to = *from;
                to = to.add(1);
            }
            from = from.add(1);
        }
        *to = core::ptr::null();
    }
}
