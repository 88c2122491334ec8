//! Calls that start no work, under --chatter=count: their numbers are those of a recording of all calls, and those that
//! fail are recorded.

use crate::real::{linked, program, shared};
use cutap_e2e::{cutap, finish, json_lines, scratch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A function's calls and how many of them failed.
type Sums = BTreeMap<(String, String), (u64, u64)>;

fn record(program: &Path, file: &Path, flags: &[&str]) {
    let mut command = Command::new(cutap());
    command.args(["record", "-q", "--sim"]).args(flags).arg("-o").arg(file).arg("--").arg(program);
    let done = finish(command.env_remove("LD_LIBRARY_PATH"));
    assert!(done.status.success() && done.stdout == "done\n", "{}{}", done.stdout, done.stderr);
}

fn read(words: &[&str], file: &Path) -> Vec<Value> {
    let done = finish(Command::new(cutap()).args(words).arg("--json").arg(file));
    assert!(done.status.success(), "{words:?}: {}", done.stderr);
    json_lines(&done.stdout).collect()
}

fn text(line: &Value, field: &str) -> String {
    line[field].as_str().unwrap_or_default().to_owned()
}

/// Functions of the table with their calls.
fn sums(file: &Path) -> Sums {
    let mut sums = Sums::new();
    for line in read(&["report", "--by", "function"], file).iter().filter(|line| line["calls"].is_u64()) {
        let sum = sums.entry((text(line, "layer"), text(line, "name"))).or_default();
        sum.0 += line["calls"].as_u64().unwrap_or_default();
        sum.1 += line["errors"].as_u64().unwrap_or_default();
    }
    sums
}

/// The recorded calls of the class: name, and whether the call succeeded.
fn recorded(file: &Path) -> Vec<(String, bool)> {
    let calls = read(&["show", "-e", "chatter"], file).into_iter().filter(|line| line["type"] == "call");
    calls.map(|line| (text(&line, "name"), line["status"] == 0 || text(&line, "result").ends_with("UCCESS"))).collect()
}

#[test]
fn numbers_of_calls_that_start_no_work() {
    let runtimes = [linked("12.9"), shared("12.4"), linked("13.5"), shared("13.5"), shared("11.8")];
    for program in runtimes.into_iter().filter_map(|runtime| program("chatter", runtime, &[])) {
        let folder = scratch("chatter");
        let (all, counted) = (folder.join("all.cutap"), folder.join("counted.cutap"));
        record(&program, &all, &[]);
        record(&program, &counted, &["--chatter=count"]);
        assert_eq!(sums(&all), sums(&counted), "{}", program.display());
        let device = sums(&counted)[&("runtime".to_owned(), "cudaGetDevice".to_owned())];
        assert_eq!(device, (400, 0), "{}", program.display());
        let failed = recorded(&counted);
        assert!(failed.iter().all(|(_, succeeded)| !succeeded), "{failed:?}");
        let of = |name: &str| failed.iter().filter(|(of, _)| of == name).count();
        assert_eq!((of("cudaGetDevice"), of("cudaDeviceGetAttribute"), of("cudaGetLastError")), (0, 28, 28));
        assert_eq!(of("cudaPeekAtLastError"), 28, "{failed:?}");
        assert!(of("cuDeviceGetAttribute") >= 28, "{failed:?}");
        // All other calls are there as before, with the same calls around them.
        let shapes = |file: &Path| {
            let mut lines = read(&["show", "-e", "cudaMalloc*,cudaFree,cuMem*"], file);
            lines.retain(|line| line["type"] == "call");
            let mut shapes: Vec<String> =
                lines.iter().map(|line| format!("{} {}", text(line, "name"), line["depth"])).collect();
            shapes.sort();
            shapes
        };
        assert_eq!(shapes(&all), shapes(&counted), "{}", program.display());
    }
}

/// What a run directory says, and a table of counts; under -C the numbers are the same.
#[test]
fn numbers_of_a_run_directory() {
    let Some(program) = program("chatter", shared("12.4"), &[]) else { return };
    let folder = scratch("chatter-run");
    let (run, trace) = (folder.join("run"), folder.join("trace"));
    let script = r#"eval "$("$0" env --sim --chatter=count -o "$1")"; "$2" > /dev/null"#;
    finish(Command::new("sh").args(["-c", script]).arg(cutap()).arg(&run).arg(&program).env_remove("LD_LIBRARY_PATH"));
    let mut counted = Command::new(cutap());
    counted.args(["trace", "-C", "--json", "--sim", "-o"]).arg(&trace).arg("--").arg(&program);
    finish(counted.env_remove("LD_LIBRARY_PATH"));
    let numbers = |lines: &[Value]| {
        let counts = lines.iter().filter(|line| line["type"] == "count");
        counts.map(|line| (text(line, "name"), line["calls"].as_u64())).collect::<BTreeMap<_, _>>()
    };
    let of_trace = std::fs::read_to_string(&trace).expect("a trace");
    let of_trace: Vec<Value> = json_lines(&of_trace).collect();
    let of_run = numbers(&read(&["show", "-C"], &run));
    assert_eq!(of_run, numbers(&of_trace));
    assert_eq!(of_run["cudaGetDevice"], Some(400));
    let said = finish(Command::new(cutap()).arg("report").arg(&run)).stderr;
    assert!(said.contains(" calls were only counted (--chatter=count): times are those of the others"), "{said}");
}

#[test]
fn without_calls_that_start_no_work() {
    for program in [linked("12.9"), shared("12.4")].into_iter().filter_map(|runtime| program("chatter", runtime, &[])) {
        let folder = scratch("no-chatter");
        let (all, rest) = (folder.join("all.cutap"), folder.join("rest.cutap"));
        record(&program, &all, &[]);
        record(&program, &rest, &["-e", "!chatter"]);
        assert!(recorded(&all).len() > 1000 && recorded(&rest).is_empty());
        let names = |file: &Path, words: &[&str]| {
            let lines = read(words, file).into_iter().filter(|line| line["type"] == "call");
            let mut names: Vec<String> = lines.map(|line| text(&line, "name")).collect();
            names.sort();
            names
        };
        assert_eq!(names(&all, &["show", "-e", "!chatter"]), names(&rest, &["show"]), "{}", program.display());
    }
}
