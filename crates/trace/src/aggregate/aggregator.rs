//! All calls of a run that is over, or of one as far as it has come, thread after thread, for whoever
//! adds them up. Nothing is merged by time, no argument is understood and nothing is kept of a call
//! once it is over, so that this is much faster than [`crate::EventReader`] and needs no memory for each call.

use super::ending::{Ending, wanted};
use super::launches::{KernelLaunch, Launching};
use crate::event::{Args, Call, Function, Instance, Layer, State, Thread};
use crate::filter::{Filter, Tests};
use crate::io::clock::{Clock, monotonic};
use crate::pair::call_stack::{Closed, PendingCall, Shown, Stack};
use crate::pair::filter_eval::{evaluate, launch, provides};
use crate::pair::shared::Shared;
use crate::ring::reader::{Item, Ring};
use crate::run::error::Error;
use crate::run::run_reader::RunReader;
use crate::summary::counted::counted;
use crate::summary::end::{End, Filtered};
use crate::symbols::functions::{Launch, Resolver};
use crate::symbols::process::ProcessSymbols;
use cutap_wire::record::{Parent, Record, Words, note};
use std::path::Path;
use std::sync::Arc;

/// Who adds up.
pub trait CallSink {
    /// A call that is shown begins inside the one of `place`: what this returned for it, 0 for none.
    fn enter(&mut self, place: u32, function: &Arc<Function>) -> u32;
    /// A call that is shown is over.
    fn exit(&mut self, done: &FinishedCall<'_>);
    /// Whether it wants to be told of launches.
    fn wants_launches(&self) -> bool {
        false
    }
    /// A launch of a kernel is over: told once of each, however many calls it is made of.
    fn launched(&mut self, _launch: &KernelLaunch) {}
    /// Calls of this function went to this instance. Said at the end, of each function that was called.
    fn belongs(&mut self, function: &Arc<Function>, instance: &Arc<Instance>);
}

/// A call that is over.
#[derive(Debug)]
pub struct FinishedCall<'a> {
    /// What [`CallSink::enter`] returned for it.
    pub place: u32,
    /// What was called.
    pub function: &'a Arc<Function>,
    /// Who called.
    pub thread: &'a Arc<Thread>,
    /// How long it took; `None` when it did not return.
    pub took_ns: Option<u64>,
    /// How much of this the calls inside it took that are shown.
    pub inside_ns: u64,
    /// The result register.
    pub result: u64,
    /// How it ended. A noted one has only a beginning, and is done.
    pub state: State,
    /// It was handed out as unwound before.
    pub late: bool,
}

impl FinishedCall<'_> {
    /// The status that it returned, if that is what it returns.
    pub fn status(&self) -> Option<i32> {
        self.function.status(self.result).filter(|_| self.took_ns.is_some())
    }
}

/// A run whose calls are to be added up.
#[derive(Debug)]
pub struct Aggregator {
    opened: RunReader,
    shared: Shared,
    shown: u64,
    filtered_out: u64,
}

/// An open call.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) number: u32,
    pub(super) slot: u32,
    pub(super) ticks: u64,
    /// Nanoseconds of the calls inside that are shown: of each as it is told, so that no part of one is lost or told twice.
    pub(super) inside: u64,
    pub(super) place: u32,
    pub(super) shown: Shown,
    /// It launches a kernel, and somebody wants to be told.
    pub(super) launch: Option<Box<Launching>>,
    pub(super) kernel: Option<Arc<str>>,
    /// For conditions on its arguments, or on those of the call around it.
    pub(super) asked: Option<Box<Asked>>,
}

/// A call with its arguments, and what the filter asks of them.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) tests: Option<Arc<Tests>>,
    pub(super) call: Arc<Call>,
}

impl PendingCall for Frame {
    fn number(&self) -> u32 {
        self.number
    }
    fn shown(&self) -> bool {
        self.shown == Shown::Yes
    }
}

