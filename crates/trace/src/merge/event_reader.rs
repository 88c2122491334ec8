//! Follows a run, in a run directory or in a recording. It finds processes and rings as they appear, and delivers the
//! events of all threads in time order.

use super::active_sources::ActiveSources;
use super::reader_options::{ReaderOptions, recorded_calls};
use super::retired::Retired;
use crate::decode::interpreter::Interpreter;
use crate::decode::state::free_coverage::{FreeCoverage, all_allocations};
use crate::decode::state::handle_coverage::HandleCoverage;
use crate::event::{Call, Event};
use crate::filter::Filter;
use crate::io::clock::{Clock, monotonic};
use crate::kernels::ptx_files;
use crate::pair::event_queue::QueuedEvent;
use crate::pair::shared::Shared;
use crate::pair::sink::Context;
use crate::pair::source::Source;
use crate::run::error::Error;
use crate::run::run_reader::RunReader;
use crate::symbols::functions::Resolver;
use crate::symbols::process::ProcessSymbols;
use cutap_wire::diagnostic;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Records that wait in memory, over all rings.
const IN_MEMORY: usize = 1 << 16;
/// Records read from a ring at a time when the merge comes to its end.
const AT_A_TIME: usize = 1024;
/// Events of one round; the collector has its heartbeat to keep.
const OF_A_ROUND: usize = 1 << 17;
/// A thread that left its ring is gone only after this: a dying process leaves all its rings, one
/// after the other.
const GONE_NS: u64 = 1_000_000_000;

/// Counters of calls that were not recorded: what they made is not known.
const MISSING: [usize; 7] = [
    diagnostic::RECORD_DROPPED,
    diagnostic::NO_RING,
    diagnostic::NAME_DROPPED,
    diagnostic::NESTED_IN_START,
    diagnostic::CALL_DROPPED,
    diagnostic::CALL_DROPPED_LOSSY,
    diagnostic::NOT_WRITTEN,
];

/// A run that is being read.
#[derive(Debug)]
pub struct EventReader {
    pub(super) run_reader: RunReader,
    options: ReaderOptions,
    pub(super) shared: Shared,
    known_folders: BTreeSet<String>,
    pub(super) folders: Vec<ProcessSymbols>,
    pub(super) sources: Vec<Source>,
    /// Those that are looked at: a process that has ended, and was read to its end, costs nothing more.
    pub(super) active: ActiveSources,
    /// What the arguments of each process's calls mean.
    pub(super) interpreters: Vec<Interpreter>,
    /// Events of each process that come from its names.
    pub(super) notices: Vec<VecDeque<QueuedEvent>>,
    horizon: u64,
    /// Ticks of the last event.
    handed_out: u64,
    /// All calls that allocate are recorded.
    complete: bool,
    /// Of which calls that end memory all are recorded.
    free_coverage: FreeCoverage,
    /// Kinds of handles of which all calls are recorded.
    handle_coverage: Arc<HandleCoverage>,
    /// What is kept of processes that have ended.
    pub(super) retired: Retired,
    /// Number of the next process.
    next_process: u32,
}

/// Whether an event was delivered before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    New,
    /// A collector that was killed has printed it.
    Printed,
}

type EventSink<'a> = dyn FnMut(Event, Delivery) -> ControlFlow<()> + 'a;

/// Whose events these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum QueueId {
    Names(usize),
    Ring(usize),
}

impl EventReader {
    /// Opens a run directory, or a recording. It may be empty of processes when it has a control page.
    pub fn open(run: &Path, options: ReaderOptions) -> Result<EventReader, Error> {
        let run_reader = RunReader::with_progress(run, &options.progress)?;
        let filter = if options.all_recorded { options.filter } else { options.filter.of_run(run_reader.filter()) };
        let options = ReaderOptions { filter, ..options };
        // What is recorded and not shown is looked at all the same, so names of handles do not depend on what is
        // shown.
        let recorded = recorded_calls(run_reader.rules().map_or_else(|| options.filter.clone(), Filter::of_rules));
        Ok(EventReader {
            handle_coverage: Arc::new(HandleCoverage::new(options.tables, &recorded)),
            complete: options.decode && all_allocations(options.tables, &recorded),
            free_coverage: FreeCoverage::recorded(options.tables, &recorded),
            shared: Shared {
                clock: Clock::of(run_reader.ticks_per_second(), options.consume).shifted(options.place.shift_ns),
                resolver: Resolver::new(options.tables, options.filter.clone(), options.place.clone())
                    .with_all_recorded(options.all_recorded),
                threads: 0,
                place: options.place.clone(),
                decode: options.decode,
                live: options.consume,
                files: Default::default(),
            },
            run_reader,
            known_folders: BTreeSet::new(),
            folders: Vec::new(),
            sources: Vec::new(),
            active: ActiveSources::default(),
            interpreters: Vec::new(),
            notices: Vec::new(),
            horizon: 0,
            handed_out: options.printed,
            options,
            retired: Retired::default(),
            next_process: 0,
        })
    }

