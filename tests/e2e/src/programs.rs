//! Builds the fixtures and the programs with gcc, once, and again when a source has changed.
//!
//! How a source is built stands in it, in lines `//: exe NAME FLAGS` and `//: lib NAME FLAGS`; there is no list here.
//! Everything lands in one flat folder and finds its neighbours by `$ORIGIN`. Outputs are renamed into place, so that
//! several test processes may build at the same time. This file must never know a case by name.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{fs, process};

/// The folder `tests/programs`.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../programs")
        .canonicalize()
        .expect("tests/programs is part of the checkout")
}

/// The sources of the programs, in one folder for each section of what cutap promises.
fn program_sources() -> Vec<PathBuf> {
    ["routes", "calls", "stacks"].iter().flat_map(|section| files(&sources().join(section))).collect()
}

/// The Python program of that name.
pub(crate) fn script(name: &str) -> PathBuf {
    let all = program_sources();
    all.into_iter()
        .find(|p| p.file_name().is_some_and(|f| f == name))
        .unwrap_or_else(|| panic!("no {name} in tests/programs"))
}

/// The folder with everything built: `e2e` in cargo's target folder.
pub fn out() -> &'static Path {
    static OUT: OnceLock<PathBuf> = OnceLock::new();
    OUT.get_or_init(|| {
        let test = std::env::current_exe().expect("a test knows its own path");
        // target/debug/deps/routes-0123456789abcdef
        let out = test.ancestors().nth(3).expect("tests run from cargo's target folder").join("e2e");
        fs::create_dir_all(&out).unwrap_or_else(|e| panic!("cannot make {}: {e}", out.display()));
        build(&out, &|compiler| Command::new(compiler), &[]);
        out
    })
}

/// The names of all programs (not of the libraries), sorted: what `//: exe` lines declare, and the Python programs.
pub fn programs() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for source in program_sources() {
        match source.extension().and_then(|e| e.to_str()) {
            Some("py") => all.push(source.file_name().unwrap().to_string_lossy().into_owned()),
            _ => all.extend(targets(&source).into_iter().filter(|t| t.kind == "exe").map(|t| t.name)),
        }
    }
    all.sort();
    all
}

/// Programs that need arguments, or somebody who ends them, or whose words are numbers.
pub const NOT_ALONE: &[&str] = &[
    "gpu_steps",
    "gpu_work",
    "hang_kinds",
    "profiler_later",
    "until_killed",
    "clones",
    "clone_waits",
    "children",
    "many_rings",
    "moments",
    "without_ring",
    "outlives",
    "footprint",
    "live_threads",
    "filters",
    "filters_that_lie",
    "vfork_filters",
    "bad_arguments",
    "real_time",
];

struct Target {
    kind: String,
    name: String,
    flags: Vec<String>,
}

fn targets(source: &Path) -> Vec<Target> {
    let text = read(source);
    let lines = text.lines().filter_map(|line| line.strip_prefix("//: "));
    lines
        .map(|line| {
            let mut words = line.split_whitespace().map(|w| w.replace("$SRC", sources().to_str().unwrap()));
            let (Some(kind), Some(name)) = (words.next(), words.next()) else {
                panic!("{}: a line `//:` needs a kind and a name", source.display())
            };
            Target { kind, name, flags: words.collect() }
        })
        .collect()
}

/// Builds all into another folder with another system's compilers, and with libraries that this system has no need of.
pub fn build(out: &Path, compiler: &dyn Fn(&str) -> Command, libraries: &[&str]) {
    let fixtures = files(&sources().join("fixtures"));
    let shared = hash(&fixtures.iter().map(|f| read(f)).collect::<Vec<_>>());
    // Libraries that others are linked with come first: a source names what it needs, the order here follows it.
    let first = ["count", "cuda", "cudart", "cublas"];
    let rank = |p: &PathBuf| first.iter().position(|f| p.file_stem().is_some_and(|s| s == *f)).unwrap_or(first.len());
    let mut order = fixtures.clone();
    order.sort_by_key(|p| rank(p));
    order.extend(program_sources());
    for source in order {
        let wanted = hash(&(read(&source), shared, include_str!("programs.rs"))).to_string();
        let stamp = out.join(format!(".{}.stamp", source.file_name().unwrap().to_string_lossy()));
        if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
            continue;
        }
        for target in targets(&source) {
            let gcc = compiler(if source.extension().is_some_and(|e| e == "cpp") { "g++" } else { "gcc" });
            compile(gcc, out, &source, &target, libraries);
        }
        fs::write(&stamp, wanted).expect("the target folder is writable");
    }
}

fn compile(mut gcc: Command, out: &Path, source: &Path, target: &Target, libraries: &[&str]) {
    let cpp = source.extension().is_some_and(|e| e == "cpp");
    let temporary = out.join(format!(".{}.{}", target.name, process::id()));
    gcc.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", if cpp { "-std=gnu++17" } else { "-std=gnu17" }]);
    gcc.arg(format!("-DNAME=\"{}\"", target.name)).arg("-I").arg(sources().join("fixtures"));
    if target.kind == "lib" {
        gcc.args(["-fPIC", "-shared", &format!("-Wl,-soname,{}", target.name)]);
    }
    gcc.arg("-o").arg(&temporary).arg(source).arg("-L").arg(out).args(["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN"]);
    gcc.args(&target.flags).args(libraries);
    if target.kind == "exe" {
        gcc.arg("-l:libfixture.so"); // stays loaded while other libraries come and go
    }
    let done = gcc.output().unwrap_or_else(|e| panic!("the tests need gcc and g++ (apt install build-essential): {e}"));
    assert!(done.status.success(), "{gcc:?}\n{}", String::from_utf8_lossy(&done.stderr));
    fs::rename(&temporary, out.join(&target.name)).expect("a rename within one folder");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.is_file() && p.extension().is_some_and(|e| e != "md"));
    all.sort();
    all
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
