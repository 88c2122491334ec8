//! Pairs the enter and exit records of one ring, and decides which of its calls are shown. The ways in which a call can
//! end are defined here and nowhere else. A sink uses the calls.
//!
//! A call ends in one of five ways:
//!
//! - It *returns*: its exit record exists.
//! - It is *unwound*: a record says that an exception or the end of its thread left it. The time of its end is known.
//! - It is *given up*: a later record shows that it cannot be open any more. The time is unknown. It counts as unwound.
//! - It returns *late*: it was given up before, and then its exit record came. Fibres do that.
//! - It is *unfinished*: it is open where the ring ends.
//!
//! A function that is jumped to has an enter record only. Such a call never gets on the stack.

use super::call_builder::{self, EnterRecord};
use super::call_stack::{CallStack, Closed};
use super::filter_eval::evaluate;
use super::open_call::{Asked, OpenCall, Shown};
use super::shared::Shared;
use super::sink::{Context, Ended, EndedCall, Ending, NewCall, Sink};
use crate::event::{Call, Exit, Function, Layer, State, Thread};
use crate::io::clock::Pair;
use crate::io::pages::ChunkPage;
use crate::ring::reader::Item;
use crate::symbols::functions::{KnownFunction, Launch};
use cutap_wire::record::{Parent, Record, Words};
use std::sync::Arc;

/// The calls of one ring.
#[derive(Debug)]
pub struct Pairer<S: Sink> {
    pub sink: S,
    stack: CallStack<S::Data>,
    thread: Option<Arc<Thread>>,
    /// Calls that the filter let through.
    pub shown: u64,
    /// Calls that it left out here; what it left out in the target was never written.
    pub filtered_out: u64,
}

/// A thread, and the calls that are open where its ring ends.
#[derive(Debug)]
pub struct LeftOpen<D> {
    thread: Arc<Thread>,
    stack: CallStack<D>,
}

impl<S: Sink> Pairer<S> {
    pub fn new(sink: S) -> Pairer<S> {
        Pairer { sink, stack: CallStack::default(), thread: None, shown: 0, filtered_out: 0 }
    }

    /// Its thread and the calls that are open, if there are any.
    pub fn left_open(self) -> Option<LeftOpen<S::Data>> {
        let thread = self.thread.filter(|_| self.stack.len() > 0)?;
        Some(LeftOpen { thread, stack: self.stack })
    }

    /// Ends calls that another pairer left open.
    pub fn end_left(&mut self, left: LeftOpen<S::Data>, now: u64, context: &mut Context<'_>) {
        (self.thread, self.stack) = (Some(left.thread), left.stack);
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
            context.shared.clock.pair(Pair { ticks: page.base_ticks, monotonic: page.base_monotonic });
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
        self.give_up(0, context);
        self.stack.forget();
    }

