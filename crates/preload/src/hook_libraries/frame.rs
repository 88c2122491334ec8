//! A hooked call, as it stands in its frame, and what is done there before and after its hooks.

use super::chain::{Chain, Doing, Home};
use super::functions::Info;
use super::{open, thread};
use crate::interceptors::table::{keep_inputs, keep_results};
use crate::process::fork;
use crate::ring::record;
use crate::slots::code::code;
use crate::slots::frame::{self, Frame, STACK_WORDS};
use crate::slots::slot::Slot;
use crate::slots::{table, unwound};
use crate::sys::arch::copy_pairs;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use cutap_hook::contract::RUNTIME;

/// A call as it stands in its frame. The assembler knows these offsets.
#[repr(C)]
pub struct Hooked {
    /// The argument registers of integers and pointers, in order.
    args: [u64; 6],
    /// As in `slots::frame::Frame`.
    vector_count: u64,
    static_chain: u64,
    vectors: [u128; 8],
    /// The caller's stack arguments.
    stack: *const u64,
    /// What will be called.
    target: usize,
    slot: u32,
    _pad: u32,
    result: [u64; 2],
    _pad2: u64,
    result_vectors: [u128; 2],
    chain: Chain,
    /// What the outgoing words were: they are the function's own while it runs. Copied by two at a time.
    original_stack: [u128; STACK_WORDS / 2],
}

pub const OUTGOING: usize = STACK_WORDS * 8;
pub const BYTES: usize = (OUTGOING + size_of::<Hooked>()).next_multiple_of(16);
pub const CHAIN: usize = OUTGOING + offset_of!(Hooked, chain);

const _: () = {
    assert!(OUTGOING == 320);
    assert!(offset_of!(Hooked, vectors) == 64);
    assert!(offset_of!(Hooked, stack) == 192);
    assert!(offset_of!(Hooked, target) == 200);
    assert!(offset_of!(Hooked, slot) == 208);
    assert!(offset_of!(Hooked, result) == 216);
    assert!(offset_of!(Hooked, result_vectors) == 240);
    assert!(offset_of!(Chain, answered) == 24);
};

/// Copies stack words, nearly always all of them: then without a call.
///
/// # Safety
/// That many words can be read; `to` has room for them, and lies as two words do.
#[inline(always)]
unsafe fn copy(from: *const u64, to: *mut u64, words: usize) {
    if words != STACK_WORDS {
        // SAFETY: the caller's promise.
        return unsafe { core::ptr::copy_nonoverlapping(from, to, words) };
    }
    // SAFETY: the caller's promise.
    unsafe { copy_pairs(from, to, STACK_WORDS / 2) };
}

/// Before the hooks.
///
/// # Safety
/// The assembler's frame.
#[inline(always)]
pub unsafe fn begin(hooked: *mut Hooked) {
    // SAFETY: the assembler's frame; the chain is written before it is read.
    let h = unsafe { &mut *hooked };
    let outgoing = (hooked as usize - OUTGOING) as *mut u64;
    // SAFETY: as many words as can be read; the outgoing area lies in front of the frame.
    unsafe { copy(h.stack, outgoing, frame::stack_words(h.stack as usize)) };
    h.chain.doing = Doing::Nothing;
    h.chain.answered = 0;
    fork::check();
    let Some(slot) = table::slot(h.slot) else { return };
    h.target = slot.real.load(Relaxed);
    let Some(info) = info_of(slot) else { return };
    if !h.chain.begin(info, hooked as usize) {
        return;
    }
    h.chain.home = Home::Frame(h.args.as_mut_ptr(), h.vectors.as_mut_ptr(), outgoing);
    h.chain.result = h.result.as_mut_ptr();
    h.chain.result_vectors = h.result_vectors.as_mut_ptr();
    h.chain.caller = caller(h);
    h.chain.number = number(info);
    if info.function.layer == RUNTIME {
        open::bound(&mut h.chain, info);
    }
}

/// Where the program's call returns to: in front of the stack arguments, unless the frame that records the call is
/// between, which knows it. It is not while nothing is recorded.
fn caller(h: &Hooked) -> usize {
    // SAFETY: a return address; and, if it is the frame's, that frame, behind the words that it passes on.
    unsafe {
        match (h.stack as *const usize).sub(1).read() {
            back if is_called_by_frame(back) => (*h.stack.cast::<u8>().add(OUTGOING).cast::<Frame>()).caller,
            back => back,
        }
    }
}

