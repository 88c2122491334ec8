//! Streams: creation, queries, waits, and functions of the program that run in their order.

use crate::abi::{Fault, Out, answer};
use crate::driver::context::{self, named};
use crate::driver::{capture, capture_status, current, order, submit};
use crate::state::{Data, Handle, HostFunction, Stream, StreamCallback, Task, Work, driver_state, lookup};

/// Priorities of an H200 are 0 down to this.
pub const GREATEST_PRIORITY: i32 = -5;

pub extern "C" fn cuStreamCreate(stream: Out<Handle>, flags: u32) -> u32 {
    cuStreamCreateWithPriority(stream, flags, 0)
}

pub extern "C" fn cuStreamCreateWithPriority(stream: Out<Handle>, flags: u32, priority: i32) -> u32 {
    answer(|| {
        stream.check()?;
        if flags & !Stream::NON_BLOCKING != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let mut state = driver_state();
        let context = current::require(&state)?;
        let (handle, id) = (state.new_handle(), state.next_order());
        state.stream.streams.insert(handle, Stream::new(context, flags, priority.clamp(GREATEST_PRIORITY, 0), id));
        stream.put(handle)
    })
}

/// The work of the stream still runs. Its handle is invalid from here on.
pub extern "C" fn cuStreamDestroy_v2(handle: Handle) -> u32 {
    answer(|| {
        if handle.0 <= 2 {
            return Err(Fault::INVALID_HANDLE);
        }
        let mut state = driver_state();
        context::stream(&mut state, handle)?;
        capture::abandon(&mut state, handle);
        order::close(&mut state, handle);
        Ok(())
    })
}

pub extern "C" fn cuStreamQuery(handle: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        capture_status::forbid_stream(&mut state, stream)?;
        if order::is_idle(&state, stream)? { Ok(()) } else { Err(Fault::NOT_READY) }
    })
}

pub extern "C" fn cuStreamSynchronize(handle: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        capture_status::forbid_stream(&mut state, stream)?;
        if handle.0 < 2 {
            let context = state.stream.streams[&stream].context;
            return order::wait_for_blocking(state, context).map(|mut state| state.memory.settle_pools());
        }
        order::wait_for_stream(state, stream).map(|mut state| state.memory.settle_pools())
    })
}

/// CU_EVENT_WAIT_EXTERNAL: the wait becomes a node of the graph that is captured.
const EXTERNAL: u32 = 1;

pub extern "C" fn cuStreamWaitEvent(handle: Handle, event: Handle, flags: u32) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        lookup(&state.stream.events, event)?;
        match flags {
            0 => submit::put(state, stream, Task::Wait(event), false),
            EXTERNAL => capture::keep_external(&mut state, stream, &Task::Wait(event)),
            _ => Err(Fault::INVALID_VALUE),
        }
    })
}

pub extern "C" fn cuStreamAddCallback(
    handle: Handle,
    function: Option<StreamCallback>,
    data: *mut std::ffi::c_void,
    flags: u32,
) -> u32 {
    answer(|| {
        let function = function.filter(|_| flags == 0).ok_or(Fault::INVALID_VALUE)?;
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        capture_status::forbid_stream(&mut state, stream)?;
        order::submit(state, stream, Work::Callback(function, handle, Data(data)))
    })
}

pub extern "C" fn cuLaunchHostFunc(handle: Handle, function: Option<HostFunction>, data: *mut std::ffi::c_void) -> u32 {
    answer(|| {
        let function = function.ok_or(Fault::INVALID_VALUE)?;
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        submit::put(state, stream, Task::Host(function, Data(data)), false)
    })
}

pub extern "C" fn cuLaunchHostFunc_v2(
    handle: Handle,
    function: Option<HostFunction>,
    data: *mut std::ffi::c_void,
    _mode: u32,
) -> u32 {
    cuLaunchHostFunc(handle, function, data)
}

fn read<T>(handle: Handle, out: Out<T>, property: impl FnOnce(&Stream) -> T) -> u32 {
    answer(|| {
        out.check()?;
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        out.put(property(&state.stream.streams[&stream]))
    })
}

pub extern "C" fn cuStreamGetPriority(handle: Handle, priority: Out<i32>) -> u32 {
    read(handle, priority, |s| s.priority)
}

pub extern "C" fn cuStreamGetFlags(handle: Handle, flags: Out<u32>) -> u32 {
    read(handle, flags, |s| s.flags)
}

pub extern "C" fn cuStreamGetId(handle: Handle, id: Out<u64>) -> u32 {
    read(handle, id, |s| s.id)
}

pub extern "C" fn cuStreamGetCtx(handle: Handle, context: Out<Handle>) -> u32 {
    read(handle, context, |s| s.context)
}

/// Also returns the green context of the stream, which is always NULL.
pub extern "C" fn cuStreamGetCtx_v2(handle: Handle, context: Out<Handle>, green: Out<Handle>) -> u32 {
    green.put_if_wanted(Handle::NULL);
    cuStreamGetCtx(handle, context)
}

pub extern "C" fn cuStreamGetGreenCtx(handle: Handle, green: Out<Handle>) -> u32 {
    read(handle, green, |_| Handle::NULL)
}

pub extern "C" fn cuStreamGetDevice(handle: Handle, device: Out<i32>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        device.put(state.context.contexts[&named(&state, state.stream.streams[&stream].context)?].device)
    })
}
