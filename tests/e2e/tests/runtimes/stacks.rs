//! `--stack` on calls that a runtime reports from inside: the first frame is the program's, and not the runtime's own.

use super::real::{linked, program, run, shared, text};
use serde_json::Value;

#[test]
fn who_calls_a_runtime() {
    for runtime in [linked("11.8"), linked("12.9"), linked("13.5"), shared("12.9"), shared("13.5")] {
        let Some(program) = program("left", runtime, &[]) else { continue };
        let run = run(&program, &[], &["--json", "--stack"]);
        let frames = |call: &Value| call["stack"].as_array().cloned();
        let (mut with, mut inner) = (0, 0);
        for call in run.calls("runtime").iter().chain(&run.calls("driver")) {
            let stack = frames(call);
            // What a shared runtime is called by the compiler's code, and the start of one that is linked in, is before
            // main.
            let outermost = call["depth"] == 0;
            assert_eq!(stack.is_some(), outermost, "{call}");
            let Some(stack) = stack else {
                inner += 1;
                continue;
            };
            if call["layer"] == "runtime" && !text(call, "name").starts_with("__cuda") {
                let first = &stack[0];
                assert_eq!(text(first, "function"), "main", "{call}");
                assert_eq!(call["stack_end"], "whole", "{call}");
                with += 1;
            }
        }
        assert!(with > 20 && inner > 10, "{} {with} {inner}", program.display());
    }
}
