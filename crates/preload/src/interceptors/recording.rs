//! The recording interceptor: which calls through a frame are recorded, and what of them.

use super::chatter;
use crate::capture;
use crate::capture::exit::{EndedCall, exit_by_plan};
use crate::process::{fork, page, switch};
use crate::python;
use crate::ring::record::{enter, exit, ready};
use crate::ring::thread_state::{self, OpenCall, ThreadState};
use crate::ring::{counts, thread_states};
use crate::runtime::{own_calls, rules, suppress};
use crate::slots::fast_frame::FastFrame;
use crate::slots::frame::Frame;
use crate::slots::rows::{self, row};
use crate::slots::slot::Slot;
use crate::slots::{hooks, interceptors, plan, table};
use core::sync::atomic::Ordering::*;
use cutap_wire::diagnostic;

/// Like `ready`, for a call of this slot. A request of the driver to the kernel counts as the program's even while
/// cutap asks the driver. The driver may load a module then, as the program's own call would have made it do.
#[inline(always)]
fn ready_for(slot: &Slot, is_recording: bool) -> Option<&'static mut ThreadState> {
    let is_recorded = is_recording || slot.keeps_state() && switch::is_off();
    if !is_recorded {
        return None;
    }
    thread_states::current()
        .filter(|thread_state| !thread_state.inside || slot.interceptors() & interceptors::KERNEL != 0)
}

/// The recording interceptor, on the way in.
pub fn before(frame: &mut Frame) -> bool {
    if let Some(slot) = table::slot(frame.slot) {
        enter_slot(frame, slot);
    }
    true
}

/// The same, for a frame whose slot is at hand.
#[inline(always)]
pub fn enter_slot(frame: &mut Frame, slot: &Slot) {
    let is_recording = switch::recording();
    let Some(thread_state) = ready_for(slot, is_recording) else { return not_recorded(frame, slot) };
    let at = frame.stack as usize;
    thread_state.leave_below(at);
    if thread_state.depth == 0 && suppress::is_suppressed_runtime(frame.caller) {
        suppress::slot_bypassed();
    }
    if !rules::is_wanted(slot) {
        return;
    }
    if interceptors::may_be_self_induced(slot.interceptors()) {
        let hidden = own_calls::fills_record(thread_state, frame);
        if hidden || own_calls::is_one(thread_state, frame.caller, frame.slot) {
            return page::count(own_calls::reason(frame.slot), 1);
        }
    }
    if is_recording && slot.is_chatter() {
        return chatter::enter(thread_state, frame);
    }
    begin(thread_state, frame, slot, is_recording);
}

/// Writes the enter record of a call.
#[inline(always)]
pub fn begin(thread_state: &mut ThreadState, frame: &mut Frame, slot: &Slot, is_recording: bool) {
    let at = frame.stack as usize;
    let number_in_record = if is_recording { frame.slot } else { table::state_number(frame.slot) };
    let call = OpenCall { number: 0, slot: number_in_record, frame: at, reported: 0 };
    let number = match plan::words(slot.plan.load(Relaxed)).and_then(|n| frame.args.get(..n)) {
        Some(words) => enter(thread_state, call, frame.caller, [words]),
        None => enter_by_steps(thread_state, call, frame),
    };
    if let Some(number) = number {
        frame.number = number;
        frame.recorded = thread_state.identity();
    }
}

/// A call that is not to be recorded, or cannot be; counted, if calls are.
#[cold]
fn not_recorded(frame: &Frame, slot: &Slot) {
    if !switch::counting() {
        return switch::count_unrecorded();
    }
    let Some(thread_state) = thread_states::current() else { return };
    if !rules::is_wanted(slot) {
        return;
    }
    if interceptors::may_be_self_induced(slot.interceptors()) {
        if own_calls::fills_record(thread_state, frame) {
            return page::count(diagnostic::HIDDEN_SELF_INDUCED, 1);
        }
        return own_calls::counted(thread_state, frame.caller, frame.stack as usize, frame.slot);
    }
    counts::add(thread_state, frame.slot);
}

