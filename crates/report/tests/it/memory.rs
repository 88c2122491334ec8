//! Memory of the driver and the runtime: addresses, sizes, lifetimes.

use crate::support::calls::{Calls, of, params, word};
use crate::support::fixture::words;
use crate::support::library::filtered;
use crate::support::library::{bytes, shown};
use crate::support::program::decoded;
use cutap_calls::Layer;
use cutap_trace::synthetic::Run;

/// The address of an allocation may be the first field of what the call writes.
#[test]
fn allocation_in_struct() {
    let folder = tempfile::tempdir().unwrap();
    let run = cutap_trace::synthetic::Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.library(3, Layer::RUNTIME.number(), "libcudart.so.13", 20, &[]);
    process.slot(20, 3, (1, 0, 3), "cudaMalloc3D");
    process.slot(21, 3, (1, 0, 0), "cudaFree");
    let mut thread = process.thread(100, 8);
    let written: Vec<u8> = [0x7f00_0000u64, 512, 100, 20].iter().flat_map(|w| w.to_le_bytes()).collect();
    thread.call_with(20, &[0x10, 100, 20, 3], &[], 0, &[(0x10, &written)]);
    thread.call_with(21, &[0x7f00_0000], &[], 0, &[]);
    thread.call_with(21, &[0x7f00_0000], &[], 0, &[]);
    let text = shown(folder.path());
    let frees: Vec<_> = text.lines().filter_map(|l| l.split_once("cudaFree(devPtr=")).map(|(_, l)| l).collect();
    assert_eq!(frees[0], "0x7f000000 [device, 30 KiB]) = cudaSuccess <1us>", "{text}");
    assert_eq!(frees[1], "0x7f000000 [freed device, 30 KiB]) = cudaSuccess <1us>", "{text}");
}

/// Rows of a pitch are as long as the pitch.
#[test]
fn pitched() {
    const AT: u64 = 0x7000_0000_0000;
    let lines = of(|c| {
        let wrote: &[(u64, &[u8])] = &[(0x10, &word(AT)), (0x20, &word(512))];
        c.driver("cuMemAllocPitch_v2", &[0x10, 0x20, 100, 16, 4], &[], wrote);
        c.driver("cuMemsetD8_v2", &[AT + 512 * 15, 0, 100], &[], &[]);
        c.driver("cuMemFree_v2", &[AT], &[], &[]);
        c.runtime("cudaMallocPitch", &[0x10, 0x20, 100, 8], &[], wrote);
        c.runtime("cudaMemset", &[AT + 512 * 7, 0, 100], &[], &[]);
        c.runtime("cudaFree", &[AT], &[], &[]);
        let pitched = bytes(&[word(AT), word(512), word(100), word(16)]);
        c.runtime("cudaMalloc3D", &[0x10, 100, 16, 3], &[], &[(0x10, &pitched)]);
        c.runtime("cudaMemset", &[AT + 512 * 47, 0, 100], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT + 512 * 48, 0, 100], &[], &[]);
    });
    assert_eq!(params(&lines, "dstDevice")[..1], ["0x700000001e00 [device, 100 B of 8 KiB, +7680 B]"]);
    assert_eq!(
        params(&lines, "devPtr")[1..],
        [
            "0x700000000e00 [device, 100 B of 4 KiB, +3584 B]",
            "0x700000000000 [device, 4 KiB]",
            "0x700000005e00 [device, 100 B of 24 KiB, +24064 B]"
        ],
        "{lines:#?}"
    );
}

