//! Executable graphs: instantiation, launch, update, destruction.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::api::graph_params::{self, Batch, Host, Kernel, Kernel2};
use crate::driver::{capture_status, context, current, destroy, graph, lower, submit};
use crate::state::{Copy3D, DriverState, Executable, Handle, Parts, Set, Task, driver_state};
use std::sync::Arc;

/// CUgraphInstantiate_flags: free at launch, upload, launch from the device, priorities of nodes.
const ALL_FLAGS: u64 = 15;
const FREE_AT_LAUNCH: u64 = 1;
const UPLOAD: u64 = 2;
const LAUNCH_FROM_DEVICE: u64 = 4;

/// CUgraphInstantiateResult: success, the error of the call, a cycle, a node that a kernel cannot launch.
const SUCCESS: u32 = 0;
const ERROR: u32 = 1;
const INVALID_STRUCTURE: u32 = 2;
const OPERATION_NOT_SUPPORTED: u32 = 3;

/// Why instantiation failed. cuGraphInstantiateWithParams reports result and node.
struct Refusal {
    fault: Fault,
    result: u32,
    node: Handle,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Refusal { fault, result: ERROR, node: Handle::NULL }
    }
}

/// Whether the flags exist and can be combined.
fn are_flags(flags: u64) -> bool {
    const EXCLUDE_EACH_OTHER: u64 = FREE_AT_LAUNCH | LAUNCH_FROM_DEVICE;
    flags & !ALL_FLAGS == 0 && flags & EXCLUDE_EACH_OTHER != EXCLUDE_EACH_OTHER
}

/// A kernel can launch a graph of kernels, copies, sets and child graphs of these, unless it is empty.
fn launches_from_device(parts: &Parts) -> Result<(), Refusal> {
    if parts.0.is_empty() {
        return Err(Fault::INVALID_VALUE.into());
    }
    match parts.unfit_for_device() {
        Some(node) => Err(Refusal { fault: Fault::INVALID_VALUE, result: OPERATION_NOT_SUPPORTED, node }),
        None => Ok(()),
    }
}

fn instantiate(graph_exec: Out<Handle>, graph: Handle, flags: u64) -> Result<(), Refusal> {
    graph_exec.check()?;
    if !are_flags(flags) {
        return Err(Fault::INVALID_VALUE.into());
    }
    let mut state = driver_state();
    current::require(&state)?;
    state.graph.lookup_graph(graph)?;
    let in_order = |fault| Refusal { fault, result: INVALID_STRUCTURE, node: Handle::NULL };
    graph::in_order(&state, graph).map_err(in_order)?;
    let parts = graph::parts(&state, graph)?;
    if flags & LAUNCH_FROM_DEVICE != 0 {
        launches_from_device(&parts)?;
    }
    let memory = parts.allocated();
    if memory.iter().any(|address| destroy::is_ready_to_launch(&state, *address)) {
        return Err(Fault::NOT_SUPPORTED.into());
    }
    destroy::hold(&mut state, &memory);
    let handle = state.new_handle();
    let id = state.next_order() as u32;
    state.graph.executables.insert(handle, Executable { flags, parts: Arc::new(parts), id });
    Ok(graph_exec.put(handle)?)
}

/// For the functions without a result structure. They have no stream for an upload.
fn instantiate_only(graph_exec: Out<Handle>, graph: Handle, flags: u64) -> Answer {
    if flags & UPLOAD != 0 {
        return Err(Fault::INVALID_VALUE);
    }
    instantiate(graph_exec, graph, flags).map_err(|refusal| refusal.fault)
}

pub extern "C" fn cuGraphInstantiate(
    graph_exec: Out<Handle>,
    graph: Handle,
    _wrong: u64,
    _log: u64,
    _size: usize,
) -> u32 {
    answer(|| instantiate_only(graph_exec, graph, 0))
}

pub extern "C" fn cuGraphInstantiate_v2(
    graph_exec: Out<Handle>,
    graph: Handle,
    _wrong: u64,
    _log: u64,
    _size: usize,
) -> u32 {
    answer(|| instantiate_only(graph_exec, graph, 0))
}

