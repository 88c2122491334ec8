//! Memory without an address. It is there as long as it has a handle or is mapped. A handle that came from another
//! process is not in the table: the memory is counted where it was made.

use crate::account::{Mark, take_for};
use crate::device::Device;
use crate::hook::Hooked;
use crate::ledger::{self, Entry, Space};
use crate::{config, linear};
use core::sync::atomic::Ordering;
use cutap_wire::limited::Row;

/// One more handle, in the word of an entry that counts handles and places.
const HANDLE: u64 = 1 << 32;
/// One more place.
const PLACE: u64 = 1;

/// Before memory is made.
pub fn before_allocation(hooked: &Hooked, row: &Row) {
    let Some(head) = config::head() else { return };
    let [kind, number] = head.places.location;
    // Memory of the host has other kinds.
    if hooked.read::<u32>(2, kind as usize) == Some(head.numbers.device_location)
        && let Some(device) = hooked.read::<u32>(2, number as usize)
    {
        take_for(hooked, row, Device::numbered(device.into()), hooked.argument(1));
    }
}

/// After it.
pub fn after_allocation(hooked: &Hooked) {
    let Some(mark) = Mark::of_word(hooked.mark()) else { return };
    if hooked.result() != 0 {
        return mark.give();
    }
    let handle = hooked.read::<u64>(0, 0).unwrap_or(0);
    linear::remember(Space::Physical, handle, mark);
    if let Some(entry) = ledger::find(Space::Physical, handle) {
        entry.context.store(HANDLE, Ordering::Release);
    }
}

/// Takes a handle or a place from memory. True if that was the last one.
fn drop_reference(entry: &Entry, what: u64) -> bool {
    let before = entry.context.fetch_sub(what, Ordering::AcqRel);
    if what == HANDLE && before / HANDLE == 1 && before != HANDLE {
        // The driver may give the number of the handle to other memory.
        entry.set_key(Space::Orphan, entry.place());
    }
    before == what
}

/// Before a handle is given back.
pub fn before_free(hooked: &Hooked) {
    let Some(entry) = ledger::find(Space::Physical, hooked.argument(0)) else { return };
    let (units, device) = (entry.units.load(Ordering::Acquire), entry.device.load(Ordering::Acquire));
    if drop_reference(entry, HANDLE) && entry.remove() {
        hooked.set_mark(Mark { units, device }.word());
    }
}

/// After it. A handle that is known is valid, so this fails only when the driver has failed before.
pub fn after_free(hooked: &Hooked) {
    Mark::of_word(hooked.mark()).filter(|_| hooked.result() == 0).into_iter().for_each(Mark::give);
}

/// After memory was put to an address.
pub fn mapped(hooked: &Hooked) {
    let entry = ledger::find(Space::Physical, hooked.argument(3)).filter(|_| hooked.result() == 0);
    if let Some(entry) = entry
        && ledger::insert(Space::Mapping, hooked.argument(0), hooked.argument(1), 0, entry.place()).is_some()
    {
        entry.context.fetch_add(PLACE, Ordering::AcqRel);
    }
}

/// After addresses were made free: those of one or of several mappings.
pub fn unmapped(hooked: &Hooked) {
    if hooked.result() != 0 {
        return;
    }
    let (mut at, end) = (hooked.argument(0), hooked.argument(0).saturating_add(hooked.argument(1)));
    while at < end {
        let Some(mapping) = ledger::find(Space::Mapping, at) else { return };
        at = at.saturating_add(mapping.units.load(Ordering::Acquire).max(1));
        let entry = ledger::at_place(mapping.context.load(Ordering::Acquire));
        if !mapping.remove() {
            continue;
        }
        if let Some(entry) = entry {
            let (units, device) = (entry.units.load(Ordering::Acquire), entry.device.load(Ordering::Acquire));
            if drop_reference(entry, PLACE) && entry.remove() {
                Mark { units, device }.give();
            }
        }
    }
}

/// After the memory at an address got one more handle.
pub fn retained(hooked: &Hooked) {
    let Some(handle) = hooked.read::<u64>(0, 0).filter(|_| hooked.result() == 0) else { return };
    let at_address =
        || ledger::at_place(ledger::find(Space::Mapping, hooked.argument(1))?.context.load(Ordering::Acquire));
    match ledger::find(Space::Physical, handle) {
        Some(entry) => drop(entry.context.fetch_add(HANDLE, Ordering::AcqRel)),
        // It had none any more. Its entry is found by the new handle only with an entry of that.
        None => at_address().iter().for_each(|entry| adopt(entry, handle)),
    }
}

/// Moves the memory to an entry that is found by its handle.
fn adopt(entry: &Entry, handle: u64) {
    let (units, device) = (entry.units.load(Ordering::Acquire), entry.device.load(Ordering::Acquire));
    let context = entry.context.load(Ordering::Acquire) + HANDLE;
    let from = entry.place();
    if let Some(new) = ledger::insert(Space::Physical, handle, units, device, context) {
        ledger::each(Space::Mapping)
            .filter(|mapping| mapping.context.load(Ordering::Acquire) == from)
            .for_each(|mapping| mapping.context.store(new.place(), Ordering::Release));
        entry.remove();
    }
}
