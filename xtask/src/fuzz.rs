//! `fuzz`: the targets of `fuzz/` for some minutes each, with cargo-fuzz. libFuzzer's instrumentation is a
//! nightly feature of rustc, which a stable one takes with RUSTC_BOOTSTRAP=1. What is found stands in
//! `fuzz/artifacts`; inputs that reach something new are kept in a folder of the target directory, for the
//! corpus in the repository is small and chosen by hand.

use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

const TARGETS: [&str; 8] =
    ["recording", "folder", "ioctl", "commands", "kernel_log", "kernel_recording", "kernel_file", "cubin"];

pub(crate) fn run(root: &Path, seconds: u32) -> Result<()> {
    let there = Command::new("cargo").args(["fuzz", "--version"]).output().is_ok_and(|done| done.status.success());
    ensure!(
        there,
        "cargo-fuzz is not installed: cargo install cargo-fuzz (crates/trace/tests/it/fuzz.rs runs without it)"
    );
    for target in TARGETS {
        let found = root.join("fuzz/target/found").join(target);
        std::fs::create_dir_all(&found)?;
        let mut fuzz = Command::new("cargo");
        fuzz.current_dir(root).env("RUSTC_BOOTSTRAP", "1").args(["fuzz", "run", "--sanitizer", "none", target]);
        fuzz.arg(&found).arg(root.join("fuzz/corpus").join(target)).arg("--");
        fuzz.args([
            format!("-max_total_time={seconds}"),
            "-max_len=65536".into(),
            "-rss_limit_mb=2048".into(),
            "-timeout=20".into(),
        ]);
        ensure!(fuzz.status()?.success(), "{target}: see fuzz/artifacts/{target}");
    }
    Ok(())
}
