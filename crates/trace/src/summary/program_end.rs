//! How the program that cutap started ended, by the control page.

use cutap_wire::control::{ENDED_BY_SIGNAL, ENDED_WITH_CODE};
use rustix::process::Signal;
use std::fmt;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEnd {
    /// With this exit code.
    Code(u8),
    /// By this signal.
    Signal(u8),
}

impl ProgramEnd {
    /// From the word of the page. None: the program runs, or nobody waited for it.
    #[must_use]
    pub fn of_word(word: u32) -> Option<ProgramEnd> {
        let low = (word & 0xff) as u8;
        match word & !0xff {
            ENDED_WITH_CODE => Some(ProgramEnd::Code(low)),
            ENDED_BY_SIGNAL => Some(ProgramEnd::Signal(low)),
            _ => None,
        }
    }

    /// The word of the page.
    #[must_use]
    pub fn word(self) -> u32 {
        match self {
            ProgramEnd::Code(code) => ENDED_WITH_CODE | u32::from(code),
            ProgramEnd::Signal(signal) => ENDED_BY_SIGNAL | u32::from(signal),
        }
    }

    /// Anything but exit code 0.
    #[must_use]
    pub fn is_failure(self) -> bool {
        self != ProgramEnd::Code(0)
    }
}

/// `ended with exit code 3`, `was ended by SIGSEGV`.
impl fmt::Display for ProgramEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramEnd::Code(code) => write!(f, "ended with exit code {code}"),
            ProgramEnd::Signal(signal) => write!(f, "was ended by {}", signal_name(i32::from(*signal))),
        }
    }
}

/// The name of a signal that ends programs; `signal 40` of another one.
#[must_use]
pub fn signal_name(signal: i32) -> String {
    let names = [
        (Signal::SEGV, "SIGSEGV"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::ILL, "SIGILL"),
        (Signal::KILL, "SIGKILL"),
        (Signal::TERM, "SIGTERM"),
        (Signal::INT, "SIGINT"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::HUP, "SIGHUP"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::SYS, "SIGSYS"),
        (Signal::XCPU, "SIGXCPU"),
    ];
    names.iter().find(|n| n.0.as_raw() == signal).map_or_else(|| format!("signal {signal}"), |n| n.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_says_how_a_program_ended() {
        for end in [ProgramEnd::Code(0), ProgramEnd::Code(255), ProgramEnd::Signal(11)] {
            assert_eq!(ProgramEnd::of_word(end.word()), Some(end));
        }
        assert_eq!(ProgramEnd::of_word(0), None);
        assert_eq!(ProgramEnd::Signal(11).to_string(), "was ended by SIGSEGV");
    }
}
