//! The last lines of a trace.

use crate::support::program::{events, json, program, simple};
use cutap_report::end_lines;
use cutap_trace::synthetic::Run;
use cutap_trace::{Cut, End, MissingRecords, RecordingCoverage, RunProcesses, Why};
use cutap_wire::{diagnostic, names};

#[test]
fn complete_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    run.process(1, "/bin/prog").driver(&["cuInit"]);
    assert_eq!(end_lines(&events(folder.path(), "").1), [""; 0]);
}

/// A long list is cut. Equal names of forked children are one.
#[test]
fn long_lists() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    for pid in [1, 2] {
        let mut process = run.process(pid, "/bin/prog");
        for n in 0..23 {
            process.name(names::kind::GAP, diagnostic::LATE_OBJECT as u64, 0, 0, &format!("lib{n:02}.so"), "dlmopen");
        }
        process.count(diagnostic::LATE_OBJECT, 23);
        process.count(diagnostic::RECORD_DROPPED, 4);
        process.thread(pid, 1).enter(77, &[]);
    }
    let lines = end_lines(&events(folder.path(), "").1);
    assert_eq!(lines[0], "8 events dropped: no room in the run directory");
    assert_eq!(lines[1], "46 libraries opened while running: calls from their constructors were not seen");
    assert_eq!(lines[2], "  lib00.so (dlmopen)");
    assert_eq!(
        lines[21..24],
        ["  lib19.so (dlmopen)", "  and 3 more", "2 functions without a name: their name records were not found"]
    );
    assert_eq!(lines[24], "process 1 (/bin/prog) is still running");
}

/// A runtime of a parent and its forked child is named once.
#[test]
fn runtime_of_forked_child() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let parent = program(&run, 1);
    let mut child = run.fork(&parent, 2);
    child.runtime(2, "saxpy", 12090, 10, &["cudaMalloc"]);
    let end = events(folder.path(), "").1;
    assert_eq!(end.processes.instances.len(), 2);
    let lines = end_lines(&end);
    assert_eq!(lines[0], "runtimes seen: 12.9 in saxpy (linked in)");
    assert!(lines[1].starts_with("not seen in saxpy: __cudaRegister*"), "{lines:?}");
    assert!(lines[1].contains("before it is initialised (often cudaRuntimeGetVersion"), "{lines:?}");
    let last = json(folder.path(), "").pop().unwrap();
    assert_eq!(last["without_register_calls"], serde_json::json!(["saxpy"]));
}

/// Only the first of many runtimes are named.
#[test]
fn many_runtimes() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = program(&run, 1);
    for n in 0..5 {
        process.runtime(2 + n, &format!("lib{n}.so"), 12090, 10, &["cudaMalloc"]);
    }
    let lines = end_lines(&events(folder.path(), "").1);
    assert!(lines[0].contains("12.9 in lib4.so"), "{lines:?}");
    assert!(
        lines[1].starts_with("not seen in lib0.so, lib1.so, lib2.so and 2 more (--json lists all): __cuda"),
        "{lines:?}"
    );
    let last = json(folder.path(), "").pop().unwrap();
    assert_eq!(last["without_register_calls"].as_array().map(Vec::len), Some(5));
}

#[test]
fn module_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(1, "/bin/prog");
    for (kind, file) in [(1, "a.cubin"), (2, "b.fatbin"), (3, "c.ptx"), (9, "d")] {
        process.name(names::kind::MODULE, 100, kind, 0, file, "");
    }
    process.driver(&["cuInit"]);
    process.thread(1, 1).call(0, &[], 10, 0);
    let lines = json(folder.path(), "");
    let kinds: Vec<_> = lines.iter().filter(|l| l["type"] == "module").map(|l| l["kind"].clone()).collect();
    assert_eq!(kinds, [serde_json::json!("cubin"), "fatbin".into(), "ptx".into(), 9.into()]);
}

#[test]
fn filter_without_match() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path());
    let told = |filter: &str| {
        let lines = end_lines(&events(folder.path(), filter).1);
        lines.into_iter().filter(|l| l.contains("the filter")).collect::<Vec<_>>()
    };
    assert_eq!(told(""), [""; 0]);
    assert_eq!(told("driver"), [""; 0]);
    assert_eq!(told("error"), [""; 0]);
    // Only what never ended is left.
    assert_eq!(told("cudaMalloc,!error"), [""; 0]);
    assert_eq!(told(">5s"), [""; 0]);
    let nothing = "nothing matched the filter cuInit; 9 calls were seen and left out";
    assert_eq!(told("cuInit"), [nothing]);
    assert_eq!(told(">5s,<6s"), ["nothing matched the filter >5s,<6s; 9 calls were seen and left out"]);
    let last = json(folder.path(), "cuInit").pop().unwrap();
    assert_eq!(last["filter"], serde_json::json!({"text": "cuInit", "shown": 0, "filtered_out": 9, "of_run": false}));
    assert!(json(folder.path(), "").pop().unwrap()["filter"].is_null());

    let empty = tempfile::tempdir().unwrap();
    Run::new(empty.path()).process(1, "/bin/prog").driver(&["cuInit"]);
    let lines = end_lines(&events(empty.path(), "cudaMalloc").1);
    assert_eq!(lines, ["nothing matched the filter cudaMalloc: no such call was reached"]);
}

