//! Whole outputs of runs that were written by the writers of `cutap-wire`.

use cutap_report::{Json, Output, Summary, Text};
use cutap_trace::made::{Process, Run};
use cutap_trace::{End, Event, Filter, Follow, FollowOptions};
use cutap_wire::{count, names, record};
use std::path::Path;

const MS: u64 = 1_000_000;

/// Slots of `program`.
const CU_MEM_ALLOC: u32 = 0;
const CU_LAUNCH_KERNEL: u32 = 1;
const CUDA_MALLOC: u32 = 10;
const CUDA_LAUNCH_KERNEL: u32 = 11;
const CUBLAS_CREATE: u32 = 20;

/// A program with a runtime linked in, a driver and a library.
fn program(run: &Run, pid: u32) -> Process {
    let mut process = run.process(pid, "/tmp/saxpy");
    process.driver(&["cuMemAlloc_v2", "cuLaunchKernel"]);
    process.runtime(2, "saxpy", 12090, 10, &["cudaMalloc", "cudaLaunchKernel"]);
    process.library(3, names::layer::LIBRARY, "libcublas.so.13", 20, &["cublasCreate_v2"]);
    process
}

fn follow(run: &Path, filter: &str) -> (Vec<Event>, End) {
    let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(filter).unwrap() };
    let mut follow = Follow::open(run, FollowOptions { filter, ..FollowOptions::default() }).unwrap();
    let mut events = Vec::new();
    follow.poll(true, &mut |e| events.push(e.clone())).unwrap();
    (events, follow.end())
}

fn written(run: &Path, filter: &str, make: impl FnOnce(Vec<u8>) -> Box<dyn Written>) -> String {
    let (events, end) = follow(run, filter);
    let mut output = make(Vec::new());
    events.iter().for_each(|e| output.event(e).unwrap());
    output.end(&end).unwrap();
    String::from_utf8(output.bytes()).unwrap()
}

fn text(run: &Path, filter: &str) -> String {
    written(run, filter, |out| Box::new(Text::new(out, false)))
}

/// An output whose bytes can be taken.
trait Written: Output {
    fn bytes(&self) -> Vec<u8>;
}
impl Written for Text<Vec<u8>> {
    fn bytes(&self) -> Vec<u8> {
        self.get_ref().clone()
    }
}
impl Written for Json<Vec<u8>> {
    fn bytes(&self) -> Vec<u8> {
        self.get_ref().clone()
    }
}
impl Written for Summary<Vec<u8>> {
    fn bytes(&self) -> Vec<u8> {
        self.get_ref().clone()
    }
}

/// One thread: a library call, a call in a call that fails, a launch.
fn simple(folder: &Path) {
    let run = Run::new(folder);
    let mut process = program(&run, 100);
    process.name(names::kind::KERNEL_NAME, 7, 0, 0, "_Z5saxpyifPKfPf", "");
    process.name(names::kind::KERNEL_HANDLE, 0x5550, 0, 0, "_Z5saxpyifPKfPf", "");
    process.count(count::LATE_OBJECT, 2);
    process.name(names::kind::GAP, count::LATE_OBJECT as u64, 0, 0, "libplugin.so", "");
    let mut thread = process.thread(100, 4);
    thread.call(CUBLAS_CREATE, &[0x7ffd_0000_1000, 1, 2, 3, 4, 5], 1_200_000, 0);
    thread.enter(CUDA_MALLOC, &[0x7ffd_3c00, 262_144]);
    run.wait(10_000);
    thread.call(CU_MEM_ALLOC, &[0x7ffd_3b00, 262_144], 1_200, 0xdead_0000_0002);
    run.wait(2_800);
    thread.exit(2);
    thread.enter(CUDA_LAUNCH_KERNEL, &[]);
    thread.note(record::note::KERNEL, 7);
    thread.call(CU_LAUNCH_KERNEL, &[0x5550, 1], 5_000, 0);
    thread.exit(0);
    thread.call(CU_MEM_ALLOC, &[1], 51 * MS, 0);
    thread.enter(CUDA_MALLOC, &[1, 2]);
    thread.end();
}

#[test]
fn a_simple_tree() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path());
    assert_eq!(
        text(folder.path(), ""),
        "\
[libcublas.so.13] cublasCreate_v2(0x7ffd00001000, 1, 2, 3, 4, 5, ...) = 0 <1.2ms>
[saxpy, runtime 12.9] cudaMalloc(0x7ffd3c00, 262144) {
  cuMemAlloc_v2(0x7ffd3b00, 262144) = 2 ! <1.2us>
} cudaMalloc = 2 ! <14us>
[saxpy, runtime 12.9] cudaLaunchKernel() kernel=saxpy(int, float, float const*, float*) {
  cuLaunchKernel(21840, 1) kernel=saxpy(int, float, float const*, float*) = 0 <5us>
} cudaLaunchKernel = 0 <5us>
cuMemAlloc_v2(1) {
} cuMemAlloc_v2 = 0 <51ms>
[saxpy, runtime 12.9] cudaMalloc(1, 2) = ? <unfinished>
cutap: runtimes seen: 12.9 in saxpy (linked in)
cutap: not seen in saxpy: __cudaRegister*, __cudaPushCallConfiguration, __cudaPopCallConfiguration (a runtime that is linked in reports no call of them)
cutap: 2 libraries opened while running: calls from their constructors were not seen
cutap:   libplugin.so
"
    );
}
