//! Pages about the program, which only the program knows: its flags, its messages, its JSON. It prints them.

use crate::build::{cargo, output, run};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The page as `cutap __reference` calls it, and its file.
const PAGES: [(&str, &str); 5] = [
    ("command-line", "command-line.md"),
    ("messages", "messages.md"),
    ("json-lines", "json-lines.md"),
    ("json-schema", "json-schema.json"),
    ("tables", "tables.md"),
];

/// Builds the program by these words for cargo, and lets it print.
pub(super) fn generate(root: &Path, build: &[&str]) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    run(cargo(root).args(build).arg("--quiet"))?;
    let program = crate::build::target(root).join("debug/cutap");
    let page = |(word, file): (&str, &str)| {
        let text = output(Command::new(&program).args(["__reference", word]))?;
        Ok((Path::new("docs/reference").join(file), (text + "\n").into_bytes()))
    };
    PAGES.into_iter().map(page).collect()
}
