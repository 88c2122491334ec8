//! What may be recorded at all: the rules that the run began with, `--filter`. `cutap ctl filter` puts others into the
//! control page, which choose among what is armed; a process that starts after that, or a library that is opened, is
//! armed by these all the same.

use super::path::{Path, Shared};
use super::switch;
use crate::sys;
use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::Relaxed;
use cutap_wire::control::{ARMED, Control, RULES_BYTES};

static RULES: Shared<([u8; RULES_BYTES], usize)> = Shared(UnsafeCell::new(([0; RULES_BYTES], 0)));

/// Reads them, once. There is no file where everything is wanted.
pub fn start() {
    let mut path = Path::run();
    path.push(b"/").push(ARMED.as_bytes());
    // SAFETY: see `Shared`.
    let (bytes, len) = unsafe { &mut *RULES.0.get() };
    if let Some(read) = sys::with(path.bytes(), &[sys::Open::Read], |file| file.read(bytes)) {
        *len = read.min(RULES_BYTES);
    }
}

fn rules() -> &'static [u8] {
    // SAFETY: see `Shared`.
    let (bytes, len) = unsafe { &*RULES.0.get() };
    bytes.get(..*len).unwrap_or(&[])
}

/// Whether a function may be recorded.
pub fn may_be_recorded(layer: u8, library: &[u8], name: &[u8]) -> bool {
    cutap_calls::filter::recorded(rules(), layer, library, name)
}

/// Whether its calls are wanted, not only recorded because annotations of addresses depend on them.
pub fn is_selected(layer: u8, library: &[u8], name: &[u8]) -> bool {
    cutap_calls::filter::armed(rules(), layer, library, name)
}

/// Whether anything of a layer may be: decided by whether a rule excludes it whole.
pub fn holds_layer(layer: u8) -> bool {
    cutap_calls::filter::wants_layer(rules(), layer)
}

/// Whether the rules want a function, of what is armed.
pub fn is_selected_now(layer: u8, library: &[u8], name: &[u8]) -> bool {
    may_be_recorded(layer, library, name)
        && cutap_calls::filter::recorded(current(switch::here()), layer, library, name)
}
/// The rules that choose among it now.
fn current(c: &Control) -> &[u8] {
    c.rules.get(..c.rules_len.load(Relaxed) as usize).unwrap_or(&[])
}
