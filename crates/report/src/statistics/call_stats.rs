//! Counts and times of a set of calls, and the list of columns in which tables show them. A new column is one entry of
//! `COLUMNS`: the summary, the tables, the trees and their JSON read the list.

use crate::format::units::time;
use crate::statistics::histogram::Histogram;
use crate::statistics::table::{Cell, Heading, share};
use cutap_trace::{Exit, FinishedCall, KernelLaunch, State};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Counts and times of a set of calls.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CallStats {
    pub calls: u64,
    pub errors: u64,
    /// Calls that did not return (unfinished or unwound). The time of an unfinished one lasts until the end of the run.
    pub open: u64,
    /// The time of those of them that are unfinished.
    #[serde(default)]
    pub open_ns: u64,
    pub total_ns: u64,
    /// `total_ns` without the nested calls that are shown too.
    pub self_ns: u64,
    pub times: Histogram,
    /// What the GPU did for them and the calls inside.
    #[serde(default)]
    pub gpu_ns: u64,
}

/// An output that shows columns of `CallStats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// `trace -c`, `show -c`.
    Summary,
    /// `report --by`.
    Table,
    /// `report --tree`, `--callers`.
    Tree,
    /// `report --blocking`.
    Blocking,
}

/// What the number of a column means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Calls.
    Calls,
    /// Calls that failed: coloured, in a narrower column.
    Errors,
    /// Nanoseconds.
    Time,
    /// Nanoseconds, shown as a part of the nanoseconds of all rows.
    Share,
    /// Nanoseconds of the GPU: text has them where a row has some.
    GpuTime,
}

/// A number of each row.
#[derive(Debug)]
pub struct Column {
    /// Key in JSON. Times end with `_ns`.
    pub name: &'static str,
    /// Header in text.
    pub header: &'static str,
    pub unit: Unit,
    pub value: fn(&CallStats) -> u64,
    /// The outputs that show it as text.
    text: &'static [View],
    /// The outputs that have it in JSON.
    pub json: &'static [View],
}

use Unit::{Calls, Errors, GpuTime, Share, Time};
use View::{Blocking, Summary, Table, Tree};

const ALL: &[View] = &[Summary, Table, Tree, Blocking];
const COUNTED: &[View] = &[Summary, Table, Tree];
const NESTED: &[View] = &[Summary, Table, Tree];
const OWN: &[View] = &[Summary, Table];
const WHOLE: &[View] = &[Tree, Blocking];
const DISTRIBUTION: &[View] = &[Summary, Table];

#[rustfmt::skip]
const COLUMNS: &[Column] = &[
    Column::new("calls", "calls", Calls, ALL, |s| s.calls),
    Column::new("errors", "errors", Errors, COUNTED, |s| s.errors),
    // Text has a line below the row instead.
    Column { text: &[], ..Column::new("unfinished", "unfinished", Calls, ALL, |s| s.open) },
    Column::new("total_ns", "total", Time, ALL, |s| s.total_ns),
    Column::new("self_ns", "self", Time, NESTED, |s| s.self_ns),
    Column::new("share", "share", Share, OWN, |s| s.self_ns),
    Column::new("share", "share", Share, WHOLE, |s| s.total_ns),
    Column::new("mean_ns", "mean", Time, DISTRIBUTION, CallStats::mean_ns),
    // Text has room for few: CSV and JSON have all.
    Column { text: &[], ..Column::new("min_ns", "min", Time, DISTRIBUTION, |s| s.times.percentile(0)) },
    Column { text: &[], ..Column::new("p50_ns", "p50", Time, DISTRIBUTION, |s| s.times.percentile(50)) },
    Column::new("p95_ns", "p95", Time, DISTRIBUTION, |s| s.times.percentile(95)),
    Column { text: &[], ..Column::new("p99_ns", "p99", Time, DISTRIBUTION, |s| s.times.percentile(99)) },
    Column::new("max_ns", "max", Time, &[Summary, Table, Blocking], |s| s.times.most()),
    Column::new("gpu_ns", "gpu", GpuTime, &[Table, Tree], |s| s.gpu_ns),
];

impl Column {
    /// A column that text and JSON of these outputs show.
    const fn new(
        name: &'static str,
        header: &'static str,
        unit: Unit,
        views: &'static [View],
        value: fn(&CallStats) -> u64,
    ) -> Column {
        Column { name, header, unit, value, text: views, json: views }
    }
}

impl Unit {
    /// Characters of a text column.
    fn width(self) -> usize {
        match self {
            Unit::Calls => 8,
            Unit::Time | Unit::GpuTime => 7,
            Unit::Errors | Unit::Share => 6,
        }
    }
}

