//! Toolkit libraries of thousands of functions (tests/programs/toolkit): a recording is golden text, with its
//! arguments. The library is a stand-in with NVIDIA's SONAME, which checks what it is given; with CUTAP_LARGE=1
//! NVIDIA's own too, and the text is the same.

use crate::forum::{build_in, golden_in, large};
use crate::real::{self, shared, wheel};
use cutap_e2e::{cutap, finish, scratch, sources};
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "toolkit";

/// What a program is linked with so that it finds this library, and its neighbours, where they lie.
fn linked(libraries: &[PathBuf]) -> Vec<String> {
    let words = libraries.iter().map(|l| l.display().to_string());
    let folders = libraries.iter().filter_map(|l| l.parent()).map(|f| format!("-Wl,-rpath,{}", f.display()));
    words.chain(folders).collect()
}

/// The runtime that programs and stand-ins use: its library and a word for its headers.
fn runtime() -> Option<(PathBuf, String)> {
    let include = wheel("cudart", "12.9")?.join("include");
    Some((shared("12.9").library()?, format!("-I{}", include.display())))
}

fn build(source: &str, name: &str, words: &[String]) -> PathBuf {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    build_in(FOLDER, source, name, &words)
}

/// A library of ours in the place of NVIDIA's.
fn stand_in(source: &str, soname: &str, defined: &str) -> Option<PathBuf> {
    let (runtime, include) = runtime()?;
    let mut words = vec![include, format!("-D{defined}"), format!("-Wl,-soname,{soname}")];
    words.extend(["-shared", "-fPIC", "-Wno-unused-function"].map(str::to_owned));
    words.extend(linked(&[runtime]));
    Some(build(source, soname, &words))
}

/// Records the program with these libraries: it says what it says without cutap, and the calls are the golden text.
fn recorded(source: &str, name: &str, libraries: &[PathBuf], filter: &str, stdout: &str) {
    let Some((runtime, include)) = runtime() else { return };
    let mut words = vec![include];
    words.extend(linked(&[libraries, &[runtime]].concat()));
    let program = build(source, name, &words);
    let plain = finish(Command::new(&program).env("LD_LIBRARY_PATH", real::sim()));
    assert_eq!(plain.stdout, stdout, "{plain:?}");
    let folder = scratch(FOLDER);
    let file = folder.join("calls");
    let mut record = Command::new(cutap());
    record.args(["record", "--sim", "-e", filter, "-o"]).arg(&file).arg("--").arg(&program);
    let run = finish(&mut record);
    assert_eq!((run.stdout, run.status), (plain.stdout, plain.status), "{}", run.stderr);
    let shown = finish(Command::new(cutap()).arg("show").arg(&file));
    assert!(shown.status.success(), "{}", shown.stderr);
    golden_in(FOLDER, Path::new(source).file_stem().and_then(|s| s.to_str()).expect("text"), &folded(&shown.stdout));
}

/// cuBLASLt, cuSPARSE and cuDNN of TensorFlow's packages, with their own headers.
#[test]
fn descriptors_as_nvidia_made_them() {
    if !large("cuBLASLt, cuSPARSE and cuDNN as NVIDIA makes them") {
        return;
    }
    let script = sources().join("../../crates/libcuda/tests/frameworks.py");
    // Not by `finish`: fetching them takes longer than any program may.
    let found = Command::new("python3").arg(script).args(["folder", "12"]).output().expect("python3 runs");
    if found.status.code() == Some(3) {
        return println!("skipped cuBLASLt, cuSPARSE and cuDNN: they are not in the cache and PyPI cannot be reached");
    }
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let packages = Path::new(String::from_utf8_lossy(&found.stdout).trim()).join("nvidia");
    let folder = |name: &str, inside: &str| packages.join(name).join(inside).display().to_string();
    let headers = ["cublas", "cusparse", "cudnn", "cuda_runtime", "cuda_nvcc"];
    let mut words: Vec<String> =
        headers.iter().flat_map(|name| ["-isystem".to_owned(), folder(name, "include")]).collect();
    words.extend(linked(&[
        packages.join("cublas/lib/libcublasLt.so.12"),
        packages.join("cusparse/lib/libcusparse.so.12"),
        packages.join("cudnn/lib/libcudnn.so.9"),
        packages.join("cuda_runtime/lib/libcudart.so.12"),
    ]));
    words.push(format!("-Wl,-rpath-link,{}", folder("nvjitlink", "lib")));
    let program = build("made_by_nvidia.c", "made_by_nvidia", &words);
    let run_folder = scratch(FOLDER);
    let file = run_folder.join("calls");
    let mut record = Command::new(cutap());
    record.args(["record", "--sim", "-e", "cublasLt*,cusparse*,cudnn*,cudaMalloc", "-o"]).arg(&file).arg("--");
    let run = finish(record.arg(&program));
    assert_eq!((run.stdout.as_str(), run.status.success()), ("0 0 0 0\n", true), "{}", run.stderr);
    let shown = finish(Command::new(cutap()).arg("show").arg(&file));
    // What cuDNN's parts call of each other is another matter.
    let outer: Vec<&str> = shown.stdout.lines().filter(|l| !l.starts_with("  ")).collect();
    // Each of its calls makes others, so they always have two lines; how many the others have is a matter of time.
    let at = outer.iter().position(|l| l.starts_with("[libcudnn.so.9]")).expect("cuDNN is called");
    let text = [folded(&outer[..at].join("\n")), outer[at..].join("\n")].join("\n");
    golden_in(FOLDER, "made_by_nvidia", &text);
}

