//! `cutap view`: the file is one page without requests, its data are those of the reports, and no name in it is more
//! than text.

#[path = "view/page.rs"]
mod page;

use cutap_e2e::{Finished, Scratch, cutap, finish, json_lines, out, scratch};
use page::Page;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn run(words: &[&str], paths: &[&Path]) -> Finished {
    finish(Command::new(cutap()).args(words).args(paths))
}

/// Records a program on the simulated driver.
fn recorded(folder: &Scratch, name: &str, flags: &[&str], program: &Path) -> PathBuf {
    let file = folder.join(format!("{name}.cutap"));
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim"]).args(flags).arg("-o").arg(&file).arg(program);
    let done = finish(record.env("LD_LIBRARY_PATH", out()));
    assert!(done.status.success(), "{done:?}");
    file
}

/// The page of runs, and how the command ended.
fn view(folder: &Scratch, flags: &[&str], runs: &[&Path]) -> (Page, Finished) {
    let file = folder.join("view.html");
    let mut view = Command::new(cutap());
    let done = finish(view.args(["view", "--no-open", "-o"]).arg(&file).args(flags).args(runs));
    (Page::read(&file), done)
}

/// Lines of a report, without that of the end.
fn report(flags: &[&str], runs: &[&Path]) -> Vec<Value> {
    let done = run(&[&["report", "--json"], flags].concat(), runs);
    json_lines(&done.stdout).filter(|line| line["type"] != "end").collect()
}

#[test]
fn numbers_are_those_of_the_reports() {
    let folder = scratch("view-numbers");
    let file = recorded(&folder, "run", &["--gpu-time"], &out().join("gpu_work"));
    let (page, done) = view(&folder, &[], &[&file]);
    assert!(done.status.success() && done.stderr.contains("; open it in a browser"), "{done:?}");
    page.check_policy();
    assert!(page.bytes < 500 << 10, "{} bytes for 1600 launches", page.bytes);
    let tables = page.json("tables");
    for (noun, flags) in [
        ("functions", &["--by", "function"][..]),
        ("layers", &["--by", "layer"]),
        ("libraries", &["--by", "library"]),
        ("gpu_kernels", &["--by", "kernel"]),
        ("streams", &["--by", "stream"]),
        ("threads", &["--by", "thread"]),
        ("copies", &["--copies"]),
        ("graphs", &["--graphs"]),
        ("gaps", &["--gaps"]),
        ("waits", &["--blocking"]),
        ("allocations", &["--allocations"]),
    ] {
        let lines = report(flags, &[&file]);
        assert!(!lines.is_empty(), "{noun}");
        assert_eq!(tables[noun], Value::from(lines), "{noun}");
    }
    let explained = run(&["explain", "--json", "--all"], &[&file]);
    assert_eq!(tables["findings"], Value::from(json_lines(&explained.stdout).collect::<Vec<_>>()));
    check_boxes(&page, &tables);
    let boxes = page.boxes();
    // Each kernel has an arrow from its launch; the nodes of a graph have one from its first launch.
    let callers = boxes.iter().filter(|of| of.layer == "gpu").filter_map(|of| Some((of, &boxes[of.caller?])));
    let kernels = callers.filter(|(of, caller)| of.text == "first" && caller.text == "cuLaunchKernel");
    assert_eq!(kernels.count(), 1600);
}

/// The boxes of calls add up to the table of functions, and the texts belong to them.
fn check_boxes(page: &Page, tables: &Value) {
    let mut sums: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    let boxes = page.boxes();
    for of in boxes.iter().filter(|of| !matches!(&*of.layer, "gpu" | "nvtx")) {
        let sum = sums.entry((of.text.clone(), of.library.clone())).or_default();
        *sum = (sum.0 + 1, sum.1 + of.took_ns);
    }
    let mut expected: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for row in tables["functions"].as_array().unwrap() {
        let name = |key: &str| row[key].as_str().unwrap().to_owned();
        let sum = expected.entry((name("name"), name("library"))).or_default();
        *sum = (sum.0 + row["calls"].as_u64().unwrap(), sum.1 + row["total_ns"].as_u64().unwrap());
    }
    assert_eq!(sums, expected);
    let details = page.json("details");
    let calls = details["calls"].as_array().unwrap();
    assert_eq!(calls.len(), boxes.len());
    let launch = boxes.iter().position(|of| of.text == "cuLaunchKernel");
    if let Some(n) = launch {
        assert_eq!((&calls[n][1], &calls[n][2]), (&"CUDA_SUCCESS".into(), &"first".into()));
        assert!(calls[n][0].as_str().unwrap().starts_with("f=function#"), "{}", calls[n]);
    }
}

