//! Adds events up, interval by interval. A call that lasts longer than an interval counts in each with the part that
//! lies in it, also while it is open.

use crate::devices::Devices;
use crate::function_sums::FunctionSums;
use crate::open_calls::{OpenCalls, OpenFrame};
use crate::snapshot::{MemoryHeld, OpenCall, Snapshot};
use cutap_printable::printable;
use cutap_report::{Allocations, EventSink};
use cutap_trace::{Call, Event, EventVisitor, Exit, GpuRow, Process, State, Thread};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The sums so far.
pub struct Activity {
    functions: FunctionSums,
    open_calls: OpenCalls,
    devices: Devices,
    allocations: Option<Allocations>,
    memory: BTreeMap<&'static str, i64>,
    processes: BTreeMap<u32, Arc<Process>>,
    /// When the interval began.
    begin_ns: u64,
    calls: u64,
    errors: u64,
    total_calls: u64,
}

impl Activity {
    /// Without `follows_memory`, allocations are not added up: a filter may leave out what frees them.
    pub fn new(follows_memory: bool) -> Activity {
        Activity {
            functions: FunctionSums::default(),
            open_calls: OpenCalls::default(),
            devices: Devices::default(),
            allocations: follows_memory.then(Allocations::with_steps),
            memory: BTreeMap::new(),
            processes: BTreeMap::new(),
            begin_ns: 0,
            calls: 0,
            errors: 0,
            total_calls: 0,
        }
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event) {
        event.visit(self);
        if let Some(allocations) = &mut self.allocations {
            allocations.event(event);
            for step in allocations.take_steps() {
                *self.memory.entry(step.kind).or_default() += step.bytes;
            }
        }
    }

    /// The first interval begins here, not with the first process.
    pub fn begin_at(&mut self, ns: u64) {
        let _ = self.snapshot(ns);
    }

    /// When the first process began.
    pub fn start_ns(&self) -> Option<u64> {
        self.processes.values().map(|process| process.start_ns).min()
    }

    /// Ends the interval at this time of CLOCK_MONOTONIC, and begins the next one.
    pub fn snapshot(&mut self, end_ns: u64) -> Snapshot {
        let start_ns = self.start_ns().unwrap_or(end_ns);
        let begin_ns = self.begin_ns.max(start_ns).min(end_ns);
        let functions = &mut self.functions;
        self.open_calls.end_interval(begin_ns, end_ns, &mut |function, part| {
            let row = functions.row(function);
            row.time_ns += part.time_ns;
            row.self_ns += part.self_ns;
            row.total_ns += part.time_ns;
        });
        let memory = self.memory.iter().filter(|(_, bytes)| **bytes != 0);
        let snapshot = Snapshot {
            span_ns: end_ns - begin_ns,
            elapsed_ns: end_ns.saturating_sub(start_ns),
            processes: self.processes.len(),
            program: self.processes.values().next().map_or_else(String::new, |process| program(process)),
            calls: self.calls,
            errors: self.errors,
            total_calls: self.total_calls,
            functions: self.functions.functions(),
            libraries: self.functions.libraries(),
            devices: self.devices.shares(end_ns),
            memory: memory.map(|(kind, bytes)| MemoryHeld { kind, bytes: *bytes }).collect(),
            open: self.open(end_ns),
            ..Snapshot::default()
        };
        self.functions.begin_interval();
        (self.begin_ns, self.calls, self.errors) = (end_ns, 0, 0);
        snapshot
    }

    fn open(&self, end_ns: u64) -> Vec<OpenCall> {
        let call = |(thread, frames): (&Thread, &[OpenFrame])| {
            let innermost = frames.iter().rposition(|frame| frame.function.is_some())?;
            let (call, outer_calls) = (&frames[innermost].call, &frames[..innermost]);
            let name = |frame: &OpenFrame| printable(frame.call.function.display_name()).into_owned();
            Some(OpenCall {
                pid: thread.process.pid,
                tid: thread.tid,
                thread: thread.name.as_ref().map(|name| printable(name).into_owned()),
                function: printable(call.function.display_name()).into_owned(),
                inside: outer_calls.iter().rev().map(name).collect(),
                open_ns: end_ns.saturating_sub(call.start_ns),
            })
        };
        let mut open: Vec<OpenCall> = self.open_calls.open().filter_map(call).collect();
        open.sort_by_key(|call| (Reverse(call.open_ns), call.pid, call.tid));
        open
    }
}

impl EventVisitor for Activity {
    fn process(&mut self, process: &Arc<Process>) {
        self.processes.insert(process.key, process.clone());
    }

    fn enter(&mut self, call: &Call) {
        let function = call.function.range.is_none().then(|| self.functions.of(call));
        self.open_calls.enter(call, function);
    }

    fn enter_without_exit(&mut self, call: &Call) {
        if call.function.range.is_none() {
            let function = self.functions.of(call);
            self.count(function, false);
        }
    }

    fn update(&mut self, call: &Call) {
        self.open_calls.update(call);
    }

    fn exit(&mut self, exit: &Exit) {
        // One that never ended is still open.
        if exit.state == State::Unfinished {
            return;
        }
        let finished = self.open_calls.exit(&exit.call, exit.end_ns, self.begin_ns);
        let Some((Some(function), part)) = finished else { return };
        self.count(function, exit.is_error());
        let row = self.functions.row(function);
        row.time_ns += part.time_ns;
        row.self_ns += part.self_ns;
        row.total_ns += part.time_ns;
    }

    fn row(&mut self, row: &GpuRow) {
        self.devices.row(row);
    }
}

impl Activity {
    fn count(&mut self, function: usize, is_error: bool) {
        self.calls += 1;
        self.total_calls += 1;
        self.errors += u64::from(is_error);
        let row = self.functions.row(function);
        row.calls += 1;
        row.total_calls += 1;
        row.errors += u64::from(is_error);
    }
}

/// The file name of a program.
fn program(process: &Process) -> String {
    printable(process.exe.rsplit('/').next().unwrap_or(&process.exe)).into_owned()
}
