//! What `cutap query` asks for.

use serde::Deserialize;
use std::path::PathBuf;

/// A query on tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub tables: Vec<Table>,
    pub views: Vec<View>,
    pub sql: String,
    pub format: Format,
    /// Where the answer goes; none: to standard output.
    pub file: Option<PathBuf>,
}

/// A table of many files.
#[derive(Debug, Deserialize)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    pub files: Vec<RunFile>,
}

/// A column of each of its files.
#[derive(Debug, Deserialize)]
pub struct Column {
    pub name: String,
    #[serde(rename = "type")]
    pub column_type: ColumnType,
}

/// Types of columns in the files of `cutap export --parquet`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    Integer,
    Timestamp,
    Boolean,
    Text,
    Arguments,
}

/// The rows of one rank of a run.
#[derive(Debug, Deserialize)]
pub struct RunFile {
    pub path: PathBuf,
    pub run: String,
    pub rank: i64,
    pub rows: usize,
    pub bytes: u64,
}

/// A query with a name.
#[derive(Debug, Deserialize)]
pub struct View {
    pub name: String,
    pub sql: String,
}

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Text,
    Csv,
    Json,
    Parquet,
}
