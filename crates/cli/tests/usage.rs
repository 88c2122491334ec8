//! Words that the command line does not take: clap's message with the wrong word, the usage and a suggestion, exit code
//! 125, and no program has run.

mod support;

use support::{Folder, cutap, out, refused, usage_error};

#[test]
fn unknown_words() {
    let run = |args: &[&str]| cutap(args).output().unwrap();
    for (args, parts) in [
        (&["trace", "--jsn", "--", "true"][..], &["'--jsn'", "'--json'", "Usage: cutap trace"][..]),
        (&["trace", "--simm", "echo", "ran"], &["'--simm'", "'--sim'", "Usage: cutap trace"]),
        (&["trace", "-x", "true"], &["'-x'", "Usage: cutap trace"]),
        (&["env", "--quux", "-o", "d"], &["'--quux'", "Usage: cutap env"]),
        (&["--jsn"], &["'--jsn'", "Usage: cutap"]),
        (&["--sim", "trace", "true"], &["'--sim'", "'trace --sim'"]),
        (&["trce", "--", "true"], &["'trce'", "'trace'", "Usage: cutap"]),
        (&["trace"], &["<PROG>", "Usage: cutap trace"]),
        (&["trace", "-o"], &["value is required", "'-o <FILE>'"]),
        (&["trace", "--sim=yes", "true"], &["'yes'", "'--sim'", "Usage: cutap trace"]),
        (&["trace", "--json", "--json", "true"], &["'--json'", "multiple times"]),
        (&["record", "--capture-range", "often", "--", "true"], &["'often'", "cudaProfilerApi"]),
        (&["pack", "a", "b"], &["'b'", "Usage: cutap pack"]),
        (&["report", "--by", "colour", "f"], &["'colour'", "function, layer, library"]),
        (&["report", "--folded=size", "f"], &["'size'", "calls, time"]),
        (&["report", "--tree", "--errors", "f"], &["'--tree'", "'--errors'", "Usage: cutap report"]),
        (&["report", "--callers", "", "f"], &["value is required", "'--callers <FUNCTION>'"]),
        (&["export", "f"], &["--perfetto <OUT>", "--chrome <OUT>", "--json <OUT>", "Usage: cutap export"]),
        (&["export", "--json", "a", "--chrome", "b", "f"], &["'--json <OUT>'", "'--chrome <OUT>'"]),
        (&["env"], &["-o <DIR>", "Usage: cutap env"]),
        (&["run", "true"], &["--hook <FILE>", "Usage: cutap run"]),
        (&["env", "-o", "d", "--no-record"], &["--hook <FILE>", "Usage: cutap env"]),
        (&["api"], &["<NAME>", "Usage: cutap api"]),
        (&["__collect", "{}"], &["'{}'", "missing field"]),
    ] {
        usage_error(&run(args), parts);
    }
    for args in [&["--help"][..], &["--version"], &["trace", "--help"]] {
        let done = run(args);
        assert!(done.status.success() && out(&done).contains("cutap"), "{done:?}");
    }
}

/// Without a command the help is on standard error, as this is no success.
#[test]
fn no_command() {
    let done = cutap(&[]).output().unwrap();
    assert_eq!((done.status.code(), out(&done).as_str()), (Some(125), ""));
    assert!(support::err(&done).contains("trace  "), "{done:?}");
}

#[test]
fn ctl_words() {
    let run = |args: &[&str]| cutap(args).output().unwrap();
    usage_error(&run(&["ctl", "1", "sideways"]), &["'sideways'", "Usage: cutap ctl"]);
    usage_error(&run(&["ctl", "1", "stats"]), &["'stats'", "'status'"]);
    refused(&run(&["ctl", "status"]), 125, &["the process is missing", "lists running programs"]);
    for words in [&["ctl", "status", "7"][..], &["ctl", "--all", "status", "7"]] {
        usage_error(&run(words), &["the process comes first: cutap ctl 7 status", "Usage: cutap ctl"]);
    }
}

/// Flags that had another name: the message names the new one.
#[test]
fn renamed_flags() {
    let folder = Folder::new("renamed");
    for (args, new) in [
        (&["trace", "--only", "cuInit", "echo", "ran"][..], "'--filter'"),
        (&["trace", "--run", "d", "echo", "ran"], "'--run-dir'"),
        (&["record", "--no-follow", "echo", "ran"], "'--no-follow-children'"),
        (&["record", "--range", "profiler", "echo", "ran"], "'--capture-range'"),
        (&["env", "-o", "d", "--only-hooks"], "'--no-record'"),
        (&["report", "--sync", "f"], "'--blocking'"),
        (&["report", "--raw", "f"], "'--undecoded'"),
    ] {
        let done = cutap(args).current_dir(&folder.0).output().unwrap();
        usage_error(&done, &[&format!("'{}'", args.iter().find(|word| word.starts_with("--")).unwrap()), new]);
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

#[test]
fn stack_sizes() {
    for (words, why) in [
        (&["--stack", "--stack-size", "100"][..], "512 to 64K"),
        (&["--stack", "--stack-size", "65K"], "512 to 64K"),
        (&["--stack", "--stack-size", "big"], "give a size"),
        (&["--stack-size", "4K"], "--stack[=<FILTER>]"),
    ] {
        let done = cutap(&["record"]).args(words).args(["-o", "/dev/null", "--", "echo", "ran"]).output().unwrap();
        usage_error(&done, &[why]);
    }
}
