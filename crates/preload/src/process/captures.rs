//! Captures of graphs while recording is off. What a capture makes is replayed later, perhaps with recording on: so it
//! is recorded. The first capture of this process that begins switches recording on in the process's own page, and
//! the end of the last one switches it off.
//!
//! `cutap ctl` may switch the page meanwhile. It leaves recording on until the last capture ends, or forgets that it
//! has to be switched off.

use super::{fork, own, run, switch};
use core::sync::atomic::Ordering::*;
use cutap_wire::control::{COUNT, RECORDING_OFF, RECORDING_ON};

/// A capture has begun. True: that switched recording on.
pub fn begin() -> bool {
    if !own::is_made() {
        return false;
    }
    let control = switch::here();
    control.captures.fetch_add(1, AcqRel);
    if fork::is_away() || run::flags() & COUNT != 0 {
        return false;
    }
    let is_first = control.recording.compare_exchange(RECORDING_OFF, RECORDING_ON, AcqRel, Relaxed).is_ok();
    if is_first {
        control.on_for_capture.store(1, Release);
    }
    is_first
}

/// A capture has ended, or could not be ended. True: that switched recording off.
pub fn end() -> bool {
    if !own::is_made() {
        return false;
    }
    let control = switch::here();
    let before = control.captures.fetch_update(AcqRel, Acquire, |captures| captures.checked_sub(1));
    if before != Ok(1) || control.on_for_capture.swap(0, AcqRel) == 0 {
        return false;
    }
    if control.recording.compare_exchange(RECORDING_ON, RECORDING_OFF, AcqRel, Relaxed).is_err() {
        return false;
    }
    // Another thread began one meanwhile, and found recording on.
    let is_needed = control.captures.load(SeqCst) > 0;
    if is_needed && control.recording.compare_exchange(RECORDING_OFF, RECORDING_ON, AcqRel, Relaxed).is_ok() {
        control.on_for_capture.store(1, Release);
        return false;
    }
    true
}
