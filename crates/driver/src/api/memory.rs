//! Device, managed and page-locked memory: allocation, release, and queries of addresses.

use crate::abi::{Answer, Fault, Out, answer};
use crate::driver::device::memory;
use crate::driver::{allocation, capture_status, current, destroy, order};
use crate::state::{Kind, driver_state};

pub extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> u32 {
    answer(|| {
        let state = driver_state();
        let device = state.context.contexts[&current::require(&state)?].device;
        let used = state.memory.used.get(&device).copied().unwrap_or(0);
        drop(state);
        let all = memory(device);
        let counted = all.saturating_sub(used);
        free.put_if_wanted(allocation::space(device)?.free_memory().unwrap_or(counted) as usize);
        total.put_if_wanted(all as usize);
        Ok(())
    })
}

/// Allocates. A missing context is reported before a NULL output.
fn new(address: Out<u64>, kind: Kind, size: usize) -> Answer {
    let mut state = driver_state();
    current::require(&state)?;
    capture_status::forbid(&mut state)?;
    address.check()?.put(allocation::allocate(&mut state, kind, size as u64)?)
}

pub extern "C" fn cuMemAlloc_v2(address: Out<u64>, size: usize) -> u32 {
    answer(|| new(address, Kind::Device, size))
}

pub extern "C" fn cuMemAllocPitch_v2(
    address: Out<u64>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element: u32,
) -> u32 {
    answer(|| {
        address.check()?;
        pitch.check()?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(Fault::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(512).ok_or(Fault::INVALID_VALUE)?;
        let size = row.checked_mul(height).ok_or(Fault::INVALID_VALUE)?;
        new(address, Kind::Device, size)?;
        pitch.put(row)
    })
}

/// Flags: attached to all (1) or to the host (2). New memory cannot be attached to a stream.
pub extern "C" fn cuMemAllocManaged(address: Out<u64>, size: usize, flags: u32) -> u32 {
    answer(|| {
        address.check()?;
        if !matches!(flags, 1 | 2) {
            return Err(Fault::INVALID_VALUE);
        }
        new(address, Kind::Managed, size)
    })
}

/// Frees an allocation of the right kind, after all work of its context.
fn free(address: u64, is_right: impl Fn(Kind) -> bool) -> Answer {
    let mut state = driver_state();
    capture_status::forbid(&mut state)?;
    let allocation = state.memory.allocations.get(&address).filter(|a| is_right(a.kind)).ok_or(Fault::INVALID_VALUE)?;
    let context = allocation.context;
    destroy::begin(&mut state, address)?;
    match order::wait_for_context(state, context) {
        Ok(mut state) => destroy::finish(&mut state, address),
        Err(fault) => {
            destroy::cancel(&mut self::driver_state(), address);
            return Err(fault);
        }
    }
    Ok(())
}

pub extern "C" fn cuMemFree_v2(address: u64) -> u32 {
    answer(|| {
        if address == 0 { Ok(()) } else { free(address, |k| matches!(k, Kind::Device | Kind::Managed | Kind::Graph)) }
    })
}

pub extern "C" fn cuMemAllocHost_v2(address: Out<u64>, size: usize) -> u32 {
    cuMemHostAlloc(address, size, 0)
}

pub extern "C" fn cuMemHostAlloc(address: Out<u64>, size: usize, flags: u32) -> u32 {
    answer(|| {
        address.check()?;
        if flags & !7 != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        if size == 0 {
            return current::require(&driver_state()).and_then(|_| address.put(0));
        }
        new(address, Kind::Host(flags), size)
    })
}

pub extern "C" fn cuMemFreeHost(address: u64) -> u32 {
    answer(|| if address == 0 { Ok(()) } else { free(address, |k| matches!(k, Kind::Host(_))) })
}

pub extern "C" fn cuMemHostRegister_v2(address: u64, size: usize, flags: u32) -> u32 {
    answer(|| {
        if flags & !15 != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        allocation::register(&mut driver_state(), address, size as u64, flags)
    })
}

pub extern "C" fn cuMemHostUnregister(address: u64) -> u32 {
    answer(|| {
        if driver_state().memory.find(address).is_none() {
            return Err(Fault::HOST_MEMORY_NOT_REGISTERED);
        }
        free(address, |k| matches!(k, Kind::Registered(_)))
    })
}

pub extern "C" fn cuMemHostGetDevicePointer_v2(device_pointer: Out<u64>, address: u64, flags: u32) -> u32 {
    answer(|| {
        device_pointer.check()?;
        let state = driver_state();
        current::require(&state)?;
        match state.memory.find(address) {
            Some((_, a)) if flags == 0 && !a.on_device() => device_pointer.put(address),
            _ => Err(Fault::INVALID_VALUE),
        }
    })
}

pub extern "C" fn cuMemHostGetFlags(flags_out: Out<u32>, address: u64) -> u32 {
    answer(|| match driver_state().memory.find(address).map(|(_, a)| a.kind) {
        Some(Kind::Host(flags) | Kind::Registered(flags)) => flags_out.put(flags),
        _ => Err(Fault::INVALID_VALUE),
    })
}

pub extern "C" fn cuMemGetAddressRange_v2(base: Out<u64>, size: Out<usize>, address: u64) -> u32 {
    answer(|| {
        let state = driver_state();
        let (start, allocation) = state.memory.find(address).ok_or(Fault::NOT_FOUND)?;
        base.put_if_wanted(start);
        size.put_if_wanted(allocation.size as usize);
        Ok(())
    })
}
