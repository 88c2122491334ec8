//! The interface of the driver: results, look-ups, forks and threads, and the exports of its library.

mod common;

use common::{on_sim, program, root, sim, succeed};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[test]
fn results_look_ups_forks_threads() {
    let program = program("driver", "plain", &[]);
    let library = sim().join("libcuda.so.1");
    let output = succeed(on_sim(&program).arg(&library));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
    let report = String::from_utf8_lossy(&output.stderr);
    let last = report.lines().last().unwrap_or_default(); // the library was closed and opened again before that
    assert_eq!(last, "cutap-sim: 1 calls answered by default: cuLogsCurrent x1");
}

#[test]
fn an_older_driver() {
    let program = program("driver", "old", &[]);
    let library = sim().join("libcuda.so.1");
    let output = succeed(on_sim(&program).arg(&library).env("CUTAP_SIM_DRIVER", "11040"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
}

/// A wrong setting is reported once, and ignored.
#[test]
fn settings_that_are_not_understood() {
    let program = program("graphs", "plain", &[]);
    for (name, value, why) in [
        ("CUTAP_SIM_DEVICES", "9", "is no number from 1 to 8; taken is 1"),
        ("CUTAP_SIM_DEVICES", "abc", "is no number from 1 to 8; taken is 1"),
        ("CUTAP_SIM_DRIVER", "13", "is no number from 2000 to 99999; taken is 13050"),
    ] {
        let output = succeed(on_sim(&program).env(name, value));
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = said.lines().filter(|l| l.contains(name)).collect();
        assert_eq!(lines, [format!("cutap-sim: {name}={value} {why}")]);
    }
}

/// A program that checks every result. It must not call a function without an implementation.
fn checks(name: &str) {
    let output = succeed(&mut on_sim(&program(name, "plain", &[])));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "cutap-sim: 0 calls answered by default\n");
}

/// The children of its last part exit normally and would print a report too, so reports are off.
#[test]
fn forks_in_code_that_the_driver_runs() {
    let output = succeed(on_sim(&program("forks", "plain", &["-pthread"])).env_remove("CUTAP_SIM_REPORT"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
}

#[test]
fn forks_while_other_threads_make_their_first_calls() {
    let program = program("first_calls", "plain", &["-pthread"]);
    let output = succeed(on_sim(&program).arg("300").env_remove("CUTAP_SIM_REPORT"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Damaged and hostile images. The address space has a limit, so that a large size is noticed.
#[test]
fn images_that_are_none() {
    let folder = common::scratch().join("images");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = program("images", "plain", &[]);
    let mut shell = on_sim(Path::new("sh"));
    let script = "ulimit -v 8000000; exec \"$0\"";
    let output = succeed(shell.current_dir(folder).args(["-c", script]).arg(program));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "cutap-sim: 0 calls answered by default\n");
}

#[test]
fn graphs() {
    checks("graphs");
}

#[test]
fn captures() {
    checks("captures");
}

#[test]
fn pools() {
    checks("pools");
}

#[test]
fn ranges() {
    checks("ranges");
}

/// An allocation above the limits of the process fails without a search of the address space.
#[test]
fn limited_address_space_and_data() {
    let program = program("limited", "plain", &["-rdynamic"]);
    for what in ["address space", "data"] {
        let output = succeed(on_sim(&program).arg(what));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n", "{what}");
    }
}

#[test]
fn objects() {
    checks("objects");
}

#[test]
fn absurd_counts() {
    checks("absurd");
}

/// Wrong uses of the driver have the results of driver 580 on an H200. The list has the exceptions: where the real
/// driver reads memory of destroyed handles, or can do more than the simulated one.
#[test]
fn wrong_uses() {
    const OTHER: [&str; 10] = [
        "contexts: cuCtxSetCurrent destroyed",
        "addresses: cuMemGetHandleForAddressRange one page as dma-buf",
        "streams: cuStreamQuery destroyed",
        "streams: cuMemcpyHtoDAsync_v2 destroyed stream",
        "events: cuEventRecord destroyed",
        "broken capture: status",
        "broken capture: cuStreamEndCapture after cuStreamDestroy_v2 while capturing",
        "libraries: cuLibraryLoadData no code",
        "libraries: cuKernelGetName of an unloaded library",
        "objects: cuMulticastCreate NULL",
    ];
    let folder = root().join("tests/gpu");
    let program = common::scratch().join("wrong_uses");
    succeed(
        Command::new("gcc").args(["-w", "-O1"]).arg(folder.join("wrong_uses.c")).arg("-o").arg(&program).arg("-ldl"),
    );
    let said = common::scratch().join("wrong_uses.txt");
    std::fs::write(&said, succeed(&mut on_sim(&program)).stdout).expect("a file");
    let mut python = Command::new("python3");
    let compared = python.arg(folder.join("wrong_uses.py")).arg(folder.join("wrong_uses.h200.txt")).arg(&said).output();
    let compared = String::from_utf8(compared.expect("python3 runs").stdout).expect("text");
    let differing: Vec<&str> = compared.lines().filter_map(|line| Some(line.split_once(": real ")?.0)).collect();
    assert_eq!(differing, OTHER, "{compared}");
    // The table in crates/sim/README.md must match the recorded answers.
    let table = |line: &&str| line.starts_with('|');
    let mut python = Command::new("python3");
    let python =
        python.arg(folder.join("wrong_uses.py")).arg(folder.join("wrong_uses.h200.txt")).arg(&said).arg("--table");
    let text = String::from_utf8(python.output().expect("python3 runs").stdout).expect("text");
    let numbers: Vec<u32> =
        text.lines().last().unwrap_or("").split_whitespace().filter_map(|w| w.parse().ok()).collect();
    let [same, compared, no_rule] = numbers[..] else { panic!("{text}") };
    let page = std::fs::read_to_string(root().join("crates/sim/README.md")).expect("crates/sim/README.md");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        format!("{} answers", compared + no_rule),
        format!("{no_rule} of them are no rule"),
        format!("The simulated driver gives {same} of the other {compared}"),
    ] {
        assert!(words.contains(&said), "crates/sim/README.md does not say: {said}");
    }
    let page: Vec<&str> = page.lines().skip_while(|l| !l.starts_with("## Wrong uses")).filter(table).collect();
    assert_eq!(page[..text.lines().filter(table).count()], text.lines().filter(table).collect::<Vec<_>>()[..]);
}

/// crates/sim/README.md lists exactly the functions without an implementation.
#[test]
fn the_page_lists_what_answers_801() {
    let page = std::fs::read_to_string(root().join("crates/sim/README.md")).expect("crates/sim/README.md");
    let section = page.split("## What answers 801").nth(1).and_then(|s| s.split("\n## ").next()).expect("the section");
    let rows = section.lines().filter(|l| l.starts_with('|'));
    let listed: Vec<&str> =
        rows.flat_map(|l| l.split('`').skip(1).step_by(2)).filter(|w| w.starts_with("cu")).collect();
    let exports = std::fs::read_to_string(root().join("crates/driver/src/generated/exports.rs")).expect("the exports");
    let of = |kind: &str| -> Vec<&str> {
        let names = exports.lines().filter_map(|l| l.strip_prefix(kind)?.split(',').next());
        names.map(|n| n.trim_end_matches("_ptsz").trim_end_matches("_ptds")).collect()
    };
    let (defaults, written) = (of("default!("), of("written!("));
    let is = |word: &str, name: &str| word.strip_suffix('*').map_or(name == word, |start| name.starts_with(start));
    let missing: Vec<_> = defaults.iter().filter(|name| !listed.iter().any(|word| is(word, name))).collect();
    let wrong: Vec<_> = listed
        .iter()
        .filter(|w| !defaults.iter().any(|n| is(w, n)) || written.iter().any(|name| is(w, name)))
        .collect();
    assert!(defaults.len() > 200 && written.len() > 400, "{} {}", defaults.len(), written.len());
    assert!(missing.is_empty() && wrong.is_empty(), "not listed: {missing:?}; listed and not so: {wrong:?}");
}

/// A tracer names a function by its address, so no two exports may share one.
#[test]
fn every_export_has_its_own_address() {
    let nm = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(sim().join("libcuda.so.1")));
    let mut by_address = BTreeMap::new();
    let mut functions = 0;
    for line in String::from_utf8_lossy(&nm.stdout).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, kind, name] = words[..] else { panic!("{line}") };
        if kind == "T" {
            functions += 1;
            if let Some(other) = by_address.insert(address.to_owned(), name.to_owned()) {
                panic!("{name} and {other} share an address");
            }
        } else {
            assert!(matches!(name, "CUTAP_SIM_COUNTS" | "CUTAP_SIM_PROFILER" | "CUTAP_SIM_GRAPH_IDS"), "{name}");
        }
    }
    let listed = std::fs::read_to_string(root().join("api/driver/exports.toml")).expect("the list");
    assert_eq!(functions, listed.matches("{ name = ").count());
}

#[test]
fn it_is_called_libcuda() {
    let head = succeed(Command::new("readelf").arg("-d").arg(sim().join("libcuda.so.1")));
    assert!(String::from_utf8_lossy(&head.stdout).contains("Library soname: [libcuda.so.1]"));
}
