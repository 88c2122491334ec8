//! Capture ranges of NVTX.

use crate::build;
use cutap_e2e::{cutap, finish, json_lines, scratch};
use serde_json::Value;
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
        assert!(finish(&mut record).status.success());
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
