//! What a hook may ask and do: the functions of the contract's host. A hook calls them in the middle of
//! a call, with the call that it was given.

use super::chain::{Chain, Doing, Home};
use super::exported::find;
use super::functions::INPUT;
use super::parameters::{index, parameters, pieces, read, text};
use super::{kernel, library, unknown};
use crate::process::copy::program_words;
use crate::process::{environment, fork};
use crate::runtime::instances;
use crate::slots::frame::STACK_WORDS;
use core::ffi::{c_char, c_int, c_void};
use cutap_hook::contract::{
    CAN_ANSWER, CAN_ARGUMENTS, CAN_RESULT, Call, Host, NO_PARAM, NOT_NOW, NOT_SUPPORTED, OK, VERSION, kind,
};
use cutap_wire::hooks::returns;
use cutap_wire::record::note;

pub const HOST: Host = Host {
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

unsafe extern "C" fn variable(name: *const c_char) -> *const c_char {
    // SAFETY: the library's string; the environment as the kernel put it.
    unsafe {
        let value = environment::find(environment::before_libc(), text(name));
        value.map_or(core::ptr::null(), |v| v.as_ptr().cast())
    }
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
    let word_count = pieces.map(|(_, len)| len).iter().sum::<usize>().div_ceil(8);
    for (n, &word) in now.iter().enumerate().take(word_count.max(1)) {
        let note_kind = if n == 0 { note::HOOK_ARGUMENT } else { note::HOOK_ARGUMENT_WORD | (n as u64) << 32 };
        chain.write_note(note_kind | which, word);
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
    let status = unsafe { read(call, index, (&raw mut to).cast(), size_of::<usize>()) };
    let may = parameter.kind == kind::POINTER && parameter.place & INPUT == 0;
    if !chain.is_ours() || !matches!(chain.doing, Doing::Before | Doing::After) {
        return NOT_NOW;
    }
    if status != OK || to == 0 || !may {
        return NOT_SUPPORTED;
    }
    let mut now = 0u64;
    // SAFETY: what the hook gave; where the program's pointer leads, the hook answers for, as if it wrote there itself.
    unsafe {
        core::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut now).cast(), bytes.min(8));
        core::ptr::copy_nonoverlapping(from.cast::<u8>(), core::ptr::with_exposed_provenance_mut(to), bytes);
    }
    chain.write_note(note::HOOK_OUTPUT | (index as u64) << 16, now);
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
    fork::check();
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
    if chain.result_vectors.is_null() || !matches!(chain.returns(), returns::FLOAT | returns::NOT_KNOWN) {
        return NOT_SUPPORTED;
    }
    // SAFETY: the frame's variables.
    unsafe { (*chain.result, *chain.result_vectors) = (0, u128::from(result.to_bits())) };
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
        if chain.result_vectors.is_null() { 0.0 } else { f64::from_bits(*chain.result_vectors as u64) }
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
            chain.write_note(note::HOOK_RESULT, was);
            chain.keep_outputs();
        }
    }
    OK
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
