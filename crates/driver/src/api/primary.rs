//! The primary context of each device.

use crate::abi::{Fault, Out, answer};
use crate::driver::context;
use crate::driver::device::device;
use crate::state::{Handle, driver_state};

pub extern "C" fn cuDevicePrimaryCtxRetain(context_out: Out<Handle>, ordinal: i32) -> u32 {
    answer(|| context_out.check()?.put(context::retain_primary(device(ordinal)?)))
}

pub extern "C" fn cuDevicePrimaryCtxRelease_v2(ordinal: i32) -> u32 {
    answer(|| context::release_primary(device(ordinal)?, false))
}

pub extern "C" fn cuDevicePrimaryCtxRelease(ordinal: i32) -> u32 {
    cuDevicePrimaryCtxRelease_v2(ordinal)
}

pub extern "C" fn cuDevicePrimaryCtxReset_v2(ordinal: i32) -> u32 {
    answer(|| context::release_primary(device(ordinal)?, true))
}

pub extern "C" fn cuDevicePrimaryCtxReset(ordinal: i32) -> u32 {
    cuDevicePrimaryCtxReset_v2(ordinal)
}

pub extern "C" fn cuDevicePrimaryCtxSetFlags_v2(ordinal: i32, flags: u32) -> u32 {
    answer(|| {
        if flags & !0xff != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let mut state = driver_state();
        let context = {
            let primary = state.context.primary.entry(device(ordinal)?).or_default();
            primary.flags = flags;
            primary.active()
        };
        if let Some(context) = context.and_then(|handle| state.context.contexts.get_mut(&handle)) {
            context.flags = flags;
        }
        Ok(())
    })
}

/// The form before CUDA 11.0 fails while the context exists.
pub extern "C" fn cuDevicePrimaryCtxSetFlags(ordinal: i32, flags: u32) -> u32 {
    answer(|| match driver_state().context.primary.get(&device(ordinal)?) {
        Some(primary) if primary.active().is_some() => Err(Fault::PRIMARY_CONTEXT_ACTIVE),
        _ => match cuDevicePrimaryCtxSetFlags_v2(ordinal, flags) {
            0 => Ok(()),
            code => Err(Fault(code)),
        },
    })
}

pub extern "C" fn cuDevicePrimaryCtxGetState(ordinal: i32, flags: Out<u32>, active: Out<i32>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let primary = state.context.primary.entry(device(ordinal)?).or_default();
        flags.check()?;
        active.put(primary.active().is_some().into())?;
        flags.put(primary.flags)
    })
}
