//! `--limit-memory` on every way in which memory of a device is given: by the driver, and by NVIDIA's own runtimes,
//! shared and statically linked. Each way is tried twice, so that memory which was given back is there again.

#[allow(dead_code, reason = "shared with the tests of runtimes")]
#[path = "runtimes/real.rs"]
mod real;

use cutap_e2e::{cutap, finish, out, sources};
use real::{Runtime, linked, shared};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ways of the two programs.
const DRIVER: usize = 16;
const RUNTIME: usize = 9;

fn built(source: &str, name: &str, rest: &[&str]) -> PathBuf {
    let folder = out().join("limit");
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    let program = folder.join(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-w", "-O1", "-std=gnu17", "-o"]).arg(&program);
    gcc.arg(sources().join("limit").join(source)).args(rest);
    let done = finish(&mut gcc);
    assert!(done.status.success(), "{}", done.stderr);
    program
}

/// What a program prints of each way, and what cutap says at the end.
fn ways(program: &Path, count: usize) -> String {
    let mut text = String::new();
    for way in 0..count {
        let mut command = Command::new(cutap());
        command.args(["run", "--sim", "-q", "--limit-memory", "100MiB", "--"]);
        let done = finish(command.arg(program).arg(way.to_string()));
        assert!(done.status.success(), "{way}: {done:?}");
        text += &done.stdout;
        let said = done.stderr.lines().next().unwrap_or_default();
        if !said.is_empty() {
            text += &format!("    {said}\n");
        }
    }
    text
}

/// Compares with the golden text of this name.
fn assert_golden(name: &str, text: &str) {
    let path = sources().join("../e2e/golden/limit").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder of golden texts is writable");
        std::fs::write(&path, text).expect("golden texts are writable");
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap_or_default(), "UPDATE_GOLDEN=1 writes it, then read it");
}

#[test]
fn ways_of_the_driver() {
    let program = built("driver_paths.c", "driver_paths", &["-ldl"]);
    assert_golden("driver", &ways(&program, DRIVER));
}

fn runtime(runtime: Runtime) {
    let Some(library) = runtime.library() else { return };
    let rpath = format!("-Wl,-rpath,{}", library.parent().expect("a file in a folder").display());
    let name = format!("runtime_paths-{}-{}", runtime.version, runtime.shared);
    let library = library.display().to_string();
    let program = built("runtime_paths.c", &name, &[&library, &rpath, "-lpthread", "-ldl", "-lrt"]);
    assert_golden("runtime", &ways(&program, RUNTIME));
}

/// One table for all: the runtime is seen through its driver calls.
#[test]
fn ways_of_runtimes() {
    [shared("11.7"), linked("12.9"), shared("13.5")].into_iter().for_each(runtime);
}
