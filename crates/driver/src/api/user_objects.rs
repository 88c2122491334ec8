//! User objects: data of the program that graphs keep alive.

use crate::abi::{Answer, Fault, Out, answer};
use crate::driver::user_object;
use crate::state::{Data, DriverState, Handle, HostFunction, UserObject, driver_state};
use std::ffi::c_void;

/// The only flag, which is required: the destructor is not synchronised with anything.
const NO_DESTRUCTOR_SYNC: u32 = 1;

pub extern "C" fn cuUserObjectCreate(
    object: Out<Handle>,
    data: *mut c_void,
    end: Option<HostFunction>,
    count: u32,
    flags: u32,
) -> u32 {
    answer(|| {
        object.check()?;
        let destructor = end.filter(|_| good(count) && flags == NO_DESTRUCTOR_SYNC).ok_or(Fault::INVALID_VALUE)?;
        let mut state = driver_state();
        let handle = state.new_handle();
        state.graph.user_objects.insert(handle, UserObject { data: Data(data), destructor, references: count });
        object.put(handle)
    })
}

fn good(count: u32) -> bool {
    (1..=i32::MAX as u32).contains(&count)
}

fn change(handle: Handle, count: u32, edit: impl FnOnce(&mut DriverState) -> Answer) -> u32 {
    let result = answer(|| {
        let mut state = driver_state();
        if !good(count) || !state.graph.user_objects.contains_key(&handle) {
            return Err(Fault::INVALID_VALUE);
        }
        edit(&mut state)
    });
    user_object::call_destructors(result)
}

fn more(state: &mut DriverState, handle: Handle, count: u32) {
    if let Some(object) = state.graph.user_objects.get_mut(&handle) {
        object.references = object.references.saturating_add(count);
    }
}

pub extern "C" fn cuUserObjectRetain(handle: Handle, count: u32) -> u32 {
    change(handle, count, |state| {
        more(state, handle, count);
        Ok(())
    })
}

pub extern "C" fn cuUserObjectRelease(handle: Handle, count: u32) -> u32 {
    change(handle, count, |state| {
        user_object::release(state, handle, count);
        Ok(())
    })
}

/// Flag 1 moves references of the caller to the graph.
pub extern "C" fn cuGraphRetainUserObject(graph: Handle, handle: Handle, count: u32, flags: u32) -> u32 {
    change(handle, count, |state| {
        state.graph.lookup_graph(graph)?;
        match flags {
            0 => more(state, handle, count),
            1 => user_object::require(state, handle, count)?,
            _ => return Err(Fault::INVALID_VALUE),
        }
        let graph = state.graph.graphs.get_mut(&graph).ok_or(Fault::INVALID_VALUE)?;
        *graph.objects.entry(handle).or_default() += count;
        Ok(())
    })
}

pub extern "C" fn cuGraphReleaseUserObject(graph: Handle, handle: Handle, count: u32) -> u32 {
    change(handle, count, |state| {
        let references = state.graph.graphs.get_mut(&graph).and_then(|g| g.objects.get_mut(&handle));
        let references = references.filter(|references| **references >= count).ok_or(Fault::INVALID_VALUE)?;
        *references -= count;
        user_object::release(state, handle, count);
        Ok(())
    })
}
