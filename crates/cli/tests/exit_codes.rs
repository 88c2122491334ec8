//! `--exit-code` for CI: 0 and 1 only where the answer is known, and what filters and rules change.

mod support;

use std::path::Path;
use support::programs::problems;
use support::{CUTAP, Folder, cutap, err, kill, out, record, until};

const QUESTIONS: [&[&str]; 3] = [&["report", "--errors"], &["report", "--leaks"], &["explain"]];

/// The exit code, standard output and standard error.
fn ask(words: &[&str], run: &Path) -> (Option<i32>, String, String) {
    let done = cutap(words).arg("--exit-code").arg(run).output().unwrap();
    (done.status.code(), out(&done), err(&done))
}

/// Without a call there is no problem, and that is no answer.
#[test]
fn recordings_without_a_call() {
    let folder = Folder::new("no-call");
    let (none, late) = (folder.join("none.cutap"), folder.join("late.cutap"));
    for (file, words) in [(&none, &["true"][..]), (&late, &["--delay", "100", "--", CUTAP, "__demo-program"])] {
        let done = cutap(&["record", "--sim", "-q", "-o"]).arg(file).args(words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    for question in QUESTIONS {
        let (code, _, said) = ask(question, &none);
        assert!(code == Some(125) && said.contains("no call was recorded, so whether"), "{question:?}: {said}");
        let (code, _, said) = ask(question, &late);
        assert!(code == Some(125) && said.contains("while recording was off"), "{question:?}: {said}");
    }
}

/// The run directory of a program that runs: what it will do is not known.
#[test]
fn a_program_that_runs() {
    let folder = Folder::new("runs-on");
    let script = folder.program(
        "waits.py",
        b"#!/usr/bin/env python3
import ctypes, time
ctypes.CDLL('libcuda.so.1').cuInit(0)
time.sleep(60)
",
    );
    let run = folder.join("run");
    let mut trace = cutap(&["trace", "--sim", "-q", "-o", "/dev/null", "--run-dir"]);
    let mut trace = trace.arg(&run).arg("python3").arg(&script).spawn().unwrap();
    let shown = || out(&cutap(&["show"]).arg(&run).output().unwrap());
    until("the call is there", || run.exists() && shown().contains("cuInit("));
    let answers = QUESTIONS.map(|question| ask(question, &run));
    kill(trace.id() as i32, libc::SIGTERM);
    trace.wait().unwrap();
    for (code, text, said) in answers {
        assert!(code == Some(125) && said.contains("for it runs"), "{text}{said}");
    }
}

/// Rules and leaks follow all calls, and a filter chooses what is listed.
#[test]
fn filters_and_rules_choose_what_is_listed() {
    let folder = Folder::new("chosen");
    let Some(program) = problems(&folder) else { return };
    let ignored = record(&folder, &program, "ignored_error");
    let code = |words: &[&str], run: &Path| ask(words, run).0;
    assert_eq!(code(&["explain", "--rule", "ignored_error", "--rule", "unfinished_calls"], &ignored), Some(1));
    assert_eq!(code(&["explain", "--rule", "small_copies"], &ignored), Some(0));
    let (listed, shown, _) = ask(&["explain", "-e", "error"], &ignored);
    // The call after the failure is one that the filter leaves out.
    assert!(listed == Some(1) && shown.contains("the thread went on with cuStreamSynchronize"), "{shown}");
    let (listed, shown, _) = ask(&["explain", "-e", "cuInit"], &ignored);
    assert!(listed == Some(0) && shown.contains("rules in") && shown.contains("that the filter selects"), "{shown}");
    // Objects that a call ended stay ended.
    let ended = record(&folder, &program, "recreated_objects");
    let all = ask(&["report", "--leaks"], &ended).1;
    assert!(!all.contains(" event"), "{all}");
    assert_eq!(ask(&["report", "--leaks", "-e", "!cuEventDestroy,!cuStreamDestroy"], &ended).1, all);
    let leaks = record(&folder, &program, "ignored_error_ok");
    assert_eq!(code(&["report", "--leaks"], &leaks), Some(1));
    assert_eq!(code(&["report", "--leaks", "-e", "!driver"], &leaks), Some(0));
    // A program that a signal ended could not free.
    let killed = folder.join("killed.cutap");
    let line = format!("{} ignored_error_ok; kill -9 $$", program.display());
    let _ = cutap(&["record", "--sim", "-q", "-o"]).arg(&killed).args(["--", "sh", "-c", &line]).output().unwrap();
    let (unknown, shown, said) = ask(&["report", "--leaks"], &killed);
    assert!(unknown == Some(125) && shown.contains(" in all") && said.contains("is no leak for certain"), "{said}");
    assert_eq!(code(&["report", "--leaks", "-e", "cuMemHostAlloc,cuMemAllocHost"], &leaks), Some(1));
    let (listed, shown, _) = ask(&["report", "--leaks", "-e", "cuInit"], &leaks);
    assert_eq!((listed, shown.as_str()), (Some(0), "nothing of what the filter selects was left\n"));
}

/// Problems that an older run has too are left out, and a filter that selects nothing proves nothing.
#[test]
fn known_problems_are_left_out() {
    let folder = Folder::new("baseline");
    let Some(program) = problems(&folder) else { return };
    let (good, bad) = (record(&folder, &program, "queries"), folder.join("bad.cutap"));
    std::fs::rename(record(&folder, &program, "ignored_error"), &bad).unwrap();
    let good_copy = folder.join("good.cutap");
    let _ = std::fs::rename(&good, &good_copy);
    for question in [QUESTIONS[0], &["explain", "--rule", "ignored_error"]] {
        for (old, expected) in [(&good_copy, Some(1)), (&bad, Some(0))] {
            let words = [question, &["--baseline", old.to_str().unwrap()]].concat();
            let (code, text, said) = ask(&words, &bad);
            assert_eq!(code, expected, "{words:?} {text}{said}");
            assert!(said.contains("has as often are left out"), "{said}");
        }
    }
    let (code, _, said) = ask(&["report", "--errors", "-e", "cublas"], &bad);
    assert!(code == Some(125) && said.contains("selects no call, so whether there is a problem"), "{said}");
    assert_eq!(ask(&["report", "--errors", "-e", "!cuMemAlloc"], &bad).0, Some(0));
    let refused = cutap(&["report", "--baseline"]).args([&bad, &bad]).output().unwrap();
    assert!(err(&refused).contains("--baseline is about problems"), "{refused:?}");
}

/// Each line of JSON that a report or `explain` writes has the fields of the schema.
#[test]
fn lines_of_problems_fit_the_schema() {
    let folder = Folder::new("problem-lines");
    let Some(program) = problems(&folder) else { return };
    let file = record(&folder, &program, "ignored_error");
    let left = record(&folder, &program, "ignored_error_ok");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/json-schema.json");
    let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let mut types = std::collections::BTreeSet::new();
    for (question, run) in [(QUESTIONS[0], &file), (QUESTIONS[1], &left), (QUESTIONS[2], &file)] {
        for line in out(&cutap(question).arg("--json").arg(run).output().unwrap()).lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let all = schema["oneOf"].as_array().unwrap();
            let of = all.iter().find(|of| of["properties"]["type"]["const"] == line["type"]).unwrap();
            let fields = line.as_object().unwrap();
            assert!(fields.keys().all(|field| of["properties"].get(field).is_some()), "{line}");
            let mut required = of["required"].as_array().unwrap().iter();
            assert!(required.all(|field| fields.contains_key(field.as_str().unwrap())), "{line}");
            types.insert(line["type"].to_string());
        }
    }
    assert_eq!(types.len(), 4, "{types:?}");
}
