//! Follows the collectives of one run: in which communicator each is, and how far it has come.

use super::communicator::{Communicator, Followed};
use super::graphs::{CapturedCall, CapturedGraphs};
use super::group::{CallGroup, CallId};
use super::identity::{Parent, derives, makes_communicator, making};
use super::range_calls::{self, is_range, range_call};
use super::run::{CallState, CollectiveCall, CommunicatorEnd, Derived, RunCollectives};
use super::signature::{Signature, digest_of, is_collective};
use crate::call::stream_argument;
use cutap_calls::{Role, function_with};
use cutap_trace::decode::Value;
use cutap_trace::{Call, Exit, Returned};
use std::collections::{HashMap, HashSet};

/// The status of a call that has returned and continues.
const IN_PROGRESS: &str = "ncclInProgress";

/// The call's key.
pub fn id_of(call: &Call) -> CallId {
    (call.thread.key, call.number())
}

/// The collectives of one run.
#[derive(Debug, Default)]
pub struct CollectiveLog {
    signatures: Vec<Signature>,
    by_signature: HashMap<Signature, u32>,
    streams: Vec<String>,
    communicators: Vec<Communicator>,
    /// By process and handle; by process and NCCL's own number where only ranges are seen.
    by_handle: HashMap<(u32, u64), usize>,
    /// Processes whose calls of NCCL are seen: their ranges say the same again.
    callers: HashSet<u32>,
    /// Processes without such calls of which a range says that they made a communicator.
    makers: HashSet<u32>,
    /// By thread.
    groups: HashMap<u32, CallGroup>,
    last_group: u64,
    /// Calls that are not known complete: communicator and place in it. A launch of a graph may be several.
    open: HashMap<CallId, Vec<(usize, usize)>>,
    /// Calls that make communicators and have not returned.
    starting: HashMap<CallId, usize>,
    /// By thread: the collective that it is in, which may call another one.
    inside: HashMap<u32, CallId>,
    graphs: CapturedGraphs,
    /// Calls that began later have no number yet: others before them may not be known.
    numbered_until_ns: Option<u64>,
}

/// Where a call was made.
#[derive(Debug, Clone, Copy)]
pub struct CallPlace {
    /// The capture of its stream.
    pub capture: Option<u32>,
    /// No other call is around it.
    pub is_outermost: bool,
}

fn is(call: &Call, role: Role) -> bool {
    call.function.range.is_none() && call.function.roles.has(role)
}

/// The communicators in a value: bits and number of each.
fn handles(value: &Value, to: &mut Vec<(u64, u32)>) {
    match value {
        Value::Handle { value, kind, number, .. } if kind.short == "comm" => to.push((*value, *number)),
        Value::Pointee(_, inner) => handles(inner, to),
        Value::Array(items) => items.values.iter().for_each(|value| handles(value, to)),
        _ => {}
    }
}

/// The communicator among the arguments.
fn argument(call: &Call) -> Option<(u64, u32)> {
    let mut all = Vec::new();
    call.inputs().iter().for_each(|value| handles(value, &mut all));
    all.first().copied().filter(|(handle, _)| *handle != 0)
}

/// The communicators that the call wrote.
fn written(exit: &Exit) -> Vec<(u64, u32)> {
    let mut all = Vec::new();
    exit.outputs.iter().for_each(|(_, value)| handles(value, &mut all));
    all
}

/// Bytes of its larger buffer, or 0.
fn buffer_bytes(call: &Call) -> u64 {
    let bytes = |value: &Value| match value {
        Value::Address(_, Some(place)) => place.bytes,
        _ => None,
    };
    call.inputs().iter().filter_map(bytes).max().unwrap_or(0)
}

/// Whether the library took the call. It may still be at it.
fn is_taken(exit: &Exit) -> bool {
    match exit.returned() {
        Some(Returned::Status(0)) => true,
        Some(_) => exit.status_name() == Some(IN_PROGRESS),
        None => false,
    }
}

fn name_of(number: u32, handle: u64) -> String {
    if number == 0 { format!("comm {handle:#x}") } else { format!("comm#{number}") }
}

impl CollectiveLog {
    pub fn enter(&mut self, call: &Call) {
        if call.function.range.is_some() {
            return self.enter_range(call);
        }
        if is_collective(&call.function) {
            self.enter_collective(call);
        } else if makes_communicator(call) {
            self.enter_making(call);
        }
    }

