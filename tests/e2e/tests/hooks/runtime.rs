//! Hooks on functions of runtimes, shared and linked in: answers, results, last errors, threads, exceptions, and the
//! programs where they cannot be.

use crate::building::{hook, runtimes, rust_hook, simulated, text, under, with_runtime};
use crate::real::{Runtime, linked, shared};
use cutap_e2e::{cutap, finish, json_lines, scratch};
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn answers_results_and_last_errors() {
    let story = hook("story");
    let in_c_and_rust = [hook("one_device"), rust_hook("one_device")];
    for (n, runtime) in (0..).zip(runtimes()) {
        let one = &in_c_and_rust[n % 2];
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        let plain = simulated(&[&story], &program, &[("CUTAP_SIM_DEVICES", "2")]);
        assert!(plain.starts_with("devices 0 2\n"), "{plain}");
        let said = simulated(&[one, &story], &program, &[("CUTAP_SIM_DEVICES", "2")]);
        let shared = runtime.shared;
        let met = if shared { "cudaMalloc: can 7, known\n" } else { "cudaMalloc: can 5, unknown\n" };
        let cannot = if shared { "" } else { "an argument cannot be changed\n" };
        let expected = format!(
            "devices 0 1\n{met}100 bytes: 0\n  last error 0, 0, then 0\n\
             13 bytes: 2 0x7\n  last error 2, 2, then 0\n15 bytes: 0\n{cannot}16 bytes: 0\n\
             device 99: 0\n  last error 0, 0, then 0\nsynchronize: 719\n  last error 719, 719, then 0\n\
             a real error: 1\n  last error 1, 1, then 0\n"
        );
        assert_eq!(said, expected, "{} shared {shared}", runtime.version);
    }
}

/// The size was doubled by answering and calling the runtime's own function; the trace has both calls.
#[test]
fn shared_runtime_call_with_other_arguments() {
    let Some(program) = with_runtime("memory", shared("12.9"), &[]) else { return };
    let run = under(&["trace", "--sim", "-e", "cudaMalloc,cuMemAlloc*"], &[&hook("story")], &[text(&program)], &[]);
    let line = |part: &str| run.stderr.lines().any(|l| l.contains(part));
    assert!(line("size=15) {") || line("size=15) = cudaSuccess"), "{}", run.stderr);
    assert!(line("bytesize=30)") && line("[answered by story.so]"), "{}", run.stderr);
}

/// The driver was asked for another length than the runtime: what is known of the memory is what was done.
#[test]
fn memory_has_the_length_that_a_hook_gave_it() {
    let Some(program) = with_runtime("filled", shared("12.9"), &[]) else { return };
    let folder = scratch("sizes");
    let file = folder.join("run.cutap");
    for (bytes, first, second) in [
        ("1024", " 4 KiB of 1 KiB, 3 KiB beyond the end]", " [no known allocation]"),
        ("16384", " 4 KiB of 16 KiB]", " 4 KiB of 16 KiB, +4 KiB]"),
    ] {
        let record = ["record", "--sim", "-o", text(&file)];
        let run = under(&record, &[&hook("sizes")], &[text(&program)], &[("HOOK_BYTES", bytes)]);
        assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
        let shown = finish(Command::new(cutap()).args(["show", "-e", "cuMemAlloc*,cuMemset*"]).arg(&file)).stdout;
        assert!(
            shown.contains(", bytesize=4096) ") && shown.contains(&format!("[sizes.so: bytesize={bytes}]")),
            "{shown}"
        );
        let places: Vec<&str> =
            shown.lines().filter_map(|l| l.split_once("dstDevice=0x")?.1.split_once(", uc=")).map(|p| p.0).collect();
        assert!(places[0].ends_with(first) && places[1].ends_with(second), "{shown}");
        let left = finish(Command::new(cutap()).args(["report", "--leaks", "--json"]).arg(&file)).stdout;
        assert!(left.contains(&format!("\"bytes\":{bytes},")), "{left}");
        std::fs::remove_file(&file).expect("it was written");
    }
}

