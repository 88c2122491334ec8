//! Own versions of the programs that people post when they ask for such a tool (tests/programs/forum): the trace is
//! golden text, with its arguments. What differs from run to run goes: times, and addresses of the host.

use crate::real::{self, Runtime, linked, shared, wheel};
use cutap_e2e::{Finished, cutap, finish, out, scratch, sources};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Without a runtime's look-ups and questions at its start; those have separate tests.
pub const QUIET: &str = "!cuGetProcAddress*,!cuGetExportTable,!cuDeviceGet*,!cuDeviceTotalMem*";

/// Builds a program of `forum/`.
fn build(source: &str, name: &str, words: &[&str]) -> PathBuf {
    build_in("forum", source, name, words)
}

/// Builds a program of this folder.
pub fn build_in(folder: &str, source: &str, name: &str, words: &[&str]) -> PathBuf {
    let to = out().join(folder);
    fs::create_dir_all(&to).expect("the target folder is writable");
    let program = to.join(name);
    // Renamed into place: another test may be running it.
    let fresh = to.join(format!(".{name}.{:?}", std::thread::current().id()));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-Wall"]).arg(sources().join(folder).join(source)).arg("-o").arg(&fresh).args(words);
    let done = finish(gcc.args(["-lpthread", "-ldl", "-lrt"]));
    assert!(done.status.success(), "{gcc:?}\n{}", done.stderr);
    fs::rename(&fresh, &program).expect("a rename within one folder");
    program
}

/// With a runtime and its headers; the program is called as its source.
fn with_runtime(source: &str, runtime: Runtime) -> Option<PathBuf> {
    let (wheel, library) = (wheel("cudart", runtime.version)?, runtime.library()?);
    let stem = source.split('.').next().expect("split gives at least one part");
    let include = format!("-I{}", wheel.join("include").display());
    let rpath = format!("-Wl,-rpath,{}", wheel.join("lib").display());
    Some(build(source, stem, &[&include, library.to_str().expect("a path that is text"), &rpath]))
}

/// A run without cutap and one with it, which must not differ; what the trace says.
pub fn traced(command: &[&Path], preload: Option<&Path>, filter: &str) -> (Finished, String) {
    let folder = scratch("forum");
    let preload = preload.map(|p| p.display().to_string()).unwrap_or_default();
    let mut plain = Command::new(command[0]);
    let plain = finish(plain.args(&command[1..]).env("LD_LIBRARY_PATH", real::sim()).env("LD_PRELOAD", &preload));
    assert!(plain.status.success(), "{command:?} does not run without cutap: {plain:?}");
    let mut trace = Command::new(cutap());
    trace.args(["trace", "--sim", "-e", filter, "-o"]).arg(folder.join("trace")).arg("--").args(command);
    let traced = finish(trace.env("LD_PRELOAD", &preload));
    assert_eq!((plain.stdout, plain.status), (traced.stdout.clone(), traced.status), "{command:?}: {}", traced.stderr);
    (traced, fs::read_to_string(folder.join("trace")).expect("cutap writes the trace"))
}

/// Times and thread ids go, addresses of the host become `0x~`; those of the simulated device stay.
fn normal(text: &str) -> String {
    let lines = text.lines().filter(|l| !l.starts_with("cutap: "));
    let normal = |line| without_addresses(&without_leftovers(&without_early_version(without_time(without_ids(line)))));
    lines.map(|line| format!("{}\n", normal(line))).collect()
}

/// What the compiler's code calls at the very start may be printed before the runtime has told its version.
fn without_early_version(line: &str) -> String {
    match line.split_once("] __cuda").and_then(|(tag, rest)| Some((tag.split_once(", runtime ")?.0, rest))) {
        Some((tag, rest)) => format!("{tag}] __cuda{rest}"),
        None => line.to_owned(),
    }
}

/// A function without a description is shown with six words, of which some are not its own.
fn without_leftovers(line: &str) -> String {
    match (line.split_once('('), line.split_once(", ...)")) {
        (Some((name, _)), Some((_, rest))) => format!("{name}(...){rest}"),
        _ => line.to_owned(),
    }
}

fn without_ids(line: &str) -> &str {
    let ids = |s: &str| s.contains('/') && s.bytes().all(|b| b.is_ascii_digit() || b == b'/');
    line.split_once(' ').filter(|(first, _)| ids(first)).map_or(line, |(_, rest)| rest)
}

fn without_time(line: &str) -> &str {
    match line.rsplit_once(" <") {
        Some((rest, time)) if time.starts_with(|c: char| c.is_ascii_digit()) && time.ends_with('>') => rest,
        _ => line,
    }
}

fn without_addresses(line: &str) -> String {
    let mut text = String::new();
    for (n, part) in line.split("0x").enumerate() {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let host = n > 0 && digits == 12 && part.starts_with(['5', '6', '7']);
        let (sign, rest) = if host { ("0x~", &part[12..]) } else { (if n > 0 { "0x" } else { "" }, part) };
        text += sign;
        text += rest;
    }
    text
}

fn golden(name: &str, text: &str) {
    golden_in("forum", name, text);
}

fn golden_file(folder: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(folder).join(format!("{name}.txt"))
}

/// The text is what stands in that file of that folder.
pub fn golden_in(folder: &str, name: &str, text: &str) {
    let path = golden_file(folder, name);
    let seen = normal(text);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("the checkout is writable");
        fs::write(&path, &seen).expect("the checkout is writable");
    }
    let golden = fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; UPDATE_GOLDEN=1 writes it, then read it", path.display()));
    assert_eq!(seen, golden, "{name}: the trace is not the golden text; it was:\n{text}");
}

