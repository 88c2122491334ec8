//! What is taken and given back, and the answer to a call that would take too much.

use crate::device::{Device, units};
use crate::hook::Hooked;
use crate::{config, driver, process, settle};
use core::sync::atomic::Ordering;
use cutap_wire::accounts::UNIT;
use cutap_wire::limited::Row;

impl Device {
    /// The same, after the slots of processes that have ended were emptied and pools were asked.
    pub fn settled_sum(&self) -> u64 {
        settle::settle_all();
        process::reclaim();
        self.sum()
    }

    /// Takes units, or the sum that is in the way. None: they cannot be counted.
    pub fn take(&self, units: u64) -> Option<Result<(), u64>> {
        let (accounts, slot) = (config::accounts()?, process::slot()?);
        if units == 0 || accounts.reserve(self.index, slot, units, self.limit).is_ok() {
            return Some(Ok(()));
        }
        settle::settle_all();
        process::reclaim();
        Some(accounts.reserve(self.index, slot, units, self.limit))
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
