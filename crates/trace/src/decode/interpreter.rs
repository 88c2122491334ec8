//! The interpreter: from the words and memory of a call to typed values, by the tables of `cutap_calls::known`. It
//! knows no function by name (except in `devices` and `graphs`); what it cannot read stays an address.
//!
//! All input comes from a process that may lie. Nothing panics, and all that is read, made and followed is bounded.

use super::effects::{apply, logs};
use super::plain::{outputs, parameters_in, row};
use super::state::effect_origin::EffectOrigin;
use super::state::fast_hash_map::FastHashMap;
use super::state::free_coverage::FreeCoverage;
use super::state::handle_coverage::HandleCoverage;
use super::state::process_state::ProcessState;
use super::undecoded::UndecodedFunctions;
use super::values::memory::Memory;
use super::values::parameter_types::ParametersByKernel;
use super::values::walk::{Side, Walk};
use crate::event::value::Value;
use crate::event::{Args, Call, Described, DriverArgs, Event, Exit, Layer, Returned, State};
use crate::kernels::names::Kernels;
use cutap_calls::Role;
use cutap_calls::capture::RETURNED;
use cutap_calls::known::{self, Rule, Type};
use std::collections::VecDeque;
use std::sync::Arc;

/// A call of the process: its thread, and its number in the ring.
type Key = (u32, u32);
/// Calls that were left and are kept in mind, should they return after all.
const MOST_UNWOUND: usize = 1024;

/// The interpreter of one process's calls, in the order of their time.
#[derive(Debug, Default)]
pub(crate) struct Interpreter {
    state: ProcessState,
    /// Words of the call that is looked at, as bytes.
    words: Vec<u8>,
    parameters_by_kernel: ParametersByKernel,
    pub undecoded: UndecodedFunctions,
    /// Calls that have begun, with their values, and whether they are shown.
    open: FastHashMap<Key, (Call, bool)>,
    /// Those of them that were left and may still return, the latest last.
    unwound: VecDeque<Call>,
    /// Calls that are shown and of which it has become known what the driver was given: to be delivered before the
    /// event that is looked at.
    pub updated_calls: Vec<Call>,
    /// What cuDriverGetVersion said.
    driver: Option<u32>,
    /// The newest runtime's version.
    toolkit: Option<u32>,
}

impl Interpreter {
    /// `complete`: all calls that allocate are recorded; `free_coverage`: which calls that end memory are;
    /// `handle_coverage`: of which handles all calls are.
    pub fn new(complete: bool, free_coverage: FreeCoverage, handle_coverage: Arc<HandleCoverage>) -> Interpreter {
        let mut new = Interpreter::default();
        (new.state.allocations.complete, new.state.allocations.free_coverage) = (complete, free_coverage);
        new.state.handles.coverage = Some(handle_coverage);
        new
    }

    /// Calls of the process are missing: nothing is said of what they may have made.
    pub fn mark_incomplete(&mut self) {
        self.state.allocations.complete = false;
        self.state.handles.coverage = None;
    }

    /// Other calls are recorded from now on than the run began with.
    pub fn filter_changed(&mut self) {
        self.mark_incomplete();
        self.state.allocations.forget();
    }

    /// Gives an event its values. What is not shown is looked at all the same. `runtime`: one is in the process.
    pub fn event(&mut self, event: &mut Event, is_shown: bool, kernels: &Kernels, runtime: bool, toolkit: Option<u32>) {
        self.toolkit = toolkit;
        self.state.devices.runtime |= runtime;
        match event {
            Event::Enter(call) => self.enter(call, is_shown, kernels),
            Event::Updated(call) => {
                if let Some((open_call, _)) = self.open.get_mut(&call.key()) {
                    take_values(call, open_call);
                    *open_call = call.clone();
                }
            }
            Event::Exit(exit) => self.exit(exit, is_shown, kernels),
            _ => {}
        }
    }

    /// A call that never ended: its arguments are shown as they were given.
    pub fn unfinished(&mut self, exit: &mut Exit) {
        if let Some((open_call, _)) = self.open.get(&exit.call.key()) {
            take_values(&mut exit.call, open_call);
        }
        self.without_return(exit);
    }

    fn without_return(&mut self, exit: &Exit) {
        if exit.call.function.described.is_some() {
            self.undecoded.described(exit, self.state.allocations.complete);
        }
    }

