//! `demo`: builds all and traces a real CUDA program with NVIDIA's real, statically linked runtime: on
//! the GPU if there is one, else on the simulated driver; the first line says which.

use crate::build::{cargo, output, release, run};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Old enough for every driver since 525, new enough for a wheel with libcudart_static.a.
const RUNTIME: &str = "12.9";

pub(crate) fn run_demo(root: &Path) -> Result<()> {
    println!("demo: building cutap");
    run(cargo(root).args(["build", "--quiet", "--release", "--package", "cutap"]))?;
    let program = program(root)?;
    let cutap = shown(&release(root).join("cutap"));
    let mut trace = Command::new(&cutap);
    trace.arg("trace");
    if gpu() {
        println!("demo: there is a GPU: demo-vector runs on it");
    } else {
        println!("demo: no GPU here: demo-vector runs on the simulated driver, which executes no kernel");
        trace.arg("--sim");
    }
    // The runtime asks for its 400 driver functions one by one at its start.
    trace.args(["-e", "!cuGetProcAddress*"]);
    trace.arg("--").arg(shown(&program));
    println!("demo: $ {}", shell(&trace));
    run(&mut trace)?;
    println!("demo: that was its trace; the same of your own program: {} trace -- PROG", cutap.display());
    Ok(())
}

/// The path as a person would type it here.
fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).map_or_else(|| path.to_owned(), Path::to_owned)
}

/// The command as a shell takes it.
fn shell(command: &Command) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    let word = |w: &std::ffi::OsStr| match w.to_string_lossy() {
        w if !w.is_empty() && w.chars().all(plain) => w.into_owned(),
        w => format!("'{}'", w.replace('\'', r"'\''")),
    };
    std::iter::once(command.get_program()).chain(command.get_args()).map(word).collect::<Vec<_>>().join(" ")
}

/// Compiles `tests/programs/demo/vector.c` with gcc alone.
fn program(root: &Path) -> Result<PathBuf> {
    println!("demo: fetching NVIDIA's runtime {RUNTIME} (wheel nvidia-cuda-runtime, kept in a cache)");
    let wheels = root.join("tests/programs/wheels.py");
    let runtime = output(Command::new("python3").arg(wheels).args(["cudart", RUNTIME]))?;
    let runtime = Path::new(&runtime);
    let program = release(root).join("demo-vector");
    let programs = root.join("tests/programs");
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-O1", "-I"]).arg(programs.join("include"));
    gcc.arg("-I").arg(runtime.join("include")).arg(programs.join("demo/vector.c"));
    gcc.arg(runtime.join("lib/libcudart_static.a")).args(["-lpthread", "-ldl", "-lrt", "-o"]).arg(&program);
    run(&mut gcc).context("a C compiler is needed: apt-get install gcc libc6-dev")?;
    Ok(program)
}

/// A GPU is there if its device node can be opened and the dynamic loader finds the driver library.
pub(crate) fn gpu() -> bool {
    let load = "import ctypes; ctypes.CDLL('libcuda.so.1')";
    std::fs::File::open("/dev/nvidiactl").is_ok() && output(Command::new("python3").args(["-c", load])).is_ok()
}

#[cfg(test)]
mod tests {
    use super::shell;
    use std::process::Command;

    #[test]
    fn a_shell_reads_back_what_was_printed() {
        let words = ["-e", "!cuGetProcAddress*", "it's a b", "", "$HOME", "/a/b-c.so"];
        let line = shell(Command::new("printf").arg("%s|").args(words));
        assert!(line.starts_with("printf '%s|' -e '!cuGetProcAddress*' "), "{line}");
        let back = Command::new("sh").args(["-c", &line]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&back.stdout), words.map(|w| format!("{w}|")).concat());
    }
}
