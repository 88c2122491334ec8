//! NVIDIA's real runtimes under cutap, linked in and shared, on the simulated driver: every runtime call by name, once,
//! with its instance; the program and a profiler undisturbed.

mod all_functions;
mod chatter;
mod export;
mod filtered;
mod forum;
mod handler;
mod hidden;
mod instructions;
mod launches;
mod layered;
mod real;
mod report;
mod self_induced_calls;
mod stacks;
mod stepped;
mod suppressed_callbacks;
mod switched;
mod threads;
mod toolkit;
mod valgrind;
mod values;

use cutap_e2e::{Counts, normal_form, sources};
use real::{Run, Runtime, build, linked, program, run, shared, shared_library, tally, text, wheel};
use serde_json::Value;
use std::fs;

const LINKED: [Runtime; 4] = [linked("11.8"), linked("12.9"), linked("13.0"), linked("13.5")];
const SHARED: [Runtime; 7] =
    [shared("11.7"), shared("11.8"), shared("12.0"), shared("12.4"), shared("12.9"), shared("13.0"), shared("13.5")];
const SAXPY: &str = "saxpy(int, float, float const*, float*)";
const FOOTPRINT: &str = "driver calls that only happen because we watch";

/// Is `inner` made from `outer`, as time, thread and depth say?
fn inside(inner: &Value, outer: &Value) -> bool {
    let number = |v: &Value, field: &str| v[field].as_u64().unwrap_or_else(|| panic!("no number {field} in {v}"));
    let end = |v: &Value| number(v, "start_ns") + number(v, "duration_ns");
    number(inner, "depth") > number(outer, "depth")
        && inner["tid"] == outer["tid"]
        && number(inner, "start_ns") >= number(outer, "start_ns")
        && end(inner) <= end(outer)
}

/// What the program called, as far as a runtime of this kind reports it.
fn reported(run: &Run, runtime: Runtime) -> Counts {
    let mut real = run.real.clone();
    real.retain(|name, _| runtime.shared || !name.starts_with("__cuda"));
    assert!(!real.is_empty(), "the program wrote no calls");
    real
}

/// Every call of a program that uses all of a runtime, exactly as often as it was made, below the right instance.
fn all_calls(runtime: Runtime) {
    let Some(program) = program("runtime", runtime, &[]) else { return };
    let run = run(&program, &[], &["--json"]);
    let object = runtime.object(&program);
    let calls = run.calls("runtime");
    for call in &calls {
        // What the compiler's code calls at the very start is before the runtime has told its version.
        let untold = text(call, "name").starts_with("__cuda") && call["runtime"].is_null();
        let version = if untold { runtime.version } else { text(call, "runtime") };
        assert_eq!((text(call, "library"), version), (&*object, runtime.version), "{call}");
        assert_eq!(text(call, "state"), "done", "{call}");
    }
    assert_eq!(tally(&calls, |c| text(c, "name").to_owned()), reported(&run, runtime), "{}", run.text);
    let kind = if runtime.shared { "shared" } else { "linked" };
    assert_eq!(run.instances(), [format!("{object} {} {kind}", runtime.version)]);
    let end = run.objects("end").pop().expect("an end");
    let silent = end["without_register_calls"].as_array().expect("a list").len();
    assert_eq!(silent, usize::from(!runtime.shared), "{end}");

    let driver = run.calls("driver");
    for (outer, inner) in
        [("cudaMalloc", "cuMemAlloc_v2"), ("cudaMemset", "cuMemsetD8_v2"), ("cudaStreamCreate", "cuStreamCreate")]
    {
        for call in calls.iter().filter(|c| c["name"] == outer && c["result"] == 0) {
            let holds = driver.iter().any(|d| text(d, "name").starts_with(inner) && inside(d, call));
            assert!(holds, "no {inner} inside {call}\n{}", run.text);
        }
    }
    let launches: Vec<&Value> = calls.iter().filter(|c| c["name"] == "cudaLaunchKernel").collect();
    let named = launches.iter().filter(|c| c["kernel"] == SAXPY).count();
    assert_eq!((launches.len(), named), (6, 4), "{launches:?}"); // two of a function that is no kernel
    let launched = driver.iter().filter(|d| text(d, "name").starts_with("cuLaunchKernel") && d["result"] == 0);
    assert_eq!(launched.filter(|d| d["kernel"] == SAXPY).count(), 2, "{}", run.text);
}

