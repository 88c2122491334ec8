//! From a row to its call. CUPTI records the driver call of each submission, with its thread, its time and the
//! correlation id that the rows have. That record lies inside the call that cutap recorded on this thread.

use super::checks::Checks;
use super::clock::CuptiClock;
use super::origins::Origins;
use super::sm_clocks::{DeviceIdentity, GpuClocks, device_identity};
use super::submissions::{Submission, Submissions};
use super::work::{SubmittedBy, WorkRow};
use crate::event::Event;
use crate::event::call::{Call, Exit};
use crate::event::gpu_row::{GpuRow, GpuWork};
use crate::event::process::{Process, Thread};
use crate::event::visitor::EventVisitor;
use crate::filter::TimeWindow;
use cutap_calls::generated::gpu_time::DRIVER_FUNCTIONS;
use cutap_wire::rows::{self, RowContent, State, reason};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A driver call as CUPTI recorded it.
#[derive(Debug, Clone, Copy)]
struct DriverCall {
    thread: u32,
    function: u32,
    start: u64,
    end: u64,
    correlation: u32,
}

/// What was recorded of the GPU's work for one process.
#[derive(Debug, Default)]
struct ProcessWork {
    clock: CuptiClock,
    driver_calls: Vec<DriverCall>,
    rows: Vec<WorkRow>,
    /// How the collection is; none in a process without the injection.
    state: Option<State>,
    missing: Vec<MissingTime>,
    is_simulated: bool,
    submissions: Submissions,
    /// By thread id and number of the call.
    work: HashMap<(u32, u32), GpuWork>,
    /// The thread and the beginning of the call, by correlation id.
    callers: HashMap<u32, (u32, u64)>,
}

/// How many rows have their call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Kernels, copies and sets.
    pub rows: u64,
    /// Those whose call is known for certain.
    pub with_call: u64,
    /// Nodes of graphs.
    pub graph_rows: u64,
    /// Nodes of graphs whose captured or added call is known.
    pub with_origin: u64,
    /// Those whose driver call cutap did not record, or not for certain: another filter, or recording was off.
    pub not_recorded: u64,
    /// Those whose call has another kernel, grid or number of bytes.
    pub mismatched: u64,
    /// Those that begin before their call.
    pub too_early: u64,
    /// Those that end after a call that waited for them.
    pub too_late: u64,
    /// Those that end before they begin, or have a time of zero.
    pub bad_times: u64,
    /// Records that CUPTI dropped.
    pub dropped: u64,
    /// Records of kinds that are not known.
    pub unknown: u64,
    /// The widest bracket of CUPTI's clock.
    pub clock_width_ns: u64,
}

/// A time without rows in a process that has some, CLOCK_MONOTONIC nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingTime {
    /// The process.
    pub pid: u32,
    /// Why there are none (`cutap_wire::rows::reason`).
    pub reason: u32,
    /// From when.
    pub from_ns: u64,
    /// Until when; none: to the end.
    pub until_ns: Option<u64>,
}

/// The rows of a run, as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuSummary {
    /// How many rows have their call.
    pub counts: RowCounts,
    /// Why processes have rows or none (`cutap_wire::rows::reason`), with their number.
    pub reasons: Vec<(u32, u64)>,
    /// Times without rows, by process.
    pub missing: Vec<MissingTime>,
    /// The times are invented: the driver is the simulated one.
    pub is_simulated: bool,
}

/// Kernels, copies and sets.
#[derive(Debug, Clone, Copy)]
pub struct WorkRows<'a> {
    times: &'a GpuTimes,
    window: Option<TimeWindow>,
}

impl<'a> WorkRows<'a> {
    /// All of them, process by process.
    pub fn rows(&self) -> impl Iterator<Item = &'a WorkRow> {
        let window = self.window;
        let is_in = move |ns| window.is_none_or(|window| !window.is_after(ns) && !window.is_before(ns));
        self.times.rows().filter(move |row| is_in(row.start_ns))
    }
}

/// The GPU's work of some runs. It takes all their events, and is then asked for calls.
#[derive(Debug, Default)]
pub struct GpuTimes {
    /// By the number of the run, then by the folder of the process.
    processes: BTreeMap<u32, HashMap<Box<str>, ProcessWork>>,
    counts: RowCounts,
    /// By the number of the run: which device a number of a process is.
    identities: BTreeMap<u32, BTreeSet<DeviceIdentity>>,
}

fn run_place(process: &Process) -> u32 {
    process.run.as_ref().map_or(0, |run| run.place)
}

impl EventVisitor for GpuTimes {
    fn enter(&mut self, call: &Call) {
        self.process(&call.thread.process).submissions.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        if let Some(identity) = device_identity(exit) {
            self.identities.entry(run_place(&exit.call.thread.process)).or_default().insert(identity);
        }
        self.process(&exit.call.thread.process).submissions.exit(exit);
    }

