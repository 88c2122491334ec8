//! The values of a call from its own record alone, without facts from earlier calls.

use super::state::graphs;
use super::values::memory::Memory;
use super::values::row::Row;
use super::values::walk::{Side, Walk};
use crate::event::value::Value;
use crate::event::{Args, Call, Described, Exit};
use crate::kernels::names::Kernels;
use cutap_calls::known::{Dir, Effect, Type, Writes};

/// The arguments of a call as its own record tells, without what is known from other calls.
pub(crate) fn plain_inputs(call: &Call, kernels: Option<&Kernels>) -> Box<[Value]> {
    let Some(described) = call.function.described else { return Box::default() };
    let mut words = Vec::new();
    let row = row(&call.args, described, &mut words);
    let memory = Memory::new(&call.memory);
    let mut walk = Walk::new(described.tables, described.version, memory, Side::Before);
    walk.kernels = kernels;
    walk.ticks = call.ticks;
    walk.kernel = call.kernel();
    (0..described.function.params.len()).map(|n| walk.param(&row, n)).collect()
}

/// The same of what it wrote.
pub(crate) fn plain_outputs(call: &Call, exit: &Exit) -> Box<[(u8, Value)]> {
    let Some(described) = call.function.described else { return Box::default() };
    let mut words = Vec::new();
    let changed_args = call.hook_changed_args();
    let row = row(changed_args.as_ref().unwrap_or(&call.args), described, &mut words);
    let mut walk = Walk::new(described.tables, described.version, Memory::new(&exit.memory), Side::After);
    walk.before = Memory::new(&call.memory);
    outputs(&mut walk, &row, &[], exit.has_failed())
}

/// A call's parameters, in `bytes`.
pub(super) fn row<'a>(args: &Args, described: Described, bytes: &'a mut Vec<u8>) -> Row<'a> {
    let words = args.words();
    bytes.resize(words.len() * 8, 0);
    bytes.as_chunks_mut::<8>().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
    Row::call(described.function.params, described.function.shape, described.words, bytes)
}

/// What the call wrote.
pub(super) fn outputs(walk: &mut Walk<'_>, row: &Row<'_>, effects: &[Effect], failed: bool) -> Box<[(u8, Value)]> {
    let mut outputs = Vec::new();
    for (n, param) in row.params.iter().enumerate().take(255) {
        if param.dir == Dir::In || !matches!(walk.ty(param.ty), Type::Pointer(..)) {
            continue;
        }
        // What was there before says nothing.
        if param.written == Writes::Failed && !failed {
            continue;
        }
        // A new allocation is the address, whether or not another layer has told of it already.
        let at = |at: u8| usize::from(at) == n;
        let inside = effects.iter().any(|e| matches!(e, Effect::AllocatesInside { at: a, .. } if at(*a)));
        walk.new_memory = inside || effects.iter().any(|e| matches!(e, Effect::Allocates { at: a, .. } if at(*a)));
        let mut value = walk.param(row, n);
        walk.new_memory = false;
        if inside {
            // The other addresses in the struct are those of memory that was there before.
            walk.new_address = match graphs::inside(&value) {
                Some(graphs::Node::Allocates(address, _)) => address,
                _ => 0,
            };
            value = walk.param(row, n);
            walk.new_address = 0;
        }
        if let Value::Pointee(..) = value {
            outputs.push((n as u8, value));
        }
    }
    outputs.into()
}

/// Kernels' parameters in a value, each with the pointer to them.
pub(crate) fn parameters_in<'a>(value: &'a Value, each: &mut dyn FnMut(u64, &'a Value)) {
    match value {
        Value::Pointee(at, list) if matches!(**list, Value::List(_)) => each(*at, list),
        Value::Pointee(_, to) => parameters_in(to, each),
        Value::Struct(fields) => fields.values.iter().for_each(|(_, value)| parameters_in(value, each)),
        Value::Array(items) => items.values.iter().for_each(|value| parameters_in(value, each)),
        _ => {}
    }
}
