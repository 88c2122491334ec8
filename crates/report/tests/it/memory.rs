//! Memory, lengths and handles in calls of the driver and the runtime, as the real tables read them.

use crate::libraries::{bytes, lines, shown};
use cutap_trace::made::{Process, Run, Thread};

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
    assert_eq!(params(&lines, "dstDevice")[..1], ["0x700000001e00 [device, 100 B of 8 KiB, +7.5 KiB]"]);
    assert_eq!(
        params(&lines, "devPtr")[1..],
        [
            "0x700000000e00 [device, 100 B of 4 KiB, +3.5 KiB]",
            "0x700000000000 [device, 4 KiB]",
            "0x700000005e00 [device, 100 B of 24 KiB, +23.5 KiB]"
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
