//! Where each thread of a run is: its open calls, since when, and the work that a wait waits for. `cutap where` prints
//! it, and `record --on-hang` saves it.

mod collectives;
mod document;
mod queues;
mod subject;
mod text;

pub use collectives::write_job;
pub use document::{HangDocument, ProcessState, StreamWait, ThreadState, WorkState};
pub use text::{write_documents, write_wait};

use crate::collectives::{CallPlace, CollectiveLog, RunCollectives, is_collective};
use crate::nesting::stacks::lines;
use crate::notes::missing_calls::{missing_collectives, missing_earlier_calls};
use cutap_calls::{blocks, ends_capture};
use cutap_trace::{Call, End, EventVisitor, Exit, Process, Thread, Why, monotonic};
use document::{OpenEntry, TYPE};
use queues::{Queues, Surroundings, arguments_text};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A collector writes at least this often.
const WRITTEN_EVERY_NS: u64 = 2_000_000_000;

/// A call that began and has not ended.
#[derive(Debug)]
struct OpenCall {
    call: Call,
    /// The order of work when it began.
    first_order: u64,
    has_submitted: bool,
}

#[derive(Debug)]
struct ThreadCalls {
    thread: Arc<Thread>,
    open: Vec<OpenCall>,
    /// The call that ended last, and when.
    last: Option<(u64, Call)>,
}

/// Follows the calls of one run. All of them must be seen, with their arguments.
#[derive(Debug, Default)]
pub struct HangState {
    threads: BTreeMap<u32, ThreadCalls>,
    queues: Queues,
    collectives: CollectiveLog,
    /// The last moment of which something is known.
    last_ns: u64,
    /// When a call ended last that does more than ask.
    progress_ns: u64,
}

impl EventVisitor for HangState {
    fn enter(&mut self, call: &Call) {
        self.last_ns = self.last_ns.max(call.start_ns);
        let first_order = self.queues.order();
        self.collectives.enter(call);
        if !call.function.entry_only {
            self.thread(&call.thread).open.push(OpenCall { call: call.clone(), first_order, has_submitted: false });
        }
    }

    fn update(&mut self, call: &Call) {
        let open = &mut self.thread(&call.thread).open;
        if let Some(open_call) = open.iter_mut().rev().find(|open| open.call.is_same_call(call)) {
            open_call.call = call.clone();
        }
    }

    fn exit(&mut self, exit: &Exit) {
        self.last_ns = self.last_ns.max(exit.end_ns);
        if !subject::only_asks(&exit.call.function) {
            self.progress_ns = self.progress_ns.max(exit.end_ns);
        }
        let thread = self.thread(&exit.call.thread);
        let Some(place) = thread.open.iter().rposition(|open| open.call.is_same_call(&exit.call)) else { return };
        if exit.call.function.range.is_some() {
            // A range may be popped while others that were pushed later are open.
            thread.open.remove(place);
            self.collectives.exit_range(&exit.call);
            return;
        }
        let inner_submitted = thread.open[place..].iter().any(|open| open.has_submitted);
        let first_order = thread.open[place].first_order;
        thread.open.truncate(place);
        thread.last = Some((exit.end_ns, exit.call.clone()));
        let outer: Vec<Call> = thread.open.iter().map(|open| open.call.clone()).collect();
        let surroundings = Surroundings { outer: &outer, first_order, has_submitted: inner_submitted };
        let is_of_capture = is_collective(&exit.call.function) || ends_capture(&exit.call.function.name);
        let capture = if is_of_capture { self.queues.capture(&exit.call) } else { None };
        let submitted = self.queues.exit(exit, surroundings);
        let is_outermost = outer.iter().all(|outer| outer.function.range.is_some());
        self.collectives.exit(exit, CallPlace { capture, is_outermost });
        self.queues.take_completed().into_iter().for_each(|id| self.collectives.complete(id, exit.end_ns));
        if submitted || inner_submitted {
            self.thread(&exit.call.thread).open.iter_mut().for_each(|open| open.has_submitted = true);
        }
    }
}

impl HangState {
    fn thread(&mut self, thread: &Arc<Thread>) -> &mut ThreadCalls {
        let new = || ThreadCalls { thread: thread.clone(), open: Vec::new(), last: None };
        self.threads.entry(thread.key).or_insert_with(new)
    }

    /// Until when all calls are known. A recording that is being written is behind its program, and not for all threads
    /// alike. It may lack a call of one thread that came before the last known call of another.
    pub fn known_until(&self, end: &End) -> u64 {
        let is_whole = match &end.recording {
            Some(recording) => recording.cut.why == Why::Ended,
            None => !end.processes.has_live,
        };
        if is_whole { self.last_ns.max(end.last_ns) } else { end.last_ns.saturating_sub(WRITTEN_EVERY_NS) }
    }

    /// The collectives of the run, all that are known.
    pub fn collectives(&mut self, end: &End) -> RunCollectives {
        self.collectives.end_at(self.known_until(end));
        self.collectives.state(missing_collectives(end).is_none())
    }

