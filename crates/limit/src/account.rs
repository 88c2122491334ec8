//! What is taken and given back, and the answer to a call that would take too much.

use crate::hook::Hooked;
use crate::{config, driver, pools, process};
use core::sync::atomic::{AtomicU64, Ordering};
use cutap_wire::accounts::UNIT;
use cutap_wire::limited::{DEVICES, Row};

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

    /// The same, after the slots of processes that have ended were emptied and pools were asked.
    pub fn settled_sum(&self) -> u64 {
        pools::settle_all();
        process::reclaim();
        self.sum()
    }

    /// Takes units, or the sum that is in the way. None: they cannot be counted.
    pub fn take(&self, units: u64) -> Option<Result<(), u64>> {
        let (accounts, slot) = (config::accounts()?, process::slot()?);
        if units == 0 || accounts.reserve(self.index, slot, units, self.limit).is_ok() {
            return Some(Ok(()));
        }
        pools::settle_all();
        process::reclaim();
        Some(accounts.reserve(self.index, slot, units, self.limit))
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

/// What a rule keeps between the two sides of a call: units and a device.
#[derive(Clone, Copy)]
pub struct Mark {
    pub units: u64,
    pub device: u64,
}

impl Mark {
    const IS: u64 = 1 << 63;

    pub fn word(self) -> u64 {
        Mark::IS | self.device << 48 | self.units & 0xffff_ffff_ffff
    }

    pub fn of_word(word: u64) -> Option<Mark> {
        let mark = Mark { units: word & 0xffff_ffff_ffff, device: word >> 48 & 0x7fff };
        (word & Mark::IS != 0).then_some(mark)
    }

    pub fn give(self) {
        Device::numbered(self.device).iter().for_each(|device| device.give(self.units));
    }
}

/// Takes so many bytes for a call that is about to be made, or answers it.
pub fn take_for(hooked: &Hooked, row: &Row, device: Option<Device>, bytes: u64) {
    let Some(device) = device else { return count_unknown() };
    match device.take(units(bytes)) {
        Some(Ok(())) => hooked.set_mark(Mark { units: units(bytes), device: device.number }.word()),
        Some(Err(sum)) => refuse(hooked, row, device, bytes, sum),
        None => {}
    }
}

/// There is no current context, or no place for its device. The call itself says what is wrong with it.
fn count_unknown() {
    if let Some(head) = config::head().filter(|_| driver::current_device().is_some()) {
        head.uncounted.devices.fetch_add(1, Ordering::Relaxed);
    }
}

/// Answers a call as a full device does, and remembers it.
pub fn refuse(hooked: &Hooked, row: &Row, device: Device, requested: u64, sum: u64) {
    let Some(head) = config::head() else { return };
    if !hooked.answer(head.numbers.out_of_memory) {
        return;
    }
    let number = head.refused.fetch_add(1, Ordering::Relaxed);
    if let Some(refusal) = head.refusals.get(number as usize) {
        // SAFETY: it only asks.
        refusal.pid.store(unsafe { libc::getpid() } as u32, Ordering::Relaxed);
        refusal.device.store(device.number, Ordering::Relaxed);
        refusal.requested.store(requested, Ordering::Relaxed);
        refusal.used.store(sum * UNIT, Ordering::Relaxed);
        refusal.row.store(config::number(row), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks() {
        let mark = Mark::of_word(Mark { units: 77, device: 31 }.word()).unwrap();
        assert_eq!((mark.units, mark.device), (77, 31));
        assert!(Mark::of_word(0).is_none());
    }
}
