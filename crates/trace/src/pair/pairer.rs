//! Pairs the enter and exit records of one ring, and decides which of its calls are shown. The ways in which a call can
//! end are defined here and nowhere else. A sink uses the calls.
//!
//! A call ends in one of five ways:
//!
//! - It *returns*: its exit record exists.
//! - It is *unwound*: a record says that an exception or the end of its thread left it. The time of its end is known.
//! - It is *abandoned*: a later record shows that it cannot be open any more. The time is unknown. It counts as
//!   unwound.
//! - It returns *late*: it was abandoned before, and then its exit record came. Fibres do that.
//! - It is *unfinished*: it is open where the ring ends.
//!
//! A function that is jumped to has an enter record only. Such a call never gets on the stack.

use super::call_builder::{self, EnterRecord};
use super::call_stack::{CallStack, ExitMatch};
use super::filter_eval::evaluate;
use super::open_call::{ArgumentCheck, OpenCall, Visibility};
use super::shared::Shared;
use super::sink::{CallEnd, CallOutcome, Context, NewCall, RingState, Sink};
use crate::event::{Call, Exit, Function, Layer, RangeMoment, State, Thread};
use crate::filter::time_window::Moment;
use crate::io::clock::ClockPair;
use crate::io::pages::ChunkPage;
use crate::ring::reader::{Item, Ring};
use crate::symbols::functions::{Launch, ResolvedFunction};
use cutap_wire::record::{Parent, Record, Words};
use std::sync::Arc;

/// The calls of one ring.
#[derive(Debug)]
pub struct Pairer<S: Sink> {
    pub sink: S,
    stack: CallStack<S::Data>,
    thread: Option<Arc<Thread>>,
    /// The calls are there because later ones depend on them: they are not shown.
    is_kept: bool,
    /// Calls that the filter let through.
    pub shown_calls: u64,
    /// Calls that it left out here; what it left out in the target was never written.
    pub filtered_out: u64,
}

/// A thread, and the calls that are open where its ring ends.
#[derive(Debug)]
pub struct UnfinishedCalls<D> {
    thread: Arc<Thread>,
    stack: CallStack<D>,
}

impl<S: Sink> Pairer<S> {
    pub fn new(sink: S) -> Pairer<S> {
        Pairer { sink, stack: CallStack::default(), thread: None, is_kept: false, shown_calls: 0, filtered_out: 0 }
    }

    /// Takes all that can be read of this ring, up to `most` records. False when there is nothing more for now.
    pub fn take(&mut self, ring: &mut Ring, now: u64, most: usize, context: &mut Context<'_>) -> bool {
        self.is_kept = ring.is_kept() && context.shared.resolver.hides_kept_calls();
        ring.read(now, most, &mut |item| self.item(item, context))
    }

    /// Its thread and the calls that are open, if there are any.
    pub fn into_unfinished(self) -> Option<UnfinishedCalls<S::Data>> {
        let thread = self.thread.filter(|_| self.stack.len() > 0)?;
        Some(UnfinishedCalls { thread, stack: self.stack })
    }

    /// Ends calls that another pairer left open.
    pub fn end_unfinished(&mut self, unfinished: UnfinishedCalls<S::Data>, now: u64, context: &mut Context<'_>) {
        (self.thread, self.stack) = (Some(unfinished.thread), unfinished.stack);
        self.end(now, context);
    }

    /// Open calls, the innermost first.
    pub fn open(&self) -> impl Iterator<Item = &OpenCall<S::Data>> {
        self.stack.open()
    }

    /// Takes what stands next in the ring. False: no writer can have written it.
    #[inline(always)]
    pub fn item(&mut self, item: Item<'_>, context: &mut Context<'_>) -> bool {
        match item {
            Item::Record(record) => return self.record(&record, context),
            Item::Chunk(page) => self.chunk(&page, context),
            Item::Reread => context.process.dir.may_have_grown(),
        }
        true
    }

    fn chunk(&mut self, page: &ChunkPage, context: &mut Context<'_>) {
        if context.process.dir.page.tsc && context.shared.live {
            context.shared.clock.pair(ClockPair { ticks: page.base_ticks, monotonic: page.base_monotonic });
        }
        if self.thread.as_ref().is_none_or(|thread| thread.tid != page.tid) {
            self.thread(page.tid, context);
        }
    }

    /// What follows is this thread's.
    fn thread(&mut self, tid: u32, context: &mut Context<'_>) {
        self.close(context);
        let key = context.shared.place.key(context.shared.threads);
        context.shared.threads += 1;
        let name = context.process.thread_name(tid);
        self.thread = Some(Arc::new(Thread { key, tid, name, process: context.process.dir.process.clone() }));
    }

