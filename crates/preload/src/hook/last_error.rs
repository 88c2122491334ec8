//! cudaGetLastError and cudaPeekAtLastError after a hook answered a runtime call or changed its result.
//! The runtime knows nothing of that: its own last error is what its own calls left. So for each thread
//! and each runtime two numbers are kept: the runtime's own last error as far as hooked calls have shown it, and
//! what the program is to be told as long as the runtime still has that one.
//!
//! When the program asks: an error of the runtime's that no hooked call has shown is told as it is, and what hooks
//! gave is forgotten (of one that the runtime had before, too: which came first is not known). Else what
//! is to be told is told. cudaGetLastError forgets all.
//!
//! One call may go through two hooked functions: a launch as compiled goes through __cudaLaunchKernel and, inside,
//! cudaLaunchKernel. What the outer one returns is then what hooks made of the inner one's error, which has said what
//! the runtime's own is.
//!
//! cudaErrorNotReady is no error to a runtime: none of NVIDIA's keeps it.

use super::chain::Chain;
use super::functions::Info;
use super::thread::{self, Thread};
use cutap_calls::{NOT_READY, Role, function_with, has_role};

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
    pub const NONE: LastError = LastError { object: 0, own: 0, told: 0 };

    /// A call in which another has ended returned `real`; the program gets `given`.
    fn ended_around(&mut self, real: u32, given: u32) {
        if given != real {
            self.told = given;
        }
    }

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

/// The function that resets the last error.
const FORGETS: &[u8] = function_with(Role::ForgetsLastError).as_bytes();

/// True for the two functions that ask.
pub fn asks(name: &[u8]) -> bool {
    has_role(name, Role::AsksLastError)
}

/// Their result is no error code. Of those that the compiler's stubs call, launches and what leads to them return one.
fn no_code(name: &[u8]) -> bool {
    has_role(name, Role::NoErrorCode) || name.starts_with(b"__") && !has_role(name, Role::StubErrorCode)
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

/// A runtime call ended: with `real`, or it was not made; the program gets `given`.
pub fn given(chain: &mut Chain, info: &Info, real: Option<u32>, given: u32) {
    let kept = |code: u32| if code == NOT_READY { 0 } else { code };
    let (real, given) = (real.map_or(0, kept), kept(given));
    if asks(info.name) || no_code(info.name) || real == 0 && given == 0 {
        return;
    }
    // SAFETY: this thread's own entry.
    let thread = unsafe { &mut *chain.thread };
    let around = thread.failed != chain.failed;
    thread.failed = thread.failed.wrapping_add(1);
    match of(thread, info.object) {
        Some(error) if around => error.ended_around(real, given),
        Some(error) => error.ended(real, given),
        None => {}
    }
}

/// A question of cutap failed with `failed`, and the runtime has forgotten that `pending` was its last error.
pub fn hide(thread: &mut Thread, object: u32, pending: u32, failed: u32) {
    if let Some(error) = of(thread, object) {
        error.ask(pending, false);
        error.ended(failed, 0);
    }
}

/// What the program gets from one of the two functions that ask, of the runtime of load `object`.
pub fn told(object: u32, name: &[u8], real: u32) -> u32 {
    let forgets = name == FORGETS;
    // One that the program has seen may be hidden by a later call.
    let thread = if real != 0 && !forgets { thread::current() } else { thread::existing() };
    let error = thread.and_then(|t| of(t, object));
    error.map_or(real, |e| e.ask(real, forgets))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What hooks and real calls left, then what the program is told by Peek and Get of a runtime that says `real`.
    fn story(ended: &[(u32, u32)], real: u32) -> (u32, u32, u32) {
        let mut error = LastError::NONE;
        ended.iter().for_each(|&(real, given)| error.ended(real, given));
        (error.ask(real, false), error.ask(real, true), error.ask(0, true))
    }

    #[test]
    fn the_program_is_told_one_story() {
        for (ended, real, told) in [
            (&[][..], 0, 0),
            (&[], 101, 101),
            // Given, hidden, changed.
            (&[(0, 2)], 0, 2),
            (&[(1, 0)], 1, 0),
            (&[(1, 46)], 1, 46),
            // One that a hooked call has shown is told again behind a hidden one, and the later of two is told.
            (&[(101, 101), (1, 0)], 1, 101),
            (&[(101, 101), (0, 2)], 101, 2),
            (&[(0, 2), (1, 0)], 1, 2),
            (&[(0, 2), (2, 0)], 2, 2),
            // One that no hook has seen comes first.
            (&[(0, 2)], 101, 101),
            (&[(101, 101), (0, 2)], 1, 1),
            (&[(1, 0)], 101, 101),
            // The runtime has forgotten its own, as after a reset.
            (&[(101, 101)], 0, 0),
            (&[(1, 0), (0, 2)], 0, 2),
        ] {
            assert_eq!(story(ended, real), (told, told, 0), "{ended:?}, then {real}");
        }
    }

    /// What the inner one of two functions left, and what the outer one gives.
    #[test]
    fn of_two_functions_the_outer_one_has_the_last_word() {
        for (inner, (real, given), own, told) in [
            ((400, 98), (98, 98), 400, 98),
            ((400, 98), (98, 97), 400, 97),
            ((400, 98), (98, 0), 400, 0),
            ((400, 400), (400, 0), 400, 0),
            ((0, 98), (98, 98), 0, 98),
            ((0, 98), (98, 0), 0, 0),
        ] {
            let mut error = LastError::NONE;
            error.ended(inner.0, inner.1);
            error.ended_around(real, given);
            assert_eq!(error.ask(own, false), told, "{inner:?}, then {real} {given}");
        }
    }

    #[test]
    fn what_the_program_has_seen_is_known() {
        let mut error = LastError::NONE;
        assert_eq!(error.ask(101, false), 101);
        error.ended(1, 0);
        assert_eq!((error.ask(1, true), error.ask(0, true)), (101, 0));
    }
}
