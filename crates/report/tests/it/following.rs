//! What is followed from call to call: allocations, devices, handles; what was raw; filters on arguments.

use crate::common::*;
use crate::values::words;
use cutap_trace::made::Run;
use cutap_trace::{EventReader, ReaderOptions};
use cutap_wire::names;
use serde_json::json;

#[test]
fn allocations_devices_and_handles_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    let functions = [
        "cuCtxCreate_v2",
        "cuMemAlloc_v2",
        "cuMemcpyHtoD_v2",
        "cuMemFree_v2",
        "cuStreamCreate",
        "cuStreamDestroy_v2",
        "cuStreamSynchronize",
        "cuMemHostRegister_v2",
    ];
    for (slot, name) in functions.iter().enumerate() {
        process.slot(slot as u64, 1, (3, 0, 0), name);
    }
    let mut thread = process.thread(100, 8);
    let out = |value: u64| words(&[value]);
    thread.call_with(0, &[0x10, 0, 3], &[], 0, &[(0x10, &out(0xc0de))]);
    thread.call_with(1, &[0x10, 2 << 20, 0], &[], 0, &[(0x10, &out(0x7f00_0000_0000))]);
    thread.call_with(2, &[0x7f00_0000_0000, 0x5555_555e_0000, 4096], &[], 0, &[]);
    thread.call_with(2, &[0x7f00_0000_0400, 0x5555_555e_0000, 2 << 20], &[], 0, &[]);
    thread.call_with(7, &[0x5555_555e_0000, 8192, 0], &[], 0, &[]);
    thread.call_with(3, &[0x7f00_0000_0000, 0, 0], &[], 0, &[]);
    thread.call_with(2, &[0x7f00_0000_0000, 0x5555_555e_0040, 10], &[], 0, &[]);
    thread.call_with(4, &[0x10, 5, 0], &[], 0, &[(0x10, &out(0x5000))]);
    thread.call_with(6, &[0x5000, 0, 0], &[], 0, &[]);
    thread.call_with(6, &[0x6000, 0, 0], &[], 0, &[]);
    thread.call_with(5, &[0x5000, 0, 0], &[], 0, &[]);
    thread.call_with(6, &[0x5000, 8, 0], &[], 0, &[]);
    let text = decoded(folder.path(), "");
    let ok = " = CUDA_SUCCESS <1us>";
    let lines: Vec<_> = text.lines().map(|l| l.strip_suffix(ok).unwrap_or(l)).take(12).collect();
    assert_eq!(
        lines,
        [
            "cuCtxCreate_v2(pctx=&context#1, flags=DEFAULT, dev=3)",
            "cuMemAlloc_v2(dptr=&0x7f0000000000, bytesize=2097152)",
            "cuMemcpyHtoD_v2(dstDevice=0x7f0000000000 [device 3, 4 KiB of 2 MiB], srcHost=0x5555555e0000 [host], ByteCount=4096)",
            "cuMemcpyHtoD_v2(dstDevice=0x7f0000000400 [device 3, 2 MiB of 2 MiB, +1 KiB, 1 KiB beyond the end], srcHost=0x5555555e0000 [host], ByteCount=2097152)",
            "cuMemHostRegister_v2(p=0x5555555e0000 [host], bytesize=8192)",
            "cuMemFree_v2(dptr=0x7f0000000000 [device 3, 2 MiB])",
            "cuMemcpyHtoD_v2(dstDevice=0x7f0000000000 [freed device 3, 10 B of 2 MiB], srcHost=0x5555555e0040 [host, 10 B of 8 KiB, +64 B], ByteCount=10)",
            "cuStreamCreate(phStream=&stream#1, Flags=NON_BLOCKING|BLOCK)",
            "cuStreamSynchronize(hStream=stream#1)",
            "cuStreamSynchronize(hStream=stream#2 [not seen created])",
            "cuStreamDestroy_v2(hStream=stream#1)",
            "cuStreamSynchronize(hStream=stream#1 [destroyed])",
        ]
    );
}

