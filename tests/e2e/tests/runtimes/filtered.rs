//! A filter that leaves out what frees memory: a live trace says the same of addresses as `show` with this filter does
//! of a recording of all calls.

use crate::real::{Runtime, linked, program, run, shared, sim};
use cutap_e2e::{cutap, finish, scratch};
use std::path::Path;
use std::process::Command;

/// Each allocates; none has all that frees.
const FILTERS: [&str; 6] = [
    "cudaMalloc,cudaMemcpy",
    "cudaMalloc*,cudaFree*,cudaMemcpy",
    "runtime",
    "cudaMalloc,cudaMemcpy,cuMemcpy*",
    "!cudaFree*,!cuMemFree*",
    "runtime,!cudaDeviceReset",
];

/// Calls of JSON lines: the function, its arguments without addresses, its result. A live trace in text writes a call
/// that is open for 50 ms in two lines. On a busy machine any call can be.
fn calls(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines().filter(|l| l.starts_with(r#"{"type":"call""#)) {
        let call: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let line = format!("{} {} {} {}", call["layer"], call["name"], call["arguments"], call["result_name"]);
        let mut plain = String::new();
        let mut rest = &*line;
        while let Some((before, after)) = rest.split_once("0x") {
            plain.push_str(before);
            plain.push_str("0x..");
            rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        }
        lines.push(plain + rest);
    }
    lines
}

fn cutap_with(words: &[&str], file: &Path, program: &[&Path]) -> String {
    let mut command = Command::new(cutap());
    command.args(words).arg(file).args(program).env("LD_LIBRARY_PATH", sim());
    let done = finish(&mut command);
    assert!(done.status.success(), "{words:?}: {done:?}");
    done.stdout + &done.stderr
}

fn same_as_shown(runtime: Runtime) {
    let Some(program) = program("filtered", runtime, &[]) else { return };
    let folder = scratch("filtered");
    let all = folder.join("all.cutap");
    cutap_with(&["record", "--sim", "-o"], &all, &[Path::new("--"), &program]);
    for filter in FILTERS {
        let shown = calls(&cutap_with(&["show", "--json", "-e", filter], &all, &[]));
        let live = calls(&run(&program, &[], &["--json", "-e", filter]).text);
        assert!(shown.iter().any(|line| line.contains(r#""size":4096"#)), "{filter}: {shown:#?}");
        assert_eq!(live, shown, "{filter}");
        // What was recorded for this alone is no part of the recording for whoever reads it.
        let some = folder.join("some.cutap");
        cutap_with(&["record", "--sim", "-e", filter, "-o"], &some, &[Path::new("--"), &program]);
        assert_eq!(calls(&cutap_with(&["show", "--json"], &some, &[])), shown, "{filter}, recorded");
        let names = |text: String| {
            text.lines()
                .filter(|l| l.contains(" cu") && !l.starts_with("cutap:"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let counted = names(cutap_with(&["show", "-c"], &some, &[]));
        assert_eq!(counted.len(), names(cutap_with(&["show", "-c", "-e", filter], &all, &[])).len(), "{counted:#?}");
        let _ = std::fs::remove_file(some);
    }
}

#[test]
fn a_live_filter_says_the_same_of_memory() {
    same_as_shown(shared("12.9"));
    same_as_shown(linked("13.5"));
}

/// Calls that nobody asked for and that no annotation depends on are not recorded.
#[test]
fn launches_stay_unrecorded() {
    let Some(program) = program("runtime", shared("12.9"), &[]) else { return };
    let run = run(&program, &[], &["--json", "-e", "cudaMalloc,cudaMemcpy"]);
    let filter = run.objects("end").pop().map(|end| end["filter"].clone()).unwrap_or_default();
    assert!(filter["shown"].as_u64().is_some_and(|n| n > 0), "{filter}");
    assert_eq!(
        filter["filtered_out"], 0,
        "what is recorded for annotations is no call that was left out, and no other is"
    );
    assert!(run.calls("driver").is_empty(), "{}", run.text);
}