    /// A call has ended: it gets the values that it has had since its beginning.
    fn close(&mut self, exit: &mut Exit) {
        let key = exit.call.key();
        let remove_unwound = |unwound: &mut VecDeque<Call>| {
            let place = unwound.iter().rposition(|call| call.key() == key)?;
            unwound.remove(place)
        };
        let open_call = self.open.remove(&key).map(|(call, _)| call).or_else(|| remove_unwound(&mut self.unwound));
        let Some(mut open_call) = open_call else { return };
        if exit.state != State::Unwound && open_call.driver_args().is_none() {
            exit.call.inputs = open_call.inputs.take();
            return;
        }
        take_values(&mut exit.call, &open_call);
        if exit.state == State::Unwound {
            self.unwound.push_back(open_call);
            if self.unwound.len() > MOST_UNWOUND {
                self.unwound.pop_front();
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

    fn enter(&mut self, call: &mut Call, is_shown: bool, kernels: &Kernels) {
        let Some(described) = self.described(call) else { return };
        // A call that a filter shows at its end has been looked at when it began.
        if let Some((open_call, _)) = self.open.get(&call.key()) {
            return take_values(call, open_call);
        }
        self.state.now = call.start_ns;
        let (row, memory) = (row(&call.args, described, &mut self.words), Memory::new(&call.memory));
        let mut walk = Walk::new(described.tables, described.version, memory, Side::Before);
        walk.state = Some(&mut self.state);
        walk.kernels = Some(kernels);
        walk.ticks = call.ticks;
        walk.parameters_by_kernel = Some(&mut self.parameters_by_kernel);
        walk.kernel = call.kernel();
        let inputs = (0..described.function.params.len()).map(|n| walk.param(&row, n)).collect();
        call.inputs = Some(inputs);
        apply::begin(&mut self.state, &row, described, call);
        if call.function.layer == Layer::DRIVER {
            self.propagate_to_parents(call);
        }
        if !call.function.entry_only {
            self.open.insert(call.key(), (call.clone(), is_shown));
        }
    }

    /// A launch of the driver knows its kernel's parameters; the runtime calls around it get them too.
    fn propagate_to_parents(&mut self, call: &Call) {
        let Some(parent) = call.parent.as_deref() else { return };
        let mut driver_args = pointees(call.inputs().iter());
        // Of an address that may be of either side the driver's call tells that it is the host's.
        let either =
            call.function.params().iter().zip(call.inputs()).filter(|(p, _)| matches!(p.rule, Rule::Either(_)));
        let hosts = either.filter_map(|(_, value)| match value {
            Value::Address(at, Some(place)) if place.memory == known::Memory::Host => Some((*at, value.clone())),
            _ => None,
        });
        driver_args.extend(hosts);
        let driver_args = DriverArgs(driver_args.into());
        let mut above = Some(parent).filter(|_| !driver_args.0.is_empty());
        while let Some(parent) = above {
            self.set_driver_args(parent, &driver_args, true);
            above = parent.parent.as_deref();
        }
    }

    /// An open call gets what the driver was given, if it has nothing of that; with `only_if_used`, if its values have
    /// such an address.
    fn set_driver_args(&mut self, parent: &Call, driver_args: &DriverArgs, only_if_used: bool) {
        let Some((call, is_shown)) = self.open.get_mut(&parent.key()) else { return };
        let applies = !only_if_used || call.inputs().iter().any(|value| driver_args.has_value_in(value));
        if call.driver_args().is_none() && applies {
            call.rare_mut().driver_args = Some(driver_args.clone());
            self.updated_calls.extend(Some(call.clone()).filter(|_| *is_shown));
        }
    }

    /// Like `propagate_to_parents`, for a node whose parameters were asked for: the runtime hands on the driver's own
    /// list.
    fn propagate_outputs(&mut self, exit: &Exit) {
        let Some(parent) = exit.call.parent.as_deref().filter(|_| !exit.outputs.is_empty()) else { return };
        let driver_args = DriverArgs(pointees(exit.outputs.iter().map(|(_, value)| value)).into());
        let mut above = Some(parent).filter(|_| !driver_args.0.is_empty());
        while let Some(parent) = above {
            self.set_driver_args(parent, &driver_args, false);
            above = parent.parent.as_deref();
        }
    }

    /// What a function was given after hooks changed it.
    fn effective_args(&mut self, call: &Call, args: &Args, described: Described, kernels: &Kernels) -> Arc<[Value]> {
        let row = row(args, described, &mut self.words);
        let mut walk = Walk::new(described.tables, described.version, Memory::new(&call.memory), Side::Before);
        walk.state = Some(&mut self.state);
        walk.kernels = Some(kernels);
        walk.ticks = call.ticks;
        (0..described.function.params.len()).map(|n| walk.param(&row, n)).collect()
    }

    fn exit(&mut self, exit: &mut Exit, is_shown: bool, kernels: &Kernels) {
        let Some(described) = self.described(&exit.call) else {
            return self.undecoded.undescribed(exit);
        };
        self.close(exit);
        self.state.pending_ends.call_ended(exit.call.thread.key, exit.call.start_ns);
        if exit.state != State::Returned {
            if is_shown {
                self.without_return(exit);
            }
            return;
        }
        self.state.now = exit.end_ns;
        let changed_args = exit.call.hook_changed_args();
        if let Some(changed_args) = &changed_args {
            let effective_args = self.effective_args(&exit.call, changed_args, described, kernels);
            exit.call.rare_mut().effective_args = Some(effective_args);
        }
        let call = &exit.call;
        let row = row(changed_args.as_ref().unwrap_or(&call.args), described, &mut self.words);
        let mut walk = Walk::new(described.tables, described.version, Memory::new(&exit.memory), Side::After);
        walk.before = Memory::new(&call.memory);
        walk.state = Some(&mut self.state);
        walk.kernels = Some(kernels);
        walk.ticks = call.ticks;
        walk.origin = Some(EffectOrigin::new(call, exit));
        let failed = exit.has_failed();
        if !exit.memory.is_empty() {
            exit.outputs = outputs(&mut walk, &row, described.function.effects, failed);
        }
        exit.value = returned(&mut walk, described, exit);
        if !self.state.linker_logs.0.is_empty() {
            let (memory, version) = (Memory::new(&exit.memory), described.version);
            let plain = Walk::new(described.tables, version, memory, Side::After);
            exit.logs = logs::added(&plain, &self.state, &row, described.function.effects);
        }
        if !failed {
            apply::apply(&mut self.state, &row, described, call, exit);
        }
        if let Some(Value::Version(version)) = exit.output(0).map(Value::target)
            && call.function.roles.has(Role::DriverVersion)
        {
            self.driver = u32::try_from(*version).ok().filter(|v| *v >= 1000);
        }
        if call.function.layer == Layer::DRIVER {
            self.propagate_outputs(exit);
        }
        if is_shown {
            self.undecoded.described(exit, self.state.allocations.complete);
        }
    }
}

/// The result, when it is no status.
fn returned(walk: &mut Walk<'_>, described: Described, exit: &Exit) -> Option<Box<Value>> {
    let ty = described.function.returns;
    match exit.returned() {
        Some(Returned::Number(_) | Returned::Word(_)) => {}
        Some(Returned::Unreported) => {
            let bytes = walk.memory.at(RETURNED)?.bytes.get(..walk.size_of(ty))?;
            return Some(Box::new(walk.by_type(ty, bytes, known::Unit::None)));
        }
        _ => return None,
    }
    if let Type::Struct(first) = walk.ty(ty) {
        // The caller said where it goes; the register has the address.
        let fragment = walk.memory.at(exit.result)?;
        return Some(Box::new(walk.structure(first, fragment.bytes, fragment.full_length.into())));
    }
    let bytes = exit.result.to_le_bytes();
    let value = walk.by_type(ty, bytes.get(..walk.size_of(ty))?, cutap_calls::known::Unit::None);
    Some(Box::new(value))
}

/// Kernels' parameters in these values, each with its address.
fn pointees<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<(u64, Value)> {
    let mut pointees = Vec::new();
    values.for_each(|value| {
        parameters_in(value, &mut |at, to| pointees.push((at, Value::Pointee(at, Box::new(to.clone())))))
    });
    pointees
}

/// A later value of a call gets the values of the one that was looked at.
fn take_values(call: &mut Call, earlier: &Call) {
    call.inputs = earlier.inputs.clone();
    if let Some(driver_args) = earlier.driver_args() {
        call.rare_mut().driver_args = Some(driver_args.clone());
    }
}
