//! What is kept of launches, byte for byte: parameters of all sizes, few and many, on the stack of any thread and in
//! the heap, the first time that a kernel is met and later.

use crate::forum::build_in;
use crate::real::{build, linked, program, shared};
use crate::stepped::stand_in;
use cutap_e2e::{blocks, cutap, finish, json_lines, scratch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// The bytes of a value as JSON has it, as far as they are shown.
fn bytes(value: &Value, size: usize) -> Vec<u8> {
    if let Some(n) = value.as_u64() {
        return n.to_le_bytes()[..size.min(8)].to_vec();
    }
    if let Some(hex) = value["bytes"].as_str() {
        let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
        return (0..hex.len()).step_by(2).map(digits).collect();
    }
    let items = value["items"].as_array().unwrap_or_else(|| panic!("no bytes: {value}"));
    let mut all: Vec<u8> = items.iter().flat_map(|i| i.as_u64().expect("a number").to_le_bytes()).collect();
    all.truncate(size);
    all
}

/// Handles that the driver gives out again for another kernel, and two that share a place of ours: each launch has its
/// own kernel's parameters, also when it is read later, and the driver is asked once for each.
#[test]
fn handles_that_are_given_out_again() {
    let program = build("handles_again", "handles_again", &["-ldl"]);
    let folder = scratch("handles_again");
    let file = folder.join("run.cutap");
    let mut command = Command::new(cutap());
    command.arg("record").arg("-o").arg(&file).arg("--").arg(&program).env("LD_LIBRARY_PATH", stand_in());
    let run = finish(&mut command);
    // Four of each, with the question behind the last parameter; two that share a place.
    assert!(run.status.success() && run.stdout == "asked 32\n", "{run:?}");
    let shown = finish(Command::new(cutap()).args(["show", "--json", "-e", "cuLaunchKernel"]).arg(&file));
    let lines = json_lines(&shown.stdout);
    let launches: Vec<Value> = lines.filter(|l| l["type"] == "call").collect();
    assert_eq!(launches.len(), 16 + 2000, "{run:?}");
    for launch in launches {
        let items = &launch["arguments"][9]["value"]["to"];
        let alone = launch["args"][1] == "0x9";
        let as_passed = match alone {
            true => items["total"] == 1 && items["items"][0] == 42,
            false => items["total"] == 3 && items["items"][1] == 99 && items["items"][0] == 0x1122_3344_5566_7788u64,
        };
        assert!(as_passed && launch["result"] == 0, "{launch}");
    }
}

/// Two names that share a place of ours are told once each, however often their kernels are launched in turn.
#[test]
fn names_of_one_place() {
    let Some(program) = program("one_place", linked("13.5"), &[]) else { return };
    let folder = scratch("one_place");
    let file = folder.join("run.cutap");
    let run = finish(Command::new(cutap()).args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(&program));
    assert!(run.status.success(), "{run:?}");
    let report = finish(Command::new(cutap()).args(["report", "--by", "kernel", "--json"]).arg(&file)).stdout;
    for name in run.stdout.split_whitespace() {
        let of_it = |l: &Value| l["name"] == name && l["calls"] == 10_000;
        assert!(report.lines().any(|l| of_it(&serde_json::from_str(l).expect("JSON"))), "{name}: {report}");
    }
    let bytes = std::fs::read(&file).expect("a recording");
    let names = blocks(&bytes).into_iter().filter(|(at, _)| bytes[at + 4] == 4);
    let told: u32 =
        names.map(|(at, _)| u32::from_le_bytes(bytes[at + 24..at + 28].try_into().expect("four bytes"))).sum();
    assert!(told < 1 << 20, "{told} bytes of names");
}

#[test]
fn parameters_of_every_size() {
    let program = build_in("values", "parameters.c", "parameters", &["-ldl", "-lpthread"]);
    let folder = scratch("parameters");
    let file = folder.join("run.cutap");
    let run = finish(Command::new(cutap()).args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(&program));
    assert!(run.status.success(), "{run:?}");
    let shown = finish(Command::new(cutap()).args(["show", "--json", "-e", "cuLaunchKernel"]).arg(&file));
    let lines = json_lines(&shown.stdout);
    let launches: Vec<Value> = lines.filter(|l| l["type"] == "call").collect();
    let said: Vec<&str> = run.stdout.lines().collect();
    assert_eq!((launches.len(), said.len()), (360, 360));
    for (launch, said) in launches.iter().zip(said) {
        let mut words = said.split(' ');
        assert_eq!(launch["kernel"].as_str(), words.next(), "{launch}");
        let numbers: Vec<&str> = launch["args"].as_array().unwrap()[1..9].iter().map(|a| a.as_str().unwrap()).collect();
        assert_eq!(numbers, ["0x1", "0x2", "0x3", "0x4", "0x5", "0x6", "0x7", "0x0"], "{launch}");
        let kept = launch["arguments"][9]["value"]["to"]["items"].as_array();
        let kept = kept.unwrap_or_else(|| panic!("no parameters of {said}: {launch}"));
        let passed: Vec<&str> = words.collect();
        assert_eq!(launch["arguments"][9]["value"]["to"]["total"], passed.len(), "{said}: {launch}");
        for (value, hex) in kept.iter().zip(passed) {
            let found = bytes(value, hex.len() / 2).iter().fold(String::new(), |text, b| format!("{text}{b:02x}"));
            let shown_whole = hex.len() <= 128;
            assert!(
                if shown_whole { found == hex } else { hex.starts_with(&found) && found.len() >= 64 },
                "{said}: {launch}"
            );
        }
    }
}

/// Each launch is counted once by its kernel, also where nothing says the name; and all ways of asking take the same
/// calls by conditions on arguments.
#[test]
fn first_launches_of_threads() {
    for runtime in [shared("11.8"), shared("12.9"), linked("12.9"), shared("13.0"), linked("13.0")] {
        let Some(program) = program("first_launch", runtime, &[]) else { continue };
        let folder = scratch("first_launch");
        let file = folder.join("run.cutap");
        let run = finish(Command::new(cutap()).args(["record", "--sim", "-o"]).arg(&file).arg("--").arg(&program));
        assert!(run.status.success(), "{run:?}");
        let lines = |words: &[&str], kind: &str| -> Vec<Value> {
            let asked = finish(Command::new(cutap()).args(words).arg(&file)).stdout;
            let lines = json_lines(&asked);
            lines.filter(|l| l["type"] == kind).collect()
        };
        let mut kernels: Vec<String> = lines(&["report", "--by", "kernel", "--json"], "report")
            .iter()
            .map(|l| format!("{} {} {}", l["name"].as_str().unwrap(), l["calls"], l["errors"]))
            .collect();
        kernels.sort();
        match runtime.at_least(13, 0) {
            true => assert_eq!(kernels, ["plain 3 1"]),
            false => assert_eq!(kernels, ["(kernel not known) 1 1", "plain 2 0"]),
        }
        for filter in [
            "!driver[bytesize>1]",
            "!cudaLaunchKernel[kernel=plain]",
            "cudaLaunchKernel[args.0=0]",
            "!cu*Launch*[blockDimX=32],driver",
            "driver[device=NULL]",
        ] {
            let by_name = |lines: &[Value]| {
                let mut names = BTreeMap::new();
                for line in lines {
                    *names.entry(line["name"].to_string()).or_insert(0) += line["calls"].as_u64().unwrap_or(1);
                }
                names
            };
            let report = by_name(&lines(&["report", "--json", "-e", filter], "report"));
            assert_eq!(by_name(&lines(&["show", "--json", "-e", filter], "call")), report, "{filter}");
            assert_eq!(by_name(&lines(&["show", "-c", "--json", "-e", filter], "summary")), report, "{filter}");
            let traced = folder.join("trace");
            let mut trace = Command::new(cutap());
            trace.args(["trace", "--sim", "--json", "-e", filter, "-o"]).arg(&traced).arg("--").arg(&program);
            assert!(finish(&mut trace).status.success());
            let traced = std::fs::read_to_string(&traced).expect("a trace");
            let traced: Vec<Value> = json_lines(&traced).collect();
            let calls: Vec<Value> = traced.into_iter().filter(|l| l["type"] == "call").collect();
            assert_eq!(by_name(&calls), report, "{filter}");
        }
    }
}
