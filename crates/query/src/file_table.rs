//! A table whose rows are in many Parquet files: those that the manifests of runs name, and no other file of a folder.

use crate::request::{ColumnType, RunFile, Table};
use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ScalarValue, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use object_store::ObjectMeta;
use object_store::path::Path;
use std::sync::Arc;

/// The table, with the columns `run` and `rank` behind those of the files.
#[derive(Debug)]
pub struct FileTable {
    schema: TableSchema,
    files: Vec<PartitionedFile>,
    rows: usize,
}

impl FileTable {
    /// Of the request's table.
    ///
    /// # Errors
    /// The path of a file is not an absolute one.
    pub fn new(of: &Table) -> Result<FileTable> {
        let fields: Vec<FieldRef> = of
            .columns
            .iter()
            .map(|column| Arc::new(Field::new(&column.name, data_type(column.column_type), true)))
            .collect();
        let of_run = vec![
            Arc::new(Field::new("run", DataType::Utf8View, false)),
            Arc::new(Field::new("rank", DataType::Int64, false)),
        ];
        Ok(FileTable {
            schema: TableSchema::builder(Arc::new(Schema::new(fields))).with_table_partition_cols(of_run).build(),
            files: of.files.iter().map(file).collect::<Result<_>>()?,
            rows: of.files.iter().map(|file| file.rows).sum(),
        })
    }
}

fn file(of: &RunFile) -> Result<PartitionedFile> {
    let location = Path::from_absolute_path(&of.path).map_err(|e| DataFusionError::External(Box::new(e)))?;
    let meta = ObjectMeta { location, last_modified: Default::default(), size: of.bytes, e_tag: None, version: None };
    let values = vec![ScalarValue::Utf8View(Some(of.run.clone())), ScalarValue::Int64(Some(of.rank))];
    Ok(PartitionedFile::new_from_meta(meta).with_partition_values(values))
}

fn data_type(of: ColumnType) -> DataType {
    match of {
        ColumnType::Integer => DataType::Int64,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Text => DataType::Utf8View,
        ColumnType::Arguments => {
            let argument = Fields::from(vec![
                Field::new("name", DataType::Utf8, false),
                Field::new("type", DataType::Utf8, false),
                Field::new("int", DataType::Int64, true),
                Field::new("float", DataType::Float64, true),
                Field::new("text", DataType::Utf8, true),
            ]);
            DataType::List(Arc::new(Field::new("element", DataType::Struct(argument), false)))
        }
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        self.schema.table_schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Conditions come later, from the optimizer of the physical plan, and leave out row groups.
    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.files.is_empty() {
            let schema = self.schema.table_schema();
            let columns = projection.map(|projection| schema.project(projection)).transpose()?;
            return Ok(Arc::new(EmptyExec::new(columns.map_or_else(|| schema.clone(), Arc::new))));
        }
        let groups = FileGroup::new(self.files.clone()).split_files(state.config().target_partitions());
        let mut statistics = Statistics::new_unknown(self.schema.table_schema());
        statistics.num_rows = Precision::Exact(self.rows);
        let source = Arc::new(ParquetSource::new(self.schema.clone()));
        let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), source)
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}
