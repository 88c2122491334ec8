//! The end of a context is the end of all that was taken in it.

use crate::account::Mark;
use crate::hook::Hooked;
use crate::ledger::{self, Space};
use crate::{driver, settle};
use core::sync::atomic::Ordering;

/// Before the primary context of a device ends, perhaps.
pub fn ends_primary(hooked: &Hooked) {
    driver::primary_context(hooked.argument(0)).iter().for_each(|context| hooked.set_mark(*context));
}

/// After it.
pub fn ended_primary(hooked: &Hooked) {
    let context = hooked.mark();
    if context != 0 && hooked.result() == 0 && driver::primary_context(hooked.argument(0)).is_none() {
        forget(context);
    }
}

/// After a context has ended.
pub fn after_end(hooked: &Hooked) {
    if hooked.result() == 0 {
        forget(hooked.argument(0));
    }
}

/// Gives back what was taken in a context.
fn forget(context: u64) {
    for space in [Space::Address, Space::Code] {
        for entry in ledger::each(space).filter(|entry| entry.context.load(Ordering::Acquire) == context) {
            let (units, device) = (entry.units.load(Ordering::Acquire), entry.device.load(Ordering::Acquire));
            if entry.remove() {
                Mark { units, device }.give();
            }
        }
    }
    settle::settle_all();
}
