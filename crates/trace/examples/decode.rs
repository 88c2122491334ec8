//! How many calls a second of processor time are read, and how many with their arguments understood:
//! `cargo run --release -p cutap-trace --features made --example decode`.

use cutap_trace::synthetic::{Run, tables::TABLES};
use cutap_trace::{EventReader, ReaderOptions};
use std::path::Path;

const CALLS: u64 = 400_000;

fn main() {
    for (name, kinds) in [("simple calls", 3), ("launches too", 5)] {
        let folder = std::env::temp_dir().join(format!("cutap-decode-{}-{kinds}", std::process::id()));
        write(&folder, kinds);
        for decode in [false, true] {
            let options = ReaderOptions { decode, tables: &TABLES, ..ReaderOptions::default() };
            let mut follow = EventReader::open(&folder, options).expect("the run directory");
            let (start, mut events) = (cpu_seconds(), 0u64);
            follow.poll(true, &mut |_| events += 1).expect("the run directory");
            let took = cpu_seconds() - start;
            let what = if decode { "understood" } else { "read" };
            println!("{name}: {:.2} million calls a second {what}", events as f64 / 2.0 / took / 1e6);
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
}

/// Processor time of this thread: others may use the machine too.
fn cpu_seconds() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// A run with calls of so many kinds.
fn write(folder: &Path, kinds: u64) {
    let run = Run::with_clock(folder, 3);
    let mut process = run.process_with_chunks(100, "/bin/prog", 128 * 1024);
    process.driver(&[]);
    process.slot(0, 1, (2, 0, 0), "cuMemAlloc_v2");
    process.slot(1, 1, (3, 0, 0), "cuMemcpyHtoD_v2");
    process.slot(2, 1, (1, 0, 0), "cuStreamSynchronize");
    process.slot(3, 1, (6, 0, 5), "cuLaunchKernel");
    process.slot(4, 1, (1, 0, 0), "cuMemFree_v2");
    process.name(cutap_wire::names::kind::KERNEL_HANDLE, 0xf00, 0, 0, "_Z5saxpyifPKfPf", "");
    process.kernel_parameters(0xf00, &[(0, 4), (4, 4), (8, 8), (16, 8)]);
    let mut thread = process.thread(100, (CALLS * 250 / 100_000) as u32 + 16);
    let address = 0x7f00_0000_0000u64.to_le_bytes();
    let params: Vec<u8> = [4096u64, 0x7f00_0000_0000, 0x7f00_0000_4000].iter().flat_map(|w| w.to_le_bytes()).collect();
    for n in 0..CALLS {
        match n % kinds {
            0 => thread.call_with(0, &[0x10, 2 << 20], &[], 0, &[(0x10, &address)]),
            1 => thread.call_with(1, &[0x7f00_0000_0000 + n, 0x5e00, 4096], &[], 0, &[]),
            2 => thread.call_with(2, &[n % 7], &[], 0, &[]),
            3 => {
                let words = [0xf00, 1, 1, 1, 256, 1, 1, 0, 1, 0x20, 0];
                thread.call_with(3, &words, &[(0x20, &params)], 0, &[]);
            }
            _ => thread.call_with(4, &[0x7f00_0000_0000], &[], 0, &[]),
        }
    }
    thread.end();
}
