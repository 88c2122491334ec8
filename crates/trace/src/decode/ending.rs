//! Calls that end handles and have not returned. Meanwhile the driver may have ended the handle, and another thread may be
//! given its bits anew: that is another one, and the end of the call does not mean it.

use super::handles::Key;
use super::ownership;
use super::state::{EffectOrigin, State};
use cutap_calls::hands_out;
use cutap_calls::known::Handle;

/// Open calls beyond this many are not followed.
const MOST: usize = 1 << 12;
/// Handles that end with each other.
const DEEP: usize = 8;

/// Handles whose end has begun.
#[derive(Debug, Default)]
pub struct Ending(Vec<StartedCall>);

#[derive(Debug)]
struct StartedCall {
    key: Key,
    thread: u32,
    start_ns: u64,
}

impl Ending {
    /// A call begins that is to end this handle.
    pub fn begins(&mut self, key: Key, thread: u32, start_ns: u64) {
        if self.0.len() < MOST {
            self.0.push(StartedCall { key, thread, start_ns });
        }
    }

    /// A call is over.
    pub fn over(&mut self, thread: u32, start_ns: u64) {
        self.0.retain(|begun| begun.thread != thread || begun.start_ns != start_ns);
    }
}

impl State {
    /// A handle that a call wrote: its number.
    pub fn written(&mut self, kind: &'static Handle, value: u64, told: Option<EffectOrigin<'_>>) -> u32 {
        let key = (kind.short, value);
        if !self.ending.0.is_empty() && told.is_some_and(|told| !hands_out(told.name)) && self.is_ending(key) {
            let mut ended = Vec::new();
            self.handles.end(key, self.now, &mut ended);
            ownership::end(self, &ended, self.now);
        }
        self.handles.written(kind, value, self.now)
    }

    /// Whether a call is to end this handle, or what it ends with, that began when the handle was there.
    fn is_ending(&self, key: Key) -> bool {
        let Some((since, _)) = self.handles.live(key) else { return false };
        let owner = |key: &Key| self.handles.live(*key)?.1;
        let begun = |key: Key| self.ending.0.iter().any(|begun| begun.key == key && since <= begun.start_ns);
        std::iter::successors(Some(key), owner).take(DEEP).any(begun)
    }
}
