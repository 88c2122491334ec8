//! Ids of graphs and their nodes, for the simulated CUPTI.

use crate::abi::Out;
use crate::api::graph_exec::cuGraphExecGetId;
use crate::api::graphs::{cuGraphGetId, cuGraphNodeGetToolsId};
use crate::state::Handle;
use cutap_machine::GraphIds;

/// See [`GraphIds`].
#[unsafe(no_mangle)]
pub static CUTAP_SIM_GRAPH_IDS: GraphIds = GraphIds { of_graph, of_executable, of_node };

extern "C" fn of_graph(graph: u64, id: *mut u32) -> u32 {
    cuGraphGetId(Handle(graph), Out::at(id as u64))
}

extern "C" fn of_executable(executable: u64, id: *mut u32) -> u32 {
    cuGraphExecGetId(Handle(executable), Out::at(id as u64))
}

extern "C" fn of_node(node: u64, id: *mut u64) -> u32 {
    cuGraphNodeGetToolsId(Handle(node), Out::at(id as u64))
}
