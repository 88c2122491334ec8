//! `--gpu-time` in programs that profile themselves: cutap steps aside, and their profiler gets all of its records.

use cutap_e2e::{cutap, finish, json_lines, out, scratch};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The output of `profiler_later` on the simulated driver without rows.
fn plain(words: &[&str]) -> String {
    let mut run = Command::new(cutap());
    let done = run
        .args(["record", "--sim", "-q", "-o", "/dev/null"])
        .arg(out().join("profiler_later"))
        .args(words)
        .output()
        .expect("cutap runs");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn recorded(folder: &Path, words: &[&str]) -> (PathBuf, String) {
    let file = folder.join(format!("{}.cutap", words.join("-")));
    let mut record = Command::new(cutap());
    record.args(["record", "--sim", "--gpu-time", "-o"]).arg(&file).arg(out().join("profiler_later")).args(words);
    let done = record.output().expect("cutap runs");
    assert!(done.status.success(), "{done:?}");
    (file, String::from_utf8_lossy(&done.stdout).into_owned())
}

fn notes(file: &Path) -> String {
    finish(Command::new(cutap()).args(["report", "--notes"]).arg(file)).everything()
}

fn work_rows(file: &Path) -> usize {
    let done = finish(Command::new(cutap()).args(["show", "--json"]).arg(file));
    let lines: Vec<Value> = json_lines(&done.stdout).collect();
    assert_eq!(lines.iter().filter(|line| line["name"] == "cuLaunchKernel").count(), 10);
    lines.iter().filter(|line| line["type"] == "row").count()
}

#[test]
fn cutap_steps_aside_before_a_profiler() {
    let folder = scratch("gpu-time-profilers");
    for way in ["lazy", "now", "dlsym", "default", "second"] {
        let (file, output) = recorded(&folder, &[way]);
        assert!(output.contains("profiler: 5 kernels, 0 others") && output.contains("ids 0"), "{way}: {output}");
        assert_eq!(output, plain(&[way]), "{way}");
        // Three launches and a copy came before.
        assert_eq!(work_rows(&file), 4, "{way}");
        let said = notes(&file);
        assert!(said.contains("a profiler of the program took CUPTI ") && said.contains(" after the start"), "{said}");
        assert!(said.contains("4 of 4 rows of GPU time have their call"), "{said}");
    }
}

/// Whatever call comes first: also one that CUPTI refuses after those of cutap.
#[test]
fn first_calls_answer_as_without_cutap() {
    let folder = scratch("gpu-time-first-calls");
    for first in ["register", "subscribe", "v2", "ids"] {
        for way in ["now", "dlsym"] {
            let (file, output) = recorded(&folder, &[way, first]);
            assert_eq!(output, plain(&[way, first]), "{way} {first}");
            assert!(!output.contains("_v2 = 14"), "{output}");
            assert_eq!(work_rows(&file), 4, "{way} {first}");
        }
    }
}

/// The state of the process says that its profiler has CUPTI, and rows cannot be switched on again.
#[test]
fn ctl_knows_that_a_profiler_has_cupti() {
    let folder = scratch("gpu-time-profiler-ctl");
    let mut record = Command::new(cutap());
    record.args(["record", "--sim", "--gpu-time", "-q", "--run-dir"]).arg(folder.join("run")).arg("-o");
    record.arg(folder.join("later.cutap")).arg(out().join("profiler_later")).args(["dlsym", "subscribe", "wait"]);
    let mut record = record.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cutap runs");
    let mut lines = BufReader::new(record.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "10 launches"));
    let listed = finish(Command::new(cutap()).args(["ctl"]).arg(folder.join("run")).arg("status")).everything();
    let pid = listed.lines().find_map(|line| line.strip_prefix("process: ")?.split(' ').next()).expect(&listed);
    let ctl = |words: &[&str]| finish(Command::new(cutap()).args(["ctl", pid]).args(words)).everything();
    assert!(listed.contains("; GPU times: ended: a profiler of the program has CUPTI"), "{listed}");
    assert!(ctl(&["status"]).contains("\nGPU times: ended: a profiler of the program has CUPTI"));
    let said = ctl(&["gpu-time", "on"]);
    assert!(said.contains("a profiler of the program has CUPTI in process "), "{said}");
    drop(record.stdin.take());
    assert!(record.wait().expect("cutap ends").success());
}

/// A profiler that began before the driver keeps CUPTI.
#[test]
fn a_profiler_before_the_driver_keeps_cupti() {
    let folder = scratch("gpu-time-early-profiler");
    let (file, output) = recorded(&folder, &["early"]);
    assert_eq!(output, plain(&["early"]));
    assert_eq!(work_rows(&file), 0);
    let said = notes(&file);
    assert!(said.contains("no GPU times of 1 process: another tool uses CUPTI in the process"), "{said}");
}
