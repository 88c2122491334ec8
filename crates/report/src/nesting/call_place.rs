//! A call of a run, whichever reading it is found in.

use cutap_trace::{Call, Thread};

/// Which run, folder of the process, thread and number of a call.
pub type CallPlace = (u32, Box<str>, u32, u32);

/// The place of a call by its thread and its number.
pub fn place_of(thread: &Thread, number: u32) -> CallPlace {
    let run_place = thread.process.run.as_ref().map_or(0, |run| run.place);
    (run_place, thread.process.folder.clone(), thread.tid, number)
}

/// The place of a call.
pub fn place_of_call(call: &Call) -> CallPlace {
    place_of(&call.thread, call.number())
}
