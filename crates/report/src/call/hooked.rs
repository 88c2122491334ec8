//! The changes that hooks made to a call: after its result in text, a list in JSON, lines in exports.

use crate::call::values::write_value;
use crate::format::units::word;
use cutap_calls::known::Type;
use cutap_trace::decode::{Text, Value as Argument};
use cutap_trace::{Call, Exit, HookAction, HookEffect};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// ` [answered by libmine.so]`, ` [libmine.so: gridDimX=128]`, ` [libmine.so: result was 0]`,
/// ` [libmine.so: wrote count]`, ` [rule 'cuInit:error=2']`.
pub(crate) fn write_hooked(call: &Call, to: &mut String) {
    for hooked in call.hook_effects() {
        to.push_str(" [");
        write_one(call, hooked, to);
        to.push(']');
    }
}

/// One line for each change, without brackets. `None` if no hook changed the call.
pub(crate) fn hooked_lines(call: &Call) -> Option<String> {
    let mut lines = String::new();
    for hooked in call.hook_effects() {
        if !lines.is_empty() {
            lines.push('\n');
        }
        write_one(call, hooked, &mut lines);
    }
    (!lines.is_empty()).then_some(lines)
}

fn write_one(call: &Call, HookEffect { hook, action: did }: &HookEffect, to: &mut String) {
    match *did {
        HookAction::Rule => {
            let _ = write!(to, "rule '{hook}'");
        }
        HookAction::Answer => {
            let _ = write!(to, "answered by {hook}");
        }
        HookAction::Argument(n, value) => {
            let _ = write!(to, "{hook}: {}=", parameter(call, n));
            match typed_argument(call, n, value) {
                Some(meant) => write_value(&meant, to),
                None => word(value, to),
            }
        }
        HookAction::Result(was) => {
            let _ = write!(to, "{hook}: result was ");
            word(was, to);
        }
        HookAction::Output(n, _) => {
            let _ = write!(to, "{hook}: wrote {}", parameter(call, n));
        }
    }
}

/// The changes as a JSON list. `None` if no hook changed the call.
pub(crate) fn hooked_json(exit: &Exit) -> Option<Vec<Value>> {
    let call = &exit.call;
    let one = |h: &HookEffect| match h.action {
        HookAction::Rule => json!({"hook": "cutap-inject", "action": "rule", "rule": &*h.hook}),
        HookAction::Answer => json!({"hook": &*h.hook, "action": "answer"}),
        HookAction::Argument(n, value) => {
            let mut one = json!({"hook": &*h.hook, "action": "argument", "argument": parameter(call, n)});
            one["value"] = format!("{value:#x}").into();
            if let Some(meant) = typed_argument(call, n, value) {
                let mut text = String::new();
                write_value(&meant, &mut text);
                one["text"] = text.into();
            }
            one
        }
        HookAction::Result(was) => {
            json!({"hook": &*h.hook, "action": "result", "original_result": format!("{was:#x}")})
        }
        HookAction::Output(n, value) => {
            json!({"hook": &*h.hook, "action": "wrote", "argument": parameter(call, n), "value": format!("{value:#x}")})
        }
    };
    let all: Vec<Value> = call.hook_effects().iter().map(one).collect();
    (!all.is_empty()).then_some(all)
}

fn parameter(call: &Call, n: usize) -> String {
    call.function.params().get(n).map_or_else(|| format!("argument {n}"), |p| p.name.to_owned())
}

/// The new value of a parameter, if its bits do not show it: a float, signed number, letter, flags or enum.
fn typed_argument(call: &Call, n: usize, value: u64) -> Option<Argument> {
    let described = call.function.described.as_ref()?;
    let ty = described.tables.types.get(usize::from(described.function.params.get(n)?.ty))?;
    Some(match *ty {
        // A struct as the last hook left it.
        Type::Struct(_) => call.effective_args().get(n)?.clone(),
        Type::Float(4) => Argument::Single(f32::from_bits(value as u32)),
        Type::Float(8) => Argument::Double(f64::from_bits(value)),
        Type::Int { bytes: 4, signed: true } => Argument::Int((value as i32).into()),
        Type::Int { bytes: 8, signed: true } => Argument::Int(value as i64),
        Type::Char if (b' '..=b'~').contains(&(value as u8)) => {
            Argument::Text(Box::new(Text { text: char::from(value as u8).to_string(), cut: false }))
        }
        Type::Char => Argument::Int((value as i8).into()),
        Type::Bool(bytes @ 1..8) => Argument::Bool(value & ((1 << (8 * bytes)) - 1) != 0),
        Type::Flags(of, 4) => Argument::Flags(u64::from(value as u32), described.tables.enums.get(usize::from(of))?),
        Type::Enum(of) => Argument::Enum((value as i32).into(), described.tables.enums.get(usize::from(of))?),
        _ => return None,
    })
}
