//! A run with GPU time: calls and work at chosen moments, and reports on it.

use cutap_calls::generated::gpu_time::DRIVER_FUNCTIONS;
use cutap_report::{Explain, Input, REPORTS};
use cutap_trace::synthetic::{Domain, Process, Run, Thread};
use cutap_trace::{Event, Filter, ReaderOptions, Runs};
use cutap_wire::names::kind;
use cutap_wire::rows::{GraphPlace, Kernel, Row, RowContent, RowPlace};
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::Path;

pub const US: u64 = 1_000;

/// Slots of the driver, and the words of its functions.
const FUNCTIONS: [(&str, u8); 11] = [
    ("cuLaunchKernel", 11),
    ("cuCtxSynchronize", 0),
    ("cuMemAlloc_v2", 2),
    ("cuGraphLaunch", 2),
    ("cuStreamBeginCapture_v2", 2),
    ("cuStreamEndCapture", 2),
    ("cuGraphInstantiateWithFlags", 3),
    ("cuDeviceGetAttribute", 3),
    ("cuCtxSynchronize_v2", 1),
    ("cuCtxSetCurrent", 1),
    ("cuStreamCreate", 2),
];
pub const LAUNCH: u32 = 0;
pub const WAIT: u32 = 1;
pub const ALLOCATE: u32 = 2;
pub const GRAPH_LAUNCH: u32 = 3;
pub const BEGIN_CAPTURE: u32 = 4;
pub const END_CAPTURE: u32 = 5;
pub const INSTANTIATE: u32 = 6;
pub const QUERY: u32 = 7;
pub const WAIT_FOR_CONTEXT: u32 = 8;
pub const SET_CONTEXT: u32 = 9;
pub const CREATE_STREAM: u32 = 10;

/// Words of a launch of one thread.
pub const ONE_THREAD: [u64; 11] = [0x10, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0];
const THREAD: u32 = 100;
const NAME: u32 = 1;

/// A process that submits work.
pub struct Gpu<'a> {
    pub run: &'a Run,
    pub process: Process,
    pub thread: Thread,
    /// The default domain of NVTX.
    pub domain: Domain,
    correlation: u32,
}

/// Work, in nanoseconds from the beginning of its call.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub after: u64,
    pub ns: u64,
    pub stream: u32,
    pub node: GraphPlace,
}

/// A kernel of the default stream.
pub fn work(after: u64, ns: u64) -> Work {
    Work { after, ns, stream: 7, node: GraphPlace::default() }
}

/// A run with these calls, in a folder.
pub fn gpu_run(calls: impl FnOnce(&mut Gpu<'_>)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    run.has_gpu_time();
    let mut process = run.process(THREAD, "/bin/prog");
    process.driver(&[]);
    for (slot, (name, words)) in FUNCTIONS.into_iter().enumerate() {
        process.slot(slot as u64, 1, (words.min(6), 0, words.saturating_sub(6)), name);
    }
    process.name(kind::ROW_NAME, NAME.into(), 0, 0, "first", "");
    let domain = process.domain(2, "nvtx", 32);
    let mut thread = process.thread(THREAD, 64);
    let now = run.now();
    let place = RowPlace { start: now, end: now, ..RowPlace::default() };
    thread.row(&Row { place, content: RowContent::Clock { time: now } });
    calls(&mut Gpu { run: &run, process, thread, domain, correlation: 0 });
    folder
}

impl Gpu<'_> {
    /// A range around what happens inside.
    pub fn range(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        let number = self.thread.push(self.domain, name);
        inside(self);
        self.thread.pop(number);
    }

    /// A call that took so long.
    pub fn call(&mut self, slot: u32, words: &[u64], ns: u64) {
        self.thread.call(slot, words, ns, 0);
    }

    /// A launch that took so long, and its kernel.
    pub fn launch(&mut self, ns: u64, kernel: Work) {
        self.submit(LAUNCH, &ONE_THREAD, ns, &[kernel]);
    }

    /// A call that took so long, and its kernels.
    pub fn submit(&mut self, slot: u32, words: &[u64], ns: u64, kernels: &[Work]) {
        let start = self.run.now();
        self.call(slot, words, ns);
        self.correlation += 1;
        let name = FUNCTIONS[slot as usize].0.trim_end_matches("_v2");
        let function = DRIVER_FUNCTIONS.iter().find(|of| of.name == name).unwrap().id;
        let place = RowPlace { start, end: start + ns, correlation: self.correlation, ..RowPlace::default() };
        self.thread.row(&Row { place, content: RowContent::DriverCall { thread: THREAD, function } });
        for of in kernels {
            let start = start + of.after;
            let place = RowPlace { start, end: start + of.ns, context: 1, stream: of.stream, ..place };
            let kernel = Kernel { name: NAME, grid: [1; 3], block: [1; 3], node: of.node, ..Kernel::default() };
            self.thread.row(&Row { place, content: RowContent::Kernel(kernel) });
        }
    }
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// Text and lines of JSON of a report.
pub fn report(run: &Path, flag: &str, value: &str) -> (String, Vec<Value>) {
    let runs = Runs::open(&[run.to_owned()]).unwrap();
    let kind = REPORTS.iter().find(|kind| kind.flag == flag).unwrap();
    let mut report = (kind.new)(value);
    if report.needs_gpu_times() {
        report.gpu_times(&runs.gpu_times().unwrap().unwrap().work_in(None));
    }
    let ends = match report.input() {
        Input::Calls(sink) => runs.calls(&Filter::default(), sink).unwrap(),
        Input::Events(sink) => events(&runs, &mut |event| sink.event(event)),
    };
    let (mut text, mut json) = (Vec::new(), Vec::new());
    report.write_text(&ends[0].end, false, &mut text).unwrap();
    report.write_json(&mut json).unwrap();
    (String::from_utf8(text).unwrap(), lines(&json))
}

fn events(runs: &Runs, sink: &mut dyn FnMut(&Event)) -> Vec<cutap_trace::FinishedRun> {
    let hand_on = &mut |event| {
        sink(&event);
        ControlFlow::Continue(())
    };
    runs.events(&ReaderOptions::default(), hand_on).unwrap()
}

/// What `explain` finds with a rule.
pub fn findings(run: &Path, rule: &str) -> Vec<Value> {
    let runs = Runs::open(&[run.to_owned()]).unwrap();
    let mut explain = Explain::default();
    explain.only_rules(&[rule.to_owned()]);
    explain.gpu_times(&runs.gpu_times().unwrap().unwrap().work_in(None));
    let mut take = |event: &Event| cutap_report::EventSink::event(&mut explain, event);
    let ends = events(&runs, &mut take);
    let unfinished = ends.iter().flat_map(|of| &of.end.unfinished);
    unfinished.for_each(|exit| take(&Event::Exit(Box::new(exit.clone()))));
    let mut json = Vec::new();
    explain.write_json(true, &mut json).unwrap();
    lines(&json).into_iter().filter(|line| line["type"] == "finding").collect()
}

/// The bytes of an export.
pub fn exported(run: &Path, output: &mut dyn cutap_report::Output) {
    let runs = Runs::open(&[run.to_owned()]).unwrap();
    let ends = events(&runs, &mut |event| output.event(event).unwrap());
    output.end(&ends[0].end).unwrap();
}
