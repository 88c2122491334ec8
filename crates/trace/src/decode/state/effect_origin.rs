//! The call that an effect is known by, for effects that several layers report.

use crate::event::{Call, Exit};
use cutap_calls::hands_out;

/// A call that has told of something, at its end.
#[derive(Debug, Clone, Copy)]
pub struct EffectOrigin<'a> {
    pub name: &'a str,
    pub thread: u32,
    pub start_ns: u64,
    pub now: u64,
}

impl<'a> EffectOrigin<'a> {
    pub fn new(call: &'a Call, exit: &Exit) -> EffectOrigin<'a> {
        EffectOrigin { name: &call.function.name, thread: call.thread.key, start_ns: call.start_ns, now: exit.end_ns }
    }

    /// Whether it tells of what a call of this thread told of at that time: it is around that call, or makes nothing
    /// itself. Else the driver has given the same address again.
    pub fn repeats(&self, thread: u32, since: u64) -> bool {
        self.thread == thread && self.start_ns < since || hands_out(self.name)
    }
}