#[test]
fn parts_and_ranks() {
    let folder = scratch("view-parts");
    let program = out().join("gpu_work");
    let one = recorded(&folder, "run.0", &[], &program);
    let two = recorded(&folder, "run.1", &[], &program);
    let flags = ["-e", "cuMem*", "--to", "1h"];
    let (page, done) = view(&folder, &flags, &[&one, &two]);
    assert!(done.status.success(), "{done:?}");
    let tables = page.json("tables");
    assert_eq!(tables["functions"], Value::from(report(&flags, &[&one, &two])));
    assert_eq!(tables["ranks"].as_array().map(Vec::len), Some(2));
    assert_eq!(tables["run"]["filter"], "cuMem*");
    // Rules and memory follow all calls.
    assert_eq!(tables["allocations"], Value::from(report(&["--allocations"], &[&one, &two])));
    check_boxes(&page, &tables);
    // A condition on the end of calls: their nesting is that of time.
    let (page, _) = view(&folder, &["-e", ">=1ns"], &[&one]);
    let all = page.boxes();
    assert!(all.len() > 1600, "{}", all.len());
}

/// The sums of a window in the timeline are those of a report of that time. The page computes them from the boxes:
/// what overlaps the window counts whole.
#[test]
fn windows_are_those_of_the_reports() {
    let folder = scratch("view-windows");
    let file = recorded(&folder, "run", &[], &out().join("gpu_work"));
    let (page, _) = view(&folder, &[], &[&file]);
    let boxes = page.boxes();
    let length = page.json("tables")["timeline"]["length_ns"].as_u64().expect("a number");
    let first = boxes.iter().map(|of| of.start_ns).min().expect("a box");
    let mut random = fastrand::Rng::with_seed(46);
    // At each zoom level: windows of half of the time, of a quarter, and so on.
    for level in 0..12 {
        let size = ((length - first) >> level).max(1000);
        let from = first + random.u64(..(length - first).max(1));
        let to = from + size;
        let mut sums: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        let overlaps = |of: &&page::TimeBox| of.start_ns < to && of.start_ns + of.took_ns >= from;
        for of in boxes.iter().filter(|of| !matches!(&*of.layer, "gpu" | "nvtx")).filter(overlaps) {
            let sum = sums.entry((of.text.clone(), of.library.clone())).or_default();
            *sum = (sum.0 + 1, sum.1 + of.took_ns);
        }
        let (from, to) = (format!("{from}ns"), format!("{to}ns"));
        let mut expected: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        for row in report(&["--by", "function", "--from", &from, "--to", &to], &[&file]) {
            let text = |key: &str| row[key].as_str().expect("text").to_owned();
            let number = |key: &str| row[key].as_u64().expect("a number");
            expected.insert((text("name"), text("library")), (number("calls"), number("total_ns")));
        }
        assert_eq!(sums, expected, "--from {from} --to {to}");
    }
}