/// A call that took so long that its beginning has a separate line, and that made no others, as one line: how long it
/// takes is a matter of the machine.
fn folded(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let one = lines.last().and_then(|opening| one_line(opening, line));
        match (one, lines.last_mut()) {
            (Some(one), Some(last)) => *last = one,
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

/// `f(p=0x1) {` and `} f(p=&5) = 0`; one output at most.
fn one_line(opening: &str, closing: &str) -> Option<String> {
    let (head, rest) = (opening.strip_suffix(" {")?, closing.strip_prefix("} ")?);
    let (call, result) = rest.split_once(" = ")?;
    let Some((name, value)) = call.strip_suffix(')').and_then(|c| c.split_once('(')?.1.split_once('=')) else {
        return Some(format!("{head} = {result}"));
    };
    let (before, after) = head.split_once(&format!("{name}="))?;
    let end = after.find([',', ')'])?;
    Some(format!("{before}{name}={value}{} = {result}", &after[end..]))
}

#[test]
fn long_calls_are_folded() {
    let text =
        "[l] f(a=1, p=0x7, b={x=1}) {\n} f(p=&5) = 0 <60ms>\n[l] g(a=1) {\n  h() = 0\n} g = 0\n[l] k(a=1) {\n} k = 0";
    let expected = "[l] f(a=1, p=&5, b={x=1}) = 0 <60ms>\n[l] g(a=1) {\n  h() = 0\n} g = 0\n[l] k(a=1) = 0";
    assert_eq!(folded(text), expected);
}

const NPP: [(&str, &str); 6] =
    [("ial", "IAL"), ("idei", "IDEI"), ("ig", "IG"), ("ist", "IST"), ("s", "S"), ("isu", "ISU")];
const NPP_CALLS: &str = "npp*,cudaMalloc,cudaStreamCreate";
const NPP_SAYS: &str = "0 -8 0 0 0 0 0 0 1 512\n";

#[test]
fn npp() {
    let library = |(name, defined): &(&str, &str)| stand_in("npp_stand_in.c", &format!("libnpp{name}.so.12"), defined);
    let Some(libraries) = NPP.iter().map(library).collect::<Option<Vec<_>>>() else { return };
    recorded("npp.c", "npp", &libraries, NPP_CALLS, NPP_SAYS);
}

#[test]
fn npp_as_nvidia_made_it() {
    if !large("NPP") {
        return;
    }
    let Some(wheel) = wheel("npp", "12.4") else { return };
    let libraries = NPP.map(|(name, _)| wheel.join(format!("lib/libnpp{name}.so.12")));
    let all = [&libraries[..], &[wheel.join("lib/libnppc.so.12")]].concat();
    recorded("npp.c", "npp_real", &all, NPP_CALLS, NPP_SAYS);
}

#[test]
fn nvshmem() {
    let Some(library) = stand_in("nvshmem_stand_in.c", "libnvshmem_host.so.3", "HOST") else { return };
    recorded("nvshmem.c", "nvshmem", &[library], "nvshmem*,cudaMalloc,cudaStreamCreate", "0 2 0 0\n");
}

/// Scalars in memory of a device are addresses, of the host values; attributes are read in as many bytes as are given;
/// memory for each rank is as long as the communicator has ranks. The filter names the libraries as `cutap api --list`
/// does.
#[test]
fn scalars_and_attributes() {
    let library = |(name, defined): (&str, &str)| stand_in("scalars_stand_in.c", name, defined);
    let all = [
        ("libcublas.so.12", "CUBLAS"),
        ("libcublasLt.so.12", "CUBLASLT"),
        ("libcusparse.so.12", "CUSPARSE"),
        ("libnccl.so.2", "NCCL"),
        ("libnvJitLink.so.13", "NVJITLINK"),
    ];
    let Some(libraries) = all.map(library).into_iter().collect::<Option<Vec<_>>>() else { return };
    recorded("scalars.c", "scalars", &libraries, "cublas,cusparse,nccl,nvjitlink,cuMemAlloc*", "done\n");
}

#[test]
fn a_struct_of_an_older_runtime() {
    recorded("properties.c", "properties", &[], "cudaGetDeviceProperties", "0 728 NVIDIA H200 32 9.0 0\n");
}
