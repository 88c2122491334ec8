//! A decoded struct on one line, without the fields that are 0 before and after the call.

use cutap_rm::{Kind, Name, Node, Target, Value};
use std::fmt::Write;

/// How many elements of an array of structs are shown.
const SHOWN: usize = 4;

/// Adds a node. True where something was left out.
pub(super) fn push(node: &Node, out: &mut String) {
    match &node.value {
        Value::Struct(nodes) => fields(nodes, out),
        Value::Union { readings, .. } => {
            // The readings have the same bytes: the first with a value is enough.
            match readings.iter().find(|n| !is_zero(n)) {
                Some(reading) => fields(std::slice::from_ref(reading), out),
                None => out.push_str("{}"),
            }
        }
        Value::Array(nodes) => array(nodes, out),
        Value::Pointer { before, after, target: Target::Read(inner) } if before == after => {
            let _ = write!(out, "{before:#x} ");
            push(inner, out);
        }
        _ => out.push_str(&cutap_printable::printable(&node.to_string())),
    }
}

fn fields(nodes: &[Node], out: &mut String) {
    out.push('{');
    let begin = out.len();
    for node in nodes.iter().filter(|n| !is_zero(n) && n.kind != Kind::Status) {
        if out.len() > begin {
            out.push_str(", ");
        }
        match node.name {
            Name::Field(name) => drop(write!(out, "{name}: ")),
            Name::Index(at) => drop(write!(out, "[{at}]: ")),
            Name::Padding => drop(write!(out, "(padding at {}) ", node.offset)),
            Name::Rest => out.push_str("(further bytes) "),
        }
        push(node, out);
    }
    out.push('}');
}

fn array(nodes: &[Node], out: &mut String) {
    out.push('[');
    let used = nodes.iter().filter(|n| !is_zero(n)).count();
    for (n, node) in nodes.iter().filter(|n| !is_zero(n)).take(SHOWN).enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        push(node, out);
    }
    if used > SHOWN {
        let _ = write!(out, ", ... {} more", used - SHOWN);
    }
    out.push(']');
}

/// Whether all is 0, before and after.
fn is_zero(node: &Node) -> bool {
    let zero = |b: &[u8]| b.iter().all(|b| *b == 0);
    match &node.value {
        Value::Number { before, after, .. } | Value::Pointer { before, after, .. } => *before == 0 && *after == 0,
        Value::Numbers { bytes, .. } | Value::Bytes(bytes) | Value::Union { bytes, .. } => {
            zero(&bytes.before) && bytes.after.as_deref().is_none_or(zero)
        }
        Value::Struct(nodes) | Value::Array(nodes) => nodes.iter().all(is_zero),
    }
}