#[test]
fn allocations_above_a_size_are_refused_in_c_and_rust() {
    for hook in [hook("refuse_large"), rust_hook("refuse_large")] {
        for runtime in [linked("13.0"), linked("12.9"), shared("12.9")] {
            let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
            let set = [("HOOK_LIMIT", "14")];
            let run = under(&["trace", "--sim"], &[&hook], &[text(&program)], &set);
            assert!(run.stdout.contains("100 bytes: 2\n  last error 2, 2, then 0\n13 bytes: 0 0x"), "{run:?}");
            let name = hook.file_name().expect("a file").to_string_lossy().into_owned();
            let answered = "cudaErrorMemoryAllocation ! <";
            let lines =
                run.stderr.lines().filter(|l| l.contains(answered) && l.contains(&format!("[answered by {name}]")));
            assert_eq!(lines.count(), 3, "{}", run.stderr);
        }
    }
}

/// By each function that takes a size or sides, of every kind of runtime and of the driver.
#[test]
fn allocation_limit_holds() {
    let ways = [
        "cudaMalloc",
        "cudaMallocPitch",
        "cudaMallocPitch, beyond all numbers",
        "cudaMalloc3D",
        "cudaMallocManaged",
        "cudaMallocAsync",
        "cudaMallocAsync_ptsz",
        "cudaMallocFromPoolAsync",
        "cudaMallocFromPoolAsync_ptsz",
        "cuMemAlloc_v2",
        "cuMemAllocPitch_v2",
        "cuMemAllocManaged",
        "cuMemAllocAsync",
        "cuMemAllocAsync_ptsz",
        "cuMemAllocFromPoolAsync",
        "cuMemAllocFromPoolAsync_ptsz",
        "cuMemCreate",
    ];
    let expected: String = ways.iter().map(|way| format!("{way}: 0 2\n")).collect();
    let names: Vec<&str> = ways.iter().filter_map(|way| way.split(',').next()).collect();
    for hook in [hook("refuse_large"), rust_hook("refuse_large")] {
        for runtime in [linked("13.0"), linked("12.9"), shared("12.9")] {
            let Some(program) = with_runtime("large", runtime, &[]) else { continue };
            let run = under(&["trace", "--sim"], &[&hook], &[text(&program)], &[]);
            assert!(run.stdout.starts_with(&expected), "{run:?}");
            // Where the program asked, not somewhere below.
            let answered = run.stderr.lines().filter(|l| l.contains("[answered by "));
            let answered: Vec<&str> = answered.filter_map(|l| l.split_once('(')?.0.split_whitespace().last()).collect();
            assert_eq!(answered, names, "{}", run.stderr);
        }
    }
}

/// Asked of the driver and of the runtime, there is one device where there are three.
#[test]
fn one_device_is_told_by_the_driver_too_in_c_and_rust() {
    let nothing = hook("nothing");
    for hook in [hook("one_device"), rust_hook("one_device")] {
        for runtime in [linked("13.0"), linked("12.9"), shared("12.9")] {
            let Some(program) = with_runtime("large", runtime, &[]) else { continue };
            let set = [("CUTAP_SIM_DEVICES", "3")];
            let end = |said: &str| said[said.find("cuDeviceGetCount").expect("its line")..].to_owned();
            let plain = simulated(&[&nothing], &program, &set);
            assert_eq!(end(&plain), "cuDeviceGetCount: 0 3\ncudaGetDeviceCount: 0 3\n");
            let said = simulated(&[&hook], &program, &set);
            assert_eq!(end(&said), "cuDeviceGetCount: 0 1\ncudaGetDeviceCount: 0 1\n");
            // And who says so, live and recorded.
            let name = hook.file_name().expect("a file").to_string_lossy().into_owned();
            let folder = scratch("wrote");
            let (file, recording) = (folder.join("trace"), folder.join("run.cutap"));
            let filter = "cuDeviceGetCount,cudaGetDeviceCount";
            let trace = ["trace", "--sim", "--json", "-e", filter, "-o", text(&file)];
            assert!(under(&trace, &[&hook], &[text(&program)], &set).status.success());
            let record = ["record", "--sim", "-o", text(&recording)];
            assert!(under(&record, &[&hook], &[text(&program)], &set).status.success());
            let trace = std::fs::read_to_string(&file).expect("a trace");
            let wrote = json!([{"hook": name, "action": "wrote", "argument": "count", "value": "0x1"}]);
            let calls = json_lines(&trace);
            let mut marked: Vec<Value> = calls.filter(|c| c["hooks"] == wrote).map(|c| c["name"].clone()).collect();
            marked.sort_by_key(Value::to_string);
            assert_eq!(marked, ["cuDeviceGetCount", "cudaGetDeviceCount"], "{trace}");
            let shown = finish(Command::new(cutap()).args(["show", "-e", filter]).arg(&recording)).stdout;
            let mark = format!("[{name}: wrote count]");
            let marked = shown.lines().filter(|l| l.contains("(count=&1) = ") && l.ends_with(&mark));
            assert_eq!(marked.count(), 2, "{shown}");
        }
    }
}

