//! NVIDIA's real runtimes: programs of `tests/programs/runtimes` built against each, run plain and traced on the
//! simulated driver.
//!
//! The programs count their own calls (cudart.h writes them to the file CALLS), so a trace is compared with what was
//! really called. Wheels come from wheels.py's cache; a runtime that cannot be had is skipped with a printed reason,
//! never silently.

use cutap_e2e::{Counts, Finished, Scratch, cutap, finish, json_lines, out, scratch, sources};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{env, fs};

/// One version of the runtime, linked in or shared.
#[derive(Clone, Copy)]
pub struct Runtime {
    pub version: &'static str,
    pub shared: bool,
}

pub const fn linked(version: &'static str) -> Runtime {
    Runtime { version, shared: false }
}

pub const fn shared(version: &'static str) -> Runtime {
    Runtime { version, shared: true }
}

impl Runtime {
    /// Its library; none if the wheel is not here and cannot be fetched, or is too large for a usual run.
    pub fn library(self) -> Option<PathBuf> {
        if self.shared {
            return shared_library(self.version);
        }
        let what = if self.version == "11.8" { "debian" } else { "cudart" };
        if what == "debian" && env::var_os("CUTAP_LARGE").is_none_or(|v| v != "1") {
            println!("skipped static 11.8: needs CUTAP_LARGE=1");
            return None;
        }
        Some(wheel(what, self.version)?.join("lib/libcudart_static.a"))
    }

    /// What a trace calls the object that it lives in.
    pub fn object(self, program: &Path) -> String {
        match self.library() {
            Some(library) if self.shared => name(&library),
            _ => name(program),
        }
    }

    pub fn at_least(self, major: u32, minor: u32) -> bool {
        let number = |s: &str| s.parse::<u32>().expect("a version is two numbers");
        let (a, b) = self.version.split_once('.').expect("a version is two numbers");
        (number(a), number(b)) >= (major, minor)
    }
}

/// The folder of an unpacked wheel; asked once, reported each time that it is missing.
pub fn wheel(what: &'static str, version: &'static str) -> Option<PathBuf> {
    static KNOWN: Mutex<BTreeMap<(&str, &str), Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = known.entry((what, version)).or_insert_with(|| {
        let found = finish(Command::new("python3").arg(sources().join("wheels.py")).args([what, version]));
        let expected = matches!(found.status.code(), Some(0 | 3)); // 3: cannot be fetched
        assert!(expected, "wheels.py {what} {version}: {}", found.stderr);
        found.status.success().then(|| PathBuf::from(found.stdout.trim()))
    });
    if folder.is_none() {
        println!("skipped {what} {version}: its wheel is not in the cache and PyPI cannot be reached");
    }
    folder.clone()
}

pub fn shared_library(version: &'static str) -> Option<PathBuf> {
    let lib = wheel("cudart", version)?.join("lib");
    let mut files = fs::read_dir(&lib).expect("a wheel has a folder lib").map(|e| e.expect("readable").path());
    Some(files.find(|p| name(p).starts_with("libcudart.so.")).unwrap_or_else(|| panic!("no libcudart in {lib:?}")))
}

pub fn name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

/// Builds `SOURCE.c` with a runtime and these definitions; none if there is no such runtime here.
pub fn program(source: &str, runtime: Runtime, defined: &[&str]) -> Option<PathBuf> {
    let library = runtime.library()?;
    let kind = if runtime.shared { "shared" } else { "static" };
    let name = format!("{source}{}-{kind}-{}", defined.concat(), runtime.version);
    let rpath = format!("-Wl,-rpath,{}", library.parent().expect("a file in a folder").display());
    let words: Vec<String> =
        defined.iter().map(|d| format!("-D{d}")).chain([library.display().to_string(), rpath]).collect();
    Some(build(source, &name, &words))
}