#[inline(never)]
fn enter_by_steps(thread_state: &mut ThreadState, call: OpenCall, frame: &Frame) -> Option<u32> {
    let remembered = table::row_of(frame.slot);
    match rows::of(remembered) {
        None => enter(thread_state, call, frame.caller, [&frame.args]),
        Some(row) if remembered & row::BEFORE != 0 => {
            capture::before(thread_state, frame, row, |thread_state, words| {
                enter(thread_state, call, frame.caller, words)
            })
        }
        Some(row) => enter(thread_state, call, frame.caller, [frame.args.get(..usize::from(row.ints)).unwrap_or(&[])]),
    }
}

/// The recording interceptor, on the way out.
#[inline(always)]
pub fn after(frame: &mut Frame) {
    if frame.recorded == 0 {
        return end_without_record(frame);
    }
    end(frame);
}

/// A call without a record: one that is counted gets both records if it failed.
#[cold]
fn end_without_record(frame: &mut Frame) {
    let Some((thread_state, slot)) = chatter::end(frame) else { return };
    begin(thread_state, frame, slot, true);
    if frame.recorded != 0 {
        end(frame);
    }
}

/// A call that is counted ends in its frame in assembler, and not in the usual way.
#[cold]
pub fn after_counted(frame: &FastFrame, origin: &ThreadState) {
    let mut frame = frame.frame(origin);
    chatter::mark(&mut frame, origin);
    fork::check();
    end_without_record(&mut frame);
}

/// Writes the exit record of a call that has an enter record.
#[inline(always)]
pub fn end(frame: &mut Frame) {
    let (thread_state, Some(slot)) = (thread_state::existing(), table::slot(frame.slot)) else { return };
    let Some(thread_state) = thread_state.filter(|thread_state| thread_state.identity() == frame.recorded) else {
        return ended_elsewhere(frame.recorded);
    };
    let [result, _] = frame.result;
    let call = EndedCall { number: frame.number, at: frame.stack as usize, result, words: &frame.args };
    let succeeded = result as u32 == 0;
    let hidden = !succeeded && hooks::succeeded(frame.number);
    if !succeeded && python::is_on() {
        python::keep_of_failed(thread_state, call.at, call.number, slot.name());
    }
    if hidden || !exit_by_plan(slot.plan.load(Relaxed), thread_state, &call) {
        exit_by_steps(thread_state, frame, succeeded || hidden);
    }
}

/// A call ends in another thread than it began in (a fibre), or in a child that was forked in it. Its number means
/// nothing in this ring. The end in the child is not recorded.
#[cold]
fn ended_elsewhere(began: u32) {
    if began >> 16 == fork::generation() & 0xffff {
        page::count(diagnostic::END_ELSEWHERE, 1);
    }
}

#[inline(never)]
fn exit_by_steps(thread_state: &mut ThreadState, frame: &Frame, succeeded: bool) {
    let remembered = table::row_of(frame.slot);
    let (number, at, [result, _]) = (frame.number, frame.stack as usize, frame.result);
    match rows::of(remembered) {
        Some(row) if remembered & row::AFTER != 0 => {
            capture::after(thread_state, frame, row, succeeded, |thread_state, words| {
                exit(thread_state, at, number, words)
            });
        }
        _ => exit(thread_state, at, number, &[result]),
    }
}

/// A call through the fast frame ends, and not in the usual way.
#[cold]
pub fn after_fast(frame: &FastFrame, origin: &ThreadState) {
    fork::check();
    after(&mut frame.frame(origin));
}

/// A call through the fast frame has its record, and is not the innermost open one.
#[cold]
pub fn close_fast(frame: &FastFrame) {
    if let Some(thread_state) = thread_state::existing() {
        thread_state.pop(frame.number as u32);
    }
}

/// A C++ function: an enter record alone.
pub fn record_enter_only(frame: &mut Frame) {
    let Some(slot) = table::slot(frame.slot) else { return };
    let Some(thread_state) = ready() else { return not_recorded(frame, slot) };
    if slot.plan.load(Relaxed) & plan::UNWANTED != 0 {
        return;
    }
    let at = frame.stack as usize;
    thread_state.leave_below(at);
    let call = OpenCall { number: 0, slot: frame.slot, frame: at, reported: 0 };
    if let Some(number) = enter(thread_state, call, frame.caller, [&frame.args]) {
        thread_state.pop(number);
    }
}