/// Of an answered call, twice the same, and where it cannot be: once in the trace.
#[test]
fn an_output_that_a_hook_writes_is_marked_once() {
    let outputs = hook("outputs");
    for runtime in runtimes() {
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        let run = under(&["trace", "--sim", "-e", "cudaMalloc"], &[&outputs], &[text(&program)], &[]);
        assert!(run.stdout.contains("told -1 -2 0 0\n13 bytes: 0 0x1234\n"), "{run:?}");
        let marks = |l: &&str| l.contains("(devPtr=&0x1234, size=13) = cudaSuccess") && l.contains("> [");
        let lines: Vec<&str> = run.stderr.lines().filter(marks).collect();
        let end = "[answered by outputs.so] [outputs.so: wrote devPtr]";
        assert!(lines.len() == 2 && lines.iter().all(|l| l.ends_with(end)), "{}", run.stderr);
        assert_eq!(run.stderr.matches("wrote").count(), 2, "{}", run.stderr);
    }
}

/// A file size limit below what the first files of a process need: nothing is recorded, and hooks act all the same.
#[test]
fn hooks_act_in_a_process_that_cannot_write() {
    let hook = hook("refuse_large");
    for runtime in [linked("13.0"), shared("12.9")] {
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        let line = "ulimit -f 20; exec \"$0\"";
        for words in [&["run", "--sim"], &["trace", "--sim"]] {
            let run = under(words, &[&hook], &["bash", "-c", line, text(&program)], &[("HOOK_LIMIT", "14")]);
            assert!(run.stdout.contains("100 bytes: 2\n  last error 2, 2, then 0\n13 bytes: 0 0x"), "{run:?}");
            assert!(!run.stderr.contains("was not called"), "{run:?}");
            assert_eq!(run.stderr.contains("1 process could not write"), words[0] == "trace", "{run:?}");
        }
    }
}

#[test]
fn threads_have_their_own_answers_and_errors() {
    let story = hook("story");
    for runtime in [linked("12.9"), linked("13.5"), shared("13.5")] {
        let Some(program) = with_runtime("many", runtime, &[]) else { continue };
        let said = simulated(&[&story], &program, &[]);
        assert!(said.ends_with("wrong 0\n"), "{} {said}", runtime.version);
    }
}

#[test]
fn host_functions_have_their_own_answers_and_errors() {
    let story = hook("story");
    for runtime in runtimes() {
        let Some(program) = with_runtime("callback", runtime, &[]) else { continue };
        let said = simulated(&[&story], &program, &[]);
        let expected = "2, left 0, wrong 0, same thread 0\nlast error 2\n";
        assert!(said.ends_with(expected), "{} shared {}: {said}", runtime.version, runtime.shared);
    }
}

