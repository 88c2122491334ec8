//! Contexts: creation, the current context, and settings.

use crate::abi::{Answer, Fault, Out, answer};
use crate::driver::context::{self, named};
use crate::driver::device::device;
use crate::driver::{capture_status, current, order};
use crate::state::{Context, DriverState, Guard, Handle, driver_state};

fn create(context_out: Out<Handle>, flags: u32, ordinal: i32) -> u32 {
    answer(|| {
        context_out.check()?;
        if flags & !0xff != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let handle = context::create(&mut driver_state(), device(ordinal)?, flags);
        current::push(handle)?;
        context_out.put(handle)
    })
}

pub extern "C" fn cuCtxCreate_v2(context_out: Out<Handle>, flags: u32, ordinal: i32) -> u32 {
    create(context_out, flags, ordinal)
}

pub extern "C" fn cuCtxCreate_v3(
    context_out: Out<Handle>,
    _affinity: u64,
    _count: i32,
    flags: u32,
    ordinal: i32,
) -> u32 {
    create(context_out, flags, ordinal)
}

pub extern "C" fn cuCtxCreate_v4(context_out: Out<Handle>, _parameters: u64, flags: u32, ordinal: i32) -> u32 {
    create(context_out, flags, ordinal)
}

pub extern "C" fn cuCtxDestroy_v2(handle: Handle) -> u32 {
    answer(|| {
        let state = driver_state();
        match state.context.contexts.get(&handle) {
            None => return Err(if handle == Handle::NULL { Fault::INVALID_VALUE } else { Fault::INVALID_CONTEXT }),
            Some(context) if context.primary => return Err(Fault::INVALID_CONTEXT),
            Some(_) => {}
        }
        context::end(state, handle)?;
        if current::get() == handle {
            current::pop();
        }
        Ok(())
    })
}

/// NULL, or an existing context.
fn alive(state: &DriverState, handle: Handle) -> Answer {
    if handle == Handle::NULL || state.context.contexts.contains_key(&handle) {
        Ok(())
    } else {
        Err(Fault::INVALID_CONTEXT)
    }
}

pub extern "C" fn cuCtxSetCurrent(handle: Handle) -> u32 {
    answer(|| alive(&driver_state(), handle).map(|()| current::set(handle)))
}

pub extern "C" fn cuCtxGetCurrent(context_out: Out<Handle>) -> u32 {
    answer(|| context_out.put(current::get()))
}

pub extern "C" fn cuCtxPushCurrent_v2(handle: Handle) -> u32 {
    answer(|| match handle {
        Handle::NULL => Err(Fault::INVALID_VALUE),
        handle => named(&driver_state(), handle).and_then(current::push),
    })
}

pub extern "C" fn cuCtxPopCurrent_v2(context_out: Out<Handle>) -> u32 {
    answer(|| match current::pop() {
        Handle::NULL => Err(Fault::INVALID_CONTEXT),
        context => {
            context_out.put_if_wanted(context);
            Ok(())
        }
    })
}

/// Reads a property of a context. NULL means the current one.
fn read<T>(handle: Handle, out: Out<T>, property: impl FnOnce(&Context) -> T) -> u32 {
    answer(|| {
        let state = driver_state();
        let handle = named(&state, handle)?;
        out.put(property(&state.context.contexts[&handle]))
    })
}

fn change(edit: impl FnOnce(&mut Context) -> Answer) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let handle = current::require(&state)?;
        edit(state.context.contexts.get_mut(&handle).ok_or(Fault::INVALID_CONTEXT)?)
    })
}

pub extern "C" fn cuCtxGetDevice(device: Out<i32>) -> u32 {
    answer(|| device.put(current::device()?))
}

pub extern "C" fn cuCtxGetDevice_v2(device: Out<i32>, handle: Handle) -> u32 {
    answer(|| match handle {
        Handle::NULL => device.put(current::device()?),
        handle => device.put(current::fixed(handle).ok_or(Fault::INVALID_CONTEXT)?.device),
    })
}

pub extern "C" fn cuCtxGetFlags(flags: Out<u32>) -> u32 {
    read(Handle::NULL, flags, |c| c.flags)
}

pub extern "C" fn cuCtxSetFlags(flags: u32) -> u32 {
    change(|c| {
        if flags & !0xff != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        c.flags = flags;
        Ok(())
    })
}

pub extern "C" fn cuCtxGetId(handle: Handle, id: Out<u64>) -> u32 {
    read(handle, id, |c| c.id)
}

pub extern "C" fn cuCtxGetApiVersion(handle: Handle, version: Out<u32>) -> u32 {
    read(handle, version, |_| 3020)
}

fn synchronize(mut state: Guard, handle: Handle) -> Answer {
    capture_status::forbid(&mut state)?;
    order::wait_for_context(state, handle).map(|mut state| state.memory.settle_pools())
}

pub extern "C" fn cuCtxSynchronize() -> u32 {
    cuCtxSynchronize_v2(Handle::NULL)
}

pub extern "C" fn cuCtxSynchronize_v2(handle: Handle) -> u32 {
    answer(|| {
        let state = driver_state();
        let handle = named(&state, handle)?;
        synchronize(state, handle)
    })
}

pub extern "C" fn cuCtxGetLimit(value: Out<usize>, limit: u32) -> u32 {
    answer(|| {
        let state = driver_state();
        let context = &state.context.contexts[&current::require(&state)?];
        value.check()?.put(*context.limits.get(&limit).ok_or(Fault::INVALID_VALUE)?)
    })
}

pub extern "C" fn cuCtxSetLimit(limit: u32, value: usize) -> u32 {
    /// Bytes of stack of one thread.
    const MOST_STACK: usize = 512 << 10;
    change(|c| {
        let old = c.limits.get_mut(&limit).filter(|_| limit != 0 || value <= MOST_STACK).ok_or(Fault::INVALID_VALUE)?;
        *old = value;
        Ok(())
    })
}

pub extern "C" fn cuCtxGetCacheConfig(config: Out<u32>) -> u32 {
    read(Handle::NULL, config, |c| c.cache_config)
}

pub extern "C" fn cuCtxSetCacheConfig(config: u32) -> u32 {
    change(|c| {
        if config > 3 {
            return Err(Fault::INVALID_VALUE);
        }
        c.cache_config = config;
        Ok(())
    })
}

pub extern "C" fn cuCtxGetSharedMemConfig(config: Out<u32>) -> u32 {
    read(Handle::NULL, config, |c| c.shared_config)
}

pub extern "C" fn cuCtxSetSharedMemConfig(config: u32) -> u32 {
    change(|c| {
        if config > 2 {
            return Err(Fault::INVALID_VALUE);
        }
        c.shared_config = config;
        Ok(())
    })
}

pub extern "C" fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) -> u32 {
    answer(|| {
        current::require(&driver_state())?;
        least.put_if_wanted(0);
        greatest.put_if_wanted(crate::api::streams::GREATEST_PRIORITY);
        Ok(())
    })
}

pub extern "C" fn cuCtxResetPersistingL2Cache() -> u32 {
    change(|_| Ok(()))
}
