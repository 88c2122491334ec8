//! Arguments in a trace, as golden text: programs of `tests/programs/values` that call the driver with its own header,
//! on the simulated driver.

use crate::forum::{build_in, golden_in, traced};
use crate::real::{Runtime, shared, sim, wheel};
use cutap_e2e::{cutap, finish, sources};
use std::path::PathBuf;
use std::process::Command;

/// The trace of a program, which says that it is done, is that golden text.
fn case(name: &str, source: &str, filter: &str) {
    if let Some(text) = trace(source, filter) {
        golden_in("values", name, &text);
    }
}

/// The trace of a program; none without the headers.
fn trace(source: &str, filter: &str) -> Option<String> {
    let wheel = wheel("cudart", "13.5")?;
    let include = format!("-I{}", wheel.join("include").display());
    let driver = format!("{}/libcuda.so.1", sim());
    let program = build_in("values", &format!("{source}.c"), source, &[&include, &driver]);
    let (run, text) = traced(&[&program], None, filter);
    assert_eq!(run.stdout, "done\n", "{text}");
    Some(text)
}

/// The same of one that is built with a runtime.
fn runtime_trace(source: &str, runtime: Runtime, filter: &str) -> Option<String> {
    let (wheel, library) = (wheel("cudart", runtime.version)?, runtime.library()?);
    let include = format!("-I{}", wheel.join("include").display());
    let rpath = format!("-Wl,-rpath,{}", wheel.join("lib").display());
    let words = [include.as_str(), library.to_str().expect("a path that is text"), &rpath];
    let program = build_in("values", &format!("{source}.c"), source, &words);
    let (run, text) = traced(&[&program], None, filter);
    assert_eq!(run.stdout, "done\n", "{text}");
    Some(text)
}

/// A program with the shared runtime and its header.
fn with_runtime(source: &str) -> Option<PathBuf> {
    let wheel = wheel("cudart", "13.5")?;
    let (include, own) =
        (format!("-I{}", wheel.join("include").display()), format!("-I{}", sources().join("include").display()));
    let library = wheel.join("lib/libcudart.so.13").display().to_string();
    let rpath = format!("-Wl,-rpath,{}", wheel.join("lib").display());
    Some(build_in("values", &format!("{source}.c"), source, &[&include, &own, &library, &rpath]))
}

#[test]
fn handles_and_memory_that_are_no_more() {
    case("ended", "ended", "driver");
}

#[test]
fn what_ends_with_its_owner() {
    case("owners", "owners", "driver");
}

#[test]
fn handles_whose_making_was_not_recorded() {
    case("ended_unseen", "ended", "driver,!cuStreamCreate*,!cuMemAlloc*");
}

#[test]
fn lengths_and_unions() {
    // The handle has the process's number in it.
    case("lengths", "lengths", "driver,!cuIpcGetMemHandle");
    let Some(text) = trace("lengths", "cuIpcGetMemHandle") else { return };
    assert!(text.starts_with("cuIpcGetMemHandle(pHandle=&{reserved="), "{text}");
}

/// A union's field has its own name in a filter, which may be left out.
#[test]
fn filters_on_what_a_union_holds() {
    for (filter, attributes) in [
        ("value.priority=2", &["PRIORITY"][..]),
        ("value=2", &["PRIORITY", "SYNCHRONIZATION_POLICY"]),
        ("value.accessPolicyWindow.num_bytes>=4KiB", &["ACCESS_POLICY_WINDOW"]),
        ("value.num_bytes<4KiB", &[]),
    ] {
        let Some(text) = trace("lengths", &format!("cuStreamSetAttribute[{filter}]")) else { return };
        let attribute =
            |line: &str| line.split_once("ATTRIBUTE_").and_then(|(_, rest)| Some(rest.split_once(',')?.0.to_owned()));
        let found: Vec<String> = text.lines().filter_map(attribute).collect();
        assert_eq!(found, attributes, "{filter}: {text}");
    }
}

#[test]
fn names_of_values() {
    // Which file stands for memory is a matter of how many there are.
    case("names", "names", "driver,!cuMem*ShareableHandle");
    let Some(text) = trace("names", "cuMem*ShareableHandle") else { return };
    let lines: Vec<&str> = text.lines().collect();
    let file = |line: &str, name: &str| {
        line.split_once(name).and_then(|(_, rest)| rest.split_once(',')?.0.parse::<i32>().ok())
    };
    let made = file(lines[0], "shareableHandle=&");
    assert!(made.is_some_and(|n| n > 2) && made == file(lines[1], "osHandle="), "{text}");
    assert!(lines[2].contains("osHandle=&{data=01020300"), "{text}");
}