    /// Hands out what has happened since, in time order. With `last`, all that is there now; else
    /// without what is younger than the hold-back. True when a call at once would find more.
    pub fn poll(&mut self, last: bool, sink: &mut dyn FnMut(&Event)) -> Result<bool, Error> {
        self.poll_at(monotonic(), last, sink)
    }

    /// Like `poll`, at this time of `CLOCK_MONOTONIC`: a test need not wait for it.
    pub fn poll_at(&mut self, now: u64, last: bool, sink: &mut dyn FnMut(&Event)) -> Result<bool, Error> {
        self.round(now, last, &mut |event, delivery| {
            if delivery == Delivery::New {
                sink(&event);
            }
            ControlFlow::Continue(())
        })
    }

    /// Like `poll`. It also delivers what a killed collector has printed and the rings still hold.
    pub fn poll_replaying(&mut self, last: bool, sink: &mut dyn FnMut(&Event, Delivery)) -> Result<bool, Error> {
        self.round(monotonic(), last, &mut |event, delivery| {
            sink(&event, delivery);
            ControlFlow::Continue(())
        })
    }

    /// Like `poll`, for a reader who may have seen enough: `Break` ends it, and the event that it had is not delivered
    /// again.
    pub fn poll_while(&mut self, last: bool, sink: &mut dyn FnMut(Event) -> ControlFlow<()>) -> Result<bool, Error> {
        self.round(monotonic(), last, &mut |event, delivery| match delivery {
            Delivery::New => sink(event),
            Delivery::Printed => ControlFlow::Continue(()),
        })
    }

    /// What of a run directory could not be opened, and why, for a sentence.
    pub fn unopened(&self) -> Option<String> {
        self.run_reader.store.unopened()
    }

    fn round(&mut self, now: u64, last: bool, sink: &mut EventSink<'_>) -> Result<bool, Error> {
        if last {
            self.run_reader.store.forget_unopened();
        }
        self.shared.clock.refine();
        self.active.begin(last, &self.sources, self.folders.len());
        self.discover(now, last);
        for n in &self.active.folders {
            self.folders[*n].dir.refresh();
            self.folders[*n].read_names(last);
        }
        if self.options.decode && self.run_reader.is_partial() {
            self.interpreters.iter_mut().for_each(Interpreter::mark_incomplete);
        }
        if self.options.decode && self.run_reader.filter_changed() {
            self.interpreters.iter_mut().for_each(Interpreter::filter_changed);
        }
        self.open_rings(last);
        if !last {
            self.close_left(now);
        }
        let limit = if last { u64::MAX } else { now.saturating_sub(self.options.hold_back_ns) };
        let next = self.merge(now, limit, if last { usize::MAX } else { OF_A_ROUND }, sink);
        if !last {
            self.active.end(&self.folders, &self.sources, &self.notices);
        }
        let reached = next.unwrap_or(if last { now } else { limit });
        self.horizon = self.horizon.max(reached);
        Ok(next.is_some())
    }

    /// CLOCK_MONOTONIC time up to which all events have been handed out: what `Output::tick` wants.
    pub fn horizon(&self) -> u64 {
        self.horizon
    }

    /// The same in ticks, for a collector that goes on when this one is killed: each makes nanoseconds of
    /// them a little differently.
    pub fn printed(&self) -> u64 {
        self.handed_out
    }

    /// Gives chunks back whose events have all been handed out. In consume mode; to be called when they
    /// are printed, so that a collector that is killed loses nothing. With `whole`,
    /// those in which an open call began are kept for a while.
    pub fn give_back(&mut self, whole: bool) {
        self.active.sources.iter().for_each(|n| self.sources[*n].give_back(whole));
    }

