//! `report --by range`: a row for each range of NVTX by its name. A range inside others is in the rows of these too.

use super::selected_ranges::SelectedRanges;
use super::{EventSink, Input, Report};
use crate::format::json_writer::write_json;
use crate::format::style::Styles;
use crate::nesting::range_spans::{RangeName, RangeSpan, RangeSpans};
use crate::statistics::call_stats::{CallEnd, CallStats};
use crate::statistics::rows::{Rows, SortKey, headings};
use crate::statistics::table::{Cell, Heading, Table, share};
use cutap_trace::{End, Event, Filter};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io;

/// The sentence where there is no range.
pub(super) const NO_RANGE: &str =
    "there is no range: the program makes none with NVTX, or the run was made without them (-e without nvtx)";

/// Ranges of one name, or of one path.
#[derive(Debug, Clone, Default)]
struct Sums {
    /// Counts and times of the ranges.
    ranges: CallStats,
    /// Calls inside.
    calls: u64,
}

impl Sums {
    fn add(&mut self, span: &RangeSpan) {
        let end = CallEnd {
            took_ns: Some(span.took_ns()),
            unfinished: !span.is_ended,
            gpu_ns: span.gpu_ns,
            ..CallEnd::default()
        };
        self.ranges.add(end);
        self.calls += span.calls;
    }

    fn merge(&mut self, other: &Sums) {
        self.ranges.merge(&other.ranges);
        self.calls += other.calls;
    }

    fn json(&self, whole_ns: u64, has_gpu: bool) -> Value {
        let Sums { ranges, calls } = self;
        let mut line = json!({
            "count": ranges.calls, "unfinished": ranges.open, "total_ns": ranges.total_ns, "mean_ns": ranges.mean_ns(),
            "min_ns": ranges.times.percentile(0), "p50_ns": ranges.times.percentile(50),
            "p95_ns": ranges.times.percentile(95), "p99_ns": ranges.times.percentile(99),
            "max_ns": ranges.times.most(), "calls": calls, "share": share(ranges.total_ns, whole_ns),
        });
        if has_gpu {
            line["gpu_ns"] = ranges.gpu_ns.into();
        }
        line
    }
}

const SORT_KEYS: &[SortKey<Row>] = &[
    ("count", |row| row.sums.ranges.calls),
    ("total", |row| row.sums.ranges.total_ns),
    ("mean", |row| row.sums.ranges.mean_ns()),
    ("p50", |row| row.sums.ranges.times.percentile(50)),
    ("p95", |row| row.sums.ranges.times.percentile(95)),
    ("max", |row| row.sums.ranges.times.most()),
    ("calls", |row| row.sums.calls),
    ("gpu", |row| row.sums.ranges.gpu_ns),
    ("share", |row| row.sums.ranges.total_ns),
];

/// A row of the table.
#[derive(Debug, Clone)]
struct Row {
    name: RangeName,
    sums: Sums,
    /// The paths at which it was made, with the sums of each.
    paths: Vec<(u32, Sums)>,
}

/// All ranges.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    spans: RangeSpans,
    /// By name and path.
    sums: HashMap<RangeName, BTreeMap<u32, Sums>>,
    selected: Option<SelectedRanges>,
    rows: Rows,
}

impl EventSink for Ranges {
    fn event(&mut self, event: &Event) {
        event.visit(&mut self.spans);
        for span in self.spans.take_finished() {
            add(&mut self.sums, &span);
        }
    }
}

fn add(sums: &mut HashMap<RangeName, BTreeMap<u32, Sums>>, span: &RangeSpan) {
    if let Some(of) = sums.get_mut(&span.name) {
        return of.entry(span.path).or_default().add(span);
    }
    sums.entry(span.name.clone()).or_default().entry(span.path).or_default().add(span);
}

impl Ranges {
    fn whole_ns(&self) -> u64 {
        self.spans.span.map_or(0, |(first, last)| last.saturating_sub(first))
    }

