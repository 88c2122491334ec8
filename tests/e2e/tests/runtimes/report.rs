//! What `cutap report` says of a recording, on a program that leaves things behind, fails and waits, with NVIDIA's real
//! runtime.

use super::real::{linked, program, shared};
use cutap_e2e::{Finished, Scratch, cutap, finish, json_lines, scratch};
use serde_json::{Map, Value};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The recording of `left`; none if its runtime is not here.
fn recorded() -> Option<Scratch> {
    let program = program("left", linked("12.9"), &[])?;
    let folder = scratch("report");
    let mut command = Command::new(cutap());
    command.args(["record", "--sim", "-o"]).arg(folder.join("run.cutap")).arg("--").arg(program);
    let run = finish(command.env("CALLS", folder.join("calls")));
    assert!(run.status.success(), "{}", run.stderr);
    Some(folder)
}

fn report(file: &Path, words: &[&str]) -> Finished {
    finish(Command::new(cutap()).arg("report").args(words).arg(file))
}

/// The lines of a JSON report that are not its end, without what differs from run to run, in the order of their text.
fn facts(file: &Path, words: &[&str]) -> Vec<String> {
    let said = report(file, &[words, &["--json"]].concat());
    assert!(said.status.success(), "{words:?}: {}", said.stderr);
    let parse = |line: &str| serde_json::from_str::<Map<String, Value>>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    let mut lines: Vec<_> = said.stdout.lines().map(parse).collect();
    // Findings have no end.
    if !["--leaks", "--errors"].contains(&words[0]) {
        let end = lines.pop().expect("an end");
        assert_eq!((&end["type"], &end["recording"]["state"]), (&"end".into(), &"ended".into()));
    }
    for line in &mut lines {
        let times: Vec<String> = line.keys().filter(|k| k.ends_with("_ns")).cloned().collect();
        times.iter().map(String::as_str).chain(["share", "first", "pid", "tid"]).for_each(|key| drop(line.remove(key)));
        for of in ["name", "path", "causes"] {
            let plain = line.get(of).map(|v| v.to_string()).unwrap_or_default();
            let words = plain.replace("left-static-12.9", "PROG").replace(r"\n", " ");
            let pid = without_ids(&words);
            if !plain.is_empty() {
                line.insert(of.into(), serde_json::from_str(&pid).expect("still JSON"));
            }
        }
    }
    let mut lines: Vec<String> = lines.iter().map(|l| Value::Object(l.clone()).to_string()).collect();
    lines.sort();
    lines
}

/// Numbers behind `process` and `thread` are the run's.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    let mut before = "";
    for word in text.split_inclusive([' ', '"']) {
        let number = word.trim_end_matches([' ', '"', ',']);
        let of_run = matches!(before.trim_end(), "process" | "thread") && number.bytes().all(|b| b.is_ascii_digit());
        out += &if of_run { word.replace(number, "N") } else { word.to_owned() };
        before = word;
    }
    out
}

#[test]
fn all_that_a_report_tells() {
    let Some(folder) = recorded() else { return };
    let file = folder.join("run.cutap");
    // What the runtime does at its start is another test's affair.
    let filter = ["-e", "!cuGetProcAddress*,!cuDeviceGet*,!cuGetExportTable,!cuInit,!cuDriver*,!cuModule*"];
    let mut text = String::new();
    let questions: [&[&str]; 9] = [
        &["--leaks"],
        &["--errors"],
        &["--blocking"],
        &["--tree"],
        &["--callers", "cuMemAlloc"],
        &["--by", "layer"],
        &["--by", "instance"],
        &["--by", "stream"],
        &["--by", "function", "-e", "cudaMalloc*"],
    ];
    for words in questions {
        let asked = if words.contains(&"-e") { words.to_vec() } else { [words, &filter].concat() };
        text += &format!("== {}\n{}\n", words.join(" "), facts(&file, &asked).join("\n"));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/report.txt");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &text).expect("the checkout is writable");
    }
    assert_eq!(text, fs::read_to_string(golden).unwrap_or_default(), "UPDATE_GOLDEN=1 writes it, then read it");
}

/// cudaMalloc fails twice after the driver, and cudaSetDevice once: three failures, each of which all views have.
#[test]
fn a_failure_that_is_passed_on_counts_once() {
    let Some(program) = program("left", linked("12.9"), &[]) else { return };
    let folder = scratch("failures");
    let file = folder.join("run.cutap");
    let mut command = Command::new(cutap());
    command.args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(program);
    // `finish` leaves the last line of record out.
    let run = command.env("CALLS", folder.join("calls")).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.contains(", 3 failed; next: cutap report --errors "), "{said}");
    let errors = report(&file, &["--errors"]).stdout;
    let rows = errors.lines().skip(1).filter(|line| !line.starts_with("          "));
    let counts: Vec<u32> = rows.map(|row| row.split_whitespace().next().unwrap().parse().unwrap()).collect();
    assert_eq!(counts, [2, 1], "{errors}");
    // Each failed call of a layer is a line; what the runtime's start asks and does not get is none.
    let shown = finish(Command::new(cutap()).args(["show", "-Z"]).arg(&file)).stdout;
    let names: Vec<&str> = shown.lines().filter(|l| l.contains(" ! <")).map(|l| l.split('(').next().unwrap()).collect();
    let of_runtime = "[left-static-12.9, runtime 12.9] ";
    let malloc = format!("{of_runtime}cudaMalloc");
    let set = format!("{of_runtime}cudaSetDevice");
    assert_eq!(names, ["cuMemAlloc_v2", &malloc, "cuMemAlloc_v2", &malloc, &set], "{shown}");
    let marked = finish(Command::new(cutap()).arg("show").arg(&file)).stdout;
    assert_eq!(marked.matches(" ! <").count(), names.len(), "the mark of a failed call is the filter's");
}

