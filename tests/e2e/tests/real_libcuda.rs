//! NVIDIA's own libcuda without a GPU: what cutap sees of its cuInit is what other means see.

#[path = "../../../crates/kernel/tests/libcuda/mod.rs"]
mod libcuda;

use cutap_e2e::{Scratch, cutap, finish, scratch, sources};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program, linked with a libcuda in a separate folder.
struct Real {
    folder: Scratch,
    program: PathBuf,
}

impl Real {
    fn new() -> Option<Real> {
        let library = libcuda::libcuda()?;
        let folder = scratch("libcuda");
        std::os::unix::fs::symlink(library, folder.join("libcuda.so.1")).unwrap();
        let program = folder.join("cuinit");
        Self::compile(&program, &["-L", folder.to_str().unwrap(), "-l:libcuda.so.1", "-Wl,--allow-shlib-undefined"]);
        Some(Real { folder, program })
    }

    fn compile(to: &Path, words: &[&str]) {
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-Wall", "-Werror", "-o"]).arg(to).arg(sources().join("kernel/cuinit.c")).args(words);
        let done = finish(&mut gcc);
        assert!(done.status.success(), "{}", done.stderr);
    }

    /// Runs the program under these words; the file that `-o` names.
    fn traced(&self, words: &[&str]) -> String {
        let (file, plain) = (self.folder.join("out"), self.plain(&[]));
        let mut command = Command::new(cutap());
        command.args(words).arg("-o").arg(&file).arg("--").arg(&self.program);
        let done = finish(command.env("LD_LIBRARY_PATH", &*self.folder));
        assert_eq!((done.stdout, done.status.code()), (plain, Some(0)), "{}", done.stderr);
        String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()
    }

    fn plain(&self, environment: &[(&str, &Path)]) -> String {
        let mut command = Command::new(&self.program);
        let done = finish(command.env("LD_LIBRARY_PATH", &*self.folder).envs(environment.iter().copied()));
        assert!(done.status.success() && done.stdout.starts_with("cuInit = "), "{}", done.everything());
        done.stdout
    }
}

/// A library in front of libc sees the same variables, in the same order.
#[test]
fn variables_of_cuinit() {
    let Some(real) = Real::new() else { return };
    let (shim, names) = (real.folder.join("shim.so"), real.folder.join("names"));
    Real::compile(&shim, &["-shared", "-fPIC", "-DSHIM", "-ldl"]);
    real.plain(&[("LD_PRELOAD", &shim), ("GETENVS", &names)]);
    let asked = String::from_utf8_lossy(&std::fs::read(&names).unwrap()).into_owned();
    let asked: Vec<&str> = asked.lines().filter(|name| *name != "GETENVS").collect();
    let text = real.traced(&["syscall", "getenv"]);
    let lines = text.lines().filter_map(|line| line.split_once(" getenv "));
    let seen: Vec<&str> = lines.filter_map(|(_, rest)| Some(rest.split_once(" by libcuda.so.1")?.0)).collect();
    assert!(asked.len() > 60, "{asked:?}");
    assert_eq!(seen, asked);
    for word in ["CUDA_MODULE_LOADING by libcuda.so.1", "# kernels are loaded at their first use", "# a hashed name"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// From inside and from outside the same device nodes are opened.
#[test]
fn nodes_that_cuinit_opens() {
    let Some(real) = Real::new() else { return };
    // The path and the result: what is fopen inside is open outside.
    let opens = |words: &[&str]| -> Vec<(String, String)> {
        let text = real.traced(words);
        let opened = text.lines().filter_map(|line| {
            let (_, call) = line.split_once("open /")?;
            let (path, rest) = call.split_once(" {")?;
            let result = rest.split_once("} ")?.1.rsplit_once(" <")?.0;
            Some((format!("/{path}"), result.to_owned()))
        });
        opened.filter(|(path, _)| path.starts_with("/dev/nvidia") || path.starts_with("/proc/driver/nvidia")).collect()
    };
    let inside = opens(&["syscall", "trace"]);
    assert!(inside.iter().any(|(path, _)| path == "/proc/driver/nvidia/params"), "{inside:?}");
    assert_eq!(inside, opens(&["syscall", "trace", "--ptrace", "-v"]));
}

/// libcuda loads the injection of cutap, whose path no variable has.
#[test]
fn the_injection_is_loaded_without_a_variable() {
    let Some(real) = Real::new() else { return };
    let (recording, plain) = (real.folder.join("injection.cutap"), real.plain(&[]));
    let mut record = Command::new(cutap());
    record.args(["record", "-q", "--gpu-time", "-o"]).arg(&recording).arg("--").arg(&real.program);
    record.env("LD_LIBRARY_PATH", &*real.folder).env_remove("CUDA_INJECTION64_PATH").env("CUTAP_CUPTI", "/nonexistent");
    let done = finish(&mut record);
    assert_eq!((done.stdout, done.status.code()), (plain, Some(0)), "{}", done.stderr);
    // A sentence of the injection.
    let notes = finish(Command::new(cutap()).args(["report", "--notes"]).arg(&recording)).everything();
    assert!(notes.contains("no GPU times of 1 process: libcupti could not be loaded"), "{notes}");
}
