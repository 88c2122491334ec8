//! The table of `report --by` as text or JSON lines.

use crate::format::json_writer;
use crate::format::kernel_name::fitting;
use crate::format::runs::run_fields;
use crate::format::style::Styles;
use crate::format::units::time;
use crate::statistics::call_stats::{CallStats, View};
use crate::statistics::table::{Table, WIDTH};
use crate::statistics::tables::{By, Row, Tables};
use serde_json::{Value, json};
use std::io;

/// The time of a run is even with another one if it differs by a quarter at most.
const UNEVEN: u64 = 4;
/// A row with less than one part in so many of all time matters little, and so does less time than this.
const MATTERS: u64 = 100;
const LEAST_NS: u64 = 1_000_000;

/// Writes the table for people.
pub fn write_text(tables: &Tables, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let rows = tables.rows();
    let process = only_process(&rows).filter(|_| matches!(tables.by(), By::Thread | By::Stream)).unwrap_or_default();
    let name_of = |row: &Row| {
        let tag = row.label.as_ref().map(|label| label.short_tag()).unwrap_or_default();
        let name = row.name.strip_prefix(&process).unwrap_or(&row.name);
        // The name of a kernel has no end: JSON has all of it.
        let is_kernel = tables.by() == By::Kernel && name.chars().count() > WIDTH;
        (if is_kernel { fitting(name, WIDTH) } else { name.to_owned() }, tag)
    };
    let names: Vec<(String, String)> = rows.iter().map(name_of).collect();
    let longest = names.iter().map(|(name, tag)| name.chars().count() + tag.chars().count()).max().unwrap_or(0);
    let has_gpu = rows.iter().any(|row| row.sums.gpu_ns > 0);
    let headings = CallStats::headings(View::Table, has_gpu);
    let mut table = Table::new(headings, Styles::new(colour), out).names_first(longest);
    // The times are those of the calls that launch, not of the kernels.
    table.head(if tables.by() == By::Kernel { "launch call" } else { word(tables.by()) })?;
    for (row, (name, tag)) in rows.iter().zip(&names) {
        table.row(&row.sums.cells(View::Table, has_gpu, tables.all_self_ns()), 0, name, tag)?;
        row.sums.unfinished().map_or(Ok(()), |line| table.line(&line))?;
        uneven(row, tables.all_self_ns()).map_or(Ok(()), |line| table.line(&line))?;
    }
    Ok(())
}

/// `process 7 `, if all names begin with it: it tells nothing apart.
fn only_process(rows: &[Row]) -> Option<String> {
    let mut words = rows.first()?.name.split(' ');
    let process = format!("{} {} ", words.next()?, words.next()?);
    (process.starts_with("process ") && rows.iter().all(|row| row.name.starts_with(&process))).then_some(process)
}

/// A line below a row whose time is spread over the runs unevenly, and makes a part of all that matters.
fn uneven(row: &Row, all_ns: u64) -> Option<String> {
    let runs = || row.runs.iter().map(|(run, sums)| (sums.total_ns, run));
    let (most, least) = (runs().max_by_key(|(ns, _)| *ns)?, runs().min_by_key(|(ns, _)| *ns)?);
    let is_uneven = runs().count() > 1 && most.0 > least.0.saturating_add(least.0 / UNEVEN);
    let matters = row.sums.self_ns.saturating_mul(MATTERS) >= all_ns && most.0 >= LEAST_NS;
    let ((most_ns, most), (least_ns, least)) = (most, least);
    let line = || format!("{:10}total in {most} {}, in {least} {}", "", time(most_ns), time(least_ns));
    (is_uneven && matters).then(line)
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
        if let (Some(run), Value::Object(line)) = (&thread.process.run, &mut line) {
            line.extend(run_fields(run));
        }
    }
    let runs = row.runs.iter().map(|(run, sums)| {
        let mut of_run = run_fields(run);
        of_run.extend(sums.json(View::Table, tables.all_self_ns()));
        Value::Object(of_run)
    });
    let runs: Vec<Value> = runs.collect();
    if !runs.is_empty() {
        line["runs"] = runs.into();
    }
    if let Value::Object(line) = &mut line {
        line.extend(row.sums.json(View::Table, tables.all_self_ns()));
    }
    line
}

fn word(by: By) -> &'static str {
    crate::statistics::tables::WORDS.iter().find(|(_, of)| *of == by).map_or("", |(word, _)| word)
}
