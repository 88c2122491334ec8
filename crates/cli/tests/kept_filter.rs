//! The filter of `record` is the default of readers. More is recorded than it wants: conditions on the end of a call
//! are decided by the reader.

mod support;

use std::path::Path;
use support::{CUTAP, Folder, cutap, err, out};

const DEMO: [&str; 3] = ["--", CUTAP, "__demo-program"];

fn calls(args: &[&str], run: &Path) -> (Vec<String>, String) {
    let done = cutap(&[args, &["--json"]].concat()).arg(run).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let lines = out(&done).lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()).collect::<Vec<_>>();
    let calls = lines.iter().filter(|l| l["type"] == "call").map(|l| l["name"].as_str().unwrap().to_owned()).collect();
    (calls, err(&done))
}

#[test]
fn readers_show_what_record_was_asked_for() {
    let folder = Folder::new("kept-filter");
    let file = folder.join("run.cutap");
    let done = cutap(&[&["record", "--sim", "-Z", "-o", file.to_str().unwrap()], &DEMO[..]].concat()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let line = "the run was made with the filter error, so only these calls are here; -a adds 11 more calls of the run";
    let (shown, said) = calls(&["show"], &file);
    assert_eq!(shown, ["cuMemAlloc_v2"]);
    assert_eq!(said.matches(line).count(), 1, "{said}");
    for words in [&["show", "-a"][..], &["show", "-v"], &["show", "-e", "driver"]] {
        let (shown, said) = calls(words, &file);
        assert_eq!((shown.len(), said.as_str()), (12, ""), "{words:?}");
    }
    let report = |words: &[&str]| cutap(&[&["report"], words].concat()).arg(&file).output().unwrap();
    let (few, all) = (report(&[]), report(&["-a"]));
    assert!(out(&few).contains("cuMemAlloc_v2") && !out(&few).contains("cuInit"), "{few:?}");
    assert!(err(&few).contains(line) && !err(&all).contains(line) && out(&all).contains("cuInit"), "{all:?}");
    // What was freed must be known.
    let leaks = report(&["--leaks"]);
    assert!(out(&leaks).contains("1 piece of device memory, 1 MiB") && !err(&leaks).contains(line), "{leaks:?}");
    let to = folder.join("calls.json");
    for (words, expected) in [(&["export"][..], 1), (&["export", "-a"], 12)] {
        let done = cutap(&[words, &["--json", to.to_str().unwrap()]].concat()).arg(&file).output().unwrap();
        let written = std::fs::read_to_string(&to).unwrap();
        assert_eq!(written.matches("\"type\":\"call\"").count(), expected, "{done:?}");
        assert_eq!(err(&done).contains(line), expected == 1, "{done:?}");
    }
}

/// A condition on arguments, a run directory, and what `recover` makes of it.
#[test]
fn run_directories_have_it_too() {
    let folder = Folder::new("kept-filter-run");
    let (run, file) = (folder.join("run"), folder.join("run.cutap"));
    let words = ["record", "--sim", "-e", "cuMemAlloc[bytesize>1GiB]", "-o"];
    let done = cutap(&words).arg(&file).args(["--run-dir"]).arg(&run).args(DEMO).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(calls(&["show"], &file).0, ["cuMemAlloc_v2"]);
    assert_eq!(calls(&["show", "-a"], &file).0.len(), 3);
    assert!(calls(&["show"], &file).1.contains("-a adds 2 more calls of the run"));
    assert!(run.join("filter").is_file());
    let again = folder.join("again.cutap");
    let environment = folder.join("environment");
    let made = cutap(&["env", "--sim", "-Z", "-o"]).arg(&environment).output().unwrap();
    let start = format!("{}\n{CUTAP} __demo-program", out(&made));
    assert!(std::process::Command::new("sh").args(["-c", &start]).output().unwrap().status.success());
    assert_eq!(calls(&["show"], &environment).0, ["cuMemAlloc_v2"]);
    let recovered = cutap(&["recover", "-o"]).arg(&again).arg(&environment).output().unwrap();
    assert!(recovered.status.success(), "{recovered:?}");
    assert_eq!(calls(&["show"], &again).0, ["cuMemAlloc_v2"]);
    assert_eq!(calls(&["show", "-a"], &again).0.len(), 12);
}
