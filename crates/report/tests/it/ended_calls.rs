//! Which calls a flight recorder need not keep for later ones.

use crate::support::calls::{Calls, run, word};
use cutap_report::EndedCalls;
use cutap_trace::{EventReader, ReaderOptions};

const STREAM: u64 = 0x50_0010;
const AT: u64 = 0x7000_0000_0000;

/// The numbers of the calls that are of no use any more.
fn ended(calls: impl FnOnce(&mut Calls)) -> Vec<u32> {
    let folder = run(12090, calls);
    let mut ended_calls = EndedCalls::default();
    let mut follow = EventReader::open(folder.path(), ReaderOptions::default()).unwrap();
    follow.poll(true, &mut |event| event.visit(&mut ended_calls)).unwrap();
    let mut numbers: Vec<u32> = ended_calls.ended_calls().map(|place| place.number).collect();
    numbers.sort_unstable();
    numbers
}

fn writes(c: &mut Calls, name: &str, words: &[u64], value: u64) {
    c.driver(name, words, &[], &[(0x10, &word(value))]);
}

#[test]
fn memory_and_modules() {
    let ended_numbers = ended(|c| {
        writes(c, "cuMemAlloc_v2", &[0x10, 1000], AT);
        writes(c, "cuMemAlloc_v2", &[0x10, 1000], AT + 4096);
        c.driver("cuMemFree_v2", &[AT], &[], &[]);
        writes(c, "cuModuleLoadData", &[0x10, 0x20], 0xa0);
        writes(c, "cuModuleGetFunction", &[0x10, 0xa0, 0], 0xb0);
        writes(c, "cuModuleLoadData", &[0x10, 0x20], 0xa8);
        c.driver("cuModuleUnload", &[0xa0], &[], &[]);
        // Its allocation is not known here.
        c.driver("cuMemFree_v2", &[AT + 8192], &[], &[]);
    });
    assert_eq!(ended_numbers, [0, 2, 3, 4, 6]);
}

#[test]
fn graphs_end_together() {
    let captured = |c: &mut Calls| {
        c.driver("cuStreamBeginCapture_v2", &[STREAM, 0], &[], &[]);
        c.driver("cuMemsetD8Async", &[AT, 0, 16, STREAM], &[], &[]);
        c.driver("cuStreamEndCapture", &[STREAM, 0x10], &[], &[(0x10, &word(0x96a0))]);
        writes(c, "cuGraphInstantiateWithFlags", &[0x10, 0x96a0, 0], 0x96e0);
        c.driver("cuGraphDestroy", &[0x96a0], &[], &[]);
    };
    assert!(ended(captured).is_empty(), "the executable graph is launched later");
    let all = ended(|c| {
        captured(c);
        c.driver("cuGraphExecDestroy", &[0x96e0], &[], &[]);
    });
    assert_eq!(all, [0, 1, 2, 3, 4, 5]);
    let child_of_another = |c: &mut Calls| {
        writes(c, "cuGraphCreate", &[0x10, 0], 0x97a0);
        captured(c);
        writes(c, "cuGraphClone", &[0x10, 0x97a0], 0x98a0);
        c.driver("cuGraphAddChildGraphNode", &[0x20, 0x98a0, 0, 0, 0x96e8], &[], &[]);
        c.driver("cuGraphDestroy", &[0x97a0], &[], &[]);
        c.driver("cuGraphExecDestroy", &[0x96e0], &[], &[]);
    };
    assert_eq!(ended(child_of_another), [1, 2, 3, 4, 5, 9], "the copy lives");
}

/// What is made while a capture is open lives longer than its graph.
#[test]
fn memory_that_is_allocated_in_a_capture() {
    let ended_numbers = ended(|c| {
        c.driver("cuStreamBeginCapture_v2", &[STREAM, 0], &[], &[]);
        writes(c, "cuMemAlloc_v2", &[0x10, 1000], AT);
        c.driver("cuStreamEndCapture", &[STREAM, 0x10], &[], &[(0x10, &word(0x96a0))]);
        c.driver("cuGraphDestroy", &[0x96a0], &[], &[]);
    });
    assert_eq!(ended_numbers, [0, 2, 3]);
}

#[test]
fn contexts_that_are_set_again() {
    let ended_numbers = ended(|c| {
        c.driver("cuCtxSetCurrent", &[0xc10], &[], &[]);
        c.driver("cuCtxSetCurrent", &[0xc20], &[], &[]);
        writes(c, "cuMemAlloc_v2", &[0x10, 1000], AT);
        c.driver("cuCtxPushCurrent_v2", &[0xc10], &[], &[]);
        c.driver("cuCtxPopCurrent_v2", &[0x10], &[], &[]);
        c.driver("cuCtxSetCurrent", &[0xc10], &[], &[]);
    });
    assert_eq!(ended_numbers, [0, 3, 4]);
}
