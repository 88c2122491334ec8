//! The kernel that a launch launches, as its hooks are told, and the last error, which the question must not change.

use crate::building::{hook, runtimes, simulated, text, under, with_runtime};
use crate::real::shared;
use cutap_e2e::scratch;

const KERNEL: &str = "_Z5twicei";

/// Registered as a compiler does it, by each launch function, by the one that <<<>>> of CUDA 13 calls, and what is no
/// kernel.
#[test]
fn the_kernel_of_a_launch_is_told_before_and_after() {
    let kernels = hook("kernels");
    let old = [shared("11.7"), shared("12.0"), shared("12.4")];
    for runtime in old.into_iter().chain(runtimes()) {
        let Some(program) = with_runtime("launches", runtime, &[]) else { continue };
        let which = format!("{} shared {}", runtime.version, runtime.shared);
        let said = simulated(&[&kernels], &program, &[("HOOK_ANSWER", "2")]);
        let both = |name: &str, kernel: &str| format!(" before {name}: {kernel} after {name}: {kernel}\n");
        // A linked-in one before 13 knows none before its first call, and before 12.9 it reports garbage for an invalid
        // kernel handle.
        let first = if runtime.shared || runtime.at_least(13, 0) { KERNEL } else { "NULL" };
        if !runtime.shared && !runtime.at_least(12, 9) {
            assert!(
                said.contains(&format!("{}pending: 0, last 101 101 0\n", both("cudaLaunchKernel", KERNEL))),
                "{said}"
            );
            continue;
        }
        let launches = [
            (first, "first: 0, last 0 0 0"),
            (KERNEL, "pending: 0, last 101 101 0"),
            ("NULL", "none: 98, last 98 98 0"),
            ("NULL", "answered: 0, last 0 0 0"),
            ("NULL", "answered, pending: 0, last 101 101 0"),
        ];
        let mut expected: String =
            launches.iter().map(|(kernel, end)| format!("{}{end}\n", both("cudaLaunchKernel", kernel))).collect();
        expected += &format!("{}together: 0\n", both("cudaLaunchCooperativeKernel", KERNEL));
        if runtime.at_least(12, 1) || said.contains("as compiled") {
            let inner = both("cudaLaunchKernel", KERNEL);
            expected += &match runtime.shared {
                true => format!(" before __cudaLaunchKernel: {KERNEL}{inner} after __cudaLaunchKernel: {KERNEL}\n"),
                false => inner,
            };
            expected += "as compiled: 0, last 0 0 0\n";
        }
        assert_eq!(said, expected, "{which}");
    }
}

/// The launch that a compiler writes drops the code: the last error is how a program learns of it.
#[test]
fn a_launch_as_compiled_has_a_last_error() {
    let compiled = hook("compiled");
    for runtime in [shared("12.9"), shared("13.5")] {
        let Some(program) = with_runtime("launches", runtime, &[]) else { continue };
        let after = ("HOOK_AFTER", "1");
        let ways: [(&[(&str, &str)], u32); 5] = [
            (&[("HOOK_CODE", "719")], 719),
            (&[("HOOK_CODE", "719"), after], 719),
            // It goes through two hooked functions.
            (&[("HOOK_INNER", "97")], 97),
            (&[("HOOK_INNER", "97"), ("HOOK_CODE", "719"), after], 719),
            (&[("HOOK_INNER", "97"), ("HOOK_CODE", "0"), after], 0),
        ];
        for (set, code) in ways {
            let said = simulated(&[&compiled], &program, set);
            let last = format!("as compiled: {code}, last {code} {code} 0\n");
            assert!(said.ends_with(&last), "{} {set:?}: {said}", runtime.version);
        }
    }
}

/// What was asked is nobody's call.
#[test]
fn a_kernel_that_is_asked_for_is_in_no_trace() {
    let kernels = hook("kernels");
    for runtime in [shared("11.8"), shared("12.9"), shared("13.5")] {
        let Some(program) = with_runtime("launches", runtime, &[]) else { continue };
        let folder = scratch("asked");
        let file = folder.join("trace");
        let words = ["trace", "--sim", "-e", "cuda*", "-o", text(&file)];
        let run = under(&words, &[&kernels], &[text(&program)], &[("HOOK_ANSWER", "2")]);
        assert!(run.status.success(), "{run:?}");
        let trace = std::fs::read_to_string(&file).expect("a trace");
        let count = |name: &str| trace.lines().filter(|l| l.contains(name) && !l.starts_with("cutap:")).count();
        assert_eq!((count("cudaFuncGetName"), count("cudaGetFuncBySymbol")), (0, 0), "{trace}");
        let asked = if run.stdout.contains("as compiled") { 6 } else { 5 };
        assert_eq!((count("] cudaPeekAtLastError("), count("] cudaGetLastError(")), (asked, 2 * asked), "{trace}");
    }
}

/// An error that was pending when a hook hid a later one, or gave one: as far as hooked calls, or the program's
/// questions, have shown it.
#[test]
fn pending_errors_outlive_hidden_ones() {
    let (last_error, nothing) = (hook("last_error"), hook("nothing"));
    for runtime in runtimes() {
        let Some(program) = with_runtime("pending", runtime, &[]) else { continue };
        // What fails without a hook before a hidden error is lost, and comes before one that a hook gives.
        for (hooks, hidden, given) in [(&[&*last_error][..], 0, 101), (&[&last_error, &nothing], 101, 2)] {
            let line = |what: &str, code: u32| format!("[{code}][{code}][0] {what}: last {code}, {code}, then 0\n");
            let expected = line("hidden", hidden)
                + "[101]"
                + &line("seen and hidden", 101)
                + &line("given", given)
                + &line("real", 101)
                + &line("given and hidden", 2)
                + &line("reset", 101);
            let said = simulated(hooks, &program, &[]);
            assert_eq!(said, expected, "{} shared {}", runtime.version, runtime.shared);
        }
    }
}