/// An unknown address is marked as host memory only if the call requires host memory.
#[test]
fn unknown_address() {
    const AT: u64 = 0x7000_0000_0000;
    const HEAP: u64 = 0x5555_5555_0000;
    let lines = of(|c| {
        c.driver("cuMemcpyHtoD_v2", &[AT, AT, 8], &[], &[]);
        c.driver("cuMemcpy", &[AT, HEAP, 8], &[], &[]);
        c.driver("cuMemFreeHost", &[AT], &[], &[]);
        for kind in 0..=4 {
            c.runtime("cudaMemcpy", &[AT, AT, 8, kind], &[], &[]);
        }
        c.runtime("cudaMemset", &[AT, 0, 8], &[], &[]);
        c.runtime("cudaFree", &[AT], &[], &[]);
        c.runtime("cudaMemcpy2D", &[AT, 16, AT, 16, 8, 2, 1], &[], &[]);
    });
    let (unknown, host) = ("0x700000000000 [no known allocation]", "0x700000000000 [host]");
    assert_eq!(
        [params(&lines, "dstDevice"), params(&lines, "srcHost"), params(&lines, "p")],
        [[unknown], [host], [host]]
    );
    assert_eq!(params(&lines[1..2], "src"), ["0x555555550000 [host]"], "{lines:#?}");
    let kinds = |name| params(&lines[3..8], name);
    assert_eq!(kinds("src"), [host, host, unknown, unknown, unknown]);
    assert_eq!(kinds("dst"), [host, unknown, host, unknown, unknown]);
    assert_eq!(params(&lines[8..10], "devPtr"), [unknown, unknown]);
    assert_eq!([params(&lines[10..], "dst"), params(&lines[10..], "src")], [[unknown], [host]]);
    // All of them have a kind.
    assert!(!lines.iter().any(|l| l.contains("plain addresses")), "{lines:#?}");
}

#[test]
fn freed_managed_and_pinned() {
    const AT: u64 = 0x7000_0000_0000;
    let lines = of(|c| {
        let made: &[(u64, &[u8])] = &[(0x10, &word(AT))];
        c.driver("cuMemAllocManaged", &[0x10, 4096, 1], &[], made);
        c.driver("cuMemFree_v2", &[AT], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT + 16, 0, 16], &[], &[]);
        c.driver("cuMemAllocHost_v2", &[0x10, 4096], &[], made);
        c.driver("cuMemFreeHost", &[AT], &[], &[]);
        c.driver("cuMemcpyHtoD_v2", &[AT, AT, 8], &[], &[]);
        c.runtime("cudaMallocHost", &[0x10, 8192], &[], made);
        c.runtime("cudaFreeHost", &[AT], &[], &[]);
        c.runtime("cudaMemcpy", &[0, AT, 8, 1], &[], &[]);
        // What was the program's is so again.
        c.runtime("cudaHostRegister", &[AT, 4096, 0], &[], &[]);
        c.runtime("cudaHostUnregister", &[AT], &[], &[]);
        c.runtime("cudaMemcpy", &[0, AT, 8, 1], &[], &[]);
    });
    assert_eq!(params(&lines[1..2], "dptr"), ["0x700000000000 [managed, 4 KiB]"]);
    assert_eq!(params(&lines[2..3], "dstDevice"), ["0x700000000010 [freed managed, 16 B of 4 KiB, +16 B]"]);
    assert_eq!(params(&lines[5..6], "srcHost"), ["0x700000000000 [freed host, 8 B of 4 KiB]"]);
    assert_eq!(params(&lines[8..9], "src"), ["0x700000000000 [freed host, 8 B of 8 KiB]"]);
    assert_eq!(params(&lines[10..11], "ptr"), ["0x700000000000 [host, 4 KiB]"]);
    assert_eq!(params(&lines[11..12], "src"), ["0x700000000000 [host]"]);
}

