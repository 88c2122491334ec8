//! User objects: data of the program that graphs keep alive.

use crate::driver::abi::{Out, answer};
use crate::driver::driver_state::{DriverState, Handle, driver_state};
use crate::driver::fault::{Answer, Fault};
use crate::driver::graph::known_graph;
use crate::driver::object::{self, Object};
use crate::driver::stream::{Data, HostFunction};
use std::ffi::c_void;

/// The one flag, which has to be given: the end is not synchronised with anything.
const NO_DESTRUCTOR_SYNC: u32 = 1;

pub extern "C" fn cuUserObjectCreate(
    found: Out<Handle>,
    data: *mut c_void,
    end: Option<HostFunction>,
    count: u32,
    flags: u32,
) -> u32 {
    answer(|| {
        found.check()?;
        let end = end.filter(|_| good(count) && flags == NO_DESTRUCTOR_SYNC).ok_or(Fault::INVALID_VALUE)?;
        let mut world = driver_state();
        let made = world.new_handle();
        world.objects.insert(made, Object { data: Data(data), end, references: count });
        found.put(made)
    })
}

fn good(count: u32) -> bool {
    (1..=i32::MAX as u32).contains(&count)
}

fn change(handle: Handle, count: u32, what: impl FnOnce(&mut DriverState) -> Answer) -> u32 {
    let result = answer(|| {
        let mut world = driver_state();
        if !good(count) || !world.objects.contains_key(&handle) {
            return Err(Fault::INVALID_VALUE);
        }
        what(&mut world)
    });
    object::end_all(result)
}

fn more(world: &mut DriverState, handle: Handle, count: u32) {
    if let Some(found) = world.objects.get_mut(&handle) {
        found.references = found.references.saturating_add(count);
    }
}

pub extern "C" fn cuUserObjectRetain(handle: Handle, count: u32) -> u32 {
    change(handle, count, |world| {
        more(world, handle, count);
        Ok(())
    })
}

pub extern "C" fn cuUserObjectRelease(handle: Handle, count: u32) -> u32 {
    change(handle, count, |world| {
        object::release(world, handle, count);
        Ok(())
    })
}

/// Flags: 1 hands the caller's references over to the graph.
pub extern "C" fn cuGraphRetainUserObject(graph: Handle, handle: Handle, count: u32, flags: u32) -> u32 {
    change(handle, count, |world| {
        known_graph(world, graph)?;
        match flags {
            0 => more(world, handle, count),
            1 => object::require(world, handle, count)?,
            _ => return Err(Fault::INVALID_VALUE),
        }
        let graph = world.graphs.get_mut(&graph).ok_or(Fault::INVALID_VALUE)?;
        *graph.objects.entry(handle).or_default() += count;
        Ok(())
    })
}

pub extern "C" fn cuGraphReleaseUserObject(graph: Handle, handle: Handle, count: u32) -> u32 {
    change(handle, count, |world| {
        let held = world.graphs.get_mut(&graph).and_then(|g| g.objects.get_mut(&handle));
        let held = held.filter(|held| **held >= count).ok_or(Fault::INVALID_VALUE)?;
        *held -= count;
        object::release(world, handle, count);
        Ok(())
    })
}
