//! `Slot.plan`: one word of a slot that says how to record a call whose inputs are words alone and whose outputs are a
//! few bytes each. Rows and steps are not read for such a call. All other calls follow their steps and record the same.
//!
//! | bits | name | meaning |
//! | --- | --- | --- |
//! | 2 | `CHATTER` | calls are counted, and recorded only where they fail (`record --chatter=count`) |
//! | 3 | `ENTER` | the inputs are words alone |
//! | 4 | `EXITS` | the outputs are those of bits 16 to 63 alone |
//! | 5 | `UNWANTED` | the filter leaves the function out for now (`cutap ctl PID filter`) |
//! | 6 | `LAUNCH` | the function launches a kernel as `launch` expects |
//! | 7 | `STATE` | later calls depend on the function |
//! | 8 to 13 | `WORDS_AT` | number of words |
//! | 16 to 63 | `OUTPUTS` | four outputs of 12 bits; 0 is no output |
//!
//! An output is the number of the word with its address (4 bits) and its length in bytes (8 bits). Unused outputs are
//! the highest, so a shift to the right by 12 leads to the next one, and 0 ends the list.
//!
//! The frame of a slot is chosen from this word in `arch::frames`. Frames in assembler test the word again at
//! each call, because `UNWANTED` changes.

use super::rows::{of, steps_of};
use cutap_calls::capture::{ALWAYS, EXIT, NONE, Row, WORDS, kind};

/// The function starts no work, and such calls are counted: `interceptors::chatter`.
pub const CHATTER: u64 = 1 << 2;
/// On the way in there is nothing but words, of integer registers or of a runtime's parameter block.
const ENTER: u64 = 1 << 3;
/// On the way out there is nothing but the outputs listed here.
pub const EXITS: u64 = 1 << 4;
/// The function was armed, and is left out for now: `cutap ctl PID filter`.
pub const UNWANTED: u64 = 1 << 5;
/// It launches a kernel, in the way that `launch` knows.
pub const LAUNCH: u64 = 1 << 6;
/// Later calls depend on the function: its calls are recorded although recording is off. See `calls::keeps_state`.
pub const STATE: u64 = 1 << 7;
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
pub const MOST: usize = 4;
/// Bytes of an output.
pub const BYTES: usize = 64;
/// A record of one small output has four bits for the number of its word.
const OUTPUT_WORDS: u16 = 16;

/// True for a function whose launches may be of this kind: its steps are the parameters, and what stands for them
/// instead.
pub fn is_launch(row: &Row) -> bool {
    let [parameters, extra] = steps_of(row) else { return false };
    let kinds = parameters.kind == kind::KERNEL_PARAMS && extra.kind == kind::EXTRA;
    let bases_are_words = parameters.base == WORDS && parameters.count_base == WORDS && extra.base == WORDS;
    row.vectors == 0 && kinds && bases_are_words && (parameters.flags | extra.flags) & (EXIT | ALWAYS) == 0
}

/// The word of a function; 0: by its steps.
pub fn of_row(remembered: u32) -> u64 {
    let Some(row) = of(remembered) else { return 6 << WORDS_AT | ENTER | EXITS };
    let steps = steps_of(row);
    let mut plan = if is_launch(row) { EXITS | LAUNCH } else { EXITS };
    let ints = u64::from(row.ints);
    if row.vectors + row.stack == 0 && ints <= WORDS_MOST && steps.iter().all(|s| s.flags & (EXIT | ALWAYS) != 0) {
        plan |= ints << WORDS_AT | ENTER;
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
            return plan & !EXITS;
        }
        plan |= (u64::from(register) | (len as u64) << LENGTH_AT) << (OUTPUTS + OUTPUT_BITS * n as u32);
    }
    plan
}

/// True when nothing needs steps.
pub fn is_fast(plan: u64) -> bool {
    plan & (ENTER | EXITS) == ENTER | EXITS
}

/// How many words a call has, if words are all that there is on the way in.
#[inline(always)]
pub fn words(plan: u64) -> Option<usize> {
    (plan & ENTER != 0).then_some((plan >> WORDS_AT & WORDS_MOST) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::rows::find;

    #[test]
    fn which_calls_are_fast() {
        let plan_of = |name: &[u8]| of_row(find(name, false, 13));
        let of_words = |n: u64| n << WORDS_AT | ENTER | EXITS;
        assert_eq!(plan_of(b"cuCtxSetCurrent"), of_words(1));
        assert_eq!(plan_of(b"cuCtxGetCurrent"), of_words(1) | 0x80 << OUTPUTS);
        assert_eq!(plan_of(b"cuMemGetInfo_v2"), of_words(2) | 0x081_080 << OUTPUTS);
        let four = plan_of(b"__cudaPopCallConfiguration");
        assert_eq!(four, of_words(4) | 0x083_082_0c1_0c0 << OUTPUTS);
        assert_eq!(plan_of(b"cuLaunchKernel"), EXITS | LAUNCH, "stack words and parameters");
        assert_eq!(plan_of(b"cuModuleGetFunction") & ENTER, 0, "a text");
        assert_eq!(plan_of(b"nobodyKnowsThis"), of_words(6));
        let block = of_row(find(b"cudaLaunchKernel", true, 13));
        assert_eq!(block, of_words(7), "three addresses, six dimensions of four bytes, a size");
    }
}
