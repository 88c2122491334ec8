//! Events a second of each output.

use crate::support::program::{CU_MEM_ALLOC, CUDA_MALLOC, follow};
use cutap_report::{Json, Output, Summary, Text};
use cutap_trace::synthetic::Run;
use std::io;
use std::time::Instant;

#[test]
fn events_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::with_clock(folder.path(), 3);
    let rounds: u64 = if cfg!(debug_assertions) { 10_000 } else { 500_000 };
    let mut processes: Vec<_> = [100, 200].map(|pid| run.process_with_chunks(pid, "/tmp/saxpy", 128 * 1024)).into();
    let chunks = (rounds * 2 * 100 / 100_000 + 4) as u32;
    let mut threads: Vec<_> = processes
        .iter_mut()
        .map(|p| {
            p.driver(&["cuMemAlloc_v2", "cuLaunchKernel"]);
            p.runtime(2, "saxpy", 12090, 10, &["cudaMalloc", "cudaLaunchKernel"]);
            p.thread(p.pid(), chunks)
        })
        .collect();
    for n in 0..rounds {
        for thread in &mut threads {
            thread.enter(CUDA_MALLOC, &[n, 2, 3, 4, 5, 6]);
            thread.call(CU_MEM_ALLOC, &[n, 2, 3, 4, 5, 6], 100, 0);
            thread.exit(0);
        }
    }
    let measure = |name: &str, output: &mut dyn Output| {
        let mut reader = follow(folder.path(), "");
        let (start, mut events) = (Instant::now(), 0u64);
        reader
            .poll(true, &mut |e| {
                events += 1;
                output.event(e).unwrap();
            })
            .unwrap();
        output.end(&reader.end()).unwrap();
        assert!(events >= rounds * 8);
        println!("{name}: {:.2} million events a second", events as f64 / start.elapsed().as_secs_f64() / 1e6);
    };
    measure("summary", &mut Summary::text(io::sink(), false));
    measure("text", &mut Text::new(io::sink(), false));
    measure("json", &mut Json::new(io::sink()));
}
