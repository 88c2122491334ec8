//! Calls that do not return: the unwinder tells each frame that it is being left by an exception, by
//! pthread_exit or by cancellation, and the frame says so to the ring. It never stops the unwinding and
//! has nothing to clean up. longjmp tells nobody; the next call of the thread shows it.

use super::fast_frame::FastFrame;
use super::frame::{Frame, STACK_WORDS};
use crate::loader::elf::is_function;
use crate::loader::live;
use crate::process::fork;
use crate::ring::record;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// In a personality routine's actions.
pub const CLEANUP_PHASE: c_int = 2;
/// Answer of one that stops nothing.
pub const CONTINUE_UNWIND: c_int = 8;

/// The common frame's personality routine: it is being left.
///
/// # Safety
/// The unwinder's own exception and context.
#[inline(always)]
pub unsafe fn leave_frame(actions: c_int, exception: *const Exception, context: *mut c_void) -> c_int {
    if actions & CLEANUP_PHASE != 0
        && let Some(stack_pointer) = stack_pointer()
    {
        // What throws may have forked.
        fork::check();
        // SAFETY: the unwinder's own context; the frame's stack pointer during the call is where the
        // outgoing words begin, and the frame lies behind them.
        unsafe {
            let outgoing = stack_pointer(context);
            let frame = &*((outgoing + 8 * STACK_WORDS) as *const Frame);
            let at = frame.stack as usize;
            if frame.recorded != 0 {
                record::unwound(frame.number, at);
            }
            record::unwound_around(at, end_of(exception));
        }
    }
    CONTINUE_UNWIND
}

/// An exception leaves a fast frame, whose fields begin so many bytes above its stack pointer.
///
/// # Safety
/// The unwinder's own exception and context.
pub unsafe fn leave_fast_frame(
    outgoing: usize,
    actions: c_int,
    exception: *const Exception,
    context: *mut c_void,
) -> c_int {
    if actions & CLEANUP_PHASE != 0
        // SAFETY: the caller's promise.
        && let Some(frame) = unsafe { frame_of(context).map(|at| &*((at + outgoing) as *const FastFrame)) }
    {
        record::unwound(frame.number as u32, frame.at());
        // SAFETY: the unwinder's own.
        record::unwound_around(frame.at(), unsafe { end_of(exception) });
    }
    CONTINUE_UNWIND
}

/// What the unwinder throws, of which the ABI leaves the last two words to it.
#[repr(C)]
pub struct Exception {
    class: u64,
    cleanup: usize,
    /// Of a forced unwinding: what says when it ends.
    stop: usize,
    /// Else: the stack pointer of the frame that catches.
    catcher: usize,
}

/// Up to where on the stack everything is being left.
///
/// # Safety
/// The unwinder's own exception.
pub unsafe fn end_of(exception: *const Exception) -> usize {
    // SAFETY: the caller's promise.
    match unsafe { exception.as_ref() } {
        Some(Exception { stop: 0, catcher, .. }) => *catcher,
        Some(_) => usize::MAX,
        None => 0,
    }
}

/// Stack pointer of the frame that the unwinder is at, in a personality routine.
///
/// # Safety
/// The unwinder's own context.
pub unsafe fn frame_of(context: *mut c_void) -> Option<usize> {
    // SAFETY: the caller's promise.
    stack_pointer().map(|f| unsafe { f(context) })
}

type StackPointer = unsafe extern "C" fn(*mut c_void) -> usize;

/// The unwinder's `_Unwind_GetCFA`, which in a personality routine gives the frame's stack pointer. It
/// is loaded, for it is calling us; one that is linked in without the name is not found.
fn stack_pointer() -> Option<StackPointer> {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    let mut at = FOUND.load(Relaxed);
    if at == 0 {
        at = live::each(
            |_| true,
            |o| {
                let mut exported_at = None;
                // SAFETY: under the loader's lock.
                unsafe {
                    o.tables.find(b"_Unwind_GetCFA", |s, _| {
                        let address = o.base.wrapping_add(s.value);
                        exported_at = is_function(s, o.base, address).then_some(address);
                        exported_at.is_some()
                    });
                }
                exported_at
            },
        )?;
        FOUND.store(at, Relaxed);
    }
    // SAFETY: that function has this type.
    Some(unsafe { core::mem::transmute::<usize, StackPointer>(at) })
}
