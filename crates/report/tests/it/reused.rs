//! Addresses and handles that the driver reuses while the call that ends them still runs.

use crate::support::calls::word;
use crate::support::library::shown;
use cutap_report::{EventSink, Leaks};
use cutap_trace::synthetic::{Process, Run, Thread};
use cutap_trace::{EventReader, ReaderOptions};
use cutap_wire::record::note;
use tempfile::TempDir;

const AT: u64 = 0x7000_0000_0000;

/// A process of two threads, each step of which takes 100 ns.
struct Two {
    folder: TempDir,
    run: Run,
    process: Process,
    threads: [Thread; 2],
    slots: u32,
}

impl Two {
    fn new() -> Two {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(folder.path());
        let mut process = run.process(100, "/bin/prog");
        process.driver(&[]);
        process.runtime(2, "prog", 12090, 10, &[]);
        let threads = [100, 101].map(|tid| process.thread(tid, 8));
        Two { folder, run, process, threads, slots: 20 }
    }

    /// A call of a thread begins: one of the driver with these words, or one of the runtime.
    fn begin(&mut self, thread: usize, name: &str, words: &[u64]) {
        match name.starts_with("cuda") {
            true => self.process.runtime_slot(self.slots.into(), 2, words.len() as u64, name),
            false => self.process.slot(self.slots.into(), 1, (words.len() as u8, 0, 0), name),
        }
        self.run.wait(100);
        self.threads[thread].enter_with(self.slots, words, &[]);
        self.slots += 1;
    }

    /// The innermost call of a thread returns; it wrote this word at 0x10, if it is not 0.
    fn end(&mut self, thread: usize, wrote: u64) {
        self.run.wait(100);
        let word = word(wrote);
        let memory: [(u64, &[u8]); 1] = [(0x10, &word)];
        self.threads[thread].exit_with(0, if wrote == 0 { &[] } else { &memory });
    }

    fn call(&mut self, thread: usize, name: &str, words: &[u64], wrote: u64) {
        self.begin(thread, name, words);
        self.end(thread, wrote);
    }

    fn malloc(&mut self, thread: usize, bytes: u64) {
        self.begin(thread, "cudaMalloc", &[0x10, bytes]);
        self.call(thread, "cuMemAlloc_v2", &[0x10, bytes], AT);
        self.end(thread, AT);
    }

    /// What was left, and the parts of the lines from this word on.
    fn left_and_lines(self, from: &str) -> (String, Vec<String>) {
        let Two { folder, threads, process, .. } = self;
        drop((threads, process));
        let mut leaks = Leaks::default();
        let mut follow = EventReader::open(folder.path(), ReaderOptions::default()).unwrap();
        follow.poll(true, &mut |e| leaks.event(e)).unwrap();
        let left = leaks
            .groups()
            .iter()
            .map(|g| format!("{} {} {} {:?}", g.count, g.kind, g.bytes, g.way))
            .collect::<Vec<_>>();
        let text = shown(folder.path());
        let of = |l: &str| Some(l[l.find(from)?..].split(" = ").next()?.to_owned());
        (left.join(", "), text.lines().filter_map(of).collect())
    }
}

const OF_BOTH: &str = r#"["cudaMalloc [prog, runtime 12.9]", "cuMemAlloc_v2"]"#;

/// The thread moved to a core whose counter is behind.
#[test]
fn clock_behind() {
    let mut two = Two::new();
    two.malloc(0, 4096);
    two.run.back(250);
    two.begin(0, "cudaFree", &[AT]);
    two.run.back(150);
    two.call(0, "cuMemFree_v2", &[AT], 0);
    two.end(0, 0);
    let (left, _) = two.left_and_lines("cudaFree");
    assert_eq!(left, "");
}

