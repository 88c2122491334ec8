//! Makes the rows of all tables from the events of one run. A call's row is handed on when the call has ended; what
//! is summed up waits for the end of the run.

use super::allocated::LiveAllocations;
use super::arguments::ArgumentCells;
use super::calls::{CallRow, Calls, Errors, RowTimes};
use super::collective::CollectiveArguments;
use super::column::{Cell, Table, TableSchema, TableSink, schema};
use super::events::{Allocations, Collectives, Gpu, GpuRowCells, RangeRow, Ranges};
use super::function_sums::FunctionSums;
use super::groups::{Functions, Kernels, Notes, Processes, ThreadSums, Threads};
use super::open_calls::OpenTimes;
use crate::Output;
use crate::call::call_bytes::call_bytes;
use crate::call::columns::CallView;
use crate::call::range;
use crate::call::stream_argument::stream_in;
use crate::call_text::launch::grid;
use crate::nesting::nest::id;
use crate::nesting::open_ranges::OpenRanges;
use crate::notes::footer::end_notes;
use cutap_trace::decode::Value;
use cutap_trace::{Call, End, Event, EventVisitor, Exit, GpuRow, Process, RangeMoment};
use cutap_wire::rows::RowContent;
use foldhash::{HashMap, HashMapExt};
use std::io;
use std::sync::Arc;

/// Declares the tables and their numbers.
macro_rules! tables {
    ($($table:ident),* $(,)?) => {
        enum Number { $($table),* }
        $(impl Numbered for $table { const NUMBER: usize = Number::$table as usize; })*
        /// The tables, in the order of their numbers.
        #[must_use]
        pub fn table_schemas() -> Vec<TableSchema> {
            vec![$(schema::<$table>()),*]
        }
    };
}

/// A table with its number.
trait Numbered: Table {
    const NUMBER: usize;
}

tables! {
    Calls, Gpu, Functions, Kernels, Allocations,
    Errors, Collectives, Ranges, Processes,
    Threads, Notes,
}

/// Rows for a sink.
#[derive(Debug)]
pub struct TableRows<S> {
    sink: S,
    with_arguments: bool,
    /// Name of the host that the run was recorded on.
    host: Option<String>,
    /// CLOCK_MONOTONIC of the start of the run, and what the wall clock is ahead of it.
    clock: Option<(u64, i64)>,
    open: OpenTimes,
    ranges: OpenRanges,
    /// Ranges that may end in another thread, by process and number.
    started: HashMap<(u32, u64), (Call, Option<u64>)>,
    arguments: ArgumentCells,
    /// Texts of the call that is looked at.
    stream: String,
    grid: String,
    sums: FunctionSums,
    threads: Vec<Option<ThreadSums>>,
    allocations: LiveAllocations,
    calls: u64,
}

impl<S: TableSink> TableRows<S> {
    /// Hands rows of a run on `host` to `sink`.
    pub fn new(sink: S, host: Option<String>, with_arguments: bool) -> TableRows<S> {
        TableRows {
            sink,
            with_arguments,
            host,
            clock: None,
            open: OpenTimes::default(),
            ranges: OpenRanges::default(),
            started: HashMap::new(),
            arguments: ArgumentCells::default(),
            stream: String::new(),
            grid: String::new(),
            sums: FunctionSums::default(),
            threads: Vec::new(),
            allocations: LiveAllocations::default(),
            calls: 0,
        }
    }

    /// The sink, when all rows were handed on, and the number of calls.
    pub fn finish(self) -> (S, u64) {
        (self.sink, self.calls)
    }

