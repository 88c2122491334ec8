//! What cutap adds to a process: address space, data, mappings; and programs that limit these for themselves.
//!
//! | what | mappings | address space | data (`VmData`) |
//! | --- | --- | --- | --- |
//! | a process, before its first call | 18 | 35.2 MiB | 3.4 MiB |
//! | of these: the injected library, without its tables | 9 | 4.4 MiB | 2.9 MiB |
//! | of these: tables (slots, lazy words, kernel names, runtimes, hooks) | 6, at most 11 | 30.8 MiB | 0.5 MiB |
//! | of these: pages of the run directory | 3 | 12 KiB | 0 |
//! | its first recorded call: page of the process, names | 3 | 1 MiB | 0 |
//! | more names than 1 MiB | 1 or 2 a segment | as much again, at most 16 MiB beyond the names | 0 |
//! | a process that can make no folder: the names | 2 a segment | the same | the bytes of its names |
//! | more than 4096 functions | 0 | 0 | 256 KiB for each 4096 slots, and for each 8192 lazy words |
//! | more than 8192 names of kernels | 0 | 0 | 256 KiB for each 8192, up to 2 MiB |
//! | a copy of the runtime | 1 | 12 KiB | 141 KiB |
//! | a recorded thread, one of the first 256 | 1 | 137 KiB | 5 KiB |
//! | a later recorded thread | 2 for 64 threads | 137 KiB | 5 KiB |
//! | a further chunk of a thread, before the first one is read | 1 | 128 KiB, at most 8 MiB for a thread | 0 |
//! | a thread whose calls are counted (`-C`) | 2 or 4 more | 528 KiB | 0 |
//!
//! With all slots, all names of kernels and 128 runtimes in use, data is 34 MiB. With 9000 functions of long names
//! and eleven threads it is 3.8 MiB, and the address space 39.3 MiB.

use cutap_e2e::{Finished, cutap, finish, json_lines, out, scratch};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const MIB: u64 = 1 << 20;
/// What cutap may add in all.
const ADDRESS_SPACE: u64 = 64 * MIB;
const DATA: u64 = 8 * MIB;
/// Of a process with one thread.
const MAPPINGS: u64 = 30;

/// Bytes of address space and of data, and mappings.
type Sizes = (u64, u64, u64);

fn run(trace: Option<&Path>, counts: &Path, words: &[&str]) -> Finished {
    let program = out().join(words[0]);
    let mut command = Command::new(if trace.is_some() { cutap() } else { &program });
    if let Some(file) = trace {
        command.args(["trace", "-c", "--json", "-o"]).arg(file).arg("--").arg(&program);
    }
    let done = finish(command.args(&words[1..]).env("LD_LIBRARY_PATH", out()).env("FIXTURE_COUNTS", counts));
    assert!(done.status.success() && done.stdout.ends_with("ok\n"), "{words:?}: {done:?}");
    done
}

fn stages(printed: &str) -> Vec<(String, Sizes)> {
    let lines = printed.lines().filter(|line| *line != "ok");
    lines
        .map(|line| {
            let (name, numbers) = line.split_once(' ').unwrap();
            let number: Vec<u64> = numbers.split(' ').map(|n| n.parse().unwrap()).collect();
            (name.to_owned(), (number[0] << 10, number[1] << 10, number[2]))
        })
        .collect()
}

/// Calls by function.
fn calls(trace: &Path) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(trace).unwrap();
    let lines = json_lines(&text);
    lines
        .filter(|l| l["type"] == "summary")
        .map(|l| (l["name"].as_str().unwrap().to_owned(), l["calls"].as_u64().unwrap()))
        .collect()
}

#[test]
fn what_a_process_has_more_than_without() {
    let folder = scratch("footprint");
    let trace = folder.join("trace");
    let plain = stages(&run(None, &folder.join("plain"), &["footprint"]).stdout);
    let traced = stages(&run(Some(&trace), &folder.join("traced"), &["footprint"]).stdout);
    assert_eq!(plain.len(), 5);
    let mut said = String::new();
    let mut within = true;
    for ((name, plain), (_, traced)) in plain.iter().zip(&traced) {
        let more = [traced.0 - plain.0, traced.1 - plain.1, traced.2 - plain.2];
        within &= more[0] <= ADDRESS_SPACE && more[1] <= DATA;
        within &= more[2] <= MAPPINGS || !matches!(&**name, "start" | "call");
        said += &format!("{name}: {} KiB, {} KiB of it data, {} mappings\n", more[0] >> 10, more[1] >> 10, more[2]);
    }
    println!("{said}");
    assert!(within, "more than {ADDRESS_SPACE} bytes, {DATA} of data, or {MAPPINGS} mappings:\n{said}");
    // Names and slots beyond the first pieces are whole.
    let calls = calls(&trace);
    let long: Vec<_> = calls.iter().filter(|(name, _)| name.starts_with("cusolverFixture_")).collect();
    assert_eq!(long.len(), 9000);
    assert!(long.iter().all(|(_, calls)| **calls == 1), "{long:?}");
}

#[test]
fn programs_that_limit_their_own_memory() {
    let folder = scratch("limits");
    let counts = folder.join("counts");
    let (_, (size, data, _)) = stages(&run(None, &counts, &["footprint"]).stdout)[0].clone();
    let (size, data) = ((size + ADDRESS_SPACE + 8 * MIB).to_string(), (data + DATA + 3 * MIB).to_string());
    for words in [
        ["limits", "as", &size].as_slice(),
        &["limits", "as", &size, "late"],
        &["limits", "data", &data],
        &["limits", "data", &data, "late"],
    ] {
        let what = words[1..].join("-");
        let (trace, counts) = (folder.join(&what), folder.join(format!("{what}-counts")));
        run(None, &counts, words);
        std::fs::remove_file(&counts).unwrap();
        let done = run(Some(&trace), &counts, words);
        assert_eq!(done.stdout, "ok\n", "{what}");
        let calls = calls(&trace);
        let wanted = [("cuInit", 1), ("cuMemAlloc_v2", 1500), ("cuMemFree_v2", 1500)];
        assert_eq!(calls, wanted.map(|(name, n)| (name.to_owned(), n)).into(), "{what}: {}", done.stderr);
    }
}