    /// The thread is gone and left its calls.
    pub fn close(&mut self, context: &mut Context<'_>) {
        self.abandon_above(0, context);
        self.stack.forget();
    }

    /// Nothing more is read: open calls are unfinished, as of this time.
    pub fn end(&mut self, now: u64, context: &mut Context<'_>) {
        let open: Vec<_> = std::mem::take(&mut self.stack).open().cloned().collect();
        self.finish_all(open, State::Unfinished, now, context);
    }

    #[inline(always)]
    fn record(&mut self, record: &Record<'_>, context: &mut Context<'_>) -> bool {
        match *record {
            Record::Enter { number, slot, ticks, caller, parent, words } => {
                return self.enter((number, slot, ticks), caller, parent, words, context);
            }
            Record::Exit { number, ticks, result, memory, output } => {
                let ns = self.sink.exit_time(&mut self.stack, number, ticks, context);
                let (state, ticks, memory) = (State::Returned, Some(ticks), Some((memory, output)));
                let end = CallEnd { state, ns, ticks, result, late: false, memory };
                match self.stack.exit_last(number) {
                    Some(open) => self.finish(open, &mut [], &end, context),
                    None => self.finish_below_top(number, end, context),
                }
            }
            Record::Unwound { number, ticks } => {
                self.sink.unwound_time(ticks, context);
                let end = CallEnd::without_return(State::Unwound, self.sink.last_time(), Some(ticks));
                self.finish_below_top(number, end, context);
            }
            Record::Thread { tid } => self.thread(tid, context),
            Record::Note { number, kind: what, value } => {
                if let Some(open) = self.stack.find_mut(number)
                    && call_builder::apply_note(open, what, value, context.process)
                {
                    self.sink.facts_changed(open);
                }
            }
            Record::Memory(piece) => {
                let open = self.stack.find_mut(piece.number).and_then(|open| open.call.as_mut());
                open.into_iter().for_each(|call| call.rare_mut().pieces.get_or_insert_default().take(&piece));
            }
            Record::Stack(piece) => {
                if let Some(open) = self.stack.find_mut(piece.number) {
                    self.sink.stack_piece(open, &piece, context);
                }
            }
            Record::Python(frames) => {
                if let Some(open) = self.stack.find_mut(frames.number) {
                    self.sink.python_frames(open, &frames, context);
                }
            }
            Record::Row { ticks, row } => self.sink.row(&row, ticks, context),
            Record::Lookup(lookup) => {
                let bits = self.stack.last().map_or(0, |open| open.ancestor_bits);
                let accepts = context.shared.resolver.filter.accepts_ancestors(bits);
                if let Some(thread) = &self.thread
                    && accepts
                    && context.moment(lookup.ticks) == Moment::Inside
                {
                    self.sink.lookup(&lookup, thread, context);
                }
            }
        }
        true
    }

