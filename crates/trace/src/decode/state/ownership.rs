//! Handles that end with another one: functions with their module, nodes with their graph, streams and memory with
//! their context. `api/` lists the kinds. The owner is the handle that a call takes beside the one that it writes.

use super::call_handles::{handle, handle_in};
use super::effect_origin::EffectOrigin;
use super::handles::Key;
use super::process_state::ProcessState;
use crate::event::value::Value;
use crate::event::{Call, Exit};
use cutap_calls::hands_out;
use cutap_calls::known::{Handle, Memory};

/// Handles that end with each other.
const DEEP: usize = 8;
/// Word of the kind that a thread has one of.
pub const CONTEXT: &str = "context";

/// Handles that a call has written belong to one that it was given, or to the thread's context.
pub fn assign_owners(state: &mut ProcessState, call: &Call, exit: &Exit) {
    for (_, value) in &exit.outputs {
        for_each_owned(value, &mut |kind, value| {
            let owner = kind.of.iter().find_map(|of| Some((*of, owner(state, of, call, exit)?)));
            if let Some(owner) = owner {
                state.handles.set_owner(kind, value, owner);
            }
        });
    }
}

/// The owner of this kind.
fn owner(state: &ProcessState, of: &str, call: &Call, exit: &Exit) -> Option<u64> {
    let handle_arg = handle_in(call, of).filter(|value| *value != 0);
    handle_arg.or_else(|| match of {
        CONTEXT => state.devices.context(call.thread.key),
        // A stream's capture reports a graph and its nodes.
        "graph" => handle(exit, of).filter(|value| *value != 0),
        _ => None,
    })
}

/// Memory that a call has made ends with the thread's context.
pub fn memory(state: &mut ProcessState, address: u64, memory: Memory, call: &Call) {
    if matches!(memory, Memory::Device | Memory::Host | Memory::Managed)
        && let Some(context) = state.devices.context(call.thread.key)
    {
        state.allocations.in_context(address, context);
    }
}

/// The context that ends with a call, or whose things do.
pub fn reset(state: &ProcessState, call: &Call) -> Option<u64> {
    let context_arg = handle_in(call, CONTEXT).filter(|value| *value != 0);
    let device = || {
        let device_arg = handle_in(call, "device").and_then(|device| u32::try_from(device).ok());
        state.devices.primary_context(device_arg.or_else(|| state.devices.current(call.thread.key))?)
    };
    context_arg.or_else(device)
}

/// All of a context ends.
pub fn end_context(state: &mut ProcessState, context: u64, since: u64) {
    let mut destroyed = Vec::new();
    state.handles.end_owned((CONTEXT, context), since, &mut destroyed);
    state.allocations.end_with(context, &destroyed, since);
}

/// Handles have ended: what was theirs has too.
pub fn end(state: &mut ProcessState, destroyed: &[Key], since: u64) {
    let context = destroyed.iter().find(|(kind, _)| *kind == CONTEXT).map_or(0, |(_, context)| *context);
    if context != 0 || destroyed.iter().any(|(kind, _)| ["module", "library"].contains(kind)) {
        state.allocations.end_with(context, destroyed, since);
    }
}

/// The handles in a value that may end with something else.
fn for_each_owned(value: &Value, to: &mut dyn FnMut(&'static Handle, u64)) {
    match value {
        Value::Handle { value, kind, .. } if !kind.of.is_empty() && *value != 0 => to(kind, *value),
        Value::Pointee(_, inner) => for_each_owned(inner, to),
        Value::Array(items) => items.values.iter().for_each(|value| for_each_owned(value, to)),
        _ => {}
    }
}

impl ProcessState {
    /// A handle that a call wrote: its number.
    pub fn written(&mut self, kind: &'static Handle, value: u64, origin: Option<EffectOrigin<'_>>) -> u32 {
        let key = (kind.short, value);
        if !self.pending_ends.0.is_empty()
            && origin.is_some_and(|origin| !hands_out(origin.name))
            && self.is_ending(key)
        {
            let mut destroyed = Vec::new();
            self.handles.end(key, self.now, &mut destroyed);
            end(self, &destroyed, self.now);
        }
        self.handles.written(kind, value, self.now)
    }

    /// Whether a call is to end this handle, or what it ends with, that began when the handle was there.
    fn is_ending(&self, key: Key) -> bool {
        let Some((since, _)) = self.handles.live(key) else { return false };
        let owner = |key: &Key| self.handles.live(*key)?.1;
        let is_pending =
            |key: Key| self.pending_ends.0.iter().any(|pending| pending.key == key && since <= pending.start_ns);
        std::iter::successors(Some(key), owner).take(DEEP).any(is_pending)
    }
}
