//! `cutap explain`: each rule finds its problem, and nothing else. The programs run on the simulated driver.

mod support;

use support::programs::problems;
use support::{Folder, cutap, out, record, text};

const RULES: &[&str] = &[
    "device_waits",
    "ignored_error",
    "sync_in_loop",
    "pageable_copies",
    "small_copies",
    "synchronous_copies",
    "allocation_churn",
    "recreated_objects",
    "instantiated_again",
    "idle_waits",
    "registered_again",
];

/// Rules whose tests are `a_call_that_never_ended_has_the_time_until_the_end`, and in `report/tests/it/explain.rs` and
/// `tests/e2e/tests/gpu_time.rs`.
const OTHER_RULES: &[&str] =
    &["unfinished_calls", "module_loading", "small_kernels", "launch_bound", "idle_after_wait"];

/// Each rule finds its problem where it is, and only there.
#[test]
fn explain_finds_each_problem_and_no_other() {
    let folder = Folder::new("explain");
    let Some(program) = problems(&folder) else { return };
    for rule in RULES.iter().copied() {
        for (mode, expected) in [(rule.to_owned(), vec![rule]), (format!("{rule}_ok"), vec![])] {
            let file = record(&folder, &program, &mode);
            // Some of the programs spend hardly any time.
            let lines = text(&["explain", "--all", "--json"], &file);
            let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            let found: Vec<_> = lines.filter(|line| line["type"] == "finding").collect();
            let names: Vec<&str> = found.iter().map(|line| line["rule"].as_str().unwrap()).collect();
            assert_eq!(names, expected, "{mode}: {found:#?}");
            let words = text(&["explain", "--all"], &file);
            assert!(words.starts_with("where the time went, "), "{words}");
            assert!(words.split("\n\n").next().unwrap().lines().count() <= 6, "{words}");
            assert_eq!(words.contains("\n\n1. "), !expected.is_empty(), "{words}");
            let none = format!("no problem found by {} rules in ", RULES.len() + OTHER_RULES.len());
            assert_eq!(words.contains(&none), expected.is_empty(), "{words}");
        }
    }
}

/// A program that a signal ends in a wait: the wait lasts until then, in each report.
#[test]
fn a_call_that_never_ended_has_the_time_until_the_end() {
    let folder = Folder::new("hangs");
    let Some(program) = problems(&folder) else { return };
    let file = folder.join("hangs.cutap");
    let done = cutap(&["record", "--sim", "-o"]).arg(&file).arg(&program).arg("unfinished_calls").output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(14), "{done:?}");
    let slowest = text(&["report", "--slowest", "--top", "1"], &file);
    let row = slowest.lines().nth(1).unwrap();
    assert!(row.contains("cuStreamSynchronize(") && row.ends_with(" did not return"), "{slowest}");
    assert_eq!(slowest.lines().filter(|line| line.contains('(')).count(), 1, "{slowest}");
    for report in [&["--by", "function"][..], &["--by", "process"], &["--by", "stream"], &["--tree"], &["--blocking"]] {
        let json = text(&[&["report", "--json"], report].concat(), &file);
        let first = serde_json::from_str::<serde_json::Value>(json.lines().next().unwrap()).unwrap();
        let (ns, share) = (first["total_ns"].as_u64().unwrap(), first["share"].as_f64().unwrap());
        assert!(first["unfinished"] == 1 && ns > 900_000_000 && share > 0.9, "{report:?}: {first}");
        let words = text(&[&["report"], report].concat(), &file);
        assert!(words.contains("        1 of them did not return: "), "{words}");
    }
    let explained = text(&["explain"], &file);
    let first = explained.lines().find(|line| line.starts_with("1. ")).unwrap();
    assert!(first.starts_with("1. A call that never returned: cuStreamSynchronize, "), "{explained}");
    assert!(
        explained.contains("% ") && explained.contains("  waiting for the device    mostly cuStream"),
        "{explained}"
    );
    assert!(explained.contains("256 KiB of memory were not freed"), "beside findings too: {explained}");
    let calls = text(&["show", "--json"], &file);
    let call = calls.lines().find(|line| line.contains("\"state\":\"unfinished\"")).unwrap();
    let call = serde_json::from_str::<serde_json::Value>(call).unwrap();
    assert!(call["open_ns"].as_u64().unwrap() > 900_000_000 && call["duration_ns"].is_null(), "{call}");
}

