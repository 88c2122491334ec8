//! Memory that an allocator hands out of its pool. `report --allocations` has the pool's own numbers, and each line the
//! bytes that the program found at the peak. The libraries have the names and symbols of PyTorch's.

use cutap_e2e::{Scratch, cutap, finish, json_lines, scratch, sources};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn source(name: &str) -> PathBuf {
    sources().join("pools").join(name)
}

fn build(compiler: &str, folder: &Path, from: &str, to: &str, words: &[&str]) {
    let mut command = Command::new(compiler);
    command.args(["-O1", "-Wall", "-Wextra", "-Werror", "-Wl,-rpath,$ORIGIN", "-o"]).arg(folder.join(to));
    let done = finish(command.arg(source(from)).arg("-L").arg(folder).args(words));
    assert!(done.status.success(), "{}", done.stderr);
}

/// The libraries, bound at their first call as PyTorch's are, or at the start.
fn libraries() -> Scratch {
    let folder = scratch("pools");
    let shared = ["-fPIC", "-shared"];
    build("g++", &folder, "c10.cpp", "libc10.so", &[&shared[..], &["-Wl,-soname,libc10.so"]].concat());
    for (name, bound) in [("libc10_cuda.so", "-Wl,-z,lazy"), ("libc10_cuda_now.so", "-Wl,-z,now")] {
        build("g++", &folder, "c10_cuda.cpp", name, &[&shared[..], &[bound, "-l:libc10.so", "-ldl"]].concat());
    }
    folder
}

/// Records a program; what it printed.
fn record(folder: &Path, flags: &[&str], words: &[&str]) -> Value {
    let mut command = Command::new(cutap());
    command.args(["record", "--sim", "-q", "--force"]).args(flags).arg("-o").arg(folder.join("run.cutap"));
    let ran = finish(command.arg("--").args(words));
    assert!(ran.status.success(), "{}", ran.everything());
    let printed = json_lines(&ran.stdout).next();
    printed.unwrap_or_else(|| panic!("{}", ran.everything()))
}

fn report(folder: &Path, words: &[&str]) -> String {
    let ran = finish(Command::new(cutap()).args(words).arg(folder.join("run.cutap")));
    assert!(ran.status.success(), "{}", ran.everything());
    ran.stdout
}

fn of_type(json: &str, name: &str) -> Vec<Value> {
    json_lines(json).filter(|line| line["type"] == name).collect()
}

#[test]
fn the_peak_and_its_lines() {
    let folder = libraries();
    let script = source("tensors.py");
    for library in ["libc10_cuda.so", "libc10_cuda_now.so"] {
        let words = ["python3", script.to_str().unwrap(), folder.to_str().unwrap(), library, "refused"];
        let printed = record(&folder, &["--python"], &words);
        assert_eq!(printed["sum"], 11, "a function that is not listed is as it was");
        let json = report(&folder, &["report", "--allocations", "--json"]);
        let pool = &of_type(&json, "pool")[0];
        for (name, is) in [("peak_bytes", "peak"), ("peak_reserved_bytes", "reserved"), ("end_bytes", "live")] {
            assert_eq!(pool[name], printed[is], "{library}: {name}\n{json}");
        }
        let lines = of_type(&json, "pool_line");
        assert_eq!(lines.len(), printed["count"].as_object().unwrap().len(), "{json}");
        for line in &lines {
            let name = line["line"].as_str().unwrap();
            for (field, of) in [("peak_bytes", "at_peak"), ("end_bytes", "lines"), ("count", "count")] {
                assert_eq!(line[field], printed[of][name], "{library}: {field} of {name}\n{json}");
            }
        }
        let refused = &of_type(&json, "pool_refused")[0];
        assert_eq!((&refused["bytes"], &refused["device"]), (&(100 << 20).into(), &"device 0".into()));
        let calls = report(&folder, &["show", "--json", "-e", "reportMemoryUsageToProfiler"]);
        assert_eq!(of_type(&calls, "call").len() as u64, printed["told"].as_u64().unwrap());
        let text = report(&folder, &["report", "--allocations"]);
        let (tensors, of_cuda) = text.split_once("\n\n").unwrap_or_else(|| panic!("{text}"));
        assert!(
            tensors.starts_with("device 0: peak 4.4 MiB ") && tensors.contains("(PyTorch reserves 6 MiB)"),
            "{text}"
        );
        assert!(
            tensors.contains("device 0: out of memory ") && tensors.contains(": 100 MiB for tensors.py:"),
            "{text}"
        );
        assert!(of_cuda.starts_with("device memory: 6 MiB at the peak"), "{text}");
        assert_eq!(of_type(&json, "allocations").iter().map(|row| row["count"].as_u64().unwrap()).sum::<u64>(), 3);
    }
}

/// Without lines the numbers are the same. Threads and devices are counted apart.
#[test]
fn without_python() {
    let folder = libraries();
    let links = ["-pthread", "-l:libc10_cuda.so", "-l:libc10.so", "-ldl"];
    build("gcc", &folder, "tensors.c", "tensors", &links);
    let printed = record(&folder, &[], &[folder.join("tensors").to_str().unwrap()]);
    let json = report(&folder, &["report", "--allocations", "--json"]);
    for pool in of_type(&json, "pool") {
        let device = usize::from(pool["device"] == "device 1");
        assert_eq!(pool["peak_bytes"], printed["peak"][device], "{json}");
    }
    let live: u64 = of_type(&json, "pool").iter().map(|pool| pool["end_bytes"].as_u64().unwrap()).sum();
    assert_eq!(Some(live), printed["live"].as_u64());
    let calls = report(&folder, &["show", "--json", "-e", "library:reportMemoryUsageToProfiler"]);
    assert_eq!(of_type(&calls, "call").len() as u64, printed["told"].as_u64().unwrap());
    assert_eq!(printed["sum"], 11);
}

