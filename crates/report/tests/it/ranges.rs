//! Ranges of NVTX in reports and exports: what is inside them, and that they are no calls.

use crate::support::gpu::{ALLOCATE, Gpu, US, WAIT, exported, findings, gpu_run, report, work};
use cutap_report::{Chrome, Perfetto};
use serde_json::{Value, json};

/// A step of a program: a launch, a wait, and a bit of time of the program.
fn step(gpu: &mut Gpu<'_>, name: &str, kernel_us: u64, allocations: u64) {
    gpu.range(name, |gpu| {
        gpu.range("forward", |gpu| gpu.launch(2 * US, work(3 * US, kernel_us * US)));
        (0..allocations).for_each(|n| gpu.call(ALLOCATE, &[0x20 + n, 64], 30 * US));
        gpu.call(WAIT, &[], (kernel_us + 3) * US);
        gpu.run.wait(5 * US);
    });
}

fn line<'a>(lines: &'a [Value], key: &str, name: &str) -> &'a Value {
    lines.iter().find(|line| line[key] == name).unwrap_or_else(|| panic!("{name}: {lines:#?}"))
}

#[test]
fn ranges_have_what_is_inside() {
    let run = gpu_run(|gpu| {
        gpu.call(ALLOCATE, &[0x20, 64], 10 * US);
        (0..3).for_each(|_| step(gpu, "step", 20, 1));
        gpu.range("empty", |gpu| gpu.run.wait(US));
        gpu.thread.mark(gpu.domain, "a mark");
    });
    let (text, lines) = report(run.path(), "by", "range");
    let names: Vec<&str> = lines.iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["step", "forward", "empty"], "{text}");
    let step = &lines[0];
    let numbers =
        ["count", "total_ns", "p50_ns", "calls", "gpu_ns", "unfinished"].map(|key| step[key].as_u64().unwrap());
    assert_eq!(numbers, [3, 180 * US, 60 * US, 9, 60 * US, 0], "{text}");
    assert_eq!(lines[1]["paths"][0]["path"], json!(["step", "forward"]));
    assert_eq!([&lines[1]["calls"], &lines[1]["gpu_ns"], &lines[2]["calls"]], [3, 60_000, 0]);
    // 191 us from the first call to the last event.
    assert!(
        text.lines()
            .next()
            .unwrap()
            .split_whitespace()
            .eq("range count total mean p50 p95 max calls gpu share".split(' '))
    );
    assert!(text.contains("94.2%"), "{text}");
}

/// The steps are outermost, their names have numbers, and one is slower.
#[test]
fn a_slow_step_and_what_differs() {
    let run = gpu_run(|gpu| {
        gpu.range("start-up", |gpu| gpu.call(ALLOCATE, &[0x20, 64], 10 * US));
        for n in 0..9 {
            step(gpu, &format!("iter {n}"), 20, if n == 5 { 4 } else { 1 });
        }
    });
    let (text, lines) = report(run.path(), "by", "step");
    let steps = line(&lines, "type", "steps");
    assert_eq!((&steps["name"], &steps["steps"]), (&json!("iter *"), &json!(9)), "{text}");
    assert_eq!(steps["took_ns"], json!({"median": 60_000, "p99": 150_000, "min": 60_000, "max": 150_000}));
    assert_eq!(steps["gpu_ns"]["median"], 20_000);
    let slowest = &steps["slowest"][0];
    assert_eq!((&slowest["name"], &slowest["calls"]), (&json!("iter 5"), &json!(6)));
    assert_eq!(slowest["differs"], json!([{"function": "cuMemAlloc_v2", "ns": 90_000, "calls": 3}]));
    // 20 of 60 us.
    assert!((steps["middle"]["gpu_idle"].as_f64().unwrap() - 2.0 / 3.0).abs() < 0.01, "{text}");
    assert!(text.starts_with("9 steps: the ranges \"iter *\"\n"), "{text}");
    assert!(text.contains("the slowest: \"iter 5\", 150us, "), "{text}");
    assert!(text.contains("+90us      +3  cuMemAlloc_v2"), "{text}");
    assert_eq!(lines.iter().filter(|line| line["type"] == "step").count(), 9);
}

/// A range around all steps happens once: the steps are one level deeper. Those without calls are none.
#[test]
fn steps_of_an_inner_level() {
    let run = gpu_run(|gpu| {
        (0..5).for_each(|_| gpu.range("log", |gpu| gpu.run.wait(500 * US)));
        gpu.range("training", |gpu| (0..4).for_each(|_| step(gpu, "step", 20, 1)));
    });
    let (text, lines) = report(run.path(), "by", "step");
    assert_eq!(line(&lines, "type", "steps")["name"], "step", "{text}");
    let few = gpu_run(|gpu| (0..2).for_each(|_| step(gpu, "step", 20, 1)));
    assert_eq!(report(few.path(), "by", "step"), (String::new(), Vec::new()));
}

