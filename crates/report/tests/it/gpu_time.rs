//! Reports, findings and exports of runs with GPU time, whose calls and kernels are at chosen moments.

use crate::support::gpu::{
    ALLOCATE, BEGIN_CAPTURE, CREATE_STREAM, END_CAPTURE, GRAPH_LAUNCH, Gpu, INSTANTIATE, LAUNCH, ONE_THREAD, QUERY,
    SET_CONTEXT, US, WAIT, WAIT_FOR_CONTEXT, Work, exported, findings, gpu_run, report, work,
};
use crate::support::program::MS;
use cutap_calls::Layer;
use cutap_report::{Chrome, Perfetto};
use cutap_trace::Runs;
use cutap_wire::rows::GraphPlace;
use serde_json::Value;
use std::collections::BTreeMap;

/// A kernel that the host waits for.
fn waited(gpu: &mut Gpu<'_>) {
    gpu.launch(US, work(2 * US, 20 * US));
    gpu.call(WAIT, &[], 25 * US);
}

#[test]
fn gaps_have_their_causes() {
    let run = gpu_run(|gpu| {
        waited(gpu);
        gpu.run.wait(10 * US);
        // The work before ended in the wait.
        waited(gpu);
        gpu.run.wait(10 * MS);
        gpu.launch(US, work(2 * US, 10 * US));
        gpu.run.wait(20 * US);
        // The host had not waited, and was late.
        gpu.launch(US, work(2 * US, 10 * US));
        gpu.call(ALLOCATE, &[0x20, 64], 3 * MS);
        gpu.launch(US, work(2 * US, 10 * US));
        // In the queue before the GPU became idle; its stream waited for another.
        gpu.launch(US, Work { stream: 8, ..work(20 * US, 10 * US) });
    });
    let (text, lines) = report(run.path(), "gaps", "");
    let why: BTreeMap<&str, &str> = lines
        .iter()
        .filter(|line| line["type"] == "gpu_gap")
        .map(|line| (line["why"].as_str().unwrap(), line["cause"].as_str().unwrap()))
        .collect();
    let expected = [
        ("behind cuCtxSynchronize, before cuLaunchKernel", "synchronisation"),
        ("behind cuCtxSynchronize: no CUDA call, before cuLaunchKernel", "no_call"),
        ("cuLaunchKernel was called before: the work waited in its stream or for another one", "queued"),
        ("in cuMemAlloc_v2", "allocation"),
        ("launch-bound, before cuLaunchKernel", "launch_bound"),
    ];
    assert_eq!(why, BTreeMap::from(expected), "{text}");
    let device = lines.iter().find(|line| line["type"] == "gpu_device").unwrap();
    assert_eq!(device["busy_ns"], 80 * US, "{text}");
    let streams: Vec<u64> =
        device["streams"].as_array().unwrap().iter().map(|of| of["busy_ns"].as_u64().unwrap()).collect();
    assert_eq!(streams, [70 * US, 10 * US]);
}

/// Nodes of one stream may run at the same time: the stream is no more busy than the clock.
#[test]
fn overlapping_work_counts_once() {
    let run = gpu_run(|gpu| {
        let node = |node| GraphPlace { graph: 5, node };
        let nodes = [Work { node: node(1), ..work(US, 10 * US) }, Work { node: node(2), ..work(6 * US, 10 * US) }];
        gpu.submit(GRAPH_LAUNCH, &[0x30, 0], US, &nodes);
    });
    let (text, _) = report(run.path(), "gaps", "");
    assert!(text.contains("stream 7 of context 1: 100.0% (15us)"), "{text}");
}

