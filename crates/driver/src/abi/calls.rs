//! How a driver function starts and how it calls the program: both check that the driver is usable in this process.

use super::fault::{Answer, Fault};
use super::lifecycle;

/// Runs a driver function. It fails before cuInit, and in a child that was forked after cuInit.
pub fn answer(rule: impl FnOnce() -> Answer) -> u32 {
    answer_always(|| lifecycle::require_started().and_then(|()| rule()))
}

/// Runs a driver function that works before cuInit too.
pub fn answer_always(rule: impl FnOnce() -> Answer) -> u32 {
    match rule() {
        Ok(()) => 0,
        Err(Fault(code)) => code,
    }
}

/// Runs code of the program. The caller must hold no lock. The code may fork; the result is an error in the child, so
/// that the caller takes no lock there.
pub fn of_the_program<T>(code: impl FnOnce() -> T) -> Answer<T> {
    let returned = code();
    lifecycle::require_started().map(|()| returned)
}
