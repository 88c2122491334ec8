//! Of which functions' calls the Python frames are kept: `--python`.

use crate::process::path::{Path, Shared};
use crate::process::run;
use crate::sys;
use core::cell::UnsafeCell;
use cutap_wire::control::{PYTHON, PYTHON_RULES, PYTHON_RULES_BYTES};

/// The rules, and their length; none: what `cutap_calls::python::is_of_interest` says.
static RULES: Shared<([u8; PYTHON_RULES_BYTES], usize)> = Shared(UnsafeCell::new(([0; PYTHON_RULES_BYTES], 0)));

pub use cutap_calls::python::may_fail;

/// Reads what is asked, at the start.
pub fn start() {
    if run::flags() & PYTHON == 0 {
        return;
    }
    let mut path = Path::run();
    path.push(b"/").push(PYTHON_RULES.as_bytes());
    // SAFETY: see `Shared`; it is called once, before anything is recorded.
    let (bytes, length) = unsafe { &mut *RULES.0.get() };
    if let Some(read) = sys::with(path.bytes(), &[sys::Open::Read], |file| file.read(bytes)) {
        *length = read.min(PYTHON_RULES_BYTES);
    }
}

fn rules() -> &'static [u8] {
    // SAFETY: see `Shared`.
    let (bytes, length) = unsafe { &*RULES.0.get() };
    bytes.get(..*length).unwrap_or(&[])
}

/// Whether the frames of each call of a function are kept.
pub fn keeps_frames_of(layer: u8, library: &[u8], name: &[u8]) -> bool {
    run::flags() & PYTHON != 0
        && match rules() {
            [] => cutap_calls::python::is_of_interest(layer, name),
            rules => cutap_calls::filter::is_shown(rules, layer, library, name),
        }
}

/// Whether those of calls of other functions are kept where they fail: unless a filter chooses the functions.
pub fn keeps_failed() -> bool {
    rules().is_empty()
}
