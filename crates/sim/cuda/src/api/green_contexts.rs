//! Green contexts: contexts with a share of the multiprocessors. The share is only stored, because kernels do not
//! run.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::api::{context as contexts, events, streams};
use crate::driver::context::{self, named};
use crate::driver::current;
use crate::driver::device::{attribute, device};
use crate::state::{DriverState, GreenContext, Handle, driver_state};

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
    Ok(attribute(ordinal, 16)? as u32)
}

/// INVALID_CONTEXT for an unknown green context.
fn known(state: &DriverState, green: Handle) -> Answer<&GreenContext> {
    state.context.greens.get(&green).ok_or(Fault::INVALID_CONTEXT)
}

pub extern "C" fn cuDeviceGetDevResource(ordinal: i32, found: Out<Resource>, kind: u32) -> u32 {
    answer(|| {
        let ordinal = device(ordinal)?;
        found.check()?.put(resource(kind, all(ordinal)?)?)
    })
}

/// The share of a context. A context that is not green has all multiprocessors.
fn share(state: &DriverState, context: Handle) -> Answer<u32> {
    match state.context.greens.values().find(|g| g.context == context) {
        Some(green) => Ok(green.share),
        None => all(state.context.contexts.get(&context).ok_or(Fault::INVALID_CONTEXT)?.device),
    }
}

pub extern "C" fn cuCtxGetDevResource(handle: Handle, found: Out<Resource>, kind: u32) -> u32 {
    answer(|| {
        found.check()?;
        let state = driver_state();
        found.put(resource(kind, share(&state, named(&state, handle)?)?)?)
    })
}

pub extern "C" fn cuStreamGetDevResource(handle: Handle, found: Out<Resource>, kind: u32) -> u32 {
    answer(|| {
        found.check()?;
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        found.put(resource(kind, share(&state, state.stream.streams[&stream].context)?)?)
    })
}

pub extern "C" fn cuGreenCtxGetDevResource(green: Handle, found: Out<Resource>, kind: u32) -> u32 {
    answer(|| found.check()?.put(resource(kind, known(&driver_state(), green)?.share)?))
}

/// Splits into equal shares of at least `least` multiprocessors, and a remainder.
pub extern "C" fn cuDevSmResourceSplitByCount(
    found: Out<Resource>,
    count: Out<u32>,
    input: In<Resource>,
    rest: Out<Resource>,
    _flags: u32,
    least: u32,
) -> u32 {
    answer(|| {
        let wanted = count.check()?.get()?;
        let whole = input.get()?;
        if whole.kind != MULTIPROCESSORS {
            return Err(Fault::INVALID_RESOURCE_TYPE);
        }
        let each = least.max(SHARE).checked_next_multiple_of(SHARE).ok_or(Fault::INVALID_VALUE)?;
        let possible = whole.count / each;
        if possible == 0 {
            return Err(Fault::INVALID_RESOURCE_CONFIGURATION);
        }
        let made = if found.is_null() { possible } else { possible.min(wanted) };
        if !found.is_null() {
            (0..made).try_for_each(|n| found.put_at(n as usize, Resource { count: each, ..whole }))?;
        }
        rest.put_if_wanted(Resource { count: whole.count - made * each, ..whole });
        count.put(made)
    })
}

/// The description is a handle for a number of multiprocessors.
pub extern "C" fn cuDevResourceGenerateDesc(found: Out<Handle>, list: In<Resource>, count: u32) -> u32 {
    answer(|| {
        found.check()?;
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
        let made = state.new_handle();
        state.context.shares.insert(made, sum);
        found.put(made)
    })
}

pub extern "C" fn cuGreenCtxCreate(found: Out<Handle>, share: Handle, ordinal: i32, flags: u32) -> u32 {
    const DEFAULT_STREAM: u32 = 1;
    answer(|| {
        found.check()?;
        let ordinal = device(ordinal)?;
        if flags != DEFAULT_STREAM {
            return Err(Fault::INVALID_VALUE);
        }
        let mut state = driver_state();
        let share = state.context.shares.get(&share).copied().unwrap_or(all(ordinal)?);
        let context = context::create(&mut state, ordinal, 0);
        let made = state.new_handle();
        state.context.greens.insert(made, GreenContext { context, share });
        found.put(made)
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

pub extern "C" fn cuCtxFromGreenCtx(found: Out<Handle>, green: Handle) -> u32 {
    answer(|| found.check()?.put(known(&driver_state(), green)?.context))
}

pub extern "C" fn cuGreenCtxGetId(green: Handle, id: Out<u64>) -> u32 {
    answer(|| {
        let state = driver_state();
        let context = known(&state, green)?.context;
        id.check()?.put(state.context.contexts.get(&context).ok_or(Fault::INVALID_CONTEXT)?.id)
    })
}

/// Runs code with the green context as the current one.
fn within(green: Handle, what: impl FnOnce() -> u32) -> u32 {
    answer(|| {
        let context = known(&driver_state(), green)?.context;
        current::push(context)?;
        let result = what();
        current::pop();
        if result == 0 { Ok(()) } else { Err(Fault(result)) }
    })
}

pub extern "C" fn cuGreenCtxStreamCreate(found: Out<Handle>, green: Handle, flags: u32, priority: i32) -> u32 {
    within(green, || streams::cuStreamCreateWithPriority(found, flags, priority))
}

/// Covers all earlier work of the context, which is in its blocking streams.
pub extern "C" fn cuGreenCtxRecordEvent(green: Handle, event: Handle) -> u32 {
    within(green, || events::cuEventRecord(event, Handle::NULL))
}

pub extern "C" fn cuGreenCtxWaitEvent(green: Handle, event: Handle) -> u32 {
    within(green, || streams::cuStreamWaitEvent(Handle::NULL, event, 0))
}
