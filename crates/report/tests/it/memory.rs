//! Memory, lengths and handles in calls of the driver and the runtime, as the real tables read them.

use crate::libraries::{bytes, lines, shown};
use cutap_trace::made::{Process, Run, Thread};
use tempfile::TempDir;

/// Calls of the driver and of a runtime.
pub struct Calls {
    pub process: Process,
    pub thread: Thread,
    pub slots: u32,
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

/// The folder of a run with these calls, and a runtime of this version.
pub fn run(version: u64, calls: impl FnOnce(&mut Calls)) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "prog", version, 10, &[]);
    let thread = process.thread(100, 8);
    let mut all = Calls { process, thread, slots: 20 };
    calls(&mut all);
    drop(all);
    folder
}

/// The same with a runtime of this version.
pub fn of_version(version: u64, calls: impl FnOnce(&mut Calls)) -> Vec<String> {
    let text = shown(run(version, calls).path());
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
        // A place has commas in it.
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
fn memory_that_a_node_of_any_kind_is_given() {
    const AT: u64 = 0x7000_0000_0000;
    let mut node = [0; 256];
    node[0] = 2; // CU_GRAPH_NODE_TYPE_MEMSET
    node[16..24].copy_from_slice(&word(AT));
    (node[36], node[40], node[48]) = (1, 16, 1);
    let lines = of(|c| {
        c.driver("cuMemAlloc_v2", &[0x30, 4096], &[], &[(0x30, &word(AT))]);
        let words = [0x10, 0x96a0, 0, 0, 0, 0x20];
        c.driver("cuGraphAddNode_v2", &words, &[(0x20, &node)], &[(0x10, &word(0x1234)), (0x20, &node)]);
    });
    let of_node = &lines[1];
    assert!(of_node.contains("memset={dst=0x700000000000 [device"), "{lines:#?}");
    assert!(!of_node.contains("dst=0x700000000000,"), "{lines:#?}");
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
