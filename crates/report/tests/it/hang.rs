//! What a wait waits for: by streams, events, the default stream, captures, and collectives of NCCL.

use crate::support::calls::{Calls, run, word};
use cutap_calls::Layer;
use cutap_report::{EventSink, HangDocument, HangState, ThreadState};
use cutap_trace::{EventReader, ReaderOptions};
use std::path::Path;

const ONE: u64 = 0x7f00_0000_1000;
const TWO: u64 = 0x7f00_0000_2000;
const EVENT: u64 = 0x7f00_0000_3000;
const NON_BLOCKING: u64 = 1;

fn document(folder: &Path) -> HangDocument {
    let mut state = HangState::default();
    let mut reader = EventReader::open(folder, ReaderOptions::default()).unwrap();
    reader.poll(true, &mut |event| state.event(event)).unwrap();
    // No process of the run is there any more, so all of its calls are known.
    let mut end = reader.end();
    end.processes.running.clear();
    state.document("run", &end, None)
}

/// A launch, which its grid tells from others.
fn launch(c: &mut Calls, grid: u64, stream: u64) {
    c.driver("cuLaunchKernel", &[0x900, grid, 1, 1, 1, 1, 1, 0, stream, 0, 0], &[], &[]);
}

/// Begins a call that never ends.
fn begin(c: &mut Calls, name: &str, words: &[u64]) {
    c.process.slot(c.slots.into(), 1, (words.len() as u8, 0, 0), name);
    c.thread.enter(c.slots, words);
}

fn streams(c: &mut Calls, flags: u64) {
    for stream in [ONE, TWO] {
        c.driver("cuStreamCreate", &[0x10, flags], &[], &[(0x10, &word(stream))]);
    }
    c.driver("cuEventCreate", &[0x10, 0], &[], &[(0x10, &word(EVENT))]);
}

/// The grid of the oldest launch and the number of works, for each stream that the hanging call waits for.
fn waited_for(calls: impl FnOnce(&mut Calls)) -> Vec<(String, String, u64)> {
    let thread = thread(calls);
    let grid = |text: &str| match text.split_once("gridDimX=") {
        Some((_, rest)) => rest.split(',').next().unwrap().to_owned(),
        None => text.split('(').next().unwrap().to_owned(),
    };
    let waits = thread.waits_for.into_iter();
    waits.map(|wait| (wait.stream, wait.oldest.map_or(String::new(), |work| grid(&work.text)), wait.pieces)).collect()
}

fn thread(calls: impl FnOnce(&mut Calls)) -> ThreadState {
    let folder = run(12090, calls);
    let mut document = document(folder.path());
    document.processes.remove(0).threads.remove(0)
}

fn wait(stream: &str, oldest: &str, pieces: u64) -> (String, String, u64) {
    (stream.to_owned(), oldest.to_owned(), pieces)
}

#[test]
fn work_before_a_wait_that_returned_is_complete() {
    let waits = waited_for(|c| {
        streams(c, NON_BLOCKING);
        launch(c, 1, ONE);
        launch(c, 2, TWO);
        c.driver("cuStreamSynchronize", &[ONE], &[], &[]);
        launch(c, 3, ONE);
        launch(c, 4, ONE);
        begin(c, "cuStreamSynchronize", &[ONE]);
    });
    assert_eq!(waits, [wait("stream#1", "3", 2)]);
}

#[test]
fn a_query_that_succeeds_tells_as_much_as_a_wait() {
    for (status, oldest) in [(0, "2"), (600, "1")] {
        let waits = waited_for(|c| {
            streams(c, NON_BLOCKING);
            launch(c, 1, ONE);
            c.process.slot(c.slots.into(), 1, (1, 0, 0), "cuStreamQuery");
            c.thread.call(c.slots, &[ONE], 5, status);
            c.slots += 1;
            launch(c, 2, ONE);
            begin(c, "cuStreamSynchronize", &[ONE]);
        });
        assert_eq!(waits[0].1, oldest, "{status}");
    }
}

