//! Rules of user objects: references, and when the driver calls their destructors.

use crate::abi::{Answer, Fault, answer, of_the_program};
use crate::state::{DriverState, Handle, driver_state};

/// Takes references away. After the last one the destructor is due, but this is under the lock: see `call_destructors`.
pub fn release(state: &mut DriverState, object: Handle, count: u32) {
    let Some(user_object) = state.graph.user_objects.get_mut(&object) else { return };
    user_object.references = user_object.references.saturating_sub(count);
    if user_object.references == 0
        && let Some(removed) = state.graph.user_objects.remove(&object)
    {
        state.graph.destructors.push((removed.destructor, removed.data));
    }
}

/// Calls the destructors that are due, at the end of a driver function that holds no lock any more. Returns the result
/// of that function, or the error of a child that a destructor forked.
pub fn call_destructors(result: u32) -> u32 {
    let call = || {
        let due = std::mem::take(&mut driver_state().graph.destructors);
        due.into_iter().try_for_each(|(function, data)| of_the_program(|| function(data.0)))
    };
    match answer(call) {
        0 => result,
        forked => forked,
    }
}

/// INVALID_VALUE unless the object has at least `count` references.
pub fn require(state: &DriverState, object: Handle, count: u32) -> Answer {
    match state.graph.user_objects.get(&object) {
        Some(o) if count > 0 && o.references >= count => Ok(()),
        _ => Err(Fault::INVALID_VALUE),
    }
}
