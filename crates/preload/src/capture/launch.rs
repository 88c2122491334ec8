//! The commonest launches: the kernel's parameters, and the array of pointers to them, lie on the caller's stack, as
//! compilers put them, and the kernel is known. They go from there into the ring. All other launches go by the steps;
//! what is kept is the same.

use super::kernels;
use super::payload::ArgumentWords;
use crate::process::copy::words as copy;
use crate::ring::record;
use crate::ring::reserve::finish;
use crate::ring::thread_state::{OpenCall, ThreadState};
use crate::slots::plan::is_launch;
use crate::slots::rows::steps_of;
use crate::sys::arch::load8;
use core::mem::MaybeUninit;
use cutap_calls::capture::{PARAMETERS, Row};
use cutap_wire::record::FRAGMENT_WORDS;

/// Bytes of parameters that are few: any record has room for them.
pub const FEW: usize = 1024;

/// Where its array of parameters, its kernel's handle and what stands for parameters instead are among its words, in
/// bytes; `None`: it is no such function, or keeps less than `FEW` bytes.
pub fn places(row: &Row) -> Option<[u16; 3]> {
    let [parameters, extra] = steps_of(row) else { return None };
    (is_launch(row) && usize::from(parameters.most) >= FEW).then_some([
        parameters.offset,
        parameters.count,
        extra.offset,
    ])
}

/// Begins a launch by a function that is one; its number, if it is recorded. `None`: nothing was done, and it must go
/// by the steps.
#[inline(always)]
pub fn enter(
    thread_state: &mut ThreadState,
    call: OpenCall,
    caller: usize,
    row: &Row,
    words: ArgumentWords,
) -> Option<Option<u32>> {
    let [parameters, extra] = steps_of(row) else { return None };
    let [first, rest] = words;
    let word = |offset: u16| {
        let n = usize::from(offset) / 8;
        first.get(n).or_else(|| rest.get(n.wrapping_sub(first.len()))).copied()
    };
    let (array, function) = (word(parameters.offset)? as usize, word(parameters.count)?);
    if array == 0 || word(extra.offset)? != 0 {
        return None;
    }
    let layout =
        kernels::cached_parameters(function).filter(|layout| !layout.is_empty() && layout.len() <= PARAMETERS)?;
    let stack = thread_state.stack.with(call.frame);
    if !stack.contains(array, layout.len() * 8) {
        return None;
    }
    let mut bytes = 0;
    // Each is read once: another thread may write to this stack, and what is read must be what was looked at.
    let mut places = [MaybeUninit::<usize>::uninit(); PARAMETERS];
    for ((n, p), place) in layout.iter().enumerate().zip(&mut places) {
        // SAFETY: the array lies on this thread's stack.
        let at = place.write(unsafe { load8(array + n * 8) } as usize);
        if !stack.contains(*at, p.size()) {
            return None;
        }
        bytes += p.size();
    }
    if bytes > FEW.min(parameters.most.into()) {
        return None;
    }
    let before = first.len() + rest.len();
    let length = 2 + before + FRAGMENT_WORDS + bytes.div_ceil(8);
    let Some(pending) = record::begin(thread_state, call, caller, length as u32) else { return Some(None) };
    let record = &pending.reserved;
    let number = record.number;
    // SAFETY: so many words are reserved; what is read lies on this thread's stack, at as many places as were written
    // above.
    unsafe {
        for (n, &w) in first.iter().enumerate() {
            record.word(n + 2, w);
        }
        copy(rest.as_ptr().cast(), record.at.add(first.len() + 2).cast(), size_of_val(rest));
        record.word(before + 2, array as u64);
        record.word(before + 3, bytes as u64 | (bytes as u64) << 32);
        // Behind the last parameter the word's other bytes are zero.
        record.word(length - 1, 0);
        let mut to = record.at.add(before + 4).cast::<u8>();
        for (p, place) in layout.iter().zip(&places) {
            copy(place.assume_init() as *const u8, to, p.size());
            to = to.add(p.size());
        }
    }
    finish(thread_state, pending);
    Some(Some(number))
}
