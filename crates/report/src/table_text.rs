//! A table of sums as text or JSON lines.

use crate::json_writer;
use crate::style::Styles;
use crate::tables::{By, Row, Tables};
use crate::units::time;
use anstyle::Style;
use serde_json::{Value, json};
use std::io;

/// Head of the columns of numbers, in their widths.
const HEAD: &str = "    calls  errors     total      self   share      mean       p50       p99       max";

/// Writes the table for people.
pub fn write_text(tables: &Tables, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let styles = Styles::new(colour);
    writeln!(out, "{HEAD}  {}", word(tables.by()))?;
    for row in tables.rows() {
        let sums = &row.sums;
        // Of which no call ended took no time that anybody knows.
        let timed = sums.times.count() > 0;
        let shown = |ns| if timed { time(ns) } else { "-".to_owned() };
        let error = if sums.errors > 0 { styles.error } else { Style::new() };
        writeln!(
            out,
            "{:>9} {}{:>7}{} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9}  {}{}{}{}",
            sums.calls,
            error.render(),
            sums.errors,
            error.render_reset(),
            shown(sums.total_ns),
            shown(sums.self_ns),
            percent(sums.self_ns, tables.all_self_ns()),
            shown(sums.mean_ns()),
            shown(sums.times.percentile(50)),
            shown(sums.times.percentile(99)),
            shown(sums.times.most()),
            styles.name.render(),
            row.name,
            styles.name.render_reset(),
            row.label.as_ref().map(|l| l.tag()).unwrap_or_default(),
        )?;
        if sums.open > 0 {
            writeln!(out, "{:>9} of them did not return", sums.open)?;
        }
    }
    Ok(())
}

/// One JSON object a row.
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
        line["folder"] = (&*thread.process.folder).into();
    }
    let sums = &row.sums;
    let numbers = json!({
        "calls": sums.calls, "errors": sums.errors, "unfinished": sums.open, "total_ns": sums.total_ns,
        "self_ns": sums.self_ns, "share": share(sums.self_ns, tables.all_self_ns()), "mean_ns": sums.mean_ns(),
        "p50_ns": sums.times.percentile(50), "p99_ns": sums.times.percentile(99), "max_ns": sums.times.most(),
    });
    if let (Value::Object(line), Value::Object(numbers)) = (&mut line, numbers) {
        line.extend(numbers);
    }
    line
}

fn word(by: By) -> &'static str {
    crate::tables::WORDS.iter().find(|(_, of)| *of == by).map_or("", |(word, _)| word)
}

/// Part of the whole, from 0 to 1.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// `12.3%`.
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", 100.0 * share(part, whole))
}