/// One ring's thread.
pub(super) struct Lane<'a> {
    pub(super) stack: Stack<Frame>,
    pub(super) thread: Option<Arc<Thread>>,
    pub(super) folder: &'a mut ProcessSymbols,
    pub(super) shared: &'a mut Shared,
    pub(super) calls: &'a mut dyn CallSink,
    pub(super) wants_launches: bool,
    pub(super) shown: u64,
    pub(super) filtered_out: u64,
    /// Calls that are shown and never ended.
    pub(super) unfinished: u64,
}

impl Aggregator {
    /// Opens a run directory, or a recording.
    pub fn open(run: &Path, filter: &Filter) -> Result<Aggregator, Error> {
        let opened = RunReader::new(run)?;
        let tables = &cutap_calls::generated::known::TABLES;
        let shared = Shared {
            clock: Clock::measured(opened.ticks_per_second()),
            resolver: Resolver::new(tables, filter.clone()),
            next_thread: 0,
            decode: false,
            live: false,
            files: Default::default(),
        };
        Ok(Aggregator { opened, shared, shown: 0, filtered_out: 0 })
    }

    /// What was opened.
    pub fn opened(&self) -> &RunReader {
        &self.opened
    }

    /// Hands out all calls that the filter lets through, and says what is known at the end.
    pub fn run(&mut self, calls: &mut dyn CallSink) -> End {
        let (mut end, mut open, shared) = (End::of(&self.opened), 0, &mut self.shared);
        let names = self.opened.store.processes().unwrap_or_default();
        let folders = names.iter().filter_map(|n| ProcessSymbols::open(&self.opened.store, n, &mut shared.clock));
        let mut folders: Vec<ProcessSymbols> = folders.collect();
        folders.sort_by_key(|folder| folder.dir.process.start_ns);
        let mut rings: Vec<(usize, Ring)> = Vec::new();
        for (n, folder) in folders.iter_mut().enumerate() {
            folder.dir.number(n as u32);
            folder.read_names(true);
            for mut ring in folder.dir.new_rings(false, &mut shared.clock) {
                ring.end_here();
                rings.push((n, ring));
            }
        }
        for (n, ring) in &mut rings {
            let folder = &mut folders[*n];
            let mut lane = Lane::new(folder, shared, calls);
            while ring.read(monotonic(), 1 << 20, &mut |item| lane.item(item)) {}
            open += lane.unfinished();
            self.shown += lane.shown;
            self.filtered_out += lane.filtered_out;
            end.ring(ring, &folder.dir.process, &self.opened);
        }
        for folder in &mut folders {
            for known in folder.names.all_made() {
                let own = known.function.instance.as_ref();
                // A toolkit library has a runtime inside; its own functions are not that runtime's.
                let of_runtime = known.function.layer == Layer::RUNTIME;
                let of_object = || folder.names.instance_of(known.object).filter(|_| of_runtime);
                let instance = own.or_else(of_object);
                instance.inspect(|instance| calls.belongs(&known.function, instance));
            }
            end.folder(folder);
        }
        end.recorded(&self.opened);
        end.settle(&self.opened);
        end.open = open;
        end.counted = counted(&mut folders, &mut shared.resolver);
        end.filtered = Filtered::new(&shared.resolver.filter, (self.shown, self.filtered_out), &folders);
        if let Some(filtered) = &mut end.filtered {
            filtered.shown += end.counted.iter().map(|c| c.calls).sum::<u64>();
        }
        end
    }
}

