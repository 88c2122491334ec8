//! `test --large`: the questions of `cutap query --list` by its engine and by others, which are packages of PyPI. Spark
//! needs Java too; without it the script skips Spark and prints why.

use crate::build::{cargo, release, run};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The engines, and ranges for the recorded program. Spark comes as source, which is Java's classes and Python.
const PACKAGES: [&str; 5] = ["duckdb", "polars", "pyarrow", "pyspark", "nvtx"];

/// The release build of `cutap-query`, which has a separate target folder.
pub(crate) fn query_engine(root: &Path) -> Result<PathBuf> {
    let engine = root.join("crates/query");
    run(cargo(&engine).args(["build", "--quiet", "--release", "--target-dir", "target"]))?;
    Ok(engine.join("target/release/cutap-query"))
}

pub(crate) fn compare(root: &Path) -> Result<()> {
    run(cargo(&root.join("crates/query")).args(["test", "--quiet", "--release", "--target-dir", "target"]))?;
    let cutap = release(root).join("cutap");
    fs::copy(query_engine(root)?, cutap.with_file_name("cutap-query"))?;
    let python = root.join(".cache/engines");
    if !python.join("bin/python").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
    run(Command::new(python.join("bin/python")).args(pip).arg("--no-binary=pyspark").args(PACKAGES))?;
    let folder = root.join(".cache/tables");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    // Two ranks of a job on the simulated driver, and a run alone, of a real GPU.
    let runs = ["job.0.cutap", "job.1.cutap", "run.cutap"].map(|name| folder.join(name));
    for (rank, path) in ["0", "1"].iter().zip(&runs) {
        let mut record = Command::new(&cutap);
        record.args(["record", "--sim", "--gpu-time", "-qo"]).arg(path).arg("--").arg(python.join("bin/python"));
        run(record.arg("-B").arg(root.join("tests/tables/steps.py")).args(["6"]).env("RANK", rank))?;
    }
    run(Command::new(&cutap).args(["demo", "--recording"]).arg(&runs[2]))?;
    let script = root.join("tests/tables/engines.py");
    run(Command::new(python.join("bin/python"))
        .arg("-B")
        .arg(script)
        .arg(&cutap)
        .arg(folder.join("tables"))
        .args(&runs))
}
