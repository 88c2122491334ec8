//! What a driver call submits, as a profiler sees it: kernels, copies and sets, and the nodes of a launched graph. It
//! must not change anything.

use super::copy;
use crate::host::profiler;
use crate::state::{Copy3D, DriverState, Handle, Launch, Parts, PlaneKind, Set, Task};
use cutap_calls::generated::gpu_time::function;
use cutap_machine::{SubmittedWork, WorkKind};
use std::collections::BTreeMap;

/// Reports a task to the profiler, if there is one. `waits`: the driver function waits for the task.
pub fn report(state: &DriverState, stream: Handle, task: &Task, waits: bool) {
    if !profiler::is_registered() {
        return;
    }
    let Some(function) = function_of(task, waits) else { return };
    let Some(place) = place(state, stream) else { return };
    let mut works = Vec::new();
    match task {
        Task::Child(executable, parts) => {
            let graph = state.graph.executables.get(executable).map_or(0, |executable| executable.id);
            let mut add = |task: &Task, index: u32| {
                let node = SubmittedWork { graph, graph_node: u64::from(graph) << 32 | u64::from(index), ..place };
                works.extend(work(state, task, node));
            };
            for_each_node(parts, 0, &mut add);
        }
        task => works.extend(work(state, task, place)),
    }
    if !works.is_empty() || matches!(task, Task::Child(..)) {
        profiler::report(function, &works);
    }
}

/// Work without content, in a stream.
fn place(state: &DriverState, stream: Handle) -> Option<SubmittedWork> {
    let stream = state.stream.streams.get(&stream)?;
    let context = state.context.contexts.get(&stream.context)?;
    let (device, context, stream) = (context.device as u32, context.id as u32, stream.id as u32);
    Some(SubmittedWork { device, context, stream, ..SubmittedWork::default() })
}

/// None for tasks that are no work of the GPU.
fn work(state: &DriverState, task: &Task, place: SubmittedWork) -> Option<SubmittedWork> {
    match task {
        Task::Kernel(launch) => Some(kernel(state, launch, place)),
        Task::Copy(copy) if copy.bytes() > 0 => {
            let mut direction = [0; 4];
            direction.copy_from_slice(copy::direction(state, copy).as_bytes().get(..4)?);
            Some(SubmittedWork { kind: WorkKind::Copy, bytes: copy.bytes(), direction, ..place })
        }
        Task::Set(Set { value, element, width, height, .. }) => {
            let bytes = u64::from(*element).saturating_mul(*width).saturating_mul(*height);
            (bytes > 0).then_some(SubmittedWork { kind: WorkKind::Set, bytes, value: *value, ..place })
        }
        _ => None,
    }
}

fn kernel(state: &DriverState, launch: &Launch, place: SubmittedWork) -> SubmittedWork {
    let kernel = state.code.functions.get(&launch.function).map(|function| function.kernel());
    SubmittedWork {
        kind: WorkKind::Kernel,
        name: kernel.map_or(c"".as_ptr(), |kernel| kernel.name.as_ptr()),
        grid: launch.grid,
        block: launch.block,
        registers: kernel.map_or(0, |kernel| kernel.registers.max(0) as u32),
        static_shared: kernel.map_or(0, |kernel| kernel.shared.max(0) as u32),
        dynamic_shared: launch.shared,
        ..place
    }
}

/// All enabled nodes of a graph in the order of execution, with their indices. Nodes count in the order of their
/// creation. A node with a child graph has an index, and the nodes of child graphs have the indices behind those of all
/// nodes of the graph. That was measured on an H100.
fn for_each_node(parts: &Parts, first: u32, each: &mut impl FnMut(&Task, u32)) {
    let mut firsts = BTreeMap::new();
    let mut next = first + own_count(parts);
    let mut by_number: Vec<_> = parts.0.iter().collect();
    by_number.sort_by_key(|part| part.number);
    for part in by_number {
        if let Task::Child(_, child) = &part.task {
            firsts.insert(part.node, next);
            next += count(child);
        }
    }
    for part in parts.0.iter().filter(|part| part.enabled) {
        match &part.task {
            Task::Child(_, child) => for_each_node(child, firsts.get(&part.node).copied().unwrap_or(first), each),
            task => each(task, first + part.number),
        }
    }
}

