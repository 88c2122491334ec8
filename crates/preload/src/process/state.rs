//! The two words that say how far the start has come, and what each transition is: that of the library
//! (run directory found or not), and that of the process folder, which one thread makes while others wait.
//! Pure, so that every transition can be listed and tested; the words themselves are where they are used.

/// The library: nobody has looked for a run directory.
pub const NOT_YET: u32 = 0;
/// Somebody is looking; what is called meanwhile passes.
pub const STARTING: u32 = 1;
/// There is one.
pub const RUNNING: u32 = 2;
/// There is none, or it makes no sense. Final.
pub const OFF: u32 = 3;

/// The process folder: nobody has asked for it.
pub const NONE: u32 = 0;
/// It is there.
pub const MADE: u32 = u32::MAX;
/// It could not be made. A forked child tries again.
pub const FAILED: u32 = u32::MAX - 1;

/// What somebody does who asks whether the library runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Start,
    /// The answer.
    Is(bool),
}

/// See [`Asked`].
pub const fn running(state: u32) -> Asked {
    match state {
        NOT_YET => Asked::Start,
        RUNNING => Asked::Is(true),
        _ => Asked::Is(false),
    }
}

/// The library's word when the look for a run directory has ended.
pub const fn after_search(found: bool) -> u32 {
    if found { RUNNING } else { OFF }
}

/// What thread `me` does that wants the process folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Takes the word, and makes the folder.
    Make,
    /// Another thread makes it.
    Wait,
    /// This thread makes it: a signal handler in the middle goes without.
    Without,
    /// The answer.
    Is(bool),
}

/// See [`Want`].
pub const fn want(state: u32, me: u32) -> Want {
    match state {
        NONE => Want::Make,
        MADE => Want::Is(true),
        FAILED => Want::Is(false),
        maker if maker == me => Want::Without,
        _ => Want::Wait,
    }
}

/// The process folder's word when its maker is done.
pub const fn after_creation(done: bool) -> u32 {
    if done { MADE } else { FAILED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transition() {
        // The library: state, who asks does, and the state then, for a run directory that is there and one that is not.
        let rows = [
            (NOT_YET, Asked::Start, [RUNNING, OFF]),
            (STARTING, Asked::Is(false), [STARTING, STARTING]),
            (RUNNING, Asked::Is(true), [RUNNING, RUNNING]),
            (OFF, Asked::Is(false), [OFF, OFF]),
        ];
        for (state, does, then) in rows {
            assert_eq!(running(state), does, "{state}");
            for (found, then) in [true, false].into_iter().zip(then) {
                let now = if does == Asked::Start { after_search(found) } else { state };
                assert_eq!(now, then, "{state} {found}");
                // Whoever asks then has an answer: nothing starts twice.
                assert_ne!(running(now), Asked::Start, "{state} {found}");
            }
        }
        // The process folder, as thread 7 finds it: what it does, and the word then.
        let rows = [
            (NONE, Want::Make, [MADE, FAILED]),
            (7, Want::Without, [7, 7]),
            (8, Want::Wait, [8, 8]),
            (MADE, Want::Is(true), [MADE, MADE]),
            (FAILED, Want::Is(false), [FAILED, FAILED]),
        ];
        for (state, does, then) in rows {
            assert_eq!(want(state, 7), does, "{state}");
            for (done, then) in [true, false].into_iter().zip(then) {
                let now = if does == Want::Make { after_creation(done) } else { state };
                assert_eq!(now, then, "{state} {done}");
                assert_ne!(want(now, 7), Want::Make, "{state} {done}: made twice");
            }
        }
        // No thread has one of these numbers, so that no maker is taken for an end.
        assert!([NONE, MADE, FAILED].iter().all(|word| *word == 0 || *word > 1 << 30));
        // A forked child begins again, whatever its parent was doing.
        assert_eq!(want(NONE, 7), Want::Make);
    }
}
