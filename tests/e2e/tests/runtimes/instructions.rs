//! What a recorded call costs in instructions, counted by callgrind: a number that does not depend on how busy the machine is. It is what
//! the call costs more than without cutap, in a ring that has room. One that went up needs a reason, and a new number here.

use crate::real::{build, sim};
use cutap_e2e::{cutap, finish, scratch};
use std::path::Path;
use std::process::Command;

/// The compiler that the numbers are of.
const RUSTC: &str = "rustc 1.95";

/// Function, and instructions of a recorded call: one word; one word and an output; four words.
const NUMBERS: [(&str, u64); 3] = [("cuCtxSetCurrent", 189), ("cuCtxGetCurrent", 221), ("cuMemcpyDtoDAsync_v2", 211)];

/// Instructions of a whole run of the program with so many calls.
fn run(program: &Path, function: &str, calls: u64, recorded: bool) -> u64 {
    let folder = scratch("instructions");
    let script = r#"if [ "$5" = true ]; then eval "$("$0" env --sim -o "$1/run")"; else export LD_LIBRARY_PATH="$6"; fi
        exec valgrind --tool=callgrind --callgrind-out-file=/dev/null "$2" "$3" "$4""#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(cutap()).arg(&*folder).arg(program);
    command.args([function, &calls.to_string(), &recorded.to_string(), sim()]);
    let done = finish(&mut command);
    let number = done.stderr.lines().find_map(|l| l.split_once("Collected : ")?.1.trim().parse().ok());
    number.unwrap_or_else(|| panic!("callgrind did not run: {}{}", done.stdout, done.stderr))
}

#[test]
fn instructions_of_a_recorded_call() {
    let has = |command: &str| Command::new(command).arg("--version").output().ok();
    if has("valgrind").is_none() {
        return println!("skipped: instructions of a recorded call: valgrind is not installed");
    }
    let rustc = has("rustc").map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    if !rustc.starts_with(RUSTC) {
        return println!("skipped: instructions of a recorded call: the numbers are of {RUSTC}, this is {rustc}");
    }
    let program = build("instructions", "instructions", &["-ldl"]);
    let (few, many) = (200, 1200);
    let found = NUMBERS.map(|(function, _)| {
        let calls = |recorded| run(&program, function, many, recorded) - run(&program, function, few, recorded);
        (function, (calls(true) - calls(false)) / (many - few))
    });
    for ((function, number), (_, expected)) in found.into_iter().zip(NUMBERS) {
        let near = number.abs_diff(expected) * 50 <= expected;
        assert!(near, "{function}: {number} instructions a call, not {expected} within 2 %; all: {found:?}");
    }
}
