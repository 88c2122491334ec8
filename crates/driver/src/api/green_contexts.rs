//! Green contexts: contexts with a share of the multiprocessors. The share is only stored, because kernels do not
//! run.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::api::{context as contexts, events, streams};
use crate::driver::context::{self, named};
use crate::driver::current;
use crate::driver::device::{attribute, device};
use crate::engine::refused;
use crate::state::{DriverState, GreenContext, Handle, driver_state};
use cutap_machine::attribute_id;

/// The start of CUdevResource: kind, hidden words, multiprocessors, smallest share, alignment, flags.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Resource {
    kind: u32,
    hidden: [u32; 23],
    count: u32,
    least: u32,
    alignment: u32,
    flags: u32,
    rest: [u32; 8],
}

const MULTIPROCESSORS: u32 = 1;
/// The smallest share on devices of compute capability 9.
const SHARE: u32 = 8;

fn resource(kind: u32, count: u32) -> Answer<Resource> {
    match kind {
        MULTIPROCESSORS => {
            Ok(Resource { kind, hidden: [0; 23], count, least: SHARE, alignment: SHARE, flags: 0, rest: [0; 8] })
        }
        _ => Err(Fault::INVALID_RESOURCE_TYPE),
    }
}

fn all(ordinal: i32) -> Answer<u32> {
    Ok(attribute(ordinal, attribute_id::MULTIPROCESSOR_COUNT)? as u32)
}

/// INVALID_CONTEXT for an unknown green context.
fn lookup_green(state: &DriverState, green: Handle) -> Answer<&GreenContext> {
    state.context.greens.get(&green).ok_or(Fault::INVALID_CONTEXT)
}

pub extern "C" fn cuDeviceGetDevResource(ordinal: i32, resource_out: Out<Resource>, kind: u32) -> u32 {
    answer(|| {
        let ordinal = device(ordinal)?;
        resource_out.check()?.put(resource(kind, all(ordinal)?)?)
    })
}

/// The share of a context. A context that is not green has all multiprocessors.
fn share(state: &DriverState, context: Handle) -> Answer<u32> {
    match state.context.greens.values().find(|g| g.context == context) {
        Some(green) => Ok(green.share),
        None => all(state.context.contexts.get(&context).ok_or(Fault::INVALID_CONTEXT)?.device),
    }
}

pub extern "C" fn cuCtxGetDevResource(handle: Handle, resource_out: Out<Resource>, kind: u32) -> u32 {
    answer(|| {
        resource_out.check()?;
        let state = driver_state();
        resource_out.put(resource(kind, share(&state, named(&state, handle)?)?)?)
    })
}

pub extern "C" fn cuStreamGetDevResource(handle: Handle, resource_out: Out<Resource>, kind: u32) -> u32 {
    answer(|| {
        resource_out.check()?;
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        resource_out.put(resource(kind, share(&state, state.stream.streams[&stream].context)?)?)
    })
}

pub extern "C" fn cuGreenCtxGetDevResource(green: Handle, resource_out: Out<Resource>, kind: u32) -> u32 {
    answer(|| resource_out.check()?.put(resource(kind, lookup_green(&driver_state(), green)?.share)?))
}

/// Splits into equal shares of at least `least` multiprocessors, and a remainder.
pub extern "C" fn cuDevSmResourceSplitByCount(
    groups: Out<Resource>,
    count: Out<u32>,
    input: In<Resource>,
    rest: Out<Resource>,
    _flags: u32,
    least: u32,
) -> u32 {
    answer(|| {
        let requested = count.check()?.get()?;
        let whole = input.get()?;
        if whole.kind != MULTIPROCESSORS {
            return Err(Fault::INVALID_RESOURCE_TYPE);
        }
        let each = least.max(SHARE).checked_next_multiple_of(SHARE).ok_or(Fault::INVALID_VALUE)?;
        let possible = whole.count / each;
        if possible == 0 {
            return Err(Fault::INVALID_RESOURCE_CONFIGURATION);
        }
        let group_count = if groups.is_null() { possible } else { possible.min(requested) };
        if !groups.is_null() {
            (0..group_count).try_for_each(|n| groups.put_at(n as usize, Resource { count: each, ..whole }))?;
        }
        rest.put_if_wanted(Resource { count: whole.count - group_count * each, ..whole });
        count.put(group_count)
    })
}

/// The description is a handle for a number of multiprocessors.
pub extern "C" fn cuDevResourceGenerateDesc(description: Out<Handle>, list: In<Resource>, count: u32) -> u32 {
    answer(|| {
        description.check()?;
        if count == 0 {
            return Err(Fault::INVALID_VALUE);
        }
        list.check_count(count as usize)?;
        let mut sum = 0;
        for n in 0..count as usize {
            let one = list.get_at(n)?;
            sum += resource(one.kind, one.count)?.count;
        }
        let mut state = driver_state();
        let handle = state.new_handle();
        state.context.shares.insert(handle, sum);
        description.put(handle)
    })
}

pub extern "C" fn cuGreenCtxCreate(green: Out<Handle>, share: Handle, ordinal: i32, flags: u32) -> u32 {
    const DEFAULT_STREAM: u32 = 1;
    answer(|| {
        refused::on_gpus("cuGreenCtxCreate")?;
        green.check()?;
        let ordinal = device(ordinal)?;
        if flags != DEFAULT_STREAM {
            return Err(Fault::INVALID_VALUE);
        }
        let mut state = driver_state();
        let share = state.context.shares.get(&share).copied().unwrap_or(all(ordinal)?);
        let context = context::create(&mut state, ordinal, 0);
        let handle = state.new_handle();
        state.context.greens.insert(handle, GreenContext { context, share });
        green.put(handle)
    })
}

pub extern "C" fn cuGreenCtxDestroy(green: Handle) -> u32 {
    answer(|| {
        let context = driver_state().context.greens.remove(&green).ok_or(Fault::INVALID_CONTEXT)?.context;
        match contexts::cuCtxDestroy_v2(context) {
            0 => Ok(()),
            code => Err(Fault(code)),
        }
    })
}

pub extern "C" fn cuCtxFromGreenCtx(context: Out<Handle>, green: Handle) -> u32 {
    answer(|| context.check()?.put(lookup_green(&driver_state(), green)?.context))
}

pub extern "C" fn cuGreenCtxGetId(green: Handle, id: Out<u64>) -> u32 {
    answer(|| {
        let state = driver_state();
        let context = lookup_green(&state, green)?.context;
        id.check()?.put(state.context.contexts.get(&context).ok_or(Fault::INVALID_CONTEXT)?.id)
    })
}

/// Runs code with the green context as the current one.
fn within(green: Handle, call: impl FnOnce() -> u32) -> u32 {
    answer(|| {
        let context = lookup_green(&driver_state(), green)?.context;
        current::push(context)?;
        let result = call();
        current::pop();
        if result == 0 { Ok(()) } else { Err(Fault(result)) }
    })
}

pub extern "C" fn cuGreenCtxStreamCreate(stream: Out<Handle>, green: Handle, flags: u32, priority: i32) -> u32 {
    within(green, || streams::cuStreamCreateWithPriority(stream, flags, priority))
}

/// Covers all earlier work of the context, which is in its blocking streams.
pub extern "C" fn cuGreenCtxRecordEvent(green: Handle, event: Handle) -> u32 {
    within(green, || events::cuEventRecord(event, Handle::NULL))
}

pub extern "C" fn cuGreenCtxWaitEvent(green: Handle, event: Handle) -> u32 {
    within(green, || streams::cuStreamWaitEvent(Handle::NULL, event, 0))
}
