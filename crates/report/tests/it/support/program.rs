//! A program to trace, and outputs whose bytes can be taken.

use cutap_calls::Layer;
use cutap_report::{Counts, Json, Output, Summary, Text};
use cutap_trace::synthetic::{Process, Run};
use cutap_trace::{End, Event, EventReader, Filter, ReaderOptions};
use cutap_wire::{diagnostic, names, record};
use std::path::Path;

pub const MS: u64 = 1_000_000;

/// Slots of `program`.
pub const CU_MEM_ALLOC: u32 = 0;

pub const CU_LAUNCH_KERNEL: u32 = 1;

pub const CUDA_MALLOC: u32 = 10;

pub const CUDA_LAUNCH_KERNEL: u32 = 11;

pub const CUBLAS_CREATE: u32 = 20;

pub const CUBLAS_STATUS_STRING: u32 = 21;

pub const CUBLAS_CXX: u32 = 22;

/// A program with a static runtime, a driver and a library.
pub fn program(run: &Run, pid: u32) -> Process {
    let mut process = run.process(pid, "/tmp/saxpy");
    process.driver(&["cuMemAlloc_v2", "cuLaunchKernel"]);
    process.runtime(2, "saxpy", 12090, 10, &["cudaMalloc", "cudaLaunchKernel"]);
    let functions = ["cublasCreate_v2", "cublasGetStatusString", "_ZN6cublas4initEi"];
    process.library(3, Layer::LIBRARY.number(), "libcublas.so.13", 20, &functions);
    process
}

/// One thread: a library call, a call in a call that fails, a launch, a long call, one that never ends.
pub fn simple(folder: &Path) {
    let run = Run::new(folder);
    let mut process = program(&run, 100);
    process.name(names::kind::KERNEL_NAME, 7, 0, 0, "_Z5saxpyifPKfPf", "");
    process.name(names::kind::KERNEL_HANDLE, 0x5555_5550, 0, 0, "_Z5saxpyifPKfPf", "");
    process.count(diagnostic::LATE_OBJECT, 2);
    process.name(names::kind::GAP, diagnostic::LATE_OBJECT as u64, 0, 0, "libplugin.so", "");
    let mut thread = process.thread(100, 4);
    thread.call(CUBLAS_CREATE, &[0x7ffd_0000_1000, 1, 2, 3, 4, 5], 1_200_000, 0);
    thread.enter(CUDA_MALLOC, &[0x7ffd_3c00, 262_144]);
    run.wait(10_000);
    thread.call(CU_MEM_ALLOC, &[0x7ffd_3b00, 262_144], 1_200, 0xdead_0000_0002);
    run.wait(2_800);
    thread.exit(2);
    thread.enter(CUDA_LAUNCH_KERNEL, &[]);
    thread.write_note(record::note::KERNEL, 7);
    thread.call(CU_LAUNCH_KERNEL, &[0x5555_5550, 1], 5_000, 0);
    thread.exit(0);
    thread.call(CU_MEM_ALLOC, &[1], 51 * MS, 0);
    thread.call(CUBLAS_STATUS_STRING, &[1], 700, 0x7f00_1234_5678);
    thread.enter(CUBLAS_CXX, &[1]);
    thread.open.clear();
    thread.enter(CUDA_MALLOC, &[1, 2]);
    thread.end();
}

pub fn follow(run: &Path, filter: &str) -> EventReader {
    let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(filter).unwrap() };
    // What is known of functions is not what these tests are about.
    let tables = &cutap_trace::synthetic::tables::NOTHING;
    EventReader::open(run, ReaderOptions { filter, tables, ..ReaderOptions::default() }).unwrap()
}

pub fn events(run: &Path, filter: &str) -> (Vec<Event>, End) {
    let mut follow = follow(run, filter);
    let mut events = Vec::new();
    follow.poll(true, &mut |e| events.push(e.clone())).unwrap();
    (events, follow.end())
}

/// Hands a whole run to an output.
pub fn write(run: &Path, filter: &str, output: &mut dyn Output) {
    let (events, end) = events(run, filter);
    events.iter().for_each(|e| output.event(e).unwrap());
    output.end(&end).unwrap();
}

pub fn text(run: &Path, filter: &str) -> String {
    let mut output = Text::new(Vec::new(), false);
    write(run, filter, &mut output);
    String::from_utf8(output.get_ref().clone()).unwrap()
}

/// The text of a run whose functions are those of the small tables.
pub fn decoded(run: &Path, filter: &str) -> String {
    let mut output = Text::new(Vec::new(), false);
    decode(run, filter, &mut output);
    String::from_utf8(output.get_ref().clone()).unwrap()
}

/// As text, where the first event is written after the last one was read.
pub fn decoded_later(run: &Path) -> String {
    let options = ReaderOptions { tables: &cutap_trace::synthetic::tables::TABLES, ..ReaderOptions::default() };
    let mut follow = EventReader::open(run, options).unwrap();
    let mut all = Vec::new();
    let mut keep = |handed| {
        all.push(handed);
        std::ops::ControlFlow::Continue(())
    };
    follow.poll_while(true, &mut keep).unwrap();
    let mut output = Text::new(Vec::new(), false);
    all.iter().for_each(|event| output.event(event).unwrap());
    output.end(&follow.end()).unwrap();
    String::from_utf8(output.get_ref().clone()).unwrap()
}

/// The same as JSON.
pub fn decoded_json(run: &Path, filter: &str) -> Vec<serde_json::Value> {
    let mut output = Json::new(Vec::new());
    decode(run, filter, &mut output);
    lines(output.get_ref())
}

pub fn decode(run: &Path, filter: &str, output: &mut dyn Output) {
    let filter = if filter.is_empty() { Filter::default() } else { Filter::parse_with(filter, &[]).unwrap() };
    let options = ReaderOptions { filter, tables: &cutap_trace::synthetic::tables::TABLES, ..ReaderOptions::default() };
    let mut follow = EventReader::open(run, options).unwrap();
    follow.poll(true, &mut |e| output.event(e).unwrap()).unwrap();
    output.end(&follow.end()).unwrap();
}

pub fn json(run: &Path, filter: &str) -> Vec<serde_json::Value> {
    let mut output = Json::new(Vec::new());
    write(run, filter, &mut output);
    lines(output.get_ref())
}

pub fn summary(run: &Path) -> (String, Vec<serde_json::Value>) {
    let (mut table, mut objects) = (Summary::text(Vec::new(), false), Summary::json(Vec::new()));
    write(run, "", &mut table);
    write(run, "", &mut objects);
    (String::from_utf8(table.get_ref().clone()).unwrap(), lines(objects.get_ref()))
}

/// How often each function was called, of calls that were recorded.
pub fn counts(run: &Path) -> (String, Vec<serde_json::Value>) {
    let (mut table, mut objects) = (Counts::new(Vec::new(), false, false), Counts::new(Vec::new(), true, false));
    write(run, "", &mut table);
    write(run, "", &mut objects);
    (String::from_utf8(table.get_ref().clone()).unwrap(), lines(objects.get_ref()))
}

fn lines(bytes: &[u8]) -> Vec<serde_json::Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// JSON lines as text, to compare with a golden file (`UPDATE_EXPECT=1 cargo test -p cutap-report` writes it).
pub fn compact(lines: &[serde_json::Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
