//! An answer as a table for people: numbers to the right, two spaces between columns.

use crate::failure::Failure;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Float64Type, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use std::io::Write;

/// Columns of a screen that one cell takes at most.
const WIDEST: usize = 100;

/// Writes the table.
pub fn write(schema: &Schema, batches: &[RecordBatch], to: &mut impl Write) -> Result<(), Failure> {
    let mut rows: Vec<Vec<String>> = vec![schema.fields().iter().map(|field| printable(field.name())).collect()];
    for batch in batches {
        let from = rows.len();
        rows.resize_with(from + batch.num_rows(), Vec::new);
        for column in batch.columns() {
            let cells = cells(column).map_err(Failure::Query)?;
            rows[from..].iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).min(WIDEST);
    let widths: Vec<usize> = (0..schema.fields().len()).map(width).collect();
    for row in &rows {
        let mut line = String::new();
        for ((cell, width), field) in row.iter().zip(&widths).zip(schema.fields()) {
            if field.data_type().is_numeric() {
                line.push_str(&format!("{cell:>width$}  "));
            } else {
                line.push_str(&format!("{cell:<width$}  "));
            }
        }
        writeln!(to, "{}", line.trim_end())?;
    }
    Ok(())
}

fn cells(column: &dyn Array) -> Result<Vec<String>, DataFusionError> {
    if *column.data_type() == DataType::Float64 {
        let all = column.as_primitive::<Float64Type>().iter();
        return Ok(all.map(|value| value.map_or_else(String::new, |value| format!("{value:.3}"))).collect());
    }
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column, &options)?;
    (0..column.len()).map(|row| Ok(printable(&formatter.value(row).try_to_string()?))).collect()
}

/// Names in recordings are those of a program: what would steer a terminal is written as its number.
fn printable(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    text.chars().map(escape).collect()
}
