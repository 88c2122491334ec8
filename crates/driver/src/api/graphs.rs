//! Graphs as a whole: creation, copies, destruction, queries.

use crate::abi::{Fault, Out, answer};
use crate::driver::{graph, user_object};
use crate::state::{Handle, Task, driver_state};

pub extern "C" fn cuGraphCreate(graph: Out<Handle>, flags: u32) -> u32 {
    answer(|| {
        graph.check()?;
        if flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        graph.put(graph::create(&mut driver_state()))
    })
}

pub extern "C" fn cuGraphDestroy(handle: Handle) -> u32 {
    let result = answer(|| {
        let mut state = driver_state();
        if state.graph.lookup_graph(handle)?.owned {
            return Err(Fault::INVALID_VALUE);
        }
        graph::destroy(&mut state, handle)
    });
    user_object::call_destructors(result)
}

pub extern "C" fn cuGraphClone(graph_clone: Out<Handle>, handle: Handle) -> u32 {
    answer(|| graph_clone.check()?.put(graph::duplicate(&mut driver_state(), handle)?))
}

pub extern "C" fn cuGraphNodeFindInClone(node_out: Out<Handle>, node: Handle, clone: Handle) -> u32 {
    answer(|| {
        node_out.check()?;
        let state = driver_state();
        state.graph.lookup_node(node)?;
        let mut nodes = state.graph.lookup_graph(clone)?.nodes.iter();
        node_out.put(*nodes.find(|n| state.graph.nodes[n].origin == node).ok_or(Fault::INVALID_VALUE)?)
    })
}

pub extern "C" fn cuGraphNodeGetType(node: Handle, kind: Out<u32>) -> u32 {
    answer(|| kind.check()?.put(driver_state().graph.lookup_node(node)?.task.kind()))
}

pub extern "C" fn cuGraphDestroyNode(node: Handle) -> u32 {
    answer(|| {
        let mut state = driver_state();
        if matches!(state.graph.lookup_node(node)?.task, Task::Allocate(..) | Task::Free(_)) {
            return Err(Fault::NOT_SUPPORTED);
        }
        graph::remove_node(&mut state, node)
    })
}

pub extern "C" fn cuGraphGetId(graph: Handle, id: Out<u32>) -> u32 {
    answer(|| id.check()?.put(driver_state().graph.lookup_graph(graph)?.id))
}

pub extern "C" fn cuGraphNodeGetContainingGraph(node: Handle, graph: Out<Handle>) -> u32 {
    answer(|| graph.check()?.put(driver_state().graph.lookup_node(node)?.graph))
}

pub extern "C" fn cuGraphNodeGetLocalId(node: Handle, id: Out<u32>) -> u32 {
    answer(|| id.check()?.put(driver_state().graph.lookup_node(node)?.number))
}

pub extern "C" fn cuGraphNodeGetToolsId(node: Handle, id: Out<u64>) -> u32 {
    answer(|| {
        let state = driver_state();
        let node = state.graph.lookup_node(node)?;
        let graph = state.graph.lookup_graph(node.graph)?.id;
        id.check()?.put(u64::from(graph) << 32 | u64::from(node.number))
    })
}