/// A recording that begins late has the allocator's own numbers.
#[test]
fn recorded_from_the_middle() {
    let folder = libraries();
    let script = source("tensors.py");
    let words = ["python3", script.to_str().unwrap(), folder.to_str().unwrap(), "libc10_cuda.so"];
    let printed = record(&folder, &["--python"], &words);
    let whole = report(&folder, &["show", "--json", "-e", "reportMemoryUsageToProfiler"]);
    let starts: Vec<u64> = of_type(&whole, "call").iter().map(|call| call["start_ns"].as_u64().unwrap()).collect();
    let first = json_lines(&report(&folder, &["show", "--json"])).find_map(|line| line["start_ns"].as_u64()).unwrap();
    let from = format!("{}ns", starts[60] - first);
    let json = report(&folder, &["report", "--allocations", "--json", "--from", &from]);
    let pool = &of_type(&json, "pool")[0];
    assert_eq!((&pool["peak_bytes"], &pool["end_bytes"]), (&printed["peak"], &printed["live"]), "{json}");
    let text = report(&folder, &["report", "--allocations", "--from", &from]);
    assert!(text.contains("(handed out before the recording) [PyTorch]"), "{text}");
}

/// The libraries of an autograd. `flags`: which of PyTorch's.
fn build_autograd(folder: &Path, flags: &[&str]) {
    let shared = [&["-fPIC", "-shared"], flags].concat();
    let named = ["-Wl,-soname,libtorch_cpu.so", "-pthread"];
    build("g++", folder, "torch_cpu.cpp", "libtorch_cpu.so", &[&shared[..], &named].concat());
    build("g++", folder, "torch_python.cpp", "libtorch_python.so", &[&shared[..], &["-l:libtorch_cpu.so"]].concat());
}

/// What the program says how many blocks each line has, and what is reported of them.
fn backward_counts(folder: &Path) -> (Value, Value) {
    let script = source("backward.py");
    let printed = record(folder, &["--python"], &["python3", script.to_str().unwrap(), folder.to_str().unwrap()]);
    let json = report(folder, &["report", "--allocations", "--json"]);
    let name = |line: &Value| line["line"].as_str().unwrap().to_owned();
    let found = of_type(&json, "pool_line").iter().map(|line| (name(line), line["count"].clone())).collect();
    (printed["count"].clone(), Value::Object(found))
}

/// A block of a backward pass has the line that began the pass, and the one that made the node. Nodes are as in PyTorch
/// 2.2 and as in 2.15. Words are bound at the first call or at the start. Some nodes throw, and some run a pass.
#[test]
fn backward_passes() {
    let folder = libraries();
    for flags in [&["-Wl,-z,lazy"][..], &["-DINTRUSIVE", "-Wl,-z,now"]] {
        build_autograd(&folder, flags);
        let (printed, found) = backward_counts(&folder);
        assert_eq!(printed, found, "{flags:?}");
    }
    let named = report(&folder, &["report", "--by", "line", "-e", "reportMemoryUsageToProfiler"]);
    assert!(named.contains("backward.py:38 step, backward of backward.py:29 forward"), "{named}");
    let shown = report(&folder, &["show", "-e", "reportMemoryUsageToProfiler"]);
    let stack = [
        "backward of Graph.node graph.py:26 [Python, MmBackward0]",
        "backward of forward backward.py:29 [Python, MmBackward0]",
        "backward of step backward.py:35 [Python, MmBackward0]",
        "backward of <module> backward.py:56 [Python, MmBackward0]",
        "Graph.backward graph.py:38 [Python]",
        "step backward.py:38 [Python]",
    ];
    assert!(shown.contains(&format!("    at {}\n", stack.join("\n    at "))), "{shown}");
    assert!(shown.contains("    at node AccumulateGrad [Python]\n"), "{shown}");
    let calls = report(&folder, &["show", "--json", "-e", "reportMemoryUsageToProfiler"]);
    let has_node = |call: &Value| call["stack"].as_array().unwrap().iter().any(|f| f["node"] == "MmBackward0");
    assert!(of_type(&calls, "call").iter().any(has_node), "{calls}");
}

/// Of nodes that have their numbers elsewhere the types are known alone, and there is one note.
#[test]
fn an_unknown_autograd() {
    let folder = libraries();
    build_autograd(&folder, &["-Wl,-z,lazy", "-DMOVED"]);
    let (printed, found) = backward_counts(&folder);
    let sum = |of: &Value, is: &dyn Fn(&str) -> bool| -> u64 {
        let lines = of.as_object().unwrap().iter().filter(|(line, _)| is(line));
        lines.filter_map(|(_, count)| count.as_u64()).sum()
    };
    assert_eq!(sum(&printed, &|_| true), sum(&found, &|_| true), "{found}");
    assert_eq!(sum(&printed, &|_| true), sum(&found, &|line| line.contains(", backward node ")), "{found}");
    assert_eq!(found["backward.py:44 here, backward node MmBackward0"], 20, "{found}");
    let notes = report(&folder, &["report", "--notes"]);
    assert_eq!(notes.matches("backward passes cutap cannot follow").count(), 1, "{notes}");
}
