//! The pairer's sink that adds calls up. For an open call it keeps the place in the tree and the time of the calls
//! inside.

use super::launches::{launched, launching};
use super::open_sum::OpenSum;
use super::sink::{CallSink, FinishedCall, KernelLaunch};
use crate::event::State;
use crate::pair::call_stack::CallStack;
use crate::pair::open_call::Shown;
use crate::pair::sink::{Context, Ended, EndedCall, NewCall, Sink};
use crate::symbols::functions::{KnownFunction, Launch};

/// The calls of a ring on their way to whoever adds them up.
pub struct CallSums<'a> {
    calls: &'a mut dyn CallSink,
    wants_launches: bool,
    wants_callers: bool,
    /// Calls that are shown and never ended.
    pub unfinished: u64,
    /// Ticks of the last record.
    pub last_ticks: u64,
}

impl<'a> CallSums<'a> {
    pub fn new(calls: &'a mut dyn CallSink) -> CallSums<'a> {
        let (wants_launches, wants_callers) = (calls.wants_launches(), calls.wants_callers());
        CallSums { calls, wants_launches, wants_callers, unfinished: 0, last_ticks: 0 }
    }
}

impl Sink for CallSums<'_> {
    type Data = OpenSum;
    const WANTS_EXITS: bool = false;

    fn needs_arguments(&self, _known: &KnownFunction, _number: u32, _stack: &CallStack<OpenSum>) -> bool {
        false
    }

    fn wants_callers(&self) -> bool {
        self.wants_callers
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
        let around = match (stack.last(), &new.from) {
            (Some(around), _) => around.data.place,
            (None, Some(object)) => self.calls.called_from(object),
            (None, None) => 0,
        };
        let place = if new.shown == Shown::No { around } else { self.calls.enter(around, &new.known.function) };
        let launch = (new.known.launch != Launch::No && self.wants_launches).then(|| Box::new(launching(stack)));
        OpenSum { place, inside: 0, launch }
    }

    fn entry_only(&mut self, new: &NewCall<'_>, data: OpenSum) {
        if new.shown != Shown::Yes {
            return;
        }
        self.calls.exit(&FinishedCall {
            place: data.place,
            number: new.number,
            function: &new.known.function,
            thread: new.thread,
            took_ns: None,
            inside_ns: 0,
            result: 0,
            state: State::Returned,
            late: false,
        });
    }

    #[inline(always)]
    fn exit(&mut self, ring: &mut Ended<'_, OpenSum>, ended: EndedCall<'_, OpenSum>, context: &mut Context<'_>) {
        let EndedCall { open, how, shown, late, .. } = ended;
        let unfinished = how.state == State::Unfinished;
        let open_ns =
            unfinished.then(|| how.ns.saturating_sub(context.process.dir.ns(&context.shared.clock, open.ticks)));
        let Some(known) = context.known(open.slot) else { return };
        let took_ns = ended.took_ns.filter(|_| how.state == State::Returned).or(open_ns);
        let around = if unfinished { ring.around.first_mut() } else { ring.stack.last_mut() };
        if let Some(around) = around.filter(|_| took_ns.is_some() && !how.late) {
            let inside = if shown { took_ns.unwrap_or(0) } else { open.data.inside };
            around.data.inside = around.data.inside.saturating_add(inside);
        }
        let done = FinishedCall {
            place: open.data.place,
            number: open.number,
            function: &known.function,
            thread: ring.thread,
            took_ns,
            inside_ns: open.data.inside,
            result: how.result,
            state: how.state,
            late,
        };
        if shown {
            self.unfinished += u64::from(unfinished);
            self.calls.exit(&done);
        }
        let Some(launch) = open.data.launch.take() else { return };
        let kernel = open.kernel.take().filter(|_| !known.function.has_named_none(done.status()));
        let done = shown.then(|| KernelLaunch::of(&done));
        launched(*launch, kernel, ring, done, how.late, &mut |launch| self.calls.launched(launch));
    }
}
