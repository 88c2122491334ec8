//! Arguments that were shown without meaning: a pointer or handle without a kind, a struct as an address; and functions
//! without a description. They are counted by function for the end of a trace.

use super::state::graphs;
use crate::event::value::Value;
use crate::event::{DriverArgs, Exit, Function, State};
use cutap_calls::known::{Dir, Effect, Rule, Writes};
use std::sync::Arc;

/// A function and how often arguments of it were shown raw.
#[derive(Debug, Clone)]
pub struct UndecodedFunction {
    pub function: Arc<Function>,
    /// Its calls that were looked at.
    pub calls: u64,
    /// For each parameter how often it was raw; empty for a function without a description.
    pub params: Box<[u64]>,
}

impl UndecodedFunction {
    /// Names of the parameters that were raw, and how often.
    pub fn raw(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = self.function.params().iter().map(|p| p.name);
        names.zip(self.params.iter().copied()).filter(|(_, n)| *n > 0)
    }
}

/// The functions of a process, by their key.
#[derive(Debug, Default)]
pub(crate) struct UndecodedFunctions {
    functions: Vec<Option<UndecodedFunction>>,
}

impl UndecodedFunctions {
    /// A call of a function without a description.
    pub fn undescribed(&mut self, exit: &Exit) {
        let function = &exit.call.function;
        if !exit.late && !function.entry_only {
            self.row(function).calls += 1;
        }
    }

    /// A call that has ended, in whichever way. Unless `complete`, nobody can know all allocations.
    pub fn described(&mut self, exit: &Exit, complete: bool) {
        let call = &exit.call;
        let failed = exit.has_failed() || exit.state != State::Returned;
        let facts = CallFacts { complete, failed, launched: call.driver_args(), new: 0 };
        let inputs = call.inputs();
        let is_raw = |n: usize, value: &Value| -> bool {
            let read = exit.output(n).unwrap_or(value);
            if has_kind(read) {
                return false;
            }
            let Some(param) = call.function.params().get(n) else { return false };
            let effects = call.function.described.map_or(&[][..], |d| d.function.effects);
            // A new allocation's address is all that there is to say.
            let new = |e: &Effect| matches!(e, Effect::Allocates { at, .. } if usize::from(*at) == n);
            let inside = |e: &Effect| matches!(e, Effect::AllocatesInside { at, .. } if usize::from(*at) == n);
            match param.rule {
                Rule::Memory(_) | Rule::Host(_) | Rule::Either(_) | Rule::From(..) | Rule::To(..) if !complete => false,
                // What a failed call has not written nobody can show: the place of it is all that there is.
                _ if failed && param.dir == Dir::Out => false,
                // Nor what only a failed call writes.
                _ if !failed && param.written == Writes::Failed => false,
                // A tag says what an address is.
                Rule::Tagged(..) if param.dir == Dir::Out && matches!(read, Value::Pointee(..)) => {
                    CallFacts { complete: false, ..facts }.raw(read)
                }
                _ if effects.iter().any(new) => false,
                _ if effects.iter().any(inside) => CallFacts { new: allocated(read), ..facts }.raw(read),
                _ => facts.raw(read),
            }
        };
        let raw_params = inputs.iter().enumerate().filter(|(n, value)| is_raw(*n, value));
        let raw_params: Vec<usize> = raw_params.map(|(n, _)| n).collect();
        if raw_params.is_empty() {
            return;
        }
        let row = self.row(&call.function);
        row.calls += 1;
        for n in raw_params {
            if let Some(count) = row.params.get_mut(n) {
                *count += 1;
            }
        }
    }

    /// All functions that were counted.
    pub fn all(&self) -> impl Iterator<Item = &UndecodedFunction> {
        self.functions.iter().flatten()
    }

    fn row(&mut self, function: &Arc<Function>) -> &mut UndecodedFunction {
        let key = function.key as usize;
        if key >= self.functions.len() {
            self.functions.resize(key + 1, None);
        }
        self.functions[key].get_or_insert_with(|| UndecodedFunction {
            function: function.clone(),
            calls: 0,
            params: vec![0; function.params().len()].into(),
        })
    }
}

/// What is known of the call whose values are looked at.
#[derive(Clone, Copy)]
struct CallFacts<'a> {
    /// All allocations are known.
    complete: bool,
    /// It did not succeed: what it would have written is not there.
    failed: bool,
    /// Addresses that are shown as what lies there: kernels' parameters.
    launched: Option<&'a DriverArgs>,
    /// Address of what the call has allocated, in a struct; 0: none.
    new: u64,
}

/// Whether a value has a kind, whatever the call did. Most values have, so this quick test comes first.
fn has_kind(value: &Value) -> bool {
    match value {
        Value::Address(_, place) => place.is_some(),
        Value::Handle { .. } | Value::Pointee(..) | Value::Struct(_) | Value::Array(_) | Value::List(_) => false,
        _ => true,
    }
}

/// The new allocation's address in a node's parameters.
fn allocated(value: &Value) -> u64 {
    match graphs::inside(value) {
        Some(graphs::Node::Allocates(address, _)) => address,
        _ => 0,
    }
}

impl CallFacts<'_> {
    /// Whether some part of a value has no kind.
    fn raw(self, value: &Value) -> bool {
        match value {
            Value::Address(at, None) => {
                let is_substituted = self.launched.is_some_and(|l| l.value_at(value).is_some());
                self.complete && !is_substituted && self.new != *at
            }
            Value::Handle { kind, number, value, .. } => {
                let named = kind.number || *value == 0 || kind.special.iter().any(|(v, _)| v == value);
                !named && (*number == 0 || kind.short.is_empty())
            }
            Value::Pointee(_, to) => self.raw(to),
            Value::Struct(fields) => fields.values.iter().any(|(n, v)| {
                let dir = fields.of.fields.get(usize::from(*n)).map_or(Dir::In, |f| f.dir);
                !(self.failed && dir == Dir::Out) && self.raw(v)
            }),
            Value::Array(items) => items.values.iter().any(|v| self.raw(v)),
            Value::List(list) => list.values.iter().any(|v| self.raw(v)),
            _ => false,
        }
    }
}
