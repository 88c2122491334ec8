//! Calls on which later ones depend are recorded, although others are not: while `cutap ctl off` holds, and where -e
//! leaves them out.

use cutap_e2e::{cutap, finish, json_lines, out, scratch};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

fn lines(words: &[&str], file: &Path) -> Vec<Value> {
    let done = finish(Command::new(cutap()).args(words).arg("--json").arg(file));
    assert!(done.status.success(), "{done:?}");
    json_lines(&done.stdout).collect()
}

/// Records `gpu_work`, and switches it off before it captures a graph, and on behind that.
fn recorded_off_while_capturing(file: &Path) {
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "--gpu-time", "-o"]).arg(file).arg(out().join("gpu_work")).arg("stops");
    let mut child = record.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cutap runs");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    for state in ["off", "on"] {
        let pid = output.next().expect("the program's number");
        let switched = finish(Command::new(cutap()).args(["ctl", &pid, state]));
        assert!(switched.status.success(), "{switched:?}");
        input.write_all(b"\n").expect("the program reads");
    }
    assert_eq!(output.next().as_deref(), Some("1600 launches, 6 replays"));
    assert!(child.wait().expect("it ends").success());
}

fn calls(words: &[&str], file: &Path) -> Vec<Value> {
    lines(words, file).into_iter().filter(|line| line["type"] == "call").collect()
}

/// The nodes of each graph with the functions that made them.
fn nodes(file: &Path) -> Vec<String> {
    let graphs = lines(&["report", "--graphs"], file);
    let mut nodes = Vec::new();
    for graph in graphs.iter().filter(|line| line["type"] == "gpu_graph") {
        for node in graph["nodes"].as_array().expect("a list") {
            nodes.push(format!("{} {} {}", graph["launches"], node["work"], node["path"][0]));
        }
    }
    nodes.sort();
    nodes
}

#[test]
fn captures_while_recording_is_off() {
    let folder = scratch("kept-state-off");
    let (file, all) = (folder.join("off.cutap"), folder.join("all.cutap"));
    recorded_off_while_capturing(&file);
    let mut record = Command::new(cutap());
    finish(record.args(["record", "-q", "--sim", "--gpu-time", "-o"]).arg(&all).arg(out().join("gpu_work")));
    assert_eq!(nodes(&file), nodes(&all));
    assert_eq!(nodes(&file).len(), 12);
    // The launch of kernel <<<12, 1>>> behind the capture is not recorded, and the captured ones are.
    let launches = lines(&["show", "-e", "cuLaunchKernel"], &file);
    let count = |x: &str| {
        let is = |call: &&Value| call["args"][1] == x && call["args"][2] == "0x1" && call["stream"] == "stream#1";
        launches.iter().filter(is).count()
    };
    // The first thread launches with all numbers, too.
    assert_eq!((count("0xb"), count("0xc")), (2, 1));
}

#[test]
fn what_a_filter_leaves_out() {
    let folder = scratch("kept-state-filter");
    let file = folder.join("run.cutap");
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "--gpu-time", "-e", "cuGraphLaunch,cuLaunchKernel,cuMem*Async*", "-o"]);
    finish(record.arg(&file).arg(out().join("gpu_work")));
    assert!(nodes(&file).iter().all(|node| !node.ends_with("null")), "{:?}", nodes(&file));
    let shown = lines(&["show"], &file);
    assert!(!shown.iter().any(|line| line["name"] == "cuStreamBeginCapture_v2"), "a reader shows what was asked for");
}

/// The graphs of a run whose older calls a flight recorder of this size wrote over.
fn in_flight_recorder(file: &Path, more: &[&str]) -> Vec<String> {
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "--gpu-time", "--flight-recorder", "64K"]).args(more).arg("-o").arg(file);
    finish(record.arg(out().join("gpu_work")).arg("busy"));
    nodes(file)
}

#[test]
fn what_a_flight_recorder_writes_over() {
    let folder = scratch("kept-state-flight");
    let (file, filtered, all) = (folder.join("run.cutap"), folder.join("filtered.cutap"), folder.join("all.cutap"));
    let mut record = Command::new(cutap());
    finish(
        record.args(["record", "-q", "--sim", "--gpu-time", "-o"]).arg(&all).arg(out().join("gpu_work")).arg("busy"),
    );
    let whole = nodes(&all);
    assert_eq!(whole.len(), 12);
    assert_eq!(in_flight_recorder(&file, &[]), whole);
    let filter = "cuGraphLaunch,cuCtxGetCurrent,cuLaunchKernel,cuMem*Async*";
    assert_eq!(in_flight_recorder(&filtered, &["-e", filter]), whole);
    // The last copy is to memory that was allocated at the start. The captured one is not shown.
    let copies = calls(&["show", "-e", "cuMemcpyHtoD*"], &file);
    let sizes: Vec<&Value> = copies.iter().map(|call| &call["arguments"][0]["value"]["size"]).collect();
    assert_eq!(sizes, [64]);
    // Calls that are kept and not shown count as older ones.
    let made = |file: &Path| {
        let mut report = lines(&["report"], file);
        let end = report.pop().expect("an end");
        let shown = report.iter().filter_map(|line| line["calls"].as_u64()).sum::<u64>();
        (shown, shown + end["overwritten"].as_u64().expect("a number"))
    };
    let ((shown, made_in_flight), (_, made_in_all)) = (made(&file), made(&all));
    assert_eq!(made_in_flight, made_in_all);
    assert!(shown > 0 && shown < 10_000, "{shown}");
}

/// What is destroyed makes room: no call is left out, although all of them together have no room.
#[test]
fn what_is_destroyed_is_forgotten() {
    let folder = scratch("kept-state-churn");
    let file = folder.join("run.cutap");
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "--gpu-time", "--flight-recorder", "64K", "-o"]).arg(&file);
    finish(record.arg(out().join("gpu_work")).arg("churn"));
    let done = finish(Command::new(cutap()).args(["report", "--notes"]).arg(&file));
    let notes = done.stdout + &done.stderr;
    assert!(notes.contains("calls older than what the flight recorder kept"), "{notes}");
    assert!(!notes.contains("that later calls depend on not kept"), "{notes}");
    let nodes = nodes(&file);
    assert!(nodes.len() == 12 && nodes.iter().all(|node| !node.ends_with("null")), "{nodes:?}");
}
