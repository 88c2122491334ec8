//! What a thread and its process are in while hooks run: children that a hook forks, handlers on signal stacks, threads
//! that meet a function at the same time.

use crate::building::{fixed, hook, hook_as, text, under};
use crate::traced;
use cutap_e2e::{cutap, finish, out, scratch};
use std::process::Command;

/// What a child changes and answers before anything else is seen of it, and how it leaves its hook, is not its
/// parent's.
#[test]
fn a_hooks_child_writes_nothing_into_its_parents_recording() {
    let (hook, program) = (hook("child_goes_on"), fixed("left_children"));
    for end in ["exit", "throw"] {
        let set = [("HOOK_END", end)];
        let (said, trace) = traced(&["-e", "cuMemAlloc*"], &[&hook], &[text(&program)], &set);
        let folder = scratch("forks");
        let file = folder.join("run.cutap");
        let run = under(&["record", "-o", text(&file)], &[&hook], &[text(&program)], &set);
        assert_eq!((said.as_str(), run.stdout.as_str()), ("allocated\n", "allocated\n"), "{run:?}");
        let shown = finish(Command::new(cutap()).args(["show", "-e", "cuMemAlloc*"]).arg(&file)).stdout;
        for text in [trace, shown] {
            let calls =
                text.lines().filter(|l| l.contains("cuMemAlloc_v2(") && l.contains("bytesize=64) = CUDA_SUCCESS"));
            assert_eq!(
                calls.filter(|l| l.ends_with("us>") || l.ends_with("ns>") || l.ends_with("ms>")).count(),
                50,
                "{text}"
            );
            assert!(!["[", "unfinished", "unwound"].iter().any(|w| text.contains(w)), "{end}: {text}");
        }
    }
}

/// A handler on a signal stack does not end the hook that it interrupted.
#[test]
fn hook_interrupted_on_signal_stack() {
    let folder = text(out()).to_owned();
    let interrupted = hook_as("interrupted", "interrupted", &["-L", &folder, "-l:libcuda.so.1"]);
    let program = fixed("signal_stack");
    for place in ["far", "near"] {
        let run = under(&["run"], &[&interrupted], &[text(&program), place], &[("LD_LIBRARY_PATH", &folder)]);
        assert_eq!(run.stdout, "hooks of the handler's calls 3, of the hook's 0; errors 0\n", "{place}: {run:?}");
    }
}

#[test]
fn other_threads_hooks_run_when_the_function_is_met() {
    let (meets, program) = (hook("meets"), fixed("fixed"));
    let run = under(&["run"], &[&meets], &[text(&program), "threads"], &[]);
    assert_eq!(run.stdout, "met 1, before 64000, early none\n", "{run:?}");
}

/// It would wait permanently if they waited for it.
#[test]
fn one_that_waits_for_another_threads_call_is_not_waited_for() {
    let (meets, program) = (hook("meets"), fixed("fixed"));
    let run = under(&["run"], &[&meets], &[text(&program), "threads"], &[("HOOK_WAITS", "1")]);
    assert_eq!(run.stdout, "met 1, before 64000, early some\n", "{run:?}");
}