/// The driver gives an address to another thread before the free returns, also to a thread that waits for it.
#[test]
fn address_during_free() {
    for waits in [false, true] {
        let mut two = Two::new();
        two.malloc(0, 4096);
        if waits {
            two.begin(1, "cudaMalloc", &[0x10, 64]);
            two.begin(1, "cuMemAlloc_v2", &[0x10, 64]);
        }
        two.begin(0, "cudaFree", &[AT]);
        two.begin(0, "cuMemFree_v2", &[AT]);
        if waits {
            two.end(1, AT);
            two.end(1, AT);
        } else {
            two.malloc(1, 64);
        }
        two.end(0, 0);
        two.call(1, "cuMemsetD8_v2", &[AT, 0, 64], 0);
        two.end(0, 0);
        two.call(1, "cuMemsetD8_v2", &[AT, 0, 64], 0);
        let (left, lines) = two.left_and_lines("cuMemsetD8");
        assert_eq!(left, format!("1 device memory 64 {OF_BOTH}"), "waits {waits}");
        assert_eq!(lines, ["cuMemsetD8_v2(dstDevice=0x700000000000 [device, 64 B], uc=0, N=64)"; 2], "waits {waits}");
    }
}

/// Its free ends it, and so does the end of its context.
#[test]
fn end_of_reused_memory() {
    let mut two = Two::new();
    two.malloc(0, 4096);
    two.begin(0, "cuMemFree_v2", &[AT]);
    two.malloc(1, 64);
    two.end(0, 0);
    two.call(1, "cudaFree", &[AT], 0);
    two.call(1, "cuMemsetD8_v2", &[AT, 0, 64], 0);
    let (left, lines) = two.left_and_lines("cuMemsetD8");
    assert_eq!((&*left, lines[0].contains("[freed device, 64 B]")), ("", true), "{lines:?}");

    let mut two = Two::new();
    two.call(0, "cuCtxCreate_v2", &[0x10, 0, 0], 0xc00010);
    two.call(1, "cuCtxCreate_v2", &[0x10, 0, 0], 0xc00020);
    two.call(0, "cuMemAlloc_v2", &[0x10, 4096], AT);
    two.begin(0, "cuCtxDestroy_v2", &[0xc00010]);
    two.call(1, "cuMemAlloc_v2", &[0x10, 64], AT);
    two.end(0, 0);
    two.call(1, "cuMemsetD8_v2", &[AT, 0, 64], 0);
    two.call(1, "cuCtxDestroy_v2", &[0xc00020], 0);
    two.call(1, "cuMemsetD8_v2", &[AT, 0, 64], 0);
    let (left, lines) = two.left_and_lines("cuMemsetD8");
    let freed: Vec<bool> = lines.iter().map(|l| l.contains("[freed ")).collect();
    assert_eq!((&*left, freed), ("", vec![false, true]), "{lines:?}");
}

/// A reused handle gets another number and is not destroyed. A handle that is only returned keeps its number.
#[test]
fn handle_during_destroy() {
    let mut two = Two::new();
    two.call(0, "cuStreamCreate", &[0x10, 0], 0x500010);
    two.call(0, "cuEventCreate", &[0x10, 0], 0x600010);
    two.begin(0, "cudaStreamDestroy", &[0x500010]);
    two.begin(0, "cuStreamDestroy_v2", &[0x500010]);
    two.begin(1, "cudaStreamCreate", &[0x10]);
    two.call(1, "cuStreamCreate", &[0x10, 0], 0x500010);
    two.end(1, 0x500010);
    two.end(0, 0);
    two.end(0, 0);
    two.call(1, "cuStreamSynchronize", &[0x500010], 0);
    two.begin(0, "cuEventDestroy_v2", &[0x600010]);
    two.call(1, "cuEventCreate", &[0x10, 0], 0x600010);
    two.call(1, "cuEventSynchronize", &[0x600010], 0);
    two.end(0, 0);
    two.call(1, "cuEventSynchronize", &[0x600010], 0);
    let (left, lines) = two.left_and_lines("Synchronize");
    assert_eq!(lines, ["Synchronize(hStream=stream#2)", "Synchronize(hEvent=event#2)", "Synchronize(hEvent=event#2)"]);
    assert_eq!(
        left,
        r#"1 event 0 ["cuEventCreate"], 1 stream 0 ["cudaStreamCreate [prog, runtime 12.9]", "cuStreamCreate"]"#
    );

    let mut two = Two::new();
    two.call(0, "cuCtxCreate_v2", &[0x10, 0, 0], 0xc00010);
    two.call(1, "cuCtxCreate_v2", &[0x10, 0, 0], 0xc00020);
    two.call(0, "cuStreamCreate", &[0x10, 0], 0x500010);
    two.begin(0, "cuCtxDestroy_v2", &[0xc00010]);
    two.call(1, "cuCtxGetCurrent", &[0x10], 0xc00020);
    two.call(1, "cuStreamCreate", &[0x10, 0], 0x500010);
    two.end(0, 0);
    two.call(1, "cuStreamSynchronize", &[0x500010], 0);
    two.call(1, "cuCtxSetCurrent", &[0xc00020], 0);
    let (_, lines) = two.left_and_lines("#");
    let last = &lines[lines.len() - 2..];
    assert_eq!(last, ["#2)", "#2)"], "{lines:?}");
}