/// `diff --html`: the table has the lines of `diff --json`, and the paths of both runs add up to their functions.
#[test]
fn differences_of_two_runs() {
    let folder = scratch("view-difference");
    let one = recorded(&folder, "one", &[], &out().join("gpu_work"));
    let two = recorded(&folder, "two", &["-e", "cuMem*,cuGraph*"], &out().join("gpu_work"));
    let file = folder.join("diff.html");
    let diff = |words: &[&str], runs: [&Path; 2]| finish(Command::new(cutap()).arg("diff").args(words).args(runs));
    let html = ["--html", file.to_str().expect("text")];
    let done = diff(&html, [&one, &two]);
    // The second run lacks calls, so nothing is proved; the page is there all the same.
    assert!(done.status.code() == Some(125) && done.stdout.is_empty(), "{done:?}");
    assert!(done.stderr.contains("the differences are in "), "{done:?}");
    let page = Page::read(&file);
    page.check_policy();
    let difference = &page.json("tables")["difference"];
    let lines: Vec<Value> = json_lines(&diff(&["--times", "--json"], [&one, &two]).stdout).collect();
    assert!(!lines.is_empty());
    assert_eq!(difference["rows"], Value::from(lines));
    let paths = &difference["paths"];
    for (side, run) in [(1, &one), (2, &two)] {
        let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
        for path in paths["paths"].as_array().expect("a list") {
            let label = path[0].as_array().and_then(|way| way.last()?.as_u64()).expect("a label") as usize;
            let name = paths["labels"][label][0].as_str().expect("a name");
            *calls.entry(name).or_default() += path[side][0].as_u64().expect("a number");
        }
        calls.retain(|_, calls| *calls > 0);
        let rows = report(&["--by", "function"], &[run]);
        let expected: BTreeMap<&str, u64> =
            rows.iter().map(|row| (row["name"].as_str().expect("text"), row["calls"].as_u64().expect("one"))).collect();
        assert_eq!(calls, expected, "{}", run.display());
    }
    assert_eq!(diff(&html, [&one, &one]).status.code(), Some(0));
    let refused = diff(&["--html", one.to_str().expect("text")], [&one, &two]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(refused.stderr.contains("is what is to be drawn"), "{refused:?}");
}

/// A file name, words and a thread that look like HTML, move text, or never end.
#[test]
fn hostile_names_are_text() {
    let folder = scratch("view-hostile");
    let name = "<img src=x onerror=alert(1)>\u{202e}<!--<script>";
    let program = folder.join(name);
    std::fs::copy(out().join("gpu_work"), &program).unwrap();
    let file = folder.join("<title><script>alert(2)<!--.cutap");
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "-o"]).arg(&file).arg(&program).arg("</script><b>").arg("x".repeat(10_000));
    let recorded = finish(record.env("LD_LIBRARY_PATH", out()));
    assert!(file.exists(), "{recorded:?}");
    let (page, done) = view(&folder, &[], &[&file]);
    assert!(done.status.success(), "{done:?}");
    page.check_policy();
    // The title is all of them that stands outside of the data.
    let title = page.between("<title>", "</title>");
    assert!(title.contains("&lt;title&gt;&lt;script&gt;alert(2)&lt;!--.cutap"), "{title}");
    assert_eq!(page.html.matches("alert(").count(), 1, "in the title");
    assert_eq!(page.html.matches("<!--").count(), 0);
    let words = page.json("tables")["run"]["processes"][0]["arguments"].clone();
    assert_eq!(words[1], "</script><b>");
}

#[test]
fn without_calls_damaged_and_refused() {
    let folder = scratch("view-corners");
    let none = recorded(&folder, "none", &[], Path::new("/bin/true"));
    let (page, done) = view(&folder, &[], &[&none]);
    assert!(done.status.success(), "{done:?}");
    let tables = page.json("tables");
    assert_eq!((page.boxes().len(), &tables["functions"]), (0, &Value::Null), "no list of nothing");
    assert!(!tables["run"]["notes"].as_array().unwrap().is_empty(), "it says why there is no call");

    let whole = recorded(&folder, "whole", &[], &out().join("gpu_work"));
    let cut = folder.join("cut.cutap");
    let bytes = std::fs::read(&whole).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let damaged = folder.join("damaged.cutap");
    std::fs::copy(&whole, &damaged).unwrap();
    let file = std::fs::File::options().write(true).open(&damaged).unwrap();
    file.write_all_at(&[0xa5; 64], bytes.len() as u64 / 2).unwrap();
    for file in [cut, damaged] {
        let (page, done) = view(&folder, &[], &[&file]);
        assert_eq!(done.status.code(), Some(125), "{done:?}");
        assert!(done.stderr.contains("is damaged") || done.stderr.contains("is cut off"), "{done:?}");
        page.check_policy();
        page.boxes();
        let run = &page.json("tables")["run"];
        assert_eq!(run["runs"][0], file.display().to_string());
        let sentence = run["damage"][0].as_str().unwrap();
        assert!(done.stderr.contains(sentence), "{sentence}");
    }
    let refused = run(&["view", "--no-open", "-o"], &[&whole, &whole]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(refused.stderr.contains("is what is to be drawn"), "{refused:?}");
    assert_eq!(std::fs::read(&whole).unwrap(), bytes);
}
