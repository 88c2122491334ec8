//! What calls whose results hooks changed really made, and where hooks can write.

use crate::building::{hook, text, under, with_runtime};
use crate::real::{linked, shared};
use cutap_e2e::{cutap, finish, scratch};
use std::collections::BTreeSet;
use std::process::Command;

/// Five allocations that the program is told to have failed: with what is recorded of the runtime, of the driver, and
/// of both.
#[test]
fn leaks_are_what_calls_really_made() {
    let changes = hook("changes");
    for (runtime, name) in
        [linked("12.9"), shared("13.5")].into_iter().flat_map(|r| [(r, "cudaMalloc"), (r, "cuMemAlloc_v2")])
    {
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        for filter in ["runtime", "driver", "runtime,driver"] {
            let folder = scratch("made");
            let file = folder.join("run.cutap");
            let words = ["record", "--sim", "-e", filter, "-o", text(&file)];
            let run = under(&words, &[&changes], &[text(&program)], &[("HOOK_NAME", name)]);
            assert!(run.stdout.contains("15 bytes: 2\n"), "{run:?}");
            let leaks = finish(Command::new(cutap()).args(["report", "--leaks", "--json"]).arg(&file)).stdout;
            // To the runtime its driver's calls have failed: of what only the driver knows it made nothing.
            let of_both = (name, filter) != ("cuMemAlloc_v2", "runtime");
            let found = leaks.contains("\"count\":5,\"bytes\":157,");
            assert_eq!(found, of_both, "{} {name} {filter}: {leaks}", runtime.version);
            let shown = finish(Command::new(cutap()).args(["show", "-e", name]).arg(&file)).stdout;
            let told = shown.lines().filter(|l| l.contains("[changes.so: result was 0]") && l.contains("tr=&0x"));
            let here = filter.contains(if name == "cudaMalloc" { "runtime" } else { "driver" });
            assert_eq!(told.count(), if here { 5 } else { 0 }, "{shown}");
        }
    }
}

/// What the driver made in a call of whose result a hook told the program another address is one thing, and not two.
#[test]
fn what_a_hook_told_otherwise_is_left_once() {
    let shifts = hook("shifts");
    for runtime in [linked("12.9"), shared("13.5")] {
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        for (filter, by) in
            [("runtime", "cudaMalloc"), ("driver", "cuMemAlloc_v2"), ("runtime,driver", "cuMemAlloc_v2")]
        {
            let folder = scratch("told");
            let file = folder.join("run.cutap");
            let words = ["record", "--sim", "-e", filter, "-o", text(&file)];
            let run = under(&words, &[&shifts], &[text(&program)], &[]);
            assert!(run.stdout.contains("15 bytes: 0\n"), "{run:?}");
            let leaks = finish(Command::new(cutap()).args(["report", "--leaks"]).arg(&file)).stdout;
            let made: Vec<&str> = leaks.lines().filter(|l| l.contains("made by")).map(str::trim).collect();
            let memory: Vec<&&str> = made.iter().filter(|l| l.contains("device memory")).collect();
            let right =
                matches!(memory[..], [one] if one.contains(&format!("5 pieces of device memory, 157 B  made by {by}")));
            assert!(right, "{} {filter}: {leaks}", runtime.version);
        }
    }
}

/// An error that a hook made a success of has made nothing.
#[test]
fn what_failed_is_no_leak() {
    let Some(program) = with_runtime("pending", shared("12.9"), &[]) else { return };
    let folder = scratch("failed");
    let file = folder.join("run.cutap");
    let run = under(&["record", "--sim", "-o", text(&file)], &[&hook("last_error")], &[text(&program)], &[]);
    assert!(run.status.success(), "{run:?}");
    let shown = finish(Command::new(cutap()).args(["show", "-e", "cudaMalloc"]).arg(&file)).stdout;
    assert!(shown.contains("= cudaSuccess") && shown.contains("[last_error.so: result was 2]"), "{shown}");
    let leaks = finish(Command::new(cutap()).args(["report", "--leaks"]).arg(&file)).stdout;
    assert_eq!(leaks, "nothing was left: no call made memory or a handle\n");
}

/// The runtime's own function of the same name, which a hook calls first, is not taken for the program's call.
#[test]
fn a_shared_runtimes_own_function_has_no_record() {
    let Some(program) = with_runtime("memory", shared("12.9"), &[]) else { return };
    let set = [("HOOK_NAME", "cudaMalloc"), ("HOOK_TWICE", "1")];
    let words = ["trace", "--sim", "-e", "cudaMalloc,cuMemAlloc*"];
    let run = under(&words, &[&hook("changes")], &[text(&program)], &set);
    let count = |part: &str| run.stderr.lines().filter(|l| l.contains(part) && !l.contains("} ")).count();
    assert_eq!((count("cudaMalloc("), count("cuMemAlloc_v2("), count("=4321)")), (5, 10, 5), "{}", run.stderr);
}

/// Refused is what surely is no output: constant memory, handles, addresses of devices, what is freed, code, launches'
/// parameters.
#[test]
fn nothing_is_written_where_no_output_is() {
    let inputs = hook("inputs");
    let told = |source: &str, names: &str| -> Option<BTreeSet<String>> {
        let program = with_runtime(source, shared("12.9"), &[])?;
        let run = under(&["run", "--sim"], &[&inputs], &[text(&program)], &[("HOOK_NAMES", names)]);
        assert!(run.status.success(), "{run:?}");
        Some(run.stdout.lines().filter(|l| l.starts_with("cu")).map(str::to_owned).collect())
    };
    let set = |lines: &[&str]| lines.iter().map(|l| (*l).to_owned()).collect::<BTreeSet<_>>();
    let Some(copies) = told("copies", "cudaMemcpyAsync") else { return };
    let expected = ["cudaMemcpyAsync dst: 0", "cudaMemcpyAsync src: -2", "cudaMemcpyAsync stream: -2"];
    assert_eq!(copies, set(&expected));
    let copies = told("copies", "cuMemcpy*Async_v2").unwrap_or_default();
    for line in
        ["cuMemcpyHtoDAsync_v2 dstDevice: -2", "cuMemcpyHtoDAsync_v2 srcHost: -2", "cuMemcpyDtoHAsync_v2 dstHost: 0"]
    {
        assert!(copies.contains(line), "{line}: {copies:?}");
    }
    assert!(told("copies", "cuMemcpyAsync").unwrap_or_default().contains("cuMemcpyAsync dst: 0"));
    assert_eq!(told("memory", "cudaFree").unwrap_or_default(), set(&["cudaFree devPtr: -2"]));
    let launch = ["cudaLaunchKernel args: -2", "cudaLaunchKernel func: -2"];
    assert_eq!(told("launches", "cudaLaunchKernel").unwrap_or_default(), set(&launch));
    assert_eq!(told("memory", "cudaMalloc").unwrap_or_default(), set(&["cudaMalloc devPtr: 0"]));
}
