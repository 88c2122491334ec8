//! Hook libraries of `tests/programs/hooks`, in C, C++ and Rust, on functions of the driver and of runtimes.

mod building;
mod effective_args;
mod exported;
mod hook_reentrancy;
mod kernels;
mod leaks_with_hooks;
mod names;
#[allow(dead_code, reason = "shared with the tests of runtimes")]
#[path = "../runtimes/real.rs"]
mod real;
mod refused;
mod runtime;

use building::{fixed, fixed_with, header, hook, hook_as, rust_hook, simulated, text, under};
use cutap_e2e::{case, cutap, finish, scratch, wait_for};
use std::process::Command;
use std::time::Duration;

/// A trace of the run, as text.
fn traced(words: &[&str], hooks: &[&std::path::Path], program: &[&str], set: &[(&str, &str)]) -> (String, String) {
    let folder = scratch("hooks");
    let file = folder.join("trace");
    let words = [&["trace", "-o", text(&file)], words].concat();
    let run = under(&words, hooks, program, set);
    assert!(run.status.success(), "{run:?}");
    (run.stdout, std::fs::read_to_string(file).expect("cutap writes the trace"))
}

#[test]
fn the_header_is_c99_and_cpp11_and_is_what_cutap_prints() {
    for (compiler, standard) in [("gcc", "-std=c99"), ("g++", "-std=c++11")] {
        let folder = scratch("header");
        let file = folder.join(if compiler == "gcc" { "h.c" } else { "h.cpp" });
        std::fs::write(&file, "#include \"cutap_hook.h\"\nCUTAP_HOOK { return 0; }\n").expect("writable");
        let mut gcc = Command::new(compiler);
        gcc.args([standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I"]).arg(header());
        let done = finish(gcc.arg(&file).arg("-o").arg(folder.join("h.so")));
        assert!(done.status.success(), "{}", done.stderr);
    }
    let printed = finish(Command::new(cutap()).arg("hook-header"));
    assert_eq!(printed.stdout, std::fs::read_to_string(header().join("cutap_hook.h")).expect("part of the checkout"));
}

/// A changed argument reaches the function and the trace in c and rust.
#[test]
fn changed_argument_in_call_and_trace() {
    for (grid, name) in [(hook("grid"), "grid"), (rust_hook("grid"), "libgrid")] {
        let (said, trace) = traced(&[], &[&grid], &[text(&fixed("fixed")), "grid"], &[("HOOK_BLOCKS", "2")]);
        assert_eq!(said, "launch 0\n");
        assert!(trace.contains("<<<(900,3,4), ") && trace.contains(&format!("[{name}.so: gridDimX=2]")), "{trace}");
    }
}

/// Arguments of every type, in registers and on the stack, read and changed by name and by number; results that are
/// floats.
#[test]
fn arguments_and_results_of_every_type_in_c_and_rust() {
    let program = fixed_with("numbers", &["-l:libcublas.so.13", "-l:libcurand.so.10"]);
    let plain = "normal 5 150.25\nnormal double 6 -149.875\ngemm 0 -5449\ndot 9\ndouble dot 9\ndot 10\ndouble dot 10\n\
        words -12 11\n";
    assert_eq!(finish(&mut Command::new(&program)).stdout, plain);
    for hook in [hook("arguments"), rust_hook("arguments")] {
        let (said, trace) = traced(&[], &[&hook], &[text(&program)], &[]);
        let of = |hooks: bool| -> String {
            said.lines().filter(|l| l.starts_with("hook: ") == hooks).map(|l| format!("{l}\n")).collect()
        };
        assert_eq!(
            of(true),
            "hook: curandGenerateNormal same 1 n=5 mean=1.5 stddev=0.25 of 5\n\
             hook: curandGenerateNormalDouble same 1 n=6 mean=-1.5 stddev=0.125 of 5\n\
             hook: gemm m=1 ldc=-6 alpha=2 beta=3 none=-1\n\
             hook: incx=-7 result 2.5\nhook: incx=-7 result -0.1\nhook: incx=-7 result 10\nhook: incx=-7 result 10\n\
             hook: words 11 -12 of 0\n"
        );
        assert_eq!(
            of(false),
            "normal 9 250.5\nnormal double 9 250.5\ngemm 0 1251\ndot 2.5\ndouble dot -0.1\ndot 10\ndouble dot 10\n\
             words -12 11\n"
        );
        // What the program asked, and what was done.
        let name = hook.file_name().expect("a file").to_string_lossy().into_owned();
        assert!(trace.contains("n=5, mean=1.5, stddev=0.25)"), "{trace}");
        let changed = |what: &[&str]| what.iter().map(|w| format!(" [{name}: {w}]")).collect::<String>();
        assert_eq!(trace.matches(&changed(&["mean=2.5", "stddev=0.5", "n=9"])).count(), 2, "{trace}");
        assert!(trace.contains(&changed(&["ldc=1", "ldb=2"])), "{trace}");
        assert_eq!(trace.matches(&format!("[answered by {name}]")).count(), 2, "{trace}");
    }
}

#[test]
fn two_hooks_work_in_their_order() {
    let (first, second) = (hook("first"), hook_as("first", "second", &["-DME=\"second\""]));
    let (said, trace) = traced(&[], &[&first, &second], &[text(&fixed("fixed")), "5", "7", "6"], &[]);
    let expected = "first before 5\nsecond before 6\nsecond after 0, 100\nfirst after 0, 100\n5 bytes: 0\n\
        first before 7\nfirst after 77, 100\n7 bytes: 77\n\
        first before 6\nsecond before 7\nsecond after 77, 100\nfirst after 77, 100\n6 bytes: 77\n";
    assert_eq!(said, expected);
    assert!(trace.contains("bytesize=7) = 77 ! ") && trace.contains("[answered by second.so]"), "{trace}");
}

#[test]
fn a_changed_result_is_told_with_the_real_one() {
    let (said, trace) = traced(&["--json"], &[&hook("first")], &[text(&fixed("fixed")), "-1"], &[]);
    assert!(said.ends_with("bytes: 1000\n"), "{said}");
    let call = trace.lines().find(|l| l.contains("\"cuMemAlloc_v2\"")).expect("the call");
    let call: serde_json::Value = serde_json::from_str(call).expect("JSON");
    assert_eq!(call["result"], 1000);
    let did: Vec<_> = call["hooks"].as_array().expect("hooks").iter().map(|h| h["action"].clone()).collect();
    assert_eq!(did, ["argument", "result"]);
    assert_eq!(
        (&call["hooks"][0]["argument"], &call["hooks"][1]["original_result"]),
        (&"bytesize".into(), &"0x1".into())
    );
}

#[test]
fn hooks_for_what_a_shell_starts() {
    let (first, program) = (hook("first"), fixed("fixed"));
    for (more, recorded) in [(&[][..], true), (&["--no-record"][..], false)] {
        let folder = scratch("hooks-env");
        let run = folder.join("run");
        let env = finish(Command::new(cutap()).args(["env", "-o", text(&run), "--hook", text(&first)]).args(more));
        assert!(env.status.success(), "{}", env.stderr);
        let line = format!("{}\nexec {} 7", env.stdout, text(&program));
        let told = finish(Command::new("sh").args(["-c", &line]));
        assert_eq!(told.stdout, "first before 7\nfirst after 77, 100\n7 bytes: 77\n", "{}", told.stderr);
        let shown = finish(Command::new(cutap()).arg("show").arg(&run));
        assert_eq!(shown.stdout.contains("[answered by first.so]"), recorded, "{}", shown.stdout);
        assert!(run.join("hooks").is_file());
    }
    let folder = scratch("hooks-env-refused");
    let refused = finish(Command::new(cutap()).args(["env", "-o", text(&folder.join("run")), "--hook", "/none.so"]));
    assert!(!refused.status.success() && refused.stderr.contains("there is no such file"), "{}", refused.stderr);
    let alone = finish(Command::new(cutap()).args(["env", "-o", text(&folder.join("run")), "--no-record"]));
    assert!(!alone.status.success() && alone.stderr.contains("--hook"), "{}", alone.stderr);
    assert!(!folder.join("run").exists(), "no folder is left behind");
}

/// One that makes its first call when the program has ended, started by it before; the run directory goes with the last
/// of them.
#[test]
fn hooks_act_in_processes_that_outlive_the_program() {
    let (first, program) = (hook("first"), fixed("fixed"));
    for mode in [&["run"][..], &["trace"], &["record", "-o"]] {
        let folder = scratch("hooks-outlive");
        let (said, run) = (folder.join("said"), folder.join("runs"));
        std::fs::create_dir(&run).unwrap();
        let file = folder.join("file");
        let to = [text(&file)];
        let words = [mode, if mode.len() > 1 { &to } else { &[] }].concat();
        let line = format!("(sleep 0.7; exec {} 7 > {}) < /dev/null > /dev/null 2>&1 & :", text(&program), text(&said));
        let set = [("XDG_RUNTIME_DIR", text(&run))];
        let done = under(&words, &[&first], &["sh", "-c", &line], &set);
        assert!(done.status.success() && !said.exists(), "{mode:?}: {done:?}");
        let waits = if mode.len() > 1 { "calls are added to the recording" } else { "the hooks act in" };
        assert!(done.stderr.contains(waits) && !done.stderr.contains("was not called"), "{mode:?}: {done:?}");
        let hooked =
            || std::fs::read_to_string(&said).is_ok_and(|s| s == "first before 7\nfirst after 77, 100\n7 bytes: 77\n");
        wait_for("the child's words", Duration::from_secs(20), hooked);
        let gone = || std::fs::read_dir(&run).is_ok_and(|mut left| left.next().is_none());
        wait_for("the end of the run directory", Duration::from_secs(20), gone);
    }
}

/// The child continues in the same call: what is left of the hooks and the function run in it as in its parent.
#[test]
fn a_hook_may_fork() {
    let folder = text(cutap_e2e::out()).to_owned();
    let forks = hook_as("forks", "forks", &["-L", &folder, "-l:libcuda.so.1"]);
    let program = fixed("fixed");
    for (when, rest) in [
        ("before", "after 42\n5 bytes: 0\nafter 42\n6 bytes: 0\n"),
        ("after", "after 42\n5 bytes: 0\nafter 42\n6 bytes: 0\n"),
    ] {
        let set = [("LD_LIBRARY_PATH", folder.as_str()), ("HOOK_FORK", when)];
        let (said, trace) = traced(&[], &[&forks], &[text(&program), "5", "6"], &set);
        let half = |who: &str| format!("{when} in the {who}\n{rest}hooked 0\n");
        assert_eq!(said, half("child") + &half("parent"), "{trace}");
        // The call in which it was forked ends in the parent's part alone; the child has its second.
        let count = |name: &str| trace.lines().filter(|l| l.contains(name) && l.contains("= CUDA_SUCCESS <")).count();
        assert_eq!(count("cuMemAlloc_v2("), 3, "{trace}");
        assert_eq!(count("cuDriverGetVersion("), 2, "{trace}");
        assert!(!trace.contains("unfinished") && !trace.contains("unwound"), "{trace}");
    }
}

#[test]
fn calls_of_a_hook_pass_without_hooks_and_past_all_unrecorded() {
    let folder = text(cutap_e2e::out()).to_owned();
    let own = hook_as("calls_itself", "calls_itself", &["-L", &folder, "-l:libcuda.so.1"]);
    let program = fixed("fixed");
    let set = [("LD_LIBRARY_PATH", folder.as_str())];
    let (said, trace) = traced(&[], &[&own], &[text(&program), "5"], &set);
    assert_eq!(said, "5 bytes: 0\nnested 0\n");
    // The program's, and twice two of the hook's through its own bindings; those past all hooks are not there.
    let count = |name: &str| trace.lines().filter(|l| l.trim_start().starts_with(name)).count();
    assert_eq!((count("cuMemAlloc_v2("), count("cuDriverGetVersion(")), (3, 2), "{trace}");
}

#[test]
fn threads_and_recursion() {
    let (counts, program) = (hook("counts"), fixed("fixed"));
    for (pattern, word, calls) in [("cuMem*", "threads", 64_000), ("cuFixtureCall", "deep", 40), ("cuNone", "5", 0)] {
        let run = under(&["run"], &[&counts], &[text(&program), word], &[("HOOK_NAMES", pattern)]);
        assert!(run.stdout.ends_with(&format!("{calls} before, {calls} after, 0 wrong\n")), "{word}: {run:?}");
    }
}

/// What another thread did to a call would be in no trace: it may read it, and is refused the rest.
#[test]
fn only_its_own_thread_changes_a_call() {
    let (printed, told) =
        traced(&["-e", "cuMemAlloc_v2"], &[&hook("another_thread")], &[text(&fixed("fixed")), "64"], &[]);
    assert!(printed.contains("64 bytes: 1 1 1 1\n64 bytes: 1 1 1 1\n"), "{printed}");
    assert!(!told.contains("another_thread.so"), "{told}");
}

#[test]
fn exceptions_leave_hooks() {
    let run = under(&["run"], &[&hook("throws")], &[text(&fixed("caught"))], &[]);
    let mut expected = String::new();
    for (bytes, end) in
        [(64, "0"), (13, "caught 13"), (64, "0"), (14, "caught 14"), (64, "0"), (2_000_000, "0"), (64, "0")]
    {
        expected += &format!("left one\n{bytes} bytes: {end}\n");
    }
    assert_eq!(run.stdout, expected + "7 before, 6 after\n", "{}", run.stderr);
}

/// Programs of other tests, which check themselves: each with a hook that does nothing around every call.
#[test]
fn a_hook_that_does_nothing_changes_nothing() {
    let nothing = hook("nothing");
    for name in
        ["arguments", "floats", "structs", "registers", "exception", "longjmp", "pthread_exit", "pthread_cancel"]
    {
        case(name).hook(&nothing).golden();
    }
    for name in ["fork_before", "fork_after", "recursion", "small_stack", "guard_page", "backtrace", "thread_left"] {
        case(name).hook(&nothing).golden();
    }
    // Several libraries, shared runtimes, every way in which an address is handed out.
    for name in ["runtimes", "proc_address", "handles", "dladdr"] {
        case(name).hook(&nothing).golden();
    }
    case("lazy").like("links").hook(&nothing).golden();
    case("vfork_after").like("fork_after").hook(&nothing).golden();
    case("vforks").hook(&nothing).counts();
    for name in ["threads_at_once", "fibres", "host_callback"] {
        case(name).hook(&nothing).counts();
    }
}

/// What was asked, and what was done: answers, arguments, results, the same in a recording as in a trace.
#[test]
fn a_recording_has_what_hooks_did() {
    let folder = scratch("hooks");
    let file = folder.join("run.cutap");
    let (first, program, words) = (hook("first"), fixed("fixed"), ["5", "7", "-1"]);
    let (said, trace) = traced(&[], &[&first], &[&[text(&program)], &words[..]].concat(), &[]);
    let run = under(&["record", "-o", text(&file)], &[&first], &[&[text(&program)], &words[..]].concat(), &[]);
    assert_eq!((run.status.success(), run.stdout), (true, said), "{}", run.stderr);
    let shown = finish(Command::new(cutap()).arg("show").arg(&file));
    let of = |text: &str, number: &str| {
        let line = text.lines().find(|l| l.contains(&format!("bytesize={number})"))).expect(text).to_owned();
        line.split_once('>').expect("a time").1.to_owned()
    };
    for (number, did) in [
        ("5", " [first.so: bytesize=6]"),
        ("7", " [answered by first.so]"),
        ("0xffffffffffffffff", " [first.so: bytesize=0] [first.so: result was 1]"),
    ] {
        assert_eq!((of(&shown.stdout, number), of(&trace, number)), (did.to_owned(), did.to_owned()));
    }
}

#[test]
fn a_hook_delays_in_c_and_rust() {
    for (delay, ms) in [(hook("delay"), 60), (rust_hook("delay"), 70)] {
        let folder = scratch("hooks");
        let file = folder.join("trace");
        let words = ["trace", "--json", "-e", "cuStreamSynchronize", "-o", text(&file)];
        let program = case("host_callback").path();
        let set = [("HOOK_DELAY_MS", &*ms.to_string()), ("LD_LIBRARY_PATH", text(cutap_e2e::out()))];
        let run = under(&words, &[&delay], &[text(&program)], &set);
        assert_eq!(run.stdout, "ok\n", "{run:?}");
        let trace = std::fs::read_to_string(file).expect("cutap writes the trace");
        let call: serde_json::Value =
            serde_json::from_str(trace.lines().find(|l| l.contains("\"call\"")).expect("a call")).expect("JSON");
        assert!(call["duration_ns"].as_u64() > Some(ms * 1_000_000), "{call}");
    }
}

#[test]
fn launches_are_counted_by_kernel_in_c_and_rust() {
    let Some(program) = real::program("runtime", real::linked("12.9"), &[]) else { return };
    let expected = "launches of _Z5saxpyifPKfPf";
    let plain = simulated(&[&hook("nothing")], &program, &[]);
    let in_c = simulated(&[&hook("count_launches")], &program, &[]);
    let counted = in_c.strip_prefix(&plain).unwrap_or_else(|| panic!("{in_c}"));
    assert!(counted.contains(expected), "{counted}");
    let run = under(&["run", "--sim"], &[&rust_hook("count_launches")], &[text(&program)], &[]);
    let in_rust: String = run.stderr.lines().filter(|l| l.contains(expected)).map(|l| format!("{l}\n")).collect();
    assert_eq!((run.stdout, in_rust.as_str()), (plain, counted));
}
