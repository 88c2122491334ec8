//! What a hook may ask and do: the functions of the contract's host. A hook calls them in the middle of
//! a call, with the call that it was given.

use super::chain::{Chain, Doing, Home};
use super::functions::INPUT;
use super::{kernel, library, unknown};
use crate::capture::copy::program_words;
use crate::loader::elf::is_function;
use crate::loader::live;
use crate::routes::instances;
use crate::slots::frame::STACK_WORDS;
use crate::start::{environment, forked};
use crate::sys;
use core::ffi::{c_char, c_int, c_void};
use cutap_hook::contract::{
    CAN_ANSWER, CAN_ARGUMENTS, CAN_RESULT, Call, Function, Host, NO_PARAM, NOT_NOW, NOT_SUPPORTED, OK, Parameter,
    VERSION, kind,
};
use cutap_wire::hooks::returns;
use cutap_wire::record::note;

pub static HOST: Host = Host {
    version: VERSION,
    size: size_of::<Host>() as u32,
    add: library::add,
    environment: variable,
    index,
    read,
    write,
    raw_arg,
    answer,
    answer_float,
    result,
    result_float,
    set_result,
    original,
    instance_function,
    kernel: kernel::kernel,
    caller,
    starting,
    output,
    unknown: unknown::unknown,
};

/// A string of a hook's, or of ours; empty if it is null.
///
/// # Safety
/// It ends with a zero, and stays.
pub(super) unsafe fn text<'a>(p: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { sys::text(p.cast(), 4096) }
}

