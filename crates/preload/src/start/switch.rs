//! Whether calls are recorded now: a word of this process's own page of switches (`own`), which `cutap ctl` changes,
//! and one that nobody outside can change. Both stand at fixed places of this library, so that a gate in front of a
//! frame can look at them without a register.
//!
//! It never arms what was not armed: a pointer that a runtime has fetched is not given out a second time.

use super::flags;
use crate::loader::objects::{self, Object};
use crate::routes::{instances, libc};
use crate::slots;
use crate::sys;
use crate::thread::fork;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering::*};
use cutap_calls::hidden::is_slot_name;
use cutap_calls::{Layer, filter};
use cutap_wire::PAGE;
use cutap_wire::control::{Control, RANGE, RECORDING_BROKEN, RECORDING_COUNT, RECORDING_ON, RULES_BYTES};

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

/// Under --capture-range nothing is recorded at first.
pub fn start() {
    if flags() & RANGE != 0 {
        fork::away(OUT_OF_RANGE, true);
    }
}
/// A forked child of which nothing is wanted.
pub fn leave() {
    fork::away(LEFT, true);
}
/// True in such a child.
#[inline(always)]
pub fn has_left() -> bool {
    fork::is_away_for(LEFT)
}
/// cuProfilerStart or cuProfilerStop succeeded.
pub fn range(on: bool) {
    if flags() & RANGE == 0 {
        return;
    }
    fork::away(OUT_OF_RANGE, !on);
    instances::follow();
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
/// True when what is recorded can no longer be written.
pub fn broken() -> bool {
    state() == RECORDING_BROKEN
}
/// True while calls are only counted.
#[inline(always)]
pub fn counting() -> bool {
    state() == RECORDING_COUNT
}
/// True when runtimes should report their calls.
pub fn listening() -> bool {
    state() != 0
}

/// The rules that what is armed was last looked at with. `fork::agree` makes of it what the frames compare.
static SEEN: AtomicU32 = AtomicU32::new(0);
static APPLYING: AtomicU32 = AtomicU32::new(0);

/// Their number.
pub fn seen() -> u32 {
    SEEN.load(SeqCst)
}

/// The number of the rules that hold, and of those that what is armed was looked at with.
pub fn rules() -> (u32, u32) {
    (here().rules_epoch.load(SeqCst), seen())
}

/// True when somebody has changed the rules.
#[inline(always)]
pub fn rules_changed() -> bool {
    here().rules_epoch.load(Relaxed) != SEEN.load(Relaxed)
}

/// The rules are others, whatever their number says: they are another page's.
pub fn look_again() {
    // Numbers of rules are even.
    SEEN.store(u32::MAX, SeqCst);
    fork::agree();
}

/// A forked child: the thread that was looking is its parent's.
pub fn forked() {
    APPLYING.store(0, Release);
}

/// How often threads may yield, together, while one looks again: it may want the loader's lock, which one that waits
/// may have.
const PATIENCE: u32 = 100_000;
static YIELDED: AtomicU32 = AtomicU32::new(0);

/// Looks again at all that is armed. While one thread does, others wait: whoever changed the rules has been told that
/// they hold.
#[cold]
pub fn apply_rules() {
    // Odd: somebody is writing them, and has not been told yet; or was killed in the middle of it.
    if !here().rules_epoch.load(Acquire).is_multiple_of(2) {
        return;
    }
    let me = sys::gettid();
    // A handler that came in the middle of it would wait for itself, and its calls would go by half of the rules.
    let signals = sys::block_signals();
    if sys::take(&APPLYING, me) {
        apply();
        YIELDED.store(0, Relaxed);
        APPLYING.store(0, Release);
    } else if APPLYING.load(Relaxed) != me {
        while rules_changed() && APPLYING.load(Acquire) != 0 && YIELDED.fetch_add(1, Relaxed) < PATIENCE {
            sys::yield_now();
        }
    }
    sys::restore_signals(signals);
}

fn apply() {
    let c = here();
    let epoch = c.rules_epoch.load(Acquire);
    // Known: another thread was first.
    if !epoch.is_multiple_of(2) || epoch == seen() {
        return;
    }
    let mut rules = [0; RULES_BYTES];
    for (to, from) in rules.iter_mut().zip(&c.rules) {
        // SAFETY: a byte of the page, which somebody outside may be writing.
        *to = unsafe { (&raw const *from).read_volatile() };
    }
    let rules = rules.get(..c.rules_len.load(Relaxed) as usize).unwrap_or(&[]);
    if c.rules_epoch.load(Acquire) == epoch {
        objects::with(|s| {
            let owner = |load: u32| s.objects().iter().find(|o| o.id == load);
            let layer = |o: &Object, name: &[u8]| if is_slot_name(name) { Layer::HIDDEN.number() } else { o.layer };
            let wanted = |o: &Object, name: &[u8]| filter::recorded(rules, layer(o, name), o.name(), name);
            let kernel = |name: &[u8]| filter::recorded(rules, Layer::KERNEL.number(), b"libc.so.6", name);
            slots::each_recorded(|load, name| match libc::is_load(load) {
                true => kernel(name),
                false => owner(load).is_none_or(|o| wanted(o, name)),
            });
        });
        instances::ask_again();
        SEEN.store(epoch, SeqCst);
        // What another thread found out by the old rules meanwhile; from now on it notices by itself that they are
        // others.
        instances::ask_again();
        fork::agree();
    }
}
