//! Virtual memory management: pieces of memory, reserved addresses, and mappings between them.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::driver::address_space::{self, GRANULE};
use crate::driver::device::device;
use crate::state::{Handle, Properties, driver_state};

pub extern "C" fn cuMemGetAllocationGranularity(bytes: Out<usize>, properties: In<Properties>, option: u32) -> u32 {
    answer(|| {
        bytes.check()?;
        let properties = properties.get()?;
        if properties.kind != 0 || properties.place != 0 {
            address_space::check(&properties)?; // all zero is answered too
        }
        if option > 1 { Err(Fault::INVALID_VALUE) } else { bytes.put(GRANULE as usize) }
    })
}

pub extern "C" fn cuMemCreate(handle: Out<Handle>, size: usize, properties: In<Properties>, flags: u64) -> u32 {
    answer(|| {
        handle.check()?;
        let properties = properties.get()?;
        if flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        handle.put(address_space::create(&mut driver_state(), size as u64, properties)?)
    })
}

pub extern "C" fn cuMemRelease(memory: Handle) -> u32 {
    answer(|| address_space::release(&mut driver_state(), memory))
}

pub extern "C" fn cuMemAddressReserve(
    address: Out<u64>,
    size: usize,
    alignment: usize,
    address_hint: u64,
    flags: u64,
) -> u32 {
    answer(|| {
        address.check()?;
        if flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        address.put(address_space::reserve(&mut driver_state(), size as u64, alignment as u64, address_hint)?)
    })
}

pub extern "C" fn cuMemAddressFree(address: u64, size: usize) -> u32 {
    answer(|| address_space::free(&mut driver_state(), address, size as u64))
}

pub extern "C" fn cuMemMap(address: u64, size: usize, offset: usize, memory: Handle, flags: u64) -> u32 {
    answer(|| {
        if flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        address_space::map(&mut driver_state(), address, size as u64, offset as u64, memory)
    })
}

pub extern "C" fn cuMemUnmap(address: u64, size: usize) -> u32 {
    answer(|| {
        address_space::settle(address, size as u64)?;
        address_space::unmap(&mut driver_state(), address, size as u64)
    })
}

/// CUmemAccessDesc: kind and number of a location, and its access.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Access {
    place: u32,
    id: i32,
    flags: u32,
}

/// The number of a location: the device, or -1 for the host.
fn place(kind: u32, id: i32) -> Answer<i32> {
    match kind {
        1 => device(id),
        2..=4 => Ok(-1),
        _ => Err(Fault::INVALID_VALUE),
    }
}

pub extern "C" fn cuMemSetAccess(address: u64, size: usize, list: In<Access>, count: usize) -> u32 {
    answer(|| {
        if count == 0 {
            return Err(Fault::INVALID_VALUE);
        }
        list.check_count(count)?;
        let read = |n| {
            let Access { place: kind, id, flags } = list.get_at(n)?;
            if matches!(flags, 0 | 1 | 3) { Ok((place(kind, id)?, flags)) } else { Err(Fault::INVALID_VALUE) }
        };
        let allowed = (0..count).map(read).collect::<Answer<Vec<_>>>()?;
        if allowed.iter().any(|(_, access)| *access == 0) {
            address_space::settle(address, size as u64)?;
        }
        address_space::set_access(&mut driver_state(), address, size as u64, &allowed)
    })
}

pub extern "C" fn cuMemGetAccess(flags: Out<u64>, location: In<[u32; 2]>, address: u64) -> u32 {
    answer(|| {
        flags.check()?;
        let [kind, id] = location.get()?;
        flags.put(address_space::access(&driver_state(), address, place(kind, id as i32)?)?.into())
    })
}

pub extern "C" fn cuMemGetAllocationPropertiesFromHandle(properties: Out<Properties>, memory: Handle) -> u32 {
    answer(|| properties.check()?.put(address_space::lookup(&driver_state(), memory)?.properties))
}

pub extern "C" fn cuMemRetainAllocationHandle(handle: Out<Handle>, address: u64) -> u32 {
    answer(|| handle.check()?.put(address_space::retain(&mut driver_state(), address)?))
}

/// Only file descriptors can be exported.
pub extern "C" fn cuMemExportToShareableHandle(
    shareable_handle: Out<i32>,
    memory: Handle,
    kind: u32,
    flags: u64,
) -> u32 {
    answer(|| {
        shareable_handle.check()?;
        if flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        shareable_handle.put(address_space::export(&driver_state(), memory, kind)?)
    })
}

/// The pointer argument holds the file descriptor.
pub extern "C" fn cuMemImportFromShareableHandle(handle: Out<Handle>, file: u64, kind: u32) -> u32 {
    answer(|| {
        handle.check()?;
        if kind != address_space::FILE {
            return Err(Fault::INVALID_VALUE);
        }
        handle.put(address_space::import(&mut driver_state(), file as i32)?)
    })
}
