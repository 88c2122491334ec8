//! One ring's records made into events, in the order of the ring: paired, named and timed. They wait here for earlier ones of other threads.

use super::call_builder::{EnterRecord, call, memory, noted};
use super::call_stack::{Closed, Open, Shown, Stack};
use super::filter_eval::{evaluate, looked_at, provides, unfinished, wanted_at_end};
use super::host_stacks;
use super::shared::Shared;
use crate::event::{Answer, Call, Event, Exit, Layer, Lookup, LookupKind, State, Thread};
use crate::filter::Filter;
use crate::io::bytes::clean;
use crate::io::clock::{Clock, Pair};
use crate::io::pages::ChunkPage;
use crate::ring::reader::{Item, Ring};
use crate::symbols::process::ProcessSymbols;
use cutap_wire::record::{self, Parent, Record};
use std::collections::VecDeque;
use std::sync::Arc;

/// Chunks that are kept for a call that has not ended: half of a ring.
const MOST_HELD: usize = 16;

/// Time stamp counters of two cores differ by less: what was seen on virtual machines was 150.
const CORES_DIFFER_NS: u64 = 1000;

/// A ring and the thread whose calls are in it now.
#[derive(Debug)]
pub struct Source {
    /// Place of its process in the run.
    pub folder: usize,
    pub ring: Ring,
    /// When the ring was first seen without an owner, and whether all that it holds was read the last time.
    pub abandoned_since: Option<u64>,
    pub read_out: bool,
    pub events: Events,
    /// Chunks that were read: their places, and the number of events so far then, and the time of the last.
    read: VecDeque<(u32, u64, u64)>,
}

/// The events of a ring that wait, and what is open.
#[derive(Debug, Default)]
pub struct Events {
    pub queue: VecDeque<Waiting>,
    stack: Stack,
    thread: Option<Arc<Thread>>,
    /// Events that were ever put into the queue.
    pushed: u64,
    /// Calls and look-ups that the filter let through.
    pub shown: u64,
    /// Calls that it left out here; what it left out in the target was never written.
    pub filtered_out: u64,
    /// Time of the last record; those of a signal handler may come a little out of order.
    last: u64,
    /// The same in ticks.
    last_ticks: u64,
}

/// An event that waits: when it is handed out, whether it is shown, and its time in ticks. One that is
/// not shown tells the interpreter what there is.
pub type Waiting = (u64, Event, bool, u64);

impl Source {
    pub fn new(folder: usize, ring: Ring) -> Source {
        let events = Events::default();
        Source { folder, ring, abandoned_since: None, read_out: false, events, read: VecDeque::new() }
    }

    /// Reads up to `most` records. False when there is nothing more for now.
    pub fn fill(&mut self, folder: &mut ProcessSymbols, shared: &mut Shared, now: u64, most: usize) -> bool {
        let events = &mut self.events;
        let more = self.ring.read(now, most, &mut |item| match item {
            Item::Chunk(page) => {
                events.chunk(&page, folder, shared);
                true
            }
            Item::Record(record) => events.record(&record, folder, shared),
            Item::Reread => {
                folder.dir.stale = true;
                true
            }
        });
        self.read_out = !more && self.ring.ready;
        self.read.extend(self.ring.done().map(|n| (n, events.pushed, events.last_ticks)));
        more
    }

    /// Nothing of it waits, nothing is to be given back, and no thread has it.
    pub fn is_done(&self) -> bool {
        self.abandoned_since.is_some() && self.read_out && self.events.queue.is_empty() && self.read.is_empty()
    }

    /// Chunks whose events have been read.
    pub fn held(&self) -> usize {
        self.read.len()
    }

