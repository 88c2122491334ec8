//! The interpreter: from a call's words and the memory kept with them to typed values, by the tables of
//! `cutap_calls::known`. It knows functions by their roles alone (`cutap_calls::Role`). What it cannot read stays an
//! address. Everything here comes from a process that may lie: nothing panics, and what is read, made
//! and followed is bounded.

use super::effects::{apply, logs};
use super::plain::{outputs, parameters_in, row};
use super::state::effect_origin::EffectOrigin;
use super::state::ends::Ends;
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
use std::sync::Arc;

/// The interpreter of one process's calls, in the order of their time.
#[derive(Debug, Default)]
pub(crate) struct Interpreter {
    state: ProcessState,
    /// Words of the call that is looked at, as bytes.
    words: Vec<u8>,
    pub raws: Raws,
    /// Calls of which it has become known what they launch: to be told before the event that is looked at.
    pub told: Vec<Arc<Call>>,
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
            Event::Enter(call) => self.enter(call, kernels),
            Event::Exit(exit) => self.exit(exit, shown, kernels),
            _ => {}
        }
    }

    /// A call that did not return: its arguments are shown as they were given.
    pub fn left_open(&mut self, exit: &Exit) {
        if exit.call.function.described.is_some() {
            self.raws.described(exit, self.state.places.complete);
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

    fn enter(&mut self, call: &Call, kernels: &Kernels) {
        let Some(described) = self.described(call) else { return };
        // A call that a filter shows at its end has been looked at when it began.
        if call.inputs.get().is_some() {
            return;
        }
        self.state.now = call.start_ns;
        let (row, memory) = (row(&call.args, described, &mut self.words), Memory::new(&call.memory));
        let mut walk = Walk::new(described.tables, described.version, memory, Side::Before);
        walk.state = Some(&mut self.state);
        walk.kernels = Some(kernels);
        walk.ticks = call.ticks;
        walk.kernel = call.kernel().map(|k| &**k);
        let inputs = (0..described.function.params.len()).map(|n| walk.param(&row, n)).collect();
        let _ = call.inputs.set(inputs);
        apply::begin(&mut self.state, &row, described, call);
        if call.function.layer == Layer::DRIVER {
            propagate_to_parents(call, &mut self.told);
        }
    }

    /// What a function was given after hooks changed it.
    fn passed(&mut self, call: &Call, given: &Args, described: Described, kernels: &Kernels) {
        let row = row(given, described, &mut self.words);
        let mut walk = Walk::new(described.tables, described.version, Memory::new(&call.memory), Side::Before);
        walk.state = Some(&mut self.state);
        walk.kernels = Some(kernels);
        walk.ticks = call.ticks;
        let passed = (0..described.function.params.len()).map(|n| walk.param(&row, n)).collect();
        let _ = call.effective_args.set(passed);
    }

    fn exit(&mut self, exit: &mut Exit, shown: bool, kernels: &Kernels) {
        let call = exit.call.clone();
        let Some(described) = self.described(&call) else {
            return self.raws.undescribed(&call, exit);
        };
        self.state.ending.over(call.thread.key, call.start_ns);
        if exit.state != State::Returned {
            if shown {
                self.left_open(exit);
            }
            return;
        }
        self.state.now = exit.end_ns;
        let given = call.given();
        if let Some(given) = &given {
            self.passed(&call, given, described, kernels);
        }
        let row = row(given.as_ref().unwrap_or(&call.args), described, &mut self.words);
        let mut walk = Walk::new(described.tables, described.version, Memory::new(&exit.memory), Side::After);
        walk.before = Memory::new(&call.memory);
        walk.state = Some(&mut self.state);
        walk.kernels = Some(kernels);
        walk.ticks = call.ticks;
        walk.told = Some(EffectOrigin::new(&call, exit));
        if !exit.memory.is_empty() {
            exit.outputs = outputs(&mut walk, &row, described.function.effects, exit.has_failed());
            if call.function.layer == Layer::DRIVER {
                hand_up_written(exit, &mut self.told);
            }
        }
        exit.value = returned(&mut walk, described, exit);
        let (memory, version) = (Memory::new(&exit.memory), described.version);
        let plain = Walk::new(described.tables, version, memory, Side::After);
        exit.logs = logs::added(&plain, &self.state, &row, described.function.effects);
        if !exit.has_failed() {
            apply::apply(&mut self.state, &row, described, &call, exit);
        }
        if let Some(Value::Version(version)) = exit.output(0).map(Value::target)
            && has_role(call.function.name.as_bytes(), Role::DriverVersion)
        {
            self.driver = u32::try_from(*version).ok().filter(|v| *v >= 1000);
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

/// A launch of the driver knows its kernel's parameters; the runtime calls around it get them too.
fn propagate_to_parents(call: &Call, told: &mut Vec<Arc<Call>>) {
    let Some(parent) = &call.parent else { return };
    let mut found = told_by(call.inputs().iter());
    // Of an address that may be of either side the driver's call tells that it is the host's.
    let either = call.function.params().iter().zip(call.inputs()).filter(|(p, _)| matches!(p.rule, Rule::Either(_)));
    let hosts = either.filter_map(|(_, value)| match value {
        Value::Address(at, Some(place)) if place.memory == known::Memory::Host => Some((*at, value.clone())),
        _ => None,
    });
    found.0 = std::mem::take(&mut found.0).into_iter().chain(hosts).collect();
    if found.0.is_empty() {
        return;
    }
    let mut above = Some(parent);
    while let Some(parent) = above {
        if parent.inputs().iter().any(|value| found.tells_of(value)) {
            set_once(parent, &found, told);
        }
        above = parent.parent.as_ref();
    }
}

fn set_once(call: &Arc<Call>, found: &DriverArgs, told: &mut Vec<Arc<Call>>) {
    if call.driver_args.set(found.clone()).is_ok() {
        told.push(call.clone());
    }
}

/// All that knows addresses in these values.
fn told_by<'a>(values: impl Iterator<Item = &'a Value>) -> DriverArgs {
    let mut found = Vec::new();
    values.for_each(|value| {
        parameters_in(value, &mut |at, to| found.push((at, Value::Pointee(at, Box::new(to.clone())))))
    });
    DriverArgs(found.into())
}

/// The same of a node whose parameters were asked for: what the runtime hands on is the driver's own list.
fn hand_up_written(exit: &Exit, told: &mut Vec<Arc<Call>>) {
    let found = told_by(exit.outputs.iter().map(|(_, value)| value));
    let mut above = exit.call.parent.as_ref().filter(|_| !found.0.is_empty());
    while let Some(parent) = above {
        set_once(parent, &found, told);
        above = parent.parent.as_ref();
    }
}
