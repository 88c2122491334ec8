//! User objects: data of the program that lives as long as a graph needs it, with a function that ends it.

use super::abi::{answer, of_the_program};
use super::driver_state::{DriverState, Handle};
use super::fault::{Answer, Fault};
use super::stream::{Data, HostFunction};

pub struct Object {
    pub data: Data,
    pub end: HostFunction,
    pub references: u32,
}

/// So many references less. At none the program's function is called, later and on the driver's thread, since this
/// is under the lock.
pub fn release(world: &mut DriverState, object: Handle, count: u32) {
    let Some(found) = world.objects.get_mut(&object) else { return };
    found.references = found.references.saturating_sub(count);
    if found.references == 0
        && let Some(gone) = world.objects.remove(&object)
    {
        world.ended.push((gone.end, gone.data));
    }
}

/// Calls what objects are to be ended with, behind a call that holds no lock any more; the call's result.
pub fn end_all(result: u32) -> u32 {
    let end = || {
        let ended = std::mem::take(&mut super::driver_state::driver_state().ended);
        ended.into_iter().try_for_each(|(function, data)| of_the_program(|| function(data.0)))
    };
    match answer(end) {
        0 => result,
        forked => forked,
    }
}

/// INVALID_VALUE unless it is there with at least so many references.
pub fn require(world: &DriverState, object: Handle, count: u32) -> Answer {
    match world.objects.get(&object) {
        Some(o) if count > 0 && o.references >= count => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    }
}
