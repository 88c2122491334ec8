//! `--gpu-time` on the simulated driver and its CUPTI: each row has its call, nodes of graphs have the calls that were
//! captured, and faults of CUPTI are counted.

use cutap_e2e::{cutap, finish, json_lines, out, scratch};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Records `gpu_work` with a version of CUPTI and planted faults.
fn recorded(folder: &Path, version: &str, faults: &str) -> PathBuf {
    let file = folder.join(format!("{version}-{faults}.cutap"));
    let mut record = Command::new(cutap());
    record.args(["record", "--sim", "--gpu-time", "-o"]).arg(&file).arg(out().join("gpu_work"));
    record.env("CUTAP_SIM_CUPTI", version).env("CUTAP_SIM_CUPTI_FAULTS", faults);
    let done = record.output().expect("cutap runs");
    assert!(done.status.success() && done.stdout == b"1600 launches, 6 replays\n", "{done:?}");
    let has_rows = String::from_utf8_lossy(&done.stderr).contains(" rows of GPU time are in ");
    assert_eq!(has_rows, faults != "refuse", "{done:?}");
    file
}

fn lines(words: &[&str], file: &Path) -> Vec<Value> {
    let done = finish(Command::new(cutap()).args(words).arg("--json").arg(file));
    assert!(done.status.success(), "{done:?}");
    json_lines(&done.stdout).collect()
}

fn notes(file: &Path) -> String {
    finish(Command::new(cutap()).args(["show", "-v", "-e", "cuInit"]).arg(file)).everything()
}

/// The calls with GPU time, by grid, and the rows that are no nodes of a graph.
fn launches(all: &[Value]) -> (HashMap<String, u64>, Vec<&Value>) {
    let argument = |call: &Value, n: usize| call["args"][n].as_str().unwrap_or_default().to_owned();
    let timed = all.iter().filter(|line| line["name"] == "cuLaunchKernel" && line["gpu_ns"].is_u64());
    let by_grid = timed.map(|call| {
        let number = |n| u64::from_str_radix(argument(call, n).trim_start_matches("0x"), 16).unwrap_or(0);
        (format!("[{},{},1]", number(1), number(2)), call["gpu_rows"].as_u64().unwrap_or(0))
    });
    let rows = all.iter().filter(|line| line["type"] == "row" && line["graph"].is_null());
    (by_grid.collect(), rows.collect())
}

#[test]
fn each_row_has_the_call_that_submitted_it() {
    let folder = scratch("gpu-time-rows");
    for version in ["11.7", "12.0", "12.9", "13.0", "13.5"] {
        let all = lines(&["show"], &recorded(&folder, version, "late"));
        let (calls, rows) = launches(&all);
        assert_eq!((calls.len(), rows.len()), (1600, 1600), "{version}");
        for row in rows {
            assert_eq!(calls.get(&row["grid"].to_string()), Some(&1), "{version} {row}");
            assert_eq!(row["kernel"], "first");
        }
    }
}

#[test]
fn nodes_of_graphs_have_their_captured_calls() {
    let folder = scratch("gpu-time-graphs");
    let file = recorded(&folder, "13.0", "");
    let graphs = lines(&["report", "--graphs"], &file);
    let graphs: Vec<&Value> = graphs.iter().filter(|line| line["type"] == "gpu_graph").collect();
    let launches: Vec<u64> = graphs.iter().map(|graph| graph["launches"].as_u64().unwrap()).collect();
    assert_eq!(launches.iter().sum::<u64>(), 6, "{graphs:?}");
    assert_eq!(graphs.len(), 3, "{graphs:?}");
    for graph in graphs {
        let mut nodes: Vec<(u64, &str, &Value)> = Vec::new();
        for node in graph["nodes"].as_array().unwrap() {
            nodes.push((node["node"].as_u64().unwrap(), node["work"].as_str().unwrap(), &node["path"]));
        }
        nodes.sort_by_key(|node| node.0);
        // In the parent graph the child node is the first one.
        let first = nodes[0].0;
        let made: BTreeMap<u64, (&str, String)> = nodes
            .iter()
            .map(|(n, what, path)| (n - first, (*what, path[0].as_str().unwrap_or_default().to_owned())))
            .collect();
        let expected = [
            ("first <<<10, 1>>>", "cuLaunchKernel"),
            ("set of 13 B", "cuMemsetD8Async"),
            ("second <<<11, 1>>>", "cuLaunchKernel"),
            ("copy HtoD of 14 B", "cuMemcpyHtoDAsync_v2"),
        ];
        for (n, (what, function)) in expected.into_iter().enumerate() {
            assert_eq!(made[&(n as u64)], (what, function.to_owned()), "{graph}");
        }
    }
    assert!(
        notes(&file).contains("1624 of 1624 rows of GPU time have their call, 0 have bad times"),
        "{}",
        notes(&file)
    );
    assert!(notes(&file).contains("invented by the simulated CUPTI"), "{}", notes(&file));
}

