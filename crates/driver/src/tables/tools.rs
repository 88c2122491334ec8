//! Tables for tools: runtime callbacks, and ids of contexts and streams. No tool can subscribe here, so a delivery
//! has no effect.

use super::table::{AnyTable, Table, TableType};
use crate::abi::{Fault, Out, answer};
use crate::driver::{context, current};
use crate::state::{Handle, driver_state};
use std::ffi::c_void;
use std::sync::atomic::AtomicU32;

const RUNTIME_FLAGS: usize = 1024;
const STATE_FLAGS: usize = 14;

static RUNTIME: [AtomicU32; RUNTIME_FLAGS] = [const { AtomicU32::new(0) }; RUNTIME_FLAGS];
static STATE: [AtomicU32; STATE_FLAGS] = [const { AtomicU32::new(0) }; STATE_FLAGS];

pub static CALLBACKS: Table<Callbacks, 7> = Table::sized()
    .with::<1>(deliver as *const ())
    .with::<2>(flags as *const ())
    .with::<3>(stream_id as *const ())
    .with::<4>(context_id as *const ())
    .with::<5>(deliver_state as *const ())
    .with::<6>(state_flags as *const ());

extern "C" fn deliver(id: u32, _record: *mut c_void) -> u32 {
    (id as usize >= RUNTIME_FLAGS).into()
}

extern "C" fn deliver_state(id: u32, _record: *mut c_void) -> u32 {
    (id as usize >= STATE_FLAGS).into()
}

extern "C" fn flags(array: Out<*const AtomicU32>, count: Out<usize>) -> u32 {
    array.put_if_wanted(RUNTIME.as_ptr());
    count.put_if_wanted(RUNTIME_FLAGS);
    0
}

extern "C" fn state_flags(array: Out<*const AtomicU32>, count: Out<usize>) -> u32 {
    array.put_if_wanted(STATE.as_ptr());
    count.put_if_wanted(STATE_FLAGS);
    0
}

extern "C" fn stream_id(_context: Handle, stream: Handle, id: Out<u64>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, stream)?;
        id.put(state.stream.streams[&stream].id)
    })
}

/// Returns 999 for a NULL output, and id 0 for a NULL context.
extern "C" fn context_id(handle: Handle, id: Out<u64>) -> u32 {
    answer(|| {
        let id = id.check().map_err(|_| Fault(999))?;
        id.put(current::fixed(handle).map_or(0, |c| c.id))
    })
}

/// Runtimes from 13.4 on read stream ids through this table.
pub static TOOLS: Table<Tools, 96> = Table::sized()
    .with::<3>(context_device as *const ())
    .with::<4>(context_id as *const ())
    .with::<39>(stream_id as *const ())
    .with::<51>(inner_stream as *const ());

extern "C" fn context_device(handle: Handle, device: Out<i32>) -> u32 {
    answer(|| device.put(current::fixed(handle).ok_or(Fault::INVALID_CONTEXT)?.device))
}

extern "C" fn inner_stream(_context: Handle, stream: Handle, inner: Out<Handle>, _one: u32) -> u32 {
    inner.put_if_wanted(stream);
    0
}

/// Stands for [`CALLBACKS`].
pub struct Callbacks;

impl TableType for Callbacks {
    fn table() -> &'static dyn AnyTable {
        &CALLBACKS
    }
}

/// Stands for [`TOOLS`].
pub struct Tools;

impl TableType for Tools {
    fn table() -> &'static dyn AnyTable {
        &TOOLS
    }
}
