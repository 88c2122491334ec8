//! The manifest of a run: which files it has. It is written when all of them are whole.

use cutap_report::SCHEMA_VERSION;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// A file of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestFile {
    pub table: &'static str,
    /// From the folder of all tables.
    pub path: String,
    pub rows: u64,
    pub bytes: u64,
}

/// A run and rank that is whole.
#[derive(Debug, Clone, Deserialize)]
pub struct RunManifest {
    /// The version of the schema.
    pub schema: u32,
    /// Name of the run.
    pub run: String,
    /// Its rank.
    pub rank: u32,
    /// Its files.
    pub files: Vec<RunFile>,
    /// What the tables lack, as sentences: the recording was cut off, damaged, or being written.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// A file of a run.
#[derive(Debug, Clone, Deserialize)]
pub struct RunFile {
    /// The table.
    pub table: String,
    /// From the folder of all tables.
    pub path: String,
    /// How many rows it has.
    pub rows: u64,
    /// How many bytes it has.
    pub bytes: u64,
}

/// Reads a manifest.
pub(crate) fn read(path: &Path) -> io::Result<RunManifest> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

pub(crate) const NAME: &str = "manifest.json";
const PARTIAL: &str = ".manifest.partial";

/// What the tables of a run were made from.
#[derive(Debug, Clone, Copy)]
pub struct TablesSource<'a> {
    /// The recording.
    pub path: &'a str,
    /// What could not be read of it, as sentences.
    pub missing: &'a [String],
}

/// Writes it into the folder of the run: whole, or not at all.
pub(crate) fn write(
    folder: &Path,
    (run, rank): (&str, u32),
    source: TablesSource<'_>,
    files: &[ManifestFile],
) -> io::Result<()> {
    let file = |of: &ManifestFile| json!({"table": of.table, "path": of.path, "rows": of.rows, "bytes": of.bytes});
    let files: Vec<Value> = files.iter().map(file).collect();
    let manifest = json!({
        "schema": SCHEMA_VERSION, "cutap": env!("CARGO_PKG_VERSION"), "run": run, "rank": rank,
        "source": source.path, "missing": source.missing, "files": files,
    });
    let partial = folder.join(PARTIAL);
    let mut to = File::create(&partial)?;
    to.write_all(format!("{manifest:#}\n").as_bytes())?;
    to.sync_all()?;
    fs::rename(&partial, folder.join(NAME))?;
    File::open(folder)?.sync_all()
}
