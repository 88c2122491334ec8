//! A snapshot as lines of text.

use crate::snapshot::{DeviceShare, OpenCall, Snapshot, SumsRow};
use crate::view::{Grouping, View};
use cutap_report::{format_bytes as bytes, time};
use std::io;

/// Columns of numbers before the name.
pub const NUMBERS: usize = 47;
/// Columns of the total time, which a narrow screen has no room for.
pub const TOTAL_TIME: usize = 9;

/// Writes a snapshot: what it is of, the libraries, and the first rows of functions.
///
/// # Errors
/// It cannot be written.
pub fn write_snapshot(snapshot: &Snapshot, view: &View, top: usize, to: &mut dyn io::Write) -> io::Result<()> {
    head_lines(snapshot).iter().chain(&open_lines(snapshot)).try_for_each(|line| writeln!(to, "{line}"))?;
    for grouping in [Grouping::Libraries, Grouping::Functions] {
        let view = View { grouping, ..view.clone() };
        let rows = view.rows(snapshot);
        if rows.is_empty() {
            continue;
        }
        writeln!(to, "\n{}", heading(grouping, true))?;
        rows.iter().take(top).try_for_each(|row| writeln!(to, "{}", row_text(snapshot, row, true)))?;
        if let rest @ 1.. = rows.len().saturating_sub(top) {
            writeln!(to, "{:>NUMBERS$}  {rest} more", "")?;
        }
    }
    Ok(())
}

/// What the snapshot is of, and what it lacks.
pub fn head_lines(snapshot: &Snapshot) -> Vec<String> {
    let processes = match snapshot.processes {
        0 => return vec!["no process of the run has recorded anything yet".to_owned()],
        1 => String::new(),
        more => format!(" and {}", counted(more as u64 - 1, "more process", "more processes")),
    };
    let (calls, span) = (rate(snapshot, snapshot.calls), time(snapshot.span_ns));
    let errors = counted(snapshot.errors, "error", "errors");
    let since = if snapshot.began_late { ", since cutap top began" } else { "" };
    let total = counted(snapshot.total_calls, "call", "calls");
    let first = format!("{}{processes}: {calls} calls/s in {span}, {errors}; {total}{since}", snapshot.program);
    let mut lines = vec![first];
    let memory = snapshot.memory.iter().map(|held| {
        let sign = if held.bytes < 0 { "-" } else { "" };
        format!("{sign}{} {}", bytes(held.bytes.unsigned_abs()), held.kind)
    });
    let memory: Vec<String> = memory.collect();
    if !memory.is_empty() {
        lines.push(format!("memory: {}{since}", memory.join(", ")));
    }
    let devices: Vec<String> = snapshot.devices.iter().map(|of| device_text(of, snapshot)).collect();
    if !devices.is_empty() {
        lines.push(devices.join("; "));
    }
    if snapshot.missed_calls > 0 {
        let missed = counted(snapshot.missed_calls, "call was", "calls were");
        lines.push(format!("{missed} read by the collector first, and not added up here"));
    }
    // Less than this is the time in which events of other threads are waited for.
    if snapshot.behind_ns > 500_000_000 {
        lines.push(format!("reading is {} late", time(snapshot.behind_ns)));
    }
    lines
}

fn device_text(of: &DeviceShare, snapshot: &Snapshot) -> String {
    let several = snapshot.processes > 1;
    let process = if several { format!(" of process {}", of.pid) } else { String::new() };
    let age = of.age_ns.map_or_else(String::new, |age| format!(", by rows up to {} ago", time(age)));
    match of.busy {
        Some(busy) => format!("GPU {}{process}: {:.0}% busy{age}", of.device, busy * 100.0),
        None => format!("GPU {}{process}: no new rows{age}", of.device),
    }
}

/// The open calls, one a line.
pub fn open_lines(snapshot: &Snapshot) -> Vec<String> {
    let line = |call: &OpenCall| {
        let name = call.thread.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
        let process = if snapshot.processes > 1 { format!("process {} ", call.pid) } else { String::new() };
        let inside: String = call.inside.iter().map(|outer| format!(", inside {outer}")).collect();
        format!("{process}thread {}{name}: in {} for {}{inside}", call.tid, call.function, time(call.open_ns))
    };
    snapshot.open.iter().map(line).collect()
}

/// The line above the rows.
pub fn heading(grouping: Grouping, has_total_time: bool) -> String {
    let name = match grouping {
        Grouping::Functions => "function",
        Grouping::Libraries => "library",
    };
    let total = if has_total_time { format!("{:>TOTAL_TIME$}", "total") } else { String::new() };
    format!("{:>9}{:>8}{:>8}{:>8}{:>12}{total}  {name}", "calls/s", "time%", "self%", "errors", "calls")
}

/// A row.
pub fn row_text(snapshot: &Snapshot, row: &SumsRow, has_total_time: bool) -> String {
    let share = |ns: u64| format!("{:.1}", snapshot.share(ns) * 100.0);
    let total = if has_total_time { format!("{:>TOTAL_TIME$}", time(row.total_ns)) } else { String::new() };
    format!(
        "{:>9}{:>8}{:>8}{:>8}{:>12}{total}  {}",
        rate(snapshot, row.calls),
        share(row.time_ns),
        share(row.self_ns),
        row.errors,
        row.total_calls,
        row.name
    )
}

/// Calls a second: whole, or with a digit behind the point where there are few.
fn rate(snapshot: &Snapshot, calls: u64) -> String {
    match snapshot.per_second(calls) {
        0.0 => "0".to_owned(),
        few @ ..10.0 => format!("{few:.1}"),
        many => format!("{many:.0}"),
    }
}

fn counted(n: u64, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}
