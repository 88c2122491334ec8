//! The common path of every call through a frame: what the assembler calls before and after, and the interceptors of
//! the slot, which run there.

use super::recording;
use crate::capture::{call_stack, handles, ioctl};
use crate::process::{fork, switch};
use crate::ring::{counts, thread_states};
use crate::routes::{export_table, proc_address};
use crate::runtime::{instances, rules};
use crate::slots::extension::{Interceptor, extension};
use crate::slots::frame::{Frame, stack_words};
use crate::slots::{interceptors, table};
use core::sync::atomic::Ordering::Relaxed;

/// Before the call. 0: it was answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_before(frame: *mut Frame) -> u32 {
    // SAFETY: the assembler's frame.
    let frame = unsafe { &mut *frame };
    frame.recorded = 0;
    frame.interceptors = 0;
    let Some(slot) = table::slot(frame.slot) else { return 1 };
    frame.target = slot.real.load(Relaxed);
    frame.stack_words = stack_words(frame.stack as usize);
    fork::check();
    let set = slot.interceptors();
    if set == interceptors::RECORD {
        // The commonest: no chain.
        frame.interceptors = set;
        recording::enter_slot(frame, slot);
        return 1;
    }
    before(set, frame).into()
}

/// After the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_after(frame: *mut Frame) {
    // SAFETY: the assembler's frame.
    let frame = unsafe { &mut *frame };
    fork::check();
    if frame.interceptors == interceptors::RECORD {
        return recording::after(frame);
    }
    after(frame);
}

/// A C++ function that was asked for: recorded on the way in, then jumped to, for its arguments by value
/// may be larger than what a frame passes on.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_noted(frame: *mut Frame) -> usize {
    // SAFETY: the assembler's frame.
    let frame = unsafe { &mut *frame };
    fork::check();
    let Some(slot) = table::slot(frame.slot) else { return 0 };
    recording::record_enter_only(frame);
    slot.real.load(Relaxed)
}

/// A call that the gate could not count by itself: the thread's first one, or one of a new slot. Gives the function.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_counted(frame: *mut Frame) -> usize {
    // SAFETY: the assembler's frame.
    let frame = unsafe { &mut *frame };
    fork::check();
    let Some(slot) = table::slot(frame.slot) else { return 0 };
    // A forked child that is not followed has just been noticed; or it has been switched meanwhile.
    if fork::is_away() || !switch::counting() {
        return slot.real.load(Relaxed);
    }
    if let Some(thread_state) = thread_states::current() {
        if !thread_state.inside && rules::is_wanted(slot) {
            counts::add(thread_state, frame.slot);
        }
        counts::show_gate(thread_state);
    }
    slot.real.load(Relaxed)
}

/// The interceptors by bit. FOOTPRINT does nothing of its own: recording asks for it.
static INTERCEPTORS: [Interceptor; 16] = [
    Interceptor { before: recording::before, after: recording::after },
    Interceptor { before: extended, after: extended_after },
    Interceptor { before: pass, after: proc_address::after },
    Interceptor { before: pass, after: export_table::after },
    Interceptor { before: pass, after: nothing },
    Interceptor { before: pass, after: ended_here },
    Interceptor { before: unload, after: nothing },
    Interceptor { before: made_here, after: nothing },
    Interceptor { before: made_here, after: nothing },
    Interceptor { before: pass, after: range_on },
    Interceptor { before: pass, after: range_off },
    Interceptor { before: call_stack::before, after: nothing },
    Interceptor { before: ioctl::before, after: ioctl::after },
    Interceptor { before: made_here, after: nothing },
    Interceptor { before: made_here, after: nothing },
    Interceptor { before: made_here, after: nothing },
];

fn extended(frame: &mut Frame) -> bool {
    extension(|of| (of.interceptor.before)(frame)) != Some(false)
}
fn extended_after(frame: &mut Frame) {
    extension(|of| (of.interceptor.after)(frame));
}

fn pass(_: &mut Frame) -> bool {
    true
}
fn nothing(_: &mut Frame) {}
fn unload(_: &mut Frame) -> bool {
    handles::unload();
    true
}
/// The frame of a hooked function does it, with what hooks made of the arguments.
fn is_hooked(frame: &Frame) -> bool {
    table::is_thunk(frame.target)
}
fn made_here(frame: &mut Frame) -> bool {
    if !is_hooked(frame) {
        interceptors::keep_inputs(frame.interceptors, &frame.args);
    }
    true
}
fn ended_here(frame: &mut Frame) {
    let [code, _] = frame.result;
    if !is_hooked(frame) {
        interceptors::keep_results(frame.interceptors, table::name_of(frame.slot), &frame.args, code);
    }
}
fn range_on(_: &mut Frame) {
    if switch::range(true) {
        instances::follow();
    }
}
fn range_off(_: &mut Frame) {
    if switch::range(false) {
        instances::follow();
    }
}

/// Runs the interceptors of `set` before the call; false when one of them answered.
#[inline(always)]
fn before(set: u32, frame: &mut Frame) -> bool {
    let mut rest = set;
    while rest != 0 {
        let bit = rest.trailing_zeros();
        rest &= rest - 1;
        if let Some(interceptor) = INTERCEPTORS.get(bit as usize) {
            frame.interceptors |= 1 << bit;
            if !(interceptor.before)(frame) {
                return false;
            }
        }
    }
    true
}

/// Runs after those that ran before, last first.
#[inline(always)]
fn after(frame: &mut Frame) {
    let mut rest = frame.interceptors;
    while rest != 0 {
        let bit = 31 - rest.leading_zeros();
        rest &= !(1 << bit);
        if let Some(interceptor) = INTERCEPTORS.get(bit as usize) {
            (interceptor.after)(frame);
        }
    }
}
