//! The common path of every call through a frame: what the assembler calls before and after.

use super::thunks_x86_64::{Frame, STACK_WORDS};
use super::{hooks, table};
use crate::thread::{self, record};
use crate::{start, sys};
use core::sync::atomic::Ordering::Relaxed;
use cutap_wire::diagnostic;

/// Before the call. 0: it was answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_before(frame: *mut Frame) -> u32 {
    // SAFETY: the assembler's frame.
    let frame = unsafe { &mut *frame };
    frame.recorded = 0;
    frame.hooks = 0;
    let Some(slot) = table::slot(frame.slot) else { return 1 };
    frame.target = slot.real.load(Relaxed);
    frame.stack_words = stack_words(frame.stack as usize);
    thread::fork::check();
    let set = slot.hooks();
    if set == hooks::RECORD {
        // The commonest: no chain.
        frame.hooks = set;
        record::enter_slot(frame, slot);
        return 1;
    }
    hooks::before(set, frame).into()
}

/// After the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_after(frame: *mut Frame) {
    // SAFETY: the assembler's frame.
    let frame = unsafe { &mut *frame };
    thread::fork::check();
    if frame.hooks == hooks::RECORD {
        return record::after(frame);
    }
    hooks::after(frame);
}

/// How many of the caller's stack words can be read. Nothing says how many arguments there are, and a stack may end
/// just above them (a fibre's): what lies in the page in which they begin is mapped, the page behind it is asked of the
/// kernel. What is known of the thread's stack does not help: a fibre's may have lain below it, and be gone.
#[inline(always)]
pub fn stack_words(at: usize) -> usize {
    let in_page = (4096 - (at & 4095)) / 8;
    if in_page >= STACK_WORDS || sys::readable(at + in_page * 8) {
        return STACK_WORDS;
    }
    start::count(diagnostic::STACK_SHORT, 1);
    in_page
}

/// A C++ function that was asked for: recorded on the way in, then jumped to, for its arguments by value
/// may be larger than what a frame passes on.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_noted(frame: *mut Frame) -> usize {
    // SAFETY: the assembler's frame.
    let frame = unsafe { &mut *frame };
    thread::fork::check();
    let Some(slot) = table::slot(frame.slot) else { return 0 };
    record::note(frame);
    slot.real.load(Relaxed)
}
