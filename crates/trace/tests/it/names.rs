//! What calls are called, which are wanted, and what is listed at the end.

use crate::common::*;
use cutap_trace::Event;
use cutap_trace::synthetic::Run;
use cutap_wire::{diagnostic, names, record};

#[test]
fn instances_kernels_and_the_handles_of_launches() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel_ptsz", "cuInit"]);
    process.runtime(2, "prog", 11080, 10, &["cudaLaunchKernel"]);
    process.library(3, cutap_calls::Layer::RUNTIME.number(), "libcudart.so.13", 20, &["cudaLaunchKernelExC"]);
    let mut thread = process.thread(100, 3);
    // Bound before its instance is known; the note tells.
    thread.enter(20, &[]);
    process.name(names::kind::INSTANCE, 9, 3, 13000, "", "");
    thread.write_note(record::note::INSTANCE, 9);
    thread.exit(0);
    thread.enter(20, &[]);
    thread.exit(0);
    thread.enter(10, &[]);
    process.name(names::kind::KERNEL_NAME, 7, 0, 0, "_Z5saxpyifPKfPf", "");
    thread.write_note(record::note::KERNEL, 7);
    thread.call(0, &[0xaaa0], 5, 0);
    thread.exit(0);
    process.name(names::kind::KERNEL_HANDLE, 0xaaa0, 0, 0, "one", "");
    thread.call(0, &[0xaaa0], 5, 0);
    process.name(names::kind::KERNEL_HANDLE, 0xbbb0, 0xaaa0, 0, "", "");
    thread.call(1, &[1, 0xbbb0], 5, 0);
    run.wait(1);
    process.name(names::kind::KERNEL_HANDLE, 0xaaa0, 0, 0, "two", "");
    thread.call(2, &[0xaaa0], 5, 0);
    thread.call(0, &[0xccc0], 5, 0);
    thread.call(3, &[0xaaa0], 5, 0);
    let read = all(folder.path());
    let calls = read.events.iter().filter_map(|e| match e {
        Event::Enter(call) => Some((call.runtime_version(), call.kernel().map(|k| &**k))),
        _ => None,
    });
    let saxpy = Some("saxpy(int, float, float const*, float*)");
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [
            (Some("13.0"), None),
            (Some("13.0"), None),
            (Some("11.8"), saxpy),
            (None, saxpy),
            (None, Some("one")),
            (None, Some("one")),
            (None, Some("two")),
            (None, None),
            (None, None),
        ]
    );
    let instances = read.events.iter().filter(|e| matches!(e, Event::Instance(..))).count();
    assert_eq!(instances, 2);
    assert_eq!(read.end.linked_in(), ["prog"]);
}

#[test]
fn cxx_functions_are_noted_and_no_parents() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.library(3, cutap_calls::Layer::LIBRARY.number(), "libcudnn.so.9", 0, &["cudnnCreate", "_ZN5cudnn4initEi"]);
    let mut thread = process.thread(100, 3);
    thread.enter(0, &[]);
    thread.enter(1, &[]);
    thread.open.pop();
    thread.exit(0);
    let read = all(folder.path());
    assert_eq!(read.lines, ["> cudnnCreate", "  > cudnn::init(int) noted", "< cudnnCreate = 0 0ns"]);
    assert!(read.end.unfinished.is_empty());
}

#[test]
fn filters_choose_what_is_handed_out() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&["cuInit", "cuMemAlloc_v2", "cuMemFree_v2"]);
    process.runtime(2, "prog", 11080, 10, &["cudaMalloc"]);
    let mut thread = process.thread(100, 3);
    thread.enter(10, &[]);
    thread.enter(0, &[]);
    thread.call(1, &[], 5_000_000, 2);
    thread.exit(0);
    thread.exit(0);
    thread.lookup(record::lookup::DLSYM, 0x1_0010, 0, 0x1_2345, 1, "cuInit");
    thread.enter(2, &[]);
    run.wait(1_000_000_000);
    thread.call(2, &[], 1, 0);
    let lines = |filter: &str| {
        let mut lines = Vec::new();
        follow(folder.path(), false, filter).poll(true, &mut |e| lines.extend(line(e))).unwrap();
        lines
    };
    assert_eq!(
        lines("runtime,cuMemAlloc"),
        ["> cudaMalloc", "  > cuMemAlloc_v2", "  < cuMemAlloc_v2 = 2 5000000ns", "< cudaMalloc = 0 5000000ns"]
    );
    assert_eq!(lines("error"), ["> cuMemAlloc_v2", "< cuMemAlloc_v2 = 2 5000000ns"]);
    assert_eq!(
        lines(">1ms,!cuMem*"),
        ["> cuInit", "< cuInit = 0 5000000ns", "> cudaMalloc", "< cudaMalloc = 0 5000000ns"]
    );
    assert_eq!(lines("lookup"), ["? cuInit by libcuda.so.1 = cuInit"]);
    let mut reader = follow(folder.path(), false, ">100ms");
    reader.poll(true, &mut |_| ()).unwrap();
    assert_eq!(reader.end().unfinished.len(), 1);
}

#[test]
fn counters_and_gaps_are_summed_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    for pid in [1, 2] {
        let mut process = run.process(pid, "/bin/prog");
        process.count(diagnostic::LATE_OBJECT, 3);
        process.count(diagnostic::COUNTERS - 1, 1);
        process.name(names::kind::GAP, diagnostic::LATE_OBJECT as u64, 0, 0, "libplugin.so", "/opt/libplugin.so");
    }
    let end = all(folder.path()).end;
    assert_eq!(
        end.diagnostics.counts.iter().map(|c| (c.reason, c.count)).collect::<Vec<_>>(),
        [(diagnostic::LATE_OBJECT, 6), (diagnostic::COUNTERS - 1, 2)]
    );
    assert_eq!(
        end.diagnostics.gaps.iter().map(|g| (g.pid, &*g.name, &*g.detail)).collect::<Vec<_>>(),
        [(1, "libplugin.so", "/opt/libplugin.so"), (2, "libplugin.so", "/opt/libplugin.so")]
    );
}