    /// Gives back the chunks whose events have all been taken out of the queue; with `whole`, not those in which a call began that
    /// has not ended, unless they are many: another reader who goes on from here has to see it begin.
    pub fn give_back(&mut self, whole: bool) {
        let taken = self.events.pushed - self.events.queue.len() as u64;
        let open = self.events.stack.open().last().map_or(u64::MAX, |open| open.ticks);
        while let Some(&(n, pushed, last)) = self.read.front()
            && pushed <= taken
            && (!whole || last < open || self.read.len() > MOST_HELD)
        {
            self.ring.give_back(n);
            self.read.pop_front();
        }
    }
}

impl Events {
    /// True while calls are open.
    pub fn has_open(&self) -> bool {
        self.stack.open().next().is_some()
    }

    /// The thread is gone and left its calls.
    pub fn close(&mut self, filter: &Filter) {
        let mut left = Vec::new();
        self.stack.close(&mut |open| left.push(open.clone()));
        for open in left {
            self.give_up(&open, None, filter);
        }
    }

    /// Calls that are open, as unfinished, the innermost first.
    pub fn unfinished(&self, filter: &Filter, now: u64) -> Vec<Exit> {
        self.stack.open().filter_map(|open| unfinished(open, filter, now)).collect()
    }

    /// Open calls whose end would have decided: how many are shown as unfinished, and how many are not.
    pub fn undecided(&self, filter: &Filter, now: u64) -> (u64, u64) {
        let open = self.stack.open().filter(|open| open.shown == Shown::DecideAtExit);
        let (shown, not): (Vec<_>, Vec<_>) = open.partition(|open| unfinished(open, filter, now).is_some());
        (shown.len() as u64, not.len() as u64)
    }

    /// Time of the last record.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// When a record was made. A thread that goes to another core may find an earlier time there: it is no earlier to us than what the
    /// thread did before. A signal handler that came between the time and its record took longer than that.
    fn time(&mut self, ns: u64, ticks: u64) -> u64 {
        self.at_least(self.last, ns, ticks)
    }

    fn at_least(&mut self, least: u64, ns: u64, ticks: u64) -> u64 {
        let at = if least.saturating_sub(ns) < CORES_DIFFER_NS { ns.max(least) } else { ns };
        (self.last, self.last_ticks) = (self.last.max(at), self.last_ticks.max(ticks));
        at
    }

    /// When a call begins: later than the one around it, so that whoever sorts by time puts it inside.
    fn begins(&mut self, ns: u64, ticks: u64) -> u64 {
        let around = self.stack.top().map_or(0, |call| call.start_ns.saturating_add(1));
        self.at_least(self.last.max(around), ns, ticks)
    }

    /// When a call ends: so long after its beginning as its ticks say, whatever the clock has learned meanwhile.
    fn ends(&mut self, number: u32, ticks: u64, folder: &ProcessSymbols, clock: &Clock) -> u64 {
        let call = self.stack.find(number).and_then(|open| open.call.as_ref());
        let took = |call: &Arc<Call>| folder.dir.span(clock, ticks.saturating_sub(call.ticks));
        let by_call = call.map(|call| call.start_ns.saturating_add(took(call)));
        self.time(by_call.unwrap_or_else(|| folder.dir.ns(clock, ticks)), ticks)
    }

    fn chunk(&mut self, page: &ChunkPage, folder: &ProcessSymbols, shared: &mut Shared) {
        if folder.dir.page.tsc && shared.live {
            shared.clock.pair(Pair { ticks: page.base_ticks, monotonic: page.base_monotonic });
        }
        if self.thread.as_ref().is_none_or(|t| t.tid != page.tid) {
            self.thread(page.tid, folder, shared);
        }
    }

    /// What follows is this thread's.
    fn thread(&mut self, tid: u32, folder: &ProcessSymbols, shared: &mut Shared) {
        self.close(&shared.resolver.filter);
        let key = shared.next_thread;
        shared.next_thread += 1;
        self.thread = Some(Arc::new(Thread { key, tid, process: folder.dir.process.clone() }));
    }

