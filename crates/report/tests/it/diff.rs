//! `cutap diff`: functions that differ between two runs, with sums of bytes.

use crate::support::calls::{Calls, run, word};
use crate::support::schema;
use cutap_report::{Diff, DiffOptions, Profile, ProfileOptions, Rows};
use cutap_trace::synthetic::Run;
use cutap_trace::{EventReader, ReaderOptions};
use serde_json::Value;
use std::path::Path;

const MIB: u64 = 1 << 20;
const AT: u64 = 0x7000_0000_0000;

fn profile(calls: impl FnOnce(&mut Calls)) -> Profile {
    let mut profile = Profile::default();
    read(run(12090, calls).path(), &mut profile);
    profile
}

fn read(folder: &Path, profile: &mut Profile) {
    let mut reader = EventReader::open(folder, ReaderOptions::default()).unwrap();
    reader.poll(true, &mut |event| profile.event(event)).unwrap();
}

fn text(diff: &Diff) -> String {
    let mut text = Vec::new();
    diff.write_text(["a", "b"], &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The lines on functions.
fn changes(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with(['-', '+', '~', ' '])).skip(1).collect()
}

fn json(diff: &Diff) -> Vec<Value> {
    let mut lines = Vec::new();
    diff.write_json(&mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Allocates, and fills a part of it several times.
fn fills(c: &mut Calls, allocated: u64, times: u64, filled: u64) {
    c.driver("cuMemAlloc_v2", &[0x10, allocated], &[], &[(0x10, &word(AT))]);
    for _ in 0..times {
        c.driver("cuMemsetD8_v2", &[AT, 0, filled], &[], &[]);
    }
}

#[test]
fn sums_of_bytes() {
    let before = profile(|c| {
        fills(c, 20 * MIB, 2, MIB);
        c.driver("cuMemsetD32_v2", &[AT, 0, 1024], &[], &[]);
    });
    let after = profile(|c| fills(c, 80 * MIB, 2, 3 * MIB));
    let diff = Diff::new(&before, &after, DiffOptions::default());
    let text = text(&diff);
    assert_eq!(
        changes(&text),
        [
            "~ cuMemAlloc_v2: bytes 20 MiB -> 80 MiB (+60 MiB)",
            "    - 1 call more in A: (dptr=ptr, bytesize=20971520)",
            "    + 1 call more in B: (dptr=ptr, bytesize=83886080)",
            "- cuMemsetD32_v2: 1 call, 4 KiB, only in A",
            "~ cuMemsetD8_v2: bytes 2 MiB -> 6 MiB (+4 MiB)",
            "    - 2 calls more in A: (dstDevice=device memory of 20971520, 1048576 bytes, uc=0, N=1048576)",
            "    + 2 calls more in B: (dstDevice=device memory of 83886080, 3145728 bytes, uc=0, N=3145728)",
        ],
        "{text}"
    );
    assert!(text.contains("\nin all: calls 4 -> 3 (-1), errors 0, bytes "), "{text}");
    let first = &json(&diff)[0];
    assert_eq!((&first["a"]["bytes"], &first["b"]["bytes"]), (&(20 * MIB).into(), &(80 * MIB).into()));
}

/// Calls of a program whose runtime, in this file, has this version.
fn program(file: &str, version: u64, slot_names: &[&str], results: &[u64]) -> Profile {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, file, version, 10, &[]);
    let mut thread = process.thread(100, 8);
    for (slot, (name, result)) in (20..).zip(slot_names.iter().zip(results)) {
        process.runtime_slot(slot.into(), 2, 1, name);
        thread.call_with(slot, &[7], &[], *result, &[]);
    }
    let mut profile = Profile::default();
    drop((process, thread));
    read(folder.path(), &mut profile);
    profile
}

#[test]
fn runtimes_of_two_programs_are_compared() {
    let a = program("app1", 12090, &["cudaSetDevice"], &[0]);
    let b = program("libcudart.so.13", 13000, &["cudaSetDevice"], &[0]);
    let diff = Diff::new(&a, &b, DiffOptions::default());
    let text = text(&diff);
    assert!(diff.is_empty(), "{text}");
    assert!(text.starts_with("other versions, A -> B: runtime 12.9 (linked in) -> 13.0 ("), "{text}");
    let same = program("app2", 12090, &["cudaSetDevice"], &[0]);
    let same = Diff::new(&a, &same, DiffOptions::default());
    assert!(same.is_empty() && !self::text(&same).contains("versions"), "{}", self::text(&same));
}

#[test]
fn errors_have_names_and_arguments() {
    let none = program("app", 12090, &[], &[]);
    let one = program("app", 12090, &["cudaSetDevice"], &[101]);
    let diff = Diff::new(&none, &one, DiffOptions::default());
    let text = text(&diff);
    assert_eq!(
        changes(&text),
        [
            "+ cudaSetDevice: 1 call, 1 error (cudaErrorInvalidDevice), only in B",
            "    + 1 call: (device=7; cudaErrorInvalidDevice)"
        ],
        "{text}"
    );
    let line = &json(&diff)[0];
    assert_eq!(line["b"]["statuses"]["cudaErrorInvalidDevice"], 1, "{line}");
    assert!(line["a"].is_null() && line["b"]["only"].as_array().unwrap().len() == 1, "{line}");
    schema::check(line);
    let good = program("app", 12090, &["cudaSetDevice"], &[0]);
    let changed = Diff::new(&good, &one, DiffOptions::default());
    let changed = self::text(&changed);
    assert!(changed.contains("~ cudaSetDevice: errors 0 -> 1 (+1 cudaErrorInvalidDevice)\n"), "{changed}");
}

#[test]
fn new_errors_alone() {
    let a = program("app", 12090, &["cudaSetDevice", "cudaFree", "cudaFreeHost"], &[101, 0, 1]);
    let b = program("app", 12090, &["cudaSetDevice", "cudaFree", "cudaFreeHost"], &[101, 1, 0]);
    let options = DiffOptions { new_errors: true, ..DiffOptions::default() };
    let diff = Diff::new(&a, &b, options);
    let (names, text) = (json(&diff), text(&diff));
    assert!(names.len() == 1 && names[0]["name"] == "cudaFree", "{names:?}");
    assert!(text.ends_with("1 function fails more often in B\n"), "{text}");
    assert!(Diff::new(&a, &a, options).is_empty());
}

#[test]
fn sorted_and_cut() {
    let a = profile(|c| fills(c, 20 * MIB, 1, MIB));
    let b = profile(|c| fills(c, 20 * MIB + 1, 5, MIB));
    let first = |sort: &'static str| {
        let rows = Rows { sort: Some(sort), top: Some(1), depth: None };
        let diff = Diff::new(&a, &b, DiffOptions { rows, ..DiffOptions::default() });
        assert!(text(&diff).contains("and 1 function more, which a larger --top lists\n"), "{}", text(&diff));
        json(&diff)[0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!((first("calls"), first("name")), ("cuMemsetD8_v2".to_owned(), "cuMemAlloc_v2".to_owned()));
    assert_eq!(Diff::sort_columns(), ["name", "calls", "errors", "bytes", "time"]);
}

/// Two streams, used in one order or the other.
fn streams(c: &mut Calls, order: [u64; 2]) {
    for stream in [0x7f00_0000_1000_u64, 0x7f00_0000_2000] {
        c.driver("cuStreamCreate", &[0x10, 0], &[], &[(0x10, &word(stream))]);
    }
    c.driver("cuMemsetD8Async", &[AT, order[0], 8, 0x7f00_0000_1000], &[], &[]);
    c.driver("cuMemsetD8Async", &[AT, order[1], 8, 0x7f00_0000_2000], &[], &[]);
}

#[test]
fn handles_by_kind_alone() {
    let (a, b) = (run(12090, |c| streams(c, [1, 2])), run(12090, |c| streams(c, [2, 1])));
    for (ignored, is_empty) in [(false, false), (true, true)] {
        let read = |folder: &Path| {
            let mut profile = Profile::new(ProfileOptions { ignores_handles: ignored, ..ProfileOptions::default() });
            self::read(folder, &mut profile);
            profile
        };
        let (a, b) = (read(a.path()), read(b.path()));
        let diff = Diff::new(&a, &b, DiffOptions::default());
        assert_eq!(diff.is_empty(), is_empty, "{}", text(&diff));
    }
}

/// A call that starts CUDA is never slower; others are, with their mean.
#[test]
fn slower_functions() {
    let timed = |ns: u64| {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(folder.path());
        let mut process = run.process(100, "/bin/prog");
        process.driver(&["cuInit", "cuCtxSynchronize", "cuCtxGetDevice"]);
        let mut thread = process.thread(100, 8);
        thread.call(0, &[0], ns, 0);
        (0..10).for_each(|_| thread.call(1, &[0], ns, 0));
        drop((process, thread));
        let mut profile = Profile::default();
        read(folder.path(), &mut profile);
        profile
    };
    let (a, b) = (timed(2_000_000), timed(9_000_000));
    let options = DiffOptions { times: true, ..DiffOptions::default() };
    let diff = Diff::new(&a, &b, options);
    let slower = text(&diff);
    assert_eq!(changes(&slower), ["~ cuCtxSynchronize: time 20ms -> 90ms (+70ms), mean 2ms -> 9ms"], "{slower}");
    let none = Profile::default();
    let only = text(&Diff::new(&none, &b, options));
    assert!(only.contains("+ cuCtxSynchronize: 10 calls, 90ms, only in B\n"), "{only}");
}
