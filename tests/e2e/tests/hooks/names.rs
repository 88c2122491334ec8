//! What a hook library asks for by name: a plain name is of each version of the function; one that does not exist is never
//! silent.

use crate::building::{fixed, hook, text, under};
use crate::traced;
use cutap_e2e::{cutap, finish, scratch};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// What the program prints, and what cutap says.
fn named(names: &str, program: &[&str]) -> (String, Vec<String>) {
    let run = under(&["run"], &[&hook("names")], program, &[("HOOK_NAMES", names)]);
    assert!(run.status.success(), "{run:?}");
    // A shell needs no driver.
    let said = run.stderr.lines().filter(|l| !l.starts_with("cutap: no CUDA driver"));
    let said = said.map(str::to_owned).collect();
    (run.stdout, said)
}

/// What it asked for before it said no is not wanted.
#[test]
fn a_library_that_says_no_takes_no_part() {
    let fixed = fixed("fixed");
    let (printed, said) = named("cuMemAlloc,", &[text(&fixed), "5"]);
    assert_eq!(printed, "5 bytes: 0\n");
    assert_eq!(said, ["cutap: 1 hook library that took no part in a process", "cutap:   names.so"]);
}

#[test]
fn a_plain_name_is_of_each_version() {
    let fixed = fixed("fixed");
    let program = [text(&fixed), "5"];
    for (names, said) in [
        ("cuMemAlloc", "cuMemAlloc: cuMemAlloc_v2\n5 bytes: 0\n"),
        ("cuMemAlloc_v2", "cuMemAlloc_v2: cuMemAlloc_v2\n5 bytes: 0\n"),
        // Of one library's plain names the nearest, in whatever order.
        ("cuMemAlloc,cuMemAlloc_v2", "cuMemAlloc_v2: cuMemAlloc_v2\n5 bytes: 0\n"),
        ("cuMemAlloc_v2,cuMemAlloc", "cuMemAlloc_v2: cuMemAlloc_v2\n5 bytes: 0\n"),
        ("r:cuMemAlloc_v2,d:cuMemAlloc", "cuMemAlloc: cuMemAlloc_v2\n5 bytes: 0\n"),
        // A pattern is what it says, and asked beside a plain name.
        ("cuMemAlloc*,cuMemAlloc", "cuMemAlloc*: cuMemAlloc_v2\ncuMemAlloc: cuMemAlloc_v2\n5 bytes: 0\n"),
    ] {
        assert_eq!(named(names, &program).0, said, "{names}");
    }
    for names in ["cuMemAlloc", "cuMemAlloc,cuMemAlloc_v2", "cuMemAllo*"] {
        assert_eq!(named(names, &program).1, [""; 0], "{names}");
    }
    // Each library's own names.
    let (_, trace) = traced(&[], &[&hook("names"), &hook("first")], &program, &[("HOOK_NAMES", "cuMemAlloc")]);
    assert!(trace.contains("bytesize=5) = ") && trace.contains("[first.so: bytesize=6]"), "{trace}");
}

#[test]
fn names_that_nobody_has_are_said_with_what_was_meant() {
    let fixed = fixed("fixed");
    let program = [text(&fixed), "5"];
    let vain = "no function of this name is known or was called";
    for (names, said) in [
        ("cuMemAllok", vec![format!("cutap: names.so wants cuMemAllok, and {vain}; did you mean cuMemAlloc?")]),
        ("cuMemAllok*", vec![format!("cutap: names.so wants cuMemAllok*, and {vain}; did you mean cuMemAlloc?")]),
        ("malloc", vec![format!("cutap: names.so wants malloc, and {vain}; cutap api lists those that are")]),
        (
            "r:cuMemAlloc,cuMemAlloc",
            vec![
                "cutap: names.so wants cuMemAlloc of CUTAP_RUNTIME, where there is no such function; it is one of \
                 CUTAP_DRIVER"
                    .to_owned(),
            ],
        ),
        (
            "cuMemFree,cudaMaloc",
            vec![
                format!("cutap: names.so wants cudaMaloc, and {vain}; did you mean cudaMalloc?"),
                "cutap: names.so was not called: nothing that it wants was called (cuMemFree)".to_owned(),
            ],
        ),
        (
            "cuMemAlloc@libcudda*",
            vec!["cutap: names.so wants cuMemAlloc of libcudda*, and no library of this name is known; look at its SONAME".to_owned()],
        ),
        ("cuMemAlloc@libcuda*", Vec::new()),
        // What is there and was not called is nothing to talk of while something else was.
        ("cuMemFree,cuMemAlloc", Vec::new()),
        ("nvtxNotKnownToAnybody,cuMemAlloc", Vec::new()),
    ] {
        assert_eq!(named(names, &program).1, said, "{names}");
    }
    // Children ask for the same: it is said once.
    let script = format!("{0} 5; {0} 6; true", program[0]);
    let (_, said) = named("cuMemAllok,cuMemAlloc", &["sh", "-c", &script]);
    assert_eq!(said.len(), 1, "{said:?}");
}

