//! Handles and numbers among the arguments of a call, by their kind or name.

use crate::event::value::Value;
use crate::event::{Call, Exit};

/// A handle of this kind among what the call wrote.
pub fn handle(exit: &Exit, short: &str) -> Option<u64> {
    exit.outputs.iter().find_map(|(_, value)| of_kind(value, short))
}

/// The same among its arguments.
pub fn handle_in(call: &Call, short: &str) -> Option<u64> {
    call.effective_args().iter().find_map(|value| of_kind(value, short))
}

/// A plain number among its arguments: the runtime's devices are numbers.
pub fn number_in(call: &Call, name: &str) -> Option<u64> {
    let n = call.function.params().iter().position(|p| p.name == name)?;
    match call.effective_args().get(n)? {
        Value::Int(n) => u64::try_from(*n).ok(),
        _ => None,
    }
}

fn of_kind(value: &Value, short: &str) -> Option<u64> {
    match value.target() {
        Value::Handle { value, kind, .. } if kind.short == short => Some(*value),
        _ => None,
    }
}
