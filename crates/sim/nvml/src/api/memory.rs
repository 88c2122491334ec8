//! Memory of a device. A part of it belongs to the driver. The simulated driver reports the bytes that this process
//! has allocated.

use crate::abi::{Out, answer};
use crate::api::processes::in_use;
use crate::device::Device;
use crate::fault::Fault;
use cutap_machine::config;

/// Bytes that the driver of an H200 reserves.
const RESERVED: u64 = 0x2671_0000;

/// nvmlMemory_t: total, free, used.
pub extern "C" fn nvmlDeviceGetMemoryInfo(device: Device, info: Out<[u64; 3]>) -> u32 {
    answer(|| {
        let (memory, used) = (config().memory, in_use(device.ordinal()?).unwrap_or(0));
        info.put([memory.saturating_add(RESERVED), memory.saturating_sub(used), used + RESERVED])
    })
}

/// nvmlMemory_v2_t: version, total, reserved, free, used.
pub extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: Device, info: Out<[u64; 5]>) -> u32 {
    const VERSION: u64 = 2 << 24 | 40;
    answer(|| {
        let (memory, used) = (config().memory, in_use(device.ordinal()?).unwrap_or(0));
        if info.get()?[0] as u32 as u64 != VERSION {
            return Err(Fault::ARGUMENT_VERSION_MISMATCH);
        }
        info.put([VERSION, memory.saturating_add(RESERVED), RESERVED, memory.saturating_sub(used), used])
    })
}
