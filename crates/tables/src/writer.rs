//! Writes the tables of one run: rows to files, and the manifest last.

use crate::folder::{RunName, RunPlace, TablesError, TablesFolder, file_error};
use crate::manifest::{self, ManifestFile, TablesSource};
use crate::table_file::TableFile;
use cutap_report::{Cell, TableSchema, TableSink, table_schemas};
use std::io;

/// The files of a run. Dropped before the end, it leaves none.
pub struct TablesWriter {
    place: RunPlace,
    schemas: Vec<TableSchema>,
    /// By the number of the table; a file is made with its first row.
    files: Vec<Option<TableFile>>,
    error: Option<TablesError>,
    is_finished: bool,
}

impl TablesWriter {
    /// Begins a run.
    ///
    /// # Errors
    /// The run is there, is written by another process, or cannot be written.
    pub fn begin(folder: &TablesFolder, name: &RunName) -> Result<TablesWriter, TablesError> {
        let schemas = table_schemas();
        let names: Vec<&'static str> = schemas.iter().map(|schema| schema.name).collect();
        let place = folder.begin(name, &names)?;
        let files = schemas.iter().map(|_| None).collect();
        let mut writer = TablesWriter { place, schemas, files, error: None, is_finished: false };
        for (table, schema) in writer.schemas.iter().enumerate() {
            if !schema.is_optional {
                writer.files[table] = Some(create(&writer.place, schema)?);
            }
        }
        Ok(writer)
    }

    /// What went wrong with a row.
    pub fn take_error(&mut self) -> Option<TablesError> {
        self.error.take()
    }

    /// Ends all files and writes the manifest: how many bytes the files have.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(mut self, name: &RunName, source: TablesSource<'_>) -> Result<u64, TablesError> {
        let mut written = Vec::new();
        for (file, schema) in self.files.iter_mut().zip(&self.schemas) {
            let Some(file) = file.take() else { continue };
            let path = file.path.clone();
            let (_, rows, bytes) = file.finish().map_err(|e| file_error(&path, e))?;
            written.push(ManifestFile { table: schema.name, path: self.place.file(schema.name), rows, bytes });
        }
        written.iter().try_for_each(|file| self.place.publish(file.table))?;
        manifest::write(&self.place.manifests, (&name.run, name.rank), source, &written)
            .map_err(|e| TablesError::File(self.place.manifests.join(manifest::NAME), e))?;
        self.is_finished = true;
        Ok(written.iter().map(|file| file.bytes).sum())
    }
}

impl TablesWriter {
    fn push<'c>(
        &mut self,
        table: usize,
        cells: impl Iterator<Item = Cell<'c>>,
        order: (u32, i64),
    ) -> Result<(), TablesError> {
        let file = match &mut self.files[table] {
            Some(file) => file,
            none => none.insert(create(&self.place, &self.schemas[table])?),
        };
        file.row(cells, order).map_err(|e| file_error(&file.path, e))
    }
}

fn create(place: &RunPlace, schema: &TableSchema) -> Result<TableFile, TablesError> {
    let path = place.make_folder(schema.name)?;
    TableFile::create(&path, schema.clone()).map_err(|e| file_error(&path, e))
}

impl TableSink for TablesWriter {
    fn row<'c>(&mut self, table: usize, cells: impl Iterator<Item = Cell<'c>>, order: (u32, i64)) -> io::Result<()> {
        let written = self.push(table, cells, order);
        written.map_err(|e| {
            self.error.get_or_insert(e);
            io::ErrorKind::Other.into()
        })
    }
}

impl Drop for TablesWriter {
    fn drop(&mut self) {
        if !self.is_finished {
            self.files.clear();
            self.place.remove_files();
        }
    }
}