#[test]
fn an_event_stands_for_what_is_before_it() {
    let waits = waited_for(|c| {
        streams(c, NON_BLOCKING);
        launch(c, 1, ONE);
        c.driver("cuEventRecord", &[EVENT, ONE], &[], &[]);
        launch(c, 2, ONE);
        begin(c, "cuEventSynchronize", &[EVENT]);
    });
    assert_eq!(waits, [wait("stream#1", "1", 2)]);
    // No record of it was seen.
    let thread = thread(|c| {
        streams(c, NON_BLOCKING);
        begin(c, "cuEventSynchronize", &[EVENT]);
    });
    assert!(thread.waits_for[0].oldest.is_none() && thread.waits_for[0].through == ["event#1"], "{thread:?}");
}

/// Stream 2 waits for stream 1: its culprit is there, and a wait for stream 2 that returned completes both.
#[test]
fn a_stream_that_waits_for_another() {
    let both = |c: &mut Calls| {
        streams(c, NON_BLOCKING);
        launch(c, 1, ONE);
        c.driver("cuEventRecord", &[EVENT, ONE], &[], &[]);
        c.driver("cuStreamWaitEvent", &[TWO, EVENT, 0], &[], &[]);
        launch(c, 2, TWO);
    };
    let waits = waited_for(|c| {
        both(c);
        begin(c, "cuStreamSynchronize", &[TWO]);
    });
    assert_eq!(waits, [wait("stream#1", "1", 2)]);
    let waits = waited_for(|c| {
        both(c);
        c.driver("cuStreamSynchronize", &[TWO], &[], &[]);
        launch(c, 3, ONE);
        begin(c, "cuCtxSynchronize", &[]);
    });
    assert_eq!(waits, [wait("stream#1", "3", 1)]);
}

/// A blocking stream waits for the default stream, and one that does not block does not.
#[test]
fn the_order_of_the_default_stream() {
    for (flags, stream, oldest) in [(0, "default stream", "1"), (NON_BLOCKING, "stream#1", "2")] {
        let waits = waited_for(|c| {
            streams(c, flags);
            launch(c, 1, 0);
            launch(c, 2, ONE);
            begin(c, "cuStreamSynchronize", &[ONE]);
        });
        assert_eq!(waits, [wait(stream, oldest, 1)], "{flags}");
    }
}

#[test]
fn captured_launches_are_no_work() {
    let waits = waited_for(|c| {
        streams(c, NON_BLOCKING);
        c.driver("cuStreamBeginCapture_v2", &[ONE, 0], &[], &[]);
        launch(c, 1, ONE);
        c.driver("cuEventRecord", &[EVENT, ONE], &[], &[]);
        c.driver("cuStreamWaitEvent", &[TWO, EVENT, 0], &[], &[]);
        launch(c, 2, TWO);
        c.driver("cuStreamEndCapture", &[ONE, 0x20], &[], &[(0x20, &word(0x700))]);
        launch(c, 3, ONE);
        launch(c, 4, TWO);
        begin(c, "cuCtxSynchronize", &[]);
    });
    assert_eq!(waits, [wait("stream#1", "3", 1), wait("stream#2", "4", 1)]);
}

