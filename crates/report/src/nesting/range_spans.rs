//! Ranges of NVTX with what is inside each: calls, their time on the GPU, and functions. A call counts where the
//! program makes it: not inside another call. Ranges of push and pop have the calls of their thread. Those of start and
//! end may cross threads, and have the calls of the process.

use crate::format::label::Label;
use cutap_trace::{Call, EventVisitor, Exit, Function, GpuWork, Process, RangeMoment, State};
use std::collections::HashMap;
use std::sync::Arc;

/// Ranges with so many others around them have no list of functions.
pub(crate) const LEVELS: u32 = 4;
/// Functions of all ranges that are listed at most.
const MOST_FUNCTIONS: usize = 1 << 22;
/// Ranges of start and end that get functions, of those that are open in a process.
const MOST_STARTED: usize = 64;
/// Different paths at most. Ranges beyond them are as those around them.
const MOST_PATHS: usize = 1 << 16;
/// The path of a range that no other is around.
pub(crate) const OUTSIDE: u32 = 0;

/// The name of a range: its domain and its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RangeName {
    pub domain: Arc<str>,
    pub text: Arc<str>,
}

impl RangeName {
    pub fn of(function: &Function) -> RangeName {
        RangeName { domain: function.library.clone(), text: function.name.clone() }
    }
}

/// Calls of a function inside a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inside {
    /// The number of its name.
    pub label: u32,
    pub calls: u64,
    pub ns: u64,
}

/// A range.
#[derive(Debug, Clone)]
pub(crate) struct RangeSpan {
    pub name: RangeName,
    pub process: Arc<Process>,
    /// The thread that began it.
    pub tid: u32,
    /// The names around it and its own.
    pub path: u32,
    /// Ranges around it.
    pub depth: u32,
    /// It is one of start and end.
    pub is_started: bool,
    pub start_ns: u64,
    pub end_ns: u64,
    /// It was ended by the program.
    pub is_ended: bool,
    /// Calls inside.
    pub calls: u64,
    /// What the GPU did for them.
    pub gpu_ns: u64,
    pub functions: Vec<Inside>,
}

impl RangeSpan {
    fn new(call: &Call, path: u32, depth: u32) -> RangeSpan {
        RangeSpan {
            name: RangeName::of(&call.function),
            process: call.thread.process.clone(),
            tid: call.thread.tid,
            path,
            depth,
            is_started: call.function.range == Some(RangeMoment::Start),
            start_ns: call.start_ns,
            end_ns: call.start_ns,
            is_ended: false,
            calls: 0,
            gpu_ns: 0,
            functions: Vec::new(),
        }
    }

    pub fn took_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    fn add(&mut self, inside: &Inside, gpu_ns: u64) {
        self.calls += inside.calls;
        self.gpu_ns = self.gpu_ns.saturating_add(gpu_ns);
    }

    /// Adds a call of a function. Returns how many functions are new.
    fn add_function(&mut self, inside: &Inside) -> usize {
        match self.functions.iter_mut().find(|listed| listed.label == inside.label) {
            Some(listed) => {
                listed.calls += inside.calls;
                listed.ns = listed.ns.saturating_add(inside.ns);
                0
            }
            None => {
                self.functions.push(*inside);
                1
            }
        }
    }
}

/// What is open in a thread.
#[derive(Debug)]
enum Open {
    Call(u32),
    Range(u32, Box<RangeSpan>),
}

impl Open {
    fn number(&self) -> u32 {
        match self {
            Open::Call(number) | Open::Range(number, _) => *number,
        }
    }
}

/// Ranges of start and end of a process, and the calls that it made.
#[derive(Debug, Default)]
struct OfProcess {
    /// By their ids, with calls and nanoseconds of the GPU before each.
    started: Vec<(u64, u64, u64, RangeSpan)>,
    calls: u64,
    gpu_ns: u64,
}

/// Follows the ranges of all threads.
#[derive(Debug, Default)]
pub(crate) struct RangeSpans {
    /// By the thread's key, the outermost first.
    threads: Vec<Vec<Open>>,
    /// By the process's key.
    processes: HashMap<u32, OfProcess>,
    /// Ranges that ended and were not taken yet.
    finished: Vec<RangeSpan>,
    /// For each path the one around it, and the name.
    paths: Vec<(u32, RangeName)>,
    below: HashMap<(u32, RangeName), u32>,
    labels: Vec<String>,
    label_numbers: HashMap<Label, u32>,
    /// By the function's key.
    label_of_function: HashMap<(u32, u64), u32>,
    functions: usize,
    /// The first and the last moment of which something is known.
    pub span: Option<(u64, u64)>,
}

impl RangeSpans {
    /// Takes the ranges that ended since.
    pub fn take_finished(&mut self) -> Vec<RangeSpan> {
        std::mem::take(&mut self.finished)
    }

    /// Ranges of start and end that did not end. They are open until the end of the run.
    pub fn open_started(&self) -> Vec<RangeSpan> {
        let last = self.span.map_or(0, |(_, last)| last);
        let open = self.processes.values().flat_map(|of| {
            of.started.iter().map(|(_, calls, gpu_ns, span)| RangeSpan {
                end_ns: last.max(span.start_ns),
                calls: of.calls - calls,
                gpu_ns: of.gpu_ns.saturating_sub(*gpu_ns),
                ..span.clone()
            })
        });
        open.collect()
    }

    /// The names of a path, the outermost first.
    pub fn names(&self, path: u32) -> Vec<&RangeName> {
        let (mut names, mut path) = (Vec::new(), path);
        while let Some((outer, name)) = self.paths.get((path as usize).wrapping_sub(1)) {
            names.push(name);
            path = *outer;
        }
        names.reverse();
        names
    }

