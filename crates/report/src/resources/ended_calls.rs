//! Calls on which later ones depended and no longer do, because what they made is destroyed. A flight recorder forgets
//! them first.
//!
//! - An allocation ends with its free, and both are forgotten. So is a module with the calls that asked for its
//!   kernels.
//! - Graphs belong together if one was made from the other: copies, child graphs, executable graphs. All calls that
//!   made them are forgotten when the last of them is destroyed, and so are the calls of their captures.
//! - A call that sets a thread's context is forgotten when the next call that is kept of the thread sets another one.
//! - A call that failed changes nothing.
//!
//! What is not understood is kept.

use crate::call::resource_names::{address, handles, word, written};
use crate::resources::leaks::{FREED, Thing};
use cutap_calls::known::{Dir, Effect, Function};
use cutap_calls::{Role, begins_capture, ends_capture, hands_out, keeps_state};
use cutap_trace::decode::Value;
use cutap_trace::{Call, EventVisitor, Exit};
use std::collections::HashMap;
use std::sync::Arc;

/// Kinds of handles that are parts of one object with what was made from it.
const GRAPHS: [&str; 2] = ["graph", "graphExec"];
/// Kinds of handles that end with one call, and with them the calls that only ask for parts of them.
const OWNERS: [&str; 4] = ["module", "library", "array", "mipmappedArray"];

/// A call in a ring of its process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallPlace {
    /// The folder of the process.
    pub folder: Arc<str>,
    /// The thread.
    pub tid: u32,
    /// The number in its ring.
    pub number: u32,
    /// The return address.
    pub caller: u64,
}

/// Follows which calls are of no use any more.
#[derive(Debug, Default)]
pub struct EndedCalls {
    calls: Vec<KeptCall>,
    /// Open calls, by the key of the thread and the number.
    open: HashMap<(u32, u32), usize>,
    /// The calls that hold on to each object, its maker first.
    holders: HashMap<Thing, Vec<usize>>,
    families: Vec<Family>,
    graphs: HashMap<Thing, usize>,
    /// The family of each open capture, by process and stream.
    captures: HashMap<(u32, u64), usize>,
    /// The last kept call of each thread, if it changed the context.
    context_calls: HashMap<u32, usize>,
}

#[derive(Debug)]
struct KeptCall {
    place: CallPlace,
    /// Reasons to keep it.
    reasons: u32,
    step: Option<Role>,
}

/// Graphs that belong together.
#[derive(Debug, Default)]
struct Family {
    /// The family that has taken this one in.
    joined: Option<usize>,
    /// Its graphs that are not destroyed, and open captures.
    alive: u32,
    calls: Vec<usize>,
}

impl EventVisitor for EndedCalls {
    fn enter(&mut self, call: &Call) {
        let place = CallPlace {
            folder: call.thread.process.folder.as_ref().into(),
            tid: call.thread.tid,
            number: call.number(),
            caller: call.caller,
        };
        let n = self.calls.len();
        let step = call.function.by_name.device;
        self.calls.push(KeptCall { place, reasons: 1, step });
        self.open.insert((call.thread.key, call.number()), n);
        let process = call.thread.process.key;
        let families: Vec<usize> =
            self.captures.iter().filter(|((of, _), _)| *of == process).map(|(_, family)| *family).collect();
        if let Some(family) = self.join(&families) {
            self.hold(family, n);
            if !keeps_state(&call.function.name) {
                // It is there for the capture alone.
                self.release(n);
            }
        }
        if step.is_none() {
            self.context_calls.remove(&call.thread.key);
        }
    }

    fn exit(&mut self, exit: &Exit) {
        let Some(n) = self.open.remove(&(exit.call.thread.key, exit.call.number())) else { return };
        if exit.duration_ns.is_none() {
            return;
        }
        if exit.has_failed() {
            if keeps_state(&exit.call.function.name) {
                self.release(n);
            }
            if ends_capture(&exit.call.function.name) {
                self.end_capture(exit);
            }
            return;
        }
        if self.calls[n].step.is_some() {
            self.context_changed(exit.call.thread.key, n);
        }
        if let Some(described) = exit.call.function.described {
            self.finish(exit, n, described.function);
        }
    }
}