pub extern "C" fn cuGraphInstantiateWithFlags(graph_exec: Out<Handle>, graph: Handle, flags: u64) -> u32 {
    answer(|| instantiate_only(graph_exec, graph, flags))
}

/// CUDA_GRAPH_INSTANTIATE_PARAMS
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Instantiation {
    flags: u64,
    stream: Handle,
    wrong: Handle,
    result: u32,
}

pub extern "C" fn cuGraphInstantiateWithParams(
    graph_exec: Out<Handle>,
    graph: Handle,
    params: Out<Instantiation>,
) -> u32 {
    answer(|| {
        let request = params.get()?;
        let outcome = instantiate(graph_exec, graph, request.flags);
        let (result, wrong) = outcome.as_ref().err().map_or((SUCCESS, Handle::NULL), |r| (r.result, r.node));
        params.put(Instantiation { wrong, result, ..request })?;
        outcome.map_err(|refusal| refusal.fault)
    })
}

/// INVALID_VALUE for an unknown handle.
fn lookup_exec(state: &mut DriverState, handle: Handle) -> Answer<&mut Executable> {
    state.graph.executables.get_mut(&handle).ok_or(Fault::INVALID_VALUE)
}

pub extern "C" fn cuGraphLaunch(handle: Handle, stream: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let Executable { flags, parts, .. } = lookup_exec(&mut state, handle)?;
        let (flags, parts) = (*flags, Arc::clone(parts));
        let stream = context::stream(&mut state, stream)?;
        capture_status::refuse(&mut state, stream)?;
        if flags & FREE_AT_LAUNCH != 0 {
            destroy::free_at_launch(&mut state, &parts);
        }
        submit::put(state, stream, Task::Child(handle, parts), false)
    })
}

pub extern "C" fn cuGraphUpload(handle: Handle, stream: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        lookup_exec(&mut state, handle)?;
        context::stream(&mut state, stream).map(drop)
    })
}

pub extern "C" fn cuGraphExecDestroy(handle: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let executable = state.graph.executables.remove(&handle).ok_or(Fault::INVALID_VALUE)?;
        destroy::release(&mut state, &executable.parts.allocated());
        Ok(())
    })
}

pub extern "C" fn cuGraphExecGetFlags(handle: Handle, flags: Out<u64>) -> u32 {
    answer(|| flags.check()?.put(lookup_exec(&mut driver_state(), handle)?.flags))
}

pub extern "C" fn cuGraphExecGetId(handle: Handle, id: Out<u32>) -> u32 {
    answer(|| id.check()?.put(lookup_exec(&mut driver_state(), handle)?.id))
}

/// CUgraphExecUpdateResultInfo
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Update {
    result: u32,
    wrong: Handle,
    before_it: Handle,
}

fn update(handle: Handle, graph: Handle) -> Answer<Result<(), (u32, Handle)>> {
    let mut state = driver_state();
    lookup_exec(&mut state, handle)?;
    let parts = graph::parts(&state, graph)?;
    let parts_of_it = Arc::make_mut(&mut lookup_exec(&mut state, handle)?.parts);
    let (before, after) = (parts_of_it.allocated(), parts.allocated());
    let result = parts_of_it.update(parts);
    if result.is_ok() {
        destroy::hold(&mut state, &after);
        destroy::release(&mut state, &before);
    }
    Ok(result)
}

pub extern "C" fn cuGraphExecUpdate(handle: Handle, graph: Handle, wrong: Out<Handle>, result: Out<u32>) -> u32 {
    answer(|| {
        result.check()?;
        let (code, node) = update(handle, graph)?.err().unwrap_or((0, Handle::NULL));
        wrong.put_if_wanted(node);
        result.put(code)?;
        if code == 0 { Ok(()) } else { Err(Fault::GRAPH_EXEC_UPDATE_FAILURE) }
    })
}

pub extern "C" fn cuGraphExecUpdate_v2(handle: Handle, graph: Handle, info: Out<Update>) -> u32 {
    answer(|| {
        let (result, wrong) = update(handle, graph)?.err().unwrap_or((0, Handle::NULL));
        info.put_if_wanted(Update { result, wrong, before_it: Handle::NULL });
        if result == 0 { Ok(()) } else { Err(Fault::GRAPH_EXEC_UPDATE_FAILURE) }
    })
}

