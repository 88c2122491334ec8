//! A graph that is instantiated again and again: one that is captured each time with the same nodes, or one graph
//! that is given to each instantiation. The host pays for it, and an update would do.

use super::seen::ObservedCall;
use super::site::{Key, Site, key};
use super::{Finding, Rank, Rule};
use crate::call::resource_names::handles;
use crate::format::units::time;
use cutap_calls::known::Effect;
use cutap_trace::decode::Value;
use cutap_trace::{ExecutableGraph, Graphs, Layer};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Instantiations from which on they are many: programs make some for a few streams or devices.
const FEWEST: u64 = 10;
/// Of so many instantiations at most one is there at a time, or has nodes that no other has: the others replace it.
const REPLACED: u64 = 4;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(InstantiatedAgain::default())
}

/// What a function of the driver has to do with graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Concern {
    Nothing,
    /// It makes a node of a stream's work in a capture.
    InCapture,
    Graphs,
    /// It destroys an executable graph, whose handle is this parameter.
    Destroys(u8),
}

#[derive(Default)]
struct InstantiatedAgain {
    /// By the function's key.
    concerns: Vec<Option<Concern>>,
    /// By the key of the process.
    graphs: HashMap<u32, Graphs>,
    /// Process and handle of what is there now, and its group.
    alive: HashMap<(u32, u64), Group>,
    groups: HashMap<Group, (Site, Instances)>,
}

/// A place and what it instantiates: the functions and kernels of the nodes in their order, or one graph.
type Group = (Key, u64);

#[derive(Default)]
struct Instances {
    created: u64,
    alive: u64,
    /// Most that were there at a time.
    most: u64,
    ns: u64,
    nodes: usize,
    /// Also with grids and sizes.
    shapes: HashSet<u64>,
}

impl Instances {
    fn are_made_again(&self) -> bool {
        let is_few = |n: u64| n.saturating_mul(REPLACED) <= self.created;
        self.created >= FEWEST && (is_few(self.most) || is_few(self.shapes.len() as u64))
    }
}

/// A number for what these nodes do; `with_sizes`: and how much of it.
fn shape(executable: &ExecutableGraph, with_sizes: bool) -> u64 {
    let (graph, mut hasher) = (&executable.graph, DefaultHasher::new());
    if !graph.is_captured || graph.nodes.is_empty() {
        // What a node that was added by hand does is not compared: the same graph is.
        graph.number.hash(&mut hasher);
    }
    for node in &graph.nodes {
        (&*node.call.function.name, node.kernel()).hash(&mut hasher);
        if with_sizes {
            node.call.inputs().iter().for_each(|value| hash_numbers(value, &mut hasher));
        }
    }
    hasher.finish()
}

/// Grids and sizes, and no addresses.
fn hash_numbers(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Int(n) => n.hash(hasher),
        Value::Uint(n) => n.hash(hasher),
        Value::Pointee(_, inner) => hash_numbers(inner, hasher),
        Value::Struct(fields) => fields.values.iter().for_each(|(_, value)| hash_numbers(value, hasher)),
        _ => {}
    }
}

impl InstantiatedAgain {
    fn concern(&mut self, seen: &ObservedCall<'_>) -> Concern {
        let (function, key) = (seen.function(), seen.function().key as usize);
        if key >= self.concerns.len() {
            self.concerns.resize(key + 1, None);
        }
        let new = || {
            let effects = function.described.map_or(&[][..], |described| described.function.effects);
            let destroys = effects.iter().find_map(|effect| match effect {
                Effect::Destroys(n) => Some(*n),
                _ => None,
            });
            match (Graphs::changed_by(&function.name), destroys) {
                _ if function.layer != Layer::DRIVER => Concern::Nothing,
                (true, _) => Concern::Graphs,
                (false, Some(n)) => Concern::Destroys(n),
                (false, None) if Graphs::captures(&seen.exit.call) => Concern::InCapture,
                (false, None) => Concern::Nothing,
            }
        };
        self.concerns.get_mut(key).map_or(Concern::Nothing, |concern| *concern.get_or_insert_with(new))
    }

    fn count_new(&mut self, seen: &ObservedCall<'_>, handle: u64, executable: &ExecutableGraph) {
        let process = seen.call().thread.process.key;
        let group = (key(seen), shape(executable, false));
        // A handle that is given out again was destroyed, although no recorded call reports that.
        self.destroyed(process, handle);
        self.alive.insert((process, handle), group);
        let (_, instances) = self.groups.entry(group).or_insert_with(|| (Site::of(seen), Instances::default()));
        instances.created += 1;
        instances.alive += 1;
        instances.most = instances.most.max(instances.alive);
        instances.ns += seen.took_ns();
        instances.nodes = executable.graph.nodes.len();
        instances.shapes.insert(shape(executable, true));
    }

    fn destroyed(&mut self, process: u32, handle: u64) {
        let group = self.alive.remove(&(process, handle));
        if let Some((_, instances)) = group.and_then(|group| self.groups.get_mut(&group)) {
            instances.alive = instances.alive.saturating_sub(1);
        }
    }
}

impl Rule for InstantiatedAgain {
    fn name(&self) -> &'static str {
        "instantiated_again"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        let (exit, process) = (seen.exit, seen.call().thread.process.key);
        match self.concern(seen) {
            Concern::Nothing => {}
            Concern::InCapture => {
                if let Some(graphs) = self.graphs.get_mut(&process).filter(|graphs| graphs.is_capturing()) {
                    graphs.exit(exit, &[]);
                }
            }
            Concern::Destroys(n) => {
                let value = seen.call().effective_args().get(usize::from(n)).filter(|_| !exit.is_error());
                let destroyed_handles = value.map(handles).unwrap_or_default();
                destroyed_handles.into_iter().for_each(|(kind, handle)| {
                    if kind == "graphExec" {
                        self.destroyed(process, handle);
                    }
                });
            }
            Concern::Graphs => {
                let graphs = self.graphs.entry(process).or_default();
                graphs.exit(exit, &[]);
                if let Some((handle, executable)) = graphs.instantiated(exit) {
                    self.count_new(seen, handle, &executable);
                }
            }
        }
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        let groups = self.groups.values().filter(|(_, instances)| instances.are_made_again());
        groups.map(|(site, instances)| finding(site, instances)).collect()
    }
}

fn finding(site: &Site, instances: &Instances) -> Finding {
    let name = site.path().last().cloned().unwrap_or_default();
    let Instances { created, most, nodes, .. } = instances;
    let each = time(instances.ns / (*created).max(1));
    let numbers = format!("{created} instantiations of {nodes} nodes, {each} each, at most {most} at a time");
    let same = match instances.shapes.len() {
        1 => "the same nodes each time".to_owned(),
        n => format!("the same nodes each time, with {n} different sets of grids and sizes"),
    };
    Finding {
        title: format!("Graph instantiated again and again: {name}"),
        cost_ns: instances.ns,
        rank: Rank::Slow,
        evidence: vec![numbers, same],
        site: site.clone(),
        advice: "Keep the executable graph and replay it; where arguments change, update it (cudaGraphExecUpdate).",
        other_places: (0, 0),
        times: 1,
    }
}
