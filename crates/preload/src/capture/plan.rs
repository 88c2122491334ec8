//! `Slot.plan`: one word of a slot that says how to record a call whose inputs are words alone and whose outputs are a
//! few bytes each. Rows and steps are not read for such a call. All other calls follow their steps and record the same.
//!
//! | bits | name | meaning |
//! | --- | --- | --- |
//! | 3 | `ENTER` | the inputs are words alone |
//! | 4 | `EXITS` | the outputs are those of bits 16 to 63 alone |
//! | 5 | `UNWANTED` | the filter leaves the function out for now (`cutap ctl PID filter`) |
//! | 6 | `LAUNCH` | the function launches a kernel as `launch` expects |
//! | 8 to 13 | `WORDS_AT` | number of words |
//! | 16 to 63 | `OUTPUTS` | four outputs of 12 bits; 0 is no output |
//!
//! An output is the number of the word with its address (4 bits) and its length in bytes (8 bits). Unused outputs are
//! the highest, so a shift to the right by 12 leads to the next one, and 0 ends the list.
//!
//! The frame of a slot is chosen from this word in `slots::fast::entry`. Frames in assembler test the word again at
//! each call, because `UNWANTED` changes.

use super::copy::Pages;
use super::{launch, of, steps_of};
use crate::sys::x86_64::{load4, load8};
use crate::thread::block::ThreadState;
use crate::thread::record;
use core::mem::MaybeUninit;
use cutap_calls::capture::{ALWAYS, EXIT, NONE, WORDS, kind};
use cutap_wire::record::{FRAGMENT_WORDS, OUTPUT_LEN, OUTPUT_WORD};

/// On the way in there is nothing but words, of integer registers or of a runtime's parameter block.
const ENTER: u64 = 1 << 3;
/// On the way out there is nothing but the outputs listed here.
pub const EXITS: u64 = 1 << 4;
/// The function was armed, and is left out for now: `cutap ctl PID filter`.
pub const UNWANTED: u64 = 1 << 5;
/// It launches a kernel, in the way that `launch` knows.
pub const LAUNCH: u64 = 1 << 6;
/// How many words.
pub const WORDS_AT: u32 = 8;
/// See `WORDS_AT`.
pub const WORDS_MOST: u64 = 0x3f;
/// A function of which nothing is kept but two words, and the outputs that are listed: those bits of its word, and what
/// they are.
pub const TWO_WORDS: [u32; 2] =
    [(WORDS_MOST << WORDS_AT | ENTER | EXITS | UNWANTED) as u32, (2 << WORDS_AT | ENTER | EXITS) as u32];
/// Outputs: for each four bits for the word, and eight for the length; 0 for none.
pub const OUTPUTS: u32 = 16;
pub const OUTPUT_BITS: u32 = 12;
/// Where in them the length begins.
pub const LENGTH_AT: u32 = 4;
/// All bits of one output.
pub const ONE_OUTPUT: u64 = (1 << OUTPUT_BITS) - 1;
const MOST: usize = 4;
/// Bytes of an output.
const BYTES: usize = 64;
/// A record of one small output has four bits for the number of its word.
const OUTPUT_WORDS: u16 = 16;

/// The word of a function; 0: by its steps.
pub fn of_row(remembered: u32) -> u64 {
    let Some(row) = of(remembered) else { return 6 << WORDS_AT | ENTER | EXITS };
    let steps = steps_of(row);
    let mut quick = if launch::is_one(row) { EXITS | LAUNCH } else { EXITS };
    let ints = u64::from(row.ints);
    if row.vectors + row.stack == 0 && ints <= WORDS_MOST && steps.iter().all(|s| s.flags & (EXIT | ALWAYS) != 0) {
        quick |= ints << WORDS_AT | ENTER;
    }
    let outputs = || steps.iter().filter(|s| s.flags & (EXIT | ALWAYS) != 0);
    for (n, s) in outputs().enumerate() {
        let len = (usize::from(s.count) * usize::from(s.size)).min(s.most.into());
        let plain = s.kind == kind::MEMORY && s.flags == EXIT && s.base == WORDS && s.count_base == NONE;
        let register = s.offset / 8;
        let whole = len == usize::from(s.count) * usize::from(s.size);
        if n >= MOST
            || !plain
            || !whole
            || len == 0
            || len > BYTES
            || register >= u16::from(row.ints).min(OUTPUT_WORDS)
            || s.offset % 8 != 0
        {
            return quick & !EXITS;
        }
        quick |= (u64::from(register) | (len as u64) << LENGTH_AT) << (OUTPUTS + OUTPUT_BITS * n as u32);
    }
    quick
}

