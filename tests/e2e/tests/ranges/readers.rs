//! Filters, reports and rules on ranges.

use crate::build;
use cutap_e2e::{cutap, finish, json_lines, scratch};
use serde_json::Value;
use std::process::Command;

/// Filters choose ranges by name, in the program and in readers; reports add them up.
#[test]
fn steps_and_filters() {
    let folder = scratch("ranges-steps");
    let Some(program) = build(&folder, "steps", "13.5", &[]) else { return };
    let file = folder.join("steps.cutap");
    let run = |words: &[&str]| {
        let done = finish(Command::new(cutap()).args(words).arg(&file));
        assert!(done.status.success(), "{words:?}: {done:?}");
        done.stdout
    };
    let record = |words: &[&str]| {
        let mut command = Command::new(cutap());
        let done = finish(command.args(["record", "-q", "--sim", "-o"]).arg(&file).args(words).arg("--").arg(&program));
        assert!(done.status.success(), "{done:?}");
    };
    record(&[]);
    let lines: Vec<Value> = json_lines(&run(&["report", "--by", "step", "--json"])).collect();
    let steps = lines.iter().find(|line| line["type"] == "steps").expect("steps");
    assert_eq!((&steps["name"], &steps["steps"]), (&Value::from("step *"), &Value::from(100)), "{steps:#}");
    assert_eq!((&steps["calls"]["median"], &steps["calls"]["max"]), (&Value::from(2), &Value::from(402)), "{steps:#}");
    let lines: Vec<Value> = json_lines(&run(&["report", "--by", "range", "--json"])).collect();
    let sums = |name: &str| {
        let line = lines.iter().find(|line| line["name"] == name).expect("a range");
        (line["count"].as_u64(), line["calls"].as_u64(), line["unfinished"].as_u64())
    };
    assert_eq!(sums("forward"), (Some(100), Some(100), Some(0)));
    assert_eq!(sums("in any thread"), (Some(100), Some(600), Some(0)));
    assert_eq!(sums("step 60"), (Some(1), Some(402), Some(0)));
    // A reader finds a range by its plain name.
    for filter in ["under:step 7", "under:nvtx:step 7", "under:nvtx:step 7@nvtx"] {
        let inside = run(&["show", "-e", filter]);
        assert!(inside.starts_with("range \"step 7\" {\n  range \"forward\" {\n    cuMemsetD8_v2("), "{inside}");
        assert_eq!(inside.lines().count(), 6, "{inside}");
    }
    assert_eq!(run(&["show", "-e", "forward"]).lines().count(), 100);
    assert_eq!(run(&["show", "-e", "nvtx:step ?"]).lines().count(), 9);
    let unknown = finish(Command::new(cutap()).args(["show", "-e", "backward"]).arg(&file));
    assert!(unknown.status.code() == Some(125) && unknown.stderr.contains("a range by nvtx:backward"), "{unknown:?}");
    // Ranges are no calls.
    assert!(!run(&["report"]).contains("step") && !run(&["report", "--slowest"]).contains("step"));
    record(&["-e", "nvtx:step *,cuMemFree"]);
    let all: Vec<Value> = json_lines(&run(&["show", "--json"])).filter(|line| line["type"] == "call").collect();
    assert!(all.iter().all(|call| call["name"] == "cuMemFree_v2" || call["layer"] == "nvtx"), "{all:#?}");
    assert_eq!(all.iter().filter(|call| call["layer"] == "nvtx").count(), 100);
    // Ranges alone are something.
    let mut alone = Command::new(cutap());
    let alone = alone.args(["record", "--sim", "-e", "nvtx", "-o"]).arg(&file).arg(&program).output().expect("a run");
    let said = String::from_utf8_lossy(&alone.stderr);
    assert!(said.contains("no call was recorded in ") && said.contains(", but ranges of NVTX; next: "), "{said}");
    // Ends have the names of their ranges.
    record(&["-e", "nvtx:in any thread"]);
    let shown = run(&["show", "-e", "nvtx:in any *"]);
    assert_eq!(shown.lines().filter(|line| *line == "start of range 7 \"in any thread\"").count(), 1, "{shown}");
    assert_eq!(shown.lines().filter(|line| *line == "end of range 7 \"in any thread\"").count(), 1, "{shown}");
    assert_eq!(shown.lines().count(), 200, "{shown}");
    // A recording keeps the ranges that decide what is inside of them.
    for (filter, inside, calls) in [
        ("under:step 7 & driver", true, 2),
        ("driver,!under:step 7", false, 603),
        ("driver,!nvtx,under:step 7", true, 2),
    ] {
        record(&["-e", filter]);
        let shown = run(&["show"]);
        assert_eq!(
            (shown.lines().count(), shown.contains("cuCtxSynchronize() = CUDA_SUCCESS")),
            (calls, true),
            "{filter}"
        );
        assert!(!inside || shown.starts_with("cuMemsetD8_v2("), "{shown}");
    }
}

