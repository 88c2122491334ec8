//! Capture ranges of NVTX.

use crate::build;
use cutap_e2e::{cutap, finish, json_lines, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Calls are recorded while a range of this name is open, in whichever domain or in one.
#[test]
fn capture_ranges() {
    let folder = scratch("ranges-captured");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let recorded = |range: &str| {
        let file = folder.join(format!("{}.cutap", range.replace(':', "-")));
        let mut record = Command::new(cutap());
        record.args(["record", "-q", "--sim", "--capture-range", range, "-o"]).arg(&file).arg(&program).arg("basic");
        let done = finish(&mut record);
        assert!(done.status.success() && !done.stderr.contains("nothing was recorded"), "{done:?}");
        let shown = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file));
        let lines: Vec<Value> = json_lines(&shown.stdout).filter(|line| line["type"] == "call").collect();
        lines.iter().map(|call| call["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(recorded("nvtx:inner"), ["cuDeviceGetCount", "moment", "inner", "outer"]);
    assert_eq!(recorded("nvtx:regist*@Domain"), ["cuDeviceGetCount", "outer", "cuDeviceGetCount", "registered"]);
    assert!(recorded("nvtx:inner@Domain").is_empty());
    let refused = finish(Command::new(cutap()).args(["record", "--capture-range", "nvtx:", "--", "true"]));
    assert!(!refused.status.success() && refused.stderr.contains("nvtx:NAME[@DOMAIN]"), "{refused:?}");
}

/// A capture range that never opens, one of start and end, and what `ctl` says of one.
#[test]
fn capture_ranges_that_do_not_open() {
    let folder = scratch("ranges-unopened");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let trace = |range: &str| {
        let mut command = Command::new(cutap());
        command.args(["trace", "--sim", "--capture-range", range, "-o"]).arg(folder.join("trace.txt"));
        assert!(finish(command.arg(&program).arg("basic")).status.success());
        std::fs::read_to_string(folder.join("trace.txt")).expect("a trace")
    };
    let never = "cutap: nothing was recorded: no call was made in the capture range";
    assert!(trace("nvtx:nowhere").starts_with(never));
    let text = trace("nvtx:w*de");
    let start = "cutap: 1 range of start and end with the name of the capture range: only ranges of push and pop";
    assert!(text.starts_with(start) && text.contains(never), "{text}");
    let (status, on) = (folder.join("status.txt"), folder.join("on.txt"));
    let ctl = |word: &str, to: &Path| format!("LD_PRELOAD= {} ctl $PPID {word} > {}", cutap().display(), to.display());
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "--capture-range", "nvtx:step 1@nvtx", "-o"]).arg(folder.join("ctl.cutap"));
    record.env("OFF", ctl("status", &status)).env("ON", ctl("on", &on)).arg(&program).arg("switched");
    let done = finish(&mut record);
    assert!(done.status.success(), "{done:?}");
    let [status, on] = [status, on].map(|file| std::fs::read_to_string(file).expect("what ctl printed"));
    assert!(status.contains("range: while a range of NVTX is open: step 1@nvtx, in each process"), "{status}");
    assert!(on.ends_with("calls are recorded while the range of NVTX is open that --capture-range names\n"), "{on}");
}

/// Ranges that are open when recording begins are around the calls that follow.
#[test]
fn ranges_around_a_capture_range() {
    let folder = scratch("ranges-profiled");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let file = folder.join("profiled.cutap");
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "--capture-range", "cudaProfilerApi", "-o"]).arg(&file);
    assert!(finish(record.arg(&program).arg("profiled")).status.success());
    let shown = finish(Command::new(cutap()).args(["show", "-v"]).arg(&file)).stdout;
    let line = |line: &str| line.split_once(" <").map_or(line, |(line, _)| line).to_owned();
    let expected = [
        "range \"outer\" {",
        "  range \"middle\" {",
        "    cuDeviceGetCount(count=&1) = CUDA_SUCCESS",
        "    range \"inner\" {",
        "      cuDeviceGetCount(count=&1) = CUDA_SUCCESS",
        "    } inner",
        "    cuProfilerStop() = CUDA_SUCCESS",
        "  } middle",
        "} outer",
    ];
    assert_eq!(shown.lines().map(line).collect::<Vec<_>>(), expected);
}

/// A range of a thread that has ended, or of another thread of the parent, is no longer open.
#[test]
fn captured_ranges_of_threads_and_children() {
    let folder = scratch("ranges-ended");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let recorded = |way: &str| {
        let file = folder.join(format!("{way}.cutap"));
        let mut record = Command::new(cutap());
        record.args(["record", "-q", "--sim", "--capture-range", "nvtx:inner", "-o"]).arg(&file).arg(&program).arg(way);
        let done = finish(&mut record);
        assert!(done.status.success(), "{done:?}");
        let shown = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file));
        json_lines(&shown.stdout).filter(|line| line["name"] == "cuDeviceGetCount").count()
    };
    // The call in the range, and the one in which the next thread takes the place of the one that ended.
    assert_eq!(recorded("left_open"), 2);
    assert_eq!(recorded("open_at_fork"), 1);
}
