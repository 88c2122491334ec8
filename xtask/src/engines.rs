//! `test --large`: the questions of `cutap query --list` by its engine and by others, which are wheels of PyPI.

use crate::build::{cargo, release, run};
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::process::Command;

const WHEELS: [&str; 3] = ["duckdb", "polars", "pyarrow"];

pub(crate) fn compare(root: &Path) -> Result<()> {
    let engine = root.join("crates/query");
    for verb in ["test", "build"] {
        run(cargo(&engine).args([verb, "--quiet", "--release", "--target-dir", "target"]))?;
    }
    let cutap = release(root).join("cutap");
    fs::copy(engine.join("target/release/cutap-query"), cutap.with_file_name("cutap-query"))?;
    let python = root.join(".cache/engines");
    if !python.join("bin/python").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
    run(Command::new(python.join("bin/python")).args(pip).args(WHEELS))?;
    let folder = root.join(".cache/tables");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    // Two ranks, and a run alone.
    let runs = ["job.0.cutap", "job.1.cutap", "run.cutap"].map(|name| folder.join(name));
    for path in &runs {
        run(Command::new(&cutap).args(["demo", "--recording"]).arg(path))?;
    }
    let script = root.join("tests/tables/engines.py");
    run(Command::new(python.join("bin/python"))
        .arg("-B")
        .arg(script)
        .arg(&cutap)
        .arg(folder.join("tables"))
        .args(&runs))
}
