//! Calls by path: one node for each chain of functions, with its counts and times. `--tree`, `--callers`, `--errors`
//! and `--blocking` read these nodes, so their numbers agree. Memory grows with the number of different paths.

use crate::format::label::Label;
use crate::format::runs::RunCounts;
use crate::statistics::call_stats::{CallEnd, CallStats};
use crate::statistics::failures::{Failed, Failures, Outcome, outcome};
use cutap_trace::{CallSink, FinishedCall, Function, Instance, RangeMoment, RunName};
use std::collections::{BTreeSet, HashMap};
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
    /// The run that each function is of, by its key; empty if one run is read.
    runs: Vec<Option<Arc<RunName>>>,
    failures: Failures,
    gpu_rows: u64,
    /// What is said of the collection of GPU times (`cutap_wire::rows::reason`).
    gpu_reasons: BTreeSet<u32>,
    has_invented_times: bool,
    /// Ranges of NVTX have nodes. Otherwise calls inside are where the range is.
    has_ranges: bool,
    /// Ranges and marks of NVTX that are no nodes.
    left_out_ranges: u64,
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
        let (below, functions, runs, failures) = Default::default();
        let (by_object, objects, of_object) = Default::default();
        CallTree {
            nodes: vec![Node::default()],
            below,
            functions,
            runs,
            failures,
            gpu_rows: 0,
            gpu_reasons: BTreeSet::new(),
            has_invented_times: false,
            has_ranges: false,
            left_out_ranges: 0,
            by_object,
            objects,
            of_object,
        }
    }
}

/// The labels of a path, and the object that makes its outermost call.
type PathKey = (Vec<u32>, Option<u32>);

/// The calls of one path.
#[derive(Debug, Clone)]
pub struct Chain {
    /// From the outermost call to this one.
    pub labels: Vec<u32>,
    pub sums: CallStats,
    /// The object that makes the outermost call, if that was asked for and is known.
    pub from: Option<Arc<str>>,
    /// The place in that object, if a stack names it.
    pub place: Option<Arc<str>>,
}

/// The failures of one path and status, each counted once.
#[derive(Debug, Clone)]
pub struct FailureGroup {
    pub failed: FailedCall,
    pub calls: u64,
    /// The calls of each run.
    pub(crate) runs: RunCounts,
    /// Failed calls inside these, the outermost first.
    pub causes: Vec<(FailedCall, u64)>,
    /// The call around them succeeded, or CUDA had ended before.
    pub handled: bool,
}

