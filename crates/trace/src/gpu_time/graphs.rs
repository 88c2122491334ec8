//! Which call made each node of a graph. CUPTI numbers the nodes of a graph in the order of their creation, and an
//! executable graph has the numbers of the graph that it was instantiated from (`../shared/research`, measured). So the
//! captured and added calls are listed for each graph, and a row finds its call by the number of its node.
//!
//! The nodes of child graphs are numbered behind those of the graph itself, measured on an H100. The order was not
//! measured where two child graphs both have child graphs, so their nodes have no origin. Limits: conditional nodes,
//! and launches from the device.

use super::expected::ExpectedRows;
use super::submissions::{Label, submitting_function};
use crate::event::call::{Call, Exit};
use crate::event::value::Value;
use cutap_calls::{Layer, Role, begins_capture, ends_capture, has_role};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What changes graphs beside the calls that begin and end a capture, and those in one.
const CHANGE_GRAPHS: [Role; 6] = [
    Role::CreatesGraph,
    Role::ClonesGraph,
    Role::InstantiatesGraph,
    Role::UpdatesGraph,
    Role::MakesGraphNode,
    Role::ChangesNode,
];

/// The call that made a node.
#[derive(Debug, Clone)]
pub struct NodeOrigin {
    /// The calls around it, the outermost first, and the call.
    pub path: Vec<Label>,
    /// The outermost of them.
    pub outermost: Call,
    /// The call.
    pub call: Call,
    /// What a row of the node must have.
    pub expected: ExpectedRows,
}

impl NodeOrigin {
    /// The kernel that it launches.
    pub fn kernel(&self) -> Option<&Arc<str>> {
        self.call.kernel()
    }
}

/// A graph, as it was when it was instantiated.
#[derive(Debug, Clone, Default)]
pub struct GraphNodes {
    /// The how many-th graph of its process, from 1.
    pub number: u32,
    /// When the capture began, or the graph was created, CLOCK_MONOTONIC.
    pub ns: u64,
    /// It comes from a capture.
    pub is_captured: bool,
    /// By the number of the node.
    pub nodes: Vec<Arc<NodeOrigin>>,
    /// Graphs that nodes of it stand for, in the order of these nodes, until it is instantiated.
    children: Vec<GraphNodes>,
}

impl GraphNodes {
    /// As an executable graph numbers them: its nodes, then those of its child graphs.
    fn instantiated(&self) -> GraphNodes {
        let mut nodes = self.nodes.clone();
        let nested = self.children.iter().filter(|child| !child.children.is_empty()).count();
        if nested == 0 || self.children.len() == 1 {
            nodes.extend(self.children.iter().flat_map(|child| child.instantiated().nodes));
        }
        GraphNodes { nodes, children: Vec::new(), ..self.clone() }
    }
}

/// An executable graph.
#[derive(Debug, Clone)]
pub struct ExecutableGraph {
    /// The how many-th of its process, from 1.
    pub number: u32,
    /// What it was instantiated from.
    pub graph: GraphNodes,
    /// A node got other parameters later, so rows of it may differ from its call.
    pub is_changed: Arc<AtomicBool>,
}

/// The graphs of a process.
#[derive(Debug, Default)]
pub struct Graphs {
    /// By handle.
    graphs: HashMap<u64, GraphNodes>,
    executables: HashMap<u64, Arc<ExecutableGraph>>,
    /// By the number of the capture.
    captures: HashMap<u32, GraphNodes>,
    /// The captures that streams and events are in, by handle.
    streams: HashMap<u64, u32>,
    events: HashMap<u64, u32>,
    graph_count: u32,
    executable_count: u32,
    capture_count: u32,
    /// A node of a graph got other parameters. The call does not say of which graph.
    has_changed_nodes: bool,
}

