//! Every public function of a runtime and every export of the driver, called once by a generated program
//! (tests/programs/every): each appears in the trace by its own name, exactly once, with its
//! arguments by name and type.

use crate::real::{self, Run, Runtime, linked, run, shared, tally, text};
use cutap_e2e::{Counts, finish, out, sources};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Public functions of each version: those that its own table of callbacks names, the same in both kinds.
const RUNTIMES: [(&str, usize); 4] = [("11.8", 382), ("12.9", 420), ("13.0", 406), ("13.5", 442)];
/// The one of them that has no callback: in a shared runtime it is seen as a binding.
const NO_CALLBACK: &str = "cudaGetExportTable";
const LOOK_UP: &str = "cuGetProcAddress_v2";

/// The generated source; none, and said, where Python is too old to read the registry.
fn source(name: &str, words: &[&str]) -> Option<PathBuf> {
    let mut python = Command::new("python3");
    python.arg(sources().join("every/generate.py")).args(words);
    let done = finish(&mut python);
    if done.stderr.contains("No module named 'tomllib'") {
        println!("skipped {name}: needs Python 3.11 or newer");
        return None;
    }
    assert!(done.status.success(), "{words:?}: {}", done.stderr);
    let folder = out().join("real");
    fs::create_dir_all(&folder).expect("the target folder is writable");
    let path = folder.join(format!("{name}.c"));
    fs::write(&path, done.stdout).expect("the target folder is writable");
    Some(path)
}

fn compile(source: &Path, name: &str, words: &[&str]) -> PathBuf {
    let place = source.with_file_name(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-w", "-O1"]).arg(source).arg("-o").arg(&place).args(words).args(["-lpthread", "-ldl", "-lrt"]);
    let done = finish(&mut gcc);
    assert!(done.status.success(), "{gcc:?}\n{}", done.stderr);
    place
}

/// Traced; all came back, and the program got to its end.
fn traced(program: &Path) -> Run {
    let run = run(program, &[], &["--json"]);
    for layer in ["runtime", "driver"] {
        for call in run.calls(layer) {
            assert_eq!(text(&call, "state"), "done", "{call}");
        }
    }
    run
}

fn names(run: &Run, layer: &str) -> Counts {
    tally(&run.calls(layer), |c| text(c, "name").to_owned())
}

/// Those that differ, which is shorter to read than both.
fn differences(seen: &Counts, real: &Counts) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = seen.keys().chain(real.keys()).collect();
    all.into_iter()
        .filter(|name| seen.get(*name) != real.get(*name))
        .map(|name| format!("{name}: seen {:?}, called {:?}", seen.get(name), real.get(name)))
        .collect()
}

/// The parameters of each function, name and kind, as the source says.
fn parameters(source: &Path) -> BTreeMap<String, Vec<(String, String)>> {
    let text = fs::read_to_string(source).expect("it was just written");
    let lines = text.lines().filter_map(|l| l.strip_prefix("//: "));
    lines
        .map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next().expect("a name").to_owned();
            let pair = |w: &str| w.split_once(':').map(|(n, k)| (n.to_owned(), k.to_owned())).expect("name:kind");
            (name, words.map(pair).collect())
        })
        .collect()
}

/// Whether the value is of that kind. A number may be known to be more than that: an enum, flags, a handle.
fn fits(kind: &str, value: &Value) -> bool {
    let has = |field: &str| value.get(field).is_some();
    let number = value.is_number() || has("enum") || has("flags") || has("version");
    match kind {
        "int" => number || has("handle") || has("address") || value.is_string() || value.is_boolean(),
        "float" => value.is_number(),
        "enum" => has("enum") || has("flags"),
        "handle" => has("handle") || number,
        "pointer" => value.is_null() || has("address") || has("handle") || value.is_string(),
        "struct" => has("fields") || has("bytes") || has("struct") || value.is_string(),
        _ => true,
    }
}

/// What is wrong with the arguments of these calls.
fn untyped(calls: &[Value], parameters: &BTreeMap<String, Vec<(String, String)>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for call in calls {
        // What no header declares has words only.
        let Some(expected) = parameters.get(text(call, "name")) else { continue };
        let none = Vec::new();
        let seen = call["arguments"].as_array().unwrap_or(&none);
        let good = seen.len() == expected.len()
            && seen.iter().zip(expected).all(|(argument, (name, kind))| {
                argument["name"] == **name && argument["type"].is_string() && fits(kind, &argument["value"])
            });
        if !good {
            wrong.push(format!("{expected:?}: {call}"));
        }
    }
    wrong
}

fn runtime(runtime: Runtime, public: usize) {
    let Some(library) = runtime.library() else { return };
    let kind = if runtime.shared { "shared" } else { "static" };
    let name = format!("every-{kind}-{}", runtime.version);
    let library = library.to_str().expect("a path that is text");
    let Some(source) = source(&name, &["runtime", runtime.version, library]) else { return };
    let rpath = format!("-Wl,-rpath,{}", Path::new(library).parent().expect("a folder").display());
    let program = compile(&source, &name, &[library, &rpath]);
    let run = traced(&program);
    let mut real = run.real.clone();
    assert!(real.values().all(|calls| *calls == 1), "each once");
    assert!(real.contains_key(NO_CALLBACK));
    assert_eq!(real.len(), public + 1, "runtime {}: the registry lacks some, or has more", runtime.version);
    if !runtime.shared {
        real.remove(NO_CALLBACK);
    }
    assert_eq!(differences(&names(&run, "runtime"), &real), [""; 0], "{name}: {:?}", run.objects("end"));
    assert_eq!(untyped(&run.calls("runtime"), &parameters(&source)), [""; 0], "{name}");
    let object = runtime.object(&program);
    assert_eq!(
        run.instances(),
        [format!("{object} {} {}", runtime.version, if runtime.shared { "shared" } else { "linked" })]
    );
}

#[test]
fn every_runtime_function_linked_in() {
    RUNTIMES.into_iter().for_each(|(version, public)| runtime(linked(version), public));
}

#[test]
fn every_runtime_function_shared() {
    RUNTIMES.into_iter().for_each(|(version, public)| runtime(shared(version), public));
}

#[test]
fn every_driver_export() {
    let library = Path::new(real::sim()).join("libcuda.so.1");
    let library = library.to_str().expect("a path that is text");
    let Some(source) = source("every-driver", &["driver", library]) else { return };
    let mut exports = 0;
    for (route, words) in [("LINK", vec![library]), ("DLSYM", vec![]), ("PROC", vec![])] {
        let route = format!("-D{route}");
        let program = compile(&source, &format!("every-driver{route}"), &[&[&*route], &*words].concat());
        let run = traced(&program);
        let (mut real, mut seen) = (run.real.clone(), names(&run, "driver"));
        if route == "-DPROC" {
            // Each look-up is a call too; the last in the file is its own. Those without a base name cannot be asked
            // for.
            let asked = real.len() as u64;
            assert_eq!(seen.insert(LOOK_UP.to_owned(), 1), Some(asked + 1), "one look-up a function, and its own call");
            assert!(real.len() > 700 && real.len() < exports, "{} of {exports}", real.len());
            real.insert(LOOK_UP.to_owned(), 1);
        } else {
            exports = real.len();
            assert!(exports >= 733, "{exports}");
        }
        assert_eq!(differences(&seen, &real), [""; 0], "{route}: {:?}", run.objects("end"));
        assert_eq!(untyped(&run.calls("driver"), &parameters(&source)), [""; 0], "{route}");
    }
}
