//! `codegen`: writes the generated files from `api/`; `--check` proves the committed ones current and
//! touches nothing. rustfmt does the layout, so that `cargo fmt --check` agrees with both. Pages about the program
//! itself come last, for it is built from generated tables.

mod program_pages;

use anyhow::{Context, Result, bail, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `build`: words for cargo that build the program which prints its pages.
pub(crate) fn run(root: &Path, check: bool, build: &[&str]) -> Result<()> {
    let mut stale = Vec::new();
    let tables = of_tables(root)?;
    write(root, &tables, check, &mut stale)?;
    // Tables that are not current may not compile.
    let pages = if stale.is_empty() { program_pages::generate(root, build)? } else { Vec::new() };
    write(root, &pages, check, &mut stale)?;
    if !stale.is_empty() {
        bail!("not current: {}; run `cargo xtask codegen` and commit", stale.join(", "));
    }
    println!("{} generated files are current", tables.len() + pages.len());
    Ok(())
}

/// The files from `api/`.
fn of_tables(root: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = cutap_registry::generate_calls(root)?;
    files.extend(cutap_registry::interface::generate(root)?);
    files.extend(cutap_registry::generate_inspect(root)?);
    files.extend(cutap_registry::generate_docs(root)?);
    files.extend(cutap_registry::sim_exports::generate(root)?);
    files.extend(cutap_registry::nvml_exports::generate(root)?);
    files.extend(cutap_registry::submission::generate(root)?);
    files.push(cutap_registry::gpu_clocks::generate(root)?);
    files.push(cutap_registry::python::generate(root)?);
    files.push(cutap_registry::gpu_time::generate(root)?);
    files.push(cutap_registry::tensor_map::generate(root)?);
    files.push(cutap_registry::nvtx::generate(root)?);
    files.push(cutap_registry::nvproxy::generate(root)?);
    files.extend(cutap_registry::variables::generate(root)?);
    let mut files: Vec<(PathBuf, Vec<u8>)> = files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
    files.extend(cutap_registry::kernel::generate(root)?);
    files.push(crate::page::generate(root)?);
    Ok(files)
}

/// Writes what has changed; with `check` it lists that in `stale`.
fn write(root: &Path, files: &[(PathBuf, Vec<u8>)], check: bool, stale: &mut Vec<String>) -> Result<()> {
    for (path, bytes) in files {
        let bytes = match path.extension().is_some_and(|e| e == "rs") {
            true => rustfmt(root, bytes).with_context(|| format!("formatting {}", path.display()))?,
            false => bytes.clone(),
        };
        let at = root.join(path);
        if std::fs::read(&at).is_ok_and(|old| old == bytes) {
            continue;
        }
        if check {
            stale.push(path.display().to_string());
        } else {
            std::fs::create_dir_all(at.parent().context("a generated file has a folder")?)?;
            std::fs::write(&at, bytes).with_context(|| format!("writing {}", at.display()))?;
            println!("wrote {}", path.display());
        }
    }
    Ok(())
}

fn rustfmt(root: &Path, text: &[u8]) -> Result<Vec<u8>> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("rustfmt is needed: `rustup component add rustfmt`")?;
    let mut stdin = child.stdin.take().context("rustfmt's stdin")?;
    let text = text.to_owned();
    let feed = std::thread::spawn(move || stdin.write_all(&text));
    let output = child.wait_with_output()?;
    ensure!(feed.join().is_ok_and(|r| r.is_ok()) && output.status.success(), "rustfmt refused the generated text");
    Ok(output.stdout)
}
