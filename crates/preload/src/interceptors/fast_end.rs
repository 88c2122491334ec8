//! The end of a call in the fast frame where something is not as usual, and a frame that is being left.

use super::recording;
use crate::arch::fast;
use crate::ring::record;
use crate::ring::thread_state::ThreadState;
use crate::slots::fast_frame::FastFrame;
use crate::slots::unwound;
use core::ffi::{c_int, c_void};

/// After the call, where something is not as usual: its exit is not recorded yet, or (`recorded`) the call is not
/// closed. Its result is given back by the assembler.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_fast_after(frame: *const FastFrame, recorded: u32, origin: *const ThreadState) {
    // SAFETY: the assembler's frame, and the state of the thread in which the call began; thread states live
    // permanently.
    let (frame, origin) = unsafe { (&*frame, &*origin) };
    match recorded {
        0 => recording::after_fast(frame, origin),
        _ => recording::close_fast(frame),
    }
}

/// The frame's personality routine: see `left_above`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_fast_personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *const unwound::Exception,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the unwinder's own; the frame's stack pointer during the call is where its fields begin.
    unsafe { left_above(0, actions, exception, context) }
}

/// The same where outgoing stack words lie below the fields.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_fast_unknown_personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *const unwound::Exception,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the unwinder's own, as above.
    unsafe { left_above(fast::PASSED, actions, exception, context) }
}

/// A frame is being left whose fields begin so many bytes above its stack pointer.
///
/// # Safety
/// The unwinder's own exception and context.
pub unsafe fn left_above(
    outgoing: usize,
    actions: c_int,
    exception: *const unwound::Exception,
    context: *mut c_void,
) -> c_int {
    if actions & unwound::CLEANUP_PHASE != 0
        // SAFETY: the caller's promise.
        && let Some(frame) = unsafe { unwound::frame_of(context).map(|at| &*((at + outgoing) as *const FastFrame)) }
    {
        record::unwound(frame.number as u32, frame.at());
        // SAFETY: the unwinder's own.
        record::unwound_around(frame.at(), unsafe { unwound::end_of(exception) });
    }
    unwound::CONTINUE_UNWIND
}