/// The host waits in a synchronisation, long after the call of NCCL has returned.
#[test]
fn the_oldest_collective() {
    let folder = run(12090, |c| {
        streams(c, NON_BLOCKING);
        c.process.library(3, Layer::LIBRARY.number(), "libnccl.so.2", 400, &[]);
        c.process.slot(400, 3, (6, 0, 1), "ncclAllReduce");
        launch(c, 1, ONE);
        c.thread.enter(400, &[0x7000, 0x7000, 1024, 7, 0, 0xd0, ONE]);
        launch(c, 2, ONE);
        c.thread.exit(0);
        // A group has no launch of this call.
        c.thread.call(400, &[0x7000, 0x7000, 2048, 7, 0, 0xd0, ONE], 5, 0);
        begin(c, "cuStreamSynchronize", &[ONE]);
    });
    let document = document(folder.path());
    let wait = &document.processes[0].threads[0].waits_for[0];
    let text = wait.collective.as_ref().map(|work| work.text.as_str());
    assert_eq!(text, Some("ncclAllReduce(count=1024, datatype=ncclFloat32, op=ncclSum)"));
    assert!(wait.oldest.as_ref().is_some_and(|work| work.text.contains("gridDimX=1,")), "{wait:?}");
    assert_eq!(wait.pieces, 3);
    let mut text = Vec::new();
    cutap_report::write_documents(&[document], &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let line = "waits for ncclAllReduce(count=1024, datatype=ncclFloat32, op=ncclSum), call 1 of comm#1";
    assert!(text.contains(&format!("\n          {line}\n")), "{text}");
}

/// How many collectives a run has in which a graph with one was captured and made executable, and then these calls.
fn collectives_after_a_graph(calls: impl FnOnce(&mut Calls)) -> usize {
    let folder = run(12090, |c| {
        streams(c, NON_BLOCKING);
        c.process.library(3, Layer::LIBRARY.number(), "libnccl.so.2", 400, &[]);
        c.process.slot(400, 3, (6, 0, 1), "ncclAllReduce");
        c.driver("cuStreamBeginCapture_v2", &[ONE, 0], &[], &[]);
        c.thread.call(400, &[0x7000, 0x7000, 1024, 7, 0, 0xd0, ONE], 5, 0);
        c.driver("cuStreamEndCapture", &[ONE, 0x10], &[], &[(0x10, &word(GRAPH))]);
        instantiate(c, GRAPH, 0x96e0);
        calls(c);
    });
    let document = document(folder.path());
    document.collectives.communicators.iter().map(|of| of.calls.len()).sum()
}

const GRAPH: u64 = 0x96a0;

fn instantiate(c: &mut Calls, graph: u64, executable: u64) {
    c.driver("cuGraphInstantiateWithFlags", &[0x10, graph, 0], &[], &[(0x10, &word(executable))]);
}

/// The driver gives the handle of a graph that was destroyed again. The executable one keeps its collectives.
#[test]
fn a_graph_has_no_collectives_of_one_with_its_handle() {
    type Makes = fn(&mut Calls);
    let captures: Makes = |c| {
        c.driver("cuStreamBeginCapture_v2", &[TWO, 0], &[], &[]);
        launch(c, 1, TWO);
        c.driver("cuStreamEndCapture", &[TWO, 0x10], &[], &[(0x10, &word(GRAPH))]);
    };
    let creates: Makes = |c| c.driver("cuGraphCreate", &[0x10, 0], &[], &[(0x10, &word(GRAPH))]);
    let clones: Makes = |c| {
        c.driver("cuGraphCreate", &[0x10, 0], &[], &[(0x10, &word(0x1000))]);
        c.driver("cuGraphClone", &[0x10, 0x1000], &[], &[(0x10, &word(GRAPH))]);
    };
    for makes in [captures, creates, clones] {
        let count = collectives_after_a_graph(|c| {
            c.driver("cuGraphDestroy", &[GRAPH], &[], &[]);
            makes(c);
            instantiate(c, GRAPH, 0x96f0);
            (0..3).for_each(|_| c.driver("cuGraphLaunch", &[0x96f0, ONE], &[], &[]));
            c.driver("cuGraphLaunch", &[0x96e0, ONE], &[], &[]);
            // So it is with the handle of an executable one.
            c.driver("cuGraphExecDestroy", &[0x96e0], &[], &[]);
            instantiate(c, GRAPH, 0x96e0);
            c.driver("cuGraphLaunch", &[0x96e0, ONE], &[], &[]);
        });
        assert_eq!(count, 1);
    }
}

/// A clone has the collectives of its graph.
#[test]
fn a_clone_of_a_graph_with_collectives() {
    let count = collectives_after_a_graph(|c| {
        c.driver("cuGraphClone", &[0x10, GRAPH], &[], &[(0x10, &word(0x1000))]);
        instantiate(c, 0x1000, 0x96f0);
        c.driver("cuGraphLaunch", &[0x96f0, ONE], &[], &[]);
    });
    assert_eq!(count, 1);
}
