//! Calls by path and by the object that makes the outermost call, from events with stacks. A run without stacks has a
//! [`CallTree`](crate::statistics::call_tree::CallTree), which knows the return address alone.

use crate::format::label::Label;
use crate::nesting::open_calls::OpenCalls;
use crate::nesting::path_stacks::stack_of;
use crate::nesting::source_line::own_python;
use crate::nesting::stacks::place;
use crate::statistics::call_stats::{CallEnd, CallStats};
use crate::statistics::call_tree::{CallPaths, Chain};
use cutap_trace::{Call, EventVisitor, Exit, Frame};
use std::collections::HashMap;
use std::sync::Arc;

/// The largest number of paths. Calls beyond them are in no row.
const MOST: usize = 1 << 20;

/// The labels of a path, the object that makes its outermost call, and the place in that object.
type CallerKey = (Vec<u32>, Option<Arc<str>>, Option<Arc<str>>);

/// Adds up calls by path.
pub struct CalledPaths {
    open: OpenCalls,
    /// Objects that are no callers: those that they call on behalf of are.
    is_passed_through: fn(&str) -> bool,
    labels: Vec<Label>,
    numbers: HashMap<Label, u32>,
    chains: HashMap<CallerKey, CallStats>,
}

impl CalledPaths {
    /// With the first object of each stack that is not passed through.
    pub fn new(is_passed_through: fn(&str) -> bool) -> CalledPaths {
        CalledPaths {
            open: OpenCalls::default(),
            is_passed_through,
            labels: Vec::new(),
            numbers: HashMap::new(),
            chains: HashMap::new(),
        }
    }

    /// No call had a stack.
    pub fn is_empty(&self) -> bool {
        self.chains.keys().all(|(_, from, _)| from.is_none())
    }

    /// The paths.
    pub fn paths(&self) -> CallPaths {
        let chain = |((labels, from, place), sums): (&CallerKey, &CallStats)| Chain {
            labels: labels.clone(),
            sums: sums.clone(),
            from: from.clone(),
            place: place.clone(),
        };
        CallPaths { labels: self.labels.clone(), chains: self.chains.iter().map(chain).collect() }
    }

    fn sums(&mut self, call: &Call) -> Option<&mut CallStats> {
        let calls: Vec<_> = self.open.open_calls(call.thread.key).cloned().collect();
        let path = calls.iter().filter(|around| !around.is_same_call(call)).chain([call]);
        let path = path.map(|call| Label::new(&call.function, call.instance().map(|i| &**i)));
        let path: Vec<u32> = path.map(|label| self.number(label)).collect();
        let stack = stack_of(&self.open, call);
        let frames = || stack.into_iter().flat_map(|stack| stack.frames.iter());
        let is_caller = |frame: &&Frame| frame.object.as_ref().is_some_and(|object| !(self.is_passed_through)(object));
        // Who writes Python looks for the line there, whatever libraries are in between.
        let first = stack.and_then(own_python).or_else(|| frames().find(is_caller));
        let from = first.and_then(|frame| frame.object.clone());
        let key = (path, from, first.and_then(place).map(Arc::from));
        if self.chains.len() >= MOST && !self.chains.contains_key(&key) {
            return None;
        }
        Some(self.chains.entry(key).or_default())
    }

    fn number(&mut self, label: Label) -> u32 {
        if let Some(number) = self.numbers.get(&label) {
            return *number;
        }
        let number = self.labels.len() as u32;
        self.labels.push(label.clone());
        self.numbers.insert(label, number);
        number
    }
}

impl EventVisitor for CalledPaths {
    fn enter(&mut self, call: &Call) {
        self.open.enter(call);
    }

    fn enter_without_exit(&mut self, call: &Call) {
        if call.function.range.is_some() {
            return;
        }
        if let Some(sums) = self.sums(call) {
            sums.calls += 1;
        }
    }

    fn exit(&mut self, exit: &Exit) {
        if exit.call.function.range.is_some() {
            return;
        }
        let inside = self.open.exit(exit);
        if let Some(sums) = self.sums(&exit.call) {
            sums.add(CallEnd::of(exit, inside));
        }
    }
}
