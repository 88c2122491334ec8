//! Graphs as wholes: made, copied, destroyed, asked what they are.

use crate::driver::abi::{Out, answer};
use crate::driver::driver_state::{Handle, driver_state};
use crate::driver::fault::Fault;
use crate::driver::graph::{self, known_graph, known_node};
use crate::driver::object;
use crate::driver::task::Task;

pub extern "C" fn cuGraphCreate(found: Out<Handle>, flags: u32) -> u32 {
    answer(|| {
        found.check()?;
        if flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        found.put(graph::create(&mut driver_state()))
    })
}

pub extern "C" fn cuGraphDestroy(handle: Handle) -> u32 {
    let result = answer(|| {
        let mut world = driver_state();
        if known_graph(&world, handle)?.owned {
            return Err(Fault::INVALID_VALUE);
        }
        graph::destroy(&mut world, handle)
    });
    object::end_all(result)
}

pub extern "C" fn cuGraphClone(found: Out<Handle>, handle: Handle) -> u32 {
    answer(|| found.check()?.put(graph::duplicate(&mut driver_state(), handle)?))
}

pub extern "C" fn cuGraphNodeFindInClone(found: Out<Handle>, node: Handle, clone: Handle) -> u32 {
    answer(|| {
        found.check()?;
        let world = driver_state();
        known_node(&world, node)?;
        let mut nodes = known_graph(&world, clone)?.nodes.iter();
        found.put(*nodes.find(|n| world.nodes[n].origin == node).ok_or(Fault::INVALID_VALUE)?)
    })
}

pub extern "C" fn cuGraphNodeGetType(node: Handle, kind: Out<u32>) -> u32 {
    answer(|| kind.check()?.put(known_node(&driver_state(), node)?.task.kind()))
}

pub extern "C" fn cuGraphDestroyNode(node: Handle) -> u32 {
    answer(|| {
        let mut world = driver_state();
        if matches!(known_node(&world, node)?.task, Task::Allocate(..) | Task::Free(_)) {
            return Err(Fault::NOT_SUPPORTED);
        }
        graph::remove_node(&mut world, node)
    })
}

pub extern "C" fn cuGraphGetId(graph: Handle, id: Out<u32>) -> u32 {
    answer(|| id.check()?.put(known_graph(&driver_state(), graph)?.id))
}

pub extern "C" fn cuGraphNodeGetContainingGraph(node: Handle, found: Out<Handle>) -> u32 {
    answer(|| found.check()?.put(known_node(&driver_state(), node)?.graph))
}

pub extern "C" fn cuGraphNodeGetLocalId(node: Handle, id: Out<u32>) -> u32 {
    answer(|| id.check()?.put(known_node(&driver_state(), node)?.number))
}

pub extern "C" fn cuGraphNodeGetToolsId(node: Handle, id: Out<u64>) -> u32 {
    answer(|| {
        let world = driver_state();
        let node = known_node(&world, node)?;
        let graph = known_graph(&world, node.graph)?.id;
        id.check()?.put(u64::from(graph) << 32 | u64::from(node.number))
    })
}
