//! Memory that one call takes and another one gives back, by its address or handle.

use crate::account::{Mark, take_for};
use crate::device::Device;
use crate::hook::Hooked;
use crate::ledger::{self, Space};
use crate::{config, driver, settle};
use core::sync::atomic::Ordering;
use cutap_wire::limited::Row;

/// Before a call that takes so many bytes of the current device.
pub fn before_allocation(hooked: &Hooked, row: &Row, bytes: u64) {
    if bytes > 0 {
        take_for(hooked, row, Device::current(), bytes);
    }
}

/// The driver's lines of memory begin at a multiple of this, on all devices.
const LINE: u64 = 512;

/// Before a call that takes lines. How long they are is known after it.
pub fn before_lines(hooked: &Hooked, row: &Row) {
    let (width, height) = (hooked.argument(2), hooked.argument(3));
    before_allocation(hooked, row, width.div_ceil(LINE).saturating_mul(LINE).saturating_mul(height));
}

/// After a call that takes memory: it is remembered, or given back.
pub fn after_allocation(hooked: &Hooked) {
    let Some(mark) = Mark::of_word(hooked.mark()) else { return };
    if hooked.result() != 0 {
        return mark.give();
    }
    let address = hooked.read::<u64>(0, 0).unwrap_or(0);
    remember(Space::Address, address, mark);
}

/// Remembers what was taken. Without room for it, its end will not be seen.
pub fn remember(space: Space, value: u64, mark: Mark) {
    let context = driver::current_context().unwrap_or(0);
    if ledger::insert(space, value, mark.units, mark.device, context).is_none()
        && let Some(head) = config::head()
    {
        head.uncounted.allocations.fetch_add(1, Ordering::Relaxed);
    }
}

/// Before a call that gives memory back. Another thread may get the same address as soon as the driver has it.
pub fn before_free(hooked: &Hooked, space: Space) {
    let Some(entry) = ledger::find(space, hooked.argument(0)) else { return };
    let (units, device) = (entry.units.load(Ordering::Acquire), entry.device.load(Ordering::Acquire));
    if entry.remove() {
        hooked.set_mark(Mark { units, device }.word());
    }
}

/// After it: it is given back, or still there.
pub fn after_free(hooked: &Hooked, space: Space) {
    match Mark::of_word(hooked.mark()) {
        Some(mark) if hooked.result() == 0 => mark.give(),
        Some(mark) => remember(space, hooked.argument(0), mark),
        // Memory of a pool may be freed by the same function.
        None => settle::settle_all(),
    }
}