/// Addresses are reserved, then mapped, and both end.
#[test]
fn mapped() {
    const AT: u64 = 0x7000_0000_0000;
    let lines = of(|c| {
        c.driver("cuMemAddressReserve", &[0x10, 8 << 20, 0, 0, 0], &[], &[(0x10, &word(AT))]);
        c.driver("cuMemCreate", &[0x20, 2 << 20, 0, 0], &[], &[(0x20, &word(0xa11))]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
        c.driver("cuMemMap", &[AT, 2 << 20, 0, 0xa11, 0], &[], &[]);
        c.driver("cuMemRelease", &[0xa11], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT + 16, 0, 16], &[], &[]);
        c.driver("cuMemUnmap", &[AT, 2 << 20], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
        c.driver("cuMemAddressFree", &[AT, 8 << 20], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
    });
    assert_eq!(
        params(&lines, "dstDevice"),
        [
            "0x700000000000 [reserved, 16 B of 8 MiB]",
            "0x700000000010 [mapped, 16 B of 2 MiB, +16 B, of allocation#1]",
            "0x700000000000 [reserved, 16 B of 8 MiB]",
            "0x700000000000 [freed reservation, 16 B of 8 MiB]",
        ],
        "{lines:#?}"
    );
}

#[test]
fn external() {
    const AT: u64 = 0x7000_0000_0000;
    let mut desc = [0; 88];
    desc[8..16].copy_from_slice(&word(4096));
    let lines = of(|c| {
        c.driver("cuImportExternalMemory", &[0x10, 0], &[], &[(0x10, &word(0xe0))]);
        c.driver("cuExternalMemoryGetMappedBuffer", &[0x10, 0xe0, 0x20], &[(0x20, &desc)], &[(0x10, &word(AT))]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
        c.driver("cuDestroyExternalMemory", &[0xe0], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
        c.driver("cuMemFree_v2", &[AT], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
    });
    assert_eq!(
        params(&lines, "dstDevice"),
        [
            "0x700000000000 [external, 16 B of 4 KiB, of externalMemory#1]",
            "0x700000000000 [external, 16 B of 4 KiB, of externalMemory#1 [destroyed]",
            "0x700000000000 [freed external, 16 B of 4 KiB, of externalMemory#1 [destroyed]",
        ],
        "{lines:#?}"
    );
}

/// The number of bytes is exact: the elements of the call, without rounding.
#[test]
fn copy_past_end() {
    const AT: u64 = 0x7000_0000_0000;
    let lines = of(|c| {
        c.driver("cuMemAlloc_v2", &[0x10, 2048], &[], &[(0x10, &word(AT))]);
        c.driver("cuMemsetD8_v2", &[AT + 1024, 0, 4096], &[], &[]);
        c.driver("cuMemsetD32_v2", &[AT + 2, 0, 512], &[], &[]);
        c.driver("cuMemsetD16Async", &[AT, 0, 1024, 0], &[], &[]);
        c.driver("cuMemsetD2D32_v2", &[AT, 512, 0, 10, 4], &[], &[]);
        c.driver("cuMemsetD2D8_v2", &[AT, 512, 0, 10, 5], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT + 2047, 0, 1], &[], &[]);
    });
    assert_eq!(
        params(&lines, "dstDevice"),
        [
            "0x700000000400 [device, 4 KiB of 2 KiB, +1 KiB, 3 KiB beyond the end]",
            "0x700000000002 [device, 2 KiB of 2 KiB, +2 B, 2 B beyond the end]",
            "0x700000000000 [device, 2 KiB]",
            "0x700000000000 [device, 1576 B of 2 KiB]",
            "0x700000000000 [device, 2058 B of 2 KiB, 10 B beyond the end]",
            "0x7000000007ff [device, 1 B of 2 KiB, +2047 B]",
        ],
        "{lines:#?}"
    );
}

/// A filter compares the address of a destination, not the copied bytes.
#[test]
fn copy_destination_in_filter() {
    let families = cutap_calls::generated::known::TABLES.families.iter();
    let functions: Vec<_> =
        families.filter(|f| ["driver", "runtime"].contains(&f.name)).flat_map(|f| f.functions).collect();
    for (function, param) in [
        ("cudaMemcpyAsync", "dst"),
        ("cudaMemcpy2D", "dst"),
        ("cudaMemcpyFromSymbol", "dst"),
        ("cudaMemcpyPeer", "dst"),
        ("cudaMemset2DAsync", "devPtr"),
        ("cudaMemPoolExportToShareableHandle", "shareableHandle"),
        ("cuMemcpyDtoHAsync_v2", "dstHost"),
        ("cuMemPoolExportToShareableHandle", "handle_out"),
    ] {
        let forms: Vec<_> = functions.iter().filter(|f| f.name == function).collect();
        let of = |f: &&&cutap_calls::known::Function| f.params.iter().find(|p| p.name == param).map(|p| p.dir);
        assert!(!forms.is_empty(), "{function}");
        assert!(forms.iter().all(|f| of(f) == Some(cutap_calls::known::Dir::Out)), "{function} {param}");
    }
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.runtime(2, "prog", 12090, 10, &[]);
    let thread = process.thread(100, 8);
    let mut c = Calls { process, thread, slots: 20 };
    for at in [0x7000, 0x8000] {
        c.runtime("cudaMemcpy", &[at << 32, 0, 8, 1], &[], &[]);
    }
    drop(c);
    let shown = filtered(folder.path(), "cudaMemcpy[dst=0x700000000000]");
    assert_eq!(shown.iter().filter(|l| l.contains("cudaMemcpy(")).count(), 1, "{shown:#?}");
}

/// Allocations, devices and handles from their creation to their end.
#[test]
fn lifetimes() {
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
