//! Who calls, and what a call was really made with: also where nothing is recorded, and in what follows from it.

use crate::building::{fixed, hook, runtimes, text, under, with_runtime};
use crate::real::{linked, shared};
use cutap_e2e::{cutap, finish, out, scratch};
use std::path::Path;
use std::process::Command;

/// The words that only count, and those that record nothing of a program that never starts the profiler.
fn not_recorded(folder: &Path) -> [Vec<String>; 2] {
    let file = |name: &str| text(&folder.join(name)).to_owned();
    [
        vec!["trace".to_owned(), "-C".to_owned(), "-o".to_owned(), file("counts")],
        ["record", "--capture-range=cudaProfilerApi", "-o"]
            .map(str::to_owned)
            .into_iter()
            .chain([file("run.cutap")])
            .collect(),
    ]
}

#[test]
fn hooks_do_the_same_where_nothing_is_recorded() {
    let one = hook("one_device");
    for runtime in runtimes() {
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        let folder = scratch("not-recorded");
        for words in not_recorded(&folder) {
            let words: Vec<&str> = words.iter().map(String::as_str).chain(["--sim"]).collect();
            let run = under(&words, &[&one], &[text(&program)], &[("CUTAP_SIM_DEVICES", "3")]);
            let which = format!("{words:?} {} shared {}", runtime.version, runtime.shared);
            assert!(run.stdout.starts_with("devices 0 1\n100 bytes: 0\n"), "{which}: {run:?}");
        }
    }
}

/// A hook of the driver alone, which asks whether a runtime is starting: it is told so whatever is recorded of
/// runtimes.
#[test]
fn a_runtime_that_starts_is_told_from_the_program() {
    let alone = hook("driver_alone");
    for runtime in runtimes() {
        let Some(program) = with_runtime("large", runtime, &[]) else { continue };
        let folder = scratch("starting");
        let drivers = ["trace", "-e", "driver"].map(str::to_owned).to_vec();
        for words in not_recorded(&folder).into_iter().chain([drivers, vec!["run".to_owned()]]) {
            let words: Vec<&str> = words.iter().map(String::as_str).chain(["--sim"]).collect();
            let run = under(&words, &[&alone], &[text(&program)], &[("CUTAP_SIM_DEVICES", "3")]);
            let which = format!("{words:?} {} shared {}", runtime.version, runtime.shared);
            assert!(run.stdout.starts_with("cudaMalloc: 0 "), "{which}: {run:?}");
            assert!(run.stdout.contains("\ncuDeviceGetCount: 0 1\n"), "{which}: {run:?}");
        }
    }
}

#[test]
fn the_caller_is_known_where_nothing_is_recorded() {
    let callers = hook("callers");
    for runtime in [linked("12.9"), shared("13.5")] {
        let Some(program) = with_runtime("memory", runtime, &[]) else { continue };
        let folder = scratch("callers");
        let plain = ["trace", "-c"].map(str::to_owned).to_vec();
        for words in not_recorded(&folder).into_iter().chain([plain]) {
            let words: Vec<&str> = words.iter().map(String::as_str).chain(["--sim"]).collect();
            let run = under(&words, &[&callers], &[text(&program)], &[]);
            assert!(run.stdout.ends_with("callers: many, 0 wrong\n"), "{words:?}: {run:?}");
        }
    }
}

/// On a stack whose end is a few words above the call, as a fibre's.
#[test]
fn hooks_read_nothing_above_a_stack_where_nothing_is_recorded() {
    let (nothing, folder) = (hook("nothing"), scratch("above"));
    let program = out().join("guard_page");
    for words in not_recorded(&folder) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = under(&words, &[&nothing], &[text(&program)], &[]);
        assert_eq!((run.stdout.as_str(), run.status.code()), ("ok\n", Some(0)), "{words:?}: {run:?}");
    }
}

/// A forked child is as without cutap, one that runs another program too.
#[test]
fn children_that_are_not_followed_have_no_hooks() {
    let (version, program) = (hook("version"), fixed("versions"));
    for (words, child) in [(&["run"][..], 42), (&["run", "--no-follow-children"], 12090)] {
        let run = under(words, &[&version], &[text(&program)], &[]);
        assert_eq!(run.stdout, format!("parent 42\nchild {child}\n"), "{run:?}");
    }
}

/// By another name, and of another image: what a launch is called, the types of its parameters, and what is kept of
/// modules.
#[test]
fn kernels_are_those_that_were_loaded() {
    let modules = hook("modules");
    let Some(program) = with_runtime("modules", shared("12.9"), &[]) else { return };
    let told = |set: &[(&str, &str)]| {
        let folder = scratch("modules");
        let dump = folder.join("dump");
        let words = ["trace", "--sim", "-e", "cuLaunchKernel", "--dump-modules", text(&dump)];
        let run = under(&words, &[&modules], &[text(&program)], set);
        assert!(run.status.success(), "{run:?}");
        let launch = run.stderr.lines().find(|l| l.starts_with("cuLaunchKernel ")).expect("a launch").to_owned();
        let kept =
            std::fs::read_dir(&dump).expect("a folder").filter_map(|f| std::fs::read_to_string(f.ok()?.path()).ok());
        (launch, kept.collect::<String>())
    };
    for (set, params, kernel, entry) in [
        (&[][..], "{n=-7, x=2.5}", "one", ".entry other("),
        (&[("HOOK_KERNEL", "other")], "{count=4294967289, factor=2.5}", "other", ".entry other("),
        (&[("HOOK_IMAGE", "1")], "{second=-7, first=2.5}", "one", ".s32 second"),
    ] {
        let (launch, kept) = told(set);
        assert!(launch.contains(&format!("kernelParams={params}")), "{launch}");
        assert!(launch.starts_with(&format!("cuLaunchKernel {kernel} <<<")), "{launch}");
        assert!(kept.contains(entry), "{kept}");
    }
}

/// Of an argument of several words all that a hook wrote is told, and followed.
#[test]
fn a_struct_that_a_hook_changed_is_told_whole() {
    let Some(program) = with_runtime("extent", shared("13.5"), &[]) else { return };
    let folder = scratch("extent");
    let file = folder.join("run.cutap");
    let run = under(&["record", "--sim", "-o", text(&file)], &[&hook("extent")], &[text(&program)], &[]);
    assert_eq!(run.stdout, "0: 50 by 10\n", "{run:?}");
    let shown = finish(Command::new(cutap()).args(["show", "-e", "cudaMalloc3D"]).arg(&file)).stdout;
    assert!(shown.contains("extent={width=100, height=20, depth=3}"), "{shown}");
    assert!(shown.contains(" [extent.so: extent={width=50, height=10, depth=2}]"), "{shown}");
    let leaks = finish(Command::new(cutap()).args(["report", "--leaks"]).arg(&file)).stdout;
    // Once: the runtime's call reports what the driver's in it has made.
    assert_eq!(leaks.matches("1 piece of device memory, 10 KiB").count(), 1, "{leaks}");
}
