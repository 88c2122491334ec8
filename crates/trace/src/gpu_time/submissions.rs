//! Calls of the driver that submitted work, thread by thread.

use super::expected::ExpectedRows;
use super::graphs::{ExecutableGraph, Graphs};
use super::waits::{Queues, Waits};
use crate::event::call::{Call, Exit};
use crate::event::function::Function;
use crate::event::process::Instance;
use cutap_calls::Layer;
use cutap_calls::blocks;
use cutap_calls::generated::gpu_time::DRIVER_FUNCTIONS;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// A call that submitted work.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Which of the calls of its ring it is.
    pub number: u32,
    /// CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// See `start_ns`.
    pub end_ns: u64,
    /// Its place in the list of functions that submit work.
    pub function: usize,
    /// What its rows must have.
    pub expected: ExpectedRows,
    /// Where its work is queued.
    pub queues: Queues,
    /// It returns when its work is done, where that is a copy to the host.
    pub is_blocking_copy: bool,
    /// The calls around it, of the same ring, the outermost first, and the call.
    pub path: Arc<[Label]>,
    /// The numbers of the calls around it.
    pub outer_calls: Vec<u32>,
    /// The executable graph that it launches.
    pub executable: Option<Arc<ExecutableGraph>>,
}

/// A function, and the copy of the runtime that it is of.
#[derive(Debug, Clone)]
pub struct Label {
    /// The function.
    pub function: Arc<Function>,
    /// The runtime.
    pub instance: Option<Arc<Instance>>,
}

impl Label {
    pub(crate) fn of(call: &Call) -> Label {
        Label { function: call.function.clone(), instance: call.instance().cloned() }
    }

    fn key(&self) -> (u32, u64) {
        (self.function.key, self.instance.as_ref().map_or(0, |instance| instance.id))
    }
}

/// The calls of one process that submitted work, in the order of time for each thread.
#[derive(Debug, Default)]
pub struct Submissions {
    /// By thread id.
    threads: HashMap<u32, Vec<Submission>>,
    open: HashMap<u32, Vec<Call>>,
    /// Each path once, by its labels.
    paths: HashMap<Vec<(u32, u64)>, Arc<[Label]>>,
    graphs: Graphs,
    waits: Waits,
}

/// The place of a driver function among those that submit work.
pub fn submitting_function(call: &Call) -> Option<usize> {
    static PLACES: LazyLock<HashMap<&str, usize>> =
        LazyLock::new(|| DRIVER_FUNCTIONS.iter().enumerate().map(|(n, function)| (function.name, n)).collect());
    let is_driver = call.function.layer == Layer::DRIVER;
    PLACES.get(&*call.function.name).copied().filter(|_| is_driver)
}

/// Whether a call is one of the driver that submits work, of which CUPTI reports rows.
pub fn submits_work(call: &Call) -> bool {
    submitting_function(call).is_some()
}

impl Submissions {
    /// A call begins.
    pub fn enter(&mut self, call: &Call) {
        if !call.function.entry_only {
            self.open.entry(call.thread.tid).or_default().push(call.clone());
        }
    }

    /// A call has ended.
    pub fn exit(&mut self, exit: &Exit) {
        let call = &exit.call;
        let open = self.open.entry(call.thread.tid).or_default();
        if let Some(place) = open.iter().rposition(|outer| outer.number == call.number) {
            // A range may be popped while others that were pushed later are open.
            match call.function.range {
                Some(_) => drop(open.remove(place)),
                None => open.truncate(place),
            }
        }
        if call.function.layer != Layer::DRIVER {
            return;
        }
        self.waits.exit(exit);
        let function = submitting_function(call).filter(|_| !self.graphs.is_captured(call));
        // Ranges of NVTX are no calls.
        let is_call = |outer: &&Call| outer.function.range.is_none();
        let outer_calls: Cow<'_, [Call]> = match open.iter().all(|outer| is_call(&outer)) {
            true => open.as_slice().into(),
            false => open.iter().filter(is_call).cloned().collect::<Vec<_>>().into(),
        };
        self.graphs.exit(exit, &outer_calls);
        let Some(function) = function else { return };
        let labels: Vec<Label> = outer_calls.iter().chain([call]).map(Label::of).collect();
        let path = self.paths.entry(labels.iter().map(Label::key).collect()).or_insert_with(|| labels.into()).clone();
        let submission = Submission {
            number: call.number,
            start_ns: call.start_ns,
            end_ns: exit.end_ns,
            function,
            expected: ExpectedRows::of(call),
            queues: self.waits.queues(call),
            is_blocking_copy: blocks(&call.function.name) == Some("returns when the copy is done"),
            path,
            outer_calls: open.iter().map(|outer| outer.number).collect(),
            executable: self.graphs.launched(call),
        };
        self.threads.entry(call.thread.tid).or_default().push(submission);
    }

    /// To be called when all calls were taken.
    pub fn sort(&mut self) {
        self.threads.values_mut().for_each(|calls| calls.sort_by_key(|call| call.start_ns));
    }

    /// When the work of a call had ended at the latest, by the waits of the process; none if nothing waited for it.
    pub fn latest_end(&self, submission: &Submission) -> Option<u64> {
        self.waits.latest_end(submission.queues, submission.end_ns)
    }

    /// Those of a thread, by their beginnings.
    pub fn of_thread(&self, tid: u32) -> &[Submission] {
        self.threads.get(&tid).map_or(&[], Vec::as_slice)
    }
}
