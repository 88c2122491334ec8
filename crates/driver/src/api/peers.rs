//! Access of one device to the memory of another. It is possible between any two simulated devices.

use crate::abi::{Answer, Fault, Out, answer};
use crate::driver::current;
use crate::driver::device::device;
use crate::engine::{machine, refused};
use crate::state::{DriverState, Handle, driver_state};

pub extern "C" fn cuDeviceCanAccessPeer(can: Out<i32>, from: i32, to: i32) -> u32 {
    // GPUs do not reach each other's memory yet.
    answer(|| can.check()?.put((device(from)? != device(to)? && !machine().runs_kernels()).into()))
}

/// Rank, access, native atomics and arrays are supported between two devices. The fifth attribute, partial atomics,
/// is not.
pub extern "C" fn cuDeviceGetP2PAttribute(value: Out<i32>, attribute: u32, from: i32, to: i32) -> u32 {
    answer(|| {
        value.check()?;
        if device(from)? == device(to)? {
            return Err(Fault::INVALID_DEVICE);
        }
        match attribute {
            1 => value.put(0),
            2..=4 => value.put((!machine().runs_kernels()).into()),
            5 => value.put(0),
            _ => Err(Fault::INVALID_VALUE),
        }
    })
}

/// The device of the other context. It must differ from the current device; otherwise the result is `fault`.
fn peer_device(state: &DriverState, context: Handle, same: Fault) -> Answer<i32> {
    let own = state.context.contexts[&current::require(state)?].device;
    let peer = state.context.contexts.get(&context).ok_or(Fault::INVALID_CONTEXT)?.device;
    if own == peer { Err(same) } else { Ok(peer) }
}

pub extern "C" fn cuCtxEnablePeerAccess(context: Handle, flags: u32) -> u32 {
    answer(|| {
        refused::on_gpus("cuCtxEnablePeerAccess")?;
        let mut state = driver_state();
        let peer = peer_device(&state, context, Fault::PEER_ACCESS_UNSUPPORTED)?;
        if flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let own = state.context.contexts.get_mut(&current::get()).ok_or(Fault::INVALID_CONTEXT)?;
        if own.peers.insert(peer) { Ok(()) } else { Err(Fault::PEER_ACCESS_ALREADY_ENABLED) }
    })
}

pub extern "C" fn cuCtxDisablePeerAccess(context: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let peer = peer_device(&state, context, Fault::PEER_ACCESS_NOT_ENABLED)?;
        let own = state.context.contexts.get_mut(&current::get()).ok_or(Fault::INVALID_CONTEXT)?;
        if own.peers.remove(&peer) { Ok(()) } else { Err(Fault::PEER_ACCESS_NOT_ENABLED) }
    })
}
