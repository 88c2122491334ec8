//! The changes that a successful call makes: allocations, handles, the device of the thread.

use super::logs;
use super::operands::{address_at, kind_of, raw};
use crate::decode::state::call_handles::{handle, handle_in};
use crate::decode::state::devices;
use crate::decode::state::effect_origin::EffectOrigin;
use crate::decode::state::graphs::{self, Node};
use crate::decode::state::ownership;
use crate::decode::state::process_state::ProcessState;
use crate::decode::values::memory::Memory;
use crate::decode::values::row::Row;
use crate::decode::values::scalar::signed;
use crate::decode::values::walk::{Side, Walk, word};
use crate::event::{ByName, Call, Described, Exit, Layer};
use cutap_calls::Role;
use cutap_calls::known::{self, Effect, Rule, Type};

/// Applies what the description says.
pub fn apply(state: &mut ProcessState, row: &Row<'_>, described: Described, call: &Call, exit: &Exit) {
    match call.function.by_name == ByName::default() {
        true => ownership::assign_owners(state, call, exit),
        false => apply_by_name(state, call, exit),
    }
    if described.function.effects.is_empty() {
        return;
    }
    let origin = EffectOrigin::new(call, exit);
    let mut walk = Walk::new(described.tables, described.version, Memory::new(&exit.memory), Side::After);
    walk.before = Memory::new(&call.memory);
    for effect in described.function.effects {
        match *effect {
            // What the driver's call inside has made is known by that.
            Effect::Allocates { at, .. }
                if call.function.layer != Layer::DRIVER && call.is_written_by_hook(at.into()) => {}
            Effect::Allocates { .. } if !state.allocations.free_coverage.of(call.function.layer) => {}
            Effect::Allocates { at, by_value, bytes, memory } => {
                let address = if by_value { raw(&walk, row, at) } else { walk.pointee_of(row, at) };
                if let Some(address) = address {
                    let bytes = walk.count(row, bytes);
                    let device = state.devices.current(call.thread.key);
                    state.allocations.insert(address, bytes, memory, device, origin);
                    ownership::memory(state, address, memory, call);
                    if by_value && memory == known::Memory::Host {
                        state.allocations.registered(address);
                    }
                }
            }
            Effect::AllocatesInside { .. } if !state.allocations.free_coverage.of(call.function.layer) => {}
            Effect::AllocatesInside { at, memory } => {
                if let Some(Node::Allocates(address, bytes)) = exit.output(at.into()).and_then(graphs::inside) {
                    state.allocations.insert(address, Some(bytes), memory, None, origin);
                }
            }
            Effect::Belongs(at, to) => {
                let address = address_at(&walk, row, at);
                if let (Some(address), Some(owner)) = (address, kind_of(&walk, walk.memory, row, to)) {
                    state.allocations.set_owner(address, owner);
                }
            }
            Effect::Unmaps { at, bytes } => {
                if let (Some(address), Some(bytes)) = (raw(&walk, row, at), walk.count(row, bytes)) {
                    state.allocations.unmap(address, bytes, call.start_ns);
                }
            }
            Effect::KeepsLogs { of, keys, values } => logs::remember(state, &walk, row, of, keys, values),
            Effect::TellsLogs(_) | Effect::Pool { .. } => {}
            Effect::Frees(n) => {
                if let Some(address) = raw(&walk, row, n) {
                    state.allocations.remove(address, call.start_ns);
                }
            }
            Effect::Destroys(n) => destroy(state, &walk, row, n, call.start_ns),
            Effect::Remembers { of, value } => remember(state, &walk, row, of, value, false),
            Effect::RemembersWhen { of, value, key, is, mode } => {
                if key == 255 || walk.sibling(row, key) == u64::try_from(is).ok() {
                    remember(state, &walk, row, of, value, mode);
                }
            }
            Effect::Creates(n) => {
                if let Some((kind, value)) = kind_of(&walk, walk.memory, row, n) {
                    state.handles.count_reference(kind, value);
                }
            }
        }
    }
}

/// A call begins: what it is to end.
pub fn begin(state: &mut ProcessState, row: &Row<'_>, described: Described, call: &Call) {
    let (thread, start_ns) = (call.thread.key, call.start_ns);
    for effect in described.function.effects {
        let Effect::Destroys(n) = *effect else { continue };
        let walk = Walk::new(described.tables, described.version, Memory::new(&call.memory), Side::Before);
        if let Some((kind, value)) = kind_of(&walk, walk.memory, row, n) {
            state.pending_ends.begin((kind.short, value), thread, start_ns);
        }
    }
    if call.function.by_name.resets
        && let Some(context) = ownership::reset(state, call)
    {
        state.pending_ends.begin((ownership::CONTEXT, context), thread, start_ns);
    }
}

