//! `cargo xtask dist`: the wheel of cutap, which `pip install` installs. Python's own modules write it.

use crate::build::{PROGRAM, cargo, output, release, run, target};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Builds the program for release, and writes its wheel into `target/dist`. With `program`, that one is taken.
pub(crate) fn dist(root: &Path, program: Option<&str>) -> Result<()> {
    let built = release(root).join("cutap");
    let program = match program {
        Some(program) => Path::new(program),
        None => {
            run(cargo(root).args(PROGRAM).arg("--release"))?;
            &built
        }
    };
    let mut python = Command::new("python3");
    python.arg(root.join("xtask/wheel/build.py")).arg(program).arg(env!("CARGO_PKG_VERSION"));
    let wheel = output(python.arg(target(root).join("dist"))).context("the wheel was not written")?;
    println!("{wheel}");
    Ok(())
}
