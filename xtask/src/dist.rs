//! `cargo xtask dist`: the wheel of cutap, which `pip install` installs, a Debian package, a tarball, their checksums,
//! and the wheel of `cutap-query`. Python's own modules write them.
//!
//! The programs are linked by zig, for a glibc that is older than that of any machine in use. zig is a package of PyPI.

use crate::build::{cargo, output, run, target};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The linker, and the program that has cargo use it.
const ZIG: [&str; 2] = ["cargo-zigbuild==0.24.1", "ziglang==0.17.1"];
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Programs need no later glibc. It is the first one with `statx`.
const GLIBC: &str = "2.28";

/// Builds the programs for release, and writes their packages into `target/dist`. With `program`, only those of that
/// one are written.
pub(crate) fn dist(root: &Path, program: Option<&str>) -> Result<()> {
    if let Some(program) = program {
        return packages(root, Path::new(program));
    }
    let zig = zig(root);
    packages(root, &built(root, &target(root), "cutap", zig.as_deref())?)?;
    let engine = root.join("crates/query");
    wheel(root, &built(&engine, &engine.join("target"), "cutap-query", zig.as_deref())?, "cutap-query")
}

/// The packages of `cutap`, and what becomes of them in fresh roots of Debian.
pub(crate) fn try_packages(root: &Path) -> Result<()> {
    packages(root, &built(root, &target(root), "cutap", zig(root).as_deref())?)?;
    let mut script = Command::new("python3");
    run(script.arg("-B").arg(root.join("tests/packages/roots.py")).arg(target(root).join("dist")))
}

/// The release build of a program, with what is in the folder `zig` in front of other programs.
fn built(workspace: &Path, target: &Path, package: &str, zig: Option<&Path>) -> Result<PathBuf> {
    let flags = ["--quiet", "--release", "--package", package, "--target-dir"];
    let Some(zig) = zig else {
        run(cargo(workspace).arg("build").args(flags).arg(target))?;
        return Ok(target.join("release").join(package));
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = [zig.to_owned()].into_iter().chain(std::env::split_paths(&path));
    let mut build = Command::new(zig.join("cargo-zigbuild"));
    build.arg("zigbuild").args(flags).arg(target).arg("--target").arg(format!("{TARGET}.{GLIBC}"));
    build.current_dir(workspace).env("PATH", std::env::join_paths(paths)?);
    // They are in the home folder otherwise.
    for cache in ["CARGO_ZIGBUILD_CACHE_DIR", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"] {
        build.env(cache, zig.join("../cache").join(cache));
    }
    run(&mut build)?;
    Ok(target.join(TARGET).join("release").join(package))
}

/// The folder of the programs of `ZIG`, which are fetched once. None, and a line, where they cannot be fetched.
fn zig(root: &Path) -> Option<PathBuf> {
    let folder = root.join(".cache/zig");
    let fetch = || -> Result<()> {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
        run(Command::new(folder.join("bin/python")).args(pip).args(ZIG))
    };
    if !folder.join("bin/cargo-zigbuild").exists()
        && let Err(why) = fetch()
    {
        println!("skipped: zig, so the packages need the glibc of this machine ({why:#})");
        return None;
    }
    Some(folder.join("bin"))
}

/// All packages of `cutap`.
fn packages(root: &Path, program: &Path) -> Result<()> {
    wheel(root, program, "cutap")?;
    println!("{}", written(root, "packages.py", program, &[])?);
    Ok(())
}

fn wheel(root: &Path, program: &Path, name: &str) -> Result<()> {
    println!("{}", written(root, "build.py", program, &[name])?);
    Ok(())
}

/// What a script wrote into `target/dist`.
fn written(root: &Path, script: &str, program: &Path, words: &[&str]) -> Result<String> {
    let mut python = Command::new("python3");
    python.arg("-B").arg(root.join("xtask/wheel").join(script)).arg(program).arg(env!("CARGO_PKG_VERSION"));
    output(python.arg(target(root).join("dist")).args(words)).with_context(|| format!("{script} wrote no package"))
}
