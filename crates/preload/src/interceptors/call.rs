//! The common path of every call through a frame: what runs before and after it, and the interceptors of the slot.

use super::recording;
use super::table::{Action, of_bit};
use crate::process::{fork, switch};
use crate::ring::{counts, thread_states};
use crate::runtime::rules;
use crate::slots::frame::{Frame, stack_words};
use crate::slots::{interceptors, table};
use core::sync::atomic::Ordering::Relaxed;

/// Before the call. 0: it was answered.
#[inline(always)]
pub fn begin(frame: &mut Frame) -> u32 {
    frame.recorded = 0;
    frame.number = 0;
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
    run_interceptors_before(set, frame).into()
}

/// After the call.
#[inline(always)]
pub fn end(frame: &mut Frame) {
    fork::check();
    if frame.interceptors == interceptors::RECORD {
        return recording::after(frame);
    }
    run_interceptors_after(frame);
}

/// A C++ function that was asked for: recorded on the way in, then jumped to, for its arguments by value
/// may be larger than what a frame passes on.
#[inline(always)]
pub fn record_entry(frame: &mut Frame) -> usize {
    fork::check();
    let Some(slot) = table::slot(frame.slot) else { return 0 };
    recording::record_enter_only(frame);
    slot.real.load(Relaxed)
}

/// A call that the gate could not count by itself: the thread's first one, or one of a new slot. Gives the function.
#[inline(always)]
pub fn count(frame: &mut Frame) -> usize {
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

/// The frame of a hooked function does it, with what hooks made of the arguments.
fn is_hooked(frame: &Frame) -> bool {
    table::is_thunk(frame.target)
}

/// Runs the interceptors of `set` before the call; false when one of them answered.
#[inline(always)]
fn run_interceptors_before(set: u32, frame: &mut Frame) -> bool {
    let mut rest = set;
    while rest != 0 {
        let bit = rest.trailing_zeros();
        rest &= rest - 1;
        let Some(interceptor) = of_bit(bit) else { continue };
        frame.interceptors |= 1 << bit;
        match &interceptor.action {
            Action::Around(before, _) if !before(frame) => return false,
            Action::Before(act) => act(frame),
            Action::Inputs(keep) if !is_hooked(frame) => keep(&frame.args),
            _ => {}
        }
    }
    true
}

/// Runs after those that ran before, last first.
#[inline(always)]
fn run_interceptors_after(frame: &mut Frame) {
    let mut rest = frame.interceptors;
    while rest != 0 {
        let bit = 31 - rest.leading_zeros();
        rest &= !(1 << bit);
        match of_bit(bit).map(|interceptor| &interceptor.action) {
            Some(Action::Around(_, after) | Action::After(after)) => after(frame),
            Some(Action::Results(keep)) if !is_hooked(frame) => {
                let [code, _] = frame.result;
                keep(table::name_of(frame.slot), &frame.args, code);
            }
            _ => {}
        }
    }
}
