//! The topology: any two devices reach each other's memory, over the same part of the machine, and all processors are
//! equally near to all devices.

use crate::abi::{Out, answer, put_list};
use crate::device::{Device, all};
use crate::fault::{Answer, Fault};

fn two(a: Device, b: Device) -> Answer<bool> {
    Ok(a.ordinal()? == b.ordinal()?)
}

/// OK (0) between two devices. As on an H200, a device and itself have UNKNOWN (5) for the five abilities.
pub extern "C" fn nvmlDeviceGetP2PStatus(a: Device, b: Device, ability: u32, status: Out<u32>) -> u32 {
    answer(|| {
        let same = two(a, b)?;
        if ability > 6 {
            return Err(Fault::INVALID_ARGUMENT);
        }
        status.put(if same && ability < 5 { 5 } else { 0 })
    })
}

/// NVML_TOPOLOGY_NODE
const NEAR: u32 = 40;

pub extern "C" fn nvmlDeviceGetTopologyCommonAncestor(a: Device, b: Device, level: Out<u32>) -> u32 {
    answer(|| if two(a, b)? { Err(Fault::NOT_SUPPORTED) } else { level.put(NEAR) })
}

pub extern "C" fn nvmlDeviceOnSameBoard(a: Device, b: Device, same: Out<i32>) -> u32 {
    answer(|| two(a, b).and_then(|is| same.put(is.into())))
}

pub extern "C" fn nvmlDeviceGetTopologyNearestGpus(d: Device, level: u32, count: Out<u32>, array: Out<Device>) -> u32 {
    answer(|| {
        let own = d.ordinal()?;
        let neighbours = all().filter(|ordinal| *ordinal != own && level == NEAR);
        put_list(array, count, &neighbours.map(Device::new).collect::<Answer<Vec<_>>>()?)
    })
}

pub extern "C" fn nvmlSystemGetTopologyGpuSet(_processor: u32, count: Out<u32>, array: Out<Device>) -> u32 {
    answer(|| put_list(array, count, &all().map(Device::new).collect::<Answer<Vec<_>>>()?))
}

/// One bit for each processor.
fn processors(device: Device, size: u32, bits: Out<u64>) -> Answer {
    device.ordinal()?;
    if size == 0 {
        return Err(Fault::INVALID_ARGUMENT);
    }
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    for word in 0..size as usize {
        let remaining = count.saturating_sub(64 * word);
        bits.put_at(word, if remaining >= 64 { u64::MAX } else { (1 << remaining) - 1 })?;
    }
    Ok(())
}

pub extern "C" fn nvmlDeviceGetCpuAffinity(device: Device, size: u32, bits: Out<u64>) -> u32 {
    answer(|| processors(device, size, bits))
}

pub extern "C" fn nvmlDeviceGetCpuAffinityWithinScope(device: Device, size: u32, bits: Out<u64>, scope: u32) -> u32 {
    answer(|| if scope > 1 { Err(Fault::INVALID_ARGUMENT) } else { processors(device, size, bits) })
}

/// One node of memory.
pub extern "C" fn nvmlDeviceGetMemoryAffinity(device: Device, size: u32, bits: Out<u64>, scope: u32) -> u32 {
    answer(|| {
        device.ordinal()?;
        if scope > 1 || size == 0 {
            return Err(Fault::INVALID_ARGUMENT);
        }
        (0..size as usize).try_for_each(|word| bits.put_at(word, u64::from(word == 0)))
    })
}
