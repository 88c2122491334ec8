//! Writes row groups: all but the last one in a thread beside the one that reads the run and fills the next.

use crate::column_buffer::{ColumnBuffer, Texts};
use crate::row_group;
use cutap_report::TableSchema;
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedFileWriter;
use std::fs::File;
use std::io::BufWriter;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

/// Rows that wait. The default has no column.
#[derive(Default)]
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

    fn clear(&mut self) {
        self.columns.iter_mut().for_each(ColumnBuffer::clear);
        self.texts.clear();
        self.order.clear();
    }
}

type FileWriter = SerializedFileWriter<BufWriter<File>>;

/// Who has the file.
pub(crate) enum RowGroupWriter {
    /// No row group is written: small tables need no thread.
    Idle(Box<FileWriter>),
    Beside(Beside),
    /// An error was handed on.
    Failed,
}

/// The thread that writes.
pub(crate) struct Beside {
    full: SyncSender<RowGroup>,
    /// Groups that are written: their memory is that of the next ones.
    written: Receiver<RowGroup>,
    thread: JoinHandle<Result<FileWriter>>,
}

impl Beside {
    fn start(file: FileWriter) -> Result<Beside> {
        let (full, groups) = sync_channel(0);
        let (empty, written) = channel();
        let thread = thread::Builder::new().spawn(move || write_all(file, &groups, &empty))?;
        Ok(Beside { full, written, thread })
    }
}

impl RowGroupWriter {
    pub fn new(file: FileWriter) -> RowGroupWriter {
        RowGroupWriter::Idle(Box::new(file))
    }

    /// Hands a full row group over, and gives an empty one. It waits while another one is written: two are memory
    /// enough.
    pub fn write_beside(&mut self, group: RowGroup, schema: &TableSchema) -> Result<RowGroup> {
        let beside = match std::mem::replace(self, RowGroupWriter::Failed) {
            RowGroupWriter::Idle(file) => Beside::start(*file)?,
            RowGroupWriter::Beside(beside) => beside,
            RowGroupWriter::Failed => return Err(failed()),
        };
        if beside.full.send(group).is_err() {
            return join(beside.thread).and(Err(failed()));
        }
        let empty = beside.written.try_recv().unwrap_or_else(|_| RowGroup::new(schema));
        *self = RowGroupWriter::Beside(beside);
        Ok(empty)
    }

    /// Writes the last row group.
    pub fn finish(self, last: RowGroup) -> Result<FileWriter> {
        let mut file = match self {
            RowGroupWriter::Idle(file) => *file,
            RowGroupWriter::Beside(beside) => {
                drop(beside.full);
                join(beside.thread)?
            }
            RowGroupWriter::Failed => return Err(failed()),
        };
        write(&mut file, &last)?;
        Ok(file)
    }
}

fn failed() -> ParquetError {
    ParquetError::General("an earlier part of the file could not be written".to_owned())
}

fn join(thread: JoinHandle<Result<FileWriter>>) -> Result<FileWriter> {
    thread.join().unwrap_or_else(|_| Err(failed()))
}

fn write_all(mut file: FileWriter, groups: &Receiver<RowGroup>, empty: &Sender<RowGroup>) -> Result<FileWriter> {
    for mut group in groups {
        write(&mut file, &group)?;
        group.clear();
        let _ = empty.send(group);
    }
    Ok(file)
}

fn write(file: &mut FileWriter, of: &RowGroup) -> Result<()> {
    if of.order.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<u32> = (0..of.order.len() as u32).collect();
    if !of.order.is_sorted() {
        rows.sort_by_key(|row| of.order[*row as usize]);
    }
    let descriptions = file.schema_descr().columns().to_vec();
    let mut group = file.next_row_group()?;
    let mut next = 0;
    for column in &of.columns {
        row_group::write(&mut group, &descriptions[next..], column, &rows, &of.texts)?;
        next += column.file_columns();
    }
    group.close().map(drop)
}
