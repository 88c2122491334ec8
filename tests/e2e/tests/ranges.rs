//! Ranges of NVTX: calls stand inside them, another tool sees them all, and wrong uses do no harm.

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
    assert!(lines.iter().any(|line| line.trim() == "end of range 1"), "{lines:#?}");
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
    let names: Vec<_> =
        all.iter().filter(|call| call["name"] == "cuDeviceGetCount").map(|call| around(&all, call)).collect();
    assert!(names.contains(&Some("of both")) && names.contains(&Some("of the child")), "{names:?}");
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

#[test]
fn the_library_of_old_toolkits() {
    let folder = scratch("ranges-old");
    let words = ["-LNVTX/lib", "-l:libnvToolsExt.so.1", "-Wl,-rpath,NVTX/lib"];
    let Some(program) = build(&folder, "old_library", "11.8", &words) else { return };
    let (printed, lines) = trace(&folder, &program, "basic", &[]);
    assert_eq!(printed, "0\n0\n");
    assert!(lines.iter().any(|line| line == "range \"of the old library\" {"), "{lines:#?}");
}

/// Calls are recorded while a range of this name is open, in whichever domain or in one.
#[test]
fn capture_ranges() {
    let folder = scratch("ranges-captured");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let recorded = |range: &str| {
        let file = folder.join(format!("{}.cutap", range.replace(':', "-")));
        let mut record = Command::new(cutap());
        record.args(["record", "-q", "--sim", "--capture-range", range, "-o"]).arg(&file).arg(&program).arg("basic");
        assert!(finish(&mut record).status.success());
        let shown = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file));
        let lines: Vec<Value> = json_lines(&shown.stdout).filter(|line| line["type"] == "call").collect();
        lines.iter().map(|call| call["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(recorded("nvtx:inner"), ["cuDeviceGetCount", "moment", "inner", "outer"]);
    assert_eq!(recorded("nvtx:regist*@Domain"), ["cuDeviceGetCount", "outer", "cuDeviceGetCount", "registered"]);
    assert!(recorded("nvtx:inner@Domain").is_empty());
    let refused = finish(Command::new(cutap()).args(["record", "--capture-range", "nvtx:", "--", "true"]));
    assert!(!refused.status.success() && refused.stderr.contains("nvtx:NAME[@DOMAIN]"), "{refused:?}");
}

/// Ranges that are open when recording begins are around the calls that follow.
#[test]
fn ranges_around_a_capture_range() {
    let folder = scratch("ranges-profiled");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let file = folder.join("profiled.cutap");
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--sim", "--capture-range", "cudaProfilerApi", "-o"]).arg(&file);
    assert!(finish(record.arg(&program).arg("profiled")).status.success());
    let shown = finish(Command::new(cutap()).args(["show", "-v"]).arg(&file)).stdout;
    let line = |line: &str| line.split_once(" <").map_or(line, |(line, _)| line).to_owned();
    let expected = [
        "range \"outer\" {",
        "  range \"middle\" {",
        "    cuDeviceGetCount(count=&1) = CUDA_SUCCESS",
        "    range \"inner\" {",
        "      cuDeviceGetCount(count=&1) = CUDA_SUCCESS",
        "    } inner",
        "    cuProfilerStop() = CUDA_SUCCESS",
        "  } middle",
        "} outer",
    ];
    assert_eq!(shown.lines().map(line).collect::<Vec<_>>(), expected);
}

/// A range of a thread that has ended, or of another thread of the parent, is no longer open.
#[test]
fn captured_ranges_of_threads_and_children() {
    let folder = scratch("ranges-ended");
    let Some(program) = build(&folder, "ranges", "13.5", &[]) else { return };
    let recorded = |way: &str| {
        let file = folder.join(format!("{way}.cutap"));
        let mut record = Command::new(cutap());
        record.args(["record", "-q", "--sim", "--capture-range", "nvtx:inner", "-o"]).arg(&file).arg(&program).arg(way);
        let done = finish(&mut record);
        assert!(done.status.success(), "{done:?}");
        let shown = finish(Command::new(cutap()).args(["show", "--json"]).arg(&file));
        json_lines(&shown.stdout).filter(|line| line["name"] == "cuDeviceGetCount").count()
    };
    // The call in the range, and the one in which the next thread takes the place of the one that ended.
    assert_eq!(recorded("left_open"), 2);
    assert_eq!(recorded("open_at_fork"), 1);
}

/// Filters choose ranges by name, in the program and in readers; reports add them up.
#[test]
fn steps_and_filters() {
    let folder = scratch("ranges-steps");
    let Some(program) = build(&folder, "steps", "13.5", &[]) else { return };
    let file = folder.join("steps.cutap");
    let run = |words: &[&str]| {
        let done = finish(Command::new(cutap()).args(words).arg(&file));
        assert!(done.status.success(), "{words:?}: {done:?}");
        done.stdout
    };
    let record = |words: &[&str]| {
        let mut command = Command::new(cutap());
        let done = finish(command.args(["record", "-q", "--sim", "-o"]).arg(&file).args(words).arg("--").arg(&program));
        assert!(done.status.success(), "{done:?}");
    };
    record(&[]);
    let lines: Vec<Value> = json_lines(&run(&["report", "--by", "step", "--json"])).collect();
    let steps = lines.iter().find(|line| line["type"] == "steps").expect("steps");
    assert_eq!((&steps["name"], &steps["steps"]), (&Value::from("step *"), &Value::from(100)), "{steps:#}");
    assert_eq!((&steps["calls"]["median"], &steps["calls"]["max"]), (&Value::from(2), &Value::from(402)), "{steps:#}");
    let lines: Vec<Value> = json_lines(&run(&["report", "--by", "range", "--json"])).collect();
    let sums = |name: &str| {
        let line = lines.iter().find(|line| line["name"] == name).expect("a range");
        (line["count"].as_u64(), line["calls"].as_u64(), line["unfinished"].as_u64())
    };
    assert_eq!(sums("forward"), (Some(100), Some(100), Some(0)));
    assert_eq!(sums("in any thread"), (Some(100), Some(600), Some(0)));
    assert_eq!(sums("step 60"), (Some(1), Some(402), Some(0)));
    // A reader finds a range by its plain name.
    for filter in ["under:step 7", "under:nvtx:step 7", "under:nvtx:step 7@nvtx"] {
        let inside = run(&["show", "-e", filter]);
        assert!(inside.starts_with("range \"step 7\" {\n  range \"forward\" {\n    cuMemsetD8_v2("), "{inside}");
        assert_eq!(inside.lines().count(), 6, "{inside}");
    }
    assert_eq!(run(&["show", "-e", "forward"]).lines().count(), 100);
    assert_eq!(run(&["show", "-e", "nvtx:step ?"]).lines().count(), 9);
    let unknown = finish(Command::new(cutap()).args(["show", "-e", "backward"]).arg(&file));
    assert!(unknown.status.code() == Some(125) && unknown.stderr.contains("a range by nvtx:backward"), "{unknown:?}");
    // Ranges are no calls.
    assert!(!run(&["report"]).contains("step") && !run(&["report", "--slowest"]).contains("step"));
    record(&["-e", "nvtx:step *,cuMemFree"]);
    let all: Vec<Value> = json_lines(&run(&["show", "--json"])).filter(|line| line["type"] == "call").collect();
    assert!(all.iter().all(|call| call["name"] == "cuMemFree_v2" || call["layer"] == "nvtx"), "{all:#?}");
    assert_eq!(all.iter().filter(|call| call["layer"] == "nvtx").count(), 100);
}

/// `cutap check`: waits in ranges, and steps that differ in their calls.
#[test]
fn rules_on_ranges() {
    let folder = scratch("ranges-rules");
    let Some(program) = build(&folder, "steps", "13.5", &[]) else { return };
    let (file, rules) = (folder.join("steps.cutap"), folder.join("check.toml"));
    let done = finish(Command::new(cutap()).args(["record", "-q", "--sim", "-o"]).arg(&file).arg(&program));
    assert!(done.status.success(), "{done:?}");
    let check = |words: &[&str]| {
        let done = finish(Command::new(cutap()).arg("check").args(words).arg(&file));
        (done.status.code(), done.stdout)
    };
    let (code, text) = check(&["--no-sync-in", "step *"]);
    assert!(code == Some(1) && text.contains("cuCtxSynchronize"), "{code:?} {text}");
    assert_eq!(check(&["--no-sync-in", "forward"]).0, Some(0));
    let steady = |filter: &str, range: &str, within: &str| {
        let rule = format!("[[rule]]\nsteady = \"{filter}\"\nrange = \"{range}\"\nwithin = \"{within}\"\n");
        std::fs::write(&rules, rule).expect("a file of rules");
        check(&["--rules", &rules.display().to_string()])
    };
    assert_eq!(steady("cuMemset*", "step *", "0%").0, Some(0));
    let (code, text) = steady("cuMemAlloc*", "step *", "50%");
    assert!(code == Some(1) && text.contains("200 calls of cuMemAlloc* in step * at "), "{code:?} {text}");
    assert!(text.contains("the median of 100 ranges is 0 calls, 1 differ"), "{text}");
    assert_eq!(steady("cuMemset*", "backward", "0%").0, Some(125));
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
