//! A device of this process: its place in the accounts, its limit, and what is counted of it.

use crate::{config, driver, process};
use core::sync::atomic::{AtomicU64, Ordering};
use cutap_wire::accounts::UNIT;
use cutap_wire::limited::DEVICES;

/// A device of this process.
#[derive(Clone, Copy)]
pub struct Device {
    /// Its number in this process.
    pub number: u64,
    /// Its number in the accounts.
    pub index: usize,
    /// Its limit, in units.
    pub limit: u64,
}

/// The keys of this process's devices, by their numbers; 0: not asked yet.
static KEYS: [AtomicU64; DEVICES] = [const { AtomicU64::new(0) }; DEVICES];

/// The key of a device in the accounts.
pub fn key(uuid: [u8; 16]) -> u64 {
    let (first, second) = uuid.split_at(8);
    let half = |bytes: &[u8]| bytes.iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    (half(first) ^ half(second).rotate_left(1)) | 1
}

/// The units of so many bytes.
pub fn units(bytes: u64) -> u64 {
    bytes.div_ceil(UNIT)
}

fn limit(number: Option<u64>) -> Option<u64> {
    let head = config::head()?;
    let own = number.and_then(|number| head.limits.get(number as usize)).filter(|limit| **limit != 0);
    let bytes = *own.unwrap_or(&head.limit);
    Some(if bytes == u64::MAX { u64::MAX } else { bytes / UNIT })
}

impl Device {
    /// The device with this number in this process.
    pub fn numbered(number: u64) -> Option<Device> {
        let place = KEYS.get(number as usize)?;
        let mut device_key = place.load(Ordering::Acquire);
        if device_key == 0 {
            device_key = key(driver::uuid(number)?);
            place.store(device_key, Ordering::Release);
        }
        Some(Device { number, index: config::accounts()?.device(device_key)?, limit: limit(Some(number))? })
    }

    /// That of the current context.
    pub fn current() -> Option<Device> {
        Device::numbered(driver::current_device()?)
    }

    /// The one with this UUID, which the process may not have used yet.
    pub fn with_uuid(uuid: [u8; 16]) -> Option<Device> {
        let key = key(uuid);
        let number = KEYS.iter().position(|device_key| device_key.load(Ordering::Acquire) == key).map(|n| n as u64);
        Some(Device {
            number: number.unwrap_or(u64::MAX),
            index: config::accounts()?.device(key)?,
            limit: limit(number)?,
        })
    }

    /// What all processes have, in units.
    pub fn sum(&self) -> u64 {
        config::accounts().map_or(0, |accounts| accounts.sum(self.index))
    }

    /// Takes units that the driver gave already.
    pub fn take_anyhow(&self, units: u64) {
        if let (Some(accounts), Some(slot)) = (config::accounts(), process::slot()) {
            let mut rest = units;
            while rest > 0 {
                let now = rest.min(cutap_wire::accounts::MOST);
                let _ = accounts.reserve(self.index, slot, now, u64::MAX);
                rest -= now;
            }
            let above = accounts.sum(self.index).saturating_sub(self.limit);
            if let Some(head) = config::head().filter(|_| above > 0) {
                head.uncounted.above.fetch_max(above * UNIT, Ordering::Relaxed);
            }
        }
    }

    /// Gives units back.
    pub fn give(&self, units: u64) {
        if let (Some(accounts), Some(slot)) = (config::accounts(), process::slot()) {
            accounts.release(self.index, slot, units);
        }
    }
}