/// Replaces the task of a node in an executable by one of the same kind.
fn set(handle: Handle, node: Handle, task: impl FnOnce(&mut DriverState) -> Answer<Task>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        lookup_exec(&mut state, handle)?;
        let task = task(&mut state)?;
        lower::check_range(&state, &task)?;
        let part = lookup_exec(&mut state, handle)?.part(node).ok_or(Fault::INVALID_VALUE)?;
        if part.task.kind() != task.kind() {
            return Err(Fault::INVALID_VALUE);
        }
        part.task = task;
        Ok(())
    })
}

pub extern "C" fn cuGraphExecKernelNodeSetParams(handle: Handle, node: Handle, params: In<Kernel>) -> u32 {
    set(handle, node, |w| Kernel2 { kernel: params.get()?, ..Kernel2::default() }.task(w))
}

pub extern "C" fn cuGraphExecKernelNodeSetParams_v2(handle: Handle, node: Handle, params: In<Kernel2>) -> u32 {
    set(handle, node, |w| params.get()?.task(w))
}

pub extern "C" fn cuGraphExecMemcpyNodeSetParams(handle: Handle, node: Handle, params: In<Copy3D>, _c: Handle) -> u32 {
    set(handle, node, |_| Ok(Task::Copy(Box::new(params.get()?))))
}

pub extern "C" fn cuGraphExecMemsetNodeSetParams(handle: Handle, node: Handle, params: In<Set>, _c: Handle) -> u32 {
    set(handle, node, |_| Ok(Task::Set(params.get()?)))
}

pub extern "C" fn cuGraphExecHostNodeSetParams(handle: Handle, node: Handle, params: In<Host>) -> u32 {
    set(handle, node, |_| params.get()?.task())
}

pub extern "C" fn cuGraphExecChildGraphNodeSetParams(handle: Handle, node: Handle, child: Handle) -> u32 {
    set(handle, node, |w| Ok(Task::Child(child, Arc::new(graph::parts(w, child)?))))
}

pub extern "C" fn cuGraphExecEventRecordNodeSetEvent(handle: Handle, node: Handle, event: Handle) -> u32 {
    set(handle, node, |_| Ok(Task::Record(event)))
}

pub extern "C" fn cuGraphExecEventWaitNodeSetEvent(handle: Handle, node: Handle, event: Handle) -> u32 {
    set(handle, node, |_| Ok(Task::Wait(event)))
}

pub extern "C" fn cuGraphExecBatchMemOpNodeSetParams(handle: Handle, node: Handle, params: In<Batch>) -> u32 {
    set(handle, node, |w| params.get()?.task(w))
}

pub extern "C" fn cuGraphExecNodeSetParams(handle: Handle, node: Handle, params: u64) -> u32 {
    set(handle, node, |w| match graph_params::any(w, Handle::NULL, params)? {
        Task::Child(child, _) => Ok(Task::Child(child, Arc::new(graph::parts(w, child)?))),
        task => Ok(task),
    })
}

/// Only kernels, copies and sets can be disabled.
pub extern "C" fn cuGraphNodeSetEnabled(handle: Handle, node: Handle, enabled: u32) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let part = lookup_exec(&mut state, handle)?.part(node).ok_or(Fault::INVALID_VALUE)?;
        match part.task {
            Task::Kernel(_) | Task::Copy(_) | Task::Set(_) => part.enabled = enabled != 0,
            _ => return Err(Fault::INVALID_VALUE),
        }
        Ok(())
    })
}

pub extern "C" fn cuGraphNodeGetEnabled(handle: Handle, node: Handle, enabled: Out<u32>) -> u32 {
    answer(|| {
        enabled.check()?;
        let mut state = driver_state();
        let part = lookup_exec(&mut state, handle)?.part(node).ok_or(Fault::INVALID_VALUE)?;
        enabled.put(part.enabled.into())
    })
}
