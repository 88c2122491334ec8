//! Memory in the order of a stream, and the pools it comes from. It is there at once and goes in its turn.

use crate::driver::abi::{In, Out, answer};
use crate::driver::allocation::{self, Allocation, Kind, Pool};
use crate::driver::context::{self, device};
use crate::driver::fault::{Answer, Fault};
use crate::driver::task::{self, Task};
use crate::driver::world::{Handle, World, known, known_mut, world};

/// A device's default pool: made when first asked for.
fn default_pool(world: &mut World, device: i32) -> Handle {
    let found = world.pools.iter().find(|(_, p)| p.default && p.device == device).map(|(handle, _)| *handle);
    found.unwrap_or_else(|| {
        let made = world.new_handle();
        world.pools.insert(made, Pool { device, default: true, settings: [1, 1, 1, 0], ..Pool::default() });
        made
    })
}

/// A device's current pool: the default one unless the program set another.
fn current_pool(world: &mut World, device: i32) -> Handle {
    match world.chosen_pools.get(&device) {
        Some(pool) => *pool,
        None => default_pool(world, device),
    }
}

fn allocate(found: Out<u64>, size: usize, pool: Option<Handle>, stream: Handle) -> u32 {
    answer(|| {
        found.check()?;
        let mut world = world();
        let stream = context::stream(&mut world, stream)?;
        let context = world.streams[&stream].context;
        let device = world.contexts.get(&context).ok_or(Fault::CONTEXT_IS_DESTROYED)?.device;
        let pool = pool.unwrap_or_else(|| current_pool(&mut world, device));
        let device = known(&world.pools, pool)?.device;
        if world.streams[&stream].capture.is_some() {
            let task = allocation::for_graph(&mut world, device, context, size as u64)?;
            let Task::Allocate(address, _) = task else { return Err(Fault::INVALID_VALUE) };
            task::put(world, stream, task, false)?;
            return found.put(address);
        }
        let made = Allocation { size: size as u64, kind: Kind::Device, device, context, id: 0, pool };
        let address = allocation::allocate_for(&mut world, made)?;
        let pool = known_mut(&mut world.pools, pool)?;
        pool.used += size as u64;
        pool.used_high = pool.used_high.max(pool.used);
        found.put(address)
    })
}

pub extern "C" fn cuMemAllocAsync(found: Out<u64>, size: usize, stream: Handle) -> u32 {
    allocate(found, size, None, stream)
}

pub extern "C" fn cuMemAllocFromPoolAsync(found: Out<u64>, size: usize, pool: Handle, stream: Handle) -> u32 {
    allocate(found, size, Some(pool), stream)
}

pub extern "C" fn cuMemFreeAsync(address: u64, stream: Handle) -> u32 {
    answer(|| {
        let is_ours = |a: &Allocation| matches!(a.kind, Kind::Device | Kind::Graph);
        let mut world = world();
        if address != 0 && !world.allocations.get(&address).is_some_and(is_ours) {
            return Err(Fault::INVALID_VALUE);
        }
        let stream = context::stream(&mut world, stream)?;
        task::put(world, stream, Task::Free(address), false)
    })
}

pub extern "C" fn cuDeviceGetDefaultMemPool(found: Out<Handle>, ordinal: i32) -> u32 {
    answer(|| found.check()?.put(default_pool(&mut world(), device(ordinal)?)))
}

pub extern "C" fn cuDeviceGetMemPool(found: Out<Handle>, ordinal: i32) -> u32 {
    answer(|| found.check()?.put(current_pool(&mut world(), device(ordinal)?)))
}

pub extern "C" fn cuDeviceSetMemPool(ordinal: i32, pool: Handle) -> u32 {
    answer(|| {
        let mut world = world();
        known(&world.pools, pool)?;
        world.chosen_pools.insert(device(ordinal)?, pool);
        Ok(())
    })
}

/// The head of CUmemPoolProps: kind of allocation, kinds of handle, kind and number of the place.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Properties {
    kind: u32,
    handles: u32,
    place: u32,
    id: i32,
}

pub extern "C" fn cuMemPoolCreate(found: Out<Handle>, properties: In<Properties>) -> u32 {
    answer(|| {
        found.check()?;
        let properties = properties.get()?;
        let device = device(if properties.place == 1 { properties.id } else { 0 })?;
        let mut world = world();
        let made = world.new_handle();
        world.pools.insert(made, Pool { device, settings: [1, 1, 1, 0], ..Pool::default() });
        found.put(made)
    })
}

pub extern "C" fn cuMemPoolDestroy(pool: Handle) -> u32 {
    answer(|| {
        let mut world = world();
        if known(&world.pools, pool)?.default {
            return Err(Fault::INVALID_VALUE);
        }
        world.pools.remove(&pool);
        world.chosen_pools.retain(|_, p| *p != pool);
        Ok(())
    })
}

pub extern "C" fn cuMemPoolTrimTo(pool: Handle, _keep: usize) -> u32 {
    answer(|| known(&world().pools, pool).map(drop))
}

/// 1 to 3: kinds of reuse (32 bits); 4: bytes to keep; 5 to 8: bytes held and used, now and at most.
fn get(pool: &Pool, id: u32, value: u64) -> Answer {
    let setting = |n: u32| pool.settings[n as usize - 1];
    match id {
        1..=3 => out::<u32>(value).put(setting(id) as u32),
        4 => out::<u64>(value).put(setting(id)),
        5 | 7 => out::<u64>(value).put(pool.used),
        6 | 8 => out::<u64>(value).put(pool.used_high),
        _ => Err(Fault::INVALID_VALUE),
    }
}

fn out<T>(address: u64) -> Out<T> {
    Out::at(address)
}

pub extern "C" fn cuMemPoolGetAttribute(pool: Handle, id: u32, value: u64) -> u32 {
    answer(|| get(known(&world().pools, pool)?, id, value))
}

pub extern "C" fn cuMemPoolSetAttribute(pool: Handle, id: u32, value: u64) -> u32 {
    answer(|| {
        let mut world = world();
        let pool = known_mut(&mut world.pools, pool)?;
        match id {
            1..=3 => pool.settings[id as usize - 1] = out::<u32>(value).get()?.into(),
            4 => pool.settings[3] = out::<u64>(value).get()?,
            // the only value that a high mark can be set to
            6 | 8 if out::<u64>(value).get()? == 0 => pool.used_high = pool.used,
            _ => return Err(Fault::INVALID_VALUE),
        }
        Ok(())
    })
}

/// All devices reach all memory.
pub extern "C" fn cuMemPoolSetAccess(pool: Handle, _map: u64, _count: usize) -> u32 {
    answer(|| known(&world().pools, pool).map(drop))
}

pub extern "C" fn cuMemPoolGetAccess(flags: Out<u32>, pool: Handle, _location: u64) -> u32 {
    answer(|| known(&world().pools, pool).and_then(|_| flags.put(3)))
}