    pub fn exit(&mut self, exit: &Exit, place: CallPlace) {
        let call = &exit.call;
        let thread = call.thread.key;
        if is_collective(&call.function) {
            self.exit_collective(exit, place.capture);
        } else if makes_communicator(call) || is(call, Role::InitsAllCommunicators) {
            self.exit_making(exit);
        } else if is(call, Role::BeginsCollectiveGroup) {
            if is_taken(exit) {
                self.last_group += 1;
                let number = self.last_group;
                self.groups.entry(thread).or_default().begin(number);
            }
        } else if is(call, Role::EndsCollectiveGroup) {
            self.end_group(exit);
        } else if is(call, Role::DestroysCommunicator) || is(call, Role::AbortsCommunicator) {
            self.end_communicator(exit);
        } else if is(call, Role::RankOfCommunicator)
            && let Some(rank) = exit.output(1).and_then(Value::number)
            && let Some(communicator) = self.of_argument(call)
        {
            self.communicators[communicator].rank.get_or_insert(rank as u32);
        } else if is_taken(exit) {
            self.graphs.exit(exit, place.capture);
            if place.is_outermost
                && let Some(calls) = self.graphs.launched(call)
            {
                self.launch(call, &calls);
            }
        }
    }

    /// A graph with these collectives is in a stream.
    fn launch(&mut self, call: &Call, calls: &[CapturedCall]) {
        let stream = self.stream(call);
        let mut places = Vec::new();
        for of in calls {
            let communicator = &mut self.communicators[of.communicator];
            places.push((of.communicator, communicator.calls.len()));
            let (start_ns, tid) = (call.start_ns, call.thread.tid);
            let (signature, state) = (of.signature, CallState::Enqueued);
            let call = CollectiveCall { signature, state, start_ns, tid, stream, ..CollectiveCall::default() };
            communicator.calls.push(Followed { call, transfer: of.transfer, has_failed: false });
        }
        self.open.insert(id_of(call), places);
    }

    /// A wait behind this call in its stream has returned.
    pub fn complete(&mut self, id: CallId, now_ns: u64) {
        for (communicator, place) in self.open.remove(&id).into_iter().flatten() {
            let of = &mut self.communicators[communicator];
            // Abort empties its streams: what was in them has ended, and is not done.
            if of.communicator_end != Some(CommunicatorEnd::Aborted) {
                let call = &mut of.calls[place].call;
                (call.state, call.complete_ns) = (CallState::Complete, now_ns);
            }
        }
    }

    /// Of a collective that is not known complete, its text, its communicator and its number there: `comm#1`, 118. Of
    /// a graph it is the first one.
    pub fn place(&self, call: &Call) -> Option<(String, Option<(String, u64)>)> {
        let (communicator, place) = *self.open.get(&id_of(call))?.first()?;
        let of = &self.communicators[communicator];
        let before = of.calls[..place].iter().filter(|other| !other.has_failed && other.transfer.is_none());
        let has_number = of.calls[place].transfer.is_none() && self.has_number(&of.calls[place]);
        let number = has_number.then(|| (of.name.clone(), before.count() as u64 + 1));
        let signature = self.signatures.get(of.calls[place].call.signature as usize)?;
        Some((signature.text(), number))
    }

    /// All calls until then are known, and not all later ones.
    pub fn end_at(&mut self, known_ns: u64) {
        self.numbered_until_ns = Some(known_ns);
    }

    fn has_number(&self, of: &Followed) -> bool {
        self.numbered_until_ns.is_none_or(|until_ns| of.call.start_ns <= until_ns)
    }

    /// The place of the stream among the names.
    fn stream(&mut self, call: &Call) -> u32 {
        let name = stream_argument::stream(call).unwrap_or_default();
        let place = self.streams.iter().position(|stream| *stream == name).unwrap_or_else(|| {
            self.streams.push(name);
            self.streams.len() - 1
        });
        place as u32
    }

    fn of_argument(&mut self, call: &Call) -> Option<usize> {
        let (handle, number) = argument(call)?;
        let process = call.thread.process.key;
        if let Some(communicator) = self.by_handle.get(&(process, handle)) {
            return Some(*communicator);
        }
        // It was made in a group, which wrote it later, or before the recording began.
        let is_unnamed = |of: &(usize, &Communicator)| of.1.process == process && of.1.handle == 0 && !of.1.has_failed;
        let mut waiting = self.communicators.iter().enumerate().filter(is_unnamed).map(|(place, _)| place);
        let place = match (waiting.next(), waiting.next()) {
            (Some(only), None) => only,
            _ => self.add(call, None),
        };
        self.name(place, handle, number);
        Some(place)
    }

    fn name(&mut self, place: usize, handle: u64, number: u32) {
        let of = &mut self.communicators[place];
        (of.handle, of.name) = (handle, name_of(number, handle));
        self.by_handle.insert((of.process, handle), place);
    }

