//! Calls that end a handle and have not returned. The driver may already have ended it, and another thread may get the
//! same bits for a new handle, which the end of this call does not concern.

use super::handles::Key;

/// Open calls beyond this many are not followed.
const MOST: usize = 1 << 12;

/// Handles whose end has begun.
#[derive(Debug, Default)]
pub struct PendingEnds(pub(super) Vec<StartedCall>);

#[derive(Debug)]
pub(super) struct StartedCall {
    pub key: Key,
    thread: u32,
    pub start_ns: u64,
}

impl PendingEnds {
    /// A call begins that is to end this handle.
    pub fn begin(&mut self, key: Key, thread: u32, start_ns: u64) {
        if self.0.len() < MOST {
            self.0.push(StartedCall { key, thread, start_ns });
        }
    }

    /// A call has ended.
    pub fn call_ended(&mut self, thread: u32, start_ns: u64) {
        self.0.retain(|pending| pending.thread != thread || pending.start_ns != start_ns);
    }
}
