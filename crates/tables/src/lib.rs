//! Tables of runs as Parquet files: a folder for each table, in it one for each run and rank, and a manifest of each
//! run, which is written last. What a row has is decided in `cutap_report`.

mod column_buffer;
mod column_stream;
mod folder;
mod manifest;
mod questions;
mod reader;
mod row_group;
mod row_group_writer;
mod run_length;
mod table_file;
mod text_column;
mod writer;

pub use column_stream::{ColumnStream, table_names};
pub use folder::{RunName, TablesError, TablesFolder};
pub use manifest::{RunFile, RunManifest, TablesSource};
pub use questions::{QUESTIONS, Question, VIEWS, View};
pub use reader::{is_tables_folder, manifests};
pub use writer::TablesWriter;

#[cfg(test)]
mod tests;