/// While it waits, its status says in which call, and its number stands for what it has recorded.
#[test]
fn a_waiting_thread_says_in_which_call() {
    let folder = Folder::new("waits");
    let Some(program) = problems(&folder) else { return };
    for (how, name) in [("record", "waits.cutap"), ("trace", "waits.txt")] {
        let mut start = cutap(&[how, "--sim", "-o"]);
        let mut running = start.arg(folder.join(name)).arg(&program).args(["unfinished_calls", "60"]).spawn().unwrap();
        let own = program.to_str().unwrap();
        let pid = || {
            let found = support::processes(own).into_iter();
            found.map(|pid| pid.to_string()).find(|pid| support::command_line(pid.parse().unwrap()).starts_with(own))
        };
        support::until("the program runs", || pid().is_some());
        let pid = pid().unwrap();
        let status = || out(&cutap(&["ctl", &pid, "status"]).output().unwrap());
        support::until("it waits", || status().contains(": in cuStreamSynchronize for "));
        let said = status();
        let threads = said.lines().skip_while(|line| !line.starts_with("process: ")).skip(1);
        assert_eq!(threads.filter(|line| line.starts_with("  thread ")).count(), 1, "{said}");
        support::until("its calls are shown", || {
            let shown = cutap(&["show", &pid, "-e", "cuStreamSynchronize"]).output().unwrap();
            out(&shown).contains("cuStreamSynchronize(")
        });
        let all = out(&cutap(&["show", &pid, "-a"]).output().unwrap());
        assert!(how == "trace" || all.starts_with("cuInit("), "a recording has what its run has not any more: {all}");
        support::kill(pid.parse().unwrap(), libc::SIGTERM);
        running.wait().unwrap();
    }
}

/// What is no finding is counted below "no problem found", with the reports that list it.
#[test]
fn explain_counts_failures_and_memory() {
    let folder = Folder::new("counted");
    let Some(program) = problems(&folder) else { return };
    let file = record(&folder, &program, "ignored_error_ok");
    let name = file.display();
    let words = text(&["explain"], &file);
    assert!(words.contains(&format!("\n  1 call failed: cutap report --errors {name}\n")), "{words}");
    assert!(words.contains(&format!("\n  128 KiB of memory were not freed: cutap report --leaks {name}\n")), "{words}");
    let leaks = text(&["report", "--leaks"], &file);
    assert!(leaks.contains("1 piece of host memory, 128 KiB") && leaks.ends_with(NO_STACK), "{leaks}");
    // The filter chooses findings, and sums of all calls would say something else.
    let words = text(&["explain", "-e", "!cuInit"], &file);
    assert!(words.contains("no problem found") && !words.contains("1 call failed"), "{words}");
    let words = text(&["explain"], &record(&folder, &program, "synchronous_copies_ok"));
    assert!(words.contains("no problem found") && !words.contains(" failed"), "{words}");
}

/// The last line of `report --leaks` for a run without stacks.
const NO_STACK: &str = "\nrecord --stack also shows where the program makes these calls\n";

/// Synchronous fills take time as copies do.
#[test]
fn explain_finds_fills() {
    let folder = Folder::new("fills");
    let Some(program) = problems(&folder) else { return };
    let file = record(&folder, &program, "synchronous_fills");
    let words = text(&["explain"], &file);
    assert!(words.contains("\n1. Synchronous fills: cuMemsetD8_v2") && words.contains("20 calls"), "{words}");
}
