//! The runtime calls that are open on a thread: those whose hooks' words wait between two callbacks, and those that a
//! binding led to, whose callbacks are the same calls.

use super::chain::Chain;
use super::functions::Info;
use super::open_call::OpenRuntime;
use super::thread::{OPEN, Thread};
use crate::process::page;
use cutap_wire::diagnostic;

impl Thread {
    /// A call begins.
    pub fn push(&mut self, call: OpenRuntime) {
        self.leave_below(call.at);
        match self.open.get_mut(self.depth) {
            Some(place) => {
                *place = call;
                self.depth += 1;
            }
            None => page::count(diagnostic::HOOK_PASSED, 1),
        }
    }
    /// Forgets calls that this stack has left.
    fn leave_below(&mut self, at: usize) {
        const ONE_STACK: usize = 8 << 20;
        while let Some(top) = self.depth.checked_sub(1).and_then(|d| self.open.get(d)) {
            if at.wrapping_sub(top.at) >= ONE_STACK {
                return;
            }
            self.depth -= 1;
        }
    }
    /// The kernel's name by which the bound call in this frame was reported; null before that.
    pub fn reported_kernel(&self, at: usize) -> *const u8 {
        let open = self.open.iter().take(self.depth.min(OPEN)).rfind(|c| c.at == at && c.bound);
        open.map_or(core::ptr::null(), |c| c.kernel)
    }
    /// Takes a call out, and with it what began after it.
    pub fn take(&mut self, at: usize) -> Option<OpenRuntime> {
        let n = self.open.iter().take(self.depth.min(OPEN)).rposition(|c| c.at == at)?;
        self.depth = n;
        self.open.get(n).copied()
    }
}

/// A bound function of a shared runtime begins: its callback is the same call.
pub fn bound(chain: &mut Chain, info: &'static Info) {
    // SAFETY: this thread's own entry.
    unsafe { &mut *chain.thread }.push(OpenRuntime {
        at: chain.at,
        info: Some(info),
        bound: true,
        ..OpenRuntime::NONE
    });
}

/// It ends.
pub fn bound_ended(chain: &mut Chain) {
    // SAFETY: this thread's own entry.
    unsafe { &mut *chain.thread }.take(chain.at);
}

/// A binding led to the same function of the same runtime, and its hooks have run there.
pub fn is_twin(thread: &mut Thread, info: &Info, frame: usize, at: usize, kernel: *const u8) -> bool {
    thread.leave_below(frame);
    let Some(top) = thread.depth.checked_sub(1).and_then(|d| thread.open.get_mut(d)) else { return false };
    let same = top.info.is_some_and(|t| t.object == info.object && t.name == info.name);
    if top.bound && top.reported == 0 && same {
        (top.reported, top.kernel) = (at, kernel);
        return true;
    }
    false
}
