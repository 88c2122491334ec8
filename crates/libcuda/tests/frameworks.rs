//! Real toolkit libraries and frameworks from PyPI on the simulated driver, only with CUTAP_LARGE=1, because they are
//! gigabytes. The libraries create their first handle. The frameworks list the GPUs and move a tensor to one and
//! back.

mod common;

use common::{large, on_sim, program, sim, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frameworks.py")
}

/// The folder of the packages of one CUDA version, if they are wanted and can be downloaded.
fn packages(version: &str) -> Option<PathBuf> {
    if !large(&format!("libraries and frameworks of CUDA {version}")) {
        return None;
    }
    let output = Command::new("python3").arg(script()).args(["folder", version]).output().expect("python3 runs");
    if output.status.code() == Some(3) {
        println!("skipped CUDA {version}: its packages are not in the cache and PyPI cannot be reached");
        return None;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// All folders of a wheel's libraries.
fn folders(packages: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(packages.join("nvidia")).expect("nvidia/").flatten();
    found.map(|e| e.path().join("lib")).filter(|p| p.is_dir()).collect()
}

/// The library whose name begins with `lib{name}.so.`.
fn library(folders: &[PathBuf], name: &str) -> String {
    let start = format!("lib{name}.so.");
    let mut files = folders.iter().flat_map(|f| std::fs::read_dir(f).expect("lib/").flatten().map(|e| e.path()));
    let found = files.find(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&start)));
    found.unwrap_or_else(|| panic!("no {start}* in {folders:?}")).display().to_string()
}

/// The simulated driver's folder and these, for LD_LIBRARY_PATH.
fn path(more: &[PathBuf]) -> String {
    let all = std::iter::once(sim().to_path_buf()).chain(more.iter().cloned());
    all.map(|p| p.display().to_string()).collect::<Vec<_>>().join(":")
}

fn handles(version: &str) {
    let Some(packages) = packages(version) else { return };
    let folders = folders(&packages);
    let mut command = on_sim(&program("toolkit", version, &[]));
    for (what, name) in [
        ("cublasLt", "cublasLt"),
        ("cublas", "cublas"),
        ("gemm", "cublas"),
        ("curand", "curand"),
        ("load", "nvJitLink"),
        ("cusparse", "cusparse"),
        ("cusolver", "cusolver"),
        ("cudnn", "cudnn"),
        ("cufft", "cufft"),
    ] {
        command.arg(format!("{what}={}", library(&folders, name)));
    }
    let output = command.env("LD_LIBRARY_PATH", path(&folders)).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.ends_with("all is well\n"), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "cutap-sim: 0 calls answered by default\n");
}

#[test]
fn handles_of_12() {
    handles("12");
}

#[test]
fn handles_of_13() {
    handles("13");
}

fn framework(version: &str, name: &str) {
    let Some(packages) = packages(version) else { return };
    let more = folders(&packages);
    let mut command = on_sim(Path::new("python3"));
    command.arg(script()).args(["run", name]).env("PYTHONPATH", &packages).env("LD_LIBRARY_PATH", path(&more));
    let output = succeed(command.env("CUTAP_SIM_DEVICES", "2"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(&format!("{name} sees ['NVIDIA H200', 'NVIDIA H200']\n")), "{said}");
    assert!(said.ends_with("moved to and from 2\n"), "{said}");
}

#[test]
fn torch() {
    framework("13", "torch");
}

#[test]
fn cupy() {
    framework("13", "cupy");
}

#[test]
fn tensorflow() {
    framework("12", "tensorflow");
}
