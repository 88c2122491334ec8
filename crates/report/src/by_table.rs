//! The table of `report --by` as text or JSON lines.

use crate::call_stats::{CallStats, View};
use crate::json_writer;
use crate::style::Styles;
use crate::table::Table;
use crate::tables::{By, Row, Tables};
use serde_json::{Value, json};
use std::io;

/// Writes the table for people.
pub fn write_text(tables: &Tables, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let mut table = Table::new(CallStats::headings(View::Table), Styles::new(colour), out);
    table.head(word(tables.by()))?;
    let rows = tables.rows();
    let process = only_process(&rows).filter(|_| matches!(tables.by(), By::Thread | By::Stream)).unwrap_or_default();
    for row in &rows {
        let tag = row.label.as_ref().map(|label| label.tag()).unwrap_or_default();
        let name = row.name.strip_prefix(&process).unwrap_or(&row.name);
        table.row(&row.sums.cells(View::Table, tables.all_self_ns()), 0, name, &tag)?;
        row.sums.unfinished().map_or(Ok(()), |line| table.line(&line))?;
    }
    Ok(())
}

/// `process 7 `, if all names begin with it: it tells nothing apart.
fn only_process(rows: &[Row]) -> Option<String> {
    let mut words = rows.first()?.name.split(' ');
    let process = format!("{} {} ", words.next()?, words.next()?);
    (process.starts_with("process ") && rows.iter().all(|row| row.name.starts_with(&process))).then_some(process)
}

/// Writes one JSON object a row.
pub fn write_json(tables: &Tables, out: &mut dyn io::Write) -> io::Result<()> {
    for row in tables.rows() {
        json_writer::write_json(out, &line(&row, tables))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn line(row: &Row, tables: &Tables) -> Value {
    let mut line = json!({"type": "report", "by": word(tables.by()), "name": row.name});
    if let Some(label) = &row.label {
        line["layer"] = label.layer.name().into();
        line["library"] = (&*label.library).into();
        line["runtime"] = label.runtime.as_deref().into();
    }
    if let Some(thread) = &row.thread {
        line["pid"] = thread.process.pid.into();
        line["tid"] = thread.tid.into();
        line["thread"] = thread.name.as_deref().into();
        line["folder"] = (&*thread.process.folder).into();
    }
    if let Value::Object(line) = &mut line {
        line.extend(row.sums.json(View::Table, tables.all_self_ns()));
    }
    line
}

fn word(by: By) -> &'static str {
    crate::tables::WORDS.iter().find(|(_, of)| *of == by).map_or("", |(word, _)| word)
}
