//! The work of each stream that is not known complete, the oldest first. A stream keeps its order: when something in it
//! is complete, all before it is. So is what it waited for by events, and what the default stream made it wait for.

use super::document::{CollectivePlace, StreamWait, WorkState};
use super::subject::{self, StreamName, WaitScope, has};
use crate::call::arguments::{inputs, words};
use crate::call::stream_argument;
use crate::collectives::{CallId, CollectiveLog, Signature, id_of, is_collective};
use cutap_calls::{Role, begins_capture, ends_capture};
use cutap_trace::{Call, Exit};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Pieces of work of a stream that are kept; of more the oldest are forgotten, and counted.
const MOST: usize = 1 << 16;
/// Pieces of work behind the oldest one that are named.
const NEXT: usize = 4;
/// Steps from a wait to what holds it up.
const MOST_STEPS: usize = 16;

/// Something that was put into a stream.
#[derive(Debug)]
struct Work {
    order: u64,
    call: Call,
    /// The outermost call around it, and the collective that it belongs to.
    made_by: Option<Call>,
    collective: Option<Call>,
    range: Option<Arc<str>>,
    /// What of another stream it waits for, with the event's name.
    waits_on: Option<(Place, String)>,
}

/// All of a stream that is older.
#[derive(Debug, Clone, Copy)]
struct Place {
    stream: usize,
    before: u64,
}

#[derive(Debug)]
struct StreamQueue {
    process: u32,
    name: StreamName,
    text: String,
    context: Option<u64>,
    /// It waits for the default stream, and that for it.
    is_blocking: bool,
    capture: Option<u32>,
    work: VecDeque<Work>,
    /// Collectives in it that are not known complete, with the order behind which they are.
    collectives: VecDeque<(u64, CallId)>,
    forgotten: u64,
}

impl StreamQueue {
    fn oldest(&self, before: u64) -> Option<&Work> {
        self.work.front().filter(|work| work.order < before)
    }

    fn shares_context(&self, process: u32, context: Option<u64>) -> bool {
        self.process == process && (self.context == context || self.context.is_none() || context.is_none())
    }
}

/// What an event stands for.
#[derive(Debug, Clone, Copy)]
enum Recorded {
    At(Place),
    InCapture(u32),
}

/// The streams of all processes.
#[derive(Debug, Default)]
pub struct Queues {
    streams: Vec<StreamQueue>,
    /// By process, name, and whose the name is: the thread's or the context's.
    by_name: HashMap<(u32, StreamName, u64), usize>,
    /// By process and handle.
    events: HashMap<(u32, u64), Recorded>,
    /// By the thread's key: the current context.
    contexts: HashMap<u32, u64>,
    order: u64,
    captures: u32,
    /// Collectives that have become complete.
    completed: Vec<CallId>,
}

/// Where a call was made.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The open calls and ranges around it, the outermost first.
    pub outer: &'a [Call],
    /// The order when it first_order.
    pub first_order: u64,
    /// A call inside it has submitted its work.
    pub has_submitted: bool,
}

impl Queues {
    /// What is submitted from now on is not older.
    pub fn order(&self) -> u64 {
        self.order + 1
    }

    /// Takes a call that has ended. True if it put work into a stream.
    pub fn exit(&mut self, exit: &Exit, surroundings: Surroundings<'_>) -> bool {
        let call = &exit.call;
        if call.function.range.is_some() || !subject::has_succeeded(exit) {
            return false;
        }
        self.follow_contexts(exit);
        self.follow_streams(exit);
        if let Some(scope) = subject::completes(call) {
            self.places(call, scope, surroundings.first_order).into_iter().for_each(|place| self.complete(place));
        }
        let has_submitted = self.submit(exit, surroundings);
        if is_collective(&call.function) || has(&call.function, Role::LaunchesGraph) {
            let stream = self.stream(call, subject::stream(call).unwrap_or(subject::default_stream(&call.function)));
            let order = self.order;
            self.streams[stream].collectives.push_back((order, id_of(call)));
        }
        has_submitted
    }

