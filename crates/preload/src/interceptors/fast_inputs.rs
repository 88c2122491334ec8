//! The way in of calls with inputs, through a fast frame: memory that is kept is recorded with the words. It only ever
//! records where all is as usual; anything else is left to the common frame, with nothing changed.

use crate::capture::{self, ArgumentWords, Call, launch};
use crate::process::switch;
use crate::ring::record;
use crate::ring::thread_state::{OpenCall, ThreadState};
use crate::runtime::suppress;
use crate::slots::fast_frame::{FastFrame, INPUTS_STACK_WORDS};
use crate::slots::plan::{LAUNCH, UNWANTED};
use crate::slots::slot::Slot;
use crate::slots::{rows, table};
use core::sync::atomic::Ordering::Relaxed;
use cutap_calls::capture::Row;

/// Answers of `before`: by the common frame; not recorded; else the number of stack words to pass on, and
/// one.
const COMMON: i32 = 0;
const NOT_RECORDED: i32 = -1;

/// Before the call: what is kept of it goes to the ring.
#[inline(always)]
pub fn before(frame: &mut FastFrame) -> i32 {
    let n = frame.slot();
    // Where the thread has none yet, the common frame makes it, or counts that it could not.
    let (Some(slot), Some(thread_state)) = (table::slot(n), record::ready_already()) else { return COMMON };
    let (at, caller) = (frame.at(), frame.caller());
    thread_state.leave_below(at);
    let plan = slot.plan.load(Relaxed);
    let Some(row) = rows::of(table::row_of(n)).filter(|_| plan & UNWANTED == 0 && !switch::rules_changed()) else {
        return COMMON;
    };
    if thread_state.depth == 0 && suppress::is_suppressed_runtime(caller) {
        return COMMON;
    }
    let args = frame.args();
    // SAFETY: the function's own stack words, as the registry says; the stack is aligned.
    let stack = unsafe { core::slice::from_raw_parts(at as *const u64, row.stack.into()) };
    let words = [args.get(..usize::from(row.ints)).unwrap_or(&[]), stack];
    let call = OpenCall { number: 0, slot: n, frame: at, reported: 0 };
    let launched = if plan & LAUNCH != 0 { launch::enter(thread_state, call, caller, row, words) } else { None };
    let Some(number) = launched.unwrap_or_else(|| by_steps(thread_state, call, caller, row, words, slot)) else {
        return NOT_RECORDED;
    };
    frame.entered(number, thread_state);
    // Launches are the driver's, whose functions take the same arguments in all versions. That there are none is what
    // the fast frame believes.
    let stack_words = if plan & LAUNCH != 0 || row.stack == 0 { row.stack.into() } else { INPUTS_STACK_WORDS };
    1 + stack_words as i32
}

#[inline(never)]
fn by_steps(
    thread_state: &mut ThreadState,
    call: OpenCall,
    caller: usize,
    row: &Row,
    words: ArgumentWords,
    slot: &Slot,
) -> Option<u32> {
    let target = slot.real.load(Relaxed);
    let driver = table::real_of(target).unwrap_or(target);
    let of_frame = Call { words, result: 0, floats: [0; 2], driver };
    capture::inputs(thread_state, row, &of_frame, call.frame, |thread_state, words| {
        record::enter(thread_state, call, caller, words)
    })
}
