//! The file of a table: rows gather to row groups.

use crate::row_group_writer::{RowGroup, RowGroupWriter};
use crate::text_column::ZSTD;
use cutap_report::{Cell, FieldType, SCHEMA_VERSION, TableSchema};
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition};
use parquet::basic::{TimeUnit, Type as Physical, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a row group.
const ROWS: usize = 500_000;
/// Memory of texts and arguments at which a row group ends before that.
const TEXT_BYTES: usize = 80 << 20;

/// A file that is written.
pub(crate) struct TableFile {
    pub path: PathBuf,
    pub rows: u64,
    writer: RowGroupWriter,
    schema: TableSchema,
    group: RowGroup,
}

impl TableFile {
    pub fn create(path: &Path, schema: TableSchema) -> Result<TableFile> {
        let file = SerializedFileWriter::new(
            BufWriter::with_capacity(1 << 18, File::create_new(path)?),
            file_schema(&schema)?,
            Arc::new(properties(&schema)?),
        )?;
        let group = RowGroup::new(&schema);
        Ok(TableFile { path: path.to_owned(), rows: 0, writer: RowGroupWriter::new(file), schema, group })
    }

    pub fn row<'c>(&mut self, cells: impl Iterator<Item = Cell<'c>>, order: (u32, i64)) -> Result<()> {
        let group = &mut self.group;
        let mut columns = group.columns.iter_mut();
        // Cells are made and kept one by one: an array of them in between cost more than all numbers.
        cells.for_each(|cell| {
            if let Some(column) = columns.next() {
                column.push(cell, &mut group.texts);
            }
        });
        group.order.push(order);
        self.rows += 1;
        if group.order.len() < ROWS && group.texts.bytes() < TEXT_BYTES {
            return Ok(());
        }
        self.group = self.writer.write_beside(std::mem::take(&mut self.group), &self.schema)?;
        Ok(())
    }

    /// Writes what waits and the end of the file, which is on the disk then: its path, rows and bytes.
    pub fn finish(self) -> Result<(PathBuf, u64, u64)> {
        let file = self.writer.finish(self.group)?;
        let file = file.into_inner()?.into_inner().map_err(|e| ParquetError::from(e.into_error()))?;
        file.sync_all()?;
        Ok((self.path, self.rows, file.metadata()?.len()))
    }
}

/// zstd for all, and numbers as differences: the general writer's dictionaries of numbers cost more than they save.
fn properties(schema: &TableSchema) -> Result<WriterProperties> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // Columns of texts have none, and readers expect all or none.
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(ROWS))
        .set_created_by(concat!("cutap ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new("cutap.schema".to_owned(), SCHEMA_VERSION.to_string())]));
    for field in &schema.fields {
        if field.field_type == FieldType::Arguments {
            // The least and the greatest of all arguments help no reader to leave out rows.
            for leaf in ["name", "type", "int", "float", "text"] {
                let path = ColumnPath::new([field.name, "list", "element", leaf].map(str::to_owned).to_vec());
                properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
            }
        }
        if matches!(field.field_type, FieldType::Number | FieldType::Measure | FieldType::Timestamp) {
            let path = ColumnPath::from(field.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(properties.build())
}

fn file_schema(schema: &TableSchema) -> Result<TypePtr> {
    let fields = schema.fields.iter().map(|field| column(field.name, field.field_type));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
}

fn column(name: &str, of: FieldType) -> Result<TypePtr> {
    const OPTIONAL: Repetition = Repetition::OPTIONAL;
    match of {
        FieldType::Number | FieldType::Measure => leaf(name, Physical::INT64, None, OPTIONAL),
        FieldType::Timestamp => {
            let logical = LogicalType::timestamp(true, TimeUnit::MICROS);
            leaf(name, Physical::INT64, Some(logical), OPTIONAL)
        }
        FieldType::Boolean => leaf(name, Physical::BOOLEAN, None, OPTIONAL),
        FieldType::Text => leaf(name, Physical::BYTE_ARRAY, Some(LogicalType::String), OPTIONAL),
        FieldType::Arguments => {
            let string = Some(LogicalType::String);
            let fields = vec![
                leaf("name", Physical::BYTE_ARRAY, string.clone(), Repetition::REQUIRED)?,
                leaf("type", Physical::BYTE_ARRAY, string.clone(), Repetition::REQUIRED)?,
                leaf("int", Physical::INT64, None, OPTIONAL)?,
                leaf("float", Physical::DOUBLE, None, OPTIONAL)?,
                leaf("text", Physical::BYTE_ARRAY, string, OPTIONAL)?,
            ];
            let group = |name, repetition, fields| {
                Type::group_type_builder(name).with_repetition(repetition).with_fields(fields)
            };
            let element = group("element", Repetition::REQUIRED, fields).build()?;
            let list = group("list", Repetition::REPEATED, vec![Arc::new(element)]).build()?;
            let all = group(name, OPTIONAL, vec![Arc::new(list)]);
            let all = all.with_logical_type(Some(LogicalType::List)).with_converted_type(ConvertedType::LIST);
            Ok(Arc::new(all.build()?))
        }
    }
}

fn leaf(name: &str, physical: Physical, logical: Option<LogicalType>, repetition: Repetition) -> Result<TypePtr> {
    let leaf = Type::primitive_type_builder(name, physical).with_repetition(repetition).with_logical_type(logical);
    Ok(Arc::new(leaf.build()?))
}
