//! What a new user asks of a recording: what is wrong with it, how it differs from another one, tables in other
//! forms. The programs run on the simulated driver.

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use support::programs::problems;
use support::terminal::Terminal;
use support::{CUTAP, Folder, cutap, err, out, record, refused, text, usage_error};

/// The calls of a part of a run are those that overlap it, whatever reads them.
#[test]
fn a_part_of_the_run() {
    let folder = Folder::new("window");
    let Some(program) = problems(&folder) else { return };
    let file = record(&folder, &program, "small_copies");
    let lines = |args: &[&str]| -> Vec<Value> {
        text(args, &file).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let number = |line: &Value, key: &str| line[key].as_u64().unwrap();
    let all = lines(&["show", "--json", "-a"]);
    let calls: Vec<&Value> = all.iter().filter(|line| line["type"] == "call").collect();
    let first = all.iter().find(|line| line["type"] == "process").map(|line| number(line, "start_ns")).unwrap();
    // From inside a call to the beginning of another.
    let from = number(calls[calls.len() / 4], "start_ns") + 1 - first;
    let to = number(calls[calls.len() / 2], "start_ns") - first;
    let overlaps = |call: &&&Value| {
        let start = number(call, "start_ns") - first;
        start < to && start + call["duration_ns"].as_u64().unwrap_or(u64::MAX / 2) >= from
    };
    let ids = |calls: &[&Value]| calls.iter().map(|call| number(call, "id")).collect::<BTreeSet<_>>();
    let expected: Vec<&Value> = calls.iter().filter(overlaps).copied().collect();
    let (from, to) = (format!("{from}ns"), format!("{to}ns"));
    let window = ["--from", &from, "--to", &to];
    let shown = lines(&[&["show", "--json", "-a"][..], &window].concat());
    let shown: Vec<&Value> = shown.iter().filter(|line| line["type"] == "call").collect();
    assert_eq!(ids(&shown), ids(&expected));
    assert!(shown.len() > 3 && shown.len() < calls.len(), "{} of {}", shown.len(), calls.len());
    let sums = lines(&[&["report", "--json", "--by", "process"][..], &window].concat());
    let summed: u64 = sums.iter().filter(|line| line["by"] == "process").map(|line| number(line, "calls")).sum();
    assert_eq!(summed, expected.len() as u64, "{sums:?}");
    let empty = cutap(&["show", "--from", "2", "--to", "1"]).arg(&file).output().unwrap();
    refused(&empty, 125, &["--from is not before --to"]);
}

/// Reports that follow memory take what is made in the time, and say what is left of it at its end.
#[test]
fn memory_of_a_part_of_the_time() {
    let folder = Folder::new("memory-window");
    let Some(program) = problems(&folder) else { return };
    let file = record(&folder, &program, "allocation_churn");
    let json_lines = |args: &[&str]| -> Vec<Value> {
        text(args, &file).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let lines = json_lines(&["show", "--json", "-a"]);
    let start = |name: &str, n: usize| {
        let call = lines.iter().filter(|line| line["name"] == name).nth(n).expect("a call");
        call["start_ns"].as_u64().unwrap()
    };
    let first = lines.iter().find(|line| line["type"] == "process").unwrap()["start_ns"].as_u64().unwrap();
    let at = |ns: u64| format!("{}ns", ns - first);
    let left = |window: &[&str]| {
        let leaks = json_lines(&[&["report", "--leaks", "--json"][..], window].concat());
        let memory = leaks.iter().filter(|leak| leak["kind"] == "device memory");
        memory.map(|leak| leak["count"].as_u64().unwrap()).sum::<u64>()
    };
    // The first piece is alive to the end of the program, the tenth until it is freed.
    let (made, freed) = (at(start("cuMemAlloc_v2", 9)), at(start("cuMemFree_v2", 9)));
    assert_eq!(left(&[]), 0);
    assert_eq!(left(&["--to", &freed]), 2);
    assert_eq!(left(&["--from", &made, "--to", &freed]), 1);
    assert_eq!(left(&["--from", &freed]), 0);
    let allocations = text(&["report", "--allocations", "--from", &made, "--to", &freed], &file);
    assert!(allocations.contains("device memory: 128 KiB at the peak"), "{allocations}");
}

#[test]
fn rows_of_a_report() {
    let folder = Folder::new("rows");
    let Some(program) = problems(&folder) else { return };
    let file = record(&folder, &program, "small_copies");
    let first = text(&["report", "--sort", "calls", "--top", "1"], &file);
    assert!(first.lines().nth(1).unwrap().starts_with("cuMemcpyHtoD_v2 ") && first.lines().count() == 3, "{first}");
    assert!(first.ends_with("times are host times: a launch returns before its kernel has run\n"), "{first}");
    let under = text(&["report", "--tree", "-e", "under:cuMemAlloc"], &file);
    assert!(under.contains("cuMemAlloc_v2") && !under.contains("cuMemcpyHtoD"), "{under}");
    let csv = text(&["report", "--csv", "--by", "process"], &file);
    assert!(csv.starts_with("by,name,calls,") && csv.contains("(problems)") && csv.lines().count() == 2, "{csv}");
    let leaks = text(&["report", "--leaks"], &file);
    assert!(leaks.starts_with("    count  what was left"), "{leaks}");
    let allocations = text(&["report", "--allocations"], &file);
    assert!(allocations.contains("device memory: cuMemAlloc_v2") && allocations.contains("128 KiB"), "{allocations}");
    let slip = cutap(&["report", "--callers", "cuMemAloc"]).arg(&file).output().unwrap();
    refused(&slip, 125, &["did you mean cuMemAlloc?"]);
    let flags = cutap(&["report", "--errors", "--sort", "p99"]).arg(&file).output().unwrap();
    refused(&flags, 125, &["--errors has no column p99; sort it by calls"]);
    let flags = cutap(&["report", "--undecoded", "--sort", "calls"]).arg(&file).output().unwrap();
    refused(&flags, 125, &["--undecoded is no list; leave --sort out"]);
    let by_start = text(&["report", "--slowest", "--sort", "start", "--top", "3"], &file);
    assert!(by_start.lines().count() > 3, "{by_start}");
    let allocations = text(&["report", "--allocations", "--sort", "count"], &file);
    assert!(allocations.contains("at the peak"), "{allocations}");
    let rows = |words: &[&str]| text(words, &file).lines().filter(|line| line.contains(": ")).count();
    assert!(rows(&["report", "--blocking"]) > rows(&["report", "--blocking", "--top", "1"]));
    let failed = record(&folder, &program, "ignored_error");
    let none = text(&["report", "--errors", "--top", "0"], &failed);
    assert!(none.contains("and 1 more line, which a larger --top lists"), "{none}");
    assert_eq!(text(&["report", "--errors", "--top", "1"], &failed), text(&["report", "--errors"], &failed));
    usage_error(&cutap(&["report", "--sort", "colour"]).arg(&file).output().unwrap(), &["'colour'", "p99"]);
}

/// An export says what it wrote, where, and how to open it; a reader of its text is not disturbed.
#[test]
fn an_export_ends_with_a_line() {
    let folder = Folder::new("export-line");
    let Some(program) = problems(&folder) else { return };
    let file = record(&folder, &program, "ignored_error");
    let calls = out(&cutap(&["show"]).arg(&file).output().unwrap()).lines().filter(|l| l.contains(") = ")).count();
    for (flag, open) in [
        ("--perfetto", "open it at https://ui.perfetto.dev"),
        ("--chrome", "open it in chrome://tracing"),
        ("--json", "one JSON object a line: jq . "),
    ] {
        let target = folder.join("out");
        let done = cutap(&["export", flag]).arg(&target).arg(&file).output().unwrap();
        let line = err(&done).lines().next().unwrap_or_default().to_owned();
        assert!(done.status.success() && out(&done).is_empty(), "{done:?}");
        assert!(line.starts_with(&format!("cutap: {calls} calls are in {} (", target.display())), "{line}");
        assert!(line.contains(open), "{line}");
    }
    let packed = cutap(&["pack"]).arg(&file).output().unwrap();
    assert!(packed.status.success() && err(&packed).contains("ignored_error.cutap is packed: "), "{packed:?}");
    let done = cutap(&["export", "--json", "/dev/stdout"]).arg(&file).output().unwrap();
    assert!(!out(&done).is_empty() && err(&done).is_empty(), "{done:?}");
}

#[test]
fn run_cutap_is_the_default() {
    let folder = Folder::new("default");
    let Some(program) = problems(&folder) else { return };
    let run = |args: &[&str]| cutap(args).current_dir(&folder.0).output().unwrap();
    let done = run(&["record", "--sim", program.to_str().unwrap(), "queries"]);
    assert!(err(&done).ends_with("none failed; next: cutap report\n"), "{done:?}");
    for command in ["show", "report", "explain"] {
        let done = run(&[command]);
        assert!(done.status.success() && !out(&done).is_empty(), "{command}: {done:?}");
    }
}

/// Repeated cheap calls are one line on a terminal, and only there.
#[test]
fn a_terminal_folds() {
    let folder = Folder::new("folds");
    let Some(program) = problems(&folder) else { return };
    let program = program.display();
    let whole = cutap(&["--sim", &program.to_string(), "queries"]).output().unwrap();
    assert_eq!(err(&whole).matches("cuDeviceGetAttribute(").count(), 200);
    let mut terminal = Terminal::new();
    terminal.line(&format!("{CUTAP} --sim --color never {program} queries; echo do''ne"));
    let shown = terminal.expect("\ndone");
    // The first one is printed, and the end counts the others.
    assert_eq!(shown.matches("cuDeviceGetAttribute(").count(), 1, "{shown}");
    assert!(shown.contains("calls are folded: cuDeviceGetAttribute ×199"), "{shown}");
    terminal.line(&format!("{CUTAP} --sim -a --color never --width 60 {program} queries; echo al''l"));
    let shown = terminal.expect("\nall");
    assert_eq!(shown.matches("cuDeviceGetAttribute(").count(), 200, "{shown}");
    let longest = shown.lines().filter(|l| l.starts_with("cuDevice")).map(|l| l.trim_end().chars().count()).max();
    assert_eq!(longest, Some(60), "{shown}");
}

/// Errors are never folded, and a call that lasts is shown.
#[test]
fn a_terminal_shows_errors() {
    let folder = Folder::new("errors");
    let Some(program) = problems(&folder) else { return };
    let mut terminal = Terminal::new();
    terminal.line(&format!("{CUTAP} --sim --color never {} ignored_error; echo do''ne", program.display()));
    let shown = terminal.expect("\ndone");
    assert!(shown.contains("= CUDA_ERROR_OUT_OF_MEMORY !"), "{shown}");
}

#[test]
fn demo_and_doctor() {
    let folder = Folder::new("demo");
    let demo = cutap(&["demo"]).current_dir(&folder.0).output().unwrap();
    assert!(err(&demo).contains("the recording is in training.cutap"), "{demo:?}");
    assert!(folder.join("training.cutap").is_file());
    assert!(demo.status.success() && out(&demo).starts_with("demo: allocated"), "{demo:?}");
    assert!(err(&demo).contains("CUDA_ERROR_OUT_OF_MEMORY !"), "{demo:?}");
    // A change of the format needs a new recording: tests/gpu/programs/demo_training.py.
    let text_of_demo = out(&demo);
    assert!(
        text_of_demo.contains("libcublasLt.so.13")
            && text_of_demo.contains("no problem found by ")
            && text_of_demo.contains(" rules in 4921 calls")
    );
    assert!(
        text_of_demo.contains("1 finding of less than 1 % of the time is left out: --all shows it"),
        "{text_of_demo}"
    );
    let real = folder.join("real.cutap");
    let written = cutap(&["demo", "--recording"]).arg(&real).output().unwrap();
    assert!(written.status.success() && err(&written).contains("next: cutap report --slowest"), "{written:?}");
    assert!(text(&["report", "--allocations"], &real).contains("in cublasCreate_v2 [libcublas.so.13]"));
    assert!(!cutap(&["demo", "--recording"]).arg(&real).output().unwrap().status.success(), "the file is there");
    // Findings that read the same are one; its caller is known by the return address; start-up is left out.
    let all = text(&["explain", "--all"], &real);
    assert_eq!(all.matches("Asynchronous copies of pageable memory").count(), 1, "{all}");
    assert!(all.contains("and 1 more place like it"), "{all}");
    let callers = text(&["report", "--callers", "cudaMalloc"], &real);
    assert!(
        callers.contains("\n  code of libc10_cuda.so ") && callers.contains("\n    code of libtorch_cuda.so "),
        "{callers}"
    );
    let slowest = text(&["report", "--slowest"], &real);
    assert!(!slowest.contains("cuInit(") && slowest.contains(" start-up calls, "), "{slowest}");
    let slowest = text(&["report", "--slowest", "--all"], &real);
    assert!(slowest.contains("cuInit(") && !slowest.contains("start-up"), "{slowest}");
    // One process: its number tells nothing apart.
    for (by, name) in [("thread", "\nthread 611 (python3.12) "), ("stream", "\ndefault stream ")] {
        let rows = text(&["report", "--by", by], &real);
        assert!(rows.contains(name) && !rows.contains("process"), "{rows}");
    }
    let report = cutap(&["report", "--by", "layer"]).arg(&real).output().unwrap();
    let notes = format!("cutap: 2 notes on calls that the run lacks: cutap report --notes {}\n", real.display());
    assert_eq!(err(&report), notes);
    assert!(text(&["report", "--notes"], &real).contains("\n  libc10_cuda.so\n"));
    let file = folder.join("demo.cutap");
    let recorded = cutap(&["demo", "--record"]).arg(&file).output().unwrap();
    assert!(recorded.status.success() && err(&recorded).contains("; next: cutap report --errors "), "{recorded:?}");
    let nowhere = cutap(&["demo", "--record", "/dev/null"]).output().unwrap();
    assert!(nowhere.status.success() && !err(&nowhere).contains("; next: "), "{nowhere:?}");
    assert!(text(&["explain"], &file).contains("An ignored error: cuMemAlloc_v2"));
    assert!(text(&["report", "--leaks"], &file).contains("1 MiB"));
    // One thread: no column for it.
    assert!(text(&["report", "--slowest"], &file).starts_with("     time     start  call\n"));
    let doctor = cutap(&["doctor"]).output().unwrap();
    assert!(doctor.status.success(), "{doctor:?}");
    assert!(out(&doctor).contains("ok       tracing "), "{doctor:?}");
}

/// `-s`, as in strace; and a program that ends before `--delay`.
#[test]
fn flags_of_strace() {
    let run = |words: &[&str]| err(&cutap(words).arg(CUTAP).arg("__demo-program").output().unwrap());
    let late = run(&["--sim", "--delay", "100", "--"]);
    assert!(late.contains("nothing was recorded: the program ended before the 100 s of --delay"), "{late}");
}

/// A summary on a terminal has at most five notes, and none with -q.
#[test]
fn notes_of_a_summary() {
    let quiet = cutap(&["--sim", "-q", "-c", "--", CUTAP, "__demo-program"]).output().unwrap();
    assert!(!err(&quiet).contains("cutap:") && err(&quiet).contains("cuMemAlloc_v2"), "{quiet:?}");
}

/// Errors and waits of a recording with stacks have the first stack of each line.
#[test]
fn stacks_in_reports() {
    let folder = Folder::new("stacks");
    let Some(program) = problems(&folder) else { return };
    for (question, mode, line) in
        [("--errors", "ignored_error", " = CUDA_ERROR_"), ("--blocking", "sync_in_loop", "Synchronize: ")]
    {
        let file = folder.join(mode);
        let done = cutap(&["record", "--sim", "--stack", "-o"]).arg(&file).arg(&program).arg(mode).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let shown = text(&["report", question], &file);
        let after = shown.lines().skip_while(|l| !l.contains(line)).nth(1).unwrap_or("");
        assert!(after.trim_start().starts_with("at "), "{question}: {shown}");
        assert!(text(&["report", "--json", question], &file).contains("\"stack\":[\"at "), "{question}");
        let allocations = text(&["report", "--allocations"], &file);
        assert!(
            allocations.contains("device memory: cuMemAlloc_v2\n") && allocations.contains(" at main+"),
            "{allocations}"
        );
        assert!(text(&["report", "--json", "--allocations"], &file).contains("\"stack\":[\"at "));
        let callers = text(&["report", "--callers", "cuMemAlloc"], &file);
        assert!(callers.contains("\n  code of problems "), "{callers}");
        // The place in that code, with its line: the program has debug information.
        let place = callers.lines().skip_while(|l| !l.starts_with("  code of problems ")).nth(1).unwrap_or_default();
        assert!(place.starts_with("    call problems.c:"), "{callers}");
        let line = place.rsplit(':').next().and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
        let source = include_str!("../../../tests/programs/explain/problems.c");
        let at = line.and_then(|line| source.lines().nth(line - 1)).unwrap_or_default();
        assert_eq!(at.trim(), "return f(a, b, c, d);", "{callers}");
    }
}

/// `show -e` answers a question: its notes are as few as those of `report`, on standard error. `-v` prints all.
#[test]
fn notes_of_an_answer() {
    let folder = Folder::new("answer");
    let file = folder.join("training.cutap");
    assert!(cutap(&["demo", "--recording"]).arg(&file).output().unwrap().status.success());
    let notes = |done: &std::process::Output| out(done).lines().filter(|l| l.starts_with("cutap: ")).count();
    let show = |words: &[&str]| cutap(&[&["show"], words].concat()).arg(&file).output().unwrap();
    let few = show(&["-e", "cudaMalloc"]);
    let line = format!("cutap: 2 notes on calls that the run lacks: cutap report --notes {}\n", file.display());
    // The line on threads is part of the trace.
    assert_eq!((err(&few), notes(&few)), (line.clone(), 1), "{few:?}");
    for words in [&["-c", "-e", "cudaMalloc"], &["-C", "-e", "cudaMalloc"]] {
        let few = show(words);
        assert_eq!((err(&few), notes(&few)), (line.clone(), 0), "{words:?}: {few:?}");
    }
    assert!(notes(&show(&["-v", "-e", "cudaMalloc"])) > 10);
    assert!(notes(&show(&[])) > 10, "a whole trace ends with them");
}

/// On a terminal no line of `report --slowest` is longer than the terminal is wide.
#[test]
fn slowest_calls_on_a_terminal() {
    let folder = Folder::new("slowest");
    let file = folder.join("training.cutap");
    assert!(cutap(&["demo", "--recording"]).arg(&file).output().unwrap().status.success());
    let mut terminal = Terminal::new();
    terminal.line("stty cols 80; export NO_COLOR=1 PAGER=");
    terminal.expect("ready$ ");
    terminal.line(&format!("{CUTAP} report --slowest {} 2>&1 | cat; echo who''le", file.display()));
    let whole = terminal.expect("\nwhole");
    assert!(whole.lines().any(|l| l.contains("cublasLtMatmulAlgoGetHeuristic(") && l.chars().count() > 300), "{whole}");
    terminal.expect("ready$ ");
    terminal.line(&format!("{CUTAP} report --slowest {}; echo cu''t", file.display()));
    let shown = terminal.expect("\ncut");
    let rows = shown.lines().skip_while(|l| !l.ends_with("  call; calls inside it are below it"));
    let rows: Vec<&str> = rows.skip(1).take_while(|l| !l.contains(" start-up calls, ")).collect();
    assert_eq!(rows.len(), 20, "{shown}");
    assert!(rows.iter().all(|l| l.chars().count() <= 80) && rows.iter().any(|l| l.contains('…')), "{shown}");
}

/// A view without data has a sentence, which names the filter that left the data out.
#[test]
fn empty_views() {
    let folder = Folder::new("empty");
    let Some(program) = problems(&folder) else { return };
    let file = folder.join("few.cutap");
    let args = ["record", "--sim", "-e", "cuDeviceGet", "-o"];
    let done = cutap(&args).arg(&file).arg(&program).arg("queries").output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let filtered = "; the filter of record -e left out other calls of the program";
    for (question, sentence) in [
        (&["--by", "kernel"][..], "no call launched a kernel"),
        (&["--by", "stream"], "no call named a stream"),
        (&["--errors"], "no call failed"),
        (&["--blocking"], "no call waited for the device"),
        (&["--leaks"], "nothing was left: no call made memory or a handle"),
        (&["--allocations"], "no call allocated memory"),
    ] {
        let shown = text(&[&["report"], question].concat(), &file);
        let problems = " in what was recorded; the recording lacks calls (those that the filter cuDeviceGet left out), \
                        so whether there is a problem cannot be known";
        let why = if matches!(question[0], "--errors" | "--leaks") { problems } else { filtered };
        assert_eq!(shown, format!("{sentence}{why}\n"), "{question:?}");
        let done = cutap(&[&["report"], question].concat()).arg(&file).output().unwrap();
        assert!(err(&done).contains("recorded with -e cuDeviceGet: other calls are not in the file"), "{done:?}");
    }
    for question in [&["--slowest"][..], &["--tree"], &["--by", "function"], &["--by", "thread"]] {
        let done = cutap(&[&["report", "-e", "cuInit"], question].concat()).arg(&file).output().unwrap();
        assert_eq!(out(&done), "there is no call to show\n", "{question:?}");
        assert!(err(&done).contains("nothing matched the filter cuInit"), "{done:?}");
    }
    let explained = text(&["explain"], &file);
    assert!(explained.contains("  a filter (-e) left out calls: without it the rules may find more\n"), "{explained}");
    assert!(explained.contains("\n      cutap record --stack, "), "{explained}");
    // A library before the colon is not the caller.
    let by_caller = cutap(&["report", "-e", "libmine:cuInit"]).arg(&file).output().unwrap();
    assert!(err(&by_caller).contains("cutap report --callers FUNCTION shows who calls it"), "{by_caller:?}");
    let nearest = cutap(&["report", "--callers", "cuDevice"]).arg(&file).output().unwrap();
    assert!(err(&nearest).contains("has no call of cuDevice; did you mean cuDeviceGet ("), "{nearest:?}");
}

/// A recording without a call does not replace one with calls.
#[test]
fn an_empty_recording_keeps_the_older_one() {
    let folder = Folder::new("empty-recording");
    let record = |words: &[&str]| cutap(words).current_dir(&folder.0).output().unwrap();
    let demo = ["record", "--sim", "--", CUTAP, "__demo-program"];
    let nothing = ["record", "--sim", "true"];
    assert!(record(&demo).status.success());
    let good = std::fs::read(folder.join("run.cutap")).unwrap();
    assert!(!err(&record(&nothing)).contains("stays"));
    let second = record(&nothing);
    assert!(err(&second).contains("run.cutap had no call and is written over; run.cutap.old stays"), "{second:?}");
    assert_eq!(std::fs::read(folder.join("run.cutap.old")).unwrap(), good);
    // A recording with calls replaces the older one.
    assert!(record(&demo).status.success() && record(&nothing).status.success());
    assert_ne!(std::fs::read(folder.join("run.cutap.old")).unwrap(), good);
}

/// After `ctl PID on` the end of `--delay` says nothing.
#[test]
fn a_delay_that_ctl_cut_short() {
    let folder = Folder::new("delay-ctl");
    let script =
        format!("{CUTAP} ctl {run} on > /dev/null && exec {CUTAP} __demo-program", run = folder.join("run").display());
    let mut command = cutap(&["record", "--sim", "--delay", "1000", "-o"]);
    command.arg(folder.join("d.cutap")).arg("--run-dir").arg(folder.join("run"));
    let done = command.args(["sh", "-c", &script]).output().unwrap();
    assert!(done.status.success() && err(&done).contains(" calls are in "), "{done:?}");
    assert!(!err(&done).contains("nothing was recorded"), "{done:?}");
}

/// A missing driver gets one message.
#[test]
fn without_a_driver_one_sentence() {
    let folder = Folder::new("one-sentence");
    for words in [&["trace"][..], &["trace", "-c"], &["record"]] {
        let done = cutap(&[words, &["true"]].concat()).current_dir(&folder.0).output().unwrap();
        if !err(&done).contains("no CUDA driver (libcuda.so.1)") {
            return eprintln!("skipped: no driver (this machine has one)");
        }
        assert!(!err(&done).contains("no CUDA call was seen"), "{done:?}");
    }
}

/// Only the middle of the run is recorded.
#[test]
fn delay_and_duration() {
    let folder = Folder::new("window");
    let script = folder.program(
        "calls.py",
        b"#!/usr/bin/env python3
import ctypes, time
cuda = ctypes.CDLL('libcuda.so.1')
cuda.cuInit(0)
count = ctypes.c_int()
end = time.monotonic() + 3
calls = 0
while time.monotonic() < end:
    cuda.cuDeviceGetCount(ctypes.byref(count))
    calls += 1
    time.sleep(0.01)
print(calls)
",
    );
    let file = folder.join("window.cutap");
    let args = ["record", "--sim", "--delay", "0.5", "--duration", "0.5", "-o"];
    let done = cutap(&args).arg(&file).arg(&script).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let made: usize = out(&done).trim().parse().unwrap();
    let shown = text(&["show"], &file);
    let seen = shown.matches("cuDeviceGetCount(").count();
    // A sixth of the run; a loaded machine may be late by much.
    assert!(seen > 0 && seen < made * 3 / 5, "{seen} of {made}");
}
