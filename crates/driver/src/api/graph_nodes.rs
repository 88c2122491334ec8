//! Nodes of graphs: they are added, queried, and given other parameters of the same kind.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::api::graph_edges::edges;
use crate::api::graph_params::{self, Batch, Host, Kernel, Kernel2};
use crate::api::launch::LAST_ATTRIBUTE;
use crate::driver::context::named;
use crate::driver::{copy, graph, lower};
use crate::state::{Copy3D, Data, DriverState, Handle, Launch, Set, Task, driver_state, lookup_mut};

/// The arguments that all functions which add a node have in common.
struct NewNode {
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
}

impl NewNode {
    fn new(node: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) -> Self {
        NewNode { node, graph, after, data: In::at(0), count }
    }

    fn add(self, task: impl FnOnce(&mut DriverState) -> Answer<Task>) -> u32 {
        answer(|| {
            self.node.check()?;
            let mut state = driver_state();
            state.graph.lookup_graph(self.graph)?;
            let after = edges(self.after, self.data, self.count)?;
            let task = task(&mut state)?;
            lower::check(&state, &task)?;
            self.node.put(graph::add(&mut state, self.graph, after, task)?)
        })
    }
}

/// Replaces the task of a node by one of the same kind.
fn set(node: Handle, task: impl FnOnce(&mut DriverState) -> Answer<Task>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        state.graph.lookup_node(node)?;
        let task = task(&mut state)?;
        lower::check_range(&state, &task)?;
        let node = lookup_mut(&mut state.graph.nodes, node)?;
        if node.task.kind() != task.kind() {
            return Err(Fault::INVALID_VALUE);
        }
        match (&mut node.task, task) {
            (Task::Kernel(old), Task::Kernel(mut new)) => {
                new.attributes = std::mem::take(&mut old.attributes);
                *old = new;
            }
            (old, new) => *old = new,
        }
        Ok(())
    })
}

/// Reads the task of a node. INVALID_VALUE for a task of another kind.
fn get<T>(node: Handle, out: Out<T>, property: impl FnOnce(&Task) -> Option<T>) -> u32 {
    answer(|| out.check()?.put(property(&driver_state().graph.lookup_node(node)?.task).ok_or(Fault::INVALID_VALUE)?))
}

pub extern "C" fn cuGraphAddEmptyNode(node: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) -> u32 {
    NewNode::new(node, graph, after, count).add(|_| Ok(Task::Empty))
}

pub extern "C" fn cuGraphAddKernelNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    params: In<Kernel>,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|w| Kernel2 { kernel: params.get()?, ..Kernel2::default() }.task(w))
}

pub extern "C" fn cuGraphAddKernelNode_v2(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    params: In<Kernel2>,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|w| params.get()?.task(w))
}

fn launch(task: &Task) -> Option<&Launch> {
    if let Task::Kernel(launch) = task { Some(launch) } else { None }
}

fn kernel(node: Handle) -> Answer<Kernel2> {
    let mut state = driver_state();
    let launch = launch(&state.graph.lookup_node(node)?.task).ok_or(Fault::INVALID_VALUE)?.clone();
    Kernel2::of(&mut state, &launch)
}

pub extern "C" fn cuGraphKernelNodeGetParams(node: Handle, out: Out<Kernel>) -> u32 {
    answer(|| out.check()?.put(kernel(node)?.kernel))
}

pub extern "C" fn cuGraphKernelNodeGetParams_v2(node: Handle, out: Out<Kernel2>) -> u32 {
    answer(|| out.check()?.put(kernel(node)?))
}

pub extern "C" fn cuGraphKernelNodeSetParams(node: Handle, params: In<Kernel>) -> u32 {
    set(node, |w| Kernel2 { kernel: params.get()?, ..Kernel2::default() }.task(w))
}

pub extern "C" fn cuGraphKernelNodeSetParams_v2(node: Handle, params: In<Kernel2>) -> u32 {
    set(node, |w| params.get()?.task(w))
}

pub extern "C" fn cuGraphKernelNodeGetAttribute(node: Handle, id: u32, out: Out<[u64; 8]>) -> u32 {
    let is_valid = (1..=LAST_ATTRIBUTE).contains(&id);
    get(node, out, |t| Some(launch(t).filter(|_| is_valid)?.attributes.get(&id).copied().unwrap_or_default()))
}

pub extern "C" fn cuGraphKernelNodeSetAttribute(node: Handle, id: u32, value: In<[u64; 8]>) -> u32 {
    answer(|| {
        let value = value.get()?;
        let mut state = driver_state();
        state.graph.lookup_node(node)?;
        match &mut lookup_mut(&mut state.graph.nodes, node)?.task {
            Task::Kernel(launch) if (1..=LAST_ATTRIBUTE).contains(&id) => {
                launch.attributes.insert(id, value);
                Ok(())
            }
            _ => Err(Fault::INVALID_VALUE),
        }
    })
}