unsafe extern "C" fn variable(name: *const c_char) -> *const c_char {
    // SAFETY: the library's string; the environment as the kernel put it.
    unsafe {
        let found = environment::find(environment::before_libc(), text(name));
        found.map_or(core::ptr::null(), |v| v.as_ptr().cast())
    }
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
unsafe fn pieces(call: *const Call, index: c_int) -> Option<[(*mut u8, usize); 2]> {
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
        Home::Frame(args, xmm, stack) => {
            let (ints, vectors) = (usize::from(info.shape.0), usize::from(info.shape.1));
            let at = |word: usize| match word {
                255 => None,
                n if n < ints => Some(args.wrapping_add(n).cast::<u8>()),
                n if n < ints + vectors => Some(xmm.wrapping_add(n - ints).cast()),
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

/// Words of the largest argument by value, which is one of those that a frame passes on.
const MOST_WORDS: usize = STACK_WORDS;

unsafe extern "C" fn write(call: *mut Call, index: c_int, from: *const c_void, bytes: usize) -> c_int {
    // SAFETY: the hook's own call.
    let chain = unsafe { &*call.cast::<Chain>() };
    let Some(info) = chain.info else { return NOT_SUPPORTED };
    // First: a slip in a name must not look like something that this call does not allow.
    if usize::try_from(index).ok().and_then(|n| parameters(&info.function).get(n)).is_none() {
        return NO_PARAM;
    }
    if !chain.is_ours() || chain.doing != Doing::Before || chain.is_answered() {
        return NOT_NOW;
    }
    if info.function.can & CAN_ARGUMENTS == 0 {
        return NOT_SUPPORTED;
    }
    // SAFETY: as above.
    let Some(pieces) = (unsafe { pieces(call, index) }) else { return NO_PARAM };
    let (mut from, mut rest) = (from.cast::<u8>(), bytes);
    for &(at, len) in &pieces {
        let n = len.min(rest);
        // SAFETY: as in `read`.
        unsafe { core::ptr::copy_nonoverlapping(from, at, n) };
        (from, rest) = (from.wrapping_add(n), rest - n);
    }
    let mut now = [0u64; MOST_WORDS];
    // SAFETY: as above.
    unsafe { read(call, index, now.as_mut_ptr().cast(), size_of_val(&now)) };
    let which = (index as u64) << 16;
    let words = pieces.map(|(_, len)| len).iter().sum::<usize>().div_ceil(8);
    for (n, &word) in now.iter().enumerate().take(words.max(1)) {
        let what = if n == 0 { note::HOOK_ARGUMENT } else { note::HOOK_ARGUMENT_WORD | (n as u64) << 32 };
        chain.tell(what | which, word);
    }
    OK
}

unsafe extern "C" fn output(call: *mut Call, index: c_int, from: *const c_void, bytes: usize) -> c_int {
    // SAFETY: the hook's own call.
    let chain = unsafe { &*call.cast::<Chain>() };
    let Some(info) = chain.info else { return NOT_SUPPORTED };
    let parameter = usize::try_from(index).ok().and_then(|n| parameters(&info.function).get(n));
    let Some(parameter) = parameter else { return NO_PARAM };
    let mut to = 0usize;
    // SAFETY: as above, and a variable of ours.
    let found = unsafe { read(call, index, (&raw mut to).cast(), size_of::<usize>()) };
    let may = parameter.kind == kind::POINTER && parameter.place & INPUT == 0;
    if !chain.is_ours() || !matches!(chain.doing, Doing::Before | Doing::After) {
        return NOT_NOW;
    }
    if found != OK || to == 0 || !may {
        return NOT_SUPPORTED;
    }
    let mut now = 0u64;
    // SAFETY: what the hook gave; where the program's pointer leads, the hook answers for, as if it wrote there itself.
    unsafe {
        core::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut now).cast(), bytes.min(8));
        core::ptr::copy_nonoverlapping(from.cast::<u8>(), core::ptr::with_exposed_provenance_mut(to), bytes);
    }
    chain.tell(note::HOOK_OUTPUT | (index as u64) << 16, now);
    OK
}

unsafe extern "C" fn raw_arg(call: *const Call, n: c_int, to: *mut u64) -> c_int {
    // SAFETY: the hook's own call.
    let chain = unsafe { &*call.cast::<Chain>() };
    let Ok(n) = usize::try_from(n) else { return NO_PARAM };
    let at = match chain.home {
        Home::Frame(args, ..) if n < 6 => args.wrapping_add(n),
        Home::Frame(_, _, stack) if n < 6 + STACK_WORDS => stack.wrapping_add(n - 6),
        Home::Parameters(at, _) if !at.is_null() && n < 40 => at.wrapping_add(n * 8).cast_mut().cast(),
        _ => return NO_PARAM,
    };
    // How many words a runtime's block has is not known here.
    let word = match chain.home {
        Home::Parameters(..) => program_words(at as usize).map(|[word]| word),
        // SAFETY: a word of the frame.
        _ => Some(unsafe { at.read_unaligned() }),
    };
    let Some(word) = word else { return NO_PARAM };
    // SAFETY: the hook's variable.
    unsafe { *to = word };
    OK
}

/// The chain if the hook may answer now, or why not.
///
/// # Safety
/// The hook's own call.
unsafe fn may_answer<'a>(call: *mut Call) -> Result<&'a mut Chain, c_int> {
    // SAFETY: the caller's promise.
    let chain = unsafe { &mut *call.cast::<Chain>() };
    if chain.doing != Doing::Before || !chain.is_ours() {
        return Err(NOT_NOW);
    }
    let info = chain.info.ok_or(NOT_SUPPORTED)?;
    // The hook may have forked, and what is counted is of one process.
    forked::check();
    if info.function.can & CAN_ANSWER == 0 {
        // What is counted are missing unwind tables, not what no table would help.
        if info.returns != returns::STRUCT {
            info.not_answered();
        }
        return Err(NOT_SUPPORTED);
    }
    Ok(chain)
}

unsafe extern "C" fn answer(call: *mut Call, result: u64) -> c_int {
    // SAFETY: the hook's own call.
    let chain = match unsafe { may_answer(call) } {
        Ok(chain) if chain.returns() != returns::FLOAT => chain,
        Ok(_) => return NOT_SUPPORTED,
        Err(why) => return why,
    };
    // SAFETY: the frame's variable.
    unsafe { *chain.result = result };
    chain.answer();
    OK
}

unsafe extern "C" fn answer_float(call: *mut Call, result: f64) -> c_int {
    // SAFETY: the hook's own call.
    let chain = match unsafe { may_answer(call) } {
        Ok(chain) => chain,
        Err(why) => return why,
    };
    if chain.result_xmm.is_null() || !matches!(chain.returns(), returns::FLOAT | returns::NOT_KNOWN) {
        return NOT_SUPPORTED;
    }
    // SAFETY: the frame's variables.
    unsafe { (*chain.result, *chain.result_xmm) = (0, u128::from(result.to_bits())) };
    chain.answer();
    OK
}

unsafe extern "C" fn result(call: *const Call) -> u64 {
    // SAFETY: the hook's own call, and its frame's variable.
    unsafe {
        let chain = &*call.cast::<Chain>();
        if chain.doing == Doing::After || chain.is_answered() { *chain.result } else { 0 }
    }
}

unsafe extern "C" fn result_float(call: *const Call) -> f64 {
    // SAFETY: as above.
    unsafe {
        let chain = &*call.cast::<Chain>();
        if chain.result_xmm.is_null() { 0.0 } else { f64::from_bits(*chain.result_xmm as u64) }
    }
}

unsafe extern "C" fn set_result(call: *mut Call, result: u64) -> c_int {
    // SAFETY: the hook's own call, and its frame's variable.
    unsafe {
        let chain = &mut *call.cast::<Chain>();
        let may = chain.info.is_some_and(|i| i.function.can & CAN_RESULT != 0);
        if chain.doing != Doing::After || !chain.is_ours() {
            return NOT_NOW;
        }
        if !may {
            return NOT_SUPPORTED;
        }
        let was = core::mem::replace(&mut *chain.result, result);
        if was != result {
            chain.tell(note::HOOK_RESULT, was);
            chain.keep_outputs();
        }
    }
    OK
}

/// A function of a watched library that matches.
pub(super) fn find(library: Option<&[u8]>, object: Option<u32>, name: &[u8]) -> *mut c_void {
    let at = live::each(
        |_| true,
        |o| {
            let wanted = match object {
                Some(id) => o.id == id,
                None => o.layer != 0 && library.is_none_or(|l| cutap_calls::glob(l, o.name())),
            };
            let mut found = None;
            if wanted {
                // SAFETY: under the loader's lock.
                unsafe {
                    o.tables.find(name, |s, _| {
                        let address = o.base.wrapping_add(s.value);
                        found = is_function(s, o.base, address).then_some(address);
                        found.is_some()
                    });
                }
            }
            found
        },
    );
    core::ptr::with_exposed_provenance_mut(at.unwrap_or(0))
}

/// The addresses of functions that an object exports, 0 of those that it does not.
pub(super) fn all_exported<const N: usize>(object: u32, names: [&[u8]; N]) -> [usize; N] {
    let mut found = [0; N];
    live::each(
        |_| true,
        |o| {
            for (to, name) in found.iter_mut().zip(names).filter(|_| o.id == object) {
                // SAFETY: under the loader's lock.
                unsafe {
                    o.tables.find(name, |s, _| {
                        let address = o.base.wrapping_add(s.value);
                        let is = is_function(s, o.base, address);
                        *to = if is { address } else { *to };
                        is
                    });
                }
            }
            (o.id == object).then_some(())
        },
    );
    found
}

/// The address of a function that an object exports, null if it does not.
pub(super) fn exported(object: u32, name: &[u8]) -> *mut c_void {
    find(None, Some(object), name)
}

unsafe extern "C" fn original(library: *const c_char, name: *const c_char) -> *mut c_void {
    if name.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: the library's strings.
    unsafe {
        let library = (!library.is_null()).then(|| text(library));
        find(library, None, text(name))
    }
}

unsafe extern "C" fn instance_function(call: *const Call, name: *const c_char) -> *mut c_void {
    // SAFETY: the hook's own call and string.
    let (chain, name) = unsafe { (&*call.cast::<Chain>(), text(name)) };
    match chain.info {
        Some(i) if i.function.layer == cutap_hook::contract::RUNTIME => find(None, Some(i.object), name),
        _ => core::ptr::null_mut(),
    }
}

unsafe extern "C" fn caller(call: *const Call) -> *const c_void {
    // SAFETY: the hook's own call.
    core::ptr::with_exposed_provenance(unsafe { &*call.cast::<Chain>() }.caller)
}

unsafe extern "C" fn starting(call: *const Call) -> c_int {
    // SAFETY: the hook's own call.
    let chain = unsafe { &*call.cast::<Chain>() };
    instances::starting(chain.caller).into()
}
