//! Calls of functions that start no work (`calls::is_chatter`) under `record --chatter=count`. They are counted when
//! they return, and recorded only where they fail. A record of such a call has the time of its end for both ends.
//! Calls inside it were recorded before it, and hang on the call around it.
//!
//! This is the way of the common frame, and of what the frame in assembler does not do itself. It counts, and
//! `recording` records.

use crate::ring::counts;
use crate::ring::reserve::calls;
use crate::ring::thread_state::{self, OpenCall, ThreadState};
use crate::slots::frame::Frame;
use crate::slots::slot::Slot;
use crate::slots::table;

/// In `Frame::number` of a call without a record: it is counted.
const COUNTED: u32 = 1;

/// Such a call begins. `Frame::recorded` stays 0, for there is no record.
#[cold]
pub fn enter(thread_state: &mut ThreadState, frame: &mut Frame) {
    let call = OpenCall { number: 0, slot: frame.slot, frame: frame.stack as usize, reported: 0 };
    thread_state.push_counted(calls(thread_state), call);
    mark(frame, thread_state);
}

/// The call in this frame is counted, and a thread with this state began it.
pub fn mark(frame: &mut Frame, began_by: &ThreadState) {
    frame.recorded = 0;
    frame.number = COUNTED;
    frame.word = began_by.identity().into();
}

/// A call without a record ends: counted, if it is such a call. If it failed, where it is to be recorded.
#[cold]
pub fn end(frame: &Frame) -> Option<(&'static mut ThreadState, &'static Slot)> {
    let slot = table::slot(frame.slot).filter(|slot| slot.is_chatter() && frame.number == COUNTED)?;
    // One that ends in another thread than it began in, or in a child that was forked in it, is not counted there.
    let thread_state = thread_state::existing().filter(|state| u64::from(state.identity()) == frame.word)?;
    thread_state.pop_counted(frame.stack as usize);
    let [result, _] = frame.result;
    if result as u32 == 0 {
        counts::add(thread_state, frame.slot);
        return None;
    }
    (!thread_state.inside).then_some((thread_state, slot))
}
