//! What is kept of a call beside its words: the memory that its pointers lead to, as the steps of
//! `cutap_calls::capture` say. Inputs before the call, outputs after it. No meaning is looked at here;
//! what cannot be read is left out, what has no room is cut, and the reader sees both by the lengths.

pub mod answers;
pub mod call_stack;
pub mod exit;
mod file_of;
pub mod handles;
pub mod ioctl;
pub mod kernels;
pub mod launch;
pub mod loaded_file;
mod logs;
mod payload;
pub mod ptx;
mod steps;

use crate::process::copy::Pages;
use crate::ring::thread_state::ThreadState;
use crate::slots::frame::Frame;
use crate::slots::rows::steps_of;
use crate::slots::table;
use core::mem::MaybeUninit;
use cutap_calls::capture::{ALWAYS, EXIT, Row};
use payload::Payload;
pub use payload::{ArgumentWords, Call};
use steps::run;

/// Words of a call at most: registers and stack.
const CALL_WORDS: usize = 6 + 8 + 32;

/// The function itself, where hooks are around it.
fn driver(frame: &Frame) -> usize {
    table::real_of(frame.target).unwrap_or(frame.target)
}

/// The words of a framed call as its row says: registers, vector registers, stack.
#[inline(always)]
fn words_of<'a>(frame: &'a Frame, row: &Row, to: &'a mut [MaybeUninit<u64>; CALL_WORDS]) -> ArgumentWords<'a> {
    let stack = usize::from(row.stack);
    if row.vectors == 0 && stack <= frame.stack_words && frame.stack.is_aligned() {
        // SAFETY: as many words as `stack_words` says can be read; what is called has a separate copy.
        let stack = unsafe { core::slice::from_raw_parts(frame.stack, stack) };
        return [frame.args.get(..usize::from(row.ints)).unwrap_or(&[]), stack];
    }
    [collected(frame, row, to), &[]]
}

/// The same, one behind the other.
#[inline(never)]
fn collected<'a>(frame: &Frame, row: &Row, to: &'a mut [MaybeUninit<u64>; CALL_WORDS]) -> &'a [u64] {
    let vectors = frame.vectors.iter().take(usize::from(row.vectors)).map(|&x| x as u64);
    let stack = (0..usize::from(row.stack)).map(|n| match n < frame.stack_words {
        // SAFETY: as many words as `stack_words` says can be read.
        true => unsafe { frame.stack.add(n).read_unaligned() },
        false => 0,
    });
    let all = frame.args.iter().take(usize::from(row.ints)).copied().chain(vectors).chain(stack);
    let mut n = 0;
    for (to, from) in to.iter_mut().zip(all) {
        to.write(from);
        n += 1;
    }
    // SAFETY: so many were written.
    unsafe { core::slice::from_raw_parts(to.as_ptr().cast(), n) }
}

/// On the way in: the words and the inputs of a framed call.
#[inline(never)]
pub fn before<R>(
    thread_state: &mut ThreadState,
    frame: &Frame,
    row: &Row,
    then: impl FnOnce(&mut ThreadState, [&[u64]; 3]) -> R,
) -> R {
    let mut words = [MaybeUninit::uninit(); CALL_WORDS];
    let call = Call { words: words_of(frame, row, &mut words), result: 0, floats: [0; 2], driver: driver(frame) };
    inputs(thread_state, row, &call, frame.stack as usize, then)
}

/// On the way in: the words and the inputs behind them. `stack` is an address on the stack of the call.
#[inline(always)]
pub fn inputs<R>(
    thread_state: &mut ThreadState,
    row: &Row,
    call: &Call,
    stack: usize,
    then: impl FnOnce(&mut ThreadState, [&[u64]; 3]) -> R,
) -> R {
    let [first, rest] = call.words;
    let mut payload = Payload::new(Pages::new(stack, &mut thread_state.stack), first.len() + rest.len());
    run(thread_state, &mut payload, steps_of(row), call, 0);
    then(thread_state, [first, rest, payload.words()])
}

/// On the way out: the result and the outputs of a framed call.
#[inline(never)]
pub fn after<R>(
    thread_state: &mut ThreadState,
    frame: &Frame,
    row: &Row,
    succeeded: bool,
    then: impl FnOnce(&mut ThreadState, &[u64]) -> R,
) -> R {
    let mut words = [MaybeUninit::uninit(); CALL_WORDS];
    let [result, _] = frame.result;
    let floats = frame.result_vectors.map(|x| x as u64);
    let call = Call { words: words_of(frame, row, &mut words), result, floats, driver: driver(frame) };
    outputs(thread_state, row, &call, succeeded, frame.stack as usize, then)
}

/// On the way out: the result and the outputs behind it. `stack` is an address on the stack of the call. A call that
/// has `succeeded` may have another result: a hook's.
pub fn outputs<R>(
    thread_state: &mut ThreadState,
    row: &Row,
    call: &Call,
    succeeded: bool,
    stack: usize,
    then: impl FnOnce(&mut ThreadState, &[u64]) -> R,
) -> R {
    let mut payload = Payload::new(Pages::new(stack, &mut thread_state.stack), 0);
    payload.push(call.result);
    let when = if succeeded { EXIT | ALWAYS } else { ALWAYS };
    run(thread_state, &mut payload, steps_of(row), call, when);
    then(thread_state, payload.words())
}
