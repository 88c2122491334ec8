//! The arguments of a call as cells: a number where it says all, else text as a line of a trace has it.

use super::column::ArgumentCell;
use crate::call::values::write_launched;
use cutap_calls::known::TypeId;
use cutap_trace::decode::{TypeName, Value};
use cutap_trace::{Call, Exit};
use std::borrow::Cow;
use std::ops::Range;

/// The arguments of one call; the memory is that of the call before.
#[derive(Debug, Default)]
pub(super) struct ArgumentCells {
    arguments: Vec<Argument>,
    text: String,
    /// Names of types, by their numbers: made once.
    type_names: Vec<Option<Cow<'static, str>>>,
}

/// Name, type, value as a number, and where its text lies.
type Argument = (&'static str, TypeId, Numbers, Option<Range<usize>>);
type Numbers = (Option<i64>, Option<f64>);

impl ArgumentCells {
    /// Takes those of this call.
    pub fn fill(&mut self, call: &Call, exit: Option<&Exit>) {
        self.arguments.clear();
        self.text.clear();
        let Some(described) = call.function.described else { return };
        for (n, (param, input)) in described.function.params.iter().zip(call.inputs()).enumerate() {
            let value = exit.and_then(|exit| exit.output(n)).unwrap_or(input);
            let numbers = numbers(value);
            let text = needs_text(value).then(|| {
                let from = self.text.len();
                write_launched(value, call.driver_args(), &mut self.text);
                from..self.text.len()
            });
            let number = usize::from(param.ty);
            if number >= self.type_names.len() {
                self.type_names.resize(number + 1, None);
            }
            self.type_names[number].get_or_insert_with(|| TypeName(described.tables, param.ty).text());
            self.arguments.push((param.name, param.ty, numbers, text));
        }
    }

    /// The cells.
    pub fn cells(&self) -> impl Iterator<Item = ArgumentCell<'_>> {
        self.arguments.iter().map(|(name, type_name, (int, float), text)| ArgumentCell {
            name,
            type_name: self.type_names.get(usize::from(*type_name)).and_then(Option::as_deref).unwrap_or("?"),
            int: *int,
            float: *float,
            text: text.clone().and_then(|range| self.text.get(range)),
        })
    }
}

/// The number that a value is.
fn numbers(value: &Value) -> Numbers {
    match *value {
        Value::Bool(truth) => (Some(truth.into()), None),
        Value::Int(n) | Value::Version(n) | Value::Release(n, _) | Value::Enum(n, _) => (Some(n), None),
        Value::Uint(n) | Value::Hex(n) | Value::Flags(n, _) | Value::Opaque(n) | Value::Code(n) | Value::Wild(n) => {
            (Some(n as i64), None)
        }
        Value::Address(n, _) | Value::Handle { value: n, .. } => (Some(n as i64), None),
        Value::Single(f) => (None, Some(f.into())),
        Value::Double(f) => (None, Some(f)),
        Value::Null => (Some(0), None),
        Value::Pointee(at, ref to) => match (numbers(to), &**to) {
            ((None, None), _) | (_, Value::Null) => (Some(at as i64), None),
            (of_target, _) => of_target,
        },
        _ => (None, None),
    }
}

/// Whether the number does not say all. Addresses without a known place are numbers alone.
fn needs_text(value: &Value) -> bool {
    !matches!(
        value,
        Value::Missing
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Hex(_)
            | Value::Opaque(_)
            | Value::Code(_)
            | Value::Single(_)
            | Value::Double(_)
            | Value::Null
            | Value::Address(_, None)
    )
}