#[test]
fn exceptions_leave_hooks_and_follow_forced_returns() {
    let (throws, refuse) = (hook("throws"), hook("refuse_large"));
    for runtime in runtimes() {
        let Some(program) = with_runtime("caught", runtime, &[]) else { continue };
        let said = simulated(&[&throws, &refuse], &program, &[("HOOK_LIMIT", "1000000")]);
        let mut expected = String::new();
        let calls =
            [(64, "0"), (13, "caught 13"), (64, "0"), (14, "caught 14"), (64, "0"), (2_000_000, "caught 2"), (64, "0")];
        for (bytes, end) in calls {
            expected += &format!("left one\n{bytes} bytes: {end}\n");
        }
        // The driver's function is hooked too: five calls reach it.
        assert_eq!(said, expected + "12 before, 10 after\n", "{} shared {}", runtime.version, runtime.shared);
    }
}

/// A call that an exception left has ended: those that follow are not inside it, from however deep on the stack they
/// come.
#[test]
fn calls_behind_one_that_an_exception_left_are_not_inside_it() {
    let (throws, refuse) = (hook("throws"), hook("refuse_large"));
    for runtime in runtimes() {
        let Some(program) = with_runtime("caught", runtime, &[]) else { continue };
        let folder = scratch("left");
        let file = folder.join("trace");
        let words = ["trace", "--sim", "--json", "-e", "runtime", "-o", text(&file)];
        let set = [("HOOK_LIMIT", "1000000"), ("HOOK_RUNTIME_ALONE", "1")];
        let run = under(&words, &[&throws, &refuse], &[text(&program)], &set);
        assert!(run.status.success(), "{run:?}");
        let trace = std::fs::read_to_string(&file).expect("a trace");
        let mut calls: Vec<Value> = json_lines(&trace).collect();
        calls.sort_by_key(|l| l["start_ns"].as_u64());
        let of = |name: &str, what: &str| -> Vec<Value> {
            calls.iter().filter(|l| l["name"] == name).map(|l| l[what].clone()).collect()
        };
        assert_eq!(of("cudaGetDevice", "depth"), [0, 0, 0], "{} shared {}", runtime.version, runtime.shared);
        let states = of("cudaMalloc", "state");
        let (done, left) = ("done", "unwound");
        assert_eq!(states, [done, left, done, left, done, done, done], "{} shared {}", runtime.version, runtime.shared);
    }
}

/// The same where the exception comes from the driver's function, so that the runtime's function around it, which has
/// no frame of ours if it is linked in, is left without a word: with what is recorded of the driver, and with nothing
/// of it.
#[test]
fn exception_leaves_runtime_call() {
    let throws = hook("throws");
    for (runtime, filter) in runtimes().into_iter().flat_map(|r| [(r, "runtime,driver"), (r, "runtime")]) {
        let Some(program) = with_runtime("caught", runtime, &[]) else { continue };
        let folder = scratch("left-inside");
        let file = folder.join("trace");
        let words = ["trace", "--sim", "--json", "-e", filter, "-o", text(&file)];
        let run = under(&words, &[&throws], &[text(&program)], &[("HOOK_DRIVER_ALONE", "1")]);
        assert!(run.status.success(), "{run:?}");
        let trace = std::fs::read_to_string(&file).expect("a trace");
        let mut calls: Vec<Value> = json_lines(&trace).collect();
        calls.sort_by_key(|l| l["start_ns"].as_u64());
        let of = |name: &str, what: &str| -> Vec<Value> {
            calls.iter().filter(|l| l["name"] == name).map(|l| l[what].clone()).collect()
        };
        let which = format!("{} shared {} {filter}", runtime.version, runtime.shared);
        assert_eq!(of("cudaGetDevice", "depth"), [0, 0], "{which}");
        let (done, left) = ("done", "unwound");
        assert_eq!(of("cudaMalloc", "state"), [done, left, done, left, done, done, done], "{which}");
        if filter != "runtime" {
            assert_eq!(of("cuMemAlloc_v2", "state"), [done, left, done, left, done, done, done], "{which}");
            assert!(of("cuMemAlloc_v2", "depth").iter().all(|depth| *depth == 1), "{which}");
        }
    }
}

