//! `RUN/p<pid>-<n>/hook_active`: one word for each thread, which hook it is in now. It survives every way to
//! die, so that a hook that ended the program can be named. And the word at [`super::ASKING`], of libraries
//! that begin or end.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Name of the file in the process folder that says which hook each thread is in.
pub const HOOK_ACTIVE_FILE: &str = "hook_active";
/// Threads that it has room for.
pub const THREADS: usize = 4096;

/// A thread's entry.
#[repr(C)]
pub struct Inside {
    /// 0 outside of hooks; else [`inside`].
    pub word: AtomicU64,
    /// Thread id.
    pub tid: AtomicU32,
    pad: u32,
}

/// Bytes of the file.
pub const INSIDE_BYTES: usize = THREADS * size_of::<Inside>();

/// Where a thread is in a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before a call.
    Before = 1,
    /// After it.
    After = 2,
    /// Being told of a function.
    Met = 3,
}

/// The word of a process that asks library `hook`.
pub const fn asking(pid: u32, hook: u8) -> u64 {
    (pid as u64) << 32 | (hook as u64 + 1)
}

/// The word of a process in which the constructors of library `hook` run.
pub const fn constructing(pid: u32, hook: u8) -> u64 {
    asking(pid, hook) | CONSTRUCTING
}

/// The word of a process in which the destructors of library `hook` run.
pub const fn destroying(pid: u32, hook: u8) -> u64 {
    asking(pid, hook) | DESTROYING
}

const CONSTRUCTING: u64 = 1 << 16;
const DESTROYING: u64 = 1 << 17;

/// Where a library is when no hook of it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookPlace {
    /// It is asked what it wants.
    Init,
    /// Its constructors.
    Constructor,
    /// Its destructors.
    Destructor,
}

/// Process and library of such a word, and where it is.
pub const fn library_and_place(word: u64) -> Option<(u32, u32, HookPlace)> {
    let place = match word & (CONSTRUCTING | DESTROYING) {
        0 => HookPlace::Init,
        CONSTRUCTING => HookPlace::Constructor,
        _ => HookPlace::Destructor,
    };
    match ((word & !(CONSTRUCTING | DESTROYING)) as u32).checked_sub(1) {
        Some(hook) => Some(((word >> 32) as u32, hook, place)),
        None => None,
    }
}

/// The word of a thread that is in a hook.
pub const fn inside(hook: u8, phase: Phase, slot: u32) -> u64 {
    1 | (phase as u64) << 8 | (hook as u64) << 16 | (slot as u64) << 32
}

/// Hook, phase and slot of such a word.
pub const fn outside(word: u64) -> Option<(u8, Phase, u32)> {
    let phase = match (word & 0xff, word >> 8 & 0xff) {
        (1, 1) => Phase::Before,
        (1, 2) => Phase::After,
        (1, 3) => Phase::Met,
        _ => return None,
    };
    Some(((word >> 16) as u8, phase, (word >> 32) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_library_that_begins_or_ends() {
        assert_eq!(library_and_place(asking(77, 0)), Some((77, 0, HookPlace::Init)));
        assert_eq!(library_and_place(constructing(u32::MAX, 7)), Some((u32::MAX, 7, HookPlace::Constructor)));
        assert_eq!(library_and_place(destroying(77, 7)), Some((77, 7, HookPlace::Destructor)));
        assert_eq!(library_and_place(0), None);
    }

    #[test]
    fn words_of_a_thread() {
        for phase in [Phase::Before, Phase::After, Phase::Met] {
            assert_eq!(outside(inside(3, phase, 70_000)), Some((3, phase, 70_000)));
        }
        assert_eq!((outside(0), outside(u64::MAX)), (None, None));
    }
}
