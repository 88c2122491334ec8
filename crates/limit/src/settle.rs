//! Pools take and give back memory of their device by themselves: what each has is asked of the driver.

use crate::device::{Device, units};
use crate::driver;
use crate::ledger::{self, Entry, Space};
use core::sync::atomic::{AtomicBool, Ordering};

/// Something was freed since pools were asked.
static FREED: AtomicBool = AtomicBool::new(false);

/// Memory of a pool was freed. The pool has it until the program waits.
pub fn note_free() {
    FREED.store(true, Ordering::Release);
}

/// Counts what a pool has now.
pub fn settle(entry: &Entry) {
    let is_of_graphs = entry.is_of(Space::GraphPool);
    let number = entry.device.load(Ordering::Acquire);
    let bytes = if is_of_graphs { driver::graph_bytes(number) } else { driver::pool_bytes(entry.value()) };
    let now = bytes.map_or(0, |[has, _]| units(has));
    let before = entry.units.swap(now, Ordering::AcqRel);
    let Some(device) = Device::numbered(number) else { return };
    match now.checked_sub(before) {
        Some(0) => {}
        Some(more) => device.take_anyhow(more),
        None => device.give(before - now),
    }
}

/// Counts what all pools have.
pub fn settle_all() {
    FREED.store(false, Ordering::Release);
    for space in [Space::Pool, Space::GraphPool] {
        ledger::each(space).for_each(settle);
    }
}

/// After the program has waited.
pub fn after_wait() {
    if FREED.load(Ordering::Acquire) {
        settle_all();
    }
}