/// A program linked without the index of its unwind tables: its calls run, are counted, and that is said.
#[test]
fn a_program_without_unwind_tables_is_told_of() {
    for runtime in [linked("12.9"), linked("13.5")] {
        let Some(program) = with_runtime("memory", runtime, &["-Wl,--no-eh-frame-hdr"]) else { continue };
        let run = under(&["run", "--sim"], &[&hook("story")], &[text(&program)], &[]);
        assert!(run.stdout.contains("cannot be answered: told why\n13 bytes: 0 0x2"), "{run:?}");
        assert!(run.stdout.contains("synchronize: 719\n"), "results are changed all the same: {run:?}");
        let said =
            "cutap: 2 runtime calls that a hook answered and that were made all the same: no usable unwind tables";
        assert!(run.stderr.contains(&format!("{said}\ncutap:   cudaMalloc\n")), "{run:?}");
    }
}

/// The forums' riddle: a replaced cuMemcpyHtoD that is not called. Each call and what it becomes is told in
/// docs/how-to/write-a-hook.md.
#[test]
fn every_copy_and_the_driver_call_that_it_becomes() {
    let copies = hook("copies");
    let becomes = |sync: &str, asynchronous: &str, ds: &str, sz: &str| {
        let at_once = ["cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemcpy", "cuMemcpy2DUnaligned_v2"]
            .map(|driver| format!("{sync}: {driver}{ds}\n"));
        let of_the_stream = [
            "cuMemcpyHtoDAsync_v2",
            "cuMemcpyDtoHAsync_v2",
            "cuMemcpyDtoDAsync_v2",
            "cuMemcpyAsync",
            "cuMemcpy2DAsync_v2",
        ];
        let of_the_stream = of_the_stream.map(|driver| format!("{asynchronous}: {driver}{sz}\n"));
        // Copies of nothing become nothing.
        at_once.concat() + &of_the_stream.concat() + &format!("{sync}:\n{asynchronous}:\ndone 0\n")
    };
    let all: [Runtime; 4] = [linked("12.9"), linked("13.0"), linked("13.5"), shared("13.0")];
    for runtime in all {
        let Some(program) = with_runtime("copies", runtime, &[]) else { continue };
        let said = simulated(&[&copies], &program, &[]);
        assert_eq!(said, becomes("cudaMemcpy", "cudaMemcpyAsync", "", ""), "{}", runtime.version);
        let Some(program) = with_runtime("copies", runtime, &["-DPER_THREAD"]) else { continue };
        let said = simulated(&[&copies], &program, &[]);
        assert_eq!(said, becomes("cudaMemcpy_ptds", "cudaMemcpyAsync_ptsz", "_ptds", "_ptsz"), "{}", runtime.version);
    }
}

/// The hook that people ask for in forums, of runtimes that are linked in too.
#[test]
fn before_and_after_each_allocation_in_c_and_rust() {
    let in_c_and_rust = [hook("around_malloc"), rust_hook("around_malloc")];
    let runtimes = [linked("12.9"), linked("13.0"), shared("12.9")];
    for (around, runtime) in in_c_and_rust.iter().flat_map(|around| runtimes.map(|runtime| (around, runtime))) {
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        let said = simulated(&[around], &program, &[]);
        // C's and Rust's standard output have each their own buffer: their lines are in order, among each other they
        // are not.
        let lines: String = said.lines().filter(|l| l.contains("cudaMalloc")).map(|l| format!("{l}\n")).collect();
        let around_one = |n: u32| format!("before cudaMalloc of {n} bytes\nafter cudaMalloc of {n} bytes: 0, memory\n");
        assert_eq!(lines, [100, 13, 15, 16, 13].map(around_one).concat(), "{said}");
    }
}

