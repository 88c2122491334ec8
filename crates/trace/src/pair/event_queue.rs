//! The sink that makes events. Each call gets its times, and waits to be merged with the calls of other threads.

use super::call_stack::CallStack;
use super::host_stacks::{self, QueuedCall};
use super::open_call::{OpenCall, Visibility};
use super::selected_calls::{CallNumbers, is_read};
use super::sink::{CallOutcome, Context, NewCall, RingState, Sink};
use crate::event::{Answer, Event, Exit, GpuRow, Layer, Lookup, LookupKind, State, Thread};
use crate::io::bytes::clean;
use crate::symbols::functions::ResolvedFunction;
use cutap_wire::python::PythonFrames;
use cutap_wire::record;
use cutap_wire::rows::{Row, RowContent};
use cutap_wire::stack::StackPiece;
use std::collections::VecDeque;
use std::sync::Arc;

/// Time stamp counters of two cores differ by less: what was seen on virtual machines was 150.
const CORES_DIFFER_NS: u64 = 1000;

/// The events of a ring that wait.
#[derive(Debug, Default)]
pub struct EventQueue {
    pub queue: VecDeque<QueuedEvent>,
    /// Calls that are shown and never ended.
    pub unfinished: Vec<Exit>,
    /// Look-ups that the filter let through.
    pub lookups: u64,
    /// Arguments are to be understood: calls that are not shown are of interest too.
    decode: bool,
    /// Calls that are to be read; none: all.
    only: Option<Arc<CallNumbers>>,
    /// Events that were ever put into the queue.
    pushed: u64,
    /// Time of the last record; those of a signal handler may come a little out of order.
    last: u64,
    /// The same in ticks.
    last_ticks: u64,
}

/// An event that waits: when it is handed out, whether it is shown, and its time in ticks. One that is
/// not shown tells the interpreter what there is.
pub type QueuedEvent = (u64, Event, bool, u64);

impl EventQueue {
    pub fn new(decode: bool, only: Option<Arc<CallNumbers>>) -> EventQueue {
        EventQueue { decode, only, ..EventQueue::default() }
    }

    /// How many events there ever were.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Time of the last record in ticks.
    pub fn last_ticks(&self) -> u64 {
        self.last_ticks
    }

    fn push(&mut self, event: Event, is_shown: bool) {
        self.pushed += 1;
        self.queue.push_back((self.last, event, is_shown, self.last_ticks));
    }

    /// When a record was made. A thread that goes to another core may find an earlier time there: it is no earlier to
    /// us than what the thread did before. A signal handler that came between the time and its record took longer than
    /// that.
    fn time(&mut self, ns: u64, ticks: u64) -> u64 {
        self.at_least(self.last, ns, ticks)
    }

    fn at_least(&mut self, least: u64, ns: u64, ticks: u64) -> u64 {
        let at = if least.saturating_sub(ns) < CORES_DIFFER_NS { ns.max(least) } else { ns };
        (self.last, self.last_ticks) = (self.last.max(at), self.last_ticks.max(ticks));
        at
    }
}

/// Adds the facts that the names of the process have about a call of the layer `syscall`.
fn kernel_facts(open: &mut OpenCall<QueuedCall>, context: &mut Context<'_>) {
    let Some(call) = open.call.as_mut().filter(|call| call.function.layer == Layer::SYSCALL) else { return };
    let (driver, caller) = (context.process.driver(), context.process.names.object_at(call.caller));
    let pieces = call.rare_mut().pieces.get_or_insert_default();
    (pieces.driver, pieces.caller) = (driver, caller);
}

impl Sink for EventQueue {
    type Data = QueuedCall;
    const WANTS_EXITS: bool = true;

    fn needs_arguments(&self, resolved: &ResolvedFunction, number: u32, stack: &CallStack<QueuedCall>) -> bool {
        let is_inside = || stack.last().is_some_and(|parent| parent.call.is_some());
        let is_read = |only: &Arc<CallNumbers>| is_read(resolved, number, is_inside(), only);
        (resolved.is_shown || self.decode && resolved.function.described.is_some())
            && self.only.as_ref().is_none_or(is_read)
    }

    /// Later than the beginning of the call around it, so that whoever sorts by time puts it inside.
    fn enter_time(&mut self, stack: &CallStack<QueuedCall>, ticks: u64, context: &Context<'_>) -> u64 {
        let parent = stack.open().find_map(|open| open.call.as_ref());
        let after = parent.map_or(0, |call| call.start_ns.saturating_add(1));
        let ns = context.process.dir.ns(&context.shared.clock, ticks);
        self.at_least(self.last.max(after), ns, ticks)
    }

    /// So long after the beginning as the ticks say, whatever the clock has learned meanwhile.
    fn exit_time(
        &mut self,
        stack: &mut CallStack<QueuedCall>,
        number: u32,
        ticks: u64,
        context: &mut Context<'_>,
    ) -> u64 {
        let open = stack.find_mut(number);
        let (dir, clock) = (&context.process.dir, &context.shared.clock);
        let ns = match open.as_ref().and_then(|open| open.call.as_ref()) {
            Some(call) => call.start_ns.saturating_add(dir.span(clock, ticks.saturating_sub(call.ticks))),
            None => dir.ns(clock, ticks),
        };
        if let Some(open) = open {
            if host_stacks::finish_stack(open, context) {
                self.facts_changed(open);
            }
            kernel_facts(open, context);
        }
        self.time(ns, ticks)
    }

