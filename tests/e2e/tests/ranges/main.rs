//! Ranges of NVTX: calls stand inside them, another tool sees them all, and wrong uses do no harm.

mod capture;
mod readers;
mod tools;

use cutap_e2e::{Scratch, cutap, finish, json_lines, scratch, sources};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of a version of NVTX; none where it cannot be fetched.
fn nvtx(version: &str) -> Option<PathBuf> {
    wheel("nvtx", version)
}

fn wheel(what: &str, version: &str) -> Option<PathBuf> {
    let script = sources().join("wheels.py");
    let done = finish(Command::new("python3").arg(script).args([what, version]));
    if !done.status.success() {
        println!("skipped: ranges: {what} {version} could not be fetched");
        return None;
    }
    Some(PathBuf::from(done.stdout.trim()))
}

/// A program of `ranges/`, compiled with a version of NVTX.
fn build(folder: &Path, source: &str, version: &str, words: &[&str]) -> Option<PathBuf> {
    build_with("gcc", folder, &format!("{source}.c"), version, words)
}

fn build_with(compiler: &str, folder: &Path, source: &str, version: &str, words: &[&str]) -> Option<PathBuf> {
    let nvtx = nvtx(version)?;
    let place = folder.join(Path::new(source).with_extension(""));
    let mut gcc = Command::new(compiler);
    gcc.args(["-O1", "-Wall", "-I"]).arg(nvtx.join("include")).arg("-o").arg(&place);
    gcc.arg("-I").arg(sources().join("ranges")).arg(sources().join("ranges").join(source));
    for word in words {
        gcc.arg(word.replace("NVTX", &nvtx.display().to_string()));
    }
    let done = finish(gcc.args(["-ldl", "-lpthread"]));
    assert!(done.status.success(), "{done:?}");
    Some(place)
}

/// A run with the simulated driver: what the program printed, and the lines of text without times.
fn trace(folder: &Scratch, program: &Path, way: &str, environment: &[(&str, &str)]) -> (String, Vec<String>) {
    let file = folder.join(format!("{}.txt", way.replace('/', "-")));
    let mut command = Command::new(cutap());
    command.args(["trace", "--sim", "-v", "-o"]).arg(&file).arg(program).arg(way).envs(environment.iter().copied());
    let done = finish(&mut command);
    assert!(done.status.success(), "{done:?}");
    let text = std::fs::read_to_string(&file).expect("a trace");
    let without_time = |line: &str| line.split_once(" <").map_or(line, |(line, _)| line).to_owned();
    (done.stdout, text.lines().map(without_time).collect())
}

/// The objects of a recording with `--json`.
fn calls(folder: &Scratch, program: &Path, way: &str) -> Vec<Value> {
    let file = folder.join(format!("{way}.cutap"));
    let mut record = Command::new(cutap());
    let done = finish(record.args(["record", "-q", "--sim", "-o"]).arg(&file).arg(program).arg(way));
    assert!(done.status.success(), "{done:?}");
    let shown = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file));
    json_lines(&shown.stdout).filter(|line| line["type"] == "call").collect()
}

/// The name of the call or range around a call.
fn around<'a>(all: &'a [Value], call: &Value) -> Option<&'a str> {
    let is_parent = |other: &&Value| other["id"] == call["parent"] && other["pid"] == call["pid"];
    all.iter().find(is_parent).and_then(|parent| parent["name"].as_str())
}

#[test]
fn calls_inside_ranges() {
    let folder = scratch("ranges");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let (printed, lines) = trace(&folder, &program, "basic", &[]);
    // Levels in each domain, and handles that are not null.
    assert_eq!(printed, "0\n1\n1\n1 1\n0\n0\n0\n");
    let expected = [
        "cuInit(Flags=0x0) = CUDA_SUCCESS",
        "range \"outer\" {",
        "  range \"inner\" {",
        "    cuDeviceGetCount(count=&1) = CUDA_SUCCESS",
        "    mark \"moment\"",
        "  } inner",
        "  [Domain] range \"registered\" payload 42 {",
        "    cuDeviceGetCount(count=&1) = CUDA_SUCCESS",
        "} outer",
    ];
    let start = lines.iter().position(|line| line.starts_with("cuInit")).expect("the first call");
    assert_eq!(lines[start..start + expected.len()], expected, "{lines:#?}");
    assert!(lines.iter().any(|line| line.trim() == "start of range 1 \"wïde\""), "{lines:#?}");
    assert!(lines.iter().any(|line| line.trim() == "end of range 1 \"wïde\""), "{lines:#?}");
}

