//! Runs the query and writes the answer.

use crate::failure::Failure;
use crate::file_table::FileTable;
use crate::request::{Format, Request};
use crate::text_table;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::json::writer::{LineDelimited, WriterBuilder};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Failure>;

/// Answers the request.
pub async fn answer(request: &Request) -> Result<()> {
    let mut config = SessionConfig::new().with_information_schema(true);
    config.options_mut().sql_parser.collect_spans = true;
    let context = SessionContext::new_with_config(config);
    for table in &request.tables {
        context.register_table(&table.name, Arc::new(FileTable::new(table)?))?;
    }
    for view in &request.views {
        context.sql(&format!("create view {} as {}", view.name, view.sql)).await?;
    }
    // A query reads: no statement makes files or changes settings.
    let only_reads = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    let answer = context.sql_with_options(&request.sql, only_reads).await?;
    let rows = answer.execute_stream().await?;
    match (request.format, &request.file) {
        (Format::Parquet, Some(file)) => parquet_file(rows, file).await,
        (format, Some(file)) => write(rows, format, File::create(file)?).await,
        (format, None) => write(rows, format, io::stdout()).await,
    }
}

async fn write(mut rows: SendableRecordBatchStream, format: Format, to: impl Write) -> Result<()> {
    let mut to = BufWriter::with_capacity(1 << 16, to);
    let schema = rows.schema();
    match format {
        Format::Csv => {
            let names: Vec<String> = schema.fields().iter().map(|field| quoted(field.name())).collect();
            writeln!(to, "{}", names.join(","))?;
            while let Some(batch) = rows.next().await {
                csv_rows(&batch?, &mut to)?;
            }
        }
        Format::Json => {
            let mut lines = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut to);
            while let Some(batch) = rows.next().await {
                lines.write(&batch?).map_err(DataFusionError::from)?;
            }
        }
        Format::Text | Format::Parquet => {
            let mut batches: Vec<RecordBatch> = Vec::new();
            while let Some(batch) = rows.next().await {
                batches.push(batch?);
            }
            text_table::write(&schema, &batches, &mut to)?;
        }
    }
    Ok(to.flush()?)
}

fn csv_rows(batch: &RecordBatch, to: &mut impl Write) -> Result<()> {
    let options = FormatOptions::default();
    let columns: Vec<ArrayFormatter<'_>> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options).map_err(DataFusionError::from))
        .collect::<std::result::Result<_, _>>()?;
    for row in 0..batch.num_rows() {
        for (n, column) in columns.iter().enumerate() {
            let cell = column.value(row).try_to_string().map_err(DataFusionError::from)?;
            let separator = if n == 0 { "" } else { "," };
            write!(to, "{separator}{}", quoted(&cell))?;
        }
        writeln!(to)?;
    }
    Ok(())
}

/// A cell of CSV, in quotes where a reader needs them.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

/// The file is there when it is whole.
async fn parquet_file(mut rows: SendableRecordBatchStream, path: &Path) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let result = async {
        let level = ZstdLevel::try_new(1).map_err(parquet_error)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        let mut file =
            ArrowWriter::try_new(File::create(&partial)?, rows.schema(), Some(properties)).map_err(parquet_error)?;
        while let Some(batch) = rows.next().await {
            file.write(&batch?).map_err(parquet_error)?;
        }
        file.close().map_err(parquet_error)?;
        Ok(std::fs::rename(&partial, path)?)
    };
    let written = result.await;
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}

fn parquet_error(error: ParquetError) -> Failure {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => Failure::Output(*io),
            Err(other) => Failure::Output(io::Error::other(other.to_string())),
        },
        other => Failure::Output(io::Error::other(other.to_string())),
    }
}