/// With the runtime's callbacks off the driver sees what it sees without cutap; with them on the trace must show no
/// more.
fn footprint(runtime: Runtime, source: &str, launches: u64) {
    let Some(program) = program(source, runtime, &[]) else { return };
    let off = run(&program, &[], &["--json", "-e", "driver"]);
    assert_eq!((off.calls("runtime").len(), off.instances().len(), off.counted(FOOTPRINT)), (0, 0, 0), "{}", off.text);
    let on = run(&program, &[], &["--json"]);
    assert_eq!(on.driver(), off.driver(), "{} {}", runtime.version, program.display());
    let ours = on.counted(FOOTPRINT);
    assert_eq!(ours > 0, launches > 0 && runtime.at_least(12, 9), "{} of {launches}", ours);
    assert!(ours <= 2 * launches, "{ours} of {launches}");
    // Where calls are only counted, no call is open that would tell whose a call is.
    let counted = run(&program, &[], &["--json", "-C"]);
    let mut calls = counted.objects("count");
    calls.retain(|c| c["layer"] == "driver");
    let number = |c: &Value| (text(c, "name").to_owned(), c["calls"].as_u64().expect("a number"));
    assert_eq!(calls.iter().map(number).collect::<Counts>(), off.driver(), "{} counted", runtime.version);
    assert_eq!(counted.counted(FOOTPRINT), ours, "{} counted", runtime.version);
}

#[test]
fn all_calls_linked_in() {
    LINKED.into_iter().for_each(all_calls);
}

#[test]
fn all_calls_shared() {
    SHARED.into_iter().for_each(all_calls);
}

#[test]
fn no_call_of_ours_is_shown() {
    for runtime in LINKED.into_iter().chain(SHARED) {
        footprint(runtime, "runtime", 4);
    }
    for runtime in LINKED.into_iter().skip(1) {
        footprint(runtime, "library", 3);
    }
}

/// Runtimes before 12.9 leave what lay on the stack in the place of such a launch's kernel: it is neither shown nor
/// touched.
#[test]
fn a_launch_of_no_kernel() {
    for runtime in LINKED.into_iter().chain(SHARED) {
        let Some(program) = program("no_kernel", runtime, &[]) else { continue };
        let run = run(&program, &[], &["--json"]);
        let mut launches = run.calls("runtime");
        launches.retain(|c| c["name"] == "cudaLaunchKernel");
        assert_eq!(launches.len(), 256);
        for launch in launches {
            assert!(launch["kernel"].is_null() && launch["error"] == true, "{launch}");
        }
    }
}

/// The text form, with a kernel that the program loads as PTX; and the PTX is kept byte for byte.
#[test]
fn launches_of_a_loaded_library() {
    for runtime in LINKED.into_iter().skip(1) {
        let Some(program) = program("library", runtime, &[]) else { continue };
        let run = run(&program, &[], &["--dump-modules", "$F/modules"]);
        let tag = format!("[{}, runtime {}] cudaLaunchKernel ", real::name(&program), runtime.version);
        assert_eq!(run.text.lines().filter(|l| l.starts_with(&tag)).count(), 3, "{}", run.text);
        let normal = normal_form(&run.text);
        let kernel = "kernel=scale(float*, int, float)";
        let inner = format!("\n  cuLaunchKernel(...) {kernel} = CUDA_SUCCESS\n}} cudaLaunchKernel = cudaSuccess\n");
        assert_eq!(normal.matches(&format!("] cudaLaunchKernel(...) {kernel} {{\n")).count(), 3, "{normal}");
        assert_eq!(normal.matches(&inner).count(), 3, "{normal}");
        assert!(!run.text.contains("__cudaRegister"), "only report --notes has it: {}", run.text);
        let kept = images(&run);
        let source = fs::read_to_string(sources().join("runtimes/library.c")).expect("the source");
        assert!(source.contains(".visible .entry _Z5scalePfif"));
        assert_eq!(kept.len(), 1, "{normal}");
        let (ending, ptx) = &kept[0];
        assert_eq!(ending, "ptx");
        assert!(ptx.starts_with(b".version 7.0\n") && ptx.ends_with(b"{ ret; }\n"), "{}", String::from_utf8_lossy(ptx));
    }
}

/// What `--dump-modules` kept: ending and content.
fn images(run: &Run) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(run.folder.join("modules")).expect("cutap makes the folder").map(|e| e.unwrap().path());
    files.map(|p| (p.extension().expect("an ending").to_string_lossy().into_owned(), fs::read(p).unwrap())).collect()
}