    /// The collectives that have become complete since the last time.
    pub fn take_completed(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.completed)
    }

    /// The capture that the stream of a call is in.
    pub fn capture(&mut self, call: &Call) -> Option<u32> {
        let stream = self.stream(call, subject::stream(call)?);
        self.streams[stream].capture
    }

    fn follow_contexts(&mut self, exit: &Exit) {
        let (call, thread) = (&exit.call, exit.call.thread.key);
        let is = |role| has(&call.function, role);
        let context = match () {
            () if is(Role::CreatesContext) => subject::written(exit, "context"),
            () if is(Role::PushesContext) || is(Role::CurrentContext) && exit.outputs.is_empty() => {
                subject::context(call)
            }
            // Which context was current before is not followed.
            () if is(Role::PopsContext) || is(Role::DestroysContext) => None,
            () => return,
        };
        match context.filter(|context| *context != 0) {
            Some(context) => drop(self.contexts.insert(thread, context)),
            None => drop(self.contexts.remove(&thread)),
        }
    }

    /// Streams that are made and destroyed, captures that begin and end.
    fn follow_streams(&mut self, exit: &Exit) {
        const NON_BLOCKING: u64 = 1;
        let call = &exit.call;
        let (process, name) = (call.thread.process.key, &*call.function.name);
        if let Some(handle) = subject::destroyed(call, "stream") {
            self.by_name.remove(&(process, StreamName::Handle(handle), 0));
        } else if let Some(handle) = subject::written(exit, "stream").filter(|_| !cutap_calls::hands_out(name)) {
            self.by_name.remove(&(process, StreamName::Handle(handle), 0));
            let stream = self.stream(call, StreamName::Handle(handle));
            let flags = subject::parameter(call, "flags").unwrap_or(0.0) as u64;
            self.streams[stream].is_blocking = flags & NON_BLOCKING == 0;
        }
        if begins_capture(name) {
            if let Some(named) = subject::stream(call) {
                self.captures += 1;
                let stream = self.stream(call, named);
                self.streams[stream].capture = Some(self.captures);
            }
        } else if ends_capture(name)
            && let Some(named) = subject::stream(call)
        {
            let stream = self.stream(call, named);
            if let Some(capture) = self.streams[stream].capture {
                let in_it = self.streams.iter_mut().filter(|of| of.capture == Some(capture));
                in_it.for_each(|of| of.capture = None);
            }
        }
    }

    /// The stream that a call means by a name.
    fn stream(&mut self, call: &Call, name: StreamName) -> usize {
        let (process, thread) = (call.thread.process.key, call.thread.key);
        let context = self.contexts.get(&thread).copied();
        let owner = match name {
            StreamName::Handle(_) => 0,
            StreamName::Legacy => context.unwrap_or(0),
            StreamName::PerThread => thread.into(),
        };
        let text = match subject::stream(call) {
            Some(given) if given == name => stream_argument::stream(call),
            _ => None,
        };
        let next = self.streams.len();
        let stream = *self.by_name.entry((process, name, owner)).or_insert(next);
        if stream == next {
            let (text, is_blocking) = (String::new(), true);
            let (work, collectives, forgotten, capture) = (VecDeque::new(), VecDeque::new(), 0, None);
            let new = StreamQueue { process, name, text, context, is_blocking, capture, work, collectives, forgotten };
            self.streams.push(new);
        }
        let of = &mut self.streams[stream];
        of.context = of.context.or(context);
        match text {
            Some(text) => of.text = text,
            None if of.text.is_empty() && !matches!(name, StreamName::Handle(_)) => {
                of.text = "default stream".to_owned();
            }
            None => {}
        }
        stream
    }

    fn submit(&mut self, exit: &Exit, surroundings: Surroundings<'_>) -> bool {
        let call = &exit.call;
        let is = |role| has(&call.function, role);
        let (records, waits) = (is(Role::RecordsEvent), is(Role::WaitsForEvent));
        let is_work = subject::submits(call) || is_collective(&call.function);
        if surroundings.has_submitted || !(is_work || records || waits) {
            return false;
        }
        let process = call.thread.process.key;
        let stream = self.stream(call, subject::stream(call).unwrap_or(subject::default_stream(&call.function)));
        let event = subject::event(call).filter(|_| records || waits);
        if let Some(capture) = self.streams[stream].capture {
            if records {
                event.map(|event| self.events.insert((process, event), Recorded::InCapture(capture)));
            }
            return true;
        }
        let recorded = event.and_then(|event| self.events.get(&(process, event)).copied());
        // A stream that waits for an event of a capture is captured too.
        if let Some(Recorded::InCapture(capture)) = recorded.filter(|_| waits) {
            self.streams[stream].capture = Some(capture);
            return true;
        }
        self.order += 1;
        let order = self.order;
        let waits_on = match recorded {
            Some(Recorded::At(place)) if waits => Some((place, subject::event_text(call))),
            _ => None,
        };
        if let Some(event) = event.filter(|_| records) {
            self.events.insert((process, event), Recorded::At(Place { stream, before: order + 1 }));
        }
        let calls = || surroundings.outer.iter().filter(|outer| outer.function.range.is_none());
        let collective = calls().chain([call]).find(|call| is_collective(&call.function)).cloned();
        let range = surroundings.outer.iter().rev().find(|outer| outer.function.range.is_some());
        let range = range.map(|range| range.function.name.clone());
        let made_by = calls().next().cloned();
        let of = &mut self.streams[stream];
        of.work.push_back(Work { order, call: call.clone(), made_by, collective, range, waits_on });
        if of.work.len() > MOST {
            of.work.pop_front();
            of.forgotten += 1;
        }
        // Its time on the GPU is known, so it has ended.
        if exit.gpu.is_some_and(|gpu| gpu.rows > 0) && !is(Role::LaunchesGraph) {
            self.complete(Place { stream, before: order + 1 });
        }
        true
    }

    /// The places that a wait covers which first_order at this order.
    fn places(&mut self, call: &Call, scope: WaitScope, first_order: u64) -> Vec<Place> {
        let process = call.thread.process.key;
        match scope {
            WaitScope::Event(event) => match self.events.get(&(process, event)) {
                Some(Recorded::At(place)) => vec![*place],
                _ => Vec::new(),
            },
            WaitScope::Stream(name) => vec![Place { stream: self.stream(call, name), before: first_order }],
            WaitScope::Device => {
                let context = self.contexts.get(&call.thread.key).copied();
                let all = self.streams.iter().enumerate().filter(|(_, of)| of.shares_context(process, context));
                all.map(|(stream, _)| Place { stream, before: first_order }).collect()
            }
        }
    }

    /// All that is older there is complete, and what that waited for.
    fn complete(&mut self, place: Place) {
        let mut places = vec![place];
        while let Some(Place { stream, before }) = places.pop() {
            let of = &mut self.streams[stream];
            let mut newest = None;
            while of.oldest(before).is_some() {
                let Some(work) = of.work.pop_front() else { break };
                newest = Some(work.order);
                places.extend(work.waits_on.map(|(place, _)| place));
            }
            of.forgotten = 0;
            while let Some((order, id)) = of.collectives.front().copied()
                && order < before
            {
                of.collectives.pop_front();
                self.completed.push(id);
            }
            if let Some(newest) = newest {
                places.extend(self.peers(stream).map(|peer| Place { stream: peer, before: newest }));
            }
        }
    }

    /// The streams that a stream waits for, and that wait for it: the default stream's and the blocking ones.
    fn peers(&self, stream: usize) -> impl Iterator<Item = usize> {
        let of = &self.streams[stream];
        let is_legacy = of.name == StreamName::Legacy;
        let is_blocking = of.is_blocking && !is_legacy;
        self.streams.iter().enumerate().filter_map(move |(n, peer)| {
            let is_peer = match peer.name {
                StreamName::Legacy => is_blocking,
                _ => is_legacy && peer.is_blocking,
            };
            (is_peer && peer.shares_context(of.process, of.context)).then_some(n)
        })
    }

    /// What a call waits for that is open.
    pub fn waits(
        &mut self,
        call: &Call,
        scope: WaitScope,
        (first_order, now_ns): (u64, u64),
        log: &CollectiveLog,
    ) -> Vec<StreamWait> {
        let is_event = matches!(scope, WaitScope::Event(_));
        let through = if is_event { vec![subject::event_text(call)] } else { Vec::new() };
        let mut places = self.places(call, scope, first_order);
        if places.is_empty() && is_event {
            return vec![StreamWait { through, ..StreamWait::default() }];
        }
        // The default stream waits for the blocking ones.
        if let [Place { stream, .. }] = places[..]
            && !is_event
            && self.streams[stream].name == StreamName::Legacy
        {
            let peers: Vec<usize> = self.peers(stream).collect();
            places.extend(peers.into_iter().map(|stream| Place { stream, before: first_order }));
        }
        let mut stream_waits: Vec<(usize, u64, StreamWait)> = Vec::new();
        for place in places {
            let (place, steps) = self.holder(place);
            let Some(oldest) = self.streams[place.stream].oldest(place.before) else { continue };
            if stream_waits.iter().all(|(stream, ..)| *stream != place.stream) {
                let through = through.iter().cloned().chain(steps).collect();
                stream_waits.push((place.stream, oldest.order, self.stream_wait(place, through, now_ns, log)));
            }
        }
        stream_waits.sort_by_key(|(_, order, _)| *order);
        stream_waits.into_iter().map(|(.., wait)| wait).collect()
    }

    /// Where the work is that holds up a place, and the steps from there.
    fn holder(&self, mut place: Place) -> (Place, Vec<String>) {
        let mut steps = Vec::new();
        for _ in 0..MOST_STEPS {
            let Some(oldest) = self.streams[place.stream].oldest(place.before) else { break };
            let by_event =
                oldest.waits_on.as_ref().filter(|(of, _)| self.streams[of.stream].oldest(of.before).is_some());
            if let Some((of, event)) = by_event {
                steps.push(format!("{event} in {}", self.streams[place.stream].text));
                place = *of;
                continue;
            }
            let before = oldest.order;
            match self.peers(place.stream).find(|peer| self.streams[*peer].oldest(before).is_some()) {
                Some(stream) => {
                    steps.push(format!("the order of {}", self.streams[place.stream].text));
                    place = Place { stream, before };
                }
                None => break,
            }
        }
        (place, steps)
    }

    fn stream_wait(&self, place: Place, through: Vec<String>, now_ns: u64, log: &CollectiveLog) -> StreamWait {
        let of = &self.streams[place.stream];
        let before = || of.work.iter().take_while(|work| work.order < place.before);
        let collective = before().find_map(|work| {
            // A graph is one that has collectives in it.
            let in_graph = || log.place(work.made_by.as_ref().unwrap_or(&work.call));
            let (text, place) = match &work.collective {
                Some(call) => log.place(call).unwrap_or_else(|| (Signature::of(call).text(), None)),
                None => in_graph()?,
            };
            let place = place.map(|(communicator, number)| CollectivePlace { communicator, number });
            Some(WorkState { text, kernel: None, place, ..work.state(now_ns) })
        });
        StreamWait {
            stream: of.text.clone(),
            through,
            oldest: before().next().map(|work| work.state(now_ns)),
            collective,
            next: before().skip(1).take(NEXT).map(Work::short_text).collect(),
            pieces: before().count() as u64,
            forgotten: of.forgotten,
        }
    }
}

impl Work {
    fn short_text(&self) -> String {
        let name = self.call.function.display_name();
        self.call.kernel().map_or_else(|| name.to_owned(), |kernel| format!("kernel {kernel}"))
    }

    fn state(&self, now_ns: u64) -> WorkState {
        let made_by = self.made_by.as_ref().map(|call| call.function.display_name().to_owned());
        WorkState {
            text: call_text(&self.call),
            kernel: self.call.kernel().map(|kernel| kernel.to_string()),
            tid: self.call.thread.tid,
            submitted_ns: now_ns.saturating_sub(self.call.start_ns),
            made_by,
            range: self.range.as_ref().map(|range| range.to_string()),
            place: None,
        }
    }
}

/// The arguments of a call: `name=value, name=value`.
pub fn arguments_text(call: &Call) -> String {
    let mut text = String::new();
    match call.inputs() {
        [] if call.function.described.is_none() => words(call.args.words(), &mut text),
        _ => inputs(call, None, &mut text),
    }
    text
}

fn call_text(call: &Call) -> String {
    format!("{}({})", call.function.display_name(), arguments_text(call))
}