impl CallStats {
    /// All columns, from left to right.
    pub fn columns() -> &'static [Column] {
        COLUMNS
    }

    /// The columns of a text table.
    fn text_columns(view: View, has_gpu: bool) -> impl Iterator<Item = &'static Column> {
        let is_shown = move |c: &&Column| c.text.contains(&view) && (has_gpu || c.unit != GpuTime);
        CallStats::columns().iter().filter(is_shown)
    }

    /// The headers of a text table. `has_gpu`: a row has time of the GPU.
    pub fn headings(view: View, has_gpu: bool) -> Vec<Heading> {
        let columns = CallStats::text_columns(view, has_gpu);
        columns.map(|c| Heading { title: c.header, width: c.unit.width() }).collect()
    }

    /// The numbers below these headers. `all_ns` is the time of which a share is a part.
    pub fn cells(&self, view: View, has_gpu: bool, all_ns: u64) -> Vec<Cell> {
        // Without a call whose end is known there is no time.
        let timed = self.times.count() > 0;
        let cell = |column: &Column| match (column.unit, (column.value)(self)) {
            (Unit::Calls, count) => Cell::Count(count),
            (Unit::Errors, count) => Cell::Errors(count),
            (Unit::Time, ns) => Cell::Time(Some(ns).filter(|_| timed)),
            (Unit::GpuTime, ns) => Cell::Time(Some(ns).filter(|ns| *ns > 0)),
            (Unit::Share, ns) => Cell::Share(share(ns, all_ns)),
        };
        CallStats::text_columns(view, has_gpu).map(cell).collect()
    }

    /// The numbers as fields of a JSON object.
    pub fn json(&self, view: View, all_ns: u64) -> Map<String, Value> {
        let value = |column: &Column| match (column.unit, (column.value)(self)) {
            (Unit::Share, ns) => share(ns, all_ns).into(),
            (_, number) => number.into(),
        };
        let columns = CallStats::columns().iter().filter(|c| c.json.contains(&view));
        columns.map(|c| (c.name.to_owned(), value(c))).collect()
    }

    /// The line below a row, if some calls did not return.
    pub fn unfinished(&self) -> Option<String> {
        let until = match self.open_ns {
            0 => String::new(),
            ns => format!(": {} until the end of the run", time(ns)),
        };
        (self.open > 0).then(|| format!("{:>9} of them did not return{until}", self.open))
    }
}

/// The end of a call, for sums.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallEnd {
    /// How long it took, or was open until the end of the run.
    pub took_ns: Option<u64>,
    /// The part of it that nested calls took.
    pub inside_ns: u64,
    /// It never ended.
    pub unfinished: bool,
    pub error: bool,
    /// It was counted before as one that did not return.
    pub late: bool,
    /// What the GPU did for it.
    pub gpu_ns: u64,
}

impl CallEnd {
    /// The end of a call with calls inside of so many nanoseconds.
    pub fn of(exit: &Exit, inside_ns: u64) -> CallEnd {
        let unfinished = exit.state == State::Unfinished;
        CallEnd {
            took_ns: exit.took_ns(),
            inside_ns,
            unfinished,
            error: exit.is_error(),
            late: exit.late,
            gpu_ns: exit.gpu.map_or(0, |gpu| gpu.ns),
        }
    }

    /// The time without nested calls.
    pub fn self_ns(&self) -> u64 {
        self.took_ns.map_or(0, |took| took.saturating_sub(self.inside_ns))
    }
}

impl From<&FinishedCall<'_>> for CallEnd {
    fn from(done: &FinishedCall<'_>) -> CallEnd {
        let FinishedCall { took_ns, inside_ns, late, .. } = *done;
        let unfinished = done.state == State::Unfinished;
        CallEnd {
            took_ns,
            inside_ns,
            unfinished,
            error: done.failure().is_some(),
            late,
            gpu_ns: done.gpu.map_or(0, |gpu| gpu.ns),
        }
    }
}

impl From<&KernelLaunch> for CallEnd {
    fn from(launch: &KernelLaunch) -> CallEnd {
        let KernelLaunch { took_ns, inside_ns, unfinished, error, late, .. } = *launch;
        CallEnd { took_ns, inside_ns, unfinished, error, late, gpu_ns: 0 }
    }
}

impl CallStats {
    /// Adds a call that has ended, or never will.
    pub fn add(&mut self, end: CallEnd) {
        self.calls += u64::from(!end.late);
        self.errors += u64::from(end.error);
        self.gpu_ns = self.gpu_ns.saturating_add(end.gpu_ns);
        if let Some(took) = end.took_ns {
            self.total_ns = self.total_ns.saturating_add(took);
            self.self_ns = self.self_ns.saturating_add(end.self_ns());
            self.times.add(took);
        }
        match end.took_ns {
            Some(took) if end.unfinished => {
                self.open += 1;
                self.open_ns = self.open_ns.saturating_add(took);
            }
            Some(_) => self.open = self.open.saturating_sub(u64::from(end.late)),
            None => self.open += 1,
        }
    }

    /// Adds the numbers of `other`.
    pub fn merge(&mut self, other: &CallStats) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.gpu_ns += other.gpu_ns;
        self.open += other.open;
        self.open_ns = self.open_ns.saturating_add(other.open_ns);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.times.merge(&other.times);
    }

    /// The mean duration of the calls that have one.
    pub fn mean_ns(&self) -> u64 {
        self.total_ns / self.times.count().max(1)
    }
}