/// The number of indices that the nodes of a graph take.
fn own_count(parts: &Parts) -> u32 {
    parts.0.iter().map(|part| part.number + 1).max().unwrap_or(0)
}

/// The same with those of child graphs.
fn count(parts: &Parts) -> u32 {
    let child = |task: &Task| if let Task::Child(_, child) = task { count(child) } else { 0 };
    own_count(parts) + parts.0.iter().map(|part| child(&part.task)).sum::<u32>()
}

/// The callback id of the driver function that submits such a task. Of functions that do the same it is the most common
/// one.
fn function_of(task: &Task, waits: bool) -> Option<u32> {
    Some(match task {
        Task::Kernel(_) => function::cuLaunchKernel,
        Task::Child(..) => function::cuGraphLaunch,
        Task::Copy(copy) => copy_function(copy, waits),
        Task::Set(set) => set_function(set, waits),
        _ => return None,
    })
}

fn copy_function(copy: &Copy3D, waits: bool) -> u32 {
    let is_line = copy.height == 1 && copy.depth == 1;
    match (copy.from.kind, copy.to.kind, waits) {
        (PlaneKind::HOST, PlaneKind::DEVICE, true) if is_line => function::cuMemcpyHtoD_v2,
        (PlaneKind::HOST, PlaneKind::DEVICE, false) if is_line => function::cuMemcpyHtoDAsync_v2,
        (PlaneKind::DEVICE, PlaneKind::HOST, true) if is_line => function::cuMemcpyDtoH_v2,
        (PlaneKind::DEVICE, PlaneKind::HOST, false) if is_line => function::cuMemcpyDtoHAsync_v2,
        (PlaneKind::DEVICE, PlaneKind::DEVICE, true) if is_line => function::cuMemcpyDtoD_v2,
        (PlaneKind::DEVICE, PlaneKind::DEVICE, false) if is_line => function::cuMemcpyDtoDAsync_v2,
        (PlaneKind::ANY, PlaneKind::ANY, true) if is_line => function::cuMemcpy,
        (PlaneKind::ANY, PlaneKind::ANY, false) if is_line => function::cuMemcpyAsync,
        (_, _, true) => function::cuMemcpy3D_v2,
        (_, _, false) => function::cuMemcpy3DAsync_v2,
    }
}

fn set_function(set: &Set, waits: bool) -> u32 {
    match (set.element, set.height > 1, waits) {
        (1, false, true) => function::cuMemsetD8_v2,
        (1, false, false) => function::cuMemsetD8Async,
        (1, true, true) => function::cuMemsetD2D8_v2,
        (1, true, false) => function::cuMemsetD2D8Async,
        (2, false, true) => function::cuMemsetD16_v2,
        (2, false, false) => function::cuMemsetD16Async,
        (2, true, true) => function::cuMemsetD2D16_v2,
        (2, true, false) => function::cuMemsetD2D16Async,
        (_, false, true) => function::cuMemsetD32_v2,
        (_, false, false) => function::cuMemsetD32Async,
        (_, true, true) => function::cuMemsetD2D32_v2,
        (_, true, false) => function::cuMemsetD2D32Async,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Part;
    use std::sync::Arc;

    fn part(handle: u64, number: u32, task: Task) -> Part {
        Part { node: Handle(handle), task, enabled: true, after: Vec::new(), number }
    }

    /// The handles stand in the order of execution, the numbers in the order of creation.
    #[test]
    fn nodes_of_children_are_numbered_through() {
        let child = Parts(vec![part(10, 1, Task::Set(Set::default())), part(11, 0, Task::Set(Set::default()))]);
        let parts = Parts(vec![
            part(1, 2, Task::Empty),
            part(2, 0, Task::Child(Handle::NULL, Arc::new(child))),
            part(3, 1, Task::Empty),
        ]);
        let mut seen = Vec::new();
        for_each_node(&parts, 0, &mut |task, index| seen.push((task.kind(), index)));
        assert_eq!(seen, [(5, 2), (2, 4), (2, 3), (5, 1)]);
        assert_eq!(count(&parts), 5);
    }
}
