//! Several RUNs are the ranks or processes of one job: `show`, `report`, `explain` and `export` read them as one, and
//! say which is which.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{CUTAP, Folder, cutap, err, is_root, out};

/// Records the demo program as these ranks, at the same time.
fn ranks(folder: &Folder, ranks: &[u32]) -> Vec<PathBuf> {
    let begin = |rank: &u32| {
        let mut record = cutap(&["record", "--sim", "-q", "--", CUTAP, "__demo-program"]);
        record.current_dir(&folder.0).env("RANK", rank.to_string()).spawn().unwrap()
    };
    let running: Vec<_> = ranks.iter().map(begin).collect();
    running.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    ranks.iter().map(|rank| folder.join(&format!("run.{rank}.cutap"))).collect()
}

#[track_caller]
fn done(args: &[&str], runs: &[PathBuf]) -> Output {
    let done = cutap(args).args(runs).output().unwrap();
    assert!(done.status.success(), "{args:?}: {done:?}");
    done
}

fn lines(output: &Output) -> Vec<Value> {
    out(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn ranks_are_read_as_one() {
    let folder = Folder::new("several-runs");
    let runs = ranks(&folder, &[0, 1, 2, 10]);
    let shown = out(&done(&["show", "-e", "cuMemAlloc"], &runs));
    for rank in [0, 1, 2, 10] {
        assert_eq!(shown.lines().filter(|line| line.starts_with(&format!("rank {rank} "))).count(), 3, "{shown}");
    }
    // In the order of time, and each call with its run.
    let json = lines(&done(&["show", "--json"], &runs));
    let calls: Vec<&Value> = json.iter().filter(|line| line["type"] == "call").collect();
    assert_eq!(calls.len(), 48);
    let ends = calls.iter().map(|call| call["start_ns"].as_u64().unwrap() + call["duration_ns"].as_u64().unwrap());
    assert!(ends.is_sorted(), "{calls:?}");
    assert!(calls.iter().all(|call| call["run"] == format!("run.{}.cutap", call["rank"])));
    let ends: Vec<&Value> = json.iter().filter(|line| line["type"] == "end").collect();
    assert_eq!(ends.iter().map(|end| end["rank"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2, 10]);
    // No two calls have one id.
    let mut ids: Vec<u64> = calls.iter().map(|call| call["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 48);

    let table = lines(&done(&["report", "--json"], &runs));
    let row = table.iter().find(|line| line["name"] == "cuMemAlloc_v2").unwrap();
    assert_eq!((row["calls"].as_u64(), row["errors"].as_u64()), (Some(12), Some(4)));
    assert_eq!(row["runs"].as_array().unwrap().iter().map(|run| run["calls"].as_u64().unwrap()).sum::<u64>(), 12);
    let by_rank = out(&done(&["report", "--by", "rank"], &runs));
    assert_eq!(
        by_rank.lines().filter(|line| line.starts_with("rank ") && !line.contains("calls")).count(),
        4,
        "{by_rank}"
    );
    for (report, line) in [
        ("--errors", "4  cuMemAlloc_v2 = CUDA_ERROR_OUT_OF_MEMORY (ranks 0-2, 10)"),
        ("--leaks", "4 pieces of device memory, 4 MiB  made by cuMemAlloc_v2 (ranks 0-2, 10)"),
        ("--allocations", "device memory: cuMemAlloc_v2 (ranks 0-2, 10)"),
        ("--slowest", "rank 10: cuMemsetD8Async("),
    ] {
        let text = out(&done(&["report", report], &runs));
        assert!(text.contains(line), "{text}");
    }
    let explained = out(&done(&["explain"], &runs));
    assert_eq!(explained.matches("An ignored error").count(), 1, "{explained}");
    assert!(explained.contains("   in ranks 0-2, 10; of rank "), "{explained}");
    assert!(explained.contains("4 calls failed: cutap report --errors "), "{explained}");
    for flag in ["--chrome", "--json", "--perfetto"] {
        let to = folder.join("exported");
        let written = cutap(&["export", flag]).arg(&to).args(&runs).output().unwrap();
        assert!(written.status.success() && err(&written).contains("48 calls are in"), "{written:?}");
        let bytes = std::fs::read(&to).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let name = if flag == "--json" { "\"rank\":10" } else { "rank 10: cutap" };
        assert!(text.contains(name), "{flag}");
    }
    let counted = out(&done(&["show", "-c"], &runs));
    assert!(counted.lines().any(|line| line.starts_with("cuMemAlloc_v2 ") && line.contains(" 12 ")), "{counted}");
}

/// Files without ranks have their names. One that is missing or damaged is said, and the others are read.
#[test]
fn files_have_their_names_and_failures_are_said() {
    let folder = Folder::new("several-files");
    let runs = ranks(&folder, &[0, 1]);
    let (a, b) = (folder.join("before.cutap"), folder.join("after.cutap"));
    std::fs::rename(&runs[0], &a).unwrap();
    std::fs::rename(&runs[1], &b).unwrap();
    // The recording knows its rank, whatever its name is.
    let shown = out(&done(&["show", "-e", "cuInit"], &[a.clone(), b.clone()]));
    assert!(shown.contains("rank 0 ") && shown.contains("rank 1 "), "{shown}");
    // One rank twice is no rank.
    let shown = out(&done(&["show", "-e", "cuInit"], &[a.clone(), a.clone()]));
    assert_eq!(shown.matches("before.cutap ").count(), 2, "{shown}");
    let missing = cutap(&["report"]).args([&a, &folder.join("none.cutap"), &b]).output().unwrap();
    assert_eq!(missing.status.code(), Some(125), "{missing:?}");
    assert!(err(&missing).contains("none.cutap"), "{missing:?}");
    let bytes = std::fs::read(&b).unwrap();
    std::fs::write(&b, &bytes[..bytes.len() - 40]).unwrap();
    let cut = cutap(&["report", "--errors"]).args([&a, &b]).output().unwrap();
    assert_eq!(cut.status.code(), Some(125), "{cut:?}");
    assert!(err(&cut).contains("after.cutap") && !err(&cut).contains("before.cutap is"), "{cut:?}");
    assert!(out(&cut).contains("cuMemAlloc_v2 = CUDA_ERROR_OUT_OF_MEMORY"), "{cut:?}");
}

/// A run with another clock is put where the wall clock says.
#[test]
fn clocks_of_hosts_are_aligned() {
    let folder = Folder::new("several-clocks");
    let runs = ranks(&folder, &[0]);
    let other = folder.join("run.1.cutap");
    let mut elsewhere = Command::new("unshare");
    elsewhere.args(["--time", "--monotonic=500000", "--fork", CUTAP, "record", "--sim", "-q", "-o"]).arg(&other);
    let recorded = elsewhere.args(["--", CUTAP, "__demo-program"]).output();
    if !is_root() || !recorded.is_ok_and(|done| done.status.success()) {
        println!("SKIPPED: no time namespace can be made here");
        return;
    }
    let json = done(&["show", "--json"], &[other, runs[0].clone()]);
    let starts = |rank: u64| {
        let calls = lines(&json).into_iter().filter(move |l| l["type"] == "call" && l["rank"] == rank);
        calls.map(|call| call["start_ns"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let (first, second) = (starts(0), starts(1));
    assert!(first.last().unwrap() < &second[0], "{first:?} {second:?}");
    assert!(second[0] - first[0] < 100_000_000_000, "{first:?} {second:?}");
    let said = err(&json);
    assert!(said.contains("rank 0 ran on another host than the first run") && said.contains("wall clocks"), "{said}");
}

fn code(args: &[&str], run: &Path) -> (Option<i32>, String) {
    let done = cutap(args).arg(run).output().unwrap();
    (done.status.code(), err(&done))
}

/// What CI asks.
#[test]
fn exit_codes_of_problems() {
    let folder = Folder::new("exit-codes");
    let runs = ranks(&folder, &[0, 1]);
    let none = folder.join("none.cutap");
    let mut quiet = cutap(&["record", "--sim", "-q", "-e", "cuInit", "-o"]);
    let quiet = quiet.arg(&none).args(["--", CUTAP, "__demo-program"]).output().unwrap();
    assert!(quiet.status.success(), "{quiet:?}");
    for words in [&["report", "--errors"][..], &["report", "--leaks"], &["explain"]] {
        let with = [words, &["--exit-code"]].concat();
        assert_eq!(code(&with, &runs[0]).0, Some(1), "{words:?}");
        assert_eq!(code(words, &runs[0]).0, Some(0), "{words:?}");
        assert_eq!(code(&[&with[..], &["-e", "cuInit"]].concat(), &runs[0]).0, Some(0), "{words:?}");
        let (lacking, said) = code(&with, &none);
        assert!(lacking == Some(125) && said.contains("lacks calls (those that the filter cuInit left out)"), "{said}");
        assert_eq!(code(&with, &folder.join("absent")).0, Some(125), "{words:?}");
        let several = cutap(&with).args([&none, &runs[1]]).output().unwrap();
        // Of a run that lacks calls it is not known what was freed.
        let expected = if words.contains(&"--leaks") { 125 } else { 1 };
        assert_eq!(several.status.code(), Some(expected), "{several:?}");
        // Each line of JSON is a finding, or says where the time went.
        let json = cutap(&[&with[..], &["--json"]].concat()).arg(&runs[0]).output().unwrap();
        let types: Vec<String> = lines(&json).iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
        assert!(!types.is_empty() && !types.contains(&"end".to_owned()), "{types:?}");
    }
    let (refused, said) = code(&["report", "--slowest", "--exit-code"], &runs[0]);
    assert!(refused == Some(125) && said.contains("--exit-code"), "{said}");
}

/// A run of PyTorch without a problem: its libraries handle failures, and destructors call CUDA after its end. It was
/// made without a filter of cutap that it names.
#[test]
fn failures_that_are_handled() {
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/training.cutap");
    let done = cutap(&["report", "--errors", "--exit-code", "--json"]).arg(&run).output().unwrap();
    let all = lines(&done);
    assert_eq!((done.status.code(), all.len()), (Some(0), 3), "{done:?}");
    assert!(all.iter().all(|line| line["handled"] == true), "{all:?}");
    let text = out(&cutap(&["report", "--errors"]).arg(&run).output().unwrap());
    assert!(
        text.contains("\nhandled by the caller, or at the end of the process:\n       16  cuCtxGetDevice_v2"),
        "{text}"
    );
    let explained = out(&cutap(&["explain"]).arg(&run).output().unwrap());
    assert!(!explained.contains("a filter (-e)") && !explained.contains("calls failed"), "{explained}");
}

/// Rows of calls, and which call another one was made from.
#[test]
fn comma_separated_calls() {
    let folder = Folder::new("csv-calls");
    let runs = ranks(&folder, &[0, 1]);
    let csv = out(&done(&["show", "--csv"], &runs));
    let header = csv.lines().next().unwrap();
    assert!(header.starts_with("run,rank,id,parent,pid,tid,depth,layer,library,runtime,name,"), "{header}");
    assert_eq!(csv.lines().count(), 25);
    assert!(csv.lines().skip(1).all(|line| line.starts_with("run.0.cutap,0,") || line.starts_with("run.1.cutap,1,")));
    assert!(csv.contains(",\"device=&0, ordinal=0\"\n"), "{csv}");
    let counted = out(&done(&["show", "--csv", "-c"], &runs));
    assert!(counted.starts_with("layer,library,runtime,name,calls,"), "{counted}");
    let counted = out(&done(&["show", "--csv", "-C"], &runs));
    assert!(counted.starts_with("layer,library,runtime,name,calls\n"), "{counted}");
}
