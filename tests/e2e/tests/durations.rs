//! Filters on durations, and calls that did not return: one and the same answer by every way of asking.

use cutap_e2e::{cutap, finish, out, scratch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// So long takes no call here that returns, and none that does not.
const LONGER: &str = ">30s";
const SHORTER: &str = "<30s";

/// Of each function how many calls there are, and how many of them did not return.
type Calls = BTreeMap<String, (u64, u64)>;

fn lines(text: &str) -> Vec<Value> {
    let parse = |l| serde_json::from_str(l).unwrap_or_else(|e| panic!("not JSON ({e}): {l}"));
    text.lines().filter(|l| l.starts_with('{')).map(parse).collect()
}

fn traced(flags: &[&str], name: &str) -> String {
    let mut command = Command::new(cutap());
    command.arg("trace").args(flags).arg("--").arg(out().join(name)).env("LD_LIBRARY_PATH", out());
    finish(&mut command).stderr
}

fn record(file: &Path, name: &str) {
    let mut command = Command::new(cutap());
    command.arg("record").arg("-o").arg(file).arg("--").arg(out().join(name)).env("LD_LIBRARY_PATH", out());
    finish(&mut command);
}

fn asked(words: &[&str], file: &Path) -> String {
    let done = finish(Command::new(cutap()).args(words).arg(file));
    assert!(done.status.success(), "{words:?}: {}", done.stderr);
    done.everything()
}

/// What single calls come to; one that returned after all is the one that was given up.
fn of_calls(text: &str) -> Calls {
    let mut calls = Calls::new();
    for call in lines(text).iter().filter(|l| l["type"] == "call") {
        let (sums, returned) =
            (calls.entry(call["name"].as_str().unwrap().into()).or_default(), call["state"] == "done");
        assert_eq!(call["duration_ns"].is_u64(), returned, "{call}");
        let late = call["returned_late"] == true;
        sums.0 += u64::from(!late);
        sums.1 = sums.1 + u64::from(!returned) - u64::from(late);
    }
    calls
}

/// The same of lines for each function.
fn of_sums(text: &str) -> Calls {
    let sums = lines(text);
    let sums = sums.iter().filter(|l| l["type"] == "summary" || l["type"] == "report");
    let number = |line: &Value, of: &str| line[of].as_u64().unwrap();
    sums.map(|l| (l["name"].as_str().unwrap().into(), (number(l, "calls"), number(l, "unfinished")))).collect()
}

/// The same of a Chrome export: an open slice, or one with a state, did not return.
fn of_export(file: &Path) -> Calls {
    let events: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut calls = Calls::new();
    for event in events.iter().filter(|e| e["ph"] != "M") {
        let sums = calls.entry(event["name"].as_str().unwrap().into()).or_default();
        sums.0 += 1;
        sums.1 += u64::from(event["args"]["cutap.state"].is_string());
    }
    calls
}

/// What the filter lets through: said alike by a trace, live and as a summary, and by all that read a recording.
fn let_through(name: &str, filter: &str) -> Calls {
    let folder = scratch("durations");
    let (file, chrome) = (folder.join("run.cutap"), folder.join("run.json"));
    record(&file, name);
    let show = asked(&["show", "--json", "-e", filter], &file);
    let calls = of_calls(&show);
    let all: u64 = calls.values().map(|c| c.0).sum();
    for text in [&show, &asked(&["report", "--json", "-e", filter], &file)] {
        let end = lines(text).pop().unwrap();
        assert_eq!(end["filter"]["shown"], all, "{name} {filter}: {text}");
    }
    let is = |way: &str, other: Calls| assert_eq!(calls, other, "{name} {filter}: show, {way}");
    is("show -c", of_sums(&asked(&["show", "-c", "--json", "-e", filter], &file)));
    is("report", of_sums(&asked(&["report", "--json", "-e", filter], &file)));
    is("trace", of_calls(&traced(&["--json", "-e", filter], name)));
    is("trace -c", of_sums(&traced(&["-c", "--json", "-e", filter], name)));
    let chrome_words = ["export", "--chrome", chrome.to_str().unwrap(), "-e", filter];
    asked(&chrome_words, &file);
    // What returned after all has two slices there.
    if !show.contains("\"returned_late\":true") {
        is("export", of_export(&chrome));
    }
    calls
}

fn calls<const N: usize>(of: [(&str, u64, u64); N]) -> Calls {
    of.map(|(name, calls, left)| (name.to_owned(), (calls, left))).into()
}

/// A call that never ended: nobody who looks for what took long misses it, and nobody who looks for what was short
/// finds it.
#[test]
fn a_call_that_never_ended_is_longer_than_any() {
    assert_eq!(let_through("hangs", LONGER), calls([("cuStreamSynchronize", 1, 1)]));
    assert_eq!(let_through("hangs", SHORTER), calls([("cuInit", 1, 0), ("cuLaunchHostFunc", 1, 0)]));
    assert_eq!(let_through("end_kill", LONGER), calls([("cuFixtureDie", 1, 1)]));
    assert_eq!(let_through("end_kill", "!>30s"), calls([("cuInit", 1, 0)]));
    assert_eq!(let_through("thread_left", LONGER), calls([("cuFixtureCall", 1, 1), ("cuFixtureSleep", 1, 1)]));
}

#[test]
fn in_text_it_is_a_line() {
    let text = traced(&["-e", LONGER], "hangs");
    assert!(text.lines().any(|l| l.starts_with("cuStreamSynchronize(") && l.ends_with(") = ? <unfinished>")), "{text}");
    assert!(!text.contains("nothing matched"), "{text}");
    let text = traced(&["-e", SHORTER], "hangs");
    assert!(!text.contains("cuStreamSynchronize") && text.contains("cuInit("), "{text}");
}

/// longjmp tells nobody when it left a call; an exception, pthread_exit and cancellation do.
#[test]
fn a_call_that_was_left() {
    assert_eq!(let_through("longjmp", LONGER), calls([("cuFixtureCall", 3, 3)]));
    let returned = [("cuInit", 2, 0), ("cuMemAlloc_v2", 2, 0), ("cuMemFree_v2", 1, 0)];
    assert_eq!(let_through("longjmp", SHORTER), calls(returned));
    assert_eq!(let_through("exception", LONGER), calls([]));
    assert_eq!(let_through("exception", SHORTER)["cuFixtureCall"], (5, 4));
    // It sleeps for a fifth of a second before it is cancelled.
    let left = calls([("cuFixtureCall", 1, 1), ("cuFixtureSleep", 1, 1)]);
    assert_eq!(let_through("pthread_cancel", ">100ms,<30s"), left);
}

/// A call that was taken for left and returned after all is counted once, and is not left in the end.
#[test]
fn a_call_that_returned_after_all() {
    for (filter, all) in [(SHORTER, 1000), (LONGER, 500)] {
        assert_eq!(let_through("fibres", filter)["cuFixtureCall"], (all, 0), "{filter}");
    }
}

/// What blocked and did not return has the time until the end of the run, and that is said. The program hangs for a
/// second.
#[test]
fn a_wait_that_did_not_end() {
    let folder = scratch("hangs");
    let file = folder.join("run.cutap");
    record(&file, "hangs");
    let text = asked(&["report", "--blocking"], &file);
    let said: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    // A header before, the sentences about host times and about the end of the program after.
    assert_eq!(said.len(), 5, "{text}");
    let said = &said[1..3];
    assert_eq!((said[0][0], said[0][4]), ("1", "cuStreamSynchronize:"), "{text}");
    assert_eq!(said[1][..6], ["1", "of", "them", "did", "not", "return:"], "{text}");
    let json = lines(&asked(&["report", "--blocking", "--json"], &file));
    assert_eq!((&json[0]["calls"], &json[0]["unfinished"]), (&1.into(), &1.into()));
    assert!(json[0]["total_ns"].as_u64().unwrap() > 500_000_000, "{text}");
}