    /// Most chunks of a ring that were read and not given back.
    pub fn unreleased_chunks(&self) -> usize {
        self.active.sources.iter().map(|n| self.sources[*n].unreleased_chunks()).max().unwrap_or(0)
    }

    /// What was opened.
    pub fn run_reader(&self) -> &RunReader {
        &self.run_reader
    }

    /// Finds processes that are new; those found together count in the order of their start.
    fn discover(&mut self, now: u64, last: bool) {
        if !last && !self.active.listing.is_due(now) {
            return;
        }
        // A folder that was there and is gone is the end of the run, not an error of ours.
        let names = self.active.listing.time(now, || self.run_reader.store.processes()).unwrap_or_default();
        let new = names.into_iter().filter(|n| !self.known_folders.contains(n));
        let folders = new.filter_map(|n| ProcessSymbols::open(&self.run_reader.store, &n, &mut self.shared.clock));
        let mut folders: Vec<_> = folders.collect();
        folders.sort_by_key(|folder| folder.dir.process.start_ns);
        for mut folder in folders {
            folder.dir.number(self.next_process, &self.options.place);
            self.next_process += 1;
            let (process, ticks) = (folder.dir.process.clone(), folder.dir.page.start_ticks);
            self.known_folders.insert(process.folder.to_string());
            self.notices.push(VecDeque::from([(process.start_ns, Event::Process(process), true, ticks)]));
            let mut interpreter = Interpreter::new(self.complete, self.free_coverage, self.handle_coverage.clone());
            // What a forked child has from its parent was made there.
            if folder.dir.process.forked {
                interpreter.mark_incomplete();
            }
            self.interpreters.push(interpreter);
            self.active.folders.push(self.folders.len());
            self.folders.push(folder);
        }
    }

    fn open_rings(&mut self, last: bool) {
        for n in &self.active.folders {
            for mut ring in self.folders[*n].dir.new_rings(self.options.consume, &mut self.shared.clock) {
                if self.options.only_kept && !ring.is_kept() {
                    continue;
                }
                self.active.sources.push(self.sources.len());
                let only = self.options.only.as_ref().map(|only| only.of(&self.folders[*n].dir.process.folder));
                self.sources.push(Source::new(*n, ring, self.options.decode, only));
            }
        }
        if last {
            for source in &mut self.sources {
                source.ring.end_here();
            }
        }
    }

    /// Closes the calls of threads that ended in them while their process lives on.
    fn close_left(&mut self, now: u64) {
        let mut alive = vec![false; self.folders.len()];
        for n in &self.active.sources {
            let source = &mut self.sources[*n];
            let abandoned = source.ring.abandoned();
            source.abandoned_since = abandoned.then(|| source.abandoned_since.unwrap_or(now));
            alive[source.process] |= !abandoned;
        }
        // What is open here may have ended in what was not read yet: a thread can be far ahead of its reader.
        let open = |s: &Source| alive[s.process] && s.read_out && s.has_open();
        for n in &self.active.sources {
            let source = &mut self.sources[*n];
            if open(source) && source.abandoned_since.is_some_and(|since| now.saturating_sub(since) > GONE_NS) {
                let mut context = Context { process: &mut self.folders[source.process], shared: &mut self.shared };
                source.calls.close(&mut context);
            }
        }
    }