#[test]
fn failed_processes() {
    let folder = tempfile::tempdir().unwrap();
    Run::new(folder.path()).process(1, "/bin/prog").driver(&["cuInit"]);
    let mut page = vec![0u8; cutap_wire::PAGE];
    page[..8].copy_from_slice(&cutap_wire::MAGIC.to_le_bytes());
    page[8..12].copy_from_slice(&cutap_wire::VERSION.to_le_bytes());
    page[std::mem::offset_of!(cutap_wire::control::Control, failed)] = 2;
    std::fs::write(folder.path().join(cutap_wire::control::FILE), page).unwrap();
    let line = "2 processes could not write to the run directory (disk full, file size limit, no free descriptor, another user?): \
                nothing of them was recorded";
    assert_eq!(end_lines(&events(folder.path(), "").1), [line]);
    assert_eq!(json(folder.path(), "").pop().unwrap()["failed"], 2);
}

/// The message about damage includes the missing names.
#[test]
fn names_in_damaged_block() {
    let with = |damaged, why| {
        let cut = Cut { at: 100, why };
        let recording = RecordingCoverage { cut, damaged, completed: None, holes: 0, read_before: 0, unread: None };
        let missing = MissingRecords { nameless: 2, ..MissingRecords::default() };
        end_lines(&End { missing, recording: Some(recording), ..End::default() })
    };
    let line = "2 functions without a name: their name records were not found";
    assert_eq!(with(0, Why::Ended), [line]);
    let missing = MissingRecords { nameless: 2, ..MissingRecords::default() };
    assert_eq!(end_lines(&End { missing, ..End::default() }), [line]);
    assert_eq!((with(1, Why::Ended), with(0, Why::Damaged)), (vec![], vec![]));
}

/// A count of 1 has the singular form of a message.
#[test]
fn count_of_one() {
    use cutap_trace::{Absent, Count, Diagnostics, RunSettings};
    let absent = Absent { path: "/tmp/a.so".into(), changed: true };
    let count = |reason| Count { reason, count: 1 };
    let end = End {
        missing: MissingRecords {
            nameless: 1,
            overwritten: 1,
            chunks_taken: 1,
            chunks_unknown: 1,
            chunks_lost: 1,
            records_cut: 1,
            records_unknown: 1,
            ..MissingRecords::default()
        },
        absent: vec![absent],
        diagnostics: Diagnostics {
            counts: [diagnostic::NO_RING, diagnostic::STACK_NOT_KEPT].map(count).into(),
            ..Diagnostics::default()
        },
        settings: RunSettings { is_lossy: true, ..RunSettings::default() },
        ..End::default()
    };
    assert_eq!(
        end_lines(&end),
        [
            "1 call not recorded: the thread's ring could not be made",
            "1 stack not kept, or only in part: its thread's ring was full (--lossy)",
            "1 file that stacks lead through cannot be read as it was: its frames are addresses",
            "  /tmp/a.so (changed since)",
            "1 function without a name: its name record was not found",
            "1 call older than what the flight recorder kept",
            "1 part of the trace not here: a collector has read it for its own output",
            "1 part of the trace not here: nobody knows whether it was read or written over, as the control page is missing",
            "1 part of the trace lost: written over before it was read, or damaged",
            "1 event cut off: its thread was stopped while writing it",
            "1 record is of a kind that this cutap does not know",
        ]
    );
}

/// No line is written if the page counts no programs, or if another line has the reason.
#[test]
fn run_without_calls() {
    let said = |entered, inner| {
        let mut end = End::default();
        (end.coverage.entered, end.coverage.inner) = (entered, inner);
        end_lines(&end)
    };
    assert_eq!(said(None, 0), [""; 0]);
    let starts = |entered, start: &str| {
        let lines = said(Some(entered), 0);
        assert!(lines.len() == 1 && lines[0].starts_with(start), "{lines:?}");
    };
    starts(0, "cutap was loaded into no program of this run; cutap does not get into a program that is statically");
    starts(1, "no CUDA call was seen: cutap was loaded into 1 program, which is not known");
    starts(9, "no CUDA call was seen: cutap was loaded into 9 programs, none of which is known");
    assert!(
        said(Some(1), 2)
            == ["2 cutaps were started inside this one: calls of what they started went there, and are not here"]
    );
    let processes = RunProcesses { failed: 1, ..RunProcesses::default() };
    for mut end in [End { processes, ..End::default() }, End { rings: 1, ..End::default() }] {
        end.coverage.entered = Some(1);
        assert!(end.without_driver().is_none(), "{end:?}");
    }
}

/// Processes with the driver and without a call: a few are named, but not the parents of processes with calls.
#[test]
fn processes_without_calls() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let at = std::mem::offset_of!(cutap_wire::process::Process, driver) as u64;
    let with_driver = |pid: u32| {
        let process = run.process(pid, &format!("/bin/prog{pid}\x1b"));
        let page = std::fs::File::options().write(true).open(process.path().join("process")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&page, &[1], at).unwrap();
        process
    };
    let parent = with_driver(1);
    let mut child = run.fork(&parent, 2);
    child.driver(&["cuInit"]);
    child.thread(2, 1).end();
    let line = || end_lines(&events(folder.path(), "").1).into_iter().find(|l| l.starts_with("libcuda.so.1"));
    assert_eq!(line(), None);
    with_driver(3);
    assert!(line().is_some_and(|l| l.contains("in prog3\\u{1b} (process 3), and no call was seen there: it made")));
    (4..8).for_each(|pid| drop(with_driver(pid)));
    let many = "in prog3\\u{1b} (process 3), prog4\\u{1b} (process 4), prog5\\u{1b} (process 5) and 2 more, and no";
    let lines = line().unwrap_or_default();
    assert!(lines.contains(many) && lines.contains("they made none"), "{lines}");
}