/// A hook reduced the driver's allocation, or replaced the address to free. The line shows the request of the
/// program.
#[test]
fn changed_by_hook() {
    let changes = |n: u64| note::HOOK_ARGUMENT | n << 16;
    let mut two = Two::new();
    two.begin(0, "cudaMalloc", &[0x10, 4096]);
    two.begin(0, "cuMemAlloc_v2", &[0x10, 4096]);
    two.threads[0].write_note(changes(1), 2048);
    two.threads[0].write_note(changes(1), 1024);
    two.end(0, AT);
    two.end(0, AT);
    two.call(0, "cuMemsetD8_v2", &[AT, 0, 4096], 0);
    two.begin(0, "cuMemFree_v2", &[AT + 1]);
    two.call(0, "cuMemsetD8_v2", &[AT, 0, 1], 0);
    two.threads[0].write_note(changes(0), AT);
    two.end(0, 0);
    two.call(0, "cuMemsetD8_v2", &[AT, 0, 1], 0);
    two.call(0, "cuStreamCreate", &[0x10, 0], 0x500010);
    two.begin(0, "cuStreamDestroy_v2", &[0x500020]);
    two.threads[0].write_note(changes(0), 0x500010);
    two.end(0, 0);
    // The pointer that the function wrote through is the hook's.
    two.begin(0, "cuMemAlloc_v2", &[0x30, 64]);
    two.threads[0].write_note(changes(0), 0x10);
    two.threads[0].write_note(changes(1), 128);
    two.end(0, AT + 4096);
    let (left, lines) = two.left_and_lines("cu");
    assert_eq!(left, r#"1 device memory 128 ["cuMemAlloc_v2"]"#);
    let of = |name: &str| {
        lines.iter().filter(|l| l.starts_with(name)).map(|l| l[name.len()..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("cuMemAlloc_v2")[0], "(dptr=&0x700000000000, bytesize=4096)");
    let places = of("cuMemsetD8_v2(dstDevice=0x700000000000 ").join(" ");
    assert_eq!(
        places,
        "[device, 4 KiB of 1 KiB, 3 KiB beyond the end], uc=0, N=4096) [device, 1 B of 1 KiB], uc=0, N=1) [freed device, 1 B of 1 KiB], uc=0, N=1)"
    );
}

/// A note of a later version is skipped. A value that a hook wrote twice is shown once.
#[test]
fn unknown_note() {
    let mut two = Two::new();
    two.begin(0, "cuMemAlloc_v2", &[0x10, 64]);
    for what in [3, 20, 99, note::HOOK_OUTPUT, note::HOOK_OUTPUT, 0xff | 1 << 16] {
        two.threads[0].write_note(what, 1);
    }
    two.end(0, AT);
    let Two { folder, threads, process, .. } = two;
    drop((threads, process));
    let text = shown(folder.path());
    let line = text.lines().find(|l| l.contains("cuMemAlloc_v2")).unwrap();
    assert!(line.contains("(dptr=&0x700000000000, bytesize=64) = CUDA_SUCCESS"), "{line}");
    assert!(line.ends_with("> [hook 0: wrote dptr]") && text.matches("[hook").count() == 1, "{text}");
}
