//! The recording hook: which calls through a frame are recorded, and what of them.

use super::fast_frame::FastFrame;
use super::frame::Frame;
use super::slot::Slot;
use super::{hooks, rules, table};
use crate::capture::exit::{EndedCall, exit as call_exit};
use crate::capture::rows::{self, row};
use crate::capture::{self, plan};
use crate::hook;
use crate::routes::{own_calls, suppress};
use crate::start::{forked, page, switch};
use crate::thread::block::{self, OpenCall, ThreadState};
use crate::thread::record::{enter, exit, ready};
use crate::thread::{blocks, counts, fork};
use core::sync::atomic::Ordering::*;
use cutap_wire::diagnostic;

/// Like `ready`, for a call of this slot. A request of the driver to the kernel counts as the program's even while
/// cutap asks the driver. The driver may load a module then, as the program's own call would have made it do.
#[inline(always)]
fn ready_for(slot: &Slot) -> Option<&'static mut ThreadState> {
    if !switch::recording() {
        return None;
    }
    blocks::current().filter(|b| !b.inside || slot.hooks() & hooks::KERNEL != 0)
}

/// The recording hook, on the way in.
pub fn before(frame: &mut Frame) -> bool {
    if let Some(slot) = table::slot(frame.slot) {
        enter_slot(frame, slot);
    }
    true
}

/// The same, for a frame whose slot is at hand.
#[inline(always)]
pub fn enter_slot(frame: &mut Frame, slot: &Slot) {
    let Some(b) = ready_for(slot) else { return not_recorded(frame, slot) };
    let at = frame.stack as usize;
    b.leave_below(at);
    if b.depth == 0 && suppress::is_suppressed_runtime(frame.caller) {
        suppress::slot_bypassed();
    }
    if !rules::is_wanted(slot) {
        return;
    }
    if hooks::may_be_footprint(slot.hooks()) {
        let hidden = own_calls::fills_record(b, frame);
        if hidden || own_calls::is_one(b, frame.caller, frame.slot) {
            return page::count(own_calls::reason(frame.slot), 1);
        }
    }
    let call = OpenCall { number: 0, slot: frame.slot, frame: at, reported: 0 };
    let number = match plan::words(slot.plan.load(Relaxed)).and_then(|n| frame.args.get(..n)) {
        Some(words) => enter(b, call, frame.caller, [words]),
        None => enter_by_steps(b, call, frame),
    };
    if let Some(number) = number {
        frame.number = number;
        frame.recorded = b.identity();
    }
}

/// A call that is not to be recorded, or cannot be; counted, if calls are.
#[cold]
fn not_recorded(frame: &Frame, slot: &Slot) {
    if !switch::counting() {
        return switch::count_unrecorded();
    }
    let Some(b) = blocks::current() else { return };
    if !rules::is_wanted(slot) {
        return;
    }
    if hooks::may_be_footprint(slot.hooks()) {
        if own_calls::fills_record(b, frame) {
            return page::count(diagnostic::HIDDEN_FOOTPRINT, 1);
        }
        return own_calls::counted(b, frame.caller, frame.stack as usize, frame.slot);
    }
    counts::add(b, frame.slot);
}

#[inline(never)]
fn enter_by_steps(b: &mut ThreadState, call: OpenCall, frame: &Frame) -> Option<u32> {
    let remembered = table::row_of(frame.slot);
    match rows::of(remembered) {
        None => enter(b, call, frame.caller, [&frame.args]),
        Some(row) if remembered & row::BEFORE != 0 => {
            capture::before(b, frame, row, |b, words| enter(b, call, frame.caller, words))
        }
        Some(row) => enter(b, call, frame.caller, [frame.args.get(..usize::from(row.ints)).unwrap_or(&[])]),
    }
}

/// The recording hook, on the way out.
#[inline(always)]
pub fn after(frame: &mut Frame) {
    if frame.recorded == 0 {
        return;
    }
    let (b, Some(slot)) = (block::existing(), table::slot(frame.slot)) else { return };
    let Some(b) = b.filter(|b| b.identity() == frame.recorded) else { return ended_elsewhere(frame.recorded) };
    let [result, _] = frame.result;
    let call = EndedCall { number: frame.number, at: frame.stack as usize, result, words: &frame.args };
    let succeeded = result as u32 == 0;
    let hidden = !succeeded && hook::thread::succeeded(frame.number);
    if hidden || !call_exit(slot.plan.load(Relaxed), b, &call) {
        exit_by_steps(b, frame, succeeded || hidden);
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
fn exit_by_steps(b: &mut ThreadState, frame: &Frame, succeeded: bool) {
    let remembered = table::row_of(frame.slot);
    let (number, at, [result, _]) = (frame.number, frame.stack as usize, frame.result);
    match rows::of(remembered) {
        Some(row) if remembered & row::AFTER != 0 => {
            capture::after(b, frame, row, succeeded, |b, words| exit(b, at, number, words));
        }
        _ => exit(b, at, number, &[result]),
    }
}

/// A call through the fast frame ends, and not in the usual way.
#[cold]
pub fn after_fast(frame: &FastFrame, origin: &ThreadState) {
    forked::check();
    after(&mut frame.frame(origin));
}

/// A call through the fast frame has its record, and is not the innermost open one.
#[cold]
pub fn close_fast(frame: &FastFrame) {
    if let Some(b) = block::existing() {
        b.pop(frame.number as u32);
    }
}

/// A C++ function: an enter record alone.
pub fn record_enter_only(frame: &mut Frame) {
    let Some(slot) = table::slot(frame.slot) else { return };
    let Some(b) = ready() else { return not_recorded(frame, slot) };
    if slot.plan.load(Relaxed) & plan::UNWANTED != 0 {
        return;
    }
    let at = frame.stack as usize;
    b.leave_below(at);
    let call = OpenCall { number: 0, slot: frame.slot, frame: at, reported: 0 };
    if let Some(number) = enter(b, call, frame.caller, [&frame.args]) {
        b.pop(number);
    }
}