    fn row(&mut self, row: &GpuRow) {
        let place = row.row.place;
        let of = self.process(&row.process);
        match row.row.content {
            RowContent::Clock { time } => of.clock.add(time, place.start, place.end),
            RowContent::State(state) => {
                of.change(state, row.process.pid, row.ns);
                of.is_simulated |= place.device == rows::SIMULATED;
            }
            RowContent::DriverCall { thread, function } => of.driver_calls.push(DriverCall {
                thread,
                function,
                start: place.start,
                end: place.end,
                correlation: place.correlation,
            }),
            RowContent::Kernel(_) | RowContent::Copy(_) | RowContent::Set { .. } => {
                of.rows.push(WorkRow {
                    row: row.row,
                    kernel: row.kernel.clone(),
                    process: row.process.clone(),
                    submission: None,
                    origin: None,
                    start_ns: 0,
                    end_ns: 0,
                });
            }
        }
    }
}

impl GpuTimes {
    /// Takes one event.
    pub fn event(&mut self, event: &Event) {
        event.visit(self);
    }

    fn process(&mut self, process: &Process) -> &mut ProcessWork {
        let of_run = self.processes.entry(run_place(process)).or_default();
        if !of_run.contains_key(&*process.folder) {
            of_run.insert(process.folder.clone(), ProcessWork::default());
        }
        of_run.entry(process.folder.clone()).or_default()
    }

    /// Says which devices of NVML the processes of a run know by which number.
    pub(crate) fn identify(&self, place: u32, clocks: &mut GpuClocks) {
        let Some(identities) = self.identities.get(&place) else { return };
        let processes = self.processes.get(&place).into_iter().flat_map(HashMap::values);
        let used_numbers = processes.flat_map(|of| &of.rows).map(|row| row.row.place.device).collect();
        clocks.identify(identities, &used_numbers);
    }

    /// To be called when all events were taken: finds the call of each row.
    pub fn join(&mut self) {
        for of in self.processes.values_mut().flat_map(HashMap::values_mut) {
            of.join(&mut self.counts);
        }
    }

    /// An event of a second reading, with what is known of the GPU's work.
    pub fn add_to(&self, event: Event) -> Event {
        match event {
            Event::Exit(mut exit) => {
                exit.gpu = self.work(&exit.call);
                Event::Exit(exit)
            }
            Event::Row(mut row) => {
                let (clock, place) = (self.clock(&row.process), row.row.place);
                row.submitted_by = self.submitted_by(&row);
                row.times = clock.and_then(|clock| clock.monotonic(place.start).zip(clock.monotonic(place.end)));
                Event::Row(row)
            }
            other => other,
        }
    }

    /// What the GPU did for a call and the calls inside it.
    pub fn work(&self, call: &Call) -> Option<GpuWork> {
        self.work_of(&call.thread, call.number)
    }

    /// The same of the call of this number in the ring of a thread.
    pub fn work_of(&self, thread: &Thread, number: u32) -> Option<GpuWork> {
        let process = &thread.process;
        let of = self.processes.get(&run_place(process))?.get(&*process.folder)?;
        of.work.get(&(thread.tid, number)).copied()
    }

    /// The kernels, copies and sets that began in this time.
    pub fn work_in(&self, window: Option<TimeWindow>) -> WorkRows<'_> {
        WorkRows { times: self, window }
    }

    /// All kernels, copies and sets, process by process.
    fn rows(&self) -> impl Iterator<Item = &WorkRow> {
        self.processes.values().flat_map(HashMap::values).flat_map(|of| &of.rows)
    }

    /// CUPTI's clock of a process.
    pub fn clock(&self, process: &Process) -> Option<&CuptiClock> {
        self.processes.get(&run_place(process))?.get(&*process.folder).map(|of| &of.clock)
    }

    /// The thread and the beginning of the call that submitted a row.
    fn submitted_by(&self, row: &GpuRow) -> Option<(u32, u64)> {
        let process = &row.process;
        let of = self.processes.get(&run_place(process))?.get(&*process.folder)?;
        of.callers.get(&row.row.place.correlation).copied()
    }

    /// All of it in numbers.
    pub fn summary(&self) -> GpuSummary {
        let mut reasons: BTreeMap<u32, u64> = BTreeMap::new();
        for of in self.processes.values().flat_map(HashMap::values) {
            if let Some(state) = of.state {
                *reasons.entry(state.reason).or_default() += 1;
            }
        }
        let all = || self.processes.values().flat_map(HashMap::values);
        let mut missing: Vec<MissingTime> = all().flat_map(|of| of.missing.iter().copied()).collect();
        missing.sort_by_key(|of| (of.from_ns, of.pid));
        let is_simulated = all().any(|of| of.is_simulated);
        GpuSummary { counts: self.counts, reasons: reasons.into_iter().collect(), missing, is_simulated }
    }
}

