//! Code and its variables: counted is how much less the driver has free after it was loaded. What other processes of
//! the run take meanwhile is in the accounts, and is left out. What others take is not known.

use crate::account::Mark;
use crate::device::{Device, units};
use crate::hook::Hooked;
use crate::ledger::Space;
use crate::{driver, linear};
use cutap_wire::accounts::UNIT;

/// What others take meanwhile is no code: more than this is not counted.
const MOST: u64 = (512 << 20) / UNIT;

/// Free memory, and what the run has: together they change only by what is not counted yet.
fn rest(device: Device) -> Option<u64> {
    Some((driver::free_bytes()? / UNIT).saturating_add(device.sum()))
}

/// Before code is loaded.
pub fn before_load(hooked: &Hooked) {
    if let Some(device) = Device::current()
        && let Some(rest) = rest(device)
    {
        hooked.set_mark(Mark { units: rest, device: device.number }.word());
    }
}

/// After it.
pub fn after_load(hooked: &Hooked) {
    let Some(mark) = Mark::of_word(hooked.mark()).filter(|_| hooked.result() == 0) else { return };
    let (Some(device), Some(handle)) = (Device::numbered(mark.device), hooked.read::<u64>(0, 0)) else { return };
    let code_units = mark.units.saturating_sub(rest(device).unwrap_or(u64::MAX)).min(MOST);
    if code_units > 0 {
        device.take_anyhow(code_units);
        linear::remember(Space::Code, handle, Mark { units: code_units, device: device.number });
    }
}

/// The units of so many bytes that the driver counts as free.
pub fn free_units() -> Option<u64> {
    driver::free_bytes().map(units)
}