/// The call as the recording frame around this one wrote it.
fn number(info: &Info) -> u64 {
    let open = record::ready().and_then(|thread_state| thread_state.top().copied());
    open.filter(|c| c.slot == info.slot).map_or(0, |c| u64::from(c.number) + 1)
}

/// No hook has answered: the function is called next.
///
/// # Safety
/// The assembler's frame.
#[inline(always)]
pub unsafe fn call(hooked: *mut Hooked) {
    // SAFETY: the assembler's frame.
    let h = unsafe { &mut *hooked };
    // Where no hooks run nothing else of the chain is written.
    if h.chain.doing == Doing::Before
        && let Home::Frame(args, vectors, outgoing) = h.chain.home
    {
        let original = h.original_stack.as_mut_ptr().cast();
        // SAFETY: the outgoing area, which was filled.
        unsafe { copy(outgoing, original, STACK_WORDS) };
        h.chain.home = Home::Frame(args, vectors, original);
    }
    if let Some(outer) = outer(h) {
        keep_inputs(outer, &h.args);
    }
}

/// The slot whose frame records the calls of this one, if there is one.
fn outer(h: &Hooked) -> Option<&'static Slot> {
    let info = info_of(table::slot(h.slot)?)?;
    table::slot(info.slot).filter(|_| info.slot != h.slot)
}

/// Between the call, or the answer, and the hooks after it.
///
/// # Safety
/// The assembler's frame.
#[inline(always)]
pub unsafe fn turn(hooked: *mut Hooked) {
    // SAFETY: the assembler's frame.
    let h = unsafe { &mut *hooked };
    fork::check();
    if let (Some(outer), [result, _]) = (outer(h), h.result) {
        keep_results(outer, &h.args, result);
    }
    if h.chain.is_answered() {
        let [_, second] = &mut h.result;
        *second = 0;
    }
    h.chain.turn();
    h.chain.returned_now = h.result.first().copied().unwrap_or(0);
}

/// After the hooks.
///
/// # Safety
/// The assembler's frame.
#[inline(always)]
pub unsafe fn end(hooked: *mut Hooked) {
    // SAFETY: the assembler's frame.
    let h = unsafe { &mut *hooked };
    let Some(info) = h.chain.info.filter(|_| h.chain.doing == Doing::After) else { return };
    if info.function.layer == RUNTIME {
        open::bound_ended(&mut h.chain);
        let real = (!h.chain.is_answered()).then_some(h.chain.returned_now as u32);
        h.chain.keep_error(info, real, h.result.first().map_or(0, |r| *r as u32));
    }
}

/// What hooks see of a slot's function.
fn info_of(slot: &Slot) -> Option<&'static Info> {
    // SAFETY: null or an `Info`, which stays: see `functions::of_slot`.
    unsafe { slot.info().cast::<Info>().as_ref() }
}

/// True for the place that the common frame's call returns to.
fn is_called_by_frame(back: usize) -> bool {
    code().is_some_and(|code| code.frame_called as usize == back)
}

/// The frame's personality routine: an exception, pthread_exit or cancellation leaves it.
///
/// # Safety
/// The unwinder's own exception and context.
#[inline(always)]
pub unsafe fn frame_unwound(actions: c_int, exception: *const unwound::Exception, context: *mut c_void) -> c_int {
    if actions & unwound::CLEANUP_PHASE != 0
        // SAFETY: the unwinder's own context.
        && let Some(outgoing) = unsafe { unwound::frame_of(context) }
    {
        // A hook that is left may have forked.
        fork::check();
        if let Some(thread) = thread::existing() {
            let at = outgoing + OUTGOING;
            // SAFETY: the assembler's frame, whose hook was running.
            thread.frame_unwound(at, || unsafe { (*(at as *const Hooked)).chain.interrupted });
        }
        // Where the call itself is not recorded. SAFETY: the unwinder's own.
        record::unwound_around(outgoing, unsafe { unwound::end_of(exception) });
    }
    unwound::CONTINUE_UNWIND
}