    /// Nothing more is read: open calls are unfinished, as of this time.
    pub fn end(&mut self, now: u64, context: &mut Context<'_>) {
        let open: Vec<_> = std::mem::take(&mut self.stack).open().cloned().collect();
        self.all_over(open, State::Unfinished, now, context);
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
                let how = Ending { state, ns, ticks, result, late: false, memory };
                match self.stack.exit_last(number) {
                    Some(open) => self.over(open, &mut [], &how, context),
                    None => self.exit_below(number, how, context),
                }
            }
            Record::Unwound { number, ticks } => {
                self.sink.unwound_time(ticks, context);
                let how = Ending::without_return(State::Unwound, self.sink.last_time(), Some(ticks));
                self.exit_below(number, how, context);
            }
            Record::Thread { tid } => self.thread(tid, context),
            Record::Note { number, what, value } => {
                if let Some(open) = self.stack.find_mut(number)
                    && call_builder::noted(open, what, value, context.process)
                {
                    self.sink.learned(open);
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
            Record::Lookup(lookup) => {
                if let Some(thread) = &self.thread {
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
        let asks = context.shared.resolver.filter.asks_arguments();
        let Some(known) = context.known(slot) else { return false };
        let needed =
            self.sink.needs_arguments(known, number, &self.stack) || asks && (known.tests.is_some() || known.parent);
        let (launch, (words, memory)) = (known.launch, words.split(known.words));
        let ns = self.sink.enter_time(&self.stack, ticks, context);
        let staying = self.stack.staying(number, parent);
        if staying < self.stack.len() {
            self.give_up(staying, context);
        }
        let Some(thread) = &self.thread else { return true };
        let kernel = match launch {
            Launch::Word(n) => call_builder::kernel(&self.stack, words.get(n).unwrap_or(0), ticks, context.process),
            Launch::No | Launch::Reported => None,
        };
        let (mut call, mut asked) = (None, None);
        if needed && let Some(known) = context.known(slot).cloned() {
            // Calls that are shown at their end stand alone.
            let depth = if context.shared.resolver.filter.needs_end() { 0 } else { self.stack.depth() };
            let entered = EnterRecord { number, ns, ticks, caller, depth, words, memory };
            if known.function.layer == Layer::HIDDEN {
                // Libraries that request a table are named then.
                context.process.read_new_names();
            }
            let made = call_builder::call(&self.stack, thread, &known, &entered, kernel.as_ref(), context);
            asked = asks.then(|| call_builder::asked(&mut self.stack, &known, &made, context.process)).flatten();
            call = Some(made);
        }
        let needs_end = context.shared.resolver.filter.needs_end();
        let asks_caller = self.sink.wants_callers() && self.stack.last().is_none();
        let from = asks_caller.then(|| context.process.names.object_at(caller)).flatten();
        let Some(known) = context.known(slot) else { return true };
        let shown = decide(known, call.as_ref(), asked.as_deref(), needs_end);
        self.shown += u64::from(shown == Shown::Yes);
        self.filtered_out += u64::from(shown == Shown::No && !known.hidden);
        let new = NewCall { number, known, thread, call: call.as_ref(), shown, from };
        let data = self.sink.enter(&self.stack, &new);
        if known.function.entry_only {
            self.sink.entry_only(&new, data);
        } else {
            self.stack.enter(OpenCall { number, slot, ticks, shown, kernel, call, asked, data });
        }
        true
    }

    /// A call ends that is not the innermost one, and what is inside it with it.
    #[cold]
    fn exit_below(&mut self, number: u32, mut how: Ending<'_>, context: &mut Context<'_>) {
        let mut gone = Vec::new();
        let ended = self.stack.exit(number, &mut gone);
        self.all_over(gone, State::Unwound, self.sink.last_time(), context);
        let returned = how.state == State::Returned;
        let open = match ended {
            Closed::Now(open) => open,
            Closed::Late(open) if returned => {
                how.late = true;
                open
            }
            Closed::Late(_) | Closed::Unknown => return,
        };
        self.over_rarely(open, &mut [], &how, context);
    }

    /// As `over`, which is in line where calls end as they should.
    #[inline(never)]
    fn over_rarely(
        &mut self,
        open: OpenCall<S::Data>,
        around: &mut [OpenCall<S::Data>],
        how: &Ending<'_>,
        context: &mut Context<'_>,
    ) {
        self.over(open, around, how, context);
    }

    /// Gives up all but the outermost calls: nobody knows when they were left.
    #[cold]
    fn give_up(&mut self, keep: usize, context: &mut Context<'_>) {
        let mut gone = Vec::new();
        self.stack.give_up(keep, &mut gone);
        self.all_over(gone, State::Unwound, self.sink.last_time(), context);
    }

    /// Calls that did not return, the innermost first.
    #[cold]
    fn all_over(&mut self, gone: Vec<OpenCall<S::Data>>, state: State, ns: u64, context: &mut Context<'_>) {
        let mut gone = gone.into_iter();
        while let Some(open) = gone.next() {
            self.over_rarely(open, gone.as_mut_slice(), &Ending::without_return(state, ns, None), context);
        }
    }

    #[inline(always)]
    fn over(
        &mut self,
        mut open: OpenCall<S::Data>,
        around: &mut [OpenCall<S::Data>],
        how: &Ending<'_>,
        context: &mut Context<'_>,
    ) {
        let Some(thread) = &self.thread else { return };
        let took = how.ticks.map(|ticks| ticks.saturating_sub(open.ticks));
        let took_ns = took.map(|took| context.process.dir.span(&context.shared.clock, took));
        let wants_exit = S::WANTS_EXITS || open.shown == Shown::DecideAtExit;
        let call = open.call.as_ref().filter(|_| wants_exit);
        let mut exit = call.map(|call| exit(call, &open, how, took_ns, context.shared));
        let (mut shown, mut late) = (open.shown == Shown::Yes, how.late);
        if open.shown == Shown::DecideAtExit {
            // What was shown as unwound stays shown; what was not may be now.
            late = late && is_wanted(&open, None, None, context);
            self.filtered_out = self.filtered_out.saturating_sub(u64::from(how.late && !late));
            shown = late || is_wanted(&open, Some((how, exit.as_deref())), took_ns, context);
            self.shown += u64::from(shown && !late);
            self.filtered_out += u64::from(!shown);
        }
        exit.iter_mut().for_each(|exit| exit.late = late);
        let mut ring = Ended { stack: &mut self.stack, around, thread };
        let ended = EndedCall { open: &mut open, how, exit: &mut exit, shown, late, took_ns };
        self.sink.exit(&mut ring, ended, context);
    }
}

/// Whether a call is shown that begins now.
fn decide(known: &KnownFunction, call: Option<&Call>, asked: Option<&Asked>, needs_end: bool) -> Shown {
    let verdict = match (call, asked) {
        (Some(call), Some(asked)) => evaluate(asked, call, None),
        _ => Some(true),
    };
    let at_end = needs_end || verdict.is_none();
    match verdict {
        _ if !known.shown => Shown::No,
        Some(false) => Shown::No,
        // It has no end by which it could be wanted.
        _ if at_end && known.function.entry_only => Shown::No,
        _ if at_end => Shown::DecideAtExit,
        _ => Shown::Yes,
    }
}

/// Whether a call is wanted that its end decides. Without an end it is one that was left nobody knows when.
fn is_wanted<D>(
    open: &OpenCall<D>,
    end: Option<(&Ending<'_>, Option<&Exit>)>,
    took_ns: Option<u64>,
    context: &Context<'_>,
) -> bool {
    let filter = &context.shared.resolver.filter;
    let failed = |how: &Ending<'_>| {
        let known = context.process.names.made(open.slot);
        let failed =
            |function: &Function| function.status(how.result).is_some_and(|status| function.is_failure(status));
        how.state == State::Returned && known.is_some_and(|known| failed(&known.function))
    };
    if filter.needs_end() && !filter.shows_end(end.is_some_and(|(how, _)| failed(how)), took_ns) {
        return false;
    }
    let (Some(asked), Some(call)) = (&open.asked, &open.call) else { return true };
    let left = || Exit::without_return(call.clone(), State::Unwound, call.start_ns);
    match end {
        Some((_, Some(exit))) => evaluate(asked, call, Some(exit)) == Some(true),
        _ => evaluate(asked, call, Some(&left())) == Some(true),
    }
}

/// The end of a call as an event.
fn exit<D>(call: &Call, open: &OpenCall<D>, how: &Ending<'_>, took_ns: Option<u64>, shared: &Shared) -> Box<Exit> {
    let returned = how.state == State::Returned;
    let end_ns = if returned { how.ns } else { how.ns.max(call.start_ns) };
    // What it left behind is of use only to whoever understands it.
    let kept = how.memory.filter(|_| shared.decode || open.asked.is_some());
    Box::new(Exit {
        result: how.result,
        duration_ns: took_ns.filter(|_| returned),
        memory: kept.map_or_else(Box::default, |(memory, output)| call.left(memory, output)),
        ..Exit::without_return(call.clone(), how.state, end_ns)
    })
}
