//! What a thread and its process are in while hooks run: children that a hook forks, handlers on signal stacks, threads
//! that meet a function at the same time.

use crate::building::{fixed, hook, hook_as, text, under};
use crate::traced;
use cutap_e2e::{cutap, finish, json_lines, out, scratch};
use std::process::Command;

/// What a child changes and answers before anything else is seen of it, and how it leaves its hook, is not its
/// parent's.
#[test]
fn a_hooks_child_writes_nothing_into_its_parents_recording() {
    let (hook, program) = (hook("child_goes_on"), fixed("left_children"));
    for end in ["exit", "throw"] {
        let set = [("HOOK_END", end)];
        // Lines of JSON, for a call that takes long has two lines of text.
        let (said, trace) = traced(&["--json", "-e", "cuMemAlloc*"], &[&hook], &[text(&program)], &set);
        let folder = scratch("forks");
        let file = folder.join("run.cutap");
        let run = under(&["record", "-o", text(&file)], &[&hook], &[text(&program)], &set);
        assert_eq!((said.as_str(), run.stdout.as_str()), ("allocated\n", "allocated\n"), "{run:?}");
        let shown = finish(Command::new(cutap()).args(["show", "--json", "-e", "cuMemAlloc*"]).arg(&file)).stdout;
        for text in [trace, shown] {
            let calls: Vec<_> = json_lines(&text).filter(|line| line["name"] == "cuMemAlloc_v2").collect();
            let is_whole = |call: &serde_json::Value| {
                let bytes = &call["arguments"][1]["value"];
                (call["state"].as_str(), call["result"].as_u64(), bytes.as_u64()) == (Some("done"), Some(0), Some(64))
            };
            assert!(calls.len() == 50 && calls.iter().all(is_whole), "{end}: {text}");
            assert!(calls.iter().all(|call| call["hooks"].is_null()), "{end}: {text}");
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
