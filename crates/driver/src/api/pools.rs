//! Memory in the order of a stream, and its pools. An allocation exists immediately; a free happens in the order of
//! its stream.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::driver::device::{device, memory};
use crate::driver::{allocation, context, destroy, submit};
use crate::engine::{machine, refused};
use crate::state::{Allocation, DriverState, Handle, Kind, Pool, Task, driver_state};

/// The default pool of a device. It is created at the first request.
fn default_pool(state: &mut DriverState, device: i32) -> Handle {
    let existing = state.memory.pools.iter().find(|(_, p)| p.default && p.device == device).map(|(handle, _)| *handle);
    existing.unwrap_or_else(|| {
        let handle = state.new_handle();
        state.memory.pools.insert(handle, Pool::new(device, true));
        handle
    })
}

/// INVALID_VALUE for an unknown pool.
fn lookup_pool(state: &DriverState, pool: Handle) -> Answer<&Pool> {
    state.memory.pools.get(&pool).filter(|pool| !pool.destroyed).ok_or(Fault::INVALID_VALUE)
}

/// The current pool of a device: the default pool, or the one that the program set.
fn current_pool(state: &mut DriverState, device: i32) -> Handle {
    match state.memory.chosen_pools.get(&device) {
        Some(pool) => *pool,
        None => default_pool(state, device),
    }
}

fn allocate(address_out: Out<u64>, size: usize, pool: Option<Handle>, stream: Handle) -> u32 {
    answer(|| {
        address_out.check()?;
        let mut state = driver_state();
        let stream = context::stream(&mut state, stream)?;
        if size == 0 {
            return address_out.put(0);
        }
        let context = state.stream.streams[&stream].context;
        let device = state.context.contexts.get(&context).ok_or(Fault::CONTEXT_IS_DESTROYED)?.device;
        let pool = pool.unwrap_or_else(|| current_pool(&mut state, device));
        let device = lookup_pool(&state, pool)?.device;
        if state.stream.streams[&stream].capture.is_some() {
            let task = destroy::for_graph(&mut state, device, context, size as u64)?;
            let Task::Allocate(address, _) = task else { return Err(Fault::INVALID_VALUE) };
            submit::put(state, stream, task, false)?;
            return address_out.put(address);
        }
        let (from, in_use) = state.memory.pool(pool).ok_or(Fault::INVALID_VALUE)?;
        let most = if machine().runs_kernels() { u64::MAX } else { memory(device) };
        from.take(size as u64, in_use, most)?;
        let allocation = Allocation { size: size as u64, kind: Kind::Device, device, context, id: 0, pool };
        let address = allocation::allocate_for(&mut state, allocation);
        if let (Err(_), Some(pool)) = (&address, state.memory.pools.get_mut(&pool)) {
            pool.give(size as u64);
        }
        address_out.put(address?)
    })
}

pub extern "C" fn cuMemAllocAsync(address_out: Out<u64>, size: usize, stream: Handle) -> u32 {
    allocate(address_out, size, None, stream)
}

pub extern "C" fn cuMemAllocFromPoolAsync(address_out: Out<u64>, size: usize, pool: Handle, stream: Handle) -> u32 {
    allocate(address_out, size, Some(pool), stream)
}

pub extern "C" fn cuMemFreeAsync(address: u64, stream: Handle) -> u32 {
    answer(|| {
        let is_ours = |a: &Allocation| matches!(a.kind, Kind::Device | Kind::Graph);
        let mut state = driver_state();
        if address != 0 && !state.memory.allocations.get(&address).is_some_and(is_ours) {
            return Err(Fault::INVALID_VALUE);
        }
        let stream = context::stream(&mut state, stream)?;
        if address == 0 {
            return submit::put(state, stream, Task::Free(address), false);
        }
        if let Some(place) = state.stream.streams[&stream].capture.clone() {
            if let Some(capture) = state.graph.captures.get(&place.capture) {
                destroy::may_free(&state, capture.graph, address)?;
            }
            return submit::put(state, stream, Task::Free(address), false);
        }
        destroy::begin(&mut state, address)?;
        let submitted = submit::put(state, stream, Task::Free(address), false);
        if submitted.is_err() {
            destroy::cancel(&mut self::driver_state(), address);
        }
        submitted
    })
}

pub extern "C" fn cuDeviceGetDefaultMemPool(pool: Out<Handle>, ordinal: i32) -> u32 {
    answer(|| pool.check()?.put(default_pool(&mut driver_state(), device(ordinal)?)))
}

pub extern "C" fn cuDeviceGetMemPool(pool: Out<Handle>, ordinal: i32) -> u32 {
    answer(|| pool.check()?.put(current_pool(&mut driver_state(), device(ordinal)?)))
}

pub extern "C" fn cuDeviceSetMemPool(ordinal: i32, pool: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        lookup_pool(&state, pool)?;
        state.memory.chosen_pools.insert(device(ordinal)?, pool);
        Ok(())
    })
}

/// The start of CUmemPoolProps: kind of allocation, kinds of handle, kind and number of the location.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Properties {
    kind: u32,
    handles: u32,
    place: u32,
    id: i32,
}

pub extern "C" fn cuMemPoolCreate(pool: Out<Handle>, properties: In<Properties>) -> u32 {
    answer(|| {
        pool.check()?;
        let properties = properties.get()?;
        if properties.kind != 1 || !(1..=4).contains(&properties.place) {
            return Err(Fault::INVALID_VALUE);
        }
        let device = device(if properties.place == 1 { properties.id } else { 0 }).or(Err(Fault::INVALID_VALUE))?;
        let mut state = driver_state();
        let handle = state.new_handle();
        state.memory.pools.insert(handle, Pool::new(device, false));
        pool.put(handle)
    })
}

