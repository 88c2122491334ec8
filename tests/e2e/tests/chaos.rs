//! `cutap chaos` distinguishes ten reactions to a failed call.

use cutap_e2e::{cutap, scratch, sources};
use std::process::Command;

/// What becomes of the planted program when the first call of a function fails.
const REACTIONS: [(&str, &str); 12] = [
    ("cuMemAlloc_v2", "handled"),
    ("cuMemAllocPitch_v2", "handled"),
    ("cuCtxSetLimit", "ignored"),
    ("cuMemHostAlloc", "crash"),
    ("cuStreamCreate", "crash"),
    ("cuEventCreate", "hang"),
    ("cuStreamSynchronize", "handled"),
    ("cuMemAllocHost_v2", "handled"),
    ("cuMemAllocManaged", "leak"),
    ("cuMemsetD8_v2", "handled"),
    ("cuMemcpyDtoH_v2", "output"),
    ("cuEventRecord", "output"),
];

#[test]
fn planted_reactions_are_distinguished() {
    let folder = scratch("chaos");
    let (program, junit) = (folder.join("planted"), folder.join("junit.xml"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-std=gnu17", "-Wall", "-Werror", "-o"]).arg(&program);
    let done = gcc.arg(sources().join("chaos/planted.c")).arg("-ldl").output().expect("gcc is installed");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut command = Command::new(cutap());
    // The deadline is that of the clean runs: a slow machine has a longer one.
    command.args(["chaos", "--sim", "--sites", "19", "--junit"]).arg(&junit);
    let done = command.arg("--").arg(&program).current_dir(folder.join("")).output().expect("cutap starts");
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&done.stderr));
    for (function, verdict) in REACTIONS {
        let found = text
            .lines()
            .find_map(|line| line.split_once(&format!(" {function} at main+0x")).map(|(word, _)| word.trim()));
        assert_eq!(found, Some(verdict), "{function}: {text}");
    }
    assert!(text.lines().any(|line| line.starts_with("not tested: cuCtxGetFlags at main+")), "{text}");
    // The line below a finding repeats it.
    let lines: Vec<&str> = text.lines().collect();
    let crash = lines.iter().position(|line| line.starts_with("crash    cuMemHostAlloc")).expect("the crash");
    let repeat = lines[crash + 1].trim().strip_prefix("cutap ").expect("a line that repeats it");
    let shell = format!("exec {} {repeat}", cutap().display());
    let again = Command::new("sh").args(["-c", &shell]).current_dir(folder.join("")).output().unwrap();
    assert!(!again.status.success(), "{repeat}: {again:?}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("<testsuite name=\"cutap chaos\"") && xml.contains("failures=\"6\""), "{xml}");
    assert!(xml.contains("crash: it died by signal 11 (SIGSEGV)"), "{xml}");
}