#[test]
fn parents_in_threads_and_children() {
    let folder = scratch("ranges-parents");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let all = calls(&folder, &program, "threads");
    let inside: Vec<_> = all.iter().filter(|call| call["name"] == "cuDeviceGetCount").collect();
    assert_eq!(inside.len(), 200);
    for call in inside {
        let parent = all.iter().find(|other| other["id"] == call["parent"]).expect("a range");
        assert!(parent["range"] == "range" && parent["tid"] == call["tid"], "{call}");
    }
    let all = calls(&folder, &program, "forked");
    // The child is in the range that its thread had begun in the parent, until the child pops it.
    let parent = all.iter().find(|call| call["name"] == "cuInit").expect("the first call")["pid"].clone();
    let in_child = all.iter().filter(|call| call["name"] == "cuDeviceGetCount" && call["pid"] != parent);
    let names: Vec<_> = in_child.map(|call| around(&all, call).unwrap_or_default()).collect();
    assert_eq!(names, ["of both", "of the child", ""], "{all:#?}");
    let ranges = all.iter().filter(|call| call["name"] == "of both" && call["range"] == "range").count();
    assert_eq!(ranges, 2, "{all:#?}");
}

#[test]
fn wrong_uses() {
    let folder = scratch("ranges-wrong");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let (printed, lines) = trace(&folder, &program, "unbalanced", &[]);
    assert_eq!(printed, "-1\n");
    assert!(lines.iter().any(|line| line.contains("2 pops of NVTX without a push")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("} open at the end = ?")), "{lines:#?}");
    let all = calls(&folder, &program, "freed");
    let counts = all.iter().filter(|call| call["name"] == "cuDeviceGetCount");
    assert_eq!(counts.map(|call| around(&all, call)).collect::<Vec<_>>(), [Some("freed"), Some("")]);
    let (printed, lines) = trace(&folder, &program, "deep", &[]);
    assert_eq!(printed, "0\n");
    assert_eq!(lines.iter().filter(|line| line.trim() == "range \"nested\" {").count(), 64);
    assert!(lines.iter().any(|line| line.contains("99936 ranges of NVTX not recorded")), "{lines:#?}");
    assert!(lines.iter().any(|line| line == "range \"after\" {"), "{lines:#?}");
}

#[test]
fn names_of_handles() {
    let folder = scratch("ranges-named");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let (_, lines) = trace(&folder, &program, "named", &[]);
    for line in [
        "mark \"name of a category: loading\" payload 3",
        "[Domain] mark \"name of a category: wïde\" payload 4",
        "mark \"name of a device: first\" payload 0",
        "mark \"name of a stream: copies\" payload 4660",
        "mark \"name of an event: done\" payload 22136",
    ] {
        assert!(lines.iter().any(|found| found.trim() == line), "{line}: {lines:#?}");
    }
}

/// nvtx3.hpp: scoped ranges of functions and blocks, domains and categories by types, and payloads.
#[test]
fn ranges_of_cpp() {
    let folder = scratch("ranges-cpp");
    let Some(program) = build_with("g++", &folder, "scoped.cpp", "13.5", &["-std=c++17"]) else { return };
    let (_, lines) = trace(&folder, &program, "cpp", &[]);
    let expected = [
        "range \"work\" {",
        "  [solver] mark \"name of a category: fast\" payload 5",
        "  [solver] range \"iteration\" payload 7 {",
        "    cuDeviceGetCount(count=&1) = CUDA_SUCCESS",
        "  } iteration",
        "  [solver] mark \"converged\"",
        "} work",
    ];
    let from = lines.iter().position(|line| line == expected[0]).expect("the range of the function");
    assert_eq!(&lines[from..from + expected.len()], expected, "{lines:#?}");
}

/// The package `nvtx` of PyPI.
#[test]
fn ranges_of_python() {
    let folder = scratch("ranges-python");
    let Some(python) = wheel("nvtx-python", "0.2") else { return };
    let script = sources().join("ranges/annotated.py").display().to_string();
    let (printed, lines) = trace(&folder, &python.join("python3"), &script, &[]);
    assert_eq!(printed, "3\n");
    let expected = [
        "[load] range \"block\" {",
        "  [load] range \"decorated\" {",
        "    cuDeviceGetCount(count=&1) = CUDA_SUCCESS",
        "  } decorated",
        "} block",
    ];
    let from = lines.iter().position(|line| line == expected[0]).unwrap_or_else(|| panic!("{lines:#?}"));
    assert_eq!(&lines[from..from + expected.len()], expected, "{lines:#?}");
}