    fn add(&mut self, call: &Call, made_by: Option<&Call>) -> usize {
        self.communicators.push(Communicator {
            process: call.thread.process.key,
            pid: call.thread.process.pid,
            handle: 0,
            name: String::new(),
            identity: None,
            made_by: made_by.map(|call| call.function.display_name().to_owned()),
            made_ns: call.start_ns,
            ranks: None,
            rank: None,
            is_starting: false,
            has_failed: false,
            communicator_end: None,
            parent: None,
            children: 0,
            has_ranges_only: false,
            calls: Vec::new(),
        });
        self.communicators.len() - 1
    }

    /// A range that NCCL made around a call that is not seen itself.
    fn enter_range(&mut self, call: &Call) {
        let process = call.thread.process.key;
        if self.callers.contains(&process) {
            return;
        }
        if is_range(call, Role::InitsCommunicator) {
            self.makers.insert(process);
        }
        let Some(of) = range_call(call) else { return };
        let place = self.by_handle.get(&(process, of.communicator)).copied().unwrap_or_else(|| {
            let place = self.add(call, None);
            let made_by = self.makers.contains(&process).then(|| function_with(Role::InitsCommunicator).to_owned());
            let communicator = &mut self.communicators[place];
            communicator.identity = Some(range_calls::identity(of.communicator));
            (communicator.made_by, communicator.has_ranges_only) = (made_by, true);
            self.name(place, of.communicator, 0);
            place
        });
        self.add_call(call, place, of.signature, of.transfer);
    }

    /// The range has ended: its call has returned, with a result that is not known.
    pub fn exit_range(&mut self, call: &Call) {
        if !self.callers.contains(&call.thread.process.key) && is_range(call, Role::CollectiveWork) {
            self.enqueue(id_of(call));
        }
    }

    fn enter_collective(&mut self, call: &Call) {
        self.callers.insert(call.thread.process.key);
        if self.inside.contains_key(&call.thread.key) {
            return;
        }
        let Some(place) = self.of_argument(call) else { return };
        self.inside.insert(call.thread.key, id_of(call));
        let signature = Signature::of(call);
        let is_send = is(call, Role::SendsToRank);
        let peer = signature.parameter("peer").and_then(|peer| peer.parse().ok());
        let transfer = (is_send || is(call, Role::ReceivesFromRank)).then(|| (is_send, peer.unwrap_or(u32::MAX)));
        self.add_call(call, place, signature, transfer);
    }

    fn add_call(&mut self, call: &Call, place: usize, signature: Signature, transfer: Option<(bool, u32)>) {
        let next = self.signatures.len() as u32;
        let signature = *self.by_signature.entry(signature).or_insert_with_key(|signature| {
            self.signatures.push(signature.clone());
            next
        });
        let stream = self.stream(call);
        let of = &mut self.communicators[place];
        self.open.insert(id_of(call), vec![(place, of.calls.len())]);
        let (start_ns, tid) = (call.start_ns, call.thread.tid);
        let bytes = buffer_bytes(call);
        let call = CollectiveCall { signature, start_ns, tid, stream, bytes, ..CollectiveCall::default() };
        of.calls.push(Followed { call, transfer, has_failed: false });
    }

    fn exit_collective(&mut self, exit: &Exit, capture: Option<u32>) {
        let (id, thread) = (id_of(&exit.call), exit.call.thread.key);
        if self.inside.get(&thread) != Some(&id) {
            return;
        }
        self.inside.remove(&thread);
        if exit.returned().is_none() {
            return;
        }
        if !is_taken(exit) {
            return self.fail(id);
        }
        if let Some(capture) = capture {
            for (communicator, place) in self.open.get(&id).into_iter().flatten().copied() {
                let of = &self.communicators[communicator].calls[place];
                let captured = CapturedCall { communicator, signature: of.call.signature, transfer: of.transfer };
                self.graphs.add(capture, captured);
            }
            // It is called when the graph is launched.
            return self.fail(id);
        }
        match self.groups.get_mut(&thread).filter(|group| group.is_open()) {
            Some(group) => {
                let number = group.number;
                group.calls.push(id);
                for (communicator, place) in self.open.get(&id).into_iter().flatten() {
                    self.communicators[*communicator].calls[*place].call.group = number;
                }
            }
            None => {
                self.worked(id, exit);
                self.enqueue(id);
            }
        }
    }

    /// The GPU's work for the call.
    fn worked(&mut self, id: CallId, exit: &Exit) {
        for (communicator, place) in self.open.get(&id).into_iter().flatten() {
            let call = &mut self.communicators[*communicator].calls[*place].call;
            call.gpu_ns = exit.gpu.map_or(0, |gpu| gpu.ns);
        }
    }

