//! The interpreter: from the words and memory of a call to typed values, by the tables of `cutap_calls::known`. It
//! knows no function by name (except in `devices` and `graphs`); what it cannot read stays an address.
//!
//! All input comes from a process that may lie. Nothing panics, and all that is read, made and followed is bounded.

use super::effects::{apply, logs};
use super::plain::{outputs, parameters_in, row};
use super::state::effect_origin::EffectOrigin;
use super::state::ends::Ends;
use super::state::fast_hash::Quick;
use super::state::handle_coverage::HandleCoverage;
use super::state::process_state::ProcessState;
use super::undecoded::Raws;
use super::values::memory::Memory;
use super::values::walk::{Side, Walk};
use crate::event::value::Value;
use crate::event::{Args, Call, Described, DriverArgs, Event, Exit, Layer, Returned, State};
use crate::kernels::names::Kernels;
use cutap_calls::capture::RETURNED;
use cutap_calls::known::{self, Rule, Type};
use cutap_calls::{Role, has_role};
use std::collections::VecDeque;
use std::sync::Arc;

/// A call of the process: its thread, and its number in the ring.
type Key = (u32, u32);
/// Calls that were left and are kept in mind, should they return after all.
const MOST_LEFT: usize = 1024;

/// The interpreter of one process's calls, in the order of their time.
#[derive(Debug, Default)]
pub(crate) struct Interpreter {
    state: ProcessState,
    /// Words of the call that is looked at, as bytes.
    words: Vec<u8>,
    pub raws: Raws,
    /// Calls that have begun, with their values, and whether they are shown.
    open: Quick<Key, (Call, bool)>,
    /// Those of them that were left and may still return, the latest last.
    left: VecDeque<Call>,
    /// Calls that are shown and of which it has become known what the driver was given: to be delivered before the
    /// event that is looked at.
    pub learned: Vec<Call>,
    /// What cuDriverGetVersion said.
    driver: Option<u32>,
    /// The newest runtime's version.
    toolkit: Option<u32>,
}

impl Interpreter {
    /// `complete`: all calls that allocate are recorded; `ends`: which calls that end memory are; `seen`: of which
    /// handles all calls are.
    pub fn new(complete: bool, ends: Ends, seen: Arc<HandleCoverage>) -> Interpreter {
        let mut new = Interpreter::default();
        (new.state.places.complete, new.state.places.recorded_ends) = (complete, ends);
        new.state.handles.seen = Some(seen);
        new
    }

    /// Calls of the process are missing: nothing is said of what they may have made.
    pub fn incomplete(&mut self) {
        self.state.places.complete = false;
        self.state.handles.seen = None;
    }

    /// Other calls are recorded from now on than the run began with.
    pub fn filter_changed(&mut self) {
        self.incomplete();
        self.state.places.forget();
    }

    /// Gives an event its values. What is not shown is looked at all the same. `runtime`: one is in the process.
    pub fn event(&mut self, event: &mut Event, shown: bool, kernels: &Kernels, runtime: bool, toolkit: Option<u32>) {
        self.toolkit = toolkit;
        self.state.devices.runtime |= runtime;
        match event {
            Event::Enter(call) => self.enter(call, shown, kernels),
            Event::Learned(call) => {
                if let Some((known, _)) = self.open.get_mut(&call.key()) {
                    take_values(call, known);
                    *known = call.clone();
                }
            }
            Event::Exit(exit) => self.exit(exit, shown, kernels),
            _ => {}
        }
    }

    /// A call that never ended: its arguments are shown as they were given.
    pub fn left_open(&mut self, exit: &mut Exit) {
        if let Some((known, _)) = self.open.get(&exit.call.key()) {
            take_values(&mut exit.call, known);
        }
        self.without_return(exit);
    }

    fn without_return(&mut self, exit: &Exit) {
        if exit.call.function.described.is_some() {
            self.raws.described(exit, self.state.places.complete);
        }
    }

