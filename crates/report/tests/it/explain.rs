//! `cutap explain` on calls of chosen lengths.

use crate::support::program::MS;
use cutap_report::{EventSink, Explain};
use cutap_trace::synthetic::{Run, Thread};
use cutap_trace::{Event, EventReader, ReaderOptions};
use serde_json::Value;

const FUNCTIONS: [&str; 9] = [
    "cuLaunchKernel",
    "cuCtxSynchronize",
    "cuMemcpyHtoD_v2",
    "cuMemsetD8_v2",
    "cuLaunchHostFunc",
    "cuModuleLoadData",
    "cuMemAlloc_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceGetAttribute",
];
const LAUNCH: u32 = 0;
const WAIT: u32 = 1;
const COPY: u32 = 2;
const FILL: u32 = 3;
const HOST_FUNCTION: u32 = 4;
const LOAD: u32 = 5;
const ALLOCATE: u32 = 6;
const RETAIN: u32 = 7;
const QUERY: u32 = 8;

/// Arguments of a small copy.
const COPIED: [u64; 3] = [0x7000_0000_0000, 0x5555_0000_0000, 16];

/// Text and lines of JSON of a run with these calls.
fn explain(all: bool, calls: impl FnOnce(&Run, &mut Thread)) -> (String, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&FUNCTIONS);
    let mut thread = process.thread(100, 64);
    calls(&run, &mut thread);
    let mut explain = Explain::default();
    let mut reader = EventReader::open(folder.path(), ReaderOptions::default()).unwrap();
    reader.poll(true, &mut |event| explain.event(event)).unwrap();
    reader.end().unfinished.into_iter().for_each(|exit| explain.event(&Event::Exit(Box::new(exit))));
    let (mut text, mut json) = (Vec::new(), Vec::new());
    explain.write_text("run.cutap", false, all, &mut text).unwrap();
    explain.write_json(all, &mut json).unwrap();
    let lines = json.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    (String::from_utf8(text).unwrap(), lines.map(|line| serde_json::from_slice(line).unwrap()).collect())
}

fn rules(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter(|line| line["type"] == "finding").map(|line| line["rule"].as_str().unwrap()).collect()
}

#[test]
fn where_the_time_went() {
    let (text, lines) = explain(false, |run, thread| {
        thread.call(COPY, &[1, 2, 1 << 20], 30 * MS, 0);
        thread.call(WAIT, &[], 242 * MS, 0);
        thread.call(QUERY, &[], MS / 2, 0);
        run.wait(19 * MS);
        thread.call(ALLOCATE, &[1, 2], MS + MS / 2, 0);
    });
    let head: Vec<&str> = text.split("\n\n").next().unwrap().lines().collect();
    assert_eq!(
        head,
        [
            "where the time went, 293ms from the first call to the last:",
            "    242ms  82.6%  waiting for the device    mostly cuCtxSynchronize, 1 call",
            "     30ms  10.2%  copying and filling       mostly cuMemcpyHtoD_v2, 1 call",
            "     19ms   6.5%  outside CUDA calls",
        ]
    );
    assert_eq!(rules(&lines), ["device_waits"]);
    let waits = lines.iter().find(|line| line["activity"] == "waits").unwrap();
    assert_eq!((&waits["ns"], &waits["function"]), (&(242 * MS).into(), &"cuCtxSynchronize".into()));
}