    fn unwound_time(&mut self, ticks: u64, context: &Context<'_>) {
        self.time(context.process.dir.ns(&context.shared.clock, ticks), ticks);
    }

    fn last_time(&self) -> u64 {
        self.last
    }

    fn row(&mut self, row: &Row, ticks: u64, context: &mut Context<'_>) {
        let ns = self.time(context.process.dir.ns(&context.shared.clock, ticks), ticks);
        let kernel = match row.content {
            RowContent::Kernel(kernel) if kernel.name != 0 => {
                let names = &context.process.names.row_names;
                let name = names.get(&kernel.name).cloned();
                if name.is_none() {
                    context.process.read_new_names();
                }
                name.or_else(|| context.process.names.row_names.get(&kernel.name).cloned())
            }
            _ => None,
        };
        let process = context.process.dir.process.clone();
        self.push(
            Event::Row(Box::new(GpuRow { process, ns, row: *row, kernel, times: None, submitted_by: None })),
            true,
        );
    }

    fn enter(&mut self, _stack: &CallStack<QueuedCall>, new: &NewCall<'_>) -> QueuedCall {
        let is_shown = new.visibility == Visibility::Shown;
        let is_decoded = self.decode && new.resolved.function.described.is_some();
        let mut waits = QueuedCall::default();
        if let Some(call) = new.call.filter(|_| is_shown || is_decoded) {
            waits.enter = Some(self.pushed);
            self.push(Event::Enter(call.clone()), is_shown);
        }
        waits
    }

    /// The event with which the call began says it, if it still waits; else there is an event of its own.
    fn facts_changed(&mut self, open: &OpenCall<QueuedCall>) {
        let (Some(call), Some(number)) = (&open.call, open.data.enter) else { return };
        let delivered = self.pushed - self.queue.len() as u64;
        let place = number.checked_sub(delivered).and_then(|place| usize::try_from(place).ok());
        match place.and_then(|place| self.queue.get_mut(place)) {
            Some((_, Event::Enter(waiting), ..)) => *waiting = call.clone(),
            _ => self.push(Event::Updated(call.clone()), open.visibility == Visibility::Shown),
        }
    }

    fn exit(
        &mut self,
        _ring: &mut RingState<'_, QueuedCall>,
        outcome: CallOutcome<'_, QueuedCall>,
        _: &mut Context<'_>,
    ) {
        let Some(exit) = outcome.exit.take() else { return };
        if outcome.end.state == State::Unfinished {
            self.unfinished.extend(outcome.is_shown.then_some(*exit));
            return;
        }
        // A filter that must see the end shows the call only here.
        if outcome.is_shown && outcome.open.visibility == Visibility::DecideAtExit {
            self.push(Event::Enter(exit.call.clone()), true);
        }
        if outcome.is_shown || exit.call.function.described.is_some() {
            self.push(Event::Exit(exit), outcome.is_shown);
        }
    }

    fn lookup(&mut self, lookup: &record::Lookup<'_>, thread: &Arc<Thread>, context: &mut Context<'_>) {
        let ns = self.time(context.process.dir.ns(&context.shared.clock, lookup.ticks), lookup.ticks);
        if !context.shared.resolver.filter.wants_lookups() {
            return;
        }
        let slot = u32::try_from(lookup.slot).ok().and_then(|s| s.checked_sub(1));
        let function = slot.and_then(|slot| context.resolve(slot)).map(|resolved| resolved.function.clone());
        let answer = match (function, lookup.answer) {
            (Some(function), _) => Answer::Function(function),
            (None, 0) => Answer::Null,
            (None, address) => Answer::Address(address),
        };
        let lookup = Lookup {
            thread: thread.clone(),
            ns,
            kind: LookupKind::new(lookup.which),
            name: clean(lookup.name).into(),
            handle: lookup.handle,
            flags: lookup.flags,
            code: lookup.status as i32,
            symbol_status: (lookup.status >> 32) as u32,
            caller: context.process.names.object_at(lookup.caller),
            caller_address: lookup.caller,
            answer,
        };
        self.lookups += 1;
        self.push(Event::Lookup(Box::new(lookup)), true);
    }

    fn stack_piece(&mut self, open: &mut OpenCall<QueuedCall>, piece: &StackPiece<'_>, context: &mut Context<'_>) {
        if host_stacks::add_piece(open, piece, context) {
            self.facts_changed(open);
        }
    }

    fn python_frames(&mut self, open: &mut OpenCall<QueuedCall>, frames: &PythonFrames<'_>, context: &mut Context<'_>) {
        if host_stacks::add_python(open, frames, context) {
            self.facts_changed(open);
        }
    }
}