    /// The rows, in order and as many as are wanted.
    fn listed(&self) -> Vec<Row> {
        let mut all = self.sums.clone();
        self.spans.open_started().iter().for_each(|span| add(&mut all, span));
        let is_selected = |name: &RangeName| self.selected.as_ref().is_none_or(|selected| selected.has(name));
        let mut rows: Vec<Row> = all
            .into_iter()
            .filter(|(name, _)| is_selected(name))
            .map(|(name, of)| {
                let mut sums = Sums::default();
                of.values().for_each(|of_path| sums.merge(of_path));
                Row { name, sums, paths: of.into_iter().collect() }
            })
            .collect();
        rows.sort_by(|a, b| {
            (Reverse(a.sums.ranges.total_ns), &a.name).cmp(&(Reverse(b.sums.ranges.total_ns), &b.name))
        });
        self.rows.apply(&mut rows, SORT_KEYS);
        rows
    }
}

impl Report for Ranges {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }

    fn rows(&mut self, rows: Rows) -> bool {
        self.rows = rows;
        rows.depth.is_none()
    }

    fn sort_columns(&self) -> Vec<&'static str> {
        headings(SORT_KEYS)
    }

    fn filtered(&mut self, _: &Filter) -> Option<&mut dyn EventSink> {
        Some(self.selected.get_or_insert_default())
    }

    fn nothing(&self) -> Option<Cow<'static, str>> {
        let is_selection = self.selected.is_some() && !self.sums.is_empty();
        let why = if is_selection { "the filter selects no range; write it as -e nvtx:NAME" } else { NO_RANGE };
        self.listed().is_empty().then_some(why.into())
    }

    fn has_times(&self) -> bool {
        true
    }

    fn write_text(&self, _: &End, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let rows = self.listed();
        let has_gpu = rows.iter().any(|row| row.sums.ranges.gpu_ns > 0);
        let heading = |title, width| Heading { title, width };
        let mut columns = vec![heading("count", 7)];
        columns.extend(["total", "mean", "p50", "p95", "max"].map(|title| heading(title, 7)));
        columns.push(heading("calls", 8));
        columns.extend(has_gpu.then_some(heading("gpu", 7)));
        columns.push(heading("share", 6));
        let tag = |row: &Row| match &*row.name.domain {
            cutap_trace::DEFAULT_DOMAIN => String::new(),
            domain => format!(" [{domain}]"),
        };
        let width = |row: &Row| row.name.text.chars().count() + tag(row).chars().count();
        let longest = rows.iter().map(width).max().unwrap_or(0);
        let mut table = Table::new(columns, Styles::new(colour), out).names_first(longest);
        table.head("range")?;
        for row in &rows {
            let ranges = &row.sums.ranges;
            let timed = |ns| Cell::Time(Some(ns).filter(|_| ranges.times.count() > 0));
            let mut cells = vec![Cell::Count(ranges.calls)];
            let times = &ranges.times;
            let columns = [ranges.total_ns, ranges.mean_ns(), times.percentile(50), times.percentile(95), times.most()];
            cells.extend(columns.map(timed));
            cells.push(Cell::Count(row.sums.calls));
            cells.extend(has_gpu.then_some(Cell::Time(Some(ranges.gpu_ns).filter(|ns| *ns > 0))));
            cells.push(Cell::Share(share(ranges.total_ns, self.whole_ns())));
            table.row(&cells, 0, &row.name.text, &tag(row))?;
            if ranges.open > 0 {
                table.line(&format!("{:>9} of them did not end", ranges.open))?;
            }
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let whole = self.whole_ns();
        let rows = self.listed();
        let has_gpu = rows.iter().any(|row| row.sums.ranges.gpu_ns > 0);
        for row in rows {
            let paths = row.paths.iter().map(|(path, sums)| {
                let mut line = sums.json(whole, has_gpu);
                let names = self.spans.names(*path);
                line["path"] = names.iter().map(|name| Value::from(&*name.text)).collect();
                line
            });
            let paths: Vec<Value> = paths.collect();
            let mut line = json!({"type": "range", "name": &*row.name.text, "domain": &*row.name.domain});
            if let (Value::Object(line), Value::Object(sums)) = (&mut line, row.sums.json(whole, has_gpu)) {
                line.extend(sums);
            }
            line["paths"] = paths.into();
            write_json(out, &line)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}