/// Builds `SOURCE.c` as `NAME` in a folder of these tests; renamed into place, since tests run side by side.
pub fn build(source: &str, name: &str, words: &[impl AsRef<OsStr>]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = out().join("real");
    fs::create_dir_all(&folder).expect("the target folder is writable");
    let temporary = folder.join(format!(".{name}.{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let mut gcc = Command::new("gcc");
    gcc.args(["-w", "-O1"]).arg(sources().join(format!("runtimes/{source}.c"))).arg("-o").arg(&temporary);
    let done = finish(gcc.args(words).args(["-lpthread", "-ldl", "-lrt"]));
    assert!(done.status.success(), "{gcc:?}\n{}", done.stderr);
    let place = folder.join(name);
    fs::rename(&temporary, &place).expect("a rename within one folder");
    place
}

/// The folder of the simulated driver that cutap carries, as `cutap env` names it.
pub fn sim() -> &'static str {
    static SIM: OnceLock<String> = OnceLock::new();
    SIM.get_or_init(|| {
        let folder = scratch("sim");
        let script = r#"eval "$("$0" env --sim -o "$1")"; unset LD_PRELOAD; echo "${LD_LIBRARY_PATH%%:*}""#;
        let said = finish(Command::new("sh").args(["-c", script]).arg(cutap()).arg(folder.join("run")));
        let path = said.stdout.trim().to_owned();
        assert!(Path::new(&path).join("libcuda.so.1").is_file(), "{said:?}");
        path
    })
}

/// A program's run under cutap; without cutap it was the same.
pub struct Run {
    /// What the trace says, line by line: objects with `--json`.
    pub text: String,
    /// The calls that the program says it made.
    pub real: Counts,
    /// The folder of this run.
    pub folder: Scratch,
}

/// Runs it plain and traced; `$F` in words means the run's folder.
pub fn run(program: &Path, arguments: &[&str], flags: &[&str]) -> Run {
    let folder = scratch("real");
    let beside = program.parent().expect("a file in a folder").display().to_string();
    let mut plain = Command::new(program);
    plain.args(arguments).env("LD_LIBRARY_PATH", format!("{}:{beside}", sim()));
    let plain = finish(plain.current_dir(&*folder).env("TABLES", folder.join("tables-plain")));
    assert!(plain.status.success(), "{program:?} does not run without cutap: {plain:?}");
    let place = folder.display().to_string();
    let mut traced = Command::new(cutap());
    traced.arg("trace").arg("--sim").args(flags.iter().map(|f| f.replace("$F", &place)));
    traced.arg("-o").arg(folder.join("trace")).arg("--").arg(program).args(arguments);
    traced.env("LD_LIBRARY_PATH", &beside).env("CALLS", folder.join("calls")).env("TABLES", folder.join("tables"));
    traced.env("CUTAP_SIM_HIDDEN", folder.join("hidden"));
    let traced = finish(traced.current_dir(&*folder));
    same(program, &plain, &traced);
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let count = |line: &str| {
        let (name, calls) = line.split_once(' ').expect("a name and a number");
        (name.to_owned(), calls.parse().expect("a number"))
    };
    let real = read("calls").lines().map(count).collect();
    Run { text: read("trace"), real, folder }
}

fn same(program: &Path, plain: &Finished, traced: &Finished) {
    assert_eq!(plain.stdout, traced.stdout, "{program:?}: another output; its stderr was:\n{}", traced.stderr);
    let said: String = traced.stderr.lines().filter(|l| !l.starts_with("cutap: ")).map(|l| format!("{l}\n")).collect();
    assert_eq!(plain.stderr, said, "{program:?}: another standard error");
    let end = |f: &Finished| (f.status.code(), f.status.signal());
    assert_eq!(end(plain), end(traced), "{program:?}: another end; its stderr was:\n{}", traced.stderr);
}

impl Run {
    /// The lines of that type.
    pub fn objects(&self, kind: &str) -> Vec<Value> {
        json_lines(&self.text).filter(|o| o["type"] == kind).collect()
    }

    /// The calls of a layer.
    pub fn calls(&self, layer: &str) -> Vec<Value> {
        let mut calls = self.objects("call");
        calls.retain(|c| c["layer"] == layer);
        calls
    }

    /// How often each driver function was called.
    pub fn driver(&self) -> Counts {
        tally(&self.calls("driver"), |c| text(c, "name").to_owned())
    }

    /// Instances as `library version kind`, in the order in which they made themselves known.
    pub fn instances(&self) -> Vec<String> {
        let kind = |i: &Value| if i["shared"] == true { "shared" } else { "linked" };
        self.objects("instance")
            .iter()
            .map(|i| format!("{} {} {}", text(i, "library"), text(i, "runtime"), kind(i)))
            .collect()
    }

    /// How often a reason with these words is counted at the end.
    pub fn counted(&self, words: &str) -> u64 {
        let end = self.objects("end").pop().unwrap_or_else(|| panic!("no end line:\n{}", self.text));
        let counts = end["counts"].as_array().expect("a list").iter();
        counts.filter(|c| text(c, "text").contains(words)).map(|c| c["count"].as_u64().expect("a number")).sum()
    }
}

pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_else(|| panic!("no text {field} in {object}"))
}

pub fn tally(calls: &[Value], key: impl Fn(&Value) -> String) -> Counts {
    calls.iter().fold(Counts::new(), |mut counts, call| {
        *counts.entry(key(call)).or_default() += 1;
        counts
    })
}
