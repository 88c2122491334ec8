//! The pairer's sink that adds calls up. For an open call it keeps the place in the tree and the time of the calls
//! inside.

use super::launches::{begin_launch, finish_launch};
use super::open_sum::OpenSum;
use super::sink::{CallSink, FinishedCall, KernelLaunch};
use crate::event::{Function, State};
use crate::gpu_time::join::GpuTimes;
use crate::pair::call_stack::CallStack;
use crate::pair::open_call::Visibility;
use crate::pair::sink::{CallOutcome, Context, NewCall, RingState, Sink};
use crate::symbols::functions::{Launch, ResolvedFunction};
use cutap_wire::rows::{self, Row, RowContent};
use std::sync::Arc;

/// The calls of a ring on their way to whoever adds them up.
pub struct CallSums<'a> {
    calls: &'a mut dyn CallSink,
    gpu_times: Option<&'a GpuTimes>,
    wants_launches: bool,
    wants_callers: bool,
    /// Calls that are shown and never ended.
    pub unfinished: u64,
    /// Ticks of the last record.
    pub last_ticks: u64,
}

impl<'a> CallSums<'a> {
    pub fn new(calls: &'a mut dyn CallSink, gpu_times: Option<&'a GpuTimes>) -> CallSums<'a> {
        let (wants_launches, wants_callers) = (calls.wants_launches(), calls.wants_callers());
        CallSums { calls, gpu_times, wants_launches, wants_callers, unfinished: 0, last_ticks: 0 }
    }
}

impl Sink for CallSums<'_> {
    type Data = OpenSum;
    const WANTS_EXITS: bool = false;

    fn needs_arguments(&self, _known: &ResolvedFunction, _number: u32, _stack: &CallStack<OpenSum>) -> bool {
        false
    }

    fn wants_callers(&self) -> bool {
        self.wants_callers
    }

    fn row(&mut self, row: &Row, _ticks: u64, _context: &mut Context<'_>) {
        if row.is_work() {
            self.calls.gpu_row();
        }
        if let RowContent::State(state) = row.content {
            self.calls.gpu_collection(state.reason, row.place.device == rows::SIMULATED);
        }
    }

    #[inline(always)]
    fn enter_time(&mut self, _stack: &CallStack<OpenSum>, ticks: u64, _context: &Context<'_>) -> u64 {
        self.last_ticks = self.last_ticks.max(ticks);
        0
    }

    #[inline(always)]
    fn exit_time(&mut self, _: &mut CallStack<OpenSum>, _: u32, ticks: u64, _: &mut Context<'_>) -> u64 {
        self.last_ticks = self.last_ticks.max(ticks);
        0
    }

    #[inline(always)]
    fn enter(&mut self, stack: &CallStack<OpenSum>, new: &NewCall<'_>) -> OpenSum {
        let outer_place = match (&new.from, stack.last()) {
            (Some(object), _) => self.calls.called_from(object),
            (None, Some(outer)) => outer.data.place,
            (None, None) => 0,
        };
        let place = if new.visibility == Visibility::Hidden {
            outer_place
        } else {
            self.calls.enter(outer_place, &new.resolved.function)
        };
        let launch = (new.resolved.launch != Launch::No && self.wants_launches).then(|| Box::new(begin_launch(stack)));
        OpenSum { place, inside: 0, inside_ranges: 0, launch }
    }

    fn entry_only(&mut self, new: &NewCall<'_>, data: OpenSum) {
        if new.visibility != Visibility::Shown {
            return;
        }
        self.calls.exit(&FinishedCall {
            place: data.place,
            number: new.number,
            function: &new.resolved.function,
            thread: new.thread,
            took_ns: None,
            inside_ns: 0,
            inside_ranges_ns: 0,
            result: 0,
            state: State::Returned,
            late: false,
            gpu: None,
            outer_functions: &[],
        });
    }

    #[inline(always)]
    fn exit(
        &mut self,
        ring: &mut RingState<'_, OpenSum>,
        outcome: CallOutcome<'_, OpenSum>,
        context: &mut Context<'_>,
    ) {
        let CallOutcome { open, end, is_shown, late, .. } = outcome;
        let unfinished = end.state == State::Unfinished;
        let open_ns =
            unfinished.then(|| end.ns.saturating_sub(context.process.dir.ns(&context.shared.clock, open.ticks)));
        let gpu = self.gpu_times.and_then(|times| times.work_of(ring.thread, open.number));
        let outer_functions = if gpu.is_some() { shown_functions(ring, context) } else { Vec::new() };
        let Some(resolved) = context.resolve(open.slot) else { return };
        let took_ns = outcome.took_ns.filter(|_| end.state == State::Returned).or(open_ns);
        let outer = if unfinished { ring.ended_parents.first_mut() } else { ring.stack.last_mut() };
        if let Some(outer) = outer.filter(|_| took_ns.is_some() && !end.late) {
            let all_ranges = if is_shown { took_ns.unwrap_or(0) } else { open.data.inside_ranges };
            // A range is no call: what is inside it is inside the call around it.
            let inside = if is_shown && !open.is_range { all_ranges } else { open.data.inside };
            outer.data.inside = outer.data.inside.saturating_add(inside);
            outer.data.inside_ranges = outer.data.inside_ranges.saturating_add(all_ranges);
        }
        let finished = FinishedCall {
            place: open.data.place,
            number: open.number,
            function: &resolved.function,
            thread: ring.thread,
            took_ns,
            inside_ns: open.data.inside,
            inside_ranges_ns: open.data.inside_ranges,
            result: end.result,
            state: end.state,
            late,
            gpu,
            outer_functions: &outer_functions,
        };
        if is_shown {
            self.unfinished += u64::from(unfinished);
            self.calls.exit(&finished);
        }
        let Some(launch) = open.data.launch.take() else { return };
        let kernel = open.kernel.take().filter(|_| !resolved.function.has_named_none(finished.status()));
        let launch_end = is_shown.then(|| KernelLaunch::of(&finished));
        finish_launch(*launch, kernel, ring, launch_end, end.late, &mut |launch| self.calls.launched(launch));
    }
}

/// Functions of the calls around one that has ended, but for those that the filter leaves out.
fn shown_functions(ring: &RingState<'_, OpenSum>, context: &mut Context<'_>) -> Vec<Arc<Function>> {
    let outer_calls = ring.ended_parents.iter().chain(ring.stack.open());
    let shown_calls = outer_calls.filter(|open| open.visibility != Visibility::Hidden);
    shown_calls.filter_map(|open| context.resolve(open.slot).map(|resolved| resolved.function.clone())).collect()
}
