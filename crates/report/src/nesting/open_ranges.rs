//! The ranges of NVTX that threads are in.

use cutap_trace::{Call, Exit, State};
use std::collections::HashMap;
use std::sync::Arc;

/// By the thread's key: the number and the name of each, the outermost first.
#[derive(Debug, Default)]
pub(crate) struct OpenRanges(HashMap<u32, Vec<(u32, Arc<str>)>>);

impl OpenRanges {
    /// A range begins. Marks, and ranges that may end in another thread, are around nothing.
    pub fn enter(&mut self, call: &Call) {
        if !call.function.entry_only {
            let open = self.0.entry(call.thread.key).or_default();
            open.push((call.number(), call.function.name.clone()));
        }
    }

    /// A range ends. One that never ended stays: calls that never ended are in it.
    pub fn exit(&mut self, exit: &Exit) {
        if exit.state != State::Unfinished
            && let Some(open) = self.0.get_mut(&exit.call.thread.key)
        {
            open.retain(|(number, _)| *number != exit.call.number());
        }
    }

    /// The innermost range around a call.
    pub fn innermost(&self, call: &Call) -> Option<&str> {
        self.0.get(&call.thread.key)?.last().map(|(_, name)| &**name)
    }
}
