//! Running cargo and reading where it put a file. Nothing is built by hand beside cargo.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The cargo that runs us.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Words for cargo that build the program alone.
pub(crate) const PROGRAM: [&str; 3] = ["build", "--package", "cutap"];

/// Runs it to its end; an error names the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// What it prints, without the last line end.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}\n{}", output.status, said.trim_end());
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Cargo's target folder.
pub(crate) fn target(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
}

/// The folder for finished builds of the release profile.
pub(crate) fn release(root: &Path) -> PathBuf {
    target(root).join("release")
}

/// Builds the shared library that travels inside `cutap`, as the cli's build script does: in the same folder, with the
/// same words, so that it is built once.
pub(crate) fn preload(root: &Path) -> Result<PathBuf> {
    let inside = target(root).join("inside");
    run(cargo(root)
        .args(["rustc", "--quiet", "--package", "cutap-preload", "--release", "--lib"])
        .args(["--crate-type", "cdylib", "--features", "inject", "--target-dir"])
        .arg(&inside))?;
    Ok(inside.join("release/libcutap_preload.so"))
}