impl<'a> Lane<'a> {
    fn new(folder: &'a mut ProcessSymbols, shared: &'a mut Shared, calls: &'a mut dyn CallSink) -> Lane<'a> {
        let (stack, wants_launches) = (Stack::default(), calls.wants_launches());
        Lane { stack, thread: None, folder, shared, calls, wants_launches, shown: 0, filtered_out: 0, unfinished: 0 }
    }

    /// False: no writer can have written it.
    #[inline(always)]
    fn item(&mut self, item: Item<'_>) -> bool {
        match item {
            Item::Chunk(page) if self.thread.as_ref().is_none_or(|t| t.tid != page.tid) => self.change(page.tid),
            Item::Chunk(_) => {}
            Item::Record(record) => return self.record(&record),
            Item::Reread => self.folder.dir.stale = true,
        }
        true
    }

    /// What follows is this thread's.
    fn change(&mut self, tid: u32) {
        let mut gone = Vec::new();
        self.stack.close(&mut |frame| gone.push(frame.clone()));
        self.give_up(gone, State::Unwound);
        let key = self.shared.next_thread;
        self.shared.next_thread += 1;
        self.thread = Some(Arc::new(Thread { key, tid, process: self.folder.dir.process.clone() }));
    }

    #[inline(always)]
    fn record(&mut self, record: &Record<'_>) -> bool {
        match *record {
            Record::Enter { number, slot, ticks, parent, words, .. } => {
                if self.folder.names.made(slot).is_none()
                    && self.folder.known(&mut self.shared.resolver, slot, self.shared.live).is_none()
                {
                    return false;
                }
                self.leave(number, parent);
                self.enter((number, slot, ticks), words);
            }
            Record::Exit { number, ticks, result, memory, output } => {
                let (frame, late) = match self.end(number) {
                    Closed::Now(frame) => (frame, false),
                    Closed::Late(frame) => (frame, true),
                    Closed::Unknown => return true,
                };
                let asked = frame.asked.as_ref().map(|asked| asked.call.args.memory(memory, output));
                let memory = asked.as_deref().unwrap_or(&[]);
                self.over(frame, &mut [], &Ending { ticks: Some(ticks), result, state: State::Returned, late, memory });
            }
            Record::Unwound { number, ticks } => {
                if let Closed::Now(frame) = self.end(number) {
                    self.over(frame, &mut [], &Ending { ticks: Some(ticks), ..Ending::plain(State::Unwound) });
                }
            }
            Record::Thread { tid } => self.change(tid),
            Record::Note { number, what: note::KERNEL, value } => {
                let name = self.folder.names.kernels.by_id(value);
                if let Some(frame) = self.stack.find_mut(number) {
                    if let (Some(asked), Some(name)) = (&frame.asked, &name) {
                        let _ = asked.call.kernel.set(name.clone());
                    }
                    frame.kernel = name;
                }
            }
            Record::Note { .. } | Record::Lookup(_) | Record::Stack(_) | Record::Memory(_) => {}
        }
        true
    }

    fn enter(&mut self, (number, slot, ticks): (u32, u32, u64), words: Words<'_>) {
        let around = self.stack.last().map_or(0, |frame| frame.place);
        let names = &self.folder.names;
        let (Some(thread), Some(known)) = (&self.thread, names.made(slot)) else { return };
        let (words, memory) = words.split(known.words);
        let kernel = match known.launch {
            Launch::Word(n) => {
                let by_handle = names.kernels.at(words.get(n).unwrap_or(0), ticks);
                by_handle.or_else(|| self.stack.last().and_then(|frame| frame.kernel.clone()))
            }
            Launch::No | Launch::Reported => None,
        };
        let tells = provides(self.shared, known);
        let asked = (tells || known.tests.is_some()).then(|| {
            let mut call = Call::plain(thread.clone(), known.function.clone(), Args::from(words), memory.bytes());
            kernel.iter().for_each(|name| drop(call.kernel.set(name.clone())));
            call.ticks = ticks;
            call.parent = self.stack.open().find_map(|frame| Some(frame.asked.as_ref()?.call.clone()));
            Box::new(Asked { tests: known.tests.clone(), call: Arc::new(call) })
        });
        if let Some(asked) = asked.as_ref().filter(|_| tells) {
            launch(&asked.call, &self.folder.names.kernels);
        }
        let decided = asked.as_ref().and_then(|asked| Some(evaluate(asked.tests.as_ref()?, &asked.call, None)));
        let at_end = self.shared.resolver.filter.needs_end() || decided == Some(None);
        let shown = match (known.shown, decided) {
            (false, _) | (_, Some(Some(false))) => Shown::No,
            // A noted one has no end by which it could be wanted.
            _ if at_end && known.function.entry_only => Shown::No,
            _ if at_end => Shown::DecideAtExit,
            _ => Shown::Yes,
        };
        self.shown += u64::from(shown == Shown::Yes);
        self.filtered_out += u64::from(shown == Shown::No && !known.hidden);
        let place = if shown == Shown::No { around } else { self.calls.enter(around, &known.function) };
        let noted = known.function.entry_only;
        let launch = (known.launch != Launch::No && self.wants_launches).then(|| Box::new(self.launching()));
        let frame = Frame { number, slot, ticks, inside: 0, place, shown, launch, kernel, asked };
        if noted {
            // Nobody sees it return, and no call has it for a parent.
            self.over(frame, &mut [], &Ending { ticks: Some(ticks), ..Ending::plain(State::Returned) });
        } else {
            self.stack.enter(frame);
        }
    }

    /// A call that is not on the stack any more, nor are those `around` it that did not return either, the innermost first.
    fn over(&mut self, frame: Frame, around: &mut [Frame], ending: &Ending<'_>) {
        let Some(known) = self.folder.names.made(frame.slot) else { return };
        let (Some(thread), function) = (&self.thread, &known.function) else { return };
        let took = ending.ticks.map(|ticks| ticks.saturating_sub(frame.ticks));
        let took_ns = took.map(|took| self.folder.dir.span(&self.shared.clock, took));
        let returned = ending.state == State::Returned && !function.entry_only;
        let mut handed_out = ending.late;
        let shown = match frame.shown {
            Shown::Yes => true,
            Shown::No => false,
            Shown::DecideAtExit => {
                let filter = &self.shared.resolver.filter;
                // One that was not handed out as unwound is judged anew; one that was is not left at that.
                handed_out &= wanted(filter, &frame, function, &Ending::plain(State::Unwound), None);
                self.filtered_out = self.filtered_out.saturating_sub(u64::from(ending.late && !handed_out));
                let wanted = handed_out || wanted(filter, &frame, function, ending, took_ns);
                self.shown += u64::from(wanted && !handed_out);
                self.filtered_out += u64::from(!wanted);
                wanted
            }
        };
        if let Some(around) = self.stack.last().filter(|_| returned && !ending.late) {
            around.inside = around.inside.saturating_add(if shown { took_ns.unwrap_or(0) } else { frame.inside });
        }
        let done = FinishedCall {
            place: frame.place,
            function,
            thread,
            took_ns: took_ns.filter(|_| returned),
            inside_ns: frame.inside,
            result: ending.result,
            state: ending.state,
            late: handed_out,
        };
        if shown {
            self.unfinished += u64::from(ending.state == State::Unfinished);
            self.calls.exit(&done);
        }
        let Frame { launch: Some(launch), kernel, .. } = frame else { return };
        let kernel = kernel.filter(|_| !function.has_named_none(done.status()));
        let done = shown.then(|| KernelLaunch::of(&done));
        self.launched(*launch, kernel, around, done, ending.late);
    }

    /// Gives up what a call of this number and parent says is gone.
    #[inline]
    fn leave(&mut self, number: u32, parent: Parent) {
        let mut gone = Vec::new();
        self.stack.before_enter(number, parent, &mut |frame| gone.push(frame.clone()));
        if !gone.is_empty() {
            self.give_up(gone, State::Unwound);
        }
    }

    /// A call ends, and what was inside it with it.
    #[inline]
    fn end(&mut self, number: u32) -> Closed<Frame> {
        let mut gone = Vec::new();
        let ended = self.stack.exit(number, &mut |frame| gone.push(frame.clone()));
        if !gone.is_empty() {
            self.give_up(gone, State::Unwound);
        }
        ended
    }

    /// Calls that did not return, the innermost first.
    #[cold]
    fn give_up(&mut self, gone: Vec<Frame>, state: State) {
        let mut gone = gone.into_iter();
        while let Some(frame) = gone.next() {
            self.over(frame, gone.as_mut_slice(), &Ending::plain(state));
        }
    }

    /// What is still open at the end: how many calls.
    fn unfinished(&mut self) -> u64 {
        let open: Vec<Frame> = self.stack.open().cloned().collect();
        self.stack = Stack::default();
        self.give_up(open, State::Unfinished);
        self.unfinished
    }
}