#[test]
fn numbers_that_have_names() {
    case("numbers", "numbers", "driver");
}

#[test]
fn copies_that_a_struct_describes() {
    case("copies", "copies", "driver");
    let Some(program) = with_runtime("copies_runtime") else { return };
    let (run, text) = traced(&[&program], None, "cudaMem*,cudaMalloc*,cudaGraphAdd*,cuMemAlloc*");
    assert_eq!(run.stdout, "done\n", "{text}");
    golden_in("values", "copies_runtime", &text);
}

#[test]
fn memory_of_either_side() {
    case("sides", "sides", "driver");
    let Some(text) = runtime_trace("sides_runtime", shared("13.5"), "cudaM*,driver,!cuGetProcAddress*") else { return };
    let copies: String = text.lines().filter(|l| l.contains("Memcpy")).map(|l| format!("{l}\n")).collect();
    golden_in("values", "sides_runtime", &copies);
}

#[test]
fn launches_on_several_devices() {
    case("devices", "devices", "cuLaunch*,cuMemAlloc*,cuStreamCreate,cuCtxSet*,cuDevicePrimary*,cuModuleGetFunction");
    let Some(text) = runtime_trace("devices_runtime", shared("12.9"), "cu*LaunchCooperative*") else { return };
    golden_in("values", "devices_runtime", &text);
}

#[test]
fn memory_of_all_kinds() {
    case("memory", "memory", "driver");
}

#[test]
fn nodes_of_all_kinds() {
    if let Some(text) = runtime_trace(
        "nodes",
        shared("13.5"),
        "cudaGraph*Node*,cuGraph*Node*,cuMemAlloc*,cuCtxSet*,cuDevicePrimaryCtxRetain",
    ) {
        golden_in("values", "nodes", &text);
    }
}

#[test]
fn structs_that_are_returned() {
    let Some(text) = runtime_trace("results", shared("13.5"), "cudaCreateChannelDesc") else { return };
    let call = "[libcudart.so.13] cudaCreateChannelDesc(x=8, y=16, z=32, w=0, f=cudaChannelFormatKindUnsigned) = \
                {x=8, y=16, z=32, w=0, f=cudaChannelFormatKindUnsigned} <";
    assert!(text.starts_with(call), "{text}");
}

#[test]
fn options_and_logs_of_the_compiler() {
    case("jit", "jit", "driver");
}

#[test]
fn what_failed_calls_write() {
    case("failed", "failed", "driver,!cuGetProcAddress*");
}

/// Each address without a kind is in the list at the end, and nothing else is.
#[test]
fn what_is_raw_is_listed() {
    let Some(text) = trace("raw", "driver") else { return };
    let plain: Vec<&str> = text
        .lines()
        .filter(|l| l.contains("Params=0x") && !l.contains("Params=0x0"))
        .filter_map(|l| l.split(['(', ' ']).next())
        .collect();
    assert_eq!(plain, ["cuLaunchKernel", "cuLaunchKernel", "cuGraphAddNode_v2"], "{text}");
    let end = "cutap: arguments shown as plain addresses: 3 of 2 functions (cuLaunchKernel, cuGraphAddNode_v2); ";
    assert!(text.lines().any(|l| l.starts_with(end)), "{text}");
}

#[test]
fn kernel_parameters_of_ptx() {
    case("ptx", "ptx", "cuLaunch*,cuMemAlloc*,cuCtx*,cuDevicePrimary*");
}

#[test]
fn kernel_parameters_of_ptx_in_files() {
    let Some(text) = trace("ptx_file", "cuModuleLoad,cuLibraryLoadFromFile,cuLinkAddFile,cuLaunchKernel") else {
        return;
    };
    for names in ["kernelParams={height=2.5, rows=1024}", "kernelParams={columns=1024}", "kernelParams={part=1024}"] {
        assert_eq!(text.matches(names).count(), 1, "{names}: {text}");
    }
}

/// A simulated machine that there cannot be is refused before anything runs.
#[test]
fn settings_of_the_simulated_driver() {
    for (value, why) in [("0", "is out of range"), ("9", "is out of range"), ("abc", "is no number")] {
        for words in [&["trace", "--sim", "--", "true"][..], &["env", "--sim", "-o", "/nonexistent/run"]] {
            let run = finish(Command::new(cutap()).args(words).env("CUTAP_SIM_DEVICES", value));
            let said =
                format!("cutap: CUTAP_SIM_DEVICES={value} {why}; it is the number of simulated devices, 1 to 8\n");
            assert_eq!((run.stderr, run.status.code()), (said, Some(125)), "{words:?}");
        }
    }
}