/// A context that an allocation makes is no allocation, and a module that a launch loads no launch.
#[test]
fn what_happens_once_inside_a_call() {
    let (text, lines) = explain(false, |run, thread| {
        for n in 0..30 {
            thread.enter(ALLOCATE, &[1, 2]);
            run.wait(MS);
            if n == 0 {
                thread.call(RETAIN, &[1, 0], 400 * MS, 0);
            }
            thread.exit(0);
        }
        thread.enter(LAUNCH, &[7]);
        thread.call(LOAD, &[1, 0], 333 * MS, 0);
        thread.exit(0);
    });
    for line in
        ["  400ms  52.4%  starting and ending CUDA", "  333ms  43.6%  loading modules", "   30ms   3.9%  allocating"]
    {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(rules(&lines), ["module_loading"]);
    assert!(
        text.contains("1. Loading of modules, 333ms of 763ms (43.6%)\n   most of it in cuModuleLoadData"),
        "{text}"
    );
    // A few of the many images that any run loads.
    let (_, lines) = explain(true, |run, thread| {
        thread.call(LOAD, &[1, 0], 40 * MS, 0);
        run.wait(100 * MS);
        thread.call(QUERY, &[], 1, 0);
    });
    assert_eq!(rules(&lines), [""; 0]);
}

/// One long copy among a hundred small ones is no habit.
#[test]
fn one_slow_call_is_no_habit() {
    let copies = |slow: u64| {
        explain(false, |run, thread| {
            thread.call_with(ALLOCATE, &[0x10, 4096], &[], 0, &[(0x10, &COPIED[0].to_le_bytes())]);
            (0..99).for_each(|n| thread.call(COPY, &COPIED, if n == 50 { slow } else { 5_000 }, 0));
            thread.call(COPY, &COPIED, 5_000, 0);
            run.wait(17 * MS);
            thread.call(QUERY, &[], 1, 0);
        })
    };
    let (text, lines) = copies(12_200_000);
    let small = lines.iter().find(|line| line["rule"] == "small_copies").expect(&text);
    assert_eq!(small["cost_ns"], 495_000, "{text}");
    assert!(text.contains("without one call of 12.2ms, which took far longer than the others"), "{text}");
}

/// Whatever gives the device work counts as work between waits; a wait for nothing is left out.
#[test]
fn waits_in_a_loop() {
    for work in [LAUNCH, COPY, FILL, HOST_FUNCTION] {
        let (text, lines) = explain(true, |_, thread| {
            for n in 0..40 {
                if n % 2 == 0 {
                    thread.call(work, &[1, 2, 1 << 20], 10_000, 0);
                }
                thread.call(WAIT, &[], 20_000, 0);
            }
        });
        assert_eq!(rules(&lines), ["sync_in_loop"], "{work}: {text}");
        assert!(text.contains("20 calls from one place, 20us each"), "{text}");
    }
    // Long waits are for long work, and cost little beside it.
    let (_, lines) = explain(true, |_, thread| {
        for _ in 0..40 {
            thread.call(LAUNCH, &[1], 10_000, 0);
            thread.call(WAIT, &[], 5 * MS, 0);
        }
    });
    assert_eq!(rules(&lines), ["device_waits"]);
}

/// A program that hangs in a wait, and one that ends in another call.
#[test]
fn calls_that_never_returned() {
    let (text, lines) = explain(false, |run, thread| {
        thread.call(ALLOCATE, &[1, 2], MS, 0xffff_ffff);
        thread.enter(WAIT, &[]);
        run.wait(MS);
        thread.call(QUERY, &[], 12_000 * MS, 0);
    });
    assert!(text.contains("\n\n1. A call that never returned: cuCtxSynchronize, 12s of 12s (100.0%)\n"), "{text}");
    assert_eq!(rules(&lines)[0], "unfinished_calls");
    let (text, _) = explain(false, |_, thread| {
        thread.call(ALLOCATE, &[1, 2], MS, 0);
        thread.enter(LAUNCH, &[]);
    });
    assert!(
        text.contains("\n\n1. A call that never returned: cuLaunchKernel\n   nothing was recorded after it, "),
        "{text}"
    );
}

/// Findings that cost the same are in the order of their first calls.
#[test]
fn equal_findings_keep_their_order() {
    let slots = [WAIT, ALLOCATE, QUERY, LOAD, FILL, RETAIN];
    let (_, lines) = explain(true, |_, thread| {
        slots.iter().for_each(|slot| thread.call(*slot, &[1, 2], MS, 700));
    });
    let found = lines.iter().filter(|line| line["rule"] == "ignored_error");
    let paths: Vec<&str> = found.map(|line| line["path"][0].as_str().unwrap()).collect();
    assert_eq!(paths, slots.map(|slot| FUNCTIONS[slot as usize])[..paths.len()]);
    assert!(paths.len() > 3, "{paths:?}");
}

/// The last call of a thread counts as ignored where earlier calls of the same place were.
#[test]
fn an_ignored_error_counts_the_last_call() {
    let (text, _) = explain(true, |_, thread| (0..3).for_each(|_| thread.call(ALLOCATE, &[1, 2], MS, 700)));
    assert!(text.contains("It failed 3 times, and the thread went on with "), "{text}");
    let (_, lines) = explain(true, |_, thread| thread.call(ALLOCATE, &[1, 2], MS, 700));
    assert!(!rules(&lines).contains(&"ignored_error"), "{lines:?}");
}