    /// False: no writer can have written it.
    fn record(&mut self, record: &Record<'_>, folder: &mut ProcessSymbols, shared: &mut Shared) -> bool {
        match *record {
            Record::Enter { number, slot, ticks, caller, parent, words } => {
                let Some(known) = folder.known(&mut shared.resolver, slot, shared.live) else { return false };
                let ns = self.begins(folder.dir.ns(&shared.clock, ticks), ticks);
                self.leave(number, parent, &shared.resolver.filter);
                let at_end = shared.resolver.filter.needs_end();
                // Calls that are shown at their end stand alone.
                let depth = if at_end { 0 } else { self.stack.depth() };
                let (words, memory) = words.split(known.words);
                let entered = EnterRecord { ns, ticks, caller, depth, words, memory };
                let call = if known.shown || looked_at(shared, &known) || provides(shared, &known) {
                    let thread = self.thread.clone();
                    thread.map(|thread| call((&thread, &self.stack), &known, &entered, shared, folder))
                } else {
                    None
                };
                let shown = match (&call, &known.tests) {
                    _ if !known.shown => Shown::No,
                    (Some(call), Some(tests)) => match evaluate(tests, call, None) {
                        Some(false) => Shown::No,
                        Some(true) if !at_end => Shown::Yes,
                        _ => Shown::DecideAtExit,
                    },
                    _ if at_end => Shown::DecideAtExit,
                    _ => Shown::Yes,
                };
                // A noted one has no end by which it could be wanted.
                let shown = if shown == Shown::DecideAtExit && known.function.entry_only { Shown::No } else { shown };
                self.filtered_out += u64::from(shown == Shown::No && !known.hidden);
                self.shown += u64::from(shown == Shown::Yes);
                if let Some(call) = call.as_ref().filter(|_| shown == Shown::Yes || looked_at(shared, &known)) {
                    self.push(Event::Enter(call.clone()), shown == Shown::Yes);
                }
                // Nobody sees a noted one return, and no call has it for a parent.
                if !known.function.entry_only {
                    self.stack.enter(Open { number, ticks, call, shown, tests: known.tests, raw: None });
                }
            }
            Record::Exit { number, ticks, result, memory, output } => {
                let end_ns = self.ends(number, ticks, folder, &shared.clock);
                host_stacks::ends(&mut self.stack, number, folder, shared);
                let (open, late) = match self.end(number, &shared.resolver.filter) {
                    Closed::Now(open) => (open, false),
                    Closed::Late(open) => {
                        let late = self.was_handed_out(&open, &shared.resolver.filter);
                        (open, late)
                    }
                    Closed::Unknown => return true,
                };
                let Some(call) = open.call.clone() else { return true };
                let took = folder.dir.span(&shared.clock, ticks.saturating_sub(open.ticks));
                let kept = shared.decode || open.tests.is_some();
                let memory = if kept { call.left(memory, output).into() } else { Box::default() };
                if call.function.layer == Layer::KERNEL {
                    call.set_driver(folder.driver());
                }
                let exit = Exit {
                    duration_ns: Some(took),
                    result,
                    late,
                    memory,
                    ..Exit::without_return(call, State::Returned, end_ns)
                };
                self.exit(exit, Some(took), &open, &shared.resolver.filter);
            }
            Record::Unwound { number, ticks } => {
                self.time(folder.dir.ns(&shared.clock, ticks), ticks);
                if let Closed::Now(open) = self.end(number, &shared.resolver.filter) {
                    let took = folder.dir.span(&shared.clock, ticks.saturating_sub(open.ticks));
                    self.give_up(&open, Some(took), &shared.resolver.filter);
                }
            }
            Record::Thread { tid } => self.thread(tid, folder, shared),
            Record::Note { number, what, value } => noted(&mut self.stack, number, what, value, folder),
            Record::Memory(piece) => memory(&mut self.stack, &piece),
            Record::Stack(piece) => host_stacks::piece(&mut self.stack, &piece, folder, shared),
            Record::Lookup(lookup) => {
                let ns = self.time(folder.dir.ns(&shared.clock, lookup.ticks), lookup.ticks);
                if shared.resolver.filter.wants_lookups() {
                    self.lookup(&lookup, ns, folder, shared);
                }
            }
        }
        true
    }

