//! `report --copies`: copies and sets on the GPU by direction and kinds of memory, with their bandwidth.

use super::{IgnoredCalls, Input, Report, ReportKind, Takes};
use crate::format::json_writer::write_json;
use crate::format::units::{bytes, time};
use crate::statistics::histogram::Histogram;
use crate::statistics::rows::{Rows, SortKey, headings};
use cutap_calls::generated::gpu_time::memory_kind;
use cutap_calls::gpu_time::copy_kind;
use cutap_trace::{End, WorkRows};
use cutap_wire::rows::RowContent;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "copies",
    help: "Copies and sets on the GPU, with bytes and bandwidth (--gpu-time)",
    value: Takes::Nothing,
    new: |_| Box::new(Copies::default()),
};

/// The sums of copies of one direction between two kinds of memory.
#[derive(Debug, Clone, Default)]
struct CopySums {
    direction: String,
    bytes: u64,
    ns: u64,
    times: Histogram,
    bad_times: u64,
}

impl CopySums {
    /// Bytes a second, of copies with good times.
    fn bandwidth(&self) -> u64 {
        let rate = u128::from(self.bytes) * 1_000_000_000 / u128::from(self.ns.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

const SORT_KEYS: &[SortKey<CopySums>] =
    &[("total", |row| row.ns), ("calls", |row| row.times.count()), ("bytes", |row| row.bytes)];

#[derive(Debug, Default)]
struct Copies {
    sums: Vec<CopySums>,
    rows: Rows,
    calls: IgnoredCalls,
}

fn memory(kind: u8) -> &'static str {
    match u32::from(kind) {
        memory_kind::PAGEABLE => "pageable",
        memory_kind::PINNED => "pinned",
        memory_kind::DEVICE | memory_kind::DEVICE_STATIC => "device",
        memory_kind::ARRAY => "array",
        memory_kind::MANAGED | memory_kind::MANAGED_STATIC => "managed",
        _ => "unknown memory",
    }
}

impl Copies {
    fn listed(&self) -> Vec<CopySums> {
        let mut rows = self.sums.clone();
        self.rows.apply(&mut rows, SORT_KEYS);
        rows
    }
}

impl Report for Copies {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(&mut self.calls)
    }

    fn needs_gpu_times(&self) -> bool {
        true
    }

    fn gpu_times(&mut self, work: &WorkRows<'_>) {
        let mut sums: BTreeMap<String, CopySums> = BTreeMap::new();
        for row in work.rows() {
            let (direction, size) = match row.row.content {
                RowContent::Copy(copied) => {
                    let kind = copy_kind(copied.kind);
                    let [from, to] = copied.memory_kinds.map(memory);
                    (format!("copy {kind}, {from} to {to}"), copied.bytes)
                }
                RowContent::Set { bytes, .. } => ("set".to_owned(), bytes),
                _ => continue,
            };
            let of = sums.entry(direction.clone()).or_insert_with(|| CopySums { direction, ..CopySums::default() });
            match row.took_ns() {
                Some(ns) => {
                    of.ns = of.ns.saturating_add(ns);
                    of.bytes = of.bytes.saturating_add(size);
                    of.times.add(ns);
                }
                None => of.bad_times += 1,
            }
        }
        self.sums = sums.into_values().collect();
        self.sums.sort_by_key(|row| std::cmp::Reverse(row.ns));
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        rows.depth.is_none()
    }

    fn sort_columns(&self) -> Vec<&'static str> {
        headings(SORT_KEYS)
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        self.sums.is_empty().then(|| "no copy and no set ran on the GPU, or CUPTI reported none".into())
    }

    fn write_text(&self, _: &End, _: bool, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "   calls      bytes    total     mean      p95    bandwidth  what")?;
        for row in self.listed() {
            let count = row.times.count();
            let (size, total) = (bytes(row.bytes), time(row.ns));
            let (mean, p95) = (time(row.ns / count.max(1)), time(row.times.percentile(95)));
            let bandwidth = format!("{}/s", bytes(row.bandwidth()));
            writeln!(out, "{count:>8} {size:>10} {total:>8} {mean:>8} {p95:>8} {bandwidth:>12}  {}", row.direction)?;
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for row in self.listed() {
            let line = json!({
                "type": "gpu_copy", "what": row.direction, "calls": row.times.count() + row.bad_times,
                "bytes": row.bytes, "total_ns": row.ns, "mean_ns": row.ns / row.times.count().max(1),
                "p95_ns": row.times.percentile(95), "bytes_per_second": row.bandwidth(), "bad_times": row.bad_times,
            });
            write_json(out, &line)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}
