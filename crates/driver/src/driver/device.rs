//! The devices that the driver shows, and their attributes. A program knows them by their place in this list. The
//! machine knows all of them by their number.

use crate::abi::{Answer, Fault};
use crate::engine::machine;
use cutap_machine::{Hidden, generation};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The process that has chosen in the upper half, the count of devices in bits 24 to 27, and three bits for the number
/// of each. It is one word: a lock could be held by a thread that a forked child does not have.
static CHOSEN: AtomicU64 = AtomicU64::new(0);
const COUNT: u32 = 24;

/// Chooses the devices from the environment. Only the first choice of a process counts.
pub fn choose() -> Answer {
    let devices = cutap_machine::visible(machine().uuids()).map_err(|why| match why {
        Hidden::All => Fault::NO_DEVICE,
        Hidden::Wrongly => Fault::INVALID_DEVICE,
    })?;
    let numbers = devices.iter().rev().fold(0, |word, number| word << 3 | *number as u64);
    let chosen = u64::from(generation()) << 32 | (devices.len() as u64) << COUNT | numbers;
    let new = |word: u64| ((word >> 32) as u32 != generation()).then_some(chosen);
    let _ = CHOSEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, new);
    Ok(())
}

pub fn count() -> i32 {
    (CHOSEN.load(Ordering::Acquire) >> COUNT & 15) as i32
}

/// INVALID_DEVICE for an ordinal without a device.
pub fn device(ordinal: i32) -> Answer<i32> {
    if (0..count()).contains(&ordinal) { Ok(ordinal) } else { Err(Fault::INVALID_DEVICE) }
}

/// The number of a device in the machine, for an ordinal that exists.
pub fn number(ordinal: i32) -> i32 {
    (CHOSEN.load(Ordering::Acquire) >> (3 * (ordinal as u32 & 7)) & 7) as i32
}

/// The ordinal of a number in the machine, if the device is shown.
pub fn with_number(machine_number: i32) -> Option<i32> {
    (0..count()).find(|ordinal| number(*ordinal) == machine_number)
}

/// The value of an attribute; INVALID_VALUE for an unknown attribute.
pub fn attribute(ordinal: i32, id: u32) -> Answer<i32> {
    let value = machine().attribute(number(ordinal), id).ok_or(Fault::INVALID_VALUE)?;
    device(ordinal).map(|_| value)
}

/// The uuid of a device that exists.
pub fn uuid(ordinal: i32) -> [u8; 16] {
    let number = usize::try_from(number(ordinal)).unwrap_or(0);
    machine().uuids().get(number).copied().unwrap_or_default()
}

/// PCI domain, bus and device of a device that exists.
pub fn pci(ordinal: i32) -> [i32; 3] {
    machine().pci(number(ordinal))
}

/// The name of a device that exists.
pub fn name(ordinal: i32) -> &'static CStr {
    machine().name(number(ordinal))
}

/// All memory of a device that exists, in bytes.
pub fn memory(ordinal: i32) -> u64 {
    machine().memory(number(ordinal))
}