/// The handles of a kind among the values of a call, in their order.
fn handles(values: &[Value], short: &str, to: &mut Vec<u64>) {
    for value in values {
        match value {
            Value::Handle { value, kind, .. } if kind.short == short => to.push(*value),
            Value::Pointee(_, inner) => handles(std::slice::from_ref(inner), short, to),
            Value::Struct(fields) => fields.values.iter().for_each(|(_, value)| {
                handles(std::slice::from_ref(value), short, to);
            }),
            _ => {}
        }
    }
}

fn input_handles(call: &Call, short: &str) -> Vec<u64> {
    let mut found_handles = Vec::new();
    handles(call.inputs(), short, &mut found_handles);
    found_handles
}

fn output_handle(exit: &Exit, short: &str) -> Option<u64> {
    let mut found_handles = Vec::new();
    exit.outputs.iter().for_each(|(_, value)| handles(std::slice::from_ref(value), short, &mut found_handles));
    found_handles.first().copied()
}

impl Graphs {
    /// A call of the driver that has ended. `outer_calls`: the calls around it, the outermost first.
    pub fn exit(&mut self, exit: &Exit, outer_calls: &[Call]) {
        let call = &exit.call;
        if call.function.layer != Layer::DRIVER || exit.is_error() {
            return;
        }
        let name = &*call.function.name;
        let is = |role| has_role(name.as_bytes(), role);
        let origin = || {
            let path = outer_calls.iter().chain([call]).map(Label::of).collect();
            let outermost = outer_calls.first().unwrap_or(call).clone();
            Arc::new(NodeOrigin { path, outermost, call: call.clone(), expected: ExpectedRows::of(call) })
        };
        let stream = || input_handles(call, "stream").first().copied().unwrap_or(0);
        match () {
            () if begins_capture(name) => {
                self.capture_count += 1;
                let graph = input_handles(call, "graph").first().and_then(|graph| self.graphs.get(graph)).cloned();
                let new_nodes = graph.unwrap_or_else(|| {
                    self.graph_count += 1;
                    GraphNodes {
                        number: self.graph_count,
                        ns: call.start_ns,
                        is_captured: true,
                        ..GraphNodes::default()
                    }
                });
                self.captures.insert(self.capture_count, new_nodes);
                self.streams.insert(stream(), self.capture_count);
            }
            () if ends_capture(name) => {
                let Some(capture) = self.streams.get(&stream()).copied() else { return };
                self.streams.retain(|_, of| *of != capture);
                self.events.retain(|_, of| *of != capture);
                if let Some((nodes, graph)) = self.captures.remove(&capture).zip(output_handle(exit, "graph")) {
                    self.graphs.insert(graph, nodes);
                }
            }
            () if is(Role::RecordsEvent) => {
                let capture = self.streams.get(&stream()).copied();
                for event in input_handles(call, "event") {
                    match capture {
                        Some(capture) => drop(self.events.insert(event, capture)),
                        None => drop(self.events.remove(&event)),
                    }
                }
            }
            () if is(Role::WaitsForEvent) => {
                let capture = input_handles(call, "event").first().and_then(|event| self.events.get(event)).copied();
                if let Some(capture) = capture {
                    self.streams.insert(stream(), capture);
                }
            }
            () if is(Role::CreatesGraph) => {
                self.graph_count += 1;
                let empty = GraphNodes { number: self.graph_count, ns: call.start_ns, ..GraphNodes::default() };
                output_handle(exit, "graph").map(|graph| self.graphs.insert(graph, empty));
            }
            () if is(Role::ClonesGraph) => {
                let original = input_handles(call, "graph").first().and_then(|graph| self.graphs.get(graph)).cloned();
                if let Some((original, copy)) = original.zip(output_handle(exit, "graph")) {
                    self.graph_count += 1;
                    self.graphs.insert(copy, GraphNodes { number: self.graph_count, ..original });
                }
            }
            () if is(Role::InstantiatesGraph) => {
                let graph = input_handles(call, "graph").first().and_then(|graph| self.graphs.get(graph));
                let graph = graph.map(GraphNodes::instantiated);
                if let Some((graph, executable)) = graph.zip(output_handle(exit, "graphExec")) {
                    self.executable_count += 1;
                    let number = self.executable_count;
                    let is_changed = Arc::new(self.has_changed_nodes.into());
                    self.executables.insert(executable, Arc::new(ExecutableGraph { number, graph, is_changed }));
                }
            }
            () if is(Role::UpdatesGraph) => {
                let graph = input_handles(call, "graph").first().and_then(|graph| self.graphs.get(graph));
                let graph = graph.map(GraphNodes::instantiated);
                let executable = input_handles(call, "graphExec").first().copied();
                if let Some((graph, executable)) = graph.zip(executable)
                    && let Some(old) = self.executables.get_mut(&executable)
                    && old.graph.nodes.len() == graph.nodes.len()
                {
                    let is_changed = Arc::new(self.has_changed_nodes.into());
                    *old = Arc::new(ExecutableGraph { number: old.number, graph, is_changed });
                }
            }
            () if is(Role::ChangesNode) => {
                let executable = input_handles(call, "graphExec").first().copied();
                match executable.and_then(|executable| self.executables.get(&executable)) {
                    Some(of) => of.is_changed.store(true, Relaxed),
                    None => self.has_changed_nodes = true,
                }
            }
            () if is(Role::MakesGraphNode) => {
                let all = input_handles(call, "graph");
                let child = all.get(1).and_then(|child| self.graphs.get(child)).cloned();
                if let Some(graph) = all.first().and_then(|graph| self.graphs.get_mut(graph)) {
                    graph.nodes.push(origin());
                    graph.children.extend(child);
                }
            }
            () => {
                let capture = if Graphs::captures(call) { self.streams.get(&stream()) } else { None };
                if let Some(nodes) = capture.and_then(|capture| self.captures.get_mut(capture)) {
                    let child =
                        input_handles(call, "graphExec").first().and_then(|of| self.executables.get(of)).cloned();
                    nodes.nodes.push(origin());
                    nodes.children.extend(child.map(|child| child.graph.clone()));
                }
            }
        }
    }