#[test]
fn what_was_raw_is_listed() {
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
    let options = ReaderOptions { tables: &cutap_trace::made::tables::TABLES, ..ReaderOptions::default() };
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

#[test]
fn filters_take_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    let functions = ["cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuStreamCreate", "cuCtxCreate_v2", "cuLaunchKernelEx"];
    for (slot, name) in functions.iter().enumerate() {
        process.slot(slot as u64, 1, (3, 0, 0), name);
    }
    process.name(names::kind::KERNEL_HANDLE, 0xf0, 0, 0, "_Z5saxpyifPKfPf", "");
    let mut thread = process.thread(100, 8);
    let out = |value: u64| words(&[value]);
    thread.enter(3, &[0, 0, 1]);
    thread.call_with(0, &[0x10, 2 << 30, 0], &[], 0, &[(0x10, &out(0x7f00_0000_0000))]);
    thread.call_with(0, &[0x10, 4096, 0], &[], 0, &[(0x10, &out(0x6000_0000))]);
    thread.exit(0);
    thread.call_with(1, &[0x7f00_0000_1000, 0x5555_555e_0000, 4096], &[], 0, &[]);
    thread.call_with(2, &[0x10, 1, 0], &[], 0, &[(0x10, &out(0x5000))]);
    thread.call_with(2, &[0x10, 6, 0], &[], 1, &[]);
    thread.call_with(2, &[0, 0, 0], &[], 1, &[]);
    let mut config = words(&[0x2_0000_0001]);
    config.extend([3, 0, 0, 0]);
    config.extend(words(&[0x900, 9 << 32 | 1]));
    let attributes = words(&[1, 0x2_0000_0002, 2]);
    thread.call_with(4, &[0x100, 0xf0, 0], &[(0x100, &config), (0x900, &attributes)], 0, &[]);
    let names = |filter: &str| {
        let text = decoded(folder.path(), filter);
        let lines = text.lines().filter(|l| !l.starts_with("cutap: ") && !l.starts_with('}'));
        lines.map(|l| l.split(['=', '{']).next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let whole = |filter: &str| decoded(folder.path(), filter).lines().next().unwrap().to_owned();
    assert_eq!(names("cuMemAlloc*[bytesize>1GiB]").len(), 1);
    assert_eq!(names("cuMemAlloc[bytesize>=4KiB]").len(), 2);
    assert_eq!(names("cuMemAlloc[bytesize<4096]"), [""; 0]);
    // Known only when the call has ended: it stands behind nothing, at its own depth.
    assert_eq!(
        whole("cuMemAlloc*[dptr=0x7f0000000000]"),
        "cuMemAlloc_v2(dptr=&0x7f0000000000, bytesize=2147483648) = CUDA_SUCCESS <1us>"
    );
    // What is not shown has been looked at.
    let copy = "cuMemcpyHtoD_v2(dstDevice=0x7f0000001000 [device, 4 KiB of 2 GiB, +4 KiB], srcHost=0x5555555e0000 [host], \
                ByteCount=4096) = CUDA_SUCCESS <1us>";
    assert_eq!(whole("cuMem*[srcHost=0x5555555e0000]"), copy);
    assert_eq!(names("cuStreamCreate[Flags=NON*]").len(), 1);
    assert_eq!(names("cuStreamCreate[Flags=SPIN, phStream=NULL]").len(), 0);
    assert_eq!(names("cuStreamCreate[phStream=NULL]").len(), 1, "nowhere to write to");
    assert_eq!(names("cuStreamCreate[Flags=SPIN],cuMemcpy*").len(), 2);
    assert_eq!(names("cuMem*,!cuMemAlloc*[bytesize=4096]").len(), 2);
    assert_eq!(names("!cuMemAlloc*[bytesize!=0]").len(), 6);
    assert_eq!(names("!cuMemAlloc*[dptr=NULL],error").len(), 2);
    assert_eq!(names("cuLaunch*[kernel=saxpy*]").len(), 1);
    assert_eq!(names("cuLaunch*[kernel=axpy*]").len(), 0);
    assert_eq!(names("cuLaunch*[config.gridDim.z=3]").len(), 1);
    assert_eq!(names("cuLaunch*[config.priority=9, config.nothing=1]").len(), 0);
    assert_eq!(names("cuLaunch*[config.attrs.0.cluster.x=2]").len(), 1);
    // Shown calls stand in their tree; those left out leave no step in it.
    assert_eq!(
        names("driver,!cuCtxCreate*[dev=1],!cuStream*"),
        ["cuMemAlloc_v2(dptr", "cuMemAlloc_v2(dptr", "cuMemcpyHtoD_v2(dstDevice", "cuLaunchKernelEx(config"]
    );
    assert_eq!(names("cuCtxCreate*[dev=1],cuMemAlloc*")[1], "  cuMemAlloc_v2(dptr");
    let told = |filter: &str| decoded(folder.path(), filter).lines().next().unwrap().to_owned();
    assert_eq!(
        told("cuMemAlloc*[bytesize>1TiB]"),
        "cutap: nothing matched the filter cuMemAlloc*[bytesize>1TiB]; 8 calls were seen and left out"
    );
}

/// Of what a collector has read and given back nobody knows the allocations.
#[test]
fn what_was_raw_where_parts_are_missing() {
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
        tables: &cutap_trace::made::tables::TABLES,
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
    assert!(end.chunks_unknown > 0);
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
