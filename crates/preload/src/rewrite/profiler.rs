//! Calls of the program to CUPTI, in runs with GPU times. Those that begin to profile get a slot, so that the injection
//! steps aside before the first one. They are not recorded, and the injection's own calls pass by.
//!
//! Limits: calls of a statically linked CUPTI are not seen.

use crate::loader::live;
use crate::loader::objects::Object;
use crate::process::injection;
use crate::slots::create;
use crate::slots::interceptors::{PROFILES, PROFILES_ALONE};
use core::sync::atomic::{AtomicUsize, Ordering::*};
use cutap_calls::gpu_time::{begins_to_profile, needs_own_subscriber};

/// Functions that have a slot, of all copies of libcupti.
const MOST: usize = 1024;

struct Entry {
    real: AtomicUsize,
    slot: AtomicUsize,
}

static ENTRIES: [Entry; MOST] = [const { Entry { real: AtomicUsize::new(0), slot: AtomicUsize::new(0) } }; MOST];

/// Whether an object's calls of such functions are those of the program.
pub fn is_user(o: &Object) -> bool {
    injection::is_on() && !o.ours && !o.profiler && !is_injection(o)
}

fn is_injection(o: &Object) -> bool {
    o.has_code(injection::address())
}

/// Whether a call of this name is one of them.
pub fn is_name(name: &[u8]) -> bool {
    injection::is_on() && begins_to_profile(name)
}

/// The slot of the function `name` at `address`, which `owner` defines. Only under the loader's lock.
///
/// # Safety
/// The owner is mapped.
pub unsafe fn slot(address: usize, owner: &Object, name: &[u8]) -> Option<usize> {
    // SAFETY: the caller's promise.
    if !owner.profiler || !unsafe { owner.has_function(name, address) } {
        return None;
    }
    let interceptor = if needs_own_subscriber(name) { PROFILES_ALONE } else { PROFILES };
    for entry in &ENTRIES {
        let occupant = entry.real.compare_exchange(0, address, AcqRel, Acquire);
        if occupant.is_err_and(|other| other != address) {
            continue;
        }
        let slot = entry.slot.load(Acquire);
        if slot != 0 {
            return Some(slot);
        }
        // Two threads may make one at the same time. Both work.
        let slot = create::for_interceptors(address, interceptor)?;
        entry.slot.store(slot, Release);
        return Some(slot);
    }
    None
}

/// The slot of such a function at an address that `caller` looked up.
pub fn slot_at(address: usize, name: &[u8], caller: usize) -> Option<usize> {
    if live::at(caller, is_user) == Some(false) {
        return None;
    }
    // SAFETY: under the loader's lock.
    live::at(address, |owner| unsafe { slot(address, owner, name) }).flatten()
}