pub extern "C" fn cuGraphKernelNodeCopyAttributes(to: Handle, from: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let all = launch(&state.graph.lookup_node(from)?.task).ok_or(Fault::INVALID_VALUE)?.attributes.clone();
        state.graph.lookup_node(to)?;
        match &mut lookup_mut(&mut state.graph.nodes, to)?.task {
            Task::Kernel(launch) => {
                launch.attributes = all;
                Ok(())
            }
            _ => Err(Fault::INVALID_VALUE),
        }
    })
}

pub extern "C" fn cuGraphAddMemcpyNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    params: In<Copy3D>,
    context: Handle,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|w| {
        named(w, context)?;
        let params = params.get()?;
        copy::check_ends(w, &params)?;
        Ok(Task::Copy(Box::new(params)))
    })
}

pub extern "C" fn cuGraphMemcpyNodeGetParams(node: Handle, out: Out<Copy3D>) -> u32 {
    get(node, out, |t| if let Task::Copy(copy) = t { Some(**copy) } else { None })
}

pub extern "C" fn cuGraphMemcpyNodeSetParams(node: Handle, params: In<Copy3D>) -> u32 {
    set(node, |_| Ok(Task::Copy(Box::new(params.get()?))))
}

pub extern "C" fn cuGraphAddMemsetNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    params: In<Set>,
    context: Handle,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|w| {
        named(w, context)?;
        Ok(Task::Set(params.get()?))
    })
}

pub extern "C" fn cuGraphMemsetNodeGetParams(node: Handle, out: Out<Set>) -> u32 {
    get(node, out, |t| if let Task::Set(set) = t { Some(*set) } else { None })
}

pub extern "C" fn cuGraphMemsetNodeSetParams(node: Handle, params: In<Set>) -> u32 {
    set(node, |_| Ok(Task::Set(params.get()?)))
}

pub extern "C" fn cuGraphAddHostNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    params: In<Host>,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|_| params.get()?.task())
}

pub extern "C" fn cuGraphHostNodeGetParams(node: Handle, out: Out<Host>) -> u32 {
    get(node, out, |t| match t {
        Task::Host(function, Data(data)) => Some(Host { function: Some(*function), data: *data }),
        _ => None,
    })
}

pub extern "C" fn cuGraphHostNodeSetParams(node: Handle, params: In<Host>) -> u32 {
    set(node, |_| params.get()?.task())
}

pub extern "C" fn cuGraphAddChildGraphNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    child: Handle,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|w| graph_params::child(w, graph, child))
}

pub extern "C" fn cuGraphChildGraphNodeGetGraph(node: Handle, graph_out: Out<Handle>) -> u32 {
    get(node, graph_out, |t| if let Task::Child(graph, _) = t { Some(*graph) } else { None })
}

fn some(event: Handle) -> Answer<Handle> {
    if event == Handle::NULL { Err(Fault::INVALID_VALUE) } else { Ok(event) }
}

pub extern "C" fn cuGraphAddEventRecordNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    event: Handle,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|_| some(event).map(Task::Record))
}

pub extern "C" fn cuGraphEventRecordNodeGetEvent(node: Handle, event_out: Out<Handle>) -> u32 {
    get(node, event_out, |t| if let Task::Record(event) = t { Some(*event) } else { None })
}

pub extern "C" fn cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) -> u32 {
    set(node, |_| Ok(Task::Record(event)))
}

pub extern "C" fn cuGraphAddEventWaitNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    event: Handle,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|_| some(event).map(Task::Wait))
}

pub extern "C" fn cuGraphEventWaitNodeGetEvent(node: Handle, event_out: Out<Handle>) -> u32 {
    get(node, event_out, |t| if let Task::Wait(event) = t { Some(*event) } else { None })
}

pub extern "C" fn cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) -> u32 {
    set(node, |_| Ok(Task::Wait(event)))
}

pub extern "C" fn cuGraphAddBatchMemOpNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    params: In<Batch>,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|w| params.get()?.task(w))
}

pub extern "C" fn cuGraphBatchMemOpNodeSetParams(node: Handle, params: In<Batch>) -> u32 {
    set(node, |w| params.get()?.task(w))
}

pub extern "C" fn cuGraphAddNode(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    params: u64,
) -> u32 {
    NewNode::new(node, graph, after, count).add(|w| graph_params::any(w, graph, params))
}

pub extern "C" fn cuGraphAddNode_v2(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
    params: u64,
) -> u32 {
    NewNode { node, graph, after, data, count }.add(|w| graph_params::any(w, graph, params))
}

pub extern "C" fn cuGraphAddNode_v3(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
    params: u64,
) -> u32 {
    cuGraphAddNode_v2(node, graph, after, data, count, params)
}

pub extern "C" fn cuGraphNodeSetParams(node: Handle, params: u64) -> u32 {
    set(node, |w| {
        let home = w.graph.lookup_node(node)?.graph;
        graph_params::any(w, home, params)
    })
}

pub extern "C" fn cuGraphNodeSetParams_v2(node: Handle, params: u64) -> u32 {
    cuGraphNodeSetParams(node, params)
}

pub extern "C" fn cuGraphNodeGetParams(node: Handle, out: u64) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let task = state.graph.lookup_node(node)?.task.clone();
        graph_params::write_params(&mut state, &task, out)
    })
}