    /// The name of a function.
    pub fn label(&self, number: u32) -> &str {
        self.labels.get(number as usize).map_or("?", String::as_str)
    }

    fn saw(&mut self, ns: u64) {
        let (first, last) = self.span.unwrap_or((ns, ns));
        self.span = Some((first.min(ns), last.max(ns)));
    }

    fn open(&mut self, thread: u32) -> &mut Vec<Open> {
        let key = thread as usize;
        if key >= self.threads.len() {
            self.threads.resize_with(key + 1, Vec::new);
        }
        &mut self.threads[key]
    }

    fn path(&mut self, outer: u32, name: RangeName) -> u32 {
        let key = (outer, name);
        if let Some(path) = self.below.get(&key) {
            return *path;
        }
        if self.paths.len() >= MOST_PATHS {
            return outer;
        }
        self.paths.push(key.clone());
        let path = self.paths.len() as u32;
        self.below.insert(key, path);
        path
    }

    fn label_number(&mut self, call: &Call) -> u32 {
        let key = (call.function.key, call.instance().map_or(0, |instance| instance.id));
        if let Some(number) = self.label_of_function.get(&key) {
            return *number;
        }
        let label = Label::new(&call.function, call.instance().map(|instance| &**instance));
        let next = self.labels.len() as u32;
        let number = *self.label_numbers.entry(label.clone()).or_insert(next);
        if number == next {
            self.labels.push(format!("{}{}", label.name, label.short_tag()));
        }
        self.label_of_function.insert(key, number);
        number
    }

    /// A call has finished, and is not among the open ones.
    fn count(&mut self, call: &Call, ns: u64, gpu: Option<GpuWork>) {
        let inside = Inside { label: self.label_number(call), calls: 1, ns };
        let gpu_ns = gpu.map_or(0, |gpu| gpu.ns);
        let mut functions = self.functions;
        let mut is_outermost = true;
        for open in self.open(call.thread.key).iter_mut().rev() {
            let Open::Range(_, span) = open else {
                is_outermost = false;
                break;
            };
            span.add(&inside, gpu_ns);
            if span.depth < LEVELS && functions < MOST_FUNCTIONS {
                functions += span.add_function(&inside);
            }
        }
        if is_outermost {
            let of = self.processes.entry(call.thread.process.key).or_default();
            (of.calls, of.gpu_ns) = (of.calls + 1, of.gpu_ns.saturating_add(gpu_ns));
            for (.., span) in of.started.iter_mut().rev().take(MOST_STARTED) {
                if span.start_ns <= call.start_ns && functions < MOST_FUNCTIONS {
                    functions += span.add_function(&inside);
                }
            }
        }
        self.functions = functions;
    }

    fn end_started(&mut self, call: &Call) {
        let [id, ..] = call.args.words() else { return };
        let Some(of) = self.processes.get_mut(&call.thread.process.key) else { return };
        let Some(place) = of.started.iter().rposition(|(of_start, ..)| of_start == id) else { return };
        let (_, calls, gpu_ns, mut span) = of.started.remove(place);
        span.end_ns = call.start_ns;
        span.is_ended = true;
        (span.calls, span.gpu_ns) = (of.calls - calls, of.gpu_ns.saturating_sub(gpu_ns));
        self.finished.push(span);
    }
}

impl EventVisitor for RangeSpans {
    fn enter(&mut self, call: &Call) {
        self.saw(call.start_ns);
        let open = match call.function.range {
            Some(RangeMoment::Range) => {
                let outer = self.open(call.thread.key).iter().rev().find_map(|open| match open {
                    Open::Range(_, span) => Some((span.path, span.depth + 1)),
                    Open::Call(_) => None,
                });
                let (outer, depth) = outer.unwrap_or((OUTSIDE, 0));
                let path = self.path(outer, RangeName::of(&call.function));
                Open::Range(call.number(), Box::new(RangeSpan::new(call, path, depth)))
            }
            _ => Open::Call(call.number()),
        };
        self.open(call.thread.key).push(open);
    }

    fn enter_without_exit(&mut self, call: &Call) {
        self.saw(call.start_ns);
        match call.function.range {
            Some(RangeMoment::Start) => {
                let path = self.path(OUTSIDE, RangeName::of(&call.function));
                let of = self.processes.entry(call.thread.process.key).or_default();
                let id = call.args.words().last().copied().unwrap_or(0);
                of.started.push((id, of.calls, of.gpu_ns, RangeSpan::new(call, path, 0)));
            }
            Some(RangeMoment::End) => self.end_started(call),
            Some(_) => {}
            None => self.count(call, 0, None),
        }
    }

    fn exit(&mut self, exit: &Exit) {
        self.saw(exit.end_ns);
        let open = self.open(exit.call.thread.key);
        let Some(place) = open.iter().rposition(|open| open.number() == exit.call.number()) else { return };
        // A range may be popped while others that were pushed later are open; a call ends those inside.
        match open.remove(place) {
            Open::Range(_, mut span) => {
                span.end_ns = exit.end_ns;
                span.is_ended = exit.state == State::Returned;
                self.finished.push(*span);
            }
            Open::Call(_) => {
                let mut rank = 0;
                open.retain(|open| {
                    rank += 1;
                    rank <= place || matches!(open, Open::Range(..))
                });
                self.count(&exit.call, exit.took_ns().unwrap_or(0), exit.gpu);
            }
        }
    }
}