/// They overlap, end in another thread, and have the calls of all threads.
#[test]
fn ranges_of_start_and_end() {
    let run = gpu_run(|gpu| {
        let domain = gpu.domain;
        let mut other = gpu.process.thread(101, 8);
        gpu.thread.start(domain, "first", 1);
        gpu.call(WAIT, &[], 10 * US);
        gpu.thread.start(domain, "second", 2);
        other.call(WAIT, &[], 20 * US, 0);
        other.end_range(domain, 1);
        gpu.call(WAIT, &[], 30 * US);
        other.end_range(domain, 2);
        gpu.thread.start(domain, "open", 3);
        gpu.call(WAIT, &[], 40 * US);
    });
    let (text, lines) = report(run.path(), "by", "range");
    let numbers =
        |name| ["total_ns", "calls", "unfinished"].map(|key| line(&lines, "name", name)[key].as_u64().unwrap());
    assert_eq!(numbers("first"), [30 * US, 2, 0], "{text}");
    assert_eq!(numbers("second"), [50 * US, 2, 0], "{text}");
    assert_eq!(numbers("open"), [40 * US, 1, 1], "{text}");
    let mut chrome = Vec::new();
    exported(run.path(), &mut Chrome::new(&mut chrome));
    let events: Vec<Value> = serde_json::from_slice(&chrome).unwrap();
    let phases = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!((phases("b"), phases("e")), (3, 2), "one never ended");
    let mut perfetto = Vec::new();
    exported(run.path(), &mut Perfetto::new(&mut perfetto));
    let tracks = |name: &[u8]| perfetto.windows(name.len()).filter(|bytes| *bytes == name).count();
    assert_eq!((tracks(b"ranges (2)"), tracks(b"ranges")), (1, 2), "two tracks, because two overlap");
}

/// Pops in another order than pushes, as of two domains: each range has its calls.
#[test]
fn ranges_that_are_popped_from_the_middle() {
    let run = gpu_run(|gpu| {
        let outer = gpu.thread.push(gpu.domain, "outer");
        gpu.call(WAIT, &[], 10 * US);
        let inner = gpu.thread.push(gpu.domain, "inner");
        gpu.call(WAIT, &[], 20 * US);
        gpu.thread.pop(outer);
        gpu.call(WAIT, &[], 40 * US);
        gpu.thread.pop(inner);
    });
    let (text, lines) = report(run.path(), "by", "range");
    // What is inside another begins a nanosecond later at least.
    let numbers = |name| {
        let line = line(&lines, "name", name);
        (line["total_ns"].as_u64().unwrap() / US, line["calls"].as_u64().unwrap())
    };
    assert_eq!((numbers("outer"), numbers("inner")), ((30, 2), (60, 2)), "{text}");
}

/// Tables of functions, the slowest calls, the gaps and findings have calls alone.
#[test]
fn ranges_are_no_calls() {
    let run = gpu_run(|gpu| {
        gpu.range("cuCtxSynchronize", |gpu| {
            gpu.launch(2 * US, work(3 * US, 10 * US));
            gpu.run.wait(900 * US);
            gpu.launch(2 * US, work(3 * US, 10 * US));
        });
        let _ = gpu.thread.push(gpu.domain, "the \"last\" one");
        gpu.thread.enter(WAIT, &[]);
        gpu.run.wait(200_000 * US);
        gpu.thread.call(ALLOCATE, &[0x20, 64], US, 0);
    });
    let (text, lines) = report(run.path(), "by", "function");
    let names: Vec<&str> = lines.iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cuCtxSynchronize", "cuLaunchKernel", "cuMemAlloc_v2"], "{text}");
    assert_eq!(lines[0]["calls"], 1);
    let (text, lines) = report(run.path(), "slowest", "");
    assert!(lines.iter().all(|line| line["layer"] == "driver"), "{text}");
    let (text, lines) = report(run.path(), "gaps", "");
    assert!(lines.iter().all(|line| !line["why"].to_string().contains("cuCtxSynchronize")), "{text}");
    let hangs = findings(run.path(), "unfinished_calls");
    assert_eq!(hangs.len(), 1, "{hangs:#?}");
    assert_eq!(hangs[0]["title"], "A call that never returned: cuCtxSynchronize");
    assert_eq!(hangs[0]["evidence"][1], "the program is in its range \"the \"last\" one\"");
}

/// The same failure in several steps is one line, and a range that ends well handles no failure.
#[test]
fn failures_in_ranges() {
    let run = gpu_run(|gpu| {
        for n in 0..3 {
            gpu.range(&format!("step {n}"), |gpu| gpu.thread.call(ALLOCATE, &[0x20, 64], US, 2));
        }
    });
    let (text, lines) = report(run.path(), "errors", "");
    assert_eq!(lines.len(), 1, "{text}");
    assert_eq!((&lines[0]["calls"], &lines[0]["path"]), (&json!(3), &json!(["cuMemAlloc_v2"])), "{text}");
    assert_eq!(lines[0]["handled"], json!(false), "{text}");
}

/// In a tree, a range is around the calls inside it, and its own time is without them.
#[test]
fn ranges_in_a_tree() {
    let run = gpu_run(|gpu| gpu.range("outer", |gpu| step(gpu, "step", 20, 0)));
    let (text, lines) = report(run.path(), "tree", "");
    let path = |line: &Value| line["path"].as_array().map_or(0, Vec::len);
    let times: Vec<_> = lines.iter().map(|line| (path(line), line["self_ns"].as_u64().unwrap())).collect();
    assert_eq!(times, [(1, 0), (2, 5 * US), (3, 23 * US), (3, 0), (4, 2 * US)], "{text}");
}
