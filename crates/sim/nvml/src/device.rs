//! Handles of devices, and what tells one from another.

use crate::fault::{Answer, Fault};
use cutap_machine::{config, pci, uuid};

/// What a handle points to: nothing that anybody may read.
#[derive(Debug)]
struct Place(#[allow(dead_code)] u64);

static PLACES: [Place; 8] = [const { Place(0) }; 8];

/// nvmlDevice_t
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Device(u64);

impl Device {
    pub fn new(ordinal: i32) -> Answer<Device> {
        let there = (0..config().devices).contains(&ordinal);
        there.then(|| Device(&raw const PLACES[ordinal as usize] as u64)).ok_or(Fault::INVALID_ARGUMENT)
    }

    /// A word that may be a handle.
    pub fn of(word: u64) -> Device {
        Device(word)
    }

    /// Which one; INVALID_ARGUMENT for what is no handle.
    pub fn ordinal(self) -> Answer<i32> {
        all().find(|ordinal| Device::new(*ordinal) == Ok(self)).ok_or(Fault::INVALID_ARGUMENT)
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Every device's number.
pub fn all() -> std::ops::Range<i32> {
    0..config().devices
}

/// As NVML writes it: `GPU-` and the uuid with dashes.
pub fn uuid_text(ordinal: i32) -> String {
    let hex: String = uuid(ordinal).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// As NVML writes it: `00000000:61:00.0`.
pub fn bus_text(ordinal: i32) -> String {
    let [domain, bus, slot] = pci(ordinal);
    format!("{domain:08X}:{bus:02X}:{slot:02X}.0")
}

/// A number of 13 digits, as such a board has.
pub fn serial(ordinal: i32) -> String {
    format!("{}", 1_650_000_000_000_u64 + ordinal as u64)
}
