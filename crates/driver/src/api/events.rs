//! Events: marks in the order of a stream, with a time.

use crate::abi::{Answer, Fault, Out, answer};
use crate::driver::{allocation, capture, capture_status, context, current, order, submit};
use crate::state::{DriverState, Event, Handle, Task, driver_state, lookup};

pub extern "C" fn cuEventCreate(event: Out<Handle>, flags: u32) -> u32 {
    answer(|| {
        event.check()?;
        // An event for other processes must not have a time.
        if flags & !7 != 0 || flags & 6 == 4 {
            return Err(Fault::INVALID_VALUE);
        }
        let mut state = driver_state();
        let context = current::require(&state)?;
        let handle = state.new_handle();
        let device = state.context.contexts[&context].device;
        let has_time = flags & Event::DISABLE_TIMING == 0;
        let stamp = if has_time { Some(allocation::space(device)?.stamp()?) } else { None };
        state.stream.events.insert(handle, Event { context, flags, stamp, ..Event::default() });
        event.put(handle)
    })
}

pub extern "C" fn cuEventDestroy_v2(handle: Handle) -> u32 {
    answer(|| driver_state().stream.events.remove(&handle).map(drop).ok_or(Fault::INVALID_HANDLE))
}

pub extern "C" fn cuEventRecord(handle: Handle, stream: Handle) -> u32 {
    cuEventRecordWithFlags(handle, stream, 0)
}

/// CU_EVENT_RECORD_EXTERNAL: the record becomes a node of the graph that is captured.
const EXTERNAL: u32 = 1;

pub extern "C" fn cuEventRecordWithFlags(handle: Handle, stream: Handle, flags: u32) -> u32 {
    answer(|| {
        if flags & !EXTERNAL != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let mut state = driver_state();
        let stream = context::stream(&mut state, stream)?;
        let context = state.stream.streams[&stream].context;
        if lookup(&state.stream.events, handle)?.context != context {
            return Err(Fault::INVALID_HANDLE);
        }
        match flags {
            EXTERNAL => capture::keep_external(&mut state, stream, &Task::Record(handle)),
            _ => submit::put(state, stream, Task::Record(handle), false),
        }
    })
}

/// An event whose last record was captured cannot be queried. The query breaks the capture.
fn not_captured(state: &mut DriverState, handle: Handle) -> Answer {
    match lookup(&state.stream.events, handle)?.captured.as_ref().map(|p| p.capture) {
        Some(id) if state.graph.captures.get(&id).is_none_or(|c| c.broken) => Err(Fault::INVALID_VALUE),
        Some(id) => capture_status::spoil(state, id, Fault::CAPTURED_EVENT),
        None => Ok(()),
    }
}

pub extern "C" fn cuEventQuery(handle: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        not_captured(&mut state, handle)?;
        capture_status::forbid(&mut state)?;
        if lookup(&state.stream.events, handle)?.is_done()? { Ok(()) } else { Err(Fault::NOT_READY) }
    })
}

pub extern "C" fn cuEventSynchronize(handle: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        not_captured(&mut state, handle)?;
        capture_status::forbid(&mut state)?;
        order::wait_for_event(state, handle).map(|mut state| state.memory.settle_pools())
    })
}

pub extern "C" fn cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) -> u32 {
    answer(|| {
        milliseconds.check().or(Err(Fault::INVALID_HANDLE))?;
        let state = driver_state();
        let events = [lookup(&state.stream.events, start)?, lookup(&state.stream.events, end)?];
        if events.iter().any(|e| e.recorded == 0 || e.flags & Event::DISABLE_TIMING != 0) {
            return Err(Fault::INVALID_HANDLE);
        }
        for event in events {
            if !event.is_done()? {
                return Err(Fault::NOT_READY);
            }
        }
        let (Some(start), Some(end)) = (&events[0].stamp, &events[1].stamp) else { return Err(Fault::INVALID_HANDLE) };
        let (start, end) = (start.nanoseconds()?, end.nanoseconds()?);
        milliseconds.put(end.wrapping_sub(start).cast_signed() as f32 / 1e6)
    })
}

pub extern "C" fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: Handle, end: Handle) -> u32 {
    cuEventElapsedTime(milliseconds, start, end)
}