#[test]
fn payloads_of_the_extension() {
    let folder = scratch("ranges-payloads");
    let Some(program) = build(&folder, "payloads", "13.5", &[]) else { return };
    let (printed, lines) = trace(&folder, &program, "say", &[]);
    assert_eq!(printed, "ids differ, domain 1\nlevels 0 0, range has an id\n");
    let whole = "kind=3, bytes=1048576, operation=\"max\", share=[0.5, 2.0], name=\"layer\", buffer=0x1000";
    let numbers = "[-1, 2, 3]";
    let expected = [
        format!("[work] mark \"whole\" payload {{{whole}}}"),
        "[work] mark \"half\" payload {kind=3, bytes=?, operation=?, share=?, name=?, buffer=?}".to_owned(),
        // Ids of schemas are those of a domain.
        "[other] mark \"other domain\" payload ".to_owned(),
        format!("[work] mark \"numbers\" payload {numbers}"),
        "[work] mark \"nowhere\" payload {}".to_owned(),
        "[work] mark \"text\" payload \"up to its zero\"".to_owned(),
        "[work] mark \"at the end\" payload \"end\"".to_owned(),
        "[work] mark \"too long\" payload \"end\"".to_owned(),
        "[work] mark \"uncounted\" payload ?".to_owned(),
        "[work] mark \"packed\" payload {0x2ffffffff}".to_owned(),
        "[work] mark \"union\" payload {0x2ffffffff}".to_owned(),
        format!("[work] range \"payload\" payload {{{whole}}} {{"),
        "} payload".to_owned(),
        format!("[work] start of range 1 \"payload\" payload {numbers}"),
        format!("[work] mark \"payload\" payload {numbers}"),
        "[work] mark \"counter loss\" payload 0.25".to_owned(),
        "[work] mark \"counter loss\" payload -3".to_owned(),
        format!("[work] mark \"counter group\" payload {{{whole}}}"),
        "[work] mark \"no value of counter group\" payload 2".to_owned(),
        "[work] mark \"batch of counter group\" payload 48".to_owned(),
        // Ids of counters are those of a domain, too.
        "[other] mark \"counter\" payload 4".to_owned(),
    ];
    for line in expected {
        assert!(lines.iter().any(|other| other.trim().starts_with(&line)), "{line}: {lines:#?}");
    }
    let all = calls(&folder, &program, "quiet");
    let marked = all.iter().find(|line| line["name"] == "whole").expect("a mark");
    assert_eq!(marked["payload_fields"]["items"][2], "max", "{marked}");
}

/// An NCCL that is linked into the program makes no call that can be seen. Its ranges say what it does.
#[test]
fn collectives_by_ranges_of_nccl() {
    let folder = scratch("ranges-nccl");
    let Some(program) = build(&folder, "nccl_ranges", "13.5", &[]) else { return };
    let files: [PathBuf; 2] = [0, 1].map(|rank| folder.join(format!("run.{rank}.cutap")));
    let last_line = |mistake: &str| {
        for (rank, file) in files.iter().enumerate() {
            let mut record = Command::new(cutap());
            record.args(["record", "--sim", "-q", "-o"]).arg(file).arg("--").arg(&program);
            record.env("RANK", rank.to_string()).env("WORLD_SIZE", "2");
            if rank == 1 {
                record.env(mistake, "5");
            }
            assert!(finish(&mut record).status.success());
        }
        let report = finish(Command::new(cutap()).args(["report", "--collectives"]).args(&files)).stdout;
        let says_how = "rank 1 is known by NCCL's ranges, without streams and results: NCCL is linked into the program";
        assert!(report.contains(says_how), "{report}");
        report.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(last_line("NONE"), "no mismatch: 8 calls of comm 0xc0ffee agree on ranks 0, 1");
    let sides = "rank 0 ncclAllReduce(Message size [bytes]=4096), rank 1 ncclAllReduce(Message size [bytes]=512)";
    assert_eq!(last_line("STEP"), format!("first mismatch: call 5 of comm 0xc0ffee: {sides}; 4 calls agree"));
    let missing = last_line("STOP");
    assert!(missing.starts_with("not arrived: call 5 of comm 0xc0ffee: rank 1 did not "), "{missing}");
}

#[test]
fn many_strings_and_domains() {
    let folder = scratch("ranges-many");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let (_, lines) = trace(&folder, &program, "many", &[]);
    for n in [1, 9000] {
        assert!(lines.contains(&format!("[domain 2000] range \"string {n}\" {{")), "{lines:#?}");
    }
    assert!(!lines.iter().any(|line| line.contains("without their name")), "{lines:#?}");
    let (_, lines) = trace(&folder, &program, "too_many", &[]);
    let said = lines.iter().find_map(|line| {
        line.strip_suffix(
            " registered strings, domains and counters of NVTX without their name: too many, or no memory",
        )
    });
    let lost = said.and_then(|line| line.rsplit(' ').next()?.parse::<u32>().ok()).expect("a line that counts them");
    assert!((75_000..90_000).contains(&lost), "{lost}");
}

/// Names have 256 bytes at most, and longer ones say that they are longer.
#[test]
fn long_names() {
    let folder = scratch("ranges-long");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let (_, lines) = trace(&folder, &program, "long_names", &[]);
    let names = [("n", 256, ""), ("ä", 128, ""), ("n", 253, "…"), ("ä", 126, "…")];
    for (letter, count, end) in names {
        let line = format!("mark \"{}{end}\"", letter.repeat(count));
        assert!(lines.contains(&line), "{line}: {lines:#?}");
    }
}

#[test]
fn the_library_of_old_toolkits() {
    let folder = scratch("ranges-old");
    let words = ["-LNVTX/lib", "-l:libnvToolsExt.so.1", "-Wl,-rpath,NVTX/lib"];
    let Some(program) = build(&folder, "old_library", "11.8", &words) else { return };
    let (printed, lines) = trace(&folder, &program, "basic", &[]);
    assert_eq!(printed, "0\n0\n");
    assert!(lines.iter().any(|line| line == "range \"of the old library\" {"), "{lines:#?}");
}