impl EndedCalls {
    /// The calls that are of no use.
    pub fn ended_calls(&self) -> impl Iterator<Item = &CallPlace> {
        self.calls.iter().filter(|call| call.reasons == 0).map(|call| &call.place)
    }

    fn release(&mut self, n: usize) {
        self.calls[n].reasons = self.calls[n].reasons.saturating_sub(1);
    }

    fn context_changed(&mut self, thread: u32, n: usize) {
        let before = self.context_calls.insert(thread, n);
        let with_step = |before: usize| Some((before, self.calls[before].step?));
        let Some((before, earlier)) = before.and_then(with_step) else { return };
        match (earlier, self.calls[n].step) {
            (Role::CurrentContext, Some(Role::CurrentContext)) => self.release(before),
            (Role::PushesContext, Some(Role::PopsContext)) => {
                self.release(before);
                self.release(n);
                self.context_calls.remove(&thread);
            }
            _ => {}
        }
    }

    fn finish(&mut self, exit: &Exit, n: usize, function: &'static Function) {
        let process = exit.call.thread.process.key;
        let name = &*exit.call.function.name;
        let inputs = || exit.call.inputs().iter().flat_map(handles);
        let is_output = |param: u8| function.params.get(usize::from(param)).is_some_and(|p| p.dir == Dir::Out);
        let outputs: Vec<(&'static str, u64)> =
            exit.outputs.iter().filter(|(param, _)| is_output(*param)).flat_map(|(_, value)| handles(value)).collect();
        let destroyed: Vec<Thing> = function
            .effects
            .iter()
            .filter_map(|effect| if let Effect::Destroys(param) = effect { Some(*param) } else { None })
            .filter_map(|param| exit.call.inputs().get(usize::from(param)))
            .flat_map(|value| handles(value).into_iter().map(|(kind, value)| (process, kind, value)))
            .collect();
        let is_graph = |(kind, _): &(&str, u64)| GRAPHS.contains(kind);
        let is_of_capture = begins_capture(name) || ends_capture(name);
        if is_of_capture || inputs().chain(outputs.iter().copied()).any(|handle| is_graph(&handle)) {
            self.finish_graph_call(exit, n, &outputs, &destroyed);
            return;
        }
        for thing in destroyed.iter().chain(&freed(exit, function)) {
            if let Some(holders) = self.holders.remove(thing) {
                holders.into_iter().for_each(|holder| self.release(holder));
                self.calls[n].reasons = self.calls[n].reasons.saturating_sub(1);
            }
        }
        if !destroyed.is_empty() {
            return;
        }
        let mut new_things: Vec<Thing> = allocated(exit, function);
        if !hands_out(name) {
            let owners = outputs.iter().filter(|(kind, _)| OWNERS.contains(kind));
            new_things.extend(owners.map(|(kind, value)| (process, *kind, *value)));
        }
        match new_things[..] {
            // The address or handle is used again: the earlier object has ended unseen.
            [thing] => {
                let before = self.holders.insert(thing, vec![n]);
                before.into_iter().flatten().for_each(|holder| self.release(holder));
            }
            [] => {
                let owner = inputs().find(|(kind, _)| OWNERS.contains(kind));
                let holders = owner.and_then(|(kind, value)| self.holders.get_mut(&(process, kind, value)));
                holders.into_iter().for_each(|holders| holders.push(n));
            }
            _ => {}
        }
    }

    fn finish_graph_call(&mut self, exit: &Exit, n: usize, outputs: &[(&'static str, u64)], destroyed: &[Thing]) {
        let process = exit.call.thread.process.key;
        let name = &*exit.call.function.name;
        let mut families = Vec::new();
        for (kind, value) in exit.call.inputs().iter().flat_map(handles).filter(|(kind, _)| GRAPHS.contains(kind)) {
            families.push(self.family_of((process, kind, value)));
        }
        let captured = if ends_capture(name) { self.captures.remove(&(process, stream(exit))) } else { None };
        families.extend(captured);
        if begins_capture(name) {
            self.families.push(Family::default());
            families.push(self.families.len() - 1);
        }
        let new_graphs: Vec<Thing> = outputs
            .iter()
            .filter(|(kind, value)| {
                GRAPHS.contains(kind) && !(ends_capture(name) && self.graphs.contains_key(&(process, *kind, *value)))
            })
            .map(|(kind, value)| (process, *kind, *value))
            .collect();
        if families.is_empty() && !new_graphs.is_empty() {
            self.families.push(Family::default());
            families.push(self.families.len() - 1);
        }
        let Some(family) = self.join(&families) else { return };
        self.hold(family, n);
        self.release(n);
        if begins_capture(name) {
            self.families[family].alive += 1;
            self.captures.insert((process, stream(exit)), family);
        }
        for thing in new_graphs {
            self.families[family].alive += 1;
            if let Some(before) = self.graphs.insert(thing, family) {
                self.graph_ended(before);
            }
        }
        if captured.is_some() {
            self.graph_ended(family);
        }
        for thing in destroyed {
            if let Some(family) = self.graphs.remove(thing) {
                self.graph_ended(family);
            }
        }
    }

    /// A capture could not be ended: it made nothing.
    fn end_capture(&mut self, exit: &Exit) {
        if let Some(family) = self.captures.remove(&(exit.call.thread.process.key, stream(exit))) {
            self.graph_ended(family);
        }
    }

    /// The family of a graph; a new one if no call made it.
    fn family_of(&mut self, thing: Thing) -> usize {
        if let Some(family) = self.graphs.get(&thing) {
            return *family;
        }
        self.families.push(Family { alive: 1, ..Family::default() });
        let family = self.families.len() - 1;
        self.graphs.insert(thing, family);
        family
    }

    fn root(&self, mut family: usize) -> usize {
        while let Some(joined) = self.families[family].joined {
            family = joined;
        }
        family
    }

    /// Makes one family of these.
    fn join(&mut self, families: &[usize]) -> Option<usize> {
        let first = self.root(*families.first()?);
        for family in families {
            let family = self.root(*family);
            if family != first {
                let Family { alive, calls, .. } =
                    std::mem::replace(&mut self.families[family], Family { joined: Some(first), ..Family::default() });
                self.families[first].alive += alive;
                self.families[first].calls.extend(calls);
            }
        }
        Some(first)
    }

    /// The family needs the call.
    fn hold(&mut self, family: usize, n: usize) {
        self.calls[n].reasons += 1;
        self.families[family].calls.push(n);
    }

    /// A graph of the family is destroyed, or a capture has ended.
    fn graph_ended(&mut self, family: usize) {
        let family = self.root(family);
        self.families[family].alive = self.families[family].alive.saturating_sub(1);
        if self.families[family].alive == 0 {
            std::mem::take(&mut self.families[family].calls).into_iter().for_each(|n| self.release(n));
        }
    }
}

fn stream(exit: &Exit) -> u64 {
    let is_stream = |value: &&Value| matches!(value, Value::Handle { kind, .. } if kind.short == "stream");
    match exit.call.inputs().iter().find(is_stream) {
        Some(Value::Handle { value, .. }) => *value,
        _ => 0,
    }
}

pub(crate) fn freed(exit: &Exit, function: &Function) -> Vec<Thing> {
    let process = exit.call.thread.process.key;
    let mut all = Vec::new();
    for effect in function.effects {
        if let Effect::Frees(param) = effect
            && let Some(address) = exit.call.inputs().get(usize::from(*param)).and_then(address)
        {
            all.extend(FREED.map(|memory| (process, word(memory), address)));
        }
    }
    all
}

pub(crate) fn allocated(exit: &Exit, function: &Function) -> Vec<Thing> {
    let process = exit.call.thread.process.key;
    let mut all = Vec::new();
    for effect in function.effects {
        if let Effect::Allocates { at, by_value, memory, .. } = *effect
            && FREED.contains(&memory)
        {
            let input = exit.call.inputs().get(usize::from(at));
            let address = if by_value { input.and_then(address) } else { exit.output(at.into()).and_then(written) };
            all.extend(address.map(|address| (process, word(memory), address)));
        }
    }
    all
}
