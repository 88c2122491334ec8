//! What is kept of a call beside its words: the memory that its pointers lead to, as the steps of
//! `cutap_calls::capture` say. Inputs before the call, outputs after it. No meaning is looked at here;
//! what cannot be read is left out, what has no room is cut, and the reader sees both by the lengths.

pub mod answers;
pub mod call_stack;
pub mod copy;
mod file_of;
pub mod ioctl;
pub mod kernels;
pub mod launch;
mod logs;
mod payload;
pub mod plan;
mod steps;

use crate::slots::thunks_x86_64::Frame;
use crate::thread::block::ThreadState;
use copy::Pages;
use core::mem::MaybeUninit;
use cutap_calls::capture::{self, ALWAYS, EXIT, Row};
use cutap_calls::generated::capture::{NAMES, ROWS, STEPS};
use payload::Payload;
pub use payload::{ArgumentWords, Call};
use steps::run;

/// Words of a call at most: registers and stack.
const CALL_WORDS: usize = 6 + 8 + 32;

/// A row as a slot remembers it: its number plus one, and what there is to do.
pub mod row {
    /// Memory is kept on the way in, or words other than the integer registers.
    pub const BEFORE: u32 = 1 << 31;
    /// Memory is kept on the way out.
    pub const AFTER: u32 = 1 << 30;
    /// The row's number plus one.
    pub const NUMBER: u32 = (1 << 30) - 1;
}

/// The row of a function: `block` for the parameter block of a runtime's callback, `major` the version
/// of its library, for functions that have changed. 0: nothing is known of it.
pub fn find(name: &[u8], block: bool, major: u32) -> u32 {
    let plain = capture::extend(capture::hash(if block { b"@" } else { b"" }), name);
    let digits = [b'#', b'0' + (major / 10 % 10) as u8, b'0' + (major % 10) as u8];
    // "#9" or "#12"
    let digits = digits.iter().enumerate().filter(|&(n, _)| n != 1 || major >= 10).map(|(_, d)| *d);
    let versioned = digits.fold(plain, |h, b| capture::extend(h, &[b]));
    let at = |hash| capture::number(&NAMES, hash);
    let Some(n) = at(versioned).or_else(|| at(plain)) else { return 0 };
    let Some(row) = ROWS.get(n) else { return 0 };
    let steps = steps_of(row);
    let before = steps.iter().any(|s| s.flags & (EXIT | ALWAYS) == 0) || row.vectors + row.stack > 0;
    let after = steps.iter().any(|s| s.flags & (EXIT | ALWAYS) != 0);
    (n as u32 + 1) | if before { row::BEFORE } else { 0 } | if after { row::AFTER } else { 0 }
}

/// The steps of a function.
#[inline(always)]
pub fn steps_of(row: &Row) -> &'static [capture::Step] {
    capture::steps(&STEPS, row)
}

/// The row that a slot remembers.
#[inline(always)]
pub fn of(remembered: u32) -> Option<&'static Row> {
    ROWS.get(((remembered & row::NUMBER) as usize).wrapping_sub(1))
}

/// The function itself, where hooks are around it.
fn driver(frame: &Frame) -> usize {
    crate::slots::real_of(frame.target).unwrap_or(frame.target)
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
    let vectors = frame.xmm.iter().take(usize::from(row.vectors)).map(|&x| x as u64);
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
    b: &mut ThreadState,
    frame: &Frame,
    row: &Row,
    then: impl FnOnce(&mut ThreadState, [&[u64]; 3]) -> R,
) -> R {
    let mut words = [MaybeUninit::uninit(); CALL_WORDS];
    let call = Call { words: words_of(frame, row, &mut words), result: 0, floats: [0; 2], driver: driver(frame) };
    inputs(b, row, &call, frame.stack as usize, then)
}

/// On the way in: the words and the inputs behind them. `stack` is an address on the stack of the call.
#[inline(always)]
pub fn inputs<R>(
    b: &mut ThreadState,
    row: &Row,
    call: &Call,
    stack: usize,
    then: impl FnOnce(&mut ThreadState, [&[u64]; 3]) -> R,
) -> R {
    let [first, rest] = call.words;
    let mut kept = Payload::new(Pages::new(stack, &mut b.stack), first.len() + rest.len());
    run(b, &mut kept, steps_of(row), call, 0);
    then(b, [first, rest, kept.words()])
}

/// On the way out: the result and the outputs of a framed call.
#[inline(never)]
pub fn after<R>(
    b: &mut ThreadState,
    frame: &Frame,
    row: &Row,
    succeeded: bool,
    then: impl FnOnce(&mut ThreadState, &[u64]) -> R,
) -> R {
    let mut words = [MaybeUninit::uninit(); CALL_WORDS];
    let [result, _] = frame.result;
    let floats = frame.result_xmm.map(|x| x as u64);
    let call = Call { words: words_of(frame, row, &mut words), result, floats, driver: driver(frame) };
    outputs(b, row, &call, succeeded, frame.stack as usize, then)
}

/// On the way out: the result and the outputs behind it. `stack` is an address on the stack of the call. A call that
/// has `succeeded` may have another result: a hook's.
pub fn outputs<R>(
    b: &mut ThreadState,
    row: &Row,
    call: &Call,
    succeeded: bool,
    stack: usize,
    then: impl FnOnce(&mut ThreadState, &[u64]) -> R,
) -> R {
    let mut kept = Payload::new(Pages::new(stack, &mut b.stack), 0);
    kept.push(call.result);
    let when = if succeeded { EXIT | ALWAYS } else { ALWAYS };
    run(b, &mut kept, steps_of(row), call, when);
    then(b, kept.words())
}
