//! Writes row groups: all but the last one in a thread beside the one that reads the run and fills the next.

use crate::column_buffer::{ColumnBuffer, Texts};
use crate::row_group;
use cutap_report::TableSchema;
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedFileWriter;
use std::fs::File;
use std::io::BufWriter;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Rows that wait.
pub(crate) struct RowGroup {
    pub columns: Vec<ColumnBuffer>,
    pub texts: Texts,
    pub order: Vec<(u32, i64)>,
}

impl RowGroup {
    pub fn new(schema: &TableSchema) -> RowGroup {
        let columns = schema.fields.iter().map(|field| ColumnBuffer::new(field.field_type)).collect();
        RowGroup { columns, texts: Texts::new(), order: Vec::new() }
    }
}

type FileWriter = SerializedFileWriter<BufWriter<File>>;

/// Who has the file.
pub(crate) enum RowGroupWriter {
    /// No row group is written: small tables need no thread.
    Idle(Box<FileWriter>),
    Beside(SyncSender<RowGroup>, JoinHandle<Result<FileWriter>>),
    /// An error was handed on.
    Failed,
}

impl RowGroupWriter {
    pub fn new(file: FileWriter) -> RowGroupWriter {
        RowGroupWriter::Idle(Box::new(file))
    }

    /// Hands a full row group over. It waits while another one is written: two are memory enough.
    pub fn write_beside(&mut self, group: RowGroup) -> Result<()> {
        let (sender, thread) = match std::mem::replace(self, RowGroupWriter::Failed) {
            RowGroupWriter::Idle(file) => {
                let (sender, groups) = sync_channel(0);
                (sender, thread::Builder::new().spawn(move || write_all(*file, &groups))?)
            }
            RowGroupWriter::Beside(sender, thread) => (sender, thread),
            RowGroupWriter::Failed => return Err(failed()),
        };
        if sender.send(group).is_err() {
            return join(thread).and(Err(failed()));
        }
        *self = RowGroupWriter::Beside(sender, thread);
        Ok(())
    }

    /// Writes the last row group.
    pub fn finish(self, last: RowGroup) -> Result<FileWriter> {
        let mut file = match self {
            RowGroupWriter::Idle(file) => *file,
            RowGroupWriter::Beside(sender, thread) => {
                drop(sender);
                join(thread)?
            }
            RowGroupWriter::Failed => return Err(failed()),
        };
        write(&mut file, last)?;
        Ok(file)
    }
}

fn failed() -> ParquetError {
    ParquetError::General("an earlier part of the file could not be written".to_owned())
}

fn join(thread: JoinHandle<Result<FileWriter>>) -> Result<FileWriter> {
    thread.join().unwrap_or_else(|_| Err(failed()))
}

fn write_all(mut file: FileWriter, groups: &Receiver<RowGroup>) -> Result<FileWriter> {
    groups.iter().try_for_each(|group| write(&mut file, group))?;
    Ok(file)
}

fn write(file: &mut FileWriter, of: RowGroup) -> Result<()> {
    if of.order.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<u32> = (0..of.order.len() as u32).collect();
    rows.sort_by_key(|row| of.order[*row as usize]);
    let descriptions = file.schema_descr().columns().to_vec();
    let mut group = file.next_row_group()?;
    let mut next = 0;
    for column in of.columns {
        row_group::write(&mut group, descriptions[next].clone(), &column, &rows, &of.texts)?;
        next += column.file_columns();
    }
    group.close().map(drop)
}
