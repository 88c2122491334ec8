//! Values that a stream writes to memory or waits for, and attributes of streams.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::driver::{context, submit, words};
use crate::host::word::WordOperation;
use crate::state::{DriverState, Handle, Task, driver_state};

fn put(stream: Handle, operations: impl FnOnce(&DriverState) -> Answer<Vec<WordOperation>>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, stream)?;
        let operations = operations(&state)?;
        submit::put(state, stream, Task::Values(operations), false)
    })
}

/// The flag of a write: no memory barrier before it.
fn barrier(flags: u32) -> Answer {
    if flags <= 1 { Ok(()) } else { Err(Fault::INVALID_VALUE) }
}

pub extern "C" fn cuStreamWriteValue32_v2(stream: Handle, address: u64, value: u32, flags: u32) -> u32 {
    put(stream, |w| Ok(vec![WordOperation::Write(words::half(w, address)?, barrier(flags).map(|()| value.into())?)]))
}

pub extern "C" fn cuStreamWriteValue64_v2(stream: Handle, address: u64, value: u64, flags: u32) -> u32 {
    put(stream, |w| Ok(vec![WordOperation::Write(words::whole(w, address)?, barrier(flags).map(|()| value)?)]))
}

pub extern "C" fn cuStreamWaitValue32_v2(stream: Handle, address: u64, value: u32, flags: u32) -> u32 {
    put(stream, |w| Ok(vec![WordOperation::Wait(words::half(w, address)?, value.into(), flags & 3)]))
}

pub extern "C" fn cuStreamWaitValue64_v2(stream: Handle, address: u64, value: u64, flags: u32) -> u32 {
    put(stream, |w| Ok(vec![WordOperation::Wait(words::whole(w, address)?, value, flags & 3)]))
}

/// CUstreamBatchMemOpParams. All kinds have these fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Batched {
    kind: u32,
    address: u64,
    value: u64,
    flags: u32,
    alias: u64,
    reserved: u64,
}

/// Kinds 1 and 4 wait, 2 and 5 write (32 and 64 bits). 3 and 6 are barriers, which the order of the stream implies.
pub fn batch(state: &DriverState, count: u32, list: In<Batched>) -> Answer<Vec<WordOperation>> {
    list.check_count(count as usize)?;
    let mut operations = Vec::new();
    for n in 0..count as usize {
        let Batched { kind, address, value, flags, .. } = list.get_at(n)?;
        operations.push(match kind {
            1 => WordOperation::Wait(words::half(state, address)?, value & 0xffff_ffff, flags & 3),
            2 => WordOperation::Write(words::half(state, address)?, value),
            4 => WordOperation::Wait(words::whole(state, address)?, value, flags & 3),
            5 => WordOperation::Write(words::whole(state, address)?, value),
            3 | 6 => continue,
            _ => return Err(Fault::INVALID_VALUE),
        });
    }
    Ok(operations)
}

pub extern "C" fn cuStreamBatchMemOp_v2(stream: Handle, count: u32, list: In<Batched>, flags: u32) -> u32 {
    put(stream, |w| if flags == 0 { batch(w, count, list) } else { Err(Fault::INVALID_VALUE) })
}

/// CUlaunchAttributeValue, stored as bytes.
pub type Value = [u64; 8];
const PRIORITY: u32 = 8;

fn known_attribute(id: u32) -> Answer {
    if (1..=18).contains(&id) { Ok(()) } else { Err(Fault::INVALID_VALUE) }
}

pub extern "C" fn cuStreamGetAttribute(handle: Handle, id: u32, value: Out<Value>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        known_attribute(id)?;
        let stream = &state.stream.streams[&stream];
        let mut attribute = stream.attributes.get(&id).copied().unwrap_or_default();
        if id == PRIORITY {
            attribute[0] = u64::from(stream.priority as u32);
        }
        value.put(attribute)
    })
}

pub extern "C" fn cuStreamSetAttribute(handle: Handle, id: u32, value: In<Value>) -> u32 {
    answer(|| {
        let value = value.get()?;
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        known_attribute(id)?;
        state.stream.streams.get_mut(&stream).ok_or(Fault::INVALID_HANDLE)?.attributes.insert(id, value);
        Ok(())
    })
}

pub extern "C" fn cuStreamCopyAttributes(to: Handle, from: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let (to, from) = (context::stream(&mut state, to)?, context::stream(&mut state, from)?);
        let all = state.stream.streams[&from].attributes.clone();
        state.stream.streams.get_mut(&to).ok_or(Fault::INVALID_HANDLE)?.attributes = all;
        Ok(())
    })
}