#[test]
fn launch_bound_stretches() {
    let bound = |gpu: &mut Gpu<'_>| {
        for _ in 0..100 {
            gpu.launch(2 * US, work(3 * US, US));
            gpu.call(QUERY, &[0, 1, 2], US);
            gpu.run.wait(5 * US);
        }
    };
    let listed = findings(gpu_run(bound).path(), "launch_bound");
    assert_eq!(listed.len(), 1, "{listed:#?}");
    let evidence = &listed[0]["evidence"];
    assert_eq!(evidence[0], "the GPU was idle for 693us of 794us (87.3%), while the host only submitted");
    assert_eq!(evidence[1], "1 stretch of thread 100; the longest: 794us, 0ns after the start");
    assert_eq!(evidence[2], "100 pieces of work, mostly by cuLaunchKernel (100)");
    // A GPU that works all the time, a host that waits each time, one that does something else in between.
    let busy = |gpu: &mut Gpu<'_>| {
        for _ in 0..100 {
            gpu.launch(2 * US, work(3 * US, 8 * US));
            gpu.run.wait(6 * US);
        }
    };
    let waits = |gpu: &mut Gpu<'_>| {
        for _ in 0..100 {
            gpu.launch(2 * US, work(3 * US, US));
            gpu.call(WAIT, &[], 6 * US);
        }
    };
    let elsewhere = |gpu: &mut Gpu<'_>| {
        for _ in 0..100 {
            gpu.launch(2 * US, work(3 * US, US));
            gpu.run.wait(MS);
        }
    };
    for calls in [&busy as &dyn Fn(&mut Gpu<'_>), &waits, &elsewhere] {
        let listed = findings(gpu_run(calls).path(), "launch_bound");
        assert!(listed.is_empty(), "{listed:#?}");
    }
}

#[test]
fn idle_after_waits() {
    let waits = |gpu: &mut Gpu<'_>| {
        for _ in 0..30 {
            waited(gpu);
            gpu.run.wait(40 * US);
        }
    };
    let listed = findings(gpu_run(waits).path(), "idle_after_wait");
    assert_eq!(listed.len(), 1, "{listed:#?}");
    assert_eq!(listed[0]["title"], "GPU idle after a wait: cuCtxSynchronize");
    let evidence = &listed[0]["evidence"];
    assert_eq!(evidence[0], "after 29 of 30 calls the GPU had nothing to do, for 46us each");
    assert_eq!(evidence[1], "of that the call took 4us to return, and the host 40us until it submitted more");
    assert_eq!(listed[0]["cost_ns"], 29 * 46 * US);
    // The next work is in the queue before the host waits for the last.
    let ahead = |gpu: &mut Gpu<'_>| {
        for _ in 0..30 {
            gpu.launch(US, work(2 * US, 30 * US));
            gpu.launch(US, work(31 * US, 60 * US));
            gpu.call(WAIT, &[], 40 * US);
            gpu.run.wait(50 * US);
        }
    };
    // The GPU was idle before the host waited.
    let late = |gpu: &mut Gpu<'_>| {
        for _ in 0..30 {
            gpu.launch(US, work(2 * US, US));
            gpu.run.wait(20 * US);
            gpu.call(WAIT, &[], US);
            gpu.run.wait(20 * US);
        }
    };
    for calls in [&ahead as &dyn Fn(&mut Gpu<'_>), &late] {
        let listed = findings(gpu_run(calls).path(), "idle_after_wait");
        assert!(listed.is_empty(), "{listed:#?}");
    }
}

/// The runtime, and a library that calls its own function.
const LIBRARY: u64 = 40;
const RUNTIME: u64 = 50;

/// A product of matrices: a call of a library in one of the same library, around a launch by its runtime.
fn product(gpu: &mut Gpu<'_>, kernels: &[Work]) {
    let words = [0xc0, 0, 0, 4096, 8, 14336, 0, 0, 0, 2, 0, 0, 3, 0, 0, 0, 4, 68, 0];
    gpu.thread.enter(LIBRARY as u32, &words);
    gpu.thread.enter(LIBRARY as u32 + 1, &words);
    gpu.thread.enter(RUNTIME as u32, &[0; 6]);
    match kernels {
        [] => gpu.call(LAUNCH, &ONE_THREAD, US),
        kernels => gpu.submit(LAUNCH, &ONE_THREAD, US, kernels),
    }
    (0..3).for_each(|_| gpu.thread.exit(0));
}

