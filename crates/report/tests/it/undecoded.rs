//! The lists of arguments that were not decoded.

use crate::support::fixture::words;
use crate::support::program::{decoded, decoded_json};
use cutap_trace::synthetic::Run;
use cutap_trace::{EventReader, ReaderOptions};
use serde_json::json;

#[test]
fn listed() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    for pid in [100, 200] {
        let mut process = run.process(pid, "/bin/prog");
        process.driver(&[]);
        for (slot, name) in ["cuFixtureKinds", "cuMemcpyHtoD_v2", "cuNobodyKnows", "cuMemAlloc_v2"].iter().enumerate() {
            process.slot(slot as u64, 1, (6, 0, 0), name);
        }
        let mut thread = process.thread(pid, 8);
        thread.call_with(0, &[1, 1, 9, 7, 0x100, 0x200], &[(0x100, &[0; 4])], 0, &[]);
        thread.call_with(1, &[0x7f_0000, 0x5555_555e_0000, 16, 0, 0, 0], &[], 0, &[]);
        thread.call_with(2, &[0; 6], &[], 0, &[]);
        // What a failed call has not written is not raw, nor is a new allocation.
        thread.call_with(3, &[0x10, 16, 0, 0, 0, 0], &[], 2, &[]);
        thread.call_with(3, &[0x10, 16, 0, 0, 0, 0], &[], 0, &[(0x10, &words(&[0x7f_0000]))]);
        thread.call_with(1, &[0x7f_0000, 0x5555_555e_0000, 16, 0, 0, 0], &[], 0, &[]);
        // Nor is what one that never comes back would write, but what it was given is.
        thread.enter(3, &[0x10, 16, 0, 0, 0, 0]);
        thread.enter(0, &[1, 1, 9, 7, 0x100, 0x200]);
        thread.end();
    }
    let options = ReaderOptions { tables: &cutap_trace::synthetic::tables::TABLES, ..ReaderOptions::default() };
    let mut follow = EventReader::open(folder.path(), options).unwrap();
    follow.poll(true, &mut |_| ()).unwrap();
    let report = "\
raw arguments, by function and parameter:
        6  cuFixtureKinds [libcuda.so.1]: list 2, mixed 4
calls of functions without a description:
        2  cuNobodyKnows [libcuda.so.1]
";
    assert_eq!(cutap_report::undecoded_report(&follow.end()), report);
    let text = decoded(folder.path(), "");
    let told: Vec<_> = text.lines().filter(|l| l.starts_with("cutap: arguments")).collect();
    assert_eq!(
        told,
        [
            "cutap: arguments shown as plain addresses: 6 of 1 function (cuFixtureKinds); cutap report --undecoded DIR lists all",
            "cutap: arguments shown as plain words, for nothing is known of them: 2 calls of 1 function (cuNobodyKnows)",
        ]
    );
    let end = decoded_json(folder.path(), "").pop().unwrap();
    assert_eq!(
        end["raw"][0],
        json!({"library": "libcuda.so.1", "name": "cuFixtureKinds", "calls": 4, "params": {"list": 2, "mixed": 4}})
    );
    assert_eq!(end["undescribed"], json!([{"library": "libcuda.so.1", "name": "cuNobodyKnows", "calls": 2}]));
}

/// Allocations in parts that a collector has read are unknown.
#[test]
fn missing_parts() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    for (slot, name) in ["cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuStreamSynchronize", "cuFixtureKinds"].iter().enumerate()
    {
        process.slot(slot as u64, 1, (6, 0, 0), name);
    }
    let mut thread = process.thread(100, 8);
    let options = |consume| ReaderOptions {
        consume,
        hold_back_ns: 0,
        tables: &cutap_trace::synthetic::tables::TABLES,
        ..ReaderOptions::default()
    };
    let mut collector = EventReader::open(folder.path(), options(true)).unwrap();
    thread.call_with(0, &[0x10, 16, 0, 0, 0, 0], &[], 0, &[(0x10, &words(&[0x7f_0000]))]);
    for _ in 0..200 {
        thread.call_with(1, &[0x7f_0000, 0x5555_555e_0000, 16, 0, 0, 0], &[], 0, &[]);
        collector.poll(true, &mut |_| ()).unwrap();
        collector.give_back(false);
    }
    thread.call_with(2, &[0x50_0000, 0, 0, 0, 0, 0], &[], 0, &[]);
    thread.call_with(3, &[1, 1, 9, 7, 0, 0x20_0000], &[], 0, &[]);
    thread.end();
    let mut after = EventReader::open(folder.path(), options(false)).unwrap();
    after.poll(true, &mut |_| ()).unwrap();
    let end = after.end();
    assert!(end.missing.chunks_unknown > 0);
    let report = cutap_report::undecoded_report(&end);
    assert!(
        report.starts_with("no raw arguments\nno calls of functions without a description\nparts of the trace"),
        "{report}"
    );
    assert!(report.contains("addresses of memory are not listed"), "{report}");
    let text = decoded(folder.path(), "");
    assert!(text.contains("dstDevice=0x7f0000, srcHost=0x5555555e0000, ByteCount=16)"), "{text}");
    assert!(text.contains("hStream=stream#1)"), "{text}");
}