    fn push(&mut self, event: Event, shown: bool) {
        self.pushed += 1;
        self.queue.push_back((self.last, event, shown, self.last_ticks));
    }

    /// Ends a call; a filter that must see the end shows the call only here, and judges it by `took_ns`.
    fn exit(&mut self, exit: Exit, took_ns: Option<u64>, open: &Open, filter: &Filter) {
        let shown = match open.shown {
            Shown::Yes => true,
            Shown::No => false,
            Shown::DecideAtExit => {
                // What was handed out as unwound, and counted, is not left at that.
                let wanted = exit.late || wanted_at_end(&exit, took_ns, open, filter);
                self.shown += u64::from(wanted && !exit.late);
                self.filtered_out += u64::from(!wanted);
                if wanted {
                    self.push(Event::Enter(exit.call.clone()), true);
                }
                wanted
            }
        };
        if shown || exit.call.function.described.is_some() {
            self.push(Event::Exit(exit), shown);
        }
    }

    /// A call was left; `took_ns` if a record says when. Where others only show that it is gone, nobody knows.
    fn give_up(&mut self, open: &Open, took_ns: Option<u64>, filter: &Filter) {
        let Some(call) = open.call.clone() else { return };
        let end_ns = self.last.max(call.start_ns);
        self.exit(Exit::without_return(call, State::Unwound, end_ns), took_ns, open, filter);
    }

    /// A call that was given up returns after all: whether it has been handed out as unwound. One that has not is judged anew.
    fn was_handed_out(&mut self, open: &Open, filter: &Filter) -> bool {
        let Some(call) = open.call.clone().filter(|_| open.shown == Shown::DecideAtExit) else { return true };
        let end_ns = call.start_ns;
        let handed_out = wanted_at_end(&Exit::without_return(call, State::Unwound, end_ns), None, open, filter);
        self.filtered_out = self.filtered_out.saturating_sub(u64::from(!handed_out));
        handed_out
    }

    /// Gives up what a call of this number and parent says is gone.
    fn leave(&mut self, number: u32, parent: Parent, filter: &Filter) {
        let mut gone = Vec::new();
        self.stack.before_enter(number, parent, &mut |open| gone.push(open.clone()));
        for open in gone {
            self.give_up(&open, None, filter);
        }
    }

    fn end(&mut self, number: u32, filter: &Filter) -> Closed {
        let mut gone = Vec::new();
        let ended = self.stack.exit(number, &mut |open| gone.push(open.clone()));
        for open in gone {
            self.give_up(&open, None, filter);
        }
        ended
    }

    fn lookup(&mut self, lookup: &record::Lookup<'_>, ns: u64, folder: &mut ProcessSymbols, shared: &mut Shared) {
        let Some(thread) = self.thread.clone() else { return };
        let slot = u32::try_from(lookup.slot).ok().and_then(|s| s.checked_sub(1));
        let function = slot.and_then(|s| folder.known(&mut shared.resolver, s, shared.live)).map(|k| k.function);
        let answer = match (function, lookup.answer) {
            (Some(function), _) => Answer::Function(function),
            (None, 0) => Answer::Null,
            (None, address) => Answer::Address(address),
        };
        let lookup = Lookup {
            thread,
            ns,
            kind: LookupKind::new(lookup.which),
            name: clean(lookup.name).into(),
            handle: lookup.handle,
            flags: lookup.flags,
            code: lookup.status as i32,
            symbol_status: (lookup.status >> 32) as u32,
            caller: folder.names.object_at(lookup.caller),
            caller_address: lookup.caller,
            answer,
        };
        self.shown += 1;
        self.push(Event::Lookup(Box::new(lookup)), true);
    }
}
