//! Calls by path: one node for each chain of functions, with its counts and times. `--tree`, `--callers`, `--errors`
//! and `--blocking` read these nodes, so their numbers agree. Memory grows with the number of different paths.

use crate::call_stats::CallStats;
use crate::label::Label;
use cutap_trace::{CallSink, FinishedCall, Function, Instance};
use std::collections::HashMap;
use std::sync::Arc;

/// The largest number of nodes. Calls that would need another node count for the node above.
const MOST: usize = 1 << 20;
/// The largest depth of a node.
const DEEPEST: u32 = 200;

/// The nodes. Node 0 is the program.
#[derive(Debug)]
pub struct CallTree {
    nodes: Vec<Node>,
    /// By the node above and the function's key.
    below: HashMap<(u32, u32), u32>,
    /// By the function's key.
    functions: Vec<Option<FunctionOf>>,
    /// Statuses other than 0, by node.
    failed: HashMap<(u32, i32), u64>,
    /// Whether nodes below the program are objects that make the outermost calls.
    by_object: bool,
    objects: Vec<Arc<str>>,
    /// The node of each object.
    of_object: HashMap<Arc<str>, u32>,
}

/// A function, and the instance that its calls went to.
type FunctionOf = (Arc<Function>, Option<Arc<Instance>>);

#[derive(Debug, Default)]
struct Node {
    above: u32,
    depth: u32,
    function: u32,
    /// The function and the node that were looked up below it last.
    last: (u32, u32),
    sums: CallStats,
    /// The object that makes the outermost call.
    from: Option<u32>,
}

impl Default for CallTree {
    fn default() -> CallTree {
        CallTree {
            nodes: vec![Node::default()],
            below: HashMap::new(),
            functions: Vec::new(),
            failed: HashMap::new(),
            by_object: false,
            objects: Vec::new(),
            of_object: HashMap::new(),
        }
    }
}

/// The labels of a path, and the object that makes its outermost call.
type PathKey = (Vec<u32>, Option<u32>);
/// The sums of a path, and how often each status was returned.
type PathSums = (CallStats, HashMap<String, u64>);

/// The calls of one path.
#[derive(Debug, Clone)]
pub struct Chain {
    /// From the outermost call to this one.
    pub labels: Vec<u32>,
    pub sums: CallStats,
    /// How often each status other than 0 was returned: its name or number.
    pub failed: Vec<(String, u64)>,
    /// The object that makes the outermost call, if that was asked for and is known.
    pub from: Option<Arc<str>>,
}

/// All paths, and their labels.
#[derive(Debug)]
pub struct CallPaths {
    /// The labels, by their number.
    pub labels: Vec<Label>,
    /// Each path once, in no order.
    pub chains: Vec<Chain>,
}

impl CallTree {
    /// A tree that distinguishes paths by the object that makes the outermost call.
    pub fn by_object() -> CallTree {
        CallTree { by_object: true, ..CallTree::default() }
    }

    /// The paths by label. Paths with equal labels are merged.
    pub fn chains(&self) -> CallPaths {
        let (mut labels, mut numbers) = (Vec::new(), HashMap::new());
        let mut of_function = Vec::new();
        for known in &self.functions {
            let number = known.as_ref().map_or(u32::MAX, |(function, instance)| {
                let label = Label::new(function, instance.as_deref());
                *numbers.entry(label.clone()).or_insert_with(|| {
                    labels.push(label);
                    labels.len() as u32 - 1
                })
            });
            of_function.push(number);
        }
        // The node above has a smaller number.
        let mut ways: Vec<Vec<u32>> = vec![Vec::new()];
        let mut merged: HashMap<PathKey, PathSums> = HashMap::new();
        for node in self.nodes.iter().skip(1) {
            let mut way = ways[node.above as usize].clone();
            // A node without a shown call is left out of the paths below it.
            if node.sums.calls > 0 && node.depth > 0 {
                way.push(of_function[node.function as usize]);
                merged.entry((way.clone(), node.from)).or_default().0.merge(&node.sums);
            }
            ways.push(way);
        }
        for ((node, status), count) in &self.failed {
            let function = self.functions[self.nodes[*node as usize].function as usize].as_ref();
            let name = function.and_then(|(function, _)| function.status_name(*status));
            let name = name.map_or_else(|| status.to_string(), str::to_owned);
            let key = (ways[*node as usize].clone(), self.nodes[*node as usize].from);
            if let Some((_, failed)) = merged.get_mut(&key) {
                *failed.entry(name).or_default() += count;
            }
        }
        let chain = |((labels, from), (sums, failed)): (PathKey, PathSums)| {
            let mut failed: Vec<(String, u64)> = failed.into_iter().collect();
            failed.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            let from = from.and_then(|n| self.objects.get(n as usize)).cloned();
            Chain { labels, sums, failed, from }
        };
        CallPaths { chains: merged.into_iter().map(chain).collect(), labels }
    }
}

impl CallPaths {
    /// The names of a path, from the outermost call to the innermost.
    pub fn way(&self, chain: &Chain) -> Vec<String> {
        let text = |label: &u32| self.labels.get(*label as usize).map_or_else(|| "?".to_owned(), |l| l.text());
        chain.labels.iter().map(text).collect()
    }
}

impl CallSink for CallTree {
    fn enter(&mut self, place: u32, function: &Arc<Function>) -> u32 {
        let key = function.key;
        let last = self.nodes[place as usize].last;
        if last.0 == key && last.1 != 0 {
            return last.1;
        }
        let (next, depth) = (self.nodes.len(), self.nodes[place as usize].depth + 1);
        let node = match self.below.get(&(place, key)) {
            Some(node) => *node,
            None if next >= MOST || depth > DEEPEST => return place,
            None => {
                self.below.insert((place, key), next as u32);
                let from = self.nodes[place as usize].from;
                self.nodes.push(Node { above: place, depth, function: key, from, ..Node::default() });
                if key as usize >= self.functions.len() {
                    self.functions.resize(key as usize + 1, None);
                }
                self.functions[key as usize].get_or_insert_with(|| (function.clone(), None));
                next as u32
            }
        };
        self.nodes[place as usize].last = (key, node);
        node
    }

    fn wants_callers(&self) -> bool {
        self.by_object
    }

    fn called_from(&mut self, object: &Arc<str>) -> u32 {
        if let Some(node) = self.of_object.get(object) {
            return *node;
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { from: Some(self.objects.len() as u32), ..Node::default() });
        self.objects.push(object.clone());
        self.of_object.insert(object.clone(), node);
        node
    }

    fn exit(&mut self, done: &FinishedCall<'_>) {
        let status = done.status().filter(|s| *s != 0);
        let sums = &mut self.nodes[done.place as usize].sums;
        if done.function.entry_only {
            sums.calls += 1;
            return;
        }
        sums.add(done.took_ns, done.inside_ns, status.is_some(), done.late);
        if let Some(status) = status {
            *self.failed.entry((done.place, status)).or_default() += 1;
        }
    }

    fn belongs(&mut self, function: &Arc<Function>, instance: &Arc<Instance>) {
        if let Some(Some((_, of))) = self.functions.get_mut(function.key as usize) {
            *of = Some(instance.clone());
        }
    }
}
