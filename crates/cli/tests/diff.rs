//! `cutap diff` on recordings of programs on the simulated driver, with its exit codes.

mod support;

use std::path::Path;
use support::programs::problems;
use support::{Folder, cutap, err, out, record, refused};

#[test]
fn diff_of_equal_and_of_different_runs() {
    let folder = Folder::new("diff");
    let Some(program) = problems(&folder) else { return };
    let a = record(&folder, &program, "allocation_churn");
    let again = folder.join("again.cutap");
    std::fs::rename(&a, &again).unwrap();
    let a = record(&folder, &program, "allocation_churn");
    let b = record(&folder, &program, "ignored_error");
    let diff = |a: &Path, b: &Path| cutap(&["diff"]).arg(a).arg(b).output().unwrap();
    let same = diff(&a, &again);
    assert_eq!(same.status.code(), Some(0), "{}", out(&same));
    // No call failed in either: nothing differs.
    let failed = cutap(&["diff", "-Z"]).arg(&a).arg(&again).output().unwrap();
    assert_eq!(failed.status.code(), Some(0), "{failed:?}");
    let other = diff(&a, &b);
    let lines = out(&other);
    assert_eq!(other.status.code(), Some(1), "{lines}");
    assert!(
        lines.contains("~ cuMemAlloc_v2: calls 51 -> 2 (-49), errors 0 -> 1 (+1 CUDA_ERROR_OUT_OF_MEMORY)"),
        "{lines}"
    );
    assert!(lines.contains("~ cuMemFree_v2: calls 51 -> 1 (-50)"), "{lines}");
    assert!(lines.starts_with(&format!("A is {}: ", a.display())), "{lines}");
    refused(&diff(&a, &folder.join("nothing.cutap")), 125, &["nothing.cutap"]);
    let new = cutap(&["diff", "--new-errors"]).arg(&b).arg(&a).output().unwrap();
    assert_eq!(new.status.code(), Some(0), "{}", out(&new));
    let none = cutap(&["diff", "-e", "cudaMalloc"]).arg(&a).arg(&b).output().unwrap();
    refused(&none, 125, &["nothing was compared: the filter cudaMalloc selects no call"]);
}

/// A difference between runs of which one lacks calls proves nothing, and neither do two runs without a call.
#[test]
fn diff_of_runs_that_lack_calls() {
    let folder = Folder::new("diff-lacks");
    let Some(program) = problems(&folder) else { return };
    let whole = record(&folder, &program, "queries");
    let made = |name: &str, flags: &[&str]| {
        let file = folder.join(name);
        let done = cutap(&["record", "--sim", "-q", "-o"]).arg(&file).args(flags).arg(&program).arg("queries").output();
        assert!(done.unwrap().status.success());
        file
    };
    let diff = |a: &Path, b: &Path| cutap(&["diff"]).arg(a).arg(b).output().unwrap();
    let few = made("few.cutap", &["-e", "cuInit"]);
    let lacking = diff(&whole, &few);
    assert!(lacking.status.code() == Some(125) && out(&lacking).contains("only in A"), "{lacking:?}");
    let none = folder.join("none.cutap");
    cutap(&["record", "--sim", "-q", "-o"]).arg(&none).arg("true").output().unwrap();
    refused(&diff(&whole, &none), 125, &["none.cutap has no call"]);
    assert!(err(&lacking).contains("few.cutap (those that the filter cuInit left out); record both"), "{lacking:?}");
    assert_eq!(diff(&few, &made("again.cutap", &["-e", "cuInit"])).status.code(), Some(0));
    let late = made("late.cutap", &["--delay", "100"]);
    let half = diff(&whole, &late);
    assert!(half.status.code() == Some(125) && err(&half).contains("late.cutap has no call"), "{half:?}");
    refused(&diff(&late, &late), 125, &["nothing was compared: neither "]);
}

/// How the programs ended is compared, and a reader of one recording says it.
#[test]
fn diff_of_programs_that_end_in_different_ways() {
    let folder = Folder::new("diff-ends");
    let Some(program) = problems(&folder) else { return };
    let made = |name: &str, last: &str| {
        let file = folder.join(name);
        let line = format!("{} queries; {last}", program.display());
        let _ = cutap(&["record", "--sim", "-q", "-o"]).arg(&file).args(["--", "sh", "-c", &line]).output().unwrap();
        file
    };
    let (well, badly, killed) = (made("well", "exit 0"), made("badly", "exit 3"), made("killed", "kill -9 $$"));
    let diff = |flags: &[&str], a: &Path, b: &Path| cutap(&["diff"]).args(flags).args([a, b]).output().unwrap();
    let ends = diff(&[], &badly, &killed);
    assert!(ends.status.code() == Some(1) && out(&ends).contains("no difference"), "{ends:?}");
    assert!(out(&ends).contains("badly ended with exit code 3, that of "), "{ends:?}");
    assert!(out(&ends).contains("killed was ended by SIGKILL"), "{ends:?}");
    let json = diff(&["--json"], &badly, &killed);
    let line = r#"{"type":"program_ends","a":{"exit_code":3},"b":{"signal":"SIGKILL"}}"#;
    assert_eq!(out(&json).trim_end(), line, "{json:?}");
    assert_eq!(diff(&["--new-errors"], &well, &badly).status.code(), Some(1));
    assert_eq!(diff(&["--new-errors"], &badly, &well).status.code(), Some(0));
    let end = cutap(&["report", "--json"]).arg(&killed).output().unwrap();
    assert!(out(&end).contains(r#""program":{"signal":"SIGKILL"}"#), "{end:?}");
    let notes = cutap(&["report", "--notes"]).arg(&badly).output().unwrap();
    assert!(out(&notes).contains("the program ended with exit code 3"), "{notes:?}");
}

/// With stacks, a line names the function of the program.
#[test]
fn diff_by_caller() {
    let folder = Folder::new("diff-callers");
    let Some(program) = problems(&folder) else { return };
    let made = |name: &str, scenario: &str| {
        let file = folder.join(name);
        let words = ["record", "--sim", "--stack", "-q", "-o"];
        let _ = cutap(&words).arg(&file).arg(&program).arg(scenario).output().unwrap();
        file
    };
    let (a, b) = (made("a", "queries"), made("b", "allocation_churn"));
    let diff = |a: &Path, b: &Path| cutap(&["diff", "--by", "caller"]).arg(a).arg(b).output().unwrap();
    let lines = out(&diff(&a, &b));
    assert!(lines.contains("cuMemAlloc_v2 in call, from main: calls 1 -> 51"), "{lines}");
    let without = record(&folder, &program, "queries");
    refused(&diff(&without, &without), 125, &["--by caller needs stacks", "record both with --stack"]);
}

/// `--from` and `--to` are of each run's own start.
#[test]
fn diff_of_a_part_of_the_time() {
    let folder = Folder::new("diff-window");
    let Some(program) = problems(&folder) else { return };
    let run = record(&folder, &program, "queries");
    let diff = |flags: &[&str]| cutap(&["diff"]).args(flags).args([&run, &run]).output().unwrap();
    assert_eq!(diff(&["--to", "1000"]).status.code(), Some(0));
    refused(&diff(&["--from", "1000"]), 125, &["nothing was compared: the time from --from to --to"]);
    refused(&diff(&["--from", "2", "--to", "1"]), 125, &["--from is not before --to"]);
}
