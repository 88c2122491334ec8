//! `--capture-range=nvtx:NAME@DOMAIN`: calls are recorded while a range of this name is open in any thread.

use super::domains;
use crate::process::path::{Path, Shared};
use crate::process::{run, switch};
use crate::ring::open_ranges;
use crate::runtime::instances;
use crate::sys;
use core::cell::UnsafeCell;
use cutap_calls::glob;
use cutap_wire::control::{CAPTURE_RANGE, CAPTURE_RANGE_BYTES, RANGE_OF_NVTX};

/// The name, a line end, and the domain.
static TEXT: Shared<([u8; CAPTURE_RANGE_BYTES], usize)> = Shared(UnsafeCell::new(([0; CAPTURE_RANGE_BYTES], 0)));

/// Whether there is such a range.
pub fn is_asked() -> bool {
    run::flags() & RANGE_OF_NVTX != 0
}

/// Reads what is asked, at the start.
pub fn start() {
    if !is_asked() {
        return;
    }
    open_ranges::CAPTURED_CHANGED.set(apply);
    let mut path = Path::run();
    path.push(b"/").push(CAPTURE_RANGE.as_bytes());
    // SAFETY: see `Shared`; it is called once, before anything is recorded.
    let (bytes, length) = unsafe { &mut *TEXT.0.get() };
    if let Some(read) = sys::with(path.bytes(), &[sys::Open::Read], |file| file.read(bytes)) {
        *length = read.min(CAPTURE_RANGE_BYTES);
    }
}

/// Whether a range is one of those that are asked for.
pub fn is_wanted(domain: u32, text: &[u8]) -> bool {
    if !is_asked() {
        return false;
    }
    // SAFETY: see `Shared`; it is written before any range can begin.
    let (bytes, length) = unsafe { &*TEXT.0.get() };
    let mut lines = bytes.get(..*length).unwrap_or(&[]).split(|byte| *byte == b'\n');
    let (Some(name), Some(of_domain)) = (lines.next(), lines.next()) else { return false };
    glob(name, text) && glob(of_domain, domains::name_of(domain))
}

/// Such a range begins.
pub fn begin() {
    open_ranges::begin_captured();
    apply();
}

/// It has ended.
pub fn end() {
    open_ranges::end_captured(1);
    apply();
}

/// A forked child has the ranges of the thread that forked.
pub fn forked() {
    if is_asked() {
        apply();
    }
}

/// Switches as the number of open ranges says. Another thread may change it meanwhile: the last one has the last word.
fn apply() {
    loop {
        let is_open = open_ranges::captured() > 0;
        if switch::range(is_open) {
            instances::follow();
        }
        if (open_ranges::captured() > 0) == is_open {
            return;
        }
    }
}
