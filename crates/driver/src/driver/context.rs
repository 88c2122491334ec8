//! Rules of contexts: how they begin and end, the primary context, and which stream a handle means in a context.

use super::{allocation, current, order};
use crate::abi::{Answer, Fault, of_the_program};
use crate::state::{Context, DriverState, Guard, Handle, Stream, driver_state, lookup};
use std::collections::{BTreeMap, BTreeSet};

pub fn create(state: &mut DriverState, device: i32, flags: u32) -> Handle {
    let handle = state.new_handle();
    create_as(state, handle, device, flags, false);
    handle
}

fn create_as(state: &mut DriverState, handle: Handle, device: i32, flags: u32, primary: bool) {
    let legacy = state.new_handle();
    let id = state.next_order();
    state.stream.streams.insert(legacy, Stream::new(handle, 0, 0, id).legacy());
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
    state.context.contexts.insert(handle, context);
}

/// Retains the primary context, and creates it for the first holder.
pub fn retain_primary(device: i32) -> Handle {
    let mut state = driver_state();
    let primary = state.context.primary.entry(device).or_default();
    let (flags, existing, active) = (primary.flags, primary.handle, primary.active());
    let handle = existing.unwrap_or_else(|| state.new_handle());
    let primary = state.context.primary.entry(device).or_default();
    primary.handle = Some(handle);
    primary.retained += 1;
    if active.is_none() {
        create_as(&mut state, handle, device, flags, true);
    }
    handle
}

/// Releases the primary context once, or for all holders. It ends with the last holder.
pub fn release_primary(device: i32, all: bool) -> Answer {
    let mut state = driver_state();
    let primary = state.context.primary.entry(device).or_default();
    let Some(context) = primary.active() else {
        return if all { Ok(()) } else { Err(Fault::INVALID_CONTEXT) };
    };
    primary.retained -= 1;
    if !all && primary.retained > 0 {
        return Ok(());
    }
    primary.retained = 0;
    end(state, context)
}

/// Ends a context. Its work completes first, then the destructors of stored values run, then its objects end.
pub fn end(state: Guard, handle: Handle) -> Answer {
    let mut state = order::wait_for_context(state, handle)?;
    let storage = match state.context.contexts.get_mut(&handle) {
        Some(context) => std::mem::take(&mut context.storage),
        None => return Err(Fault::CONTEXT_IS_DESTROYED),
    };
    drop(state);
    for (key, stored) in storage {
        if let Some(destructor) = stored.destructor {
            of_the_program(|| destructor(handle, key, stored.value))?;
        }
    }
    let mut state = driver_state();
    current::context_ends();
    state.context.contexts.remove(&handle);
    state.stream.streams.retain(|_, s| s.context != handle);
    state.stream.events.retain(|_, e| e.context != handle);
    state.array.arrays.retain(|_, a| a.context != handle);
    state.code.modules.retain(|_, m| m.context != handle);
    for library in state.code.libraries.values_mut() {
        library.modules.remove(&handle);
    }
    state.code.functions.retain(|_, f| f.context != handle);
    let owned: Vec<u64> =
        state.memory.allocations.iter().filter(|(_, a)| a.context == handle).map(|(address, _)| *address).collect();
    for address in owned {
        allocation::release(&mut state, address);
    }
    state.memory.settle_pools();
    Ok(())
}

/// The stream of a handle in the current context. NULL, 1 and 2 are the default streams.
pub fn stream(state: &mut DriverState, requested: Handle) -> Answer<Handle> {
    if requested.0 > 2 {
        return lookup(&state.stream.streams, requested)
            .and_then(|s| if s.closed { Err(Fault::INVALID_HANDLE) } else { Ok(requested) });
    }
    let handle = current::require(state)?;
    let context = &state.context.contexts[&handle];
    if requested.0 < 2 {
        return Ok(context.legacy);
    }
    let thread = current::thread();
    if let Some(existing) = context.per_thread.get(&thread) {
        return Ok(*existing);
    }
    let (stream, id) = (state.new_handle(), state.next_order());
    state.stream.streams.insert(stream, Stream::new(handle, 0, 0, id));
    state.context.contexts.get_mut(&handle).ok_or(Fault::INVALID_CONTEXT)?.per_thread.insert(thread, stream);
    Ok(stream)
}

/// The context of a handle. NULL means the current one.
pub fn named(state: &DriverState, context: Handle) -> Answer<Handle> {
    match context {
        Handle::NULL => current::require(state),
        context if state.context.contexts.contains_key(&context) => Ok(context),
        _ => Err(Fault::INVALID_CONTEXT),
    }
}