    #[inline(always)]
    fn enter(
        &mut self,
        (number, slot, ticks): (u32, u32, u64),
        caller: u64,
        parent: Parent,
        words: Words<'_>,
        context: &mut Context<'_>,
    ) -> bool {
        let checks_arguments = context.shared.resolver.filter.asks_arguments();
        let slot = context.named_slot(slot, words);
        let Some(resolved) = context.resolve(slot) else { return false };
        let needed = self.sink.needs_arguments(resolved, number, &self.stack)
            || checks_arguments && (resolved.tests.is_some() || resolved.parent);
        let (launch, own_bits, (words, memory)) =
            (resolved.launch, resolved.ancestor_bits, words.split(resolved.words));
        let ns = self.sink.enter_time(&self.stack, ticks, context);
        let staying = self.stack.staying(number, parent);
        if staying < self.stack.len() {
            self.abandon_calls_above(staying, context);
        }
        let Some(thread) = &self.thread else { return true };
        let kernel = match launch {
            Launch::Word(n) => call_builder::kernel(&self.stack, words.get(n).unwrap_or(0), ticks, context.process),
            Launch::No | Launch::Reported => None,
        };
        let (mut call, mut argument_check) = (None, None);
        if needed && let Some(resolved) = context.resolve(slot).cloned() {
            // Calls that are shown at their end stand alone.
            let depth = if context.shared.resolver.filter.needs_end() { 0 } else { self.stack.depth() };
            let entered = EnterRecord { number, ns, ticks, caller, depth, words, memory };
            if resolved.function.layer == Layer::HIDDEN {
                // Libraries that request a table are named then.
                context.process.read_new_names();
            }
            let built = call_builder::call(&self.stack, thread, &resolved, &entered, kernel.as_ref(), context);
            argument_check = checks_arguments
                .then(|| call_builder::argument_check(&mut self.stack, &resolved, &built, context.process))
                .flatten();
            call = Some(built);
        }
        let (filter, moment) = (&context.shared.resolver.filter, context.moment(ticks));
        let at_end = filter.needs_end() || moment == Moment::Before;
        let ancestor_bits = own_bits | self.stack.last().map_or(0, |open| open.ancestor_bits);
        let is_in_scope = moment != Moment::After && filter.accepts_ancestors(ancestor_bits);
        let filter_excludes_inside = filter.excludes_inside();
        let asks_caller = self.sink.wants_callers() && self.stack.open().all(|open| open.is_range);
        let from = asks_caller.then(|| context.process.names.object_at(caller)).flatten();
        let Some(resolved) = context.resolve(slot) else { return true };
        let is_range = resolved.function.range == Some(RangeMoment::Range);
        let is_inside_excluded = self.stack.last().is_some_and(|open| open.is_excluded);
        let visibility = match is_in_scope && !is_inside_excluded && !self.is_kept {
            true => initial_visibility(resolved, call.as_ref(), argument_check.as_deref(), at_end),
            false => Visibility::Hidden,
        };
        let is_hidden_by_arguments = argument_check.is_some() && visibility == Visibility::Hidden;
        let is_excluded = is_inside_excluded || filter_excludes_inside && is_hidden_by_arguments;
        self.shown_calls += u64::from(visibility == Visibility::Shown);
        self.filtered_out += u64::from(visibility == Visibility::Hidden && !resolved.hidden && !self.is_kept);
        let new = NewCall { number, resolved, thread, call: call.as_ref(), visibility, from };
        let data = self.sink.enter(&self.stack, &new);
        if resolved.function.entry_only {
            self.sink.entry_only(&new, data);
        } else {
            self.stack.enter(OpenCall {
                number,
                slot,
                ticks,
                visibility,
                ancestor_bits,
                is_excluded,
                is_range,
                kernel,
                call,
                argument_check,
                data,
            });
        }
        true
    }

    /// A call ends that is not the innermost one, and what is inside it with it.
    #[cold]
    fn finish_below_top(&mut self, number: u32, mut end: CallEnd<'_>, context: &mut Context<'_>) {
        let mut abandoned = Vec::new();
        let closed = self.stack.exit(number, &mut abandoned);
        self.finish_all(abandoned, State::Unwound, self.sink.last_time(), context);
        let returned = end.state == State::Returned;
        let open = match closed {
            ExitMatch::Open(open) => open,
            ExitMatch::Abandoned(open) if returned => {
                end.late = true;
                open
            }
            ExitMatch::Abandoned(_) | ExitMatch::Unknown => return,
        };
        self.finish_out_of_line(open, &mut [], &end, context);
    }

    /// As `finish`, but not in line: most calls are the innermost one when they end.
    #[inline(never)]
    fn finish_out_of_line(
        &mut self,
        open: OpenCall<S::Data>,
        ended_parents: &mut [OpenCall<S::Data>],
        end: &CallEnd<'_>,
        context: &mut Context<'_>,
    ) {
        self.finish(open, ended_parents, end, context);
    }

    /// Abandons all but the outermost calls: nobody knows when they were left.
    #[cold]
    fn abandon_above(&mut self, keep: usize, context: &mut Context<'_>) {
        let mut abandoned = Vec::new();
        self.stack.abandon_above(keep, &mut abandoned);
        self.finish_all(abandoned, State::Unwound, self.sink.last_time(), context);
    }

    /// Abandons calls alone: ranges stay open.
    #[cold]
    fn abandon_calls_above(&mut self, keep: usize, context: &mut Context<'_>) {
        let mut abandoned = Vec::new();
        self.stack.abandon_calls_above(keep, &mut abandoned);
        self.finish_all(abandoned, State::Unwound, self.sink.last_time(), context);
    }

    /// Calls that did not return, the innermost first.
    #[cold]
    fn finish_all(&mut self, abandoned: Vec<OpenCall<S::Data>>, state: State, ns: u64, context: &mut Context<'_>) {
        let mut abandoned = abandoned.into_iter();
        while let Some(open) = abandoned.next() {
            self.finish_out_of_line(open, abandoned.as_mut_slice(), &CallEnd::without_return(state, ns, None), context);
        }
    }

