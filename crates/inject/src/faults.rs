//! Faults of the GPU that rules have made: in which context, and whether a call has reported them. A context with a
//! fault answers its calls with that error until it ends.
//!
//! Contexts are a process's own, and so is this table. It is made of atomics. More contexts than there are places have
//! no lasting faults, which is counted as refused.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering::*};

const PLACES: usize = 64;

struct Place {
    /// 0: free.
    context: AtomicUsize,
    device: AtomicI32,
    /// An error that a later call will report.
    pending: AtomicU32,
    /// One that was reported.
    reported: AtomicU32,
    /// The rule that made it.
    rule: AtomicU32,
}

static FAULTS: [Place; PLACES] = [const {
    Place {
        context: AtomicUsize::new(0),
        device: AtomicI32::new(-1),
        pending: AtomicU32::new(0),
        reported: AtomicU32::new(0),
        rule: AtomicU32::new(0),
    }
}; PLACES];
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Whether any context has a fault.
#[inline(always)]
pub fn any() -> bool {
    COUNT.load(Acquire) != 0
}

fn place(context: usize) -> Option<&'static Place> {
    FAULTS.iter().find(|place| context != 0 && place.context.load(Acquire) == context)
}

/// The error that all calls of this context return; 0: none.
pub fn reported(context: usize) -> u32 {
    place(context).map_or(0, |place| place.reported.load(Acquire))
}

/// The error of earlier work, for a call that reports such errors; 0: none. It is reported from then on.
pub fn report(context: usize) -> u32 {
    let Some(place) = place(context) else { return 0 };
    let error = place.pending.swap(0, AcqRel);
    if error != 0 {
        place.reported.store(error, Release);
    }
    error
}

/// The rule that made the fault of this context.
pub fn rule(context: usize) -> u32 {
    place(context).map_or(0, |place| place.rule.load(Relaxed))
}

/// Whether there is one.
pub fn is_pending(context: usize) -> bool {
    place(context).is_some_and(|place| place.pending.load(Acquire) != 0)
}

/// The GPU had a fault. `is_reported`: the call that is made now says it. False: there is no place.
pub fn put((context, device): (usize, i32), rule: u32, error: u32, is_reported: bool) -> bool {
    if context == 0 {
        return false;
    }
    let free = || FAULTS.iter().find(|place| place.context.compare_exchange(0, context, AcqRel, Relaxed).is_ok());
    let existing = place(context);
    let is_new = existing.is_none();
    let Some(place) = existing.or_else(free) else { return false };
    place.device.store(device, Relaxed);
    let word = if is_reported { &place.reported } else { &place.pending };
    // The first one stays.
    let _ = word.compare_exchange(0, error, AcqRel, Relaxed);
    if is_new {
        place.rule.store(rule, Relaxed);
        COUNT.fetch_add(1, AcqRel);
    }
    true
}

/// A context ended, or the primary one of a device.
pub fn end(context: Option<usize>, device: Option<i32>) {
    for place in &FAULTS {
        let of = place.context.load(Acquire);
        let is_meant = Some(of) == context || device.is_some() && Some(place.device.load(Relaxed)) == device;
        if of == 0 || !is_meant {
            continue;
        }
        place.pending.store(0, Relaxed);
        place.reported.store(0, Relaxed);
        place.device.store(-1, Relaxed);
        if place.context.compare_exchange(of, 0, AcqRel, Relaxed).is_ok() {
            COUNT.fetch_sub(1, AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_stays_until_its_context_ends() {
        assert!(!any() && put((16, 0), 1, 700, false) && any());
        assert_eq!((reported(16), is_pending(16), reported(32)), (0, true, 0));
        assert_eq!((report(16), report(16), reported(16)), (700, 0, 700));
        assert!(put((16, 0), 2, 719, true));
        assert_eq!((reported(16), rule(16)), (700, 1), "the first one stays");
        assert!(put((32, 1), 1, 214, true) && !put((0, 0), 1, 700, true));
        end(Some(16), None);
        assert_eq!((reported(16), reported(32)), (0, 214));
        end(None, Some(1));
        assert!(!any());
    }
}