/// Faults of CUPTI are counted, and no row gets a wrong call.
#[test]
fn faults_are_counted() {
    let folder = scratch("gpu-time-faults");
    let mut counts = BTreeMap::new();
    for faults in ["lost", "zero", "swapped", "mixed", "early", "overdue"] {
        let file = recorded(&folder, "13.0", faults);
        let said = notes(&file);
        let numbers: Vec<u64> = said
            .lines()
            .find(|line| line.contains("rows of GPU time have their call"))
            .expect(&said)
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        // With their call, all, with bad times.
        counts.insert(faults, numbers[..3].to_vec());
        let why = match faults {
            "mixed" => "rows of GPU time have no call: their kernels, grids or bytes",
            "early" => "rows of GPU time have no call: they begin before",
            "overdue" => "rows of GPU time have no call: they end after",
            _ => "rows of GPU time have their call",
        };
        assert!(said.contains(why), "{said}");
        let all = lines(&["show"], &file);
        let (calls, rows) = launches(&all);
        for row in rows.iter().filter(|row| row["duration_ns"].is_u64() && row["call_start_ns"].is_u64()) {
            assert_eq!(calls.get(&row["grid"].to_string()), Some(&1), "{faults} {row}");
        }
    }
    assert!(counts["lost"][0] == counts["lost"][1] && counts["lost"][1] < 1624, "{counts:?}");
    assert!(counts["zero"][0] == 1624 && counts["zero"][2] >= 16, "{counts:?}");
    assert_eq!(counts["swapped"], [1624, 1624, 0]);
    for refused in ["mixed", "early", "overdue"] {
        let [with_call, all, bad] = counts[refused][..] else { panic!("{counts:?}") };
        assert!(with_call < all && with_call > 1500 && all == 1624 && bad == 0, "{counts:?}");
    }
    let refused = notes(&recorded(&folder, "13.0", "refuse"));
    assert!(refused.contains("no GPU times of 1 process: the host does not permit profiling"), "{refused}");
}

/// A filter leaves calls of a capture out of what readers show. Rows and nodes have their calls all the same.
#[test]
fn filters_keep_calls_of_rows() {
    let folder = scratch("gpu-time-filtered");
    for filter in ["!cuLaunchKernel", "cuGraphLaunch", "cuMemAlloc*"] {
        let file = folder.join("filtered.cutap");
        let mut record = Command::new(cutap());
        record.args(["record", "-q", "--sim", "--gpu-time", "-e", filter, "-o"]).arg(&file).arg(out().join("gpu_work"));
        assert!(finish(&mut record).status.success());
        let all = lines(&["show"], &file);
        assert!(!all.iter().any(|line| line["type"] == "call" && line["name"] == "cuLaunchKernel"), "{filter}");
        let graphs = finish(Command::new(cutap()).args(["report", "--graphs"]).arg(&file));
        assert!(graphs.stdout.contains("24 of 24 rows of graphs have their captured call"), "{filter}: {graphs:?}");
        assert!(notes(&file).contains("1624 of 1624 rows of GPU time have their call"), "{filter}: {}", notes(&file));
    }
}

/// A live trace has sums at its end, and its rows as JSON have their times.
#[test]
fn live_traces() {
    let trace = |words: &[&str], faults: &str| {
        let mut trace = Command::new(cutap());
        trace.args(["trace", "--sim", "--gpu-time"]).args(words).arg(out().join("gpu_work"));
        trace.env("CUTAP_SIM_CUPTI", "13.0").env("CUTAP_SIM_CUPTI_FAULTS", faults);
        finish(&mut trace)
    };
    for words in [&["-e", "driver:cuGraphLaunch"][..], &["-c"]] {
        let said = trace(words, "").stderr;
        assert!(said.contains("cutap: GPU time: "), "{said}");
        assert!(said.contains(", in 1612 kernels, 6 copies and 6 sets"), "{said}");
        assert!(said.contains(" 1606x first\n") && said.contains(" 6x second\n"), "{said}");
    }
    let refused = trace(&["-c"], "refuse").stderr;
    assert!(refused.contains("cutap: no GPU times of 1 process: the host does not permit profiling"), "{refused}");
    let folder = scratch("gpu-time-live");
    let file = folder.join("live.json");
    trace(&["--json", "-o", file.to_str().unwrap()], "");
    let all: Vec<Value> = json_lines(&std::fs::read_to_string(&file).unwrap()).collect();
    let (calls, rows): (Vec<&Value>, Vec<&Value>) = all.iter().partition(|line| line["type"] == "call");
    let rows: Vec<&Value> = rows.into_iter().filter(|line| line["type"] == "row").collect();
    let starts = calls.iter().filter_map(|call| call["start_ns"].as_u64());
    let (first, last) = starts.fold((u64::MAX, 0), |(first, last), ns| (first.min(ns), last.max(ns)));
    assert_eq!(rows.len(), 1624);
    for row in rows {
        // The clock of CUPTI is known to some nanoseconds.
        let start = row["start_ns"].as_u64().expect("a time");
        assert!(start >= first && start < last + 1_000_000_000, "{first} {last} {row}");
    }
}