/// The fat binary that a compiler puts into a program. Runtimes before 12.0 hand it to the driver through a hidden
/// table.
#[test]
fn registered_code_is_kept() {
    for runtime in LINKED.into_iter().chain(SHARED) {
        let Some(program) = program("runtime", runtime, &[]) else { continue };
        let run = run(&program, &[], &["--json", "--dump-modules", "$F/modules"]);
        let kept = images(&run);
        let listed = run.objects("module").len();
        assert!(!kept.is_empty() && listed == kept.len(), "{}: {listed} of {}", runtime.version, kept.len());
        for (ending, image) in kept {
            assert_eq!((&*ending, &image[..4]), ("fatbin", &0xba55_ed50_u32.to_le_bytes()[..]), "{}", runtime.version);
            let size = u64::from_le_bytes(image[8..16].try_into().unwrap());
            assert_eq!(image.len() as u64, 16 + size, "{}", runtime.version);
            let ptx = b".visible .entry _Z5saxpyifPKfPf(";
            assert!(image.windows(ptx.len()).any(|w| w == ptx), "{}", runtime.version);
        }
    }
}

/// A runtime linked in and two shared ones, calling in turn.
#[test]
fn several_in_one_process() {
    for (own, twelve, thirteen) in [("12.9", "12.9", "13.5"), ("13.5", "12.0", "13.0")] {
        let Some(program) = program("several", linked(own), &[]) else { continue };
        let (Some(a), Some(b)) = (shared_library(twelve), shared_library(thirteen)) else { continue };
        let run = run(&program, &[a.to_str().unwrap(), b.to_str().unwrap()], &["--json"]);
        let name = real::name(&program);
        let all = [(&*name, own), ("libcudart.so.12", twelve), ("libcudart.so.13", thirteen)];
        let mut expected = Counts::new();
        for (n, (library, version)) in (1..).zip(all) {
            for (function, calls) in
                [("cudaMalloc", 2 * n), ("cudaMemset", 2 * n), ("cudaFree", 2 * n), ("cudaRuntimeGetVersion", 2)]
            {
                expected.insert(format!("{library} {version} {function}"), calls);
            }
        }
        let key = |c: &Value| format!("{} {} {}", text(c, "library"), text(c, "runtime"), text(c, "name"));
        assert_eq!(tally(&run.calls("runtime"), key), expected, "{}", run.text);
        let kinds = ["linked", "shared", "shared"];
        let instances: Vec<String> = all.iter().zip(kinds).map(|((l, v), k)| format!("{l} {v} {k}")).collect();
        assert_eq!(run.instances(), instances);
    }
}

/// The static runtime 11.1 in libcufile asks dlsym for every function: each answer is diverted, and all that it calls
/// is seen.
#[test]
fn runtime_11_1_inside_libcufile() {
    let Some(wheel) = wheel("cufile", "12") else { return };
    assert!(wheel.to_string_lossy().contains("nvidia-cufile-cu12-1.14.1.1"), "inside_cufile.c knows only this version");
    let program = build("inside_cufile", "inside_cufile", &[] as &[&str]);
    let library = wheel.join("lib/libcufile.so.0");
    let run = run(&program, &[library.to_str().unwrap()], &["--json", "-e", "runtime,driver,lookup"]);
    assert_eq!(run.instances(), ["libcufile.so.0 11.1 linked"]);
    let seen = tally(&run.calls("runtime"), |c| text(c, "name").to_owned());
    let expected = [
        ("cudaGetDeviceCount", 1),
        ("cudaRuntimeGetVersion", 1),
        ("cudaMalloc", 3),
        ("cudaMemset", 3),
        ("cudaFree", 3),
    ];
    assert_eq!(seen, expected.map(|(n, c)| (n.to_owned(), c)).into());
    let driver = run.driver();
    for (name, calls) in [
        ("cuInit", 1),
        ("cuDevicePrimaryCtxRetain", 1),
        ("cuMemAlloc_v2", 3),
        ("cuMemsetD8_v2", 3),
        ("cuMemFree_v2", 3),
    ] {
        assert_eq!(driver.get(name), Some(&calls), "{name}");
    }
    let asked: Vec<Value> =
        run.objects("lookup").into_iter().filter(|l| l["kind"] == "dlsym" && l["caller"] == "libcufile.so.0").collect();
    let driver_names =
        asked.iter().filter(|l| text(l, "name").starts_with("cu") && !text(l, "name").starts_with("cuFile"));
    let mut diverted = 0;
    for lookup in driver_names {
        let nothing = lookup["address"].is_null() && lookup["function"].is_null();
        assert!(nothing || lookup["library"] == "libcuda.so.1", "handed out undiverted: {lookup}");
        diverted += u64::from(!nothing);
    }
    assert!(diverted > 200, "{diverted} of {}", asked.len());
    assert!(
        run.objects("lookup").iter().all(|l| l["kind"] != "cuGetProcAddress" && l["kind"] != "cuGetProcAddress_v2")
    );
}

