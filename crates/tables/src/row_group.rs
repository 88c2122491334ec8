//! Writes a row group: column after column, the rows in their order by thread and time.

use crate::column_buffer::{ArgumentColumn, ColumnBuffer, Texts};
use crate::text_column::{self, TextLeaf};
use bytes::Bytes;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::{SerializedColumnWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// Rows that are handed to the encoder together: what waits is memory.
const TOGETHER: usize = 8192;

/// Writes the column to the next one of the row group, which the first of these descriptions is of; arguments are five
/// of the file's columns.
pub(crate) fn write<W: Write + Send>(
    to: &mut SerializedRowGroupWriter<'_, W>,
    descriptions: &[ColumnDescPtr],
    column: &ColumnBuffer,
    rows: &[u32],
    texts: &Texts,
) -> Result<()> {
    if let (ColumnBuffer::Texts(values), [description, ..]) = (column, descriptions)
        && append_texts(to, description, &TextLeaf::flat(values, rows), rows, texts)?
    {
        return Ok(());
    }
    match column {
        ColumnBuffer::Integers(values, known) => next(to, |to| {
            let to = to.typed::<Int64Type>();
            in_parts(rows, |rows| {
                let (mut part, mut levels) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
                for row in rows {
                    let row = *row as usize;
                    levels.push(i16::from(known[row]));
                    if known[row] {
                        part.push(values[row]);
                    }
                }
                to.write_batch(&part, Some(&levels), None).map(drop)
            })
        }),
        ColumnBuffer::Booleans(values) => next(to, |to| {
            let to = to.typed::<BoolType>();
            in_parts(rows, |rows| {
                let all = || rows.iter().map(|row| values[*row as usize]);
                let levels: Vec<i16> = all().map(|value| i16::from(value < 2)).collect();
                let part: Vec<bool> = all().filter(|value| *value < 2).map(|value| value == 1).collect();
                to.write_batch(&part, Some(&levels), None).map(drop)
            })
        }),
        ColumnBuffer::Texts(values) => next(to, |to| {
            let to = to.typed::<ByteArrayType>();
            in_parts(rows, |rows| {
                let all = || rows.iter().map(|row| values[*row as usize]);
                let levels: Vec<i16> = all().map(|number| i16::from(number != 0)).collect();
                let part: Vec<ByteArray> = all().filter(|number| *number != 0).map(|n| texts.text(n)).collect();
                to.write_batch(&part, Some(&levels), None).map(drop)
            })
        }),
        ColumnBuffer::Arguments(column) => {
            let (leaf, numbers) = (Leaf { column, rows }, [&column.names, &column.types, &column.texts]);
            let int = |n: usize| Some(column.ints[n]).filter(|_| column.has[n] & 1 != 0);
            let float = |n: usize| Some(column.floats[n]).filter(|_| column.has[n] & 2 != 0);
            for (n, description) in descriptions.iter().take(5).enumerate() {
                match n {
                    2 => next(to, |to| leaf.write::<Int64Type, _>(to, 3, int))?,
                    3 => next(to, |to| leaf.write::<DoubleType, _>(to, 3, float))?,
                    _ => {
                        let (numbers, full) = (numbers[n.min(2)], description.max_def_level());
                        if append_texts(to, description, &leaf.texts(numbers, full as u8), rows, texts)? {
                            continue;
                        }
                        let text = |n: usize| Some(numbers[n]).filter(|n| *n != 0 || full == 2).map(|n| texts.text(n));
                        next(to, |to| leaf.write::<ByteArrayType, _>(to, full, text))?;
                    }
                }
            }
            Ok(())
        }
    }
}

/// Appends a column of texts by their numbers. False, and nothing, if the texts are too many for that.
fn append_texts<W: Write + Send>(
    to: &mut SerializedRowGroupWriter<'_, W>,
    description: &ColumnDescPtr,
    leaf: &TextLeaf,
    rows: &[u32],
    texts: &Texts,
) -> Result<bool> {
    match text_column::chunk(description.clone(), leaf, rows.len(), texts)? {
        Some((bytes, close)) => to.append_column(&Bytes::from(bytes), close).map(|()| true),
        None => Ok(false),
    }
}

fn next<W: Write + Send>(
    to: &mut SerializedRowGroupWriter<'_, W>,
    write: impl FnOnce(&mut SerializedColumnWriter<'_>) -> Result<()>,
) -> Result<()> {
    let Some(mut column) = to.next_column()? else { return Ok(()) };
    write(&mut column)?;
    column.close()
}

fn in_parts(rows: &[u32], write: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
    rows.chunks(TOGETHER).try_for_each(write)
}

/// A field of the arguments. Levels of the definition: 0 the list is null, 1 it is empty, 2 there is an argument, 3 it
/// has the value.
struct Leaf<'a> {
    column: &'a ArgumentColumn,
    rows: &'a [u32],
}

impl Leaf<'_> {
    /// Texts by their numbers; `full` is the level of a text, and number 0 none where a text may be missing.
    fn texts(&self, numbers: &[u32], full: u8) -> TextLeaf {
        let mut leaf = TextLeaf::default();
        for row in self.rows {
            let (from, count) = match self.column.rows[*row as usize] {
                Some((from, count)) if count > 0 => (from as usize, count as usize),
                empty => {
                    leaf.definition.push(u8::from(empty.is_some()));
                    leaf.repetition.push(0);
                    continue;
                }
            };
            for (n, number) in numbers[from..from + count].iter().enumerate() {
                let is_there = *number != 0 || full == 2;
                leaf.definition.push(if is_there { full } else { 2 });
                leaf.repetition.push(u8::from(n > 0));
                leaf.numbers.extend(is_there.then_some(*number));
            }
        }
        leaf
    }

    /// Writes it; `full` is the level of a value.
    fn write<T, F>(&self, to: &mut SerializedColumnWriter<'_>, full: i16, value: F) -> Result<()>
    where
        T: parquet::data_type::DataType,
        F: Fn(usize) -> Option<T::T>,
    {
        let to = to.typed::<T>();
        in_parts(self.rows, |rows| {
            let (mut values, mut levels, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
            for row in rows {
                let (from, count) = match self.column.rows[*row as usize] {
                    Some((from, count)) if count > 0 => (from as usize, count as usize),
                    empty => {
                        levels.push(i16::from(empty.is_some()));
                        repeated.push(0);
                        continue;
                    }
                };
                for n in from..from + count {
                    let value = value(n);
                    levels.push(if value.is_some() { full } else { 2 });
                    repeated.push(i16::from(n != from));
                    values.extend(value);
                }
            }
            to.write_batch(&values, Some(&levels), Some(&repeated)).map(drop)
        })
    }
}
