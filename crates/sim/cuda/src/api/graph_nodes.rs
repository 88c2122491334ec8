//! Nodes of graphs: they are added, queried, and given other parameters of the same kind.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::api::graph_edges::edges;
use crate::api::graph_params::{self, Batch, Host, Kernel, Kernel2};
use crate::api::launch::LAST_ATTRIBUTE;
use crate::driver::context::named;
use crate::driver::{copy, graph, lower};
use crate::state::{Copy3D, Data, DriverState, Handle, Launch, Set, Task, driver_state, known_mut};

/// The arguments that all functions which add a node have in common.
struct NewNode {
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
}

impl NewNode {
    fn new(found: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) -> Self {
        NewNode { found, graph, after, data: In::at(0), count }
    }

    fn add(self, task: impl FnOnce(&mut DriverState) -> Answer<Task>) -> u32 {
        answer(|| {
            self.found.check()?;
            let mut state = driver_state();
            state.graph.known_graph(self.graph)?;
            let after = edges(self.after, self.data, self.count)?;
            let task = task(&mut state)?;
            lower::check(&state, &task)?;
            self.found.put(graph::add(&mut state, self.graph, after, task)?)
        })
    }
}

/// Replaces the task of a node by one of the same kind.
fn set(node: Handle, task: impl FnOnce(&mut DriverState) -> Answer<Task>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        state.graph.known_node(node)?;
        let task = task(&mut state)?;
        lower::check_range(&state, &task)?;
        let node = known_mut(&mut state.graph.nodes, node)?;
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
fn get<T>(node: Handle, out: Out<T>, what: impl FnOnce(&Task) -> Option<T>) -> u32 {
    answer(|| out.check()?.put(what(&driver_state().graph.known_node(node)?.task).ok_or(Fault::INVALID_VALUE)?))
}

pub extern "C" fn cuGraphAddEmptyNode(found: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) -> u32 {
    NewNode::new(found, graph, after, count).add(|_| Ok(Task::Empty))
}

pub extern "C" fn cuGraphAddKernelNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    what: In<Kernel>,
) -> u32 {
    NewNode::new(found, graph, after, count).add(|w| Kernel2 { kernel: what.get()?, ..Kernel2::default() }.task(w))
}

pub extern "C" fn cuGraphAddKernelNode_v2(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    what: In<Kernel2>,
) -> u32 {
    NewNode::new(found, graph, after, count).add(|w| what.get()?.task(w))
}

fn launch(task: &Task) -> Option<&Launch> {
    if let Task::Kernel(launch) = task { Some(launch) } else { None }
}

fn kernel(node: Handle) -> Answer<Kernel2> {
    let mut state = driver_state();
    let launch = launch(&state.graph.known_node(node)?.task).ok_or(Fault::INVALID_VALUE)?.clone();
    Kernel2::of(&mut state, &launch)
}

pub extern "C" fn cuGraphKernelNodeGetParams(node: Handle, out: Out<Kernel>) -> u32 {
    answer(|| out.check()?.put(kernel(node)?.kernel))
}

pub extern "C" fn cuGraphKernelNodeGetParams_v2(node: Handle, out: Out<Kernel2>) -> u32 {
    answer(|| out.check()?.put(kernel(node)?))
}

pub extern "C" fn cuGraphKernelNodeSetParams(node: Handle, what: In<Kernel>) -> u32 {
    set(node, |w| Kernel2 { kernel: what.get()?, ..Kernel2::default() }.task(w))
}

pub extern "C" fn cuGraphKernelNodeSetParams_v2(node: Handle, what: In<Kernel2>) -> u32 {
    set(node, |w| what.get()?.task(w))
}

pub extern "C" fn cuGraphKernelNodeGetAttribute(node: Handle, id: u32, out: Out<[u64; 8]>) -> u32 {
    let known = (1..=LAST_ATTRIBUTE).contains(&id);
    get(node, out, |t| Some(launch(t).filter(|_| known)?.attributes.get(&id).copied().unwrap_or_default()))
}

pub extern "C" fn cuGraphKernelNodeSetAttribute(node: Handle, id: u32, value: In<[u64; 8]>) -> u32 {
    answer(|| {
        let value = value.get()?;
        let mut state = driver_state();
        state.graph.known_node(node)?;
        match &mut known_mut(&mut state.graph.nodes, node)?.task {
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
        let all = launch(&state.graph.known_node(from)?.task).ok_or(Fault::INVALID_VALUE)?.attributes.clone();
        state.graph.known_node(to)?;
        match &mut known_mut(&mut state.graph.nodes, to)?.task {
            Task::Kernel(launch) => {
                launch.attributes = all;
                Ok(())
            }
            _ => Err(Fault::INVALID_VALUE),
        }
    })
}

pub extern "C" fn cuGraphAddMemcpyNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    what: In<Copy3D>,
    context: Handle,
) -> u32 {
    NewNode::new(found, graph, after, count).add(|w| {
        named(w, context)?;
        let what = what.get()?;
        copy::check_ends(w, &what)?;
        Ok(Task::Copy(Box::new(what)))
    })
}

