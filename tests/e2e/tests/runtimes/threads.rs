//! Threads that all call at the same time, right after `cutap ctl PID filter` has returned, and in a forked child: each call is
//! where it belongs.

use crate::real::{build, program, sim};
use crate::switched::{RUNTIMES, trace};
use cutap_e2e::{cutap, finish, scratch};
use std::collections::BTreeMap;
use std::process::Command;

/// Calls of a round of all threads.
const CALLS: [(&str, u64); 2] = [("cudaGetDevice", 4 * 300), ("cuStreamQuery", 4 * 100)];

#[test]
fn a_filter_holds_for_every_thread_when_ctl_has_returned() {
    let filters = [
        ("cudaMalloc", [0, 0]),
        ("all", [1, 1]),
        ("runtime", [1, 0]),
        ("cuStreamQuery", [0, 1]),
        ("!cudaGetDevice", [0, 1]),
        ("all", [1, 1]),
        ("cudaMalloc", [0, 0]),
        ("all", [1, 1]),
    ];
    let between: Vec<String> = filters.iter().map(|(f, _)| format!("CTL filter '{f}'")).collect();
    let between: Vec<&str> = between.iter().map(String::as_str).collect();
    for program in RUNTIMES.into_iter().filter_map(|r| program("threads", r, &[])) {
        for flags in [&[][..], &["-C"]] {
            let ran = trace(&program, flags, &between);
            for (n, (name, calls)) in CALLS.into_iter().enumerate() {
                let made = filters.iter().map(|(_, rounds)| rounds[n] * calls).sum::<u64>();
                assert_eq!(ran.made(name), made, "{name} {flags:?} {}", program.display());
            }
        }
    }
}

/// The word of the thread that forked leads to what the parent's thread writes to; the child's other threads come
/// first.
#[test]
fn fork_then_other_thread_calls() {
    for program in RUNTIMES.into_iter().filter_map(|r| program("threads", r, &[])) {
        let ran = trace(&program, &[], &["FORK"]);
        for (name, calls) in [("cudaGetDevice", 300), ("cuStreamQuery", 100)] {
            let mut of: BTreeMap<u64, u64> = BTreeMap::new();
            for line in ran.lines.iter().filter(|l| l["name"] == name) {
                *of.entry(line["pid"].as_u64().expect("a process")).or_default() += 1;
            }
            let mut made: Vec<u64> = of.into_values().collect();
            made.sort_unstable();
            assert_eq!(made, [calls, 5 * calls], "{name} of {}", program.display());
        }
    }
}

/// A ring's mutex belongs to a dead thread until the next one takes it over, which a sanitizer would call a double
/// lock.
#[test]
fn a_thread_sanitizer_finds_nothing_of_ours() {
    let program = build("in_turn", "in_turn", &["-g", "-fsanitize=thread"]);
    let plain = finish(Command::new(&program).env("LD_LIBRARY_PATH", sim()));
    if plain.stdout != "ok\n" || !plain.stderr.is_empty() {
        return println!("skipped: a program with a thread sanitizer: it does not run here: {}", plain.stderr);
    }
    let folder = scratch("sanitized");
    for (n, flags) in [&["record"] as &[&str], &["trace"], &["trace", "-C"], &["record", "--flight-recorder", "1M"]]
        .iter()
        .enumerate()
    {
        let mut command = Command::new(cutap());
        command.args(*flags).args(["--sim", "-o"]).arg(folder.join(format!("out{n}"))).arg("--").arg(&program);
        let done = finish(&mut command);
        assert_eq!((&*done.stdout, done.status), ("ok\n", plain.status), "{flags:?}: {}", done.stderr);
        assert!(!done.stderr.contains("WARNING"), "{flags:?}: {}", done.stderr);
    }
}