    /// Adds a row to the notes.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add_note(&mut self, text: &str) -> io::Result<()> {
        self.row::<Notes>(&text, order(0))
    }

    /// Nanoseconds since the start of the run, which the first process is.
    fn since_start(&self, ns: u64) -> i64 {
        ns.wrapping_sub(self.clock.map_or(0, |(start, _)| start)) as i64
    }

    fn times(&self, ns: u64) -> RowTimes {
        let ahead = self.clock.map_or(0, |(_, ahead)| ahead);
        RowTimes { start_ns: self.since_start(ns), time_us: (ns as i64).wrapping_add(ahead) / 1000 }
    }

    fn row<T: Numbered>(&mut self, row: &T::Row<'_>, order: (u32, i64)) -> io::Result<()> {
        push::<T, S>(&mut self.sink, self.host.as_deref(), row, order)
    }

    fn call(&mut self, view: CallView<'_>, self_ns: Option<u64>) -> io::Result<()> {
        let call = view.call;
        let function = &call.function;
        self.calls += u64::from(view.exit.is_none_or(|exit| !exit.late));
        self.sum(view);
        let copies = self.sums.add(view, self_ns);
        let times = self.times(call.start_ns);
        let cells: Vec<_> = if self.with_arguments && view.is_described() {
            self.arguments.fill(call, view.exit);
            self.arguments.cells().collect()
        } else {
            Vec::new()
        };
        let row = CallRow {
            view,
            times,
            range: self.ranges.innermost(call),
            stream: stream_in(call, &mut self.stream),
            grid: grid(call, &mut self.grid),
            device: call.inputs().iter().find_map(device),
            bytes: view.exit.and_then(|exit| call_bytes(exit, copies)),
            self_ns,
            arguments: (self.with_arguments && view.is_described()).then_some(&cells),
        };
        let order = (call.thread.key, times.start_ns);
        let host = self.host.as_deref();
        push::<Calls, S>(&mut self.sink, host, &row, order)?;
        if view.exit.is_some_and(Exit::is_error) {
            push::<Errors, S>(&mut self.sink, host, &row, order)?;
        }
        if let Some(data) = CollectiveArguments::of(call) {
            push::<Collectives, S>(&mut self.sink, host, &data.row(&row), order)?;
        }
        if function.range.is_some() { self.range(view) } else { Ok(()) }
    }

    /// Adds the call to those of its thread.
    fn sum(&mut self, view: CallView<'_>) {
        let call = view.call;
        let start_ns = self.since_start(call.start_ns);
        let thread = call.thread.key as usize;
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, None);
        }
        let sums = self.threads[thread].get_or_insert_with(|| ThreadSums {
            thread: call.thread.clone(),
            calls: 0,
            first_ns: start_ns,
            last_ns: start_ns,
        });
        sums.calls += u64::from(view.exit.is_none_or(|exit| !exit.late));
        (sums.first_ns, sums.last_ns) = (sums.first_ns.min(start_ns), sums.last_ns.max(start_ns));
    }

    /// The row of a finished range, or of a mark.
    fn range(&mut self, view: CallView<'_>) -> io::Result<()> {
        let Some(moment) = view.call.function.range else { return Ok(()) };
        let process = view.call.thread.process.key;
        let number = range::id(view.call);
        match (moment, number) {
            (RangeMoment::Start, Some(number)) => {
                let before = self.started.insert((process, number), (view.call.clone(), view.parent));
                before.map_or(Ok(()), |(call, parent)| self.range_row(&call, parent, None))
            }
            (RangeMoment::End, Some(number)) => match self.started.remove(&(process, number)) {
                Some((call, parent)) => {
                    let lasted = view.call.start_ns.saturating_sub(call.start_ns);
                    self.range_row(&call, parent, Some(lasted))
                }
                None => Ok(()),
            },
            _ => {
                let lasted = view.exit.and_then(|exit| exit.duration_ns).filter(|_| moment == RangeMoment::Range);
                self.range_row(view.call, view.parent, lasted)
            }
        }
    }

    fn range_row(&mut self, call: &Call, parent: Option<u64>, duration_ns: Option<u64>) -> io::Result<()> {
        let payload = range::payload(call);
        let row = RangeRow {
            id: id(call),
            parent,
            pid: call.thread.process.pid,
            tid: call.thread.tid,
            name: call.function.display_name(),
            domain: &call.function.library,
            kind: call.function.range.map_or("", range::word),
            start_ns: self.since_start(call.start_ns),
            duration_ns,
            payload: payload.as_deref(),
            category: range::category(call),
        };
        self.row::<Ranges>(&&row, (call.thread.key, row.start_ns))
    }

    fn groups(&mut self) -> io::Result<()> {
        let (functions, kernels) = std::mem::take(&mut self.sums).into_groups();
        functions.iter().enumerate().try_for_each(|(n, (key, sums))| self.row::<Functions>(&(key, sums), order(n)))?;
        kernels.iter().enumerate().try_for_each(|(n, (key, sums))| self.row::<Kernels>(&(key, sums), order(n)))?;
        let threads = std::mem::take(&mut self.threads);
        threads.iter().flatten().try_for_each(|of| self.row::<Threads>(&of, (of.thread.key, 0)))
    }

    fn process_row(&mut self, process: &Process, n: usize) -> io::Result<()> {
        let arguments = process.arguments.join(" ");
        let start_ns = self.since_start(process.start_ns);
        self.row::<Processes>(&(process, start_ns, &arguments), order(n))
    }

    fn started_row(&mut self) -> io::Result<()> {
        let started = std::mem::take(&mut self.started);
        started.into_values().try_for_each(|(call, parent)| self.range_row(&call, parent, None))
    }
}