fn with_library(gpu: &mut Gpu<'_>) {
    gpu.process.library(4, Layer::LIBRARY.number(), "libcublas.so.13", LIBRARY, &[]);
    gpu.process.slot(LIBRARY, 4, (6, 0, 13), "cublasGemmEx");
    gpu.process.slot(LIBRARY + 1, 4, (6, 0, 13), "cublasGemmEx_64");
    gpu.process.runtime(5, "libtorch_cuda.so", 13000, RUNTIME, &["cudaLaunchKernel"]);
}

/// Each row counts once in each line, however many calls are around it.
#[test]
fn sums_of_tables() {
    let run = gpu_run(|gpu| {
        with_library(gpu);
        product(gpu, &[work(2 * US, 30 * US)]);
        gpu.launch(US, work(40 * US, 5 * US));
    });
    let gpu_ns = |by: &str| -> BTreeMap<String, u64> {
        let (text, lines) = report(run.path(), "by", by);
        assert!(text.lines().next().unwrap().ends_with(" gpu"), "{text}");
        let of = |line: &Value| (line["name"].as_str().unwrap().to_owned(), line["gpu_ns"].as_u64().unwrap());
        lines.iter().map(of).collect()
    };
    let libraries = [("libcublas.so.13", 30), ("libcuda.so.1", 35), ("libtorch_cuda.so", 30)];
    assert_eq!(gpu_ns("library"), libraries.map(|(name, us)| (name.to_owned(), us * US)).into());
    let layers = [("driver", 35), ("library", 30), ("runtime", 30)];
    assert_eq!(gpu_ns("layer"), layers.map(|(name, us)| (name.to_owned(), us * US)).into());
    assert_eq!(gpu_ns("process").into_values().collect::<Vec<_>>(), [35 * US]);
    assert_eq!(gpu_ns("thread").into_values().collect::<Vec<_>>(), [35 * US]);
    assert_eq!(gpu_ns("function")["cuLaunchKernel"], 35 * US);
    let (tree, lines) = report(run.path(), "tree", "");
    assert!(tree.lines().next().unwrap().ends_with(" gpu"), "{tree}");
    assert_eq!(lines.iter().filter(|line| line["gpu_ns"] == 30 * US).count(), 4, "{tree}");
}

/// A node of a graph has the outermost call around the captured one, with its sizes.
#[test]
fn captured_calls() {
    let run = gpu_run(|gpu| {
        with_library(gpu);
        gpu.run.wait(2100 * MS);
        gpu.call(BEGIN_CAPTURE, &[0, 0], US);
        product(gpu, &[]);
        let output = |gpu: &mut Gpu<'_>, slot, words: &[u64], handle: u64| {
            gpu.thread.call_with(slot, words, &[], 0, &[(0x20, &handle.to_le_bytes())]);
        };
        output(gpu, END_CAPTURE, &[0, 0x20], 0x96a0);
        output(gpu, INSTANTIATE, &[0x20, 0x96a0, 0], 0x96e0);
        let node = GraphPlace { graph: 3, node: 3 << 32 };
        gpu.submit(GRAPH_LAUNCH, &[0x96e0, 0], US, &[Work { node, ..work(US, 10 * US) }]);
    });
    let (text, lines) = report(run.path(), "graphs", "");
    let lines_of_text: Vec<&str> = text.lines().map(str::trim).collect();
    assert!(lines_of_text[1].ends_with("graphExec#1 of graph#1, captured 2.1s after the start"), "{text}");
    assert_eq!(lines_of_text[3], "in cublasGemmEx(m=4096, n=8, k=14336) [libcublas.so.13]", "{text}");
    let node = &lines.iter().find(|line| line["type"] == "gpu_graph").unwrap()["nodes"][0];
    assert!(node["arguments"].as_str().unwrap().contains("m=4096, n=8, k=14336, alpha="), "{node}");
    assert_eq!(node["path"].as_array().unwrap().len(), 4, "{node}");
}

