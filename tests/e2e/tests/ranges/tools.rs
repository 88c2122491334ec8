//! Another tool for NVTX beside cutap.

use crate::{build, trace};
use cutap_e2e::{cutap, finish, scratch};
use std::path::Path;
use std::process::Command;

#[test]
fn another_tool_sees_all() {
    let folder = scratch("ranges-tool");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let Some(tool) = build(&folder, "tool", "13.5", &["-shared", "-fPIC"]) else { return };
    let tool = tool.display().to_string();
    let (printed, lines) = trace(&folder, &program, "basic", &[("NVTX_INJECTION64_PATH", &tool)]);
    let expected = "tool: here\ntool: push outer\n100\ntool: push inner\n101\ntool: pop\n101\n";
    assert!(printed.starts_with(expected), "{printed}");
    assert!(lines.iter().any(|line| line == "range \"outer\" {"), "{lines:#?}");
    // The program has written over its environment.
    let (printed, _) = trace(&folder, &program, "overwritten", &[("NVTX_INJECTION64_PATH", &tool)]);
    assert!(printed.starts_with(expected), "{printed}");
    // A program that wants none gets none.
    let (printed, lines) = trace(&folder, &program, "threads", &[("NVTX_INJECTION64_PATH", "./.")]);
    assert!(printed.is_empty() && !lines.iter().any(|line| line.contains("range \"")), "{lines:#?}");
}

/// A tool that has no functions for most of NVTX: the answers are those of NVTX without an implementation.
#[test]
fn answers_of_another_tool() {
    let folder = scratch("ranges-answers");
    let Some(tool) = build(&folder, "tool", "13.5", &["-shared", "-fPIC"]) else { return };
    for (source, way) in [("ranges", "answers"), ("payloads", "say")] {
        let Some(program) = build(&folder, source, "13.5", &[]) else { return };
        let run = |preload: &[&str]| {
            let mut command = Command::new(cutap());
            command.args(["trace", "--sim", "-o"]).arg(folder.join("answers.txt")).arg("--").args(preload);
            let done = finish(command.arg(&program).arg(way).env("NVTX_INJECTION64_PATH", &tool));
            assert!(done.status.success(), "{done:?}");
            done.stdout
        };
        let alone = run(&["env", "-u", "LD_PRELOAD"]);
        assert!(
            alone.contains("tool: here") && alone.contains(if source == "ranges" { "-2" } else { "-2 -2" }),
            "{alone}"
        );
        assert_eq!(run(&[]), alone);
    }
}

/// A tool that cannot be loaded is named at the end.
#[test]
fn a_tool_that_is_absent() {
    let folder = scratch("ranges-absent");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let (printed, lines) = trace(&folder, &program, "basic", &[("NVTX_INJECTION64_PATH", "/nowhere/tool.so")]);
    assert!(printed.starts_with("0\n1\n"), "{printed}");
    let said = lines.iter().position(|line| line.contains("1 tool of NVTX_INJECTION64_PATH that could not be loaded"));
    assert!(said.is_some_and(|at| lines[at + 1].contains("/nowhere/tool.so")), "{lines:#?}");
}

/// Nsight Systems around cutap: a preload changes the variable when it is loaded, and its tool looks for another one.
#[test]
fn a_preload_names_a_tool_later() {
    let folder = scratch("ranges-late-tool");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let Some(tool) = build(&folder, "tool", "13.5", &["-shared", "-fPIC"]) else { return };
    let Some(preload) = build(&folder, "late_tool", "13.5", &["-shared", "-fPIC"]) else { return };
    let [tool, preload] = [tool, preload].map(|path| path.display().to_string());
    let (printed, lines) = trace(&folder, &program, "basic", &[("LD_PRELOAD", &preload), ("TOOL", &tool)]);
    let expected = "proxy: here\ntool: here\ntool: push outer\n100\ntool: push inner\n101\ntool: pop\n101\n";
    assert!(printed.starts_with(expected), "{printed}");
    assert!(lines.iter().any(|line| line == "range \"outer\" {"), "{lines:#?}");
    // Without ranges in the filter the tool has the copy alone.
    let file = folder.join("driver.txt");
    let mut command = Command::new(cutap());
    command.args(["trace", "--sim", "-e", "driver", "-o"]).arg(&file).arg(&program).arg("basic");
    let done = finish(command.envs([("LD_PRELOAD", &preload), ("TOOL", &tool)]));
    assert!(done.stdout.starts_with(expected), "{}", done.stdout);
    let text = std::fs::read_to_string(&file).expect("a trace");
    assert!(text.contains("cuInit") && !text.contains("range \""), "{text}");
}

/// NVTX opens the preload in a program that is not traced: nothing of it changes, and the other tool has its ranges.
#[test]
fn a_program_without_the_preload() {
    let folder = scratch("ranges-untraced");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let Some(tool) = build(&folder, "tool", "13.5", &["-shared", "-fPIC"]) else { return };
    let run = |words: &[&str], tool: Option<&Path>| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(&program).arg("basic").envs(tool.map(|tool| ("NVTX_INJECTION64_PATH", tool)));
        let done = finish(&mut command);
        assert!(done.status.success(), "{done:?}");
        done.stdout
    };
    let traced = [cutap().to_str().unwrap(), "trace", "--sim", "-o", "/dev/null", "--", "env", "-u", "LD_PRELOAD"];
    // Without the preload there is the simulated driver all the same, and NVTX answers as without a tool.
    assert_eq!(run(&traced, None).lines().next(), Some("-2"));
    let expected = "tool: here\ntool: push outer\n100\ntool: push inner\n101\ntool: pop\n101\n";
    assert!(run(&traced, Some(&tool)).starts_with(expected));
}