/// The reports of a run with GPU time, and the sentence of one without.
#[test]
fn reports() {
    let folder = scratch("gpu-time-reports");
    let file = recorded(&folder, "13.0", "");
    let report = |words: &[&str]| finish(Command::new(cutap()).arg("report").args(words).arg(&file)).everything();
    let kernels = report(&["--by", "kernel"]);
    assert!(kernels.contains("first") && kernels.contains("time on the GPU"), "{kernels}");
    let findings = lines(&["explain", "--rule", "small_kernels"], &file);
    let small = findings.iter().find(|line| line["rule"] == "small_kernels").expect("a finding");
    assert!(small["evidence"][0].as_str().unwrap().contains("1600 kernels of 24ns on the GPU"), "{small}");
    let functions = report(&["--by", "function"]);
    assert!(functions.lines().next().is_some_and(|line| line.trim_end().ends_with("gpu")), "{functions}");
    let gpu_ns = |by: &str| -> u64 {
        let rows = lines(&["report", "--by", by], &file);
        rows.iter().filter_map(|row| row["gpu_ns"].as_u64()).sum()
    };
    let whole = gpu_ns("process");
    assert!(whole > 1600, "{whole}");
    assert_eq!([gpu_ns("thread"), gpu_ns("library"), gpu_ns("function")], [whole; 3]);
    let later = report(&["--by", "kernel", "--from", "1000s"]);
    assert!(later.starts_with("no kernel ran on the GPU"), "{later}");
    let copies = report(&["--copies"]);
    assert!(copies.contains("copy HtoD, pageable to device") && copies.contains("84 B"), "{copies}");
    let gaps = report(&["--gaps"]);
    assert!(gaps.starts_with("device 0: busy ") && gaps.contains("stream "), "{gaps}");
    let text = finish(Command::new(cutap()).args(["show", "-e", "cuGraphLaunch"]).arg(&file)).everything();
    assert_eq!(text.matches(" gpu ").count(), 6, "{text}");
    let chrome = folder.join("chrome.json");
    finish(Command::new(cutap()).args(["export", "--chrome"]).arg(&chrome).arg(&file));
    let events: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&chrome).unwrap()).unwrap();
    let of_gpu = events.iter().filter(|event| event["cat"] == "gpu" && event["ph"] == "X");
    assert_eq!(of_gpu.count(), 1624);
    // An arrow for each launch, of a kernel or of a graph.
    let arrows = |phase: &str| -> BTreeSet<u64> {
        events.iter().filter(|event| event["ph"] == phase).filter_map(|event| event["id"].as_u64()).collect()
    };
    assert_eq!((arrows("s").len(), arrows("s")), (1606, arrows("f")));
    assert!(
        events.iter().any(|event| event["args"]["name"].as_str().is_some_and(|name| name.starts_with("GPU 0 stream")))
    );
    let perfetto = folder.join("perfetto");
    finish(Command::new(cutap()).args(["export", "--perfetto"]).arg(&perfetto).arg(&file));
    let written = String::from_utf8_lossy(&std::fs::read(&perfetto).unwrap()).into_owned();
    assert!(written.contains("GPU 0 stream"));
    let plain = folder.join("plain.cutap");
    let mut record = Command::new(cutap());
    finish(record.args(["record", "--sim", "-q", "-o"]).arg(&plain).arg(out().join("gpu_work")));
    let none = finish(Command::new(cutap()).args(["report", "--gaps"]).arg(&plain));
    assert!(none.stderr.contains("has no GPU times; they are kept with cutap record --gpu-time"), "{none:?}");
}
