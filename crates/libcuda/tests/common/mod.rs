//! The simulated driver as a shared library, C programs built with gcc, and NVIDIA's wheels. Each test program uses a
//! part of it.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of this test run.
pub fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// The folder of libcuda.so.1 and libnvidia-ml.so.1. They are built in `target/inside`, as `crates/cli/build.rs` does:
/// after a build of `cutap` they are there.
pub fn sim() -> &'static Path {
    static SIM: OnceLock<PathBuf> = OnceLock::new();
    SIM.get_or_init(|| {
        let target = scratch().parent().expect("a folder in cargo's target folder").join("inside");
        let folder = scratch().join("sim");
        std::fs::create_dir_all(&folder).expect("a folder for the libraries");
        for (package, built, name) in [
            ("cutap-libcuda", "libcutap_libcuda.so", "libcuda.so.1"),
            ("cutap-nvml", "libcutap_nvml.so", "libnvidia-ml.so.1"),
        ] {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.current_dir(root()).arg("rustc").arg("--target-dir").arg(&target);
            cargo.args(["-q", "-p", package, "--release", "--lib", "--crate-type", "cdylib", "--"]);
            succeed(cargo.arg("-C").arg(format!("link-arg=-Wl,-soname,{name}")));
            // The copy is renamed into place, because another test program may use the existing file.
            let fresh = folder.join(format!("fresh-{name}-{}", std::process::id()));
            std::fs::copy(target.join("release").join(built), &fresh).expect("the library");
            std::fs::rename(fresh, folder.join(name)).expect("the library");
            let link = folder.join(name.trim_end_matches(".1"));
            let _ = std::os::unix::fs::symlink(name, link);
        }
        folder
    })
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// Builds `NAME.c`, from this crate or from `tests/programs/runtimes`, with extra arguments for gcc.
pub fn program(name: &str, tag: &str, words: &[&str]) -> PathBuf {
    let shared = root().join("tests/programs/runtimes");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let source = [&own, &shared].map(|folder| folder.join(format!("{name}.c"))).into_iter().find(|p| p.exists());
    let source = source.unwrap_or_else(|| panic!("no {name}.c in {} or {}", own.display(), shared.display()));
    let program = scratch().join(format!("{name}-{tag}"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-w", "-O1"]).arg("-I").arg(&shared).arg(source).arg("-o").arg(&program).args(words);
    succeed(gcc.args(["-lpthread", "-ldl", "-lrt"]));
    program
}

/// A program on the simulated driver, with a clean environment. It is killed if it hangs.
pub fn on_sim(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg("120").arg(program).env("LD_LIBRARY_PATH", sim()).env("CUTAP_SIM_REPORT", "1");
    for name in ["CUTAP_SIM_DEVICES", "CUTAP_SIM_DRIVER", "CUTAP_SIM_MEMORY"] {
        command.env_remove(name);
    }
    command
}

/// The folder of an unpacked wheel. If it cannot be downloaded, a line with the reason is printed.
pub fn wheel(what: &str, version: &str) -> Option<PathBuf> {
    let script = root().join("tests/programs/wheels.py");
    let output = Command::new("python3").arg(script).args([what, version]).output().expect("python3 runs");
    if output.status.success() {
        return Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    let unreachable = output.status.code() == Some(3);
    assert!(unreachable, "wheels.py {what} {version}: {}", String::from_utf8_lossy(&output.stderr));
    println!("skipped {what} {version}: its wheel is not in the cache and PyPI cannot be reached");
    None
}

/// Whether to run tests with big downloads and long runs.
pub fn large(what: &str) -> bool {
    let asked = std::env::var_os("CUTAP_LARGE").is_some_and(|v| v == "1");
    if !asked {
        println!("skipped {what}: needs CUTAP_LARGE=1");
    }
    asked
}