    /// A call has ended: it gets the values that it has had since its beginning.
    fn close(&mut self, exit: &mut Exit) {
        let key = exit.call.key();
        let of_left = |left: &mut VecDeque<Call>| {
            let place = left.iter().rposition(|call| call.key() == key)?;
            left.remove(place)
        };
        let known = self.open.remove(&key).map(|(call, _)| call).or_else(|| of_left(&mut self.left));
        let Some(known) = known else { return };
        take_values(&mut exit.call, &known);
        if exit.state == State::Unwound {
            self.left.push_back(known);
            if self.left.len() > MOST_LEFT {
                self.left.pop_front();
            }
        }
    }

    /// The description, for structs as the program knows them: a driver's function has those of the program's
    /// toolkit, and none newer than the driver.
    fn described(&self, call: &Call) -> Option<Described> {
        let described = call.function.described?;
        if call.function.layer != Layer::DRIVER {
            return Some(described);
        }
        let version = self.toolkit.into_iter().chain(self.driver).min();
        Some(Described { version: version.unwrap_or(described.version), ..described })
    }

    fn enter(&mut self, call: &mut Call, shown: bool, kernels: &Kernels) {
        let Some(described) = self.described(call) else { return };
        // A call that a filter shows at its end has been looked at when it began.
        if let Some((known, _)) = self.open.get(&call.key()) {
            return take_values(call, known);
        }
        self.state.now = call.start_ns;
        let (row, memory) = (row(&call.args, described, &mut self.words), Memory::new(&call.memory));
        let mut walk = Walk::new(described.tables, described.version, memory, Side::Before);
        walk.state = Some(&mut self.state);
        walk.kernels = Some(kernels);
        walk.ticks = call.ticks;
        walk.kernel = call.kernel().map(|k| &**k);
        let inputs = (0..described.function.params.len()).map(|n| walk.param(&row, n)).collect();
        call.inputs = Some(inputs);
        apply::begin(&mut self.state, &row, described, call);
        if call.function.layer == Layer::DRIVER {
            self.propagate_to_parents(call);
        }
        if !call.function.entry_only {
            self.open.insert(call.key(), (call.clone(), shown));
        }
    }

    /// A launch of the driver knows its kernel's parameters; the runtime calls around it get them too.
    fn propagate_to_parents(&mut self, call: &Call) {
        let Some(parent) = call.parent.as_deref() else { return };
        let mut found = told_by(call.inputs().iter());
        // Of an address that may be of either side the driver's call tells that it is the host's.
        let either =
            call.function.params().iter().zip(call.inputs()).filter(|(p, _)| matches!(p.rule, Rule::Either(_)));
        let hosts = either.filter_map(|(_, value)| match value {
            Value::Address(at, Some(place)) if place.memory == known::Memory::Host => Some((*at, value.clone())),
            _ => None,
        });
        found.extend(hosts);
        let found = DriverArgs(found.into());
        let mut above = Some(parent).filter(|_| !found.0.is_empty());
        while let Some(parent) = above {
            self.learn(parent, &found, true);
            above = parent.parent.as_deref();
        }
    }

    /// An open call gets what the driver was given, if it has nothing of that; with `takes`, if its values have such an
    /// address.
    fn learn(&mut self, parent: &Call, found: &DriverArgs, takes: bool) {
        let Some((call, shown)) = self.open.get_mut(&parent.key()) else { return };
        let takes = !takes || call.inputs().iter().any(|value| found.tells_of(value));
        if call.driver_args().is_none() && takes {
            call.rare_mut().driver_args = Some(found.clone());
            self.learned.extend(Some(call.clone()).filter(|_| *shown));
        }
    }

    /// Like `propagate_to_parents`, for a node whose parameters were asked for: the runtime hands on the driver's own
    /// list.
    fn propagate_outputs(&mut self, exit: &Exit) {
        let found = DriverArgs(told_by(exit.outputs.iter().map(|(_, value)| value)).into());
        let mut above = exit.call.parent.as_deref().filter(|_| !found.0.is_empty());
        while let Some(parent) = above {
            self.learn(parent, &found, false);
            above = parent.parent.as_deref();
        }
    }

