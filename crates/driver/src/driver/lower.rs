//! From tasks to the operations of a stream. A graph becomes the operations of its parts, one after the other. It must
//! not put anything into a stream: that is `submit.rs`.

use super::{code, copy, destroy, words};
use crate::abi::{Answer, Fault};
use crate::engine::{KernelLaunch, Op, machine};
use crate::state::{DriverState, Launch, Parts, Task, Work, driver_state, lookup, lookup_mut};
use cutap_machine::config;

/// Whether a task is possible now; for a task that is stored.
pub fn check(state: &DriverState, task: &Task) -> Answer {
    match task {
        Task::Copy(copy) => copy::copy(state, copy).map(drop),
        Task::Set(set) => copy::set(state, set).map(drop),
        Task::Wait(event) | Task::Record(event) => lookup(&state.stream.events, *event).map(drop),
        _ => Ok(()),
    }
}

/// Whether a copy or a set stays within its memory; for a node that gets another task.
pub fn check_range(state: &DriverState, task: &Task) -> Answer {
    if matches!(task, Task::Copy(_) | Task::Set(_)) { check(state, task) } else { Ok(()) }
}

/// The operations of a task. Recording an event takes the next number of that event.
pub fn works(state: &mut DriverState, task: &Task, device: i32) -> Answer<Vec<Work>> {
    let internal = |op: Option<Op>| Ok(op.map(Work::Engine).into_iter().collect());
    match task {
        // A planted fault: this kernel never ends.
        Task::Kernel(launch) if spins(state, launch) => Ok(vec![Work::Until(Box::new(|| false))]),
        Task::Kernel(launch) => Ok(vec![Work::Engine(kernel(state, launch, device)?)]),
        Task::Copy(copy) => internal(copy::copy(state, copy)?),
        Task::Set(set) => internal(copy::set(state, set)?),
        Task::Host(function, data) => Ok(vec![Work::Host(*function, *data)]),
        Task::Child(_, parts) => works_of_parts(state, parts, device),
        Task::Empty | Task::Allocate(..) | Task::Conditional(..) => Ok(Vec::new()),
        Task::Wait(event) => Ok(vec![Work::Wait(*event, lookup(&state.stream.events, *event)?.recorded)]),
        Task::Record(handle) => {
            let event = lookup_mut(&mut state.stream.events, *handle)?;
            event.recorded += 1;
            event.captured = None;
            Ok(vec![Work::Record(*handle, event.recorded)])
        }
        Task::Free(address) => {
            let address = *address;
            Ok(vec![Work::Internal(Box::new(move || destroy::finish(&mut driver_state(), address)))])
        }
        Task::Values(operations) => Ok(operations.iter().map(words::work).collect()),
    }
}

/// A launch with its code, on a machine that runs kernels.
fn kernel(state: &DriverState, launch: &Launch, device: i32) -> Answer<Op> {
    if !machine().runs_kernels() {
        return Ok(Op::Accepted);
    }
    const CLUSTER: u32 = 4;
    const COOPERATIVE: u32 = 2;
    let function = lookup(&state.code.functions, launch.function)?;
    let cluster = launch.attributes.get(&CLUSTER).map(|v| [v[0] as u32, (v[0] >> 32) as u32, v[1] as u32]);
    Ok(Op::Launch(Box::new(KernelLaunch {
        // `submit.rs` has loaded it, unless another thread has replaced the function meanwhile.
        code: code::loaded(&function.image, device).ok_or(Fault::INVALID_HANDLE)?,
        kernel: function.kernel().name.clone(),
        grid: launch.grid,
        block: launch.block,
        cluster: cluster.filter(|sides| *sides != [0; 3]),
        shared: launch.shared,
        cooperative: launch.attributes.get(&COOPERATIVE).is_some_and(|v| v[0] as u32 != 0),
        parameters: launch.arguments.as_ref().map_or_else(|| [].into(), |arguments| arguments.block.clone()),
    })))
}

/// Whether the kernel has the name of the planted fault.
fn spins(state: &DriverState, launch: &Launch) -> bool {
    let Some(name) = &config().spin else { return false };
    let function = state.code.functions.get(&launch.function);
    function.is_some_and(|function| function.kernel().name.to_bytes() == name.as_bytes())
}

/// The operations of one launch of a graph. Frees are left out: `submit.rs` does what a launch does to memory.
fn works_of_parts(state: &mut DriverState, parts: &Parts, device: i32) -> Answer<Vec<Work>> {
    let mut all = Vec::new();
    for part in parts.0.iter().filter(|p| p.enabled && !matches!(p.task, Task::Free(_))) {
        all.extend(works(state, &part.task, device)?);
    }
    Ok(all)
}