/// A flow leads from each call to its work. All nodes of a launched graph have one.
#[test]
fn arrows() {
    let run = gpu_run(|gpu| {
        gpu.launch(US, work(2 * US, 5 * US));
        gpu.launch(US, work(8 * US, 5 * US));
        let node = |node| GraphPlace { graph: 5, node };
        let nodes = [Work { node: node(1), ..work(20 * US, US) }, Work { node: node(2), ..work(30 * US, US) }];
        gpu.submit(GRAPH_LAUNCH, &[0x30, 0], US, &nodes);
        gpu.submit(GRAPH_LAUNCH, &[0x30, 0], US, &nodes);
    });
    let (mut chrome, mut perfetto) = (Vec::new(), Vec::new());
    exported(run.path(), &mut Chrome::new(&mut chrome));
    exported(run.path(), &mut Perfetto::new(&mut perfetto));
    let events: Vec<Value> = serde_json::from_slice(&chrome).unwrap();
    let mut arrows: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["id"].is_u64()) {
        arrows.entry(event["id"].as_u64().unwrap()).or_default().push(event["ph"].as_str().unwrap());
    }
    assert_eq!(arrows.into_values().collect::<Vec<_>>(), vec![vec!["s", "f"]; 4]);
    // Field 47, fixed64: see `perfetto_fields`.
    let tag = [0xf9, 0x02];
    let mut flows: BTreeMap<u64, u32> = BTreeMap::new();
    for bytes in perfetto.windows(10).filter(|bytes| bytes[..2] == tag && bytes[9] >= 0x80) {
        *flows.entry(u64::from_le_bytes(bytes[2..].try_into().unwrap())).or_default() += 1;
    }
    assert_eq!(flows.into_values().collect::<Vec<_>>(), [2; 4]);
}

/// Rows that are refused since they end after a wait for them.
fn too_late(calls: impl FnOnce(&mut Gpu<'_>)) -> u64 {
    let run = gpu_run(calls);
    let runs = Runs::open(&[run.path().to_owned()]).unwrap();
    runs.gpu_times().unwrap().unwrap().summary().counts.too_late
}

/// A wait for a context is no wait for the work of another one.
#[test]
fn waits_for_other_contexts() {
    const ONE: u64 = 0xc100;
    const TWO: u64 = 0xc200;
    const STREAM: u64 = 0x57e0;
    let long = || work(2 * US, 50 * US);
    let launch_on = |gpu: &mut Gpu<'_>, stream: u64| {
        let mut words = ONE_THREAD;
        words[8] = stream;
        gpu.submit(LAUNCH, &words, US, &[long()]);
    };
    // The context of the argument, not the current one.
    for (waited, refused) in [(ONE, 1), (TWO, 0), (0, 1)] {
        let count = too_late(|gpu| {
            gpu.call(SET_CONTEXT, &[ONE], US);
            gpu.launch(US, long());
            gpu.call(WAIT_FOR_CONTEXT, &[waited], US);
        });
        assert_eq!(count, refused, "{waited:#x}");
    }
    // The context of the stream, not the current one.
    let of_stream = |made_in: u64, waited: u64| {
        too_late(|gpu| {
            gpu.call(SET_CONTEXT, &[made_in], US);
            let made = STREAM.to_le_bytes();
            gpu.thread.call_with(CREATE_STREAM, &[0x10, 0], &[], 0, &[(0x10, &made)]);
            gpu.call(SET_CONTEXT, &[ONE], US);
            launch_on(gpu, STREAM);
            gpu.call(WAIT_FOR_CONTEXT, &[waited], US);
        })
    };
    assert_eq!(
        [(ONE, ONE), (ONE, TWO), (TWO, ONE), (TWO, TWO)].map(|(made, waited)| of_stream(made, waited)),
        [1, 0, 0, 1]
    );
    // Of a stream that was made before the recording its context is not known.
    let of_unknown = too_late(|gpu| {
        gpu.call(SET_CONTEXT, &[ONE], US);
        launch_on(gpu, STREAM);
        gpu.call(WAIT, &[], US);
    });
    assert_eq!(of_unknown, 0);
}
