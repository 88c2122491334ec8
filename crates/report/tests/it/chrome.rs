//! Chrome's trace.

use crate::support::program::{CU_MEM_ALLOC, MS, decode, decoded_json, program, write};
use cutap_report::Chrome;
use cutap_trace::synthetic::Run;
use serde_json::Value;

/// In its own PID namespace each process is process 1, with thread 1.
#[test]
fn processes_with_equal_pid() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let made = |pid| {
        run.wait(MS);
        let mut process = program(&run, pid);
        let mut thread = process.thread(pid, 4);
        thread.call(CU_MEM_ALLOC, &[], 1_000, 0);
        thread.enter(CU_MEM_ALLOC, &[]);
        // A separate folder, whatever number it has.
        let other = process.path().with_file_name(format!("p{pid}-{}", run.now()));
        std::fs::rename(process.path(), other).unwrap();
        (process, thread)
    };
    let held = [1, 7, 1, 1].map(made);
    let mut bytes = Vec::new();
    write(folder.path(), "", &mut Chrome::new(&mut bytes));
    let lines: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let of = |phase: &str, field: &str| -> Vec<Value> {
        let mut all: Vec<&Value> = lines.iter().filter(|l| l["ph"] == phase).collect();
        all.sort_by_key(|l| l["ts"].as_f64().map(|ts| ts as u64));
        all.iter().map(|l| l[field].clone()).collect()
    };
    for phase in ["M", "X", "B"] {
        assert_eq!(of(phase, "pid"), [1, 7, 4_194_305, 4_194_306].map(Value::from), "{phase}: {lines:?}");
    }
    assert_eq!(of("X", "tid"), [1, 7, 1, 1].map(Value::from));
    let names: Vec<Value> = of("M", "args").into_iter().map(|args| args["name"].clone()).collect();
    assert_eq!(names, ["saxpy", "saxpy", "saxpy (process 1)", "saxpy (process 1)"].map(Value::from));
    drop(held);
}

/// Sizes, counts and targets of pointers to numbers are numbers. Addresses, handles, masks and names are text.
#[test]
fn numbers() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = program(&run, 100);
    let mut thread = process.thread(100, 4);
    let words = |all: &[u64]| all.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    thread.call_with(CU_MEM_ALLOC, &[0x7ffc, 4096], &[], 0, &[(0x7ffc, &words(&[0x7f00_0000]))]);
    thread.call_with(CU_MEM_ALLOC, &[0x7ffc, (1 << 53) + 1], &[], 2, &[]);
    let mut bytes = Vec::new();
    decode(folder.path(), "", &mut Chrome::new(&mut bytes));
    let lines: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let args: Vec<&Value> = lines.iter().filter(|l| l["ph"] == "X").map(|l| &l["args"]).collect();
    assert_eq!(args[0]["bytesize"], 4096);
    assert!(args[0]["dptr"].as_str().is_some_and(|s| s.contains("0x7f000000")), "{}", args[0]);
    assert_eq!(args[0]["cutap.result"], "CUDA_SUCCESS");
    assert_eq!(args[1]["bytesize"], "9007199254740993", "a reader of doubles would round it");
}

/// The stream of a call is a field of its JSON line and of its event.
#[test]
fn stream_of_call() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    for (slot, name) in ["cuStreamSynchronize", "cuCtxCreate_v2"].iter().enumerate() {
        process.slot(slot as u64, 1, (3, 0, 0), name);
    }
    let mut thread = process.thread(100, 4);
    thread.call_with(0, &[0x5000, 0, 0], &[], 0, &[]);
    thread.call_with(0, &[0, 0, 0], &[], 0, &[]);
    thread.call_with(1, &[0x10, 0, 0], &[], 0, &[]);
    let streams = [Value::from("stream#1"), "default stream".into(), Value::Null];
    let lines = decoded_json(folder.path(), "");
    let calls: Vec<Value> = lines.iter().filter(|l| l["type"] == "call").map(|l| l["stream"].clone()).collect();
    assert_eq!(calls, streams);
    let mut bytes = Vec::new();
    decode(folder.path(), "", &mut Chrome::new(&mut bytes));
    let events: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let events = events.iter().filter(|l| l["ph"] == "X").map(|l| l["args"]["cutap.stream"].clone());
    assert_eq!(events.collect::<Vec<_>>(), streams);
}