/// Facts about calls of this function that its description lacks: a context's device, memory of graphs.
pub fn by_name(name: &str) -> ByName {
    ByName { device: devices::device_role(name), graph: graphs::graph_role(name), resets: cutap_calls::resets(name) }
}

/// Applies that.
fn apply_by_name(state: &mut ProcessState, call: &Call, exit: &Exit) {
    let ByName { device, graph: memory, resets } = call.function.by_name;
    // Before the thread's context is another one.
    let reset = resets.then(|| ownership::reset(state, call)).flatten();
    let released = state.devices.released(call).filter(|_| state.allocations.complete);
    let reset = reset.or(released);
    if let Some(step) = device {
        state.devices.follow(step, exit);
    }
    ownership::assign_owners(state, call, exit);
    if let Some(step) = memory {
        graph(state, step, call, exit);
    }
    if let Some(context) = reset {
        ownership::end_context(state, context, call.start_ns);
    }
}

/// What a call does to memory of graphs, beside new memory.
fn graph(state: &mut ProcessState, step: Role, call: &Call, exit: &Exit) {
    let (graph, exec) = (handle_in(call, "graph"), handle_in(call, "graphExec"));
    match step {
        Role::AddsNode => {
            if let (Some(graph), Some(node)) = (graph, graphs::node(call, exit)) {
                state.graphs.added(graph, node);
            }
        }
        Role::InstantiatesGraph => {
            if let (Some(exec), Some(graph)) = (handle(exit, "graphExec"), graph) {
                state.graphs.instantiated(exec, graph);
            }
        }
        Role::LaunchesGraph => {
            let (allocates, frees) = exec.map_or((&[][..], &[][..]), |exec| state.graphs.launched(exec));
            allocates.iter().for_each(|at| state.allocations.reallocate(*at, EffectOrigin::new(call, exit)));
            frees.iter().for_each(|at| state.allocations.remove(*at, state.now));
        }
        _ => {}
    }
}

/// A handle ends, given unchanged or by a pointer to it.
fn destroy(state: &mut ProcessState, walk: &Walk<'_>, row: &Row<'_>, n: u8, since: u64) {
    if let Some((kind, value)) = kind_of(walk, walk.before, row, n) {
        let mut destroyed = Vec::new();
        state.handles.destroy(kind, value, since, &mut destroyed);
        ownership::end(state, &destroyed, since);
    }
}

/// A handle carries a parameter's value from now on, or says by it where scalars are.
fn remember(state: &mut ProcessState, walk: &Walk<'_>, row: &Row<'_>, of: u8, value: u8, mode: bool) {
    let Some(param) = row.params.get(usize::from(value)) else { return };
    let number = match walk.ty(param.ty) {
        // An attribute's value, which is an enum's.
        Type::Pointer(to, _) if walk.ty(to) == Type::Void => {
            let fragment = raw(walk, row, value).and_then(|at| walk.before.at(at));
            fragment.and_then(|f| f.bytes.first_chunk()).map(|four| i32::from_le_bytes(*four).into())
        }
        Type::Pointer(..) => walk.pointee_of(row, value).and_then(|n| i64::try_from(n).ok()),
        _ => row.cell(value.into(), walk.size_of(param.ty)).map(|c| signed(word(c.bytes()), c.bytes().len())),
    };
    let Some(number) = number else { return };
    if let Some((kind, handle)) = kind_of(walk, walk.memory, row, of) {
        match mode {
            true => state.handles.set_scalar_mode(kind, handle, number),
            false => state.handles.set_carried(kind, handle, number),
        }
        // An array of new ones: they are of a kind in this too.
        further_handles(walk, row, of).for_each(|handle| state.handles.set_carried(kind, handle, number));
    }
}

/// The handles behind the first in an array that the call wrote.
fn further_handles<'a>(walk: &'a Walk<'_>, row: &Row<'_>, n: u8) -> impl Iterator<Item = u64> + 'a {
    let count = match row.params.get(usize::from(n)).map(|p| p.rule) {
        Some(Rule::Array(count)) => walk.count(row, count),
        _ => None,
    };
    let bytes =
        count.and(raw(walk, row, n)).and_then(|at| walk.memory.at(at)).map_or(&[][..], |fragment| fragment.bytes);
    bytes.chunks_exact(8).take(usize::try_from(count.unwrap_or(0)).unwrap_or(0)).skip(1).map(word)
}
