//! Builds the preload, the injection, and the simulated driver with its NVML and CUPTI. It hands their paths to
//! `main.rs`, which embeds them: `cutap` is one file. The nested build has a separate target folder and none of the
//! outer build's settings: what is injected into programs is always the release build, with the flags it needs.
//! Debug and release builds of `cutap`, the tests of the simulated driver and `cargo xtask tidy` share that folder: the
//! libraries are built once. Words that differ from these would build them again.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates whose change makes the nested build run again.
const SOURCES: [&str; 19] = [
    "wire",
    "calls",
    "cubin",
    "rm",
    "tensor-map",
    "cudest",
    "driver",
    "gpu-engine",
    "libcuda",
    "hook",
    "preload",
    "gpu-time",
    "inject",
    "limit",
    "quantity",
    "sim/machine",
    "sim/engine",
    "sim/nvml",
    "sim/cupti",
];

fn main() {
    let here = PathBuf::from(var("CARGO_MANIFEST_DIR"));
    let root = here.join("../..").canonicalize().expect("the cli crate lies in crates/ of the workspace");
    println!("cargo::rerun-if-changed=build.rs");
    // Paths from here: a target folder that was copied for another checkout must not continue watching the first one.
    println!("cargo::rerun-if-changed=../../Cargo.toml");
    for name in SOURCES {
        for part in ["src", "build.rs", "Cargo.toml"].map(|p| format!("../{name}/{p}")) {
            if here.join(&part).exists() {
                println!("cargo::rerun-if-changed={part}");
            }
        }
    }
    // The registry's tables are full of addresses: a fixed load address saves 50,000 relocations, and the
    // pages that they dirty, at each start.
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let preload = build(&root, "cutap-preload", &["--features", "inject"], &[]);
    println!("cargo::rustc-env=CUTAP_PRELOAD={}", preload.display());
    let sim = build(&root, "cutap-libcuda", &[], &["-C", "link-arg=-Wl,-soname,libcuda.so.1"]);
    println!("cargo::rustc-env=CUTAP_SIM={}", sim.display());
    let nvml = build(&root, "cutap-nvml", &[], &["-C", "link-arg=-Wl,-soname,libnvidia-ml.so.1"]);
    println!("cargo::rustc-env=CUTAP_NVML={}", nvml.display());
    let gpu_time = build(&root, "cutap-gpu-time", &["--features", "inject"], &[]);
    println!("cargo::rustc-env=CUTAP_GPU_TIME={}", gpu_time.display());
    let cupti = build(&root, "cutap-sim-cupti", &[], &["-C", "link-arg=-Wl,-soname,libcupti.so"]);
    println!("cargo::rustc-env=CUTAP_SIM_CUPTI_LIBRARY={}", cupti.display());
    let inject = build(&root, "cutap-inject", &["--features", "inject"], &[]);
    println!("cargo::rustc-env=CUTAP_INJECT={}", inject.display());
    let limit = build(&root, "cutap-limit", &["--features", "inject"], &[]);
    println!("cargo::rustc-env=CUTAP_LIMIT={}", limit.display());
    println!("cargo::rustc-env=CUTAP_INSIDE={:016x}", hash(&[preload, sim, nvml, gpu_time, cupti, inject, limit]));
    println!("cargo::rustc-env=CUTAP_COMMIT={}", commit(&root));
    println!("cargo::rustc-env=CUTAP_CUDA_RANGE={}", cuda_range(&root));
}

/// The commit that is checked out. A release build is made again after each commit.
fn commit(root: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).map(|log| root.join(log));
    if let Some(log) = log.filter(|log| log.is_file() && var("PROFILE") == "release") {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&["rev-parse", "--short=8", "HEAD"]).unwrap_or_else(|| "unknown".to_owned())
}

/// `11.7 to 13.5`: the first and the last version of the driver's headers in `api/sources.toml`.
fn cuda_range(root: &Path) -> String {
    println!("cargo::rerun-if-changed=../../api/sources.toml");
    let text = std::fs::read_to_string(root.join("api/sources.toml")).expect("api/sources.toml is in the repository");
    let driver = text.split("\n[[family]]\n").nth(1).unwrap_or_default();
    let versions: Vec<&str> =
        driver.lines().filter_map(|l| l.trim().strip_prefix("{ version = \"")?.split('"').next()).collect();
    let (first, last) = versions.first().zip(versions.last()).expect("the driver has versions in api/sources.toml");
    format!("{first} to {last}")
}

/// FNV-1a over 8-byte words: it names the folder in which the libraries are unpacked; every byte of them is compared
/// there, so it need not resist anybody.
fn hash(files: &[PathBuf]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |word: u64| h = (h ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    for file in files {
        let content = std::fs::read(file).expect("it was just built");
        add(content.len() as u64);
        for piece in content.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            add(u64::from_le_bytes(word));
        }
    }
    h
}

/// The target folder of the nested build, in the outer one: `target/inside`.
fn inside() -> PathBuf {
    let out = PathBuf::from(var("OUT_DIR"));
    // target/debug/build/cutap-0123456789abcdef/out
    out.ancestors().nth(4).expect("build scripts run in cargo's target folder").join("inside")
}

/// Builds one library with `cargo rustc` and returns where it lies. It is a copy: `main.rs` must embed what was hashed
/// here, even if another build writes to the common folder in between.
fn build(root: &Path, package: &str, cargo: &[&str], rustc: &[&str]) -> PathBuf {
    let (target, folder) = (var("TARGET"), inside());
    let other_target = target != var("HOST");
    let mut command = Command::new(var("CARGO"));
    command.args(["rustc", "--release", "--lib", "--crate-type", "cdylib", "--package", package]);
    command.arg("--manifest-path").arg(root.join("Cargo.toml"));
    command.arg("--target-dir").arg(&folder);
    if other_target {
        command.args(["--target", &target]);
    }
    if root.join("Cargo.lock").exists() {
        command.arg("--locked");
    }
    command.args(cargo).arg("--").args(rustc);
    command.current_dir(root);
    // It may be one for an older glibc. The preload links no glibc, and has flags that only the usual linker knows.
    let is_linker_kept = package != "cutap-preload";
    let is_linker = |name: &str| name.starts_with("CARGO_TARGET_") && name.ends_with("_LINKER");
    for (name, _) in std::env::vars_os() {
        let of_outer = |name: &str| belongs_to_outer_build(name) && !(is_linker_kept && is_linker(name));
        if name.to_str().is_some_and(of_outer) {
            command.env_remove(name);
        }
    }
    let output = command.output().unwrap_or_else(|e| panic!("cannot start cargo for {package}: {e}"));
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        panic!("building {package}, which cutap carries inside, failed; the reason stands above");
    }
    let file = format!("lib{}.so", package.replace('-', "_"));
    let built = if other_target { folder.join(target) } else { folder }.join("release").join(&file);
    let path = PathBuf::from(var("OUT_DIR")).join(&file);
    std::fs::copy(&built, &path)
        .unwrap_or_else(|e| panic!("building {package} left no {} that can be copied: {e}", built.display()));
    path
}

/// Variables of the outer cargo (or clippy) that would change or break the nested build.
fn belongs_to_outer_build(name: &str) -> bool {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_", "CARGO_MAKEFLAGS"];
    const DROPPED: [&str; 7] =
        ["RUSTFLAGS", "RUSTDOCFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "DEP_", "__CARGO"];
    name.starts_with("CARGO_") && !KEPT.iter().any(|k| name.starts_with(k))
        || DROPPED.iter().any(|d| name.starts_with(d))
}

fn var(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
