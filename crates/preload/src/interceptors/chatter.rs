//! Calls of functions that start no work (`calls::is_chatter`) under `record --chatter=count`: they are counted when they
//! return, and recorded only where they fail. A record of such a call has the time of its end for both ends. Calls inside
//! it were recorded before it, and hang on the call around it.
//!
//! This is the way of the common frame, and of what `arch::x86_64::chatter_frame` does not do itself.

use super::recording;
use crate::process::fork;
use crate::ring::counts;
use crate::ring::reserve::calls;
use crate::ring::thread_state::{self, OpenCall, ThreadState};
use crate::slots::fast_frame::FastFrame;
use crate::slots::frame::Frame;
use crate::slots::table;

/// In `Frame::number` of a call without a record: it is counted.
const COUNTED: u32 = 1;

/// Such a call begins. The recording interceptor's flag stays 0, for there is no record.
#[cold]
pub fn enter(thread_state: &mut ThreadState, frame: &mut Frame) {
    let call = OpenCall { number: 0, slot: frame.slot, frame: frame.stack as usize, reported: 0 };
    thread_state.push_counted(calls(thread_state), call);
    frame.number = COUNTED;
    frame.word = thread_state.identity().into();
}

/// A call without a record ends: counted, if it is such a call.
#[cold]
pub fn after(frame: &mut Frame) {
    let is_chatter = table::slot(frame.slot).is_some_and(|slot| slot.is_chatter());
    if !is_chatter || frame.number != COUNTED {
        return;
    }
    // One that ends in another thread than it began in, or in a child that was forked in it, is not counted there.
    let thread_state = thread_state::existing();
    let Some(thread_state) = thread_state.filter(|state| u64::from(state.identity()) == frame.word) else { return };
    thread_state.pop_counted(frame.stack as usize);
    let [result, _] = frame.result;
    if result as u32 == 0 {
        counts::add(thread_state, frame.slot);
        return;
    }
    if let Some(slot) = table::slot(frame.slot).filter(|_| !thread_state.inside) {
        recording::begin(thread_state, frame, slot, true);
        if frame.recorded != 0 {
            recording::end(frame);
        }
    }
}

/// The same for the frame of the assembler.
#[cold]
pub fn after_fast(frame: &FastFrame, origin: &ThreadState) {
    let began = origin.identity();
    fork::check();
    let mut frame = frame.frame(origin);
    frame.recorded = 0;
    frame.number = COUNTED;
    frame.word = began.into();
    after(&mut frame);
}
