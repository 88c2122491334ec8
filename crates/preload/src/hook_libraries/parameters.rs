//! The parameters of a function, and the arguments of its call, as hooks read them.

use super::chain::{Chain, Home};
use crate::sys;
use core::ffi::{c_char, c_int, c_void};
use cutap_hook::contract::{Call, Function, NO_PARAM, OK, Parameter};

/// A string of a hook's, or of ours; empty if it is null.
///
/// # Safety
/// It ends with a zero, and stays.
pub(super) unsafe fn text<'a>(p: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { sys::text(p.cast(), 4096) }
}

/// Number of a parameter.
///
/// # Safety
/// The contract's.
pub(super) unsafe extern "C" fn index(function: *const Function, name: *const c_char) -> c_int {
    if name.is_null() {
        return NO_PARAM;
    }
    // SAFETY: the library's string, and a function of ours.
    let (f, name) = unsafe { (&*function, text(name)) };
    let at = parameters(f).iter().position(|p| {
        // SAFETY: a string of ours.
        unsafe { text(p.name) == name }
    });
    at.map_or(NO_PARAM, |n| n as c_int)
}

/// The parameters of a function, as far as they are known.
pub(super) fn parameters(f: &Function) -> &[Parameter] {
    if f.parameter.is_null() {
        return &[];
    }
    // SAFETY: made so.
    unsafe { core::slice::from_raw_parts(f.parameter, f.parameters as usize) }
}

/// The pieces of an argument: address and bytes of each, in their order.
///
/// # Safety
/// A chain's call, which is going on.
pub(super) unsafe fn pieces(call: *const Call, index: c_int) -> Option<[(*mut u8, usize); 2]> {
    // SAFETY: the caller's promise.
    let chain = unsafe { &*call.cast::<Chain>() };
    let info = chain.info?;
    let p = usize::try_from(index).ok().and_then(|n| parameters(&info.function).get(n))?;
    let bytes = usize::from(p.bytes);
    let nothing = (core::ptr::null_mut(), 0);
    match chain.home {
        Home::None => None,
        Home::Parameters(at, _) => {
            let place = at.wrapping_add((p.place & 0xffff) as usize).cast_mut();
            (!at.is_null()).then_some([(place, bytes), nothing])
        }
        Home::Frame(args, vector_args, stack) => {
            let (ints, vectors) = (usize::from(info.shape.0), usize::from(info.shape.1));
            let at = |word: usize| match word {
                255 => None,
                n if n < ints => Some(args.wrapping_add(n).cast::<u8>()),
                n if n < ints + vectors => Some(vector_args.wrapping_add(n - ints).cast()),
                n => Some(stack.wrapping_add(n - ints - vectors).cast()),
            };
            let (first, second) = ((p.place & 255) as usize, (p.place >> 8 & 255) as usize);
            match at(second) {
                Some(behind) => Some([(at(first)?, bytes.min(8)), (behind, bytes.saturating_sub(8))]),
                None => Some([(at(first)?, bytes), nothing]),
            }
        }
    }
}

/// Reads an argument.
///
/// # Safety
/// The contract's.
pub(super) unsafe extern "C" fn read(call: *const Call, index: c_int, to: *mut c_void, bytes: usize) -> c_int {
    // SAFETY: the hook's own call.
    let Some(pieces) = (unsafe { pieces(call, index) }) else { return NO_PARAM };
    let (mut to, mut room) = (to.cast::<u8>(), bytes);
    for (at, len) in pieces {
        let n = len.min(room);
        // SAFETY: inside the argument, and inside what the hook gave.
        unsafe { core::ptr::copy_nonoverlapping(at, to, n) };
        (to, room) = (to.wrapping_add(n), room - n);
    }
    OK
}
