//! `cutap check`: rules that hold, that are broken, and that cannot be known.

mod support;

use std::path::{Path, PathBuf};
use support::programs::problems;
use support::{CUTAP, Folder, cutap, err, out, record};

/// The exit code, standard output and standard error.
fn check(words: &[&str], run: &Path) -> (Option<i32>, String, String) {
    let done = cutap(&["check"]).args(words).arg(run).output().unwrap();
    (done.status.code(), out(&done), err(&done))
}

/// The calls of the program that cutap brings along: three allocations, one of which fails, and one piece that is left.
fn demo(folder: &Folder) -> PathBuf {
    let file = folder.join("demo.cutap");
    let done = cutap(&["demo", "--record"]).arg(&file).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    file
}

#[test]
fn each_rule_holds_or_not() {
    let folder = Folder::new("check-rules");
    let run = demo(&folder);
    let golden = run.display().to_string();
    for (words, code, line) in [
        (&["--no-errors"][..], 1, "FAIL    no errors: 1 call failed"),
        (&["--no-errors=!cuMemAlloc_v2"], 0, "ok      no errors of !cuMemAlloc_v2: no call failed"),
        (&["--no-leaks"], 1, "FAIL    no leaks: 2 things were left"),
        (&["--no-leaks=cuCtxCreate_v2"], 1, "FAIL    no leaks of cuCtxCreate_v2: 1 thing was left"),
        (&["--max", "cuMemAlloc_v2<=3"], 0, "ok      cuMemAlloc_v2 <= 3: 3 calls"),
        (&["--max", "cuMemAlloc_v2<=2"], 1, "FAIL    cuMemAlloc_v2 <= 2: 3 calls"),
        (&["--max", "cuMemAlloc_v2&error<=1"], 0, "ok      cuMemAlloc_v2&error <= 1: 1 call"),
        (&["--min", "cuLaunchKernel*>=1"], 1, "FAIL    cuLaunchKernel* >= 1: 0 calls"),
        (&["--min", "cuMemcpy*>=1"], 0, "ok      cuMemcpy* >= 1: 1 call"),
        (&["--explain", "ignored_error"], 1, "FAIL    no finding of ignored_error: 1 finding"),
        (&["--explain", "small_copies"], 0, "ok      no finding of small_copies: no finding"),
        (&["--like", &golden], 0, "the calls are the same"),
        (&["--no-sync"], 1, "FAIL    no wait: 3 calls may block the host"),
        (&["--no-sync=!cuMemcpy*"], 1, "FAIL    no wait of !cuMemcpy*: 2 calls may block the host"),
        (&["--no-sync=cuLaunchKernel"], 0, "ok      no wait of cuLaunchKernel: no call may block the host"),
        (&["--no-sync-in", "step *"], 125, "unknown no wait in step *: no call is in a range step *"),
    ] {
        let (exit_code, text, said) = check(words, &run);
        assert!(exit_code == Some(code) && text.contains(line), "{words:?}: {exit_code:?}\n{text}{said}");
    }
    let (code, text, _) = check(&["--max", "cuMemAlloc_v2<=2"], &run);
    assert!(code == Some(1) && text.contains("code of cutap"), "the callers are named: {text}");
    // Several rules: one that is broken counts more than one that is not known.
    let (code, text, _) = check(&["--max", "cuInit<=9", "--no-leaks", "--no-sync-in", "step"], &run);
    assert!(code == Some(1) && text.ends_with("1 of 3 rules hold, and of 1 it is not known\n"), "{text}");
}

#[test]
fn a_golden_recording_of_other_calls() {
    let folder = Folder::new("check-golden");
    let Some(program) = problems(&folder) else { return };
    let [golden, other] = ["ignored_error", "ignored_error_ok"].map(|way| record(&folder, &program, way));
    let (code, text, _) = check(&["--like", golden.to_str().unwrap()], &other);
    assert!(code == Some(1) && text.contains("1 run has other calls"), "{text}");
}

