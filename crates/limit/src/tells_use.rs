//! What NVML says about memory and processes: the same as the driver.

use crate::device::Device;
use crate::hook::Hooked;
use crate::{config, driver, process, tells};
use cutap_wire::accounts::UNIT;
use cutap_wire::limited::Head;

fn device(hooked: &Hooked) -> Option<(&'static Head, Device)> {
    let device = Device::with_uuid(driver::nvml_uuid(hooked.argument(0))?)?;
    Some((config::head()?, device)).filter(|_| device.limit != u64::MAX)
}

/// After a call that tells memory. `reserved`: the place of that.
fn put(hooked: &Hooked, device: Device, [total, free, used]: [u32; 3], reserved: Option<u32>) {
    let field = |place: u32| hooked.read::<u64>(1, place as usize);
    let (Some(all), Some(rest)) = (field(total), field(free)) else { return };
    let all = all.min(device.limit.saturating_mul(UNIT));
    let rest = tells::free(device, tells::driver_free(device).unwrap_or(rest)).min(all);
    // Backwards: the first field stands where the structure begins, and is written by cutap.
    let put = |place: u32, value: u64| hooked.output(1, place as usize, value);
    put(used, all - rest);
    put(free, rest);
    reserved.iter().for_each(|place| put(*place, 0));
    put(total, all);
}

pub fn memory(hooked: &Hooked) {
    if let Some((head, device)) = device(hooked).filter(|_| hooked.result() == 0) {
        put(hooked, device, head.places.memory, None);
    }
}

pub fn memory2(hooked: &Hooked) {
    if let Some((head, device)) = device(hooked).filter(|_| hooked.result() == 0) {
        let [total, reserved, free, used] = head.places.memory2;
        put(hooked, device, [total, free, used], Some(reserved));
    }
}

/// Before a call that tells processes: how many there is room for.
pub fn processes_before(hooked: &Hooked) {
    hooked.set_mark(hooked.read::<u32>(1, 0).unwrap_or(0).into());
}

/// After it: the processes of the run, as many as there is room for. `is_first`: in the first form.
pub fn processes(hooked: &Hooked, is_first: bool) {
    let Some((head, device)) = device(hooked) else { return };
    if hooked.result() != 0 && hooked.result() != head.numbers.insufficient_size {
        return;
    }
    let (Some(accounts), Some(own)) = (config::accounts(), process::own()) else { return };
    let [bytes, pid, memory] = if is_first { head.places.process } else { head.places.process2 };
    let (room, mut count) = (hooked.mark() as u32, 0_u32);
    device.settled_sum();
    accounts.each(device.index, |process, units| {
        if process.namespace != own.namespace {
            return;
        }
        if count < room {
            let at = count as usize * bytes as usize;
            // What NVML did not write is no instance of a divided device.
            (0..bytes as usize / 8).for_each(|word| hooked.write(2, at + word * 8, u64::MAX));
            hooked.write(2, at + pid as usize, process.pid);
            hooked.write(2, at + memory as usize, units * UNIT);
        }
        count += 1;
    });
    hooked.output(1, 0, count);
    let result = if count > room { head.numbers.insufficient_size } else { 0 };
    if result != hooked.result() {
        hooked.set_result(result);
    }
}