/// What a runtime that keeps no cudaErrorNotReady says, and how hooks on all of it look to themselves and to the
/// program.
#[test]
fn last_error_in_hooks() {
    let (nothing, last_error) = (hook("nothing"), hook("last_error"));
    let all = [shared("11.7")].into_iter().chain(runtimes());
    for runtime in all {
        let Some(program) = with_runtime("last_error", runtime, &[]) else { continue };
        let which = format!("{} shared {}", runtime.version, runtime.shared);
        let end = " cudaErrorMemoryAllocation, out of memory, 1 2 3 4\n";
        // The runtime itself.
        let plain = simulated(&[&nothing], &program, &[]);
        let queries = " stream 600: last 0, 0, then 0\n event 600: last 0, 0, then 0\n";
        assert!(plain.starts_with(queries), "{which}: {plain}");
        assert!(plain.ends_with(&format!(" too many 2: last 2, 2, then 0\n{end}")), "{which}: {plain}");
        let can = |name: &str, shared: u32, linked: u32| {
            format!("{name}: can {}\n", if runtime.shared { shared } else { linked })
        };
        let met = [can("cudaCreateChannelDesc", 2, 0), can("cudaGetErrorName", 7, 1), can("cudaGetErrorString", 7, 1)];
        let end = |said: &str| {
            let mut lines: Vec<String> = said.lines().map(|l| format!("{l}\n")).collect();
            lines.sort();
            lines.retain(|l| l.contains(": can ") || l.contains(" than ") || l.contains(" with a word"));
            assert_eq!(lines, met, "{which}: {said}");
            said.contains(end)
        };
        for query in [None, Some("600")] {
            let set: Vec<_> = query.map(|q| ("HOOK_QUERY", q)).into_iter().collect();
            let said = simulated(&[&last_error], &program, &set);
            let expected = "[0][0][0] stream 600: last 0, 0, then 0\n[0][0][0] event 600: last 0, 0, then 0\n\
                [2][2][0] 13 bytes 2: last 2, 2, then 0\n[0][0][0] too many 0: last 0, 0, then 0\n";
            assert!(said.starts_with(expected) && end(&said), "{which}: {said}");
        }
        // An error that a hook tells counts.
        let said = simulated(&[&last_error], &program, &[("HOOK_QUERY", "700")]);
        assert!(said.starts_with("[700][700][0] stream 700: last 700, 700, then 0\n"), "{which}: {said}");
        // What a hook makes of it is what the program gets, 0 too.
        for last in ["0", "7"] {
            let said = simulated(&[&last_error], &program, &[("HOOK_LAST", last)]);
            let expected = format!("[2][2][0] 13 bytes 2: last {last}, {last}, then {last}\n");
            assert!(said.contains(&expected) && end(&said), "{which}: {said}");
        }
        let run = under(&["trace", "--sim", "-e", "cudaGetError*,cudaCreate*"], &[&last_error], &[text(&program)], &[]);
        assert!(!run.stderr.contains("result was"), "{which}: {}", run.stderr);
    }
}

/// Hidden functions by their slots, and only for hooks that name the layer; a changed result reaches the runtime.
#[test]
fn hidden_functions() {
    for runtime in runtimes() {
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        let said = simulated(&[&hook("hidden")], &program, &[]);
        assert!(said.contains("hook: 6bd5fb6c[2] 0\n") && !said.contains("CUTAP_HIDDEN"), "{said}");
        assert!(said.contains("100 bytes: 0\n"), "{said}");
        let folder = scratch("hidden-hook");
        let file = folder.join("trace");
        let words = ["trace", "--sim", "-e", "hidden", "-o", text(&file)];
        let run = under(&words, &[&hook("hidden")], &[text(&program)], &[("HOOK_REFUSE", "1")]);
        assert!(!run.stdout.contains("100 bytes: 0\n"), "{}", run.stdout);
        let trace = std::fs::read_to_string(&file).expect("a trace");
        let line = trace.lines().find(|l| l.contains("6bd5fb6c[2]:primary_context(")).expect("the call");
        assert!(line.contains("= CUDA_ERROR_OUT_OF_MEMORY !") && line.contains("hidden.so"), "{line}");
    }
}
