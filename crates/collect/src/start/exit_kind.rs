//! How a process ended, and how cutap ends the same way.

use crate::start::signals;
use cutap_trace::ProgramEnd;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl ExitKind {
    /// As readers of a recording see it.
    pub fn program_end(self) -> ProgramEnd {
        match self {
            ExitKind::Code(code) => ProgramEnd::Code(code as u8),
            ExitKind::Signal(signal) => ProgramEnd::Signal(signal as u8),
        }
    }

    /// Ends this process the same way.
    pub fn exit_like(self) -> ! {
        match self {
            ExitKind::Code(code) => std::process::exit(code),
            ExitKind::Signal(signal) => signals::die_as(signal),
        }
    }
}
