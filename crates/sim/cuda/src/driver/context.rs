//! Contexts, and the primary context of each device.

use super::abi::of_the_program;
use super::driver_state::{DriverState, Guard, Handle, driver_state, known};
use super::engine;
use super::fault::{Answer, Fault};
use super::stream::Stream;
use super::{allocation, config, current};
use std::collections::{BTreeMap, BTreeSet};

/// What a runtime keeps with a context: a value by key, and whom to tell when the context ends.
#[derive(Clone, Copy)]
pub struct Stored {
    pub value: u64,
    pub destructor: Option<Destructor>,
}

/// (context, key, value)
pub type Destructor = extern "C" fn(Handle, u64, u64);

pub struct Context {
    pub device: i32,
    pub flags: u32,
    pub id: u64,
    pub primary: bool,
    /// The stream that NULL and 1 mean.
    pub legacy: Handle,
    /// The stream that 2 means, by thread.
    pub per_thread: BTreeMap<u64, Handle>,
    pub limits: BTreeMap<u32, usize>,
    pub cache_config: u32,
    pub shared_config: u32,
    pub peers: BTreeSet<i32>,
    pub storage: BTreeMap<u64, Stored>,
}

/// A device's primary context: always under the same handle, there only while somebody retains it. A thread that had
/// it as its current context before a reset has the new one after the next retain.
#[derive(Default)]
pub struct Primary {
    pub handle: Option<Handle>,
    pub retained: u32,
    pub flags: u32,
}

impl Primary {
    /// Its context, if it is there.
    pub fn active(&self) -> Option<Handle> {
        self.handle.filter(|_| self.retained > 0)
    }
}

/// INVALID_DEVICE unless there is such a device.
pub fn device(ordinal: i32) -> Answer<i32> {
    if (0..config::config().devices).contains(&ordinal) { Ok(ordinal) } else { Err(Fault::INVALID_DEVICE) }
}

pub fn create(world: &mut DriverState, device: i32, flags: u32) -> Handle {
    let handle = world.new_handle();
    create_as(world, handle, device, flags, false);
    handle
}

fn create_as(world: &mut DriverState, handle: Handle, device: i32, flags: u32, primary: bool) {
    let legacy = world.new_handle();
    let id = world.next_order();
    world.streams.insert(legacy, Stream::new(handle, 0, 0, id).legacy());
    let context = Context {
        device,
        flags,
        id,
        primary,
        legacy,
        per_thread: BTreeMap::new(),
        limits: BTreeMap::from([(0, 1024), (1, 7 << 20), (2, 8 << 20), (3, 2), (4, 2048), (5, 128), (6, 0)]),
        cache_config: 0,
        shared_config: 2,
        peers: BTreeSet::new(),
        storage: BTreeMap::new(),
    };
    world.contexts.insert(handle, context);
}

/// The primary context, made if there is none.
pub fn retain_primary(device: i32) -> Handle {
    let mut world = driver_state();
    let primary = world.primary.entry(device).or_default();
    let (flags, known, active) = (primary.flags, primary.handle, primary.active());
    let handle = known.unwrap_or_else(|| world.new_handle());
    let primary = world.primary.entry(device).or_default();
    primary.handle = Some(handle);
    primary.retained += 1;
    if active.is_none() {
        create_as(&mut world, handle, device, flags, true);
    }
    handle
}

/// One retain less; at none, or with `all`, the context ends.
pub fn release_primary(device: i32, all: bool) -> Answer {
    let mut world = driver_state();
    let primary = world.primary.entry(device).or_default();
    let Some(context) = primary.active() else {
        return if all { Ok(()) } else { Err(Fault::INVALID_CONTEXT) };
    };
    primary.retained -= 1;
    if !all && primary.retained > 0 {
        return Ok(());
    }
    primary.retained = 0;
    end(world, context)
}

/// Ends a context: its work first, then what the program stored with it, then all that it owns.
pub fn end(world: Guard, handle: Handle) -> Answer {
    let mut world = engine::wait_for_context(world, handle)?;
    let storage = match world.contexts.get_mut(&handle) {
        Some(context) => std::mem::take(&mut context.storage),
        None => return Err(Fault::CONTEXT_IS_DESTROYED),
    };
    drop(world);
    for (key, stored) in storage {
        if let Some(destructor) = stored.destructor {
            of_the_program(|| destructor(handle, key, stored.value))?;
        }
    }
    let mut world = self::driver_state();
    current::one_ends();
    world.contexts.remove(&handle);
    world.streams.retain(|_, s| s.context != handle);
    world.events.retain(|_, e| e.context != handle);
    world.arrays.retain(|_, a| a.context != handle);
    world.modules.retain(|_, m| m.context != handle);
    world.libraries.values_mut().for_each(|l| l.forget(handle));
    world.functions.retain(|_, f| f.context != handle);
    let owned: Vec<u64> =
        world.allocations.iter().filter(|(_, a)| a.context == handle).map(|(address, _)| *address).collect();
    for address in owned {
        allocation::release(&mut world, address);
    }
    world.settle_pools();
    Ok(())
}

/// What a stream handle means in the current context.
pub fn stream(world: &mut DriverState, given: Handle) -> Answer<Handle> {
    if given.0 > 2 {
        return known(&world.streams, given)
            .and_then(|s| if s.closed { Err(Fault::INVALID_HANDLE) } else { Ok(given) });
    }
    let handle = current::require(world)?;
    let context = &world.contexts[&handle];
    if given.0 < 2 {
        return Ok(context.legacy);
    }
    let thread = current::thread();
    if let Some(found) = context.per_thread.get(&thread) {
        return Ok(*found);
    }
    let (made, id) = (world.new_handle(), world.next_order());
    world.streams.insert(made, Stream::new(handle, 0, 0, id));
    world.contexts.get_mut(&handle).ok_or(Fault::INVALID_CONTEXT)?.per_thread.insert(thread, made);
    Ok(made)
}

/// A context that the caller named; NULL means the current one.
pub fn named(world: &DriverState, given: Handle) -> Answer<Handle> {
    match given {
        Handle::NULL => current::require(world),
        given if world.contexts.contains_key(&given) => Ok(given),
        _ => Err(Fault::INVALID_CONTEXT),
    }
}
