//! What NVIDIA's newest libraries export is what `cutap api --list` lists. Only with CUTAP_LARGE=1: 4 GB from PyPI, a
//! wheel at a time; the names themselves are data in `api/libraries/NAME/exports.toml`.

mod support;

use std::path::Path;
use std::process::Command;
use support::{cutap, out};

#[test]
fn every_export_of_the_newest_libraries_is_listed() {
    if std::env::var_os("CUTAP_LARGE").is_none() {
        return println!("skipped exports of all libraries: needs CUTAP_LARGE=1");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exports.py");
    let mut python = Command::new("python3");
    let done =
        python.arg(script).arg("check").env("CUTAP", env!("CARGO_BIN_EXE_cutap")).output().expect("python3 runs");
    let said = out(&done);
    said.lines().filter(|line| line.starts_with("skipped")).for_each(|line| println!("{line}"));
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
}

/// Nine names of cuBLAS that no header has, and the generated ones of cuBLASLt.
#[test]
fn names_that_no_header_has_are_listed() {
    let said = out(&cutap(&["api", "--list", "cublas"]).output().unwrap());
    for name in ["cublasCbdmm", "cublasGetBackdoor", "cublasLtHSHMatmulAlgoGetHeuristic", "cublasSgemm_v2"] {
        assert!(said.lines().any(|line| line == name), "{name}");
    }
    let said = out(&cutap(&["api", "cublasGetBackdoor"]).output().unwrap());
    assert!(said.contains("no public header declares it"), "{said}");
}
