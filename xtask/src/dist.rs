//! `cargo xtask dist`: the wheel of cutap, which `pip install` installs, and the wheel of `cutap-query`. Python's own
//! modules write them.

use crate::build::{PROGRAM, cargo, output, release, run, target};
use crate::engines::query_engine;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Builds the programs for release, and writes their wheels into `target/dist`. With `program`, only the wheel of that
/// one is written.
pub(crate) fn dist(root: &Path, program: Option<&str>) -> Result<()> {
    if let Some(program) = program {
        return wheel(root, Path::new(program), "cutap");
    }
    run(cargo(root).args(PROGRAM).arg("--release"))?;
    wheel(root, &release(root).join("cutap"), "cutap")?;
    wheel(root, &query_engine(root)?, "cutap-query")
}

fn wheel(root: &Path, program: &Path, name: &str) -> Result<()> {
    let mut python = Command::new("python3");
    python.arg(root.join("xtask/wheel/build.py")).arg(program).arg(env!("CARGO_PKG_VERSION"));
    let wheel = output(python.arg(target(root).join("dist")).arg(name)).context("the wheel was not written")?;
    println!("{wheel}");
    Ok(())
}
