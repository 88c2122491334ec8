//! A real program with NVIDIA's runtime linked in, as `cargo xtask demo` builds it: what only such a
//! program can show. Without a C compiler or the wheel it says that it was skipped.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Folder, cutap, err, out};

/// Builds `vector` of the demo, under this name.
fn vector(folder: &Folder, name: &str) -> Option<PathBuf> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let wheel = Command::new("python3").arg(programs.join("wheels.py")).args(["cudart", "12.9"]).output();
    let Some(wheel) = wheel.ok().filter(|w| w.status.success()) else {
        eprintln!("skipped: a program with NVIDIA's static runtime (its wheel cannot be fetched here)");
        return None;
    };
    let runtime = PathBuf::from(out(&wheel).trim());
    let path = folder.join(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-I"]).arg(programs.join("include")).arg("-I").arg(runtime.join("include"));
    gcc.arg(programs.join("demo/vector.c")).arg(runtime.join("lib/libcudart_static.a"));
    let built = gcc.args(["-lpthread", "-ldl", "-lrt", "-o"]).arg(&path).output();
    if !built.is_ok_and(|b| b.status.success()) {
        eprintln!("skipped: a program with NVIDIA's static runtime (gcc does not work here)");
        return None;
    }
    Some(path)
}

#[test]
fn a_filter_names_the_programs_own_runtime() {
    let folder = Folder::new("own-runtime");
    let Some(program) = vector(&folder, "my-vector") else { return };
    let calls = |filter: &str| {
        let done = cutap(&["trace", "--sim", "-e", filter, "--"]).arg(&program).output().unwrap();
        assert!(done.status.success(), "{}", err(&done));
        // A slow one has a closing line too.
        let call = |l: &&str| !l.starts_with("cutap: ") && !l.starts_with("} ");
        (err(&done).lines().filter(call).map(str::to_owned).collect::<Vec<_>>(), err(&done))
    };
    let (one, _) = calls("my-vector:cudaMalloc");
    assert!(!one.is_empty(), "the program calls it");
    assert!(one.iter().all(|l| l.starts_with("[my-vector, runtime 12.9] cudaMalloc(")), "{one:?}");
    let (all, _) = calls("my-vector:*");
    assert!(all.len() > one.len() && all.iter().all(|l| l.starts_with("[my-vector, runtime 12.9] ")), "{all:?}");
    let (left, _) = calls("runtime,!my-vector:cudaMalloc");
    assert_eq!(left.len(), all.len() - one.len(), "{left:?}");
    let (none, said) = calls("other:cudaMalloc");
    assert!(none.is_empty() && said.contains("nothing matched the filter other:cudaMalloc"), "{said}");
    let (none, said) = calls("libcudart");
    let hint = "; the runtime is linked into my-vector: write cudart, or my-vector:*";
    assert!(none.is_empty() && said.contains(hint), "{said}");
    assert_eq!(calls("cudart").0.len(), all.len());
    assert_eq!(calls("runtime:cudaMalloc").0.len(), one.len());
}

/// What the driver allocates inside a runtime's function is that function's, also if a filter leaves it out.
#[test]
fn a_leak_inside_a_function_that_a_filter_leaves_out() {
    let folder = Folder::new("own-leak");
    let Some(program) = vector(&folder, "my-vector") else { return };
    let file = folder.join("leak.cutap");
    // The second allocation fails, and the program ends with the first one.
    let mut record = cutap(&["record", "--sim", "-q", "-o"]);
    record.arg(&file).arg(&program).env("CUTAP_SIM_MEMORY", "256KiB").output().unwrap();
    let leaks = |filter: &str| out(&cutap(&["report", "--leaks", "-e", filter]).arg(&file).output().unwrap());
    assert!(leaks("!cudaFree").contains("made by cuMemAlloc_v2\n            in cudaMalloc"), "{}", leaks("!cudaFree"));
    assert!(leaks("cudaMalloc").contains("device memory") && leaks("cuMemAlloc").contains("device memory"));
    assert!(!leaks("!cudaMalloc").contains("device memory"), "{}", leaks("!cudaMalloc"));
}
