//! cudaGetLastError and cudaPeekAtLastError after a hook answered a runtime call or changed its result.
//! The runtime knows nothing of that: its own last error is what its own calls left. So for each thread
//! and each runtime two numbers are kept: the runtime's own last error as far as hooked calls have shown it, and
//! what the program is to be told as long as the runtime still has that one.
//!
//! When the program asks: an error of the runtime's that no hooked call has shown is told as it is, and what hooks
//! gave is forgotten (of one that the runtime had before, too: which came first is not known). Else what
//! is to be told is told. cudaGetLastError forgets all.
//!
//! cudaErrorNotReady is no error to a runtime: none of NVIDIA's keeps it.

use super::chain::Chain;
use super::functions::Info;
use super::thread::{self, Thread};

/// The last error of one runtime on one thread.
#[derive(Clone, Copy)]
pub struct LastError {
    /// The runtime's load; 0: free.
    object: u32,
    /// The runtime's own, as far as it is known.
    own: u32,
    /// What the program is to be told in its place.
    told: u32,
}

impl LastError {
    /// None.
    pub const NONE: LastError = LastError { object: 0, own: 0, told: 0 };

    /// A call failed in the runtime with `real`, or is 0; the program gets `given`.
    fn ended(&mut self, real: u32, given: u32) {
        if real != 0 {
            self.own = real;
        }
        // A hook hid it: what the program was to be told before, it still is.
        if given != 0 {
            self.told = given;
        }
    }

    /// What the program is told when it asks and the runtime itself says `real`.
    fn ask(&mut self, real: u32, forgets: bool) -> u32 {
        let told = match real {
            0 if self.told == self.own => 0,
            _ if real == 0 || real == self.own => self.told,
            _ => real,
        };
        (self.own, self.told) = if forgets { (0, 0) } else { (real, told) };
        told
    }
}

/// True for the two functions that ask.
pub fn asks(name: &[u8]) -> bool {
    matches!(name, b"cudaGetLastError" | b"cudaPeekAtLastError")
}

/// Their result is no error code.
fn no_code(name: &[u8]) -> bool {
    matches!(name, b"cudaGetErrorName" | b"cudaGetErrorString" | b"cudaCreateChannelDesc") || name.starts_with(b"__")
}

fn of(thread: &mut Thread, object: u32) -> Option<&mut LastError> {
    let at = thread.errors.iter().position(|e| e.object == object);
    let at = at.or_else(|| thread.errors.iter().position(|e| e.object == 0)).unwrap_or(0);
    let error = thread.errors.get_mut(at)?;
    if error.object != object {
        *error = LastError { object, ..LastError::NONE };
    }
    Some(error)
}

/// `cudaErrorNotReady`.
const NOT_READY: u32 = 600;

/// A runtime call ended: with `real`, or it was not made; the program gets `given`.
pub fn given(chain: &mut Chain, info: &Info, real: Option<u32>, given: u32) {
    let kept = |code: u32| if code == NOT_READY { 0 } else { code };
    let (real, given) = (real.map_or(0, kept), kept(given));
    if asks(info.name) || no_code(info.name) || real == 0 && given == 0 {
        return;
    }
    // SAFETY: this thread's own entry.
    if let Some(error) = of(unsafe { &mut *chain.thread }, info.object) {
        error.ended(real, given);
    }
}

/// A question of our own failed with `failed`, and the runtime has forgotten that `pending` was its last error.
pub fn hide(thread: &mut Thread, object: u32, pending: u32, failed: u32) {
    if let Some(error) = of(thread, object) {
        error.ask(pending, false);
        error.ended(failed, 0);
    }
}

/// What the program gets from one of the two functions that ask, of the runtime of load `object`.
pub fn told(object: u32, name: &[u8], real: u32) -> u32 {
    let forgets = name == b"cudaGetLastError";
    // One that the program has seen may be hidden by a later call.
    let thread = if real != 0 && !forgets { thread::current() } else { thread::existing() };
    let error = thread.and_then(|t| of(t, object));
    error.map_or(real, |e| e.ask(real, forgets))
}
