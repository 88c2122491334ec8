//! One interval of a run, as plain numbers and texts.

use serde::Serialize;

/// What a program did in an interval, and what is open at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// Length of the interval.
    pub span_ns: u64,
    /// Since the first process of the run began.
    pub elapsed_ns: u64,
    /// By how much the reader is late: what happened since is not in these sums.
    pub behind_ns: u64,
    /// Processes of the run, and the program of the first one.
    pub processes: usize,
    pub program: String,
    /// Calls that ended in the interval.
    pub calls: u64,
    pub errors: u64,
    /// Calls of the interval that a collector took before they could be read.
    pub missed_calls: u64,
    /// Calls since the reader began.
    pub total_calls: u64,
    /// Calls before the reader began are not in the totals.
    pub began_late: bool,
    /// By function, in no order.
    pub functions: Vec<SumsRow>,
    /// By library: times without the calls inside.
    pub libraries: Vec<SumsRow>,
    /// Busy shares, where GPU time is recorded.
    pub devices: Vec<DeviceShare>,
    /// By kind of memory.
    pub memory: Vec<MemoryHeld>,
    /// Open calls, the longest first.
    pub open: Vec<OpenCall>,
}

/// Sums of a function or of a library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SumsRow {
    pub name: String,
    /// The library of a function; empty of a library.
    pub library: String,
    /// Calls that ended in the interval.
    pub calls: u64,
    pub errors: u64,
    /// Time of its calls within the interval, with the calls inside them.
    pub time_ns: u64,
    /// The same without the calls inside them.
    pub self_ns: u64,
    /// Since the reader began.
    pub total_calls: u64,
    pub total_ns: u64,
}

/// How busy a device was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceShare {
    pub pid: u32,
    pub device: u32,
    /// Part of the time between the first and the last row of the interval; none without rows.
    pub busy: Option<f64>,
    /// How old the last row is, if that is known.
    pub age_ns: Option<u64>,
}

/// Memory that the program holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryHeld {
    pub kind: &'static str,
    pub bytes: i64,
}

/// A call that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenCall {
    pub pid: u32,
    pub tid: u32,
    pub thread: Option<String>,
    pub function: String,
    /// The calls and ranges around it, the innermost first.
    pub inside: Vec<String>,
    pub open_ns: u64,
}

impl Snapshot {
    /// So many in the interval, for each second of it.
    pub fn per_second(&self, count: u64) -> f64 {
        match self.span_ns {
            0 => 0.0,
            span => count as f64 * 1e9 / span as f64,
        }
    }

    /// A time as a part of the interval. More than one thread can be in a function.
    pub fn share(&self, ns: u64) -> f64 {
        match self.span_ns {
            0 => 0.0,
            span => ns as f64 / span as f64,
        }
    }
}