    /// Whether calls of this function of the driver make, change or instantiate graphs, or may end a capture.
    pub fn changed_by(name: &str) -> bool {
        let has = |role: &Role| has_role(name.as_bytes(), *role);
        begins_capture(name) || ends_capture(name) || CHANGE_GRAPHS.iter().any(has)
    }

    /// Whether this call makes a node where its stream is in a capture, or takes another stream into it.
    pub fn captures(call: &Call) -> bool {
        let has = |role: &Role| call.function.roles.has(*role);
        submitting_function(call).is_some()
            || [Role::MakesNodeInCapture, Role::RecordsEvent, Role::WaitsForEvent].iter().any(has)
    }

    /// Whether a stream is in a capture now.
    pub fn is_capturing(&self) -> bool {
        !self.streams.is_empty()
    }

    /// The executable graph that a call has made, and its handle.
    pub fn instantiated(&self, exit: &Exit) -> Option<(u64, Arc<ExecutableGraph>)> {
        let is_it = exit.call.function.roles.has(Role::InstantiatesGraph) && !exit.is_error();
        let handle = output_handle(exit, "graphExec").filter(|_| is_it && exit.call.function.layer == Layer::DRIVER);
        let handle = handle?;
        self.executables.get(&handle).map(|executable| (handle, executable.clone()))
    }

    /// The executable graph that a call launches.
    pub fn launched(&self, call: &Call) -> Option<Arc<ExecutableGraph>> {
        if !call.function.roles.has(Role::LaunchesGraph) {
            return None;
        }
        self.executables.get(input_handles(call, "graphExec").first()?).cloned()
    }

    /// Whether a call on this stream is captured now, and submits nothing.
    pub fn is_captured(&self, call: &Call) -> bool {
        self.is_capturing() && self.streams.contains_key(&input_handles(call, "stream").first().copied().unwrap_or(0))
    }
}