    fn enqueue(&mut self, id: CallId) {
        for (communicator, place) in self.open.get(&id).into_iter().flatten() {
            let call = &mut self.communicators[*communicator].calls[*place].call;
            call.state = call.state.max(CallState::Enqueued);
        }
    }

    fn fail(&mut self, id: CallId) {
        for (communicator, place) in self.open.remove(&id).into_iter().flatten() {
            self.communicators[communicator].calls[place].has_failed = true;
        }
    }

    fn enter_making(&mut self, call: &Call) {
        self.callers.insert(call.thread.process.key);
        let parent = if derives(call) { self.of_argument(call) } else { None };
        let facts = parent.map(|parent| {
            let of = &mut self.communicators[parent];
            of.children += 1;
            let (identity, children) = (of.identity.clone(), of.children);
            Parent { identity, rank: of.rank, ranks: of.ranks, children }
        });
        let making = making(call, facts.as_ref().unwrap_or(&Parent::default()));
        if making.is_left_out {
            return;
        }
        let place = self.add(call, Some(call));
        let of = &mut self.communicators[place];
        (of.identity, of.ranks, of.rank, of.is_starting) = (making.identity, making.ranks, making.rank, true);
        of.parent = facts.and_then(|facts| facts.identity.zip(Some(facts.children))).map(|(identity, child)| Derived {
            identity,
            child,
            key: making.key,
        });
        self.starting.insert(id_of(call), place);
    }

    fn exit_making(&mut self, exit: &Exit) {
        let (call, is_taken) = (&exit.call, is_taken(exit));
        let all = written(exit);
        if is(call, Role::InitsAllCommunicators) {
            if is_taken {
                self.add_all(call, &all);
            }
            return;
        }
        let Some(place) = self.starting.remove(&id_of(call)) else { return };
        let of = &mut self.communicators[place];
        if !is_taken {
            of.has_failed = true;
            return;
        }
        let group = self.groups.get_mut(&call.thread.key).filter(|group| group.is_open());
        match group {
            Some(group) => group.starting.push(place),
            None => of.is_starting = false,
        }
        if let Some((handle, number)) = all.first().filter(|(handle, _)| *handle != 0) {
            self.name(place, *handle, *number);
        }
    }

    /// The communicators of all ranks of this process.
    fn add_all(&mut self, call: &Call, all: &[(u64, u32)]) {
        let process = call.thread.process.key;
        let words = [u64::from(call.thread.process.pid), call.thread.process.start_realtime_ns, call.start_ns];
        let identity = words.iter().fold(0, |digest, word| digest_of(digest, &word.to_le_bytes()));
        for (rank, (handle, number)) in all.iter().enumerate() {
            let place = self.add(call, Some(call));
            let of = &mut self.communicators[place];
            debug_assert_eq!(of.process, process);
            of.identity = Some(format!("{identity:#x}"));
            (of.ranks, of.rank) = (Some(all.len() as u32), Some(rank as u32));
            self.name(place, *handle, *number);
        }
    }

    fn end_group(&mut self, exit: &Exit) {
        let Some(group) = self.groups.get_mut(&exit.call.thread.key).and_then(CallGroup::end) else { return };
        let is_taken = is_taken(exit);
        // The work of several calls is one kernel.
        if let [id] = group.calls[..] {
            self.worked(id, exit);
        }
        for id in group.calls {
            if is_taken { self.enqueue(id) } else { self.fail(id) }
        }
        for place in group.starting {
            let of = &mut self.communicators[place];
            (of.is_starting, of.has_failed) = (!is_taken, !is_taken);
        }
    }

    fn end_communicator(&mut self, exit: &Exit) {
        if !is_taken(exit) {
            return;
        }
        let end = match is(&exit.call, Role::AbortsCommunicator) {
            true => CommunicatorEnd::Aborted,
            false => CommunicatorEnd::Destroyed,
        };
        if let Some((handle, _)) = argument(&exit.call)
            && let Some(place) = self.by_handle.remove(&(exit.call.thread.process.key, handle))
        {
            self.communicators[place].communicator_end = Some(end);
        }
    }

    /// What is known now. `is_whole`: no call of the run is missing.
    pub fn state(&self, is_whole: bool) -> RunCollectives {
        let of = self.communicators.iter().filter(|of| !of.has_failed);
        RunCollectives {
            signatures: self.signatures.clone(),
            streams: self.streams.clone(),
            communicators: of.map(|of| of.state(is_whole, &|call| self.has_number(call))).collect(),
        }
    }
}
