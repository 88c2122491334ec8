//! What a recorded call costs in instructions, counted by callgrind, in bytes of the ring and of the file, and what
//! reading takes of memory: numbers that do not depend on how busy the machine is. The instructions are those that the
//! call takes more than without cutap, in a ring that has room. A number that went up needs a reason, and a new number
//! here.

use crate::forum::torch;
use crate::real::{build, sim};
use cutap_e2e::{blocks, cutap, finish, json_lines, out, scratch, sources};
use std::path::Path;
use std::process::Command;

/// The compiler that the numbers are of.
const RUSTC: &str = "rustc 1.95";

/// Function, and instructions of a recorded call: one word; one word and an output; four words; two outputs; an input
/// of 24 bytes, where the call fails; eleven words, five of them on the stack, and two parameters of a kernel.
const NUMBERS: [(&str, u64); 6] = [
    ("cuCtxSetCurrent", 192),
    ("cuCtxGetCurrent", 226),
    ("cuMemcpyDtoDAsync_v2", 213),
    ("cuMemGetInfo_v2", 292),
    ("cuArrayCreate_v2", 299),
    ("cuLaunchKernel", 373),
];

/// The same through the common frame with two interceptors; and of a hook before and after the call that does nothing,
/// with recording and without it.
fn common_numbers(hook: &str) -> [(&'static str, String, u64); 3] {
    [
        ("cuGetExportTable", String::new(), 1649),
        ("cuCtxSetCurrent", format!("--hook {hook}"), 1273),
        ("cuCtxSetCurrent", format!("--hook {hook} -e lookup"), 695),
    ]
}

/// A call that is counted and not recorded, which its result decides.
const COUNTED: (&str, &str, u64) = ("cuCtxGetCurrent", "--chatter=count", 69);

/// Instructions of a whole run of the program with so many calls; `flags`: those of cutap, none: without it.
fn run(program: &Path, function: &str, calls: u64, flags: Option<&str>) -> u64 {
    let folder = scratch("instructions");
    let script = r#"[ "$5" = true ] || export LD_LIBRARY_PATH="$6"
        [ "$5" = false ] || eval "$("$0" env --sim $7 -o "$1/run")"
        exec valgrind --tool=callgrind --callgrind-out-file=/dev/null "$2" "$3" "$4""#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(cutap()).arg(&*folder).arg(program);
    command.args([function, &calls.to_string(), &flags.is_some().to_string(), sim(), flags.unwrap_or_default()]);
    let done = finish(&mut command);
    let number = done.stderr.lines().find_map(|l| l.split_once("Collected : ")?.1.trim().parse().ok());
    number.unwrap_or_else(|| panic!("callgrind did not run: {}{}", done.stdout, done.stderr))
}

/// A hook that does nothing, on the one function.
fn hook() -> String {
    let library = out().join("nothing_of_one.so");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-shared", "-fPIC", "-I"]).arg(sources().join("../../crates/hook/include"));
    let built = gcc.arg("-o").arg(&library).arg(sources().join("hooks/nothing.c")).status();
    assert!(built.is_ok_and(|status| status.success()), "nothing.c does not compile");
    library.display().to_string()
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
    let hook = hook();
    let of_fast = NUMBERS.map(|(function, expected)| (function, String::new(), expected));
    let (function, flag, expected) = COUNTED;
    let of_counted = [(function, flag.to_owned(), expected)];
    let all: Vec<_> = of_fast.into_iter().chain(common_numbers(&hook)).chain(of_counted).collect();
    let found = Vec::from_iter(all.iter().map(|(function, flags, _)| {
        let calls = |flags| run(&program, function, many, flags) - run(&program, function, few, flags);
        (*function, (calls(Some(flags)) - calls(None)) / (many - few))
    }));
    for ((function, number), (_, _, expected)) in found.iter().copied().zip(all) {
        let near = number.abs_diff(expected) * 50 <= expected;
        assert!(near, "{function}: {number} instructions a call, not {expected} within 2 %; all: {found:?}");
    }
}

/// Function, and bytes of its enter and exit together: one word; one word and an output; two; two and an output; four.
const BYTES: [(&str, u64); 5] = [
    ("cuCtxSetCurrent", 40),
    ("cuCtxGetCurrent", 40),
    ("cuEventRecord", 48),
    ("cuMemAlloc_v2", 48),
    ("cuMemcpyDtoDAsync_v2", 64),
];

/// Bytes of all chunks of a run of the program with so many calls, by docs/reference/file-format.md.
fn ring(program: &Path, function: &str, calls: u64) -> u64 {
    let folder = scratch("bytes");
    let file = folder.join("run.cutap");
    let script = r#"set -e; eval "$("$0" env --sim -o "$1/run")"; "$2" "$3" "$4"; "$0" recover "$1/run" -o "$5""#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(cutap()).arg(&*folder).arg(program).args([function, &calls.to_string()]);
    let done = finish(command.arg(&file));
    assert!(done.status.success(), "{done:?}");
    let bytes = std::fs::read(&file).expect("a recording");
    let chunks = blocks(&bytes).into_iter().filter(|(at, _)| bytes[at + 4] == 6);
    chunks.map(|(at, _)| u64::from(u32::from_le_bytes(bytes[at + 24..at + 28].try_into().expect("four bytes")))).sum()
}

#[test]
fn bytes_of_a_recorded_call() {
    let program = build("instructions", "instructions", &["-ldl"]);
    for (function, expected) in BYTES {
        let calls = 10_000;
        let bytes = ring(&program, function, 1000 + calls) - ring(&program, function, 1000);
        // Now and then the time is told whole, and a chunk has a head: less than a fiftieth.
        let near = bytes >= expected * calls && bytes - expected * calls < calls;
        assert!(near, "{function}: {} bytes a call, not {expected}", bytes as f64 / calls as f64);
    }
}

/// All layers, with names, arguments and pages.
#[test]
fn bytes_in_the_file_of_a_call_of_pytorch() {
    let Some(python) = torch() else { return };
    let folder = scratch("layers");
    let file = folder.join("run.cutap");
    let mut command = Command::new(cutap());
    command.args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(python);
    let run = finish(command.arg(sources().join("forum/torch_layers.py")).arg("100"));
    assert_eq!(run.stdout, "trained\n", "{}", run.stderr);
    let report = finish(Command::new(cutap()).args(["report", "--by", "layer", "--json"]).arg(&file));
    let lines = json_lines(&report.stdout);
    let calls: u64 = lines.filter_map(|l| l["calls"].as_u64()).sum();
    let bytes = std::fs::metadata(&file).expect("a recording").len();
    assert!(calls > 200_000 && bytes <= 16 * calls, "{bytes} bytes of {calls} calls");
}

/// KiB that a `cutap` with these words had at most; Linux tells it of a child that has ended.
fn peak(words: &[&str], file: &Path) -> u64 {
    let script = "import resource, subprocess, sys\n\
                  subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\
                  print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let done = finish(Command::new("python3").args(["-c", script]).arg(cutap()).args(words).arg(file));
    done.stdout.trim().parse().unwrap_or_else(|e| panic!("{words:?}: {e}: {done:?}"))
}

/// Reading takes the same memory for five times the calls: the others are 6 MiB in the ring, and many times that when
/// they are understood.
#[test]
fn memory_does_not_grow_with_the_calls() {
    let program = build("instructions", "instructions", &["-ldl"]);
    let folder = scratch("memory");
    let record = |calls: &str| {
        let file = folder.join(calls);
        let mut command = Command::new(cutap());
        command.args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(&program).args(["cuCtxGetCurrent", calls]);
        assert!(finish(&mut command).status.success());
        file
    };
    let (few, many) = (record("40000"), record("200000"));
    for words in [
        &["report"][..],
        &["report", "--tree"],
        &["report", "--leaks"],
        &["show"],
        &["export", "--perfetto", "/dev/null"],
    ] {
        let (few, many) = (peak(words, &few), peak(words, &many));
        assert!(many < few + (5 << 10), "{words:?}: {few} KiB, then {many}");
    }
}
