//! Programs that forbid system calls to themselves. They end as without cutap, and what cutap cannot record is counted.

use cutap_e2e::{Finished, cutap, finish, json_lines, out, scratch};
use cutap_wire::diagnostic::{CALL_DROPPED, NO_RING, SANDBOXED};
use serde_json::Value;
use std::process::Command;

fn plain(words: &[&str]) -> Finished {
    finish(Command::new(out().join(words[0])).args(&words[1..]).env("LD_LIBRARY_PATH", out()))
}

/// The program recorded, and all lines of `cutap show -c --json`.
fn recorded(words: &[&str]) -> (Finished, Vec<Value>) {
    let folder = scratch("sandbox");
    let file = folder.join("run.cutap");
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "-o"]).arg(&file).arg("--").arg(out().join(words[0])).args(&words[1..]);
    let done = finish(record.env("LD_LIBRARY_PATH", out()));
    let show = finish(Command::new(cutap()).args(["show", "-c", "--json"]).arg(&file));
    (done, json_lines(&show.stdout).collect())
}

fn calls(lines: &[Value]) -> u64 {
    lines.iter().filter(|l| l["type"] == "summary").map(|l| l["calls"].as_u64().unwrap()).sum()
}

fn end(lines: &[Value]) -> &Value {
    lines.iter().find(|l| l["type"] == "end").unwrap()
}

fn counted(lines: &[Value], reasons: &[usize]) -> u64 {
    let counts = end(lines)["counts"].as_array().unwrap().iter();
    counts.filter(|c| reasons.iter().any(|r| c["reason"] == *r)).map(|c| c["count"].as_u64().unwrap()).sum()
}

/// A filter for each system call that cutap makes, one for all others, and one that permits nothing.
#[test]
fn no_filter_ends_a_program_that_it_would_not_end_without_cutap() {
    for name in ["filters", "filters_that_lie"] {
        let (plain, (done, _)) = (plain(&[name]), recorded(&[name]));
        assert!(plain.stdout.ends_with("ok\n"), "{plain:?}");
        assert_eq!((plain.stdout, plain.status.code()), (done.stdout, done.status.code()), "{name}: {}", done.stderr);
    }
}

#[test]
fn calls_behind_a_filter_are_recorded_or_counted() {
    let (done, lines) = recorded(&["filter_growth"]);
    assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
    let missing = counted(&lines, &[NO_RING, CALL_DROPPED]);
    assert_eq!(calls(&lines) + missing, 52_000, "{missing} missing");
    assert!(calls(&lines) > 6_000, "what was mapped before is used: {}", calls(&lines));
    assert_eq!(counted(&lines, &[SANDBOXED]), 1);
    let gaps = end(&lines)["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|g| g["reason"] == SANDBOXED && g["what"] == "openat"), "{gaps:?}");
}

/// The filter is not seen, and answers in the kernel's place: a file that was not made longer is not touched.
#[test]
fn a_filter_that_only_says_that_a_file_grows() {
    let (done, lines) = recorded(&["filter_growth", "lies"]);
    assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
    let missing = counted(&lines, &[NO_RING, CALL_DROPPED]);
    assert_eq!(calls(&lines) + missing, 52_000, "{missing} missing");
    assert_eq!(counted(&lines, &[SANDBOXED]), 0, "a program may do that without the C library");
}

#[test]
fn a_process_without_a_clock_is_recorded_up_to_there() {
    for words in [&["clock_forbidden"][..], &["clock_forbidden", "strict"]] {
        let (done, lines) = recorded(words);
        assert_eq!((&*done.stdout, done.status.code()), ("ok\n", Some(0)), "{}", done.stderr);
        assert_eq!(calls(&lines), 2000);
        let gaps = end(&lines)["gaps"].as_array().unwrap();
        let clock = |gap: &&Value| gap["what"].as_str().unwrap().contains("time stamp counter");
        assert_eq!(gaps.iter().filter(clock).count(), 1, "{gaps:?}");
    }
}

/// Its parent is recorded whole, also behind them.
#[test]
fn a_child_by_vfork_may_forbid_itself_what_its_parent_needs() {
    let name = "vfork_filters";
    let (plain, (done, lines)) = (plain(&[name]), recorded(&[name]));
    assert!(plain.stdout.ends_with("ok\n"), "{plain:?}");
    assert_eq!((&plain.stdout, plain.status.code()), (&done.stdout, done.status.code()), "{}", done.stderr);
    // Behind the children it calls 10,000 times, and once before them.
    let of_children: u64 = plain.stdout.lines().rev().nth(1).unwrap().parse().unwrap();
    let missing = counted(&lines, &[NO_RING, CALL_DROPPED]);
    assert_eq!(calls(&lines) + missing, of_children + 10_001, "{missing} missing");
    let functions = lines.iter().filter(|l| l["type"] == "summary" && l["name"] == "cuDriverGetVersion");
    assert_eq!(functions.map(|l| l["calls"].as_u64().unwrap()).sum::<u64>(), 10_000);
}
