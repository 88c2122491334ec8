//! What was shown raw: a pointer or handle without a kind, a struct as an address, in functions that
//! have a description; and functions that have none. Counted by function, for the end of a trace.

use super::value::Value;
use crate::event::{Call, Exit, Function};
use cutap_calls::known::{Dir, Effect, Rule};
use std::sync::Arc;

/// A function and how often arguments of it were shown raw.
#[derive(Debug, Clone)]
pub struct RawFunction {
    /// The function.
    pub function: Arc<Function>,
    /// Its calls that were looked at.
    pub calls: u64,
    /// For each parameter how often it was raw; empty for a function without a description.
    pub params: Box<[u64]>,
}

impl RawFunction {
    /// Names of the parameters that were raw, and how often.
    pub fn raw(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = self.function.params().iter().map(|p| p.name);
        names.zip(self.params.iter().copied()).filter(|(_, n)| *n > 0)
    }
}

/// The functions of a process, by their key.
#[derive(Debug, Default)]
pub(crate) struct Raws {
    functions: Vec<Option<RawFunction>>,
}

impl Raws {
    /// A call of a function without a description.
    pub fn undescribed(&mut self, call: &Call, exit: &Exit) {
        if !exit.late && !call.function.noted {
            self.row(&call.function).calls += 1;
        }
    }

    /// A call that returned. Unless `complete`, nobody can know all allocations.
    pub fn described(&mut self, exit: &Exit, complete: bool) {
        let call = &exit.call;
        let failed = exit.is_error();
        let inputs = call.inputs();
        let is_raw = |n: usize, value: &Value| -> bool {
            let Some(param) = call.function.params().get(n) else { return false };
            let read = exit.output(n).unwrap_or(value);
            let effects = call.function.described.map_or(&[][..], |d| d.function.effects);
            // A new allocation's address is all that there is to say.
            let new = |e: &Effect| matches!(e, Effect::Allocates { at, .. } if usize::from(*at) == n);
            match param.rule {
                Rule::Memory(_) | Rule::Host(_) | Rule::From(..) | Rule::To(..) if !complete => false,
                // A tag says what an address is.
                Rule::Tagged(..) if param.dir == Dir::Out => raw(read, false, None),
                // What a failed call has not written nobody can show.
                _ if effects.iter().any(new) => false,
                _ if failed && (param.dir != Dir::In || launch(param.rule)) => false,
                _ => raw(read, complete, call.launched().map(|l| l.at)),
            }
        };
        let found = (0..inputs.len()).filter(|n| inputs.get(*n).is_some_and(|v| is_raw(*n, v)));
        let found: Vec<usize> = found.collect();
        if found.is_empty() {
            return;
        }
        let row = self.row(&call.function);
        row.calls += 1;
        for n in found {
            if let Some(count) = row.params.get_mut(n) {
                *count += 1;
            }
        }
    }

    /// All functions that were counted.
    pub fn all(&self) -> impl Iterator<Item = &RawFunction> {
        self.functions.iter().flatten()
    }

    fn row(&mut self, function: &Arc<Function>) -> &mut RawFunction {
        let key = function.key as usize;
        if key >= self.functions.len() {
            self.functions.resize(key + 1, None);
        }
        self.functions[key].get_or_insert_with(|| RawFunction {
            function: function.clone(),
            calls: 0,
            params: vec![0; function.params().len()].into(),
        })
    }
}

/// A kernel's parameters: of a handle that is none they cannot be known.
fn launch(rule: Rule) -> bool {
    matches!(rule, Rule::KernelParams(..) | Rule::Extra)
}

/// Whether some part of a value has no kind. What was `launched` is shown in the place of its address.
fn raw(value: &Value, complete: bool, launched: Option<u64>) -> bool {
    match value {
        Value::Address(at, None) => complete && launched != Some(*at),
        Value::Handle { kind, number: 0, value, .. } => kind.short.is_empty() && !kind.number && *value != 0,
        Value::Handle { kind, .. } => kind.short.is_empty(),
        Value::To(_, to) => raw(to, complete, launched),
        Value::Struct(fields) => fields.values.iter().any(|(_, v)| raw(v, complete, launched)),
        Value::Array(items) => items.values.iter().any(|v| raw(v, complete, launched)),
        Value::List(list) => list.values.iter().any(|v| raw(v, complete, launched)),
        _ => false,
    }
}
