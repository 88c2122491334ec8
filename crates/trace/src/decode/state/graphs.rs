//! Memory of graphs. Its address is known when a node is made; the memory exists from each launch until it is freed,
//! perhaps by the graph. Functions are known by name here: no type says what a launch does to memory.

use super::fast_hash_map::FastHashMap;
use crate::event::value::Value;
use crate::event::{Call, Exit};
use cutap_calls::{Role, roles};

/// Graphs, and nodes of a graph, beyond this many are not followed.
const MOST: usize = 1 << 14;

/// What nodes of graphs do to memory.
#[derive(Debug, Default)]
pub struct Graphs {
    nodes: FastHashMap<u64, Nodes>,
    /// The graph that an executable one was made of.
    of_exec: FastHashMap<u64, u64>,
}

#[derive(Debug, Default)]
struct Nodes {
    allocates: Vec<u64>,
    frees: Vec<u64>,
}

/// The role of a function that changes memory of graphs.
pub fn graph_role(function: &str) -> Option<Role> {
    let changes_memory = |role| matches!(role, Role::AddsNode | Role::InstantiatesGraph | Role::LaunchesGraph);
    roles(function).map(|(role, _)| role).find(|role| changes_memory(*role))
}

impl Graphs {
    /// A node was added that allocates or frees.
    pub fn added(&mut self, graph: u64, memory: Node) {
        if self.nodes.len() >= MOST && !self.nodes.contains_key(&graph) {
            return;
        }
        let nodes = self.nodes.entry(graph).or_default();
        let (list, address) = match memory {
            Node::Allocates(address, _) => (&mut nodes.allocates, address),
            Node::Frees(address) => (&mut nodes.frees, address),
        };
        if list.len() < MOST && !list.contains(&address) {
            list.push(address);
        }
    }

    /// An executable graph was made of a graph.
    pub fn instantiated(&mut self, exec: u64, graph: u64) {
        if self.of_exec.len() < MOST {
            self.of_exec.insert(exec, graph);
        }
    }

    /// What a launch allocates, and what it frees.
    pub fn launched(&self, exec: u64) -> (&[u64], &[u64]) {
        let nodes = self.of_exec.get(&exec).and_then(|graph| self.nodes.get(graph));
        nodes.map_or((&[], &[]), |nodes| (&nodes.allocates, &nodes.frees))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// Address and length of new memory.
    Allocates(u64, u64),
    /// Address of what ends.
    Frees(u64),
}

/// The node that a call has added; by its own argument or by a struct of parameters.
pub fn node(call: &Call, exit: &Exit) -> Option<Node> {
    let freed_node = |(n, value): (usize, &Value)| {
        let name = call.function.params().get(n)?.name;
        if name == "dptr" { address(value).map(Node::Frees) } else { None }
    };
    let written = exit.outputs.iter().find_map(|(_, value)| inside(value));
    let node_in_args = || call.effective_args().iter().find_map(inside);
    written.or_else(node_in_args).or_else(|| call.effective_args().iter().enumerate().find_map(freed_node))
}

/// What a struct of a node's parameters tells, or one inside it.
pub fn inside(value: &Value) -> Option<Node> {
    let Value::Struct(fields) = value.target() else { return None };
    let named = fields.named();
    let number = |name: &str| address(named.iter().find(|(n, _)| *n == name)?.1);
    match (number("dptr"), number("bytesize")) {
        (Some(at), Some(bytes)) => Some(Node::Allocates(at, bytes)),
        (Some(at), None) => Some(Node::Frees(at)),
        _ => named.iter().find_map(|(_, value)| inside(value)),
    }
}

fn address(value: &Value) -> Option<u64> {
    match value {
        Value::Address(n, _) | Value::Wild(n) | Value::Uint(n) => Some(*n),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches() {
        let steps =
            ["cuGraphLaunch", "cudaGraphInstantiate", "cuGraphAddNode_v2", "cudaGraphAddMemFreeNode", "cuGraphClone"];
        let all = [
            Some(Role::LaunchesGraph),
            Some(Role::InstantiatesGraph),
            Some(Role::AddsNode),
            Some(Role::AddsNode),
            None,
        ];
        assert_eq!(steps.map(graph_role), all);
        let mut graphs = Graphs::default();
        graphs.added(1, Node::Allocates(0x100, 8));
        graphs.added(1, Node::Allocates(0x200, 8));
        graphs.added(1, Node::Frees(0x200));
        graphs.instantiated(7, 1);
        assert_eq!(graphs.launched(7), (&[0x100, 0x200][..], &[0x200][..]));
        assert_eq!(graphs.launched(8), (&[][..], &[][..]));
    }
}