#[test]
fn text_and_refusals() {
    let Some(folder) = recorded() else { return };
    let file = folder.join("run.cutap");
    let leaks = report(&file, &["--leaks"]).stdout;
    let wanted = "        3 pieces of device memory, 12 KiB  made by cuMemAlloc_v2\n            in cudaMalloc [left-static-12.9, runtime 12.9]\n";
    assert!(leaks.starts_with("    count  what was left") && leaks.contains(wanted), "{leaks}");
    let errors = report(&file, &["--errors"]).stdout;
    assert!(
        errors.contains(
            "        2  cudaMalloc [left-static-12.9, runtime 12.9] = cudaErrorMemoryAllocation\n             after \
             cuMemAlloc_v2 = CUDA_ERROR_OUT_OF_MEMORY\n"
        ),
        "{errors}"
    );
    let table = report(&file, &["-e", "runtime"]).stdout;
    let malloc = table.lines().find(|l| l.starts_with("cudaMalloc [left-static-12.9 12.9] ")).expect(&table);
    assert!(malloc.contains(" 6      2 "), "{malloc}");
    // The counts of a table are those of the trace.
    let shown = finish(Command::new(cutap()).args(["show", "-c", "--json"]).arg(&file)).stdout;
    let counts = |text: &str| -> Vec<String> {
        let lines = json_lines(text);
        let row = |l: Value| format!("{} {} {} {}", l["library"], l["name"], l["calls"], l["errors"]);
        let mut rows: Vec<String> = lines.filter(|l| l["type"] != "end").map(row).collect();
        rows.sort();
        rows
    };
    assert_eq!(counts(&report(&file, &["--json"]).stdout), counts(&shown));
    for (words, said) in [
        (&["--callers", "cuNever"][..], "has no call of cuNever; cutap report "),
        (&["-e", "cudaMaloc"], "did you mean cudaMalloc"),
    ] {
        let refused = report(&file, words);
        assert!(!refused.status.success() && refused.stderr.contains(said), "{words:?}: {}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
    }
}

/// The driver gives one thread what another is just ending: what is left is what the program says that it kept, in each
/// of a few runs, and nothing that it uses is called freed or destroyed.
#[test]
fn what_threads_keep_is_counted_exactly() {
    let Some(program) = program("given_again", linked("12.9"), &[]) else { return };
    let folder = scratch("given-again");
    let file = folder.join("run.cutap");
    for _ in 0..3 {
        let mut command = Command::new(cutap());
        let run = finish(command.args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(&program));
        assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
        let said = report(&file, &["--leaks", "--json"]).stdout;
        let lines = json_lines(&said);
        let mut kept = [("device memory", 0), ("event", 0), ("stream", 0)];
        for leak in lines.filter(|l| l["type"] == "leak") {
            assert_eq!(leak["path"].as_array().map(Vec::len), Some(2), "the runtime's call and the driver's: {leak}");
            let of = kept.iter_mut().find(|(kind, _)| leak["kind"] == *kind).unwrap_or_else(|| panic!("{leak}"));
            of.1 += leak["count"].as_u64().expect("a number");
        }
        let [(_, memory), (_, events), (_, streams)] = kept;
        assert_eq!(format!("memory {memory}, events {events}, streams {streams}\n"), run.stdout, "{said}");
        let used = finish(Command::new(cutap()).args(["show", "-e", "cuMemset*,cu*Query,cu*Synchronize"]).arg(&file));
        let wrong = used.stdout.lines().find(|l| l.contains("[freed") || l.contains("[destroyed]"));
        assert_eq!((wrong, used.stdout.contains("cuMemsetD8")), (None, true));
        fs::remove_file(&file).expect("it was written");
    }
}

/// What the driver and the runtime hand out again is left once, by who made it, with runtimes that push and pop
/// contexts at a launch too.
#[test]
fn what_is_handed_out_again_is_left_once() {
    for runtime in [shared("11.8"), shared("12.9"), linked("12.9"), shared("13.0")] {
        let Some(program) = program("handed_out", runtime, &[]) else { continue };
        let folder = scratch("handed-out");
        let file = folder.join("run.cutap");
        let run = finish(Command::new(cutap()).args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(&program));
        assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
        let said = report(&file, &["--leaks", "--json"]).stdout;
        let lines = json_lines(&said);
        let mut left: Vec<_> = lines
            .filter(|l| l["type"] == "leak")
            .map(|l| {
                let outermost = l["path"][0].as_str().expect("a call").split(' ').next().unwrap_or_default();
                format!("{} {outermost} {}\n", l["kind"].as_str().expect("a word"), l["count"])
            })
            .collect();
        left.sort();
        assert_eq!(left.concat(), run.stdout, "{}: {said}", program.display());
        let text = report(&file, &["--leaks"]).stdout;
        assert!(text.contains("        2 arrays  made by "), "{text}");
    }
}
