//! The part of `report --allocations` about pools of allocators: what is handed out on each device, and the lines that
//! have it at the peak.

use crate::format::json_writer::write_json;
use crate::format::runs::with_run;
use crate::format::units::{bytes, time};
use crate::resources::pools::{LineBlocks, Pools, REFUSALS};
use crate::statistics::rows::{Rows, SortKey};
use crate::statistics::table::share;
use cutap_trace::{End, Process};
use serde_json::json;
use std::cmp::Reverse;
use std::io;

/// Lines on pools, when there are many.
const POOLS: usize = 8;

/// A line of the program and whose pool its blocks are of, with what it has.
type Row = ((String, &'static str), LineBlocks);

fn sort_keys() -> [SortKey<Row>; 4] {
    [
        ("count", |row| row.1.count),
        ("bytes", |row| row.1.bytes),
        ("peak", |row| row.1.holding.at_peak),
        ("end", |row| row.1.holding.at_end),
    ]
}

/// The lines, those that have most at the peak first.
fn sorted(pools: &Pools, rows: Rows) -> Vec<Row> {
    let mut lines = pools.lines();
    lines.sort_by(|a, b| {
        let key = |row: &Row| Reverse((row.1.holding.at_peak, row.1.holding.at_end, row.1.bytes));
        key(a).cmp(&key(b)).then_with(|| a.0.cmp(&b.0))
    });
    rows.apply(&mut lines, &sort_keys());
    lines
}

/// The process before a line, if there are several.
fn owner(process: &Process, is_one: bool) -> String {
    match &process.run {
        Some(run) => format!("{run} process {}: ", process.pid),
        None if is_one => String::new(),
        None => format!("process {}: ", process.pid),
    }
}

pub(super) fn write_text(pools: &Pools, rows: Rows, end: &End, out: &mut dyn io::Write) -> io::Result<()> {
    let first = end.processes.all.iter().map(|process| process.start_ns).min().unwrap_or(0);
    let all = pools.pools();
    let is_one = all.iter().all(|(process, ..)| all.first().is_some_and(|(first, ..)| first.key == process.key));
    for (process, (_, of, device), pool) in all.iter().take(POOLS) {
        let ((peak, ns, reserved), (live, _)) = (pool.peak(), pool.at_end());
        let (owner, after) = (owner(process, is_one), time(ns.saturating_sub(first)));
        let [peak, reserved, live] = [peak, reserved, live].map(bytes);
        write!(out, "{owner}{device}: peak {peak} {after} after the start ({of} reserves {reserved}); ")?;
        writeln!(out, "{live} live at the end")?;
    }
    if let Some(more) = all.len().checked_sub(POOLS + 1) {
        writeln!(out, "and {} lower peaks of other processes and devices, which --json lists", more + 1)?;
    }
    for refusal in pools.refusals().iter().take(REFUSALS) {
        let (call, after) = (&refusal.call, time(refusal.ns.saturating_sub(first)));
        let [request, live, reserved] = [call.bytes.unsigned_abs(), call.live, call.reserved].map(bytes);
        write!(out, "{}: out of memory {after} after the start: {request} for {}", call.device, refusal.line)?;
        writeln!(out, "; {live} live, {} reserves {reserved}", call.of)?;
    }
    if let Some(more) = pools.refusals().len().checked_sub(REFUSALS + 1) {
        writeln!(out, "and {} more requests without memory, which --json lists", more + 1)?;
    }
    let lines = sorted(pools, rows);
    if lines.is_empty() {
        return Ok(());
    }
    let [peak, part, live, count] = ["at peak", "share", "live", "count"];
    writeln!(out, "{peak:>10} {part:>6} {live:>10} {count:>9}  line that holds it")?;
    for ((line, of), blocks) in lines {
        let share = format!("{:.1}%", 100.0 * share(blocks.holding.at_peak, pools.all_at_peak()));
        let [peak, live] = [blocks.holding.at_peak, blocks.holding.at_end].map(bytes);
        writeln!(out, "{peak:>10} {share:>6} {live:>10} {:>9}  {line} [{of}]", blocks.count)?;
    }
    Ok(())
}

pub(super) fn write_lines(pools: &Pools, rows: Rows, out: &mut dyn io::Write) -> io::Result<()> {
    for ((line, of), blocks) in sorted(pools, rows) {
        let row = json!({
            "type": "pool_line", "of": of, "line": line, "count": blocks.count, "bytes": blocks.bytes,
            "peak_bytes": blocks.holding.at_peak, "peak_share": share(blocks.holding.at_peak, pools.all_at_peak()),
            "end_bytes": blocks.holding.at_end,
        });
        write_json(out, &row)?;
        out.write_all(b"\n")?;
    }
    for refusal in pools.refusals() {
        let call = &refusal.call;
        let row = json!({
            "type": "pool_refused", "of": call.of, "device": call.device, "line": refusal.line, "ns": refusal.ns,
            "bytes": call.bytes, "live_bytes": call.live, "reserved_bytes": call.reserved,
        });
        write_json(out, &row)?;
        out.write_all(b"\n")?;
    }
    for (process, (_, of, device), pool) in pools.pools() {
        let ((peak, ns, reserved), (live, reserved_at_end)) = (pool.peak(), pool.at_end());
        let row = json!({
            "type": "pool", "of": of, "device": device, "pid": process.pid, "folder": &*process.folder,
            "peak_bytes": peak, "peak_ns": ns, "peak_reserved_bytes": reserved, "end_bytes": live,
            "end_reserved_bytes": reserved_at_end,
        });
        write_json(out, &with_run(row, process))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