/// The place of a row in a table of sums.
fn order(n: usize) -> (u32, i64) {
    (0, n as i64)
}

fn push<T: Numbered, S: TableSink>(
    sink: &mut S,
    host: Option<&str>,
    row: &T::Row<'_>,
    order: (u32, i64),
) -> io::Result<()> {
    let cells = T::COLUMNS.iter().map(|column| (column.value)(row));
    sink.row(T::NUMBER, cells.chain([Cell::text(host)]), order)
}

/// The device of the memory in a value.
fn device(value: &Value) -> Option<u32> {
    match value {
        Value::Address(_, Some(place)) => place.device,
        _ => None,
    }
}

impl<S: TableSink> EventVisitor<io::Result<()>> for TableRows<S> {
    fn process(&mut self, process: &Arc<Process>) -> io::Result<()> {
        let ahead = process.start_realtime_ns.wrapping_sub(process.start_ns) as i64;
        self.clock.get_or_insert((process.start_ns, ahead));
        Ok(())
    }

    fn enter(&mut self, call: &Call) -> io::Result<()> {
        self.open.enter(call);
        if call.function.range.is_some() {
            self.ranges.enter(call);
        }
        Ok(())
    }

    fn enter_without_exit(&mut self, call: &Call) -> io::Result<()> {
        let parent = self.open.innermost(call.thread.key);
        self.call(CallView::enter(call).inside(parent), None)
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let (parent, self_ns) = self.open.exit(exit);
        if exit.call.function.range.is_some() {
            self.ranges.exit(exit);
        }
        let (start_ns, end_ns) = (self.since_start(exit.call.start_ns), self.since_start(exit.end_ns));
        for row in self.allocations.exit(exit, start_ns, end_ns) {
            self.row::<Allocations>(&&row, (row.thread, row.start_ns))?;
        }
        self.call(CallView::exit(exit).inside(parent), self_ns)
    }

    fn row(&mut self, row: &GpuRow) -> io::Result<()> {
        let size = |of: [u32; 3]| format!("{},{},{}", of[0], of[1], of[2]);
        let (grid, block) = match &row.row.content {
            RowContent::Kernel(kernel) => {
                (Some(size(kernel.grid.map(Into::into))), Some(size(kernel.block.map(Into::into))))
            }
            RowContent::Copy(_) | RowContent::Set { .. } => (None, None),
            RowContent::DriverCall { .. } | RowContent::Clock { .. } | RowContent::State(_) => return Ok(()),
        };
        let place = &row.row.place;
        let cells = GpuRowCells {
            row,
            start_ns: row.times.map(|(start, _)| self.since_start(start)),
            duration_ns: place.end.checked_sub(place.start).filter(|_| place.start != 0),
            call_start_ns: row.submitted_by.map(|(_, ns)| self.since_start(ns)),
            grid: grid.as_deref(),
            block: block.as_deref(),
        };
        self.row::<Gpu>(&cells, (place.stream, cells.start_ns.unwrap_or(0)))
    }
}

impl<S: TableSink + Send> Output for TableRows<S> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self)
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        end.unfinished.iter().try_for_each(|exit| self.exit(exit))?;
        for row in self.allocations.take_live() {
            self.row::<Allocations>(&&row, (row.thread, row.start_ns))?;
        }
        self.started_row()?;
        self.groups()?;
        end.processes.all.iter().enumerate().try_for_each(|(n, process)| self.process_row(process, n))?;
        let mut notes: Vec<String> = Vec::new();
        for line in end_notes(end) {
            match notes.last_mut().filter(|_| line.starts_with("  ")) {
                Some(note) => *note = format!("{note}\n{line}"),
                None => notes.push(line),
            }
        }
        notes.iter().enumerate().try_for_each(|(n, note)| self.row::<Notes>(&note.as_str(), order(n)))
    }
}