/// A program that is run: its exit code is a rule, too.
#[test]
fn a_program() {
    let folder = Folder::new("check-program");
    let run = folder.join("p.cutap");
    let checked = |rules: &[&str], program: &[&str]| {
        let mut command = cutap(&["check", "--sim", "-o"]);
        let done = command.arg(&run).args(rules).arg("--").args(program).output().unwrap();
        (done.status.code(), out(&done), err(&done))
    };
    let demo = [CUTAP, "__demo-program"];
    let (code, text, said) = checked(&["--max", "cuMemAlloc*<=5"], &demo);
    assert!(code == Some(0) && text.contains("ok      the program succeeds"), "{text}{said}");
    assert!(text.contains("demo: allocated") && run.is_file(), "{text}");
    let (code, text, _) = checked(&["--max", "cuMemAlloc*<=1"], &demo);
    assert!(code == Some(1) && text.contains("FAIL    cuMemAlloc* <= 1: 3 calls"), "{text}");
    let failing = [CUTAP, "__demo-program"].join(" ") + "; exit 3";
    let (code, text, _) = checked(&["--max", "cuMemAlloc*<=5"], &["sh", "-c", &failing]);
    assert!(code == Some(1) && text.contains("FAIL    the program succeeds: it ended with exit code 3"), "{text}");
    let before = std::fs::read(&run).unwrap();
    let (code, _, said) = checked(&["--like", run.to_str().unwrap()], &demo);
    assert!(code == Some(125) && said.contains("would be written over"), "{said}");
    assert!(std::fs::read(&run).unwrap() == before, "the golden recording is as it was");
    let (code, _, said) = checked(&[], &["/nonexistent/program"]);
    assert!(code != Some(0) && code != Some(1), "{code:?} {said}");
}

#[test]
fn files_of_rules() {
    let folder = Folder::new("check-files");
    let run = demo(&folder);
    let rules = folder.join("check.toml");
    let ask = |text: &str| {
        std::fs::write(&rules, text).unwrap();
        check(&["--rules", rules.to_str().unwrap()], &run)
    };
    let good = "# what our tests promise\n[[rule]]\nname = \"few allocations\"\nmax = \"cuMemAlloc*<=3\"\n\n[[rule]]\n\
                like = \"demo.cutap\"\n\n[[rule]]\nmax = \"cuMemAlloc*<=0\"\nfrom = \"60s\"\n";
    let (code, text, said) = ask(good);
    assert!(code == Some(0) && text.contains("ok      few allocations: 3 calls"), "{text}{said}");
    for (text, part) in [
        ("[[rule]]\nno-errors = true\n[[rule]]\nmaxx = \"a<=1\"\n", "unknown field `maxx`"),
        ("[[rule]]\nno-errors = true\n\n[[rule]]\nexplain = \"ignored_eror\"\n", "check.toml:4: explain has no rule"),
        ("[[rule]]\nmax = \"cudaMaloc<=1\"\n", "cudaMaloc"),
        ("", "has no rule; begin each with [[rule]]"),
        ("[[rule]\n", "check.toml: "),
    ] {
        let (code, shown, said) = ask(text);
        assert!(code == Some(125) && (shown + &said).contains(part), "{text}: {said}");
    }
}

/// What a machine reads.
#[test]
fn json_junit_and_annotations() {
    let folder = Folder::new("check-forms");
    let (run, junit) = (demo(&folder), folder.join("out.xml"));
    let (code, text, _) = check(&["--json", "--no-leaks", "--max", "cuInit<=1"], &run);
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((code, lines.len()), (Some(1), 2));
    assert_eq!((lines[0]["holds"].as_bool(), lines[1]["holds"].as_bool()), (Some(false), Some(true)));
    assert_eq!((lines[0]["found"].as_u64(), lines[0]["lines"].as_array().map(Vec::len)), (Some(2), Some(5)));
    let file = junit.to_str().unwrap();
    assert_eq!(check(&["--no-leaks", "--junit", file], &run).0, Some(1));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"1\" failures=\"1\" errors=\"0\"") && xml.contains("made by cuCtxCreate_v2"), "{xml}");
    let (code, _, said) = check(&["--no-leaks", "--junit", "/nonexistent/out.xml"], &run);
    assert!(code == Some(125) && said.contains("/nonexistent/out.xml"), "{said}");
    let done = cutap(&["check", "--no-leaks"]).arg(&run).env("GITHUB_ACTIONS", "true").output().unwrap();
    assert!(out(&done).contains("::error title=cutap%3A no leaks::2 things were left%0A"), "{done:?}");
}
