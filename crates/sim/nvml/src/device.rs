//! Handles of devices, and the properties in which devices differ.

use crate::fault::{Answer, Fault};
use cutap_machine::{config, pci, uuid};

/// The target of a handle. It has no content for programs.
#[derive(Debug)]
struct HandleTarget(#[allow(dead_code)] u64);

static PLACES: [HandleTarget; 8] = [const { HandleTarget(0) }; 8];

/// nvmlDevice_t
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Device(u64);

impl Device {
    pub fn new(ordinal: i32) -> Answer<Device> {
        let there = (0..config().devices).contains(&ordinal);
        there.then(|| Device(&raw const PLACES[ordinal as usize] as u64)).ok_or(Fault::INVALID_ARGUMENT)
    }

    /// The handle of a word, which may be invalid.
    pub fn of(word: u64) -> Device {
        Device(word)
    }

    /// The number of the device. INVALID_ARGUMENT for an invalid handle.
    pub fn ordinal(self) -> Answer<i32> {
        all().find(|ordinal| Device::new(*ordinal) == Ok(self)).ok_or(Fault::INVALID_ARGUMENT)
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The numbers of all devices.
pub fn all() -> std::ops::Range<i32> {
    0..config().devices
}

/// The uuid in the form of NVML: `GPU-` and the digits with dashes.
pub fn uuid_text(ordinal: i32) -> String {
    let hex: String = uuid(ordinal).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The PCI address in the form of NVML: `00000000:61:00.0`.
pub fn bus_text(ordinal: i32) -> String {
    let [domain, bus, slot] = pci(ordinal);
    format!("{domain:08X}:{bus:02X}:{slot:02X}.0")
}

/// A serial number of 13 digits, as an H200 has.
pub fn serial(ordinal: i32) -> String {
    format!("{}", 1_650_000_000_000_u64 + ordinal as u64)
}
