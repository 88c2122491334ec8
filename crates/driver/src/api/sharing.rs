//! Memory of other processes. Handles can be created and are recognised, but memory of another process cannot be
//! opened. A handle has 64 bytes and is passed by value, in eight words on the stack.

use crate::abi::{Fault, Out, answer};
use crate::engine::refused;
use crate::state::{Handle, Kind, driver_state, lookup};

const MARK: u64 = u64::from_le_bytes(*b"cutapsim");

/// CUipcMemHandle, CUipcEventHandle
pub type Shared = [u64; 8];

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ByValue(Shared);

fn shared_handle(object: u64, id: u64) -> Shared {
    let process = u64::from(std::process::id());
    [MARK, process, object, id, !object, !process, 0, MARK]
}

/// The object of a handle. It must be valid and of this process.
fn open(ByValue(handle): ByValue) -> Result<u64, Fault> {
    let [mark, process, object, _, not_object, not_process, zero, end] = handle;
    let whole = mark == MARK && end == MARK && not_object == !object && not_process == !process && zero == 0;
    match whole {
        false => Err(Fault::INVALID_VALUE),
        true if process != u64::from(std::process::id()) => Err(Fault::NOT_SUPPORTED),
        true => Ok(object),
    }
}

pub extern "C" fn cuIpcGetMemHandle(handle: Out<Shared>, address: u64) -> u32 {
    answer(|| {
        refused::on_gpus("cuIpcGetMemHandle")?;
        let state = driver_state();
        match state.memory.find(address) {
            Some((start, a)) if a.kind == Kind::Device && a.pool == Handle::NULL => {
                handle.put(shared_handle(start, a.id))
            }
            _ => Err(Fault::INVALID_VALUE),
        }
    })
}

/// INVALID_CONTEXT, because the process that made a handle cannot open it. INVALID_VALUE for an invalid handle.
pub extern "C" fn cuIpcOpenMemHandle_v2(address: Out<u64>, handle: ByValue, flags: u32) -> u32 {
    answer(|| {
        refused::on_gpus("cuIpcOpenMemHandle_v2")?;
        address.check()?;
        if flags != 1 {
            return Err(Fault::INVALID_VALUE);
        }
        open(handle).and(Err(Fault::INVALID_CONTEXT))
    })
}

pub extern "C" fn cuIpcOpenMemHandle(address: Out<u64>, handle: ByValue, flags: u32) -> u32 {
    cuIpcOpenMemHandle_v2(address, handle, flags)
}

pub extern "C" fn cuIpcCloseMemHandle(_address: u64) -> u32 {
    answer(|| Err(Fault::INVALID_VALUE))
}

pub extern "C" fn cuIpcGetEventHandle(handle: Out<Shared>, event: Handle) -> u32 {
    const INTERPROCESS: u32 = 4;
    answer(|| {
        refused::on_gpus("cuIpcGetEventHandle")?;
        let flags = lookup(&driver_state().stream.events, event)?.flags;
        if flags & INTERPROCESS == 0 { Err(Fault::INVALID_HANDLE) } else { handle.put(shared_handle(event.0, 0)) }
    })
}

pub extern "C" fn cuIpcOpenEventHandle(event: Out<Handle>, handle: ByValue) -> u32 {
    answer(|| {
        refused::on_gpus("cuIpcOpenEventHandle")?;
        event.check().and_then(|_| open(handle).or(Err(Fault::MAP_FAILED))).and(Err(Fault::INVALID_CONTEXT))
    })
}