    #[inline(always)]
    fn finish(
        &mut self,
        mut open: OpenCall<S::Data>,
        ended_parents: &mut [OpenCall<S::Data>],
        end: &CallEnd<'_>,
        context: &mut Context<'_>,
    ) {
        let Some(thread) = &self.thread else { return };
        let took = end.ticks.map(|ticks| ticks.saturating_sub(open.ticks));
        let took_ns = took.map(|took| context.process.dir.span(&context.shared.clock, took));
        let wants_exit = S::WANTS_EXITS || open.visibility == Visibility::DecideAtExit;
        let call = open.call.as_ref().filter(|_| wants_exit);
        let mut exit = call.map(|call| exit(call, &open, end, took_ns, context.shared));
        let (mut is_shown, mut late) = (open.visibility == Visibility::Shown, end.late);
        if open.visibility == Visibility::DecideAtExit {
            // What was shown as unwound stays shown; what was not may be now.
            late = late && is_wanted(&open, None, None, context);
            self.filtered_out = self.filtered_out.saturating_sub(u64::from(end.late && !late));
            is_shown = late || is_wanted(&open, Some((end, exit.as_deref())), took_ns, context);
            self.shown_calls += u64::from(is_shown && !late);
            self.filtered_out += u64::from(!is_shown);
        }
        exit.iter_mut().for_each(|exit| exit.late = late);
        let mut ring = RingState { stack: &mut self.stack, ended_parents, thread };
        let outcome = CallOutcome { open: &mut open, end, exit: &mut exit, is_shown, late, took_ns };
        self.sink.exit(&mut ring, outcome, context);
    }
}

/// Whether a call is shown that begins now.
fn initial_visibility(
    resolved: &ResolvedFunction,
    call: Option<&Call>,
    check: Option<&ArgumentCheck>,
    needs_end: bool,
) -> Visibility {
    let verdict = match (call, check) {
        (Some(call), Some(asked)) => evaluate(asked, call, None),
        _ => Some(true),
    };
    let at_end = needs_end || verdict.is_none();
    match verdict {
        _ if !resolved.is_shown => Visibility::Hidden,
        Some(false) => Visibility::Hidden,
        // It has no end by which it could be wanted.
        _ if at_end && resolved.function.entry_only => Visibility::Hidden,
        _ if at_end => Visibility::DecideAtExit,
        _ => Visibility::Shown,
    }
}

/// Whether a call is wanted that its end decides. Without an end it is one that was left nobody knows when.
fn is_wanted<D>(
    open: &OpenCall<D>,
    end: Option<(&CallEnd<'_>, Option<&Exit>)>,
    took_ns: Option<u64>,
    context: &Context<'_>,
) -> bool {
    let filter = &context.shared.resolver.filter;
    let failed = |end: &CallEnd<'_>| {
        let resolved = context.process.names.resolved(open.slot);
        let failed =
            |function: &Function| function.status(end.result).is_some_and(|status| function.is_failure(status));
        end.state == State::Returned && resolved.is_some_and(|resolved| failed(&resolved.function))
    };
    let ends_before = || match end {
        Some((CallEnd { ticks: Some(ticks), .. }, _)) => context.moment(*ticks) == Moment::Before,
        // An unfinished call lasts until the end of the run.
        Some((end, _)) => end.state == State::Unwound,
        None => true,
    };
    if context.moment(open.ticks) == Moment::Before && ends_before() {
        return false;
    }
    if filter.needs_end() && !filter.shows_end(end.is_some_and(|(end, _)| failed(end)), took_ns) {
        return false;
    }
    let (Some(check), Some(call)) = (&open.argument_check, &open.call) else { return true };
    let unwound_exit = || Exit::without_return(call.clone(), State::Unwound, call.start_ns);
    match end {
        Some((_, Some(exit))) => evaluate(check, call, Some(exit)) == Some(true),
        _ => evaluate(check, call, Some(&unwound_exit())) == Some(true),
    }
}

/// The end of a call as an event.
fn exit<D>(call: &Call, open: &OpenCall<D>, end: &CallEnd<'_>, took_ns: Option<u64>, shared: &Shared) -> Box<Exit> {
    let returned = end.state == State::Returned;
    let end_ns = if returned { end.ns } else { end.ns.max(call.start_ns) };
    // What it left behind is of use only to whoever understands it.
    let memory = end.memory.filter(|_| shared.decode || open.argument_check.is_some());
    Box::new(Exit {
        result: end.result,
        duration_ns: took_ns.filter(|_| returned),
        memory: memory.map_or_else(Box::default, |(memory, output)| call.memory_after(memory, output)),
        ..Exit::without_return(call.clone(), end.state, end_ns)
    })
}
