//! How a process ended, and how cutap ends the same way.

use crate::start::signals;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl ExitKind {
    /// Ends this process the same way.
    pub fn exit_like(self) -> ! {
        match self {
            ExitKind::Code(code) => std::process::exit(code),
            ExitKind::Signal(signal) => signals::die_as(signal),
        }
    }
}