    /// What is known at the end of the run, or now. `runs_on` says of a process and a thread whether that runs now, on
    /// this machine, and in which system call; none if nothing of the run does.
    pub fn document(mut self, run: &str, end: &End, runs_on: Option<&dyn Fn(u32, u32) -> LiveThread>) -> HangDocument {
        let known_ns = self.known_until(end);
        self.collectives.end_at(known_ns);
        self.last_ns = self.last_ns.max(end.last_ns);
        if runs_on.is_some() {
            self.last_ns = self.last_ns.max(monotonic());
        }
        for exit in &end.unfinished {
            self.last_ns = self.last_ns.max(exit.end_ns);
            self.update(&exit.call);
        }
        let open_until: BTreeMap<(u32, u32), u64> =
            end.unfinished.iter().map(|exit| ((exit.call.thread.key, exit.call.number()), exit.end_ns)).collect();
        let mut processes: BTreeMap<u32, (Arc<Process>, Vec<ThreadState>)> = BTreeMap::new();
        for of in std::mem::take(&mut self.threads).into_values() {
            let process = of.thread.process.clone();
            let live = runs_on.map(|runs_on| runs_on(process.pid, of.thread.tid));
            let is_gone = matches!(live, Some(LiveThread { is_there: false, .. }));
            let (stopped, system_call) = live.map(|live| (live.stopped, live.system_call)).unwrap_or_default();
            let mut state = self.thread_state(of, &open_until);
            (state.stopped, state.system_call) = (stopped.map(str::to_owned), system_call);
            // A thread of another name space has another number here, and a process that was killed is of interest.
            if is_gone && state.named.is_none() {
                continue;
            }
            let (_, threads) = processes.entry(process.key).or_insert_with(|| (process, Vec::new()));
            threads.push(state);
        }
        let processes = processes.into_values().map(|(process, threads)| ProcessState {
            pid: process.pid,
            program: process.exe.rsplit('/').next().unwrap_or(&process.exe).to_owned(),
            threads,
        });
        let lacks = missing_earlier_calls(end);
        let lacks_collectives = missing_collectives(end);
        let collectives = self.collectives.state(lacks_collectives.is_none()).tail();
        HangDocument {
            kind: TYPE.to_owned(),
            run: run.to_owned(),
            rank: end.host.rank,
            host: end.host.name.clone(),
            boot_id: end.host.boot_id.clone(),
            launcher: end.host.launcher.clone(),
            is_live: runs_on.is_some(),
            quiet_ns: self.last_ns.saturating_sub(self.progress_ns),
            lacks,
            lacks_collectives,
            processes: processes.collect(),
            program_end: end.coverage.program_end.map(|program_end| program_end.to_string()),
            last_ns: self.last_ns,
            known_ns,
            collectives,
            saved: end.hang.as_deref().and_then(|text| serde_json::from_str(text).ok()).map(Box::new),
        }
    }

    fn thread_state(&mut self, of: ThreadCalls, open_until: &BTreeMap<(u32, u32), u64>) -> ThreadState {
        let ThreadCalls { thread, open, last } = of;
        let end_of = |call: &Call| open_until.get(&(call.thread.key, call.number())).copied();
        // A call that is open in the rings and not at the end was left by its thread.
        let open: Vec<OpenCall> = open.into_iter().filter(|open| end_of(&open.call).is_some()).collect();
        let scope_of = |open: &OpenCall| subject::waits_for(&open.call);
        let is_call = |open: &OpenCall| open.call.function.range.is_none();
        let named = open.iter().position(|open| scope_of(open).is_some()).or_else(|| open.iter().rposition(is_call));
        let waits_for = named.and_then(|named| {
            let open = open.get(named)?;
            let times = (open.first_order, end_of(&open.call)?);
            Some(self.queues.waits(&open.call, scope_of(open)?, times, &self.collectives))
        });
        let entries = open.iter().map(|OpenCall { call, .. }| OpenEntry {
            name: call.function.display_name().to_owned(),
            is_range: call.function.range.is_some(),
            layer: call.function.layer.name().to_owned(),
            library: call.function.library.to_string(),
            arguments: if call.function.range.is_some() { String::new() } else { arguments_text(call) },
            open_ns: end_of(call).unwrap_or(self.last_ns).saturating_sub(call.start_ns),
            waits: blocks(&call.function.name).filter(|_| call.function.range.is_none()).map(str::to_owned),
            stack: lines(call),
        });
        ThreadState {
            tid: thread.tid,
            name: thread.name.as_ref().map(|name| name.to_string()),
            open: entries.collect(),
            named,
            waits_for: waits_for.unwrap_or_default(),
            idle_ns: last.as_ref().filter(|_| named.is_none()).map(|(end_ns, _)| self.last_ns.saturating_sub(*end_ns)),
            last_call: last.filter(|_| named.is_none()).map(|(_, call)| call.function.display_name().to_owned()),
            ..ThreadState::default()
        }
    }
}

/// A thread of a process that may run on this machine.
#[derive(Debug, Clone, Default)]
pub struct LiveThread {
    /// It is there.
    pub is_there: bool,
    /// A signal or a debugger has stopped it, in words.
    pub stopped: Option<&'static str>,
    /// The system call that it sleeps in, in words.
    pub system_call: Option<String>,
}
