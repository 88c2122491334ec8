//! What a maintainer or CI runs: `cargo xtask codegen [--check]`. Each command is one file here; this
//! one only picks it.

mod codegen;

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

const USAGE: &str = "usage: cargo xtask codegen [--check]";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["codegen"] => codegen::run(&root(), false),
        ["codegen", "--check"] => codegen::run(&root(), true),
        _ => bail!("{USAGE}"),
    }
}

/// The repository's root: the folder above this crate.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}
