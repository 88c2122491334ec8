//! A program of several threads that uses a library which stands on a separate runtime, and the driver: each table,
//! the tree, the callers and the leaks of its report name the library's calls above all that happens below them.

use crate::real::{build, linked};
use cutap_e2e::{Scratch, cutap, finish, json_lines, scratch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program `blas` with its library; none where there is no runtime for that.
pub fn program() -> Option<PathBuf> {
    let archive = linked("12.9").library()?.display().to_string();
    let words = ["-shared", "-fPIC", "-Wl,-soname,libcublas.so.12", "-Wl,--exclude-libs,ALL", &archive];
    let library = build("stand_in_blas", "libcublas.so.12", &words);
    let folder = format!("-Wl,-rpath,{}", library.parent().expect("a file in a folder").display());
    Some(build("blas", "blas", &[library.to_str().expect("text"), &folder]))
}

fn recorded() -> Option<Scratch> {
    let program = program()?;
    let folder = scratch("layered");
    let mut command = Command::new(cutap());
    let run = finish(command.args(["record", "--sim", "-o"]).arg(folder.join("run.cutap")).arg("--").arg(program));
    assert_eq!((&*run.stdout, run.status.code()), ("done\n", Some(0)), "{}", run.stderr);
    Some(folder)
}

/// The lines of such a report as JSON, without its end.
fn report(folder: &Scratch, words: &[&str]) -> Vec<Value> {
    let run = finish(Command::new(cutap()).arg("report").args(words).arg("--json").arg(folder.join("run.cutap")));
    assert!(run.status.success() && run.stderr.is_empty(), "{words:?}: {}", run.stderr);
    let lines = json_lines(&run.stdout);
    lines.filter(|l: &Value| l["type"] != "end").collect()
}

/// A field of each line, with the number of calls or things.
fn rows(lines: &[Value], field: &str) -> Vec<(String, u64)> {
    let number = |l: &Value| l["calls"].as_u64().or(l["count"].as_u64()).expect("a number");
    let text = |l: &Value| l[field].as_str().map_or_else(|| l[field].to_string(), str::to_owned);
    let mut rows: Vec<_> = lines.iter().map(|l| (text(l), number(l))).collect();
    rows.sort();
    rows
}

fn is(found: Vec<(String, u64)>, expected: &[(&str, u64)]) {
    let mut expected: Vec<_> = expected.iter().map(|(text, n)| ((*text).to_owned(), *n)).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn tables_by_kernel_thread_library_and_instance() {
    let Some(folder) = recorded() else { return };
    is(rows(&report(&folder, &["--by", "kernel"]), "name"), &[("scale(float*, int, float)", 12)]);
    is(rows(&report(&folder, &["--by", "library", "-e", "library"]), "name"), &[("libcublas.so.12", 9)]);
    is(
        rows(&report(&folder, &["--by", "layer", "-e", "cublas*,cudaLaunchKernel,cuLaunchKernel"]), "name"),
        &[("driver", 12), ("library", 9), ("runtime", 12)],
    );
    let threads = report(&folder, &["--by", "thread", "-e", "cublas*"]);
    let (mut calls, pids): (Vec<_>, Vec<_>) =
        threads.iter().map(|l| (l["calls"].as_u64().unwrap(), l["pid"] == l["tid"])).unzip();
    let main = calls[pids.iter().position(|main| *main).expect("the main thread")];
    calls.sort();
    // One of the others has made 2, one 3; the main thread one, and made and ended handles.
    assert_eq!((main, calls), (4, vec![2, 3, 4]), "{threads:?}");
    let instances = report(&folder, &["--by", "instance", "-e", "cudaLaunchKernel"]);
    assert_eq!(instances.len(), 1, "{instances:?}");
    let name = instances[0]["name"].as_str().unwrap();
    assert!(name.starts_with("runtime 12.9 in libcublas.so.12 (linked in), process "), "{name}");
    // The library's own functions are not those of the runtime in it.
    is(rows(&report(&folder, &["--by", "instance", "-e", "library"]), "name"), &[("(no runtime)", 9)]);
}

#[test]
fn the_tree_and_the_callers_of_an_allocation() {
    let Some(folder) = recorded() else { return };
    let runtime = "cudaMalloc [libcublas.so.12, runtime 12.9]";
    let callers = report(&folder, &["--callers", "cuMemAlloc"]);
    is(
        rows(&callers, "path"),
        &[
            (r#"["cuMemAlloc_v2"]"#, 4),
            (&format!(r#"["cuMemAlloc_v2","{runtime}"]"#), 2),
            (&format!(r#"["cuMemAlloc_v2","{runtime}","cublasCreate_v2 [libcublas.so.12]"]"#), 2),
            (&format!(r#"["cuMemAlloc_v2","{runtime}","cublasCreate_v2 [libcublas.so.12]","code of blas"]"#), 2),
            (r#"["cuMemAlloc_v2","code of blas"]"#, 2),
        ],
    );
    // All of the time that the runtime's has is the library call's; the program's own calls have the rest.
    let of_call = |line: &&Value| !line["path"].to_string().contains("code of");
    let time = |depth: u64| {
        let line = callers.iter().filter(of_call).find(|line| line["depth"] == depth);
        line.unwrap()["total_ns"].as_u64().unwrap()
    };
    assert!(time(0) > time(1) && time(1) == time(2) && time(2) > 0, "{callers:?}");
    let tree = report(&folder, &["--tree", "-e", "cublasCreate_v2,cudaMalloc,cuMemAlloc_v2"]);
    is(
        rows(&tree, "path"),
        &[
            (r#"["cuMemAlloc_v2"]"#, 2),
            (r#"["cublasCreate_v2 [libcublas.so.12]"]"#, 2),
            (&format!(r#"["cublasCreate_v2 [libcublas.so.12]","{runtime}"]"#), 2),
            (&format!(r#"["cublasCreate_v2 [libcublas.so.12]","{runtime}","cuMemAlloc_v2"]"#), 2),
        ],
    );
    // Whether the runtime's launch is wanted is known only when it ends: it is not in the way of the driver's, as if
    // its name had told.
    let launches = report(&folder, &["--tree", "-e", "cudaLaunchKernel[kernel=none*],cuLaunchKernel"]);
    is(rows(&launches, "path"), &[(r#"["cuLaunchKernel"]"#, 12)]);
    let ns = |depth: u64, of: &str| {
        let line = tree.iter().find(|l| l["depth"] == depth && l["path"][0] != "cuMemAlloc_v2");
        line.unwrap_or_else(|| panic!("{tree:?}"))[of].as_u64().expect("a time")
    };
    assert_eq!(ns(0, "total_ns"), ns(0, "self_ns") + ns(1, "total_ns"), "{tree:?}");
    assert_eq!(ns(1, "total_ns"), ns(1, "self_ns") + ns(2, "total_ns"), "{tree:?}");
}

/// Of each kind one is left, and the call that made it is told with the calls around it.
#[test]
fn leaks_of_every_kind() {
    let Some(folder) = recorded() else { return };
    let leaks = report(&folder, &["--leaks"]);
    let mut told: Vec<String> =
        leaks.iter().map(|l| format!("{} {} {} {}", l["count"], l["kind"], l["bytes"], l["path"])).collect();
    told.sort();
    let create = "cublasCreate_v2 [libcublas.so.12]";
    let runtime = "[libcublas.so.12, runtime 12.9]";
    assert_eq!(
        told,
        [
            format!(r#"1 "cublas" 0 ["{create}"]"#),
            r#"1 "device memory" 4096 ["cuMemAlloc_v2"]"#.to_owned(),
            format!(r#"1 "device memory" 4194304 ["{create}","cudaMalloc {runtime}","cuMemAlloc_v2"]"#),
            r#"1 "event" 0 ["cuEventCreate"]"#.to_owned(),
            format!(r#"1 "library" 0 ["{create}","cudaLibraryLoadData {runtime}","cuLibraryLoadData"]"#),
            r#"1 "module" 0 ["cuModuleLoadData"]"#.to_owned(),
            r#"1 "stream" 0 ["cuStreamCreate"]"#.to_owned(),
        ]
    );
}

/// What made the kernel is written over, or was dropped; its launches have its name.
#[test]
fn names_outlive_the_calls_that_told_them() {
    let Some(program) = program() else { return };
    let folder = scratch("names");
    let (file, run) = (folder.join("run.cutap"), folder.join("run"));
    let shown = |from: &Path| {
        let show = finish(Command::new(cutap()).args(["show", "--json"]).arg(from));
        let lines: Vec<Value> = json_lines(&show.stdout).collect();
        let launches = lines.iter().filter(|l| l["name"] == "cuLaunchKernel").collect::<Vec<_>>();
        let named = launches.iter().filter(|l| l["kernel"] == "scale(float*, int, float)").count();
        let made = lines.iter().filter(|l| l["name"] == "cublasCreate_v2").count();
        let end = lines.last().expect("an end").clone();
        (launches.len(), named, made, end)
    };
    // The handle was made 30,000 calls ago, and 64 KiB hold 2,000.
    let mut command = Command::new(cutap());
    command.args(["record", "--sim", "--flight-recorder", "64K", "-o"]).arg(&file).arg("--").arg(&program);
    let done = finish(command.args(["0", "30000"]));
    assert_eq!(done.stdout, "done\n", "{}", done.stderr);
    let (launches, named, made, end) = shown(&file);
    assert_eq!((launches, named, end["nameless"].as_u64()), (12, 12, Some(0)), "{end}");
    assert!(made == 1 && end["overwritten"].as_u64() > Some(20_000), "{end}");
    // The main thread's ring of 4 MiB is full, and nobody empties it, before the kernel is made: only the other
    // threads' launches fit.
    let script = r#"eval "$("$0" env --sim --lossy -o "$1")"; exec "$2" 300000"#;
    let done = finish(Command::new("sh").args(["-c", script]).arg(cutap()).args([&run, &program]));
    assert_eq!(done.stdout, "done\n", "{}", done.stderr);
    let (launches, named, made, end) = shown(&run);
    assert_eq!((launches, named, made, end["nameless"].as_u64()), (10, 10, 0, Some(0)), "{end}");
}
