//! What a terminal shows of many calls: which are one line, and that none is lost.

use crate::support::program::MS;
use cutap_report::{Fold, Output, Text, TextFormat};
use cutap_trace::synthetic::{Run, Thread};
use cutap_trace::{End, Event, EventReader, Filter, ReaderOptions};
use std::path::Path;

const TERMINAL: TextFormat = TextFormat {
    width: Some(120),
    abbreviate: true,
    texts: None,
    fold: true,
    brief: true,
    legend: false,
    is_past: true,
    time: cutap_report::TimeColumn::None,
    utc_offset: 0,
    notes: Some(5),
};

/// Slots of `program`.
const LOOK_UP: u32 = 0;
const ALLOCATE: u32 = 1;
const DEVICE: u32 = 2;
const MALLOC: u32 = 10;
const GET_DEVICE: u32 = 11;
const SYNCHRONIZE: u32 = 12;
const MULTIPLY: u32 = 20;
const SET: u32 = 21;

fn events(folder: &Path) -> (Vec<Event>, End) {
    let mut reader = EventReader::open(folder, ReaderOptions::default()).unwrap();
    let mut events = Vec::new();
    reader.poll(true, &mut |event| events.push(event.clone())).unwrap();
    (events, reader.end())
}

fn written(events: &[Event], end: &End, format: TextFormat) -> String {
    let mut fold = Fold::new(Text::new(Vec::new(), false).with_format(format));
    events.iter().for_each(|event| fold.event(event).unwrap());
    fold.end(end).unwrap();
    String::from_utf8(fold.get_ref().clone()).unwrap()
}

/// The lines of a program on a terminal, without those of cutap that are not about folded calls.
fn shown(make: impl Fn(&Run, &mut Thread)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/tmp/app");
    process.driver(&["cuGetProcAddress_v2", "cuMemAlloc_v2", "cuCtxGetDevice_v2"]);
    process.runtime(2, "app", 12090, 10, &["cudaMalloc", "cudaGetDevice", "cudaDeviceSynchronize"]);
    process.library(
        3,
        cutap_calls::Layer::LIBRARY.number(),
        "libcublas.so.13",
        20,
        &["cublasSgemm_v2", "cublasSetStream_v2"],
    );
    let mut thread = process.thread(100, 8);
    make(&run, &mut thread);
    let (events, end) = events(folder.path());
    let text = written(&events, &end, TERMINAL);
    let lines = text.lines().filter(|line| !line.starts_with("cutap:") || line.contains("folded"));
    lines.map(str::to_owned).collect()
}

/// A call of the runtime with calls of the driver inside.
fn around(thread: &mut Thread, slot: u32, inside: &[(u32, u64)], result: u64) {
    thread.enter(slot, &[0x7ffd_0000_0000, 4096]);
    inside.iter().for_each(|(slot, result)| thread.call(*slot, &[0x7ffd_0000_0008, 4096], 1000, *result));
    thread.exit(result);
}

#[test]
fn a_pair_that_failed_together_is_one_error() {
    let lines = shown(|_, thread| around(thread, MALLOC, &[(ALLOCATE, 2)], 2));
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("cudaErrorMemoryAllocation !"), "{lines:#?}");
    assert!(lines[0].ends_with("{cuMemAlloc_v2 = CUDA_ERROR_OUT_OF_MEMORY}"), "{lines:#?}");
}

/// Each failure of the outermost call has its line, however often it comes.
#[test]
fn errors_are_never_folded_away() {
    let lines = shown(|_, thread| (0..30).for_each(|_| around(thread, MALLOC, &[(ALLOCATE, 2)], 2)));
    assert_eq!(lines.iter().filter(|line| line.contains('!')).count(), 30, "{lines:#?}");
    let lines = shown(|_, thread| (0..30).for_each(|_| thread.call(ALLOCATE, &[1, 1], 10, 2)));
    assert_eq!(lines.iter().filter(|line| line.contains('!')).count(), 30, "{lines:#?}");
    // A look-up that fails is no start-up call.
    let lines = shown(|_, thread| (0..30).for_each(|n| thread.call(LOOK_UP, &[1, 1], 10, u64::from(n == 9))));
    assert!(lines.iter().any(|line| line.contains("cuGetProcAddress_v2") && line.contains('!')), "{lines:#?}");
}

/// The driver refuses and the runtime answers: once in full, and the end counts the others.
#[test]
fn errors_inside_calls_that_succeeded_are_counted() {
    let lines = shown(|_, thread| (0..5).for_each(|_| around(thread, GET_DEVICE, &[(DEVICE, 201)], 0)));
    assert!(lines[0].ends_with("{cuCtxGetDevice_v2 = CUDA_ERROR_INVALID_CONTEXT}"), "{lines:#?}");
    assert!(lines[1].contains("9 calls are folded") && lines[1].contains("5 of them failed inside"), "{lines:#?}");
}

