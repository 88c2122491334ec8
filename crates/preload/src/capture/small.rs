//! The commonest inputs: a few bytes each, at pointers among the words, on the caller's stack; or none at all. They go from there into
//! the ring. Whether a function is one of this kind is found out once, and its other steps are not looked at. All other calls go
//! by the steps; what is kept is the same.

use super::copy::words as copy;
use super::kept::Words;
use super::steps_of;
use crate::thread::block::{Block, OpenCall};
use crate::thread::record;
use crate::thread::reserve::finish;
use core::mem::MaybeUninit;
use cutap_calls::capture::{ALWAYS, COUNT64, EXIT, NONE, Row, Step, WORDS, kind};
use cutap_wire::record::FRAGMENT_WORDS;

/// Inputs of a call at most, and bytes of each: any record has room for them.
const MOST: usize = 4;
const BYTES: u16 = 96;

/// The steps on the way in.
fn inputs(row: &Row) -> impl Iterator<Item = &'static Step> {
    steps_of(row).iter().filter(|s| s.flags & (EXIT | ALWAYS) == 0)
}

/// True for a function whose inputs may be of this kind.
pub fn is_one(row: &Row) -> bool {
    let by_words = |s: &Step| s.base == WORDS && matches!(s.count_base, WORDS | NONE) && s.flags & !COUNT64 == 0;
    row.vectors == 0
        && inputs(row).count() <= MOST
        && inputs(row).all(|s| s.kind == kind::MEMORY && by_words(s) && s.most <= BYTES)
}

/// Begins a call of a function that is one; its number, if it is recorded. `None`: nothing was done, and it must go by the steps.
#[inline(always)]
pub fn enter(b: &mut Block, call: OpenCall, caller: usize, row: &Row, words: Words) -> Option<Option<u32>> {
    let [first, rest] = words;
    let word = |offset: u16| {
        let n = usize::from(offset) / 8;
        let word = first.get(n).or_else(|| rest.get(n.wrapping_sub(first.len())))?;
        Some(word >> (offset % 8 * 8))
    };
    let stack = b.stack.with(call.frame);
    let mut found = [MaybeUninit::<(usize, usize)>::uninit(); MOST];
    let (mut used, mut length) = (0, 2 + first.len() + rest.len());
    for step in inputs(row) {
        let at = word(step.offset)? as usize;
        let count = match step.count_base {
            NONE => step.count.into(),
            _ if step.flags & COUNT64 != 0 => word(step.count)? as usize,
            _ => word(step.count)? as u32 as usize,
        };
        let len = count.saturating_mul(step.size.into());
        if at == 0 || len == 0 {
            continue;
        }
        if len > step.most.into() || !stack.holds(at, len) {
            return None;
        }
        found.get_mut(used)?.write((at, len));
        used += 1;
        length += FRAGMENT_WORDS + len.div_ceil(8);
    }
    let Some(pending) = record::begin(b, call, caller, length as u32) else { return Some(None) };
    let record = &pending.reserved;
    let number = record.number;
    // SAFETY: so many words are reserved; what is read lies on this thread's stack, at as many places as were written above.
    unsafe {
        for (n, &w) in first.iter().enumerate() {
            record.word(n + 2, w);
        }
        copy(rest.as_ptr().cast(), record.at.add(first.len() + 2).cast(), size_of_val(rest));
        let mut to = first.len() + rest.len() + 2;
        for place in found.iter().take(used) {
            let (at, len) = place.assume_init();
            record.word(to, at as u64);
            record.word(to + 1, len as u64 | (len as u64) << 32);
            to += FRAGMENT_WORDS;
            let end = to + len.div_ceil(8);
            // Behind the last byte the word's others are zero.
            record.word(end - 1, 0);
            copy(at as *const u8, record.at.add(to).cast(), len);
            to = end;
        }
    }
    finish(b, pending);
    Some(Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{find, of};

    #[test]
    fn what_is_small() {
        let small = |name: &[u8], major| of(find(name, false, major)).is_some_and(is_one);
        assert!(small(b"cublasGemmEx", 13), "two factors of up to 16 bytes");
        assert!(small(b"cublasLtMatmulDescSetAttribute", 13), "as many bytes as a word says");
        assert!(small(b"cudaLaunchKernel", 13), "words on the stack");
        assert!(!small(b"cuLaunchKernel", 13), "parameters of a kernel");
        assert!(!small(b"cuModuleGetFunction", 13), "a text");
        assert!(!small(b"nobodyKnowsThis", 13));
    }
}
