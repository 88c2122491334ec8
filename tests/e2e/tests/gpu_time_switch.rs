//! `cutap ctl PID gpu-time on` and `off`: rows stop and begin again, and the report says when they are missing.

use cutap_e2e::{Steps, cutap, finish, json_lines, out, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Starts the steps under `cutap record`.
fn start(flags: &[&str], file: &Path) -> Steps {
    let mut record = Command::new(cutap());
    record.args(["record", "--sim", "-q"]).args(flags).arg("-o").arg(file).arg(out().join("gpu_steps"));
    Steps::start(&mut record)
}

/// Longer than the time in which the program notices a switch.
fn wait() {
    std::thread::sleep(Duration::from_millis(1500));
}

/// The grids of the kernels with a row.
fn grids(file: &Path) -> Vec<u64> {
    let done = finish(Command::new(cutap()).args(["show", "--json"]).arg(file));
    let lines: Vec<Value> = json_lines(&done.stdout).collect();
    assert_eq!(lines.iter().filter(|line| line["name"] == "cuLaunchKernel").count(), 3, "{lines:?}");
    lines.iter().filter(|line| line["type"] == "row").map(|row| row["grid"][0].as_u64().unwrap()).collect()
}

#[test]
fn rows_are_switched_off_and_on() {
    let folder = scratch("gpu-time-switch");
    let file = folder.join("steps.cutap");
    let mut steps = start(&["--gpu-time"], &file);
    steps.step();
    assert!(steps.ctl(&["status"]).contains("GPU times: on"), "{}", steps.ctl(&["status"]));
    let said = steps.ctl(&["gpu-time", "off"]);
    assert!(said.contains("GPU times are off in process ") && said.contains(" gpu-time on switches them on"), "{said}");
    wait();
    assert!(steps.ctl(&["status"]).contains("GPU times: off"));
    steps.step();
    assert!(steps.ctl(&["gpu-time", "on"]).contains("GPU times are on in process "));
    wait();
    steps.step();
    steps.end();
    assert_eq!(grids(&file), [1, 3]);
    let notes = finish(Command::new(cutap()).args(["report", "--notes"]).arg(&file)).everything();
    let line = notes.lines().find(|line| line.contains("GPU times were off from ")).expect(&notes);
    assert!(line.contains(" after the start (cutap ctl): rows of that time are missing"), "{line}");
    assert!(notes.contains("2 of 2 rows of GPU time have their call"), "{notes}");
}

/// All processes of a run; the switch is off to the end.
#[test]
fn rows_of_a_whole_run_are_switched_off() {
    let folder = scratch("gpu-time-switch-all");
    let file = folder.join("steps.cutap");
    let mut steps = start(&["--gpu-time"], &file);
    steps.step();
    steps.ctl(&["--all", "gpu-time", "off"]);
    wait();
    steps.step();
    steps.step();
    steps.end();
    assert_eq!(grids(&file), [1]);
    let notes = finish(Command::new(cutap()).args(["report", "--notes"]).arg(&file)).everything();
    assert!(notes.contains(" after the start to the end (cutap ctl): rows of that time are missing"), "{notes}");
}

/// Rows of calls that were not recorded are counted.
#[test]
fn rows_are_taken_while_recording_is_off() {
    let folder = scratch("gpu-time-recording-off");
    let file = folder.join("steps.cutap");
    let mut steps = start(&["--gpu-time"], &file);
    steps.step();
    steps.ctl(&["off"]);
    steps.step();
    wait();
    steps.ctl(&["on"]);
    steps.step();
    steps.end();
    let notes = finish(Command::new(cutap()).args(["report", "--notes"]).arg(&file)).everything();
    assert!(notes.contains("2 of 3 rows of GPU time have their call"), "{notes}");
    assert!(notes.contains("1 row of GPU time has no call: its call was not recorded"), "{notes}");
}

#[test]
fn a_run_without_rows_cannot_be_switched() {
    let folder = scratch("gpu-time-switch-none");
    let file = folder.join("steps.cutap");
    let steps = start(&[], &file);
    let said = steps.ctl(&["gpu-time", "on"]);
    assert!(said.contains(" was started without --gpu-time, so its GPU times cannot be taken"), "{said}");
    assert!(!steps.ctl(&["status"]).contains("GPU times"));
    steps.end();
}
