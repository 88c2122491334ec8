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

/// The last error of one runtime on one thread.
#[derive(Clone, Copy)]
pub struct LastError {
    /// The runtime's load; 0: free.
    pub(super) object: u32,
    /// The runtime's own, as far as it is known.
    own: u32,
    /// What the program is to be told in its place.
    program_error: u32,
}

impl LastError {
    pub const NONE: LastError = LastError { object: 0, own: 0, program_error: 0 };

    /// That of a runtime of which nothing is known.
    pub(super) const fn of(object: u32) -> LastError {
        LastError { object, ..LastError::NONE }
    }

    /// A call in which another has ended returned `real`; the program gets `program_error`.
    pub(super) fn call_failed_around_another(&mut self, real: u32, program_error: u32) {
        if program_error != real {
            self.program_error = program_error;
        }
    }

    /// A call failed in the runtime with `real`, or is 0; the program gets `program_error`.
    pub(super) fn call_failed(&mut self, real: u32, program_error: u32) {
        if real != 0 {
            self.own = real;
        }
        // A hook hid it: what the program was to be told before, it still is.
        if program_error != 0 {
            self.program_error = program_error;
        }
    }

    /// What the program receives when it asks and the runtime itself returns `real`.
    pub(super) fn read(&mut self, real: u32, forgets: bool) -> u32 {
        let visible = match real {
            0 if self.program_error == self.own => 0,
            _ if real == 0 || real == self.own => self.program_error,
            _ => real,
        };
        (self.own, self.program_error) = if forgets { (0, 0) } else { (real, visible) };
        visible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What hooks and real calls left, then what the program is told by Peek and Get of a runtime that says `real`.
    fn story(ended: &[(u32, u32)], real: u32) -> (u32, u32, u32) {
        let mut error = LastError::NONE;
        ended.iter().for_each(|&(real, given)| error.call_failed(real, given));
        (error.read(real, false), error.read(real, true), error.read(0, true))
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
            error.call_failed(inner.0, inner.1);
            error.call_failed_around_another(real, given);
            assert_eq!(error.read(own, false), told, "{inner:?}, then {real} {given}");
        }
    }

    #[test]
    fn what_the_program_has_seen_is_known() {
        let mut error = LastError::NONE;
        assert_eq!(error.read(101, false), 101);
        error.call_failed(1, 0);
        assert_eq!((error.read(1, true), error.read(0, true)), (101, 0));
    }
}
