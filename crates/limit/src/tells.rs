//! What the driver and the runtime report of memory: a device is as large as its limit.

use crate::device::Device;
use crate::hook::Hooked;
use crate::{code, config};
use cutap_wire::accounts::UNIT;

/// The smaller one of what a device has and what is allowed, in bytes.
fn allowed(device: Device, bytes: u64) -> u64 {
    bytes.min(device.limit.saturating_mul(UNIT))
}

/// What is free, in bytes, of what the driver says.
pub fn free(device: Device, bytes: u64) -> u64 {
    let rest = device.limit.saturating_sub(device.settled_sum());
    bytes.min(rest.saturating_mul(UNIT))
}

/// After a call that tells free memory and all of it.
pub fn free_and_all(hooked: &Hooked) {
    let Some(device) = Device::current().filter(|_| hooked.result() == 0) else { return };
    if let Some(bytes) = hooked.read::<u64>(0, 0) {
        hooked.output(0, 0, free(device, bytes));
    }
    if let Some(bytes) = hooked.read::<u64>(1, 0) {
        hooked.output(1, 0, allowed(device, bytes));
    }
}

/// After a call that tells all memory of a device, at a place in what it writes.
pub fn all(hooked: &Hooked, place: usize) {
    let Some(device) = Device::numbered(hooked.argument(1) as u32 as u64).filter(|_| hooked.result() == 0) else {
        return;
    };
    if let Some(bytes) = hooked.read::<u64>(0, place) {
        hooked.output(0, place, allowed(device, bytes));
    }
}

/// The same for properties.
pub fn properties(hooked: &Hooked) {
    config::head().iter().for_each(|head| all(hooked, head.places.total as usize));
}

/// What the driver counts as free, if there is a context of this device.
pub fn driver_free(device: Device) -> Option<u64> {
    let current = Device::current().filter(|current| current.index == device.index);
    current.and_then(|_| code::free_units()).map(|units| units * UNIT)
}