/// Steps in which recording was off are no steps without calls.
#[test]
fn steps_without_recording() {
    let folder = scratch("ranges-switched");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let file = folder.join("switched.cutap");
    let switch = |to: &str| format!("LD_PRELOAD= {} ctl $PPID {to}", cutap().display());
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "-o"]).arg(&file).arg(&program).arg("switched");
    let done = finish(record.env("OFF", switch("off")).env("ON", switch("on")));
    assert!(done.status.success(), "{done:?}");
    let report = |words: &[&str]| finish(Command::new(cutap()).args(["report", "--by", "step"]).args(words).arg(&file));
    let text = report(&[]).stdout;
    let line = "4 more not counted: recording was off in them, or in a part of them";
    assert!(text.starts_with("8 steps: ") && text.lines().nth(1) == Some(line), "{text}");
    let lines: Vec<Value> = json_lines(&report(&["--json"]).stdout).collect();
    let steps = lines.iter().find(|line| line["type"] == "steps").expect("steps");
    assert_eq!((&steps["unrecorded"], &steps["calls"]["min"]), (&Value::from(4), &Value::from(1)), "{steps:#}");
    let of_step = |n: usize| lines.iter().find(|line| line["name"] == format!("step {n}")).expect("a step");
    assert_eq!((&of_step(5)["recorded"], &of_step(5)["calls"]), (&Value::from(false), &Value::Null));
    assert_eq!((&of_step(8)["recorded"], &of_step(8)["calls"]), (&Value::from(true), &Value::from(1)));
    // There was no GPU time.
    assert!(lines.iter().all(|line| line.get("gpu_ns").is_none()), "{lines:#?}");
}

/// `cutap check`: waits in ranges, and steps that differ in their calls.
#[test]
fn rules_on_ranges() {
    let folder = scratch("ranges-rules");
    let Some(program) = build(&folder, "steps", "13.5", &[]) else { return };
    let (file, rules) = (folder.join("steps.cutap"), folder.join("check.toml"));
    let done = finish(Command::new(cutap()).args(["record", "-q", "--sim", "-o"]).arg(&file).arg(&program));
    assert!(done.status.success(), "{done:?}");
    let check = |words: &[&str]| {
        let done = finish(Command::new(cutap()).arg("check").args(words).arg(&file));
        (done.status.code(), done.stdout)
    };
    let (code, text) = check(&["--no-sync-in", "step *"]);
    assert!(code == Some(1) && text.contains("cuCtxSynchronize"), "{code:?} {text}");
    assert_eq!(check(&["--no-sync-in", "forward"]).0, Some(0));
    let steady = |filter: &str, range: &str, within: &str| {
        let rule = format!("[[rule]]\nsteady = \"{filter}\"\nrange = \"{range}\"\nwithin = \"{within}\"\n");
        std::fs::write(&rules, rule).expect("a file of rules");
        check(&["--rules", &rules.display().to_string()])
    };
    assert_eq!(steady("cuMemset*", "step *", "0%").0, Some(0));
    let (code, text) = steady("cuMemAlloc*", "step *", "50%");
    assert!(code == Some(1) && text.contains("200 calls of cuMemAlloc* in step * at "), "{code:?} {text}");
    assert!(text.contains("the median of 100 ranges is 0 calls, 1 differ"), "{text}");
    assert_eq!(steady("cuMemset*", "backward", "0%").0, Some(125));
}