/// The trace of a program, which says `stdout`, is that golden text.
fn case(name: &str, program: &Path, filter: &str, stdout: &str) {
    case_with(name, program, None, filter, stdout);
}

/// The same under a hook library of the loader.
fn case_with(name: &str, program: &Path, preload: Option<&Path>, filter: &str, stdout: &str) {
    // A live trace writes the beginning of a call that is open for 50 ms. On a busy machine that is before
    // its runtime is known.
    let is_golden =
        |text: &str| fs::read_to_string(golden_file("forum", name)).is_ok_and(|golden| normal(text) == golden);
    let mut tries = (0..3).map(|_| traced(&[program], preload, filter));
    let first = tries.next().expect("three tries");
    let (run, text) =
        if is_golden(&first.1) { first } else { tries.find(|(_, text)| is_golden(text)).unwrap_or(first) };
    assert_eq!(run.stdout, stdout);
    golden(name, &text);
}

const RUNTIMES: [(&str, Runtime); 3] =
    [("static_12.9", linked("12.9")), ("shared_12.9", shared("12.9")), ("static_13.5", linked("13.5"))];

#[test]
fn vector_add() {
    for (name, runtime) in RUNTIMES {
        let Some(program) = with_runtime("vector_add.c", runtime) else { continue };
        let said = "[Vector addition of 50000 elements]\nTest not run: nothing executed the kernel\n";
        case(&format!("vector_add_{name}"), &program, QUIET, said);
    }
}

#[test]
fn functions_asked_of_get_proc_address() {
    let Some(program) = with_runtime("get_proc_address.c", linked("13.0")) else { return };
    let (run, text) = traced(&[&program], None, &format!("{QUIET},lookup"));
    assert_eq!(run.stdout, "there and back\n");
    // The runtime's own look-ups are before its first call.
    let own = text.find("[get_proc_address, runtime 13.0]").expect("the runtime's first call");
    golden("get_proc_address", &text[own..]);
}

#[test]
fn a_hook_on_malloc() {
    let hook = build("malloc_hook.c", "libmalloc_hook.so", &["-shared", "-fPIC", "-DHOOK"]);
    for (name, runtime) in [("shared", shared("12.9")), ("static", linked("12.9"))] {
        let Some(program) = with_runtime("malloc_hook.c", runtime) else { continue };
        let hooked: String = [("1048576", "0, memory"), ("256", "0, memory"), ("1152921504606846976", "2, nothing")]
            .map(|(bytes, end)| format!("before cudaMalloc of {bytes} bytes\nafter cudaMalloc: {end}\n"))
            .concat();
        // A runtime that is linked in does not ask the loader, so no hook sees it.
        let hooked = if runtime.shared { hooked } else { String::new() };
        case_with(&format!("malloc_hook_{name}"), &program, Some(&hook), QUIET, &format!("{hooked}done\n"));
    }
}

/// Whether this is a run with big downloads.
pub fn large(what: &str) -> bool {
    let large = env::var_os("CUTAP_LARGE").is_some_and(|v| v == "1");
    if !large {
        println!("skipped {what}: needs CUTAP_LARGE=1");
    }
    large
}

#[test]
fn cublas_create() {
    if !large("cublasCreate") {
        return;
    }
    let Some(wheel) = wheel("cublas", "13.0") else { return };
    let lib = wheel.join("lib");
    let (library, rpath) = (lib.join("libcublas.so.13"), format!("-Wl,-rpath,{}", lib.display()));
    let program = build("cublas_create.c", "cublas_create", &[library.to_str().expect("text"), &rpath]);
    let (run, text) = traced(&[&program], None, QUIET);
    assert_eq!(run.stdout, "cublas 130002\n");
    // Two runtimes put their things away at the end, in an order that their addresses give.
    let last = text.find("} cublasDestroy_v2").expect("the last call returns");
    let end = text[last..].find('\n').map_or(text.len(), |n| last + n);
    golden("cublas_create", &text[..end]);
}

/// Python with PyTorch: CUTAP_TORCH_PYTHON, else what wheels.py fetches; none in a run that is not large.
pub fn torch() -> Option<PathBuf> {
    if !large("PyTorch") {
        return None;
    }
    if let Some(named) = env::var_os("CUTAP_TORCH_PYTHON") {
        return Some(PathBuf::from(named));
    }
    // Not by `wheel`: this takes longer than any program may.
    let found = Command::new("python3").arg(sources().join("wheels.py")).args(["torch", "2.15"]).output();
    let found = found.expect("python3 runs");
    if found.status.code() == Some(3) {
        println!("skipped PyTorch: it is not in the cache and PyPI cannot be reached");
        return None;
    }
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    Some(Path::new(String::from_utf8_lossy(&found.stdout).trim()).join("python3"))
}

#[test]
fn a_tensor_on_the_device() {
    let Some(python) = torch() else { return };
    let script = sources().join("forum/torch_device.py");
    let filter = "cuDevicePrimaryCtxRetain,cuCtxSetCurrent,cudaMalloc,cudaMemcpyAsync,cudaStreamSynchronize,cuMemAlloc*,cuMemcpy*,cuStreamSynchronize";
    let (run, text) = traced(&[&python, &script], None, filter);
    assert_eq!(run.stdout, "[0.0, 1.0, 2.0, 3.0]\n");
    golden("torch_device", &text);
}
