//! Memory, lengths and handles in calls of the driver and the runtime, as the real tables read them.

use crate::libraries::{bytes, lines, shown};
use cutap_report::Output;
use cutap_trace::made::{Process, Run, Thread};
use cutap_trace::{Filter, Follow, FollowOptions};

/// Calls of the driver and of a runtime.
pub struct Calls {
    pub process: Process,
    pub thread: Thread,
    slots: u32,
}

impl Calls {
    /// A call of the driver with these words, the first six in registers.
    pub fn driver(&mut self, name: &str, words: &[u64], before: &[(u64, &[u8])], after: &[(u64, &[u8])]) {
        let registers = words.len().min(6);
        let shape = (registers as u8, 0, (words.len() - registers) as u8);
        self.process.slot(self.slots.into(), 1, shape, name);
        self.call(words, before, after);
    }

    /// A call of the runtime, in words of its parameter block.
    pub fn runtime(&mut self, name: &str, words: &[u64], before: &[(u64, &[u8])], after: &[(u64, &[u8])]) {
        self.process.runtime_slot(self.slots.into(), 2, words.len() as u64, name);
        self.call(words, before, after);
    }

    fn call(&mut self, words: &[u64], before: &[(u64, &[u8])], after: &[(u64, &[u8])]) {
        self.thread.call_with(self.slots, words, before, 0, after);
        self.slots += 1;
    }
}

/// What is printed of the calls.
pub fn of(calls: impl FnOnce(&mut Calls)) -> Vec<String> {
    of_version(12090, calls)
}

/// The same with a runtime of this version.
pub fn of_version(version: u64, calls: impl FnOnce(&mut Calls)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "prog", version, 10, &[]);
    let thread = process.thread(100, 8);
    let mut all = Calls { process, thread, slots: 20 };
    calls(&mut all);
    drop(all);
    let text = shown(folder.path());
    text.lines().map(|l| l.strip_suffix(" <1us>").unwrap_or(l).to_owned()).collect()
}

/// Some word as memory.
pub fn word(n: u64) -> [u8; 8] {
    n.to_le_bytes()
}

/// The part of each line that names a parameter, up to the next one.
pub fn params(lines: &[String], name: &str) -> Vec<String> {
    let of = |l: &String| {
        let at = l.find(&format!("{name}="))? + name.len() + 1;
        let rest = &l[at..];
        // A place has commas of its own.
        let inner = rest.find('[').filter(|b| rest.find(", ").is_none_or(|c| *b < c));
        let end = inner.and_then(|b| rest[b..].find(']').map(|e| b + e + 1)).or(rest.find(", ")).or(rest.find(')'))?;
        Some(rest[..end].to_owned())
    };
    lines.iter().filter_map(of).collect()
}

