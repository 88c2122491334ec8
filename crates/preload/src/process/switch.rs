//! Whether calls are recorded now: a word of this process's own page of switches (`own`), which `cutap ctl` changes,
//! and one that nobody outside can change. Both stand at fixed places of this library, so that a gate in front of a
//! frame can look at them without a register.
//!
//! It never arms what was not armed: a pointer that a runtime has fetched is not given out a second time.

use super::{fork, page, run};
use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::*;
use cutap_wire::PAGE;
use cutap_wire::control::{Control, LOOKUPS, RANGE, RECORDING_BROKEN, RECORDING_COUNT, RECORDING_OFF, RECORDING_ON};

/// Where the switches are mapped over: the run's control page, until this process has a separate page.
#[repr(C, align(4096))]
pub struct SwitchPage(UnsafeCell<[u8; PAGE]>);
// SAFETY: shared memory, read and written through atomics.
unsafe impl Sync for SwitchPage {}

/// The switches: zeros, that is off, until something is mapped.
#[unsafe(no_mangle)]
pub static CUTAP_CONTROL: SwitchPage = SwitchPage(UnsafeCell::new([0; PAGE]));

/// Bit of `fork::away`: a forked child under --no-follow-children.
const LEFT: u32 = 1;
/// The same: before cuProfilerStart, or behind cuProfilerStop.
const OUT_OF_RANGE: u32 = 2;

impl SwitchPage {
    /// Its address.
    pub fn at(&self) -> *mut u8 {
        self.0.get().cast()
    }
}

/// The same: no clock can be read.
const WITHOUT_CLOCK: u32 = 4;

/// Under --capture-range nothing is recorded at first.
pub fn start() {
    if run::flags() & RANGE != 0 {
        fork::away(OUT_OF_RANGE, true);
    }
}
/// A forked child of which nothing is wanted.
pub fn disable_in_child() {
    fork::away(LEFT, true);
}
/// Nothing is recorded in this process any more.
pub fn stop() {
    fork::away(WITHOUT_CLOCK, true);
}
/// True in such a child.
#[inline(always)]
pub fn has_left() -> bool {
    fork::is_away_for(LEFT)
}
/// cuProfilerStart or cuProfilerStop succeeded. True: that switches this process.
pub fn range(on: bool) -> bool {
    let ranged = run::flags() & RANGE != 0;
    if ranged {
        fork::away(OUT_OF_RANGE, !on);
    }
    ranged
}

/// What is mapped there.
#[inline(always)]
pub fn here() -> &'static Control {
    // SAFETY: zeros or a page of this layout; what changes in it is atomic.
    unsafe { &*CUTAP_CONTROL.at().cast() }
}

/// One of the `RECORDING_*` values, as far as this process is concerned.
#[inline(always)]
fn state() -> u32 {
    if fork::is_away() { 0 } else { here().recording.load(Relaxed) }
}
/// True while calls are to be recorded.
#[inline(always)]
pub fn recording() -> bool {
    state() == RECORDING_ON
}
/// True while rows of GPU time are to be written: also those of calls that are not recorded now, which readers count.
pub fn takes_rows() -> bool {
    let is_written = matches!(here().recording.load(Relaxed), RECORDING_ON | RECORDING_OFF);
    is_written && !fork::is_away_for(LEFT) && !fork::is_away_for(WITHOUT_CLOCK)
}
/// True when what is recorded can no longer be written.
fn broken() -> bool {
    state() == RECORDING_BROKEN
}
/// True while calls are only counted.
#[inline(always)]
pub fn counting() -> bool {
    state() == RECORDING_COUNT
}
/// True while recording is switched off, and not broken: what later calls depend on is recorded all the same.
pub fn is_off() -> bool {
    !fork::is_away() && here().recording.load(Relaxed) == RECORDING_OFF
}
/// True when runtimes should report their calls.
pub fn listening() -> bool {
    state() != 0
}

/// A call that is not recorded; counted if that is nobody's wish.
#[cold]
pub fn count_unrecorded() {
    if broken() {
        page::count(cutap_wire::diagnostic::NOT_WRITTEN, 1);
    }
}
/// True when look-ups are events.
pub fn lookups() -> bool {
    run::flags() & LOOKUPS != 0 && recording()
}

/// The number of the rules that hold, and of those that what is armed was looked at with.
pub fn rules() -> (u32, u32) {
    (here().rules_epoch.load(SeqCst), fork::applied_rules())
}

/// True when somebody has changed the rules.
#[inline(always)]
pub fn rules_changed() -> bool {
    here().rules_epoch.load(Relaxed) != fork::applied_rules_relaxed()
}

/// The rules are others, whatever their number says: they are another page's.
pub fn look_again() {
    // Numbers of rules are even.
    fork::set_applied_rules(u32::MAX);
    fork::agree();
}