pub extern "C" fn cuMemPoolDestroy(pool: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        if lookup_pool(&state, pool)?.default {
            return Err(Fault::INVALID_VALUE);
        }
        let (entry, in_use) = state.memory.pool(pool).ok_or(Fault::INVALID_VALUE)?;
        entry.destroy(in_use);
        if entry.reserved == 0 {
            state.memory.pools.remove(&pool);
        }
        state.memory.chosen_pools.retain(|_, p| *p != pool);
        Ok(())
    })
}

pub extern "C" fn cuMemPoolTrimTo(pool: Handle, keep: usize) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let (pool, in_use) = state.memory.pool(pool).ok_or(Fault::INVALID_VALUE)?;
        pool.trim(keep as u64, in_use);
        Ok(())
    })
}

/// Attributes 1 to 3: kinds of reuse (32 bits). 4: bytes to keep. 5 to 8: bytes held and used, now and at most.
fn get(pool: &Pool, id: u32, value: u64) -> Answer {
    let setting = |n: u32| pool.settings[n as usize - 1];
    match id {
        1..=3 => out::<u32>(value).put(setting(id) as u32),
        4 => out::<u64>(value).put(setting(id)),
        5 => out::<u64>(value).put(pool.reserved),
        6 => out::<u64>(value).put(pool.reserved_high),
        7 => out::<u64>(value).put(pool.used),
        8 => out::<u64>(value).put(pool.used_high),
        _ => Err(Fault::INVALID_VALUE),
    }
}

fn out<T>(address: u64) -> Out<T> {
    Out::at(address)
}

pub extern "C" fn cuMemPoolGetAttribute(pool: Handle, id: u32, value: u64) -> u32 {
    answer(|| get(lookup_pool(&driver_state(), pool)?, id, value))
}

pub extern "C" fn cuMemPoolSetAttribute(pool: Handle, id: u32, value: u64) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let pool = state.memory.pools.get_mut(&pool).ok_or(Fault::INVALID_VALUE)?;
        match id {
            1..=3 => pool.settings[id as usize - 1] = out::<u32>(value).get()?.into(),
            4 => pool.settings[3] = out::<u64>(value).get()?,
            // A maximum can only be set to 0.
            6 if out::<u64>(value).get()? == 0 => pool.reserved_high = pool.reserved,
            8 if out::<u64>(value).get()? == 0 => pool.used_high = pool.used,
            _ => return Err(Fault::INVALID_VALUE),
        }
        Ok(())
    })
}

/// Checks CUmemAccessDesc. All devices reach all memory, so nothing is stored. The device of the pool cannot lose
/// access.
pub extern "C" fn cuMemPoolSetAccess(pool: Handle, list: In<[u32; 3]>, count: usize) -> u32 {
    answer(|| {
        let state = driver_state();
        let own = lookup_pool(&state, pool)?.device;
        if count == 0 {
            return Err(Fault::INVALID_VALUE);
        }
        list.check_count(count)?;
        for n in 0..count {
            match list.get_at(n)? {
                [1, id, flags] if device(id as i32)? == own && flags != 3 => return Err(Fault::INVALID_DEVICE),
                [1..=4, _, 0 | 1 | 3] => {}
                _ => return Err(Fault::INVALID_VALUE),
            }
        }
        Ok(())
    })
}

pub extern "C" fn cuMemPoolGetAccess(flags: Out<u32>, pool: Handle, _location: u64) -> u32 {
    answer(|| flags.check().and(lookup_pool(&driver_state(), pool).map(drop)).and_then(|()| flags.put(3)))
}

/// This driver shares no pool with another process.
pub extern "C" fn cuMemPoolExportToShareableHandle(_handle: u64, pool: Handle, _kind: u32, _flags: u64) -> u32 {
    answer(|| {
        lookup_pool(&driver_state(), pool)?;
        refused::on_gpus("cuMemPoolExportToShareableHandle")?;
        Err(Fault::INVALID_VALUE)
    })
}

pub extern "C" fn cuMemPoolImportFromShareableHandle(_pool: u64, _file: u64, _kind: u32, _flags: u64) -> u32 {
    answer(|| refused::on_gpus("cuMemPoolImportFromShareableHandle").and(Err(Fault::INVALID_VALUE)))
}

/// The device of a CUmemLocation.
fn place(location: In<[u32; 2]>, kind: u32) -> Answer<i32> {
    match location.get()? {
        [1, id] if kind == 1 => device(id as i32),
        _ => Err(Fault::INVALID_VALUE),
    }
}

pub extern "C" fn cuMemGetDefaultMemPool(pool: Out<Handle>, location: In<[u32; 2]>, kind: u32) -> u32 {
    answer(|| pool.check()?.put(default_pool(&mut driver_state(), place(location, kind)?)))
}

pub extern "C" fn cuMemGetMemPool(pool: Out<Handle>, location: In<[u32; 2]>, kind: u32) -> u32 {
    answer(|| pool.check()?.put(current_pool(&mut driver_state(), place(location, kind)?)))
}

pub extern "C" fn cuMemSetMemPool(location: In<[u32; 2]>, kind: u32, pool: Handle) -> u32 {
    match place(location, kind) {
        Ok(ordinal) => cuDeviceSetMemPool(ordinal, pool),
        Err(Fault(code)) => answer(|| Err(Fault(code))),
    }
}