/// Rows of a pitch are as long as the pitch.
#[test]
fn pitched_memory() {
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

/// Offsets of rows are one more than there are rows.
#[test]
fn offsets_of_rows() {
    let rows = bytes(&[0u32, 2, 3, 5].map(u32::to_le_bytes));
    let lines = lines("libcusolver.so.11", |l| {
        let words = [0xc0, 3, 5, 0xd0, 0, 0x10, 0, 0, 0, 0, 0, 0];
        l.call("cusolverSpScsrlsvluHost", &words, &[(0x10, &rows)], &[]);
        l.call("cusolverSpScsrlsvqrHost", &words, &[(0x10, &rows)], &[]);
        l.call("cusolverSpScsrlsvcholHost", &words, &[(0x10, &rows)], &[]);
        l.call(
            "cusolverRfSetupHost",
            &[3, 5, 0x10, 0, 0, 0, 0x10, 0, 0, 0, 0x10, 0, 0, 0, 0, 0xf0],
            &[(0x10, &rows)],
            &[],
        );
    });
    let all: Vec<String> =
        ["csrRowPtrA", "csrRowPtr", "csrRowPtrL", "csrRowPtrU"].iter().flat_map(|n| params(&lines, n)).collect();
    assert_eq!(all, ["[0, 2, 3, 5]"; 6], "{lines:#?}");
}

/// An address of which nothing is known is called the host's only where the call means so.
#[test]
fn addresses_that_nobody_knows() {
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
fn managed_and_page_locked_memory_that_was_freed() {
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
fn addresses_that_are_mapped() {
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

/// Memory of a graph has its address from the node on, is freed by whatever frees it, and comes again.
#[test]
fn memory_of_graphs() {
    const AT: u64 = 0x7000_0000_0000;
    let mut node = [0; 120];
    node[104..112].copy_from_slice(&word(4096));
    let given = node;
    node[112..].copy_from_slice(&word(AT));
    let lines = of(|c| {
        c.driver("cuGraphCreate", &[0x10, 0], &[], &[(0x10, &word(0x96a0))]);
        c.driver("cuGraphAddMemAllocNode", &[0x10, 0x96a0, 0, 0, 0x20], &[(0x20, &given)], &[(0x20, &node)]);
        c.driver("cuMemsetD8_v2", &[AT + 16, 0, 16], &[], &[]);
        c.driver("cuGraphInstantiateWithFlags", &[0x10, 0x96a0, 0], &[], &[(0x10, &word(0x96e0))]);
        c.driver("cuMemFree_v2", &[AT], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
        c.driver("cuGraphLaunch", &[0x96e0, 0], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
        c.driver("cuGraphAddMemFreeNode", &[0x10, 0x96a0, 0, 0, AT], &[], &[]);
        c.driver("cuGraphLaunch", &[0x96e0, 0], &[], &[]);
        c.driver("cuMemsetD8_v2", &[AT, 0, 16], &[], &[]);
    });
    assert!(lines[1].contains("bytesize=4096, dptr=0x700000000000}"), "{lines:#?}");
    assert_eq!(
        params(&lines, "dstDevice"),
        [
            "0x700000000010 [graph memory, 16 B of 4 KiB, +16 B]",
            "0x700000000000 [freed graph memory, 16 B of 4 KiB]",
            "0x700000000000 [graph memory, 16 B of 4 KiB]",
            "0x700000000000 [freed graph memory, 16 B of 4 KiB]",
        ],
        "{lines:#?}"
    );
}

#[test]
fn memory_of_other_interfaces() {
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

/// Bytes are as many as the elements have, and none is rounded away.
#[test]
fn copies_beyond_the_end() {
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

/// What has ended keeps its name until it is handed out anew.
#[test]
fn handles_that_have_ended() {
    let lines = of(|c| {
        c.driver("cuCtxCreate_v2", &[0x10, 0, 0], &[], &[(0x10, &word(0xc00010))]);
        c.driver("cuCtxDestroy_v2", &[0xc00010], &[], &[]);
        c.driver("cuCtxSetCurrent", &[0xc00010], &[], &[]);
        c.driver("cuCtxCreate_v2", &[0x10, 0, 0], &[], &[(0x10, &word(0xc00010))]);
        c.driver("cuCtxSetCurrent", &[0xc00010], &[], &[]);
        c.driver("cuModuleLoad", &[0x10, 0], &[], &[(0x10, &word(0x300010))]);
        c.driver("cuModuleUnload", &[0x300010], &[], &[]);
        c.driver("cuModuleUnload", &[0x300010], &[], &[]);
        // One that a runtime has loaded, by a table that nobody sees.
        c.driver("cuModuleUnload", &[0x300020], &[], &[]);
        c.driver("cuMemCreate", &[0x10, 4096, 0, 0], &[], &[(0x10, &word(0xa00010))]);
        c.driver("cuMemRetainAllocationHandle", &[0x10, 0x7000_0000_0000], &[], &[(0x10, &word(0xa00010))]);
        for _ in 0..3 {
            c.driver("cuMemRelease", &[0xa00010], &[], &[]);
        }
    });
    let names = ["context#", "module#", "allocation#"].map(|short| {
        let of = |l: &String| Some(l[l.find(short)?..].split([')', ',']).next()?.to_owned());
        lines.iter().filter_map(of).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(
        names,
        [
            "context#1 context#1 context#1 [destroyed] context#2 context#2",
            "module#1 module#1 module#1 [destroyed] module#2",
            "allocation#1 allocation#1 allocation#1 allocation#1 allocation#1 [destroyed]",
        ],
        "{lines:#?}"
    );
}

/// Names of handles, and what is known of memory, do not depend on what is shown of a recording.
#[test]
fn names_do_not_depend_on_what_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut page = vec![0u8; cutap_wire::PAGE];
    page[..8].copy_from_slice(&cutap_wire::MAGIC.to_le_bytes());
    page[8..12].copy_from_slice(&cutap_wire::VERSION.to_le_bytes());
    std::fs::write(folder.path().join(cutap_wire::control::FILE), &page).unwrap();
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "prog", 12090, 10, &[]);
    let thread = process.thread(100, 8);
    let mut c = Calls { process, thread, slots: 20 };
    c.driver("cuStreamCreate", &[0x10, 0], &[], &[(0x10, &word(0x500010))]);
    c.runtime("cudaStreamCreate", &[0x10], &[], &[(0x10, &word(0x500020))]);
    c.driver("cuStreamDestroy_v2", &[0x500020], &[], &[]);
    c.runtime("cudaStreamSynchronize", &[0x500020], &[], &[]);
    c.runtime("cudaMemset", &[0x7000_0000_0000, 0, 8], &[], &[]);
    drop(c);
    let all = filtered(folder.path(), "");
    let runtime: Vec<_> = all.into_iter().filter(|l| l.contains("cudaStream") || l.contains("cudaMemset")).collect();
    assert!(runtime[1].contains("(stream=stream#2 [destroyed])"), "{runtime:#?}");
    assert!(runtime[2].contains("[no known allocation]"), "{runtime:#?}");
    let shown = filtered(folder.path(), "!driver");
    assert_eq!(shown[..3], runtime);
}

fn filtered(run: &std::path::Path, filter: &str) -> Vec<String> {
    let mut output = cutap_report::Text::new(Vec::new(), false);
    let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(filter).unwrap() };
    let options = FollowOptions { filter, ..FollowOptions::default() };
    Follow::open(run, options).unwrap().poll(true, &mut |e| output.event(e).unwrap()).unwrap();
    String::from_utf8(output.get_ref().clone()).unwrap().lines().map(str::to_owned).collect()
}

/// A parameter that is larger than a record does not hide those behind it.
#[test]
fn kernels_with_large_parameters() {
    let sizes = [(0, 4000), (4000, 8), (4008, 4)];
    let mut kept: Vec<u8> = (1..=32u64).flat_map(word).collect();
    kept.extend(word(0x7000_0000_0000));
    kept.extend(7u32.to_le_bytes());
    let whole = kept[..8].to_vec();
    let lines = of(|c| {
        c.process.kernel_parameters(0x700010, &sizes);
        c.process.kernel_parameters(0x700020, &[(0, 4000)]);
        c.process.kernel_parameters(0x700030, &[(0, 8), (8, 4)]);
        let launch = |f: u64| [f, 1, 1, 1, 1, 1, 1, 0, 0, 0x20, 0];
        c.driver("cuLaunchKernel", &launch(0x700010), &[(0x20, &kept)], &[]);
        // As an older cutap kept it: the beginning, and nothing behind.
        c.driver("cuLaunchKernel", &launch(0x700020), &[(0x20, &whole)], &[]);
        c.driver("cuLaunchKernel", &launch(0x700030), &[(0x20, &kept[256..])], &[]);
    });
    let all: Vec<&str> =
        lines.iter().filter_map(|l| l.split_once("kernelParams=")?.1.split_once(", extra")).map(|l| l.0).collect();
    assert_eq!(
        all,
        [
            "{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, ...+3872 bytes}, 0x700000000000, 7}",
            "{{1, ...+3992 bytes}}",
            "{0x700000000000, 7}",
        ],
        "{lines:#?}"
    );
}

/// Of external semaphores all are shown, in calls and in nodes.
#[test]
fn external_semaphores() {
    let handles = bytes(&[word(0xe0), word(0xe1)]);
    let mut signals = vec![0; 288];
    signals[0] = 5;
    signals[144] = 6;
    let node: Vec<u8> = bytes(&[word(0x20), word(0x40), word(2)]);
    let mut general = vec![0; 256];
    general[0] = 8; // CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
    general[16..40].copy_from_slice(&node);
    let lines = of(|c| {
        let memory: &[(u64, &[u8])] = &[(0x20, &handles), (0x40, &signals), (0x60, &node), (0x80, &general)];
        c.driver("cuSignalExternalSemaphoresAsync", &[0x20, 0x40, 2, 0], memory, &[]);
        c.driver("cuWaitExternalSemaphoresAsync", &[0x20, 0x40, 2, 0], memory, &[]);
        c.driver("cuGraphAddExternalSemaphoresSignalNode", &[0x10, 0x96a0, 0, 0, 0x60], memory, &[]);
        c.driver("cuGraphAddExternalSemaphoresWaitNode", &[0x10, 0x96a0, 0, 0, 0x60], memory, &[]);
        c.driver("cuGraphAddNode", &[0x10, 0x96a0, 0, 0, 0x80], memory, memory);
        c.runtime("cudaGraphAddExternalSemaphoresSignalNode", &[0x10, 0x96a0, 0, 0, 0x60], memory, &[]);
        // What was not kept is raw.
        c.driver("cuGraphAddExternalSemaphoresSignalNode", &[0x10, 0x96a0, 0, 0, 0x60], &[(0x60, &node)], &[]);
    });
    for line in &lines[..6] {
        let names = ["externalSemaphore#1", "externalSemaphore#2"];
        assert!(names.iter().all(|name| line.contains(name)), "{line}");
        assert!(line.contains("{fence={value=5}") && line.contains("{fence={value=6}"), "{line}");
    }
    assert!(
        lines.iter().any(|l| l.contains("cuGraphAddExternalSemaphoresSignalNode") && l.contains("plain")),
        "{lines:#?}"
    );
}

/// A program has the structs of its own toolkit: what a newer one has behind them is none of its fields, nor is an
/// array of them wider.
#[test]
fn structs_of_the_programs_own_version() {
    let known: Vec<u8> = bytes(&[word(0), word(0), word(0), word(0xc0)]);
    let mut general = vec![0; 256];
    general[0] = 8; // CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
    general[16..48].copy_from_slice(&known);
    let text = |version, driver: Option<u32>| {
        let lines = of_version(version, |c| {
            if let Some(driver) = driver {
                c.driver("cuDriverGetVersion", &[0x10], &[], &[(0x10, &driver.to_le_bytes())]);
            }
            c.driver("cuGraphAddNode", &[0x10, 0x96a0, 0, 0, 0x80], &[(0x80, &general)], &[(0x80, &general)]);
        });
        let line = lines.iter().find(|l| l.starts_with("cuGraphAddNode")).cloned().unwrap();
        line.split_once("extSemSignal=").unwrap().1.split('}').next().unwrap().to_owned()
    };
    let (old, new) = ("{extSemArray=NULL, paramsArray=NULL, numExtSems=0", ", ctx=context#1");
    assert_eq!(text(12090, None), old);
    assert_eq!(text(13040, None).replace(" [not seen created]", ""), format!("{old}{new}"));
    // No driver reads what it does not know.
    assert_eq!(text(13040, Some(12090)), old);
    assert_eq!(text(0, Some(12090)), old);
    assert!(text(0, None).starts_with(&format!("{old}{new}")));
}

/// Who writes an address's memory does not change what a filter compares: the address.
#[test]
fn outputs_of_copies() {
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

/// What a context's end ends, and what not.
#[test]
fn leaks_by_context() {
    let left = |end: &dyn Fn(&mut Calls)| {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(folder.path());
        let mut process = run.process(100, "/bin/prog");
        process.driver(&[]);
        process.runtime(2, "prog", 12090, 10, &[]);
        let thread = process.thread(100, 8);
        let mut c = Calls { process, thread, slots: 20 };
        c.driver("cuDevicePrimaryCtxRetain", &[0x10, 0], &[], &[(0x10, &word(0xc00010))]);
        c.driver("cuCtxSetCurrent", &[0xc00010], &[], &[]);
        c.driver("cuMemAlloc_v2", &[0x10, 1000], &[], &[(0x10, &word(0x7000_0000_0000))]);
        c.driver("cuCtxCreate_v2", &[0x10, 0, 0], &[], &[(0x10, &word(0xc00020))]);
        c.driver("cuMemAlloc_v2", &[0x10, 2000], &[], &[(0x10, &word(0x7000_1000_0000))]);
        c.driver("cuMemCreate", &[0x10, 4000, 0, 0], &[], &[(0x10, &word(0xa00010))]);
        end(&mut c);
        drop(c);
        let mut leaks = cutap_report::Leaks::default();
        let mut follow = Follow::open(folder.path(), FollowOptions::default()).unwrap();
        follow.poll(true, &mut |e| leaks.event(e)).unwrap();
        let mut left: Vec<_> = leaks.groups().iter().map(|g| format!("{} {}", g.kind, g.bytes)).collect();
        left.sort();
        left.join(", ")
    };
    let all = "allocation 0, context 0, device memory 3000";
    assert_eq!(left(&|_| ()), all);
    assert_eq!(left(&|c| c.driver("cuCtxDestroy_v2", &[0xc00020], &[], &[])), "allocation 0, device memory 1000");
    assert_eq!(left(&|c| c.driver("cuCtxDestroy_v2", &[0xc00030], &[], &[])), all);
    let reset = "allocation 0, context 0, device memory 2000";
    assert_eq!(left(&|c| c.driver("cuDevicePrimaryCtxReset_v2", &[0], &[], &[])), reset);
    assert_eq!(left(&|c| c.runtime("cudaDeviceReset", &[], &[], &[])), reset);
}