/// True when nothing needs steps.
pub fn is_quick(quick: u64) -> bool {
    quick & (ENTER | EXITS) == ENTER | EXITS
}

/// How many words a call has, if words are all that there is on the way in.
#[inline(always)]
pub fn words(quick: u64) -> Option<usize> {
    (quick & ENTER != 0).then_some((quick >> WORDS_AT & WORDS_MOST) as usize)
}

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
pub fn exit(quick: u64, b: &mut ThreadState, call: &EndedCall) -> bool {
    if quick & EXITS == 0 {
        return false;
    }
    let outputs = quick >> OUTPUTS;
    if outputs == 0 || call.result as u32 != 0 {
        record::exit(b, call.at, call.number, &[call.result]);
        return true;
    }
    if outputs <= ONE_OUTPUT && call.result == 0 {
        let (register, len) = first(outputs);
        let at = call.words.get(register).copied().unwrap_or(0) as usize;
        if at == 0 {
            record::exit(b, call.at, call.number, &[0]);
            return true;
        }
        if (len == 8 || len == 4)
            && let Some(value) = short(b, call.at, at, len)
            && value >> OUTPUT_WORD == 0
        {
            let word = value | (register as u64) << OUTPUT_WORD | (len as u64) << OUTPUT_LEN;
            record::exit_output(b, call.at, call.number, word);
            return true;
        }
    }
    several(outputs, b, call)
}

/// An output of four or eight bytes, if it can be read. `call` is where on the stack the call is.
#[inline(always)]
fn short(b: &mut ThreadState, call: usize, at: usize, len: usize) -> Option<u64> {
    if b.stack.holds(at, len) {
        // SAFETY: this thread's own stack.
        return Some(unsafe { if len == 8 { load8(at) } else { load4(at).into() } });
    }
    let mut value = 0u64;
    // SAFETY: a word of ours.
    let got = unsafe { Pages::new(call, &mut b.stack).copy(at, (&raw mut value).cast(), len) };
    (got == len).then_some(value)
}

/// The same for outputs of any number and size.
#[inline(never)]
fn several(outputs: u64, b: &mut ThreadState, call: &EndedCall) -> bool {
    let pages = Pages::new(call.at, &mut b.stack);
    let mut kept = [MaybeUninit::<u64>::uninit(); 1 + MOST * (FRAGMENT_WORDS + BYTES / 8)];
    let to = kept.as_mut_ptr().cast::<u64>();
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
            let mut done = 0;
            while done + 8 <= len {
                to.add(used).write(load8(at + done));
                used += 1;
                done += 8;
            }
            if done < len {
                to.add(used).write(tail(at + done, len - done));
                used += 1;
            }
        }
        record::exit(b, call.at, call.number, core::slice::from_raw_parts(to, used));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::find;

    #[test]
    fn what_is_quick() {
        let quick = |name: &[u8]| of_row(find(name, false, 13));
        let of_words = |n: u64| n << WORDS_AT | ENTER | EXITS;
        assert_eq!(quick(b"cuCtxSetCurrent"), of_words(1));
        assert_eq!(quick(b"cuCtxGetCurrent"), of_words(1) | 0x80 << OUTPUTS);
        assert_eq!(quick(b"cuMemGetInfo_v2"), of_words(2) | 0x081_080 << OUTPUTS);
        let four = quick(b"__cudaPopCallConfiguration");
        assert_eq!(four, of_words(4) | 0x083_082_0c1_0c0 << OUTPUTS);
        assert_eq!(quick(b"cuLaunchKernel"), EXITS | LAUNCH, "stack words and parameters");
        assert_eq!(quick(b"cuModuleGetFunction") & ENTER, 0, "a text");
        assert_eq!(quick(b"nobodyKnowsThis"), of_words(6));
        let block = of_row(find(b"cudaLaunchKernel", true, 13));
        assert_eq!(block, of_words(7), "three addresses, six dimensions of four bytes, a size");
    }
}
