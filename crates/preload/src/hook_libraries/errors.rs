//! The last errors of the runtimes of a thread: what hooked calls leave, and what the program receives when it asks.
//! The rules are in `last_error`.

use super::functions::Info;
use super::last_error::LastError;
use super::thread::{self, Thread};
use cutap_calls::{NOT_READY, Role, function_with, has_role};

/// The function that resets the last error.
const FORGETS: &[u8] = function_with(Role::ForgetsLastError).as_bytes();

/// True for the two functions that ask.
pub fn reads_last_error(name: &[u8]) -> bool {
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
        *error = LastError::of(object);
    }
    Some(error)
}

/// A runtime call ended: with `real`, or it was not made; the program gets `program_error`. When it began, `failed`
/// hooked calls had failed.
pub fn track_call(thread: &mut Thread, failed: u32, info: &Info, real: Option<u32>, program_error: u32) {
    let without_not_ready = |code: u32| if code == NOT_READY { 0 } else { code };
    let (real, program_error) = (real.map_or(0, without_not_ready), without_not_ready(program_error));
    if reads_last_error(info.name) || no_code(info.name) || real == 0 && program_error == 0 {
        return;
    }
    let nested = thread.failed != failed;
    thread.failed = thread.failed.wrapping_add(1);
    match of(thread, info.object) {
        Some(error) if nested => error.call_failed_around_another(real, program_error),
        Some(error) => error.call_failed(real, program_error),
        None => {}
    }
}

/// A question of cutap failed with `failed`, and the runtime has forgotten that `pending` was its last error.
pub fn hide(thread: &mut Thread, object: u32, pending: u32, failed: u32) {
    if let Some(error) = of(thread, object) {
        error.read(pending, false);
        error.call_failed(failed, 0);
    }
}

/// What the program gets from one of the two functions that ask, of the runtime of load `object`.
pub fn error_for_program(object: u32, name: &[u8], real: u32) -> u32 {
    let forgets = name == FORGETS;
    // One that the program has seen may be hidden by a later call.
    let thread = if real != 0 && !forgets { thread::current() } else { thread::existing() };
    let error = thread.and_then(|t| of(t, object));
    error.map_or(real, |e| e.read(real, forgets))
}
