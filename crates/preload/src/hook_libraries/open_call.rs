//! A runtime call that is open, as its thread remembers it.

use super::functions::{HOOKS, Info};

/// A runtime call that is open: reported, or bound.
#[derive(Clone, Copy)]
pub struct OpenRuntime {
    /// The runtime's record, or the frame of a bound function.
    pub at: usize,
    /// Its function.
    pub info: Option<&'static Info>,
    /// It was bound.
    pub bound: bool,
    /// The record by which a bound one was reported too.
    pub reported: usize,
    /// The kernel's name in that record, of a launch.
    pub kernel: *const u8,
    /// Hooks that ran before.
    pub ran: u32,
    /// Their words.
    pub words: [u64; HOOKS],
}

impl OpenRuntime {
    pub const NONE: OpenRuntime = OpenRuntime {
        at: 0,
        info: None,
        bound: false,
        reported: 0,
        kernel: core::ptr::null(),
        ran: 0,
        words: [0; HOOKS],
    };
}