    /// What a function was given after hooks changed it.
    fn passed(&mut self, call: &Call, given: &Args, described: Described, kernels: &Kernels) -> Arc<[Value]> {
        let row = row(given, described, &mut self.words);
        let mut walk = Walk::new(described.tables, described.version, Memory::new(&call.memory), Side::Before);
        walk.state = Some(&mut self.state);
        walk.kernels = Some(kernels);
        walk.ticks = call.ticks;
        (0..described.function.params.len()).map(|n| walk.param(&row, n)).collect()
    }

    fn exit(&mut self, exit: &mut Exit, shown: bool, kernels: &Kernels) {
        let Some(described) = self.described(&exit.call) else {
            return self.raws.undescribed(exit);
        };
        self.close(exit);
        self.state.ending.over(exit.call.thread.key, exit.call.start_ns);
        if exit.state != State::Returned {
            if shown {
                self.without_return(exit);
            }
            return;
        }
        self.state.now = exit.end_ns;
        let given = exit.call.given();
        if let Some(given) = &given {
            let passed = self.passed(&exit.call, given, described, kernels);
            exit.call.rare_mut().effective_args = Some(passed);
        }
        let call = &exit.call;
        let row = row(given.as_ref().unwrap_or(&call.args), described, &mut self.words);
        let mut walk = Walk::new(described.tables, described.version, Memory::new(&exit.memory), Side::After);
        walk.before = Memory::new(&call.memory);
        walk.state = Some(&mut self.state);
        walk.kernels = Some(kernels);
        walk.ticks = call.ticks;
        walk.told = Some(EffectOrigin::new(call, exit));
        let failed = exit.has_failed();
        if !exit.memory.is_empty() {
            exit.outputs = outputs(&mut walk, &row, described.function.effects, failed);
        }
        exit.value = returned(&mut walk, described, exit);
        let (memory, version) = (Memory::new(&exit.memory), described.version);
        let plain = Walk::new(described.tables, version, memory, Side::After);
        exit.logs = logs::added(&plain, &self.state, &row, described.function.effects);
        if !failed {
            apply::apply(&mut self.state, &row, described, call, exit);
        }
        if let Some(Value::Version(version)) = exit.output(0).map(Value::target)
            && has_role(call.function.name.as_bytes(), Role::DriverVersion)
        {
            self.driver = u32::try_from(*version).ok().filter(|v| *v >= 1000);
        }
        if call.function.layer == Layer::DRIVER {
            self.propagate_outputs(exit);
        }
        if shown {
            self.raws.described(exit, self.state.places.complete);
        }
    }
}

/// The result, when it is no status.
fn returned(walk: &mut Walk<'_>, described: Described, exit: &Exit) -> Option<Box<Value>> {
    let ty = described.function.returns;
    match exit.returned() {
        Some(Returned::Number(_) | Returned::Word(_)) => {}
        Some(Returned::Untold) => {
            let bytes = walk.memory.at(RETURNED)?.bytes.get(..walk.size_of(ty))?;
            return Some(Box::new(walk.by_type(ty, bytes, known::Unit::None)));
        }
        _ => return None,
    }
    if let Type::Struct(first) = walk.ty(ty) {
        // The caller said where it goes; the register has the address.
        let kept = walk.memory.at(exit.result)?;
        return Some(Box::new(walk.structure(first, kept.bytes, kept.meant.into())));
    }
    let bytes = exit.result.to_le_bytes();
    let value = walk.by_type(ty, bytes.get(..walk.size_of(ty))?, cutap_calls::known::Unit::None);
    Some(Box::new(value))
}

/// Kernels' parameters in these values, each with its address.
fn told_by<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<(u64, Value)> {
    let mut found = Vec::new();
    values.for_each(|value| {
        parameters_in(value, &mut |at, to| found.push((at, Value::Pointee(at, Box::new(to.clone())))))
    });
    found
}

/// A later value of a call gets the values of the one that was looked at.
fn take_values(call: &mut Call, known: &Call) {
    call.inputs = known.inputs.clone();
    if let Some(told) = known.driver_args() {
        call.rare_mut().driver_args = Some(told.clone());
    }
}