/// Driver functions that a runtime hands out are called as the program's own, outside of any runtime call.
#[test]
fn functions_that_a_runtime_hands_out() {
    let old = [shared("11.7"), shared("11.8"), shared("12.0"), shared("12.4"), shared("12.9")].map(|r| (r, ""));
    let new =
        [linked("12.9"), shared("12.9"), linked("13.0"), linked("13.5"), shared("13.5")].map(|r| (r, "BY_VERSION"));
    for (runtime, by) in old.into_iter().chain([(linked("12.9"), "")]).chain(new) {
        let by: Vec<&str> = [by].into_iter().filter(|w| !w.is_empty()).collect();
        let Some(program) = program("entry_points", runtime, &by) else { continue };
        let run = run(&program, &[], &["--json"]);
        assert_eq!(
            tally(&run.calls("runtime"), |c| text(c, "name").to_owned()),
            reported(&run, runtime),
            "{}",
            run.text
        );
        let mut outside = run.calls("driver");
        outside.retain(|c| c["depth"] == 0);
        for name in ["cuMemAlloc_v2", "cuMemFree_v2"] {
            assert_eq!(
                outside.iter().filter(|c| c["name"] == name).count(),
                5,
                "{} {name}\n{}",
                runtime.version,
                run.text
            );
        }
    }
}

/// Flags are on for what is wanted only. After each function was called once: cudaGetDeviceCount, cudaMalloc,
/// cudaMemcpyAsync.
#[test]
fn flags_of_what_is_wanted_only() {
    for runtime in LINKED {
        let Some(program) = program("callback_table", runtime, &[]) else { continue };
        let ours = "program's table in libcutap_preload.so, profiler's in -\nflags";
        let driver = "program's table in libcuda.so.1, profiler's in -\nflags";
        for (filter, calls, said) in [
            ("driver,runtime", 13, format!("{ours} 1 1 1\n")),
            ("cudaMalloc", 3, format!("{ours} 0 1 0\n")),
            ("cudaMalloc,cudaMemcpyAsync", 6, format!("{ours} 0 1 1\n")),
            ("!cudaMalloc", 10, format!("{ours} 1 0 1\n")),
            ("cudaDeviceReset", 0, format!("{ours} 0 0 0\n")),
            ("driver", 0, format!("{driver} 0 0 0\n")),
        ] {
            let run = run(&program, &["none"], &["--json", "-e", filter]);
            let tables = fs::read_to_string(run.folder.join("tables")).expect("the program writes it");
            assert_eq!(tables, said, "{} -e {filter}", runtime.version);
            assert_eq!(run.calls("runtime").len(), calls, "{} -e {filter}\n{}", runtime.version, run.text);
        }
    }
}

/// A profiler gets the driver's own table, hears of what it subscribed to, and of nothing else, whatever cutap wants.
/// That it hears the same without cutap is in the program's output, which is compared.
#[test]
fn a_profiler_hears_what_it_asked_for() {
    build("profiler", "libcupti.so.13", &["-shared", "-fPIC", "-Wl,-soname,libcupti.so.13"]);
    for runtime in [linked("12.9"), linked("13.5")] {
        let Some(program) = program("callback_table", runtime, &[]) else { continue };
        for when in ["early", "late"] {
            for (filter, calls) in [("runtime", 13), ("cudaMalloc", 3), ("cudaFree", 3), ("driver", 0)] {
                let run = run(&program, &[when], &["--json", "-e", filter]);
                let tables = fs::read_to_string(run.folder.join("tables")).expect("the program writes it");
                let whose = if filter == "driver" { "libcuda.so.1" } else { "libcutap_preload.so" };
                let said = format!("program's table in {whose}, profiler's in libcuda.so.1\n");
                assert!(tables.starts_with(&said), "{} {when} -e {filter}: {tables}", runtime.version);
                assert_eq!(run.counted("profilers that asked for the callback table"), 1, "{}", run.text);
                let gaps = run.objects("end").pop().expect("an end")["gaps"].to_string();
                assert!(gaps.contains("libcupti.so.13"), "{gaps}");
                assert_eq!(run.calls("runtime").len(), calls, "{} {when} -e {filter}\n{}", runtime.version, run.text);
            }
        }
    }
}