/// Look-ups are one line in a library's call, and inside a call of the runtime they are words of its line.
#[test]
fn look_ups_fold_at_any_depth() {
    let lines = shown(|_, thread| {
        (0..40).for_each(|_| thread.call(LOOK_UP, &[1], 10, 0));
        thread.enter(MULTIPLY, &[1]);
        (0..50).for_each(|_| thread.call(LOOK_UP, &[1], 10, 0));
        around(thread, MALLOC, &[(ALLOCATE, 0)], 0);
        thread.enter(MULTIPLY, &[1]);
        (0..60).for_each(|_| thread.call(LOOK_UP, &[1], 10, 0));
        thread.exit(0);
        thread.exit(0);
        let mut inside = vec![(LOOK_UP, 0); 512];
        inside.push((ALLOCATE, 0));
        around(thread, MALLOC, &inside, 0);
    });
    let starts: Vec<&str> = lines.iter().map(|line| line.split(", ").next().unwrap()).collect();
    assert_eq!(starts[0], "40 start-up calls", "{lines:#?}");
    assert!(starts[2].starts_with("  50 start-up calls of runtime 12.9 in app"), "{lines:#?}");
    assert_eq!(starts[5], "    60 start-up calls", "{lines:#?}");
    assert!(lines[8].ends_with("<513us> {cuMemAlloc_v2, 512 start-up calls}"), "{lines:#?}");
    assert!(lines[9].starts_with("cutap: 664 calls are folded: cuGetProcAddress_v2 ×662"), "{lines:#?}");
}

#[test]
fn settings_of_a_library_are_one_line() {
    let lines = shown(|_, thread| {
        (0..2).for_each(|_| thread.call(SET, &[1, 2], 500, 0));
        thread.call(ALLOCATE, &[1, 2], 500, 0);
        (0..7).for_each(|_| thread.call(SET, &[1, 2], 500, 0));
    });
    assert_eq!(lines[0..2].iter().filter(|line| line.starts_with("cublasSetStream_v2(")).count(), 2, "{lines:#?}");
    assert_eq!(lines[3], "cublasSetStream_v2 ×7, 3.5us (-a shows them)");
}

/// A loop is printed once, then counted; what differs in it is printed.
#[test]
fn steps_of_a_loop() {
    let lines = shown(|_, thread| {
        for step in 0..20 {
            (0..3u64).for_each(|n| thread.call(ALLOCATE, &[0, 4096 << n], 500, 0));
            around(thread, MALLOC, &[(ALLOCATE, 0)], 0);
            around(thread, SYNCHRONIZE, &[], 0);
            if step == 9 {
                thread.call(ALLOCATE, &[0, 1], 500, 2);
            }
        }
    });
    assert_eq!(lines.len(), 14, "{lines:#?}");
    assert!(lines[5].starts_with("… the 5 lines above 9 more times: cuMemAlloc_v2 ×27, "), "{lines:#?}");
    assert!(lines[6].contains("CUDA_ERROR_OUT_OF_MEMORY !"), "{lines:#?}");
    assert!(lines[12].starts_with("… the 5 lines above 9 more times"), "{lines:#?}");
}

/// A live trace says which call the program waits in, and what came before.
#[test]
fn a_call_that_hangs_is_printed_while_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/tmp/app");
    process.driver(&["cuGetProcAddress_v2", "cuMemAlloc_v2"]);
    process.runtime(2, "app", 12090, 10, &["cudaMalloc"]);
    let mut thread = process.thread(100, 8);
    (0..9).for_each(|_| around(&mut thread, MALLOC, &[(ALLOCATE, 0)], 0));
    thread.enter(MALLOC, &[1, 2]);
    (0..9).for_each(|_| thread.call(LOOK_UP, &[1], 10, 0));
    thread.enter(ALLOCATE, &[1, 2]);
    run.wait(2000 * MS);
    let (events, _) = events(folder.path());
    let mut fold = Fold::new(Text::new(Vec::new(), false).with_format(TextFormat { is_past: false, ..TERMINAL }));
    events.iter().for_each(|event| fold.event(event).unwrap());
    fold.tick(run.now()).unwrap();
    let text = String::from_utf8(fold.get_ref().clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("… the line above 8 more times"), "{text}");
    assert!(lines[2].starts_with("cudaMalloc(") && lines[2].ends_with('{'), "{text}");
    assert!(lines[3].starts_with("  9 start-up calls"), "{text}");
    assert!(lines[4].starts_with("  cuMemAlloc_v2(") && lines[4].ends_with('{'), "{text}");
}

/// Six steps of PyTorch on an H200. The whole start, one step, and what differs.
#[test]
fn a_training_fits_on_a_few_screens() {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/demo/training.cutap");
    let mut reader =
        EventReader::open(&recording, ReaderOptions { filter: Filter::default(), ..ReaderOptions::default() }).unwrap();
    let mut events = Vec::new();
    reader.poll(true, &mut |event| events.push(event.clone())).unwrap();
    let end = reader.end();
    for width in [100, 120, 200] {
        let text = written(&events, &end, TextFormat { width: Some(width), ..TERMINAL });
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("cutap:")).collect();
        assert!(lines.len() < 160, "{}: {text}", lines.len());
        let too_long: Vec<&&str> = lines.iter().filter(|line| line.chars().count() > width).collect();
        assert!(too_long.is_empty(), "{too_long:#?}");
        let launches: Vec<&&str> = lines.iter().filter(|line| line.contains("<<<")).collect();
        assert!(launches.len() > 30, "{text}");
        for line in launches {
            let kernel =
                line.split_once("aunchKernel").and_then(|(_, rest)| rest.split_once(' ')?.1.split_once(" <<<"));
            let name = kernel.map_or("", |(name, _)| name).split(['<', '…']).next().unwrap();
            assert!(name.len() >= 7 && line.contains(">>> stream 0"), "{line}");
        }
    }
    // Calls of the outermost level that failed are all there.
    let failed = |event: &&Event| matches!(event, Event::Exit(exit) if exit.is_error() && exit.call.depth == 0);
    let text = written(&events, &end, TERMINAL);
    assert_eq!(text.matches(" ! <").count(), events.iter().filter(failed).count(), "{text}");
}
