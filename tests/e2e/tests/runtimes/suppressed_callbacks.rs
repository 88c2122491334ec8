//! A shared runtime need not report what comes through its bindings: its flags are off for those functions, and on for
//! a function that somebody calls by another way. Each call is there once, recorded and counted.

use crate::real::{build, program, shared};
use cutap_e2e::{cutap, finish, json_lines, scratch};
use cutap_wire::flags::{ARMED, CALLBACKS, FIRST, QUIET};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Calls of a function in a trace of the program with these flags, and for how many functions the runtime was quiet in
/// each part.
fn run(program: &Path, flags: &[&str], preload: Option<&Path>) -> ([u64; 3], [usize; 2]) {
    let folder = scratch("quiet");
    let (trace, first, second) = (folder.join("trace"), folder.join("first"), folder.join("second"));
    let copy = |to: &Path| format!("cp {}/run/control.[0-9]* {}", folder.display(), to.display());
    let mut command = Command::new(cutap());
    command
        .arg("trace")
        .args(flags)
        .args(["--sim", "--json", "--run-dir"])
        .arg(folder.join("run"))
        .arg("-o")
        .arg(&trace);
    command.arg("--").arg(program).args([copy(&first), copy(&second)]).env_remove("LD_LIBRARY_PATH");
    command.envs(preload.map(|library| ("LD_PRELOAD", library)));
    let done = finish(&mut command);
    assert!(done.status.success() && done.stdout.ends_with("done\n"), "{}{}", done.stdout, done.stderr);
    let text = fs::read_to_string(&trace).expect("a trace");
    let lines: Vec<Value> = json_lines(&text).collect();
    let calls = ["cudaGetDevice", "cudaGetDeviceCount", "cudaGetLastError"]
        .map(|name| lines.iter().filter(|l| l["name"] == name).map(|l| l["calls"].as_u64().unwrap_or(1)).sum());
    let quiet = [first, second].map(|file| {
        let bytes = fs::read(file).expect("the switches of the process");
        bytes[FIRST + ARMED..].iter().take(CALLBACKS).filter(|b| **b == QUIET).count()
    });
    (calls, quiet)
}

/// What comes through a slot is not reported and what does not is.
#[test]
fn callbacks_of_calls_past_slots() {
    for program in ["11.8", "12.4", "13.5"].into_iter().filter_map(|v| program("quiet", shared(v), &[])) {
        // A call past the slot is told by the driver call in it, where calls are recorded; a function without any is
        // always reported.
        for (flags, seen, last) in [(&[][..], 54, 45), (&["-C"], 50, 40)] {
            assert_eq!(run(&program, flags, None), ([seen, 46, last], [1, 1]), "{} {flags:?}", program.display());
        }
    }
}

/// What a profiler switches on in the driver's flags reaches it by the runtime's reports alone: from its first question
/// on, all is reported. Its library alone (PyTorch links it) changes nothing.
#[test]
fn from_when_a_profiler_is_used_all_is_reported() {
    let profiler = build("profiler_later", "libcupti.so.12", &["-shared", "-fPIC", "-Wl,-soname,libcupti.so.12"]);
    for program in ["12.4", "13.5"].into_iter().filter_map(|v| program("quiet", shared(v), &[])) {
        assert_eq!(run(&program, &[], Some(&profiler)), ([55, 46, 45], [1, 0]), "{}", program.display());
    }
}
