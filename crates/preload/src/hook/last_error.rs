//! cudaGetLastError and cudaPeekAtLastError after a hook answered a runtime call or changed its result.
//! The runtime knows nothing of that: its own last error is what its own calls left. So for each thread
//! and each runtime two numbers are kept: the error that a hook gave, and the real one that a hook hid.
//!
//! When the program asks: a real error that no hook hid is told as it is, and the hook's is forgotten
//! (one that the runtime had before the hook's, too: which came first is not known). Else the hook's is
//! told. cudaGetLastError forgets both, cudaPeekAtLastError neither.
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
    /// What a hook gave.
    given: u32,
    /// What a hook hid.
    hidden: u32,
}

impl LastError {
    /// None.
    pub const NONE: LastError = LastError { object: 0, given: 0, hidden: 0 };
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
    let (real, given) = (real.map(kept), kept(given));
    if asks(info.name) || no_code(info.name) || real == Some(given) && given == 0 {
        return;
    }
    // SAFETY: this thread's own entry.
    let Some(error) = of(unsafe { &mut *chain.thread }, info.object) else { return };
    match real {
        // Not changed: the runtime itself knows it.
        Some(real) if real == given => *error = LastError { object: info.object, ..LastError::NONE },
        _ => {
            if given != 0 {
                error.given = given;
            }
            if let Some(real) = real.filter(|&r| r != 0) {
                error.hidden = real;
            }
        }
    }
}

/// What the program gets from one of the two functions that ask, of the runtime of load `object`.
pub fn told(object: u32, name: &[u8], real: u32) -> u32 {
    let Some(error) = thread::existing().and_then(|t| of(t, object)) else { return real };
    let own = if real == error.hidden { 0 } else { real };
    let told = if own != 0 { own } else { error.given };
    if own != 0 {
        error.given = 0;
    }
    if name == b"cudaGetLastError" {
        (error.given, error.hidden) = (0, 0);
    }
    told
}