impl ProcessWork {
    /// The collection is another way from now on.
    fn change(&mut self, state: State, pid: u32, ns: u64) {
        self.state = Some(state);
        if let Some(open) = self.missing.last_mut().filter(|of| of.until_ns.is_none()) {
            if open.reason == state.reason {
                return;
            }
            open.until_ns = Some(ns);
        }
        if matches!(state.reason, reason::TAKEN_LATER | reason::SWITCHED_OFF) {
            self.missing.push(MissingTime { pid, reason: state.reason, from_ns: ns, until_ns: None });
        }
    }

    fn join(&mut self, counts: &mut RowCounts) {
        self.clock.sort();
        self.submissions.sort();
        let tolerance = self.clock.width();
        let mut by_correlation: HashMap<u32, (Arc<SubmittedBy>, &Submission)> = HashMap::new();
        // A call is one submission. Two records in one call say that the call of one of them was not recorded.
        let mut records_in_call: HashMap<(u32, u32), u32> = HashMap::new();
        for call in &self.driver_calls {
            let times = self.clock.monotonic(call.start).zip(self.clock.monotonic(call.end));
            let Some((start, end)) = times else { continue };
            let of_thread = self.submissions.of_thread(call.thread);
            if let Some(submission) = containing(of_thread, call.function, start.midpoint(end), tolerance) {
                let by = SubmittedBy {
                    tid: call.thread,
                    start_ns: submission.start_ns,
                    end_ns: submission.end_ns,
                    path: submission.path.clone(),
                    executable: submission.executable.clone(),
                };
                *records_in_call.entry((call.thread, submission.number)).or_default() += 1;
                by_correlation.insert(call.correlation, (Arc::new(by), submission));
            }
        }
        by_correlation.retain(|_, (by, submission)| records_in_call.get(&(by.tid, submission.number)) == Some(&1));
        counts.dropped += self.state.map_or(0, |state| state.dropped);
        counts.unknown += self.state.map_or(0, |state| state.unknown);
        counts.clock_width_ns = counts.clock_width_ns.max(self.clock.width());
        let mut origins = Origins::default();
        let checks = Checks::new(&self.submissions, &self.rows, tolerance);
        for row in &mut self.rows {
            counts.rows += 1;
            let place = row.row.place;
            row.start_ns = self.clock.monotonic(place.start).unwrap_or(0);
            row.end_ns = self.clock.monotonic(place.end).unwrap_or(0);
            let has_bad_times = place.start == 0 || place.end < place.start;
            counts.bad_times += u64::from(has_bad_times);
            let Some((by, submission)) = by_correlation.get(&place.correlation) else {
                counts.not_recorded += 1;
                continue;
            };
            if !checks.is_of(row, submission, !has_bad_times, counts) {
                continue;
            }
            counts.with_call += 1;
            row.submission = Some(by.clone());
            self.callers.insert(place.correlation, (by.tid, by.start_ns));
            if row.graph_node().graph != 0 {
                counts.graph_rows += 1;
                row.origin = origins.of(row, by.executable.as_ref());
            }
            if has_bad_times {
                continue;
            }
            let ns = place.end - place.start;
            let wait_ns = row.start_ns.saturating_sub(submission.start_ns);
            for number in submission.outer_calls.iter().chain([&submission.number]) {
                let work = self.work.entry((by.tid, *number)).or_default();
                work.wait_ns = if work.rows == 0 { wait_ns } else { work.wait_ns.min(wait_ns) };
                work.ns = work.ns.saturating_add(ns);
                work.rows += 1;
            }
        }
        for row in &mut self.rows {
            row.origin = row.origin.take().filter(|_| origins.are_certain(row.submission.as_deref()));
            counts.with_origin += u64::from(row.origin.is_some());
        }
    }
}

/// The call of this function that was open at a moment, of those of a thread by their beginnings. The moment is known
/// to the tolerance.
fn containing(calls: &[Submission], function: u32, moment: u64, tolerance: u64) -> Option<&Submission> {
    let is_it = |call: &&Submission| DRIVER_FUNCTIONS.get(call.function).is_some_and(|of| of.id == function);
    let next = calls.partition_point(|call| call.start_ns <= moment);
    let before = calls.get(next.checked_sub(1)?..=next.min(calls.len().saturating_sub(1)));
    let distance = |call: &&Submission| call.start_ns.saturating_sub(moment).max(moment.saturating_sub(call.end_ns));
    let nearest = before?.iter().filter(is_it).min_by_key(distance)?;
    (distance(&nearest) <= tolerance).then_some(nearest)
}
