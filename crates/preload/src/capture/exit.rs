//! The end of a call by the word of its slot (`plan`): its result, and outputs of a few bytes each.

use crate::process::copy::Pages;
use crate::ring::record;
use crate::ring::thread_state::ThreadState;
use crate::slots::plan::{BYTES, EXITS, LENGTH_AT, MOST, ONE_OUTPUT, OUTPUT_BITS, OUTPUTS};
use crate::sys::arch::{load4, load8};
use core::mem::MaybeUninit;
use cutap_wire::record::{FRAGMENT_WORDS, OUTPUT_LEN, OUTPUT_WORD};

/// The word and the length of the first of some outputs.
#[inline(always)]
fn first(outputs: u64) -> (usize, usize) {
    let one = (outputs & ONE_OUTPUT) as usize;
    (one & ((1 << LENGTH_AT) - 1), one >> LENGTH_AT)
}

/// A call that has returned.
pub struct EndedCall<'a> {
    /// Its number in the ring.
    pub number: u32,
    /// Where on the stack it stands.
    pub at: usize,
    /// What it returned.
    pub result: u64,
    pub words: &'a [u64],
}

/// On the way out: records the end and the outputs. False: it must go by the steps.
#[inline(always)]
pub fn exit_by_plan(plan: u64, thread_state: &mut ThreadState, call: &EndedCall) -> bool {
    if plan & EXITS == 0 {
        return false;
    }
    let outputs = plan >> OUTPUTS;
    if outputs == 0 || call.result as u32 != 0 {
        record::exit(thread_state, call.at, call.number, &[call.result]);
        return true;
    }
    if outputs <= ONE_OUTPUT && call.result == 0 {
        let (register, len) = first(outputs);
        let at = call.words.get(register).copied().unwrap_or(0) as usize;
        if at == 0 {
            record::exit(thread_state, call.at, call.number, &[0]);
            return true;
        }
        if (len == 8 || len == 4)
            && let Some(value) = short(thread_state, call.at, at, len)
            && value >> OUTPUT_WORD == 0
        {
            let word = value | (register as u64) << OUTPUT_WORD | (len as u64) << OUTPUT_LEN;
            record::exit_output(thread_state, call.at, call.number, word);
            return true;
        }
    }
    several(outputs, thread_state, call)
}

/// An output of four or eight bytes, if it can be read. `call` is where on the stack the call is.
#[inline(always)]
fn short(thread_state: &mut ThreadState, call: usize, at: usize, len: usize) -> Option<u64> {
    if thread_state.stack.contains(at, len) {
        // SAFETY: this thread's own stack.
        return Some(unsafe { if len == 8 { load8(at) } else { load4(at).into() } });
    }
    let mut value = 0u64;
    // SAFETY: a word of ours.
    let got = unsafe { Pages::new(call, &mut thread_state.stack).copy(at, (&raw mut value).cast(), len) };
    (got == len).then_some(value)
}

/// The same for outputs of any number and size.
#[inline(never)]
fn several(outputs: u64, thread_state: &mut ThreadState, call: &EndedCall) -> bool {
    let pages = Pages::new(call.at, &mut thread_state.stack);
    let mut payload = [MaybeUninit::<u64>::uninit(); 1 + MOST * (FRAGMENT_WORDS + BYTES / 8)];
    let to = payload.as_mut_ptr().cast::<u64>();
    let (mut used, mut rest) = (1, outputs);
    // SAFETY: at most MOST outputs of at most BYTES bytes, on this thread's own stack.
    unsafe {
        to.write(call.result);
        while rest != 0 {
            let (register, len) = first(rest);
            rest >>= OUTPUT_BITS;
            let at = call.words.get(register).copied().unwrap_or(0) as usize;
            if at == 0 {
                continue;
            }
            if !pages.on_stack(at, len) {
                return false;
            }
            to.add(used).write(at as u64);
            to.add(used + 1).write(len as u64 | (len as u64) << 32);
            used += FRAGMENT_WORDS;
            let mut copied = 0;
            while copied + 8 <= len {
                to.add(used).write(load8(at + copied));
                used += 1;
                copied += 8;
            }
            if copied < len {
                to.add(used).write(tail(at + copied, len - copied));
                used += 1;
            }
        }
        record::exit(thread_state, call.at, call.number, core::slice::from_raw_parts(to, used));
    }
    true
}

/// The last bytes of an output, fewer than eight.
///
/// # Safety
/// They can be read.
#[inline(always)]
unsafe fn tail(at: usize, len: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        if len == 4 {
            return load4(at).into();
        }
        (0..len).fold(0, |word, n| word | u64::from((at as *const u8).add(n).read_volatile()) << (n * 8))
    }
}