    /// Hands out events up to `limit`, the earliest first. When it stopped for their number, the time of the next one.
    fn merge(&mut self, now: u64, limit: u64, most: usize, sink: &mut EventSink<'_>) -> Option<u64> {
        let rings = self.active.sources.len().max(1).saturating_mul(self.options.place.of as usize);
        let each = (IN_MEMORY / rings).max(AT_A_TIME);
        for n in 0..self.active.sources.len() {
            self.fill(self.active.sources[n], now, each);
        }
        let mut heads = BinaryHeap::new();
        let (folders, sources) = (self.active.folders.iter(), self.active.sources.iter());
        let all = folders.map(|n| QueueId::Names(*n)).chain(sources.map(|n| QueueId::Ring(*n)));
        heads.extend(all.filter_map(|queue_id| Some(Reverse((self.head(queue_id)?, queue_id)))));
        let mut count = 0;
        while let Some(Reverse((ns, queue_id))) = heads.pop() {
            if ns > limit {
                break;
            }
            // As long as nobody else comes first, no order has to be kept.
            let next = heads.peek().map_or(limit, |Reverse((ns, _))| (*ns).min(limit));
            while let Some((event, is_shown, updated, delivery)) = self.next(queue_id, next) {
                let is_enough = updated.into_iter().any(|call| sink(Event::Updated(call), delivery).is_break());
                if is_enough || is_shown && sink(event, delivery).is_break() {
                    return None;
                }
                count += 1;
            }
            if let QueueId::Ring(n) = queue_id
                && self.queue(queue_id).is_empty()
            {
                self.fill(n, now, AT_A_TIME);
                let names = QueueId::Names(self.sources[n].process);
                // Reading on may have brought names; a process's notices are in the heap at most twice.
                heads.extend(self.head(names).map(|ns| Reverse((ns, names))));
            }
            heads.extend(self.head(queue_id).map(|ns| Reverse((ns, queue_id))));
            if count >= most {
                return heads.peek().map(|Reverse((ns, _))| (*ns).min(limit));
            }
        }
        None
    }

    fn fill(&mut self, n: usize, now: u64, most: usize) {
        let source = &mut self.sources[n];
        let folder = &mut self.folders[source.process];
        let have = source.calls.sink.queue.len();
        source.read_out = false;
        if have < most {
            // Of many records none may be an event: a ring without one takes no further part in the merge.
            while source.fill(&mut Context { process: folder, shared: &mut self.shared }, now, most - have)
                && source.calls.sink.queue.is_empty()
            {}
            let dropped = MISSING.iter().any(|n| folder.dir.page.counters.get(*n).is_some_and(|c| *c > 0));
            if dropped || source.ring.consumed + source.ring.missed + source.ring.count.losses().damaged > 0 {
                self.interpreters[source.process].mark_incomplete();
            }
        }
        self.take_notices(self.sources[n].process);
    }

    /// Takes over the events that reading names brought.
    fn take_notices(&mut self, n: usize) {
        let folder = &mut self.folders[n];
        for (ticks, event) in std::mem::take(&mut folder.names.events) {
            let ns = folder.dir.ns(&self.shared.clock, ticks);
            let event = match event {
                Event::Instance(instance, _) => Event::Instance(instance, ns),
                Event::Module(mut module) => {
                    module.ns = ns;
                    Event::Module(module)
                }
                other => other,
            };
            self.notices[n].push_back((ns, event, true, ticks));
        }
    }

    /// The next event up to `limit`, with its arguments understood, and calls of which more is known by it.
    fn next(&mut self, queue_id: QueueId, limit: u64) -> Option<(Event, bool, Vec<Call>, Delivery)> {
        let queue = self.queue(queue_id);
        queue.front().filter(|(ns, ..)| *ns <= limit)?;
        let (_, mut event, is_shown, ticks) = queue.pop_front()?;
        let delivery = if ticks > self.options.printed { Delivery::New } else { Delivery::Printed };
        self.handed_out = self.handed_out.max(ticks);
        let mut updated = Vec::new();
        if let QueueId::Ring(n) = queue_id
            && self.options.decode
        {
            let folder = self.sources[n].process;
            let names = &mut self.folders[folder].names;
            let runtime = names.has_runtime();
            self.interpreters[folder].event(&mut event, is_shown, &names.kernels, runtime, names.toolkit);
            updated = std::mem::take(&mut self.interpreters[folder].updated_calls);
            // Files of a program that ended long ago may be others by now.
            if self.options.consume && ptx_files::loads(&event) {
                self.folders[folder].read_names(true);
                ptx_files::read_loaded(&event, &mut self.folders[folder].names.kernels);
            }
        }
        Some((event, is_shown, updated, delivery))
    }

    fn queue(&mut self, queue_id: QueueId) -> &mut VecDeque<QueuedEvent> {
        match queue_id {
            QueueId::Names(n) => &mut self.notices[n],
            QueueId::Ring(n) => &mut self.sources[n].calls.sink.queue,
        }
    }

    fn head(&self, queue_id: QueueId) -> Option<u64> {
        let queue = match queue_id {
            QueueId::Names(n) => &self.notices[n],
            QueueId::Ring(n) => &self.sources[n].calls.sink.queue,
        };
        queue.front().map(|(ns, ..)| *ns)
    }
}
