//! Looking again at all that is armed, when `cutap ctl` has changed the rules that choose among it.

use super::instances;
use crate::loader::objects::{self, Object};
use crate::process::{fork, switch};
use crate::slots::plan::UNWANTED;
use crate::slots::slot::Slot;
use crate::slots::{interceptors, table};
use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering::*};
use cutap_calls::hidden::is_slot_name;
use cutap_calls::{Layer, filter};
use cutap_wire::control::RULES_BYTES;

/// Whether the calls of a slot are wanted, by rules that are looked at again if they have changed.
#[inline(always)]
pub fn is_wanted(slot: &Slot) -> bool {
    if switch::rules_changed() {
        apply_rules();
    }
    slot.plan.load(Relaxed) & UNWANTED == 0
}

/// The thread that applies them.
static APPLYING: AtomicU32 = AtomicU32::new(0);

/// A forked child: the thread that was looking is its parent's.
pub fn forked() {
    APPLYING.store(0, Release);
}

/// How often threads may wait, together, while one looks again: it may want the loader's lock, which one that waits
/// may have.
const PATIENCE: u32 = 10_000;
static WAITED: AtomicU32 = AtomicU32::new(0);

/// Looks again at all that is armed. While one thread does, others wait: `cutap ctl` has reported that the new rules
/// hold.
#[cold]
pub fn apply_rules() {
    // Odd: somebody is writing them, and has not been told yet; or was killed in the middle of it.
    if !switch::here().rules_epoch.load(Acquire).is_multiple_of(2) {
        return;
    }
    let me = sys::gettid();
    // A handler that came in the middle of it would wait for itself, and its calls would go by half of the rules.
    let signals = sys::block_signals();
    if sys::take(&APPLYING, me) {
        apply();
        WAITED.store(0, Relaxed);
        APPLYING.store(0, Release);
    } else if APPLYING.load(Relaxed) != me {
        let mut turn = 0;
        while switch::rules_changed() && APPLYING.load(Acquire) != 0 && WAITED.fetch_add(1, Relaxed) < PATIENCE {
            sys::wait(turn);
            turn += 1;
        }
    }
    sys::restore_signals(signals);
}

fn apply() {
    let c = switch::here();
    let epoch = c.rules_epoch.load(Acquire);
    // Known: another thread was first.
    if !epoch.is_multiple_of(2) || epoch == fork::applied_rules() {
        return;
    }
    let mut rules = [0; RULES_BYTES];
    for (to, from) in rules.iter_mut().zip(&c.rules) {
        // SAFETY: a byte of the page, which `cutap ctl` may be writing.
        *to = unsafe { (&raw const *from).read_volatile() };
    }
    let rules = rules.get(..c.rules_len.load(Relaxed) as usize).unwrap_or(&[]);
    if c.rules_epoch.load(Acquire) == epoch {
        objects::with(|s| {
            let owner = |load: u32| s.objects().iter().find(|o| o.id == load);
            let layer = |o: &Object, name: &[u8]| if is_slot_name(name) { Layer::HIDDEN.number() } else { o.layer };
            let is_selected = |o: &Object, name: &[u8]| filter::recorded(rules, layer(o, name), o.name(), name);
            let kernel = |name: &[u8]| filter::recorded(rules, Layer::SYSCALL.number(), b"libc.so.6", name);
            each_recorded(|load, name, of_kernel| match of_kernel {
                true => kernel(name),
                false => owner(load).is_none_or(|o| is_selected(o, name)),
            });
        });
        instances::ask_again();
        fork::set_applied_rules(epoch);
        // What another thread found out by the old rules meanwhile; from now on it notices by itself that they are
        // others.
        instances::ask_again();
        fork::agree();
    }
}

/// Asks for each recorded slot whether it is wanted now. `wanted` receives the load, the name, and whether the function
/// is one of the layer `syscall`.
fn each_recorded(wanted: impl Fn(u32, &[u8], bool) -> bool) {
    for s in table::all().filter(|s| s.interceptors() & interceptors::RECORD != 0 && s.is_named()) {
        // A name that one route alone hands out is another slot of the same load.
        let load = s.object.load(Relaxed) & !(1 << 31);
        s.set_wanted(wanted(load, s.name(), s.interceptors() & interceptors::KERNEL != 0));
    }
}