/// The calls of a group, those of each run, and the failed calls inside.
type GroupSums = (u64, RunCounts, HashMap<FailedCall, u64>);

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FailedCall {
    /// From the outermost call to this one.
    pub path: Vec<String>,
    /// Its name or number.
    pub status: String,
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

    /// A tree in which ranges of NVTX are around the calls inside them.
    pub fn with_ranges() -> CallTree {
        CallTree { has_ranges: true, ..CallTree::default() }
    }

    fn is_left_out(&self, function: &Function) -> bool {
        function.range.is_some_and(|moment| !self.has_ranges || moment != RangeMoment::Range)
    }

    /// The paths by label. Paths with equal labels are merged.
    pub fn chains(&self) -> CallPaths {
        let (labels, ways) = self.ways();
        let mut merged: HashMap<PathKey, CallStats> = HashMap::new();
        for (node, way) in self.nodes.iter().zip(ways).filter(|(node, _)| node.sums.calls > 0 && node.depth > 0) {
            merged.entry((way, node.from)).or_default().merge(&node.sums);
        }
        let chain = |((labels, from), sums): (PathKey, CallStats)| {
            let from = from.and_then(|n| self.objects.get(n as usize)).cloned();
            Chain { labels, sums, from, place: None }
        };
        CallPaths { chains: merged.into_iter().map(chain).collect(), labels }
    }

    /// The failures by path and status, the most frequent first, and those that were handled last.
    pub fn failures(&self) -> Vec<FailureGroup> {
        let (labels, ways) = self.ways();
        let call = |(node, status): Failed| {
            let function = self.functions[self.nodes[node as usize].function as usize].as_ref();
            let name = function.and_then(|(function, _)| function.status_name(status));
            let status = name.map_or_else(|| status.to_string(), str::to_owned);
            FailedCall { path: texts(&labels, &ways[node as usize]), status }
        };
        let mut merged: HashMap<(FailedCall, bool), GroupSums> = HashMap::new();
        let counts = self.failures.counts().iter().map(|count| (count, false));
        for ((failed, count), handled) in counts.chain(self.failures.handled().iter().map(|count| (count, true))) {
            let (calls, runs, causes) = merged.entry((call(*failed), handled)).or_default();
            *calls += count.calls;
            let run = self.runs.get(self.nodes[failed.0 as usize].function as usize);
            run.into_iter().flatten().for_each(|run| runs.add_run(run, count.calls));
            count.causes.iter().for_each(|(cause, n)| *causes.entry(call(*cause)).or_default() += n);
        }
        let group = |((failed, handled), (calls, runs, causes)): ((FailedCall, bool), GroupSums)| {
            let mut causes: Vec<(FailedCall, u64)> = causes.into_iter().collect();
            causes.sort_by_key(|(cause, _)| (cause.path.len(), cause.clone()));
            FailureGroup { failed, calls, runs, causes, handled }
        };
        let mut groups: Vec<FailureGroup> = merged.into_iter().map(group).collect();
        groups.sort_by(|a, b| (a.handled, b.calls, &a.failed).cmp(&(b.handled, a.calls, &b.failed)));
        groups
    }

    /// The numbers of calls, and of failures that were not handled.
    pub fn totals(&self) -> (u64, u64) {
        let calls = self.nodes.iter().map(|node| node.sums.calls).sum();
        (calls, self.failures.counts().values().map(|count| count.calls).sum())
    }

    /// Ranges and marks that it has left out.
    pub fn left_out_ranges(&self) -> u64 {
        self.left_out_ranges
    }

    /// Rows of GPU time.
    pub fn gpu_rows(&self) -> u64 {
        self.gpu_rows
    }

    /// What is said of the collection of GPU times (`cutap_wire::rows::reason`).
    pub fn gpu_reasons(&self) -> &BTreeSet<u32> {
        &self.gpu_reasons
    }

    /// Whether GPU times are those of the simulated CUPTI.
    pub fn has_invented_times(&self) -> bool {
        self.has_invented_times
    }

    /// Calls that did not return.
    pub fn open_calls(&self) -> u64 {
        self.nodes.iter().map(|node| node.sums.open).sum()
    }

    /// All labels, and for each node those from the outermost call to its own. A node without a shown call is left out
    /// of the paths below it.
    fn ways(&self) -> (Vec<Label>, Vec<Vec<u32>>) {
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
        for node in self.nodes.iter().skip(1) {
            let own = (node.sums.calls > 0 && node.depth > 0).then(|| of_function[node.function as usize]);
            let way = ways[node.above as usize].iter().copied().chain(own).collect();
            ways.push(way);
        }
        (labels, ways)
    }
}

/// The names of these labels.
fn texts(labels: &[Label], way: &[u32]) -> Vec<String> {
    let text = |label: &u32| labels.get(*label as usize).map_or_else(|| "?".to_owned(), |l| l.text());
    way.iter().map(text).collect()
}

impl CallPaths {
    /// The names of a path, from the outermost call to the innermost.
    pub fn way(&self, chain: &Chain) -> Vec<String> {
        texts(&self.labels, &chain.labels)
    }
}

impl CallSink for CallTree {
    fn gpu_row(&mut self) {
        self.gpu_rows += 1;
    }
    fn gpu_collection(&mut self, reason: u32, is_simulated: bool) {
        self.gpu_reasons.insert(reason);
        self.has_invented_times |= is_simulated;
    }
    fn enter(&mut self, place: u32, function: &Arc<Function>) -> u32 {
        if self.is_left_out(function) {
            self.left_out_ranges += 1;
            return place;
        }
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
        if self.is_left_out(done.function) {
            return;
        }
        let node = &mut self.nodes[done.place as usize];
        if done.function.entry_only {
            node.sums.calls += 1;
            return;
        }
        if let Some(run) = &done.thread.process.run {
            let key = done.function.key as usize;
            if key >= self.runs.len() {
                self.runs.resize(key + 1, None);
            }
            self.runs[key].get_or_insert_with(|| run.clone());
        }
        let inside_ns = if self.has_ranges { done.inside_ranges_ns } else { done.inside_ns };
        node.sums.add(CallEnd { inside_ns, ..CallEnd::from(done) });
        self.failures.record_end(node.depth, done.place, outcome(done.function, done.status()), done.late);
    }

    /// Failures inside a call that never ended are no failures of the next ring's calls.
    fn ring_ends(&mut self) {
        self.failures.record_end(1, 0, Outcome::Unknown, false);
    }

    fn function_instance(&mut self, function: &Arc<Function>, instance: &Arc<Instance>) {
        if let Some(Some((_, of))) = self.functions.get_mut(function.key as usize) {
            *of = Some(instance.clone());
        }
    }
}