/// Who wants it is told immediately; nothing is said of it at the end.
#[test]
fn what_cannot_be_wanted_is_refused() {
    let run = under(&["run"], &[&hook("wrong")], &[text(&fixed("fixed")), "5"], &[]);
    assert_eq!(run.stdout, "-6 -6 -6 -6 -6 -6 0\n5 bytes: 0\n", "{run:?}");
    assert!(!run.stderr.contains("wrong.so"), "{run:?}");
}

/// A hook that reads an argument by a name that is none gets 0: each name is reported once, with those that there are.
/// A hook that only asks for a name is not reported.
#[test]
fn names_that_are_no_parameters() {
    let (misnamed, fixed) = (hook("misnamed"), fixed("fixed"));
    let program = [text(&fixed), "5", "6", "7"];
    let lines = "cutap: 2 names by which a hook asked for an argument that does not exist: it got 0\n\
                 cutap:   misnamed.so: cuMemAlloc_v2 has no parameter bytes (it has dptr, bytesize)\n\
                 cutap:   misnamed.so: cuMemAlloc_v2 has no parameter size (it has dptr, bytesize)\n";
    let run = under(&["run"], &[&misnamed], &program, &[]);
    assert_eq!(run.stdout, "0 of 5\n5 bytes: 0\n0 of 6\n6 bytes: 0\n0 of 7\n7 bytes: 0\n", "{run:?}");
    assert_eq!(run.stderr, lines);
    let (_, trace) = traced(&[], &[&misnamed], &program, &[]);
    assert!(trace.contains(lines), "{trace}");
}

/// All libraries together have 64; who does not look at the answer is told at the end, and each library by its name.
#[test]
fn wants_beyond_the_limit_are_counted_and_named() {
    let (many, fixed) = (hook("many"), fixed("fixed"));
    let program = [text(&fixed), "5"];
    let said = |hooks: &[&std::path::Path], wants: &str| {
        let run = under(&["run"], hooks, &program, &[("HOOK_MANY", wants)]);
        assert!(run.status.success() && run.stdout.ends_with("5 bytes: 0\n"), "{run:?}");
        run.stderr
    };
    assert_eq!(said(&[&many], "63"), "");
    let beyond = "64 fit, of all libraries together\ncutap:   many.so\n";
    assert_eq!(said(&[&many], "64"), format!("cutap: 1 want of a hook that was left out: {beyond}"));
    let second = crate::hook_as("many", "many_too", &[]);
    let two = said(&[&many, &second], "70");
    assert_eq!(two, format!("cutap: 78 wants of hooks that were left out: {beyond}cutap:   many_too.so\n"));
    let (_, trace) = traced(&[], &[&many], &program, &[("HOOK_MANY", "90")]);
    assert!(trace.contains(&format!("cutap: 27 wants of hooks that were left out: {beyond}")), "{trace}");
}

#[test]
fn it_is_said_while_the_program_runs_and_of_a_run_folder() {
    let folder = scratch("names");
    let (names, fixed) = (hook("names"), fixed("fixed"));
    let script = format!("{} 5; read line", text(&fixed));
    let mut cutap_run = Command::new(cutap());
    cutap_run.args(["run", "--hook", text(&names), "--", "sh", "-c", &script]).env("HOOK_NAMES", "cuMemAllok");
    let mut running =
        cutap_run.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("cutap starts");
    let said = BufReader::new(running.stderr.take().expect("piped")).lines().map(|l| l.expect("text"));
    let mut said = said.filter(|l| !l.starts_with("cutap: no CUDA driver"));
    let first = said.next().expect("a line");
    assert!(first.starts_with("cutap: names.so wants cuMemAllok, "), "{first}");
    assert_eq!(running.try_wait().expect("a child"), None, "it is said before the end");
    drop(running.stdin.take());
    running.wait().expect("a child");
    assert!(said.next().is_none(), "once");

    let run = folder.join("run");
    let env = finish(Command::new(cutap()).args(["env", "-o", text(&run), "--hook", text(&names)]));
    let line = format!("{}\nexec {} 5", env.stdout, text(&fixed));
    finish(Command::new("sh").args(["-c", &line]).env("HOOK_NAMES", "cuMemAllok"));
    let shown = finish(Command::new(cutap()).arg("show").arg(&run));
    assert!(shown.stderr.contains("cutap: names.so wants cuMemAllok, "), "{shown:?}");
}