pub extern "C" fn cuGraphMemcpyNodeGetParams(node: Handle, out: Out<Copy3D>) -> u32 {
    get(node, out, |t| if let Task::Copy(what) = t { Some(**what) } else { None })
}

pub extern "C" fn cuGraphMemcpyNodeSetParams(node: Handle, what: In<Copy3D>) -> u32 {
    set(node, |_| Ok(Task::Copy(Box::new(what.get()?))))
}

pub extern "C" fn cuGraphAddMemsetNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    what: In<Set>,
    context: Handle,
) -> u32 {
    NewNode::new(found, graph, after, count).add(|w| {
        named(w, context)?;
        Ok(Task::Set(what.get()?))
    })
}

pub extern "C" fn cuGraphMemsetNodeGetParams(node: Handle, out: Out<Set>) -> u32 {
    get(node, out, |t| if let Task::Set(what) = t { Some(*what) } else { None })
}

pub extern "C" fn cuGraphMemsetNodeSetParams(node: Handle, what: In<Set>) -> u32 {
    set(node, |_| Ok(Task::Set(what.get()?)))
}

pub extern "C" fn cuGraphAddHostNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    what: In<Host>,
) -> u32 {
    NewNode::new(found, graph, after, count).add(|_| what.get()?.task())
}

pub extern "C" fn cuGraphHostNodeGetParams(node: Handle, out: Out<Host>) -> u32 {
    get(node, out, |t| match t {
        Task::Host(function, Data(data)) => Some(Host { function: Some(*function), data: *data }),
        _ => None,
    })
}

pub extern "C" fn cuGraphHostNodeSetParams(node: Handle, what: In<Host>) -> u32 {
    set(node, |_| what.get()?.task())
}

pub extern "C" fn cuGraphAddChildGraphNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    child: Handle,
) -> u32 {
    NewNode::new(found, graph, after, count).add(|w| graph_params::child(w, graph, child))
}

pub extern "C" fn cuGraphChildGraphNodeGetGraph(node: Handle, found: Out<Handle>) -> u32 {
    get(node, found, |t| if let Task::Child(graph, _) = t { Some(*graph) } else { None })
}

fn some(event: Handle) -> Answer<Handle> {
    if event == Handle::NULL { Err(Fault::INVALID_VALUE) } else { Ok(event) }
}

pub extern "C" fn cuGraphAddEventRecordNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    event: Handle,
) -> u32 {
    NewNode::new(found, graph, after, count).add(|_| some(event).map(Task::Record))
}

pub extern "C" fn cuGraphEventRecordNodeGetEvent(node: Handle, found: Out<Handle>) -> u32 {
    get(node, found, |t| if let Task::Record(event) = t { Some(*event) } else { None })
}

pub extern "C" fn cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) -> u32 {
    set(node, |_| Ok(Task::Record(event)))
}

pub extern "C" fn cuGraphAddEventWaitNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    event: Handle,
) -> u32 {
    NewNode::new(found, graph, after, count).add(|_| some(event).map(Task::Wait))
}

pub extern "C" fn cuGraphEventWaitNodeGetEvent(node: Handle, found: Out<Handle>) -> u32 {
    get(node, found, |t| if let Task::Wait(event) = t { Some(*event) } else { None })
}

pub extern "C" fn cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) -> u32 {
    set(node, |_| Ok(Task::Wait(event)))
}

pub extern "C" fn cuGraphAddBatchMemOpNode(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    what: In<Batch>,
) -> u32 {
    NewNode::new(found, graph, after, count).add(|w| what.get()?.task(w))
}

pub extern "C" fn cuGraphBatchMemOpNodeSetParams(node: Handle, what: In<Batch>) -> u32 {
    set(node, |w| what.get()?.task(w))
}

pub extern "C" fn cuGraphAddNode(found: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, what: u64) -> u32 {
    NewNode::new(found, graph, after, count).add(|w| graph_params::any(w, graph, what))
}

pub extern "C" fn cuGraphAddNode_v2(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
    what: u64,
) -> u32 {
    NewNode { found, graph, after, data, count }.add(|w| graph_params::any(w, graph, what))
}

pub extern "C" fn cuGraphAddNode_v3(
    found: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
    what: u64,
) -> u32 {
    cuGraphAddNode_v2(found, graph, after, data, count, what)
}

pub extern "C" fn cuGraphNodeSetParams(node: Handle, what: u64) -> u32 {
    set(node, |w| {
        let home = w.graph.known_node(node)?.graph;
        graph_params::any(w, home, what)
    })
}

pub extern "C" fn cuGraphNodeSetParams_v2(node: Handle, what: u64) -> u32 {
    cuGraphNodeSetParams(node, what)
}

pub extern "C" fn cuGraphNodeGetParams(node: Handle, out: u64) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let task = state.graph.known_node(node)?.task.clone();
        graph_params::tell(&mut state, &task, out)
    })
}
