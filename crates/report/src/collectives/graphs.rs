//! Collectives that were captured: each launch of the graph calls them.

use cutap_calls::{Role, ends_capture};
use cutap_trace::decode::Value;
use cutap_trace::{Call, Exit};
use std::collections::HashMap;
use std::rc::Rc;

/// A collective in a graph.
#[derive(Debug, Clone, Copy)]
pub struct CapturedCall {
    /// The communicator, by its place in the log.
    pub communicator: usize,
    pub signature: u32,
    /// The direction and the rank of a transfer.
    pub transfer: Option<(bool, u32)>,
}

/// Graphs with collectives, by process and handle.
#[derive(Debug, Default)]
pub struct CapturedGraphs {
    captures: HashMap<u32, Vec<CapturedCall>>,
    graphs: HashMap<(u32, u64), Rc<[CapturedCall]>>,
    executables: HashMap<(u32, u64), Rc<[CapturedCall]>>,
}

fn handle_in(value: &Value, wanted: &str) -> Option<u64> {
    match value {
        Value::Handle { value, kind, .. } if kind.short == wanted => Some(*value),
        Value::Pointee(_, inner) => handle_in(inner, wanted),
        _ => None,
    }
}

fn argument(call: &Call, wanted: &str) -> Option<u64> {
    call.inputs().iter().find_map(|value| handle_in(value, wanted))
}

fn written(exit: &Exit, wanted: &str) -> Option<u64> {
    exit.outputs.iter().find_map(|(_, value)| handle_in(value, wanted))
}

fn is(call: &Call, role: Role) -> bool {
    call.function.roles.has(role)
}

impl CapturedGraphs {
    /// A collective was called in this capture.
    pub fn add(&mut self, capture: u32, call: CapturedCall) {
        self.captures.entry(capture).or_default().push(call);
    }

    /// Follows graphs from the capture to what can be launched. `capture`: that of the stream of the call.
    pub fn exit(&mut self, exit: &Exit, capture: Option<u32>) {
        let (call, process) = (&exit.call, exit.call.thread.process.key);
        if ends_capture(&call.function.name) {
            // The call of the runtime is around that of the driver, which has ended the capture.
            let Some(capture) = capture else { return };
            let calls = self.captures.remove(&capture).map(Rc::from);
            self.take_graph(process, written(exit, "graph"), calls);
        } else if self.graphs.is_empty() && self.executables.is_empty() {
            // No collective was captured.
        } else if is(call, Role::CreatesGraph) {
            self.take_graph(process, written(exit, "graph"), None);
        } else if is(call, Role::ClonesGraph) {
            let calls = argument(call, "graph").and_then(|graph| self.graphs.get(&(process, graph)).cloned());
            self.take_graph(process, written(exit, "graph"), calls);
        } else if is(call, Role::InstantiatesGraph) {
            let calls = argument(call, "graph").and_then(|graph| self.graphs.get(&(process, graph)).cloned());
            match (written(exit, "graphExec"), calls) {
                (Some(executable), Some(calls)) => drop(self.executables.insert((process, executable), calls)),
                // The handle of another one may come again.
                (Some(executable), None) => drop(self.executables.remove(&(process, executable))),
                _ => {}
            }
        }
    }

    /// A call gave this graph. Its handle may be that of another one, which was destroyed.
    fn take_graph(&mut self, process: u32, graph: Option<u64>, calls: Option<Rc<[CapturedCall]>>) {
        match (graph, calls) {
            (Some(graph), Some(calls)) => drop(self.graphs.insert((process, graph), calls)),
            (Some(graph), None) => drop(self.graphs.remove(&(process, graph))),
            _ => {}
        }
    }

    /// The collectives that this call launches.
    pub fn launched(&self, call: &Call) -> Option<Rc<[CapturedCall]>> {
        if self.executables.is_empty() || !is(call, Role::LaunchesGraph) {
            return None;
        }
        self.executables.get(&(call.thread.process.key, argument(call, "graphExec")?)).cloned()
    }
}
