//! Devices. They differ only in the PCI bus and in the uuid.

use crate::abi::{Fault, Out, Text, answer, put_text};
use crate::api::arrays::texel;
use crate::driver::device::{self as devices, attribute, device, pci, uuid};
use cutap_machine::attribute_id;

pub extern "C" fn cuDeviceGetCount(count: Out<i32>) -> u32 {
    answer(|| count.put(devices::count()))
}

pub extern "C" fn cuDeviceGet(device_out: Out<i32>, ordinal: i32) -> u32 {
    answer(|| device_out.check()?.put(device(ordinal)?))
}

pub extern "C" fn cuDeviceGetName(name: Out<u8>, size: i32, ordinal: i32) -> u32 {
    answer(|| device(ordinal).and_then(|_| put_text(name, size as u32, devices::name(ordinal).to_bytes())))
}

pub extern "C" fn cuDeviceGetUuid(uuid_out: Out<[u8; 16]>, ordinal: i32) -> u32 {
    answer(|| uuid_out.check()?.put(uuid(device(ordinal)?)))
}

pub extern "C" fn cuDeviceGetUuid_v2(uuid_out: Out<[u8; 16]>, ordinal: i32) -> u32 {
    cuDeviceGetUuid(uuid_out, ordinal)
}

pub extern "C" fn cuDeviceTotalMem_v2(bytes: Out<usize>, ordinal: i32) -> u32 {
    answer(|| device(ordinal).and_then(|_| bytes.put(devices::memory(ordinal) as usize)))
}

pub extern "C" fn cuDeviceGetAttribute(value: Out<i32>, id: u32, ordinal: i32) -> u32 {
    answer(|| device(ordinal).and_then(|d| value.check()?.put(attribute(d, id)?)))
}

pub extern "C" fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, ordinal: i32) -> u32 {
    answer(|| {
        let ordinal = device(ordinal)?;
        major.check()?;
        minor.put(attribute(ordinal, attribute_id::COMPUTE_CAPABILITY_MINOR)?)?;
        major.put(attribute(ordinal, attribute_id::COMPUTE_CAPABILITY_MAJOR)?)
    })
}

/// CUdevprop: threads and the three sides of a block, sides of a grid, shared memory, constant memory, warp, pitch,
/// registers, clock, texture alignment.
pub extern "C" fn cuDeviceGetProperties(properties: Out<[i32; 14]>, ordinal: i32) -> u32 {
    answer(|| {
        let ordinal = device(ordinal)?;
        let mut all = [0; 14];
        for (value, id) in all.iter_mut().zip(attribute_id::MAX_THREADS_PER_BLOCK..) {
            *value = attribute(ordinal, id)?;
        }
        properties.put(all)
    })
}

fn pci_text(ordinal: i32) -> String {
    let [domain, bus, slot] = pci(ordinal);
    format!("{domain:04X}:{bus:02X}:{slot:02X}.0")
}

/// The whole text must fit.
pub extern "C" fn cuDeviceGetPCIBusId(text: Out<u8>, size: i32, ordinal: i32) -> u32 {
    answer(|| {
        let place = pci_text(device(ordinal)?);
        if size as usize <= place.len() {
            return Err(Fault::INVALID_VALUE);
        }
        put_text(text, size as u32, place.as_bytes())
    })
}

pub extern "C" fn cuDeviceGetByPCIBusId(device_out: Out<i32>, text: Text) -> u32 {
    answer(|| {
        device_out.check()?;
        let bus_id = text.str()?.to_uppercase();
        if bus_id.is_empty() || !bus_id.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.')) {
            return Err(Fault::INVALID_VALUE);
        }
        let is = |ordinal: &i32| {
            let full = pci_text(*ordinal);
            bus_id == full || bus_id == full[5..] || bus_id == full[..10] || bus_id == full[5..10]
        };
        device_out.put((0..devices::count()).find(is).ok_or(Fault::INVALID_DEVICE)?)
    })
}

pub extern "C" fn cuDeviceGetTexture1DLinearMaxWidth(
    width: Out<usize>,
    format: u32,
    channels: u32,
    ordinal: i32,
) -> u32 {
    answer(|| {
        width.check()?;
        let ordinal = device(ordinal)?;
        texel(format, channels)?;
        width.put(attribute(ordinal, attribute_id::MAXIMUM_TEXTURE1D_LINEAR_WIDTH)? as usize)
    })
}

/// This driver supports no affinity to a part of the multiprocessors.
pub extern "C" fn cuDeviceGetExecAffinitySupport(supported: Out<i32>, _kind: u32, ordinal: i32) -> u32 {
    answer(|| device(ordinal).and_then(|_| supported.put(0)))
}
