//! `report --allocations`: who has the memory when most is allocated.

use crate::support::calls::{Calls, run, word};
use cutap_report::{Input, REPORTS};
use cutap_trace::{EventReader, ReaderOptions};
use serde_json::Value;

const MIB: u64 = 1 << 20;
const AT: u64 = 0x7000_0000_0000;

/// The text of the report, and its lines of JSON.
fn report(calls: impl FnOnce(&mut Calls)) -> (String, Vec<Value>) {
    let folder = run(12090, calls);
    let mut report = (REPORTS.iter().find(|kind| kind.flag == "allocations").unwrap().new)("");
    let mut reader = EventReader::open(folder.path(), ReaderOptions::default()).unwrap();
    let Input::Events(sink) = report.input() else { panic!("it needs arguments") };
    reader.poll(true, &mut |event| sink.event(event)).unwrap();
    let (mut text, mut json) = (Vec::new(), Vec::new());
    match report.nothing().as_deref() {
        Some(sentence) => text.extend(sentence.bytes()),
        None => report.write_text(&reader.end(), false, &mut text).unwrap(),
    }
    report.write_json(&mut json).unwrap();
    let lines = json.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    (String::from_utf8(text).unwrap(), lines.map(|line| serde_json::from_slice(line).unwrap()).collect())
}

/// Allocates in the driver's call of a runtime's.
fn malloc(c: &mut Calls, at: u64, bytes: u64) {
    c.around(
        ("cudaMalloc", &[0x10, bytes]),
        ("cuMemAlloc_v2", &[0x20, bytes]),
        [&[(0x10, &word(at))], &[(0x20, &word(at))]],
    );
}

#[test]
fn what_is_held_is_before_what_is_freed() {
    let (text, lines) = report(|c| {
        malloc(c, AT, 512 * MIB);
        for _ in 0..20 {
            c.driver("cuMemAlloc_v2", &[0x10, 40 * MIB], &[], &[(0x10, &word(2 * AT))]);
            c.driver("cuMemFree_v2", &[2 * AT], &[], &[]);
        }
        c.driver("cuMemFree_v2", &[AT], &[], &[]);
        c.driver("cuMemAllocHost_v2", &[0x10, 3 * MIB], &[], &[(0x10, &word(3 * AT))]);
    });
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].starts_with("device memory: 552 MiB at the peak, after ") && rows[0].ends_with("; 0 B at the end"));
    assert!(
        rows[1].starts_with("host memory: 3 MiB at the peak, ") && rows[1].ends_with("; 3 MiB at the end"),
        "{text}"
    );
    assert_eq!(
        &rows[3..],
        [
            "        1    512 MiB    512 MiB    512 MiB  92.8%        0 B  \
             device memory: cudaMalloc [prog, runtime 12.9]",
            "       20    800 MiB     40 MiB     40 MiB   7.2%        0 B  device memory: cuMemAlloc_v2",
            "        1      3 MiB      3 MiB      3 MiB 100.0%      3 MiB  host memory: cuMemAllocHost_v2",
        ]
    );
    assert_eq!((&lines[1]["peak_bytes"], &lines[1]["end_bytes"]), (&(40 * MIB).into(), &0.into()), "{lines:?}");
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["allocations", "allocations", "allocations", "allocated", "allocated"]);
}

/// Addresses of memory that exists: a module's variable, the device's address of host memory, another process's memory.
#[test]
fn an_address_that_is_handed_out_is_no_allocation() {
    let (text, lines) = report(|c| {
        c.runtime("cudaGetSymbolAddress", &[0x10, 0x99], &[], &[(0x10, &word(AT))]);
        c.driver("cuModuleGetGlobal_v2", &[0x10, 0x18, 0xa0, 0], &[], &[(0x10, &word(AT)), (0x18, &word(64))]);
        c.runtime("cudaHostGetDevicePointer", &[0x10, AT, 0], &[], &[(0x10, &word(2 * AT))]);
        c.runtime("cudaIpcOpenMemHandle", &[0x10], &[], &[(0x10, &word(3 * AT))]);
    });
    assert_eq!((text.as_str(), lines.len()), ("no call allocated memory", 0));
}

/// The end of a context frees its memory.
#[test]
fn a_reset_frees() {
    let (text, _) = report(|c| {
        malloc(c, AT, MIB);
        c.runtime("cudaDeviceReset", &[], &[], &[]);
        malloc(c, AT, MIB);
    });
    assert!(text.starts_with("device memory: 1 MiB at the peak, ") && text.contains("; 1 MiB at the end\n"), "{text}");
}
